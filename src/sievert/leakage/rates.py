"""Rates: what each further observation adds, in bits, in the long run.

Worst case: log2 max_y (max_x C[x,y]/min_x C[x,y]) again (Boreale and Paolini, Thm 6). Average case: the
largest Chernoff information of two rows (Thm 8). Utility: the least Chernoff information of two different
rows, the rate at which the whole secret becomes known and every loss falls to its limit (Thm 9); it is at
most the worst-case level and the level of privacy (Thm 10).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels.channel import Channel, finite_channel
from sievert.leakage.breach_levels import worst_level
from sievert.leakage.chernoff import ChernoffPairs, chernoff_pairs
from sievert.leakage.row_classes import equal_rows
from sievert.mechanisms.parameters import privacy
from sievert.results import Result, in_bits

__all__ = ["Rate", "Rates", "geometric_rate", "rates"]

LN2 = math.log(2)


@dataclass(frozen=True)
class Rate(Result):
    """Bits an observation, and the pair of inputs that decides."""

    bits: float
    pair: tuple[Hashable, Hashable] | None = None

    @property
    def nats(self) -> float:
        """The rate in nats."""
        return self.bits * LN2

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        between = "" if self.pair is None else f" ({self.pair[0]!r} against {self.pair[1]!r})"
        return f"{in_bits(self.bits, 6)} an observation{between}"


@dataclass(frozen=True)
class Rates(Result):
    """What repeated observations do in the long run.

    Attributes
    ----------
    worst : Thm 6, the worst-case level again
    average : Thm 8, the largest Chernoff information of two rows; the pair is easiest to tell apart
    utility : Thm 9, the least of two different rows; the pair is hardest to tell apart
    pairs : the Chernoff information of all rows (None where there is only one)
    classes : inputs with equal rows, which no number of observations tells apart (groups of two or more)
    """

    worst: Rate
    average: Rate
    utility: Rate
    pairs: ChernoffPairs | None
    classes: tuple[tuple[Hashable, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the matrix of all pairs is left out where it is large."""
        found = super().to_dict()
        if self.pairs is not None and len(self.pairs.bits) > 50:
            found["pairs"] = None
        return found

    def __str__(self) -> str:
        return f"worst case {self.worst}; average case {self.average}; utility {self.utility}"


def rates(channel: Channel) -> Rates:
    """All rates of a channel; equal rows are merged first. With one distinct row nothing is learned: 0.

    >>> found = rates(Channel([["3/5", "2/5"], ["2/5", "3/5"], ["2/5", "3/5"]]))
    >>> round(found.utility.bits, 6), found.classes
    (0.029447, ((1, 2),))
    """
    finite = finite_channel(channel)
    groups = equal_rows([finite], list(range(finite.shape[0])))
    named = tuple(tuple(finite.inputs[i] for i in group) for group in groups if len(group) > 1)
    level = worst_level(finite)
    worst = Rate(level.bits, level.pair)
    if len(groups) == 1:
        return Rates(worst, Rate(0.0), Rate(0.0), None, named)
    pairs = chernoff_pairs(finite)
    first = [group[0] for group in groups]
    bits = pairs.bits[np.ix_(first, first)]
    rows, columns = np.triu_indices(len(first), 1)
    values = bits[rows, columns]

    def chosen(position: int) -> Rate:
        i, j = first[rows[position]], first[columns[position]]
        return Rate(float(values[position]), (finite.inputs[i], finite.inputs[j]))

    # The first of those that are equal up to rounding.
    top, low = values.max(), values.min()
    easiest = int(np.argmax(values >= (top if np.isinf(top) else top * (1 - 1e-12))))
    hardest = int(np.argmax(values <= low * (1 + 1e-12)))
    return Rates(worst, chosen(easiest), chosen(hardest), pairs, named)


def geometric_rate(alpha: float | Fraction | str | None = None, eps: float | None = None) -> Rate:
    """Utility rate of the geometric mechanism, in closed form (Thm 11), truncated or not.

    With c = α = e^-ε: log2(1+c) - ½·log2 c - 1. The truncated mechanism has the same: columns beyond the
    ends are proportional, so nothing is lost (Cor 1, which says it has less, is an erratum).

    >>> round(geometric_rate(alpha="1/2").bits, 7)
    0.0849625
    """
    nats = privacy(eps, alpha).eps
    if math.isinf(nats):
        return Rate(math.inf)
    # log((1 + e^-ε)/2) + ε/2 = log cosh(ε/2), and cosh h = 1 + 2 sinh²(h/2) without cancellation.
    half = nats / 2
    if half < 1:
        return Rate(math.log1p(2 * math.sinh(half / 2) ** 2) / LN2)
    return Rate((half + math.log1p(math.exp(-nats)) - LN2) / LN2)
