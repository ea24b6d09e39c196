"""The one idea of the exact samplers: reveal a uniform number lazily.

Let U be uniform on [0, 1) and F_1 ≤ F_2 ≤ … the cumulative probabilities of the outcomes. The outcome whose
interval contains U has exactly the wanted law. Only a prefix of U is ever held: a word u of 64 bits says
U ∈ [u, u+1)/2^64, and with c_j ≤ 2^64·F_j ≤ c_j + 2 the word decides every comparison unless u is c_j or
c_j + 1 for some j (two words, so that an enclosure around a whole number is as good as any other). Then more
bits are drawn and the comparison is made with Python integers. Whenever the procedure answers, its answer is
that of the real U; hence the law is exact, whatever the F_j. Treating more words as undecided never harms
exactness, only speed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sievert.errors import MechanismError
from sievert.sampling.base import Timing
from sievert.sampling.bits import LEVELS, BitSource
from sievert.sampling.enclosures import Enclosure

__all__ = ["AtBits", "LazyTable", "after", "count_below", "one_boundary", "resolved", "unit_floor"]

IntArray = NDArray[np.int64]
WordArray = NDArray[np.uint64]
# An enclosure of one number at any number of bits.
AtBits = Callable[[int], Enclosure]
# Outcome of a prefix (bits revealed so far, their number), or None while it is undecided.
Resolve = Callable[[int, int], int | None]

UNDECIDED = np.iinfo(np.int64).min
TOP = np.uint64(2**64 - 1)
FAST_BLOCK, FIXED_BLOCK = 2**17, 2**14
# Costs that choose the width of the first word: a random byte, and a lane that needs a second word (ns).
BYTE_COST, SECOND_WORD_COST = 2.7, 50.0


class LazyTable:
    """Outcomes of a uniform number, by their boundaries.

    Parameters
    ----------
    floors : ascending c_j with c_j ≤ 2^64·F_j ≤ c_j + 2
    values : one outcome more than floors; none may be the smallest 64-bit integer
    resolve : the outcome of a longer prefix, or None while it is undecided
    """

    def __init__(self, floors: WordArray, values: IntArray, resolve: Resolve) -> None:
        assert len(values) == len(floors) + 1
        assert UNDECIDED not in values
        # Enclosures of nearly equal boundaries may round out of order; a floor raised to an earlier one stays
        # below its own boundary.
        self.floors = np.maximum.accumulate(floors)
        self.values, self.resolve = values, resolve
        self.rounds = len(floors).bit_length()
        self._padded = np.full(2**self.rounds, TOP, dtype=np.uint64)
        self._padded[: len(floors)] = floors
        self._first: tuple[np.dtype[np.unsignedinteger], IntArray] | None = None

    def draw(self, lanes: range, source: BitSource, timing: Timing, component: int = 0) -> IntArray:
        """One outcome for each lane; independent tables of one draw use different components."""
        out = np.empty(len(lanes), dtype=np.int64)
        block, fill = (FIXED_BLOCK, self._fixed) if timing == "fixed" else (FAST_BLOCK, self._fast)
        for start in range(0, len(lanes), block):
            part = lanes[start : start + block]
            fill(part, out[start : start + len(part)], source, component * LEVELS)
        return out

    def first_word(self) -> tuple[np.dtype[np.unsignedinteger], IntArray]:
        """The outcome of each first word of 8 or 16 bits, whichever costs less; `UNDECIDED` where it is."""
        if self._first is None:
            tables = [(bits, self.outcomes(bits)) for bits in (8, 16)]
            _, bits, table = min(
                (bits / 8 * BYTE_COST + float((table == UNDECIDED).mean()) * SECOND_WORD_COST, bits, table)
                for bits, table in tables
            )
            self._first = np.dtype(f"uint{bits}"), table
        return self._first

    def outcomes(self, bits: int) -> IntArray:
        """The outcome of every word of `bits` ≤ 16 bits."""
        cells = (self.floors >> np.uint64(64 - bits)).astype(np.int64)
        table = np.repeat(self.values, np.diff(np.concatenate([[0], cells, [2**bits]])))
        table[cells] = UNDECIDED
        table[(after(self.floors) >> np.uint64(64 - bits)).astype(np.int64)] = UNDECIDED
        return table

    def words_for(self, value: int) -> list[int]:
        """64-bit words on which a fixed-work draw gives this value: they prove that it is possible."""
        rising = self.values[-1] > self.values[0]
        for bits in range(64, 64 * LEVELS, 64):
            # Outcomes are monotone in the prefix; bisect for a prefix that decides on this one.
            low, high = 0, (1 << bits) - 1
            while low <= high:
                middle = (low + high) // 2
                found = self.resolve(middle, bits)
                if found == value:
                    return self._as_read(middle, bits)
                if found is None or (found < value) == rising:
                    low = middle + 1
                else:
                    high = middle - 1
        raise MechanismError(f"value is {value}; the sampler never gives it")

    def _as_read(self, prefix: int, bits: int) -> list[int]:
        """The words of a decided prefix as far as a draw reads them: one on a boundary is not enough."""
        words = [prefix >> shift & (2**64 - 1) for shift in range(bits - 64, -1, -64)]
        position = int(np.searchsorted(self.floors, np.uint64(words[0]), side="right"))
        before = int(self.floors[position - 1]) if position else int(TOP)
        if (words[0] - before) % 2**64 > 1 and words[0] != TOP:
            return words[:1]
        read = 2
        while self.resolve(prefix << 64 >> (bits + 64 - 64 * read), 64 * read) is None:
            read += 1
        return [*words, 0][:read]

    def _fast(self, lanes: range, out: IntArray, source: BitSource, level: int) -> None:
        dtype, table = self.first_word()
        words = source.words(level, lanes, dtype)
        np.take(table, words, out=out, mode="clip")
        late = np.flatnonzero(out == UNDECIDED)
        if not len(late):
            return
        bits = np.uint64(8 * dtype.itemsize)
        places = late + lanes.start
        more = source.words(level + 1, places)
        full = (words[late].astype(np.uint64) << (np.uint64(64) - bits)) | (more >> bits)
        position = np.searchsorted(self.floors, full, side="right")
        found = self.values[position]
        tied = (position > 0) & (full - self.floors[position - 1] <= 1)
        self._escalate(tied, full, places, found, source, level + 2)
        out[late] = found

    def _fixed(self, lanes: range, out: IntArray, source: BitSource, level: int) -> None:
        """Every lane reads 64 bits and makes the same number of comparisons."""
        words = source.words(level, lanes)
        position = np.zeros(len(lanes), dtype=np.int64)
        for round_ in reversed(range(self.rounds)):
            position += (self._padded[position + (2**round_ - 1)] <= words).astype(np.int64) << round_
        # Padding makes the top word undecided too, and position 0 wraps around to it.
        tied = words - self._padded[position - 1] <= 1
        np.take(self.values, position, out=out, mode="clip")
        self._escalate(tied, words, lanes, out, source, level + 1)

    def _escalate(
        self,
        tied: NDArray[np.bool_],
        words: WordArray,
        lanes: range | IntArray,
        out: IntArray,
        source: BitSource,
        level: int,
    ) -> None:
        """Decide the lanes whose 64 bits end on a boundary; a lane gets here with probability 2K·2^-64."""
        for i in np.flatnonzero(tied).tolist():
            out[i] = resolved(int(words[i]), 64, self.resolve, source, level, int(lanes[i]))


def resolved(prefix: int, bits: int, resolve: Resolve, source: BitSource, level: int, lane: int) -> int:
    """Extend a prefix by 64 bits at a time until its outcome is decided."""
    while True:
        prefix, bits = prefix << 64 | source.extend(level, lane), bits + 64
        found = resolve(prefix, bits)
        if found is not None:
            return found
        level += 1


def one_boundary(enclosure: AtBits) -> LazyTable:
    """1 with the enclosed probability, else 0."""

    def resolve(prefix: int, bits: int) -> int | None:
        low, high = enclosure(bits)
        if prefix + 1 <= low:
            return 1
        return 0 if prefix >= high else None

    floor = unit_floor(enclosure)
    return LazyTable(np.array([floor], dtype=np.uint64), np.array([1, 0], dtype=np.int64), resolve)


def after(floors: WordArray) -> WordArray:
    """The word after each floor (the last word after itself)."""
    return np.asarray(np.minimum(floors, TOP - np.uint64(1)) + np.uint64(1))


def unit_floor(enclosure: AtBits) -> int:
    """c with c ≤ 2^64·p ≤ c + 2, capped at the last word, for p enclosed at any number of bits."""
    guard = 32
    while True:
        low, high = enclosure(64 + guard)
        floor = min(low >> guard, 2**64 - 1)
        if high <= (floor + 2) << guard:
            return int(floor)
        guard *= 2


def count_below(prefix: int, bits: int, enclosure: Callable[[int, int], Enclosure]) -> int | None:
    """#{m ≥ 1 : V < enclosure(m)} for V ∈ [prefix, prefix+1)/2^bits and decreasing values, or None."""
    step = 1
    while prefix + 1 <= enclosure(step, bits)[0]:
        step *= 2
    low, high = step // 2, step  # below for sure at low (or low = 0), not for sure at high
    while high - low > 1:
        middle = (low + high) // 2
        if prefix + 1 <= enclosure(middle, bits)[0]:
            low = middle
        else:
            high = middle
    return low if prefix >= enclosure(high, bits)[1] else None
