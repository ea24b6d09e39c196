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

from sievert.arrays import FloatArray
from sievert.limits._programs import DENOMINATOR, mixed_until
from sievert.limits._space import Space
from sievert.programs import LinearProgram, solved
from sievert.proofs import tree_lower
from sievert.spaces import Graph, distances_to_nearest

__all__ = ["RootedTree", "TreeOptimum", "rooted", "solve_tree", "tree_packing", "tree_weights"]
LARGEST_PROGRAM = 150_000  # vertices, up to symmetry: about a minute


@dataclass(frozen=True, eq=False)
class TreeOptimum:
    """Float optimum: probabilities of leaving along each edge, and a multiplier for each vertex."""

    value: float
    there: FloatArray
    back: FloatArray
    mu: FloatArray

    def upper(self) -> dict[str, Any]:
        """The certificate of the upper bound."""
        return {"type": "tree", "mu": self.mu}

    def lower(self, space: Space, eps: Fraction) -> dict[str, Any]:
        """Exact probabilities: mixed with the uniform channel until every inequality holds exactly."""
        behind, proof = _behind(space), space.proof

        def round_off(mixing: float) -> dict[str, Any]:
            there, back = (
                (((1 - mixing) * leave + mixing * share / space.size) * float(DENOMINATOR)).astype(np.int64)
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
        tree = rooted(space)
        own = np.ones(space.size)
        np.subtract.at(own, space.pairs[:, 0], self.there)
        np.subtract.at(own, space.pairs[:, 1], self.back)
        # Reports behind b are s/(1-t) times as likely from a as from b.
        with np.errstate(divide="ignore", invalid="ignore"):
            from_first = np.where(self.back < 1, self.there / (1 - self.back), 0.0)
            from_second = np.where(self.there < 1, self.back / (1 - self.there), 0.0)
        result = np.diag(np.maximum(own, 0.0))
        behind = np.eye(space.size, dtype=bool)
        order = np.concatenate(tree.levels).tolist()
        for e in reversed(order):
            v, parent = tree.child[e], tree.parent[e]
            inward = from_first[e] if space.pairs[e, 1] == v else from_second[e]
            result[parent] += inward * result[v]
            behind[parent] |= behind[v]
        for e in order:
            v, parent = tree.child[e], tree.parent[e]
            outward = from_second[e] if space.pairs[e, 1] == v else from_first[e]
            result[v] = np.where(behind[v], result[v], outward * result[parent])
        return np.asarray(result)


def _behind(space: Space) -> FloatArray:
    """For each edge, how many vertices are nearer to its second end."""
    tree = rooted(space)
    below = tree.below().astype(np.float64)
    return np.where(tree.child == space.pairs[:, 1], below, space.size - below)


def tree_weights(space: Space, eps: float) -> FloatArray | None:
    """Weights of Φw = 1 on a tree with unit edges, (1 - (deg v - 1)q)/(1 + q), when none is negative."""
    q = math.exp(-eps)
    degrees = space.degrees
    if not space.is_graph or (int(degrees.max()) - 1) * q > 1:
        return None
    return np.asarray((1 - (degrees - 1) * q) / (1 + q))


def solve_tree(space: Space, eps: float) -> TreeOptimum:
    """The linear-size program of a tree, folded by symmetry; each edge's own optimum where these fit."""
    size = space.size
    own = 1 / (1 + np.exp(np.minimum(eps * space.lengths, 700.0)))
    leaving = np.bincount(space.pairs.ravel(), weights=np.repeat(own, 2), minlength=size)
    if leaving.max() <= 1:
        return TreeOptimum(size - 2 * float(own.sum()), own, own, np.zeros(size))
    tree = rooted(space)
    vertex, edge = tree.orbits()
    orbits = int(vertex.max()) + 1
    if orbits > LARGEST_PROGRAM:
        raise ArithmeticError(
            f"the tree has {orbits} vertices that symmetry does not exchange; at most {LARGEST_PROGRAM} "
            "are solved"
        )
    # One vertex and one edge stand for all that the automorphisms fixing the root exchange.
    kinds, first, copies = np.unique(edge, return_index=True, return_counts=True)
    count, members = len(kinds), np.bincount(vertex)
    q = np.exp(-eps * space.lengths[first])
    above, below = vertex[tree.parent[first]], vertex[tree.child[first]]
    s = np.arange(count)  # down the edge; up is t
    t = count + s
    # s + q t ≥ q, t + q s ≥ q and Σ outgoing ≤ 1 at each vertex. The other two sides of the polygon of
    # private channels, s + e^ε t ≤ e^ε and its mirror, hold wherever neither s nor t can be lowered.
    rows = np.concatenate([s, s, count + s, count + s, 2 * count + above, 2 * count + below])
    columns = np.concatenate([s, t, t, s, s, t])
    ones = np.ones(count)
    values = np.concatenate([ones, q, ones, q, copies / members[above], ones])
    matrix = coo_array((values, (rows, columns)), shape=(2 * count + orbits, 2 * count)).tocsc()
    lower = np.concatenate([q, q, np.full(orbits, -np.inf)])
    upper = np.concatenate([np.full(2 * count, np.inf), np.ones(orbits)])
    cost = np.tile(copies.astype(np.float64), 2)
    program = LinearProgram(cost, matrix, lower, upper, np.zeros(2 * count), np.ones(2 * count))
    solution = solved(program, tolerance=1e-10)
    kind = np.searchsorted(kinds, edge)
    leave = np.clip(solution.primal, 0.0, 1.0)
    down, up = leave[:count][kind], leave[count:][kind]
    forward = tree.parent == space.pairs[:, 0]
    mu = (np.maximum(-solution.dual[2 * count :], 0.0) / members)[vertex]
    return TreeOptimum(size - solution.value, np.where(forward, down, up), np.where(forward, up, down), mu)


def tree_packing(space: Space, eps: float) -> FloatArray:
    """Covering vector of the packing bound on a tree: Φ⁻¹ is as sparse as the tree.

    With v = Φy: min Σ (Φ⁻¹v) subject to v ≥ 1 and Φ⁻¹v ≥ 0, v alike on vertices that symmetry exchanges.
    """
    tree = rooted(space)
    vertex, edge = tree.orbits()
    orbits = int(vertex.max()) + 1
    if orbits > LARGEST_PROGRAM:
        raise ArithmeticError(f"the tree has {orbits} vertices that symmetry does not exchange")
    _, first, copies = np.unique(edge, return_index=True, return_counts=True)
    above, below = vertex[tree.parent[first]], vertex[tree.child[first]]
    q = np.exp(-eps * space.lengths[first])
    off = -copies * q / (1 - q * q)
    members = np.bincount(vertex).astype(np.float64)
    diagonal = members.copy()
    for ends in (above, below):
        np.add.at(diagonal, ends, copies * q * q / (1 - q * q))
    every = np.arange(orbits)
    places = np.concatenate([above, below, every]), np.concatenate([below, above, every])
    # Summed over the members of both orbits; a row of Φ⁻¹ at one member is the sum divided by how many.
    total = coo_array((np.concatenate([off, off, diagonal]), places), shape=(orbits, orbits)).tocsc()
    inverse = (diags_array(1 / members) @ total).tocsc()
    cost = np.asarray(total.sum(axis=0), dtype=np.float64).ravel()
    nothing, endless = np.zeros(orbits), np.full(orbits, np.inf)
    program = LinearProgram(cost, inverse, nothing, endless, np.ones(orbits), endless)
    covering: FloatArray = np.asarray(inverse @ solved(program, tolerance=1e-10).primal, dtype=np.float64)
    return np.asarray(np.maximum(covering, 0.0)[vertex])


# ── A tree hung up by its centre: levels, subtree sizes, and which vertices symmetry makes alike ────────────
Hash = NDArray[np.uint64]
# Constants of the splitmix64 generator: bits of a sum that equal subtrees alone share.
STEP, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


@dataclass(frozen=True, eq=False)
class RootedTree:
    """Edge e leads from `parent[e]` down to `child[e]`; `levels` lists the edges, nearest the root first."""

    size: int
    root: int
    parent: NDArray[np.int32]
    child: NDArray[np.int32]
    lengths: NDArray[np.float64]
    levels: list[NDArray[np.int32]]

    def below(self) -> NDArray[np.int32]:
        """For each edge, how many vertices hang below it."""
        count = np.ones(self.size, dtype=np.int32)
        for edges in reversed(self.levels):
            np.add.at(count, self.parent[edges], count[self.child[edges]])
        return count[self.child]

    def orbits(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Orbit number of each vertex under the automorphisms that fix the root, and of each edge.

        Equal subtrees get equal hashes; should two others collide (one chance in 10^6 for 10^6 vertices),
        the program is solved for another tree and the certificates do not meet.
        """
        number = np.unique(self._places(), return_inverse=True)[1].ravel().astype(np.int32)
        return number, number[self.child]

    def _places(self) -> Hash:
        """A hash of each vertex's subtree and of where that hangs."""
        length = self.lengths.view(np.uint64)
        shape = np.zeros(self.size, dtype=np.uint64)
        for edges in reversed(self.levels):
            np.add.at(shape, self.parent[edges], _mixed(_mixed(shape[self.child[edges]]) ^ length[edges]))
        place = _mixed(shape)
        for edges in self.levels:
            below = shape[self.child[edges]] ^ length[edges] * STEP
            place[self.child[edges]] = _mixed(_mixed(place[self.parent[edges]]) + _mixed(below))
        return place


def _mixed(values: Hash) -> Hash:
    """Every bit of the result depends on every bit given (splitmix64)."""
    values = values + STEP
    values = (values ^ (values >> np.uint64(30))) * FIRST
    values = (values ^ (values >> np.uint64(27))) * SECOND
    return np.asarray(values ^ (values >> np.uint64(31)), dtype=np.uint64)


def rooted(space: Space) -> RootedTree:
    """A tree hung up by a vertex in its middle."""
    root = space.extent[2]
    depth = distances_to_nearest(Graph._of_indices(range(space.size), space.pairs), [root])
    down = depth[space.pairs[:, 0]] < depth[space.pairs[:, 1]]
    first, second = space.pairs.T.astype(np.int32)
    parent, child = np.where(down, first, second), np.where(down, second, first)
    order = np.argsort(depth[child], kind="stable").astype(np.int32)
    stops = np.cumsum(np.bincount(depth[child], minlength=2)[1:])[:-1]
    return RootedTree(space.size, root, parent, child, space.lengths, list(np.split(order, stops)))
