"""How often an attacker is right after several observations of the same secret.

Three ways, tried in this order and always named: exactly, by types; by bounds that are certain, from the
pairs of secrets that are confused; by simulation, with an interval, where the bounds are far apart.
Equal rows are never told apart, so success tends to a limit that may be below 1.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel, finite_channel
from sievert.errors import ChannelError
from sievert.numerics import (
    generator_of,
    instance,
    log_difference,
    log_of,
    require_size,
    taken,
    tracked,
    whole,
)
from sievert.observations._error_bounds import (
    SAMPLES,
    affinities,
    chernoff_bounds,
    confusion_bounds,
    log_total,
    simulated_success,
)
from sievert.observations._types import (
    LONGEST_CURVE,
    RowClasses,
    TypeTable,
    joint_log_missed,
    log_missed,
    observation_count,
    observation_counts,
    row_classes,
    types_of,
)
from sievert.results import Result, cell_text, html_table, plain
from sievert.spaces import align, iterable

__all__ = [
    "Attack",
    "SuccessCurve",
    "SuccessProbability",
    "anchors",
    "attack_on",
    "success_curve",
    "success_probability",
]
Mechanisms = Channel | Sequence[Channel | tuple[Channel, int]]
Random = int | np.random.Generator | None

EXACT, BOUNDS, SIMULATION = "exact by types", "certified bounds", "simulation, 99.9 % interval"
# Probabilities computed for one curve (some ten seconds) and kept for one table (a quarter of a gigabyte).
LARGEST_WORK = 1_000_000_000
LARGEST_TABLE = 30_000_000
LOOKED_AT = "observations looked at"
# Numbers of observations looked at where a whole curve costs too much, and pairs of rows for each.
ANCHORS = 24
PAIRS = 12
GRID = 1 << 18
# Bounds further apart than this call for a simulation.
WIDE = 0.02


@dataclass(frozen=True)
class SuccessProbability(Result):
    """Probability that the attacker's best guess is right after some observations.

    Attributes
    ----------
    observations : how many
    lower, upper : bounds; equal when exact
    method : "exact by types", "certified bounds" or "simulation, 99.9 % interval"
    before, limit : without any observation, and after infinitely many
    missing_bits : -log2 of how far success is from its limit (at least, unless exact); never overflows
    exact : whether it was computed exactly (up to rounding)
    """

    observations: int
    lower: float
    upper: float
    method: str
    before: float
    limit: float
    missing_bits: float
    exact: bool

    @property
    def value(self) -> float:
        """The probability, or the middle of its bounds."""
        return (self.lower + self.upper) / 2

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        times = "1 observation" if self.observations == 1 else f"{self.observations} observations"
        if self.exact:
            return f"after {times} the attacker is right with probability {self.value:.6g} (exact, by types)"
        if self.lower > 0.9995 and self.limit == 1:
            wrong = (
                f"{2**-self.missing_bits:.3g}" if self.missing_bits < 1000 else f"2^-{self.missing_bits:.0f}"
            )
            return f"after {times} the attacker is wrong with probability at most {wrong} ({self.method})"
        return (
            f"after {times} the attacker is right with probability between {self.lower:.4g} and "
            f"{self.upper:.4g} ({self.method})"
        )


@dataclass(frozen=True)
class SuccessCurve(Result):
    """Success for several numbers of observations."""

    points: tuple[SuccessProbability, ...]

    @property
    def observations(self) -> NDArray[np.int64]:
        """The numbers of observations."""
        return np.array([point.observations for point in self.points], dtype=np.int64)

    @property
    def values(self) -> FloatArray:
        """Success for each of them."""
        return np.array([point.value for point in self.points])

    @property
    def methods(self) -> tuple[str, ...]:
        """The ways in which the points were found, each once."""
        return tuple(dict.fromkeys(point.method for point in self.points))

    def _repr_html_(self) -> str:
        places = np.unique(np.linspace(0, len(self) - 1, 8).round().astype(np.int64)).tolist()
        rows = {f"n = {self[place].observations}": cell_text(float(self[place])) for place in places}
        return html_table(str(self), rows)

    def to_dict(self) -> dict[str, Any]:
        """As columns: one list for each of observations, lower, upper, method and missing_bits."""
        names = ("observations", "lower", "upper", "method", "missing_bits")
        found = {name: plain([getattr(point, name) for point in self.points]) for name in names}
        return {**found, "before": self.points[0].before, "limit": self.points[0].limit}

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, position: int) -> SuccessProbability:
        return self.points[position]

    def at(self, observations: int) -> SuccessProbability:
        """The point for one number of observations."""
        return next(point for point in self.points if point.observations == observations)

    def __str__(self) -> str:
        first, last = self.points[0], self.points[-1]
        return f"{first}; {last}" if len(self.points) > 1 else str(first)


class Attack:
    """One secret, one or several mechanisms observed in turn, and what is known about the rows.

    After q queries in turn, each mechanism has been observed `counts(q)` times.
    """

    def __init__(
        self, classes: RowClasses, turns: tuple[int, ...], weights: FloatArray | None = None
    ) -> None:
        self.classes = classes
        self.turns = turns
        self.log_weights = log_of(classes.likeliest if weights is None else weights)

    @cached_property
    def _affinities(self) -> list[FloatArray]:
        known = zip(self.classes.parts, self.classes.relative, strict=True)
        return [affinities(logs, relative) for logs, relative in known]

    @property
    def round(self) -> int:
        """Queries of one round, in which every mechanism has its turns."""
        return len(self.turns)

    def counts(self, queries: int) -> list[int]:
        """How often each mechanism was observed after so many queries in turn."""
        rounds, rest = divmod(queries, len(self.turns))
        found = [rounds * self.turns.count(i) for i in range(len(self.classes.parts))]
        for i in self.turns[:rest]:
            found[i] += 1
        return found

    def parts(self, queries: int) -> list[tuple[FloatArray, int]]:
        """Each mechanism's rows with how often it was observed."""
        return list(zip(self.classes.parts, self.counts(queries), strict=True))

    def columns(self, queries: int) -> int:
        """How many combinations of types there are."""
        return math.prod(types_of(logs.shape[1], times) for logs, times in self.parts(queries))

    def is_listable(self, queries: int, most: int = LARGEST_TABLE) -> bool:
        """Whether all combinations of types fit in memory."""
        largest = max(
            types_of(logs.shape[1], times) * (len(logs) + logs.shape[1])
            for logs, times in self.parts(queries)
        )
        return largest <= most and self.columns(queries) * len(self.classes) <= 30 * most

    def exact_point(self, queries: int, log_gap: float) -> SuccessProbability:
        """Success from the logarithm of how far it is from its limit."""
        found = self.bounded_point(queries, (log_gap, log_gap))
        bits = -log_gap / math.log(2) if log_gap > -math.inf else math.inf
        return replace(found, method=EXACT, exact=True, missing_bits=bits)

    def bounded_point(self, queries: int, log_gap: tuple[float, float]) -> SuccessProbability:
        """Success from logarithms of bounds on how far it is from its limit."""
        classes = self.classes
        least, most = math.exp(log_gap[0]), math.exp(min(log_gap[1], 0.0))
        floor, limit = classes.before, classes.limit
        lower, upper = max(floor, limit - most), min(limit, max(floor, limit - least))
        widest = min(log_gap[1], _log(limit - floor))
        bits = -widest / math.log(2) if widest > -math.inf else math.inf
        return SuccessProbability(queries, lower, upper, BOUNDS, floor, limit, bits, False)

    def exactly(self, queries: int) -> SuccessProbability:
        """By all combinations of types."""
        gap = joint_log_missed(self.parts(queries), self.log_weights) if len(self.classes) > 1 else -math.inf
        return self.exact_point(queries, gap)

    def missed_bounds(self, queries: int) -> tuple[float, float]:
        """Logarithms of bounds on Σ (Σ_c w_c P_c - max_c w_c P_c), from the pairs that are confused.

        It is at most the sum over pairs of Σ min(w P, w' Q), and at least the largest of them and the
        (classes - 1)-th part of the sum.
        """
        parts = self.parts(queries)
        sums = list(zip(self._affinities, self.counts(queries), strict=True))
        uppers = chernoff_bounds(sums, self.log_weights)
        rows, columns = np.triu_indices(len(self.classes), 1)
        high = uppers[rows, columns]
        low = np.full(len(high), -np.inf)
        closest = np.argsort(-high, kind="stable")[:PAIRS]
        grid = GRID if len(closest) == 1 else GRID >> 3
        for k in closest[np.isfinite(high[closest])]:
            i, j = rows[k], columns[k]
            pair = [(logs[i], logs[j], times) for logs, times in parts]
            ratios = [log_difference(logs[i], logs[j]) for logs in self.classes.relative]
            low[k], upper = confusion_bounds(pair, self.log_weights[i], self.log_weights[j], grid, ratios)
            high[k] = min(high[k], upper)
        least = max(float(low.max()), log_total(low) - math.log(len(self.classes) - 1))
        return least, log_total(high)

    def most_missed(self, queries: int) -> float:
        """Logarithm of what is missed at most, by the Chernoff bounds of all pairs alone."""
        sums = list(zip(self._affinities, self.counts(queries), strict=True))
        rows, columns = np.triu_indices(len(self.classes), 1)
        return log_total(chernoff_bounds(sums, self.log_weights)[rows, columns])

    def bounded(self, queries: int) -> SuccessProbability:
        """From the pairs that are confused; besides, no observation multiplies success by more than the
        capacity of its channel."""
        found = self.bounded_point(queries, self.missed_bounds(queries))
        growth = sum(times * math.log(np.exp(logs.max(axis=0)).sum()) for logs, times in self.parts(queries))
        most = self.classes.before * math.exp(min(growth, 700.0))
        return replace(found, upper=max(found.lower, min(found.upper, most)))

    def simulated(
        self, queries: int, bounds: SuccessProbability, rng: Random, samples: int = SAMPLES
    ) -> SuccessProbability:
        """By drawing secrets and observations, cut to what is certain."""
        lower, upper = simulated_success(self.classes, self.counts(queries), rng, samples)
        lower, upper = max(lower, bounds.lower), min(upper, bounds.upper)
        if lower > upper:
            return bounds
        return replace(bounds, lower=lower, upper=upper, method=SIMULATION)

    def after(
        self, queries: int, rng: Random = None, most: int = LARGEST_TABLE, wide: float = WIDE
    ) -> SuccessProbability:
        """Success after so many queries, in the best way that is affordable."""
        if len(self.classes) == 1 or self.is_listable(queries, most):
            return self.exactly(queries)
        found = self.bounded(queries)
        return found if found.upper - found.lower <= wide else self.simulated(queries, found, rng)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def attack_on(channel: Mechanisms, prior: object = None) -> Attack:
    """The attack on one secret through one mechanism, or through several in turn."""
    if isinstance(channel, Channel):
        return Attack(row_classes([channel], prior), (0,))
    if not iterable(channel):
        finite_channel(channel)
    listed = taken("channel", channel, ChannelError, "channels")
    given: list[Any] = [item if isinstance(item, tuple) and len(item) == 2 else (item, 1) for item in listed]
    if not given:
        raise ChannelError("channel is an empty list; give at least one mechanism")
    channels: list[Channel] = []
    turns: list[int] = []
    for item, times in given:
        instance("one of the channels", item, Channel, "a channel, or (channel, times)", ChannelError)
        aligned = _aligned(item, given[0][0])
        same = next((i for i, known in enumerate(channels) if _same(known, aligned)), len(channels))
        if same == len(channels):
            channels.append(aligned)
        count = whole("times", times, ChannelError)
        require_size(len(turns) + count, LONGEST_CURVE, "the mechanisms in turn", "use observations= instead")
        turns += [same] * count
    return Attack(row_classes(channels, prior), tuple(turns))


