"""What POT's own suite asserts of exact transport, on its seeded instances: plans, duals, 1-D, circles."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sievert as sv

FloatArray = NDArray[np.float64]


@pytest.fixture(scope="module")
def ot(oracle: Callable[[str], ModuleType]) -> ModuleType:
    return oracle("ot")


def masses(seed: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Two distributions as POT's tests draw them: absolute normals, normalised."""
    rng = np.random.RandomState(seed)
    p, q = np.abs(rng.randn(n)), np.abs(rng.randn(n))
    return p / p.sum(), q / q.sum()


def clouds(seed: int, n: int, m: int, dimension: int) -> tuple[FloatArray, FloatArray, sv.Metric]:
    """Uniform distributions on n and on m points of one cloud."""
    points = np.random.RandomState(seed).randn(n + m, dimension)
    p, q = np.zeros(n + m), np.zeros(n + m)
    p[:n], q[n:] = 1 / n, 1 / m
    return p, q, sv.metrics.euclidean(points)


def plan_of(found: Any, n: int) -> FloatArray:
    plan = np.zeros((n, n))
    np.add.at(plan, (found.sources, found.targets), found.masses)
    return plan


@pytest.mark.parametrize("n", [2, 10, 100])
def test_nothing_moves_between_equal_distributions(n: int) -> None:
    metric = sv.metrics.euclidean(np.random.RandomState(0).randn(n, 2))
    p = np.full(n, 1 / n)
    found = sv.kantorovich(p, p, metric)
    assert float(found) == 0
    assert plan_of(found, n) == pytest.approx(np.eye(n) / n)


