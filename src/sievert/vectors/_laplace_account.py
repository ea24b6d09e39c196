"""What Laplace noise before the hash tells about a pair of users, over the draw of the planes.

The noise is √W·g with g standard normal, and the code is a function of the noisy vector's part in the span of
the planes. Whoever sees that part and W sees a normal mechanism whose two centres are |P·(x - x')|/√W
deviations apart, where P projects onto a random subspace: |P·(x - x')|² = |x - x'|²·B with
B ~ Beta(bits/2, (n - bits)/2). Seeing less tells less (data processing), so the mean of the normal
mechanism's δ over B and W is a bound on δ of the codes. The law of B/W is put on a lattice of logarithms,
every cell at its worse end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import betainc, betaincc, betaincinv, gammainc, gammaincc, gammaincinv, log_ndtr

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import non_negative, positive, probability, whole
from sievert.results import Result, guarded
from sievert.vectors._accountant import read_delta
from sievert.vectors._bounds import LARGEST_EPS
from sievert.vectors._codes import MOST_BITS
from sievert.vectors._distance import chord_distance

__all__ = ["LaplaceAccountant", "calibrate_laplace", "laplace_accountant"]

# Coordinates of a vector.
MOST_DIMENSIONS = 1_000_000_000
# Step of the lattice of logarithms, and the probability that is cut off at either end and counts as told.
STEP, CUT = 1e-3, 1e-17
# Distribution functions are computed to 1e-13 of their value; this leaves room.
ROOM = 1e-10
# Centres nearer than this count as so far apart, which bounds them.
LEAST_APART = 1e-300


@dataclass(frozen=True)
class LaplaceAccountant(Result):
    """What codes of noisy vectors tell about a pair of users; see `laplace_accountant`.

    Attributes
    ----------
    dimension, bits, distance, eps : as given
    view, quantifier : what the observer sees, and what the statement is about
    exact : False: an upper bound, that of somebody who sees the noisy projections themselves
    """

    dimension: int
    bits: int
    distance: float
    eps: float
    view: str = "output+seed"
    quantifier: str = "for each pair fixed before the hash is drawn, over the draw of the hash"
    exact: bool = False

    @property
    def worst(self) -> float:
        """The loss that no output exceeds: eps times the chord (Fernandes, Prop 10.9)."""
        return self.eps * float(chord_distance(self.distance))

    @cached_property
    def _spreads(self) -> tuple[FloatArray, FloatArray]:
        """How many deviations the two centres are apart, from above, and the probabilities."""
        first, mass = _ratio(self.dimension, self.bits)
        logs = 0.5 * (first + STEP * np.arange(len(mass)))
        return self.worst / math.sqrt(2) * np.exp(logs), mass

    def delta(self, xi: float) -> float:
        """A δ with which (ξ, δ)-XDP holds: the least of two bounds."""
        level = non_negative("xi", xi, VectorError)
        if level >= self.worst:
            return 0.0
        # (ε, 0)-DP is at most as telling as randomised response: (e^ε - e^ξ)/(1 + e^ε).
        response = -math.expm1(level - self.worst) / (1 + math.exp(-self.worst))
        apart, mass = self._spreads
        apart = np.maximum(apart, LEAST_APART)
        above = np.exp(log_ndtr(apart / 2 - level / apart))
        below = np.exp(level + log_ndtr(-apart / 2 - level / apart))
        found = float(mass @ np.maximum(above - below, 0.0)) * (1 + ROOM) + 1e-13 * float(mass @ above)
        return min(1.0, response, found + 4 * CUT)

    def xi(self, delta: float) -> float:
        """A ξ with which (ξ, δ)-XDP holds, in nats."""
        level = float(read_delta("delta", delta))
        low, high = 0.0, self.worst
        if level == 0 or self.delta(low) <= level:
            return high if level == 0 else low
        while high - low > 1e-9 * high and low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if self.delta(middle) <= level else (middle, high)
        return high

    def __str__(self) -> str:
        return (
            f"{self.bits} bits of vectors with {self.dimension} coordinates and Laplace noise, ε = "
            f"{self.eps:g} a unit of length, users at distance {self.distance:g}: at most {self.worst:.4g} "
            f"nats, {self.xi(0.01):.4g} but for δ = 0.01; observer sees {self.view}"
        )


@lru_cache(maxsize=8)
def _ratio(dimension: int, bits: int) -> tuple[float, FloatArray]:
    """ln(B/G), G ~ Gamma((n+1)/2), on the lattice and from above: its first point and the probabilities."""
    shape = (dimension + 1) / 2
    ends = gammaincinv(shape, CUT), gammaincinv(shape, 1 - 1e-16) * 1.5
    # -ln G is large where G is small: the lower end of each cell of G.
    first, other = _lattice(math.log(ends[0]), math.log(ends[1]))
    edges = np.exp(STEP * np.arange(first, other + 1))
    noise = _masses(gammainc(shape, edges), gammaincc(shape, edges))[::-1]
    start = -(other - 1)
    if bits >= dimension:
        return STEP * start, noise
    pair = bits / 2, (dimension - bits) / 2
    low, _ = _lattice(math.log(betaincinv(*pair, CUT)), 0.0)
    edges = np.exp(STEP * np.minimum(np.arange(low, 1), 0))
    part = _masses(betainc(*pair, edges), betaincc(*pair, edges))
    found = np.convolve(noise, part)
    return STEP * (start + low + 1), found


def _lattice(low: float, high: float) -> tuple[int, int]:
    """Places of the lattice outside of which next to nothing lies."""
    return math.floor(low / STEP), math.ceil(high / STEP)


def _masses(below: FloatArray, above: FloatArray) -> FloatArray:
    """Probabilities of cells, from the tail that is the smaller."""
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))


def laplace_accountant(dimension: int, bits: int, distance: float, eps: float) -> LaplaceAccountant:
    """A bound on what codes of vectors with Laplace noise tell about a pair of users.

    Parameters
    ----------
    dimension : coordinates of a vector
    bits : of a code
    distance : angular distance of the pair, from 0 to 1
    eps : nats per unit of Euclidean distance, vectors scaled to length 1

    Returns
    -------
    LaplaceAccountant
        With `delta(xi)`, `xi(delta)`, `worst`.

    Notes
    -----
    For hyperplanes, Gaussian or orthogonal: only their span matters. δ is that of somebody who sees the noisy
    projections themselves, so it is a bound for the codes; it is far below ε times the chord (Fernandes,
    Prop 10.9), which charges all coordinates though few projections leave. Every cell of the lattice is taken
    at its worse end, so that nothing but floating point is left open; 1e-10 of δ is added for that.
    Cost: about 0.1 s for a pair of dimension and bits, then 2 ms.

    References
    ----------
    Fernandes (2021), Prop 10.9.

    Examples
    --------
    >>> account = laplace_accountant(100, 10, 0.05, 31.86)
    >>> round(account.worst, 2), round(account.xi(0.01), 2)
    (5.0, 0.19)
    """
    return LaplaceAccountant(
        whole("dimension", dimension, VectorError, most=MOST_DIMENSIONS),
        whole("bits", bits, VectorError, most=MOST_BITS),
        probability("distance", distance, VectorError),
        positive("eps", eps, VectorError, most=LARGEST_EPS),
    )


@guarded
def calibrate_laplace(dimension: int, bits: int, distance: float, xi: float, delta: float) -> float:
    """The largest eps of Laplace noise before the hash with which a pair is known to be (ξ, δ)-XDP.

    Parameters
    ----------
    dimension : coordinates of a vector
    bits : of a code
    distance : angular distance of the pair, above 0
    xi : nats, above 0
    delta : from 0 to below 1; 0 charges the whole noisy vector, ξ over the chord

    Returns
    -------
    float

    Notes
    -----
    The bound on δ rises with eps, so a root is bracketed and its lower end returned.
    Cost: about 40 accounts.

    Examples
    --------
    >>> round(calibrate_laplace(100, 10, 0.05, 1.0, 0.01)), round(calibrate_laplace(100, 10, 0.05, 1.0, 0.0))
    (101, 6)
    """
    level, wanted = float(read_delta("delta", delta)), positive("xi", xi, VectorError)
    near = probability("distance", distance, VectorError)
    if near == 0:
        raise VectorError("distance is 0; users at distance 0 are never told apart, whatever eps is")
    low = wanted / float(chord_distance(near))
    if low > LARGEST_EPS / 2:
        raise VectorError(
            f"distance is {near:g}; so near a pair asks for next to no noise: take a larger one"
        )
    if level == 0:
        return low
    account = laplace_accountant
    high = max(2 * low, math.ulp(0.0))
    while account(dimension, bits, near, high).delta(wanted) <= level:
        low, high = high, 2 * high
        if high > LARGEST_EPS:
            raise VectorError(f"delta is {level:g}; that asks for next to no noise: lower it")
    while high - low > 1e-7 * high and low < (middle := (low + high) / 2) < high:
        good = account(dimension, bits, near, middle).delta(wanted) <= level
        low, high = (middle, high) if good else (low, middle)
    return low
