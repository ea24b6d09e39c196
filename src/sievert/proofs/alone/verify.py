#!/usr/bin/env python3
"""Check a proof that Sievert wrote, with nothing but Python's standard library.

    python verify.py proof.json [more.json …] [--seconds 600] [--json]

A second opinion: this file follows docs/proofs.md, which says what every kind of proof claims and which rules
make the claim follow. It shares no line with the checks of Sievert. Everything is computed in fractions and
whole numbers; e^x and ln x are enclosed between rationals by series whose error is counted, and the end that
makes a claim weaker is used. Nothing in a file is trusted: it is read strictly, what its check will cost is
printed first, and a check that would take longer than allowed is not begun.

Exit codes: 0 every proof holds, 1 one does not, 2 a file is no proof, 3 one was not checked (too long).

How to read it: numbers, then e^x and ln x, then spaces, then a function of the name of every kind (NAMES).
"""

from __future__ import annotations

import argparse
import contextlib
import decimal
import heapq
import itertools
import json
import math
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, NoReturn, TypeVar

FORMAT = "sievert proof 1"
T = TypeVar("T")
Content = dict[str, Any]
Vector = list[Fraction]
Matrix = list[Vector]
Size = int | None
ZERO, ONE = Fraction(0), Fraction(1)


class Refused(ValueError):
    """A rule that does not hold, in words."""


class TooLong(Exception):
    """A check that would take longer than allowed."""


class NoProof(Exception):
    """A file that is no proof."""


def no_proof(why: str) -> NoReturn:
    raise NoProof(why)


def require(holds: bool, why: str) -> None:
    """A rule: refuse the proof unless it holds."""
    if not holds:
        raise Refused(why)


class Work:
    """Steps of about a microsecond, and how many may be taken."""

    most, done = 600_000_000, 0

    @classmethod
    def spend(cls, steps: int) -> None:
        """Count steps before they are taken."""
        cls.done += steps
        if cls.done > cls.most:
            raise TooLong(f"the check takes more than {cls.most / 1e6:.0f} s; allow more with --seconds")


# ── Reading: strict JSON, strict numbers ────────────────────────────────────────────────────────────────────
LARGEST_FILE, DEEPEST, MOST_DIGITS, LONGEST_TEXT, LARGEST_EXPONENT = 200_000_000, 50, 4300, 1000, 3000
RATIO = re.compile(r"(-?)([0-9]+)(?:/([0-9]+))?")
DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([-+]?[0-9]+))?")


