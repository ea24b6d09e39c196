"""Channels known by a rule against the same channels as matrices."""

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError, TooLargeError

KINDS = sorted(testing.STRUCTURED)


def dense(channel: sv.Channel) -> sv.Channel:
    """The same channel with nothing but its matrix."""
    finite = channel.finite()
    if finite.form == "exact":
        return sv.Channel(finite.exact, finite.inputs, finite.outputs)
    return sv.Channel.from_log(finite.log_matrix, finite.inputs, finite.outputs)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=25)
def test_rows_and_products_are_those_of_the_matrix(kind: str, data: st.DataObject) -> None:
    channel = data.draw(testing.structured_channels(kinds=[kind]))
    plain = dense(channel)
    finite = channel.finite()
    assert finite.shape == plain.shape
    assert finite.inputs == plain.inputs
    for name in plain.inputs:
        assert channel.row(name) == pytest.approx(plain.row(name), abs=1e-14)
    seed = data.draw(st.integers(0, 2**32 - 1))
    left, right = (np.random.default_rng(seed).normal(size=size) for size in plain.shape)
    assert channel.matvec(right) == pytest.approx(plain.matvec(right), abs=1e-12)
    assert channel.rmatvec(left) == pytest.approx(plain.rmatvec(left), abs=1e-12)
    assert channel.is_equivalent(plain)
    assert str(finite.shape[0]) in repr(finite) or kind == "product"


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=40)
def test_levels_are_those_of_the_matrix(kind: str, data: st.DataObject) -> None:
    channel = data.draw(testing.structured_channels(kinds=[kind]))
    plain = dense(channel)
    labels = plain.inputs
    size = len(labels)
    edges = data.draw(st.lists(st.tuples(*[st.integers(0, size - 1)] * 2)))
    graph = sv.metrics.from_graph([(labels[i], labels[j]) for i, j in edges if i != j], nodes=labels)
    discrete, far = sv.metrics.discrete(labels), sv.Metric(np.where(np.eye(size) > 0, 0.0, np.inf), labels)
    general = data.draw(testing.metrics(size, extended=True))
    for metric in (graph, discrete, sv.Metric(general.matrix, labels), far):
        ours, expected = sv.epsilon(channel, metric), sv.epsilon(plain, metric)
        assert ours.nats == pytest.approx(expected.nats, rel=1e-9, abs=1e-12)
        assert (ours.pair is None) == (expected.pair is None)
        if ours.pair is not None:
            check_witness(plain, metric, ours)


