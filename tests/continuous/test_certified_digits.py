"""Every loss for every family of densities against mpmath at 30 digits, from the definition.

The oracle integrates over outputs the least expected cost, which it finds by bisection; only where an
integrand has a kink is it told, and never how ours is computed. Beta densities are smooth in the angle θ of
x = sin²θ, so that Gauss–Legendre in θ has all digits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

import sievert as sv
from sievert.continuous import Density, laplace_loss, pixelated_loss

mp = mpmath.mp.clone()
mp.dps = 30
ORDER = 24


@cache
def gauss(order: int = ORDER) -> list[tuple[Any, Any]]:
    """Nodes and weights on [-1, 1]: roots of Legendre's polynomial, polished by Newton."""
    found = []
    for k in range(order):
        x = mp.cos(mp.pi * (k + mp.mpf(3) / 4) / (order + mp.mpf(1) / 2))
        for _ in range(8):
            before, here = mp.mpf(1), x
            for n in range(1, order):
                before, here = here, ((2 * n + 1) * x * here - n * before) / (n + 1)
            slope = order * (x * here - before) / (x * x - 1)
            x -= here / slope
        found.append((x, 2 / ((1 - x * x) * slope**2)))
    return found


def integral(function: Callable[[Any], Any], *places: Any) -> Any:
    total = mp.mpf(0)
    for a, b in pairwise(places):
        half, middle = (b - a) / 2, (a + b) / 2
        total += half * mp.fsum(w * function(middle + half * x) for x, w in gauss())
    return total


