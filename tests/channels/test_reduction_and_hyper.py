"""Reduced channels and hypers (Fernandes, Sec 2.1, 2.4; F1)."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.channels import reduction
from sievert.errors import ChannelError

F = Fraction


def exact(channel: sv.Channel) -> list[list[Fraction]]:
    assert channel.exact is not None
    entries: list[list[Fraction]] = channel.exact.tolist()
    return entries


def test_fernandes_3_0_hyper_by_hand() -> None:
    """Fernandes Ex 2.1 (stand-in 3.0): outers, inners, recovery of prior and channel."""
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/4", "3/4"], [0, "1/2", "1/2"]])
    hyper = channel.hyper()
    assert hyper.outers.tolist() == [F(1, 6), F(5, 12), F(5, 12)]
    assert hyper.inners.tolist() == [[1, 0, 0], [F(2, 5), F(1, 5), F(2, 5)], [0, F(3, 5), F(2, 5)]]
    assert hyper.prior.tolist() == [F(1, 3)] * 3
    assert hyper.channel().is_equivalent(channel)
    assert sorted(zip(*exact(hyper.channel()), strict=True)) == sorted(zip(*exact(channel), strict=True))


def test_zero_columns_go_and_proportional_ones_merge() -> None:
    channel = sv.Channel([["1/2", 0, "1/4", "1/4"], ["1/3", 0, "1/6", "1/2"]])
    found = reduction(channel)
    assert exact(found.channel) == [[F(1, 4), F(3, 4)], [F(1, 2), F(1, 2)]]
    assert found.groups == ((3,), (0, 2))
    assert found.radius == 0


def test_proportionality_is_judged_on_normalised_columns() -> None:
    """Columns that differ by 1e-15 in absolute terms but point in different directions stay apart."""
    tiny = 1e-15
    channel = sv.Channel([[1 - 2 * tiny, tiny, tiny], [1 - 5 * tiny, 2 * tiny, 3 * tiny]])
    assert channel.reduced().shape == (2, 3)


def test_exact_channels_never_merge_silently() -> None:
    close = sv.Channel([["1/2", "1/2"], [F(1, 2) + F(1, 10**30), F(1, 2) - F(1, 10**30)]])
    assert close.reduced().shape == (2, 2)
    assert sv.Channel(close.matrix).reduced().shape == (2, 1)
    with pytest.raises(
        ChannelError, match=r"tolerance is 0.1; an exact channel merges only exactly proportional"
    ):
        close.reduced(0.1)


def test_float_merging_uses_the_tolerance_and_reports_the_radius() -> None:
    matrix = np.array([[0.25, 0.25, 0.5], [0.25 * (1 + 1e-6), 0.25 * (1 - 1e-6), 0.5]])
    assert reduction(sv.Channel(matrix)).channel.shape == (2, 3)
    found = reduction(sv.Channel(matrix), 1e-5)
    assert found.channel.shape == (2, 1)
    assert 1e-7 < found.radius < 1e-5


def test_log_channels_merge_far_below_underflow() -> None:
    logs = np.log(np.array([[0.25, 0.25, 0.5], [0.1, 0.1, 0.8]]))
    channel = sv.Channel.from_log(np.column_stack([logs, logs - 3000]), normalise=True)
    assert channel.reduced().shape == (2, 2)


def test_null_channels_are_equivalent_whatever_their_width() -> None:
    assert sv.Channel.null(2).is_equivalent(sv.Channel([["1/3", "2/3"], ["1/3", "2/3"]]))
    assert sv.Channel([[0.1, 0.9]] * 2).reduced().shape == (2, 1)
    assert not sv.Channel.null(2).is_equivalent(sv.Channel.identity(2))
    assert not sv.Channel.null(2).is_equivalent(sv.Channel.null(3))


def test_equivalence_matches_inputs_by_label() -> None:
    channel = sv.Channel([[1, 0], ["1/2", "1/2"]], inputs=["a", "b"])
    assert channel.is_equivalent(sv.Channel([["1/2", "1/2"], [0, 1]], inputs=["b", "a"]))
    assert not channel.is_equivalent(sv.Channel([["1/2", "1/2"], [0, 1]], inputs=["a", "b"]))


def split(draw: Any, channel: sv.Channel) -> sv.Channel:
    """An equivalent channel: columns split in two proportional parts, a zero column, another order."""
    columns = []
    for column in zip(*exact(channel), strict=True):
        share = F(draw(st.integers(0, 4)), 4)
        columns += [[share * entry for entry in column], [(1 - share) * entry for entry in column]]
    columns.append([F(0)] * channel.shape[0])
    order = draw(st.permutations(range(len(columns))))
    return sv.Channel([[columns[j][i] for j in order] for i in range(channel.shape[0])])


@given(st.data(), testing.channels(form="exact", sparse=True))
def test_equivalent_channels_have_equal_reduced_forms(data: st.DataObject, channel: sv.Channel) -> None:
    other = split(data.draw, channel)
    assert exact(channel.reduced()) == exact(other.reduced())
    assert channel.is_equivalent(other)
    assert channel.hyper().is_same(other.hyper())


@given(st.data(), st.integers(1, 3))
def test_equal_reduced_forms_iff_same_leakage(data: st.DataObject, n: int) -> None:
    """Fernandes Lem 2.3: unequal reduced forms are told apart by some hyper, equal ones by none."""
    a, b = (data.draw(testing.channels(n, (1, 3), form="exact", sparse=True)) for _ in range(2))
    same = exact(a.reduced()) == exact(b.reduced())
    assert a.is_equivalent(b) == same
    assert a.hyper().is_same(b.hyper()) == same
    if same:
        gain = data.draw(testing.gain_matrices(n))
        prior = data.draw(testing.priors(n, exact=True))
        first, second = (sv.posterior_vulnerability(c, prior, gain).value for c in (a, b))
        assert first == second


@given(testing.channels(form="exact", sparse=True))
def test_reduction_is_idempotent(channel: sv.Channel) -> None:
    reduced = channel.reduced()
    assert exact(reduced.reduced()) == exact(reduced)


@given(st.data(), st.integers(1, 4))
def test_channel_from_hyper_is_the_reduced_channel(data: st.DataObject, n: int) -> None:
    """Fernandes F1: channel_from_hyper(push(ν, C)) = reduced(C), for every full-support prior."""
    channel = data.draw(testing.channels(n, form="exact", sparse=True))
    prior = data.draw(testing.priors(n, exact=True, full_support=True))
    assert exact(channel.hyper().channel()) == exact(channel.reduced())
    assert exact(channel.hyper(prior).channel()) == exact(channel.reduced())
    assert channel.hyper(prior).prior.tolist() == prior.tolist()


@given(testing.channels(sparse=True))
def test_float_hypers_recover_the_channel(channel: sv.Channel) -> None:
    again = channel.hyper().channel()
    assert again.is_equivalent(channel, tolerance=1e-9)
    assert channel.hyper().is_same(again.hyper(), tolerance=1e-9)


@given(st.data(), st.integers(1, 4))
def test_float_log_and_exact_reduced_forms_agree(data: st.DataObject, n: int) -> None:
    channel = data.draw(testing.channels(n, form="exact", sparse=True))
    assert sv.Channel(channel.matrix).is_equivalent(channel)
    assert sv.Channel.from_log(channel.log_matrix).is_equivalent(channel)


def test_fernandes_e4_a_posterior_is_about_secrets_and_zero_outputs_have_none() -> None:
    """E4: δ^y[x] = P(x | y) sums to 1 over secrets; an output of probability 0 has a_y = 0 and no δ^y."""
    channel = sv.Channel([["1/2", "1/2", 0], ["1/4", "3/4", 0]], outputs=["u", "v", "w"])
    hyper = channel.hyper()
    assert [sum(inner) for inner in hyper.inners.tolist()] == [1, 1]
    # As printed, "the probability of observing y for each x" would be the column itself.
    assert hyper.inners.tolist()[0] != [F(1, 2), F(1, 4)]
    assert hyper.inners.tolist()[0] == [F(2, 3), F(1, 3)]
    assert hyper.groups == (("u",), ("v",))
    joint = channel.exact * sv.uniform(2)[:, None]  # type: ignore[operator]
    assert joint.sum(axis=0).tolist()[2] == 0


def test_outputs_impossible_under_the_prior_are_dropped() -> None:
    hyper = sv.Channel.identity(["a", "b"]).hyper([1, 0])
    assert (hyper.outers.tolist(), hyper.inners.tolist()) == ([1], [[1, 0]])
    with pytest.raises(ChannelError, match="the hyper never reaches input 'b', so its row is not determined"):
        hyper.channel()


def test_equal_posteriors_merge_in_a_hyper() -> None:
    hyper = sv.Channel([[0.25, 0.25, 0.5], [0.25, 0.25, 0.5]], outputs=list("xyz")).hyper([0.3, 0.7])
    assert len(hyper) == 1
    assert hyper.groups == (("x", "y", "z"),)
    assert hyper.outers == pytest.approx([1])


def test_hypers_of_different_weights_differ() -> None:
    a = sv.Channel([["1/2", "1/2"], ["1/4", "3/4"]]).hyper()
    b = sv.Channel([[0.5, 0.5], [0.25, 0.75]]).hyper([0.5, 0.5])
    assert a.is_same(b)
    assert not a.is_same(sv.Channel([["1/3", "2/3"], ["1/6", "5/6"]]).hyper())
    assert not b.is_same(sv.Channel([[0.4, 0.6], [0.2, 0.8]]).hyper())
    assert not a.is_same(sv.Channel.null(2).hyper())


def test_hyper_as_plain_data() -> None:
    data = json.loads(json.dumps(sv.Channel([["1/2", "1/2"], [0, 1]]).hyper().to_dict()))
    assert data["outers"] == ["1/4", "3/4"]
    assert str(sv.Channel.identity(2).hyper()) == "2 posteriors over 2 secrets"


def test_one_input_and_one_output() -> None:
    for channel in (sv.Channel([["1/3", "2/3"]]), sv.Channel.null(1)):
        assert channel.reduced().shape == (1, 1)
        assert channel.hyper().inners.tolist() == [[1]]
        assert sv.distinguishability(channel).matrix.tolist() == [[0]]


def test_many_equal_columns_reduce_quickly() -> None:
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.ones(20), 30)
    wide = sv.Channel(np.repeat(base, 50, axis=1) / 50)
    assert wide.reduced().shape == (30, 20)
    assert math.isclose(wide.reduced().matrix.sum(), 30)