def _aligned(channel: Channel, first: Channel) -> Channel:
    """The channel with its inputs in the order of the first one's."""
    finite = channel.finite()
    order = align(first.inputs, finite.inputs, "the inputs of a channel", ChannelError)
    if order is None:
        return finite
    data: Any = finite.exact if finite.form == "exact" else finite.log_matrix
    form = "exact" if finite.form == "exact" else "log"
    return Channel.trusted(data[order], form, first.inputs, finite.outputs)  # type: ignore[arg-type]


def _same(first: Channel, second: Channel) -> bool:
    if first.shape != second.shape:
        return False
    return first is second or bool(np.array_equal(first.log_matrix, second.log_matrix))


def success_probability(
    channel: Mechanisms, prior: object = None, observations: int = 1, rng: Random = None
) -> SuccessProbability:
    """Probability that the best guess about the secret is right after independent observations.

    Parameters
    ----------
    channel : Channel, or a list of channels (or of pairs of a channel and how often)
        Several mechanisms on one secret; equal ones are counted together.
    prior : probabilities of the secrets (uniform by default)
    observations : how often the channel, or the whole list, is observed
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    SuccessProbability
        `lower` and `upper`, which are equal where the answer is exact, and how it was found.

    Notes
    -----
    Only how often each output occurred matters (its type), so observations are counted by types.

    Cost: O(types·inputs), with at most (n+1)^(outputs-1) types of n observations; where these are too many,
    bounds from pairs of rows, or a simulation.

    Examples
    --------
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> print(success_probability(coin, [0.5, 0.5], 25))
    after 25 observations the attacker is right with probability 0.846232 (exact, by types)
    >>> other = Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    >>> success_probability([(coin, 2), other]).value
    0.8
    """
    attack = attack_on(channel, prior)
    count = observation_count(observations, ChannelError)
    found = attack.after(count * attack.round, generator_of(rng))
    return replace(found, observations=count)