def root(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Where an increasing function crosses 0; an end where it does not."""
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    for _ in range(56):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Family:
    ours: Density
    density: Callable[[Any], Any]
    kinks: tuple[float, ...] = ()
    is_angle: bool = False

    def mean(self, function: Callable[[Any], Any], eps: Any, y: Any, low: Any = 0, high: Any = 1) -> Any:
        """∫ function·π·e^(-ε|x-y|) between two places."""
        breaks = sorted({mp.mpf(place) for place in (low, high, y, *self.kinks) if low <= place <= high})

        def at(x: Any) -> Any:
            return function(x) * self.density(x) * mp.exp(-eps * abs(x - y))

        if not self.is_angle:
            return integral(at, *breaks)
        angles = [mp.asin(mp.sqrt(place)) for place in breaks]
        return integral(lambda a: at(mp.sin(a) ** 2) * mp.sin(2 * a), *angles)


def beta(a: float, b: float) -> Family:
    scale, p, q = 1 / mp.beta(mp.mpf(a), mp.mpf(b)), mp.mpf(a) - 1, mp.mpf(b) - 1
    return Family(Density.beta(a, b), lambda x: scale * x**p * (1 - x) ** q, is_angle=True)


def normal(mean: str, deviation: str) -> Family:
    m, s = mp.mpf(mean), mp.mpf(deviation)
    whole = (mp.erf((1 - m) / s / mp.sqrt(2)) + mp.erf(m / s / mp.sqrt(2))) / 2 * s * mp.sqrt(2 * mp.pi)
    return Family(
        Density.truncated_normal(mean, deviation), lambda x: mp.exp(-(((x - m) / s) ** 2) / 2) / whole
    )


FAMILIES = {
    "uniform": Family(Density.uniform(), lambda x: mp.mpf(1)),
    "Beta(2, 5)": beta(2, 5),
    "Beta(2.5, 4.5)": beta(2.5, 4.5),
    "normal": normal("0.3", "0.25"),
    "lines": Family(
        Density.piecewise([0, "0.5", 1], [1, 3, 2]),
        lambda x: (1 + 4 * x if x < mp.mpf(1) / 2 else 4 - 2 * x) / (mp.mpf(9) / 4),
        (0.5,),
    ),
    "steps": Family(
        Density.histogram([0, "0.25", 1], [1, 1]),
        lambda x: mp.mpf(2) if 4 * x < 1 else mp.mpf(2) / 3,
        (0.25,),
    ),
    "mixture": Family(
        Density.mixture([Density.uniform(), Density.beta(2, 1)], [1, 1]), lambda x: mp.mpf(1) / 2 + x
    ),
}


def expected(family: Family, eps: Any, least: Callable[[Any], Any], *breaks: Any) -> Any:
    """Atoms and density of the output, with the least cost after each."""
    places = sorted({mp.mpf(0), mp.mpf(1), *map(mp.mpf, family.kinks), *breaks})
    inner = [a for a, b in pairwise(places) if b - a > mp.mpf(10) ** -25] + [mp.mpf(1)]
    ends = (least(mp.mpf(0)) + least(mp.mpf(1))) / 2
    if not family.is_angle:
        return ends + eps / 2 * integral(least, *inner)
    angles = [mp.asin(mp.sqrt(place)) for place in inner]
    return ends + eps / 2 * integral(lambda a: least(mp.sin(a) ** 2) * mp.sin(2 * a), *angles)


def squared(family: Family, eps: Any) -> Any:
    def variance(y: Any) -> Any:
        zero, one, two = (family.mean(lambda x, k=k: x**k, eps, y) for k in range(3))
        return two - one * one / zero

    return expected(family, eps, variance, mp.mpf(1) / 4, mp.mpf(1) / 2, mp.mpf(3) / 4)


def pinball(family: Family, eps: Any, q: Any, factor: int = 1) -> Any:
    def off(w: Any, y: Any) -> Any:
        """By how much more than its share lies below w after y."""
        return family.mean(lambda x: 1, eps, y, 0, w) - q * family.mean(lambda x: 1, eps, y)

    def guess(y: Any) -> Any:
        low, high, w = mp.mpf(0), mp.mpf(1), mp.mpf(1) / 2
        for _ in range(60):
            excess = off(w, y)
            low, high = (w, high) if excess < 0 else (low, w)
            step = excess / (family.density(w) * mp.exp(-eps * abs(w - y)))
            if abs(step) < mp.mpf(10) ** -18:
                return w - step
            w = w - step if low < w - step < high else (low + high) / 2
        return w

    def least(y: Any) -> Any:
        w = guess(y)
        below = family.mean(lambda x: w - x, eps, y, 0, w)
        return factor * ((1 - q) * below + q * family.mean(lambda x: x - w, eps, y, w, 1))

    # Smooth but where the guess is the output, or a kink of the density.
    same = root(lambda y: off(y, y), mp.mpf(0), mp.mpf(1))
    kinks = [root(lambda y, k=k: -off(mp.mpf(k), y), mp.mpf(0), mp.mpf(1)) for k in family.kinks]
    return expected(family, eps, least, same, *kinks)


def threshold(family: Family, eps: Any, at: Any) -> Any:
    def sides(y: Any) -> tuple[Any, Any]:
        return family.mean(lambda x: 1, eps, y, 0, at), family.mean(lambda x: 1, eps, y, at, 1)

    change = root(lambda y: sides(y)[1] - sides(y)[0], mp.mpf(0), mp.mpf(1))
    return expected(family, eps, lambda y: min(sides(y)), at, change)


def thirds(family: Family, eps: Any) -> Any:
    places = [mp.mpf(k) / 3 for k in range(4)]

    def parts(y: Any) -> list[Any]:
        return [family.mean(lambda x: 1, eps, y, a, b) for a, b in pairwise(places)]

    def change(k: int, j: int) -> Any:
        return root(lambda y: parts(y)[j] - parts(y)[k], mp.mpf(0), mp.mpf(1))

    changes = [change(k, j) for k, j in ((0, 1), (1, 2), (0, 2))]
    return expected(family, eps, lambda y: sum(parts(y)) - max(parts(y)), *places, *changes)


def tolerance(family: Family, eps: Any, r: Any) -> Any:
    def falls(w: Any, y: Any) -> Any:
        near, far = family.density(w - r), family.density(w + r)
        return near * mp.exp(-eps * abs(w - r - y)) - far * mp.exp(-eps * abs(w + r - y))

    def best(y: Any) -> Any:
        return root(lambda w: falls(w, y), r, 1 - r)

    def least(y: Any) -> Any:
        w = best(y)
        return family.mean(lambda x: 1, eps, y, 0, w - r) + family.mean(lambda x: 1, eps, y, w + r, 1)

    # The best window stands still for outputs beyond it, and at the ends of the interval.
    first, last = best(mp.mpf(0)), best(mp.mpf(1))
    leaves = [root(lambda y, w=w: -falls(w, y), mp.mpf(0), mp.mpf(1)) for w in (r, 1 - r)]
    return expected(family, eps, least, first - r, last + r, *leaves)


def enclosing(found: Any, wanted: Any, digits: float = 1e-10) -> None:
    assert mp.mpf(found.low) <= wanted <= mp.mpf(found.high), (found, wanted)
    assert found.high - found.low <= digits * found.value


@pytest.mark.parametrize("name", FAMILIES)
def test_squares(name: str) -> None:
    for eps in (mp.mpf(1) / 2, mp.mpf(6)):
        enclosing(laplace_loss(FAMILIES[name].ours, "squared", float(eps)), squared(FAMILIES[name], eps))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_quantiles(name: str) -> None:
    family = FAMILIES[name]
    enclosing(laplace_loss(family.ours, "absolute", 3), pinball(family, mp.mpf(3), mp.mpf(1) / 2, 2))


@pytest.mark.parametrize("name", FAMILIES)
def test_thresholds(name: str) -> None:
    family = FAMILIES[name]
    enclosing(
        laplace_loss(family.ours, {"threshold": "0.375"}, 6), threshold(family, mp.mpf(6), mp.mpf(3) / 8)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_cells(name: str) -> None:
    family = FAMILIES[name]
    enclosing(laplace_loss(family.ours, {"cells": 3}, 3), thirds(family, mp.mpf(3)))


@pytest.mark.parametrize("name", ["uniform", "Beta(2, 5)", "Beta(2.5, 4.5)", "normal"])
def test_tolerances(name: str) -> None:
    family = FAMILIES[name]
    for eps, r in ((mp.mpf(4), mp.mpf(1) / 8), (mp.mpf(1), mp.mpf(1) / 4)):
        enclosing(laplace_loss(family.ours, {"tolerance": float(r)}, float(eps)), tolerance(family, eps, r))


def test_a_tolerance_for_the_uniform_has_a_closed_form() -> None:
    """(1 - 2r)·e^(-εr)."""
    for eps, r in ((1, "0.1"), (32, "0.05"), (700, "0.01")):
        wanted = (1 - 2 * mp.mpf(r)) * mp.exp(-eps * mp.mpf(r))
        enclosing(laplace_loss(Density.uniform(), {"tolerance": r}, eps), wanted)
    assert laplace_loss(Density.uniform(), {"tolerance": "0.5"}, 3).high == 0


class Bars:
    """A histogram on equal bars, by the definition: after each output the best of all windows.

    Where the window stops, it wins as much as it loses: at an edge, or where y - r + ln c/(2ε) with the ratio
    c of the two bars lies between edges. All of it is closed form, and only kinks are told to the integral.
    """

    def __init__(self, counts: list[int], r: Any, eps: Any) -> None:
        n, self.r, self.eps = len(counts), mp.mpf(r), mp.mpf(eps)
        self.edges = [mp.mpf(k) / n for k in range(n + 1)]
        self.heights = [mp.mpf(n * c) / sum(counts) for c in counts]
        last = 1 - 2 * self.r
        stops = {*self.edges, *(edge - 2 * self.r for edge in self.edges), last}
        self.stops = sorted(stop for stop in stops if 0 <= stop <= last)

    def height(self, x: Any) -> Any:
        return self.heights[min(int(x * len(self.heights)), len(self.heights) - 1)]

    def between(self, a: Any, b: Any, y: Any) -> Any:
        """∫ π(x)·e^(-ε|x-y|) from a to b."""
        total = mp.mpf(0)
        for height, (low, high) in zip(self.heights, pairwise(self.edges), strict=True):
            low, high = max(low, a), min(high, b)
            if low < high:
                total += height * sum(
                    sign * mp.sign(end - y) * -mp.expm1(-self.eps * abs(end - y))
                    for sign, end in ((1, high), (-1, low))
                )
        return total / self.eps

    def best(self, y: Any) -> tuple[Any, int]:
        """What the best window misses, and which it is."""
        places = list(self.stops)
        for low, high in pairwise(self.stops):
            ratio = self.height((low + high) / 2 + 2 * self.r) / self.height((low + high) / 2)
            places.append(min(max(y - self.r + mp.log(ratio) / (2 * self.eps), low), high))
        covered = [self.between(place, place + 2 * self.r, y) for place in places]
        k = max(range(len(places)), key=covered.__getitem__)
        return self.between(mp.mpf(0), mp.mpf(1), y) - covered[k], k

    def loss(self, steps: int = 20) -> Any:
        kinks = {*self.stops, *(stop + 2 * self.r for stop in self.stops), *self.edges}
        for low, high in pairwise([mp.mpf(k) / steps for k in range(steps + 1)]):
            first, last = self.best(low)[1], self.best(high)[1]
            if first == last:
                continue
            while high - low > mp.mpf(10) ** -16:
                middle = (low + high) / 2
                low, high = (middle, high) if self.best(middle)[1] == first else (low, middle)
            kinks.add(low)
        inner = integral(lambda y: self.best(y)[0], *sorted(kinks))
        return (self.best(mp.mpf(0))[0] + self.best(mp.mpf(1))[0] + self.eps * inner) / 2


def test_a_window_that_jumps_between_peaks_has_twelve_digits() -> None:
    """Against windows tried after every output: ours goes by what each end of the window passes."""
    mp.dps, bars = 20, Bars([3, 1, 4, 2], "0.125", 8)
    try:
        wanted = bars.loss()
    finally:
        mp.dps = 30
    prior = Density.histogram([0, "1/4", "1/2", "3/4", 1], [3, 1, 4, 2])
    found = laplace_loss(prior, {"tolerance": "0.125"}, 8)
    assert "jumps" in found.method
    enclosing(found, wanted, 1e-11)


@pytest.mark.parametrize("eps", [0, 3])
@pytest.mark.parametrize(
    "prior",
    [
        Density.beta("0.5", "0.5"),
        Density.histogram([0, "0.3", "0.6", 1], [1, 0, 2]),
        Density.piecewise([0, "0.25", "0.5", "0.8", 1], [1, 3, "0.5", 2, "0.2"]),
    ],
    ids=["ends", "nothing between", "lines"],
)
def test_several_peaks_lose_what_many_points_do(prior: Density, eps: float) -> None:
    found, n = laplace_loss(prior, {"tolerance": "0.1"}, eps), 400
    assert found.high - found.low <= 1e-11 * found.value
    places, width = (np.arange(n) + 0.5) / n, n // 5
    joint = prior.masses(n)[:, None] * np.exp(-eps * np.abs(places[:, None] - [0.0, *places, 1.0]))
    sums = np.vstack([np.zeros(n + 2), np.cumsum(joint, axis=0)])
    missed = sums[-1] - (sums[width:] - sums[:-width]).max(axis=0)
    near = (missed[0] + missed[-1] + eps / n * missed[1:-1].sum()) / 2
    assert found.value == pytest.approx(near, rel=2e-4)


@pytest.mark.parametrize("eps", [1e-9, 32, 700])
@pytest.mark.parametrize(
    "loss", ["absolute", "squared", {"pinball": "0.9"}, {"threshold": "0.3"}, {"cells": 7}]
)
def test_ten_digits_at_every_epsilon(eps: float, loss: Any) -> None:
    for prior in (Density.beta("2.5", 5), Density.truncated_normal("0.3", "0.1"), Density.uniform()):
        found = laplace_loss(prior, loss, eps)
        assert 0 < found.low <= found.high
        assert found.high - found.low <= 2e-10 * found.value, (prior, loss)


def test_a_guess_at_the_end_of_a_cell_keeps_its_digits() -> None:
    """Two peaks, alike: after the output 1/2 the guess is 1/2, where two cells meet."""
    found = laplace_loss(Density.beta("0.5", "0.5"), "absolute", 4)
    assert found.high - found.low <= 1e-12 * found.value
    fine = 20_000
    places = (np.arange(fine) + 0.5) / fine
    near = laplace_loss(Density.beta("0.5", "0.5").masses(fine), "absolute", 4, places)
    assert found.value == pytest.approx(near.value, rel=1e-5)


def test_for_large_epsilon_a_flat_belief_loses_what_the_noise_is() -> None:
    """Inside the interval the posterior is the noise itself: 1/ε and 2/ε², up to what the ends change."""
    for eps in (700, 2000):
        absolute, square = (laplace_loss(Density.uniform(), name, eps) for name in ("absolute", "squared"))
        assert absolute.value * eps == pytest.approx(1, abs=3 / eps)
        assert square.value * eps**2 / 2 == pytest.approx(1, abs=5 / eps)


def test_narrow_beliefs_far_from_the_output_keep_their_digits() -> None:
    for deviation in (1e-2, 1e-4):
        found = laplace_loss(Density.truncated_normal("0.3", deviation), "squared", 1e-3)
        assert found.value == pytest.approx(deviation**2, rel=1e-6 + deviation)
        assert found.high - found.low <= 1e-10 * found.value


def test_intervals_scale_exactly() -> None:
    """Far from 0 floats are coarse, shares of the interval are not."""
    near, far = Density.beta(2, 5), Density.beta(2, 5, (10**9, 10**9 + 4))
    for loss, other, scale in (
        ("absolute", "absolute", 4),
        ("squared", "squared", 16),
        ({"threshold": "0.25"}, {"threshold": 10**9 + 1}, 1),
        ({"tolerance": "0.125"}, {"tolerance": "0.5"}, 1),
    ):
        one, two = laplace_loss(near, loss, 8), laplace_loss(far, other, 2)
        assert two.value == pytest.approx(scale * one.value, rel=1e-12)
    assert sv.continuous.gap(far, "absolute", 2, 8).cells == 8


@pytest.mark.parametrize(
    "loss", ["squared", "absolute", {"pinball": "0.8"}, {"threshold": "0.3"}, {"cells": 3}]
)
def test_pixels_of_rounded_numbers_lose_what_brute_force_says(loss: Any) -> None:
    """Many fine points, each with the chances of its nearest grid point."""
    prior, count, cells, pixels = Density.beta("2.5", 4), 30_000, 12, 7
    points = (np.arange(count) + 0.5) / count
    rows = sv.continuous.truncated_laplace(5).pixelated(pixels, cells).matrix
    joint = prior.masses(count)[:, None] * rows[np.rint(points * cells).astype(int)]
    if loss == "squared":
        means = points @ joint / joint.sum(axis=0)
        wanted = (joint * (points[:, None] - means) ** 2).sum()
    elif loss == "absolute" or "pinball" in loss:
        q, factor = (0.5, 2) if loss == "absolute" else (0.8, 1)
        guess = points[(np.cumsum(joint, axis=0) < q * joint.sum(axis=0)).sum(axis=0)]
        off = points[:, None] - guess
        wanted = factor * (joint * np.where(off > 0, q * off, (q - 1) * off)).sum()
    else:
        part = points >= 0.3 if "threshold" in loss else (points * 3).astype(int)
        sums = np.array([joint[part == k].sum(axis=0) for k in np.unique(part)])
        wanted = (sums.sum(axis=0) - sums.max(axis=0)).sum()
    found = pixelated_loss(prior, loss, 5, pixels, cells)
    assert found is not None
    assert found.value == pytest.approx(wanted, rel=1e-7)
    assert found.high - found.low <= 1e-11 * found.value
    # Rounding and pixels only lose more than every digit.
    assert found.high > laplace_loss(prior, loss, 5).low


def test_fine_pixels_of_a_fine_grid_lose_as_much_as_every_digit() -> None:
    prior = Density.truncated_normal("0.4", "0.2")
    for loss in ("squared", "absolute"):
        found = pixelated_loss(prior, loss, 6, 1000, 2000)
        assert found is not None
        assert found.value == pytest.approx(laplace_loss(prior, loss, 6).value, rel=1e-4)
    assert pixelated_loss(prior, {"tolerance": "0.1"}, 6, 10, 10) is None
