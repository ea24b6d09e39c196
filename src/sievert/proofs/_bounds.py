"""Upper bounds that a certificate proves: no private channel has a larger value.

- *packing* y ≥ 0: any private K has K[i,j] ≥ Φ[i,j]·K[j,j], so Σ_j K[j,j]·(Φy)_j ≤ Σ_i y_i (rows sum to 1).
- *cover*: the packing vector e^(εr) on centres such that every point is within r of one; *points*: y = 1.
- *dual* (y, f): linear-programming weak duality with y of free sign and multipliers f ≥ 0 on the arcs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IndexArray
from sievert.numerics import UNIT, exp_above, exp_below, sum_error
from sievert.proofs._reading import entries, floats, indices, listed, number, whole
from sievert.proofs._space import ProofSpace

__all__ = [
    "Block",
    "block_spaces",
    "blocks_lower",
    "blocks_upper",
    "channel_diagonal",
    "channel_table",
    "channel_value",
    "cover_bound",
    "dual_bound",
    "exact_sum",
    "kernel_value",
    "levels_value",
    "packing_bound",
    "require_dual",
    "tree_lower",
    "tree_upper",
]
# Below this a product may have underflowed, which relative errors do not count.
SMALLEST = 1e-200
# Entries of a table of multipliers.
LARGEST_DUAL = 10**8
# Bits of a word that are added apart from the others.
HALF = 32
# e^-x underflows to 0 beyond this.
TINY_BEYOND = 1000


def exact_sum(values: FloatArray) -> Fraction:
    """The sum of floats without any rounding."""
    # Integers over the smallest power of 2 among the denominators: far faster than adding fractions.
    # Symmetric spaces have few distinct values.
    distinct, counts = np.unique(values, return_counts=True)
    ratios = [value.as_integer_ratio() for value in distinct.tolist()]
    whole = max(below for _, below in ratios)
    total = sum(
        count * above * (whole // below)
        for count, (above, below) in zip(counts.tolist(), ratios, strict=True)
    )
    return Fraction(total, whole)


def packing_bound(space: ProofSpace, eps: Fraction, weights: FloatArray, y: FloatArray) -> Fraction:
    """Σy / min_j (Φy)_j/c_j for weights c; the sum is exact, the minimum is rounded down."""
    if y.shape != (space.size,) or not (y >= 0).all() or not np.isfinite(y).all():
        raise ValueError("the packing vector must have one finite entry ≥ 0 for each point")
    counted = weights > 0
    if not counted.any():
        return Fraction(0)
    # The quotient and the product are each off by a unit: (1+u)²(1-2u) < 1.
    least = float((space.covered(eps, y)[counted] / weights[counted]).min() * (1 - 2 * UNIT))
    if not least > SMALLEST:
        raise ValueError("the packing vector leaves some point uncovered")
    return exact_sum(y) / Fraction(least)


def cover_bound(space: ProofSpace, eps: Fraction, centres: Any, radius: float) -> Fraction:
    """|C|·e^(εr), after checking that every point is within r of a centre."""
    sources = indices(centres)
    if sources.ndim != 1 or not len(sources) or sources.max() >= space.size:
        raise ValueError("a cover needs centres that are points of the space")
    farthest = float(space.distances_from(sources).max()) * (1 + space.distance_error)
    if farthest > radius:
        raise ValueError("some point is farther from every centre than the cover's radius")
    return len(sources) * exp_above(eps * Fraction(radius))


def dual_bound(
    space: ProofSpace, eps: Fraction, objective: FloatArray, certificate: dict[str, Any]
) -> Fraction:
    """Σy + n·δ, δ the largest violation of y_v + Σ_h f[(v,h),w] - Σ_i e^ε f[(i,v),w] ≥ A[v,w].

    Raising every y by δ removes the violations, and weak duality then bounds Σ A·K by Σy + n·δ. Each entry
    sums two numbers and its rounded `terms`, so its error is that many units of the sum of their sizes.
    """
    y = floats(certificate["y"])
    outputs = objective.shape[1]
    if y.shape != (space.size,):
        raise ValueError("the dual needs one finite entry for each point")
    forward = _multipliers(certificate["forward"], len(space.pairs), outputs)
    backward = _multipliers(certificate["backward"], len(space.pairs), outputs)
    growth = space.growth(eps)[1]
    total = np.repeat(y[:, None], outputs, axis=1)
    size, terms = np.abs(total) + np.abs(objective), np.zeros_like(total)
    for (arcs, where, given), tail, head in (
        (forward, space.pairs[:, 0], space.pairs[:, 1]),
        (backward, space.pairs[:, 1], space.pairs[:, 0]),
    ):
        # Arc (tail, head) says K[tail] ≤ e^ε·K[head].
        charged = given * np.where(given > 0, growth[arcs], 0.0)
        for index, sign, part in ((tail[arcs], 1.0, given), (head[arcs], -1.0, charged)):
            np.add.at(total, (index, where), sign * part)
            np.add.at(size, (index, where), part)
            np.add.at(terms, (index, where), 1.0)
    # 1e-300 covers products that underflow.
    slack = total - objective - size * (terms + 8) * UNIT * 1.01 - 1e-300
    if not np.isfinite(slack).all():
        raise ValueError("the dual's numbers overflow")
    return exact_sum(y) + space.size * Fraction(max(0.0, -float(slack.min())))


def require_dual(points: int, outputs: int) -> None:
    """ValueError where a table of points and outputs would fill the memory."""
    if points * outputs > LARGEST_DUAL:
        raise ValueError(f"{points} points with {outputs} outputs are too many for a dual")


def _multipliers(stored: Any, arcs: int, outputs: int) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Multipliers [[arc, output, value], …], value ≥ 0: the arcs, the outputs and the values."""
    if arcs * outputs > LARGEST_DUAL:
        raise ValueError(f"{arcs} edges with {outputs} outputs are too many for a dual")
    entries = floats(stored) if len(listed(stored)) else np.empty((0, 3))
    if entries.ndim != 2 or entries.shape[1] != 3:
        raise ValueError("a multiplier is a triple of finite numbers: arc, output, value")
    places = entries[:, :2].astype(np.intp)
    if not (entries >= 0).all() or (places != entries[:, :2]).any():
        raise ValueError("multipliers must be ≥ 0, the arcs and outputs they name whole numbers")
    if (places >= [arcs, outputs]).any():
        raise ValueError("a multiplier names no edge or no output")
    if len(np.unique(places, axis=0)) < len(places):
        raise ValueError("an arc has two multipliers for one output")
    return places[:, 0], places[:, 1], entries[:, 2]