@pytest.mark.parametrize("n", [10, 40, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_cost_in_the_plane(ot: ModuleType, n: int, seed: int) -> None:
    """The plan has both marginals, costs what is stated, and a 1-Lipschitz potential proves it least."""
    p, q, metric = clouds(seed, n, n, 2)
    found = sv.kantorovich(p, q, metric)
    assert float(found) == pytest.approx(ot.emd2(p, q, metric.matrix), rel=1e-9)
    plan = plan_of(found, 2 * n)
    assert plan.sum(axis=1) == pytest.approx(p, abs=1e-12)
    assert plan.sum(axis=0) == pytest.approx(q, abs=1e-12)
    assert (plan * metric.matrix).sum() == pytest.approx(float(found), rel=1e-9)
    assert found.potentials is not None
    rises = found.potentials[:, None] - found.potentials[None, :]
    assert (rises <= metric.matrix + 1e-9).all()
    assert found.potentials @ (p - q) == pytest.approx(float(found), rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(20, 30), (1, 5), (7, 7)])
def test_cost_on_the_line(ot: ModuleType, n: int, m: int) -> None:
    """Weighted and uniform samples: the general solver, the 1-D one and the area between distributions."""
    rng = np.random.RandomState(0)
    points = np.sort(rng.randn(n + m))
    for weights in (np.ones(n + m), rng.uniform(0, 1, n + m)):
        p, q = np.zeros(n + m), np.zeros(n + m)
        order = rng.permutation(n + m)
        p[order[:n]], q[order[n:]] = weights[:n], weights[n:]
        p, q = p / p.sum(), q / q.sum()
        found = float(sv.kantorovich(p, q, sv.metrics.line(points.tolist())))
        area = abs(np.cumsum(p - q)[:-1]) @ np.diff(points)
        assert found == pytest.approx(area, rel=1e-12)
        theirs = ot.emd2_1d(points, points, p, q, metric="euclidean")
        assert found == pytest.approx(float(theirs), rel=1e-9)


def test_their_weighted_pair_on_a_line(ot: ModuleType) -> None:
    from scipy.stats import wasserstein_distance

    p, q = masses(0, 100)
    points = np.linspace(0, 5, 100)
    found = float(sv.kantorovich(p, q, sv.metrics.line(points.tolist())))
    assert found == pytest.approx(wasserstein_distance(points, points, p, q), rel=1e-12)
    assert found == pytest.approx(float(ot.wasserstein_1d(points, points, p, q, p=1)), rel=1e-9)
    # Ten times the line is ten times the cost.
    assert float(sv.kantorovich(p, q, sv.metrics.line((10 * points).tolist()))) == pytest.approx(10 * found)


@pytest.mark.parametrize("shift", [1, 3, 10])
def test_a_translation_costs_its_length(shift: int) -> None:
    p = np.r_[np.random.RandomState(0).dirichlet(np.ones(20)), np.zeros(shift)]
    q = np.r_[np.zeros(shift), p[:20]]
    assert float(sv.kantorovich(p, q, sv.metrics.line(20 + shift))) == pytest.approx(shift, rel=1e-12)


@pytest.mark.parametrize("n", [3, 8, 20, 51])
def test_cost_on_a_circle(ot: ModuleType, n: int) -> None:
    """Points of a circle of circumference 1: theirs is n times smaller than hops."""
    p, q = masses(0, n)
    found = float(sv.kantorovich(p, q, sv.metrics.cycle(n)))
    assert found == pytest.approx(ot.emd2(p, q, sv.metrics.cycle(n).matrix), rel=1e-9)
    angles = np.arange(n) / n
    assert found / n == pytest.approx(
        float(np.ravel(ot.wasserstein_circle(angles, angles, p, q))[0]), rel=1e-5
    )
    if n % 2 == 0:
        turned = np.roll(p, n // 2)
        assert float(sv.kantorovich(p, turned, sv.metrics.cycle(n))) <= n / 2 + 1e-12


@pytest.mark.parametrize("mean", [20, 60, 100, 140, 180])
def test_gaussian_bins(ot: ModuleType, mean: int) -> None:
    """Histograms of normals around 20 and around `mean` on 200 bins: about the difference of their means."""
    n = 200
    p = ot.datasets.make_1D_gauss(n, m=20, s=5)
    q = ot.datasets.make_1D_gauss(n, m=mean, s=10)
    found = float(sv.kantorovich(p, q, sv.metrics.line(n)))
    assert found == pytest.approx(float(ot.emd2(p, q, sv.metrics.line(n).matrix)), rel=1e-9)
    if mean > 60:
        assert found == pytest.approx(mean - 20, rel=0.05)


def test_two_points_meet_in_the_middle() -> None:
    """The barycentre of two ends of a line of three is its middle: equally far from both."""
    line = sv.metrics.line(3)
    ends, middle = ([1, 0, 0], [0, 0, 1]), [0, 1, 0]
    assert [float(sv.kantorovich(end, middle, line)) for end in ends] == [1, 1]
    assert float(sv.kantorovich(*ends, line)) == 2


@pytest.mark.parametrize("n", [5, 30])
def test_total_variation_is_the_transport_of_the_discrete_metric(ot: ModuleType, n: int) -> None:
    p, q = masses(3, n)
    found = float(sv.kantorovich(p, q, sv.metrics.discrete(n)))
    assert found == pytest.approx(abs(p - q).sum() / 2, rel=1e-12)
    assert found == pytest.approx(float(ot.emd2(p, q, 1 - np.eye(n))), rel=1e-9)


@pytest.mark.parametrize("size", [(3, 4), (5, 5)])
def test_cost_on_a_grid(ot: ModuleType, size: tuple[int, int]) -> None:
    metric = sv.metrics.grid(*size)
    p, q = masses(1, size[0] * size[1])
    assert float(sv.kantorovich(p, q, metric)) == pytest.approx(float(ot.emd2(p, q, metric.matrix)), rel=1e-9)


def test_the_triangle_inequality_and_symmetry() -> None:
    metric = sv.metrics.euclidean(np.random.RandomState(0).randn(12, 3))
    a, b = masses(4, 12)
    c, _ = masses(5, 12)
    ab, bc, ac, ba = (float(sv.kantorovich(*pair, metric)) for pair in ((a, b), (b, c), (a, c), (b, a)))
    assert ac <= ab + bc + 1e-12
    assert ab == pytest.approx(ba, rel=1e-9)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (np.full(5, 0.2), np.full(4, 0.25)),  # sizes
        (np.r_[100.0, np.full(3, 0.25)], np.full(4, 0.25)),  # mass
        (np.array([1.5, -0.5, 0, 0]), np.full(4, 0.25)),
        (np.array([math.nan, 0.5, 0.5, 0]), np.full(4, 0.25)),
        ([], []),
    ],
)
def test_pairs_without_a_plan_are_refused(p: Any, q: Any) -> None:
    with pytest.raises(sv.SievertError):
        sv.kantorovich(p, q, sv.metrics.line(4))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_other_types_of_numbers(dtype: Any) -> None:
    p, q = masses(0, 10)
    exact = float(sv.kantorovich(p, q, sv.metrics.line(10)))
    sides = [sv.priors.from_counts(side.astype(dtype)) for side in (p, q)]
    found = sv.kantorovich(*sides, sv.metrics.line(10))
    assert float(found) == pytest.approx(exact, rel=1e-2 if dtype == np.float16 else 1e-5)
