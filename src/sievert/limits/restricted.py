"""Worst case about part of the databases (one record, the others known) or with few outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.errors import PolicyError
from sievert.limits.bounds import Bound, limited_outputs_bound
from sievert.limits.objectives import LARGEST_UNKNOWNS, explicit_space, solve_objective
from sievert.limits.packing import packing
from sievert.limits.space import LARGEST_DENSE, Space
from sievert.limits.worst import (
    GAP,
    LN2,
    MEETS,
    Target,
    WorstLeakage,
    finite_eps,
    worst_leakage,
    worst_of_space,
)
from sievert.numerics.balls import log2_bounds
from sievert.proofs.worst import WorstLeakageProof
from sievert.spaces.automorphisms import automorphisms
from sievert.spaces.policy import Policy

__all__ = ["individual_groups", "worst_about", "worst_individual", "worst_with_outputs"]

FloatArray = NDArray[np.float64]
LARGEST_SUBSETS = 3000
LARGEST_SUBSET_SPACE = 16


def worst_about(target: Target, eps: float | Fraction, databases: Iterable[object]) -> WorstLeakage:
    """Worst leakage about which of some databases is the true one, the mechanism being private on all.

    Restricting the distances to these databases gives only a bound: a channel that is private on them need
    not extend to the others. The program has size·|databases| unknowns.

    >>> from sievert.spaces import graphs
    >>> round(worst_about(graphs.path(7), 1, [0, 3, 6]).exact.factor, 6)   # restricted: 2.810297
    2.604248
    """
    space = explicit_space(target)
    position = {label: k for k, label in enumerate(space.labels)}
    chosen = list(databases)
    unknown = [item for item in chosen if item not in position]
    if unknown or not chosen or len(set(chosen)) != len(chosen):
        raise PolicyError(f"databases: {(unknown or chosen)!r}; give different databases of the policy")
    group = [position[item] for item in chosen]
    return _about(space, finite_eps(eps), [group])


def individual_groups(policy: Policy) -> list[list[int]]:
    """For each record and each situation of the others, the databases that remain possible."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, database in enumerate(explicit_space(policy).labels):
        entries = database if isinstance(database, tuple) and policy.records > 1 else (database,)
        for record in range(policy.records):
            key = (record, *entries[:record], *entries[record + 1 :])
            groups.setdefault(key, []).append(index)
    return [group for group in groups.values() if len(group) > 1]


def worst_individual(policy: Policy, eps: Fraction) -> WorstLeakage:
    """One record given all others, under public constraints: the worst situation of the others."""
    return _about(explicit_space(policy), eps, individual_groups(policy))


def _about(space: Space, eps: Fraction, groups: list[list[int]]) -> WorstLeakage:
    """The worst of several groups of databases; those whose bound is no better are not solved."""
    whole = worst_of_space(space, eps)
    if not groups:
        method = "the constraints leave nothing open about a record once the others are known"
        return _closed(whole, Bound(0.0), Bound(0.0), method, None)
    if space.size > LARGEST_DENSE:
        bound = min(whole.upper, Bound(math.log(max(map(len, groups)))))
        reason = f"distances are kept for at most {LARGEST_DENSE} databases"
        return _closed(whole, Bound(0.0), bound, "the whole database's bound", reason)
    bounded = sorted(((_group_bound(space, eps, group), group) for group in groups), reverse=True)
    best: tuple[Fraction, WorstLeakageProof, FloatArray, list[int]] | None = None
    highest = Fraction(0)
    for most, group in bounded:
        # A packing bound this close below what was reached cannot change any digit that is printed.
        if best is not None and most <= float(best[0]) * (1 + 1e-11):
            highest = max(highest, Fraction(most) * (1 + Fraction(1, 10**11)))
            break
        if space.size * len(group) > LARGEST_UNKNOWNS:
            reason = f"the exact program would have more than {LARGEST_UNKNOWNS} unknowns"
            upper = min(whole.upper, Bound(math.log(bounded[0][0])))
            return _closed(whole, Bound(0.0), upper, "packing over all permitted databases", reason)
        proof, channel = solve_objective(space, eps, np.eye(space.size)[:, group])
        lower, upper_value = proof.bounds()
        assert lower is not None
        highest = max(highest, upper_value)
        if best is None or lower > best[0]:
            best = (lower, proof, channel, group)
    assert best is not None
    lower, proof, channel, group = best
    low, high = log2_bounds(lower, highest)
    meets = high - low <= MEETS
    names = [space.labels[i] for i in group]
    return replace(
        whole,
        packing=Bound(math.log(bounded[0][0])),
        lower=Bound(low * LN2),
        upper=Bound(high * LN2),
        exact=Bound((low + high) / 2 * LN2) if meets else None,
        method=f"program over all {space.size} databases; worst when {len(names)} remain possible",
        reason=None if meets else GAP,
        mechanism=Channel(channel, inputs=space.labels, outputs=names, normalise=True),
        certificate=proof,
    )


