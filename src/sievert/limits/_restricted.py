"""Worst case about part of the databases (one record, the others known) or with few outputs.

Of several groups of databases each is bounded only as well as it has to be. A group's
bound is refined three times: packing on the group alone (a few unknowns), packing with every database as a
constraint, the exact program. The group with the largest bound is refined next; when it is solved exactly, no
other group can exceed it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.errors import PolicyError, TooLargeError
from sievert.limits._objectives import LARGEST_UNKNOWNS, explicit_space, solve_objective
from sievert.limits._space import LARGEST_DENSE, Space, space_of
from sievert.limits._targets import Target
from sievert.limits._worst import (
    GAP,
    LN2,
    MEETS,
    WorstLeakage,
    finite_eps,
    worst_leakage,
    worst_of_space,
)
from sievert.limits.bounds import Bound, blowfish_bound, limited_outputs_bound
from sievert.numerics import abbreviated, advance, is_whole, log2_bounds, readable, tracked
from sievert.policies import Policy
from sievert.programs import LinearProgram, Unsolved, solved
from sievert.proofs import GroupsProof, images
from sievert.spaces import Graph, automorphisms
from sievert.spaces.secrets import CompleteGraph

__all__ = [
    "individual_groups",
    "largest_packing",
    "worst_about",
    "worst_individual",
    "worst_of_situations",
    "worst_with_outputs",
]

Group = tuple[int, ...]
LARGEST_SUBSETS = 5000
LARGEST_SUBSET_SPACE = 100


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
    return _about(space, finite_eps(eps), [tuple(position[item] for item in chosen)])


def largest_packing(space: Space, eps: Fraction, groups: Sequence[Group]) -> tuple[int, Fraction]:
    """The group about which most could leak by the packing bounds, and a bound proved for all of them.

    No program over channels is solved, so that spaces of some thousand points are fine.
    """
    search = _Search(space, eps, groups, space.kernel(float(eps)))
    waiting = search.start()
    _, stage, number = heapq.heappop(waiting)
    while stage == 0 and space.size * len(groups[number]) <= LARGEST_UNKNOWNS:
        _, stage, number = heapq.heappushpop(waiting, (-search.cover(number), 1, number))
    cases = [
        {"points": list(group), "upper": certificate}
        for group, certificate in zip(groups, search.certificates, strict=True)
    ]
    return number, GroupsProof(space.proof, eps, cases, None).bounds()[1]


def individual_groups(policy: Policy) -> list[tuple[int, ...]]:
    """For each record and each situation of the others, the databases that remain possible."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, database in enumerate(explicit_space(policy).labels):
        entries = database if isinstance(database, tuple) and policy.records > 1 else (database,)
        for record in range(policy.records):
            key = (record, *entries[:record], *entries[record + 1 :])
            groups.setdefault(key, []).append(index)
    return [tuple(group) for group in groups.values()]


def worst_individual(policy: Policy, eps: Fraction) -> WorstLeakage:
    """One record given all others, under public constraints: the worst situation of the others."""
    return worst_of_situations(policy, eps, individual_groups(policy))


def worst_of_situations(policy: Policy, eps: Fraction, groups: list[tuple[int, ...]]) -> WorstLeakage:
    """The worst of several situations of the other records, each the databases that it leaves possible."""
    open_groups = [group for group in groups if len(group) > 1]
    space = explicit_space(policy)
    if open_groups and space.size > LARGEST_DENSE:
        return _values_left(policy, eps, open_groups)
    return _about(space, eps, open_groups)


