"""Capacity over the blocks of a graph (its biconnected components), which meet only in cut vertices.

A private channel on the whole graph is, up to post-processing, one channel M_B on each block, where
M_B[i,j] is the probability of every output in or behind vertex j. What remains at a vertex,
z_v = 1 - Σ_{B∋v} (1 - M_B[v,v]), must not be negative, and Σ z_v is the capacity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from sievert.arrays import FloatArray, IndexArray
from sievert.limits._programs import DENOMINATOR, growth_of, integers, mixed_until, triples, uncapped
from sievert.limits._space import Space
from sievert.programs import LinearProgram, solved
from sievert.proofs import blocks_lower, channel_diagonal
from sievert.spaces import Graph, automorphisms
from sievert.spaces.symmetries import pair_orbits

__all__ = ["BlockDecomposition", "BlockOptimum", "BlockOrbits", "block_orbits", "decompose", "solve_blocks"]


@dataclass(frozen=True, eq=False)
class BlockOptimum:
    """Float optimum over blocks: value, the channel of each block, multipliers, block duals."""

    value: float
    channels: list[FloatArray]
    mu: FloatArray
    duals: list[dict[str, Any]]
    decomposition: BlockDecomposition

    def upper(self) -> dict[str, Any]:
        """The certificate of the upper bound."""
        parts = zip(self.decomposition.vertices, self.decomposition.edges, self.duals, strict=True)
        blocks = [{"vertices": v, "edges": e, **dual} for v, e, dual in parts]
        return {"type": "blocks", "mu": self.mu.tolist(), "blocks": blocks}

    def lower(self, space: Space, eps: Fraction) -> dict[str, Any]:
        """Exact block channels, mixed with the uniform channel until everything holds exactly."""
        proof = space.proof

        def holds(certificate: dict[str, Any]) -> bool:
            try:
                return blocks_lower(proof, eps, certificate, channel_diagonal) > 0
            except ValueError:
                return False

        return mixed_until(lambda mixing: {"type": "blocks", "blocks": self._rounded(mixing)}, holds)

    def _rounded(self, mixing: float) -> list[dict[str, Any]]:
        parts = self.decomposition
        total = float(parts.behind[0].sum())
        blocks = []
        for vertices, edges, behind, channel in zip(
            parts.vertices, parts.edges, parts.behind, self.channels, strict=True
        ):
            mixed = (1 - mixing) * channel + mixing * behind / total
            mixed = mixed / mixed.sum(axis=1, keepdims=True)
            rows = [integers(row) for row in mixed]
            blocks.append({"vertices": vertices, "edges": edges, "denominator": DENOMINATOR, "rows": rows})
        return blocks

    def remaining(self, size: int) -> FloatArray:
        """z_v: the probability that each vertex keeps for itself."""
        own = np.ones(size)
        for vertices, channel in zip(self.decomposition.vertices, self.channels, strict=True):
            own[vertices] -= 1 - np.diag(channel)
        return own

    def channel(self, size: int) -> FloatArray:
        """The whole channel: from each output, spread through the blocks (only for small spaces)."""
        homes: list[list[int]] = [[] for _ in range(size)]
        for b, vertices in enumerate(self.decomposition.vertices):
            for v in vertices:
                homes[v].append(b)
        own = self.remaining(size)
        result = np.zeros((size, size))
        for j in range(size):
            result[j, j] = max(own[j], 0.0)
            stack = [(j, -1)]
            while stack:
                gate, origin = stack.pop()
                for b in homes[gate]:
                    if b == origin:
                        continue
                    vertices, channel = self.decomposition.vertices[b], self.channels[b]
                    k = vertices.index(gate)
                    stay = channel[k, k]
                    for i, v in enumerate(vertices):
                        if v != gate:
                            result[v, j] = channel[i, k] / stay * result[gate, j] if stay > 0 else 0.0
                            stack.append((v, b))
        return result


def solve_blocks(
    space: Space, eps: float, decomposition: BlockDecomposition, orbits: list[BlockOrbits]
) -> BlockOptimum:
    """One coupled program over all blocks: an unknown for each orbit, joined by z_v ≥ 0 at cut vertices."""
    builder = _Builder()
    size = space.size
    spans = []
    for vertices, edges, block in zip(decomposition.vertices, decomposition.edges, orbits, strict=True):
        spans.append(_add_block(builder, space, eps, vertices, edges, block))
    share = np.zeros(size, dtype=np.intp)
    for vertices in decomposition.vertices:
        share[vertices] += 1
    cut = np.flatnonzero(share > 1)
    coupling = builder.rows(
        len(cut), lower=(share[cut] - 1).astype(np.float64), upper=np.full(len(cut), np.inf)
    )
    place = {int(v): coupling + k for k, v in enumerate(cut)}
    for vertices, span, block in zip(decomposition.vertices, spans, orbits, strict=True):
        for i, v in enumerate(vertices):
            if v in place:
                builder.entry(place[v], span.start + int(block.pairs[i, i]), 1.0)
    program = builder.program()
    solution = solved(program, "choose" if builder.columns_count <= 2500 else "ipm", tolerance=1e-10)
    mu = np.zeros(size)
    mu[cut] = np.maximum(solution.dual[coupling : coupling + len(cut)], 0.0)
    channels, duals = [], []
    for edges, span, block in zip(decomposition.edges, spans, orbits, strict=True):
        channel = np.maximum(solution.primal[span.start : span.start + block.count], 0.0)[block.pairs]
        channels.append(channel / channel.sum(axis=1, keepdims=True))
        shares = np.maximum(-solution.dual[span.arcs : span.arcs + len(span.copies)], 0.0) / span.copies
        multipliers = shares[span.arc_of].reshape(2 * len(edges), -1)
        part = replace(space, pairs=space.pairs[edges], lengths=space.lengths[edges])
        of_orbit = -solution.dual[span.sums : span.sums + block.points_count]
        y = (of_orbit / np.bincount(block.points))[block.points]
        duals.append(
            {
                "y": y.tolist(),
                "forward": triples(uncapped(multipliers[: len(edges)], part, eps)),
                "backward": triples(uncapped(multipliers[len(edges) :], part, eps)),
            }
        )
    value = size - sum(len(v) for v in decomposition.vertices) - solution.value
    return BlockOptimum(value, channels, mu, duals, decomposition)


@dataclass(frozen=True, eq=False)
class _Span:
    """Where a block's unknowns, arc rows and sum rows start; how many arcs share a row, and which row."""

    start: int
    arcs: int
    sums: int
    copies: IndexArray
    arc_of: IndexArray


