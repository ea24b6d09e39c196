"""Widths of graphs up to 10^6 vertices, all distances, orbits of pairs.

The widths of large graphs are measured each in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import igraph
import networkx
import numpy as np

from benchmarks.harness import Row, compare
from sievert.spaces import Graph, automorphisms, extents, graphs
from sievert.spaces._traversal import distances_from_each
from sievert.spaces.symmetries import pair_orbits

SIDES = (100, 316, 1000)


def run() -> list[Row]:
    """The table of algorithms-worst-leakage.md, section 4, then ratios against peers."""
    return [*_large(), *_widths_against_peers(), *_distances_against_peers(), *_pair_orbits()]


def random_tree(side: int) -> Graph:
    return graphs.random_tree(side**2, rng=0)


def grid(side: int) -> Graph:
    return graphs.grid(side, side)


def broken_grid(side: int) -> Graph:
    edges = grid(side).edges
    return graphs.of_pairs(edges[np.random.default_rng(0).random(len(edges)) < 0.8], side**2)


def attachment(side: int) -> Graph:
    """Preferential attachment, three links a vertex."""
    igraph.set_random_number_generator(random.Random(0))
    return graphs.of_pairs(np.array(igraph.Graph.Barabasi(side**2, m=3).get_edgelist()), side**2)


CASES: dict[str, tuple[Callable[[int], Graph], int | None]] = {
    "random recursive tree": (random_tree, None),
    "grid": (grid, None),
    "grid less 20% of edges": (broken_grid, None),
    "attachment, budget 200": (attachment, 200),
    "attachment, no budget": (attachment, 10**6),
}


def _large() -> list[Row]:
    rows = []
    for name, (build, budget) in CASES.items():
        for side in SIDES:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                rows.append(alone.submit(_measure, name, build(side), budget).result())
    return rows


def _measure(name: str, graph: Graph, budget: int | None) -> Row:
    _forget_peak()
    before = _peak()
    start = time.perf_counter()
    found = extents(graph, budget=budget)
    seconds = time.perf_counter() - start
    widest = max(found, key=lambda extent: extent.size)
    note = f"{widest.searches} searches of {widest.size:,} vertices ({len(found):,} components), " + (
        f"diameter {_interval(widest.diameter_bounds)}, radius {_interval(widest.radius_bounds)}, "
        f"peak {_peak():.0f} MB ({before:.0f} before)"
    )
    return Row(f"widths: {name}", graph.size, seconds, note=note)


def _interval(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}…{bounds[1]}"


def _forget_peak() -> None:
    """Let the peak memory be that of now (Linux counts the parent's at the start, too)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """Peak memory of this process in MB; 0 where the system does not say."""
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    return 0.0


def _widths_against_peers() -> list[Row]:
    rows = []
    for side in (20, 40, 80):
        for name, graph in {"grid": grid(side), "random recursive tree": random_tree(side)}.items():
            peer = igraph.Graph(n=graph.size, edges=graph.edges.tolist())
            other = networkx.Graph(graph.edges.tolist())
            ours = extents(graph)[0]
            assert (ours.diameter, ours.radius) == (peer.diameter(), peer.radius())
            rows += [
                compare(
                    f"widths, small {name}",
                    graph.size,
                    partial(extents, graph),
                    "igraph",
                    lambda peer=peer: (peer.diameter(), peer.radius()),
                    repeat=2,
                ),
                compare(
                    f"widths, small {name}",
                    graph.size,
                    partial(extents, graph),
                    "networkx, bounds",
                    lambda other=other: (
                        networkx.diameter(other, usebounds=True),
                        networkx.radius(other, usebounds=True),
                    ),
                    repeat=2,
                ),
            ]
    return rows


def _distances_against_peers() -> list[Row]:
    rows = []
    for side in (16, 32, 48):
        graph = attachment(side)
        peer = igraph.Graph(n=graph.size, edges=graph.edges.tolist())
        ours = distances_from_each(graph, range(graph.size))
        assert np.array_equal(ours, np.array(peer.distances()))
        rows += [
            compare(
                "all distances, attachment",
                graph.size,
                lambda graph=graph: distances_from_each(graph, range(graph.size)),
                "igraph",
                peer.distances,
                repeat=3,
            ),
            compare(
                "all distances, attachment",
                graph.size,
                lambda graph=graph: distances_from_each(graph, range(graph.size)),
                "SciPy, Dijkstra (Graph.metric)",
                lambda graph=graph: graph.metric().matrix,
                repeat=3,
            ),
        ]
    return rows


def _pair_orbits() -> list[Row]:
    cases = {
        "cycle": [graphs.cycle(n) for n in (50, 200, 800)],
        "hypercube": [graphs.hypercube(d) for d in (6, 8, 10)],
        "star": [graphs.star(n) for n in (31, 200, 1000)],
        "binary tree": [graphs.binary_tree(d) for d in (6, 8, 9)],
        "square grid": [graphs.grid(s, s) for s in (8, 16, 32)],
    }
    rows = []
    for name, family in cases.items():
        for graph in family:
            group = automorphisms(graph)
            found = pair_orbits(group)
            generators = group.generators.tolist()
            rows.append(
                compare(
                    f"pair orbits: {name}",
                    graph.size,
                    partial(pair_orbits, group),
                    "union–find, pair by pair",
                    partial(_union_find, generators, graph.size),
                    repeat=1,
                    note=f"{found.count:,} orbits",
                )
                if len(generators) * graph.size**2 < 10**7
                else Row(
                    f"pair orbits: {name}",
                    graph.size,
                    _seconds(partial(pair_orbits, group)),
                    note=f"{found.count:,} orbits",
                )
            )
    return rows


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _union_find(generators: list[list[int]], size: int) -> int:
    """The textbook form of what `pair_orbits` does."""
    parent = list(range(size * size))

    def root(pair: int) -> int:
        while parent[pair] != pair:
            parent[pair] = parent[parent[pair]]
            pair = parent[pair]
        return pair

    for image in generators:
        for i in range(size):
            for j in range(size):
                a, b = root(i * size + j), root(image[i] * size + image[j])
                parent[max(a, b)] = min(a, b)
    return sum(1 for pair, above in enumerate(parent) if pair == above)
