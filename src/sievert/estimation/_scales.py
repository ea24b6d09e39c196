"""Places of outputs among each other that one wild value cannot move.

A standard deviation is ruled by the largest value: one row of 3·10^10 among thousands around 3,000 makes all
of them the same. A rank and the distance between quartiles do not notice it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sievert.arrays import FloatArray

__all__ = ["Scale", "by_quartiles", "by_ranks"]

# From a table to the places of its rows, all of them finite.
Scale = Callable[[FloatArray], FloatArray]
# Values beyond so many times the distance of the quartiles are as far; what is no number is farther.
FARTHEST = 1e6
NO_NUMBER = 2e6


def by_ranks(table: FloatArray) -> Scale:
    """The share of the table's values that are smaller, equal ones counted half."""
    return partial(_ranked, [np.sort(column[~np.isnan(column)]) for column in table.T])


def _ranked(columns: list[FloatArray], table: FloatArray) -> FloatArray:
    places = [_rank(known, column) for known, column in zip(columns, table.T, strict=True)]
    return np.column_stack(places)


def _rank(known: FloatArray, column: FloatArray) -> FloatArray:
    below, upto = np.searchsorted(known, column), np.searchsorted(known, column, side="right")
    return np.where(np.isnan(column), 2.0, (below + upto) / (2 * max(1, len(known))))


def by_quartiles(table: FloatArray) -> Scale:
    """Distance from the median in units of a robust spread of each column."""
    return partial(_scaled, [_centre_and_spread(column) for column in table.T])


def _centre_and_spread(column: FloatArray) -> tuple[float, float]:
    """Median, and the distance of the quartiles; of the values that differ, where most are equal; else 1."""
    finite = column[np.isfinite(column)]
    if not len(finite):
        return 0.0, 1.0
    low, middle, high = (float(end) for end in np.quantile(finite, (0.25, 0.5, 0.75), method="nearest"))
    spread = high / 2 - low / 2
    if spread <= 0:
        others = np.abs(finite[finite != middle] / 2 - middle / 2)
        spread = float(np.median(others)) if len(others) else 1.0
    return middle, max(spread, np.finfo(float).tiny)


def _scaled(columns: list[tuple[float, float]], table: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        places = [
            (column / 2 - middle / 2) / spread
            for (middle, spread), column in zip(columns, table.T, strict=True)
        ]
    return np.column_stack(
        [np.where(np.isnan(x), NO_NUMBER, np.clip(x, -FARTHEST, FARTHEST)) for x in places]
    )
