"""Worst case for a known prior or another goal: max Σ π_x·g(w,x)·K[x,w] over private channels, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.errors import GainError, TooLargeError
from sievert.leakage.gains import as_gain
from sievert.leakage.measures import vulnerability
from sievert.limits.bounds import Bound
from sievert.limits.channels import repaired
from sievert.limits.packing import packing
from sievert.limits.programs import full_program
from sievert.limits.space import LARGEST_DENSE, Space, space_of
from sievert.limits.worst import GAP, LN2, MEETS, Target, WorstLeakage, worst_of_space
from sievert.numerics.balls import log2_bounds
from sievert.numerics.linear_programs import Unsolved
from sievert.proofs.worst import WorstLeakageProof
from sievert.spaces.graph import Graph
from sievert.spaces.metric import Metric
from sievert.spaces.policy import Policy

__all__ = ["explicit_space", "solve_objective", "worst_gain"]

FloatArray = NDArray[np.float64]
LARGEST_UNKNOWNS = 25_000


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
    if not before > 0 or table.min() < 0:
        raise GainError("gain: the worst factor needs non-negative gains and a positive prior value")
    whole = worst_of_space(space, eps)
    try:
        proof, channel = solve_objective(space, eps, (table * belief).T)
    except (ArithmeticError, Unsolved, TooLargeError) as problem:
        return _without_program(space, eps, belief, table, before, whole, str(problem))
    lower, upper = proof.bounds()
    assert lower is not None
    base = Fraction(before)
    low, high = log2_bounds(lower / base, upper / base)
    meets = high - low <= MEETS
    return replace(
        whole,
        lower=Bound(low * LN2),
        upper=Bound(high * LN2),
        exact=Bound((low + high) / 2 * LN2) if meets else None,
        method=f"linear program over channels for {adversary.name!r}",
        reason=None if meets else GAP,
        mechanism=Channel(channel, inputs=space.labels, normalise=True),
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
    """Bounds alone: no gain grows by more than the capacity; a guess by no more than packing on the prior."""
    best, method = whole.upper, "the capacity: no adversary's gain grows by more"
    certificate = whole.certificate
    if (
        space.size <= LARGEST_DENSE
        and table.shape == (space.size,) * 2
        and (table == np.eye(len(table))).all()
    ):
        found = {"type": "packing", "y": packing(space, float(eps), belief).y.tolist()}
        proof = WorstLeakageProof(space.proof, eps, found, None, weights=belief, labels=tuple(space.labels))
        upper = proof.bounds()[1] / Fraction(before)
        bound = Bound(log2_bounds(upper, upper)[1] * LN2)
        if bound < best:
            best, method, certificate = bound, "packing on the known prior", proof
    return replace(
        whole,
        packing=min(whole.packing, best),
        lower=Bound(0.0),
        upper=best,
        exact=None,
        method=method,
        reason=reason,
        mechanism=None,
        certificate=certificate,
    )


def solve_objective(
    space: Space, eps: Fraction, objective: FloatArray
) -> tuple[WorstLeakageProof, FloatArray]:
    """The exact program for any objective A[x,w], with its proof and the channel."""
    unknowns = objective.size
    if unknowns > LARGEST_UNKNOWNS:
        raise TooLargeError(
            f"the exact program would have {space.size} × {objective.shape[1]} = {unknowns} unknowns; "
            f"at most {LARGEST_UNKNOWNS} are tried",
            size=unknowns,
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