def _values_left(policy: Policy, eps: Fraction, groups: list[tuple[int, ...]]) -> WorstLeakage:
    """Too many databases for distances: what the values left open to one record could leak by themselves.

    Databases that differ in one record, by a secret pair, are adjacent whatever the constraints; so a private
    mechanism, seen on such a group, is private for the secret graph of the values left.
    """
    rows = policy.permitted_databases.rows
    left = set()
    for group in groups:
        (record,) = np.flatnonzero(rows[group[0]] != rows[group[1]])
        left.add(frozenset(rows[list(group), record].tolist()))
    largest = max(map(len, left))
    if isinstance(policy.secrets, CompleteGraph):
        left = {frozenset(range(largest))}
    reason = (
        f"distances are kept for at most {LARGEST_DENSE} databases; with {policy.size} only the values that "
        "the other records leave open are looked at"
    )
    if not isinstance(policy.secrets, Graph) or len(left) > LARGEST_SUBSETS:
        bound = Bound(math.log(largest))
        method = "the number of databases that remain possible"
        return WorstLeakage(
            bound, bound, bound, Bound(0.0), bound, None, method, reason, None, None, float(eps)
        )
    found = [
        worst_of_space(space_of(_induced(policy.secrets, values)), eps)
        for values in tracked("situations of the others", left)
    ]
    return WorstLeakage(
        diameter=max(one.diameter for one in found),
        radius=max(one.radius for one in found),
        packing=max(one.packing for one in found),
        lower=Bound(0.0),
        upper=max(one.upper for one in found),
        exact=None,
        method="the secret graph of the values that remain possible",
        reason=reason,
        mechanism=None,
        certificate=None,
        eps=float(eps),
    )


def _induced(secrets: Graph, values: frozenset[int]) -> Graph:
    """The secret pairs among some values, given by their positions."""
    inside = np.isin(secrets.edges, list(values)).all(axis=1)
    place = {value: k for k, value in enumerate(sorted(values))}
    return Graph(range(len(values)), [(place[a], place[b]) for a, b in secrets.edges[inside].tolist()])


def _about(space: Space, eps: Fraction, groups: list[tuple[int, ...]]) -> WorstLeakage:
    """The worst of several groups of databases."""
    if not groups:
        nothing = Bound(0.0)
        method = "the constraints leave nothing open about a record once the others are known"
        return WorstLeakage(
            nothing, nothing, nothing, nothing, nothing, nothing, method, None, None, None, float(eps)
        )
    if space.size > LARGEST_DENSE:
        raise TooLargeError(
            f"the space has {space.size} databases; distances are kept for at most {LARGEST_DENSE}",
            size=space.size,
        )
    found = _worst_of_groups(space, eps, groups)
    lower, upper = found.proof.bounds()
    low, high = log2_bounds(lower or Fraction(1), upper)
    meets = high - low <= MEETS
    names = [space.labels[i] for i in found.group or ()]
    method = f"program over all {space.size} databases; worst when {len(names)} remain possible"
    diameter, radius = _extents(space, float(eps), groups)
    return WorstLeakage(
        diameter=diameter,
        radius=radius,
        packing=Bound(math.log(found.packing)),
        lower=Bound(low * LN2),
        upper=Bound(high * LN2),
        exact=Bound((low + high) / 2 * LN2) if meets else None,
        method=method if names else "packing over all permitted databases",
        reason=None if meets else found.reason or GAP,
        mechanism=None
        if found.channel is None
        else Channel(found.channel, inputs=space.labels, outputs=names, normalise=True),
        certificate=found.proof,
        eps=float(eps),
    )


def _extents(space: Space, eps: float, groups: list[tuple[int, ...]]) -> tuple[Bound, Bound]:
    """Largest diameter bound and radius bound of the groups; a centre may be any database."""
    diameters, radii = [], []
    for group in groups:
        away = space.distances[:, group]
        component = space.component_of[list(group)]
        wide, near = [], []
        for number in np.unique(component):
            part = away[:, component == number]
            near.append(float(part.max(axis=1).min()))
            wide.append(float(part[np.array(group)[component == number]].max()))
        diameters.append(blowfish_bound(wide, eps))
        radii.append(blowfish_bound(near, eps))
    return max(diameters), max(radii)


