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
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.limits.channels import DENOMINATOR, integers, mixed_until
from sievert.limits.decomposition import BlockOrbits, Decomposition
from sievert.limits.programs import growth_of, triples, uncapped
from sievert.limits.space import Space
from sievert.numerics.linear_programs import LinearProgram, solved
from sievert.proofs.blocks import blocks_lower
from sievert.proofs.lowers import channel_diagonal

__all__ = ["BlockOptimum", "solve_blocks"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


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
    space: Space, eps: float, decomposition: Decomposition, orbits: list[BlockOrbits]
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
