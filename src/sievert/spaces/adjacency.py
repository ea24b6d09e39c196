"""Which permitted databases must not be told apart (Edwards et al., Def. 2), by the cheapest way there is.

1. Records that the constraint does not distinguish: one database for each way to share out the values is
   searched, and the others follow by permuting records (`Swaps`). With a complete secret graph a known
   histogram or total needs no search either (`moves`).
2. Any other list of databases: the trie search, compiled; a NumPy scan for small lists or without numba.
The result can be much larger than the list, so it is counted on a sample first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import TooLargeError
from sievert.numerics.progress import advance
from sievert.spaces import flat, trie
from sievert.spaces.database_graph import DatabaseGraph, from_relation
from sievert.spaces.databases import Databases, Rows
from sievert.spaces.equations import Equations
from sievert.spaces.labels import Labels
from sievert.spaces.moves import cyclic_moves, number_of_cyclic_moves, zero_sum_moves
from sievert.spaces.permitted import Permitted
from sievert.spaces.secrets import SecretGraph
from sievert.spaces.swaps import Swaps

__all__ = ["LARGEST_PAIRS", "adjacency_graph", "needs_no_list", "neighbour_rows"]

BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]
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
    def _trie(self) -> trie.Trie:
        return trie.Trie.of(self._rows)

    def neighbours(self, chosen: IndexArray) -> Found:
        """Neighbours of the chosen databases, some at a time, in the order chosen."""
        compiled = self.compiled
        if compiled is None:
            large = len(chosen) * self._rows.size > SMALL_SCAN
            compiled = trie.is_loaded() or (large and trie.is_compiled())
        if compiled and self._rows.shape[1] * len(self.secret) <= LARGEST_CHANGES:
            return trie.searched(self._trie, self.secret, chosen)
        return flat.searched(self._rows, self.secret, chosen)


def _secret_matrix(secrets: SecretGraph, used: NDArray[Any]) -> BoolArray:
    """Which of the values that are used must not be told apart."""
    if secrets.kind == "complete":
        return ~np.eye(len(used), dtype=bool)
    place = np.full(secrets.size, -1, dtype=np.intp)
    place[used] = np.arange(len(used))
    pairs = place[secrets.edges]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    matrix = np.zeros((len(used), len(used)), dtype=bool)
    matrix[pairs[:, 0], pairs[:, 1]] = True
    return matrix | matrix.T


def _is_complete(secrets: SecretGraph) -> bool:
    return secrets.kind == "complete" or len(secrets.edges) == secrets.size * (secrets.size - 1) // 2


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
