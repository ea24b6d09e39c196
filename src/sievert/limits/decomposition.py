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
    graph = igraph.Graph(n=space.size, edges=space.pairs)
    vertices = [sorted(block) for block in graph.biconnected_components()]
    if len(vertices) == 1:
        return Decomposition(vertices, [list(range(len(space.pairs)))], [np.ones(space.size)])
    forest = _BlockTree(space.size, vertices)
    owner = forest.owners(space.pairs)
    order = np.argsort(owner, kind="stable")
    edges = np.split(order, np.cumsum(np.bincount(owner, minlength=len(vertices)))[:-1])
    return Decomposition(vertices, [chosen.tolist() for chosen in edges], forest.behind())


class _BlockTree:
    """Blocks hung up by vertex 0: the vertex each block hangs from, and the block each vertex hangs in."""

    def __init__(self, size: int, blocks: list[list[int]]) -> None:
        self.size, self.blocks = size, blocks
        homes: list[list[int]] = [[] for _ in range(size)]
        for b, vertices in enumerate(blocks):
            for v in vertices:
                homes[v].append(b)
        self.hangs_from = [-1] * len(blocks)
        self.hangs_in = [-1] * size
        self.order: list[int] = []
        waiting = [(b, 0) for b in homes[0]]
        while waiting:
            b, gate = waiting.pop()
            self.hangs_from[b] = gate
            self.order.append(b)
            for v in blocks[b]:
                if v != gate:
                    self.hangs_in[v] = b
                    waiting += [(other, v) for other in homes[v] if other != b]

    def owners(self, pairs: IndexArray) -> IndexArray:
        """The block of each edge: where one end hangs, if the other is in it; else where the other hangs."""
        gate, home = np.array(self.hangs_from), np.array(self.hangs_in)
        first, second = home[pairs[:, 0]], home[pairs[:, 1]]
        inside = (first == second) | ((first >= 0) & (gate[first] == pairs[:, 1]))
        return np.where(inside, first, second)

    def behind(self) -> list[FloatArray]:
        """For each block, how many vertices of the graph lie in or behind each of its vertices."""
        below = np.ones(self.size)
        inside = np.zeros(len(self.blocks))
        for b in reversed(self.order):
            gate = self.hangs_from[b]
            inside[b] = sum(below[v] for v in self.blocks[b] if v != gate)
            below[gate] += inside[b]
        return [
            np.array([self.size - inside[b] if v == self.hangs_from[b] else below[v] for v in vertices])
            for b, vertices in enumerate(self.blocks)
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
