"""Adjacency by Definition 2 with NumPy alone: a scan of all databases for each one, and a sieve.

The answers are those of `sievert.spaces.trie`, for small policies and where numba is not installed. The
sieve takes what is left in the order of (secret changes, all changes): the first can have no better below
it, so it is a neighbour, and everything that contains it goes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sievert.spaces.databases import Rows

__all__ = ["searched"]

BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]


def searched(
    rows: Rows, secret: BoolArray, chosen: IndexArray
) -> Iterator[tuple[IndexArray, NDArray[np.int64], NDArray[np.int32]]]:
    """Neighbours of the chosen rows one by one: the row, how many it has, and which: O(rows²) in all."""
    for row in chosen:
        found = np.sort(_neighbours(rows, rows[row], secret)).astype(np.int32)
        yield np.array([row]), np.array([len(found)]), found


def _neighbours(rows: Rows, plain: Rows, secret: BoolArray) -> IndexArray:
    records = np.arange(rows.shape[1])
    is_secret = secret[plain][records, rows]
    size = is_secret.sum(axis=1)
    changes = (rows != plain).sum(axis=1)
    # A secret change that is possible alone blocks whatever else contains it.
    alone = np.flatnonzero((size == 1) & (changes == 1))
    blocked = np.zeros((len(records), len(secret)), dtype=bool)
    place = is_secret[alone].argmax(axis=1)
    blocked[place, rows[alone, place]] = True
    left = np.flatnonzero((size > 0) & ~blocked[records, rows].any(axis=1))
    left = left[np.lexsort((changes[left], size[left]))]
    found = [alone]
    while len(left):
        best = left[0]
        found.append(left[:1])
        needed = is_secret[best]
        contains = (rows[left][:, needed] == rows[best, needed]).all(axis=1)
        beyond = ((rows[best] == plain) | (rows[best] == rows[left])).all(axis=1)
        left = left[~(contains & (beyond | (size[left] > size[best])))]
    return np.concatenate(found)
