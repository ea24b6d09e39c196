"""How many observations until: success solved backwards, and a budget in number of queries.

Success never falls with more observations, so the numbers that are too few and those that are enough are
separated by halving, beginning at what the Chernoff bounds call enough. Where success is only bounded the
answer is an interval: fewer than `least` are certainly too few, `most` are certainly enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels import Channel, finite_channel
from sievert.errors import GainError
from sievert.mechanisms import privacy
from sievert.numerics import abbreviated, generator_of, in_bits, tracked
from sievert.observations._breach_levels import worst_level
from sievert.observations._chernoff import ChernoffPairs, chernoff_pairs
from sievert.observations._error_bounds import LEAST_SAMPLES, SAMPLES
from sievert.observations._success import (
    BOUNDS,
    EXACT,
    LARGEST_TABLE,
    SIMULATION,
    WIDE,
    Attack,
    Mechanisms,
    Random,
    SuccessProbability,
    attack_on,
)
from sievert.observations._types import equal_rows
from sievert.results import Result
from sievert.spaces import worded

__all__ = [
    "ObservationsUntil",
    "QueryBudget",
    "Rate",
    "Rates",
    "geometric_rate",
    "observations_until",
    "observations_until_each",
    "query_budget",
    "rates",
]

# More observations are not looked at.
LARGEST_NUMBER = 1 << 62
# Shares of a count that certain bounds, and simulations, leave open.
NEAR_BOUND, NEAR_DRAWN = 1e-7, 1e-3
TOLERANCE = 1e-12


@dataclass(frozen=True)
class ObservationsUntil(Result):
    """How many observations until the attacker is right with a given probability.

    Attributes
    ----------
    target : the probability
    least, most : fewer than `least` are too few, `most` are enough; equal when exact. Both None: never;
        only `most` None: no number that was looked at, up to 2^62, is certainly enough
    limit : success after infinitely many observations
    method : how success was found: exactly, by certain bounds, or by simulation
    """

    target: float
    least: int | None
    most: int | None
    limit: float
    method: str

    def __float__(self) -> float:
        return float("inf") if self.most is None else float(self.most)

    def __str__(self) -> str:
        what = f"right with probability {self.target:g}"
        if self.most is None and self.least is None:
            return f"no number of observations makes the attacker {what}; the limit is {self.limit:.4g}"
        if self.most is None:
            return f"at least {self.least} observations are needed to be {what} ({self.method})"
        if self.least == self.most:
            times = "1 observation makes" if self.most == 1 else f"{self.most} observations make"
            return f"{times} the attacker {what}, and no fewer ({self.method})"
        return f"between {self.least} and {self.most} observations make the attacker {what} ({self.method})"


@dataclass(frozen=True)
class QueryBudget(Result):
    """The largest number of queries after which the attacker's success is still acceptable.

    `queries` are certainly acceptable (None: any number is); `too_many` certainly are not (None: no number
    that was looked at, up to 2^62, is certain to be too many).
    """

    accepted: float
    queries: int | None
    too_many: int | None
    method: str

    def __float__(self) -> float:
        return float("inf") if self.queries is None else float(self.queries)

    def __str__(self) -> str:
        held = f"the attacker's success at or below {self.accepted:g}"
        if self.queries is None:
            return f"any number of queries keeps {held}"
        if self.queries == 0:
            return f"not even one query keeps {held}"
        return f"{self.queries} quer{'y keeps' if self.queries == 1 else 'ies keep'} {held} ({self.method})"


def observations_until(
    channel: Mechanisms, success: float, prior: object = None, rng: Random = None
) -> ObservationsUntil:
    """How many observations of the channel (or rounds of several) until success reaches a probability.

    Parameters
    ----------
    channel : Channel, or a list of channels (or of pairs of a channel and how often)
    success : the probability to be reached
    prior : probabilities of the secrets (uniform by default)
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    ObservationsUntil
        The number, as an interval where it is not exact; None where no number is enough.

    Notes
    -----
    Cost: a bracket of O(log answer) evaluations of `sv.success_probability`.

    Examples
    --------
    >>> from sievert.channels._channel import Channel
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> print(observations_until(coin, 0.9))
    41 observations make the attacker right with probability 0.9, and no fewer (exact by types)
    """
    return observations_until_each(channel, [success], prior, rng)[0]


def observations_until_each(
    channel: Mechanisms, successes: Iterable[float], prior: object = None, rng: Random = None
) -> tuple[ObservationsUntil, ...]:
    """The same for several probabilities; what is learned for one serves the others."""
    attack = attack_on(channel, prior)
    search = _Search(attack, attack.round, rng)
    wanted = [_probability("success", success) for success in successes]
    return tuple(_until(search, attack, target) for target in tracked("chances asked for", wanted))


def _until(search: _Search, attack: Attack, target: float) -> ObservationsUntil:
    limit = attack.classes.limit
    if target <= attack.classes.before:
        return ObservationsUntil(target, 0, 0, limit, EXACT)
    unreachable = target * (1 - TOLERANCE) > limit
    if unreachable or (target > limit * (1 - TOLERANCE) and not search.is_complete()):
        return ObservationsUntil(target, None, None, limit, EXACT)
    aim = target * (1 - TOLERANCE)
    _, most = search.first(aim, lambda lower, upper: lower >= aim)
    fewer, _ = search.first(aim, lambda lower, upper: upper >= aim, most)
    least = min(fewer + 1, LARGEST_NUMBER)
    return ObservationsUntil(target, least, most, limit, search.method(least, most))


def query_budget(
    channel: Mechanisms, success: float, prior: object = None, rng: Random = None
) -> QueryBudget:
    """How many queries may be answered before the attacker's success exceeds a probability.

    Several mechanisms are asked in turn; each answer counts as one query.

    Parameters
    ----------
    channel : Channel, or a list of channels (or of pairs of a channel and how often)
    success : the probability of a right guess that must not be exceeded
    prior : probabilities of the secrets (uniform by default)
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    QueryBudget
        `queries` that are safe (None: any number is) and how many are surely `too_many`.

    Notes
    -----
    Cost: a bracket of O(log budget) evaluations of `sv.success_probability`.

    Examples
    --------
    >>> from sievert.channels._channel import Channel
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> print(query_budget(coin, 0.75))
    10 queries keep the attacker's success at or below 0.75 (exact by types)
    """
    target = _probability("success", success)
    attack = attack_on(channel, prior)
    search = _Search(attack, 1, rng)
    aim = target * (1 + TOLERANCE)
    if attack.classes.limit <= aim:
        return QueryBudget(target, None, None, EXACT)
    if attack.classes.before > aim:
        return QueryBudget(target, 0, 0, EXACT)
    _, most = search.first(aim, lambda lower, upper: lower > aim)
    kept, _ = search.first(aim, lambda lower, upper: upper > aim, most)
    kept = min(kept, LARGEST_NUMBER - 1)
    return QueryBudget(target, kept, most, search.method(kept + 1, most))


class _Search:
    """Halving over the number of observations; every one looked at is remembered.

    A simulation is run only where certain bounds leave open on which side of the aim success is, and a
    large one only where a small one does too.
    """

    def __init__(self, attack: Attack, step: int, rng: Random) -> None:
        self._attack = attack
        self._step = step
        self._rng = generator_of(rng)
        self._certain: dict[int, SuccessProbability] = {}
        self._known: dict[int, SuccessProbability] = {}
        self._drawn: dict[int, int] = {}

    def bounds(self, count: int, aim: float) -> tuple[float, float]:
        queries = count * self._step
        if count not in self._certain:
            self._certain[count] = self._attack.after(queries, most=LARGEST_TABLE // 3, wide=1.0)
        certain = self._certain[count]
        known = self._known.setdefault(count, certain)
        if not certain.exact and certain.upper - certain.lower > WIDE:
            for samples in (LEAST_SAMPLES, SAMPLES):
                if known.lower <= aim <= known.upper and samples > self._drawn.get(count, 0):
                    known = self._attack.simulated(queries, certain, self._rng, samples)
                    self._drawn[count] = samples
        self._known[count] = known
        return known.lower, known.upper

    def method(self, least: int | None, most: int | None) -> str:
        """The weakest way in which the deciding numbers were looked at: those found and those before."""
        ends = [count for end in (least, most) if end is not None for count in (end - 1, end)]
        used = {self._known[count].method for count in ends if count in self._known}
        return max(used, key=[EXACT, BOUNDS, SIMULATION].index, default=BOUNDS)

    def is_complete(self) -> bool:
        """Whether one observation already tells everything that can be told."""
        limit = self._attack.classes.limit
        return self.bounds(1, limit)[0] >= limit

    def first(
        self, aim: float, holds: Callable[[float, float], bool], known: int | None = None
    ) -> tuple[int, int | None]:
        """Two counts, next to each other or nearly so, of which only the second satisfies a condition on
        the bounds that stays true; None where none does."""
        low, high = 0, known or min(LARGEST_NUMBER, self._enough(aim))
        while known is None and not holds(*self.bounds(high, aim)):
            low, high = high, 2 * high
            if high > LARGEST_NUMBER:
                return low, None
        while low == 0 and high > 1:
            half = high // 2
            low, high = (0, half) if holds(*self.bounds(half, aim)) else (half, high)
        while high - low > 1 and not self._is_close(low, high):
            middle = (low + high) // 2
            low, high = (low, middle) if holds(*self.bounds(middle, aim)) else (middle, high)
        return low, high

    def _enough(self, aim: float) -> int:
        """A count that is enough by the Chernoff bounds of all pairs, which cost little; 1 where none is."""
        missed = self._attack.classes.limit - aim
        if not missed > 0 or len(self._attack.classes) == 1:
            return 1
        high = 1
        while self._attack.most_missed(high * self._step) > math.log(missed):
            high *= 2
            if high > LARGEST_NUMBER:
                return 1
        return high

    def _is_close(self, low: int, high: int) -> bool:
        """Whether two counts differ by less than the bounds do anyway."""
        used = {self._known[count].method for count in (low, high) if count in self._known}
        if not used or EXACT in used:
            return False
        return high - low <= high * (NEAR_DRAWN if SIMULATION in used else NEAR_BOUND)


def _probability(name: str, value: float) -> float:
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 < value <= 1:
        raise GainError(f"{name} is {abbreviated(value)}; give a probability above 0 and at most 1")
    return float(value)


# ── Rates: what each further observation adds, in bits, in the long run ─────────────────────────────────────
# Worst case: log2 max_y (max_x C[x,y]/min_x C[x,y]) again (Boreale and Paolini, Thm 6). Average case: the
# largest Chernoff information of two rows (Thm 8). Utility: the least Chernoff information of two different
# rows, the rate at which the whole secret becomes known and every loss falls to its limit (Thm 9); it is at
# most the worst-case level and the level of privacy (Thm 10).

LN2 = math.log(2)


@dataclass(frozen=True)
class Rate(Result):
    """Bits an observation, and the pair of inputs that decides."""

    bits: float
    pair: tuple[Hashable, Hashable] | None = None

    @property
    def nats(self) -> float:
        """The rate in nats."""
        return self.bits * LN2

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        between = "" if self.pair is None else f" ({worded(self.pair[0])} against {worded(self.pair[1])})"
        return f"{in_bits(self.bits, 6)} an observation{between}"


@dataclass(frozen=True)
class Rates(Result):
    """What repeated observations do in the long run.

    Attributes
    ----------
    worst : Thm 6, the worst-case level again
    average : Thm 8, the largest Chernoff information of two rows; the pair is easiest to tell apart
    utility : Thm 9, the least of two different rows; the pair is hardest to tell apart
    pairs : the Chernoff information of all rows (None where there is only one)
    classes : inputs with equal rows, which no number of observations tells apart (groups of two or more)
    """

    worst: Rate
    average: Rate
    utility: Rate
    pairs: ChernoffPairs | None
    classes: tuple[tuple[Hashable, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the matrix of all pairs is left out where it is large."""
        found = super().to_dict()
        if self.pairs is not None and len(self.pairs.bits) > 50:
            found["pairs"] = None
        return found

    def __str__(self) -> str:
        return f"worst case {self.worst}; average case {self.average}; utility {self.utility}"


