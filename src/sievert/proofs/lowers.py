"""Lower bounds that a certificate proves: a private channel that really has the value.

- *channel*: integers over one denominator, exactly stochastic, exactly private for a rational below e^ε.
- *kernel* (z, t): columns (1-t)·Φ[:,j]·z_j/s and one more that takes the rest.
- *levels*: the distance to a point maps the space onto a line without stretching it, so a mechanism for
  the line, whose capacity is 1 + Σ tanh(ε·gap/2), is one for the space.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.balls import UNIT, exp_above, exp_below, sum_error
from sievert.proofs.reading import floats, whole
from sievert.proofs.space import ProofSpace
from sievert.proofs.uppers import SMALLEST, exact_sum

__all__ = ["channel_diagonal", "channel_table", "channel_value", "kernel_value", "levels_value"]

FloatArray = NDArray[np.float64]


def channel_table(size: int, certificate: dict[str, Any]) -> tuple[NDArray[Any], int]:
    """Rows of whole numbers over a denominator that each of them sums to."""
    denominator = whole(certificate["denominator"], 1)
    rows = [[whole(v) for v in row] for row in certificate["rows"]]
    if len(rows) != size or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("the channel must have one row for each point")
    table = np.empty((size, len(rows[0])), dtype=object)
    table[:] = rows
    if (table.sum(axis=1) != denominator).any():
        raise ValueError("the channel's rows are not distributions")
    return table, denominator


def _table(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> tuple[NDArray[Any], int]:
    """Exact integers: rows sum to the denominator, ratios stay below a rational that is below e^ε."""
    table, denominator = channel_table(space.size, certificate)
    shorter = space.shorter.tolist()
    allowed = {length: exp_below(eps * Fraction(length)) for length in set(shorter)}
    for (i, h), length in zip(space.pairs.tolist(), shorter, strict=True):
        g = allowed[length]
        for a, b in ((i, h), (h, i)):
            if (table[a] * g.denominator > table[b] * g.numerator).any():
                raise ValueError(f"the channel is not private between points {a} and {b}")
    return table, denominator


def channel_diagonal(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> list[Fraction]:
    """Probability that each point of a block reports itself."""
    table, denominator = _table(space, eps, certificate)
    if table.shape[1] != space.size:
        raise ValueError("a block's channel must be square")
    return [Fraction(int(table[i, i]), denominator) for i in range(space.size)]


def channel_value(
    space: ProofSpace, eps: Fraction, objective: FloatArray | None, certificate: dict[str, Any]
) -> Fraction:
    """The value of an explicit channel, exactly: Σ A·K, or the sum of column maxima without an objective."""
    table, denominator = _table(space, eps, certificate)
    if objective is None:
        return Fraction(int(table.max(axis=0).sum()), denominator)
    if objective.shape[1] != table.shape[1]:
        raise ValueError("the channel needs one output for each action")
    used = np.argwhere(objective != 0).tolist()
    total = sum((Fraction(float(objective[x, w])) * table[x, w] for x, w in used), Fraction(0))
    return total / denominator


def kernel_value(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> Fraction:
    """Columns (1-t)·Φ[:,j]·z_j/s are private as Φ is of shortest paths; the remainder is checked here.

    With s at least the largest row of Φz no row exceeds 1 - t. Each remainder is 1 minus a number ≤ 1 made
    by three operations, so 8 units enclose it.
    """
    z, t = floats(certificate["z"]), float(certificate["t"])
    if z.shape != (space.size,) or not (z >= 0).all() or not 0 <= t < 1:
        raise ValueError("the kernel needs finite weights ≥ 0 for each point and 0 ≤ t < 1")
    low, high = space.closed_kernel(eps)
    rows_low = low @ z * (1 - sum_error(len(z)))
    rows_high = high @ z * (1 + sum_error(len(z)))
    scale = float(rows_high.max())
    if not SMALLEST < scale < 1 / SMALLEST:
        raise ValueError("the kernel's weights are all 0, or too large")
    rest_low = np.maximum(1 - (1 - t) * (rows_high / scale) - 8 * UNIT, 0.0)
    rest_high = 1 - (1 - t) * (rows_low / scale) + 8 * UNIT
    # The comparison's own product is off by a unit.
    growth = np.minimum(space.growth(eps)[0], 1 / SMALLEST) * (1 - 2 * UNIT)
    for a, b in (space.pairs.T, space.pairs[:, ::-1].T):
        if (rest_high[a] > growth * rest_low[b]).any():
            raise ValueError("the remainder of the kernel channel is not private")
    return (1 - Fraction(t)) * exact_sum(z) / Fraction(scale) + Fraction(float(rest_low.max()))


def levels_value(space: ProofSpace, eps: Fraction, source: Any) -> Fraction:
    """1 + Σ tanh(ε·gap/2) over the gaps between the distances that occur."""
    start = whole(source, 0, space.size - 1)
    if not space.whole or space.metric:
        raise ValueError("levels need a point of a graph with whole lengths")
    away = np.unique(space.distances_from(np.array([start])))
    gaps, counts = np.unique(np.diff(away[np.isfinite(away)]), return_counts=True)
    total = Fraction(1)
    for gap, count in zip(gaps.tolist(), counts.tolist(), strict=True):
        q = exp_above(-eps * Fraction(gap))
        total += count * (1 - q) / (1 + q)
    return total
