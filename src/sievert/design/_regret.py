"""What to use when nothing is known of the prior: the mechanism of least regret.

The regret of a mechanism is how much more than the best for the true prior it loses, at worst. It is linear
in the weights of extreme private columns for every prior, so it is minimised by cutting planes: a program
over the priors found so far proposes a mechanism, and the corners of its cells show where it does worst. The
multipliers of the last program weigh the priors so that no mechanism regrets less on average over them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import AnyArray
from sievert.channels import Channel, target_metric
from sievert.design._existence import existence_by_theorem
from sievert.design._optimal import as_loss
from sievert.design._universal import by_cells, is_universally_optimal
from sievert.design._universal_case import Case, Universality
from sievert.errors import TooLargeError
from sievert.geometry import Optimum, VertexProgram, polytope, vertex_program
from sievert.numerics import advance, fractions_of, whole
from sievert.policies import Answers, Policy
from sievert.programs import ExactProgram, LinearProgram, exact_optimum, solve
from sievert.proofs import LargestGapProof, Proof, RegretProof, UniversalProof
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["MinimaxRegret", "minimax_regret"]

ROUNDS = 200
# In floats, a regret this close to what the priors found so far enforce settles the search.
SETTLED = 1e-9


@dataclass(frozen=True, eq=False)
class MinimaxRegret(Result):
    """The mechanism whose largest regret over all priors is least.

    Attributes
    ----------
    mechanism : outputs are to be used with the best action for the prior that turns out to be true
    regret : how much more than the best for the true prior it loses at most
    lower_bound : no private mechanism has a smaller largest regret; in floats up to rounding
    priors : priors at which that is attained
    exact : whether it was computed in fractions
    certificate : a proof of both sides in fractions, re-checked without a solver; None for floats
    """

    mechanism: Channel
    regret: float | Fraction
    lower_bound: float | Fraction
    priors: tuple[tuple[Any, ...], ...]
    exact: bool
    certificate: Proof | None = field(repr=False)

    def __float__(self) -> float:
        return float(self.regret)

    def __str__(self) -> str:
        value = f"{self.regret} = {float(self.regret):.6g}" if self.exact else f"{float(self.regret):.6g}"
        if self.regret == 0:
            return "this mechanism is best whatever the prior"
        rounded = "" if self.exact else f", up to {max(float(self.regret - self.lower_bound), SETTLED):.0e}"
        return (
            f"whatever the prior, this mechanism loses at most {value} more than the best for that prior; no "
            f"private mechanism does better at worst{rounded}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself."""
        found = super().to_dict()
        found.pop("certificate")
        return found


def minimax_regret(
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    loss: object = None,
    *,
    alpha: object = None,
    effort: int = 2000,
) -> MinimaxRegret:
    """The private mechanism that loses least more than the best one, at the prior that is worst for it.

    Parameters
    ----------
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps; fractions throughout give an exact answer with its proof
    effort : linear programs that each round may take to find the prior that is worst for its mechanism

    Returns
    -------
    MinimaxRegret
        With regret 0 where one mechanism is best whatever the prior.

    Notes
    -----
    Cutting planes: every round solves one program over the extreme private columns, and one for each corner
    of the cells of the mechanism it proposes.

    Cost: a linear program for each corner and round; seconds for 4 inputs. Where no theorem gives the answer,
    more corners than the effort are refused.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(minimax_regret(metrics.discrete(3), alpha="1/2"))  # doctest: +NORMALIZE_WHITESPACE
    whatever the prior, this mechanism loses at most 1/24 = 0.0416667 more than the best for that prior; no
    private mechanism does better at worst
    """
    effort = whole("effort", effort)
    space = target_metric(metric)
    by_theorem = _by_theorem(space, eps, loss, alpha)
    if by_theorem is not None:
        return by_theorem
    wanted = as_loss(loss, space.points)
    shape = polytope(space, eps, alpha=alpha)
    program = vertex_program(shape)
    exact = program.exact and wanted.is_exact
    table: AnyArray = (
        fractions_of(wanted.table.tolist()) if exact else np.asarray(wanted.table, dtype=np.float64)
    )
    if not exact:
        program = vertex_program(polytope(space, shape.level.eps)) if program.exact else program
    one: Any = Fraction(1) if exact else 1.0
    cuts: dict[tuple[Any, ...], _Cut] = {}
    for x in range(space.size):
        unit = [one * int(z == x) for z in range(space.size)]
        _add(cuts, program, np.array(unit, dtype=_kind(exact)), table)
    _add(cuts, program, np.full(space.size, one / space.size, dtype=_kind(exact)), table)
    for turn in range(ROUNDS):
        advance("rounds of cutting planes", turn, ROUNDS)
        master = _master(program, list(cuts.values()), exact)
        mechanism = program.channel(master.weights, space.points)
        level = None if exact else shape.level.eps
        found = _worst(Case(mechanism, space, level, wanted, alpha if exact else None, effort))
        if found.gap <= master.bound + (0 if exact else SETTLED):
            return _settled(mechanism, found, master, cuts, program, table)
        assert found.prior is not None
        before = len(cuts)
        _add(cuts, program, found.prior, table)
        if len(cuts) == before:
            return _settled(mechanism, found, master, cuts, program, table)
    raise TooLargeError(f"the least regret was not settled in {ROUNDS} rounds; give fractions", size=ROUNDS)


