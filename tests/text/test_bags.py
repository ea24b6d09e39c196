"""Documents as bags: permanents by brute force, the worst ratio against its bound, hiding and revealing."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import TextError, TooLargeError
from sievert.text import (
    bag_bound,
    bag_channel,
    bag_loss,
    bag_probability,
    bottleneck,
    hide_and_reveal,
    hiding_level,
    revealing_level,
    word_channel,
)

F = Fraction
LINE = [[0.0], [1.0], [3.0]]
TRUNCATED = sv.mechanisms.truncated_geometric(3, alpha="1/2")
rows = st.lists(st.lists(st.integers(1, 6), min_size=3, max_size=3), min_size=3, max_size=3)
small_bags = st.lists(st.integers(0, 2), min_size=1, max_size=4)


def channel_of(weights: list[list[int]]) -> sv.Channel:
    return sv.Channel([[F(value, sum(row)) for value in row] for row in weights])


def naive(b: list[int], c: list[int], matrix: np.ndarray) -> Fraction:
    """Every distinct arrangement (eq 9.9)."""
    return sum(
        (
            math.prod((matrix[x, y] for x, y in zip(b, order, strict=True)), start=F(1))
            for order in set(permutations(c))
        ),
        start=F(0),
    )


def test_two_words_twice() -> None:
    """Spec 3.2."""
    warner = sv.Channel([[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)]])
    found = bag_channel(warner, 2)
    assert found.entries.tolist() == [
        [F(4, 9), F(4, 9), F(1, 9)],
        [F(2, 9), F(5, 9), F(2, 9)],
        [F(1, 9), F(4, 9), F(4, 9)],
    ]
    worst = bag_loss([0, 0], [1, 1], warner)
    assert worst.ratio == 4
    assert worst.value == pytest.approx(2 * math.log(2))


def test_the_truncated_geometric_on_three_words() -> None:
    """Spec 3.3: the table, and the bound is attained for all 15 pairs."""
    found = bag_channel(TRUNCATED, 2)
    table = """4/9 2/9 2/9 1/36 1/18 1/36
        2/9 5/18 5/18 1/18 1/9 1/18
        1/9 5/36 17/36 1/36 5/36 1/9
        1/9 2/9 2/9 1/9 2/9 1/9
        1/18 1/9 5/18 1/18 5/18 2/9
        1/36 1/18 2/9 1/36 2/9 4/9"""
    assert found.entries.tolist() == [[F(entry) for entry in line.split()] for line in table.splitlines()]
    line = sv.metrics.line(3)
    for a, b in product(found.inputs, repeat=2):
        cost = sv.text.distance(a, b, line).cost
        assert bag_loss(a, b, TRUNCATED).ratio == 2 ** round(cost)
    assert bag_loss([0, 0], [2, 2], TRUNCATED).ratio == 16
    assert bag_loss([0, 2], [1, 1], TRUNCATED).ratio == 4
    assert bag_loss([0, 2], [1, 2], TRUNCATED).ratio == 2


def test_the_decoding_channel_s_bags() -> None:
    """Spec 3.4."""
    words = word_channel(LINE, 1.0)
    metric = sv.metrics.euclidean(LINE, labels=range(3))
    assert bag_probability([0, 2], [1, 1], words) == pytest.approx(0.0336662549877, abs=1e-12)
    assert bag_probability([0, 2], [0, 2], words) == pytest.approx(0.571354738730, abs=1e-12)
    for a, b, exact, bound in (
        ([0, 0], [1, 1], 2.0, 2),
        ([0, 2], [1, 1], 2.055500835, 3),
        ([0, 0], [2, 2], 5.663593132, 6),
        ([0, 1, 2], [1, 1, 1], 2.055500835, 3),
    ):
        assert float(bag_loss(a, b, words)) == pytest.approx(exact, abs=1e-8)
        assert bag_bound(a, b, 1.0, metric) == pytest.approx(bound)


@given(rows, small_bags, small_bags)
def test_probabilities_by_brute_force(weights: list[list[int]], b: list[int], c: list[int]) -> None:
    law = channel_of(weights)
    size = min(len(b), len(c))
    expected = naive(b[:size], c[:size], law.entries)
    assert bag_probability(b[:size], c[:size], law) == expected
    inexact = sv.Channel(law.matrix)
    assert bag_probability(b[:size], c[:size], inexact) == pytest.approx(float(expected), rel=1e-10)


@given(rows, small_bags)
def test_probabilities_sum_to_one(weights: list[list[int]], b: list[int]) -> None:
    law = channel_of(weights)
    assert sum(bag_probability(b, c, law) for c in combinations_with_replacement(range(3), len(b))) == 1


@given(rows, small_bags, small_bags)
def test_documents_are_as_private_as_their_words(
    weights: list[list[int]], b: list[int], c: list[int]
) -> None:
    """Thm 9.2 on random channels: the loss of words is a metric, and the loss of bags at most N·E of it."""
    law = channel_of(weights)
    logs = law.log_matrix
    metric = sv.Metric(np.abs(logs[:, None] - logs[None]).max(axis=2))
    size = min(len(b), len(c))
    assert float(bag_loss(b[:size], c[:size], law)) <= bag_bound(b[:size], c[:size], 1.0, metric) + 1e-9


def test_a_long_bag_of_one_word_is_a_multinomial() -> None:
    law = sv.Channel([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    counts = {0: 60, 1: 30, 2: 110}
    logs = math.lgamma(201) - sum(math.lgamma(n + 1) for n in counts.values())
    logs += sum(n * math.log(law.matrix[0, y]) for y, n in counts.items())
    assert math.log(bag_probability({0: 200}, counts, law)) == pytest.approx(logs, rel=1e-10)


def test_sizes_leak() -> None:
    """Erratum E5 and pitfall P2: E may be 0 and the documents are told apart all the same."""
    line = sv.metrics.line(3)
    assert float(sv.text.distance([1], [1, 1], line)) == 0
    assert bag_bound([1], [1, 1], 1.0, line) == math.inf
    assert bag_loss([1], [1, 1], TRUNCATED).value == math.inf
    assert "different sizes" in str(bag_loss([1], [1, 1], TRUNCATED))
    assert bag_probability([1], [1, 1], TRUNCATED) == 0
    assert bag_loss([], [], TRUNCATED).value == 0
    assert bag_probability([], [], TRUNCATED) == 1


def test_a_word_copied_through_is_told_apart_for_certain() -> None:
    """Erratum E11: an identity channel on the unknown words has infinite loss."""
    copied = sv.Channel([[F(1, 2), F(1, 2), 0, 0], [F(1, 2), F(1, 2), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    found = bag_loss([0, 2], [0, 3], copied)
    assert found.value == math.inf
    assert {2, 3} & set(found.output or ())


def test_one_noise_for_repeated_words_breaks_the_promise() -> None:
    """Pitfall P7: (0, 0) with one draw for both words against (0, 1), which differ in one word."""
    pairs = list(combinations_with_replacement(range(3), 2))
    shared = [TRUNCATED.entries[0, a] if a == b else F(0) for a, b in pairs]
    independent = [bag_probability([0, 1], pair, TRUNCATED) for pair in pairs]
    lawful = [bag_probability([0, 0], pair, TRUNCATED) for pair in pairs]
    most = F(2)  # e^(ε·N·E)
    assert all(a <= most * b and b <= most * a for a, b in zip(lawful, independent, strict=True))
    assert any(b > most * a for a, b in zip(shared, independent, strict=True))


def test_resampling_costs_the_bottleneck_not_the_mean() -> None:
    """Spec 2.9 (d): ε·N'·E is false for words drawn from the document, ε·N'·W∞ holds."""
    law = sv.mechanisms.truncated_geometric(9, alpha="1/2")
    line = sv.metrics.line(9)
    violated = 0
    rng = np.random.default_rng(1)
    for _ in range(60):
        a, b = rng.integers(0, 9, 4).tolist(), rng.integers(0, 9, 4).tolist()
        p, q = (np.bincount(side, minlength=9) / 4 @ law.matrix for side in (a, b))
        loss = float(np.abs(np.log(p / q)).max())
        assert loss <= math.log(2) * bottleneck(a, b, line) + 1e-12
        violated += loss > math.log(2) * float(sv.text.distance(a, b, line)) + 1e-9
    assert violated > 0


def test_replication_holds_across_sizes() -> None:
    """Spec 2.9 (c): repeat words up to a common size L, and ε·L·E holds for bags of different sizes."""
    line = sv.metrics.line(3)
    for a, b in (([0], [0, 1]), ([2], [0, 2]), ([0, 2], [1])):
        longest = 2
        first, second = a * (longest // len(a)), b * (longest // len(b))
        assert (
            float(bag_loss(first, second, TRUNCATED))
            <= math.log(2) * longest * float(sv.text.distance(a, b, line)) + 1e-12
        )


def test_the_source_s_guarantee() -> None:
    """Spec 3.1: N = 4, E = 2.816."""
    metric = sv.Metric([[0, 2.816], [2.816, 0]])
    assert math.exp(bag_bound([0] * 4, [1] * 4, 1 / 16, metric)) == pytest.approx(2.021824, abs=1e-6)
    assert math.exp(bag_bound([0] * 4, [1] * 4, 1 / 32, metric)) == pytest.approx(1.421909, abs=1e-6)


def test_vectors_in_order_lose_more() -> None:
    """Erratum E4: the summed distance of ordered documents is at least N·E, with equality when aligned."""
    line = sv.metrics.line(5)
    a, b = [0, 4, 2], [4, 1, 2]
    ordered = sum(abs(x - y) for x, y in zip(a, b, strict=True))
    assert ordered > sv.text.distance(a, b, line).cost
    assert (
        sum(abs(x - y) for x, y in zip(sorted(a), sorted(b), strict=True))
        == sv.text.distance(a, b, line).cost
    )


def test_hiding_and_revealing() -> None:
    """Spec 3.5, exact."""
    told = sv.Channel([[1, 0], [1, 0], [0, 1], [0, 1]], inputs=list("abcd"))
    uniform = [F(1, 4)] * 4
    topics, authors = [["a", "b"], ["c", "d"]], {"one": ["a", "c"], "two": ["b", "d"]}
    assert revealing_level(told, uniform, topics) == 1
    assert hiding_level(told, uniform, authors) == 0
    assert sv.posterior_vulnerability(told, uniform, sv.gains.partition(topics)).value == 1


def test_the_printed_trade_off_is_false() -> None:
    """Erratum E2: finer authors, uniform on secrets, and yet Δ = 1 > h = 1/2."""
    told = sv.Channel([[1, 0], [1, 0], [0, 1], [0, 1]], inputs=[1, 2, 3, 4])
    found = hide_and_reveal(told, [F(1, 4)] * 4, [[1, 2], [3], [4]], [[1, 2], [3, 4]])
    assert (found.hiding, found.revealing) == (F(1, 2), 1)
    assert found.finer and not found.even and found.violated and not found.bounded
    assert "authors are not equally likely" in str(found)


@given(rows, st.permutations(range(3)))
def test_the_corrected_trade_off_holds(weights: list[list[int]], order: list[int]) -> None:
    """Thm 9.13, corrected: equally likely authors, finer than topics."""
    law = channel_of(weights)
    found = hide_and_reveal(law, [F(1, 3)] * 3, [[0], [1], [2]], [order[:2], order[2:]])
    assert found.bounded and not found.violated
    # Lemma 9.12: post-processing hides no less and reveals no more.
    after = law.then(channel_of([[3, 1, 1], [1, 3, 1], [1, 1, 3]]))
    assert hiding_level(after, [F(1, 3)] * 3, [[0], [1], [2]]) <= found.hiding


def test_arguments_that_are_refused() -> None:
    told = sv.Channel([[1, 0], [0, 1]])
    with pytest.raises(TextError, match="classes: blocks"):
        hiding_level(told, [F(1, 2)] * 2, [[0]])
    with pytest.raises(TooLargeError):
        bag_loss([0] * 40, [1] * 40, sv.mechanisms.truncated_geometric(30, alpha="1/2"))
    with pytest.raises(TooLargeError):
        bag_channel(TRUNCATED, 5000)
    wide = sv.mechanisms.truncated_geometric(30, alpha=0.5)
    with pytest.raises(TooLargeError, match="the permanent"):
        bag_probability(list(range(30)), list(range(30)), wide)
