"""Each rung of the worst-leakage ladder against the plain program with n² unknowns, in one process.

The note gives the certified gap: upper over lower end, minus 1. Every timing of ours includes the
certificate and its verification.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import networkx as nx
import numpy as np

from benchmarks.harness import Row, compare, timed
from sievert.limits import WorstLeakage, worst_leakage
from sievert.limits._column_generation import generate_rays
from sievert.limits._programs import full_program
from sievert.limits._space import space_of
from sievert.limits.bounds import database_bound
from sievert.policies import Policy
from sievert.spaces import Graph, Metric, graphs, metrics, secrets

PLAIN = "plain n² program"


def run() -> list[Row]:
    """Against the plain program up to where it takes seconds; alone beyond."""
    tree, grid = graphs.random_tree, graphs.grid
    return [
        *(_against_plain("tree", n, tree(n, rng=1), 0.2) for n in (20, 40, 60)),
        *(_alone("tree, large", n, tree(n, rng=1), 0.5) for n in (200, 2_000, 20_000)),
        *(_alone("binary tree", 2 ** (d + 1) - 1, graphs.binary_tree(d), 0.5) for d in (8, 11, 14)),
        *(_against_plain("grid (weights)", n * n, grid(n, n), 0.5) for n in (5, 6, 7)),
        *(_alone("grid (weights), large", n * n, grid(n, n), 0.5) for n in (15, 30, 60)),
        *(_against_plain("star of triangles (orbits)", 2 * n + 1, _triangles(n), 0.3) for n in (15, 30, 45)),
        _against_plain("karate (blocks)", 34, _from(nx.karate_club_graph()), 0.5),
        *(_against_plain("geometric (blocks)", n, _geometric(n), 0.5) for n in (30, 45, 60)),
        *(_rays(n) for n in (60, 80, 100)),
        *(_alone("Euclidean points", n, _points(n), 1.0) for n in (750, 1_500, 3_000)),
        *(_alone("records", n, _records(n), 1.0) for n in (10, 1_000, 1_000_000)),
        *(_closed("records (Thm 15 alone)", n) for n in (10, 1_000, 1_000_000)),
        *(_folded_blocks(n) for n in (20, 40, 80)),
        *(_alone("equal components", n, _pairs(n), 0.5) for n in (100, 1_000, 10_000)),
        *(_alone("grid beyond exact methods", n * n, grid(n, n), 0.5) for n in (100, 300, 1_000)),
    ]


def _note(found: WorstLeakage) -> str:
    gap = np.expm1(found.upper.log - found.lower.log)
    return f"gap {gap:.0e}" if found.exact is not None else f"interval, ratio {1 + gap:.3g}"


def _against_plain(name: str, size: int, graph: Graph, eps: float) -> Row:
    found, space = worst_leakage(graph, eps), space_of(graph)
    plain = full_program(space, eps, np.eye(space.size)).value
    assert np.isclose(plain, np.exp(found.upper.log), rtol=1e-6)
    return compare(
        name,
        size,
        lambda: worst_leakage(graph, eps),
        PLAIN,
        lambda: full_program(space, eps, np.eye(space.size)),
        repeat=1,
        note=_note(found),
    )


def _alone(name: str, size: int, target: Graph | Metric | Policy, eps: float) -> Row:
    found, seconds = _once(lambda: worst_leakage(target, eps))
    if seconds < 1:
        seconds = timed(lambda: worst_leakage(target, eps), repeat=2)
    return Row(name, size, seconds, note=_note(found))


def _once(call: Callable[[], WorstLeakage]) -> tuple[WorstLeakage, float]:
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start


def _rays(n: int) -> Row:
    """Ray generation alone, without certificate, so that it can be set against other generators."""
    space = space_of(_geometric(n))
    start = time.perf_counter()
    found = generate_rays(space, 0.5)
    seconds = time.perf_counter() - start
    return Row(
        "geometric (rays)",
        space.size,
        seconds,
        note=f"{found.rays} rays, gap {found.upper / found.lower - 1:.0e}",
    )


def _closed(name: str, records: int) -> Row:
    """The closed form of a million records: microseconds."""
    return Row(name, records, timed(lambda: database_bound(records=records, values=4, eps=1.0)))


def _folded_blocks(n: int) -> Row:
    """Two complete bipartite blocks on a bridge with unequal tails: few orbits inside large blocks."""
    wide = [(a, b) for a in range(n // 2) for b in range(n // 2, n)]
    other = [(n + a, n + b) for a in range(n // 4) for b in range(n // 4, n)]
    tail = [(0, n), (2, 2 * n), (2 * n, 2 * n + 1), (2 * n, 2 * n + 2)]
    return _alone("blocks with orbits", 2 * n + 3, Graph(range(2 * n + 3), [*wide, *other, *tail]), 0.3)


def _triangles(count: int) -> Graph:
    """Triangles that share one vertex."""
    spokes = [(0, v) for v in range(1, 2 * count + 1)]
    return Graph(range(2 * count + 1), [*spokes, *((v, v + 1) for v in range(1, 2 * count, 2))])


def _pairs(count: int) -> Graph:
    return Graph(range(2 * count), [(2 * k, 2 * k + 1) for k in range(count)])


def _records(count: int) -> Policy:
    return Policy.blowfish(secrets.line(4), records=count)


def _from(graph: nx.Graph) -> Graph:
    numbered = nx.convert_node_labels_to_integers(graph)
    return Graph(range(numbered.number_of_nodes()), numbered.edges())


def _geometric(n: int) -> Graph:
    """The largest component of a random geometric graph with about 8 neighbours a point."""
    radius = float(np.sqrt(8 / (np.pi * n)))
    graph = nx.random_geometric_graph(n, radius, seed=3)
    return _from(graph.subgraph(max(nx.connected_components(graph), key=len)))


def _points(n: int) -> Metric:
    return metrics.euclidean(np.random.default_rng(n).random((n, 2)) * n**0.5 * 2)
