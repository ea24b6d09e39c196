"""Who is adjacent to whom among listed databases: Definition 2 of Edwards et al., by search in a trie.

For a fixed database D let S(D') be the changes from D to D' that are secret. D' is a neighbour when S(D')
is not empty, no permitted D'' has a smaller non-empty S, and none with the same S lies between D and D'
(has only some of the other changes). So: every secret change that is possible alone blocks all databases
that contain it; those possible only with changes that are no secret are repaired by as few of these as
possible, and then blocked too; pairs of secret changes block all larger sets that contain them; what is
left is small. The trie holds the databases in record order, so that a blocked value cuts off all databases
below it. (D, D') and (D', D) are decided separately: one-way pairs come out as they are.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.spaces.databases import Rows

__all__ = ["Trie", "is_compiled", "is_loaded", "searched"]

BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]

# Databases a task: enough to make its overhead invisible, few enough to be interrupted soon.
TASK_ROWS = 128


@dataclass(frozen=True, eq=False)
class Trie:
    """Distinct ordered rows as a tree by levels: a node stands for the first records of some rows.

    Nodes are numbered level by level, the root 0, the leaves last in the order of the rows. The children
    of a node are ``first[node]…first[node + 1] - 1``, ascending in `value`, the record's value.
    """

    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    value: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows) -> Trie:
        """The trie of distinct rows in lexicographic order: O(rows · records)."""
        size, records = rows.shape
        new = np.zeros(size, dtype=bool)  # where a node of the current level begins
        new[0] = True
        firsts, values = [], [np.zeros(1, dtype=np.int64)]
        count = 1
        for record in range(records):
            parents = np.flatnonzero(new)
            new[1:] |= rows[1:, record] != rows[:-1, record]
            # A node's first child is as far from the level's begin as there are children before it.
            firsts.append(count + (np.cumsum(new) - 1)[parents])
            nodes = np.flatnonzero(new)
            values.append(rows[nodes, record].astype(np.int64))
            count += len(nodes)
        first = np.concatenate([*firsts, np.full(size + 1, count)]).astype(np.int64)
        return cls(np.ascontiguousarray(rows, dtype=np.int64), first, np.concatenate(values))


def is_compiled() -> bool:
    """Whether numba is there: without it the same answers come from `flat.searched`, slower."""
    from sievert.spaces.tree_kernels import COMPILED

    return COMPILED


def is_loaded() -> bool:
    """Whether the compiled search has been used before, so that it starts at once."""
    return "sievert.spaces.search_kernels" in sys.modules and is_compiled()


def searched(
    trie: Trie, secret: BoolArray, chosen: IndexArray
) -> Iterator[tuple[IndexArray, NDArray[np.int64], NDArray[np.int32]]]:
    """Neighbours of the chosen rows, some rows at a time: the rows, how many each has, all of them in a row.

    `secret` is the adjacency matrix of the secret graph. Rows are independent, so that they are shared out
    over the processors.
    """
    from sievert.spaces.search_kernels import search
    from sievert.spaces.tree_kernels import Tree, new_work

    words = np.random.default_rng(0).integers(2**64, size=trie.rows.shape[1] * len(secret), dtype=np.uint64)
    tree = Tree(trie.rows, trie.first, trie.value, secret, words)

    room = threading.local()

    def task(part: IndexArray) -> tuple[IndexArray, NDArray[np.int64], NDArray[np.int32]]:
        if not hasattr(room, "work"):
            room.work = new_work(tree)
        counts, ends = search(tree, room.work, part)
        return part, counts, _ascending(ends, counts, len(trie.rows))

    parts = [chosen[start : start + TASK_ROWS] for start in range(0, len(chosen), TASK_ROWS)]
    if len(parts) == 1:
        yield task(parts[0])
        return
    yield task(parts[0])  # compiles, once
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from pool.map(task, parts[1:])
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _ascending(ends: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """The ends of each row in order."""
    ends += np.repeat(np.arange(len(counts)) * size, counts)
    ends.sort()
    return (ends % size).astype(np.int32)
