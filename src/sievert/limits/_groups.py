"""The worst of several groups of databases, each bounded only as well as it has to be.

A group's bound is refined three times: packing on the group alone (a few unknowns), packing with every
database as a constraint, the exact program. The group with the largest bound is refined next; when it is
solved exactly, no other group can exceed it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import FloatArray
from sievert.limits._objectives import LARGEST_UNKNOWNS, solve_objective
from sievert.limits._space import Space
from sievert.programs import LinearProgram, Unsolved, solved
from sievert.proofs import GroupsProof

__all__ = ["WorstGroup", "worst_of_groups"]
Group = tuple[int, ...]
# Exact programs solved before the largest bound left has to do.
MOST_SOLVED = 40
# A bound this close below what was reached changes no digit that is printed.
CLOSE = 1e-11


@dataclass(frozen=True, eq=False)
class WorstGroup:
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
        for number, group in enumerate(self.groups):
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


def worst_of_groups(
    space: Space,
    eps: Fraction,
    groups: Sequence[Group],
    outputs: int | None = None,
    symmetries: tuple[tuple[int, ...], ...] = (),
) -> WorstGroup:
    """The largest Σ_{j∈S} K[j,j] over the groups S; see `GroupsProof` for `outputs` and `symmetries`."""
    search = _Search(space, eps, groups, space.kernel(float(eps)))
    waiting = search.start()
    while waiting:
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
    return WorstGroup(proof, max(search.packings), group, channel, search.reason)


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
