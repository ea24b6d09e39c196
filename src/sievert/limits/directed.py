"""Worst leakage under the letter of Definition 2: privacy that may run one way only.

The directed adjacency promises less than the undirected one, so more may leak. Packing stays valid with
K[i,j] ≥ e^(-ε·d(j→i))·K[j,j], where d counts arcs in the direction the inequality runs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sievert.channels.channel import Channel
from sievert.errors import TooLargeError
from sievert.limits.bounds import Bound, blowfish_bound
from sievert.limits.channels import repaired_on
from sievert.limits.objectives import LARGEST_UNKNOWNS
from sievert.limits.programs import LARGEST_LOG_GROWTH, arc_program, triples
from sievert.limits.space import LARGEST_DENSE
from sievert.limits.worst import GAP, LN2, MEETS, WorstLeakage
from sievert.numerics.balls import log2_bounds
from sievert.numerics.linear_programs import LinearProgram, Unsolved, solved
from sievert.proofs.directed import DirectedProof
from sievert.spaces.database_graph import DatabaseGraph

__all__ = ["worst_directed"]

FloatArray = NDArray[np.float64]


def worst_directed(graph: DatabaseGraph, eps: Fraction) -> WorstLeakage:
    """What any channel with K[D] ≤ e^ε·K[D'] for each ordered pair D ~ D' could leak at worst.

    The diameter and radius bounds are infinite where some database has no way to another.
    """
    if graph.size > LARGEST_DENSE:
        raise TooLargeError(
            f"the directed adjacency has {graph.size} databases; at most {LARGEST_DENSE} are solved; "
            "adjacency() without directed=True, whose promise is stronger, has no such limit",
            size=graph.size,
        )
    rate, arcs = float(eps), graph.edges
    nothing = _components(graph)
    cover = DirectedProof(graph.size, arcs, eps, {"type": "packing", "y": [1.0] * graph.size}, nothing)
    y = _packing(cover.distances, rate)
    cover = DirectedProof(graph.size, arcs, eps, {"type": "packing", "y": y.tolist()}, nothing)
    packing = cover.bounds()[1]
    proof, channel, reason = cover, None, None
    if graph.size**2 <= LARGEST_UNKNOWNS:
        try:
            proof, channel = _exact(cover)
        except (ArithmeticError, Unsolved) as problem:
            reason = str(problem)
    else:
        reason = f"the exact program would have more than {LARGEST_UNKNOWNS} unknowns"
    lower, upper = proof.bounds()
    if packing < upper:
        proof = DirectedProof(graph.size, arcs, eps, cover.upper, proof.lower)
        upper = packing
    low, high = log2_bounds(lower, upper)
    meets = high - low <= MEETS
    diameter, radius = _extents(graph, cover.distances, rate)
    return WorstLeakage(
        diameter=diameter,
        radius=radius,
        packing=Bound(log2_bounds(packing, packing)[1] * LN2),
        lower=Bound(low * LN2),
        upper=Bound(high * LN2),
        exact=Bound((low + high) / 2 * LN2) if meets else None,
        method="the program with one inequality for each ordered pair"
        if channel is not None
        else "packing with directed distances",
        reason=None if meets else reason or GAP,
        mechanism=None if channel is None else Channel(channel, inputs=graph.nodes, normalise=True),
        certificate=proof,
        eps=rate,
    )


def _packing(distances: FloatArray, eps: float) -> FloatArray:
    """y ≥ 0 of least sum with Σ_i y_i·e^(-ε·d(j→i)) ≥ 1 for every j."""
    size = len(distances)
    kernel = np.where(np.isfinite(distances), np.exp(-eps * np.minimum(distances, 1e300)), 0.0)
    program = LinearProgram(
        -np.ones(size),
        csc_array(kernel.T),
        np.full(size, -np.inf),
        np.ones(size),
        np.zeros(size),
        np.full(size, np.inf),
    )
    return np.maximum(-solved(program, tolerance=1e-10).dual, 0.0)


def _exact(cover: DirectedProof) -> tuple[DirectedProof, FloatArray]:
    """The plain program on the arcs, with its dual and the repaired channel."""
    arcs, eps, size = cover.arcs, cover.eps, cover.size
    growth = math.exp(min(float(eps), LARGEST_LOG_GROWTH))
    _, channel, y, multipliers = arc_program(arcs, np.full(len(arcs), growth), np.eye(size))
    upper = {"type": "dual", "y": y.tolist(), "forward": triples(multipliers), "backward": []}
    lower = repaired_on(channel, arcs, np.ones(len(arcs)), eps)
    return DirectedProof(size, arcs, eps, upper, lower), channel


def _components(graph: DatabaseGraph) -> dict[str, Any]:
    """The channel that says which component the database lies in: nothing hides that."""
    table = np.eye(int(graph.component_of.max()) + 1, dtype=int)[graph.component_of]
    return {"type": "channel", "denominator": 1, "rows": table.tolist()}


def _extents(graph: DatabaseGraph, distances: FloatArray, eps: float) -> tuple[Bound, Bound]:
    """Diameter and radius bounds: from every database to a centre, in the direction of the inequality."""
    wide, near = [], []
    for number in range(int(graph.component_of.max()) + 1):
        members = np.flatnonzero(graph.component_of == number)
        arriving = distances[np.ix_(members, members)].max(axis=0)
        wide.append(float(arriving.max()))
        near.append(float(arriving.min()))
    bounds = [
        Bound(math.inf) if not all(map(math.isfinite, extents)) and eps > 0 else blowfish_bound(extents, eps)
        for extents in (wide, near)
    ]
    return bounds[0], bounds[1]
