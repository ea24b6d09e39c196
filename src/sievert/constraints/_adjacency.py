"""Which permitted databases must not be told apart (Edwards et al., Def. 2), by the cheapest way there is.

1. Records that the constraint does not distinguish: one database for each way to share out the values is
   searched, and the others follow by permuting records (`Swaps`). With a complete secret graph a known
   histogram or total needs no search either (`moves`).
2. Any other list of databases: the trie search, compiled; a NumPy scan for small lists or without numba.
The result can be much larger than the list, so it is counted on a sample first.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import BoolArray, IndexArray
from sievert.constraints._equations import Equations
from sievert.constraints._moves import Swaps, cyclic_moves, number_of_cyclic_moves, zero_sum_moves
from sievert.constraints._permitted import Permitted
from sievert.errors import TooLargeError
from sievert.numerics import advance
from sievert.spaces import DatabaseGraph, Databases, Labels, Rows, from_relation
from sievert.spaces.secrets import SecretGraph

__all__ = [
    "LARGEST_PAIRS",
    "Trie",
    "adjacency_graph",
    "is_compiled",
    "is_loaded",
    "needs_no_list",
    "neighbour_rows",
    "searched_flat",
    "searched_in_trie",
]
Found = Iterator[tuple[IndexArray, NDArray[np.int64], NDArray[np.int32]]]

LARGEST_PAIRS = 100_000_000
WORK = "neighbours of the permitted databases"
SAMPLE_ROWS = 64
# Databases · databases · records up to which the NumPy scan is over before numba has been loaded.
SMALL_SCAN = 500_000
# Records · values for which the compiled search has room: a bit for each pair of changes, 50 MB.
LARGEST_CHANGES = 20_000
# Up to so many databases the interpreted generation of zero-sum changes beats the compiled search.
MOST_GENERATED = 2_000


def adjacency_graph(
    permitted: Permitted, secrets: SecretGraph, nodes: Labels, compiled: bool | None = None
) -> DatabaseGraph:
    """The graph of all permitted databases; one-way pairs are joined and remembered.

    `compiled` forces (True) or forbids (False) the compiled search; None takes what is faster.
    """
    search = Search(permitted.databases, secrets, compiled)
    if permitted.kind_of is not None and search.secret.any():
        swaps = Swaps.of(search.databases, permitted.kind_of)
        if len(swaps.representatives) < len(search.databases):
            starts, ends = _spread(swaps, permitted, search)
            return from_relation(nodes, starts, ends, search.mutual)
    starts, ends = _searched(search)
    return from_relation(nodes, starts, ends, search.mutual)


class Search:
    """Searches among listed databases, with the values that occur in them only."""

    def __init__(self, databases: Databases, secrets: SecretGraph, compiled: bool | None = None) -> None:
        self.databases = databases
        self.secrets = secrets
        self.compiled = compiled
        used = np.unique(databases.rows)
        self._rows = np.searchsorted(used, databases.rows)
        self.secret = _secret_matrix(secrets, used)

    @property
    def mutual(self) -> bool:
        """Whether adjacency certainly holds both ways.

        With a complete secret graph, "nothing permitted lies between" reads the same from both ends.
        """
        return bool((self.secret | np.eye(len(self.secret), dtype=bool)).all())

    @cached_property
    def _trie(self) -> Trie:
        return Trie.of(self._rows)

    def neighbours(self, chosen: IndexArray) -> Found:
        """Neighbours of the chosen databases, some at a time, in the order chosen."""
        compiled = self.compiled
        if compiled is None:
            large = len(chosen) * self._rows.size > SMALL_SCAN
            compiled = is_loaded() or (large and is_compiled())
        if compiled and self._rows.shape[1] * len(self.secret) <= LARGEST_CHANGES:
            return searched_in_trie(self._trie, self.secret, chosen)
        return searched_flat(self._rows, self.secret, chosen)


def _secret_matrix(secrets: SecretGraph, used: NDArray[Any]) -> BoolArray:
    """Which of the values that are used must not be told apart."""
    if secrets.is_complete:
        return ~np.eye(len(used), dtype=bool)
    place = np.full(secrets.size, -1, dtype=np.intp)
    place[used] = np.arange(len(used))
    pairs = place[secrets.edges]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    matrix = np.zeros((len(used), len(used)), dtype=bool)
    matrix[pairs[:, 0], pairs[:, 1]] = True
    return matrix | matrix.T


def _is_complete(secrets: SecretGraph) -> bool:
    return secrets.is_complete or len(secrets.edges) == secrets.size * (secrets.size - 1) // 2


def needs_no_list(permitted: Permitted, secrets: SecretGraph) -> bool:
    """Whether neighbours can be written down without a list of all databases."""
    equations = permitted.equations
    if permitted.kind_of is None or equations is None or not _is_complete(secrets):
        return False
    return equations.histogram is not None or len(equations.targets) == 1


def neighbour_rows(permitted: Permitted, secrets: SecretGraph, row: Rows, most: int) -> Rows:
    """The neighbours of one database in order, refused when they are more than `most`."""
    if needs_no_list(permitted, secrets):
        assert permitted.equations is not None
        rows = _moves(permitted.equations, row, most)
        return rows[np.lexsort(rows.T[::-1])]
    databases = permitted.databases
    chosen = databases.positions(row[None, :])
    _, _, ends = next(Search(databases, secrets).neighbours(chosen))
    return databases.rows[ends]


def _moves(equations: Equations, row: Rows, most: int) -> Rows:
    """The neighbours of a database under a known histogram or total, no two values to be told apart."""
    if equations.histogram is not None:
        degree = number_of_cyclic_moves(equations.histogram)
        if degree > most:
            raise TooLargeError(f"a database has {degree} neighbours; at most {most} are listed", size=degree)
        return cyclic_moves(row.tolist())
    numbers = equations.contributions[equations.kind_of, :, 0].tolist()
    return zero_sum_moves(row.tolist(), numbers, most)


def _spread(
    swaps: Swaps, permitted: Permitted, search: Search
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Neighbour lists of all databases from those of one in each class."""
    size = len(swaps.databases)
    neighbours = _of_representatives(swaps, permitted, search)
    degrees = np.zeros(size, dtype=np.int64)
    for number, found in enumerate(neighbours):
        degrees[swaps.members(number)] = len(found)
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    ends = np.empty(int(starts[-1]), dtype=np.int32)
    for number, found in enumerate(neighbours):
        swaps.spread(number, found, starts[:-1], ends)
    return starts, ends


