"""What a plan of releases promises, exactly: noise and number of releases are fixed before the first one.

A release whose noise is independent in every cell tells two states of a person apart by the cells that they
move. Its loss is the sum of what the cells lose, and a plan's loss that of its releases: the laws convolve,
whatever is asked each time, if no move is larger than the planned one (hockey-stick divergences of a
log-concave law grow with the shift, and domination composes). The convolution is a power of one Fourier
transform. It is taken of the law tilted towards the level in question (Esscher), so that tails far out keep
their digits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from sievert.arrays import FloatArray
from sievert.channels import NoiseLaw
from sievert.channels.divergences import Tradeoff
from sievert.errors import MechanismError
from sievert.limits._closed_guess_bounds import GuessInterval
from sievert.limits._composition import from_profile, smallest_level
from sievert.limits.promises import GRID_POINTS, LARGEST_RELEASES, Claim
from sievert.numerics import abbreviated, log_sum, whole
from sievert.observations import likelihood_ratio_law

__all__ = ["PlannedClaim", "planned_claim"]

# Atoms of the law of all releases together, a second; more are gathered to fewer, at a millionth of ε or so.
LARGEST_PLAN, GATHERED = 2**20, 2**19
# Losses that agree to so many of the largest are equal.
SAME = 1e-9
# Parts into which the least distance of two losses may have to be cut to find a common lattice.
MOST_PARTS = 64
# Laws that are kept for many levels at once; between two of them a tail keeps ten digits.
TILTS = 24
# A tilt within this share of the best one gives all digits.
SAME_TILT = 1e-6
HALVINGS = 200
# Levels of a curve: up to so many deviations above the mean loss.
FARTHEST = 40.0


class Losses(NamedTuple):
    """The law of a loss on a lattice: `first` + `unit`·k has the probability e^logs[k]."""

    first: float
    unit: float
    logs: FloatArray

    @property
    def values(self) -> FloatArray:
        """What may be lost, increasing."""
        return np.asarray(self.first + self.unit * np.arange(float(len(self.logs))))


@dataclass(frozen=True, eq=False)
class PlannedClaim(Claim):
    """The exact curve δ(ε) of a plan: so many releases, each of which moves these cells by so many steps.

    Attributes
    ----------
    cells : for every cell that one person moves, its noise and the number of steps
    releases : how many are planned
    """

    cells: tuple[tuple[NoiseLaw, int], ...]
    releases: int
    _laws: dict[float, Losses] = field(default_factory=dict, repr=False)

    @property
    def words(self) -> str:
        return f"a plan of {self.releases} releases"

    @cached_property
    def _counted(self) -> tuple[list[tuple[Losses, int]], bool]:
        """The law of the loss of each kind of cell with how often it is drawn, and whether it is exact."""
        kinds = Counter(self.cells)
        laws = [_losses(law, steps) for law, steps in kinds]
        counts = [self.releases * count for count in kinds.values()]
        unit = _common_unit(laws)
        if unit is not None and _size(laws, counts, unit) <= LARGEST_PLAN:
            return list(zip([_placed(law, unit) for law in laws], counts, strict=True)), True
        width = sum(count * (law[0][-1] - law[0][0]) for law, count in zip(laws, counts, strict=True))
        unit = float(width) / max(GATHERED, sum(counts))
        return list(zip([_split(law, unit) for law in laws], counts, strict=True)), False

    @property
    def exact(self) -> bool:
        """Whether δ(ε) is that of the plan; otherwise, where losses were gathered, a little above it."""
        return self._counted[1]

    @property
    def tight(self) -> bool:
        return self.exact

    @property
    def pure(self) -> float:
        """ε at δ = 0: the largest loss of every release; inf where the noise keeps none."""
        return self.releases * math.fsum(law.nats_of(Fraction(steps)) for law, steps in self.cells)

    @cached_property
    def _atoms(self) -> list[tuple[FloatArray, FloatArray, int]]:
        """What each kind of cell may lose, and ln of its probability: few points of a fine lattice."""
        held = [(law, np.flatnonzero(law.logs > -math.inf), count) for law, count in self._counted[0]]
        return [(np.asarray(law.first + law.unit * at), law.logs[at], count) for law, at, count in held]

    def _cumulants(self, tilt: float) -> tuple[float, float]:
        """ln E e^(tilt·loss) and its derivative, the tilted mean, of all releases together."""
        logs = means = 0.0
        for values, chances, count in self._atoms:
            weights = chances + tilt * values
            total = float(log_sum(weights, axis=0))
            logs += count * total
            means += count * float(values @ np.exp(weights - total))
        return logs, means

    def _together(self, tilt: float) -> Losses:
        """ln of P(loss)·e^(tilt·loss) for all releases together."""
        if tilt not in self._laws:
            self._laws[tilt] = _convolved(self._counted[0], tilt)
        return self._laws[tilt]

    def _tilt(self, level: float) -> float:
        """The tilt under which the level is the mean loss; 0 where the mean is above it."""
        if self._cumulants(0.0)[1] >= level:
            return 0.0
        low, high, steepest = 0.0, 1.0, 1e3 / min(law.unit for law, _ in self._counted[0])
        while self._cumulants(high)[1] < level and high < steepest:
            low, high = high, 2 * high
        while high - low > SAME_TILT * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self._cumulants(middle)[1] < level else (low, middle)
        return high

    def _excess(self, level: float, tilt: float) -> float:
        """δ at a level: Σ P·(1 - e^(level - loss)) over the losses above it."""
        first, unit, logs = self._together(tilt)
        start = min(len(logs), max(0, math.floor((level - first) / unit)))
        values = first + unit * np.arange(float(start), float(len(logs)))
        over = values > level
        if not over.any():
            return 0.0
        above = level - values[over]
        parts = logs[start:][over] + tilt * above + np.log(-np.expm1(above))
        return math.exp(min(0.0, float(log_sum(parts, axis=0)) - tilt * level))

    def delta(self, eps: FloatArray) -> FloatArray:
        levels = np.atleast_1d(np.asarray(eps, dtype=np.float64)).ravel()
        found = np.zeros(len(levels))
        if not self.cells:
            return found
        asked = np.flatnonzero(levels < self.pure * (1 - SAME))
        tilts = np.array([self._tilt(float(levels[i])) for i in asked])
        if len(tilts) > TILTS:
            known = np.unique(np.quantile(tilts, np.linspace(0, 1, TILTS)))
            tilts = known[np.abs(tilts[:, None] - known).argmin(axis=1)]
        found[asked] = [self._excess(float(levels[i]), float(t)) for i, t in zip(asked, tilts, strict=True)]
        return found

    def epsilon(self, delta: float) -> float:
        """The smallest ε at a δ, by the law tilted to where δ is reached."""
        if delta <= 0 or not self.cells:
            return self.pure
        if delta >= 1 or self._excess(0.0, self._tilt(0.0)) <= delta:
            return 0.0
        tilt, top = self._reached(math.log(delta))
        return min(smallest_level(lambda level: self._excess(level, tilt), delta, top), self.pure)

    def _reached(self, log_delta: float) -> tuple[float, float]:
        """The tilt t with the least level (K(t) - ln δ)/t, at which Chernoff's bound is δ; and the level.

        The derivative of that level has the sign of t·K'(t) - K(t) + ln δ, which rises with t.
        """

        def short(tilt: float) -> bool:
            logs, mean = self._cumulants(tilt)
            return tilt * mean - logs + log_delta < 0

        low, high, steepest = 0.0, 1.0, 1e3 / min(law.unit for law, _ in self._counted[0])
        while short(high) and high < steepest:
            low, high = high, 2 * high
        while high - low > SAME_TILT * high:
            middle = (low + high) / 2
            low, high = (middle, high) if short(middle) else (low, middle)
        return high, (self._cumulants(high)[0] - log_delta) / high

    def levels(self) -> FloatArray:
        if not self.cells:
            return np.zeros(1)
        mean = self._cumulants(0.0)[1]
        squares = sum(n * float(law.values**2 @ np.exp(law.logs)) for law, n in self._counted[0])
        top = min(self.pure, mean + FARTHEST * math.sqrt(squares))
        return np.linspace(0.0, top, GRID_POINTS)

    def tradeoff(self) -> Tradeoff:
        levels = self.levels()
        return from_profile(levels, self.delta(levels))

    def between_two(self, first: float) -> GuessInterval | None:
        """Σ max(π_1·P, π_2·Q), and what is missed, Σ min(π_1·P, π_2·Q), from the law half way between."""
        if not self.exact:
            return None
        if first >= 1 or not self.cells:
            return GuessInterval(first, 0.0, 1 - first)
        odds = math.log(first) - math.log1p(-first)
        # Moving a cell back is the mirror image of moving it: either state may be the first.
        gained = (1 - first) * self._excess(odds, self._tilt(odds))
        losses = self._together(-0.5)
        least = np.minimum(math.log(first) + losses.values / 2, math.log1p(-first) - losses.values / 2)
        missed = math.exp(float(log_sum(losses.logs + least, axis=0)))
        return GuessInterval(min(1.0, 1 - missed if missed < 0.5 else first + gained), gained, missed)


def planned_claim(cells: Sequence[tuple[NoiseLaw, int]], releases: int) -> PlannedClaim:
    """The exact promise of a plan: so many releases with this noise on the cells that a person moves.

    Parameters
    ----------
    cells : for every cell that one person moves, the law of its noise and by how many steps
    releases : how many releases are planned

    Returns
    -------
    PlannedClaim
        `delta(eps)` and `epsilon(delta)` of all releases together.

    Notes
    -----
    Cost: for every ε a Fourier transform of releases × (losses of one release) points. Losses without a
    common lattice, and more of them than `LARGEST_PLAN`, are gathered on a coarser one: each is split between
    its two neighbours so that the mean likelihood ratio stays, which only raises δ (Jensen).

    Examples
    --------
    >>> from sievert.channels import GeometricLaw, EpsilonOrAlpha
    >>> weekly = GeometricLaw(EpsilonOrAlpha(0.25, None))
    >>> round(planned_claim([(weekly, 1), (weekly, 1)], 52).epsilon(1e-6), 9)
    14.322647414
    """
    count = whole("releases", releases, MechanismError, most=LARGEST_RELEASES)
    moved = [(law, abs(whole("steps", steps, MechanismError, least=-(2**53)))) for law, steps in cells]
    for law, steps in moved:
        if steps and math.isfinite(law.reach):
            raise MechanismError(
                f"cells: {abbreviated(law.words())} has no noise beyond {law.reach:g} steps, and such "
                f"an output "
                "gives a state away; use noise without an end"
            )
    return PlannedClaim(tuple(cell for cell in moved if cell[1]), count)


Law = tuple[FloatArray, FloatArray]  # losses, increasing, and ln of their probabilities


def _losses(law: NoiseLaw, steps: int) -> Law:
    """What one cell loses when it is moved, under the moved state."""
    found = likelihood_ratio_law(law, steps, 1)
    logs = found.log_shown
    return found.logs, np.asarray(logs - log_sum(logs, axis=0))


def _common_unit(laws: Sequence[Law]) -> float | None:
    """A distance of which those between the losses of every law are whole multiples; None: there is none."""
    apart = [float(np.diff(values).min()) for values, _ in laws if len(values) > 1]
    widths = [values - values[0] for values, _ in laws]
    for parts in range(1, MOST_PARTS + 1):
        unit = min(apart, default=1.0) / parts
        # The unit is known best over the longest width.
        longest = max((float(width[-1]) for width in widths), default=0.0)
        unit = longest / round(longest / unit) if longest else unit
        if all(np.abs(width / unit - np.rint(width / unit)).max() < 1e-6 for width in widths):
            return unit
    return None


def _size(laws: Sequence[Law], counts: Sequence[int], unit: float) -> float:
    return sum(n * float(values[-1] - values[0]) / unit for (values, _), n in zip(laws, counts, strict=True))


def _placed(law: Law, unit: float) -> Losses:
    """A law whose losses are on the lattice."""
    values, logs = law
    places = np.rint((values - values[0]) / unit).astype(np.int64)
    found = np.full(int(places[-1]) + 1, -math.inf)
    found[places] = logs
    return Losses(float(values[0]), unit, found)


def _split(law: Law, unit: float) -> Losses:
    """A law of larger convex order on the lattice: P/Q is split between two neighbours, its mean kept.

    Of a loss x between a and a + u the share (e^(x-a) - 1)/(e^u - 1) goes up under Q; P is e^loss·Q.
    """
    values, logs = law
    places = np.floor((values - values[0]) / unit)
    below = values - (values[0] + unit * places)
    up = np.clip(np.expm1(-below) / math.expm1(-unit), 0.0, 1.0)  # the share times e^(u-x+a), which is finite
    share = up * np.exp(np.minimum(below - unit, 0.0))
    found = np.zeros(int(places[-1]) + 2)
    np.add.at(found, places.astype(np.int64), np.exp(logs - below) * (1 - share))
    np.add.at(found, places.astype(np.int64) + 1, np.exp(logs) * up)
    with np.errstate(divide="ignore"):
        return Losses(float(values[0]), unit, np.log(found))


def _convolved(counted: Sequence[tuple[Losses, int]], tilt: float) -> Losses:
    """The tilted law of the sum of so many draws of each, by powers of their transforms."""
    unit = counted[0][0].unit
    size = 1 + sum(count * (len(law.logs) - 1) for law, count in counted)
    length = next_fast_len(size, real=True)
    product: NDArray[Any] = np.ones(length // 2 + 1, dtype=np.complex128)
    first = total = 0.0
    for law, count in counted:
        weights = law.logs + tilt * law.values
        scale = float(log_sum(weights, axis=0))
        product *= _power(rfft(np.exp(weights - scale), length), count)
        first += count * law.first
        total += count * scale
    chances = np.maximum(irfft(product, length)[:size], 0.0)
    with np.errstate(divide="ignore"):
        return Losses(first, unit, np.asarray(np.log(chances) + total, dtype=np.float64))


def _power(base: NDArray[Any], exponent: int) -> NDArray[Any]:
    """By repeated squaring, which loses a digit or two in a thousand factors."""
    found: NDArray[Any] = np.ones_like(base)
    while exponent:
        if exponent & 1:
            found = found * base
        base, exponent = base * base, exponent >> 1
    return found
