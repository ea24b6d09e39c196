"""Worst case for a known prior or another goal: max Σ π_x·g(w,x)·K[x,w] over private channels, exactly."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.channels.priors import as_prior
from sievert.errors import GainError, TooLargeError
from sievert.limits._programs import (
    LARGEST_LOG_GROWTH,
    arc_program,
    full_program,
    kernel_certificate,
    repaired,
    repaired_on,
    triples,
)
from sievert.limits._space import LARGEST_DENSE, Space, packing, space_of
from sievert.limits._targets import Target
from sievert.limits._worst import GAP, LN2, MEETS, WorstLeakage, worst_of_space
from sievert.limits.bounds import Bound, blowfish_bound
from sievert.measures import as_gain, vulnerability
from sievert.numerics import log2_bounds
from sievert.policies import Policy
from sievert.programs import LinearProgram, Unsolved, solved
from sievert.proofs import DirectedProof, WorstLeakageProof
from sievert.spaces import DatabaseGraph, Graph, Metric

__all__ = ["explicit_space", "prior_packing", "solve_objective", "worst_directed", "worst_gain"]
LARGEST_UNKNOWNS = 25_000
# Constraints of the exact program: an hour of the solver is nobody's answer.
LARGEST_ROWS = 500_000


def explicit_space(target: Target) -> Space:
    """The space of all databases, listed."""
    if isinstance(target, Policy):
        if target.records == 1 and target.permitted is None:
            return space_of(target.secrets)
        if isinstance(target.secrets, Metric):
            return space_of(target.database_metric())
        return space_of(target.adjacency())
    assert isinstance(target, Graph | Metric)
    return space_of(target)


def worst_gain(target: Target, eps: Fraction, prior: object, gain: object) -> WorstLeakage:
    """The most that any private mechanism multiplies an adversary's expected gain by."""
    space = explicit_space(target)
    belief = as_prior(prior, space.labels).astype(np.float64)
    adversary = as_gain(gain, space.labels)
    if adversary.is_loss:
        raise GainError(f"gain {adversary.name!r} is a loss; give it as a gain (bound minus loss)")
    before = float(vulnerability(belief, adversary).value)
    table = np.asarray(adversary.matrix, dtype=np.float64)
    if not before > 0:
        raise GainError(
            f"gain {adversary.name!r} is worth {before:.6g} before the release, and what grows by a factor "
            "must be positive; add a constant to all gains of a secret"
        )
    whole = worst_of_space(space, eps)
    if eps > 0 and _is_guess(space, table):
        packed = prior_packing(space, eps, belief)
        if packed is not None and packed.meets(MEETS):
            words = "packing on the known prior, attained by its kernel"
            return _between(whole, packed.proof, before, words)
    try:
        proof, channel = solve_objective(space, eps, (table * belief).T)
    except (ArithmeticError, Unsolved, TooLargeError) as problem:
        return _without_program(space, eps, belief, table, before, whole, str(problem))
    found = _between(whole, proof, before, f"linear program over channels for {adversary.name!r}")
    return replace(found, mechanism=Channel(channel, inputs=space.labels, normalise=True))


def _is_guess(space: Space, table: FloatArray) -> bool:
    """Whether the gain is 1 for the secret itself, and the space small enough for its distances."""
    square = table.shape == (space.size,) * 2
    return space.size <= LARGEST_DENSE and square and bool((table == np.eye(space.size)).all())


class PriorPacking(NamedTuple):
    """Ends of the guess under a known prior, and their proof."""

    lower: Fraction
    upper: Fraction
    proof: WorstLeakageProof

    def meets(self, gap: float) -> bool:
        """Whether the ends are this close, relative to the upper one."""
        return self.upper - self.lower <= gap * self.upper


