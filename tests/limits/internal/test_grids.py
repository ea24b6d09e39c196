"""Bounds on maps of very many cells, against the exact programs on small ones."""

import math
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.limits import worst_leakage
from sievert.limits._grids import LEAST_GRID, Grid, _weights, grid_of
from sievert.policies import Policy
from sievert.spaces import Region, metrics


def places(rows, columns, step):
    return step * np.array([(i, j) for i in range(rows) for j in range(columns)], dtype=float)


@pytest.mark.parametrize(("rows", "columns"), [(7, 9), (1, 12), (12, 1), (20, 20)])
@pytest.mark.parametrize("eps", ["1/1000", "1/20", "1/2", "3"])
def test_bounds_enclose_the_exact_capacity(rows, columns, eps):
    level = Fraction(eps)
    exact = worst_leakage(metrics.euclidean(places(rows, columns, 2.0)), level)
    found = Grid(rows, columns, 2.0).bounds(level)
    assert found.reached <= exact.upper.log * (1 + 1e-9) + 1e-12
    assert found.packing >= exact.lower.log * (1 - 1e-9)
    assert found.diameter == pytest.approx(exact.diameter.log, rel=1e-12)
    assert found.radius == pytest.approx(exact.radius.log, rel=1e-12)
    assert found.packing >= exact.packing.log * (1 - 1e-9)
    # Where no weight is negative those of so few cells are the packing bound's own.
    assert found.packing <= exact.packing.log * (1 + (1e-6 if level >= Fraction(1, 2) else 0.1))


def test_stretched_weights_are_nearly_best():
    # The large map by its list of distances, once: 45 x 45 cells.
    rows = columns = 45
    cells = places(rows, columns, 1.0)
    away = np.hypot(*(np.subtract.outer(part, part) for part in cells.T))
    for level in (1.5, 3.0):
        weights = np.linalg.solve(np.exp(-level * away), np.ones(len(cells)))
        assert weights.min() > 0
        magnitude = math.log(weights.sum())
        found = Grid(rows, columns, 1.0).bounds(Fraction(str(level)))
        assert magnitude * (1 - 1e-9) <= found.packing <= magnitude + 0.05
        assert found.reached <= magnitude


def test_a_prior_bounds_the_guess():
    rng = np.random.default_rng(5)
    prior = rng.dirichlet(np.full(30, 0.3))
    metric = metrics.euclidean(places(5, 6, 1.0))
    exact = worst_leakage(metric, 0.4, prior=prior)
    low, high, proof = Grid(5, 6, 1.0).guess(Fraction("0.4"), prior)
    assert low == pytest.approx(prior.max(), rel=1e-15)
    assert proof is not None and proof.verify()
    assert exact.lower.factor * prior.max() <= high * (1 + 1e-9)


def test_a_million_cells():
    region = Region(52.0, 13.0, 52.68, 14.1, 75)
    policy = Policy(region.metric(), records=1)
    found = worst_leakage(policy, 0.01)
    assert found.exact is None
    assert "map" in found.method
    assert 0 < found.lower.log <= found.upper.log <= min(found.diameter.log, found.radius.log)
    assert found.upper.log - found.lower.log < 0.1
    told = sv.explain(0.01, policy=policy)
    assert not told.exact
    assert told.after == pytest.approx(found.upper.factor / len(region), rel=1e-12)
    assert told.after * 0.9 < told.reached <= told.after


def test_grids_are_known_by_their_coordinates():
    region = Region(52.505, 13.36, 52.53, 13.42, 70)
    assert grid_of(region.metric()) == Grid(*region.shape, 70.0)
    cells = places(40, LEAST_GRID // 40 + 1, 0.3)
    assert grid_of(metrics.euclidean(cells)) == Grid(40, LEAST_GRID // 40 + 1, 0.3)
    assert grid_of(metrics.euclidean(cells[:-1])) is None
    assert grid_of(metrics.euclidean(cells * [1.0, 2.0])) is None
    moved = cells.copy()
    moved[77] += 0.01
    assert grid_of(metrics.euclidean(moved)) is None
    assert grid_of(metrics.euclidean(cells[:100])) is None
    assert grid_of(metrics.line(2000)) is None


@pytest.mark.parametrize("eps", [0, 1e-70, 1e-12, 2000, 1e300, 1e308])
def test_extreme_eps_is_proved_too(eps):
    found = worst_leakage(metrics.euclidean(places(38, 40, 1.0)), eps)
    assert found.certificate is not None and found.certificate.verify()
    assert found.upper.log <= min(math.log(38 * 40) * (1 + 1e-12), eps * math.hypot(19, 20) * (1 + 1e-12))
    assert found.lower.log >= (math.log(38 * 40) * (1 - 1e-12) if eps >= 2000 else 0)


def test_the_proof_of_a_map_is_of_its_cells():
    # The map by its list of distances proves what the map's own proof does, and no channel exceeds that.
    rows, columns, level = 9, 7, Fraction(2)
    grid = Grid(rows, columns, 1.0)
    exact = worst_leakage(metrics.euclidean(places(rows, columns, 1.0)), level)
    proof = grid.proof(level, grid.bounds(level).packing)
    assert proof is not None
    lower, upper = proof.bounds()
    assert float(lower) <= exact.upper.factor and exact.lower.factor <= float(upper) * (1 + 1e-12)
    assert float(upper) == pytest.approx(math.exp(exact.packing.log), rel=1e-6)


@pytest.mark.parametrize(("rows", "columns"), [(6, 6), (5, 8), (1, 7), (3, 1)])
def test_mirrored_cells_share_a_weight(rows: int, columns: int) -> None:
    """One unknown for up to four cells gives the weights of the whole system."""
    place = np.array([(r, c) for r in range(rows) for c in range(columns)], dtype=float)
    kernel = np.exp(-0.6 * np.linalg.norm(place[:, None] - place, axis=2))
    whole = np.linalg.solve(kernel + 1e-10 * np.eye(len(kernel)), np.ones(len(kernel)))
    found = _weights(0.6, tuple(range(rows)), tuple(range(columns)))
    np.testing.assert_allclose(found.ravel(), np.maximum(whole, 0.0), atol=1e-12)


def test_a_map_without_its_proof_bounds_what_is_proved() -> None:
    grid = Grid(40, 45, 1.0)
    belief = np.random.default_rng(7).random(1800)
    belief /= belief.sum()
    for eps in (Fraction(1, 10), Fraction(1), Fraction(3)):
        low, high, _ = grid.guess(eps, belief)
        assert low <= grid.upper(eps, belief) <= high * (1 + 1e-9)
        assert math.isclose(grid.upper(eps, belief), high, rel_tol=0.03)
