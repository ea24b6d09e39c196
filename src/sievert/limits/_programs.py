"""The exact linear program of the worst channel, plain and folded by symmetry.

maximise Σ A[x,w]·K[x,w] over K ≥ 0 with rows summing to exactly 1 and K[i,w] ≤ e^(ε·length)·K[h,w] along
every edge. With "≤ 1" the program would silently return the packing bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.arrays import FloatArray, IndexArray
from sievert.limits._space import Space
from sievert.numerics import UNIT, exp_below, sum_error
from sievert.programs import LinearProgram, solved, solved_by_classes

__all__ = [
    "DENOMINATOR",
    "LARGEST_LOG_GROWTH",
    "TINY",
    "Optimum",
    "arc_program",
    "folded_program",
    "full_program",
    "growth_of",
    "integers",
    "kernel_certificate",
    "kernel_matrix",
    "merged",
    "mixed_until",
    "repaired",
    "silent",
    "triples",
    "uncapped",
]
# Up to here the simplex is as fast as the interior point and exact to the last digit.
SIMPLEX_VARIABLES = 2500
# … and rows; with more the interior point and the way from there to a vertex take a quarter of the time.
SIMPLEX_ROWS = 10_000
# Ratios beyond e^24 constrain nothing that a float program can see.
LARGEST_LOG_GROWTH = 24.0


@dataclass(frozen=True, eq=False)
class Optimum:
    """A float optimum: the channel, its value, and the multipliers of a dual certificate."""

    value: float
    channel: FloatArray
    y: FloatArray
    forward: FloatArray
    backward: FloatArray

    def certificate(self) -> dict[str, Any]:
        """Multipliers as a dual certificate, tiny ones left out."""
        return {
            "type": "dual",
            "y": self.y.tolist(),
            "forward": triples(self.forward),
            "backward": triples(self.backward),
        }


def growth_of(space: Space, eps: float) -> FloatArray:
    """e^(ε·length), at most e^24: more constrains nothing that a float program can see."""
    return np.asarray(np.exp(np.minimum(eps * space.lengths, LARGEST_LOG_GROWTH)))


def uncapped(multipliers: FloatArray, space: Space, eps: float) -> FloatArray:
    """Multipliers of capped arcs scaled down, so that what they charge at the true growth stays the same."""
    exponent = eps * space.lengths
    excess = np.maximum(exponent - LARGEST_LOG_GROWTH, 0.0)
    # Where e^(ε·length) is no float, no multiplier is small enough.
    return multipliers * np.where(exponent < 700.0, np.exp(-excess), 0.0)[:, None]


def triples(table: FloatArray) -> list[list[float]]:
    rows, columns = np.nonzero(table > 1e-300)
    return [[int(r), int(c), float(v)] for r, c, v in zip(rows, columns, table[rows, columns], strict=True)]


def full_program(space: Space, eps: float, objective: FloatArray) -> Optimum:
    """One variable for each input and output: size·outputs variables, 2·edges·outputs constraints."""
    edges = len(space.pairs)
    arcs = np.concatenate([space.pairs, space.pairs[:, ::-1]])
    value, channel, y, multipliers = arc_program(arcs, np.tile(growth_of(space, eps), 2), objective)
    return Optimum(
        value,
        channel,
        y,
        uncapped(multipliers[:edges], space, eps),
        uncapped(multipliers[edges:], space, eps),
    )


def arc_program(
    arcs: IndexArray, growth: FloatArray, objective: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Maximise Σ A·K with K[a,w] ≤ growth·K[b,w] for each arc (a, b).

    Returns the value, the channel, the multiplier of each row sum and of each arc and output.
    """
    size, outputs = objective.shape
    count = len(arcs)
    if growth.min(initial=np.inf) >= np.exp(LARGEST_LOG_GROWTH):
        # Nothing is hidden: every input takes its best output.
        best = objective.max(axis=1)
        channel = np.eye(outputs)[objective.argmax(axis=1)]
        return float(best.sum()), channel, best, np.zeros((count, outputs))
    row = np.arange(count * outputs)
    w = np.tile(np.arange(outputs), count)
    arc = np.repeat(np.arange(count), outputs)
    rows = [row, row, count * outputs + np.repeat(np.arange(size), outputs)]
    columns = [arcs[arc, 0] * outputs + w, arcs[arc, 1] * outputs + w, np.arange(size * outputs)]
    # K[a]/√g ≤ √g·K[b]: the solver's tolerance then means the same to both sides.
    root = np.sqrt(growth)
    values = [1 / root[arc], -root[arc], np.ones(size * outputs)]
    shape = (count * outputs + size, size * outputs)
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape
    ).tocsc()
    upper = np.concatenate([np.zeros(count * outputs), np.ones(size)])
    lower = np.concatenate([np.full(count * outputs, -np.inf), np.ones(size)])
    program = LinearProgram(
        -objective.ravel(), matrix, lower, upper, np.zeros(shape[1]), np.full(shape[1], np.inf)
    )
    # The interior point without crossover is fastest; the certificate takes up what its multipliers lack.
    # Of a small program the vertex is found, by as many steps as there are rows unless from the inside.
    small = shape[1] <= SIMPLEX_VARIABLES
    short = small and shape[0] <= SIMPLEX_ROWS
    method: Literal["choose", "ipm"] = "choose" if short else "ipm"
    solve = solved if small else solved_by_classes
    solution = solve(program, method, tolerance=1e-10, crossover=small)
    multipliers = np.maximum(-solution.dual[: count * outputs].reshape(count, outputs), 0.0) / root[:, None]
    channel = np.maximum(solution.primal.reshape(size, outputs), 0.0)
    return -solution.value, channel, -solution.dual[count * outputs :], multipliers


