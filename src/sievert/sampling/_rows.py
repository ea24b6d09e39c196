"""Any channel whose rows are rational, or enclosed at any precision: one lazy uniform number for each input.

In fixed work every lane reads 64 bits and makes the same comparisons, and whether it needs more depends on
its bits alone: it does when they equal a boundary of *any* row, so nothing tells which row was used.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray, WordArray
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, fractions_of
from sievert.sampling._base import LEVELS, BitSource, Sampler, Timing, integers
from sievert.sampling._lazy import (
    FAST_BLOCK,
    FIXED_BLOCK,
    TOP,
    Enclosure,
    after,
    exp_neg,
    quotient,
    rational,
    resolved,
    unit_floor,
)

__all__ = [
    "ExponentialRows",
    "RationalRows",
    "RowTables",
    "enclosed_rows",
    "exponential_rows",
    "rational_rows",
]
# Outcome of a row for a prefix of its uniform number, or None while it is undecided.
ResolveRow = Callable[[int, int, int], int | None]

# Cells of the first-word table: of one row, and of all rows together.
ROW_BITS, TABLE_BITS = 12, 22
# Words are tested against the boundaries of all rows by their leading bits first.
UNION_BITS = 20


def rational_rows(matrix: Any, *, timing: Timing = "fixed", insecure_rng: object = None) -> RationalRows:
    """The exact sampler of any matrix of rational rows; outputs of probability 0 never occur.

    Parameters
    ----------
    matrix : rows of rational probabilities
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: O(inputs·outputs) for setting up, a search in the row for each draw; exact: integers only.

    Examples
    --------
    >>> rational_rows([["1/2", 0, "1/2"], [0, 1, 0]], insecure_rng=1).draw([0, 0, 0, 1])
    array([0, 0, 0, 1])
    """
    try:
        widths = {len(row) for row in matrix}
        entries = fractions_of(matrix) if len(widths) == 1 else None
    except (TypeError, ValueError) as error:
        raise MechanismError(f"matrix: {error}; give rows of exact numbers") from None
    if entries is None or not entries.size:
        raise MechanismError(f"matrix has rows of {sorted(widths)} entries; all need as many, at least 1")
    return RationalRows(entries, timing, insecure_rng)


class RationalRows(Sampler):
    """Row positions in, column positions out; see `rational_rows`."""

    kind = "rational channel"

    def __init__(
        self, entries: NDArray[np.object_], timing: Timing = "fixed", insecure_rng: object = None
    ) -> None:
        super().__init__(timing, insecure_rng)
        self.shape = entries.shape
        self._tables = _rational_tables(entries.tolist())

    @property
    def parameters(self) -> dict[str, Any]:
        return {"inputs": self.shape[0], "outputs": self.shape[1]}

    def draw(self, inputs: Any) -> IntArray:
        """Column positions for row positions."""
        rows = integers(inputs, 0, self.shape[0] - 1)
        return self._tables.draw(rows, self.source.reserve(len(rows)), self.source, self.timing)


class RowTables:
    """Column positions of a uniform number, by the boundaries of each row.

    `floors` has shape (rows, columns - 1); floors[x, j] ≤ 2^64·P(column ≤ j | x) ≤ floors[x, j] + 2, capped
    at the last word.
    """

    def __init__(self, floors: WordArray, resolve: ResolveRow) -> None:
        self.rows, self.boundaries = floors.shape
        floors = np.maximum.accumulate(floors, axis=1)  # as in LazyTable
        self.floors, self.resolve = floors, resolve
        self.rounds = self.boundaries.bit_length()
        self._width = 2**self.rounds
        padded = np.full((self.rows, self._width), TOP, dtype=np.uint64)
        padded[:, : self.boundaries] = floors
        self._padded = padded.ravel()
        self._union = np.unique(np.concatenate([floors.ravel(), after(floors).ravel(), [TOP]]))
        self._marked = np.zeros(2**UNION_BITS, dtype=bool)
        self._marked[self._union >> np.uint64(64 - UNION_BITS)] = True
        self._first: NDArray[np.int32] | None = None
        self._bits = max(4, min(ROW_BITS, TABLE_BITS - self.rows.bit_length()))

    def draw(
        self, rows: IntArray, lanes: range, source: BitSource, timing: Timing, component: int = 0
    ) -> IntArray:
        """One column for each row position."""
        out = np.empty(len(lanes), dtype=np.int64)
        block, fill = (FIXED_BLOCK, self._fixed) if timing == "fixed" else (FAST_BLOCK, self._fast)
        for start in range(0, len(lanes), block):
            part = slice(start, start + block)
            fill(rows[part], lanes[part], out[part], source, component * LEVELS)
        return out

    def first_word(self) -> NDArray[np.int32]:
        """Outcome of each row (slow index) and each leading word; -1 where it is undecided."""
        if self._first is None:
            cells = (self.floors >> np.uint64(64 - self._bits)).astype(np.int64)
            starts = (np.arange(self.rows) << self._bits)[:, None]
            edges = np.concatenate([starts, cells + starts], axis=1).ravel()
            lengths = np.diff(np.append(edges, self.rows << self._bits))
            columns = np.tile(np.arange(self.boundaries + 1, dtype=np.int32), self.rows)
            table = np.repeat(columns, lengths)
            table[(cells + starts).ravel()] = -1
            following = (after(self.floors) >> np.uint64(64 - self._bits)).astype(np.int64)
            table[(following + starts).ravel()] = -1
            self._first = table
        return self._first

    def _fast(self, rows: IntArray, lanes: range, out: IntArray, source: BitSource, level: int) -> None:
        words = source.words(level, lanes, np.uint16)
        index = rows << self._bits
        index |= words >> np.uint16(16 - self._bits)
        out[:] = np.take(self.first_word(), index, mode="clip")
        late = np.flatnonzero(out < 0)
        if not len(late):
            return
        places = late + lanes.start
        more = source.words(level + 1, places)
        full = (words[late].astype(np.uint64) << np.uint64(48)) | (more >> np.uint64(16))
        out[late] = self._decided(rows[late], full, places, source, level + 2)

    def _fixed(self, rows: IntArray, lanes: range, out: IntArray, source: BitSource, level: int) -> None:
        out[:] = self._decided(rows, source.words(level, lanes), lanes, source, level + 1)

    def _decided(
        self, rows: IntArray, words: WordArray, lanes: range | IntArray, source: BitSource, level: int
    ) -> IntArray:
        """Columns of 64-bit words by bisection, and by more bits where a word is a boundary of any row."""
        offset = rows * self._width
        position = offset.copy()
        for round_ in reversed(range(self.rounds)):
            position += (self._padded[position + (2**round_ - 1)] <= words).astype(np.int64) << round_
        position -= offset
        near = np.flatnonzero(self._marked[words >> np.uint64(64 - UNION_BITS)])
        place = np.searchsorted(self._union, words[near])
        for i in near[self._union[place] == words[near]].tolist():
            position[i] = resolved(
                int(words[i]),
                64,
                partial(self.resolve, int(rows[i])),
                source,
                level,
                int(lanes[i]),
            )
        return np.asarray(position)


def _rational_tables(entries: Sequence[Sequence[Fraction]]) -> RowTables:
    totals: list[int] = []
    sums: list[list[int]] = []
    for x, row in enumerate(entries):
        total = math.lcm(*(value.denominator for value in row))
        weights = [value.numerator * (total // value.denominator) for value in row]
        if min(weights) < 0 or sum(weights) != total:
            wrong = f"holds {min(row)}" if min(weights) < 0 else f"sums to {Fraction(sum(weights), total)}"
            raise MechanismError(f"matrix: row {x} {wrong}; a row holds numbers ≥ 0 that sum to 1 exactly")
        totals.append(total)
        sums.append(list(accumulate(weights))[:-1])

    def resolve(row: int, prefix: int, bits: int) -> int | None:
        total, boundaries = totals[row], sums[row]
        found = bisect_right(boundaries, prefix * total >> bits)
        decided = found == len(boundaries) or (prefix + 1) * total <= boundaries[found] << bits
        return found if decided else None

    top = 2**64 - 1
    floors = np.array(
        [
            [min((value << 64) // total, top) for value in boundaries]
            for total, boundaries in zip(totals, sums, strict=True)
        ],
        dtype=np.uint64,
    ).reshape(len(totals), -1)
    return RowTables(floors, resolve)


def enclosed_rows(rows: int, columns: int, below: Callable[[int, int, int], Enclosure]) -> RowTables:
    """Tables of rows with P(column ≤ j | x) enclosed by below(x, j, bits)."""

    def resolve(row: int, prefix: int, bits: int) -> int | None:
        low, high = -1, columns - 1  # U is beyond P(column ≤ low) for sure, and not for sure beyond high's
        while high - low > 1:
            middle = (low + high) // 2
            if prefix >= below(row, middle, bits)[1]:
                low = middle
            else:
                high = middle
        return high if high == columns - 1 or prefix + 1 <= below(row, high, bits)[0] else None

    floors = np.array(
        [[unit_floor(partial(below, x, j)) for j in range(columns - 1)] for x in range(rows)],
        dtype=np.uint64,
    ).reshape(rows, columns - 1)
    return RowTables(floors, resolve)


# ── The exponential mechanism, exactly: rows P(y | x) ∝ e^(-ε·d(x, y)) with rational ε and distances ────────


def exponential_rows(
    distances: Any, eps: object, *, timing: Timing = "fixed", insecure_rng: object = None
) -> ExponentialRows:
    """Row positions in, column positions out, with P(y | x) ∝ e^(-eps·distances[x][y]).

    Distances are taken exactly (a float is the binary fraction it stores); infinity means never.

    Parameters
    ----------
    distances : one row an input, one column an output
    eps : ε in nats per unit of distance, rational
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: under 0.1 ms for each entry for setting up, less where distances repeat; 8 bytes a draw.

    Examples
    --------
    >>> exponential_rows([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 1, insecure_rng=1).draw([0, 1, 2])
    array([0, 1, 0])
    """
    rate = rational(eps, "eps")
    if rate < 0:
        raise MechanismError(f"eps is {abbreviated(eps)}; it must be ≥ 0")
    if isinstance(distances, range):
        raise MechanismError(f"distances is {abbreviated(distances)}; give a matrix, a row for each input")
    table = np.asarray(distances, dtype=object)
    if table.ndim != 2 or not table.size:
        raise MechanismError(f"distances has shape {table.shape}; give a matrix, a row for each input")
    rows = [[_exact(value) for value in row] for row in table.tolist()]
    for x, row in enumerate(rows):
        if all(value is None for value in row):
            raise MechanismError(
                f"distances: every output of row {x} is infinitely far; one must be reachable"
            )
    return ExponentialRows(rows, rate, timing, insecure_rng)


def _exact(value: Any) -> Fraction | None:
    """The distance itself; None for infinity."""
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            raise MechanismError("distances holds NaN; give numbers, or infinity for never")
        return None if math.isinf(value) else Fraction(float(value))
    return rational(value, "distances")


class ExponentialRows(Sampler):
    """The exponential mechanism on given distances; see `exponential_rows`."""

    kind = "exponential"

    def __init__(
        self,
        distances: Sequence[Sequence[Fraction | None]],
        eps: Fraction,
        timing: Timing = "fixed",
        insecure_rng: object = None,
    ) -> None:
        super().__init__(timing, insecure_rng)
        self.eps = eps
        self.shape = len(distances), len(distances[0])
        # Relative to the nearest output of a row, so that its sum is at least 1.
        nearest = [min(value for value in row if value is not None) for row in distances]
        exponents = [
            [None if value is None else eps * (value - least) for value in row]
            for row, least in zip(distances, nearest, strict=True)
        ]

        @lru_cache(maxsize=2**16)
        def weight(exponent: Fraction | None, bits: int) -> Enclosure:
            return (0, 0) if exponent is None else exp_neg(exponent.numerator, exponent.denominator, bits)

        @lru_cache(maxsize=8)
        def sums(x: int, bits: int) -> list[Enclosure]:
            weights = [weight(exponent, bits) for exponent in exponents[x]]
            lows = accumulate(low for low, _ in weights)
            return list(zip(lows, accumulate(high for _, high in weights), strict=True))

        def below(x: int, j: int, bits: int) -> Enclosure:
            found = sums(x, bits + 8 + self.shape[1].bit_length())
            return quotient(found[j], found[-1], bits)

        self._tables = enclosed_rows(*self.shape, below)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"eps": str(self.eps), "inputs": self.shape[0], "outputs": self.shape[1]}

    def draw(self, inputs: Any) -> IntArray:
        """Column positions for row positions."""
        rows = integers(inputs, 0, self.shape[0] - 1)
        return self._tables.draw(rows, self.source.reserve(len(rows)), self.source, self.timing)
