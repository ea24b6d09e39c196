"""Certificates over the blocks of a graph, which meet only in cut vertices.

For blocks B that partition the edges and overlap like a tree, the capacity is the maximum of Σ_v z_v with
z_v = 1 - Σ_{B∋v} (1 - M_B[v,v]) ≥ 0 over private channels M_B on the blocks. A multiplier μ_v ≥ 0 on each
z_v ≥ 0 splits the problem: capacity ≤ n + Σμ - Σ_B Σ_{v∈B} (1+μ_v) + Σ_B max Σ_{v∈B} (1+μ_v)·M_B[v,v].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.balls import UNIT, exp_above, exp_below
from sievert.proofs.reading import floats, indices, whole
from sievert.proofs.space import ProofSpace
from sievert.proofs.uppers import dual_bound, exact_sum

__all__ = ["Block", "block_spaces", "blocks_lower", "blocks_upper", "tree_lower", "tree_upper"]

FloatArray = NDArray[np.float64]
Block = dict[str, Any]
Diagonal = Callable[[ProofSpace, Fraction, Block], list[Fraction]]


def block_spaces(space: ProofSpace, blocks: list[Block]) -> Iterator[tuple[Block, list[int], ProofSpace]]:
    """Each block with its vertices and its own space, after checking that the blocks decompose the graph."""
    used = np.zeros(len(space.pairs), dtype=np.intp)
    excess = 0
    parts = []
    for block in blocks:
        vertices, edges = indices(block["vertices"]), indices(block["edges"])
        for chosen, count in ((vertices, space.size), (edges, len(space.pairs))):
            if chosen.ndim != 1 or not len(chosen) or chosen.max() >= count:
                raise ValueError("a block names a vertex or an edge that does not exist")
        if len(set(vertices.tolist())) != len(vertices):
            raise ValueError("a block names a vertex twice")
        np.add.at(used, edges, 1)
        excess += len(vertices) - 1
        # An edge that leaves its block has an end at place -1, which a space refuses.
        parts.append((block, vertices.tolist(), space.part(vertices, edges)))
    if not (used == 1).all():
        raise ValueError("the blocks do not contain every edge exactly once")
    # Joining blocks to their vertices gives a graph with at most as many components as the space; it is a
    # forest, so blocks meet only in cut vertices, exactly when Σ(|B|-1) = n - components.
    if excess != space.size - space.components:
        raise ValueError("the blocks do not meet in cut vertices only")
    yield from parts


def blocks_upper(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> Fraction:
    """The bound of the split problem, a dual for each block."""
    mu = _multipliers(space, certificate)
    charge = [Fraction(float(v)) for v in mu]
    total = space.size + sum(charge, Fraction(0))
    for block, vertices, part in block_spaces(space, certificate["blocks"]):
        weights = 1 + mu[vertices]
        bound = dual_bound(part, eps, np.diag(weights), block)
        for weight, v in zip(weights.tolist(), vertices, strict=True):
            # The dual is for 1 + μ rounded; the difference counts at most once, as M[v,v] ≤ 1.
            exact = 1 + charge[v]
            bound += abs(Fraction(weight) - exact) - exact
        total += bound
    return total


def _multipliers(space: ProofSpace, certificate: dict[str, Any]) -> FloatArray:
    mu = floats(certificate["mu"])
    if mu.shape != (space.size,) or not (mu >= 0).all():
        raise ValueError("the multipliers of the vertices must be finite and ≥ 0, one for each")
    return mu


def blocks_lower(
    space: ProofSpace, eps: Fraction, certificate: dict[str, Any], diagonal: Diagonal
) -> Fraction:
    """Σ_v z_v of the block channels; `diagonal` checks one and returns its diagonal."""
    remaining = [Fraction(1)] * space.size
    for block, vertices, part in block_spaces(space, certificate["blocks"]):
        for v, stay in zip(vertices, diagonal(part, eps, block), strict=True):
            remaining[v] -= 1 - stay
    if any(z < 0 for z in remaining):
        raise ValueError("the block channels leave a vertex with a negative probability of its own")
    return sum(remaining, Fraction(0))


def _require_forest(space: ProofSpace) -> None:
    if not space.is_forest or space.metric:
        raise ValueError("the graph has a cycle, so a tree certificate does not apply")


def tree_upper(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> Fraction:
    """Capacity ≤ n + Σμ - Σ_edges min(c₁, c₂, (c₁+c₂)·q/(1+q)) with c = 1 + μ.

    A tree's blocks are its edges; the private channels [[1-s, s], [t, 1-t]] on an edge form a polygon with
    corners (s,t) = (1,0), (0,1), (q,q)/(1+q) and (1,1)/(1+q), so c₁s + c₂t is least at one of the first 3.
    """
    _require_forest(space)
    mu = _multipliers(space, certificate)
    share = {length: _share_below(eps * Fraction(length)) for length in set(space.lengths.tolist())}
    rate = np.array([share[length] for length in space.lengths.tolist()])
    # Each of the few operations is off by a unit and is lowered by 4: the subtracted sum is not too large.
    first, second = ((1 + mu[space.pairs[:, side]]) * (1 - 4 * UNIT) for side in (0, 1))
    least = np.minimum(np.minimum(first, second), (first + second) * rate * (1 - 4 * UNIT))
    total = Fraction(math.fsum(least) * (1 - 4 * UNIT))
    return space.size + exact_sum(mu) - total


def _share_below(exponent: Fraction) -> float:
    """A float at most q/(1+q) = 1/(1 + e^exponent); float() rounds by at most a unit, or underflows to 0."""
    return float(1 / (1 + exp_above(exponent))) * (1 - 4 * UNIT)


def tree_lower(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> Fraction:
    """Exact integers s = M[a→b], t = M[b→a] over one denominator, private on every edge."""
    unit = whole(certificate["denominator"], 1)
    _require_forest(space)
    s, t = (np.array([whole(v) for v in certificate[name]], dtype=object) for name in ("there", "back"))
    if len(s) != len(space.pairs) or len(t) != len(space.pairs):
        raise ValueError("every edge needs both probabilities of leaving")
    allowed = {length: exp_below(eps * Fraction(length)) for length in set(space.lengths.tolist())}
    top = np.array([allowed[length].numerator for length in space.lengths.tolist()], dtype=object)
    bottom = np.array([allowed[length].denominator for length in space.lengths.tolist()], dtype=object)
    for x, y in ((s, unit - t), (unit - t, s), (t, unit - s), (unit - s, t)):
        if len(x) and ((x < 0).any() or (x * bottom > y * top).any()):
            raise ValueError("the tree's channel is not private on some edge")
    leaving = np.full(space.size, 0, dtype=object)
    np.add.at(leaving, space.pairs[:, 0], s)
    np.add.at(leaving, space.pairs[:, 1], t)
    if (leaving > unit).any():
        raise ValueError("the tree's channel leaves a vertex with a negative probability of its own")
    return space.size - Fraction(int(s.sum() + t.sum()), unit)