# ── Lower bounds that a certificate proves: a private channel that really has the value ─────────────────────
# - *channel*: integers over one denominator, exactly stochastic, exactly private for a rational below e^ε.
# - *kernel* (z, t): columns (1-t)·Φ[:,j]·z_j/s and one more that takes the rest.
# - *levels*: the distance to a point maps the space onto a line without stretching it, so a mechanism for
#   the line, whose capacity is 1 + Σ tanh(ε·gap/2), is one for the space.


def channel_table(size: int, certificate: dict[str, Any]) -> tuple[NDArray[Any], int]:
    """Rows of whole numbers over a denominator that each of them sums to."""
    denominator = whole(certificate["denominator"], 1)
    rows = [[whole(v) for v in row] for row in entries(certificate["rows"])]
    if len(rows) != size or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("the channel must have one row for each point")
    table = np.empty((size, len(rows[0])), dtype=object)
    table[:] = rows
    if (table.sum(axis=1) != denominator).any():
        raise ValueError("the channel's rows are not distributions")
    return table, denominator


def _table(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> tuple[NDArray[Any], int]:
    """Exact integers: rows sum to the denominator, ratios stay below a rational that is below e^ε."""
    table, denominator = channel_table(space.size, certificate)
    shorter = space.shorter.tolist()
    allowed = {length: exp_below(eps * Fraction(length)) for length in set(shorter)}
    for (i, h), length in zip(space.pairs.tolist(), shorter, strict=True):
        g = allowed[length]
        for a, b in ((i, h), (h, i)):
            if (table[a] * g.denominator > table[b] * g.numerator).any():
                raise ValueError(f"the channel is not private between points {a} and {b}")
    return table, denominator


def channel_diagonal(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> list[Fraction]:
    """Probability that each point of a block reports itself."""
    table, denominator = _table(space, eps, certificate)
    if table.shape[1] != space.size:
        raise ValueError("a block's channel must be square")
    return [Fraction(int(table[i, i]), denominator) for i in range(space.size)]


def channel_value(
    space: ProofSpace, eps: Fraction, objective: FloatArray | None, certificate: dict[str, Any]
) -> Fraction:
    """The value of an explicit channel, exactly: Σ A·K, or the sum of column maxima without an objective."""
    table, denominator = _table(space, eps, certificate)
    if objective is None:
        return Fraction(int(table.max(axis=0).sum()), denominator)
    if objective.shape[1] != table.shape[1]:
        raise ValueError("the channel needs one output for each action")
    used = np.argwhere(objective != 0).tolist()
    total = sum((Fraction(float(objective[x, w])) * table[x, w] for x, w in used), Fraction(0))
    return total / denominator


def kernel_value(
    space: ProofSpace, eps: Fraction, certificate: dict[str, Any], weights: FloatArray | None = None
) -> Fraction:
    """Columns (1-t)·Φ[:,j]·z_j/s are private as Φ is of shortest paths; the remainder is checked here.

    Column j guesses point j, which is worth its weight (all 1: the capacity), the remainder the best point.

    With s at least the largest row of Φz no row exceeds 1 - t. Each remainder is 1 minus a number ≤ 1 made
    by three operations, so 8 units enclose it.
    """
    z, t = floats(certificate["z"]), number(certificate["t"])
    if z.shape != (space.size,) or not (z >= 0).all() or not 0 <= t < 1:
        raise ValueError("the kernel needs finite weights ≥ 0 for each point and 0 ≤ t < 1")
    low, high = space.closed_kernel(eps)
    rows_low = low @ z * (1 - sum_error(len(z)))
    rows_high = high @ z * (1 + sum_error(len(z)))
    scale = float(rows_high.max())
    if not SMALLEST < scale < 1 / SMALLEST:
        raise ValueError("the kernel's weights are all 0, or too large")
    rest_low = np.maximum(1 - (1 - t) * (rows_high / scale) - 8 * UNIT, 0.0)
    rest_high = 1 - (1 - t) * (rows_low / scale) + 8 * UNIT
    # The comparison's own product is off by a unit.
    growth = np.minimum(space.growth(eps)[0], 1 / SMALLEST) * (1 - 2 * UNIT)
    for a, b in (space.pairs.T, space.pairs[:, ::-1].T):
        if (rest_high[a] > growth * rest_low[b]).any():
            raise ValueError("the remainder of the kernel channel is not private")
    share = (1 - Fraction(t)) / Fraction(scale)
    if weights is None:
        return share * exact_sum(z) + Fraction(float(rest_low.max()))
    if not (weights >= 0).all():
        raise ValueError("a kernel certificate needs weights ≥ 0 of the points")
    worth = [Fraction(weight) for weight in weights.tolist()]
    guessed = sum((a * Fraction(b) for a, b in zip(worth, z.tolist(), strict=True) if b), Fraction(0))
    return share * guessed + max(a * Fraction(b) for a, b in zip(worth, rest_low.tolist(), strict=True))


def levels_value(space: ProofSpace, eps: Fraction, source: Any) -> Fraction:
    """1 + Σ tanh(ε·gap/2) over the gaps between the distances that occur."""
    start = whole(source, 0, space.size - 1)
    if not space.whole or space.metric:
        raise ValueError("levels need a point of a graph with whole lengths")
    away = np.unique(space.distances_from(np.array([start])))
    gaps, counts = np.unique(np.diff(away[np.isfinite(away)]), return_counts=True)
    total = Fraction(1)
    for gap, count in zip(gaps.tolist(), counts.tolist(), strict=True):
        q = exp_above(-eps * Fraction(gap))
        total += count * (1 - q) / (1 + q)
    return total


# ── Certificates over the blocks of a graph, which meet only in cut vertices ────────────────────────────────
# For blocks B that partition the edges and overlap like a tree, the capacity is the maximum of Σ_v z_v with
# z_v = 1 - Σ_{B∋v} (1 - M_B[v,v]) ≥ 0 over private channels M_B on the blocks. A multiplier μ_v ≥ 0 on each
# z_v ≥ 0 splits the problem: capacity ≤ n + Σμ - Σ_B Σ_{v∈B} (1+μ_v) + Σ_B max Σ_{v∈B} (1+μ_v)·M_B[v,v].
Block = dict[str, Any]
Diagonal = Callable[[ProofSpace, Fraction, Block], list[Fraction]]


def block_spaces(space: ProofSpace, blocks: list[Block]) -> Iterator[tuple[Block, list[int], ProofSpace]]:
    """Each block with its vertices and its own space, after checking that the blocks decompose the graph."""
    used = np.zeros(len(space.pairs), dtype=np.intp)
    excess = 0
    parts = []
    for block in listed(blocks):
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
    mu = _block_multipliers(space, certificate)
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


def _block_multipliers(space: ProofSpace, certificate: dict[str, Any]) -> FloatArray:
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
    mu = _block_multipliers(space, certificate)
    distinct, place = np.unique(space.lengths, return_inverse=True)
    rate = np.array([_share_below(eps * Fraction(length)) for length in distinct.tolist()])[place]
    # Each of the few operations is off by a unit and is lowered by 4: the subtracted sum is not too large.
    first, second = ((1 + mu[space.pairs[:, side]]) * (1 - 4 * UNIT) for side in (0, 1))
    least = np.minimum(np.minimum(first, second), (first + second) * rate * (1 - 4 * UNIT))
    total = Fraction(math.fsum(least) * (1 - 4 * UNIT))
    return space.size + exact_sum(mu) - total


def _share_below(exponent: Fraction) -> float:
    """A float at most q/(1+q) = 1/(1 + e^exponent); float() rounds by at most a unit, or underflows to 0."""
    return 0.0 if exponent > TINY_BEYOND else float(1 / (1 + exp_above(exponent))) * (1 - 4 * UNIT)


def tree_lower(space: ProofSpace, eps: Fraction, certificate: dict[str, Any]) -> Fraction:
    """Exact integers s = M[a→b], t = M[b→a] over one denominator, private on every edge."""
    unit = whole(certificate["denominator"], 1)
    _require_forest(space)
    there, back = (_parts(certificate[name], unit) for name in ("there", "back"))
    if there.shape != (len(space.pairs),) or back.shape != there.shape:
        raise ValueError("every edge needs both probabilities of leaving")
    allowed: dict[float, Fraction] = {}
    for s, t, length in _each_once(there, back, space.lengths):
        if length not in allowed:
            allowed[length] = exp_below(eps * Fraction(length))
        top, bottom = allowed[length].numerator, allowed[length].denominator
        for x, y in ((s, unit - t), (unit - t, s), (t, unit - s), (unit - s, t)):
            if x < 0 or x * bottom > y * top:
                raise ValueError("the tree's channel is not private on some edge")
    high, low = _leaving(space, there, back)
    most, last = divmod(unit, 1 << HALF)
    if ((high > most) | ((high == most) & (low > last))).any():
        raise ValueError("the tree's channel leaves a vertex with a negative probability of its own")
    return space.size - Fraction((int(high.sum()) << HALF) + int(low.sum()), unit)


def _parts(values: Any, unit: int) -> NDArray[Any]:
    """Probabilities in parts of a unit, as words where words hold the unit; none is private beyond 0 to 1."""
    words = unit <= 1 << 62
    ready = words and isinstance(values, np.ndarray) and values.dtype == np.int64
    found = values if ready else np.array([whole(v) for v in listed(values)], dtype=object)
    if len(found) and not 0 <= found.min() <= found.max() <= unit:
        raise ValueError("the tree's channel is not private on some edge")
    return np.asarray(found, dtype=np.int64 if words else object)


def _each_once(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """The distinct rows of some columns: edges that symmetry exchanges are one."""
    order = np.lexsort(columns)
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    return zip(*(column[order[new]].tolist() for column in columns), strict=True)


def _leaving(space: ProofSpace, there: NDArray[Any], back: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """What leaves each vertex: the sum of its parts, and its last 32 bits apart so that no word overflows."""
    high, low = (np.zeros(space.size, dtype=there.dtype) for _ in range(2))
    for side, parts in enumerate((there, back)):
        np.add.at(high, space.pairs[:, side], parts >> HALF)
        np.add.at(low, space.pairs[:, side], parts & ((1 << HALF) - 1))
    high += low >> HALF
    low &= (1 << HALF) - 1
    return high, low
