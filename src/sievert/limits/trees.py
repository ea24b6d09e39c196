"""Capacity of trees: two unknowns an edge instead of n².

A tree has a block for each edge, with channel [[1-s, s], [t, 1-t]]: s is the probability that an end reports
something on the other side. Capacity = n - min Σ(s + t), where at each vertex the outgoing sum is at most 1.
Above ε = ln(Δ-1), Δ the largest degree, it is 1 + (n-1)·tanh(ε/2) for every tree on n vertices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, diags_array

from sievert.limits.channels import DENOMINATOR, mixed_until
from sievert.limits.space import Space
from sievert.numerics.linear_programs import LinearProgram, solved
from sievert.proofs.blocks import tree_lower

__all__ = ["TreeOptimum", "solve_tree", "tree_packing", "tree_weights"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeOptimum:
    """Float optimum: probabilities of leaving along each edge, and a multiplier for each vertex."""

    value: float
    there: FloatArray
    back: FloatArray
    mu: FloatArray

    def upper(self) -> dict[str, Any]:
        """The certificate of the upper bound."""
        return {"type": "tree", "mu": self.mu.tolist()}

    def lower(self, space: Space, eps: Fraction) -> dict[str, Any]:
        """Exact probabilities: mixed with the uniform channel until every inequality holds exactly."""
        behind = _behind(space)
        proof = space.proof

        def round_off(mixing: float) -> dict[str, Any]:
            there, back = (
                [int(v) for v in ((1 - mixing) * leave + mixing * share / space.size) * float(DENOMINATOR)]
                for leave, share in ((self.there, behind), (self.back, space.size - behind))
            )
            return {"type": "tree", "denominator": DENOMINATOR, "there": there, "back": back}

        def holds(certificate: dict[str, Any]) -> bool:
            try:
                return tree_lower(proof, eps, certificate) > 0
            except ValueError:
                return False

        return mixed_until(round_off, holds)

    def channel(self, space: Space) -> FloatArray:
        """The whole channel: what each output keeps for itself, carried inward to a root and out again."""
        order, parent, edge = _outward(space)
        own = np.ones(space.size)
        np.subtract.at(own, space.pairs[:, 0], self.there)
        np.subtract.at(own, space.pairs[:, 1], self.back)
        # Reports behind b are s/(1-t) times as likely from a as from b.
        with np.errstate(divide="ignore", invalid="ignore"):
            from_first = np.where(self.back < 1, self.there / (1 - self.back), 0.0)
            from_second = np.where(self.there < 1, self.back / (1 - self.there), 0.0)
        result = np.diag(np.maximum(own, 0.0))
        behind = np.eye(space.size, dtype=bool)
        for v in reversed(order[1:]):
            e = edge[v]
            inward = from_first[e] if space.pairs[e, 1] == v else from_second[e]
            result[parent[v]] += inward * result[v]
            behind[parent[v]] |= behind[v]
        for v in order[1:]:
            e = edge[v]
            outward = from_second[e] if space.pairs[e, 1] == v else from_first[e]
            result[v] = np.where(behind[v], result[v], outward * result[parent[v]])
        return np.asarray(result)


def tree_weights(space: Space, eps: float) -> FloatArray | None:
    """Weights of Φw = 1 on a tree with unit edges, (1 - (deg v - 1)q)/(1 + q), when none is negative."""
    q = math.exp(-eps)
    if not space.is_graph or (int(space.degrees.max()) - 1) * q > 1:
        return None
    return np.asarray((1 - (space.degrees - 1) * q) / (1 + q))


def solve_tree(space: Space, eps: float) -> TreeOptimum:
    """The linear-size program of a tree; each edge's own optimum where these leave every vertex enough."""
    edges, size = len(space.pairs), space.size
    own = 1 / (1 + np.exp(np.minimum(eps * space.lengths, 700.0)))
    leaving = np.bincount(space.pairs.ravel(), weights=np.repeat(own, 2), minlength=size)
    if leaving.max() <= 1:
        return TreeOptimum(size - 2 * float(own.sum()), own, own, np.zeros(size))
    q, growth = np.exp(-eps * space.lengths), np.exp(np.minimum(eps * space.lengths, 30.0))
    a, b = space.pairs[:, 0], space.pairs[:, 1]
    s = np.arange(edges)
    t = edges + s
    # Growth beyond e^30 constrains nothing that a float program can see; the certificate checks the true one.
    # s + q t ≥ q, t + q s ≥ q, s + e^ε t ≤ e^ε, t + e^ε s ≤ e^ε, and Σ outgoing ≤ 1 at each vertex.
    pairs = [(s, s), (s, t), (edges + s, t), (edges + s, s), (2 * edges + s, s), (2 * edges + s, t)]
    pairs += [(3 * edges + s, t), (3 * edges + s, s), (4 * edges + a, s), (4 * edges + b, t)]
    rows = np.concatenate([row for row, _ in pairs])
    columns = np.concatenate([column for _, column in pairs])
    ones = np.ones(edges)
    values = np.concatenate([ones, q, ones, q, ones, growth, ones, growth, ones, ones])
    matrix = coo_array((values, (rows, columns)), shape=(4 * edges + size, 2 * edges)).tocsc()
    lower = np.concatenate([q, q, np.full(2 * edges + size, -np.inf)])
    upper = np.concatenate([np.full(2 * edges, np.inf), growth, growth, np.ones(size)])
    program = LinearProgram(np.ones(2 * edges), matrix, lower, upper, np.zeros(2 * edges), np.ones(2 * edges))
    solution = solved(program, tolerance=1e-10)
    leave = np.clip(solution.primal, 0.0, 1.0)
    mu = np.maximum(-solution.dual[4 * edges :], 0.0)
    return TreeOptimum(size - solution.value, leave[:edges], leave[edges:], mu)


