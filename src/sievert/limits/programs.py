"""The exact linear program of the worst channel, plain and folded by symmetry.

maximise Σ A[x,w]·K[x,w] over K ≥ 0 with rows summing to exactly 1 and K[i,w] ≤ e^(ε·length)·K[h,w] along
every edge. With "≤ 1" the program would silently return the packing bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.limits.space import Space
from sievert.numerics.linear_programs import LinearProgram, solved

__all__ = [
    "LARGEST_LOG_GROWTH",
    "Optimum",
    "arc_program",
    "folded_program",
    "full_program",
    "growth_of",
    "triples",
    "uncapped",
]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
# Up to here the simplex is as fast as the interior point and exact to the last digit.
SIMPLEX_VARIABLES = 2500
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
    small = shape[1] <= SIMPLEX_VARIABLES
    solution = solved(program, "choose" if small else "ipm", tolerance=1e-10, crossover=small)
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
    tail = np.concatenate([space.pairs[:, 0], space.pairs[:, 1]])
    head = np.concatenate([space.pairs[:, 1], space.pairs[:, 0]])
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
