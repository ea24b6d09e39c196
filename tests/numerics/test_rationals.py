"""Exact numbers are recognised, read as written, and multiplied and solved exactly."""

from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest

from sievert.numerics import as_fraction, exact_matmul, exact_solve, exact_sum, fractions_of, is_exact


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, Fraction(1)),
        (True, Fraction(1)),
        (np.int64(3), Fraction(3)),
        (Fraction(2, 3), Fraction(2, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("0.25", Fraction(1, 4)),
        (flint.fmpq(5, 7), Fraction(5, 7)),
        (flint.fmpz(4), Fraction(4)),
    ],
)
def test_exact_numbers(value: object, expected: Fraction) -> None:
    assert is_exact(value)
    assert as_fraction(value) == expected


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.float32(0.5)])
def test_floats_are_not_exact_but_have_an_exact_value(value: float) -> None:
    assert not is_exact(value)
    assert as_fraction(value) == Fraction(1, 2)


@pytest.mark.parametrize("value", ["a", "1/0", None, float("nan"), float("inf"), Decimal("Infinity"), [1]])
def test_what_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        as_fraction(value)


def test_integer_arrays_share_one_object_for_each_value() -> None:
    matrix = fractions_of(np.eye(3, dtype=np.int64))
    assert matrix.tolist() == [[Fraction(int(i == j)) for j in range(3)] for i in range(3)]
    assert matrix[0, 0] is matrix[2, 2]


def test_products_and_solutions_are_exact() -> None:
    a = fractions_of([["1/2", "1/3"], [0, "1/7"]])
    b = fractions_of([[1], ["2/5"]])
    assert exact_matmul(a, b).tolist() == [[Fraction(1, 2) + Fraction(2, 15)], [Fraction(2, 35)]]
    assert exact_matmul(a, exact_solve(a, b)).tolist() == b.tolist()
    with pytest.raises(ZeroDivisionError):
        exact_solve(fractions_of([[1, 1], [1, 1]]), b)


@pytest.mark.parametrize("values", [[], ["1/3"], ["1/2", "-1/3", "1/6", 2], ["0.1"] * 10])
def test_sums_over_one_denominator(values: list[object]) -> None:
    fractions = [as_fraction(value) for value in values]
    assert exact_sum(fractions) == sum(fractions)