def children(value: Any) -> list[Any]:
    """What a list or an object holds; nothing for all else."""
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def parse(text: str) -> Any:
    """JSON with every key once, finite numbers, short whole numbers, and little nesting."""

    def once(pairs: list[tuple[str, Any]]) -> Content:
        found = dict(pairs)
        return found if len(found) == len(pairs) else no_proof("a key stands twice in one object")

    def real(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else no_proof(f"{digits[:30]} is no finite double")

    def short(digits: str) -> int:
        return int(digits) if len(digits) <= MOST_DIGITS else no_proof("a whole number is too long")

    read = json.JSONDecoder(object_pairs_hook=once, parse_float=real, parse_int=short, parse_constant=real)
    try:
        content = read.decode(text)
    except RecursionError:
        no_proof(f"it is nested more than {DEEPEST} levels deep")
    except json.JSONDecodeError as problem:
        no_proof(f"it is not JSON: {problem}")
    level = [content]
    for _ in range(DEEPEST):
        level = [inner for item in level for inner in children(item)]
        if not level:
            return content
    no_proof(f"it is nested more than {DEEPEST} levels deep")


def exact(value: Any) -> Fraction:
    """An exact number: a text such as "1/3" or "1e-6", or a JSON number at its binary value."""
    if type(value) in (int, float, Fraction):
        return Fraction(value)
    ratio = RATIO.fullmatch(value) if isinstance(value, str) else None
    if ratio is not None:
        sign, above, below = ratio.groups()
        require(max(len(above), len(below or "")) <= MOST_DIGITS, "a number has too many digits")
        require(below is None or int(below) != 0, f"{value[:30]} divides by 0")
        return Fraction(int(above), int(below or 1)) * (-1 if sign else 1)
    decimal = DECIMAL.fullmatch(value) if isinstance(value, str) and len(value) <= LONGEST_TEXT else None
    fits = decimal is not None and abs(int(decimal[1] or 0)) <= LARGEST_EXPONENT
    require(fits, f"{str(value)[:30]!r} is not a number")
    return Fraction(value)


def maybe(value: Any) -> Fraction | None:
    """An exact number, or none."""
    return None if value is None else exact(value)


def whole(value: Any, least: int = 0, most: Size = None) -> int:
    """A whole number, or its digits."""
    if isinstance(value, str) and re.fullmatch("-?[0-9]+", value) and len(value) <= MOST_DIGITS:
        value = int(value)
    fits = type(value) is int and value >= least and (most is None or value <= most)
    end = "" if most is None else f" to {most}"
    require(fits, f"{str(value)[:30]} is not a whole number from {least}{end}")
    return int(value)


def double(value: Any) -> float:
    """A JSON number as the nearest double."""
    fits = type(value) is float or (type(value) is int and abs(value) < 2**63)
    require(fits, f"{str(value)[:30]} is not a double")
    return float(value)


def nearest(value: Any) -> float:
    """An exact number that a claim rounds to a double."""
    return float(exact(value))


def couples(value: Any) -> list[list[Any]]:
    """A list of pairs."""
    return [items(pair, 2) for pair in items(value)]


def tallies(value: Any, least: int = 0) -> dict[int, int]:
    """How often different whole numbers come, each once or more; not empty."""
    pairs = couples(value)
    found = {whole(name, least): whole(times, 1) for name, times in pairs}
    require(bool(found) and len(found) == len(pairs), "there is nothing, or something is listed twice")
    return found


def position(value: Any, size: int = 2**40) -> int:
    """A place in a list."""
    require(type(value) is int and 0 <= value < size, f"{str(value)[:30]} is not a place that exists")
    return int(value)


def flag(value: Any) -> bool:
    """True or false."""
    require(isinstance(value, bool), f"{str(value)[:30]} is not true or false")
    return bool(value)


def items(value: Any, length: Size = None) -> list[Any]:
    """A list, of a length where one is asked for."""
    fits = isinstance(value, list) and length in (None, len(value))
    require(fits, "a list is missing, or has another length than it should")
    return list(value)


def table(value: Any) -> Content:
    """A JSON object."""
    require(isinstance(value, dict), f"{str(value)[:30]} is not an object")
    return dict(value)


def vector(value: Any, length: int | None = None) -> list[Fraction]:
    """A list of exact numbers."""
    return [exact(entry) for entry in items(value, length)]


def doubles(value: Any, length: int | None = None) -> list[Fraction]:
    """A list of doubles, as what they exactly are."""
    return [Fraction(double(entry)) for entry in items(value, length)]


def matrix(value: Any, rows: Size = None, columns: Size = None) -> Matrix:
    """Rows of exact numbers, equally long and not empty."""
    found = [vector(row) for row in items(value)]
    require(bool(found) and bool(found[0]), "a matrix is empty")
    require(all(len(row) == len(found[0]) for row in found), "a matrix is ragged")
    fits = rows in (None, len(found)) and columns in (None, len(found[0]))
    require(fits, "the parts of the proof do not fit each other")
    return found


def double_matrix(value: Any, rows: Size = None, columns: Size = None) -> Matrix:
    """Rows of doubles, equally long and not empty."""
    return matrix([doubles(row) for row in items(value)], rows, columns)


def not_negative(values: Iterable[Fraction | int], what: str) -> None:
    """Entries ≥ 0."""
    require(all(value >= 0 for value in values), f"{what} has a negative entry")


def weights_of(value: Any, size: Size = None) -> Vector:
    """Doubles ≥ 0."""
    found = doubles(value, size)
    not_negative(found, "the list of weights")
    return found


def total(values: Iterable[Fraction]) -> Fraction:
    """A sum, kept short by adding neighbours first."""
    level = list(values)
    while len(level) > 1:
        level = [sum(level[k : k + 2], ZERO) for k in range(0, len(level), 2)]
    return level[0] if level else ZERO


def dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    """Σ a·b."""
    return total(a * b for a, b in zip(first, second, strict=True) if a and b)


def columns_of(rows: list[list[T]]) -> list[list[T]]:
    """Columns as rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def weighted(rows: Matrix, weights: Vector) -> Matrix:
    """Every row, entry by entry times the weights."""
    return [[value * weight for value, weight in zip(row, weights, strict=True)] for row in rows]


def product(first: Matrix, second: Matrix) -> Matrix:
    """The product of two matrices that fit."""
    require(len(first[0]) == len(second), "the shapes of matrices do not fit")
    Work.spend(2 * len(first) * len(second) * len(second[0]))
    columns = columns_of(second)
    return [[dot(row, column) for column in columns] for row in first]


def difference(first: Matrix, second: Matrix) -> Matrix:
    """A matrix less another."""
    return [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(first, second, strict=True)]


# What rows of float channels may miss 1 by, and what proofs about them may leave open.
ROUNDING = Fraction(1, 10**9)


def distribution(values: Vector, what: str, rounding: Fraction = ZERO) -> Fraction:
    """Entries ≥ 0 with the sum 1; what the sum misses."""
    not_negative(values, what)
    miss = abs(total(values) - 1)
    require(miss <= rounding, f"{what} does not sum to 1")
    return miss


def prior_of(value: Any, length: Size = None, what: str = "the prior") -> Vector:
    """A list that is a distribution exactly."""
    found = vector(value, length)
    distribution(found, what)
    return found


def channel(value: Any, rows: Size = None, columns: Size = None) -> Matrix:
    """A matrix whose rows are distributions exactly."""
    return list(rounded_channel(value, rows, columns, ZERO)[0])


def rounded_channel(value: Any, rows: Size = None, columns: Size = None, rounding: Any = ROUNDING) -> Any:
    """A matrix whose rows are distributions up to rounding, and the most that one misses 1 by."""
    found = matrix(value, rows, columns)
    return found, max(distribution(row, "a row of a channel", rounding) for row in found)


def column_maxima(scores: Matrix) -> Fraction:
    """Σ_y max_w."""
    return total(map(max, columns_of(scores)))


def shown(value: Fraction, up: bool = True) -> str:
    """Twelve decimals, rounded so that the sentence stays true; a power of 2 where those fill a line."""
    if abs(value) >= 10**15:
        return f"2^{value.numerator.bit_length() - value.denominator.bit_length() + (1 if up else -1)}"
    units = ROUNDED[up](value * 10**12)
    sign, digits = ("-" if units < 0 else ""), f"{abs(units):013d}"
    return f"{sign}{digits[:-12]}.{digits[-12:]}".rstrip("0").rstrip(".")


def between(lower: Fraction, upper: Fraction) -> str:
    """Two ends, each rounded outwards."""
    return f"from {shown(lower, False)} to {shown(upper)}"


# ── e^x and ln x between rationals ──────────────────────────────────────────────────────────────────────────
BITS, LARGEST_POWER = 320, 100_000
ROUNDED: tuple[Callable[[Fraction], int], ...] = (math.floor, math.ceil)
Ends = tuple[Fraction, Fraction]


def dyadic(mantissa: int, exponent: int) -> Fraction:
    """mantissa·2^exponent."""
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


@lru_cache(maxsize=1 << 15)
def exp_ends(x: Fraction, bits: int = BITS) -> Ends:
    """Rationals around e^x, a relative 2^-bits apart.

    e^x = (e^(x/2^m))^(2^m) for x ≥ 0, with x/2^m ≤ 2^-8: Taylor's series in whole numbers of 2^-w, every term
    rounded down for the lower end and up for the upper one. Terms fall by 2^-8 at least, so that what follows
    the last one, which is at most 1 unit, is less than a unit. Each squaring doubles the relative error, for
    which m more bits are kept. e^-x = 1/e^x. Beyond ±100,000 the lower end is that of ±100,000, or 0.
    """
    if x == 0:
        return ONE, ONE
    if x < 0:
        low, high = exp_ends(min(-x, Fraction(LARGEST_POWER)), bits)
        return ZERO if -x > LARGEST_POWER else 1 / high, 1 / low
    require(x <= LARGEST_POWER, "a power of e is too large to be written out")
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 8)
    digits = bits + halvings + 32
    scaled = Fraction(x.numerator << digits, x.denominator << halvings)
    less, more = _series(math.floor(scaled), digits, 0), _series(math.ceil(scaled), digits, 1) + 2
    low_scale = high_scale = -digits
    for _ in range(halvings):
        less, more = less * less, more * more
        spare, excess = less.bit_length() - digits, more.bit_length() - digits
        less, low_scale = less >> spare, 2 * low_scale + spare
        more, high_scale = -(-more >> excess), 2 * high_scale + excess
    return dyadic(less, low_scale), dyadic(more, high_scale)


def _series(argument: int, digits: int, up: int) -> int:
    """Σ r^k/k! for r = argument·2^-digits, in units of 2^-digits, every term rounded down or up."""
    term, found, k = 1 << digits, 1 << digits, 0
    while term > 1:
        k += 1
        above, below = term * argument, k << digits
        term = -(-above // below) if up else above // below
        found += term
    return found


def exp_low(x: Fraction) -> Fraction:
    """A rational at or below e^x."""
    return exp_ends(min(x, Fraction(LARGEST_POWER)))[0]


def exp_high(x: Fraction) -> Fraction:
    """A rational at or above e^x."""
    return exp_ends(x)[1]


@lru_cache(maxsize=1 << 12)
def log_ends(x: Fraction, bits: int) -> Ends:
    """Rationals around ln x = k·ln 2 + 2·artanh((m-1)/(m+1)), x = m·2^k > 0 with 1/2 < m < 2."""
    if x == 1:
        return ZERO, ZERO
    k = x.numerator.bit_length() - x.denominator.bit_length()
    m, digits = x / dyadic(1, k), bits + 16 + abs(k).bit_length()
    rest, two = _twice_artanh((m - 1) / (m + 1), digits), _twice_artanh(Fraction(1, 3), digits)
    doubled = (k * two[0], k * two[1]) if k >= 0 else (k * two[1], k * two[0])
    return rest[0] + doubled[0], rest[1] + doubled[1]


def _twice_artanh(u: Fraction, digits: int) -> Ends:
    """2·artanh u for |u| ≤ 1/3: Σ 2u^(2j+1)/(2j+1); what follows the j-th power is below an eighth of it."""
    if u < 0:
        low, high = _twice_artanh(-u, digits)
        return -high, -low
    ends = []
    for up in (0, 1):
        argument = ROUNDED[up](Fraction(u.numerator << digits, u.denominator))
        square = -(-argument * argument >> digits) if up else argument * argument >> digits
        power, found, j = argument, 0, 1
        while power > up:
            found += -(-power // j) if up else power // j
            power = -(-power * square >> digits) if up else power * square >> digits
            j += 2
        ends.append(dyadic(2 * (found + 2 * up), -digits))
    return ends[0], ends[1]


class Span:
    """A number ≥ 0 between low·2^scale and high·2^scale, kept to BITS bits."""

    def __init__(self, low: int, high: int, scale: int) -> None:
        spare = high.bit_length() - BITS
        if spare > 0:
            low, high, scale = low >> spare, -(-high >> spare), scale + spare
        self.low, self.high, self.scale = low, high, scale

    @classmethod
    def of(cls, ends: Ends) -> Span:
        """Around two rationals."""
        low, high = ends
        scale = high.numerator.bit_length() - high.denominator.bit_length() - BITS
        unit = dyadic(1, scale)
        return cls(math.floor(low / unit), math.ceil(high / unit), scale)

    def __mul__(self, other: Span) -> Span:
        return Span(self.low * other.low, self.high * other.high, self.scale + other.scale)

    def times(self, above: int, below: int) -> Span:
        """Multiplied by a ratio of whole numbers."""
        low, high = (self.low << 64) * above // below, -(-(self.high << 64) * above // below)
        return Span(low, high, self.scale - 64)

    def __add__(self, other: Span) -> Span:
        first, second = (self, other) if self.scale >= other.scale else (other, self)
        apart = first.scale - second.scale
        if first.high and apart > 2 * BITS:
            low, high = second.low >> apart, -(-second.high >> apart)
            return Span(first.low + low, first.high + high, first.scale)
        if not first.high:
            return second
        return Span((first.low << apart) + second.low, (first.high << apart) + second.high, second.scale)

    def at_least(self, other: Span) -> bool:
        """Whether it is certainly not smaller."""
        apart = self.scale - other.scale
        if abs(apart) > 4 * BITS:
            return apart > 0 and self.low > 0
        return self.low << max(apart, 0) >= other.high << max(-apart, 0)

    def joined(self, other: Span) -> Span:
        """Around the larger of the two: from the larger lower end to the larger upper one."""
        if self.at_least(other) or other.at_least(self):
            return self if self.at_least(other) else other
        (low, high), (less, more) = self.ends(), other.ends()
        return Span.of((max(low, less), max(high, more)))

    def ends(self) -> Ends:
        """As two rationals."""
        return dyadic(self.low, self.scale), dyadic(self.high, self.scale)

    def power(self, exponent: int) -> Span:
        """To a whole power."""
        found, square = Span(1, 1, 0), self
        while exponent:
            if exponent & 1:
                found = found * square
            square, exponent = square * square, exponent >> 1
        return found


NOTHING = Span(0, 0, 0)


# ── Spaces ──────────────────────────────────────────────────────────────────────────────────────────────────
LARGEST_SIZE, LARGEST_TABLE, MOST_DIMENSIONS, MOST_MOVED = 10**7, 6000, 16, 10**9
METRIC_ERROR = Fraction(1, 2**48)
# Digits of a table of e^(-ε·distance).
FINE = 1024
Edge = tuple[int, int]
Arc = tuple[int, int, int]
Rows = list[list[Any]]
Shrink = Callable[[int], Fraction]


def require_private(rows: Rows, arcs: Iterable[Arc], shrink: Shrink, what: str) -> None:
    """Row x ≥ q·row z in every column, for arcs (x, z, edge) and q at or above what the edge allows."""
    for x, z, e in arcs:
        above, below = shrink(e).as_integer_ratio()
        private = all(p * below >= q * above for p, q in zip(rows[x], rows[z], strict=True))
        require(private, f"{what} is not private between points {x} and {z}")


def require_even(rows: Rows, q: Fraction, what: str) -> None:
    """The same where any two rows are neighbours: the least entry of a column is ≥ q times the largest."""
    even = all(min(column) * q.denominator >= max(column) * q.numerator for column in columns_of(rows))
    require(even, f"{what} is not private")


def costs_nothing_even(cost: Vector, q: Fraction) -> bool:
    """Whether Σ cost·c ≥ 0 for every column c with entries from q times the largest to the largest."""
    return q * total(cost) + (1 - q) * total(min(value, ZERO) for value in cost) >= 0


def costs_nothing_on_forest(forest: Space, cost: Vector, shrink: Shrink, digits: Size = None) -> bool:
    """Whether Σ cost·c ≥ 0 for every private column c: from the leaves to the roots.

    What is carried is rounded down to 2^-digits where it is not exact anyway."""
    held = list(cost)
    Work.spend(6 * forest.size)
    for v, parent, e in reversed(forest.roots_first()):
        q = shrink(e) if parent >= 0 else ZERO
        if held[v] < 0 and q == 0:
            return False
        carried = q * held[v] if held[v] >= 0 else held[v] / q
        if parent >= 0:
            held[parent] += carried if digits is None else dyadic(math.floor(carried * 2**digits), -digits)
    return True


def joined(size: int, pairs: Iterable[Edge]) -> list[int]:
    """For each point one that stands for all that pairs join to it."""
    parent = list(range(size))

    def root(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for a, b in pairs:
        parent[root(a)] = root(b)
    return [root(v) for v in range(size)]


class Space:
    """Points and edges; lengths are whole numbers of `grain`, so that paths are added exactly."""

    def __init__(
        self, size: int, edges: list[Edge], lengths: Any = None, metric: bool = False, places: Any = None
    ) -> None:
        require(1 <= size <= LARGEST_SIZE, "a space has from 1 to 10,000,000 points")
        Work.spend(size + 4 * len(edges))
        require(all(0 <= a < size and 0 <= b < size for a, b in edges), "an edge names no point")
        self.lengths: list[float] = [1.0] * len(edges) if lengths is None else lengths
        require(len(self.lengths) == len(edges), "every edge needs one length")
        require(all(0 <= length < math.inf for length in self.lengths), "lengths must be finite and ≥ 0")
        self.size, self.edges, self.metric, self.places = size, edges, metric, places
        self.one_way, self.error = False, METRIC_ERROR if metric else ZERO
        ratios = [length.as_integer_ratio() for length in self.lengths]
        below = max((ratio[1] for ratio in ratios), default=1)
        self.units, self.grain = [a * (below // b) for a, b in ratios], Fraction(1, below)
        self.known: dict[tuple[int, int, int, bool], Fraction] = {}
        self.owner = joined(size, self.edges)
        self.components = len(set(self.owner))
        if metric:
            self._require_all_pairs()
        if places is not None:
            self._require_straight(places)

    @classmethod
    def read(cls, value: Any) -> Space:
        """From a proof."""
        data = table(value)
        edges = [(position(a), position(b)) for a, b in couples(data["edges"])]
        lengths, places = data.get("lengths"), data.get("coordinates")
        lengths = None if lengths is None else [double(length) for length in items(lengths)]
        places = None if places is None else double_matrix(places)
        return cls(whole(data["size"], 1), edges, lengths, flag(data.get("metric", False)), places)

    def part(self, points: list[int], chosen: list[int]) -> Space:
        """The space of some points, in their order, with the chosen edges."""
        place, ends = {point: k for k, point in enumerate(points)}, [self.edges[e] for e in chosen]
        require(all(a in place and b in place for a, b in ends), "an edge leaves its block")
        edges = [(place[a], place[b]) for a, b in ends]
        places = None if self.places is None else [self.places[point] for point in points]
        return Space(len(points), edges, [self.lengths[e] for e in chosen], self.metric, places)

    def _require_all_pairs(self) -> None:
        self.require_small()
        every = sum(count * (count - 1) // 2 for count in Counter(self.owner).values())
        listed = {(a, b) for a, b, _ in self.listed() if a != b}
        require(len(self.edges) == every == len(listed), "a metric needs each pair exactly once")

    def _require_straight(self, places: Matrix) -> None:
        require(self.metric and len(places) == self.size, "coordinates are for all points of a metric")
        require(len(places[0]) <= MOST_DIMENSIONS, "there are too many dimensions")
        Work.spend(4 * len(self.edges) * len(places[0]))
        require(all(1e-140 < length < 1e140 for length in self.lengths), "lengths lose their digits")
        for (a, b), length in zip(self.edges, self.lengths, strict=True):
            square = total((x - y) ** 2 for x, y in zip(places[a], places[b], strict=True))
            shorter, longer = square * (1 - METRIC_ERROR) ** 2, square * (1 + METRIC_ERROR) ** 2
            require(shorter <= Fraction(length) ** 2 <= longer, "a length is not that of its coordinates")

    @property
    def is_forest(self) -> bool:
        """Whether there is no circle."""
        return len(self.edges) == self.size - self.components and not self.one_way

    @cached_property
    def is_uniform(self) -> bool:
        """Whether any two of at least two points have exactly one edge, all of one length."""
        every = self.size * (self.size - 1) // 2
        even = 0 < every == len(self.edges) and len(set(self.lengths)) == 1 and not self.one_way
        return even and len({(a, b) for a, b, _ in self.listed() if a != b}) == every

    @property
    def is_whole(self) -> bool:
        """Whether all lengths are whole, with a sum below 2^53."""
        return all(length == int(length) for length in self.lengths) and sum(self.lengths) < 2**53

    @cached_property
    def near(self) -> list[list[tuple[int, int]]]:
        """For each point its neighbours, each with the edge."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.size)]
        for x, z, e in self.arcs():
            found[z].append((x, e))
        return found

    def paths(self, sources: list[int]) -> list[int | None]:
        """Shortest path from the nearest source, in grains; None where there is none."""
        Work.spend(3 * (self.size + len(self.edges)))
        found: list[int | None] = [None] * self.size
        heap = [(0, source) for source in sorted(set(sources))]
        while heap:
            away, v = heapq.heappop(heap)
            if found[v] is not None:
                continue
            found[v] = away
            for w, e in self.near[v]:
                if found[w] is None:
                    heapq.heappush(heap, (away + self.units[e], w))
        return found

    def lines(self, source: int) -> list[int | None]:
        """Distance of every point: of a metric the length as it is given, else the shortest path."""
        if not self.metric:
            return self.paths([source])
        away = {source: 0} | {w: self.units[e] for w, e in self.near[source]}
        return [away.get(v) for v in range(self.size)]

    def factor(self, rate: Fraction, units: int, up: bool) -> Fraction:
        """e^(rate·length), rounded down or up, for every true length within the metric's error."""
        key = (*rate.as_integer_ratio(), units, up)
        if key not in self.known:
            exponent = rate * units * self.grain * (1 + (self.error if (rate > 0) is up else -self.error))
            self.known[key] = exp_high(exponent) if up else exp_low(exponent)
        return self.known[key]

    def kernel_row(self, eps: Fraction, away: list[int | None], up: bool) -> list[int]:
        """e^(-ε·distance) in whole numbers of 2^-FINE, rounded down or up; 0 where there is no path."""
        known = {u: 0 if u is None else ROUNDED[up](self.factor(-eps, u, up) * 2**FINE) for u in set(away)}
        return [known[units] for units in away]

    def arcs(self) -> Iterator[Arc]:
        """(x, z, edge) where row x is bounded below by row z: both directions, or K[a] ≤ e^ε·K[b] alone."""
        for e, (a, b) in enumerate(self.edges):
            yield from ((b, a, e),) if self.one_way else ((b, a, e), (a, b, e))

    def roots_first(self) -> list[Arc]:
        """(point, parent, edge) of a forest, parents before children; a root has parent -1."""
        near, seen, order = self.near, [False] * self.size, []
        for start in range(self.size):
            waiting = [] if seen[start] else [(start, -1, -1)]
            seen[start] = True
            while waiting:
                order.append(waiting.pop())
                v = order[-1][0]
                waiting += [(w, v, e) for w, e in near[v] if not seen[w]]
                for w, _ in near[v]:
                    seen[w] = True
        return order

    def listed(self, image: Sequence[int] | None = None) -> Counter[tuple[int, int, float]]:
        """How often each edge stands, with its length; or the edge that its ends are mapped to."""
        at = range(self.size) if image is None else image
        ends = ((at[a], at[b]) for a, b in self.edges)
        return Counter((min(end), max(end), length) for end, length in zip(ends, self.lengths, strict=True))

    def require_symmetries(self, images: list[list[int]]) -> None:
        """Permutations that map edges to edges of the same length."""
        require(len(images) * len(self.edges) <= MOST_MOVED, "there are too many symmetries of so many edges")
        Work.spend(len(images) * len(self.edges))
        every, listed = list(range(self.size)), self.listed()
        for image in images:
            require(sorted(image) == every, "a symmetry must be a permutation of the points")
            require(self.listed(image) == listed, "a symmetry does not map edges to edges alike in length")

    def require_small(self) -> None:
        """Few enough points for a table of all distances."""
        require(self.size <= LARGEST_TABLE, f"{self.size} points are too many for a table of distances")

    def require_private(self, rows: Rows, shrink: Shrink, what: str) -> None:
        """Rows that are private along both directions of every edge."""
        if self.is_uniform:
            require_even(rows, shrink(0), what)
        else:
            Work.spend(len(self.edges) * len(rows[0]))
            require_private(rows, self.arcs(), shrink, what)


# ── Limits ──────────────────────────────────────────────────────────────────────────────────────────────────
LARGEST_DUAL, LARGEST_CHOICE, MOST_IMAGES, MOST_FACTORS = 10**8, 100_000, 10**8, 64
PACKINGS = ("packing", "cover", "points", "transitive", "orbits")
Sparse = dict[int, dict[int, Fraction]]


class Question(NamedTuple):
    """Which quantity is bounded: Σ A·K over private channels; A is the identity for the capacity."""

    space: Space
    eps: Fraction
    weights: Vector | None = None
    gain: Matrix | None = None

    @property
    def is_capacity(self) -> bool:
        """Whether it is the sum of column maxima."""
        return self.weights is None and self.gain is None

    def objective(self) -> tuple[Sparse, int]:
        """A without its zeros, and how many columns it has."""
        if self.gain is not None:
            held = ({w: a for w, a in enumerate(row) if a} for row in self.gain)
            return dict(enumerate(held)), len(self.gain[0])
        n = self.space.size
        require(n <= LARGEST_TABLE, f"{n} points are too many for a table of gains")
        return {v: {v: ONE if self.weights is None else self.weights[v]} for v in range(n)}, n


Bound = Callable[[Question, Content], Fraction]


def bound_by(question: Question, certificate: Any, above: bool) -> Fraction:
    """What no private channel is above, or what one reaches, by a certificate."""
    found, known = table(certificate), UPPER if above else LOWER
    kind = found["type"]
    require(isinstance(kind, str) and kind in {**known, **EITHER}, f"unknown certificate {str(kind)[:30]!r}")
    general = ("packing", "dual") if above else ("channel", "kernel")
    require(question.is_capacity or kind in general, f"{kind} bounds the capacity only")
    return EITHER[kind](question, found, above) if kind in EITHER else known[kind](question, found)


def packing_bound(y: Vector, covered: Iterable[Fraction]) -> Fraction:
    """Σy over the least that it covers a point by."""
    least = min(covered)
    require(least > 0, "the packing vector leaves some point uncovered")
    return total(y) / least


def by_packing(question: Question, found: Content) -> Fraction:
    """Σy / min_j (Φy)_j/c_j, as K[i,j] ≥ Φ[i,j]·K[j,j] and rows sum to 1."""
    space, eps = question.space, question.eps
    require(question.gain is None, "a packing certificate bounds weights, not a general gain")
    y, weights = weights_of(found["y"], space.size), question.weights or [ONE] * space.size
    every, counted = range(space.size), [v for v, weight in enumerate(weights) if weight > 0]
    if not counted:
        return ZERO
    held = _on_forest(space, eps, y) if space.is_forest else _images(space, eps, y, every, (False,))[0]
    return packing_bound(y, (held[v] / weights[v] for v in counted))


def _whole_multiples(values: list[Fraction]) -> tuple[list[int], int]:
    """Doubles as whole numbers over one power of 2."""
    below = max((value.denominator for value in values), default=1)
    return [value.numerator * (below // value.denominator) for value in values], below


def _images(space: Space, eps: Fraction, y: Vector, at: Any, ways: Any, shortest: bool = False) -> Matrix:
    """(Φy)_j for some points, for each of the ways rounded down (False) or up (True)."""
    space.require_small()
    used = [i for i, value in enumerate(y) if value]
    parts, below = _whole_multiples([y[i] for i in used])
    found: Matrix = [[] for _ in ways]
    for j in at:
        Work.spend(len(ways) * len(used))
        path = space.paths([j]) if shortest else space.lines(j)
        for up, kept in zip(ways, found, strict=True):
            row = space.kernel_row(eps, [path[i] for i in used], up)
            kept.append(Fraction(sum(a * b for a, b in zip(row, parts, strict=True)), below << FINE))
    return found


def _on_forest(space: Space, eps: Fraction, y: list[Fraction]) -> list[Fraction]:
    """Φy on a forest: what comes from below, then (1-q²)·below + q·(Φy)_parent; every sum is rounded down."""
    Work.spend(20 * space.size)
    order = space.roots_first()
    q = [math.floor(space.factor(-eps, units, False) * (1 << FINE)) for units in space.units]
    parts, below = _whole_multiples(y)
    inward = [part << FINE for part in parts]
    for v, parent, e in reversed(order):
        if parent >= 0:
            inward[parent] += inward[v] * q[e] >> FINE
    found = list(inward)
    for v, parent, e in order:
        if parent >= 0:
            rest = (1 << 2 * FINE) - q[e] * q[e]
            found[v] = (inward[v] * rest >> 2 * FINE) + (found[parent] * q[e] >> FINE)
    return [Fraction(value, below << FINE) for value in found]


def by_cover(question: Question, found: Content) -> Fraction:
    """|centres|·e^(ε·radius): a packing vector of e^(ε·radius) at the centres covers every point."""
    space, radius = question.space, Fraction(double(found["radius"]))
    centres = [position(v, space.size) for v in items(found["centres"])]
    require(bool(centres), "a cover needs a centre")
    if space.metric:
        near = columns_of([space.lines(centre) for centre in centres])
        away = [min((u for u in column if u is not None), default=None) for column in near]
    else:
        away = space.paths(centres)
    reach = radius / (space.grain * (1 + space.error))
    inside = all(units is not None and units <= reach for units in away)
    require(inside, "some point is farther from every centre than the cover's radius")
    return len(centres) * exp_high(question.eps * radius)


def dual_bound(space: Space, eps: Fraction, objective: Sparse, outputs: int, found: Content) -> Fraction:
    """Σy + n·δ, δ ≥ 0 the least with y_v + Σ f(v,·,w) - Σ e^(ε·length)·f(·,v,w) + δ ≥ A[v,w]."""
    y, entries = doubles(found["y"], space.size), max(space.size, len(space.edges)) * outputs
    require(outputs > 0 and entries <= LARGEST_DUAL, "there is no output, or a dual is too large")
    held: dict[int, dict[int, Fraction]] = {}
    for name, turned in (("forward", False), ("backward", True)):
        seen: set[Edge] = set()
        for e, w, f in multipliers(found[name], len(space.edges), outputs):
            require((e, w) not in seen, "an edge has two multipliers for one output")
            seen.add((e, w))
            tail, head = space.edges[e][::-1] if turned else space.edges[e]
            if f:
                for v, value in ((tail, f), (head, -f * space.factor(eps, space.units[e], True))):
                    row = held.setdefault(v, {})
                    row[w] = row.get(w, ZERO) + value
    worst = ZERO
    for v in range(space.size):
        row, wanted = held.get(v, {}), objective.get(v, {})
        touched = row.keys() | wanted.keys()
        short = [wanted.get(w, ZERO) - y[v] - row.get(w, ZERO) for w in touched]
        if len(touched) < outputs:
            short.append(-y[v])
        worst = max(worst, *short)
    return total(y) + space.size * worst


def multipliers(value: Any, edges: int, outputs: int) -> Iterator[tuple[int, int, Fraction]]:
    """[edge, output, f] with f ≥ 0."""
    for e, w, f in (map(double, items(entry, 3)) for entry in items(value)):
        exist = e == int(e) and w == int(w) and 0 <= e < edges and 0 <= w < outputs
        require(exist, "a multiplier names no edge or no output")
        require(f >= 0, "a multiplier is negative")
        yield int(e), int(w), Fraction(f)


def by_tree(question: Question, found: Content) -> Fraction:
    """n + Σμ - Σ_edges min(c_a, c_b, (c_a+c_b)·q/(1+q)), c = 1 + μ."""
    space, eps = question.space, question.eps
    require(space.is_forest and not space.metric, "a tree certificate is for forests")
    mu = weights_of(found["mu"], space.size)
    Work.spend(10 * space.size)
    kept = []
    for (a, b), units in zip(space.edges, space.units, strict=True):
        q = space.factor(-eps, units, False)
        kept.append(min(1 + mu[a], 1 + mu[b], (2 + mu[a] + mu[b]) * q / (1 + q)))
    return space.size + total(mu) - total(kept)


def blocks_of(space: Space, value: Any) -> list[tuple[Content, list[int], Space]]:
    """Blocks with their vertices and spaces, after checking that they decompose the graph."""
    parts, used, excess = [], Counter[int](), 0
    for block in map(table, items(value)):
        points = [position(v, space.size) for v in items(block["vertices"])]
        edges = [position(e, len(space.edges)) for e in items(block["edges"])]
        require(bool(edges) and len(points) == len(set(points)), "a block is empty or repeats a vertex")
        used.update(edges)
        excess += len(points) - 1
        parts.append((block, points, space.part(points, edges)))
    every = all(used[e] == 1 for e in range(len(space.edges)))
    require(every and used.total() == len(space.edges), "the blocks do not contain every edge exactly once")
    require(excess == space.size - space.components, "the blocks do not meet in cut vertices only")
    return parts


def by_blocks(question: Question, found: Content) -> Fraction:
    """n + Σμ + Σ_B (dual of B for the weights 1 + μ, less these weights)."""
    space, mu = question.space, weights_of(found["mu"], question.space.size)
    bound = space.size + total(mu)
    for block, vertices, part in blocks_of(space, found["blocks"]):
        weights = [1 + mu[v] for v in vertices]
        objective = {k: {k: weight} for k, weight in enumerate(weights)}
        bound += dual_bound(part, question.eps, objective, part.size, block) - total(weights)
    return bound


def by_block_bounds(question: Question, found: Content) -> Fraction:
    """n + Σ_B (bound of B - |B|)."""
    blocks = blocks_of(question.space, found["blocks"])
    bounds = (bound_by(Question(part, question.eps), block["upper"], True) for block, _, part in blocks)
    return question.space.size + total(bounds) - sum(part.size for _, _, part in blocks)


def by_symmetry(question: Question, found: Content, up: bool) -> Fraction:
    """n/Σ_i e^(-ε·d(0,i)) where symmetries move a point to every other (Alvim et al., Thm 12)."""
    require(question.space.components == 1, "a transitive certificate needs a connected graph")
    return by_orbits(question, found | {"y": [1.0], "z": [1.0], "t": 0.0}, up)


def orbits_of(space: Space, found: Content) -> list[int]:
    """The orbit of each point under symmetries, which are checked; numbered by their first points."""
    require(not space.metric and space.is_whole, "symmetries need whole lengths of a graph")
    images = [[position(v, space.size) for v in items(row)] for row in items(found["symmetries"])]
    space.require_symmetries(images)
    home = joined(space.size, itertools.chain(*map(enumerate, images)))
    number = {head: k for k, head in enumerate(dict.fromkeys(home))}
    return [number[head] for head in home]


def first_points(home: list[int]) -> list[int]:
    """The first point of each orbit."""
    return sorted(dict(zip(home[::-1], range(len(home))[::-1], strict=True)).values())


def by_orbits(question: Question, found: Content, up: bool) -> Fraction:
    """Packing, or the kernel channel, with a vector alike at points that symmetries exchange."""
    home, values = orbits_of(question.space, found), weights_of(found["y" if up else "z"])
    require(len(values) == max(home) + 1, f"the symmetries leave {max(home) + 1} orbits, not {len(values)}")
    cones, sizes = [question.space.paths([v]) for v in first_points(home)], Counter(home)
    z = [sizes[k] * value for k, value in enumerate(values)]
    lows, highs = _orbit_means(question, home, cones, z)
    return packing_bound(z, lows) if up else _kernel_value(question, found, home, [lows, highs], total(z))


def _orbit_means(question: Question, home: list[int], columns: list[Any], masses: Vector) -> Matrix:
    """Σ mass·(the mean of e^(-ε·u) over each orbit) for columns u, rounded down and up."""
    rows, sizes = [[ZERO] * (max(home) + 1) for _ in range(2)], Counter(home)
    for column, mass in zip(columns, masses, strict=True):
        for (u, k), n in Counter(zip(column, home, strict=True)).items():
            for up in (False, True) if u is not None else ():
                rows[up][k] += mass * n / sizes[k] * question.space.factor(-question.eps, u, up)
    return rows


def by_columns(question: Question, found: Content, up: bool) -> Fraction:
    """The dual with first points of orbits as outputs, or columns e^(-ε·u) spread over their images."""
    space, home = question.space, orbits_of(question.space, found)
    if up:
        y = items(found["y"], max(home) + 1)
        objective = {v: {k: ONE} for k, v in enumerate(first_points(home))}
        return dual_bound(space, question.eps, objective, len(y), found | {"y": [y[k] for k in home]})
    z, columns = weights_of(found["z"]), [list(map(position, items(u))) for u in items(found["columns"])]
    Work.spend(len(columns) * len(space.edges))
    require(all(min(u) == 0 for u in columns), "the least number of a column is 0")
    for (a, b), length in zip(space.edges, space.units, strict=True):
        require(all(abs(u[a] - u[b]) <= length for u in columns), "a column is not private along some edge")
    return _kernel_value(question, found, home, _orbit_means(question, home, columns, z), total(z))


def by_parts(question: Question, found: Content, up: bool) -> Fraction:
    """Capacities of components add up; lists of points of one part are alike, so that one is looked at."""
    space, bound = question.space, ZERO
    home: dict[int, Edge] = {}
    lists: list[list[list[int]]] = []
    parts = [table(part) for part in items(found["parts"])]
    for k, part in enumerate(parts):
        points = items(part["points"])
        rows = [items(row) for row in points] if points and isinstance(points[0], list) else [points]
        require(all(row and len(row) == len(rows[0]) for row in rows), "lists of one part differ in length")
        lists.append([[position(v, space.size) for v in row] for row in rows])
        for r, row in enumerate(lists[-1]):
            for v in row:
                require(v not in home, "a point is in two parts")
                home[v] = (k, r)
    require(len(home) == space.size, "the parts do not contain every point exactly once")
    chosen: list[list[list[int]]] = [[[] for _ in rows] for rows in lists]
    for e, (a, b) in enumerate(space.edges):
        require(home[a] == home[b], "an edge joins two parts")
        chosen[home[a][0]][home[a][1]].append(e)
    for part, rows, edges in zip(parts, lists, chosen, strict=True):
        first = space.part(rows[0], edges[0])
        for row, inside in zip(rows[1:], edges[1:], strict=True):
            require(space.part(row, inside).listed() == first.listed(), "lists of one part differ in edges")
        bound += len(rows) * bound_by(Question(first, question.eps), part, up)
    return bound


def counted_rows(value: Any, below: int, rows: Size = None) -> list[list[int]]:
    """Rows of whole numbers, equally long and not empty, that each sum to `below`."""
    found = [[whole(entry) for entry in items(row)] for row in items(value, rows)]
    fits = bool(found) and bool(found[0]) and all(len(row) == len(found[0]) for row in found)
    require(fits, "a channel is empty or ragged")
    require(all(sum(row) == below for row in found), "a channel's rows are not distributions")
    return found


def counts_of(value: Any, size: int) -> tuple[list[list[int]], int]:
    """A channel in whole numbers over one denominator."""
    data = table(value)
    below = whole(data["denominator"], 1)
    return counted_rows(data["rows"], below, size), below


def private_counts(space: Space, eps: Fraction, value: Any) -> tuple[list[list[int]], int]:
    """The same, private along every edge."""
    rows, below = counts_of(value, space.size)
    space.require_private(rows, lambda e: space.factor(-eps, space.units[e], True), "the channel")
    return rows, below


def by_channel(question: Question, found: Content) -> Fraction:
    """Σ A·K of an explicit channel."""
    rows, below = private_counts(question.space, question.eps, found)
    if question.is_capacity:
        return Fraction(sum(map(max, zip(*rows, strict=True))), below)
    objective, outputs = question.objective()
    require(outputs == len(rows[0]), "the channel needs one output for each answer")
    return total(a * rows[v][w] for v, row in objective.items() for w, a in row.items()) / below


def by_kernel(question: Question, found: Content) -> Fraction:
    """The kernel channel with one weight for each point."""
    space = question.space
    require(question.gain is None, "a kernel is not for a gain")
    z, home = weights_of(found["z"], space.size), range(space.size)
    images = _images(space, question.eps, z, home, (False, True), shortest=space.places is None)
    return _kernel_value(question, found, home, images, dot(question.weights or [ONE] * space.size, z))


def _kernel_value(question: Question, found: Any, home: Sequence[int], rows: Matrix, z: Fraction) -> Fraction:
    """(1-t)·Σcz/s + max cr for columns (1-t)·Φ[:,j]·z_j/s and r = 1 - (1-t)·Φz/s, which must be private."""
    space, t, scale = question.space, Fraction(double(found["t"])), max(rows[1])
    require(0 <= t < 1 and scale > 0, "a kernel needs 0 ≤ t < 1 and a weight above 0")
    most, least = ([1 - (1 - t) * value / scale for value in values] for values in rows)
    for a, b, units in {(home[a], home[b], u) for (a, b), u in zip(space.edges, space.units, strict=True)}:
        g = space.factor(question.eps, units, False)
        private = a == b or (most[a] <= g * least[b] and most[b] <= g * least[a])
        require(private, "the remainder of the kernel channel is not private")
    worth = question.weights or [ONE] * space.size
    require(min(worth) >= 0, "a kernel is for weights ≥ 0")
    return (1 - t) * z / scale + max(c * least[k] for c, k in zip(worth, home, strict=True))


def by_levels(question: Question, found: Content) -> Fraction:
    """1 + Σ tanh(ε·gap/2): distances to a point map the space to a line without stretching it."""
    space, source = question.space, whole(found["source"], 0, question.space.size - 1)
    require(space.is_whole and not space.metric, "levels need a point of a graph with whole lengths")
    away = sorted({units for units in space.paths([source]) if units is not None})
    q = [space.factor(-question.eps, far - near, True) for near, far in itertools.pairwise(away)]
    return 1 + total((1 - value) / (1 + value) for value in q)


def by_edges(question: Question, found: Content) -> Fraction:
    """n - (Σs + Σt)/u for channels [[u-s, s], [t, u-t]]/u on the edges of a forest."""
    space, unit = question.space, whole(found["denominator"], 1)
    require(space.is_forest and not space.metric, "a tree certificate is for forests")
    there, back = ([whole(v) for v in items(found[name], len(space.edges))] for name in ("there", "back"))
    leaving = [0] * space.size
    for (a, b), units, s, t in zip(space.edges, space.units, there, back, strict=True):
        g = space.factor(question.eps, units, False)
        moves = ((s, unit - t), (unit - t, s), (t, unit - s), (unit - s, t))
        require(all(0 <= x <= y * g for x, y in moves), "the tree's channel is not private on some edge")
        leaving[a] += s
        leaving[b] += t
    require(max(leaving) <= unit, "the tree's channel leaves a vertex with a negative probability")
    return space.size - Fraction(sum(there) + sum(back), unit)


def by_block_channels(question: Question, found: Content) -> Fraction:
    """Σ_v z_v with z_v = 1 - Σ_{B∋v} (1 - M_B[v,v]) ≥ 0."""
    stays = [ONE] * question.space.size
    for block, vertices, part in blocks_of(question.space, found["blocks"]):
        rows, below = private_counts(part, question.eps, block)
        require(len(rows[0]) == part.size, "a block's channel must be square")
        for k, v in enumerate(vertices):
            stays[v] -= 1 - Fraction(rows[k][k], below)
    require(all(z >= 0 for z in stays), "the block channels leave a vertex with a negative probability")
    return total(stays)


UPPER: dict[str, Bound] = {"packing": by_packing, "cover": by_cover, "tree": by_tree, "blocks": by_blocks}
UPPER |= {"block bounds": by_block_bounds, "points": lambda question, _: Fraction(question.space.size)}
UPPER["dual"] = lambda question, found: dual_bound(question.space, question.eps, *question.objective(), found)
EITHER = {"transitive": by_symmetry, "orbits": by_orbits, "columns": by_columns, "parts": by_parts}
LOWER: dict[str, Bound] = {"channel": by_channel, "kernel": by_kernel, "levels": by_levels, "tree": by_edges}
LOWER["blocks"] = by_block_channels


def is_packing(certificate: Content) -> bool:
    """Whether a certificate is a packing vector: those multiply over independent records."""
    if certificate["type"] == "parts":
        return all(is_packing(table(part)) for part in items(certificate["parts"]))
    return certificate["type"] in PACKINGS


def ordered(lower: Fraction, upper: Fraction) -> None:
    """A lower bound above an upper one shows that a certificate is wrong."""
    require(lower <= upper, "the lower bound exceeds the upper bound")


def level(proof: Content, name: str = "eps") -> Fraction:
    """ε ≥ 0."""
    eps = exact(proof[name])
    require(eps >= 0, f"{name} must be ≥ 0")
    return eps


def probability(value: Any, what: str = "a probability") -> Fraction:
    """From 0 to 1."""
    found = exact(value)
    require(0 <= found <= 1, f"{what} must be from 0 to 1")
    return found


def worst_leakage(proof: Content) -> str:
    """An upper bound for every private channel of a space, and a channel below it."""
    space, eps = Space.read(proof["space"]), level(proof)
    weights = None if proof.get("weights") is None else doubles(proof["weights"], space.size)
    gain = None if proof.get("gain") is None else double_matrix(proof["gain"], space.size)
    copies, question = copies_of(proof), Question(space, eps, weights, gain)
    powers = question.is_capacity and is_packing(table(proof["upper"]))
    require(copies == 1 or powers, "over several records only a packing certificate bounds the capacity")
    upper, reached = bound_by(question, proof["upper"], True), ""
    each = f" to the power of {copies}" if copies > 1 else ""
    if proof["lower"] is not None:
        lower = bound_by(question, proof["lower"], False)
        ordered(lower, upper)
        reached = f", and of some channel at least {shown(lower, False)}{each}"
    what = "sum of column maxima" if question.is_capacity else "expected gain"
    about = f"on {space.size} points with ε = {eps}"
    return f"{about}, the {what} of every private channel is at most {shown(upper)}{each}{reached}"


def copies_of(proof: Content) -> int:
    """How many independent records there are."""
    return whole(proof.get("copies", 1), 1)


def capacity(where: str, eps: Fraction, ends: Ends, copies: int = 1) -> str:
    """The largest sum of column maxima of a private channel, of so many records."""
    ordered(*ends)
    each = f", each to the power of {copies}" if copies > 1 else ""
    return f"on {where} with ε = {eps}, the largest sum of column maxima is {between(*ends)}{each}"


def worst_leakage_of_a_product(proof: Content) -> str:
    """Packing vectors fold their factors of a Cartesian product away; channels multiply."""
    eps, copies, factors = level(proof), copies_of(proof), [table(part) for part in items(proof["factors"])]
    require(1 <= len(factors) <= MOST_FACTORS, f"a product has from 1 to {MOST_FACTORS} factors")
    spaces = [Space.read(part["space"]) for part in factors]
    loose = sum(not is_packing(table(part["upper"])) for part in factors)
    require(loose <= (copies == 1), "all factors but one must be bounded by packing vectors, of records all")
    given, places = proof["given"], proof["places"]
    require((given is None) == (places is None), "a given space and the places of its points go together")
    if given is not None:
        _require_product(Space.read(given), items(places), spaces)
    lower = upper = ONE
    for part, space in zip(factors, spaces, strict=True):
        question = Question(space, eps)
        high, low = bound_by(question, part["upper"], True), bound_by(question, part["lower"], False)
        ordered(low, high)
        lower, upper = lower * low, upper * high
    sizes = " × ".join(str(space.size) for space in spaces)
    return capacity(f"a product of {sizes} points", eps, (lower, upper), copies)


def _require_product(given: Space, places: list[Any], spaces: list[Space]) -> None:
    """A point for each choice of places; edges that move one place along an edge of its factor, each once."""
    require(not given.metric and not any(space.metric for space in spaces), "a product of edges is no metric")
    where = [tuple(position(place) for place in items(row, len(spaces))) for row in places]
    exist = all(place < space.size for row in where for place, space in zip(row, spaces, strict=True))
    require(exist and len(where) == given.size == len(set(where)), "points need different places that exist")
    require(math.prod(space.size for space in spaces) == given.size, "a choice of places has no point")
    found: list[Counter[tuple[int, int, float]]] = [Counter() for _ in spaces]
    for (a, b), length in zip(given.edges, given.lengths, strict=True):
        moved = [k for k in range(len(spaces)) if where[a][k] != where[b][k]]
        require(len(moved) == 1, "an edge changes no place, or several")
        ends = where[a][moved[0]], where[b][moved[0]]
        found[moved[0]][min(ends), max(ends), length] += 1
    require(len({(a, b) for a, b, _ in given.listed()}) == len(given.edges), "an edge stands twice")
    for part, counted in zip(spaces, found, strict=True):
        wanted = {edge: given.size // part.size * count for edge, count in part.listed().items()}
        require(counted == wanted, "the edges are not those of the product")


def worst_leakage_one_way(proof: Content) -> str:
    """The same where inequalities run one way: K[a] ≤ e^ε·K[b] for an arc from a to b."""
    size, eps, found = whole(proof["size"], 1, LARGEST_SIZE), level(proof), table(proof["upper"])
    space = Space(size, [(position(a, size), position(b, size)) for a, b in couples(proof["arcs"])])
    space.one_way = True
    rows, below = private_counts(space, eps, proof["lower"])
    lower = Fraction(sum(map(max, columns_of(rows))), below)
    if found["type"] == "dual":
        require(items(found["backward"]) == [], "an arc has no multiplier in the other direction")
        upper = dual_bound(space, eps, {v: {v: ONE} for v in range(size)}, size, found)
    else:
        require(found["type"] == "packing", "unknown upper certificate")
        upper = by_packing(Question(space, eps), found)
    return capacity(f"{size} points with {len(space.edges)} one-way inequalities", eps, (lower, upper))


def worst_leakage_in_closed_form(proof: Content) -> str:
    """Both ends by the closed form of a complete graph, a line, a star or a row."""
    eps, n, form, copies = level(proof), whole(proof["size"], 1, 10**15), proof["form"], copies_of(proof)
    needs = {"complete": ["length"], "line": ["gaps"], "star": [], "row": ["reach"]}
    require(isinstance(form, str) and form in needs, "the form is unknown")
    given = [name for name in ("length", "gaps", "reach") if proof[name] is not None]
    require(given == needs[form], "the form does not go with what is given")
    ends = _closed_end(proof, eps, n, 0), _closed_end(proof, eps, n, 1)
    return capacity(f"{n} values ({form})", eps, ends, copies)


def _closed_end(proof: Content, eps: Fraction, n: int, up: int) -> Fraction:
    """The lower or the upper end."""
    if proof["form"] == "complete":
        return n / (1 + (n - 1) * exp_ends(-eps * level(proof, "length"))[1 - up])
    if proof["form"] == "line":
        gaps = [(exact(gap), whole(times, 1)) for gap, times in couples(proof["gaps"])]
        require(len(gaps) <= 100_000 and all(gap >= 0 for gap, _ in gaps), "at most 100,000 gaps ≥ 0")
        require(sum(times for _, times in gaps) == n - 1, "a line has one gap less than values")
        Work.spend(100 * len(gaps))
        return 1 + total(outward(times * half_tanh(eps * gap, up), up) for gap, times in gaps)
    if proof["form"] == "star":
        return min([1 + (n - 1) * half_tanh(eps, up), *([exp_ends(eps)[up]] if eps < n.bit_length() else [])])
    return _row_end(n, whole(proof["reach"], 1), eps, exp_ends(-eps)[1 - up], up)


def half_tanh(x: Fraction, up: int) -> Fraction:
    """tanh(x/2) = (1-q)/(1+q) with q = e^-x, from below or above."""
    q = exp_ends(-x)[1 - up]
    return (1 - q) / (1 + q)


def outward(value: Fraction, up: int) -> Fraction:
    """A multiple of 2^-FINE_BITS above or below."""
    return dyadic(ROUNDED[up](value * (1 << FINE_BITS)), -FINE_BITS)


def _row_end(n: int, near: int, eps: Fraction, q: Fraction, up: int) -> Fraction:
    """One end for a row: clamped noise below; packings of all, of blocks, of the middle above."""
    require(eps > 0, "ε is above 0 in a row")
    if n - 1 <= near:
        return n / (1 + (n - 1) * q)
    if not up:
        return max(ONE, (n * (1 - q) + 2 * near * q) / (1 - q + 2 * near * q))
    blocks, left = divmod(n, near + 1)
    cliques = blocks * (near + 1) / (1 + near * q) + (left / (1 + (left - 1) * q) if left else ZERO)
    hops = -(-(n // 2) // near)
    middle = [exp_high(eps * hops)] if eps * hops < n.bit_length() else []
    return min(Fraction(n), (n * (1 - q) + 2 * (near - 1 + q)) / (1 - q + 2 * near * q), cliques, *middle)


def worst_leakage_of_a_map(proof: Content) -> str:
    """A packing by sums over the cells of a map, or the largest belief; planar geometric noise below."""
    eps, step, found, copies = level(proof), exact(proof["step"]), table(proof["upper"]), copies_of(proof)
    sizes = [whole(proof[name], 1, 10**6) for name in ("rows", "columns")]
    every = [whole(k, 1) for k in items(found["every"], 2)]
    require(step > 0, "a cell is wider than 0")
    weights = None if found["weights"] is None else double_matrix(found["weights"])
    prior = None if proof["prior"] is None else double_matrix(proof["prior"], *sizes)
    reach, where = whole(found["reach"], 0, 1000), f"a map of {sizes[0]} by {sizes[1]} cells"
    t, noise = eps * step, _planar_noise(eps * step, sizes, proof["terms"])
    if prior is None:
        require(weights is not None, "without a prior the bound needs weights")
        return capacity(where, eps, (noise, _covered_map(t, sizes, every, weights or [], reach)), copies)
    require(copies == 1 and sizes[0] * sizes[1] <= 10**6, "a prior goes with one record and a million cells")
    shares = list(itertools.chain(*prior))
    require(all(map(_sound, shares)) and any(shares), "a share is 0 or from 1e-100 to 1e100, one above 0")
    blind = max(shares) / total(shares)
    if weights is not None:
        upper = min(ONE, blind * _covered_map(t, sizes, every, weights, reach))
    else:
        require(every == [1, 1], "beliefs are bounded at every cell")
        sums = itertools.chain(*_map_sums(t, every, prior, sizes, reach))
        upper = min(ONE, max(p / s for p, s in zip(shares, sums, strict=True) if p))
    ordered(blind, upper)
    about = f"on {where} with ε = {eps}, the best guess of a cell is at most {shown(upper)} with this prior"
    return f"{about}, and {shown(blind, False)} without a release"


def _sound(value: Fraction) -> bool:
    """Numbers that doubles multiply without losing digits."""
    return value == 0 or Fraction(1, 10**100) <= value <= 10**100


def _covered_map(t: Fraction, sizes: list[int], every: list[int], weights: Matrix, reach: int) -> Fraction:
    """Σy over the least Σ_j e^(-t·|i-j|)·y_j, and what the cells between them lack; at most all cells."""
    require(all(k // 2 < size for k, size in zip(every, sizes, strict=True)), "no cell has a weight")
    counts = [1 + (size - 1 - k // 2) // k for size, k in zip(sizes, every, strict=True)]
    shape = [len(weights), len(weights[0])]
    fits = all(a == n or (a < n and a % 2) for a, n in zip(shape, counts, strict=True))
    require(fits, "a table of weights has one for each cell, or an odd number of rows or columns")
    require(all(_sound(y) for row in weights for y in row), "a weight is 0 or from 1e-100 to 1e100")
    least = min(map(min, _map_sums(t, every, weights, counts, reach)))
    require(least > 0, "the weights leave some cell uncovered")
    often = [[n - a + 1 if k == a // 2 else 1 for k in range(a)] for a, n in zip(shape, counts, strict=True)]
    rows = [dot(row, list(map(Fraction, often[1]))) for row in weights]
    bound, ends = dot(rows, list(map(Fraction, often[0]))) / least, zip(sizes, every, counts, strict=True)
    away = [max(k // 2, size - 1 - k // 2 - k * (n - 1)) for size, k, n in ends]
    far = t * root_ends(Fraction(away[0] ** 2 + away[1] ** 2))[1] if any(away) else ZERO
    return min(bound * exp_high(min(far, Fraction(100))), Fraction(sizes[0] * sizes[1]))  # e^100 is enough


def _map_sums(t: Fraction, every: list[int], weights: Matrix, counts: list[int], reach: int) -> Matrix:
    """At or below Σ_j e^(-t·|i-j|)·y_j, by one product of long whole numbers whose digits are the cells.

    Far from all borders cells have the same weights around them, so that a shorter map has the same sums."""
    shape, cells = [len(weights), len(weights[0])], 1
    taken: list[list[int]] = []
    for a, count in zip(shape, counts, strict=True):
        n = min(count, 2 * (reach + a // 2) + 1)
        cells *= n * min(2 * reach + 1, count)
        require(cells <= 4 * 10**9, "the sums take too many products")
        inward = [min(k, n - 1 - k, a // 2) for k in range(n)]
        taken.append([k if 2 * place < n - 1 else a - 1 - k for place, k in enumerate(inward)])
    high, wide = map(len, taken)
    down, across = min(reach, high - 1), min(reach, wide - 1)
    line, unit, largest = wide + 2 * across, 10**30, max(map(max, weights)) or ONE
    Work.spend(40 * (down + 1) * (across + 1) + 4 * line * (high + 2 * down))
    kernel, digits = {0: unit}, list[list[int]]()
    for a in range(-down, down + 1):
        squares = [(every[0] * a) ** 2 + (every[1] * b) ** 2 for b in range(-across, across + 1)]
        for square in set(squares) - kernel.keys():
            kernel[square] = math.floor(exp_ends(-t * root_ends(Fraction(square))[1], 128)[0] * unit)
        digits.append([kernel[square] for square in squares] + [0] * (wide - 1))
    scaled = [[math.floor(y * unit / largest) for y in row] for row in weights]
    spread = [[scaled[i][j] for j in taken[1]] + [0] * (2 * across) for i in taken[0]]
    found = str(EXACTLY.multiply(long_number(digits), long_number(spread)))
    found = found.zfill(PLACES * (line * (high + 2 * down + 1) - 1))
    lines = (range(i * line + across, i * line + across + wide) for i in range(down, down + high))
    return [[int(found[PLACES * k : PLACES * (k + 1)]) * largest / unit**2 for k in row] for row in lines]


# `decimal` multiplies long numbers quickly. Decimal places of a sum of 10^7 products of numbers up to 10^30.
EXACTLY, PLACES = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact]), 68


def long_number(rows: list[list[int]]) -> decimal.Decimal:
    """Numbers as the digits of one, the first as the highest."""
    return EXACTLY.create_decimal("".join(f"{digit:0{PLACES}d}" for row in rows for digit in row))


def _planar_noise(t: Fraction, sizes: list[int], terms: Any) -> Fraction:
    """(n + 2(rows + columns)·h + 4Q)/(1 + 4h + 4Q), h = Σ_{k≥1} e^(-t·k), Q ≥ Σ_{a,b≥1} e^(-t·|(a,b)|)."""
    m = None if terms is None else whole(terms, 1, 400)
    if exp_ends(-t)[1] >= 1:  # t is 0, or too small to tell
        return ONE
    low, high = (q / (1 - q) for q in exp_ends(-t))
    if m is None:
        x = (t / (2 * PI_ENDS[0])) ** 2, (t / (2 * PI_ENDS[1])) ** 2
        # (1+x)^(-3/2) ≤ 1 - 3x/2 + 15x²/8, with Σ_{k≠0} |k|^-s for s = 3, 5, 7: above 0 for every x.
        rest = POISSON[0] - Fraction(3, 2) * x[1] * POISSON[1] + Fraction(15, 8) * x[0] ** 2 * POISSON[2]
        whole_plane = 2 * PI_ENDS[1] / t**2 + t / (4 * PI_ENDS[0] ** 2) * rest
        quadrant = max(ZERO, (whole_plane - 1 - 4 * low) / 4)
    else:
        Work.spend(20 * m * m)
        pairs = itertools.combinations_with_replacement(range(1, m + 1), 2)
        away = ((2 if a < b else 1, root_ends(Fraction(a * a + b * b))[0]) for a, b in pairs)
        rest = PI_ENDS[1] / 2 * exp_high(-t * m) * (m / t + 1 / t**2)
        quadrant = total(times * outward(exp_ends(-t * root, 128)[1], 1) for times, root in away) + rest
    n, around = sizes[0] * sizes[1], 2 * (sizes[0] + sizes[1])
    return max(ONE, (n + around * low + 4 * quadrant) / (1 + 4 * high + 4 * quadrant))


POISSON = Fraction("9.0336216832"), Fraction("5.0902582336"), Fraction("4.4231177877")


def worst_of_groups(proof: Content) -> str:
    """Bounds for the worst of several groups of points."""
    space, eps = Space.read(proof["space"]), level(proof)
    cases = [table(case) for case in items(proof["cases"])]
    require(bool(cases), "there must be a group")
    symmetries = [[whole(v) for v in items(image)] for image in items(proof["symmetries"])]
    outputs = None if proof["outputs"] is None else whole(proof["outputs"], 1)
    groups, what = [_group(space, case["points"]) for case in cases], f"any of {len(cases)} groups"
    if outputs is not None:
        _require_every_choice(space, groups, symmetries, outputs)
        what = f"any {outputs} points (channels with {outputs} outputs)"
    bounds, reached = zip(groups, cases, strict=True), ""
    upper = max(_group_bound(space, eps, group, table(case["upper"])) for group, case in bounds)
    if proof["lower"] is not None:
        reach = table(proof["lower"])
        group = _group(space, reach["points"])
        require(outputs is not None or group in groups, "the channel is about a group that is not listed")
        require(outputs is None or len(group) <= outputs, "the channel has more outputs than are allowed")
        rows, below = private_counts(space, eps, reach["channel"])
        require(len(rows[0]) == len(group), "the channel needs one output for each point of its group")
        lower = Fraction(sum(rows[v][k] for k, v in enumerate(group)), below)
        ordered(lower, upper)
        reached = f", and of some channel at least {shown(lower, False)}"
    about = f"on {space.size} points with ε = {eps}, the probability mass on the right answer about {what}"
    return f"{about} is at most {shown(upper)}{reached}"


def _group(space: Space, value: Any) -> list[int]:
    group = [whole(v, 0, space.size - 1) for v in items(value)]
    require(bool(group) and len(set(group)) == len(group), "a group must name different points of the space")
    return group


def _group_bound(space: Space, eps: Fraction, group: list[int], found: Content) -> Fraction:
    if found["type"] == "dual":
        return dual_bound(space, eps, {v: {k: ONE} for k, v in enumerate(group)}, len(group), found)
    require(found["type"] == "packing", "unknown upper certificate")
    on = _group(space, found["on"])
    y = weights_of(found["y"], len(on))
    spread = dict(zip(on, y, strict=True))
    given = [spread.get(v, ZERO) for v in range(space.size)]
    return packing_bound(y, _images(space, eps, given, group, (False,))[0])


def _require_every_choice(space: Space, groups: Rows, symmetries: Rows, count: int) -> None:
    """Every group of `count` points is the image of a listed one."""
    most = min(LARGEST_CHOICE, MOST_IMAGES // max(1, len(symmetries)))
    few = count <= space.size and math.comb(space.size, count) <= most
    require(few, "there are too many groups of that many points")
    space.require_symmetries(symmetries)
    seen: set[tuple[int, ...]] = set()
    for group in groups:
        require(len(group) == count, "a group has another number of points than outputs are allowed")
        waiting = [tuple(sorted(group))]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                Work.spend(1 + count * len(symmetries))
                waiting += [tuple(sorted(image[v] for v in current)) for image in symmetries]
    require(len(seen) == math.comb(space.size, count), "some choice of outputs is no image of a group")


# ── Promises ────────────────────────────────────────────────────────────────────────────────────────────────
LARGEST_RELEASES = 100_000


def claimed_ends(proof: Content, lower: Fraction, upper: Fraction) -> None:
    """lower claimed ≤ lower proved ≤ upper proved ≤ upper claimed."""
    ordered(lower, upper)
    proves = exact(proof["lower"]) <= lower and upper <= exact(proof["upper"])
    require(proves, "the certificate does not prove the ends that it states")


def guess_bounds(proof: Content) -> Ends:
    """The best guess among values any two of which are neighbours, from both sides."""
    eps, delta, values = level(proof), probability(proof["delta"]), whole(proof["values"])
    used, cover = whole(proof["used"], 1, values), vector(proof["cover"])
    not_negative(cover, "the cover")
    q, growth = exp_low(-eps), exp_low(eps)
    if proof["prior"] is None:
        require(len(cover) == 1, "equally likely values need one entry of the cover")
        spent, share = values * cover[0], Fraction(used, values)
        bounded = (cover[0] + q * (spent - cover[0])) * values >= 1
    else:
        prior = prior_of(proof["prior"], values)
        require(len(cover) == values, "the cover needs one entry for each value")
        spent, share = total(cover), total(sorted(prior, reverse=True)[:used])
        bounded = all(y + q * (spent - y) >= p for y, p in zip(cover, prior, strict=True) if p)
    require(bounded, "the cover does not bound the guess of every value")
    lower = delta + (1 - delta) * share * growth / (growth + used - 1)
    upper = min(ONE, delta + (1 - delta) * spent)
    claimed_ends(proof, lower, upper)
    return lower, upper


def guess_under_a_claim(proof: Content) -> str:
    """One release."""
    about = f"for ε = {proof['eps']}, δ = {proof['delta']}"
    return f"{about} the best guess among {proof['values']} values is {between(*guess_bounds(proof))}"


def guess_under_a_divergence(proof: Content) -> str:
    """Equally likely values: randomised response of ε has the promised divergence at one order."""
    values = whole(proof["values"], 2)
    order, limit, eps, upper = (exact(proof[name]) for name in ("order", "divergence", "eps", "upper"))
    require(order >= 1 and limit >= 0 and eps >= 0, "order ≥ 1, divergence ≥ 0 and eps ≥ 0 are needed")
    rho = maybe(proof["rho"])
    require(rho is not None or order > 1, "without ρ the order must be above 1")
    require(rho is None or limit == order * rho, "the divergence must be ρ times the order")
    low, high = exp_ends(eps)
    if order == 1:
        reached = eps * (low - 1) >= limit * (low + values - 1)
    else:
        told = exp_low(order * eps) + exp_low((1 - order) * eps) + values - 2
        reached = told >= exp_ends((order - 1) * limit)[1] * (high + values - 1)
    require(reached, "the response of eps keeps the divergence")
    require(high / (high + values - 1) <= upper <= 1, "upper is less than the guess of the response")
    about = f"where the divergence of order {order} is at most {limit}"
    return f"{about}, the best guess among {values} equally likely values is at most {shown(upper)}"


def outcomes(eps: Fraction, releases: int) -> list[Span]:
    """C(k,l)·p^(k-l)·q^l for l = 0 … k, with p = 1/(1+e^-ε) and q = e^-ε·p."""
    Work.spend(8 * releases)
    low, high = exp_ends(-eps)
    right, shrink = Span.of((1 / (1 + high), 1 / (1 + low))), Span.of((low, high))
    found = [right.power(releases)]
    for k in range(releases):
        found.append((found[-1] * shrink).times(releases - k, k + 1))
    return found


def after_hiding(delta: Fraction, releases: int, inner: Ends) -> Ends:
    """1 - (1-δ)^k + (1-δ)^k·inner."""
    hidden = Span.of((1 - delta, 1 - delta)).power(releases).ends() if delta < 1 else (ZERO, ZERO)
    ends = [1 - part + part * value for part in hidden for value in inner]
    return min(ends), max(ends)


def repeated_guess_between_two_values(proof: Content) -> str:
    """Two values, several releases (Kairouz, Oh and Viswanath, Thm 3.3)."""
    eps, delta, prior = level(proof), probability(proof["delta"]), prior_of(proof["prior"], 2)
    releases = whole(proof["releases"], 1, LARGEST_RELEASES)
    ways = outcomes(eps, releases)
    first, second = (Span.of((p, p)) if p else NOTHING for p in prior)
    best = sum(((first * a).joined(second * b) for a, b in zip(ways, ways[::-1], strict=True)), NOTHING)
    low, high = after_hiding(delta, releases, best.ends())
    lower, upper = probability(proof["lower"]), probability(proof["upper"])
    require(lower <= max(ZERO, low) and min(ONE, high) <= upper, "the stated ends do not enclose the guess")
    about = f"after {releases} releases with ε = {eps}, δ = {delta} each"
    return f"{about}, the best guess between two values, {prior[0]} the first, is {between(lower, upper)}"


def guess_after_several_releases(proof: Content) -> str:
    """Several releases, by what they are together."""
    eps, delta, claim = level(proof), probability(proof["delta"]), table(proof["total"])
    releases, together = whole(proof["releases"], 1, LARGEST_RELEASES), level(claim)
    counted = [k for k in range(releases + 1) if (releases - 2 * k) * eps > together]
    ways = outcomes(eps, releases) if counted else []
    above, below = (sum((found[k] for k in counted), NOTHING) for found in (ways, ways[::-1]))
    allowed = exp_ends(together) if counted else (ONE, ONE)
    (least, most), (less, more) = above.ends(), below.ends()
    proved = after_hiding(delta, releases, (least - allowed[1] * more, most - allowed[0] * less))[1]
    enough = min(ONE, max(ZERO, proved)) <= probability(claim["delta"])
    require(enough, "the releases together are not as private as the proof says")
    upper, about = guess_bounds(claim)[1], f"after {releases} releases with ε = {eps}, δ = {delta} each"
    return f"{about}, the best guess among {claim['values']} values is at most {shown(upper)}"


# 1/√(2π) between rationals, from 70 digits of π.
PI = 31415926535897932384626433832795028841971693993751058209749445923078164
PI_ENDS = Fraction(PI, 10**70), Fraction(PI + 1, 10**70)
FINE_BITS = 240


def root_ends(x: Fraction) -> Ends:
    """√x between two multiples of 2^-FINE_BITS."""
    found = math.isqrt((x.numerator << 2 * FINE_BITS) // x.denominator)
    return dyadic(found, -FINE_BITS), dyadic(found + 1, -FINE_BITS)


ROOT = root_ends(2 * PI_ENDS[0])[0], root_ends(2 * PI_ENDS[1])[1]


def density(t: Fraction) -> Ends:
    """φ(t) = e^(-t²/2)/√(2π)."""
    low, high = exp_ends(-t * t / 2, FINE_BITS)
    return low / ROOT[1], high / ROOT[0]


def below(t: Fraction) -> Ends:
    """Φ(t): 1/2 + φ(t)·Σ t^(2k+1)/(1·3·…·(2k+1)) for t ≥ 0; beyond 15 from 1 - φ(t)/t to 1."""
    if t < 0:
        low, high = below(-t)
        return 1 - high, 1 - low
    least, most = density(t)
    if t > 15:
        return 1 - most / t, ONE
    sums = []
    for rounded in ROUNDED:
        # Terms are positive, so that rounded down any of them are enough; once terms halve, those after the
        # last are no more than that one.
        square, term = rounded(t * t * 2**FINE_BITS), rounded(t * 2**FINE_BITS)
        found, k = term, 0
        while term > 1 or (2 * k + 3) << FINE_BITS < 2 * square:
            k += 1
            term = rounded(Fraction(term * square, (2 * k + 1) << FINE_BITS))
            found += term
        sums.append(dyadic(found + (term if rounded is math.ceil else 0), -FINE_BITS))
    return Fraction(1, 2) + least * sums[0], min(ONE, Fraction(1, 2) + most * sums[1])


def guess_through_gaussian_noise(proof: Content) -> str:
    """∫ φ(t)·Φ(t + μ/√2)^(v-1) dt by the trapezoidal rule (Trefethen and Weideman, Thm 5.1)."""
    values, terms = whole(proof["values"], 2, 10**6), whole(proof["terms"], 1, 4000)
    mu, step, strip = (exact(proof[name]) for name in ("mu", "step", "strip"))
    require(0 <= mu <= 100 and 0 < step <= 1 and 0 < strip <= 10, "mu, step or strip is out of range")
    Work.spend(2000 * terms)
    found, shift = NOTHING, root_ends(mu * mu / 2)
    for k in range(-terms, terms + 1):
        # Rounded outwards to a grid, so that numbers stay short; Φ grows.
        ends = [Fraction(f((k * step + s) * 2**200), 2**200) for f, s in zip(ROUNDED, shift, strict=True)]
        known = max(ZERO, below(ends[0])[0]), below(ends[1])[1]
        found = found + Span.of(density(k * step)) * Span.of(known).power(values - 1)
    widest = exp_ends(strip * strip / 2)[1]
    grown = Span.of((1 + strip * widest / ROOT[0],) * 2).power(values - 1).ends()[1]
    error = 2 * widest * grown / (exp_low(2 * PI_ENDS[0] * strip / step) - 1)
    rest = 2 * density(terms * step)[1] / (terms * step)
    least, most = found.ends()[0] * step - error, found.ends()[1] * step + error + rest
    lower, upper = exact(proof["lower"]), exact(proof["upper"])
    require(lower <= max(ZERO, least) and min(ONE, most) <= upper, "the stated ends do not enclose the guess")
    about = f"the best guess among {values} equally likely answers, {shown(mu)} standard deviations apart"
    return f"{about}, through Gaussian noise is {between(lower, upper)}, and no better where some are nearer"


def approximate_worst_guess(proof: Content) -> str:
    """The largest expected gain under (ε, δ), by weak duality and by a channel."""
    space, eps, delta = Space.read(proof["space"]), level(proof), probability(proof["delta"])
    gain, dual = double_matrix(proof["objective"], space.size), table(proof["dual"])
    objective, outputs = Question(space, eps, None, gain).objective()
    upper = dual_bound(space, eps, objective, outputs, dual)
    for name in ("forward", "backward"):
        largest: dict[int, Fraction] = {}
        for e, _, f in multipliers(dual[name], len(space.edges), outputs):
            largest[e] = max(largest.get(e, ZERO), f)
        upper += delta * total(largest.values())
    rows, below = counts_of(proof["channel"], space.size)
    require(len(rows[0]) == outputs, "the channel needs one output for each answer")
    Work.spend(len(space.edges) * outputs)
    for x, z, e in space.arcs():
        above, under = space.factor(eps, space.units[e], False).as_integer_ratio()
        over = sum(max(0, p * under - q * above) for p, q in zip(rows[x], rows[z], strict=True))
        require(over <= delta * under * below, "the channel is not private enough")
    lower = total(a * rows[v][w] for v, row in objective.items() for w, a in row.items()) / below
    claimed_ends(proof, lower, upper)
    about = f"on {space.size} points with ε = {eps}, δ = {delta}"
    return f"{about} the largest expected gain through a private channel is {between(lower, upper)}"


# ── Designs ─────────────────────────────────────────────────────────────────────────────────────────────────
UNIT, MOST_BITS, PRIOR_ERROR = 2**53, 2**17, Fraction(1, 10**8)


@lru_cache(maxsize=1 << 14)
def power(alpha: Fraction, length: float) -> Fraction:
    """alpha^length for a whole length (any where alpha is 0 or 1), in numbers of bounded size."""
    if length == 0 or alpha in (0, 1):
        return alpha if length else ONE
    require(length == int(length), "an exact alpha needs whole lengths")
    bits = max(alpha.numerator.bit_length(), alpha.denominator.bit_length())
    require(int(length) * bits <= MOST_BITS, "a power of alpha has too many digits")
    return Fraction(alpha ** int(length))


def require_one_level(eps: Fraction | None, alpha: Fraction | None) -> None:
    """eps ≥ 0, or alpha from 0 to 1."""
    require((eps is None) != (alpha is None), "give exactly one of eps and alpha")
    require(eps is None or eps >= 0, "eps must be ≥ 0")
    require(alpha is None or 0 <= alpha <= 1, "alpha must be from 0 to 1")


def about_one(prior: list[Fraction]) -> None:
    """A prior of doubles."""
    fits = all(0 <= p <= 1 for p in prior) and abs(total(prior) - 1) <= PRIOR_ERROR
    require(fits, "the prior is not a distribution")


def optimal_design(proof: Content) -> str:
    """A private mechanism, what it loses, and what no private one loses less than."""
    space, eps, alpha = Space.read(proof["space"]), maybe(proof.get("eps")), maybe(proof.get("alpha"))
    require_one_level(eps, alpha)
    bits = whole(proof.get("bits", 53), 53, 4096)
    known = {length: shrunk(length, eps, alpha, BITS + bits - 53) for length in set(space.lengths)}
    counts = counted_rows(proof["counts"], 2**bits, space.size)
    m = len(counts[0])
    require(bits == 53 or not items(proof["uniform"]), "beyond 53 bits no part is uniform")
    prior, loss = vector(proof["prior"], space.size), matrix(proof["loss"], m, space.size)
    about_one(prior)
    space.require_private(counts, lambda e: known[space.lengths[e]][1], "the mechanism")
    Work.spend(6 * space.size * m * (1 + bits // 512))
    rows = zip(prior, columns_of(loss), counts, strict=True)
    spent = total(p * dot(losses, list(map(Fraction, row))) for p, losses, row in rows)
    lower, upper = (Fraction(nearest(proof[name])) for name in ("lower", "upper"))
    require(spent / 2**bits <= upper, "the mechanism loses more than is claimed")
    require(lower <= _proved(space, known, prior, loss, proof, bits), "the multipliers prove less than lower")
    ordered(lower, upper)
    name = f"ε = {eps}" if eps is not None else f"e^-ε = {alpha}"
    about = f"the mechanism on {space.size} inputs is private with {name} and loses at most {shown(upper)}"
    return f"{about}; no such mechanism loses less than {shown(lower, False)}"


def shrunk(length: float, eps: Fraction | None, alpha: Fraction | None, digits: int) -> Ends:
    """e^(-ε·length) rounded outwards to 2^-digits, or alpha^length."""
    if eps is None:
        return (power(alpha or ZERO, length),) * 2
    low, high = exp_ends(-eps * Fraction(length))
    return dyadic(math.floor(low * 2**digits), -digits), dyadic(math.ceil(high * 2**digits), -digits)


def on_arcs(space: Space, value: Any, read: Callable[[Any], int]) -> Iterator[tuple[Any, ...]]:
    """[arc, output, y]: ends and length of edge arc // 2, turned round where the arc is odd; output and y."""
    for arc, w, y in (items(entry, 3) for entry in items(value)):
        e, turned = divmod(read(arc), 2)
        require(e < len(space.edges), "a multiplier names no edge")
        a, b = space.edges[e]
        yield (b, a, space.lengths[e], w, y) if turned else (a, b, space.lengths[e], w, y)


Known = dict[float, Ends]


def _proved(space: Space, known: Known, prior: Vector, loss: Matrix, proof: Content, bits: int) -> Fraction:
    """Σ_x min_w of the brackets, and the share of uniform parts by their prices.

    What multipliers change is counted in whole numbers of 2^-digits, rounded so that brackets only fall."""
    digits = BITS + bits - 53
    changes = [[0] * len(loss) for _ in range(space.size)]
    below = {length: math.floor(q * 2**digits) for length, (q, _) in known.items()}
    for left, right, length, w, value in on_arcs(space, proof["multipliers"], position):
        above, under = double(value).as_integer_ratio() if bits == 53 else (whole(value), 2**bits)
        require(above >= 0, "a multiplier is negative")
        changes[left][position(w, len(loss))] += -(above << digits) // under
        changes[right][w] += above * below[length] // under
    costs = columns_of(weighted(loss, prior))
    rows = zip(costs, changes, strict=True)
    least = [min(c + dyadic(d, -digits) for c, d in zip(cost, change, strict=True)) for cost, change in rows]
    seen: set[int] = set()
    bound = total(least)
    for part in map(table, items(proof["uniform"])):
        points, value = _uniform_part(space, known, prior, loss, part)
        require(seen.isdisjoint(points), "a point is in uniform parts twice")
        seen.update(points)
        bound += value - total(least[x] for x in points)
    return bound if min(map(min, costs)) < 0 else max(ZERO, bound)


def _uniform_part(space: Space, known: Known, prior: Vector, loss: Matrix, part: Content) -> Any:
    """Σλ - max_w max(0, -φ_w), φ_w = Σp + (e^(ε·L) - 1)·Σ min(p, 0) over the groups."""
    points = [position(v, space.size) for v in items(part["points"])]
    group = [position(g) for g in items(part["group"], len(points))]
    price = doubles(part["price"], len(points))
    require(0 < len(points) == len(set(points)), "a uniform part is empty or names a point twice")
    home, place = dict(zip(points, group, strict=True)), {v: k for k, v in enumerate(points)}
    groups, lengths = set(group), set[float]()
    alike: list[Edge] = []
    between_groups: set[Edge] = set()
    for (a, b), length in zip(space.edges, space.lengths, strict=True):
        require((a in home) == (b in home), "an edge leaves a uniform part")
        if a in home and home[a] == home[b]:
            require(length == 0, "the points of a group are not at distance 0")
            alike.append((place[a], place[b]))
        elif a in home:
            between_groups.add((min(home[a], home[b]), max(home[a], home[b])))
            lengths.add(length)
    require(len(lengths) <= 1, "the points of a uniform part are not all equally far apart")
    require(len(between_groups) == math.comb(len(groups), 2), "an edge between two groups is missing")
    require(Space(len(points), alike).components == len(groups), "a group is not joined at distance 0")
    q, missing = known[lengths.pop()][0] if lengths else ONE, ZERO
    for losses in loss:
        rest = dict.fromkeys(groups, ZERO)
        for v, g, cost in zip(points, group, price, strict=True):
            rest[g] += prior[v] * losses[v] - cost
        below = total(min(value, ZERO) for value in rest.values())
        require(q > 0 or not below, "prices exceed what a private column costs")
        missing = max(missing, -(total(rest.values()) + ((1 / q - 1) * below if below else ZERO)))
    return points, total(price) - missing


def exact_optimal_design(proof: Content) -> str:
    """A private mechanism whose loss equals the bound of its multipliers."""
    space, alpha = Space.read(proof["space"]), probability(proof["alpha"], "alpha")
    mechanism = channel(proof["channel"], space.size)
    m, prior = len(mechanism[0]), prior_of(proof["prior"], space.size)
    bracket = columns_of(weighted(matrix(proof["loss"], m, space.size), prior))
    space.require_private(mechanism, lambda e: power(alpha, space.lengths[e]), "the mechanism")
    value = total(dot(costs, row) for costs, row in zip(bracket, mechanism, strict=True))
    for left, right, length, output, given in on_arcs(space, proof["multipliers"], whole):
        w, y = whole(output, 0, m - 1), exact(given)
        require(y >= 0, "a multiplier is negative")
        bracket[left][w] -= y
        bracket[right][w] += power(alpha, length) * y
    bound = total(map(min, bracket))
    require(value == bound, f"the mechanism loses {value} and the certificate proves {bound}")
    about = f"the mechanism on {space.size} inputs is private with e^-ε = {alpha} and loses exactly {value}"
    return f"{about}; no private mechanism loses less"


def leakage_design(proof: Content) -> str:
    """A mechanism within a budget, and what none within it goes below."""
    family, counts = proof["family"], counted_rows(proof["counts"], UNIT)
    require(family in ("least leakage", "least loss"), "the family is unknown")
    n, m = len(counts), len(counts[0])
    prior, loss = doubles(proof["prior"], n), double_matrix(proof["loss"], m, n)
    gain = double_matrix(proof["gain"], None, n)
    strategy = double_matrix(proof["strategy"], m, len(gain))
    budget, price, lower, upper = (Fraction(nearest(proof[n])) for n in ("budget", "price", "lower", "upper"))
    about_one(prior)
    require(price >= 0, "a price is ≥ 0")
    Work.spend(4 * n * m * (len(gain) + 1))
    columns = [[Fraction(count, UNIT) for count in column] for column in columns_of(counts)]
    lost = total(dot(row, column) for row, column in zip(weighted(loss, prior), columns, strict=True))
    reached = total(max(dot(row, column) for row in weighted(gain, prior)) for column in columns)
    expected = [_mixed(row, gain) for row in strategy]
    values, tables, what = (reached, lost), (expected, loss), ("leaks", "loses")
    value, side = values if family == "least leakage" else values[::-1]
    first, second = tables if family == "least leakage" else tables[::-1]
    does, keeps = what if family == "least leakage" else what[::-1]
    require(side <= budget, "the mechanism exceeds its budget")
    require(value <= upper, "the mechanism exceeds what is claimed for it")
    bound = total(p * min(first[y][x] + price * second[y][x] for y in range(m)) for x, p in enumerate(prior))
    require(lower <= bound - price * budget, "the certificate proves less than is claimed")
    ordered(lower, upper)
    about = f"the mechanism on {n} inputs {does} at most {shown(upper)} and {keeps} at most {shown(budget)}"
    return f"{about}; none within that goes below {shown(lower, False)}"


def _mixed(weights: list[Fraction], gain: Matrix) -> list[Fraction]:
    """What a mixture of guesses gains at each input."""
    share, slack, negative = total(weights), Fraction(len(gain) + 4, UNIT), min(map(min, gain)) < 0
    not_negative(weights, "a strategy")
    require(share <= 1 + slack and (not negative or share >= 1 - slack), "a strategy's weights must sum to 1")
    divisor = share if negative else max(share, ONE)
    return [dot(weights, column) / divisor for column in columns_of(gain)]


# ── Best whatever the prior ─────────────────────────────────────────────────────────────────────────────────
LARGEST_CONE, LARGEST_SUBSETS, LARGEST_CUTS, LARGEST_CELLS, LARGEST_CELL = 52, 12, 400, 20_000, 500
# A ray of a cone, and which of the half-spaces it lies on the edge of.
Ray = tuple[tuple[Fraction, ...], frozenset[int]]


def cut(rays: list[Ray], normal: Sequence[Fraction], name: int) -> list[Ray]:
    """The rays of a cone's part where a linear function is ≥ 0 (double description).

    Two rays share a face of dimension 2 iff no third lies on all the half-spaces that both lie on."""
    values = [dot(normal, ray) for ray, _ in rays]
    kept = [(ray, on | {name} if v == 0 else on) for (ray, on), v in zip(rays, values, strict=True) if v >= 0]
    inside = [k for k, value in enumerate(values) if value > 0]
    outside = [k for k, value in enumerate(values) if value < 0]
    Work.spend(1 + len(inside) * len(outside) * len(rays) // 4)
    for i in inside:
        for j in outside:
            common = rays[i][1] & rays[j][1]
            if any(common <= on for k, (_, on) in enumerate(rays) if k not in (i, j)):
                continue
            mixed = tuple(values[i] * b - values[j] * a for a, b in zip(rays[i][0], rays[j][0], strict=True))
            scale = sum(mixed, ZERO)
            kept.append((tuple(value / scale for value in mixed), common | {name}))
    return kept


def orthant(n: int) -> list[Ray]:
    """All that is ≥ 0; ray k lies on the half-spaces of the others."""
    ones = [tuple(Fraction(int(x == k)) for x in range(n)) for k in range(n)]
    return [(ray, frozenset(range(n)) - {k}) for k, ray in enumerate(ones)]


class Setting:
    """Constraints, a private mechanism and a loss."""

    def __init__(self, proof: Content) -> None:
        self.space, self.alpha = Space.read(proof["space"]), probability(proof["alpha"], "alpha")
        self.mechanism = channel(proof["channel"], self.space.size)
        self.loss = matrix(proof["loss"], None, self.space.size)
        self.space.require_private(self.mechanism, self.shrink, "the mechanism")
        s = self.space
        self.about = s.size, s.edges, s.lengths, s.metric, s.places, self.alpha, self.mechanism, self.loss

    def shrink(self, e: int) -> Fraction:
        """What an edge allows: alpha^length."""
        return power(self.alpha, self.space.lengths[e])

    def rival(self, value: Any, what: str) -> Matrix:
        """Another mechanism, as private."""
        found = channel(value, self.space.size)
        self.space.require_private(found, self.shrink, what)
        return found

    def lost(self, prior: Vector, mechanism: Matrix) -> Fraction:
        """Σ_y min_w Σ_x π_x·C[x,y]·ℓ[w,x]."""
        return total(map(min, columns_of(product(weighted(self.loss, prior), mechanism))))

    @cached_property
    def extreme_columns(self) -> list[tuple[Fraction, ...]]:
        """The extreme rays of the cone of private columns."""
        n = self.space.size
        if self.space.is_uniform and n <= LARGEST_SUBSETS:
            choices = itertools.product((self.shrink(0), ONE), repeat=n)
            return [ray for ray in choices if len(set(ray)) > 1] if self.shrink(0) != 1 else [(ONE,) * n]
        require(n + 2 * len(self.space.edges) <= LARGEST_CONE, "the cone of columns is too large")
        rays = orthant(n)
        for name, (x, z, e) in enumerate(self.space.arcs(), start=n):
            normal = [ZERO] * n
            normal[x] += 1
            normal[z] -= self.shrink(e)
            rays = cut(rays, normal, name)
        return [ray for ray, _ in rays]

    def never_negative(self, cost: Vector) -> bool:
        """Whether Σ cost_x·c_x ≥ 0 for every private column c."""
        if self.space.is_forest:
            return costs_nothing_on_forest(self.space, cost, self.shrink)
        if self.space.is_uniform:
            return costs_nothing_even(cost, self.shrink(0))
        return all(dot(cost, ray) >= 0 for ray in self.extreme_columns)


def universal_optimality(proof: Content) -> tuple[Setting, Fraction, str]:
    """Best up to a gap at every corner of the cells of priors, hence everywhere."""
    setting, gap = Setting(proof), exact(proof["gap"])
    n = setting.space.size
    priors = [prior_of(prior, n, "a prior") for prior in items(proof["priors"])]
    for prior, price in zip(priors, matrix(proof["prices"], len(priors), n), strict=True):
        require(setting.lost(prior, setting.mechanism) - total(price) <= gap, "prices are too low for gap")
        for row in difference(weighted(setting.loss, prior), [price] * len(setting.loss)):
            require(setting.never_negative(row), "prices exceed what a private column costs")
    _require_corners(setting, {tuple(prior) for prior in priors})
    more = "loses least" if gap == 0 else f"loses at most {gap} more than the best"
    about = f"the mechanism on {n} inputs {more} among all private ones with e^-ε = {setting.alpha}"
    return setting, gap, f"{about}, whatever the prior"


def _require_corners(setting: Setting, listed: set[tuple[Fraction, ...]]) -> None:
    """All corners of the cells on which the mechanism's loss is linear are listed: the simplex is cut up."""
    n, outputs = setting.space.size, columns_of(setting.mechanism)
    require(len(outputs) * len(setting.loss) <= LARGEST_CUTS, "there are too many cells of priors")
    cells, name = [orthant(n)], n
    for column in outputs:
        costs, pieces = sorted({tuple(row) for row in weighted(setting.loss, column)}), []
        for cell, (w, best) in itertools.product(cells, enumerate(costs)):
            piece = cell
            for v, other in enumerate(costs):
                if v != w:
                    require(len(piece) <= LARGEST_CELL, "a cell of priors has too many corners")
                    side = name + v * len(costs) + w
                    piece = cut(piece, [b - a for a, b in zip(best, other, strict=True)], side)
                    # Without an interior it is a side of another piece.
                    if all(side in on for _, on in piece):
                        break
            else:
                pieces.append(piece)
            require(len(pieces) <= LARGEST_CELLS, "there are too many cells of priors")
        cells, name = pieces, name + len(costs) ** 2
        require(all(ray in listed for cell in cells for ray, _ in cell), "a corner of a cell is missing")


def distances(space: Space) -> list[list[Fraction | None]]:
    """All distances; None where there is no path."""
    space.require_small()
    rows = (space.lines(v) for v in range(space.size))
    return [[None if units is None else units * space.grain for units in row] for row in rows]


def is_kernel(setting: Setting) -> bool:
    """Whether distances are whole, and every column is 0 or proportional to alpha^d(·,y)."""
    away = distances(setting.space)
    require(all(d is None or d.denominator == 1 for row in away for d in row), "distances must be whole")
    for column in columns_of(setting.mechanism):
        pairs = zip(column, away[column.index(max(column))], strict=True)
        if any(d is None or value != max(column) * power(setting.alpha, float(d)) for value, d in pairs):
            return False
    return True


def universal_optimality_by_theorem(proof: Content) -> tuple[Setting, str]:
    """A theorem says that the mechanism is best whatever the prior."""
    setting, theorem, witness = Setting(proof), proof["theorem"], [whole(v) for v in items(proof["witness"])]
    require(isinstance(theorem, str) and theorem in THEOREMS, "unknown theorem")
    words, rule = THEOREMS[theorem]
    require(rule(setting, witness), f"what the theorem asks for does not hold: {words}")
    about = f"the mechanism on {setting.space.size} inputs loses least among all private ones"
    return setting, f"{about} with e^-ε = {setting.alpha}, whatever the prior: {words}"


def _never_worse(first: Vector, second: Vector) -> bool:
    return all(a <= b for a, b in zip(first, second, strict=True))


def _trivial(setting: Setting, witness: list[int]) -> bool:
    one = len(witness) == 1 and witness[0] < len(setting.loss)
    return one and all(_never_worse(setting.loss[witness[0]], row) for row in setting.loss)


def _cross(setting: Setting, witness: list[int]) -> bool:
    """Of two listed actions the later is never worse again once it was better, along the path."""
    space, near = setting.space, setting.space.near
    path = space.is_forest and space.components == 1 and all(len(around) <= 2 for around in near)
    if not path or len(set(witness)) != len(witness) or any(w >= len(setting.loss) for w in witness):
        return False
    order = [min(v for v in range(space.size) if len(near[v]) <= 1)]
    while len(order) < space.size:
        order += [w for w, _ in near[order[-1]] if w not in order[-2:]]
    rows = [[row[v] for v in order] for row in setting.loss]
    if not all(any(_never_worse(rows[v], row) for v in witness) for row in rows):
        return False
    for earlier, later in itertools.combinations(witness, 2):
        signs = [b - a for a, b in zip(rows[earlier], rows[later], strict=True)]
        fallen = next((k for k, value in enumerate(signs) if value < 0), len(signs))
        if any(value > 0 for value in signs[fallen:]):
            return False
    return is_kernel(setting)


def _tree(setting: Setting, witness: list[int]) -> bool:
    worst = [max(column) for column in columns_of(setting.loss)]
    peaked = all(sum(a < b for a, b in zip(row, worst, strict=True)) <= 1 for row in setting.loss)
    return setting.space.is_forest and setting.space.components == 1 and peaked and is_kernel(setting)


def _pair(setting: Setting, witness: list[int]) -> bool:
    if len(witness) != 2 or len(set(witness)) != 2 or max(witness) >= setting.space.size:
        return False
    a, b, rest = *witness, set(range(setting.space.size)) - set(witness)
    units = setting.space.lines(a)[b]
    length = ZERO if units is None else units * setting.space.grain
    if length.denominator != 1 or any(row[x] != setting.loss[0][x] for row in setting.loss for x in rest):
        return False
    q = ZERO if units is None else power(setting.alpha, float(length))
    pairs = zip(setting.mechanism[a], setting.mechanism[b], strict=True)
    return all(first == q * second or second == q * first for first, second in pairs)


THEOREMS: dict[str, tuple[str, Callable[[Setting, list[int]], bool]]] = {
    "trivial": ("one action is best whatever the input (Fernandes, Lem 6.19)", _trivial),
    "single crossing": ("the geometric mechanism on a line, for a single-crossing loss (Theorem SC)", _cross),
    "tree": ("the exponential kernel on a tree, for Bayes risk (Theorem TREE-BAYES)", _tree),
    "pair": ("the loss is about two inputs, told apart as far as allowed (Fernandes, Lem 6.20)", _pair),
}


def universal_optimality_of_blocks(proof: Content) -> str:
    """Inputs of one block are not told apart, and the mechanism is best on one of each."""
    setting, blocks = Setting(proof), [[whole(v) for v in items(block)] for block in items(proof["blocks"])]
    n, listed = setting.space.size, sorted(itertools.chain(*blocks))
    require(all(blocks) and listed == list(range(n)), "the blocks are no partition")
    away, losses = distances(setting.space), columns_of(setting.loss)
    for block in blocks:
        first, outside = block[0], set(range(n)) - set(block)
        for v in block:
            alike = setting.mechanism[v] == setting.mechanism[first] and _alike(losses[first], losses[v])
            require(alike, "the mechanism or the loss tells inputs of one block apart")
            even = all(away[v][w] == away[first][w] for w in outside)
            require(even, "inputs of one block are at different distances from another")
    given = checked_format(proof["inner"])
    if given["kind"] == "universal optimality":
        inner, gap, words = universal_optimality(given)
        require(gap == 0, "the proof about representatives leaves a gap, which blocks may enlarge")
    else:
        require(given["kind"] == "universal optimality by theorem", "the inner proof is of another kind")
        inner, words = universal_optimality_by_theorem(given)
    heads = [block[0] for block in blocks]
    for name, theirs, own in (
        ("alpha", inner.alpha, setting.alpha),
        ("loss", columns_of(inner.loss), [losses[v] for v in heads]),
        ("mechanism", _merged(inner.mechanism), _merged([setting.mechanism[v] for v in heads])),
        ("metric", distances(inner.space), [[away[v][w] for w in heads] for v in heads]),
    ):
        require(theirs == own, f"the proof about representatives has another {name}")
    about = f"the mechanism on {n} inputs loses least among all private ones with e^-ε = {setting.alpha}"
    return f"{about}, whatever the prior: for one input of each of {len(heads)} blocks {words}"


def _alike(first: list[Fraction], second: list[Fraction]) -> bool:
    """Losses that are those at a first input up to a factor ≥ 0 and a shift."""
    a, b = [value - min(first) for value in first], [value - min(second) for value in second]
    return not any(b) or (any(a) and all(x * max(b) == y * max(a) for x, y in zip(a, b, strict=True)))


def _merged(mechanism: Matrix) -> dict[tuple[Fraction, ...], Fraction]:
    """Outputs up to what no loss notices: proportional ones together, empty ones left out."""
    found: dict[tuple[Fraction, ...], Fraction] = {}
    for column in zip(*mechanism, strict=True):
        weight = total(column)
        if weight:
            key = tuple(value / weight for value in column)
            found[key] = found.get(key, ZERO) + weight
    return found


def better_for_a_prior(proof: Content) -> tuple[Setting, Fraction, str]:
    """A prior for which another private mechanism loses less."""
    setting, gap = Setting(proof), exact(proof["gap"])
    prior = prior_of(proof["prior"], setting.space.size)
    rival = setting.rival(proof["better"], "the better mechanism")
    own, other = setting.lost(prior, setting.mechanism), setting.lost(prior, rival)
    require(gap > 0 and own - other == gap, f"the mechanism loses {own} and the other {other}")
    about = f"for one prior on {setting.space.size} inputs a private mechanism with e^-ε = {setting.alpha}"
    return setting, gap, f"{about} loses {other}, {gap} less than the given one"


def largest_gap_over_priors(proof: Content) -> str:
    """From both sides."""
    setting, gap, words = better_for_a_prior(table(proof["attained"]))
    same, most, others = universal_optimality(table(proof["most"]))
    require(setting.about == same.about, "the parts of the proof are about different mechanisms")
    require(gap == most, f"a gap of {gap} is attained, and one of {most} bounded")
    return f"{words}; and {others}"


def least_regret(proof: Content) -> str:
    """The largest regret of a mechanism, and that none has less."""
    setting, gap, words = universal_optimality(table(proof["most"]))
    n = setting.space.size
    priors = [prior_of(prior, n, "a prior") for prior in items(proof["priors"])]
    weights = prior_of(proof["weights"], len(priors), "the weights of the priors")
    rivals = [setting.rival(rival, "a rival") for rival in items(proof["rivals"], len(priors))]
    prices, attained = vector(proof["prices"], n), dot(weights, list(map(setting.lost, priors, rivals)))
    for ray in setting.extreme_columns:
        cost = dot(weights, [setting.lost(prior, [[c] for c in ray]) for prior in priors])
        require(cost >= dot(prices, ray), "a private column costs less than the prices say")
    bound = total(prices) - attained
    require(bound == gap, f"a regret of at least {bound} is proved, and one of at most {gap}")
    rest = f"every private mechanism loses at least {bound} more than the best"
    return f"{words}; and for one of {len(priors)} priors {rest}"


# ── Orders ──────────────────────────────────────────────────────────────────────────────────────────────────


def tolerance_of(proof: Content) -> tuple[Fraction, Fraction]:
    """What is left open, and by how much rows may miss 1 then."""
    tolerance = exact(proof["tolerance"])
    require(0 <= tolerance <= 4 * ROUNDING, "a tolerance covers rounding only")
    return tolerance, ROUNDING if tolerance else ZERO


def two_channels(proof: Content, rounding: Fraction) -> tuple[Matrix, Matrix, Fraction]:
    """A and B, and what their rows miss 1 by, added up."""
    a, first = rounded_channel(proof["less_safe"], rounding=rounding)
    b, second = rounded_channel(proof["safer"], len(a), rounding=rounding)
    return a, b, first + second


def refinement(proof: Content) -> str:
    """B = A·R (Blackwell; Fernandes, Lem 2.2)."""
    tolerance, rounding = tolerance_of(proof)
    a, b, missed = two_channels(proof, rounding)
    post, more = rounded_channel(proof["post"], len(a[0]), len(b[0]), rounding)
    distance = max(total(map(abs, row)) for row in difference(product(a, post), b)) / 2
    require(distance <= tolerance, "B is farther from A·R than the tolerance")
    hidden = distance + missed + more
    exactly = "exactly" if hidden == 0 else f"up to {float(hidden):.1e} in total variation"
    return f"B is A followed by post-processing, {exactly}: no adversary gains more from B"


def gains_of(proof: Content, size: int) -> Matrix:
    """What actions gain at each input, from 0 to 1."""
    found = matrix(proof["gain"], None, size)
    require(all(0 <= g <= 1 for row in found for g in row), "a gain is outside [0, 1]")
    return found


def expects(proof: Content, more: Fraction, apart: Vector, prior: Vector, missed: Fraction) -> str:
    """One adversary expects `lower` more, and none expects `upper` more than what is apart."""
    lower, upper, any_prior = exact(proof["lower"]), exact(proof["upper"]), flag(proof["any_prior"])
    require(lower <= more, "the adversary expects less")
    require((max(apart) if any_prior else dot(prior, apart)) <= upper, "the channels are farther apart")
    whose = "whatever the prior" if any_prior else "with this prior"
    ends = f"{between(lower, upper)}{f' (to {float(2 * missed):.1e})' if missed else ''}"
    return f"{whose}, the most that an adversary with gains in [0, 1] expects more is {ends}"


def deficiency(proof: Content) -> str:
    """A·R is so near to B, and one adversary expects so much more from B (Le Cam)."""
    a, b, missed = two_channels(proof, ROUNDING)
    post, more = rounded_channel(proof["post"], len(a[0]), len(b[0]))
    (prior,), less = rounded_channel(proof["prior"], 1, len(a))
    worth, missed = weighted(gains_of(proof, len(a)), prior), missed + more + less
    more = column_maxima(product(worth, b)) - column_maxima(product(worth, a))
    apart = [total(max(v, ZERO) for v in row) for row in difference(b, product(a, post))]
    return f"{expects(proof, more, apart, prior, missed)} from B than from A"


def max_refinement(proof: Content) -> str:
    """Every posterior of B is a mixture of posteriors of A (Fernandes, Thm 4.1)."""
    tolerance, rounding = tolerance_of(proof)
    a, b, _ = two_channels(proof, rounding)
    mixing = matrix(proof["mixing"], len(a[0]), len(b[0]))
    not_negative(itertools.chain(*mixing), "the list of mixing weights")
    for mixed, column in zip(columns_of(product(a, mixing)), columns_of(b), strict=True):
        weight, other = total(column), total(mixed)
        if weight:
            require(other > 0, "a posterior of B is no mixture of posteriors of A")
            apart = total(abs(m / other - c / weight) for m, c in zip(mixed, column, strict=True)) / 2
            require(apart <= tolerance, "a posterior of B is not the stated mixture of posteriors of A")
    exactly = "exactly" if tolerance == 0 else "up to rounding"
    return f"every posterior of B is a mixture of posteriors of A, {exactly}"


def objecting_adversary(proof: Content) -> str:
    """Somebody expects more from B."""
    a, b, missed = two_channels(proof, ZERO if flag(proof["exact"]) else ROUNDING)
    prior, gain, case = prior_of(proof["prior"], len(a)), matrix(proof["gain"], None, len(a)), proof["case"]
    require(case in ("average", "max"), "the case is unknown")
    before, after = (_expected(table_, gain, prior, case == "max") for table_ in (a, b))
    require([before, after] == [exact(proof[name]) for name in ("before", "after")], "another gain is stated")
    gap = after - before - 4 * max(abs(value) for row in gain for value in row) * missed
    require(gap > 0, "the adversary does not prefer B")
    who = f"an adversary with {len(gain)} actions"
    return f"{who} expects {float(gap):.6g} more from B than from A ({case} case)"


def _expected(mechanism: Matrix, gain: Matrix, prior: Vector, largest: bool) -> Fraction:
    """Σ_y max_w Σ_x g·π·C; or at the best output that occurs, given that output."""
    scores = [max(column) for column in columns_of(product(weighted(gain, prior), mechanism))]
    if not largest:
        return total(scores)
    weights = [dot(prior, column) for column in columns_of(mechanism)]
    return max(s / w for s, w in zip(scores, weights, strict=True) if w)


def class_of_adversaries(proof: Content) -> str:
    """Nobody whose gains are combinations of generators prefers B."""
    tolerance, rounding = tolerance_of(proof)
    a, b, missed = two_channels(proof, rounding)
    post, more = rounded_channel(proof["post"], len(a[0]), len(b[0]), rounding)
    prior = prior_of(proof["prior"], len(a))
    generators = [row for row in matrix(proof["generators"], None, len(a)) if any(row)]
    require(bool(generators), "every generator is 0: a class of no adversaries")
    scaled = [[g / max(map(abs, row)) for g in row] for row in generators]
    excess = product(weighted(scaled, prior), difference(b, product(a, post)))
    worst = total(max(ZERO, *column) for column in columns_of(excess))
    require(worst <= tolerance, "an adversary of the class may expect more from B")
    miss = worst + missed + more
    over = "more" if miss == 0 else f"over {float(miss):.1e} more"
    return f"no adversary of a class with {len(generators)} generators expects {over} from B than from A"


def partitions(proof: Content) -> str:
    """Two deterministic programs."""
    a, b = ([whole(v) for v in items(proof[name])] for name in ("less_safe", "safer"))
    require(len(a) == len(b), "the programs have different numbers of inputs")
    if proof["pair"] is not None:
        i, j = (whole(v, 0, len(a) - 1) for v in items(proof["pair"], 2))
        require(a[i] == a[j] and b[i] != b[j], "the pair does not show that B tells apart what A does not")
        return f"B tells inputs {i} and {j} apart and A does not"
    goes: dict[int, int] = {}
    for mine, theirs in zip(a, b, strict=True):
        require(goes.setdefault(mine, theirs) == theirs, "an output of A goes to two outputs of B")
    return "the output of B is a function of the output of A: nobody gains more from B"


def block_sizes(proof: Content) -> str:
    """Sizes of blocks forbid that B coarsens A."""
    a, b = (tallies(proof[name], 1) for name in ("less_safe", "safer"))
    held = {sum(size * count for size, count in found.items()) for found in (a, b)}
    require(len(held) == 1, "the blocks do not hold the same number of inputs")
    if sum(a.values()) < sum(b.values()):
        return "B has more outputs than A, so it is no coarsening of A"
    if max(a) > max(b):
        return "A has a block larger than every block of B, so B is no coarsening of A"
    require(min(a) > min(b), "the sizes forbid nothing")
    return "B has a block smaller than every block of A, so it is no coarsening of A"


def odds(first: list[Fraction], second: list[Fraction]) -> Fraction | None:
    """The largest ratio of two probabilities of one output; None is infinite."""
    pairs = [(min(pair), max(pair)) for pair in zip(first, second, strict=True) if any(pair)]
    return None if any(low == 0 for low, _ in pairs) else max((b / a for a, b in pairs), default=ONE)


def compared(proof: Content) -> tuple[Matrix, Matrix, Fraction]:
    """A and B, divided by their sums where they are floats, and what is tolerated then."""
    rounding = ZERO if flag(proof["exact"]) else ROUNDING
    a, b, _ = two_channels(proof, rounding)
    Work.spend(len(a) ** 2 * (len(a[0]) + len(b[0])))
    if rounding:
        a, b = ([[value / total(row) for value in row] for row in found] for found in (a, b))
    return a, b, rounding


def privacy_order_holds(proof: Content) -> str:
    """No pair is told apart better by B."""
    a, b, rounding = compared(proof)
    for i, j in itertools.combinations(range(len(a)), 2):
        mine, theirs = odds(a[i], a[j]), odds(b[i], b[j])
        fine = mine is None or (theirs is not None and theirs <= mine * (1 + rounding))
        require(fine, f"B tells secrets {i} and {j} apart better than A")
    return f"B tells no pair of secrets apart better than A{', to a relative 1e-9' if rounding else ''}"


def privacy_order(proof: Content) -> str:
    """A pair that B tells apart better."""
    a, b, _ = compared(proof)
    i, j = (whole(v, 0, len(b) - 1) for v in items(proof["pair"], 2))
    y, mine = whole(proof["output"], 0, len(b[0]) - 1), odds(a[i], a[j])
    shows = b[i][y] > b[j][y] and mine is not None and b[i][y] > mine * b[j][y]
    require(shows, "A tells the pair apart at least as well")
    return f"B tells secrets {i} and {j} apart at output {y} better than A ever does"


def steeper(first: Ends, second: Ends) -> bool:
    """Whether ln p/d > ln q/e for two pairs (ratio, distance); equal ones are told by powers."""
    (p, d), (q, e) = first, second
    for bits in (128, 512, 2048, 8192):
        one, other = log_ends(p, bits), log_ends(q, bits)
        if one[0] * e > other[1] * d:
            return True
        if one[1] * e <= other[0] * d:
            return False
    shared = math.lcm(d.denominator, e.denominator)
    up, down = int(e * shared), int(d * shared)
    common = math.gcd(up, down)
    equal = max(up, down) // common <= 2000 and p ** (up // common) == q ** (down // common)
    require(equal, "two slopes are too close to be compared")
    return False


def steepest(mechanism: Matrix, metric: list[list[Fraction | None]]) -> Ends | None:
    """The largest ln(ratio)/distance; None is infinite."""
    best: Ends = (ONE, ONE)
    for i, j in itertools.combinations(range(len(mechanism)), 2):
        distance, found = metric[i][j], odds(mechanism[i], mechanism[j])
        if distance is not None and found != 1:
            if found is None or distance == 0:
                return None
            best = (found, distance) if steeper((found, distance), best) else best
    return best


def privacy_order_for_one_metric(proof: Content) -> str:
    """Whose smallest ε is smaller, under a metric."""
    a, b, rounding = compared(proof)
    rows = [items(row, len(a)) for row in items(proof["metric"], len(a))]
    metric = [[None if entry == "inf" else exact(entry) for entry in row] for row in rows]
    for i, row in enumerate(metric):
        require(row[i] == 0, "the metric's diagonal is not 0")
        require(all(row[j] == metric[j][i] for j in range(i)), "the metric is not symmetric")
        not_negative((entry for entry in row if entry is not None), "the metric")
    mine, theirs = steepest(a, metric), steepest(b, metric)
    larger = mine is not None and (theirs is None or steeper(theirs, (mine[0], mine[1] / (1 + rounding))))
    require(larger is not flag(proof["holds"]), "the order of the smallest ε is the other way")
    return f"under this metric B's smallest ε {'exceeds' if larger else 'is at most'} A's"


FAMILIES = GEOMETRIC, RESPONSE, EXPONENTIAL = "truncated geometric", "randomised response", "exponential"


def refinement_of_families(proof: Content) -> str:
    """One inequality between two members of known families (Fernandes, Thms 4.16 and 4.21)."""
    first, second, n = proof["first"], proof["second"], whole(proof["size"], 2)
    a, b = exact(proof["first_parameter"]), exact(proof["second_parameter"])
    require(first in FAMILIES and second in FAMILIES, "a family is unknown")
    require(0 < a < 1 and 0 < b < 1, "parameters are between 0 and 1")
    bits = max(a.denominator.bit_length(), b.denominator.bit_length())
    require(first == GEOMETRIC or n * n * bits <= 2**31, "the inequality is too long to check")
    if first != GEOMETRIC:
        Work.spend(4 * n * (4 + n * bits // 500))
    found = _refined(first, second, a, b, n)
    require(found is flag(proof["holds"]), "the inequality of the two families says otherwise")
    return f"{first}({a}) {'is' if found else 'is not'} refined by {second}({b}) on {n} inputs"


def _sums(a: Fraction, n: int) -> list[Fraction]:
    """S_i = Σ_y a^|i-y|."""
    left = list(itertools.accumulate(a**k for k in range(n)))
    return [left[i] + left[n - 1 - i] - 1 for i in range(n)]


def _refined(first: str, second: str, a: Fraction, b: Fraction, n: int) -> bool:
    if EXPONENTIAL not in (first, second) and (first == second or n == 2):
        return b >= a
    if (first, second) == (GEOMETRIC, RESPONSE):
        return b >= a / (1 - a + a * a)
    if (first, second) == (RESPONSE, GEOMETRIC):
        sums, most = _sums(b, n), 1 / a + n - 1
        return all(sums[i] <= most * b ** max(i, n - 1 - i) for i in range(n))
    require(first == EXPONENTIAL and second != EXPONENTIAL, "no inequality is known for these two families")
    sums = _sums(a, n)
    if b < a * sums[1] / sums[0]:
        return False
    if second == GEOMETRIC or n == 2:
        return True
    for i in range(1, n - 1):
        before, here, after = sums[i - 1], (1 + a * a) * sums[i], sums[i + 1]
        if b < a * before / (here - a * after) or b < a * after / (here - a * before):
            return False
    return True


def order_of_noise(proof: Content) -> str:
    """Noise of a smaller ε is noise of a larger one and more, and never the other way."""
    (one, first), (other, second) = levels = [noise_level(proof[name]) for name in ("first", "second")]
    require(all(value != (1 if what == "alpha" else 0) for what, value in levels), "this is no noise")
    holds, weight = flag(proof["holds"]), maybe(proof["weight"])
    require(holds is _at_least(levels), "the order of the two levels is the other way")
    share = first / second * ((1 - second) / (1 - first)) ** 2 if holds and one == other == "alpha" else None
    require(weight == share, "the share of noise that is 0 is another")
    words = "is noise of the first and independent noise" if holds else "cannot be made from the first"
    return f"noise of {other} = {second} for a step {words}, {one} = {first}, in every cell"


def noise_level(value: Any) -> tuple[str, Fraction]:
    """eps ≥ 0, or alpha above 0 and at most 1."""
    data = table(value)
    require(len(data) == 1 and set(data) <= {"eps", "alpha"}, "a level is eps or alpha")
    [(what, text)] = data.items()
    found = exact(text)
    require(found >= 0 if what == "eps" else 0 < found <= 1, "a level is eps ≥ 0, or alpha in (0, 1]")
    return what, found


def spent_at(what: str, value: Fraction, bits: int) -> Ends:
    """ε of a level."""
    return (value, value) if what == "eps" else log_ends(1 / value, bits)


def _at_least(levels: list[tuple[str, Fraction]]) -> bool:
    """Whether ε of the first level is at least that of the second."""
    (one, first), (other, second) = levels
    if one == other:
        return first >= second if one == "eps" else first <= second
    for bits in (256, 1024, 4096, 16384):
        (least, most), (less, more) = spent_at(one, first, bits), spent_at(other, second, bits)
        if least >= more or most < less:
            return least >= more
    raise Refused("the two levels are too near to each other to be told apart")


# ── Noise ───────────────────────────────────────────────────────────────────────────────────────────────────
SLACK = Fraction(1, 10**8)


def moves_of(proof: Content) -> list[tuple[int, Fraction]]:
    """[steps, distance], above 0."""
    found = [(whole(steps, 1), exact(length)) for steps, length in couples(proof["moves"])]
    require(bool(found) and all(length > 0 for _, length in found), "a move has no length, or there is none")
    return found


def require_tight(spare: Vector) -> None:
    """Every move keeps the level, and one needs all of it."""
    require(min(spare) >= 0, "a move needs more noise")
    require(min(spare) == 0, "no move needs this level: it is not that of this noise")


def noise(proof: Content) -> str:
    """λ^steps ≥ e^(-ε·distance) for every move, and no smaller ε (Fernandes, Lem 3.6)."""
    eps, step, alpha = level(proof), maybe(proof["step_eps"]), maybe(proof["step_alpha"])
    require((step is None) != (alpha is None), "the noise has no level, or two")
    moves = moves_of(proof)
    if alpha is None:
        each = level(proof, "step_eps")
        require_tight([eps * length - each * steps for steps, length in moves])
    else:
        require(0 < alpha <= 1, "the ratio of the noise is not in (0, 1]")
        tight = eps == 0 and alpha == 1
        for steps, length in moves:
            low, high = log_ends(alpha, 512 + steps.bit_length())
            require(eps * length + steps * low >= 0, "a move needs more noise")
            tight = tight or (eps > 0 and (eps - SLACK) * length + steps * high <= 0)
        require(tight, "no move needs this level: it is not that of this noise")
    return f"for every move of one record the noise keeps ε = {eps}, and no smaller one"


def staircase_noise(proof: Content) -> str:
    """A move of c steps crosses ⌈c/width⌉ edges at most."""
    eps, stair, width = level(proof), exact(proof["stair_eps"]), whole(proof["width"], 1)
    whole(proof["top"], 1, width)
    require(stair > 0, "ε of a stair is above 0")
    require(whole(proof["cells"], 1) == 1 or width == 1, "a move over several cells crosses an edge in each")
    require_tight([eps * length - -(-steps // width) * stair for steps, length in moves_of(proof)])
    return f"for every move of one record the stairs keep ε = {eps}, and no smaller one"


def gaussian_noise(proof: Content) -> str:
    """Σ c² ≤ 2·variance·ρ·distance² for every move (Canonne, Kamath and Steinke, Prop 5)."""
    rho, variance = level(proof, "rho"), exact(proof["variance"])
    require(variance > 0, "the variance must be above 0")
    found = [([whole(c, 1) for c in items(steps)], exact(d)) for steps, d in couples(proof["moves"])]
    require(bool(found) and all(steps and d > 0 for steps, d in found), "a move has no length, or no steps")
    require_tight([2 * variance * rho * d * d - sum(c * c for c in steps) for steps, d in found])
    return f"for every move of one record Gaussian noise keeps ρ = {shown(rho)} times its distance squared"


def noise_of_several_tables(proof: Content) -> str:
    """Costs of two neighbours add up over independent tables, and none exceeds ε·distance."""
    eps, tables = exact(proof["eps"]), []
    for part in map(table, items(proof["tables"])):
        cells = [whole(cell) for cell in items(part["cells"])]
        amounts = [whole(steps, -(2**62), 2**62) for steps in items(part["amounts"], len(cells))]
        tables.append((level(part), whole(part["width"], 1), cells, amounts))
    sizes = {len(cells) for _, _, cells, _ in tables}
    require(len(sizes) == 1, "the tables list different numbers of profiles")
    size = sizes.pop()
    require(eps > 0 and 1 <= size <= 2000, "eps must be above 0, with 1 to 2000 profiles")
    listed = None if proof["edges"] is None else [items(edge, 3) for edge in items(proof["edges"])]
    near = [(whole(a, 0, size - 1), whole(b, 0, size - 1), exact(d)) for a, b, d in listed or ()]
    require(all(d > 0 for _, _, d in near), "two neighbours are at no distance")
    first, second = (whole(end, 0, size - 1) for end in items(proof["pair"], 2))

    def cost(a: int, b: int) -> Fraction:
        found = ZERO
        for stair, width, cells, amounts in tables:
            moved = (amounts[a] - amounts[b],) if cells[a] == cells[b] else (amounts[a], amounts[b])
            found += stair * sum(-(-abs(steps) // width) for steps in moved)
        return found

    Work.spend(12 * len(tables) * (size * size // 2 if listed is None else len(near)))
    pairs = near if listed is not None else ((a, b, ONE) for b in range(size) for a in range(b))
    require(all(cost(a, b) <= eps * d for a, b, d in pairs), "two neighbours cost more than ε")
    apart = {d for a, b, d in near if {a, b} == {first, second}} if listed is not None else {ONE}
    require(cost(first, second) in {eps * d for d in apart}, "the pair does not need all of ε")
    return f"for every move of one record the noise of {len(tables)} tables together keeps ε = {eps}"


def released_mechanism(proof: Content) -> str:
    """What is drawn keeps ε·distance: rows entry by entry, a response or noise by its level."""
    space, law = Neighbours(proof["space"]), proof["law"]
    require(space.form != "free" and space.eps is not None, "the neighbours must say which ε is kept")
    needs = {"rows": {"rows"}, "response": {"level"}, "noise": {"level", "places"}, "plane": {"level"}}
    given = {name for name in ("rows", "level", "places") if proof[name] is not None}
    require(isinstance(law, str) and given == needs.get(law), "the law does not have what goes with it")
    require(law != "plane" or space.form == "uniform", "of a map the one length is the width of a cell")
    words = f"what is drawn keeps ε = {space.eps} for every two neighbours, times their distance"
    if law == "rows":
        space.require_allowed(channel(proof["rows"], space.size))
        return words
    spent = spent_at(*noise_level(proof["level"]), 512)[1]
    places = vector(proof["places"], space.size) if law == "noise" else None
    if space.form == "uniform":
        gaps = {(max(places) - min(places) if places else ONE, space.lengths[0])} if space.size > 1 else set()
    else:
        edges = zip(space.pairs, space.lengths, strict=True)
        gaps = {(abs(places[a] - places[b]) if places else ONE, length) for (a, b), length in edges}
    fits = all(spent * apart <= (space.eps or ZERO) * length for apart, length in gaps)
    require(fits, "two neighbours are told apart by more than ε")
    return words


def leak_in_runs(proof: Content) -> str:
    """Tails of two binomials (Clopper and Pearson) and the definition of (ε, δ)."""
    eps, distance = level(proof), exact(proof["distance"])
    delta, sure = probability(proof["delta"]), exact(proof["confidence"])
    low, high = exact(proof["low"]), exact(proof["high"])
    k, n, h, m = (whole(v, 0, 10**6) for name in ("likelier", "other") for v in items(proof[name], 2))
    require(0 < k <= n and 0 <= h < m, "the event must have happened, and have failed to")
    require(distance > 0 and 0 < sure < 1, "the distance must be above 0, the confidence within (0, 1)")
    require(0 < low < 1 and 0 < high < 1, "the bounds must be between 0 and 1")
    risk = (1 - sure) / 2
    require(tail_above(n, k, low) <= risk, "the event is not as often as low says")
    require(tail_above(m, m - h, 1 - high) <= risk, "the event is not as seldom as high says")
    require(low - delta >= exp_ends(eps * distance)[1] * high, "the two bounds do not differ by so much")
    seen = f"an event that was fixed before happened in {k} of {n} runs and in {h} of {m}"
    words = f"the mechanism keeps no ε below {shown(eps, False)} at δ = {shown(delta)}"
    return f"with {shown(100 * sure, False)}% confidence {words}: {seen}"


def tail_above(trials: int, hits: int, share: Fraction) -> Fraction:
    """A number ≥ P(Bin(trials, share) ≥ hits) where hits are beyond the mean, else 1.

    Terms fall by less and less than the first ratio, so that a geometric series bounds what is left out."""
    if (trials - hits) * share >= (hits + 1) * (1 - share):
        return ONE
    Work.spend(trials + 200 * math.isqrt(trials))
    p, q, odds = (Span.of((v, v)) for v in (share, 1 - share, share / (1 - share)))
    term = found = Span.of((Fraction(math.comb(trials, hits)),) * 2) * p.power(hits) * q.power(trials - hits)
    for j in range(hits, trials):
        term = (term * odds).times(trials - j, j + 1)
        found = found + term
        if found.at_least(Span(term.low, term.high, term.scale + 100)):
            ratio = Fraction(trials - j, j + 1) * share / (1 - share)
            return found.ends()[1] + term.ends()[1] * ratio / (1 - ratio)
    return found.ends()[1]


def additive_capacity(proof: Content) -> str:
    """Who attains it, and what nobody exceeds."""
    mechanism, first = rounded_channel(proof["channel"])
    (prior,), second = rounded_channel(proof["prior"], 1, len(mechanism))
    (reference,), third = rounded_channel(proof["reference"], 1, len(mechanism[0]))
    worth = weighted(gains_of(proof, len(mechanism)), prior)
    more = column_maxima(product(worth, mechanism)) - max(total(row) for row in worth)
    apart = [total(abs(c - r) for c, r in zip(row, reference, strict=True)) / 2 for row in mechanism]
    return expects(proof, more, apart, prior, first + second + third)


# ── Inference, estimates, documents ───────────────────────────────────────────────────────────────────────


def joint_of(value: Any, columns: int) -> Matrix:
    """Probabilities of two things together."""
    found = matrix(value, None, columns)
    distribution([p for row in found for p in row], "a joint")
    return found


def dalenius_witness(proof: Content) -> str:
    """A secret that is guessed better from B (Fernandes, eq. 5.3)."""
    a, b, _ = two_channels(proof, ZERO)
    joint = joint_of(proof["joint"], len(a))
    before, after = (column_maxima(product(joint, found)) for found in (a, b))
    require(after > before, "the secret is not guessed better from B")
    words = f"with probability {float(after):.6g} from B and {float(before):.6g} from A"
    return f"a secret with {len(joint)} values is guessed {words}, so that A is not refined by B"


def no_free_lunch(proof: Content) -> str:
    """Compromise by (1 - V)/2 at least (Fernandes, Thm 5.1)."""
    mechanism = channel(proof["channel"])
    prior = prior_of(proof["prior"], len(mechanism))
    guess = total(map(max, weighted(columns_of(mechanism), prior)))
    compromise, least = max(1 - guess, guess - max(prior)), (1 - max(prior)) / 2
    require(compromise >= least, "the mechanism compromises less than is possible")
    return f"this mechanism compromises by {float(compromise):.6g}, and none by less than {float(least):.6g}"


def inference_counter_example(proof: Content) -> str:
    """Two uses that are told apart (Fernandes, Thm 5.2)."""
    mechanism = channel(proof["channel"])
    i, j = (whole(v, 0, len(mechanism) - 1) for v in items(proof["pair"], 2))
    guess = total(map(max, mechanism[i], mechanism[j])) / 2
    require(i != j and guess > Fraction(1, 2), "the channel does not tell the two uses apart")
    about = f"a secret that goes with uses {i} and {j} is guessed with probability"
    return f"{about} {float(guess):.6g} after the release and 1/2 before"


class Neighbours:
    """Which inputs are how far apart."""

    def __init__(self, value: Any) -> None:
        data = table(value)
        self.form, self.size = data["form"], whole(data["size"], 1)
        self.pairs = [(whole(a), whole(b)) for a, b in couples(data["pairs"])]
        self.lengths, self.eps, self.alpha = vector(data["lengths"]), maybe(data["eps"]), maybe(data["alpha"])
        require(self.form in ("free", "uniform", "forest", "graph"), "the form is unknown")
        if self.form == "free":
            return
        require_one_level(self.eps, self.alpha)
        count = 1 if self.form == "uniform" else len(self.pairs)
        fits = len(self.lengths) == count and all(length >= 0 for length in self.lengths)
        require(fits, "every edge needs a length ≥ 0")
        if self.alpha is not None:
            require(all(length.denominator == 1 for length in self.lengths), "lengths must be whole")
            bits = max(self.alpha.numerator.bit_length(), self.alpha.denominator.bit_length())
            require(all(length * bits <= 10**6 for length in self.lengths), "a power of alpha is too long")
        require(all(a != b and max(a, b) < self.size for a, b in self.pairs), "an edge names no two inputs")
        self.known: dict[Fraction, Ends] = {}
        if self.form == "forest":
            self.tree = Space(self.size, self.pairs)
            require(self.tree.is_forest, "the edges have a circle")

    def shrink(self, length: Fraction) -> Ends:
        """e^(-ε·length), or alpha^length, between two numbers."""
        if length not in self.known:
            exactly = None if self.alpha is None else (self.alpha ** int(length),) * 2
            self.known[length] = exactly or exp_ends(-(self.eps or ZERO) * length)
        return self.known[length]

    def require_allowed(self, mechanism: Matrix) -> None:
        """Every column keeps the ratios."""
        if self.form == "uniform":
            require_even(mechanism, self.shrink(self.lengths[0])[1], "the mechanism")
        elif self.form != "free":
            arcs = ((x, z, e) for e, (a, b) in enumerate(self.pairs) for x, z in ((a, b), (b, a)))
            require_private(mechanism, arcs, lambda e: self.shrink(self.lengths[e])[1], "the mechanism")

    def require_never_positive(self, functionals: Matrix, listed: Any) -> None:
        """No functional is positive on an allowed column."""
        cost = [[-value for value in row] for row in functionals]
        for entry in items(listed):
            e, turned, output, value = items(entry, 4)
            e, turned, output, y = whole(e), whole(turned), whole(output), exact(value)
            if self.form == "graph":
                fits = y >= 0 and e < len(self.pairs) and output < len(cost)
                require(fits, "a multiplier is negative, or names nothing")
                a, b = self.pairs[e][::-1] if turned else self.pairs[e]
                cost[output][a] -= y
                cost[output][b] += y * self.shrink(self.lengths[e])[0]
        require(all(map(self._costs_nothing, cost)), "a private column is worth more than the prices allow")

    def _costs_nothing(self, cost: Vector) -> bool:
        """Whether no allowed column costs less than 0."""
        if self.form == "uniform":
            return costs_nothing_even(cost, self.shrink(self.lengths[0])[0])
        if self.form != "forest":
            return min(cost) >= 0
        digits = 400 + max((int(1 / abs(value)).bit_length() for value in cost if value), default=0)
        rounded = digits if self.alpha is None else None
        return costs_nothing_on_forest(self.tree, cost, lambda e: self.shrink(self.lengths[e])[0], rounded)


def accuracy_counter_example(proof: Content) -> str:
    """Another mechanism, as private, tells a use better (Fernandes, Thm 5.3)."""
    space = Neighbours(proof["space"])
    mechanism, other = channel(proof["channel"], space.size), channel(proof["other"], space.size)
    joint = joint_of(proof["joint"], space.size)
    require(space.form != "free", "nothing is promised: telling everything is optimal for accuracy")
    space.require_allowed(mechanism)
    space.require_allowed(other)
    own, told = column_maxima(product(joint, mechanism)), column_maxima(product(joint, other))
    require(told > own, "the other mechanism does not tell the use better")
    about = f"the mechanism tells a use with {len(joint)} values right with probability {float(own):.6g}"
    return f"{about}, and another, as private, with {float(told):.6g}"


def inference_frontier(proof: Content) -> str:
    """A private mechanism, and what none that gives away as little exceeds."""
    space = Neighbours(proof["space"])
    n = space.size
    gain, prior = matrix(proof["gain"], None, n), prior_of(proof["prior"], n)
    robust, tails = flag(proof["robust"]), probability(proof["tails"])
    joints = [joint_of(value, n) for value in items(proof["joints"])]
    require(bool(joints), "there must be a secret")
    wants = items(proof["wants"], len(joints))
    limits, given = (vector(proof[name], len(joints)) for name in ("limits", "given"))
    leaks = []
    for joint, want in zip(joints, wants, strict=True):
        sums = [total(column) for column in columns_of(joint)]
        require(robust or sums == prior, "a secret's joint does not have the prior's probabilities")
        leaks.append(joint if want is None else product(matrix(want, None, len(joint)), joint))
    small = all(want is None for want in wants) and all(g <= 1 for row in gain for g in row)
    require(tails == 0 or small, "what inputs stand for may be worth or give away more than 1")
    mechanism = channel(proof["mechanism"], n, len(gain))
    space.require_allowed(mechanism)
    worth, lower, upper = weighted(gain, prior), exact(proof["lower"]), exact(proof["upper"])
    reached = total(dot(row, column) for row, column in zip(worth, columns_of(mechanism), strict=True))
    require(lower <= reached, "the mechanism is worth less than is claimed")
    prices = vector(proof["prices"], n)
    rest, bound = difference(worth, [prices] * len(worth)), total(prices) + tails
    parts = zip(leaks, given, limits, items(proof["weights"], len(joints)), strict=True)
    for leak, away, limit, value in parts:
        require(column_maxima(product(leak, mechanism)) <= away, "the mechanism gives away more")
        weights = matrix(value, len(gain), len(leak))
        not_negative(itertools.chain(*weights), "the list of weights")
        shares = {total(row) for row in weights}
        require(len(shares) == 1, "weights must have one sum for every guess")
        rest = difference(rest, product(weights, leak))
        bound += shares.pop() * (limit + tails)
    space.require_never_positive(rest, proof["multipliers"])
    require(bound <= upper, "the certificate proves less than is claimed")
    within = all(away <= limit for away, limit in zip(given, limits, strict=True))
    require(not within or lower <= upper, "the lower bound exceeds the upper bound")
    most, here = (", ".join(map(shown, values)) for values in (limits, given))
    best = f"no mechanism on {n} inputs that gives away at most {most} is worth more than {shown(upper)}"
    return f"{best}; the one here gives away at most {here} and is worth at least {shown(lower, False)}"


def likelihood(proof: Content) -> str:
    """max c ≤ 1 + bound, where c is the slope of the log-likelihood towards each value: it is concave."""
    p, counts = prior_of(proof["distribution"], None, "the estimate"), vector(proof["counts"])
    rows, outputs = matrix(proof["rows"], len(p), len(counts)), [whole(v, 1) for v in items(proof["outputs"])]
    reports, bound = exact(proof["reports"]), exact(proof["bound"])
    require(sum(outputs) == len(counts), "rows, counts and distribution do not fit together")
    not_negative(counts, "the list of counts")
    require(reports == total(counts) and reports > 0, "the counts do not sum to the number of reports")
    missed, ends = ZERO, itertools.accumulate(outputs)
    for end, size in zip(ends, outputs, strict=True):
        parts = (distribution(row[end - size : end], "a row of a channel", ROUNDING) for row in rows)
        missed = max(missed, *parts)
    factors = [ZERO] * len(p)
    Work.spend(6 * len(p) * len(counts))
    for count, column in zip(counts, columns_of(rows), strict=True):
        if count:
            chance = dot(p, column)
            require(chance > 0, "an output was reported that the estimate makes impossible")
            weight = count / (reports * chance)
            # Rounded up, so that numbers stay short.
            raised = (f + weight * entry for f, entry in zip(factors, column, strict=True))
            factors = [dyadic(math.ceil(factor * 2**256), -256) for factor in raised]
    require(max(factors) <= 1 + bound, "a factor c exceeds 1 + bound")
    most = f"larger by more than {shown((bound + 4 * missed) * reports)} nats"
    return f"no distribution of {len(p)} values has a log-likelihood of the {shown(reports)} reports {most}"


def transport(proof: Content) -> str:
    """A plan from above, potentials from below."""
    p = prior_of(proof["p"], None, "p")
    n = len(p)
    q, f = prior_of(proof["q"], n, "q"), vector(proof["potentials"], n)
    distances = matrix(proof["distances"], n, n)
    for i, row in enumerate(distances):
        require(row[i] == 0, "a distance from a point to itself is not 0")
        for j in range(i):
            require(row[j] == distances[j][i] >= 0, "the distances are not symmetric")
            require(abs(f[i] - f[j]) <= row[j], "the potentials are steeper than the distance")
    left, wanted, cost = list(p), list(q), ZERO
    for i, j, mass in (items(move, 3) for move in items(proof["moves"])):
        i, j, mass = whole(i, 0, n - 1), whole(j, 0, n - 1), exact(mass)
        left[i] -= mass
        wanted[j] -= mass
        cost += mass * distances[i][j]
        require(mass >= 0 and left[i] >= 0 and wanted[j] >= 0, "the plan moves more than there is")
    lower, upper = exact(proof["lower"]), exact(proof["upper"])
    require(cost + total(left) * max(map(max, distances)) <= upper, "the plan costs more than is claimed")
    require(lower <= dot(f, p) - dot(f, q), "the potentials do not reach the lower bound")
    return f"the Kantorovich distance is {between(lower, upper)}"


CODE_BITS, MOST_STEPS = 480, 20_000_000


def codes(proof: Content) -> str:
    """The law of what coordinates favour, every probability rounded up (Fernandes, Def 10.4.1)."""
    bits, releases, values = whole(proof["bits"], 1), whole(proof["releases"], 1), whole(proof["values"], 2)
    steps = bits**2 * releases * (2 * releases + 1)
    require(steps <= MOST_STEPS, "there are too many coordinates and releases")
    distance, eps, xi = probability(proof["distance"]), level(proof), level(proof, "xi")
    Work.spend(steps // 2)
    low, high = exp_ends(-eps, 640)
    # e^-ε/(1+(v-1)·e^-ε) grows with e^-ε, 1/(1+(v-1)·e^-ε) falls.
    against = high / (1 + (values - 1) * high)
    one = [upwards(against), (values - 2) * upwards(against), upwards(1 / (1 + (values - 1) * low))]
    differs = [1 << CODE_BITS]
    for _ in range(releases):
        differs = convolved(differs, one)
    law = [-(-upwards(distance) * value >> CODE_BITS) for value in differs]
    law[releases] += upwards(1 - distance)
    found = [1 << CODE_BITS]
    for _ in range(bits):
        found = convolved(found, law)

    def excess(limit: Fraction) -> Fraction:
        """E[max(0, 1 - e^(limit - L))] at most."""
        reach = bits * releases
        above = (step for step in range(1, reach + 1) if eps * step > limit)
        spent = total(found[reach + step] * (1 - exp_ends(limit - eps * step, 640)[0]) for step in above)
        return min(ONE, spent / (1 << CODE_BITS))

    delta, guess = exact(proof["delta"]), exact(proof["guess"])
    require(excess(xi) <= delta, "the law of the loss does not prove so small a δ at ξ")
    require((1 + excess(ZERO)) / 2 <= guess, "the law of the loss does not prove so small a guess")
    about = f"codes of {bits} coordinates that differ with probability {distance}, released {releases} times"
    apart = f"told apart by {shown(xi)} nats at most but for δ = {shown(delta)}"
    return f"{about} with ε = {eps}: {apart}, and guessed with probability {shown(guess)} at most"


def upwards(value: Fraction) -> int:
    """In units of 2^-CODE_BITS, rounded up."""
    return math.ceil(value * (1 << CODE_BITS))


def convolved(first: list[int], second: list[int]) -> list[int]:
    """The law of a sum of two, every probability rounded up."""
    found = [0] * (len(first) + len(second) - 1)
    for shift, weight in enumerate(second):
        if weight:
            for k, value in enumerate(first):
                found[k + shift] += weight * value
    return [-(-value >> CODE_BITS) for value in found]


def distance_above(first: list[Fraction], second: list[Fraction]) -> Fraction:
    """A rational at or above the Euclidean distance, by 2^-200 at most."""
    require(len(first) == len(second), "two vectors have different lengths")
    square = math.ceil(total((a - b) ** 2 for a, b in zip(first, second, strict=True)) * (1 << 400))
    root = math.isqrt(square)
    return Fraction(root if root * root == square else root + 1, 1 << 200)


def documents(proof: Content) -> str:
    """Plans that carry one document to another (Fernandes, Thm 9.2)."""
    eps, releases = level(proof), whole(proof["releases"], 1)
    drawn = None if proof["drawn"] is None else whole(proof["drawn"], 1)
    vectors = [vector(row) for row in items(proof["vectors"])]
    bags = [tallies(bag) for bag in items(proof["bags"])]
    plans = items(proof["plans"], math.comb(len(bags), 2))
    require(len(bags) > 1, "there must be two documents or more")
    pairs = zip(plans, itertools.combinations(bags, 2), strict=True)
    costs = [_cost(items(plan), *pair, vectors, drawn) for plan, pair in pairs]
    nats, guess = exact(proof["nats"]), exact(proof["guess"])
    require(releases * eps * max(costs) <= nats, "the ways are longer than the nats that are stated")
    require(1 / (1 + (len(bags) - 1) * exp_low(-nats)) <= guess, "so many nats do not prove the guess")
    favour = f"{releases} releases of any of {len(bags)} documents favour it by {shown(nats)} nats at most"
    return f"{favour}, and a guess among them is right with probability {shown(guess)} at most"


def _cost(plan: list[Any], first: Any, second: Any, vectors: Matrix, drawn: Size) -> Fraction:
    """All ways together, or of words that are drawn the longest, once for each."""
    sizes = sum(first.values()), sum(second.values())
    require(drawn is not None or sizes[0] == sizes[1], "two documents have different sizes")
    leaving, arriving, lengths = Counter[int](), Counter[int](), []
    for way in plan:
        source, target, units = (whole(v) for v in items(way, 3))
        there = units >= 1 and source in first and target in second and max(source, target) < len(vectors)
        require(there, "a way carries nothing, or begins or ends at a word that is not there")
        leaving[source] += units
        arriving[target] += units
        lengths.append((distance_above(vectors[source], vectors[target]), units))
    mine, theirs = (1, 1) if drawn is None else (sizes[1], sizes[0])
    left = leaving == {word: times * mine for word, times in first.items()}
    came = arriving == {word: times * theirs for word, times in second.items()}
    require(left and came, "a plan does not carry one document to the other")
    return total(far * units for far, units in lengths) if drawn is None else drawn * max(lengths)[0]


# ── All kinds, and what they cost ───────────────────────────────────────────────────────────────────────────
# A kind is checked by the function of its name, which returns what is proved, alone or last.
NAMES = (
    "Dalenius witness; Gaussian noise; accuracy counter-example; additive capacity; "
    "approximate worst guess; better for a prior; block sizes; class of adversaries; codes; deficiency; "
    "documents; exact optimal design; guess after several releases; guess through Gaussian noise; "
    "guess under a claim; guess under a divergence; inference counter-example; inference frontier; "
    "largest gap over priors; leakage design; leak in runs; least regret; likelihood; max refinement; "
    "no free lunch; noise; noise of several tables; objecting adversary; optimal design; order of noise; "
    "partitions; privacy order; privacy order for one metric; privacy order holds; refinement; "
    "refinement of families; released mechanism; repeated guess between two values; staircase noise; "
    "transport; universal optimality; universal optimality by theorem; universal optimality of blocks; "
    "worst leakage; worst leakage in closed form; worst leakage of a map; worst leakage of a product; "
    "worst leakage, one way; worst of groups"
)
KINDS = {name: globals()[re.sub("[^a-z]+", "_", name.lower())] for name in NAMES.split("; ")}


LABELLED = ("worst leakage", "approximate worst guess", "optimal design", "released mechanism")


def long(value: Any) -> int:
    """How long a list is, or how large a whole number below 10^9; 0 for all else."""
    return len(value) if isinstance(value, list) else min(value, 10**9) if type(value) is int else 0


ADDED = ("optimal design", "leakage design", "likelihood", "documents", "released mechanism")


def expected_seconds(proof: Content) -> float:
    """About what the check costs: reading every number, products of tables, and distances of all pairs."""
    text, space, upper = json.dumps(proof), proof.get("space"), proof.get("upper")
    steps, rows = 2.0 * text.count(",") + 0.1 * len(text), children(proof.get("rows"))
    tables = [v for key, v in proof.items() if long(v) and (key != "safer" or "post" not in proof)]
    filled = [(v, sum(x not in ("0", 0) for row in v for x in children(row))) for v in map(children, tables)]
    pairs = () if proof["kind"] in ADDED else itertools.permutations(filled, 2)
    fits = (m * n / len(b) for (a, m), (b, n) in pairs if a and b and long(a[0]) == len(b))
    steps += 3.3 * max(fits, default=0) + 20000 * long(proof.get("metric"))
    if isinstance(space, dict):
        size, edges, listed = long(space.get("size")), long(space.get("edges")), long(space.get("pairs"))
        steps += 3.0 * (size + edges) + 4.0 * listed * max(map(long, rows), default=0)
        if any(f'"{name}"' in text for name in ("kernel", "packing", "blocks")):
            every = edges >= size or size < 100 or '"kernel"' in text
            steps += 3.0 * min(size, LARGEST_TABLE) * (size + edges) if every else 0
    if isinstance(upper, dict) and "reach" in upper:
        held, reach = children(upper.get("weights")), min(long(upper["reach"]), 1000)
        sides = (proof.get("rows"), long(held)), (proof.get("columns"), max(map(long, held), default=0))
        high, wide = (min(long(n), 2 * reach + (a or long(n)) + 1) for n, a in sides)
        down, across = min(reach, high), min(reach, wide)
        steps += 30.0 * down * across + 4.0 * (high + 2 * down) * (wide + 2 * across)
        steps += 20.0 * min(long(proof.get("terms")), 400) ** 2
    releases, bits = long(proof.get("releases")), long(proof.get("bits"))
    steps += 2000 * long(proof.get("terms")) if "strip" in proof else 0
    steps += bits**2 * releases * (2 * releases + 1) / 8 + 20 * releases + 20 * long(proof.get("priors")) ** 2
    steps += 6.5e6 * (max(map(long, children(proof.get("likelier"))), default=0) / 1e6) ** 1.9
    return float(steps) / 1e6


def checked_format(content: Any) -> Content:
    """A proof of a version and a kind that are known."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        no_proof(f"not a proof that is known here: the key format must be {FORMAT!r}")
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        no_proof(f"proof kind {str(kind)[:60]!r} is unknown; known are {', '.join(sorted(KINDS))}")
    about, options = content.get("about"), content.get("options", {})
    told = isinstance(options, dict) and all(isinstance(v, str | int | float) for v in options.values())
    if not told or not (about is None or isinstance(about, str)):
        no_proof("about is the digest of a question, options a table of what a command was told")
    return content


def check(content: Any) -> tuple[bool, str]:
    """Whether a proof holds, and what it proves or which rule it breaks; what Python raises breaks one."""
    Work.done, proof = 0, checked_format(content)
    try:
        if proof["kind"] in LABELLED:
            items(proof.get("labels", []))
        proved = KINDS[proof["kind"]](proof)
        return True, proved if isinstance(proved, str) else proved[-1]
    except Refused as problem:
        return False, str(problem)
    except KeyError as problem:
        return False, f"the key {problem} is missing"
    except NoProof as problem:
        return False, f"a proof inside it: {problem}"
    except (TypeError, ValueError, ArithmeticError, IndexError, AttributeError, MemoryError) as problem:
        return False, f"the data are damaged ({type(problem).__name__}: {str(problem)[:120]})"


def read(path: str) -> Any:
    """The content of a file, within the limits of the format."""
    if os.path.exists(path) and not os.path.isfile(path):
        no_proof("it is not a regular file")
    try:
        with open(path, "rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise NoProof(f"it cannot be read ({getattr(problem, 'strerror', 'it is not UTF-8')})") from None
    if len(content) > LARGEST_FILE:
        no_proof(f"it is larger than {LARGEST_FILE:,} bytes")
    return parse(text)


def safe(text: str) -> str:
    """What came from a file or is its name, with its controls escaped: it steers no terminal."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def judged(path: str, seconds: float, quiet: bool) -> tuple[int, str, float, Content]:
    """The exit code of a file, what is said of it, how long it took, and what it holds."""
    content, begun = dict[str, Any](), time.monotonic()
    try:
        content = checked_format(read(path))
        cost = expected_seconds(content)
        if not quiet:
            about = f"{content['kind']}; the check will take about {max(cost, 0.1):.1f} s"
            print(f"{safe(path)}: {about}", flush=True)
        if cost > seconds:
            raise TooLong(f"about {cost:.0f} s are needed; allow them with --seconds")
        begun = time.monotonic()
        holds, words = check(content)
        code = 0 if holds else 1
    except (NoProof, TooLong) as problem:
        words, code = str(problem), 3 if isinstance(problem, TooLong) else 2
    return code, words, time.monotonic() - begun, content


def bound(seconds: float) -> None:
    """Where the system can: no more processor time than allowed and a minute (it tells first), and 8 GiB."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        signal.signal(signal.SIGXCPU, lambda *_: Work.spend(Work.most + 1))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 60, int(seconds) + 120))
        resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))


def main(arguments: Sequence[str] | None = None, bounded: bool = False) -> int:
    """Check files; the exit code is the worst of them."""
    parser = argparse.ArgumentParser(description="Check proofs of Sievert with Python alone.")
    parser.add_argument("proofs", nargs="+", metavar="PROOF", help="a proof saved as JSON")
    parser.add_argument("--seconds", type=float, default=600, help="begin nothing longer (default 600)")
    parser.add_argument("--json", action="store_true", help="one JSON object a proof")
    told = parser.parse_args(arguments)
    Work.most, worst = int(told.seconds * 1_000_000), 0
    if bounded:
        bound(told.seconds * len(told.proofs))
    for path in told.proofs:
        code, words, taken, content = judged(path, told.seconds, told.json)
        worst, about = max(worst, code), content.get("about")
        if told.json:
            said = {"file": path, "holds": code == 0, "statement": words, "seconds": taken, "about": about}
            print(json.dumps(said))
            continue
        verdict = ("verified", "NOT verified", "no proof", "not checked")[code]
        print(f"{verdict} in {taken:.2f} s: {safe(words)}")
        if code == 0:  # a digest has 71 letters
            print(f"compared with no file; labelled for the digest {ascii(about or 'none')[1:-1][:100]}")
    return worst


if __name__ == "__main__":
    sys.exit(main(bounded=True))
