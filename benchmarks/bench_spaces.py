"""Adjacency under public knowledge against the definition written out; policies that are never listed."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sievert as sv
from benchmarks.harness import Row, compare, duration, timed
from sievert.constraints import adjacency_graph
from sievert.spaces import DatabaseGraph

NAIVE = "Definition 2 as written (NumPy)"
SCAN = "the same search in NumPy"
SEARCH = "the compiled search of every database"

Peer = tuple[str, Callable[[sv.Policy], DatabaseGraph | NDArray[Any]]]


def run() -> list[Row]:
    """The named sizes; the peers at the sizes they can manage."""
    _graph(_dense(2, "complete"), compiled=True)  # compiles, or loads what was compiled before
    return [*_dense_lists(), *_histograms(), *_totals(), *_listing(), *_unconstrained()]


def _dense_lists() -> list[Row]:
    """A random 90 % of T^n, ten values: nothing is known about the list."""
    rows = []
    for kind in ("complete", "line"):
        for records in (3, 4, 5):
            peers: dict[int, Peer] = {3: (NAIVE, _naive), 4: (SCAN, _scan)}
            rows += _measured(f"adjacency, 90 % of T^n, {kind}", _dense(records, kind), peers.get(records))
    return rows


def _dense(records: int, kind: str) -> sv.Policy:
    chosen = np.flatnonzero(np.random.default_rng(records).random(10**records) < 0.9)
    databases = np.array(np.unravel_index(chosen, [10] * records)).T
    return sv.Policy(getattr(sv.secrets, kind)(10), records, permitted=databases)


def _histograms() -> list[Row]:
    rows = []
    for counts in ((3, 3, 2), (4, 3, 3), (5, 4, 3), (5, 4, 4)):
        policy = sv.Policy.differential(3, sum(counts), permitted=_histogram(counts))
        peers: dict[int, Peer] = {8: (NAIVE, _naive), 10: (SEARCH, _search)}
        rows += _measured("adjacency, known histogram", policy, peers.get(policy.records))
    return rows


def _histogram(counts: tuple[int, ...]) -> Any:
    return sv.constraints.histogram(dict(enumerate(counts)))


def _totals() -> list[Row]:
    rows = []
    for kind in ("complete", "line"):
        for records, values, amount in ((5, 6, 12), (6, 6, 15), (7, 6, 17)):
            known = sv.constraints.total(amount)
            policy = sv.Policy(getattr(sv.secrets, kind)(values), records, permitted=known)
            peers: dict[int, Peer] = {5: (NAIVE, _naive), 6: (SEARCH, _search)}
            rows += _measured(f"adjacency, known total, {kind}", policy, peers.get(records))
    return rows


def _measured(name: str, policy: sv.Policy, peer: Peer | None) -> list[Row]:
    """Our graph, once; and the peer's, once, which must be the same relation."""
    size = policy.size
    before = time.process_time()
    graph, seconds = _clock(lambda: _graph(policy))
    busy = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    note = (
        f"{graph.pairs / size:.0f} pairs a row, {len(graph.one_way)} one-way; {duration(busy)} of processor; "
        f"process peak {peak:.2f} GiB"
    )
    rows = [Row(name, size, seconds, note=note)]
    if peer is None:
        return rows
    theirs, peer_seconds = _clock(lambda: peer[1](policy))
    if isinstance(theirs, DatabaseGraph):
        assert np.array_equal(graph.starts, theirs.starts)
        assert np.array_equal(graph.ends, theirs.ends)
    else:
        assert np.array_equal(graph.as_directed().edges, np.argwhere(theirs))
    return [*rows, Row(f"{name}, against", size, seconds, peer[0], peer_seconds)]


def _graph(policy: sv.Policy, compiled: bool | None = None) -> DatabaseGraph:
    assert isinstance(policy.secrets, sv.secrets.SecretGraph)
    return adjacency_graph(policy._known, policy.secrets, policy.database_labels(), compiled)


def _scan(policy: sv.Policy) -> DatabaseGraph:
    return _graph(policy, compiled=False)


def _search(policy: sv.Policy) -> DatabaseGraph:
    """As if nothing were known about the list: no swaps, no characterisation."""
    rows = policy.permitted_databases.rows
    return _graph(sv.Policy(policy.secrets, policy.records, permitted=rows), compiled=True)


def _naive(policy: sv.Policy) -> NDArray[np.bool_]:
    """[D, D']: no D'' has a smaller secret difference, or the same and a smaller difference: O(|I|³)."""
    assert isinstance(policy.secrets, sv.secrets.SecretGraph)
    rows = policy.permitted_databases.rows.astype(np.int64)
    values = len(policy.values)
    secret = np.zeros((values, values), dtype=bool)
    secret[tuple(policy.secrets.edges.T)] = True
    secret |= secret.T
    bit = np.int64(1) << (np.arange(policy.records) * values + rows)  # one bit a record and value
    result = np.zeros((len(rows), len(rows)), dtype=bool)
    for i, row in enumerate(rows):
        whole = np.where(rows != row, bit, 0).sum(axis=1)
        hidden = np.where(secret[row, rows], bit, 0).sum(axis=1)
        some = hidden != 0
        for j in np.flatnonzero(some):
            within = some & (hidden & ~hidden[j] == 0)
            smaller = within & ((hidden != hidden[j]) | ((whole & ~whole[j] == 0) & (whole != whole[j])))
            result[i, j] = not smaller.any()
    return result


def _listing() -> list[Row]:
    """Permitted databases by pruning, against filtering all of T^n."""
    rows = []
    for counts in ((4, 3, 3), (5, 4, 3), (5, 4, 4)):
        records = sum(counts)

        def ours(counts: tuple[int, ...] = counts, records: int = records) -> int:
            return len(sv.Policy.differential(3, records, permitted=_histogram(counts)).permitted_databases)

        def theirs(counts: tuple[int, ...] = counts, records: int = records) -> int:
            every = np.indices([3] * records, dtype=np.int8).reshape(records, -1)
            kept = [(every == value).sum(axis=0) == count for value, count in enumerate(counts)]
            return int(np.logical_and.reduce(kept).sum())

        assert ours() == theirs()
        size = ours()
        rows.append(
            compare("listing, known histogram", size, ours, "filtering T^n (NumPy)", theirs, repeat=1)
        )
    return rows


def _unconstrained() -> list[Row]:
    """A product is never listed: what costs is reading the two databases."""
    rows = []
    for records in (10**4, 10**5, 10**6):
        made = timed(lambda n=records: sv.Policy.blowfish(sv.secrets.line(5), n))
        rows.append(Row("policy of many records, made", records, made))
        policy = sv.Policy.blowfish(sv.secrets.line(5), records)
        first, second = np.random.default_rng(0).integers(0, 5, (2, records))
        seconds = timed(lambda p=policy, a=first, b=second: p.distance(a, b), repeat=3)
        rows.append(
            Row(
                "distance, unconstrained", records, seconds, note=f"{1e9 * seconds / records:.1f} ns a record"
            )
        )
    return rows


def _clock(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start
