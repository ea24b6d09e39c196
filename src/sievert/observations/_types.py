"""Types: how often each output was seen, whatever the order.

n independent observations matter only through their counts (k_1, …, k_m). Written by the tails
s_j = k_(j+1) + … + k_m and ordered by (s_1, s_2, …), the types of n observations are the first
C(n+m-1, m-1) of those of any larger number, and one more observation of the first output leaves a type
where it is. One table therefore serves a whole curve n = 1…N.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np
from scipy.special import gammaln

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import (
    DEFAULT_TOLERANCE,
    Channel,
    ResponseChannel,
    finite_channel,
    proportional_groups,
)
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError, SievertError
from sievert.measures import GainFunction, GainMatrix
from sievert.mechanisms import TruncatedGeometricChannel
from sievert.numerics import abbreviated, count_of, log_of, require_size, whole
from sievert.spaces import iterable

__all__ = [
    "LONGEST_CURVE",
    "RowClasses",
    "TypeTable",
    "class_regrets",
    "curve_work",
    "equal_rows",
    "joint_log_missed",
    "log_add",
    "log_missed",
    "observation_count",
    "observation_counts",
    "row_classes",
    "types_of",
    "upto",
    "values_by_types",
]

# Types looked at together: small enough for a processor's cache.
BLOCK = 1 << 14


def types_of(outputs: int, observations: int) -> int:
    """Number of types: C(n+m-1, m-1)."""
    return math.comb(observations + outputs - 1, outputs - 1)


def curve_work(rows: int, outputs: int, observations: Iterable[int]) -> int:
    """Probabilities that are computed for types of each of these numbers of observations."""
    return rows * sum(types_of(outputs, n) for n in observations)


class TypeTable:
    """The types of up to `most` observations on the outputs of some rows.

    Parameters
    ----------
    logs : array [rows, outputs], logarithms of the probabilities
    most : the largest number of observations
    """

    def __init__(self, logs: FloatArray, most: int) -> None:
        self.logs = logs
        self.most = most
        self.outputs = logs.shape[1]
        tails = _tails(self.outputs, most)
        self._tails = tails
        # Counts of the outputs after the first, and how many observations they are together.
        self.counts = tails.copy()
        self.counts[:, :-1] -= tails[:, 1:]
        self.others = tails[:, 0] if tails.shape[1] else np.zeros(1, dtype=np.intp)
        self._starts = np.searchsorted(self.others, np.arange(most + 2))
        self._log_factorials = gammaln(np.arange(most + 1) + 1.0)
        self._partial = self._partial_logs()

    def _partial_logs(self) -> FloatArray:
        """log Π p_j^(k_j) / k_j! over the outputs after the first."""
        rest = self.logs[:, 1:]
        zero = np.isneginf(rest)
        counts = self.counts.astype(np.float64)
        found = np.where(zero, 0.0, rest) @ counts.T
        found -= self._log_factorials[self.counts].sum(axis=1)
        if zero.any():
            # 0·log 0 = 0: an output that was not seen may have been impossible.
            found[zero.astype(np.float64) @ counts.T > 0] = -np.inf
        return found

    def size(self, observations: int) -> int:
        """Number of types of so many observations."""
        return types_of(self.outputs, observations)

    def blocks(
        self, observations: int, log_weights: FloatArray | None = None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Blocks of types with log(weight · probability of the type) for each row."""
        first = self._first(observations, log_weights)
        size = self.size(observations)
        for start in range(0, size, BLOCK):
            part = slice(start, min(start + BLOCK, size))
            # Types come in order of s, so each s of the block is repeated.
            low, high = self.others[start], self.others[part.stop - 1]
            edges = np.clip(self._starts[low : high + 2], start, part.stop)
            repeats = edges[1:] - edges[:-1]
            logs = np.repeat(first[:, low : high + 1], repeats, axis=1)
            logs += self._partial[:, part]
            yield part, logs

    def _first(self, observations: int, log_weights: FloatArray | None) -> FloatArray:
        """[row, s]: log n! p_1^(n-s)/(n-s)!, what n-s observations of the first output add."""
        times = observations - np.arange(observations + 1)
        logs = self.logs[:, :1]
        found = np.where(np.isneginf(logs), 0.0, logs) * times
        found = np.where(np.isneginf(logs) & (times > 0), -np.inf, found)
        found = found + (self._log_factorials[observations] - self._log_factorials[times])
        return np.asarray(found if log_weights is None else found + log_weights[:, None])

    @cached_property
    def before(self) -> IndexArray:
        """[type, j]: where a type was before its last observation, if that was output j+1 (0 if it was not).

        The rank of a type is Σ_j C(s_j+m-1-j, m-j), whatever n is.
        """
        m, tails = self.outputs, self._tails
        ranks = [
            np.array([math.comb(s + m - 1 - j, m - j) for s in range(self.most + 1)], dtype=np.intp)
            for j in range(1, m)
        ]
        # One observation of output j+1 less lowers s_1, …, s_(j+1) by one each.
        lowered = np.zeros_like(tails)
        for j, rank in enumerate(ranks):
            lowered[:, j] = rank[np.maximum(tails[:, j] - 1, 0)] - rank[tails[:, j]]
        place = np.arange(len(tails))[:, None] + np.cumsum(lowered, axis=1)
        return np.where(self.counts > 0, place, 0)


