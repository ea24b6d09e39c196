"""Inside `_lattice`: the vectorised shortcuts decide only what is certain."""

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest

from sievert.sampling._lattice import PLANAR_ACCEPTANCE, PlanarGeometricSampler

pytestmark = pytest.mark.usefixtures("precise")


# How far, in units of 2^-40, an exponent may lie above what is read off floats.
WIDEST = 2**8


def arb(value: F | int) -> flint.arb:
    return flint.arb(flint.fmpq(F(value).numerator, F(value).denominator))


@pytest.mark.parametrize("eps", [F(1), F(1, 10), F(3), F(7, 5)])
def test_planar_brackets(eps: F) -> None:
    """The bracket of ε·√(i²+j²) - e1·(|i|+|j|), floats against balls and against the exact path."""
    sampler = PlanarGeometricSampler(eps)
    assert 2 * sampler.proposal**2 <= eps**2
    rng = np.random.default_rng(5)
    points = np.concatenate(
        [[[0, 0], [1, 0], [3, 4], [10**6, 1], [2**30, 2**30]], rng.integers(-300, 300, (500, 2))]
    )
    i, j = points.T
    seen: list[tuple[Any, ...]] = []

    def keep(low: Any, narrow: Any, exact: Callable[[int, int], tuple[int, int]], *rest: Any) -> Any:
        seen.append((low, narrow, exact))
        return np.zeros(len(low), dtype=bool)

    class Fixed:
        def draw(self, lanes: range, source: Any, timing: Any, component: int = 0) -> Any:
            return j if component else i

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sievert.sampling._lattice.accepted", keep)
        patch.setattr("sievert.sampling._lattice.laplace_noise", lambda level: Fixed())
        sampler._proposals(len(points))
    low, narrow, exact = seen[0]
    for lane, (a, b) in enumerate(points.tolist()):
        g = arb(eps) * (flint.arb(a) ** 2 + flint.arb(b) ** 2).sqrt() - arb(sampler.proposal) * (
            abs(a) + abs(b)
        )
        least, most = exact(lane, 100)
        assert not g * flint.arb(2) ** 100 < least
        assert not g * flint.arb(2) ** 100 > most
        assert most - least <= 4
        if narrow[lane] and g < 2**20:
            assert not g * flint.arb(2) ** 40 < int(low[lane])
            assert not g * flint.arb(2) ** 40 > int(low[lane]) + WIDEST


NORMALISERS = {
    F(1, 10): 628.341408,
    F(1, 2): 25.246545186,
    F(1): 6.507241686138,
    F(2): 1.993131071,
    F(4): 1.089727010,
}


def lattice_sum(eps: float) -> float:
    reach = math.ceil(45 / eps)
    side = np.arange(-reach, reach + 1)
    return float(np.exp(-eps * np.hypot(side[:, None], side[None, :])).sum())


@pytest.mark.parametrize("eps", NORMALISERS)
def test_lattice_normaliser_and_acceptance(eps: F) -> None:
    """Z(ε) by its sum and by Poisson summation; the rejection sampler accepts Z(ε)/coth(e1/2)² of it all."""
    total = lattice_sum(float(eps))
    assert total == pytest.approx(NORMALISERS[eps], rel=1e-9)
    k = np.arange(-1500, 1501)
    squares = k[:, None] ** 2 + k[None, :] ** 2
    poisson = (2 * math.pi * float(eps) / (float(eps) ** 2 + 4 * math.pi**2 * squares) ** 1.5).sum()
    assert poisson == pytest.approx(total, rel=2e-3)
    sampler = PlanarGeometricSampler(eps, insecure_rng=41)
    rate = float(sampler.proposal)
    acceptance = total * math.tanh(rate / 2) ** 2
    accepted = len(sampler._proposals(60_000)) / 60_000
    assert accepted == pytest.approx(acceptance, abs=6 * math.sqrt(0.25 / 60_000))
    assert acceptance > PLANAR_ACCEPTANCE
    if eps == 1:
        assert acceptance == pytest.approx(0.75, abs=0.005)
