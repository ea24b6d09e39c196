"""The compiled adjacency search: neighbours of one database after the other.

Seen from a database D, every value v of every record i is PLAIN (D's own), OPEN (a change that counts),
WILD (a change that is allowed and does not count) or SHUT. A walk visits the databases that avoid what is
shut and have a given number of open changes. Secret changes are open and the others wild, until a secret
change is settled alone: then the others are open, to find the fewest that make it possible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sievert.constraints._kernels import (
    Integer,
    Integers,
    Tree,
    Words,
    Work,
    changed,
    child_of,
    descend,
    drop_larger,
    is_shortest,
)
from sievert.numerics import compiled

__all__ = ["search"]

PLAIN, OPEN, WILD, SHUT = np.int8(0), np.int8(1), np.int8(2), np.int8(3)
# Numba compiles a function once more for each constant that is passed to it, unless its type is said.
ZERO, ONE, TWO, THREE = np.int64(0), np.int64(1), np.int64(2), np.int64(3)


@compiled
def search(tree: Tree, work: Work, chosen: Integers) -> tuple[Integers, Integers]:
    """How many neighbours each of the chosen databases has by Definition 2, and all of them in a row."""
    counts = np.zeros(len(chosen), dtype=np.int64)
    ends = np.empty(1024, dtype=np.int64)
    total = 0
    for which in range(len(chosen)):
        count = neighbours(tree, work, chosen[which])
        counts[which] = count
        if total + count > len(ends):
            longer = np.empty(2 * (total + count), dtype=np.int64)
            for k in range(total):
                longer[k] = ends[k]
            ends = longer
        for k in range(count):
            ends[total + k] = work.found[k]
        total += count
    return counts, ends[:total]


@compiled
def neighbours(tree: Tree, work: Work, mine: Integer) -> Integer:
    """Write the neighbours of one database to `work.found`; how many there are."""
    records, values = work.status.shape
    wild = ZERO  # how many changes are no secret
    for record in range(records):
        own = tree.rows[mine, record]
        work.plain[record] = own
        work.path[record + 1] = child_of(tree, work.path[record], own)
        for v in range(values):
            if v == own:
                work.status[record, v] = PLAIN
            elif tree.secret[own, v]:
                work.status[record, v] = OPEN
            else:
                work.status[record, v] = WILD
                wild += 1
    count = single_changes(tree, work)
    if wild:
        count = repaired_changes(tree, work, count)
    return several_changes(tree, work, count, wild)


@compiled
def single_changes(tree: Tree, work: Work) -> Integer:
    """One secret change and nothing else; it is then shut, for whatever contains it is larger."""
    records, values = work.status.shape
    leaves = len(tree.value) - len(tree.rows)
    count = 0
    for record in range(records):
        for v in range(values):
            if work.status[record, v] == OPEN:
                leaf = changed(tree, work.path, work.plain, record, v)
                if leaf >= 0:
                    work.status[record, v] = SHUT
                    work.found[count] = leaf - leaves
                    count += 1
    return count


@compiled
def repaired_changes(tree: Tree, work: Work, count: Integer) -> Integer:
    """One secret change and as few others as it needs; it is then shut."""
    records, values = work.status.shape
    for record in range(records):
        for v in range(values):
            if work.status[record, v] == OPEN:
                before = count
                count = repairs(tree, work, record, v, count)
                if count > before:
                    work.status[record, v] = SHUT
    return count


@compiled
def repairs(tree: Tree, work: Work, record: Integer, v: Integer, count: Integer) -> Integer:
    """Fewest changes that are no secret and make the change of one record to v possible."""
    records, values = work.status.shape
    leaves = len(tree.value) - len(tree.rows)
    for other in range(records):
        for w in range(values):
            kind = work.status[other, w]
            work.repair[other, w] = OPEN if kind == WILD else PLAIN if kind == PLAIN else SHUT
            if other == record:
                work.repair[other, w] = PLAIN if w == v else SHUT
    own = work.plain[record]
    work.plain[record] = v
    known = follow(tree, work, record)
    # One other change: a look-up each.
    for other in range(records):
        for w in range(values):
            if work.repair[other, w] == OPEN and other <= known:
                leaf = changed(tree, work.ahead, work.plain, other, w)
                if leaf >= 0:
                    work.repair[other, w] = SHUT
                    work.found[count] = leaf - leaves
                    count += 1
    # Two of them, and then more.
    hits = walk(tree, work, work.repair, work.repair_pairs, TWO, TWO)
    for k in range(hits):
        work.twos[k] = work.hits[k]
        mark(work.repair_pairs, tree.rows[work.hits[k]], work.repair, ONE)
        work.found[count] = work.hits[k]
        count += 1
    two = hits
    hits = walk(tree, work, work.repair, work.repair_pairs, THREE, records)
    for k in range(two):
        mark(work.repair_pairs, tree.rows[work.twos[k]], work.repair, ZERO)
    work.plain[record] = own
    for k in range(hits):
        if is_shortest(tree, work.plain, work.hits[k]):
            work.found[count] = work.hits[k]
            count += 1
    return count


@compiled
def follow(tree: Tree, work: Work, record: Integer) -> Integer:
    """Set `ahead` to the nodes of the plain values as far as there are any; the last record reached."""
    for earlier in range(record + 1):
        work.ahead[earlier] = work.path[earlier]
    for later in range(record, len(work.plain)):
        node = child_of(tree, work.ahead[later], work.plain[later])
        if node < 0:
            return later
        work.ahead[later + 1] = node
    return len(work.plain)


@compiled
def several_changes(tree: Tree, work: Work, count: Integer, wild: Integer) -> Integer:
    """Two secret changes, neither possible without the other; and then more."""
    records = len(work.plain)
    hits = walk(tree, work, work.status, work.pairs, TWO, TWO)
    for k in range(hits):
        work.twos[k] = work.hits[k]
        mark(work.pairs, tree.rows[work.hits[k]], work.status, ONE)
        if not wild or is_shortest(tree, work.plain, work.hits[k]):
            work.found[count] = work.hits[k]
            count += 1
    two = hits
    hits = walk(tree, work, work.status, work.pairs, THREE, records)
    for k in range(two):
        mark(work.pairs, tree.rows[work.twos[k]], work.status, ZERO)
    if hits:
        drop_larger(tree, work, hits)
    for k in range(hits):
        hit = work.hits[k]
        if hit >= 0 and (not wild or is_shortest(tree, work.plain, hit)):
            work.found[count] = hit
            count += 1
    return count


@compiled
def mark(pairs: Words, row: Integers, status: NDArray[np.int8], bit: Integer) -> None:
    """Remember (1) the two open changes of a row as a pair, or forget (0) all pairs that have one of them."""
    records, values = status.shape
    one, two = -1, -1
    for record in range(records):
        if status[record, row[record]] == OPEN:
            one, two = two, record * values + row[record]
    if bit:
        pairs[one, two >> 6] |= np.uint64(1) << np.uint64(two & 63)
        pairs[two, one >> 6] |= np.uint64(1) << np.uint64(one & 63)
        return
    for word in range(pairs.shape[1]):
        pairs[one, word] = 0
        pairs[two, word] = 0


@compiled
def walk(
    tree: Tree, work: Work, status: NDArray[np.int8], pairs: Words, least: Integer, most: Integer
) -> Integer:
    """Write to `work.hits` all databases with `least` to `most` open changes, no two of them a marked pair.

    `work.lengths` says how many each has. Returns the number of hits.
    """
    records, values = status.shape
    leaves = len(tree.value) - len(tree.rows)
    opening = np.zeros(records + 1, dtype=np.int64)  # records from here on with an open value
    wilding = np.zeros(records + 1, dtype=np.int64)  # … with a wild value
    for record in range(records - 1, -1, -1):
        opening[record] = opening[record + 1] + has_kind(status, record, OPEN)
        wilding[record] = wilding[record + 1] + has_kind(status, record, WILD)
    if opening[0] < least:
        return 0
    nodes = np.zeros(records + 1, dtype=np.int64)
    cursor = np.zeros(records + 1, dtype=np.int64)
    taken = np.zeros(records + 1, dtype=np.int64)  # 1 + the open change made at each record, or 0
    held = np.zeros(pairs.shape[1], dtype=np.uint64)  # a bit for each open change made so far
    size, level, hits = 0, 0, 0
    cursor[0] = tree.first[0]
    while level >= 0:
        if cursor[level] == tree.first[nodes[level] + 1]:
            level -= 1
            if level >= 0 and taken[level]:
                size -= 1
                change = taken[level] - 1
                held[change >> 6] ^= np.uint64(1) << np.uint64(change & 63)
            continue
        child = cursor[level]
        cursor[level] += 1
        v = tree.value[child]
        if status[level, v] == SHUT:
            continue
        change = -1
        grown = size
        if status[level, v] == OPEN:
            change = level * values + v
            grown = size + 1
            if grown > most or clashes(pairs, change, held):
                continue
        if grown + opening[level + 1] < least:
            continue
        leaf = -1
        if level + 1 == records:
            leaf = child
        elif wilding[level + 1] == 0 and (grown == most or opening[level + 1] == 0):
            leaf = descend(tree, child, level + 1, work.plain)  # nothing may change any more
            if leaf < 0:
                continue
        if leaf >= 0:
            work.hits[hits] = leaf - leaves
            work.lengths[hits] = grown
            hits += 1
            continue
        taken[level] = change + 1
        if change >= 0:
            size += 1
            held[change >> 6] |= np.uint64(1) << np.uint64(change & 63)
        level += 1
        nodes[level] = child
        cursor[level] = tree.first[child]
    return hits


@compiled
def has_kind(status: NDArray[np.int8], record: Integer, kind: Integer) -> Integer:
    """1 where some value of a record is of a kind, else 0."""
    for v in range(status.shape[1]):
        if status[record, v] == kind:
            return 1
    return 0


@compiled
def clashes(pairs: Words, change: Integer, held: Words) -> bool:
    """Whether a change is paired with one made already."""
    for word in range(len(held)):  # noqa: SIM110 (numba compiles a loop better than a generator)
        if pairs[change, word] & held[word]:
            return True
    return False