def _tails(outputs: int, most: int) -> IndexArray:
    """All most ≥ s_1 ≥ s_2 ≥ … ≥ 0 in lexicographic order."""
    if outputs == 1:
        return np.zeros((1, 0), dtype=np.intp)
    found = np.arange(most + 1, dtype=np.intp)[:, None]
    for _ in range(outputs - 2):
        repeats = found[:, -1] + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        last = np.arange(int(repeats.sum()), dtype=np.intp) - starts
        found = np.column_stack([np.repeat(found, repeats, axis=0), last])
    return found


def log_add(total: float, logs: FloatArray) -> float:
    """log(e^total + Σ e^logs)."""
    top = float(logs.max(initial=-np.inf))
    if top == -np.inf:
        return total
    return float(np.logaddexp(total, top + math.log(float(np.exp(logs - top).sum()))))


# ── Exact sums over types: how much an attacker still misses after n observations ───────────────────────────
# What the attacker misses is a sum of positive terms: the joint probabilities of all classes but the best
# one, or the regret of the best action. It is kept as a logarithm and has full relative precision however
# close the attacker is to certainty.


def log_missed(table: TypeTable, log_weights: FloatArray, observations: int) -> float:
    """log Σ over types of (Σ_c w_c P_c - max_c w_c P_c)."""
    total = -np.inf
    for _, logs in table.blocks(observations, log_weights):
        total = log_add(total, _all_but_the_largest(logs))
    return total


def _all_but_the_largest(logs: FloatArray) -> FloatArray:
    """[rows-1, types]: every entry of a column but one largest."""
    top = logs[0].copy()
    rest = np.empty((len(logs) - 1, logs.shape[1]))
    for position, row in enumerate(logs[1:]):
        np.minimum(top, row, out=rest[position])
        np.maximum(top, row, out=top)
    return rest