def worst_with_outputs(target: Target, eps: Fraction, outputs: int) -> WorstLeakage:
    """Mechanisms with at most r outputs: the best choice of r databases whose rows are the maxima.

    The proof has a bound for every choice, up to symmetries of the graph.
    """
    if not is_whole(outputs) or outputs < 1:
        raise PolicyError(f"outputs is {abbreviated(outputs)}; a mechanism has at least one output")
    whole = worst_leakage(target, eps)  # type: ignore[arg-type]
    size = target.size
    if outputs >= size:
        return whole
    bound = min(whole.upper, Bound(math.log(outputs)))
    if isinstance(target, Policy) and target.permitted is None and target.hides_any_two:
        # Alvim et al., Prop 20 (ℓ = floor) and Thm 15.
        bound = min(
            bound,
            limited_outputs_bound(
                records=target.records, values=len(target.values), outputs=outputs, eps=float(eps)
            ),
        )
    if size > LARGEST_SUBSET_SPACE or math.comb(size, outputs) > LARGEST_SUBSETS:
        return replace(
            whole,
            packing=min(whole.packing, bound),
            lower=Bound(0.0),
            upper=bound,
            exact=None,
            method="closed bounds for few outputs",
            reason=(
                f"exact values try {outputs} of {readable(size)} databases, up to {LARGEST_SUBSETS} choices"
            ),
            mechanism=None,
            certificate=None,
        )
    space = explicit_space(target)
    symmetries = _symmetries(space)
    subsets = _different_subsets(space.size, int(outputs), symmetries)
    found = _worst_of_groups(space, eps, subsets, int(outputs), symmetries)
    lower, upper = found.proof.bounds()
    low, high = log2_bounds(lower or Fraction(1), upper)
    meets = high - low <= MEETS
    return replace(
        whole,
        packing=min(whole.packing, Bound(math.log(found.packing))),
        lower=Bound(low * LN2),
        upper=Bound(high * LN2),
        exact=Bound((low + high) / 2 * LN2) if meets else None,
        method=f"program for every choice of {outputs} outputs ({len(subsets)} up to symmetry)",
        reason=None if meets else found.reason or GAP,
        mechanism=None
        if found.channel is None
        else Channel(found.channel, inputs=space.labels, normalise=True),
        certificate=found.proof,
    )


def _symmetries(space: Space) -> tuple[tuple[int, ...], ...]:
    if not space.is_graph:
        return ()
    return tuple(map(tuple, automorphisms(space.graph()).generators.tolist()))


def _different_subsets(
    size: int, count: int, symmetries: tuple[tuple[int, ...], ...]
) -> list[tuple[int, ...]]:
    """Subsets of the points, one of each orbit under the symmetries of the graph."""
    seen: set[tuple[int, ...]] = set()
    different = []
    for subset in combinations(range(size), count):
        if subset not in seen:
            different.append(subset)
            seen.update(images(subset, symmetries))
    return different


# Exact programs solved before the largest bound left has to do.
MOST_SOLVED = 40
# A bound this close below what was reached changes no digit that is printed.
CLOSE = 1e-11


@dataclass(frozen=True, eq=False)
class _WorstGroup:
    """The proof over all groups, the packing bound, and the group and channel that leak most (if known)."""

    proof: GroupsProof
    packing: float
    group: Group | None
    channel: FloatArray | None
    reason: str | None


