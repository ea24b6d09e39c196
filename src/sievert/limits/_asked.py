"""What a proof about the limits of a policy must be about, found without solving a program.

A proof says its space, its ε and its prior itself. Whether they are those of a policy and a claim is decided
here, where the space of a policy is made: the questions that an honest proof of each kind would answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.limits._complete_guess import best_guess
from sievert.limits._explain import records_of_person
from sievert.limits._grids import grid_of
from sievert.limits._guess_bounds import (
    COMPOSED,
    adjacency_space,
    curve_points,
    is_by_distance,
    nearest_pairs,
)
from sievert.limits._listed import databases_of
from sievert.limits._long_lines import closed_bounds
from sievert.limits._objectives import explicit_space
from sievert.limits._products import flat_factors
from sievert.limits._restricted import individual_groups
from sievert.limits._space import Space, space_of, together
from sievert.limits._targets import Target, checked_prior, is_complete, values_of
from sievert.limits._worst import equally_apart, finite_eps, target_and_records
from sievert.limits.promises import ApproximateClaim, Claim
from sievert.numerics import read_eps
from sievert.policies import Policy
from sievert.proofs import (
    ApproximateProof,
    ClosedLeakageProof,
    GroupsProof,
    MapLeakageProof,
    ProductLeakageProof,
    Proof,
    Spread,
    WorstLeakageProof,
)
from sievert.spaces import Graph, Metric

__all__ = ["guess_questions", "worst_leakage_questions"]

# A question, and what the proof takes as given besides; None: nothing.
Asked = tuple[dict[str, Any], str | None]


def worst_leakage_questions(proof: Proof, policy: Target, eps: float) -> list[dict[str, Any]]:
    """The questions about the worst leakage of a policy at an ε that a proof of this kind may answer.

    >>> import sievert as sv
    >>> policy = sv.Policy(sv.secrets.complete(["a", "b", "c"]))
    >>> proof = sv.worst_leakage(policy, 1).certificate
    >>> [proof.question() == asked for asked in worst_leakage_questions(proof, policy, 1.0)]
    [True]
    >>> [proof.question() == asked for asked in worst_leakage_questions(proof, policy, 2.0)]
    [False]
    """
    return list(_questions(proof, policy, eps))


def _questions(proof: Proof, policy: Target, eps: float) -> Iterator[dict[str, Any]]:
    level = finite_eps(eps)
    target, records = target_and_records(policy)
    if isinstance(proof, ClosedLeakageProof):
        apart, closed = equally_apart(target), closed_bounds(target, level)
        if apart is not None:
            complete = ClosedLeakageProof(level, "complete", target.size, length=apart, copies=records)
            yield complete.question()
        if closed is not None and closed.certificate is not None:
            yield replace(closed.certificate, copies=records).question()
        return
    if isinstance(proof, MapLeakageProof):
        grid = grid_of(target)
        if grid is not None:
            nothing = Spread((1, 1), None, 0)
            cells = MapLeakageProof(level, grid.exact_step, grid.rows, grid.columns, nothing, None)
            yield replace(cells, copies=records).question()
        return
    if isinstance(proof, ProductLeakageProof) and proof.given is None:
        spaces = [space_of(factor) for factor in flat_factors(target.factors or ())]
        if spaces:
            parts = tuple(WorstLeakageProof(space.proof, level, {}, None) for space in spaces)
            yield ProductLeakageProof(level, parts, records).question()
        return
    yield from _of_space(proof, target, level, records)
    whole = databases_of(policy) if isinstance(policy, Policy) else None
    if whole is not None:
        yield from _of_space(proof, whole, level, 1)


def _of_space(
    proof: Proof, target: Graph | Metric, level: Fraction, records: int
) -> Iterator[dict[str, Any]]:
    """The question about one space and its copies, where the proof is about a space of that size."""
    size = _size_of(proof)
    if size is None or size > target.size:
        return
    # Points at distance 0 are one: what is solved, and proved, has each of them once.
    merged = together(target) if isinstance(target, Metric) else None
    if size != (target if merged is None else merged[0]).size:
        return
    space = space_of(target if merged is None else merged[0])
    if isinstance(proof, ProductLeakageProof):
        yield {"eps": str(level), "copies": records, "given": space.proof.to_data()}
    if isinstance(proof, WorstLeakageProof):
        one = WorstLeakageProof(space.proof, level, {}, None, copies=records, labels=tuple(space.labels))
        yield one.question()


def _size_of(proof: Proof) -> int | None:
    """How many points a proof is about, so that no space of another size is made; None: it has no space."""
    if isinstance(proof, ProductLeakageProof):
        return None if proof.given is None else proof.given.size
    if isinstance(proof, WorstLeakageProof | ApproximateProof | GroupsProof):
        return proof.space.size
    return None


# ── What a claim lets anybody guess ─────────────────────────────────────────────────────────────────────────


def guess_questions(proof: Proof, claim: Claim, policy: Policy, prior: object) -> list[Asked]:
    """The questions about the best guess under a claim that a proof of this kind may answer.

    Each comes with what the proof takes as given: of several releases, that the claim implies its ε and δ.

    >>> import sievert as sv
    >>> from sievert.limits.promises import claim_of
    >>> policy = sv.Policy(sv.secrets.complete(["a", "b", "c"]))
    >>> proof = sv.explain(eps=1.0, policy=policy).certificate
    >>> [guess_questions(proof, claim_of(eps), policy, None)[0][0] == proof.question() for eps in (1.0, 2.0)]
    [True, False]
    """
    belief = checked_prior(prior, len(policy.values), None, policy)
    return list(_guesses(proof, claim.of_group(records_of_person(policy)), policy, belief))


def _guesses(proof: Proof, claim: Claim, target: Target, prior: FloatArray | None) -> Iterator[Asked]:
    if isinstance(target, Policy) and target.constrained:
        yield from _of_groups(proof, claim, target)
        return
    count = len(values_of(target))
    if is_complete(target):
        found = best_guess(claim, count, prior)
        if found.certificate is not None:
            yield found.certificate.question(), found.uncertified
        return
    one = target.secrets if isinstance(target, Policy) else target
    single = isinstance(claim, ApproximateClaim) and claim.releases == 1
    points = curve_points(claim)
    if isinstance(one, Metric):
        if not is_by_distance(claim):
            return
        points = [(claim.eps * claim.releases, claim.lost)]
        nearest = None if single else nearest_pairs(one)
        if nearest is not None:
            pairs, length = nearest
            near = ApproximateClaim(claim.eps * length, 0.0, claim.releases)
            yield from _guesses(proof, near, pairs, prior)
    for eps, delta in points:
        if np.isfinite(eps) and delta < 1:
            for question in _at(proof, one, eps, delta, prior):
                yield question, None if single else COMPOSED


def _at(
    proof: Proof, target: Target, eps: float, delta: float, prior: FloatArray | None
) -> Iterator[dict[str, Any]]:
    """At one (ε, δ): the worst leakage where all values are as likely, else what a prior is worth."""
    if not delta and prior is None:
        yield from worst_leakage_questions(proof, target, eps)
        return
    count = len(values_of(target))
    weights = np.full(count, 1 / count) if prior is None else prior
    grid = grid_of(target)
    if isinstance(proof, MapLeakageProof) and grid is not None:
        given = weights.reshape(grid.rows, grid.columns)
        nothing = Spread((1, 1), None, 0)
        level = read_eps(eps)
        yield MapLeakageProof(
            level, grid.exact_step, grid.rows, grid.columns, nothing, None, given
        ).question()
    if _size_of(proof) != target.size:
        return
    if isinstance(proof, WorstLeakageProof | ApproximateProof):
        yield from _program(proof, adjacency_space(target, delta > 0), eps, delta, np.diag(weights))
    if isinstance(proof, WorstLeakageProof) and not delta:
        space = explicit_space(target)
        one = WorstLeakageProof(space.proof, read_eps(eps), {}, None, weights=weights)
        yield replace(one, labels=tuple(space.labels)).question()


def _program(
    proof: Proof, space: Space, eps: float, delta: float, objective: FloatArray
) -> Iterator[dict[str, Any]]:
    """The exact program for an objective [point, answer]."""
    level, labels = read_eps(eps), tuple(space.labels)
    if isinstance(proof, WorstLeakageProof) and not delta:
        yield WorstLeakageProof(space.proof, level, {}, None, gain=objective, labels=labels).question()
    if isinstance(proof, ApproximateProof) and delta:
        yield ApproximateProof(space.proof, level, read_eps(delta), objective, {}, {}, labels).question()


def _of_groups(proof: Proof, claim: Claim, policy: Policy) -> Iterator[Asked]:
    """Public knowledge: the databases that one record leaves open, the others known."""
    if _size_of(proof) != policy.size:
        return
    groups = individual_groups(policy)
    single = isinstance(claim, ApproximateClaim) and claim.releases == 1
    space = explicit_space(policy)
    for eps, delta in curve_points(claim):
        if not np.isfinite(eps) or delta >= 1:
            continue
        given = None if single else COMPOSED
        if isinstance(proof, GroupsProof) and not delta:
            cases: list[Any] = [{"points": list(group)} for group in groups if len(group) > 1]
            yield GroupsProof(space.proof, read_eps(eps), cases, None).question(), given
        for group in {tuple(sorted(group)) for group in groups} if delta else ():
            objective = np.eye(space.size)[:, list(group)] / len(group)
            for question in _program(proof, space, eps, delta, objective):
                yield question, given
