"""Uncertainty, guesses needed and closeness about one record behind one number, over all outputs at once.

Noise does not depend on the value, so that H(X|Y) = H(X) + H(noise) - H(Y) needs the law of the output alone.
Equally likely values are tried from the nearest on. The best guess by distance is a median of the belief; for
geometric noise the belief on either side of an output fades by one factor a step, so that its sums and first
moments come from one pass each way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sievert.arrays import BoolArray, FloatArray, IntArray
from sievert.channels import GeometricLaw, NoiseLaw
from sievert.observations._ratios import by_fourier

__all__ = ["Faded", "distance_to_median", "even_distance", "even_guesses", "output_entropy"]

# ln of a probability that no sum notices.
NOTHING = -40.0
LN2 = math.log(2)


@dataclass(frozen=True, eq=False)
class Faded:
    """Values at increasing places, as geometric noise shows them.

    Attributes
    ----------
    eps : nats of one step, above 0
    places : amounts, increasing
    positions : where the values lie, in the same order or against it
    beliefs : in them
    """

    eps: float
    places: IntArray
    positions: FloatArray
    beliefs: FloatArray

    @cached_property
    def gaps(self) -> tuple[FloatArray, FloatArray]:
        """How noise fades from one place to the next, and how far its position lies from the next one's."""
        steps = np.diff(self.places).astype(np.float64)
        return np.exp(-self.eps * steps), np.abs(np.diff(self.positions))

    @cached_property
    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Σ_{v ≤ i} b_v·α^(x_i - x_v), and the same times |position i - position v|."""
        fade, apart = self.gaps
        sums, moments = self.beliefs.tolist(), [0.0] * len(self.beliefs)
        for i, (factor, distance) in enumerate(zip(fade.tolist(), apart.tolist(), strict=True)):
            moments[i + 1] = factor * (moments[i] + distance * sums[i])
            sums[i + 1] += factor * sums[i]
        return np.array(sums), np.array(moments)

    @cached_property
    def mirrored(self) -> Faded:
        """The same line from right to left."""
        return Faded(self.eps, -self.places[::-1], -self.positions[::-1], self.beliefs[::-1])

    @cached_property
    def outputs(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Of every output from the first place to the last: the place before it, the fading to it and on."""
        at = np.arange(int(self.places[0]), int(self.places[-1]) + 1, dtype=np.int64)
        before = np.searchsorted(self.places, at, side="right") - 1
        after = np.append(self.places.astype(np.float64), np.inf)[before + 1]
        return before, np.exp(-self.eps * (at - self.places[before])), np.exp(-self.eps * (after - at))

    @cached_property
    def _right(self) -> tuple[FloatArray, FloatArray]:
        """The sums from each place on, as seen from it; nothing after the last."""
        sums, moments = self.mirrored.sums
        return np.append(sums[::-1], 0.0), np.append(moments[::-1], 0.0)

    @cached_property
    def totals(self) -> tuple[FloatArray, FloatArray]:
        """Belief on the left of every output and at it, and on its right."""
        before, left, right = self.outputs
        return left * self.sums[0][before], right * self._right[0][before + 1]

    def over_all(self, values: FloatArray) -> float:
        """The sum of a value that fades with the belief, over these outputs and those beyond both ends."""
        tails = (float(values[0]) + float(values[-1])) / math.expm1(self.eps) if self.eps < 700 else 0.0
        return math.tanh(self.eps / 2) * (float(values.sum()) + tails)


def distance_to_median(line: Faded) -> float:
    """Σ_y min over guesses of the mean distance between the positions of guess and value."""
    on_left, on_right = line.totals
    left = on_left >= on_right
    found = _from_left(line, left)
    found += _from_left(line.mirrored, ~left[::-1])[::-1]
    return line.over_all(found)


def _from_left(line: Faded, chosen: BoolArray) -> FloatArray:
    """The mean distance at the chosen outputs, where a median lies at the output or on its left; else 0."""
    before, fade, on = line.outputs
    here = np.flatnonzero(chosen)
    before, fade, on = before[here], fade[here], on[here]
    sums, moments = line.sums
    right_sums, right_moments = line._right
    half = (fade * sums[before] + on * right_sums[before + 1]) / 2
    # ln of the belief up to a value, but for what depends on the output: it never falls.
    upto = np.maximum.accumulate(np.log(sums) + line.eps * (line.places - line.places[0]))
    shift = line.eps * (line.places[before] - line.places[0]) - np.log(fade)
    guess = np.minimum(np.searchsorted(upto, np.log(half) + shift), before)
    away = np.abs(line.positions[before] - line.positions[guess])
    following = np.append(line.positions, line.positions[-1])[before + 1]
    beyond = np.abs(following - line.positions[guess])
    # Σ_{v ≤ guess} twice: once as it is, once to take it away from all on the left.
    seen = fade * np.exp(-line.eps * (line.places[before] - line.places[guess]))
    mean = 2 * seen * moments[guess] + fade * (away * sums[before] - moments[before])
    mean += on * (right_moments[before + 1] + beyond * right_sums[before + 1])
    found = np.zeros(len(chosen))
    found[here] = np.maximum(mean, 0.0)
    return found