def _group_bound(space: Space, eps: Fraction, group: list[int]) -> float:
    """Packing with weight on the group but every database as a constraint."""
    objective = np.zeros(space.size)
    objective[group] = 1.0
    return packing(space, float(eps), objective).value


def _closed(whole: WorstLeakage, lower: Bound, upper: Bound, method: str, reason: str | None) -> WorstLeakage:
    """An answer by bounds alone, without a mechanism."""
    return replace(
        whole,
        packing=min(whole.packing, upper),
        lower=lower,
        upper=upper,
        exact=upper if reason is None else None,
        method=method,
        reason=reason,
        mechanism=None,
        certificate=None,
    )


def worst_with_outputs(target: Target, eps: Fraction, outputs: int) -> WorstLeakage:
    """Mechanisms with at most r outputs: the best choice of r databases whose rows are the maxima.

    The certificate is for the best choice; the upper end is the largest over all choices.
    """
    if not isinstance(outputs, int | np.integer) or isinstance(outputs, bool) or outputs < 1:
        raise PolicyError(f"outputs is {outputs!r}; a mechanism has at least one output")
    whole = worst_leakage(target, eps)  # type: ignore[arg-type]
    size = target.size
    if outputs >= size:
        return whole
    bound = min(whole.upper, Bound(math.log(outputs)))
    if isinstance(target, Policy) and target.permitted is None and target.preset in ("differential", "local"):
        bound = min(bound, limited_outputs_bound(target.records, len(target.values), outputs, float(eps)))
    if size > LARGEST_SUBSET_SPACE or math.comb(size, outputs) > LARGEST_SUBSETS:
        reason = f"exact values try every {outputs} of {size} databases, up to {LARGEST_SUBSETS} choices"
        return _closed(whole, Bound(0.0), bound, "closed bounds for few outputs", reason)
    space = explicit_space(target)
    best, highest = Fraction(0), Fraction(0)
    chosen: tuple[WorstLeakageProof, FloatArray] | None = None
    subsets = _different_subsets(space, outputs)
    for subset in subsets:
        proof, channel = solve_objective(space, eps, np.eye(space.size)[:, list(subset)])
        lower, upper = proof.bounds()
        assert lower is not None
        highest = max(highest, upper)
        if lower > best:
            best, chosen = lower, (proof, channel)
    assert chosen is not None
    low, high = log2_bounds(best, highest)
    meets = high - low <= MEETS
    return replace(
        whole,
        lower=Bound(low * LN2),
        upper=Bound(high * LN2),
        exact=Bound((low + high) / 2 * LN2) if meets else None,
        method=f"program for every choice of {outputs} outputs ({len(subsets)} up to symmetry)",
        reason=None if meets else GAP,
        mechanism=Channel(chosen[1], inputs=space.labels, normalise=True),
        certificate=chosen[0],
    )


def _different_subsets(space: Space, count: int) -> list[tuple[int, ...]]:
    """Subsets of the points, one of each orbit under the symmetries of the graph."""
    every = list(combinations(range(space.size), count))
    if not space.is_graph:
        return every
    generators = automorphisms(space.graph()).generators.tolist()
    seen: set[tuple[int, ...]] = set()
    different = []
    for subset in every:
        if subset in seen:
            continue
        different.append(subset)
        seen.add(subset)
        waiting = [subset]
        while waiting:
            current = waiting.pop()
            for image in generators:
                moved = tuple(sorted(image[i] for i in current))
                if moved not in seen:
                    seen.add(moved)
                    waiting.append(moved)
    return different