def folded_program(space: Space, eps: float, orbit: IndexArray, points: IndexArray) -> Optimum:
    """Capacity with one variable for each orbit of ordered pairs (Edwards et al., Lemma 7 as an algorithm).

    Parameters
    ----------
    orbit : array [size, size], orbit number of each ordered pair
    points : array [size], orbit number of each point
    """
    size, count = space.size, int(orbit.max()) + 1
    growth = growth_of(space, eps)
    tail, head = space.arcs
    rate = np.concatenate([growth, growth])
    # Triples (arc, output) with the same two orbits are one constraint; each keeps how many it stands for.
    first, second = orbit[tail].ravel(), orbit[head].ravel()
    code = first.astype(np.int64) * count + second
    distinct, index, inverse, copies = np.unique(
        code, return_index=True, return_inverse=True, return_counts=True
    )
    a, b = distinct // count, distinct % count
    pair_rate = np.repeat(rate, size)[index]
    constraints = len(distinct)
    # Row sums: one for each orbit of points, at its first member.
    point_orbits, member = np.unique(points, return_index=True)
    rows = [np.arange(constraints), np.arange(constraints)]
    columns, values = [a, b], [np.ones(constraints), -pair_rate]
    for k, i in enumerate(member):
        rows.append(np.full(size, constraints + k))
        columns.append(orbit[i])
        values.append(np.ones(size))
    shape = (constraints + len(member), count)
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape
    ).tocsc()
    cost = np.zeros(count)
    np.add.at(cost, np.diag(orbit), -1.0)
    lower = np.concatenate([np.full(constraints, -np.inf), np.ones(len(member))])
    upper = np.concatenate([np.zeros(constraints), np.ones(len(member))])
    program = LinearProgram(cost, matrix, lower, upper, np.zeros(count), np.full(count, np.inf))
    solution = solved(program, tolerance=1e-10)
    orbit_sizes = np.bincount(np.searchsorted(point_orbits, points))
    y = -solution.dual[constraints:][np.searchsorted(point_orbits, points)]
    y = y / orbit_sizes[np.searchsorted(point_orbits, points)]
    share = np.maximum(-solution.dual[:constraints], 0.0) / copies
    multipliers = share[inverse.ravel()].reshape(len(tail), size)
    edges = len(space.pairs)
    return Optimum(
        -solution.value,
        np.maximum(solution.primal, 0.0)[orbit],
        y,
        uncapped(multipliers[:edges], space, eps),
        uncapped(multipliers[edges:], space, eps),
    )


# ── From a float solution to a channel that is truly private: rational repair, and the kernel channel ───────
DENOMINATOR = 2**62
# Below this ε·length a float cannot tell e^(ε·length) from 1.
TINY = 1e-14


def repaired(matrix: FloatArray, space: Space, eps: Fraction) -> dict[str, Any]:
    """A channel certificate near a float matrix: exact rows, exactly private on every edge."""
    arcs = np.concatenate([space.pairs, space.pairs[:, ::-1]])
    return repaired_on(matrix, arcs, np.tile(space.lengths, 2), eps)


