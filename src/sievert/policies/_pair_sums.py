"""The pair of values with the largest sum of costs over several tables, in whole numbers of any length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.errors import TooLargeError
from sievert.policies._statistic import Statistic

__all__ = ["CellCost", "PairSums"]

# What noise in one cell costs when the cell moves by so many steps: 0 for none, and rising.
CellCost = Callable[[int], Fraction]

# Steps up to which all costs are listed; amounts whose differences are, and steps whose costs are, beyond.
FEW_STEPS = 4096
LARGEST_AMOUNTS = 1_000
LARGEST_STEPS = 1_000_000
# Whole numbers are added in parts of so many bits, which sums of thousands of them leave within 64.
LIMB = 45
# Sums of costs that floats cannot tell apart are compared in whole numbers.
ROUNDED = 1e-12


class PairSums:
    """Sums of costs over pairs of values, as whole numbers of one denominator."""

    def __init__(self, tables: tuple[Statistic, ...], costs: tuple[CellCost, ...]) -> None:
        looked_up = [_Amounts(table.amount) for table in tables]
        found = [
            [cost(int(step)) for step in amounts.steps]
            for amounts, cost in zip(looked_up, costs, strict=True)
        ]
        scale = math.lcm(*(number.denominator for numbers in found for number in numbers))
        whole = [[number.numerator * (scale // number.denominator) for number in part] for part in found]
        bits = sum(2 * max(part) for part in whole).bit_length()
        self.limbs = 1 if bits < 62 else -(-bits // LIMB)
        self.parts = [
            _Part(table, amounts, _split(numbers, self.limbs, scale))
            for table, amounts, numbers in zip(tables, looked_up, whole, strict=True)
        ]

    def best(self, blocks: Iterator[tuple[IndexArray, IndexArray]]) -> tuple[int, int] | None:
        """The first pair of places with the largest sum; None where nothing costs."""
        largest, place = (0,) * self.limbs, None
        for first, second in self._near(blocks):
            totals = _carried(
                [sum(part.of(first, second, limb) for part in self.parts) for limb in range(self.limbs)]
            )
            among, value = totals[0], [int(totals[0].max(initial=0))]
            for total in totals[1:]:
                among = np.where(among == value[-1], total, -1)
                value.append(int(among.max(initial=0)))
            if tuple(value) > largest:
                largest = tuple(value)
                rows, columns = np.broadcast_arrays(first, second)
                at = int(np.argmax(among))
                place = int(rows.flat[at]), int(columns.flat[at])
        return place

    def _near(
        self, blocks: Iterator[tuple[IndexArray, IndexArray]]
    ) -> Iterator[tuple[IndexArray, IndexArray]]:
        """The pairs that can be the largest: all, or where numbers are long those that floats leave over."""
        if self.limbs == 1:
            yield from blocks
            return
        most = 0.0
        for first, second in blocks:
            totals = np.asarray(sum(part.nearly(first, second) for part in self.parts))
            most = max(most, float(np.max(totals, initial=0.0)))
            # A sum of few floats is off by some units in its last place.
            close = np.nonzero(totals >= most * (1 - ROUNDED))
            rows, columns = np.broadcast_arrays(first, second)
            yield rows[close], columns[close]


class _Amounts:
    """The steps that cells of one table may move by: single amounts, and differences of two."""

    def __init__(self, amount: IntArray) -> None:
        distinct, self.code = np.unique(amount, return_inverse=True)
        most = max(int(np.ptp(distinct)), int(np.abs(distinct).max()))
        self.listed = most > FEW_STEPS and len(distinct) <= LARGEST_AMOUNTS
        if self.listed:
            apart = np.abs(np.subtract.outer(distinct, distinct))
            self.steps, where = np.unique(np.append(apart.ravel(), np.abs(distinct)), return_inverse=True)
            self.apart = where[: apart.size].reshape(apart.shape)
            self.alone = where[apart.size :][self.code]
            return
        if most > LARGEST_STEPS:
            raise TooLargeError(f"a table that moves by {most} steps has too many costs to list", size=most)
        self.steps = np.arange(most + 1)
        self.alone = np.abs(amount)


class _Part:
    """What one table costs for a pair of values."""

    def __init__(self, table: Statistic, amounts: _Amounts, costs: list[NDArray[Any]]) -> None:
        # The last of the costs are the whole numbers as floats.
        self.amounts, self.costs = amounts, costs
        self.one_cell = len(np.unique(table.cell_of[table.amount != 0])) <= 1
        # Cells and amounts that fit are half as wide.
        self.small: NDArray[np.int32] = np.asarray([] if amounts.listed else table.amount, dtype=np.int32)
        self.cell = table.cell_of.astype(np.int32)
        self.alone = [cost[amounts.alone] for cost in costs]
        self.apart = [cost[amounts.apart] for cost in costs] if amounts.listed else []

    def of(self, first: IndexArray, second: IndexArray, limb: int) -> IntArray:
        """One part of the whole numbers."""
        return np.asarray(self._cost(first, second, limb))

    def nearly(self, first: IndexArray, second: IndexArray) -> FloatArray:
        """The same as floats, in units of no matter."""
        return np.asarray(self._cost(first, second, -1))

    def _cost(self, first: IndexArray, second: IndexArray, limb: int) -> NDArray[Any]:
        """In one cell by the difference of both amounts, in two cells by one each."""
        if self.amounts.listed:
            code = self.amounts.code
            inside = self.apart[limb][code[first], code[second]]
        else:
            apart = self.small[first] - self.small[second]
            inside = np.take(self.costs[limb], np.abs(apart, out=apart))
        if self.one_cell:
            return inside
        together = self.cell[first] == self.cell[second]
        return np.where(together, inside, self.alone[limb][first] + self.alone[limb][second])


def _split(numbers: list[int], limbs: int, scale: int) -> list[NDArray[Any]]:
    """Whole numbers in parts, the most significant first, and last as floats."""
    if limbs == 1:
        return [np.array(numbers, dtype=np.int64)]
    mask = (1 << LIMB) - 1
    parts: list[NDArray[Any]] = [
        np.array([number >> (LIMB * place) & mask for number in numbers], dtype=np.int64)
        for place in reversed(range(limbs))
    ]
    return [*parts, np.array([number / scale for number in numbers])]


def _carried(totals: list[Any]) -> list[IntArray]:
    """Sums of parts with what exceeds a part moved into the next one."""
    for place in range(len(totals) - 1, 0, -1):
        totals[place - 1] = totals[place - 1] + (totals[place] >> LIMB)
        totals[place] = totals[place] & ((1 << LIMB) - 1)
    return totals