def rates(channel: Channel) -> Rates:
    """All rates of a channel; equal rows are merged first. With one distinct row nothing is learned: 0.

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    Rates
        `worst`, `average` and `utility`, in bits an observation, and the classes of equal rows.

    Notes
    -----
    Cost: that of `sv.observations.chernoff_pairs`.

    Examples
    --------
    >>> found = rates(Channel([["3/5", "2/5"], ["2/5", "3/5"], ["2/5", "3/5"]]))
    >>> round(found.utility.bits, 6), found.classes
    (0.029447, ((1, 2),))
    """
    finite = finite_channel(channel)
    # Pairs need the whole table: one that is too large is refused before any work.
    groups = equal_rows([finite], list(range(len(finite.log_matrix))))
    named = tuple(tuple(finite.inputs[i] for i in group) for group in groups if len(group) > 1)
    level = worst_level(finite)
    worst = Rate(level.bits, level.pair)
    if len(groups) == 1:
        return Rates(worst, Rate(0.0), Rate(0.0), None, named)
    pairs = chernoff_pairs(finite)
    first = [group[0] for group in groups]
    bits = pairs.bits[np.ix_(first, first)]
    rows, columns = np.triu_indices(len(first), 1)
    values = bits[rows, columns]

    def chosen(position: int) -> Rate:
        i, j = first[rows[position]], first[columns[position]]
        return Rate(float(values[position]), (finite.inputs[i], finite.inputs[j]))

    # The first of those that are equal up to rounding.
    top, low = values.max(), values.min()
    easiest = int(np.argmax(values >= (top if np.isinf(top) else top * (1 - 1e-12))))
    hardest = int(np.argmax(values <= low * (1 + 1e-12)))
    return Rates(worst, chosen(easiest), chosen(hardest), pairs, named)


