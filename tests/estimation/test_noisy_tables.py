"""Released tables adjusted to what is possible: against all tables, and coverage by all noise."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import (
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    HistogramNoise,
    ScalarNoise,
    StaircaseLaw,
)
from sievert.errors import EstimationError
from sievert.estimation import estimate_answer, estimate_table, nearest_table
from sievert.mechanisms import exponential, truncated_geometric

GEOMETRIC = GeometricLaw(EpsilonOrAlpha(0.5, None, exact_eps=Fraction(1, 2)))
GAUSSIAN = GaussianLaw(Fraction(3, 2))


def histogram(cells, records, law, limits=None, adjacency="replace"):
    policy = sv.Policy.differential(list(range(cells)), records, adjacency=adjacency)
    return HistogramNoise(sv.Query.histogram().statistic(policy), law, limits), policy


def tables(cells, total):
    """All tables of whole numbers with a total."""
    return [table for table in itertools.product(range(total + 1), repeat=cells) if sum(table) == total]


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=3), st.integers(0, 7))
def test_the_nearest_table_is_nearest_of_all(values, total):
    found = nearest_table(values, total).tolist()
    assert sum(found) == total
    assert min(found) >= 0

    def squares(table):
        return sum((a - b) ** 2 for a, b in zip(table, values, strict=True))

    assert squares(found) == min(map(squares, tables(len(values), total)))


@given(st.lists(st.integers(-(10**17), 10**17), min_size=2, max_size=40), st.integers(1, 10**17))
def test_wide_tables_are_exact(values, total):
    found = nearest_table(values, total)
    residual = [a - int(b) for a, b in zip(values, found, strict=True)]
    assert sum(map(int, found)) == total
    # No step from a cell above 0 to another one brings the table nearer.
    assert max(residual) - min(r for r, b in zip(residual, found, strict=True) if b > 0) <= 1


@pytest.mark.parametrize("law, limits", [(GEOMETRIC, None), (GEOMETRIC, (0, 4)), (GAUSSIAN, None)])
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_no_possible_table_is_likelier(law, limits, adjacency):
    noise, policy = histogram(3, 4, law, limits, adjacency)
    possible = tables(3, 4) if adjacency == "replace" else [t for n in range(5) for t in tables(3, n)]
    rng = np.random.default_rng(1)
    for _ in range(60):
        values = noise.sample([rng.permutation([3, 1, 0])], rng)[0]
        found = estimate_table(values, noise, policy)
        assert found.likeliest
        assert tuple(found.adjusted.tolist()) in possible
        best = max(noise.log_probability(table, values) for table in possible)
        assert noise.log_probability(found.adjusted, values) == pytest.approx(best, abs=1e-9)


def test_of_stairs_only_the_squares_are_least():
    noise, policy = histogram(2, 10, StaircaseLaw(Fraction(2), 3, 1))
    found = estimate_table([7, 5], noise, policy)
    assert not found.likeliest
    assert found.adjusted.tolist() == [6, 4]
    # One step is as unlikely as three, so one cell alone would do.
    assert noise.log_probability([7, 3], [7, 5]) > noise.log_probability([6, 4], [7, 5])


def test_what_adjusting_does_is_simulated_honestly():
    # Without a known total an empty cell is raised by E max(0, z) = α/(1 - α²).
    noise, policy = histogram(1000, 10**6, GEOMETRIC, adjacency="add-remove")
    error = estimate_table([0] * 1000, noise, policy, rng=1).error
    assert error.others is None
    assert abs(error.empty - 0.959517) < error.within < 0.01
    assert error.after == pytest.approx(error.empty)
    assert error.before == pytest.approx(2 * 0.959517, rel=0.01)
    # With one, what empty cells gain the others lose.
    noise, policy = histogram(4, 100, GEOMETRIC)
    error = estimate_table([60, 40, -3, -2], noise, policy, rng=1).error
    assert error.empty + error.others == pytest.approx(0, abs=1e-9)
    assert error.empty > error.within
    assert error.after < error.before


def test_a_sum_stays_in_its_range():
    policy = sv.Policy(sv.secrets.line(range(0, 1001, 100)), records=3)
    noise = ScalarNoise(sv.Query.sum().statistic(policy), GEOMETRIC)
    found = estimate_table([-300], noise, policy)
    assert (found.adjusted[0], found.likeliest) == (0, True)
    assert found.intervals.tolist() == [[0, 300]]
    assert str(found) == "0 (0 to 300 at 95% confidence)"


def test_public_knowledge_is_kept():
    policy = sv.Policy(
        sv.secrets.complete(["a", "b", "c"]),
        records=4,
        permitted=sv.constraints.total(2, {"a": 1, "b": 0, "c": 0}),
    )
    noise = HistogramNoise(sv.Query.histogram().statistic(policy), GEOMETRIC)
    found = estimate_table([4, 1, 1], noise, policy)
    assert found.adjusted.tolist() == [2, 1, 1]
    assert found.criterion == "likelihood"


@pytest.mark.parametrize(
    "channel",
    [truncated_geometric(12, 0.7), exponential(sv.metrics.line(9), 1.0)],
    ids=["noise", "exponential"],
)
def test_confidence_sets_of_listed_channels_cover(channel):
    matrix = channel.matrix
    found = [estimate_answer(y, channel, (("n",),), 0.9) for y in channel.outputs]
    for i, answer in enumerate(channel.inputs):
        inside = [one.intervals[0, 0] <= answer <= one.intervals[0, 1] for one in found]
        assert matrix[i, inside].sum() >= 0.9 - 1e-12
    for y, one in zip(channel.outputs, found, strict=True):
        column = matrix[:, channel.output_index(y)]
        assert column[channel.input_index(one.adjusted[0])] == column.max()


@pytest.mark.parametrize(
    "values, message",
    [
        ([1, 2], "values has 2 numbers; give one for each of the 3 cells"),
        ([1, 2, "x"], r"values\[2\] is 'x'; give a finite number"),
        ([1, 2, 0.5], r"values\[2\] is 0.5; this noise gives multiples of 1"),
        ([1, 2, float("nan")], "finite"),
        ([1, 2, 9], r"values\[2\] is 9; this noise is cut off at 0 and 4"),
    ],
)
def test_wrong_tables_are_refused(values, message):
    noise, policy = histogram(3, 4, GEOMETRIC, (0, 4))
    with pytest.raises(EstimationError, match=message):
        estimate_table(values, noise, policy)


def test_wrong_arguments_are_refused():
    noise, policy = histogram(3, 4, GEOMETRIC)
    with pytest.raises(EstimationError, match="confidence is 1"):
        estimate_table([1, 2, 1], noise, policy, confidence=1)
    with pytest.raises(EstimationError, match="noise is"):
        estimate_table([1, 2, 1], truncated_geometric(3, 1.0), policy)
    with pytest.raises(EstimationError, match="no answer gives it"):
        estimate_answer(1, sv.Channel([[1, 0], [1, 0]], outputs=[0, 1]), (("n",),))
