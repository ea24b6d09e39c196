"""What is gained about a place on a map when all cells are equally likely: several tries, and guesses nearby.

Far from the border every output is like every other, so only outputs near it are looked at one by one: those
of one corner of the region, since the other corners are like it. An output is named by how far it lies from
the nearest side of either kind, up to a margin beyond which the border is not felt.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import PlanarNoise

__all__ = [
    "best_disc",
    "disc",
    "nearby_belief",
    "nearby_guess",
    "several_tries",
    "stays_within",
    "tries_by_belief",
]

# Outputs of a corner times cells around each that are looked at.
LARGEST_WORK = 400_000_000
# Outputs that are looked at one by one for any belief, and the nats after which a cell is far from one.
MOST_OUTPUTS, FAR = 20_000, 45.0
# What a sum of squares may miss of a whole number by rounding.
ROUNDING = 1e-9


def disc(radius: float) -> list[int]:
    """How many columns a disc reaches to either side in the rows 0, 1, … away from its centre."""
    square = radius * radius * (1 + ROUNDING) + ROUNDING
    return [math.isqrt(int(square - i * i)) for i in range(math.isqrt(int(square)) + 1)]


def stays_within(noise: PlanarNoise, radius: float) -> float:
    """P(|z| ≤ radius), in cells: that noise moves a place no further."""
    halves = disc(radius)
    lattice = noise.lattice
    total = 0.0
    for i, half in enumerate(halves):
        row = np.exp(lattice.point(np.full(1, float(i)), np.arange(half + 1.0)))
        total += (1 if i == 0 else 2) * float(2 * row.sum() - row[0])
    return min(1.0, total)


def several_tries(noise: PlanarNoise, tries: int) -> float | None:
    """The chance to name the cell in so many tries; None where the region is too narrow for a margin."""
    cells = len(noise.region)
    if tries >= cells:
        return 1.0
    margin = _extent(noise, tries)
    if (margin + 1) ** 2 * (16 * tries + 64) > LARGEST_WORK:
        return None
    found = _over_outputs(noise, margin, lambda row, column: _largest_sum(noise, row, column, tries))
    return None if found is None else found / cells


def _extent(noise: PlanarNoise, count: int) -> int:
    """How far the likeliest cells of an output reach along the sides, far from all corners."""
    kernels, furthest = noise.kernels, 0
    for table, both in ((kernels.inside, (0, 1)), (kernels.side_row, (1,)), (kernels.side_column, (0,))):
        seen = table
        for axis in both:
            seen = np.concatenate([seen, np.delete(seen, 0, axis=axis)], axis=axis)
        if seen.size < count:
            return max(table.shape)
        least = float(np.partition(seen.ravel(), seen.size - count)[seen.size - count])
        along = [int((table[0] >= least).sum()), int((table[:, 0] >= least).sum())]
        furthest = max(furthest, *(along[1 - axis] for axis in both))
    return furthest


def _largest_sum(noise: PlanarNoise, row: int, column: int, count: int) -> float:
    """The sum of the largest likelihoods of one output; likelihoods fall along either axis."""
    rows, columns = noise.region.shape
    table = noise.kernels.of(row, column)
    reach = 2 * math.ceil(math.sqrt(count / math.pi)) + 2
    while True:
        high, wide = min(rows, row + reach + 1), min(columns, column + reach + 1)
        low, left = max(0, row - reach), max(0, column - reach)
        seen = table[np.abs(np.arange(low, high) - row)[:, None], np.abs(np.arange(left, wide) - column)]
        whole = high == rows and wide == columns and low == 0 and left == 0
        if seen.size >= count:
            kept = np.partition(seen.ravel(), seen.size - count)[seen.size - count :]
            # Cells beyond the window are no likelier than the first one straight across its border.
            beyond = max(_at(table, reach + 1, 0), _at(table, 0, reach + 1))
            if whole or kept.min() >= beyond:
                return float(np.exp(kept).sum())
        reach *= 2


def _at(table: FloatArray, row: int, column: int) -> float:
    inside = row < table.shape[0] and column < table.shape[1]
    return float(table[row, column]) if inside else -math.inf


def nearby_guess(noise: PlanarNoise, radius: float) -> float | None:
    """The chance to guess a place within a radius, in cells; None where that is too much work.

    An output whose disc lies inside the region is its own best guess: no other cells are likelier.
    """
    halves = disc(radius)
    margin = len(halves) - 1
    if (margin + 1) ** 3 * (3 * margin + 1) ** 2 > LARGEST_WORK:
        return None
    found = _over_outputs(noise, margin, lambda row, column: _best_disc(noise, row, column, halves))
    return None if found is None else found / len(noise.region)


def nearby_belief(noise: PlanarNoise, belief: FloatArray, radius: float) -> tuple[float, float] | None:
    """The same for any belief [rows, columns], enclosed; None where that is too much work."""
    halves = disc(radius)
    return _over_all_outputs(noise, belief, lambda joint: _largest_disc(joint, halves), 2 * len(halves))


def tries_by_belief(noise: PlanarNoise, belief: FloatArray, tries: int) -> tuple[float, float] | None:
    """The chance to name the cell in so many tries for any belief [rows, columns]; likewise."""

    def largest(joint: FloatArray) -> float:
        kept = min(tries, joint.size)
        return float(np.partition(joint.ravel(), joint.size - kept)[joint.size - kept :].sum())

    return _over_all_outputs(noise, belief, largest, 4)


def _over_all_outputs(
    noise: PlanarNoise, belief: FloatArray, value: Callable[[FloatArray], float], work: int
) -> tuple[float, float] | None:
    """Σ over outputs of a value of belief times likelihood, enclosed; `work` is that of one cell.

    Cells far from an output are left out of account, and what they could add at most is added above.
    """
    rows, columns = belief.shape
    reach = min(math.ceil(FAR / noise.level.eps), max(rows, columns))
    window = min(rows, 2 * reach + 1) * min(columns, 2 * reach + 1)
    if belief.size * window * work > LARGEST_WORK or belief.size > MOST_OUTPUTS:
        return None
    found, seen = [], []
    for row in range(rows):
        for column in range(columns):
            low, left = max(0, row - reach), max(0, column - reach)
            near = belief[low : row + reach + 1, left : column + reach + 1]
            down, right = np.arange(near.shape[0]) + low - row, np.arange(near.shape[1]) + left - column
            joint = near * np.exp(noise.kernels.of(row, column)[np.ix_(np.abs(down), np.abs(right))])
            found.append(value(joint))
            seen.append(float(joint.sum()))
    least = math.fsum(found)
    return least, min(1.0, least + max(0.0, 1 - math.fsum(seen)))


def _largest_disc(joint: FloatArray, halves: list[int]) -> float:
    """The largest sum over a disc around any cell of the window or beyond it.

    A centre outside the region covers no more cells of it than the nearest one inside.
    """
    return float(_discs(joint, halves).max())


def best_disc(joint: FloatArray, halves: list[int]) -> tuple[int, int]:
    """The cell around which a disc has the largest sum, from the first of the window on."""
    sums, reach = _discs(joint, halves), len(halves) - 1
    row, column = divmod(int(np.argmax(sums)), sums.shape[1])
    return row - reach, column - reach


def _discs(joint: FloatArray, halves: list[int]) -> FloatArray:
    """Sums over discs around all cells from a radius before the window to a radius after it."""
    reach = len(halves) - 1
    rows, columns = joint.shape[0] + 2 * reach, joint.shape[1] + 2 * reach
    before = np.zeros((joint.shape[0], columns + 2 * reach + 1))
    np.cumsum(joint, axis=1, out=before[:, 2 * reach + 1 : 2 * reach + 1 + joint.shape[1]])
    before[:, 2 * reach + 1 + joint.shape[1] :] = before[:, 2 * reach + joint.shape[1], None]
    total = np.zeros((rows, columns))
    for step in range(-reach, reach + 1):
        half = halves[abs(step)]
        band = (
            before[:, reach + half + 1 : reach + half + 1 + columns]
            - before[:, reach - half : reach - half + columns]
        )
        total[reach - step : reach - step + joint.shape[0]] += band
    return total


def _best_disc(noise: PlanarNoise, row: int, column: int, halves: list[int]) -> float:
    """The largest likelihood of a disc around a cell, for one output near the first row and column.

    A disc that lies beyond the output along an axis gains by moving back, so the centre is at most a radius
    further.
    """
    rows, columns = noise.region.shape
    reach = len(halves) - 1
    high, wide = min(rows, row + 2 * reach + 1), min(columns, column + 2 * reach + 1)
    table = noise.kernels.of(row, column)
    seen = np.exp(table[np.abs(np.arange(high) - row)[:, None], np.abs(np.arange(wide) - column)])
    before = np.concatenate([np.zeros((high, 1)), np.cumsum(seen, axis=1)], axis=1)
    centres = np.arange(min(rows, row + reach + 1)), np.arange(min(columns, column + reach + 1))
    total = np.zeros((len(centres[0]), len(centres[1])))
    for step in range(-reach, reach + 1):
        line = centres[0] + step
        kept = (line >= 0) & (line < high)
        half = halves[abs(step)]
        last = np.minimum(centres[1] + half + 1, wide)
        first = np.maximum(centres[1] - half, 0)
        total[kept] += before[line[kept]][:, last] - before[line[kept]][:, first]
    return float(total.max())


def _over_outputs(noise: PlanarNoise, margin: int, value: Callable[[int, int], float]) -> float | None:
    """Σ over outputs, each like one in the corner; None where sides are so close that both are felt."""
    counts = []
    for size in noise.region.shape:
        # From the middle on, an output is nearer to the other side.
        if size < 4 * margin + 2:
            return None
        counts.append([2] * margin + [size - 2 * margin] if margin else [2, size - 2])
    if margin == 0:  # the sides themselves differ from the inside
        margin = 1
    return math.fsum(
        first * second * value(row, column)
        for row, first in enumerate(counts[0])
        for column, second in enumerate(counts[1])
    )
