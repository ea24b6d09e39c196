"""Numbers that are proved: bounds on e^x from ball arithmetic, and float sums with their rounding error.

Single exponentials come from flint's balls. Millions of them come from IEEE arithmetic alone: a table of
ball values, an exact reduction of the argument and a short polynomial, each step with its error counted.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.numerics.rationals import as_fraction

__all__ = [
    "UNIT",
    "decimal",
    "exp_above",
    "exp_below",
    "exp_enclosure",
    "exp_lower",
    "exp_upper",
    "kernel_weights",
    "log2_bounds",
    "read_eps",
    "sum_error",
]

FloatArray = NDArray[np.float64]
PRECISION = 128
# Unit roundoff of a float64 operation.
UNIT = 2.0**-53
# Exponentials one by one up to here; beyond, all at once.
MOST_BALLS = 4000
# Whole numbers up to here are looked up in a table of balls.
LARGEST_TABLE = 2**14
# Beyond e^±700 the vectorised form gives up the digits, not the direction.
LARGEST_EXPONENT = 700.0
# Single exponentials keep their digits up to here; beyond, a bound that needs no more memory.
LARGEST_BALL = Fraction(100_000)


def read_eps(eps: float | str | Fraction) -> Fraction:
    """ε as an exact rational: a decimal is read as written, so 0.1 is one tenth.

    >>> read_eps(0.1)
    Fraction(1, 10)
    """
    return eps if isinstance(eps, Fraction) else as_fraction(str(eps))


def _ball_exp(exponent: Fraction) -> flint.arb:
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        return (flint.arb(exponent.numerator) / flint.arb(exponent.denominator)).exp()
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
    below = _fraction(_ball_exp(min(exponent, LARGEST_BALL)).lower())
    return max(below, Fraction(1)) if exponent >= 0 else below


def exp_above(exponent: Fraction) -> Fraction:
    """A rational proved to be at least e^exponent, within 1e-30 of it where exponent ≥ -LARGEST_BALL."""
    return _fraction(_ball_exp(max(exponent, -LARGEST_BALL)).upper())


def exp_lower(exponent: Fraction) -> float:
    """A float proved to be at most e^exponent."""
    return _round(exp_below(exponent), down=True)


def exp_upper(exponent: Fraction) -> float:
    """A float proved to be at least e^exponent (inf when it overflows)."""
    return math.inf if exponent > LARGEST_BALL else _round(exp_above(exponent), down=False)


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
    exponent = float(rate) * lengths
    inside = np.abs(exponent) <= LARGEST_EXPONENT
    value = _exp(np.clip(exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT))
    error = (16 + 3 * np.minimum(np.abs(exponent), LARGEST_EXPONENT)) * UNIT
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
    most = int(LARGEST_EXPONENT) + 2
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


def _round(value: Fraction, down: bool) -> float:
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
        return _round(_fraction(ends[0].lower()), down=True), _round(_fraction(ends[1].upper()), down=False)
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
