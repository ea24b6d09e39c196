"""The chance of every output of planar noise on a region: four tables of the region's size say everything.

It depends on how many rows and columns the output is away, and on whether it lies inside the region, on one
of its sides or in a corner of it, where all that lies beyond is added.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels._lattice import Lattice

__all__ = ["LogKernels"]


class LogKernels:
    """ln of the chance of an output, by how many rows and columns away it is and where it lies.

    Attributes
    ----------
    inside, side_row, side_column, corner : arrays [rows, columns] over the distances 0, 1, …: for outputs
        inside the region, in its first or last row, in its first or last column, in a corner of it
    """

    def __init__(self, lattice: Lattice, shape: tuple[int, int]) -> None:
        rows, columns = shape
        self.shape = shape
        away = np.arange(rows, dtype=np.float64)[:, None], np.arange(columns, dtype=np.float64)[None, :]
        if rows == 1 and columns == 1:
            self.corner = np.zeros((1, 1))
            self.inside = self.side_row = self.side_column = self.corner
        elif rows == 1:
            self.inside = self.side_row = lattice.line(away[1])
            self.side_column = self.corner = _ends(self.inside, lattice.half_plane(columns))
        elif columns == 1:
            self.inside = self.side_column = lattice.line(away[0])
            self.side_row = self.corner = _ends(self.inside.T, lattice.half_plane(rows)).T
        else:
            self.inside = lattice.point(*away)
            below, beside = lattice.line_end(rows, away[1][0]), lattice.line_end(columns, away[0][:, 0])
            self.side_row = _ends(self.inside.T, below[:, None]).T
            self.side_column = _ends(self.inside, beside[:, None])
            beyond = np.concatenate([beside, [lattice.quadrant(rows, columns)]])
            past = np.logaddexp.accumulate(beyond[::-1])[::-1][:-1]
            self.corner = _ends(self.side_row, past[:, None])

    def of(self, row: int, column: int) -> FloatArray:
        """The table for an output of the region."""
        rows, columns = self.shape
        end_row, end_column = row in (0, rows - 1), column in (0, columns - 1)
        if end_row and end_column:
            return self.corner
        if end_row:
            return self.side_row
        return self.side_column if end_column else self.inside

    def by_table(self, outputs: IntArray) -> Iterator[tuple[FloatArray, IntArray]]:
        """Each table that some of the outputs (rows of two) need, with these outputs."""
        rows, columns = self.shape
        end_row = (outputs[:, 0] == 0) | (outputs[:, 0] == rows - 1)
        end_column = (outputs[:, 1] == 0) | (outputs[:, 1] == columns - 1)
        for table, chosen in (
            (self.inside, ~end_row & ~end_column),
            (self.side_row, end_row & ~end_column),
            (self.side_column, ~end_row & end_column),
            (self.corner, end_row & end_column),
        ):
            if chosen.any():
                yield table, outputs[chosen]


def _ends(logs: FloatArray, beyond: FloatArray | float) -> FloatArray:
    """ln Σ_{j≥l} along the last axis, with what lies beyond it."""
    last = np.broadcast_to(beyond, (*logs.shape[:-1], 1))
    joined = np.concatenate([last, logs[..., ::-1]], axis=-1)
    return np.logaddexp.accumulate(joined, axis=-1)[..., :0:-1]
