"""Exact rationals: recognising them in user input and computing with arrays of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from numbers import Rational
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, ObjectArray
from sievert.errors import MechanismError
from sievert.numerics._checks import abbreviated

__all__ = [
    "UNIT",
    "as_fraction",
    "decimal",
    "exact_matmul",
    "exact_rank",
    "exact_solve",
    "exact_sum",
    "exp_above",
    "exp_below",
    "exp_enclosure",
    "exp_lower",
    "exp_upper",
    "fractions_of",
    "is_exact",
    "kernel_weights",
    "log2_bounds",
    "read_eps",
    "rounded_to",
    "rounded_up",
    "sum_error",
]
# Numbers are read exactly from texts up to here; longer ones are mistakes or attacks, not measurements.
LONGEST_NUMBER = 1000
LARGEST_EXPONENT = 3000
# An ε that is a logarithm is stated to so many decimals, or digits where it is small, rounded up; the margin
# is for the rounding of the float.
CHARGED_DIGITS = 9
ROUNDING_MARGIN = 1e-14


def is_exact(value: object) -> bool:
    """Whether a number is given exactly: an integer, a fraction, a decimal or a text such as "1/3"."""
    if type(value) is Fraction or isinstance(value, bool | np.bool_):
        return True
    if isinstance(value, float | np.floating | np.timedelta64):
        return False
    return isinstance(value, Rational | Decimal | str | np.integer | flint.fmpq | flint.fmpz)


def as_fraction(value: Any) -> Fraction:
    """The exact value of a number; text and decimals are read as written.

    Raises ValueError when it is not a finite number.

    >>> as_fraction("1/3"), as_fraction(0.5), as_fraction("0.1")
    (Fraction(1, 3), Fraction(1, 2), Fraction(1, 10))
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, flint.fmpq):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, flint.fmpz):
        return Fraction(int(value))
    if isinstance(value, str | Decimal):
        _require_writable(value)
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"{abbreviated(value)} is not a finite number") from None


def _require_writable(value: str | Decimal) -> None:
    """Refuse a text whose exact value would take unbounded work ("1e1000000000"), or foreign digits."""
    text = str(value)
    if len(text) > LONGEST_NUMBER or not text.isascii():
        raise ValueError(f"{abbreviated(text)} is not a number of at most {LONGEST_NUMBER} ASCII characters")
    exponent = re.search(r"[eE]([+-]?\d+)\s*$", text.replace("_", ""))
    if exponent and abs(int(exponent[1])) > LARGEST_EXPONENT:
        raise ValueError(f"{abbreviated(text)} has an exponent beyond ±{LARGEST_EXPONENT}")