def geometric_rate(eps: float | None = None, *, alpha: float | Fraction | str | None = None) -> Rate:
    """Utility rate of the geometric mechanism, in closed form, truncated or not.

    With c = α = e^-ε: log2(1+c) - ½·log2 c - 1. The truncated mechanism has the same: columns beyond the
    ends are proportional, so nothing is lost (Cor 1, which says it has less, is an erratum).

    Parameters
    ----------
    eps, alpha : exactly one of eps (nats) and alpha = e^-eps

    Returns
    -------
    Rate
        `bits` an observation.

    Notes
    -----
    Cost: O(1).

    References
    ----------
    Boreale and Paolini, Thm 11 and Cor 1.

    Examples
    --------
    >>> round(geometric_rate(alpha="1/2").bits, 7)
    0.0849625
    """
    nats = privacy(eps, alpha).eps
    if math.isinf(nats):
        return Rate(math.inf)
    # log((1 + e^-ε)/2) + ε/2 = log cosh(ε/2), and cosh h = 1 + 2 sinh²(h/2) without cancellation.
    half = nats / 2
    if half < 1:
        return Rate(math.log1p(2 * math.sinh(half / 2) ** 2) / LN2)
    return Rate((half + math.log1p(math.exp(-nats)) - LN2) / LN2)