def check_witness(plain: sv.Channel, metric: sv.Metric, found: sv.results.Epsilon) -> None:
    """The pair and the output named really have the ratio that makes ε."""
    likelier, other = found.pair
    row = plain.output_index(found.output)
    top, bottom = (plain.row(name)[row] for name in (likelier, other))
    distance = metric.distance(likelier, other)
    assert distance == found.distance
    assert top > bottom
    ratio = math.inf if bottom == 0 else math.log(top / bottom)
    assert found.nats == pytest.approx(ratio / distance if distance else math.inf, rel=1e-9)
    if found.exact is not None:
        assert float(found.exact) == pytest.approx(top / bottom)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_follow_the_rows(kind: str) -> None:
    """A chi-square test on 20 000 draws, fixed seed; a false alarm has probability 1e-6 for each kind."""
    channel = example(kind)
    xs = [x for x in channel.inputs for _ in range(20_000 // len(channel.inputs))]
    statistic, freedom = 0.0, 0
    given_inputs = np.array(xs) if kind == "product" else xs
    drawn = channel.sample(given_inputs, rng=7).tolist()
    for x in channel.inputs:
        counts: dict[Any, int] = {}
        for name, output in zip(xs, drawn, strict=True):
            if name == x:
                key = tuple(output) if kind == "product" else output
                counts[key] = counts.get(key, 0) + 1
        total = sum(counts.values())
        expected = probabilities(channel, x)
        assert set(counts) <= {y for y, p in expected.items() if p > 0}
        statistic += sum(
            (counts.get(y, 0) - total * p) ** 2 / (total * p) for y, p in expected.items() if p > 0
        )
        freedom += sum(p > 0 for p in expected.values()) - 1
    assert freedom == 0 or statistic < chi2.isf(1e-6, freedom)


def example(kind: str) -> sv.Channel:
    """One channel of each kind with no tiny probability."""
    coin = sv.Channel([["3/4", "1/4"], ["1/3", "2/3"]], ["a", "b"], ["x", "y"])
    examples = {
        "blocks": sv.Channel.block_diagonal([coin, sv.Channel.null(["c", "d"])]),
        "cycle": sv.Channel.from_noise(["1/2", "1/3", "1/6"], size=5, first=-1, cyclic=True),
        "geometric": sv.mechanisms.geometric(3, alpha="1/2"),
        "noise": sv.Channel.from_noise([0.5, 0.3, 0.2], size=4, first=-2),
        "partition": sv.Channel.from_blocks([1, 2, 1]),
        "product": sv.Channel.product_of([(coin, 2)]),
        "program": sv.Channel.from_function(lambda word: word[0], ["ant", "bee", "asp"]),
        "response": sv.mechanisms.randomised_response(["x", "y", "z"], 1.0),
        "sparse": sv.Channel.from_sparse([[0, 0.5, 0.5], [0.2, 0, 0.8]], outputs=["p", "q", "r"]),
        "truncated": sv.mechanisms.truncated_geometric(5, alpha="1/2"),
    }
    return examples[kind]


def probabilities(channel: sv.Channel, x: Any) -> dict[Any, float]:
    if isinstance(channel.finite(), type(channel)):
        return dict(zip(channel.outputs, channel.row(x).tolist(), strict=True))
    # Geometric noise on all integers: outputs beyond ±30 have less than 1e-9 of the probability.
    return {y: float(channel.probability(x, y)) for y in range(-30, 31)}  # type: ignore[attr-defined]


def test_sampling_at_the_extremes() -> None:
    never, always = (sv.mechanisms.truncated_geometric(5, eps) for eps in (math.inf, 0.0))
    assert never.sample([0, 3, 4], rng=1).tolist() == [0, 3, 4]
    assert set(always.sample([2] * 100, rng=1).tolist()) == {0, 4}
    assert sv.mechanisms.geometric(3, 1e-300).sample([1, 1], rng=1).shape == (2,)
    assert sv.mechanisms.randomised_response(1, 1.0).sample([0], rng=1).tolist() == [0]


def test_products_draw_infinite_noise_as_itself_and_mixed_labels_as_objects() -> None:
    noise = sv.mechanisms.geometric(3, 0.05)
    drawn = noise.product(2).sample([(0, 2)] * 50, rng=3)
    assert drawn.min() < 0
    assert drawn.max() > 2
    mixed = sv.Channel.product_of([sv.Channel.identity(["a", "b"]), sv.Channel.identity(2)])
    assert mixed.sample([("b", 1)]).tolist() == [["b", 1]]


def test_extreme_channels_on_many_inputs_stay_symbolic() -> None:
    many = 100_000
    identity, null = sv.Channel.identity(many), sv.Channel.null(many)
    assert identity.shape == (many, many)
    assert sv.capacity(identity).factor == many
    assert sv.capacity(null).factor == 1
    assert identity.sample([99_999]).tolist() == [99_999]


@pytest.mark.parametrize(
    ("build", "rows", "columns"),
    [
        (lambda: sv.mechanisms.randomised_response(10**6, 1.0), "1,000,000", "1,000,000"),
        (lambda: sv.mechanisms.truncated_geometric(10**6, 1.0), "1,000,000", "1,000,000"),
        (lambda: sv.Channel.from_noise([0.5, 0.5], 10**6), "1,000,000", "1,000,001"),
        (lambda: sv.Channel.from_noise([0.5, 0.5], 10**6, cyclic=True), "1,000,000", "1,000,000"),
        (lambda: sv.Channel.from_function(lambda x: x, 10**6), "1,000,000", "1,000,000"),
        (lambda: sv.Channel.from_blocks({1: 2**40}), f"{2**40:,}", f"{2**40:,}"),
        (lambda: sv.mechanisms.randomised_response(2, 1.0).product(10**6), "9.90e301029", "9.90e301029"),
        (lambda: sv.Channel.from_sparse(scipy.sparse.eye_array(10**6)), "1,000,000", "1,000,000"),
        (
            lambda: sv.Channel.block_diagonal([sv.mechanisms.randomised_response(10**5, 1.0)] * 2),
            "200,000",
            "200,000",
        ),
    ],
)
def test_large_matrices_are_refused_with_their_size(build: Any, rows: str, columns: str) -> None:
    with pytest.raises(TooLargeError, match=f"would be a {rows} × {columns} matrix") as caught:
        _ = build().matrix
    assert caught.value.size >= 10**9


def test_products_with_vectors_of_another_length_are_refused() -> None:
    for kind in KINDS:
        channel = example(kind)
        for product, side in ((channel.matvec, "outputs"), (channel.rmatvec, "inputs")):
            with pytest.raises(
                ChannelError,
                match=f"vector has 99 entries; it needs one number for each of the [0-9]+ {side}",
            ):
                product(np.ones(99))
            with pytest.raises(ChannelError, match="vector"):
                product([["a"]])


def test_infinite_outputs_are_named_and_everything_else_works() -> None:
    noise = sv.mechanisms.geometric(4, alpha="1/2")
    for attribute in ("shape", "outputs", "matrix", "exact"):
        with pytest.raises(ChannelError, match=r"infinitely many outputs; use \.finite\(\)"):
            getattr(noise, attribute)
    truncated = sv.mechanisms.truncated_geometric(4, alpha="1/2")
    assert noise.row(1).tolist() == truncated.row(1).tolist()
    assert noise.matvec([1, 2, 3, 4]).tolist() == truncated.matvec([1, 2, 3, 4]).tolist()
    assert noise.rmatvec([1, 0, 0, 0]).tolist() == truncated.rmatvec([1, 0, 0, 0]).tolist()
    assert noise.finite().outputs == ("≤ 0", 1, 2, "≥ 3")
    bigger = sv.Channel.identity(range(4)).then(noise)
    assert bigger.is_equivalent(truncated)
    assert sv.Channel.block_diagonal([noise, noise]).shape == (8, 8)
    assert noise.alongside(noise).is_equivalent(truncated.alongside(truncated))
    assert noise.product(2).is_equivalent(truncated.product(2))


def test_large_geometric_noise_keeps_its_closed_forms() -> None:
    n = 10**5
    noise = sv.mechanisms.geometric(n, alpha="1/3")
    assert sv.epsilon(noise, sv.metrics.line(n)).exact == 3
    # A path of n values has 1 + (n-1)·tanh(ε/2), tanh(ε/2) = (1-α)/(1+α) = 1/2 (beyond-exact-leakage 5).
    assert sv.capacity(noise).factor == 1 + F(n - 1, 2)
    assert float(sv.leakage(noise)) == pytest.approx(1 + (n - 1) / 2, rel=1e-12)
    total = noise.rmatvec(np.full(n, 1 / n))
    assert total.sum() == pytest.approx(1, rel=1e-12)
    assert noise.row(7).sum() == pytest.approx(1, rel=1e-12)
    assert sv.epsilon(noise, sv.metrics.discrete(n)).nats == pytest.approx((n - 1) * math.log(3))
    # The ratio of the ends, 3^99999, is not written out.
    assert sv.epsilon(noise, sv.metrics.discrete(n)).exact is None


@given(st.integers(2, 12), st.integers(1, 12), st.booleans(), st.data())
@settings(max_examples=60)
def test_running_extremes_of_a_kernel(size: int, length: int, exact: bool, data: st.DataObject) -> None:
    kernel = data.draw(testing.priors(length, exact=exact))
    channel = sv.Channel.from_noise(kernel.tolist(), size)
    matrix = channel.exact if exact else channel.matrix
    assert channel.column_maxima().tolist() == matrix.max(axis=0).tolist()  # type: ignore[attr-defined]
    assert channel.column_minima().tolist() == matrix.min(axis=0).tolist()  # type: ignore[attr-defined]


def test_sparse_channels_leave_the_given_matrix_alone() -> None:
    given = scipy.sparse.coo_array(([0.25, 0.25, 0.5, 1.0, 0.0], ([0, 0, 0, 1, 1], [0, 0, 1, 1, 0])))
    table = given.tocsr()
    stored = table.nnz
    channel = sv.Channel.from_sparse(table)
    assert table.nnz == stored
    assert channel.matrix.tolist() == [[0.5, 0.5], [0, 1]]
    assert repr(channel) == "Channel(sparse, 2 inputs, 2 outputs, 3 non-zero entries)"


def test_levels_of_many_sparse_rows_at_once() -> None:
    """A million rows of two entries each against a line: pairs with other supports are told apart."""
    n = 10**5
    rows = np.repeat(np.arange(n), 2)
    columns = np.tile([0, 1], n)
    shares = np.where(np.arange(n) % 2 == 0, 0.5, 0.25)
    data = np.column_stack([shares, 1 - shares]).ravel()
    channel = sv.Channel.from_sparse(scipy.sparse.coo_array((data, (rows, columns))))
    found = sv.epsilon(channel, sv.metrics.line(n))
    assert found.nats == pytest.approx(math.log(2))
    assert found.pair == (0, 1)
    shifted = sv.Channel.from_sparse(scipy.sparse.coo_array((data, (rows, columns + rows))))
    assert sv.epsilon(shifted, sv.metrics.line(n)).nats == math.inf