def fractions_of(values: Iterable[Iterable[Any]]) -> ObjectArray:
    """A matrix of fractions from rows of exact numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return _fractions_of_integers(values)
    rows = [[as_fraction(value) for value in row] for row in values]
    array = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for i, row in enumerate(rows):
        array[i, :] = row
    return array


def _fractions_of_integers(values: NDArray[Any]) -> ObjectArray:
    """As `fractions_of`; each distinct integer becomes one object, so large 0/1 matrices are cheap."""
    distinct, inverse = np.unique(values, return_inverse=True)
    table = np.empty(len(distinct), dtype=object)
    table[:] = [Fraction(int(value)) for value in distinct]
    return np.asarray(table[inverse.reshape(values.shape)])


def _to_flint(matrix: ObjectArray) -> flint.fmpq_mat:
    rows, columns = matrix.shape
    entries = [flint.fmpq(v.numerator, v.denominator) for v in matrix.ravel()]
    return flint.fmpq_mat(rows, columns, entries)


def _from_flint(matrix: flint.fmpq_mat) -> ObjectArray:
    return fractions_of([[matrix[i, j] for j in range(matrix.ncols())] for i in range(matrix.nrows())])


def exact_matmul(left: ObjectArray, right: ObjectArray) -> ObjectArray:
    """Product of two matrices of fractions."""
    return _from_flint(_to_flint(left) * _to_flint(right))


def exact_solve(matrix: ObjectArray, right: ObjectArray) -> ObjectArray:
    """Solution of a square system over the rationals; ZeroDivisionError when it is singular."""
    return _from_flint(_to_flint(matrix).solve(_to_flint(right)))


def exact_sum(values: Sequence[Fraction]) -> Fraction:
    """Sum of fractions, over one common denominator.

    >>> exact_sum([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    Fraction(1, 1)
    """
    scale = math.lcm(*{value.denominator for value in values})
    return Fraction(sum(value.numerator * (scale // value.denominator) for value in values), scale)


def exact_rank(matrix: ObjectArray) -> int:
    """Rank over the rationals."""
    return int(_to_flint(matrix).rref()[1])


# ── Numbers that are proved ─────────────────────────────────────────────────────────────────────────────────
# Numbers that are proved: bounds on e^x from ball arithmetic, and float sums with their rounding error.
#
# Single exponentials come from flint's balls. Millions of them come from IEEE arithmetic alone: a table of
# ball values, an exact reduction of the argument and a short polynomial, each step with its error counted.
PRECISION = 128
# Unit roundoff of a float64 operation.
UNIT = 2.0**-53
# Exponentials one by one up to here; beyond, all at once.
MOST_BALLS = 4000
# Whole numbers up to here are looked up in a table of balls.
LARGEST_TABLE = 2**14
# Beyond e^±700 the vectorised form gives up the digits, not the direction.
LARGEST_VECTOR_EXPONENT = 700.0
# Single exponentials keep their digits up to here; beyond, a bound that needs no more memory.
LARGEST_BALL = Fraction(100_000)


def read_eps(eps: float | str | Fraction) -> Fraction:
    """ε as an exact rational: a decimal is read as written, so 0.1 is one tenth.

    >>> read_eps(0.1)
    Fraction(1, 10)
    """
    try:
        return eps if isinstance(eps, Fraction) else as_fraction(str(eps))
    except RecursionError:
        raise ValueError(f"{abbreviated(eps)} is not a finite number") from None


def rounded_up(eps: float) -> Fraction:
    """A fraction that is certainly not below an ε computed in floating point.

    >>> rounded_up(math.log(3)), float(rounded_up(math.log1p(1e-5)))
    (Fraction(1098612289, 1000000000), 9.99995001e-06)
    """
    if not math.isfinite(eps):
        raise MechanismError("no ε is large enough for this mechanism: it rules values out with certainty")
    if eps <= 0:
        return Fraction(0)
    scale = 10 ** (CHARGED_DIGITS + max(0, -math.floor(math.log10(eps)) - 1))
    return Fraction(math.ceil(Fraction(eps * (1 + ROUNDING_MARGIN)) * scale), scale)


def _exp_ends(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Dyadic numbers around e^exponent; ends of a ball have as many digits as it has while they are taken."""
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        ball = (flint.arb(exponent.numerator) / flint.arb(exponent.denominator)).exp()
        return _fraction(ball.lower()), _fraction(ball.upper())
    finally:
        flint.ctx.prec = old


def _fraction(ball: flint.arb) -> Fraction:
    """An exact dyadic number as a fraction."""
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def exp_below(exponent: Fraction) -> Fraction:
    """A rational proved to be at most e^exponent, within 1e-30 of it where |exponent| ≤ LARGEST_BALL."""
    if exponent < -LARGEST_BALL:
        return Fraction(0)
    below = _exp_ends(min(exponent, LARGEST_BALL))[0]
    return max(below, Fraction(1)) if exponent >= 0 else below


def exp_above(exponent: Fraction) -> Fraction:
    """A rational proved to be at least e^exponent, within 1e-30 of it where exponent ≥ -LARGEST_BALL.

    OverflowError beyond LARGEST_BALL, where it would have too many digits to be of use.
    """
    if exponent > LARGEST_BALL:
        raise OverflowError("a power of e is too large to be written out")
    return _exp_ends(max(exponent, -LARGEST_BALL))[1]


def exp_lower(exponent: Fraction) -> float:
    """A float proved to be at most e^exponent."""
    return rounded_to(exp_below(exponent), down=True)


def exp_upper(exponent: Fraction) -> float:
    """A float proved to be at least e^exponent (inf when it overflows)."""
    return math.inf if exponent > LARGEST_BALL else rounded_to(exp_above(exponent), down=False)


def exp_enclosure(rate: Fraction, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Floats proved to enclose e^(rate·length), for lengths that are exact floats ≥ 0 (inf allowed).

    Whole and few lengths go through balls; others through `_exp`, whose error is proved there.
    """
    flat = np.asarray(lengths, dtype=np.float64).ravel()
    far = np.isinf(flat)
    limit = (0.0, 0.0) if rate < 0 else (float(np.finfo(np.float64).max), np.inf)
    low, high = np.full(len(flat), limit[0]), np.full(len(flat), limit[1])
    near = flat[~far]
    if len(near):
        low[~far], high[~far] = _finite_enclosure(rate, near)
    return low.reshape(np.shape(lengths)), high.reshape(np.shape(lengths))


def _finite_enclosure(rate: Fraction, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    if lengths.max() < LARGEST_TABLE and (lengths == np.floor(lengths)).all():
        index = lengths.astype(np.intp)
        used = np.flatnonzero(np.bincount(index))
        table = np.zeros((2, int(index.max()) + 1))
        for step in used.tolist():
            table[:, step] = exp_lower(rate * step), exp_upper(rate * step)
        return table[0][index], table[1][index]
    if len(lengths) <= MOST_BALLS:
        exponents = [rate * Fraction(float(length)) for length in lengths]
        return np.array([exp_lower(x) for x in exponents]), np.array([exp_upper(x) for x in exponents])
    # float(rate) and the product are each off by a unit, so the exponent by 2 units of its own size.
    with np.errstate(over="ignore"):
        exponent = float(rate) * lengths
    inside = np.abs(exponent) <= LARGEST_VECTOR_EXPONENT
    value = _exp(np.clip(exponent, -LARGEST_VECTOR_EXPONENT, LARGEST_VECTOR_EXPONENT))
    error = (16 + 3 * np.minimum(np.abs(exponent), LARGEST_VECTOR_EXPONENT)) * UNIT
    low, high = value * (1 - error), value * (1 + error)
    return np.where(inside | (exponent > 0), low, 0.0), np.where(inside | (exponent < 0), high, np.inf)


def _exp(exponent: FloatArray) -> FloatArray:
    """e^x for |x| ≤ 700 with a relative error below 8 units, by IEEE operations only.

    x = k/256 + r is exact (Sterbenz). e^r by its Taylor polynomial: |r| ≤ 1/512, so the remainder is below
    1e-19 and the rounding about 1 unit; two table values with 2 units each and two products make 7.1.
    """
    whole, parts = _exp_tables()
    k = np.rint(exponent * 256)
    r = exponent - k / 256
    series = np.full_like(r, 1 / 120)
    for coefficient in (1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        series = series * r + coefficient
    index = k.astype(np.intp)
    return np.asarray(whole[(index >> 8) + len(whole) // 2] * parts[index & 255] * series)


@cache
def _exp_tables() -> tuple[FloatArray, FloatArray]:
    most = int(LARGEST_VECTOR_EXPONENT) + 2
    whole = np.array([exp_lower(Fraction(a)) for a in range(-most, most + 1)])
    return whole, np.array([exp_lower(Fraction(b, 256)) for b in range(256)])


def kernel_weights(distances: FloatArray, eps: float) -> FloatArray | None:
    """The solution of Σ_j e^(-ε·d(i,j))·w_j = 1 to full float precision, or None where Φ may be singular."""
    size = len(distances)
    old = flint.ctx.prec
    flint.ctx.prec = 2 * PRECISION
    try:
        rate = -flint.arb(eps)
        entries = [
            (rate * float(d)).exp() if np.isfinite(d) else flint.arb(0) for d in distances.ravel().tolist()
        ]
        try:
            found = flint.arb_mat(size, size, entries).solve(flint.arb_mat(size, 1, [1] * size))
        except ZeroDivisionError:
            return None
        return np.array([float(found[i, 0].mid()) for i in range(size)])
    finally:
        flint.ctx.prec = old


def rounded_to(value: Fraction, down: bool) -> float:
    """The nearest float that is at most the value, or at least it."""
    try:
        nearest = float(value)
    except OverflowError:
        return float(np.finfo(np.float64).max) if down else np.inf
    if down:
        return nearest if Fraction(nearest) <= value else float(np.nextafter(nearest, -np.inf))
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))


def sum_error(terms: int) -> float:
    """Relative error of a float sum of products of that many non-negative terms, however it is ordered.

    Every term passes through one product and fewer than `terms` additions, each off by at most a unit;
    4 more units leave room for a caller's own scaling, 1% for the powers of 1 + u.
    """
    return (terms + 4) * UNIT * 1.01


def log2_bounds(low: Fraction, high: Fraction) -> tuple[float, float]:
    """Floats proved to enclose [log2 low, log2 high]."""
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        ends = []
        for value in (low, high):
            ball = flint.arb(flint.fmpq(value.numerator, value.denominator)).log() / flint.arb(2).log()
            ends.append(ball)
        return rounded_to(_fraction(ends[0].lower()), down=True), rounded_to(
            _fraction(ends[1].upper()), down=False
        )
    finally:
        flint.ctx.prec = old


def decimal(value: Fraction, digits: int, down: bool) -> str:
    """A fraction in decimals, rounded in the safe direction.

    >>> decimal(Fraction(2, 3), 4, down=True), decimal(Fraction(2, 3), 4, down=False)
    ('0.6666', '0.6667')
    """
    scale = 10**digits
    scaled = value * scale
    whole = scaled.numerator // scaled.denominator if down else -((-scaled.numerator) // scaled.denominator)
    sign = "-" if whole < 0 else ""
    return f"{sign}{abs(whole) // scale}.{abs(whole) % scale:0{digits}d}"
