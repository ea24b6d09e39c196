"""How far off totals are: the sum of several noisy cells, and a cell that is clamped at 0.

The noise of a total of k cells is a sum of k independent draws of one law. Its radius is exact where that sum
can be convolved, and otherwise Chernoff's bound, P(S ≥ r) ≤ e^(k·ln M(t) - t·r) for every t > 0; Chebyshev's
where even one cell's law is too wide to be looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels._laws import NoiseLaw
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, log_sum, whole

__all__ = ["TotalError", "clamped_bias", "total_error"]

# ln of a probability that no radius notices.
NOTHING = -70.0
# Values of a sum that is convolved, and of the law of one cell that is looked at.
LARGEST_LAW, LARGEST_WINDOW = 20_000, 4_000_000
STEPS = 100


@dataclass(frozen=True)
class TotalError:
    """How far a total is off at most, at some confidence, in steps.

    Attributes
    ----------
    radius : |noise| is at most this with the confidence
    exact : whether no smaller radius does; else it is a bound
    method : "convolution", "Chernoff's bound" or "Chebyshev's bound"
    deviation : standard deviation of the total's noise
    """

    radius: int
    exact: bool
    method: str
    deviation: float


def total_error(law: NoiseLaw, cells: int, confidence: float = 0.95) -> TotalError:
    """The radius of the sum of independent noise in some cells.

    Parameters
    ----------
    law : of the noise in one cell
    cells : how many are added
    confidence : above 0 and below 1

    Returns
    -------
    TotalError

    Notes
    -----
    Cost: a convolution of at most 20,000 values, else O(values of one cell's law).

    Examples
    --------
    >>> from sievert.channels import GeometricLaw, EpsilonOrAlpha
    >>> total_error(GeometricLaw(EpsilonOrAlpha(0.5, None)), 4).radius
    11
    """
    count = whole("cells", cells, MechanismError)
    if not 0 < confidence < 1:
        raise MechanismError(f"confidence is {abbreviated(confidence)}; give a number between 0 and 1")
    deviation = law.deviation * math.sqrt(count)
    target = math.log1p(-confidence)
    if count == 1:
        return TotalError(law.radius(confidence), True, "convolution", deviation)
    reach = law.beyond(NOTHING) if math.isinf(law.reach) else int(law.reach)
    if 30 * deviation + 2 * reach <= LARGEST_LAW:
        return TotalError(_convolved_radius(law, count, reach, target), True, "convolution", deviation)
    if reach <= LARGEST_WINDOW:
        return TotalError(_chernoff_radius(law, count, reach, target), False, "Chernoff's bound", deviation)
    radius = math.ceil(deviation / math.sqrt(1 - confidence))
    return TotalError(radius, False, "Chebyshev's bound", deviation)


def _convolved_radius(law: NoiseLaw, cells: int, reach: int, target: float) -> int:
    once = np.exp(law.log_pmf(np.arange(-float(reach), reach + 1)))
    found, square, count = np.ones(1), once, cells
    while count:
        if count & 1:
            found = _without_ends(np.convolve(found, square))
        count >>= 1
        if count:
            square = _without_ends(np.convolve(square, square))
    middle = len(found) // 2
    # P(|S| > r), from the ends inwards.
    outside = 2 * np.cumsum(found[::-1])[: middle + 1][::-1]
    radii = np.flatnonzero(np.append(outside[1:], 0.0) <= math.exp(target))
    return int(radii[0])


def _without_ends(law: FloatArray) -> FloatArray:
    """Without ends that no radius notices, the same at either side."""
    kept = np.flatnonzero(np.cumsum(law) > math.exp(NOTHING))
    first = int(kept[0])
    return law[first : len(law) - first]


def _chernoff_radius(law: NoiseLaw, cells: int, reach: int, target: float) -> int:
    """The least r with 2·e^(k·ln M(t) - t·r) ≤ 1 - confidence for some t, searched where that is convex."""
    noise = np.arange(0.0, reach + 1)
    logs = law.log_pmf(noise)

    def radius(t: float) -> float:
        # ln Σ p(z)·cosh(t·z). Tilts stay below half of the law's own fall, so that nothing lies beyond.
        terms = logs + np.logaddexp(t * noise, -t * noise)
        terms[0] -= math.log(2)
        return (cells * float(log_sum(terms, axis=0)) + math.log(2) - target) / t

    low, high = 1e-3 / (law.deviation * math.sqrt(cells)), 0.5 * -float(logs[-1] - logs[0]) / reach
    for _ in range(STEPS):
        left, right = low * (high / low) ** 0.382, low * (high / low) ** 0.618
        low, high = (low, right) if radius(left) < radius(right) else (left, high)
    # What the window leaves out is charged.
    return math.ceil(radius(low) * (1 + 1e-9))


def clamped_bias(law: NoiseLaw) -> float:
    """How much clamping at 0 raises an empty cell on average: E max(0, z), half of the mean error.

    Parameters
    ----------
    law : of the noise in one cell

    Returns
    -------
    float
        In steps; α/(1 - α²) for geometric noise.

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> from sievert.channels import GeometricLaw, EpsilonOrAlpha
    >>> round(clamped_bias(GeometricLaw(EpsilonOrAlpha(0.5, None))), 6)
    0.959517
    """
    return law.mean_error / 2