@dataclass
class _Search:
    """What is known so far about every group."""

    space: Space
    eps: Fraction
    groups: Sequence[Group]
    kernel: FloatArray
    certificates: list[dict[str, Any]] = field(default_factory=list)
    packings: list[float] = field(default_factory=list)
    alone: dict[bytes, FloatArray] = field(default_factory=dict)
    reached: float = 0.0
    best: tuple[Group, dict[str, Any], FloatArray] | None = None
    solved: int = 0
    reason: str | None = None

    def start(self) -> list[tuple[float, int, int]]:
        """Every group's packing bound on itself alone (the distances restricted to it)."""
        waiting = []
        for number, group in enumerate(tracked("bounds of the groups", self.groups)):
            part = self.kernel[np.ix_(group, group)]
            key = part.tobytes()
            if key not in self.alone:
                self.alone[key] = _covering(part, part)
            y = self.alone[key]
            value = float(y.sum() / (part @ y).min())
            self.certificates.append({"type": "packing", "on": list(group), "y": y.tolist()})
            self.packings.append(value)
            waiting.append((-value, 0, number))
        heapq.heapify(waiting)
        return waiting

    def cover(self, number: int) -> float:
        """Packing with weight on the group but every database as a constraint."""
        group = self.groups[number]
        y = _covering(self.kernel[:, group], self.kernel)
        on = np.flatnonzero(y)
        value = float(y.sum() / (self.kernel[group, :] @ y).min())
        if value < self.packings[number]:
            certificate = {"type": "packing", "on": on.tolist(), "y": y[on].tolist()}
            self.certificates[number], self.packings[number] = certificate, value
        return self.packings[number]

    def solve(self, number: int) -> float | None:
        """The exact program; None where it is too large, or the solver fails."""
        group = self.groups[number]
        if self.space.size * len(group) > LARGEST_UNKNOWNS:
            self.reason = f"the exact program would have more than {LARGEST_UNKNOWNS} unknowns"
            return None
        if self.solved >= MOST_SOLVED:
            self.reason = f"the exact program was solved for the {MOST_SOLVED} most promising groups only"
            return None
        self.solved += 1
        try:
            objective = np.eye(self.space.size)[:, list(group)]
            proof, channel = solve_objective(self.space, self.eps, objective)
            lower, upper = proof.bounds()
        except (ArithmeticError, Unsolved) as problem:
            self.reason = str(problem)
            return None
        assert lower is not None and proof.lower is not None
        if float(upper) < self.packings[number]:
            self.certificates[number] = proof.upper
        if float(lower) > self.reached:
            self.reached, self.best = float(lower), (group, proof.lower, channel)
        return min(float(upper), self.packings[number])


def _worst_of_groups(
    space: Space,
    eps: Fraction,
    groups: Sequence[Group],
    outputs: int | None = None,
    symmetries: tuple[tuple[int, ...], ...] = (),
) -> _WorstGroup:
    """The largest Σ_{j∈S} K[j,j] over the groups S; see `GroupsProof` for `outputs` and `symmetries`."""
    search = _Search(space, eps, groups, space.kernel(float(eps)))
    waiting = search.start()
    while waiting:
        advance("programs of the groups", search.solved, MOST_SOLVED)
        bound, stage, number = heapq.heappop(waiting)
        # Stage 2 is the exact value: nothing that waits is larger.
        if stage == 2 or -bound <= search.reached * (1 + CLOSE):
            break
        value = search.cover(number) if stage == 0 else search.solve(number)
        if value is None:
            break
        heapq.heappush(waiting, (-value, stage + 1, number))
    cases = [
        {"points": list(group), "upper": certificate}
        for group, certificate in zip(groups, search.certificates, strict=True)
    ]
    lower = group = channel = None
    if search.best is not None:
        group, table, channel = search.best
        lower = {"points": list(group), "channel": table}
    proof = GroupsProof(space.proof, eps, cases, lower, outputs, symmetries)
    return _WorstGroup(proof, max(search.packings), group, channel, search.reason)


def _covering(columns: FloatArray, kernel: FloatArray) -> FloatArray:
    """y ≥ 0 of least sum that covers the columns: yᵀ·columns ≥ 1; from the dual, one unknown a column."""
    count = columns.shape[1]
    if columns is kernel:
        try:
            weights = np.linalg.solve(columns, np.ones(count))
            if weights.min() >= 0:
                return np.asarray(weights)
        except np.linalg.LinAlgError:
            pass  # a singular kernel: the program below decides
    rows = columns.shape[0]
    program = LinearProgram(
        -np.ones(count),
        csc_array(columns),
        np.full(rows, -np.inf),
        np.ones(rows),
        np.zeros(count),
        np.full(count, np.inf),
    )
    return np.maximum(-solved(program, tolerance=1e-10).dual, 0.0)