def _worst(case: Case) -> Universality:
    """The largest gap of a mechanism over all priors; TooLargeError where that takes more than the effort."""
    found = by_cells(case)
    if found is None:
        raise TooLargeError(
            f"the cells of priors of a mechanism on {case.metric.size} inputs have more than {case.effort} "
            "corners; give fewer inputs or actions, or a larger effort",
            size=case.metric.size,
        )
    return found


def _by_theorem(space: Metric, eps: Any, loss: object, alpha: object) -> MinimaxRegret | None:
    """The mechanism that a theorem calls best whatever the prior, for any number of inputs."""
    exists = existence_by_theorem(space, eps, loss, alpha=alpha)
    if exists is None or exists.mechanism is None:
        return None
    found = is_universally_optimal(exists.mechanism, space, eps, loss, alpha=alpha)
    if not found:
        return None
    return MinimaxRegret(exists.mechanism, found.gap or 0, 0, (), found.exact, found.certificate)


def _kind(exact: bool) -> Any:
    return object if exact else np.float64


@dataclass(frozen=True, eq=False)
class _Cut:
    """A prior: what each extreme column costs there, and the least loss."""

    prior: AnyArray
    costs: AnyArray
    best: Optimum


@dataclass(frozen=True, eq=False)
class _Master:
    """Weights of columns with the least largest regret over some priors, how much each counts, and prices."""

    weights: AnyArray
    bound: Any
    shares: AnyArray
    prices: AnyArray


def _add(cuts: dict[tuple[Any, ...], _Cut], program: VertexProgram, prior: AnyArray, loss: AnyArray) -> None:
    scores = program.columns.dot((loss * prior).T)
    costs = np.array([min(row) for row in scores.tolist()], dtype=program.columns.dtype)
    cuts.setdefault(tuple(prior.tolist()), _Cut(prior, costs, program.optimum(prior, loss)))


def _master(program: VertexProgram, cuts: list[_Cut], exact: bool) -> _Master:
    """min t subject to Σ b·v = 1 and Σ b·c_k + slack_k - t = V_k for every prior k."""
    m, n = program.columns.shape
    k = len(cuts)
    zero: Any = Fraction(0) if exact else 0.0
    matrix = np.full((n + k, m + k + 1), zero, dtype=program.columns.dtype)
    matrix[:n, :m] = program.columns.T
    for i, cut in enumerate(cuts):
        matrix[n + i, :m] = cut.costs
        matrix[n + i, m + i] = zero + 1
        matrix[n + i, -1] = zero - 1
    cost = np.full(m + k + 1, zero, dtype=matrix.dtype)
    cost[-1] = zero + 1
    sides = [zero + 1] * n + [cut.best.value for cut in cuts]
    if exact:
        free: list[Fraction | None] = [None] * (m + k + 1)
        found = exact_optimum(
            ExactProgram(cost, matrix, list(sides), list(sides), [zero] * (m + k + 1), free)
        )
        if found is None:
            raise TooLargeError(
                "the least regret could not be settled in fractions; give eps instead", size=m
            )
        return _Master(found.primal[:m], found.value, -found.dual[n:], found.dual[:n])
    right = np.array(sides)
    program_ = LinearProgram(
        cost, csc_array(matrix), right, right, np.zeros(m + k + 1), np.full(m + k + 1, np.inf)
    )
    solution = solve(program_, "simplex", tolerance=1e-10)
    weights = np.maximum(solution.primal[:m], 0.0)
    return _Master(weights, float(solution.primal[-1]), -solution.dual[n:], solution.dual[:n])


def _settled(
    mechanism: Channel,
    found: Universality,
    master: _Master,
    cuts: dict[tuple[Any, ...], _Cut],
    program: VertexProgram,
    loss: AnyArray,
) -> MinimaxRegret:
    """The mechanism with the priors at which its regret is attained."""
    proof: Proof | None = found.certificate
    if isinstance(proof, LargestGapProof):
        proof = _regret_proof(proof.most, master, list(cuts.values()), program)
    gap: Any = found.gap
    attained = []
    for prior, cut in cuts.items():
        scores = loss.dot(cut.prior[:, None] * mechanism.entries)
        lost = sum(min(column) for column in scores.T.tolist())
        if lost - cut.best.value >= gap - (0 if found.exact else SETTLED):
            attained.append(prior)
    return MinimaxRegret(mechanism, gap, min(master.bound, gap), tuple(attained), found.exact, proof)


def _regret_proof(
    most: UniversalProof, master: _Master, cuts: list[_Cut], program: VertexProgram
) -> RegretProof:
    """The priors that count in the last program, with the best mechanism for each."""
    used = np.flatnonzero(np.asarray(master.shares > 0, dtype=bool)).tolist()
    priors = np.array([cuts[k].prior.tolist() for k in used], dtype=object)
    rivals = tuple(program.channel(cuts[k].best.weights, None).entries for k in used)
    return RegretProof(most, priors, master.shares[used], rivals, master.prices)
