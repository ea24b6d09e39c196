"""Capacity over the blocks of a graph (its biconnected components), which meet only in cut vertices.

A private channel on the whole graph is, up to post-processing, one channel M_B on each block, where
M_B[i,j] is the probability of every output in or behind vertex j. What remains at a vertex,
z_v = 1 - Σ_{B∋v} (1 - M_B[v,v]), must not be negative, and Σ z_v is the capacity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import igraph
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.limits.channels import DENOMINATOR, integers, mixed_until
from sievert.limits.programs import growth_of, triples, uncapped
from sievert.limits.space import Space
from sievert.numerics.linear_programs import LinearProgram, solved
from sievert.proofs.blocks import blocks_lower
from sievert.proofs.lowers import channel_diagonal

__all__ = ["BlockOptimum", "Decomposition", "decompose", "solve_blocks"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The blocks of a connected space: vertices and edges of each, and how many vertices lie behind each."""

    vertices: list[list[int]]
    edges: list[list[int]]
    behind: list[FloatArray]

    def largest(self) -> int:
        """Size of the largest block."""
        return max(len(block) for block in self.vertices)


@dataclass(frozen=True, eq=False)
class BlockOptimum:
    """Float optimum over blocks: value, the channel of each block, multipliers, block duals."""

    value: float
    channels: list[FloatArray]
    mu: FloatArray
    duals: list[dict[str, Any]]
    decomposition: Decomposition

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

    def channel(self, size: int) -> FloatArray:
        """The whole channel: from each output, spread through the blocks (only for small spaces)."""
        homes: list[list[int]] = [[] for _ in range(size)]
        for b, vertices in enumerate(self.decomposition.vertices):
            for v in vertices:
                homes[v].append(b)
        own = np.ones(size)
        for vertices, channel in zip(self.decomposition.vertices, self.channels, strict=True):
            own[vertices] -= 1 - np.diag(channel)
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


def solve_blocks(space: Space, eps: float, decomposition: Decomposition) -> BlockOptimum:
    """One coupled program over all blocks: |B|² unknowns each, joined by z_v ≥ 0 at the cut vertices."""
    builder = _Builder()
    size = space.size
    spans = []
    for vertices, edges in zip(decomposition.vertices, decomposition.edges, strict=True):
        spans.append(_add_block(builder, space, eps, vertices, edges))
    share = np.zeros(size, dtype=np.intp)
    for vertices in decomposition.vertices:
        share[vertices] += 1
    cut = np.flatnonzero(share > 1)
    coupling = builder.rows(
        len(cut), lower=(share[cut] - 1).astype(np.float64), upper=np.full(len(cut), np.inf)
    )
    place = {int(v): coupling + k for k, v in enumerate(cut)}
    for vertices, span in zip(decomposition.vertices, spans, strict=True):
        for i, v in enumerate(vertices):
            if v in place:
                builder.entry(place[v], span.start + i * len(vertices) + i, 1.0)
    program = builder.program()
    solution = solved(program, "choose" if builder.columns_count <= 2500 else "ipm", tolerance=1e-10)
    mu = np.zeros(size)
    mu[cut] = np.maximum(solution.dual[coupling : coupling + len(cut)], 0.0)
    channels, duals = [], []
    for vertices, edges, span in zip(decomposition.vertices, decomposition.edges, spans, strict=True):
        s = len(vertices)
        channel = np.maximum(solution.primal[span.start : span.start + s * s].reshape(s, s), 0.0)
        channels.append(channel / channel.sum(axis=1, keepdims=True))
        arcs = np.maximum(-solution.dual[span.arcs : span.arcs + 2 * len(edges) * s], 0.0)
        multipliers = arcs.reshape(2 * len(edges), s)
        part = replace(space, pairs=space.pairs[edges], lengths=space.lengths[edges])
        y = -solution.dual[span.sums : span.sums + s]
        duals.append(
            {
                "y": y.tolist(),
                "forward": triples(uncapped(multipliers[: len(edges)], part, eps)),
                "backward": triples(uncapped(multipliers[len(edges) :], part, eps)),
            }
        )
    value = size - sum(len(v) for v in decomposition.vertices) - solution.value
    return BlockOptimum(value, channels, mu, duals, decomposition)


@dataclass(frozen=True)
class _Span:
    start: int
    arcs: int
    sums: int


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


def _add_block(builder: _Builder, space: Space, eps: float, vertices: list[int], edges: list[int]) -> _Span:
    s = len(vertices)
    place = {v: k for k, v in enumerate(vertices)}
    start = builder.columns(-np.eye(s).ravel())
    ends = np.array([[place[int(v)] for v in space.pairs[e]] for e in edges], dtype=np.intp)
    rate = growth_of(space, eps)[edges]
    tail = np.concatenate([ends[:, 0], ends[:, 1]])
    head = np.concatenate([ends[:, 1], ends[:, 0]])
    count = len(tail) * s
    arcs = builder.rows(count, lower=np.full(count, -np.inf), upper=np.zeros(count))
    row = arcs + np.arange(count)
    output = np.tile(np.arange(s), len(tail))
    builder.entries(row, start + np.repeat(tail, s) * s + output, 1.0)
    builder.entries(row, start + np.repeat(head, s) * s + output, -np.repeat(np.tile(rate, 2), s))
    sums = builder.rows(s, lower=np.ones(s), upper=np.ones(s))
    builder.entries(sums + np.repeat(np.arange(s), s), start + np.arange(s * s), 1.0)
    return _Span(start, arcs, sums)
