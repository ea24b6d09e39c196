"""Beliefs after thousands of observations: densities whose constants are beyond all floats."""

import itertools
import math
import pickle
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import sievert as sv
from sievert.continuous import Density, laplace_loss, truncated_laplace

LARGE = [(512, 512), (700, 700), (5000, 5000), (1000, 3), (0.5, 2000), (3000, 0.5), (0.01, 900)]


@pytest.mark.parametrize(("a", "b"), LARGE)
def test_masses_of_narrow_beta_densities_are_right(a: float, b: float) -> None:
    belief = Density.beta(a, b)
    mean, spread = a / (a + b), math.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
    with mpmath.workdps(30):
        scale = mpmath.log(mpmath.beta(a, b))

        def density(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(mpmath.log(x) * (a - 1) + mpmath.log(1 - x) * (b - 1) - scale)

        def mass(first: float, last: float) -> float:
            if min(a, b) < 1:
                return float(mpmath.betainc(a, b, first, last, regularized=True))
            ends = np.linspace(max(first, mean - 60 * spread), min(last, mean + 60 * spread), 17)
            return float(mpmath.quad(density, ends.tolist()))

        for x in (mean - 2 * spread, mean, mean + spread):
            if 0 < x < 1:
                truth = mass(0, x)
                assert belief.cdf(x) == pytest.approx(truth, abs=1e-12)
                assert float(belief.shape.masses(np.array([0, x, 1]))[0]) == pytest.approx(truth, abs=1e-10)
        for cells in (4, 1000):
            masses = belief.masses(cells)
            assert masses.sum() == pytest.approx(1, abs=1e-12)
            k = int(mean * cells)
            assert masses[k] == pytest.approx(mass(k / cells, (k + 1) / cells), abs=1e-10)
        assert belief.density(mean) == pytest.approx(float(density(mpmath.mpf(mean))), rel=1e-10)
    assert pickle.loads(pickle.dumps(belief)).cdf(mean) == belief.cdf(mean)


def _moments(y: float, a: float, b: float, eps: float, low: float, high: float) -> np.ndarray:
    """∫ x^k·e^(-ε|y - x|) of the density for k = 0, 1, 2."""
    t, weights = np.polynomial.legendre.leggauss(80)
    total = np.zeros(3)
    places = np.unique([low, min(max(y, low), high), (low + high) / 2, high])
    for first, last in itertools.pairwise(places):
        x = (first + last) / 2 + (last - first) / 2 * t
        mass = weights * (last - first) / 2 * np.exp(stats.beta.logpdf(x, a, b) - eps * np.abs(y - x))
        total += [mass.sum(), (mass * x).sum(), (mass * x * x).sum()]
    return total


def _squared_loss(a: float, b: float, eps: float) -> float:
    """By quadrature: the posterior variance, over the truncated outputs and their two atoms."""
    mean, spread = a / (a + b), math.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
    low, high = max(0.0, mean - 13 * spread), min(1.0, mean + 13 * spread)
    t, weights = np.polynomial.legendre.leggauss(12)
    total = 0.0
    edges = np.concatenate([[0.0], np.linspace(low, high, 25), [1.0]])
    nodes = [(0.0, 0.5), (1.0, 0.5)]
    for first, last in itertools.pairwise(edges):
        half = (last - first) / 2
        middle = (first + last) / 2
        nodes += [(middle + half * s, half * w * eps / 2) for s, w in zip(t, weights, strict=True)]
    for y, weight in nodes:
        none, one, two = _moments(y, a, b, eps, low, high)
        total += weight * (two - one * one / none)
    return total


@pytest.mark.parametrize(("a", "b"), [(512, 512), (700, 700), (800, 1200), (5000, 5000)])
def test_losses_under_narrow_beta_densities(a: float, b: float) -> None:
    found = laplace_loss(Density.beta(a, b), "squared", 3.0)
    truth = _squared_loss(a, b, 3.0)
    assert found.value == pytest.approx(truth, abs=1e-10)
    assert found.low <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= found.high
    assert found.high - found.low < 1e-12
    absolute = laplace_loss(Density.beta(a, b), "absolute", 3.0)
    assert 0 < absolute.low <= absolute.value <= absolute.high < math.sqrt(found.high)


@pytest.mark.parametrize(("law", "interval"), [(stats.gamma(500), (300, 700)), (stats.chi2(1000), (0, 2000))])
def test_laws_whose_heights_are_beyond_floats(law: Any, interval: tuple[float, float]) -> None:
    belief = Density.from_scipy(law, interval)
    truth = np.diff(law.cdf(np.linspace(*interval, 5))) / np.diff(law.cdf(interval))
    assert belief.masses(4) == pytest.approx(truth, abs=1e-12)
    found = laplace_loss(belief, "squared", 3.0)
    assert found.high - found.low < 1e-10


@pytest.mark.parametrize("deviation", [1e-15, 1e-100, 5e-324])
def test_deviations_finer_than_floats_are_refused(deviation: float) -> None:
    with pytest.raises(sv.SievertError, match="varies too quickly"):
        Density.truncated_normal(0.3, deviation).masses(4)


@pytest.mark.parametrize("interval", [(0, 10**301), (-1e308, 1e308), (0, 1e-301)])
def test_intervals_whose_squares_are_beyond_floats_are_refused(interval: tuple[float, float]) -> None:
    with pytest.raises(sv.SievertError, match="another unit"):
        Density.uniform(interval)
    with pytest.raises(sv.SievertError, match="another unit"):
        truncated_laplace(interval=interval, eps=1.0)


def test_a_square_beyond_floats_is_refused() -> None:
    with pytest.raises(sv.SievertError, match="square is beyond floats"):
        laplace_loss(Density.uniform((0, 1e200)), "squared", 1.0)


def test_noise_that_is_none_loses_next_to_nothing() -> None:
    found = laplace_loss(Density.beta(600, 600), "squared", 1e300)
    assert 0 <= found.low <= found.value <= found.high < 1e-300


def test_unusable_densities_are_refused_by_name() -> None:
    with pytest.raises(sv.SievertError, match="narrow Beta"):
        Density.beta(10**40, 10**40).masses(4)
