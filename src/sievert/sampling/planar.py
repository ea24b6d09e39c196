"""Planar geometric noise: P(z) ∝ e^(-ε·|z|) on the lattice Z², exactly, by rejection.

On the whole lattice the normaliser does not depend on the input, so the mechanism is exactly ε-private for
the Euclidean distance in lattice steps. Proposals are two independent discrete Laplace draws of a rational
rate e1 ≤ ε/√2; (i, j) is accepted with probability e^-(ε·√(i²+j²) - e1·(|i|+|j|)), which is at most 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import MechanismError
from sievert.numerics.checks import brief, whole
from sievert.sampling.acceptance import accepted, first_accepted, fixed_point
from sievert.sampling.base import LARGEST_INPUT, NoiseSampler, Timing, integers
from sievert.sampling.enclosures import Enclosure, Ratio, rational
from sievert.sampling.laplace import laplace_noise

__all__ = ["PlanarGeometric", "planar_geometric"]

IntArray = NDArray[np.int64]
Bounds = tuple[tuple[int, int], tuple[int, int]]
# At least this share of the proposals is accepted, at any ε (the least is 0.7348, near ε = 5/3).
ACCEPTANCE = 0.72
# Components of the bit source: the second coordinate and the acceptance stand clear of the first's digits.
SECOND, ACCEPT = 16, 32
SMALLEST, LARGEST = Fraction(1, 2**24), 700


def planar_geometric(
    eps: object,
    *,
    bounds: Bounds | None = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> PlanarGeometric:
    """Exact noise on lattice points; ε is rational, per lattice step.

    Parameters
    ----------
    eps : nats per lattice step: for a level l within a radius r and lattice steps u, eps = l·u/r
    bounds : ((first row, last row), (first column, last column)) to which outputs are clamped
    timing : "fixed" draws a number of proposals that depends on the batch alone, and takes the first accepted

    >>> planar_geometric(1, insecure_rng=1).noise(3)
    array([[-1,  0],
           [ 0,  1],
           [-3, -4]])
    """
    rate = rational(eps, "eps")
    if not SMALLEST <= rate <= LARGEST:
        raise MechanismError(
            f"eps is {brief(eps)}; planar noise needs an eps from 2^-24 to {LARGEST} for a lattice step; "
            "choose larger or smaller steps"
        )
    return PlanarGeometric(rate, bounds, timing, insecure_rng)


def _sides(bounds: object) -> Bounds | None:
    if bounds is None:
        return None
    pairs = list(bounds) if isinstance(bounds, list | tuple | np.ndarray) else []
    if len(pairs) != 2 or any(not isinstance(p, list | tuple | np.ndarray) or len(p) != 2 for p in pairs):
        raise MechanismError(
            f"bounds is {brief(bounds)}; give ((first row, last row), (first column, last column))"
        )
    rows, columns = (
        tuple(whole("bounds", end, MechanismError, least=-LARGEST_INPUT, most=LARGEST_INPUT) for end in pair)
        for pair in pairs
    )
    if rows[0] > rows[1] or columns[0] > columns[1]:
        raise MechanismError(f"bounds is {brief(bounds)}; each side needs first ≤ last")
    return (rows[0], rows[1]), (columns[0], columns[1])


class PlanarGeometric(NoiseSampler):
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
        return first_accepted(size, self._proposals, np.empty((0, 2), np.int64), ACCEPTANCE, self.timing)

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

        taken = accepted(low, narrow, exact, lanes, self.source, ACCEPT)
        return np.stack([i[taken], j[taken]], axis=1)
