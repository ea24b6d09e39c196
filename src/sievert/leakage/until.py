"""How many observations until: success solved backwards, and a budget in number of queries.

Success never falls with more observations, so the numbers that are too few and those that are enough are
separated by halving. Where success is only bounded the answer is an interval: fewer than `least` are
certainly too few, `most` are certainly enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sievert.errors import GainError
from sievert.leakage.simulation import LEAST_SAMPLES, SAMPLES
from sievert.leakage.success import (
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
from sievert.numerics.checks import brief
from sievert.numerics.randomness import generator_of
from sievert.results import Result

__all__ = [
    "ObservationsUntil",
    "QueryBudget",
    "observations_until",
    "observations_until_each",
    "query_budget",
]

# More observations are not looked at.
LARGEST_NUMBER = 1 << 62
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

    >>> from sievert.channels.channel import Channel
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
    return tuple(_until(search, attack, _probability("success", success)) for success in successes)


def _until(search: _Search, attack: Attack, target: float) -> ObservationsUntil:
    limit = attack.classes.limit
    if target <= attack.classes.before:
        return ObservationsUntil(target, 0, 0, limit, EXACT)
    unreachable = target * (1 - TOLERANCE) > limit
    if unreachable or (target > limit * (1 - TOLERANCE) and not search.is_complete()):
        return ObservationsUntil(target, None, None, limit, EXACT)
    aim = target * (1 - TOLERANCE)
    most = search.first(aim, lambda lower, upper: lower >= aim)
    least = search.first(aim, lambda lower, upper: upper >= aim, most) or LARGEST_NUMBER
    return ObservationsUntil(target, least, most, limit, search.method(least, most))


def query_budget(
    channel: Mechanisms, success: float, prior: object = None, rng: Random = None
) -> QueryBudget:
    """How many queries may be answered before the attacker's success exceeds a probability.

    Several mechanisms are asked in turn; each answer counts as one query.

    >>> from sievert.channels.channel import Channel
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
    most = search.first(aim, lambda lower, upper: lower > aim)
    least = search.first(aim, lambda lower, upper: upper > aim, most) or LARGEST_NUMBER
    return QueryBudget(target, least - 1, most, search.method(least, most))


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
        if certain.method == BOUNDS and certain.upper - certain.lower > WIDE:
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
    ) -> int | None:
        """The least count for which the bounds satisfy a condition that stays true; None beyond reach."""
        low, high = 0, known if known is not None else 1
        while known is None and not holds(*self.bounds(high, aim)):
            low, high = high, 2 * high
            if high > LARGEST_NUMBER:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(*self.bounds(middle, aim)) else (middle, high)
        return high


def _probability(name: str, value: float) -> float:
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 < value <= 1:
        raise GainError(f"{name} is {brief(value)}; give a probability above 0 and at most 1")
    return float(value)