def prior_packing(space: Space, eps: Fraction, belief: FloatArray) -> PriorPacking | None:
    """The guess under a known prior between packing, max{π·z : Φz ≤ 1, z ≥ 0}, and the channel of its z.

    The columns Φ[:,j]·z_j are private; what rows lack is one more column, and they are scaled down until that
    is private too. None at an ε that floats hardly tell from 0, where that is not proved.
    """
    found = packing(space, float(eps), belief)
    proof = WorstLeakageProof(
        space.proof,
        eps,
        {"type": "packing", "y": found.y.tolist()},
        kernel_certificate(found.z, space, eps),
        weights=belief,
        labels=tuple(space.labels),
    )
    try:
        lower, upper = proof.bounds()
    except ValueError:
        return None
    assert lower is not None
    return PriorPacking(lower, upper, proof)


def _between(whole: WorstLeakage, proof: WorstLeakageProof, before: float, method: str) -> WorstLeakage:
    """Both ends of a proof, relative to what is reached before."""
    lower, upper = proof.bounds()
    assert lower is not None
    base = Fraction(before)
    low, high = log2_bounds(lower / base, upper / base)
    low = max(0.0, low)
    meets = high - low <= MEETS
    best = Bound(high * LN2)
    return replace(
        whole,
        packing=min(whole.packing, best) if proof.upper["type"] == "packing" else whole.packing,
        lower=Bound(low * LN2),
        upper=best,
        exact=Bound((low + high) / 2 * LN2) if meets else None,
        method=method,
        reason=None if meets else GAP,
        mechanism=None,
        certificate=proof,
    )


def _without_program(
    space: Space,
    eps: Fraction,
    belief: FloatArray,
    table: FloatArray,
    before: float,
    whole: WorstLeakage,
    reason: str,
) -> WorstLeakage:
    """Bounds alone: what is above the least gain of each secret grows by no more than the capacity.

    Adding a number to all gains of a secret adds as much before as after, so gains may be shifted to start at
    0, whatever their signs; a guess by no more than packing on the prior.
    """
    least = float(belief @ table.min(axis=0))
    grown = least + whole.upper.factor * (before - least)
    best = min(whole.upper, Bound(math.log(max(1.0, grown / before)))) if grown < math.inf else whole.upper
    method = "the capacity: no adversary's gain grows by more"
    if best < whole.upper:
        method = "the capacity: no adversary's gain above the least of each secret grows by more"
    found = replace(
        whole,
        packing=min(whole.packing, best),
        lower=Bound(0.0),
        upper=best,
        exact=None,
        method=method,
        reason=reason,
        mechanism=None,
    )
    known = prior_packing(space, eps, belief) if eps > 0 and _is_guess(space, table) else None
    if known is not None:
        packed = _between(whole, known.proof, before, "packing on the known prior")
        return replace(packed, reason=reason) if packed.upper < best else replace(found, lower=packed.lower)
    return found


def solve_objective(
    space: Space, eps: Fraction, objective: FloatArray
) -> tuple[WorstLeakageProof, FloatArray]:
    """The exact program for any objective A[x,w], with its proof and the channel."""
    unknowns, rows = objective.size, 2 * len(space.pairs) * objective.shape[1]
    if unknowns > LARGEST_UNKNOWNS or rows > LARGEST_ROWS:
        raise TooLargeError(
            f"the exact program would have {space.size} × {objective.shape[1]} = {unknowns} unknowns and "
            f"{rows} constraints; at most {LARGEST_UNKNOWNS} and {LARGEST_ROWS} are tried",
            size=max(unknowns, rows),
        )
    optimum = full_program(space, float(eps), objective)
    channel = optimum.channel
    proof = WorstLeakageProof(
        space.proof,
        eps,
        optimum.certificate(),
        repaired(channel, space, eps),
        gain=objective,
        labels=tuple(space.labels),
    )
    return proof, channel


# ── Worst leakage under the letter of Definition 2: privacy that may run one way only ───────────────────────
# The directed adjacency promises less than the undirected one, so more may leak. Packing stays valid with
# K[i,j] ≥ e^(-ε·d(j→i))·K[j,j], where d counts arcs in the direction the inequality runs.


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