def repaired_on(
    matrix: FloatArray, arcs: NDArray[np.intp], lengths: FloatArray, eps: Fraction
) -> dict[str, Any]:
    """The same with K[a] ≤ e^(ε·length)·K[b] for each arc (a, b).

    Rows are rounded to integers over 2^62. Then every column gets the constant that brings its ratios below a
    rational proved to be below e^ε, and the whole is divided by the new row sum: a column of mere rounding
    costs no more than itself.
    """
    clipped = np.maximum(matrix, 0.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    if float(eps) * float(lengths.max(initial=0.0)) < TINY:
        clipped = _levelled(clipped, arcs)
    rows = np.array([integers(row) for row in clipped], dtype=object)
    added = _constants(rows, arcs, lengths, eps)
    return {
        "type": "channel",
        "denominator": DENOMINATOR + int(added.sum()),
        "rows": (rows + added).tolist(),
    }


def _levelled(matrix: FloatArray, arcs: NDArray[np.intp]) -> FloatArray:
    """Each row replaced by the mean of its component: rows that may not differ at all."""
    size = len(matrix)
    joined = coo_array((np.ones(len(arcs)), tuple(arcs.T)), shape=(size, size))
    count, component = connected_components(joined, directed=False)
    share = np.zeros((count, size))
    share[component, np.arange(size)] = 1.0
    return np.asarray((share @ matrix / share.sum(axis=1, keepdims=True))[component])


def integers(row: FloatArray) -> list[int]:
    """Integers that sum to the denominator; the remainder goes to the largest entry."""
    # A product with a power of two is exact, so int() drops less than one part in 2^62.
    values = [int(v) for v in (row * float(DENOMINATOR)).tolist()]
    values[int(np.argmax(row))] += DENOMINATOR - sum(values)
    return values


def _constants(
    table: NDArray[Any], arcs: NDArray[np.intp], lengths: FloatArray, eps: Fraction
) -> NDArray[Any]:
    """For each column the least whole c with K[a] + c ≤ g·(K[b] + c), that is K[a] - g·K[b] ≤ (g-1)·c."""
    allowed = {length: exp_below(eps * Fraction(length)) for length in set(lengths.tolist())}
    least = np.array([0] * table.shape[1], dtype=object)
    for (x, y), length in zip(arcs.tolist(), lengths.tolist(), strict=True):
        g = allowed[length]
        missing = table[y] * g.numerator - table[x] * g.denominator
        if (missing >= 0).all():
            continue
        least = np.maximum(least, -(missing // (g.numerator - g.denominator)))
    return least


def merged(matrix: FloatArray) -> FloatArray:
    """Columns with their maximum in one row added up: square, as private, of the same value.

    Edwards et al., Lemma 6.
    """
    size = len(matrix)
    square = np.zeros((size, size))
    np.add.at(square.T, matrix.argmax(axis=0), matrix.T)
    return square


def mixed_until(
    round_off: Callable[[float], dict[str, Any]], holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The certificate with the least mixing towards the uniform channel that makes it hold exactly."""
    for mixing in (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 0.5):
        rounded = round_off(mixing)
        if holds(rounded):
            return rounded
    raise ArithmeticError("the solver's channel is too far from private to be repaired")


def kernel_matrix(z: FloatArray, mixing: float, space: Space, eps: float) -> FloatArray:
    """Columns (1-t)·Φ[:,j]·z_j/s for the positive z, and a last one that takes the rest."""
    kernel = space.kernel(eps) * z
    scale = float(kernel.sum(axis=1).max())
    columns = (1 - mixing) * kernel[:, z > 0] / scale
    rest = np.maximum(1 - columns.sum(axis=1), 0.0)
    return np.column_stack([columns, rest])


def kernel_certificate(z: FloatArray, space: Space, eps: Fraction) -> dict[str, Any]:
    """Weights z with the least mixing t that lets the verifier prove the remaining column private."""
    proof = space.proof
    low, high = (bound @ z for bound in proof.closed_kernel(eps))
    scale = high.max() * (1 + sum_error(len(z)))
    low, high = low / scale * (1 - sum_error(len(z))), high / scale * (1 + sum_error(len(z)))
    # Beyond e^30 a remainder need only be positive.
    growth = np.minimum(proof.growth(eps)[0], np.exp(30.0)) * (1 - 4 * UNIT)
    kept = 1.0
    for a, b in (space.pairs.T, space.pairs[:, ::-1].T):
        # 1 - (1-t)·low_a + 8u ≤ g·(1 - (1-t)·high_b - 8u), solved for 1-t.
        slope = growth * high[b] - low[a]
        most = (growth - 1 - 10 * UNIT * (growth + 1)) / np.where(slope > 0, slope, 1.0)
        kept = min(kept, float(np.where(slope > 0, most, 1.0).min(initial=1.0)))
    mixing = max(0.0, 1 - kept) * (1 + 1e-6) + 16 * UNIT
    if mixing >= 1:
        # ε times the least distance is within the rounding of 1: floats prove no part of the kernel.
        return silent(space)
    return {"type": "kernel", "z": z.tolist(), "t": mixing}


def silent(space: Space) -> dict[str, Any]:
    """The channel that says nothing."""
    return {"type": "channel", "denominator": 1, "rows": [[1]] * space.size}
