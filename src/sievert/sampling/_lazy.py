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

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray, WordArray
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, as_fraction, read_eps, require_float
from sievert.sampling._base import LEVELS, BitSource, Timing

__all__ = [
    "AtBits",
    "Enclosure",
    "LazyTable",
    "Ratio",
    "after",
    "ceiling",
    "count_below",
    "exp_neg",
    "one_boundary",
    "quotient",
    "ratio",
    "rational",
    "resolved",
    "unbounded",
    "unit_floor",
]


# ── Rigorous bounds with integers only: powers of e^-ε or of a rational ratio, scaled by 2^bits ─────────────
# An enclosure is a pair of integers (low, high) with low ≤ 2^bits·value ≤ high.

Enclosure = tuple[int, int]
# Powers of a rational whose numerator and denominator stay below this many bits are written out.
LARGEST_POWER_BITS = 4096


def ceiling(numerator: int, denominator: int) -> int:
    """numerator/denominator rounded up."""
    return -(-numerator // denominator)


def exp_neg(numerator: int, denominator: int, bits: int) -> Enclosure:
    """e^(-numerator/denominator), enclosed to within 2 units of 2^-bits.

    The alternating series of e^-x for x < 2^-8, each term rounded both ways, then squarings.

    >>> exp_neg(1, 1, 32)
    (1580030168, 1580030169)
    """
    if numerator == 0:
        return 1 << bits, 1 << bits
    if numerator >= bits * denominator:  # e^-x < 2^-x
        return 0, 1
    squarings = (numerator // denominator).bit_length() + 8
    precision = bits + squarings + 40
    scaled = denominator << squarings
    term_low = term_high = low = high = 1 << precision
    i = 0
    while term_high > 1:
        i += 1
        term_low = term_low * numerator // (scaled * i)
        term_high = ceiling(term_high * numerator, scaled * i)
        if i & 1:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = low - 1, high + 1  # an alternating remainder is at most the next term
    for _ in range(squarings):
        low, high = low * low >> precision, -((-high * high) >> precision)
    spare = precision - bits
    return max(low, 0) >> spare, -((-high) >> spare)


def quotient(above: Enclosure, below: Enclosure, bits: int) -> Enclosure:
    """An enclosure of the quotient of two positive enclosures of the same scale."""
    return (above[0] << bits) // below[1], ceiling(above[1] << bits, below[0])


@dataclass(frozen=True)
class Ratio:
    """λ = e^-ε with rational ε > 0, or a rational λ from 0 (ε = ∞) to 1 (ε = 0)."""

    eps: Fraction | None = None
    alpha: Fraction | None = None

    def power(self, exponent: int, bits: int) -> Enclosure:
        """λ^exponent."""
        if self.eps is not None:
            return exp_neg(exponent * self.eps.numerator, self.eps.denominator, bits)
        assert self.alpha is not None
        a, b = self.alpha.numerator, self.alpha.denominator
        if self.writes_out(exponent):
            scaled, divisor = a**exponent << bits, b**exponent
            return scaled // divisor, ceiling(scaled, divisor)
        # Binary powering: each of the < 2·log2(exponent) roundings is at most doubled afterwards, so the
        # guard bits below leave an error under one unit.
        precision = bits + 3 * exponent.bit_length() + 8
        low, high = (a << precision) // b, ceiling(a << precision, b)
        found_low = found_high = 1 << precision
        while exponent:
            if exponent & 1:
                found_low = found_low * low >> precision
                found_high = -((-found_high * high) >> precision)
            low, high = low * low >> precision, -((-high * high) >> precision)
            exponent >>= 1
        spare = precision - bits
        return found_low >> spare, -((-found_high) >> spare)

    def writes_out(self, exponent: int) -> bool:
        """Whether λ^exponent is a fraction of moderate size."""
        return self.alpha is not None and exponent * self.alpha.denominator.bit_length() <= LARGEST_POWER_BITS

    def raised(self, exponent: int) -> Ratio:
        """The ratio λ^exponent; a power of a rational is not written out."""
        if self.eps is not None:
            return Ratio(eps=self.eps * exponent)
        assert self.alpha is not None
        return _RaisedRatio(alpha=self.alpha, exponent=exponent)

    def rate(self) -> float:
        """About -ln λ, at most 2^20: for choosing sizes, never for deciding an outcome."""
        if self.eps is not None:
            return float(min(self.eps, Fraction(2**20)))
        low, high = self.power(1, 64)
        shortfall = (1 << 64) - (low + high) // 2
        return -math.log1p(-shortfall / 2**64) if low else math.inf

    @property
    def is_zero(self) -> bool:
        """ε = ∞: no noise at all."""
        return self.alpha == 0

    @property
    def is_one(self) -> bool:
        """ε = 0: the output must not depend on the input."""
        return self.alpha == 1

    def to_dict(self) -> dict[str, str]:
        """The one parameter that was given, as text."""
        return {"eps": str(self.eps)} if self.eps is not None else {"alpha": str(self.alpha)}

    def __str__(self) -> str:
        what, value = ("ε =", self.eps) if self.eps is not None else ("ratio", self.alpha)
        return f"{what} {abbreviated(str(value))[1:-1]}"


@dataclass(frozen=True)
class _RaisedRatio(Ratio):
    """A power of a rational ratio that is not written out."""

    exponent: int = 1

    def writes_out(self, exponent: int) -> bool:
        return False

    def power(self, exponent: int, bits: int) -> Enclosure:
        return Ratio(alpha=self.alpha).power(self.exponent * exponent, bits)

    def raised(self, exponent: int) -> Ratio:
        return _RaisedRatio(alpha=self.alpha, exponent=self.exponent * exponent)


NO_NOISE, ALL_NOISE = Ratio(alpha=Fraction(0)), Ratio(alpha=Fraction(1))


def unbounded(value: object, argument: str) -> Fraction:
    """A number as an exact fraction; a float is read as it is written, so 0.1 is one tenth."""
    try:
        if isinstance(value, bool):
            raise ValueError("a truth value")
        return read_eps(value) if isinstance(value, float) else as_fraction(value)
    except ValueError:
        raise MechanismError(f"{argument} is {abbreviated(value)}; it must be a finite number") from None


def rational(value: object, argument: str) -> Fraction:
    """An exact fraction that is no larger than the largest float."""
    found = unbounded(value, argument)
    require_float(argument, found, MechanismError)
    return found


def ratio(eps: object, alpha: object, scale: object = None) -> Ratio:
    """Read exactly one of eps, alpha = e^-eps and scale = 1/eps.

    >>> ratio(0.1, None), ratio(None, "1/2"), ratio(None, None, 10)
    (Ratio(eps=Fraction(1, 10), alpha=None), Ratio(eps=None, alpha=Fraction(1, 2)),
     Ratio(eps=Fraction(1, 10), alpha=None))
    """
    given = [name for name, value in (("eps", eps), ("alpha", alpha), ("scale", scale)) if value is not None]
    if len(given) != 1:
        found = " and ".join(given) + " are given" if given else "none of eps, alpha and scale is given"
        raise MechanismError(f"{found}; give exactly one (alpha = e^-eps, scale = 1/eps)")
    if alpha is not None:
        value = unbounded(alpha, "alpha")
        if not 0 <= value <= 1:
            raise MechanismError(
                f"alpha is {abbreviated(alpha)}; it must be from 0 (no noise) to 1 (nothing is told)"
            )
        return Ratio(alpha=value)
    name, number = ("eps", eps) if eps is not None else ("scale", scale)
    if isinstance(number, float | str) and str(number) == "inf":
        return NO_NOISE if name == "eps" else ALL_NOISE
    value = unbounded(number, name)
    if value < 0:
        raise MechanismError(f"{name} is {abbreviated(number)}; it must be a number ≥ 0")
    if value == 0:
        return ALL_NOISE if name == "eps" else NO_NOISE
    return Ratio(eps=value if name == "eps" else 1 / value)


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