def success_curve(
    channel: Mechanisms, prior: object = None, observations: Iterable[int] = range(1, 101), rng: Random = None
) -> SuccessCurve:
    """Success for each of several numbers of observations.

    Where the whole curve costs too much, some numbers are looked at and the others are bounded by them:
    success never falls with more observations.

    Parameters
    ----------
    channel : Channel, or a list of channels (or of pairs of a channel and how often)
    prior : probabilities of the secrets (uniform by default)
    observations : the numbers n
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    SuccessCurve
        For each n the success, with bounds.

    Notes
    -----
    Cost: that of `sv.success_probability` for the numbers that are looked at.

    Examples
    --------
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> success_curve(coin, observations=[1, 3, 5]).values.round(6).tolist()
    [0.6, 0.648, 0.68256]
    """
    attack = attack_on(channel, prior)
    counts = observation_counts(observations)
    queries = [n * attack.round for n in counts]
    generator = generator_of(rng)
    exact = _affordable(attack, queries, LARGEST_WORK)
    if exact < len(queries):
        exact = _affordable(attack, queries, LARGEST_WORK // 5)
    found = _exact_curve(attack, queries[:exact])
    if exact < len(queries):
        found += _anchored_curve(attack, queries[exact:], found[-1:], generator)
    if attack.round != 1:
        found = [replace(point, observations=n) for point, n in zip(found, counts, strict=True)]
    return SuccessCurve(tuple(found))


def _affordable(attack: Attack, queries: list[int], work: int) -> int:
    """How many of the first points are computed exactly within so much work together."""
    if len(attack.classes) == 1:
        return len(queries)
    total = 0
    for position, q in enumerate(queries):
        total += attack.columns(q) * len(attack.classes)
        if total > work or not attack.is_listable(q):
            return position
    return len(queries)


def _exact_curve(attack: Attack, queries: list[int]) -> list[SuccessProbability]:
    if len(attack.classes.parts) > 1 or len(attack.classes) == 1 or not queries:
        return [attack.exactly(q) for q in tracked(LOOKED_AT, queries)]
    table = TypeTable(attack.classes.parts[0], queries[-1])
    found = []
    for q in tracked(LOOKED_AT, queries):
        gap = log_missed(table, attack.log_weights, q)
        found.append(attack.exact_point(q, gap))
    return found


def anchors(queries: list[int], round: int = 1) -> list[int]:
    """Positions of the points that are looked at: the first, the last, some between, and round numbers."""
    places = set((np.geomspace(1, len(queries), ANCHORS).round().astype(int) - 1).tolist())
    rounds = {a * 10**k * round for a in (1, 2, 5) for k in range(16)}
    return sorted(places | {i for i, q in enumerate(queries) if q in rounds})


def _anchored_curve(
    attack: Attack, queries: list[int], before: list[SuccessProbability], rng: Random
) -> list[SuccessProbability]:
    """Some points by the best affordable way, those between by monotonicity."""
    generator = generator_of(rng)
    places = anchors(queries, attack.round)
    room = LARGEST_TABLE // ANCHORS
    known = {i: attack.after(queries[i], generator, room) for i in tracked(LOOKED_AT, places)}
    found = list(before)
    for i, q in enumerate(queries):
        if i in known:
            found.append(known[i])
            continue
        last, following = found[-1], known[places[bisect_right(places, i)]]
        method = SIMULATION if SIMULATION in (last.method, following.method) else BOUNDS
        upper = max(last.lower, following.upper)
        found.append(
            SuccessProbability(
                q, last.lower, upper, method, last.before, last.limit, last.missing_bits, exact=False
            )
        )
    return found[len(before) :]
