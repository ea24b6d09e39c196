"""Steps in a trie, and room to work in, for the compiled adjacency search.

The modules of kernels are compiled by numba where it is installed (extra `speed`); only `_adjacency` imports
them, when it searches. Numba compiles a function anew for every type it is called with, so that all integers
are 64 bits wide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sievert.numerics import compiled

__all__ = ["Tree", "Work", "changed", "child_of", "descend", "drop_larger", "is_shortest", "new_work"]

Integer = Any  # of 64 bits, Python's or NumPy's
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

# Sub-assignments of up to this many changes are looked up one by one; of more, the list of minimal ones is
# scanned.
MOST_SUBSETS = 14


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


# ── Which sets of changes contain no smaller one: the second half of the compiled adjacency search ──────────

ALL = np.int64(-1)  # every bit


@compiled
def is_shortest(tree: Tree, plain: Integers, hit: Integer) -> bool:
    """Whether no other database has a hit's secret changes and only some of its other changes.

    A walk that has a choice, old value or new, only where a change is no secret.
    """
    records = len(plain)
    leaves = len(tree.value) - len(tree.rows)
    row = tree.rows[hit]
    choices = 0
    for record in range(records):
        if row[record] != plain[record] and not tree.secret[plain[record], row[record]]:
            choices += 1
    if choices == 0:
        return True
    nodes = np.zeros(records + 1, dtype=np.int64)
    option = np.zeros(records + 1, dtype=np.int64)
    level = 0
    while level >= 0:
        if level == records:
            if nodes[level] - leaves != hit:
                return False
            level -= 1
            continue
        own, other = plain[level], row[level]
        both = own != other and not tree.secret[own, other]
        if option[level] > (1 if both else 0):
            level -= 1
            continue
        wanted = own if both and option[level] == 0 else other
        option[level] += 1
        node = child_of(tree, nodes[level], wanted)
        if node >= 0:
            level += 1
            nodes[level] = node
            option[level] = 0
    return True


@compiled
def drop_larger(tree: Tree, work: Work, count: Integer) -> None:
    """Replace by -1 the hits whose secret changes include all those of a hit with fewer.

    No hit includes one with two changes (the walk saw to that). Minimal sets of changes stand in a hash
    table by the sum of their changes' random words; a match is compared change by change, so that the
    answer does not hang on chance.
    """
    records = len(work.plain)
    values = len(tree.secret)
    order = by_length(work.lengths, count, records)
    width = 16
    while width < 4 * count:
        width *= 2
    for k in range(width):
        work.slots[k] = -1
    where = np.empty(records, dtype=np.int64)
    kept = np.empty(count, dtype=np.int64)
    number = 0  # of minimal sets
    shorter = 0  # of these, the sets of fewer changes than the current hit has
    length = 0
    for k in range(count):
        hit = work.hits[order[k]]
        if work.lengths[order[k]] > length:
            length = work.lengths[order[k]]
            shorter = number
        row = tree.rows[hit]
        size = np.int64(0)
        key = np.uint64(0)
        for record in range(records):
            if tree.secret[work.plain[record], row[record]]:
                where[size] = record
                key += tree.words[record * values + row[record]]
                size += 1
        if is_stored(tree, work, width, key, row, where, size, ALL):
            continue
        if size <= MOST_SUBSETS and (1 << size) < 8 * shorter:
            larger = has_stored_part(tree, work, width, row, where, size)
        else:
            larger = False
            for other in range(shorter):
                if includes(tree, work.plain, row, tree.rows[kept[other]]):
                    larger = True
                    break
        if larger:
            work.hits[order[k]] = -1
            continue
        slot = np.int64(key & np.uint64(width - 1))
        while work.slots[slot] >= 0:
            slot = (slot + 1) & (width - 1)
        work.slots[slot] = hit
        work.stored[slot] = key
        kept[number] = hit
        number += 1


@compiled
def by_length(lengths: Integers, count: Integer, records: Integer) -> Integers:
    """The hits in the order of their lengths."""
    after = np.zeros(records + 2, dtype=np.int64)
    for k in range(count):
        after[lengths[k] + 1] += 1
    for length in range(records + 1):
        after[length + 1] += after[length]
    order = np.empty(count, dtype=np.int64)
    for k in range(count):
        order[after[lengths[k]]] = k
        after[lengths[k]] += 1
    return order


@compiled
def has_stored_part(
    tree: Tree, work: Work, width: Integer, row: Integers, where: Integers, size: Integer
) -> bool:
    """Whether some part of a row's secret changes, at least three but not all, is in the table."""
    values = len(tree.secret)
    for part in range(1, (1 << size) - 1):
        rest = part & (part - 1)
        low = 0
        while not (part >> low) & 1:
            low += 1
        record = where[low]
        work.keys[part] = work.keys[rest] + tree.words[record * values + row[record]]
        # A part of at least three: two may be taken away and something is left.
        if (
            rest
            and rest & (rest - 1)
            and is_stored(tree, work, width, work.keys[part], row, where, size, part)
        ):
            return True
    return False


@compiled
def is_stored(
    tree: Tree,
    work: Work,
    width: Integer,
    key: Integer,
    row: Integers,
    where: Integers,
    size: Integer,
    part: Integer,
) -> bool:
    """Whether the part of a row's secret changes with these bits (-1: all of them) is in the table."""
    slot = np.int64(key & np.uint64(width - 1))
    while work.slots[slot] >= 0:
        if work.stored[slot] == key and has_only(
            tree, work.plain, tree.rows[work.slots[slot]], row, where, size, part
        ):
            return True
        slot = (slot + 1) & (width - 1)
    return False


@compiled
def has_only(
    tree: Tree, plain: Integers, other: Integers, row: Integers, where: Integers, size: Integer, part: Integer
) -> bool:
    """Whether the secret changes of another row are the part of this row's with these bits."""
    k = 0
    for record in range(len(plain)):
        while k < size and where[k] < record:
            k += 1
        inside = k < size and where[k] == record and (part >> k) & 1 == 1
        if tree.secret[plain[record], other[record]] != inside:
            return False
        if inside and other[record] != row[record]:
            return False
    return True


@compiled
def includes(tree: Tree, plain: Integers, row: Integers, other: Integers) -> bool:
    """Whether the secret changes of a row include all those of another."""
    for record in range(len(plain)):
        if tree.secret[plain[record], other[record]] and other[record] != row[record]:
            return False
    return True