class _Builder:
    """Collects the entries of one sparse program."""

    def __init__(self) -> None:
        self.row_parts: list[IndexArray] = []
        self.column_parts: list[IndexArray] = []
        self.value_parts: list[FloatArray] = []
        self.lower: list[FloatArray] = []
        self.upper: list[FloatArray] = []
        self.cost: list[FloatArray] = []
        self.rows_count = 0
        self.columns_count = 0

    def columns(self, cost: FloatArray) -> int:
        start = self.columns_count
        self.cost.append(cost)
        self.columns_count += len(cost)
        return start

    def rows(self, count: int, lower: FloatArray, upper: FloatArray) -> int:
        start = self.rows_count
        self.lower.append(np.asarray(lower, dtype=np.float64))
        self.upper.append(np.asarray(upper, dtype=np.float64))
        self.rows_count += count
        return start

    def entries(self, rows: Any, columns: Any, values: Any) -> None:
        self.row_parts.append(np.asarray(rows, dtype=np.intp).ravel())
        self.column_parts.append(np.asarray(columns, dtype=np.intp).ravel())
        self.value_parts.append(np.broadcast_to(np.asarray(values, dtype=np.float64), np.shape(rows)).ravel())

    def entry(self, row: int, column: int, value: float) -> None:
        self.entries([row], [column], [value])

    def program(self) -> LinearProgram:
        shape = (self.rows_count, self.columns_count)
        where = (np.concatenate(self.row_parts), np.concatenate(self.column_parts))
        matrix = coo_array((np.concatenate(self.value_parts), where), shape=shape).tocsc()
        return LinearProgram(
            np.concatenate(self.cost),
            matrix,
            np.concatenate(self.lower),
            np.concatenate(self.upper),
            np.zeros(shape[1]),
            np.full(shape[1], np.inf),
        )


def _add_block(
    builder: _Builder, space: Space, eps: float, vertices: list[int], edges: list[int], block: BlockOrbits
) -> _Span:
    s, count = len(vertices), block.count
    place = {v: k for k, v in enumerate(vertices)}
    cost = np.zeros(count)
    np.add.at(cost, np.diag(block.pairs), -1.0)
    start = builder.columns(cost)
    ends = np.array([[place[int(v)] for v in space.pairs[e]] for e in edges], dtype=np.intp)
    rate = np.repeat(np.tile(growth_of(space, eps)[edges], 2), s)
    first = block.pairs[np.concatenate([ends[:, 0], ends[:, 1]])].ravel()
    second = block.pairs[np.concatenate([ends[:, 1], ends[:, 0]])].ravel()
    # (arc, output) with the same two orbits are one constraint, which keeps how many it stands for.
    _, index, arc_of, copies = np.unique(
        first * count + second, return_index=True, return_inverse=True, return_counts=True
    )
    rows = len(index)
    arcs = builder.rows(rows, lower=np.full(rows, -np.inf), upper=np.zeros(rows))
    row = arcs + np.arange(rows)
    builder.entries(row, start + first[index], 1.0)
    builder.entries(row, start + second[index], -rate[index])
    members = np.unique(block.points, return_index=True)[1]
    sums = builder.rows(len(members), lower=np.ones(len(members)), upper=np.ones(len(members)))
    builder.entries(sums + np.repeat(np.arange(len(members)), s), start + block.pairs[members].ravel(), 1.0)
    return _Span(start, arcs, sums, copies, arc_of.ravel())


# ── The blocks of a space (its biconnected components) and the symmetries of each that fix its cut vert ───
# The blocks of a space (its biconnected components) and the symmetries of each that fix its cut vertices.
# Points of a block whose automorphisms are looked for: below, there is little to fold.
SMALLEST_FOLDED, LARGEST_FOLDED = 6, 300


@dataclass(frozen=True, eq=False)
class BlockDecomposition:
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


def decompose(space: Space) -> BlockDecomposition:
    """Blocks of a connected space with at least one edge."""
    import igraph

    graph = igraph.Graph(n=space.size, edges=space.pairs)
    vertices = [sorted(block) for block in graph.biconnected_components()]
    if len(vertices) == 1:
        return BlockDecomposition(vertices, [list(range(len(space.pairs)))], [np.ones(space.size)])
    forest = _BlockTree(space.size, vertices)
    owner = forest.owners(space.pairs)
    order = np.argsort(owner, kind="stable")
    edges = np.split(order, np.cumsum(np.bincount(owner, minlength=len(vertices)))[:-1])
    return BlockDecomposition(vertices, [chosen.tolist() for chosen in edges], forest.behind())


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


def block_orbits(space: Space, parts: BlockDecomposition) -> list[BlockOrbits]:
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
