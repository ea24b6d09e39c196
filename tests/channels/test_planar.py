"""Planar noise on the cells of a region: certified sums over the lattice, and the law against a window."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert.channels import lattice_sums
from sievert.errors import ChannelError, TooLargeError

# The spec's regions: rows, columns, ε for a cell, capacity, guess.
WORKED = [
    (6, 6, "1/2", 3.607480793, 0.1002078),
    (30, 40, "1/4", 17.680208462, 0.0147335071),
    (100, 200, "5/4", None, 0.235483677),
]


def window(eps: float, reach: int) -> np.ndarray:
    """Probabilities of all displacements up to a reach."""
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-eps * np.hypot(offsets[:, None], offsets[None, :]))
    return weights / weights.sum()


def clamped(eps: float, cell: tuple[int, int], shape: tuple[int, int]) -> np.ndarray:
    """The law of one cell by adding up a window large enough."""
    reach = max(shape) + math.ceil(60 / eps)
    found = np.zeros(shape)
    rows, columns = (
        np.clip(place + np.arange(-reach, reach + 1), 0, size - 1)
        for place, size in zip(cell, shape, strict=True)
    )
    np.add.at(found, np.ix_(rows, columns), window(eps, reach))
    return found


@pytest.mark.parametrize(("rows", "columns", "step", "capacity", "guess"), WORKED)
def test_capacity_of_the_spec(map_noise, rows, columns, step, capacity, guess):
    noise = map_noise(rows, columns, step)
    if capacity is not None:
        assert noise.capacity == pytest.approx(capacity, abs=5e-10)
    digits = len(str(guess).lstrip("0.").replace(".", ""))
    assert f"{noise.capacity / (rows * columns):.{digits - 1}e}" == f"{guess:.{digits - 1}e}"


@pytest.mark.parametrize("step", ["1/10", "1/3", "1", "2", "201/100", "5"])
def test_sums_are_those_of_a_window(step):
    eps, found = float(Fraction(step)), lattice_sums(Fraction(step))
    reach = math.ceil(60 / eps)
    weights = window(eps, reach)
    assert found.origin == pytest.approx(weights[reach, reach], rel=1e-13)
    assert found.edge == pytest.approx(weights[reach + 1 :, reach].sum(), rel=1e-13)
    assert found.corner == pytest.approx(weights[reach + 1 :, reach + 1 :].sum(), rel=1e-13)


@given(st.fractions(Fraction(1, 2**24), 700))
def test_a_place_goes_somewhere(eps):
    found = lattice_sums(eps)
    assert found.origin + 4 * found.edge + 4 * found.corner == pytest.approx(1, rel=4e-16)


def test_both_ways_to_sum_the_plane_agree():
    """On either side of ε = 2 another series is used; both are smooth there."""
    near = [lattice_sums(2 + Fraction(k, 10**9)) for k in (-1, 0, 1, 2)]
    for name in ("origin", "edge", "corner"):
        first, second, third, fourth = (getattr(item, name) for item in near)
        assert abs((fourth - third) - (second - first)) < 1e-15
        assert abs((third - second) - (second - first)) < 1e-15


def test_without_noise_and_with_nothing_else():
    everything = lattice_sums(Fraction(0))
    assert (everything.origin, everything.edge, everything.corner) == (0, 0, 0.25)
    little = lattice_sums(Fraction(1, 2**40))
    assert little.corner == pytest.approx(0.25, abs=1e-11)
    assert lattice_sums(Fraction(700)).origin == 1


@settings(max_examples=30)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from(["1/8", "1/2", "1", "3"]),
    st.data(),
)
def test_law_is_that_of_a_clamped_window(map_noise, rows, columns, step, data):
    noise = map_noise(rows, columns, step)
    cell = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    expected = clamped(float(Fraction(step)), cell, (rows, columns))
    np.testing.assert_allclose(noise.law(cell), expected, rtol=1e-12)
    output = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    assert noise.log_probability(cell, output) == pytest.approx(math.log(expected[output]), abs=1e-12)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 7), (5, 1), (2, 2), (6, 6), (3, 8)])
def test_capacity_is_the_sum_of_largest_likelihoods(map_noise, rows, columns):
    noise = map_noise(rows, columns, "1/2")
    matrix = noise.finite().matrix
    assert matrix.sum(axis=1) == pytest.approx(1, abs=1e-13)
    assert noise.capacity == pytest.approx(matrix.max(axis=0).sum(), rel=1e-12)


def test_digits_far_out(map_noise):
    """e^-1200 underflows; its logarithm does not, and sides and corners keep theirs."""
    noise = map_noise(3, 400, "4")
    inner = noise.log_probability((1, 1), (1, 390))
    assert inner == pytest.approx(-4 * 389 - noise.sums.log_total, rel=1e-14)
    side = noise.log_probability((1, 1), (1, 399))
    assert side - (-4 * 398 - noise.sums.log_total) == pytest.approx(-math.log1p(-math.exp(-4)), rel=1e-9)


def test_a_large_region_of_fine_cells(map_noise):
    """A million cells, and noise a thousand cells wide: nothing is larger than the region."""
    noise = map_noise(1000, 1000, "1/1000")
    assert noise.law((3, 700)).sum() == pytest.approx(1, abs=1e-9)
    assert 1 < noise.capacity < 10


def test_epsilon_zero_says_nothing(map_noise):
    noise = map_noise(4, 3, "0")
    assert noise.capacity == 1
    assert noise.law((1, 1))[0, 0] == 0.25
    assert noise.law((0, 0)).tolist() == noise.law((3, 2)).tolist()


@pytest.mark.parametrize("step", ["1/50", "1"])
def test_simulation_follows_the_law(map_noise, step):
    """Chi-squared over the cells; false alarm 1e-6."""
    from scipy.stats import chi2

    noise, draws = map_noise(5, 4, step), 40_000
    cells = noise.sample([(1, 2)] * draws, rng=3)
    counts = np.bincount(cells[:, 0] * 4 + cells[:, 1], minlength=20)
    expected = draws * noise.law((1, 2)).ravel()
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 19)


def test_bad_cells_and_lists_are_refused(map_noise):
    noise = map_noise(4, 5, "1/2")
    for wrong in ((4, 0), (0, -1), (0.0, 1.0), (1,), "a"):
        with pytest.raises(ChannelError, match="give row and column of one of 4 by 5 cells"):
            noise.law(wrong)
    with pytest.raises(TooLargeError, match="use larger cells"):
        map_noise(50, 50, "1/2").finite()


def test_it_pickles(map_noise):
    noise = map_noise(4, 5, "1/2")
    again = pickle.loads(pickle.dumps(noise))
    assert again.log_probability((0, 0), (1, 1)) == noise.log_probability((0, 0), (1, 1))
