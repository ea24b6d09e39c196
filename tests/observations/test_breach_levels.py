"""Levels and rates of Boreale and Paolini: worked numbers, errata, attaining priors, laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.errors import GainError, MechanismError, PriorError

RING = [[Fraction(1, 4) if (j - i) % 6 in (0, 1, 5) else Fraction(1, 12) for j in range(6)] for i in range(6)]
LINE = [
    ["2/3", "1/6", "1/12", "1/24", "1/48", "1/48"],
    ["1/3", "1/3", "1/6", "1/12", "1/24", "1/24"],
    ["1/6", "1/6", "1/3", "1/6", "1/12", "1/12"],
    ["1/12", "1/12", "1/6", "1/3", "1/6", "1/6"],
]
LN2 = math.log(2)


def change(channel: sv.Channel, prior: np.ndarray, members: list[int], output: int) -> float:
    """log2 p(Q|y)/p(Q), by the definition."""
    joint = prior[:, None] * channel.matrix
    return math.log2(joint[members, output].sum() / joint[:, output].sum() / prior[members].sum())


def test_example_1_and_its_printed_level() -> None:
    """The level is log2 3; the printed 3.0012 is the ratio 0.25/0.0833 before the logarithm."""
    found = sv.breaches(sv.Channel(RING))
    assert found.worst.bits == pytest.approx(1.584963, abs=5e-7)
    assert 2**found.worst.bits == pytest.approx(3)
    assert found.worst.bits != pytest.approx(3.0012, abs=1)
    assert found.worst.nats == pytest.approx(math.log(3))
    assert found.average.bits == pytest.approx(0.584963, abs=5e-7)
    assert found.rates.average.bits == pytest.approx(0.207519, abs=5e-7)
    assert found.rates.utility.bits == pytest.approx(0.0659111, abs=5e-8)
    assert found.rates.worst.bits == found.worst.bits


def test_example_1_as_described_is_not_the_printed_matrix() -> None:
    """Noise from {-1/2, 1/2} has two outcomes a row; the printed rows have three equal large entries."""
    assert sorted(RING[0], reverse=True)[:3] == [Fraction(1, 4)] * 3
    assert sum(RING[0]) == 1


def test_example_2_needs_the_line_and_one_twenty_fourth() -> None:
    printed = [Fraction(x) for x in ("2/3", "1/6", "1/12", "1/64", "1/48", "1/48")]
    assert sum(printed) != 1
    channel = sv.Channel(LINE)
    found = sv.breaches(channel, policy_or_metric=sv.metrics.line(4))
    assert found.worst.bits == pytest.approx(3)
    assert found.privacy_bits == pytest.approx(1)
    assert found.differs


def test_example_2_is_2_private_on_bits_in_any_order() -> None:
    """Under Hamming adjacency of {0,1}² no assignment of the rows is 1-private; in order it is 2-private."""
    from itertools import permutations

    bits = [(0, 0), (0, 1), (1, 0), (1, 1)]
    policy = sv.Policy.differential([0, 1], 2)
    levels = {}
    for order in permutations(range(4)):
        channel = sv.Channel([LINE[i] for i in order], inputs=bits)
        levels[order] = sv.epsilon(channel, policy).nats / LN2
    assert levels[(0, 1, 2, 3)] == pytest.approx(2)
    assert min(levels.values()) > 1.5


def test_theorems_3_to_5_on_two_individuals() -> None:
    bits = [(0, 0), (0, 1), (1, 0), (1, 1)]
    channel = sv.Channel(LINE, inputs=bits)
    policy = sv.Policy.differential([0, 1], 2)
    found = sv.observations.individual_breach(channel, policy)
    # Thm 5: product priors reach the level of privacy, correlated ones the worst-case level (Thm 3).
    assert found.bits == pytest.approx(sv.epsilon(channel, policy).nats / LN2)
    assert found.correlated_bits == pytest.approx(3)
    assert found.bits <= found.correlated_bits <= 2 * found.bits  # Thm 4
    gains, loses = found.inputs
    (record,) = [i for i in range(2) if gains[i] != loses[i]]
    belief = found.prior(0.95 * found.bits)
    prior = np.zeros(4)
    for value, weight in belief.items():
        database = list(gains)
        database[record] = value
        prior[bits.index(tuple(database))] = weight
    members = [i for i, database in enumerate(bits) if database[record] == found.values[0]]
    reached = change(channel, prior, members, channel.output_index(found.output))
    assert reached == pytest.approx(0.95 * found.bits)


@given(
    testing.channels(inputs=(4, 4), outputs=(2, 4), form="exact"),
    testing.priors((2, 2)),
    testing.priors((2, 2)),
)
def test_no_product_prior_exceeds_the_individual_level(channel, first, second) -> None:
    bits = [(0, 0), (0, 1), (1, 0), (1, 1)]
    channel = sv.Channel(channel.exact, inputs=bits)
    level = sv.observations.individual_breach(channel, sv.Policy.differential([0, 1], 2)).bits
    first, second = (np.asarray(p, dtype=float) for p in (first, second))
    prior = np.array([first[a] * second[b] for a, b in bits])
    joint = prior[:, None] * channel.matrix
    for members in ([2, 3], [1, 3]):
        before = prior[members].sum()
        for y in np.flatnonzero(joint.sum(axis=0) > 0):
            after = joint[members, y].sum() / joint[:, y].sum()
            if before > 0 and after > 0:
                assert abs(math.log2(after / before)) <= level + 1e-9


def test_the_worst_level_is_approached_and_never_exceeded() -> None:
    channel = sv.Channel(LINE)
    level = sv.observations.worst_level(channel)
    for wanted in (0.0, 1.5, 2.9, 2.999999):
        prior = np.zeros(4)
        for label, weight in level.prior(wanted).items():
            prior[channel.input_index(label)] = weight
        reached = change(channel, prior, [channel.input_index(level.predicate[0])], level.output)
        assert reached == pytest.approx(wanted, abs=1e-9)
    with pytest.raises(GainError, match="below 3 bits"):
        level.prior(3.0)


@given(testing.channels(inputs=(2, 4), outputs=(2, 4), form="float"), testing.priors((4, 4)))
def test_no_prior_exceeds_the_worst_level(channel, prior) -> None:
    prior = np.asarray(prior, dtype=float)[: channel.shape[0]]
    if not prior.sum() > 0:
        return
    prior = prior / prior.sum()
    level = sv.observations.worst_level(channel).bits
    found = sv.breaches(channel, prior).predicate
    assert found.up_bits <= level + 1e-9
    # A set changes by an average of its members' changes.
    for y in np.flatnonzero(prior @ channel.matrix > 0):
        for members in ([0], [0, 1]):
            if prior[members].sum() > 0 and (prior[members] * channel.matrix[members, y]).sum() > 0:
                assert change(channel, prior, members, y) <= found.up_bits + 1e-9


def test_the_average_level_is_attained() -> None:
    channel = sv.Channel(RING)
    level = sv.observations.average_level(channel)
    prior = np.zeros(6)
    for label, weight in level.prior().items():
        prior[label] = weight
    found = sv.breaches(channel, prior, predicate=level.predicate)
    assert found.predicate.average_bits == pytest.approx(level.bits)
    assert level.distance == pytest.approx(0.5)


@given(testing.channels(inputs=(3, 4), outputs=(2, 4)), testing.priors((3, 4)))
def test_no_question_gains_more_than_the_average_level(channel, prior) -> None:
    prior = np.resize(np.asarray(prior, dtype=float), channel.shape[0])
    prior = prior / prior.sum() if prior.sum() > 0 else np.full(len(prior), 1 / len(prior))
    level = sv.observations.average_level(channel)
    assert 0 <= level.bits <= 1
    for members in ([0], [0, 1], [1]):
        if prior[members].sum() > 0:
            assert sv.breaches(channel, prior, members).predicate.average_bits <= level.bits + 1e-9


@pytest.mark.parametrize("ratio", ["1/2", "4/5", "1/5"])
@pytest.mark.parametrize("last", [1, 2, 5])
def test_theorem_11_and_corollary_1(ratio: str, last: int) -> None:
    """Truncation loses nothing, for any pair of inputs: Cor 1 ("strictly smaller rate") is an erratum."""
    closed = sv.observations.geometric_rate(alpha=ratio)
    assert closed.bits == pytest.approx(sv.observations.geometric_rate(eps=-math.log(Fraction(ratio))).bits)
    full = sv.mechanisms.geometric(last + 1, alpha=ratio)
    truncated = sv.mechanisms.truncated_geometric(last + 1, alpha=ratio)
    assert sv.observations.rates(full).utility.bits == pytest.approx(closed.bits, rel=1e-12)
    assert np.allclose(
        sv.observations.chernoff_pairs(full).bits, sv.observations.chernoff_pairs(truncated).bits, rtol=1e-12
    )
    assert not sv.observations.rates(truncated).utility.bits < closed.bits * (1 - 1e-9)


def test_remark_4() -> None:
    for c, rate in (("1/2", 0.0849625), ("4/5", 0.00896095), ("1/5", 0.423998)):
        assert sv.observations.geometric_rate(alpha=c).bits == pytest.approx(rate, rel=5e-6)
    # With c = 2^-ε: ε/2 + log2((1 + 2^-ε)/2).
    assert sv.observations.geometric_rate(eps=LN2).bits == pytest.approx(0.5 + math.log2(0.75))
    assert sv.observations.geometric_rate(eps=0.0).bits == 0
    # Small ε: ε²/8 nats, which the closed form as printed loses to cancellation.
    assert sv.observations.geometric_rate(eps=1e-9).nats == pytest.approx(1.25e-19, rel=1e-12)
    with pytest.raises(MechanismError, match="exactly one"):
        sv.observations.geometric_rate()


@given(testing.channels(inputs=(2, 5), outputs=(1, 5), form="exact"))
def test_theorem_10(channel) -> None:
    """The utility rate is at most the worst-case level, and at most the level of privacy on a line."""
    found = sv.observations.rates(channel)
    assert found.utility.bits <= sv.observations.worst_level(channel).bits + 1e-12
    assert found.utility.bits <= found.average.bits
    line = sv.metrics.line(channel.shape[0])
    if not found.classes:
        assert found.utility.bits <= sv.epsilon(channel, line).nats / LN2 + 1e-12


def test_what_the_theorems_leave_out() -> None:
    """Erratum 6: Thm 10 needs an edge, Prop 1 needs Q ≠ X."""
    coin = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    apart = sv.metrics.from_graph([], nodes=[0, 1])
    assert sv.epsilon(coin, apart).nats == 0 < sv.observations.rates(coin).utility.nats
    for level in (0.0, 0.01):
        everything = sv.observations.breach_curve(
            coin, predicate=[0, 1], level=level, observations=200, direction="either"
        )
        assert everything.by[-1] == 0
    # Prop 1: any other predicate is breached at any reachable level, given enough observations.
    assert sv.observations.breach_curve(coin, [0.01, 0.99], [0], 6.6, 400).at[-1] > 0.9


@given(testing.degraded_pairs())
def test_post_processing_lowers_every_level_and_rate(pair) -> None:
    before, after = pair[0], pair[1]
    assert sv.observations.worst_level(after).bits <= sv.observations.worst_level(before).bits + 1e-9
    assert sv.observations.average_level(after).bits <= sv.observations.average_level(before).bits + 1e-9
    if before.shape[0] > 1:
        assert (
            sv.observations.chernoff_pairs(after).bits <= sv.observations.chernoff_pairs(before).bits + 1e-9
        ).all()


@given(testing.channels(inputs=(2, 4), outputs=(2, 3), form="exact"))
def test_repetition_adds_and_proportional_columns_merge(channel) -> None:
    once, level = sv.observations.chernoff_pairs(channel).bits, sv.observations.worst_level(channel).bits
    assert np.allclose(
        sv.observations.chernoff_pairs(channel.repeated(3)).bits, 3 * once, rtol=1e-9, atol=1e-12
    )
    assert sv.observations.worst_level(channel.repeated(3)).bits == pytest.approx(3 * level)
    split = sv.Channel([[v for x in row for v in (x / 3, 2 * x / 3)] for row in channel.exact])
    assert sv.observations.worst_level(split).bits == pytest.approx(level)
    assert np.allclose(sv.observations.chernoff_pairs(split).bits, once, rtol=1e-9, atol=1e-12)
    assert sv.observations.average_level(split).bits == pytest.approx(
        sv.observations.average_level(channel).bits
    )


def test_infinite_levels_and_disjoint_supports() -> None:
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"]], inputs=["a", "b"])
    found = sv.breaches(channel, observations=3)
    assert found.worst.bits == math.inf
    assert found.worst.prior() == {"a": 0.5, "b": 0.5}
    assert found.predicate.down_bits == math.inf
    assert "rules" in str(found.worst)
    assert found.rates.utility.bits == pytest.approx(1)
    assert found.success.values.tolist() == [0.75, 0.875, 0.9375]
    told = sv.breaches(sv.Channel([[1, 0], [0, 1]]), level=0.5, observations=2)
    assert told.rates.utility.bits == math.inf
    assert told.success.values.tolist() == [1, 1]
    assert told.breach.at.tolist() == [1, 1]


def test_equal_rows_are_merged_and_reported() -> None:
    channel = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"], ["2/5", "3/5"]], inputs=["a", "b", "c"])
    found = sv.breaches(channel, [0.5, 0.3, 0.2], observations=50)
    assert found.classes == (("b", "c"),)
    assert found.rates.utility.pair == ("a", "b")
    assert found.success[-1].limit == pytest.approx(0.8)
    assert found.success[-1].value < 0.8
    # Belief in b tends from 1/3 to 1/2, by 0.585 bits: a breach of 0.1 bits for good, of 0.6 bits never.
    pair = sv.observations.chernoff_information([0.6, 0.4], [0.4, 0.6])
    assert sv.breaches(channel, predicate=["b"], level=0.1).breach.rate_bits == pytest.approx(pair)
    assert not sv.breaches(channel, predicate=["b"], level=0.6).breach.reachable


def test_one_input_one_output_and_zero_columns() -> None:
    alone = sv.breaches(sv.Channel([["1/2", "1/2"]]), observations=4)
    assert (alone.worst.bits, alone.average.bits, alone.rates.utility.bits) == (0, 0, 0)
    assert alone.success.values.tolist() == [1] * 4
    mute = sv.breaches(sv.Channel([[1], [1]]), observations=4)
    assert (mute.worst.bits, mute.average.bits, mute.rates.average.bits) == (0, 0, 0)
    assert mute.success.values.tolist() == [0.5] * 4
    padded = sv.Channel([["3/5", 0, "2/5"], ["2/5", 0, "3/5"]])
    assert sv.observations.worst_level(padded).bits == pytest.approx(math.log2(1.5))
    with pytest.raises(PriorError, match="probability 0"):
        sv.breaches(padded, [1, 0], predicate=[1])


def test_entries_down_to_1e_300() -> None:
    tiny = sv.Channel([[1 - 1e-300, 1e-300], [1e-300, 1 - 1e-300]])
    assert sv.observations.worst_level(tiny).bits == pytest.approx(300 * math.log2(10))
    found = sv.success_probability(tiny, observations=2)
    assert found.missing_bits == pytest.approx(300 * math.log2(10), rel=1e-9)
    smaller = sv.Channel.from_log([[0.0, -2000.0], [-2000.0, 0.0]], normalise=True)
    assert sv.success_probability(smaller, observations=3).missing_bits == pytest.approx(
        (4000 - math.log(3)) / LN2, rel=1e-12
    )


def test_results_speak_and_become_data() -> None:
    import json

    found = sv.breaches(sv.Channel(RING), level=0.5, observations=3, policy_or_metric=sv.metrics.cycle(6))
    data = json.loads(json.dumps(found.to_dict()))
    assert data["success"]["observations"] == [1, 2, 3]
    assert data["worst"]["bits"] == pytest.approx(1.584963, abs=1e-6)
    assert "after 3 observations the attacker is right with probability" in str(found)
    assert "<table>" in found._repr_html_()
