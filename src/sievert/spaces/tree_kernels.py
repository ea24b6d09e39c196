"""Steps in a trie, and room to work in, for the compiled adjacency search.

The three modules of kernels are compiled by numba where it is installed (extra `speed`); only
`sievert.spaces.trie` imports them, when it searches. Numba compiles a function anew for every type it is
called with, so that all integers are 64 bits wide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["COMPILED", "Tree", "Work", "changed", "child_of", "compiled", "descend", "new_work"]

Integer = Any  # of 64 bits, Python's or NumPy's
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

# Sub-assignments of up to this many changes are looked up one by one; of more, the list of minimal ones is
# scanned.
MOST_SUBSETS = 14

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba

    COMPILED = True
except ImportError:
    COMPILED = False


def compiled(function: Function) -> Function:
    """Machine code that lets other threads run; kept on disk where that is possible."""
    if not COMPILED:
        return function
    made: Any
    try:
        made = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder to keep it in
        made = numba.njit(nogil=True)(function)
    return made  # type: ignore[no-any-return]


class Tree(NamedTuple):
    """The databases as rows and as a trie (see `Trie`), which values are secret, and a word a change."""

    rows: Integers
    first: Integers
    value: Integers
    secret: NDArray[np.bool_]
    words: Words


class Work(NamedTuple):
    """Arrays that the search of one database after the other fills anew; `pairs` are left at zero."""

    plain: Integers  # the values of the database
    path: Integers  # its trie nodes, the root first
    ahead: Integers  # the same with one record changed
    status: NDArray[np.int8]  # [record, value]
    repair: NDArray[np.int8]  # the same for the changes that are no secret
    pairs: Words  # [change, …], a bit for each change that is possible together with it
    repair_pairs: Words
    found: Integers  # neighbours
    hits: Integers  # databases a walk found …
    lengths: Integers  # … and how many open changes each has
    twos: Integers  # those with two
    slots: Integers  # hash table of minimal sets of changes: a database that has them …
    stored: Words  # … and its key
    keys: Words  # of the parts of one set of changes


def new_work(tree: Tree) -> Work:
    """Room for a search. What is as long as the list of databases is mostly never touched."""
    size, records = tree.rows.shape
    values = len(tree.secret)
    width = 64
    while width < 4 * size:
        width *= 2
    changes = records * values
    return Work(
        np.zeros(records, dtype=np.int64),
        np.zeros(records + 1, dtype=np.int64),
        np.zeros(records + 1, dtype=np.int64),
        np.zeros((records, values), dtype=np.int8),
        np.zeros((records, values), dtype=np.int8),
        np.zeros((changes, (changes + 63) // 64), dtype=np.uint64),
        np.zeros((changes, (changes + 63) // 64), dtype=np.uint64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty(width, dtype=np.uint64),
        np.zeros(1 << MOST_SUBSETS, dtype=np.uint64),
    )


@compiled
def child_of(tree: Tree, node: Integer, wanted: Integer) -> Integer:
    """The child of a trie node with a value, or -1."""
    low, high = tree.first[node], tree.first[node + 1]
    if high - low == len(tree.secret):
        return low + wanted
    end = high
    while low < high:
        middle = (low + high) >> 1
        if tree.value[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < end and tree.value[low] == wanted:
        return low
    return -1


@compiled
def descend(tree: Tree, node: Integer, record: Integer, plain: Integers) -> Integer:
    """The node reached from a node by the plain values of the records from `record` on, or -1."""
    for later in range(record, len(plain)):
        node = child_of(tree, node, plain[later])
        if node < 0:
            return -1
    return node


@compiled
def changed(tree: Tree, path: Integers, plain: Integers, record: Integer, wanted: Integer) -> Integer:
    """The leaf of the plain database with one record changed, or -1; `path` are the plain nodes."""
    node = child_of(tree, path[record], wanted)
    if node < 0:
        return -1
    return descend(tree, node, record + 1, plain)
