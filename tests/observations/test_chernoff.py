"""Chernoff information (Boreale and Paolini): worked numbers, limits, agreement with plain minimisation."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import sievert as sv

RING = [[Fraction(1, 4) if (j - i) % 6 in (0, 1, 5) else Fraction(1, 12) for j in range(6)] for i in range(6)]


def plain(p: np.ndarray, q: np.ndarray) -> float:
    """The definition, by a bounded scalar minimiser."""
    found = minimize_scalar(
        lambda x: np.log2((p**x * q ** (1 - x)).sum()),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(-found.fun)


def test_boreale_example_1() -> None:
    bits = sv.observations.chernoff_pairs(sv.Channel(RING)).bits
    assert bits.max() == pytest.approx(0.207519, abs=5e-7)
    assert bits[bits > 0].min() == pytest.approx(0.0659111, abs=5e-8)


@pytest.mark.parametrize(
    "ratio, rate", [(Fraction(1, 2), 0.0849625), (Fraction(4, 5), 0.00896095), (Fraction(1, 5), 0.423998)]
)
@pytest.mark.parametrize("size", [2, 3, 6])
def test_boreale_theorem_11_and_corollary_1(ratio: Fraction, rate: float, size: int) -> None:
    """The truncated geometric has the same rate as the unbounded one: Cor 1 ("strictly smaller") is false."""
    c = float(ratio)
    closed = np.log2(1 + c) - np.log2(c) / 2 - 1
    assert closed == pytest.approx(rate, rel=1e-5)
    for make in (sv.mechanisms.geometric, sv.mechanisms.truncated_geometric):
        assert sv.observations.chernoff_pairs(make(size, alpha=ratio)).hardest()[2] == pytest.approx(
            closed, rel=1e-12
        )


def test_end_points_and_supports() -> None:
    assert sv.observations.chernoff_information([1, 0], [0, 1]) == np.inf
    assert sv.observations.chernoff_information([0.5, 0.5], [0.5, 0.5]) == 0
    # Only the common support counts: the least of p^λ q^(1-λ) at the end points.
    assert sv.observations.chernoff_information([0.5, 0.5, 0], [0.5, 0, 0.5]) == pytest.approx(1.0)
    assert sv.observations.chernoff_information([0.9, 0.1, 0], [0.2, 0, 0.8]) == pytest.approx(-np.log2(0.2))
    tiny = sv.observations.chernoff_information([1 - 1e-300, 1e-300], [1e-300, 1 - 1e-300])
    assert tiny == pytest.approx(-np.log2(2 * 1e-150), rel=1e-9)


def test_all_pairs_agree_with_the_definition() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.random((12, 9)) ** 2
    matrix /= matrix.sum(axis=1, keepdims=True)
    bits = sv.observations.chernoff_pairs(sv.Channel(matrix)).bits
    for i in range(12):
        for j in range(i):
            assert bits[i, j] == pytest.approx(plain(matrix[i], matrix[j]), rel=1e-9)


def test_repetition_adds_and_merging_columns_changes_nothing() -> None:
    channel = sv.Channel([["3/5", "1/5", "1/5"], ["1/5", "2/5", "2/5"]])
    once = sv.observations.chernoff_pairs(channel).bits[0, 1]
    assert sv.observations.chernoff_pairs(channel.repeated(3)).bits[0, 1] == pytest.approx(3 * once)
    assert sv.observations.chernoff_pairs(channel.reduced()).bits[0, 1] == pytest.approx(once)


def test_one_row_has_no_pair() -> None:
    with pytest.raises(sv.SievertError, match="one input"):
        sv.observations.chernoff_pairs(sv.Channel([[1]]))


@pytest.mark.parametrize("share", [0.03, 0.3])
def test_sparse_rows_agree_with_the_definition(share: float) -> None:
    """Few common outputs: end points, single outputs, disjoint supports and equal rows."""
    generator = np.random.default_rng(31)
    matrix = generator.random((60, 80)) * (generator.random((60, 80)) < share)
    matrix[np.arange(60), generator.integers(0, 80, 60)] += 0.1
    matrix[7] = matrix[3]
    matrix /= matrix.sum(axis=1, keepdims=True)
    bits = sv.observations.chernoff_pairs(sv.Channel(matrix)).bits
    assert bits[3, 7] == 0
    assert np.isinf(bits).any() == (share < 0.1)
    points = np.linspace(0, 1, 2001)
    for i in range(0, 60, 3):
        for j in range(i + 1, 60):
            both = (matrix[i] > 0) & (matrix[j] > 0)
            if not both.any():
                assert bits[i, j] == np.inf
                continue
            sums = matrix[i, both] ** points[:, None] * matrix[j, both] ** (1 - points[:, None])
            assert bits[i, j] == pytest.approx(max(0.0, -np.log2(sums.sum(axis=1).min())), abs=1e-6)
