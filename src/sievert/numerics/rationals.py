"""Exact rationals: recognising them in user input and computing with arrays of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.numerics.checks import brief

__all__ = ["as_fraction", "exact_matmul", "exact_rank", "exact_solve", "fractions_of", "is_exact"]

ObjectArray = NDArray[np.object_]
# Numbers are read exactly from texts up to here; longer ones are mistakes or attacks, not measurements.
LONGEST_NUMBER = 1000
LARGEST_EXPONENT = 3000


def is_exact(value: object) -> bool:
    """Whether a number is given exactly: an integer, a fraction, a decimal or a text such as "1/3"."""
    if isinstance(value, bool | np.bool_):
        return True
    if isinstance(value, float | np.floating):
        return False
    return isinstance(value, Rational | Decimal | str | np.integer | flint.fmpq | flint.fmpz)


def as_fraction(value: Any) -> Fraction:
    """The exact value of a number; text and decimals are read as written.

    Raises ValueError when it is not a finite number.

    >>> as_fraction("1/3"), as_fraction(0.5), as_fraction("0.1")
    (Fraction(1, 3), Fraction(1, 2), Fraction(1, 10))
    """
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
        raise ValueError(f"{brief(value)} is not a finite number") from None


def _require_writable(value: str | Decimal) -> None:
    """Refuse a text whose exact value would take unbounded work ("1e1000000000"), or foreign digits."""
    text = str(value)
    if len(text) > LONGEST_NUMBER or not text.isascii():
        raise ValueError(f"{brief(text)} is not a number of at most {LONGEST_NUMBER} ASCII characters")
    exponent = re.search(r"[eE]([+-]?\d+)\s*$", text.replace("_", ""))
    if exponent and abs(int(exponent[1])) > LARGEST_EXPONENT:
        raise ValueError(f"{brief(text)} has an exponent beyond ±{LARGEST_EXPONENT}")


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


def exact_rank(matrix: ObjectArray) -> int:
    """Rank over the rationals."""
    return int(_to_flint(matrix).rref()[1])