def even_distance(law: NoiseLaw, size: int) -> float:
    """The same for `size` values at 0, 1, 2, …, each of belief 1, and any law: by its sums and moments."""
    reach = _reach(law)
    noise = np.arange(-float(reach + size), reach + size + 1)
    chances = np.exp(law.log_pmf(noise))
    sums, moments = np.append(0.0, np.cumsum(chances)), np.append(0.0, np.cumsum(noise * chances))
    outputs = np.arange(-reach, size + reach)
    # Places of noise -y and size - y in the sums: all values seen from y.
    first = reach + size - outputs
    last = first + size
    low, high = sums[first], sums[last]
    guess = np.clip(np.searchsorted(sums, (low + high) / 2) - 1, first, last - 1)
    at = noise[guess]
    left = at * (sums[guess + 1] - low) - (moments[guess + 1] - moments[first])
    right = (moments[last] - moments[guess + 1]) - at * (high - sums[guess + 1])
    return float(np.maximum(left + right, 0.0).sum())


def even_guesses(law: NoiseLaw, size: int) -> float:
    """Σ_y Σ_v p(y - v)·rank of v, for `size` values at 0, 1, 2, …, tried from the nearest on."""
    reach = size if isinstance(law, GeometricLaw) else _reach(law) + size
    away = np.arange(reach + 1.0)
    chances = np.exp(law.log_pmf(away))
    sums, moments = np.cumsum(chances), np.cumsum(away * chances)
    # Up to the nearer end values come in pairs, of ranks 2d and 2d + 1; then one by one.
    place = np.arange(size)
    near, far = np.minimum(place, size - 1 - place), np.maximum(place, size - 1 - place)
    pairs = chances[0] + (sums[near] - sums[0]) + 4 * moments[near]
    single = (near + 1) * (sums[far] - sums[near]) + (moments[far] - moments[near])
    inside = pairs + single
    if isinstance(law, GeometricLaw):
        eps = law.level.eps
        beyond = 2 * float(inside[0]) / math.expm1(eps) if eps < 700 else 0.0
        return float(inside.sum()) + beyond
    # An output t before the first value tries them in their order.
    start = np.arange(1, _reach(law) + 1)
    outside = (moments[start + size - 1] - moments[start - 1]) - (start - 1) * (
        sums[start + size - 1] - sums[start - 1]
    )
    return float(inside.sum()) + 2 * float(outside.sum())


def output_entropy(law: NoiseLaw, places: IntArray, beliefs: FloatArray) -> float:
    """H(output) - H(noise) in bits: what one release tells about the amount."""
    if isinstance(law, GeometricLaw):
        return _geometric_entropy(law, places, beliefs)
    reach = _reach(law)
    noise = np.exp(law.log_pmf(np.arange(-float(reach), reach + 1)))
    spread = np.zeros(int(places[-1] - places[0]) + 1)
    spread[places - places[0]] = beliefs
    shown = np.maximum(by_fourier(spread, noise), 0.0)
    return max(0.0, _entropy(shown) - _entropy(noise)) / LN2


def _entropy(chances: FloatArray) -> float:
    some = chances[chances > 0]
    return -float(some @ np.log(some))


def _geometric_entropy(law: GeometricLaw, places: IntArray, beliefs: FloatArray) -> float:
    """Between the places by sums that fade, beyond them in closed form."""
    eps = law.level.eps
    left, right = Faded(eps, places, places.astype(np.float64), beliefs).totals
    shown = math.tanh(eps / 2) * (left + right)
    total = _entropy(shown)
    for end in (float(shown[0]), float(shown[-1])):
        # Σ_{t≥1} of -q·α^t·ln(q·α^t).
        rest = end / math.expm1(eps) if eps < 700 else 0.0
        total -= rest * (math.log(end) - eps / -math.expm1(-eps)) if rest > 0 else 0.0
    noise = eps * law.mean_error - math.log(math.tanh(eps / 2))
    return max(0.0, total - noise) / LN2


def _reach(law: NoiseLaw) -> int:
    """How far noise is followed."""
    return law.beyond(NOTHING) if math.isinf(law.reach) else int(law.reach)
