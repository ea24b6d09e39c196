"""The best guess about a place under any public prior: Σ over outputs of the largest belief times likelihood.

For every output y the cell x with the largest ln π_x + k(|y - x|) is sought, where k falls with the distance
along either axis. Good candidates spread from cell to cell, at steps of halving length (jump flooding), and
give a lower bound at every y. A pair of blocks of cells is then looked into only if the largest belief of the
one, at the least distance of the two, is above the lowest of these bounds in the other: what is left out
cannot win, so the result is the maximum itself, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IntArray
from sievert.channels import PlanarNoise
from sievert.numerics import COMPILED, compiled

__all__ = ["by_blocks", "compared", "largest_beliefs", "looked_around"]

# Blocks of outputs that are looked at together have this many cells on a side, a power of 2.
TILE = 64
# Cells times outputs that are compared one by one.
MOST_COMPARED = 100_000
# Cells around which compiled code looks as far as need be.
MOST_AROUND = 10_000
# Blocks by row and column, an array [2, blocks].
Blocks = NDArray[np.int32]
NEIGHBOURS = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]


def largest_beliefs(noise: PlanarNoise, log_belief: FloatArray) -> FloatArray:
    """ln max_x π_x·P(y | x) for every cell y of the region, [rows, columns].

    Parameters
    ----------
    noise : on the region
    log_belief : ln π_x, [rows, columns]; -inf where nobody can be

    Notes
    -----
    Cost: O(n·log n) for n cells where beliefs vary no faster than the noise; far more only where a great many
    cells far apart are equally good guesses.
    """
    cells = log_belief.size
    if cells == 1:
        return log_belief.copy()
    if cells**2 <= MOST_COMPARED:
        return compared(noise, log_belief)
    if COMPILED and cells <= MOST_AROUND:
        tables = noise.kernels.inside, noise.kernels.side_row, noise.kernels.side_column, noise.kernels.corner
        return np.asarray(looked_around(*tables, log_belief, float(log_belief.max())))
    return by_blocks(noise, log_belief)


def by_blocks(noise: PlanarNoise, log_belief: FloatArray) -> FloatArray:
    """By pairs of blocks, on a map of any size."""
    kernels, (rows, columns) = noise.kernels, noise.region.shape
    winners = _flooded(kernels.inside, log_belief)
    pyramid = _pyramid(log_belief)
    found = np.empty((rows, columns))
    inner_rows, inner_columns = range(1, rows - 1), range(1, columns - 1)
    # With one row or column, every output of it is like one inside.
    ends_row = [0, rows - 1] if rows > 1 else []
    ends_column = [0, columns - 1] if columns > 1 else []
    inner_rows = inner_rows if rows > 1 else range(1)
    inner_columns = inner_columns if columns > 1 else range(1)
    parts = [(kernels.inside, inner_rows, inner_columns)]
    parts += [(kernels.side_row, range(row, row + 1), inner_columns) for row in ends_row]
    parts += [(kernels.side_column, inner_rows, range(column, column + 1)) for column in ends_column]
    parts += [
        (kernels.corner, range(row, row + 1), range(column, column + 1))
        for row in ends_row
        for column in ends_column
    ]
    for table, at_rows, at_columns in parts:
        if len(at_rows) and len(at_columns):
            search = _Search(table, log_belief, pyramid, at_rows, at_columns)
            start = winners[at_rows.start : at_rows.stop, at_columns.start : at_columns.stop]
            found[at_rows.start : at_rows.stop, at_columns.start : at_columns.stop] = search.run(start)
    return found


def compared(noise: PlanarNoise, log_belief: FloatArray) -> FloatArray:
    """Every cell with every output, on a small map."""
    rows, columns = noise.region.shape
    row, column = (part.ravel() for part in np.indices((rows, columns)))
    away = np.abs(np.subtract.outer(row, row)), np.abs(np.subtract.outer(column, column))
    found = (log_belief.ravel() + noise.kernels.inside[away]).max(axis=1)
    for place in np.flatnonzero((row % (rows - 1 or 1) == 0) | (column % (columns - 1 or 1) == 0)).tolist():
        table = noise.kernels.of(int(row[place]), int(column[place]))
        found[place] = (log_belief.ravel() + table[away[0][place], away[1][place]]).max()
    return np.asarray(found.reshape(rows, columns))


@compiled
def looked_around(
    inside: FloatArray,
    side_row: FloatArray,
    side_column: FloatArray,
    corner: FloatArray,
    log_belief: FloatArray,
    most: float,
) -> FloatArray:
    """From each output outwards, until not even the largest belief of all could win."""
    rows, columns = log_belief.shape
    found = np.empty((rows, columns))
    for row in range(rows):
        for column in range(columns):
            at_end, at_side = row in (0, rows - 1), column in (0, columns - 1)
            table = inside
            if at_end and at_side:
                table = corner
            elif at_end:
                table = side_row
            elif at_side:
                table = side_column
            best = log_belief[row, column] + table[0, 0]
            for down in range(rows):
                if table[down, 0] + most <= best:
                    break
                for right in range(columns):
                    chance = table[down, right]
                    if chance + most <= best:
                        break
                    for above in (row - down, row + down):
                        if above < 0 or above >= rows:
                            continue
                        for beside in (column - right, column + right):
                            if 0 <= beside < columns and log_belief[above, beside] + chance > best:
                                best = log_belief[above, beside] + chance
            found[row, column] = best
    return found


def _flooded(table: FloatArray, log_belief: FloatArray) -> IntArray:
    """A good candidate for every output, as a position row by row: jump flooding."""
    rows, columns = log_belief.shape
    beliefs = log_belief.ravel()
    best = np.arange(rows * columns).reshape(rows, columns)
    value = log_belief + table[0, 0]
    row, column = np.indices((rows, columns), sparse=True)
    step = 1 << max(0, (max(rows, columns) - 1).bit_length() - 1)
    while step:
        for down, right in NEIGHBOURS:
            here, there = _overlap(rows, down * step), _overlap(columns, right * step)
            if here is None or there is None:
                continue
            (to_rows, from_rows), (to_columns, from_columns) = here, there
            candidate = best[from_rows, from_columns]
            away = (
                np.abs(candidate // columns - row[to_rows]),
                np.abs(candidate % columns - column[:, to_columns]),
            )
            worth = beliefs[candidate] + table[away]
            better = worth > value[to_rows, to_columns]
            best[to_rows, to_columns] = np.where(better, candidate, best[to_rows, to_columns])
            value[to_rows, to_columns] = np.where(better, worth, value[to_rows, to_columns])
        step //= 2
    return best


def _overlap(size: int, shift: int) -> tuple[slice, slice] | None:
    """Places, and the places so many after them, within an axis."""
    if abs(shift) >= size:
        return None
    if shift >= 0:
        return slice(0, size - shift), slice(shift, size)
    return slice(-shift, size), slice(0, size + shift)


def _pyramid(log_belief: FloatArray) -> list[FloatArray]:
    """The largest belief in blocks of 1, 2, 4, … cells on a side, up to tiles."""
    levels = [log_belief]
    while 1 << (len(levels) - 1) < TILE:
        rows, columns = levels[-1].shape
        padded = np.full((rows + rows % 2, columns + columns % 2), -np.inf)
        padded[:rows, :columns] = levels[-1]
        levels.append(padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2).max(axis=(1, 3)))
    return levels


@dataclass(frozen=True, eq=False)
class _Search:
    """The exact maxima over a rectangle of outputs that have one table of likelihoods."""

    table: FloatArray
    log_belief: FloatArray
    pyramid: list[FloatArray]
    rows: range
    columns: range

    def run(self, start: IntArray) -> FloatArray:
        """Maxima [output row, output column], from a candidate for each."""
        row, column = np.array(self.rows)[:, None], np.array(self.columns)[None, :]
        width = self.log_belief.shape[1]
        value = (
            self.log_belief.ravel()[start]
            + self.table[np.abs(start // width - row), np.abs(start % width - column)]
        )
        for top in range(self.rows.start - self.rows.start % TILE, self.rows.stop, TILE):
            for left in range(self.columns.start - self.columns.start % TILE, self.columns.stop, TILE):
                self._tile(value, top, left)
        return np.asarray(value)

    def _tile(self, value: FloatArray, top: int, left: int) -> None:
        """Improve the outputs of one tile by all blocks of cells that could."""
        first_row, first_column = self.rows.start, self.columns.start
        high, wide = min(TILE, self.rows.stop - top), min(TILE, self.columns.stop - left)
        lowest = np.full((TILE, TILE), np.inf)
        low_row, low_column = max(0, first_row - top), max(0, first_column - left)
        part = value[
            top + low_row - first_row : top + high - first_row,
            left + low_column - first_column : left + wide - first_column,
        ]
        lowest[low_row:high, low_column:wide] = part
        bounds = [lowest]
        while len(bounds[-1]) > 1:
            size = len(bounds[-1]) // 2
            bounds.append(bounds[-1].reshape(size, 2, size, 2).min(axis=(1, 3)))
        level = len(bounds) - 1
        blocks = self.pyramid[level]
        source: Blocks = np.indices(blocks.shape, dtype=np.int32).reshape(2, -1)
        target: Blocks = np.zeros_like(source)
        while True:
            source, target = self._kept(source, target, level, bounds[level], top, left)
            if not source.shape[1]:
                return
            if level == 0:
                break
            level -= 1
            source, target = _halved(source, target, self.pyramid[level].shape)
        worth = self._worth(source, target, 0, top, left)
        np.maximum.at(part, (target[0] - low_row, target[1] - low_column), worth)

    def _kept(
        self, source: Blocks, target: Blocks, level: int, lowest: FloatArray, top: int, left: int
    ) -> tuple[Blocks, Blocks]:
        """Pairs of blocks that may still hold a better guess."""
        kept = self._worth(source, target, level, top, left) > lowest[tuple(target)]
        return source[:, kept], target[:, kept]

    def _worth(self, source: Blocks, target: Blocks, level: int, top: int, left: int) -> FloatArray:
        """The largest belief of a block at the least distance from the other."""
        least = []
        for axis, start in enumerate((top, left)):
            apart = np.abs(source[axis] - (target[axis] + (start >> level)))
            least.append(np.where(apart > 0, ((apart - 1) << level) + 1, 0))
        inside = (least[0] < self.table.shape[0]) & (least[1] < self.table.shape[1])
        near = self.table[
            np.minimum(least[0], self.table.shape[0] - 1), np.minimum(least[1], self.table.shape[1] - 1)
        ]
        return np.where(inside, self.pyramid[level][tuple(source)] + near, -np.inf)


def _halved(source: Blocks, target: Blocks, shape: tuple[int, ...]) -> tuple[Blocks, Blocks]:
    """All pairs of the quarters of two blocks."""
    quarters = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.int32)
    first = (2 * source[:, :, None, None] + quarters[:, None, :, None]).repeat(4, axis=3).reshape(2, -1)
    second = (2 * target[:, :, None, None] + quarters[:, None, None, :]).repeat(4, axis=2).reshape(2, -1)
    inside = (first[0] < shape[0]) & (first[1] < shape[1])
    return first[:, inside], second[:, inside]
