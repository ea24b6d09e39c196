"""Discrete Gaussian noise, P(z) ∝ e^(-z²/2σ²) on the integers (Canonne, Kamath, Steinke 2020).

Up to a width of 1024 by one lazy uniform number and enclosed tail sums; beyond, by rejection from discrete
Laplace noise of scale t = ⌊σ⌋ + 1, accepted with probability e^(-(|y| - σ²/t)²/2σ²).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, whole
from sievert.sampling._base import LARGEST_INPUT, NoiseSampler, Timing, integers
from sievert.sampling._bernoulli import accepted, first_accepted, fixed_point
from sievert.sampling._laplace import laplace_noise
from sievert.sampling._lazy import (
    Enclosure,
    LazyTable,
    Ratio,
    ceiling,
    count_below,
    exp_neg,
    quotient,
    rational,
)

__all__ = ["DiscreteGaussian", "PlanarGeometricSampler", "discrete_gaussian", "planar_geometric"]
WIDEST_TABLE = 1024
WIDEST = 2**40
# At least this share of the proposals is accepted once σ ≥ 1024 (about 0.76).
ACCEPTANCE = 0.7
ACCEPT = 32


def discrete_gaussian(
    sigma: object = None,
    *,
    variance: object = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> DiscreteGaussian:
    """Exact Gaussian noise on the integers; give rational `sigma`, or rational `variance` = σ².

    For a query of sensitivity Δ it satisfies ρ-zCDP with ρ = Δ²/2σ². Its variance is at most σ².

    Parameters
    ----------
    sigma : the rational scale σ
    variance : instead of it, rational σ²
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    NoiseSampler

    Notes
    -----
    Cost: 8 bytes a draw for σ from 2 to 1000; exact: integers only.

    Examples
    --------
    >>> discrete_gaussian(2, insecure_rng=1).noise(6)
    array([-2, -1, -3,  0, -3, -2])
    """
    if (sigma is None) == (variance is None):
        raise MechanismError("give exactly one of sigma and variance = sigma²")
    name, value = ("sigma", sigma) if sigma is not None else ("variance", variance)
    number = rational(value, name)
    if number < 0:
        raise MechanismError(f"{name} is {abbreviated(value)}; it must be ≥ 0")
    squared = number * number if name == "sigma" else number
    if squared > WIDEST**2:
        raise MechanismError(f"{name} is {abbreviated(value)}; a width beyond 2^40 needs larger units")
    return DiscreteGaussian(squared, timing, insecure_rng)


class DiscreteGaussian(NoiseSampler):
    """Gaussian noise on the integers; see `discrete_gaussian`."""

    kind = "discrete Gaussian"

    def __init__(self, squared: Fraction, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self.squared = squared

    @property
    def parameters(self) -> dict[str, Any]:
        return {"sigma_squared": str(self.squared)}

    @property
    def variance(self) -> float:
        """Σ z²·P(z); σ² to all digits from σ = 4 on."""
        squared = float(self.squared)
        if squared > 16 or squared == 0:
            return squared
        z = np.arange(-60, 61, dtype=np.float64)
        weights = np.exp(-z * z / (2 * squared))
        return float((weights * z * z).sum() / weights.sum())

    def noise(self, size: int) -> IntArray:
        """`size` independent draws."""
        if self.squared == 0:
            return np.zeros(size, dtype=np.int64)
        if self.squared <= WIDEST_TABLE**2:
            return _table(self.squared).draw(self.source.reserve(size), self.source, self.timing)
        return first_accepted(size, self._proposals, np.empty(0, np.int64), ACCEPTANCE, self.timing)

    def _proposals(self, count: int) -> IntArray:
        lanes = self.source.reserve(count)
        scale = math.isqrt(math.floor(self.squared)) + 1
        proposed = laplace_noise(Ratio(eps=Fraction(1, scale))).draw(lanes, self.source, self.timing)
        squared = float(self.squared)
        sizes = np.abs(proposed).astype(np.float64)
        g = (sizes - squared / scale) ** 2 / (2 * squared)
        # |y| - σ²/t is off by 3 units of |y| + σ²/t, its square by twice that, and 4 more operations follow.
        error = (sizes + squared / scale) ** 2 / squared * (8 * 2.0**-53)
        low, narrow = fixed_point(g, error)

        def exact(lane: int, bits: int) -> Enclosure:
            value = (abs(int(proposed[lane])) - self.squared / scale) ** 2 / (2 * self.squared)
            scaled = value * (1 << bits)
            return math.floor(scaled), math.ceil(scaled)

        return proposed[accepted(low, narrow, exact, lanes, self.source, ACCEPT)]


@lru_cache(maxsize=16)
def _tails(squared: Fraction, bits: int) -> list[Enclosure]:
    """P(Z ≥ m), m = 0, 1, …, as long as they matter at this precision; the last is a bound of all further."""
    guard = 64 + 2 * (int(squared) + 1).bit_length()
    inner = bits + guard
    rate = 1 / (2 * squared)
    step_low, step_high = exp_neg(2 * rate.numerator, rate.denominator, inner)
    low, high = exp_neg(rate.numerator, rate.denominator, inner)  # e^(-(2z+1)/2σ²), from z = 0
    weights = [(1 << inner, 1 << inner)]
    while weights[-1][1] > 1 << (guard // 2):
        weights.append((weights[-1][0] * low >> inner, -((-weights[-1][1] * high) >> inner)))
        low, high = low * step_low >> inner, -((-high * step_high) >> inner)
    # Beyond the last weight w_R: Σ_{z>R} e^(-z²/2σ²) ≤ w_R·Σ_{k≥1} e^(-kR/σ²) ≤ w_R·σ²/R.
    last = len(weights) - 1
    sums = [(0, math.ceil(weights[-1][1] * squared / last))]
    for least, most in reversed(weights):
        sums.append((sums[-1][0] + least, sums[-1][1] + most))
    sums.reverse()
    # All of it: Σ_{z≥0} + Σ_{z≥1}.
    total = sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]
    return [
        quotient(part, total, bits) if part[0] else (0, ceiling(part[1] << bits, total[0])) for part in sums
    ]


@lru_cache(maxsize=16)
def _table(squared: Fraction) -> LazyTable:
    """Outcomes by both tails, as for Laplace noise."""

    def tail(m: int, bits: int) -> Enclosure:
        tails = _tails(squared, bits)
        return tails[m] if m < len(tails) else (0, tails[-1][1])

    def resolve(prefix: int, bits: int) -> int | None:
        upper = prefix >> (bits - 1)
        size = count_below((1 << bits) - 1 - prefix if upper else prefix, bits, tail)
        return None if size is None else size if upper else -size

    guard = 64
    while True:
        enclosures = _tails(squared, 64 + guard)[1:]
        floors: list[int] = []
        for low, high in enclosures:
            floor = low >> guard
            if high > (floor + 2) << guard:
                break
            floors.append(floor)
            if not floor:
                # The word 0 stays undecided: it is how the infinite tail is reached.
                words = np.array(floors, dtype=np.uint64)
                both = np.concatenate([words[::-1], np.uint64(2**64 - 2) - words])
                return LazyTable(both, np.arange(-len(floors), len(floors) + 1), resolve)
        guard *= 2


# ── Planar geometric noise: P(z) ∝ e^(-ε·|z|) on the lattice Z², exactly, by rejection ──────────────────────
# On the whole lattice the normaliser does not depend on the input, so the mechanism is exactly ε-private
# for the Euclidean distance in lattice steps. Proposals are two independent discrete Laplace draws of a
# rational rate e1 ≤ ε/√2; (i, j) is accepted with probability e^-(ε·√(i²+j²) - e1·(|i|+|j|)), which is at
# most 1.
Bounds = tuple[tuple[int, int], tuple[int, int]]
# At least this share of the proposals is accepted, at any ε (the least is 0.7348, near ε = 5/3).
PLANAR_ACCEPTANCE = 0.72
# Components of the bit source: the second coordinate and the acceptance stand clear of the first's digits.
SECOND, PLANAR_ACCEPT = 16, 32
SMALLEST, LARGEST = Fraction(1, 2**24), 700


def planar_geometric(
    eps: object,
    *,
    bounds: Bounds | None = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> PlanarGeometricSampler:
    """Exact noise on lattice points; ε is rational, per lattice step.

    Parameters
    ----------
    eps : nats per lattice step: for a level l within a radius r and lattice steps u, eps = l·u/r
    bounds : ((first row, last row), (first column, last column)) to which outputs are clamped
    timing : "fixed" draws a number of proposals that depends on the batch alone, and takes the first accepted
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    NoiseSampler

    Notes
    -----
    Cost: 29 bytes a draw, at ε = 1 as at 1/100; exact: integers only.

    Examples
    --------
    >>> planar_geometric(1, insecure_rng=1).noise(3)
    array([[-1,  0],
           [ 0,  1],
           [-3, -4]])
    """
    rate = rational(eps, "eps")
    if not SMALLEST <= rate <= LARGEST:
        raise MechanismError(
            f"eps is {abbreviated(eps)}; planar noise needs an eps from 2^-24 to {LARGEST} for a "
            f"lattice step; "
            "choose larger or smaller steps"
        )
    return PlanarGeometricSampler(rate, bounds, timing, insecure_rng)


def _items(given: object) -> list[Any]:
    """The items of a list or an array; none of anything else."""
    listed = isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim)
    return list(given) if listed else []  # type: ignore[call-overload]


def _sides(bounds: object) -> Bounds | None:
    if bounds is None:
        return None
    pairs = [_items(side) for side in _items(bounds)]
    if [len(pair) for pair in pairs] != [2, 2]:
        raise MechanismError(
            f"bounds is {abbreviated(bounds)}; give ((first row, last row), (first column, last column))"
        )
    rows, columns = (
        tuple(whole("bounds", end, MechanismError, least=-LARGEST_INPUT, most=LARGEST_INPUT) for end in pair)
        for pair in pairs
    )
    if rows[0] > rows[1] or columns[0] > columns[1]:
        raise MechanismError(f"bounds is {abbreviated(bounds)}; each side needs first ≤ last")
    return (rows[0], rows[1]), (columns[0], columns[1])


class PlanarGeometricSampler(NoiseSampler):
    """Noise of the plane; see `planar_geometric`. Points are rows of two integers."""

    kind = "planar geometric"

    def __init__(
        self,
        eps: Fraction,
        bounds: Bounds | None = None,
        timing: Timing = "fixed",
        insecure_rng: object = None,
    ) -> None:
        super().__init__(timing, insecure_rng)
        self.eps, self.bounds = eps, _sides(bounds)
        bits = 20 + max(0, math.ceil(-math.log2(float(eps))))
        # ⌊2^bits·ε/√2⌋/2^bits, so that 2·e1² ≤ ε² holds exactly.
        squared = eps * eps * 4**bits / 2
        self.proposal = Fraction(math.isqrt(squared.numerator // squared.denominator), 2**bits)

    @property
    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {"eps": str(self.eps)}
        if self.bounds is not None:
            found["bounds"] = [list(side) for side in self.bounds]
        return found

    @property
    def variance(self) -> float:
        """Variance of one coordinate, by summing the lattice (by its limit 3/ε² for small ε)."""
        eps = float(self.eps)
        if eps < 0.05:
            return 3 / eps**2
        reach = math.ceil(45 / eps) + 1
        side = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-eps * np.hypot(side[:, None], side[None, :]))
        return float((weights * side[:, None] ** 2).sum() / weights.sum())

    def draw(self, inputs: Any) -> IntArray:
        """Lattice points plus noise, clamped to the bounds where there are any."""
        points = integers(inputs, coordinates=2)
        noisy = np.clip(points + self.noise(len(points)), -LARGEST_INPUT, LARGEST_INPUT)
        if self.bounds is not None:
            (low, high), (left, right) = self.bounds
            noisy = np.clip(noisy, np.array([low, left]), np.array([high, right]))
        return np.asarray(noisy)

    def noise(self, size: int) -> IntArray:
        """`size` independent displacements, shape (size, 2)."""
        return first_accepted(
            size, self._proposals, np.empty((0, 2), np.int64), PLANAR_ACCEPTANCE, self.timing
        )

    def _proposals(self, count: int) -> IntArray:
        """The accepted ones of `count` proposals."""
        lanes = self.source.reserve(count)
        noise = laplace_noise(Ratio(eps=self.proposal))
        i = noise.draw(lanes, self.source, self.timing)
        j = noise.draw(lanes, self.source, self.timing, SECOND)
        eps, e1 = float(self.eps), float(self.proposal)
        steps = (np.abs(i) + np.abs(j)).astype(np.float64)
        # √ and the products are IEEE operations: each is off by a unit of 2^-53 of its own size, and so are
        # float(ε) and the squares; neither term of g exceeds ε·(|i|+|j|), so 12 units of that are enough.
        size = np.sqrt(i.astype(np.float64) ** 2 + j.astype(np.float64) ** 2)
        g = eps * size - e1 * steps
        low, narrow = fixed_point(g, eps * steps * (12 * 2.0**-53))

        def exact(lane: int, bits: int) -> Enclosure:
            a, b = abs(int(i[lane])), abs(int(j[lane]))
            s, t = self.eps.numerator, self.eps.denominator
            # ε·√(a²+b²) = √(s²·(a²+b²))/t, by an integer square root at 2·bits.
            root = math.isqrt((s * s * (a * a + b * b)) << (2 * bits))
            linear = self.proposal * (a + b) * (1 << bits)
            least = root // t - math.ceil(linear)
            most = (root + 1) // t + 1 - math.floor(linear)
            return max(least, 0), max(most, 0)

        taken = accepted(low, narrow, exact, lanes, self.source, PLANAR_ACCEPT)
        return np.stack([i[taken], j[taken]], axis=1)
