"""Cascade, parallel, repetition, products over records, oblivious queries (Fernandes, F12)."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError

forms = st.sampled_from(["exact", "float", "log"])


@given(st.data(), forms, forms)
def test_cascade_is_the_matrix_product_in_every_form(data: st.DataObject, first: str, second: str) -> None:
    a = data.draw(testing.channels(form=first, sparse=True))  # type: ignore[arg-type]
    b = data.draw(testing.channels(a.shape[1], form=second, sparse=True))  # type: ignore[arg-type]
    joined = a.then(b)
    assert np.allclose(joined.matrix, a.matrix @ b.matrix, rtol=1e-12, atol=0)
    assert joined.form == (
        "exact" if {first, second} == {"exact"} else "log" if "log" in (first, second) else "float"
    )


@given(st.data(), forms, forms)
def test_parallel_multiplies_entries(data: st.DataObject, first: str, second: str) -> None:
    a = data.draw(testing.channels(form=first, sparse=True))  # type: ignore[arg-type]
    b = data.draw(testing.channels(a.shape[0], form=second, sparse=True))  # type: ignore[arg-type]
    both = a.alongside(b)
    assert both.outputs == tuple((y, z) for y in a.outputs for z in b.outputs)
    expected = np.einsum("xy,xz->xyz", a.matrix, b.matrix).reshape(a.shape[0], -1)
    assert np.allclose(both.matrix, expected, rtol=1e-12, atol=0)


def test_cascade_matches_labels() -> None:
    first = sv.Channel([["1/4", "3/4"]], outputs=["a", "b"])
    post = sv.Channel([[1, 0], [0, 1]], inputs=["b", "a"], outputs=["B", "A"])
    assert first.then(post).exact.tolist() == [[Fraction(3, 4), Fraction(1, 4)]]  # type: ignore[union-attr]
    assert first.then(sv.Channel.identity(2)).exact.tolist() == [[Fraction(1, 4), Fraction(3, 4)]]  # type: ignore[union-attr]


def test_parallel_matches_labels() -> None:
    a = sv.Channel([[1, 0], [0, 1]], inputs=["x", "y"])
    b = sv.Channel([[1, 0], [0, 1]], inputs=["y", "x"])
    assert a.alongside(b).row("x").tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("compose", "message"),
    [
        (lambda c, d: c.then(d), "the inputs of the second channel has 3 elements but 2 are needed"),
        (lambda c, d: c.alongside(d), "the inputs of the second channel has 3 elements but 2 are needed"),
        (
            lambda c, d: c.then(sv.Channel.identity(["u", "z"])),
            "the inputs of the second channel has no element labelled 'v', but 'u', 'z'; labels must agree",
        ),
        (lambda c, d: c.alongside(sv.Channel.identity(["x", "z"])), "has no element labelled 'y'"),
        (lambda c, d: c.repeated(0), "times is 0; it must be a whole number ≥ 1"),
        (lambda c, d: c.repeated(1.5), "times is 1.5"),
        (lambda c, d: c.product(True), "records is True"),
        (lambda c, d: c.after(sv.Query.record()), "policy is missing"),
        (lambda c, d: c.after(len), "give the list of new inputs together with a function"),
        (lambda c, d: c.after({"new": "w"}), "'w' is not one of the channel's inputs: 'x', 'y'"),
        (
            lambda c, d: c.after(sv.Query.record(), sv.Policy.local([1, 2])),
            "1 is not one of the channel's inputs",
        ),
    ],
)
def test_bad_compositions_are_refused(
    compose: Callable[[sv.Channel, sv.Channel], object], message: str
) -> None:
    first = sv.Channel.identity(2)
    first = sv.Channel(first.matrix, inputs=["x", "y"], outputs=["u", "v"])
    with pytest.raises(ChannelError, match=message):
        compose(first, sv.Channel.identity(["p", "q", "r"]))


@given(testing.channels((1, 3), (1, 3), sparse=True), st.integers(1, 4))
def test_repetition_multiplies_the_distinguishability_exactly(channel: sv.Channel, times: int) -> None:
    """Fernandes 1.4 [S]: k releases of one channel have exactly k·d_C."""
    repeated = channel.repeated(times)
    assert repeated.shape[1] == math.comb(channel.shape[1] + times - 1, times)
    found = sv.distinguishability(repeated).matrix
    assert np.allclose(found, sv.distinguishability(channel).scaled(times).matrix, atol=1e-12)


@given(st.data(), testing.channels((1, 4), (1, 3), sparse=True))
def test_composition_is_exact_and_below_the_sum(data: st.DataObject, first: sv.Channel) -> None:
    """Fernandes Lem 3.1, 3.2 as bounds, and the exact value of two different releases."""
    second = data.draw(testing.channels(first.shape[0], (1, 3), sparse=True))
    exact = sv.divergences.composed_distinguishability(first, second).matrix
    assert np.allclose(sv.distinguishability(first.alongside(second)).matrix, exact, atol=1e-12)
    bound = sv.distinguishability(first).matrix + sv.distinguishability(second).matrix
    assert (exact <= bound + 1e-12).all()
    d = data.draw(testing.metrics(first.shape[0], extended=True))
    total = float(sv.epsilon(first, d)) + float(sv.epsilon(second, d))
    assert float(sv.epsilon(first.alongside(second), d)) <= total + 1e-12


def test_composition_can_be_strictly_below_the_sum() -> None:
    """Fernandes 1.4 [S]: opposite leaks of different strength do not add up."""
    a = sv.Channel([["9/10", "1/10"], ["1/2", "1/2"]])
    b = sv.Channel([["1/2", "1/2"], ["9/10", "1/10"]])
    exact = sv.divergences.composed_distinguishability(a, b).distance(0, 1)
    assert exact == pytest.approx(math.log(9))
    assert sv.distinguishability(a).distance(0, 1) == pytest.approx(math.log(5))


def test_composition_matches_labels() -> None:
    a = sv.Channel([["9/10", "1/10"], ["1/2", "1/2"], ["1/3", "2/3"]], inputs=["x", "y", "z"])
    b = sv.Channel([["1/5", "4/5"], ["1/7", "6/7"], ["1/2", "1/2"]], inputs=["z", "x", "y"])
    assert np.allclose(
        sv.divergences.composed_distinguishability(a, b).matrix, sv.distinguishability(a.alongside(b)).matrix
    )


@pytest.mark.parametrize("records", [1, 2, 3])
def test_product_of_truncated_geometrics_has_exactly_the_manhattan_distance(records: int) -> None:
    """Fernandes Sec 3.4.1: applied to each coordinate, TG has d_C = ε·d_M."""
    channel = sv.mechanisms.truncated_geometric(3, 0.7).product(records)
    manhattan = sv.metrics.manhattan([list(point) for point in channel.inputs])  # type: ignore[call-overload]
    assert sv.distinguishability(channel).matrix == pytest.approx(0.7 * manhattan.matrix, abs=1e-13)
    assert channel.inputs == tuple(tuple(int(v) for v in point) for point in manhattan.points)  # type: ignore[attr-defined]


@given(testing.channels((1, 3), (1, 3), form="exact"), st.integers(1, 3))
def test_product_adds_distances_over_records(channel: sv.Channel, records: int) -> None:
    product = channel.product(records)
    single, joint = sv.distinguishability(channel), sv.distinguishability(product)
    for a in product.inputs:
        for b in product.inputs:
            total = sum(single.distance(u, v) for u, v in zip(a, b, strict=True))  # type: ignore[call-overload]
            assert joint.distance(a, b) <= total + 1e-12


@settings(max_examples=100)
@given(st.data(), testing.policies(size=(1, 3), records=(1, 3)))
def test_fernandes_lem_3_7_query_then_noise_has_the_level_of_the_noise(
    data: st.DataObject, policy: sv.Policy
) -> None:
    """Lem 3.7, Alvim Prop 26: Priv_dY(H) = Priv_dX(H∘f) for the metric dY that f induces."""
    databases = list(policy.databases())
    images = data.draw(st.lists(st.integers(0, 3), min_size=len(databases), max_size=len(databases)))
    keys = [database[0] if policy.records == 1 else database for database in databases]
    query = sv.Query.from_table(dict(zip(keys, images, strict=True)))
    answers = query.answers(policy)
    sparse = data.draw(st.booleans())
    drawn = data.draw(testing.channels(len(answers), (1, 4), sparse=sparse))
    noise = sv.Channel(drawn.matrix, inputs=answers.labels)
    pipeline = noise.after(query, policy)
    assert pipeline.inputs == tuple(keys)
    on_answers = sv.epsilon(noise, policy, query).nats
    on_databases = sv.epsilon(pipeline, policy).nats
    assert on_answers == pytest.approx(on_databases, rel=1e-12)


@given(st.data(), testing.metrics((1, 4)), testing.metrics((1, 4)))
def test_fernandes_lem_3_6_sensitivity_times_noise_level(
    data: st.DataObject, inputs: sv.Metric, outputs: sv.Metric
) -> None:
    """H d_Y-private and f Δ-sensitive give H∘f Δ·d_X-private."""
    f = data.draw(st.lists(st.integers(0, outputs.size - 1), min_size=inputs.size, max_size=inputs.size))
    query = sv.Query.from_table(dict(enumerate(f)))
    noise = data.draw(testing.channels(outputs.size, (1, 4)))
    sensitivity = query.sensitivity(sv.Policy.metric(inputs), outputs)
    level = sv.epsilon(noise, outputs).nats
    pipeline = noise.after(dict(enumerate(f)))
    assert sv.epsilon(pipeline, inputs).nats <= sensitivity * level + 1e-12


def test_fernandes_f12_the_converse_of_lem_3_6_fails() -> None:
    """X discrete on 3 points, f injective to {0,1,2} with d2: H∘f is 2·dD-private but Priv_d2(H) = 2 > 1."""
    policy = sv.Policy.metric(sv.metrics.discrete(3))
    query = sv.Query.from_table({0: 0, 1: 1, 2: 2})
    line = sv.metrics.line(3)
    assert query.sensitivity(policy, line) == 2
    noise = sv.mechanisms.randomised_response(3, 2.0)
    pipeline = noise.after(query, policy)
    assert float(sv.epsilon(pipeline, policy)) == pytest.approx(2)
    assert float(sv.epsilon(noise, line)) == pytest.approx(2)
    assert float(sv.epsilon(noise, line)) > 1


def test_oblivious_composition_with_mappings_and_functions() -> None:
    noise = sv.mechanisms.truncated_geometric(3, alpha="1/2")
    by_mapping = noise.after({"ann": 2, "bob": 0})
    by_function = noise.after(len, ["aa", ""])
    assert by_mapping.row("ann").tolist() == noise.row(2).tolist()
    assert by_function.row("").tolist() == noise.row(0).tolist()
    assert by_function.form == "exact"


def test_oblivious_composition_over_many_databases_is_quick() -> None:
    policy = sv.Policy.differential(2, 14)
    pipeline = sv.mechanisms.truncated_geometric(15, 1.0).after(sv.Query.sum(), policy)
    assert pipeline.shape == (2**14, 15)
    assert np.array_equal(pipeline.row((1,) * 14), sv.mechanisms.truncated_geometric(15, 1.0).row(14))


def test_infinite_geometric_noise_composes_through_its_finite_equivalent() -> None:
    noise = sv.mechanisms.geometric(3, alpha="1/2")
    truncated = sv.mechanisms.truncated_geometric(3, alpha="1/2")
    assert noise.alongside(truncated).is_equivalent(truncated.alongside(truncated))
    assert noise.repeated(2).is_equivalent(truncated.repeated(2))
    assert noise.product(2).is_equivalent(truncated.product(2))
    assert noise.after({"a": 2}).is_equivalent(truncated.after({"a": 2}))
    with pytest.raises(ChannelError, match="infinitely many outputs; use"):
        noise.then(truncated)


def test_repetitions_list_only_what_can_be_observed() -> None:
    certain = sv.Channel.identity(4).repeated(100)
    assert certain.shape == (4, 4)
    assert sv.capacity(certain).factor == 4
    assert sv.capacity(sv.Channel.identity(300).repeated(10**6)).factor == 300
    # Two blocks, one of whose outputs is certain under a third input.
    blocks = sv.Channel([["1/2", "1/2", 0, 0], [0, 0, "1/2", "1/2"], [0, 0, 0, 1]])
    small, large = blocks.repeated(3), blocks.repeated(300)
    assert small.shape == (3, 20)
    assert large.shape == (3, 602)
    for channel, times in ((small, 3), (large, 300)):
        assert sv.capacity(channel).factor == 3 - Fraction(1, 2**times)
        assert all(sum(row) == 1 for row in channel.exact.tolist())
