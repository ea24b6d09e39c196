"""One record's graph over several records (Edwards et al., Thm 1): one record changes at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sievert.spaces.metric import Edges

__all__ = ["product_edges", "product_neighbours"]


def product_edges(record: Edges, values: int, records: int) -> Edges:
    """Edges of the product, databases numbered with the first record varying slowest."""
    if values == 1:
        return record
    index = np.arange(values**records).reshape([values] * records)
    pairs = [
        np.column_stack([np.take(index, record.pairs[:, side], axis).ravel() for side in (0, 1)])
        for axis in range(records)
    ]
    lengths = [_lengths_along(record, values, records, axis) for axis in range(records)]
    return Edges(np.concatenate(pairs), np.concatenate(lengths))


def _lengths_along(record: Edges, values: int, records: int, axis: int) -> NDArray[np.float64]:
    shape, view = [values] * records, [1] * records
    shape[axis], view[axis] = 1, len(record)
    return (record.lengths.reshape(view) * np.ones(shape)).ravel()


def product_neighbours(record: Edges, row: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows with one record changed along an edge: by record, then by value."""
    both = np.concatenate([record.pairs, record.pairs[:, ::-1]])
    found = [np.empty((0, len(row)), dtype=np.intp)]
    for place, own in enumerate(row):
        others = np.unique(both[both[:, 0] == own, 1])
        changed = np.tile(row, (len(others), 1))
        changed[:, place] = others
        found.append(changed)
    return np.concatenate(found)
