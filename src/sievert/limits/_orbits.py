"""Spaces of very many points that symmetries exchange: packing with one unknown for each orbit of points.

Φ summed over the points of an orbit is the same from everywhere in another, so a search from one point of
each orbit is all that is needed: there is no table of distances, and no orbit of pairs is ever listed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.csgraph import connected_components

from sievert.arrays import FloatArray, IndexArray
from sievert.limits._space import Space
from sievert.programs import LinearProgram, solved
from sievert.spaces import by_first

__all__ = ["OrbitBounds", "covering_of_orbits", "orbit_bounds", "remainder"]
Certificate = dict[str, Any]
# Orbits from each of which a search is made.
MOST_ORBITS = 1000


class OrbitBounds(NamedTuple):
    """How a space with known symmetries was bounded, above and below, and whether the ends meet."""

    method: str
    upper: Certificate
    lower: Certificate
    attained: bool


def orbit_bounds(space: Space, eps: Fraction) -> OrbitBounds | None:
    """Packing with one unknown for each orbit; None where orbits are too many."""
    symmetries = [image.tolist() for image in space.symmetries]
    label = _orbits(space)
    count = int(label.max()) + 1
    if count == 1:
        transitive = {"type": "transitive", "symmetries": symmetries}
        return OrbitBounds("vertex-transitive: one search", transitive, transitive, True)
    if count > MOST_ORBITS or not space.is_graph or eps == 0:
        return None
    sizes = np.bincount(label).astype(np.float64)
    kernel = _summed_kernel(space, float(eps), label)
    y = z = _weights(kernel)
    attained = y is not None
    method = f"{count} orbits of points: non-negative weights, the packing bound is attained"
    if y is None or z is None:
        y, z = covering_of_orbits(kernel, sizes)
        method = f"{count} orbits of points: packing"
    upper = {"type": "orbits", "symmetries": symmetries, "y": y.tolist()}
    kept_back = remainder(space, float(eps), label, kernel @ z)
    lower = {"type": "orbits", "symmetries": symmetries, "z": z.tolist(), "t": kept_back}
    return OrbitBounds(method, upper, lower, attained)


def _orbits(space: Space) -> IndexArray:
    """The orbit of each point, numbered by first points."""
    start = np.tile(np.arange(space.size), len(space.symmetries))
    joined = coo_array(
        (np.ones(len(start)), (start, np.concatenate(space.symmetries))), shape=(space.size,) * 2
    )
    return by_first(connected_components(joined, directed=False)[1].astype(np.intp))


def _summed_kernel(space: Space, eps: float, label: IndexArray) -> FloatArray:
    """Σ e^(-εd) from the first point of each orbit to all points of another."""
    firsts = np.unique(label, return_index=True)[1]
    rows = []
    for first in firsts.tolist():
        away = np.ravel(space.proof.distances_from(np.array([first])))
        rows.append(np.bincount(label, np.where(np.isfinite(away), np.exp(-eps * away), 0.0)))
    return np.array(rows)


def _weights(kernel: FloatArray) -> FloatArray | None:
    """The solution of Φw = 1 where it is non-negative."""
    try:
        found: FloatArray = np.asarray(np.linalg.solve(kernel, np.ones(len(kernel))), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if found.min() >= 0 else None


def covering_of_orbits(kernel: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A covering vector and a packing, from one program over orbits."""
    count = len(sizes)
    endless = np.full(count, np.inf)
    program = LinearProgram(-sizes, csc_array(kernel), -endless, np.ones(count), np.zeros(count), endless)
    solution = solved(program, tolerance=1e-10)
    z = np.maximum(solution.primal, 0.0)
    return np.maximum(-solution.dual, 0.0) / sizes, z / max(1.0, float((kernel @ z).max()))


def remainder(space: Space, eps: float, label: IndexArray, rows: FloatArray) -> float:
    """The least that must be kept back for the column that takes the rest of each row to be private."""
    rows = rows / rows.max()
    growth, kept = np.exp(eps), 1.0
    for a, b in (label[space.pairs].T, label[space.pairs[:, ::-1]].T):
        slope = growth * rows[b] - rows[a]
        most = (growth - 1) / np.where(slope > 0, slope, 1.0)
        kept = min(kept, float(np.where(slope > 0, most, 1.0).min(initial=1.0)))
    return min(0.999, max(0.0, 1 - kept) * (1 + 1e-6) + 1e-13)
