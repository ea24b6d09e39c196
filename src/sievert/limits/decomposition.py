"""The blocks of a space (its biconnected components) and the symmetries of each that fix its cut vertices."""

from __future__ import annotations

from dataclasses import dataclass

import igraph
import numpy as np
from numpy.typing import NDArray

from sievert.limits.space import Space
from sievert.spaces.automorphisms import automorphisms
from sievert.spaces.graph import Graph
from sievert.spaces.symmetries import pair_orbits

__all__ = ["BlockOrbits", "Decomposition", "block_orbits", "decompose"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
# Points of a block whose automorphisms are looked for: below, there is little to fold.
SMALLEST_FOLDED, LARGEST_FOLDED = 6, 300


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The blocks of a connected space: vertices and edges of each, and how many vertices lie behind each."""

    vertices: list[list[int]]
    edges: list[list[int]]
    behind: list[FloatArray]

    def largest(self) -> int:
        """Size of the largest block."""
        return max(len(block) for block in self.vertices)

    def unknowns(self) -> int:
        """Entries of all block channels together."""
        return sum(len(block) ** 2 for block in self.vertices)


@dataclass(frozen=True, eq=False)
class BlockOrbits:
    """Orbit numbers of the ordered pairs and of the points of one block."""

    pairs: IndexArray
    points: IndexArray

    @property
    def count(self) -> int:
        """Number of orbits of pairs: the unknowns of the block."""
        return int(self.pairs.max()) + 1

    @property
    def points_count(self) -> int:
        """Number of orbits of points."""
        return int(self.points.max()) + 1


def decompose(space: Space) -> Decomposition:
    """Blocks of a connected space with at least one edge."""
    graph = igraph.Graph(n=space.size, edges=space.pairs.tolist())
    vertices = [sorted(block) for block in graph.biconnected_components()]
    owner_of_edge = _edge_owners(space, vertices)
    edges: list[list[int]] = [[] for _ in vertices]
    for e, b in enumerate(owner_of_edge):
        edges[b].append(e)
    return Decomposition(vertices, edges, _behind(space.size, vertices))


def _edge_owners(space: Space, blocks: list[list[int]]) -> list[int]:
    """The block of each edge: the only one that contains both ends."""
    homes: list[set[int]] = [set() for _ in range(space.size)]
    for b, vertices in enumerate(blocks):
        for v in vertices:
            homes[v].add(b)
    return [next(iter(homes[a] & homes[b])) for a, b in space.pairs.tolist()]


def _behind(size: int, blocks: list[list[int]]) -> list[FloatArray]:
    """For each block, how many vertices of the graph lie in or behind each of its vertices."""
    homes: list[list[int]] = [[] for _ in range(size)]
    for b, vertices in enumerate(blocks):
        for v in vertices:
            homes[v].append(b)
    parent_vertex = [-1] * len(blocks)
    parent_block = [-1] * size
    order, seen = [], [False] * len(blocks)
    root = 0
    stack: list[int] = []
    for b in homes[root]:
        parent_vertex[b], seen[b] = root, True
        stack.append(b)
    while stack:
        b = stack.pop()
        order.append(b)
        for v in blocks[b]:
            if v == parent_vertex[b]:
                continue
            parent_block[v] = b
            for other in homes[v]:
                if not seen[other]:
                    seen[other] = True
                    parent_vertex[other] = v
                    stack.append(other)
    below = np.ones(size)
    inside = np.zeros(len(blocks))
    for b in reversed(order):
        inside[b] = sum(below[v] for v in blocks[b] if v != parent_vertex[b])
        below[parent_vertex[b]] += inside[b]
    return [
        np.array([size - inside[b] if v == parent_vertex[b] else below[v] for v in vertices])
        for b, vertices in enumerate(blocks)
    ]


def block_orbits(space: Space, parts: Decomposition) -> list[BlockOrbits]:
    """Orbits of each block under its automorphisms that fix every cut vertex.

    The blocks only meet in cut vertices, so averaging a block's channel over these automorphisms changes
    nothing elsewhere (Edwards et al., Lemma 7, for one block).
    """
    share = np.zeros(space.size, dtype=np.intp)
    for vertices in parts.vertices:
        share[vertices] += 1
    found = []
    for vertices, edges in zip(parts.vertices, parts.edges, strict=True):
        size = len(vertices)
        if SMALLEST_FOLDED <= size <= LARGEST_FOLDED and space.is_graph:
            place = {v: k for k, v in enumerate(vertices)}
            ends = np.array([[place[a], place[b]] for a, b in space.pairs[edges].tolist()], dtype=np.intp)
            cut = share[vertices] > 1
            colours = np.where(cut, 1 + np.arange(size), 0)
            group = automorphisms(Graph._of_indices(range(size), ends), colours)
            if len(group.generators):
                found.append(BlockOrbits(pair_orbits(group).labels, group.orbits))
                continue
        found.append(BlockOrbits(np.arange(size * size).reshape(size, size), np.arange(size)))
    return found