def _of_representatives(swaps: Swaps, permitted: Permitted, search: Search) -> list[Rows]:
    """Neighbours (rows) of each representative, refused as soon as all pairs together are too many."""
    rows, size = swaps.databases.rows, len(swaps.databases)
    # In a random order, so that what is done so far is a sample of the rest.
    shuffled = np.random.default_rng(0).permutation(len(swaps.representatives))
    found: list[Rows] = [rows[:0]] * len(shuffled)
    pairs = done = 0
    for number, neighbours in _generated(swaps, permitted, search, shuffled):
        found[number] = neighbours
        pairs += len(neighbours) * int(swaps.class_sizes[number])
        done += int(swaps.class_sizes[number])
        _refuse_many(pairs, done, size)
        advance(WORK, done, size)
    return found


def _generated(
    swaps: Swaps, permitted: Permitted, search: Search, numbers: IndexArray
) -> Iterator[tuple[int, Rows]]:
    """The neighbours of the numbered representatives, written down where that is known, else searched."""
    databases, equations = swaps.databases, permitted.equations
    assert equations is not None
    chosen = swaps.representatives[numbers]
    if needs_no_list(permitted, search.secrets) and len(chosen) <= MOST_GENERATED:
        for number, row in zip(numbers.tolist(), databases.rows[chosen], strict=True):
            members = int(swaps.class_sizes[number])
            try:
                yield number, _moves(equations, row, LARGEST_PAIRS // members)
            except TooLargeError as many:
                raise _too_many(int(many.size) * len(databases), members, len(databases)) from None
        return
    place = dict(zip(chosen.tolist(), numbers.tolist(), strict=True))
    for part, counts, ends in search.neighbours(chosen):
        for row, neighbours in zip(part.tolist(), np.split(ends, np.cumsum(counts)[:-1]), strict=True):
            yield place[row], databases.rows[neighbours]


def _searched(search: Search) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Neighbour lists of all databases by search."""
    size = len(search.databases)
    if size**2 > LARGEST_PAIRS:
        sample = np.sort(np.random.default_rng(0).choice(size, SAMPLE_ROWS, replace=False))
        pairs = sum(int(counts.sum()) for _, counts, _ in search.neighbours(sample))
        if pairs * size // SAMPLE_ROWS > LARGEST_PAIRS:
            raise _too_many(pairs * size // SAMPLE_ROWS, SAMPLE_ROWS, size)
    degrees, lists, pairs = np.zeros(size, dtype=np.int64), [], 0
    for part, counts, ends in search.neighbours(np.arange(size)):
        degrees[part] = counts
        lists.append(ends)
        pairs += len(ends)
        _refuse_many(pairs, int(part[-1]) + 1, size)
        advance(WORK, int(part[-1]) + 1, size)
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    return starts, np.concatenate(lists)


def _refuse_many(pairs: int, done: int, size: int) -> None:
    """Refuse when the pairs counted for some of the databases are too many already."""
    if pairs > LARGEST_PAIRS:
        raise _too_many(pairs * size // done, done, size)


def _too_many(estimate: int, done: int, size: int) -> TooLargeError:
    how, where = (str(estimate), "") if done == size else (f"about {estimate:.2g}", f", counted on {done}")
    return TooLargeError(
        f"adjacency: the {size} permitted databases have {how} ordered pairs that must not be told apart"
        f"{where}; at most {LARGEST_PAIRS} are stored; coarsen the values, or ask neighbours(database) for "
        "one database at a time",
        size=estimate,
    )


# ── Adjacency by Definition 2 with NumPy alone: a scan of all databases for each one, and a sieve ───────────
# The answers are those of `sievert.spaces.trie`, for small policies and where numba is not installed. The
# sieve takes what is left in the order of (secret changes, all changes): the first can have no better below
# it, so it is a neighbour, and everything that contains it goes.


def searched_flat(
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


# ── Who is adjacent to whom among listed databases: Definition 2 of Edwards et al., by search in a trie ─────
# For a fixed database D let S(D') be the changes from D to D' that are secret. D' is a neighbour when S(D')
# is not empty, no permitted D'' has a smaller non-empty S, and none with the same S lies between D and D'
# (has only some of the other changes). So: every secret change that is possible alone blocks all databases
# that contain it; those possible only with changes that are no secret are repaired by as few of these as
# possible, and then blocked too; pairs of secret changes block all larger sets that contain them; what is
# left is small. The trie holds the databases in record order, so that a blocked value cuts off all
# databases below it. (D, D') and (D', D) are decided separately: one-way pairs come out as they are.

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
    from sievert.numerics import COMPILED

    return COMPILED


def is_loaded() -> bool:
    """Whether the compiled search has been used before, so that it starts at once."""
    kernels = sys.modules.get("sievert.constraints._search_kernels")
    return kernels is not None and is_compiled() and bool(kernels.search.signatures)


def searched_in_trie(
    trie: Trie, secret: BoolArray, chosen: IndexArray
) -> Iterator[tuple[IndexArray, NDArray[np.int64], NDArray[np.int32]]]:
    """Neighbours of the chosen rows, some rows at a time: the rows, how many each has, all of them in a row.

    `secret` is the adjacency matrix of the secret graph. Rows are independent, so that they are shared out
    over the processors.
    """
    from sievert.constraints._kernels import Tree, new_work
    from sievert.constraints._search_kernels import search

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