def joint_log_missed(parts: list[tuple[FloatArray, int]], log_weights: FloatArray) -> float:
    """As `log_missed`, for several channels observed so many times each: all pairs of their types."""
    columns = log_weights[:, None]
    tables = [(TypeTable(logs, times), times) for logs, times in parts if times > 0]
    tables.sort(key=lambda pair: pair[0].size(pair[1]))
    for table, times in tables[:-1]:
        types = np.concatenate([logs for _, logs in table.blocks(times)], axis=1)
        columns = (columns[:, :, None] + types[:, None, :]).reshape(len(columns), -1)
    if not tables:
        return log_add(-np.inf, _all_but_the_largest(columns))
    total = -np.inf
    last, times = tables[-1]
    step = max(1, BLOCK // columns.shape[1])
    for _, logs in last.blocks(times):
        for start in range(0, logs.shape[1], step):
            part = logs[:, start : start + step]
            joined = (columns[:, :, None] + part[:, None, :]).reshape(len(columns), -1)
            total = log_add(total, _all_but_the_largest(joined))
    return total


def class_regrets(classes: RowClasses, adversary: GainMatrix) -> tuple[FloatArray, FloatArray]:
    """[action, class] how much worse each action is than the best for the class, and the best's value.

    A class's value is the mean over its members; losses count as they are, gains with their sign turned.
    """
    table = np.asarray(adversary.table, dtype=np.float64)
    table = table if adversary.is_loss else -table
    means = np.column_stack(
        [
            table[:, list(group)] @ classes.belief[list(group)] / weight
            for group, weight in zip(classes.members, classes.total, strict=True)
        ]
    )
    best = means.min(axis=0)
    return means - best, best


def log_regret(table: TypeTable, log_weights: FloatArray, regrets: FloatArray, observations: int) -> float:
    """log Σ over types of min over actions of Σ_c regret[action, c]·π_c·P_c."""
    total = -np.inf
    for _, logs in table.blocks(observations, log_weights):
        top = logs.max(axis=0)
        top = np.where(np.isneginf(top), 0.0, top)
        least = (regrets @ np.exp(logs - top)).min(axis=0)
        total = log_add(total, log_of(least) + top)
    return total


@singledispatch
def values_by_types(
    adversary: GainFunction, table: TypeTable, classes: RowClasses, observations: list[int]
) -> tuple[FloatArray, FloatArray, float]:
    """U_n for each n, its distance from the limit, and the limit (what knowing the class is worth)."""
    known = np.zeros((len(classes.belief), len(classes)))
    for column, group in enumerate(classes.members):
        known[list(group), column] = classes.belief[list(group)]
    limit = float(adversary.values(known).sum())
    values = np.array([_values(table, classes, adversary, n) for n in observations])
    return values, np.abs(values - limit), limit


@values_by_types.register(GainMatrix)
def _values_by_regret(
    adversary: GainMatrix, table: TypeTable, classes: RowClasses, observations: list[int]
) -> tuple[FloatArray, FloatArray, float]:
    """The distance from the limit is what is regretted, which keeps its digits."""
    regrets, best = class_regrets(classes, adversary)
    weights, sign = log_of(classes.total), 1.0 if adversary.is_loss else -1.0
    limit = float(classes.total @ best)
    gaps = np.array([np.exp(log_regret(table, weights, regrets, n)) for n in observations])
    return sign * (limit + gaps), gaps, sign * limit


def _values(table: TypeTable, classes: RowClasses, adversary: GainFunction, observations: int) -> float:
    place = np.full(len(classes.belief), 0)
    for position, group in enumerate(classes.members):
        place[list(group)] = position
    total = 0.0
    for _, logs in table.blocks(observations):
        total += float(adversary.values(classes.belief[:, None] * np.exp(logs)[place]).sum())
    return total


# ── Secrets that no number of observations can tell apart ───────────────────────────────────────────────────
# Rows that are equal form a class: the attacker learns the class, never the member. Secrets of probability
# 0 are left out, and proportional columns are merged, which loses nothing.


@dataclass(frozen=True, eq=False)
class RowClasses:
    """The distinct rows of one or several channels over the possible secrets.

    Attributes
    ----------
    parts : for each channel the logarithms [class, output], proportional columns merged
    relative : the same less one number for each output, for differences of rows (`Channel.relative_logs`)
    members : positions of the secrets of each class
    belief : probability of every secret
    likeliest, total : the likeliest member's probability and the class's, for each class
    """

    parts: tuple[FloatArray, ...]
    relative: tuple[FloatArray, ...]
    members: tuple[tuple[int, ...], ...]
    belief: FloatArray
    likeliest: FloatArray
    total: FloatArray

    def __len__(self) -> int:
        return len(self.members)

    @property
    def before(self) -> float:
        """Best guess without any observation."""
        return float(self.likeliest.max())

    @property
    def limit(self) -> float:
        """Best guess once the class is known, which is all that observations can tell."""
        return min(1.0, float(self.likeliest.sum()))


def row_classes(channels: list[Channel], prior: object = None) -> RowClasses:
    """Merge equal rows (equal in every channel) over the secrets that are possible."""
    finite = [finite_channel(channel) for channel in channels]
    belief = as_prior(prior, finite[0]).astype(np.float64)
    possible = np.flatnonzero(belief > 0)
    groups = equal_rows(finite, possible.tolist())
    members = tuple(tuple(group) for group in groups)
    first = [group[0] for group in groups]
    reduced = [_reduced(channel, first) for channel in finite]
    parts = tuple(channel.log_matrix for channel in reduced)
    relative = tuple(channel.relative_logs for channel in reduced)
    likeliest = np.array([belief[list(group)].max() for group in members])
    total = np.array([belief[list(group)].sum() for group in members])
    return RowClasses(parts, relative, members, belief, likeliest, total)


def equal_rows(channels: list[Channel], rows: list[int]) -> list[list[int]]:
    """Groups of equal rows: exactly equal in exact channels, up to rounding noise in others."""
    if all(channel.form == "exact" for channel in channels):
        groups: dict[tuple[object, ...], list[int]] = {}
        for i in rows:
            key = tuple(tuple(channel.exact[i].tolist()) for channel in channels)  # type: ignore[index]
            groups.setdefault(key, []).append(i)
        return list(groups.values())
    if any(all_differ(channel) for channel in channels):
        return [[i] for i in rows]
    logs = np.column_stack([channel.relative_logs[rows] for channel in channels])
    found, _ = proportional_groups(logs.T, DEFAULT_TOLERANCE)
    return [[rows[i] for i in group] for group in found]


@singledispatch
def all_differ(channel: Channel) -> bool:
    """Whether no two rows are equal and no two columns proportional, however close: by the family's rule."""
    return False


@all_differ.register
def _all_differ_in_response(channel: ResponseChannel) -> bool:
    return channel.is_mixed


@all_differ.register
def _all_differ_in_geometric(channel: TruncatedGeometricChannel) -> bool:
    return 0 < channel.level.eps < math.inf


def _reduced(channel: Channel, rows: list[int]) -> Channel:
    """Some rows of a channel, proportional columns merged."""
    data = channel.entries if channel.form != "float" else channel.rounded()
    relative = channel.relative_logs[rows] if channel.form == "log" else None
    part = Channel.trusted(data[rows], channel.form, relative=relative)
    return part if all_differ(channel) and len(rows) == channel.shape[0] else part.reduced()


# A curve has a point for each number of observations.
LONGEST_CURVE = 1_000_000
# Results keep the number in 64 bits.
MOST_OBSERVATIONS = 10**18


def observation_counts(observations: object) -> list[int]:
    """Numbers of observations in increasing order; a single N stands for 1…N."""
    if not iterable(observations):
        return list(range(1, upto(observations, ChannelError) + 1))
    if isinstance(observations, str | bytes):
        raise ChannelError(
            f"observations is {abbreviated(observations)}; give numbers, such as range(1, 101)"
        )
    if isinstance(observations, Sized):
        _require_short(count_of(observations))
    if isinstance(observations, range) and observations:
        ends = {observation_count(n, ChannelError) for n in (observations[0], observations[-1])}
        return list(observations) if observations[0] == min(ends) else list(observations[::-1])
    counts = sorted({observation_count(n, ChannelError) for n in observations})
    if not counts:
        raise ChannelError("observations is empty; give at least one number, such as range(1, 101)")
    return counts


def observation_count(observations: object, error: type[SievertError]) -> int:
    """A number of observations of one channel."""
    return whole("observations", observations, error, most=MOST_OBSERVATIONS)


def upto(observations: object, error: type[SievertError]) -> int:
    """The length N of a curve over n = 1…N."""
    count = whole("observations", observations, error)
    _require_short(count)
    return count


def _require_short(points: int) -> None:
    way = "ask at fewer numbers, such as observations=[1, 10, 100, 10**9]"
    require_size(points, LONGEST_CURVE, "the points of the curve", way)