def tree_packing(space: Space, eps: float) -> FloatArray:
    """Covering vector of the packing bound on a tree: Φ⁻¹ is as sparse as the tree.

    With v = Φy: min Σ (Φ⁻¹v) subject to v ≥ 1 and Φ⁻¹v ≥ 0.
    """
    q = np.exp(-eps * space.lengths)
    off = -q / (1 - q * q)
    diagonal = np.ones(space.size)
    for side in (0, 1):
        np.add.at(diagonal, space.pairs[:, side], q * q / (1 - q * q))
    ends = (
        np.concatenate([space.pairs[:, 0], space.pairs[:, 1]]),
        np.concatenate([space.pairs[:, 1], space.pairs[:, 0]]),
    )
    inverse = (coo_array((np.tile(off, 2), ends), shape=(space.size,) * 2) + diags_array(diagonal)).tocsc()
    cost = np.asarray(inverse.sum(axis=0), dtype=np.float64).ravel()
    size = space.size
    program = LinearProgram(
        cost, inverse, np.zeros(size), np.full(size, np.inf), np.ones(size), np.full(size, np.inf)
    )
    return np.maximum(inverse @ solved(program, tolerance=1e-10).primal, 0.0)


def _outward(space: Space) -> tuple[list[int], list[int], list[int]]:
    """Vertices from a root outwards, with each one's parent and the edge to it."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(space.size)]
    for e, (a, b) in enumerate(space.pairs.tolist()):
        neighbours[a].append((b, e))
        neighbours[b].append((a, e))
    order, parent, edge = [0], [-1] * space.size, [-1] * space.size
    for v in order:
        for w, e in neighbours[v]:
            if w != parent[v]:
                parent[w], edge[w] = v, e
                order.append(w)
    return order, parent, edge


def _behind(space: Space) -> FloatArray:
    """For each edge (a, b), how many vertices lie on b's side."""
    order, parent, edge = _outward(space)
    below = [1] * space.size
    for v in reversed(order[1:]):
        below[parent[v]] += below[v]
    second = space.pairs[:, 1].tolist()
    result = np.zeros(len(space.pairs))
    for v in order[1:]:
        result[edge[v]] = below[v] if second[edge[v]] == v else space.size - below[v]
    return result
