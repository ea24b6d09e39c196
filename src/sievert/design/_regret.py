"""What to use when nothing is known of the prior: the mechanism of least regret.

The regret of a mechanism is how much more than the best for the true prior it loses, at worst. It is linear
in the weights of extreme private columns for every prior, so it is minimised by cutting planes: a program
over the priors found so far proposes a mechanism, and the corners of its cells show where it does worst.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import AnyArray, ObjectArray
from sievert.channels import Channel, target_metric
from sievert.design._optimal import as_loss
from sievert.design._universal import LARGEST_INPUTS, Universality, universal_gap
from sievert.errors import TooLargeError
from sievert.geometry import VertexProgram, polytope
from sievert.numerics import advance, fractions_of, require_size
from sievert.policies import Answers, Policy
from sievert.programs import ExactProgram, LinearProgram, exact_optimum, solve
from sievert.proofs import BetterForPriorProof, Proof, UniversalProof, cell_priors
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
    lower_bound : no private mechanism has a smaller largest regret
    priors : priors at which that is attained
    exact : whether it was computed in fractions
    certificate : a proof that the regret is never larger, in fractions; None for floats
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
        return (
            f"whatever the prior, this mechanism loses at most {value} more than the best for that prior; no "
            "private mechanism does better at worst"
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
) -> MinimaxRegret:
    """The private mechanism that loses least more than the best one, at the prior that is worst for it.

    Parameters
    ----------
    metric : Metric, Policy or Answers, of up to 6 inputs
    eps : ε in nats per unit of distance
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps; fractions throughout give an exact answer

    Returns
    -------
    MinimaxRegret
        With regret 0 where one mechanism is best whatever the prior.

    Notes
    -----
    Cutting planes: every round solves one program over the extreme private columns, and one for each corner
    of the cells of the mechanism it proposes.

    Cost: a linear program for each corner and round; seconds for 4 inputs.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(minimax_regret(metrics.discrete(3), alpha="1/2"))  # doctest: +NORMALIZE_WHITESPACE
    whatever the prior, this mechanism loses at most 1/24 = 0.0416667 more than the best for that prior; no
    private mechanism does better at worst
    """
    space = target_metric(metric)
    require_size(space.size, LARGEST_INPUTS, "the inputs", "take fewer inputs")
    wanted = as_loss(loss, space.points)
    shape = polytope(space, eps, alpha=alpha)
    program = VertexProgram(shape)
    exact = program.exact and wanted.is_exact
    table: AnyArray = (
        fractions_of(wanted.table.tolist()) if exact else np.asarray(wanted.table, dtype=np.float64)
    )
    if not exact:
        program = VertexProgram(polytope(space, shape.level.eps)) if program.exact else program
    one: Any = Fraction(1) if exact else 1.0
    cuts: dict[tuple[Any, ...], tuple[AnyArray, Any]] = {}
    for x in range(space.size):
        _add(
            cuts, program, np.array([one * int(z == x) for z in range(space.size)], dtype=_kind(exact)), table
        )
    _add(cuts, program, np.full(space.size, one / space.size, dtype=_kind(exact)), table)
    for turn in range(ROUNDS):
        advance("rounds of cutting planes", turn, ROUNDS)
        weights, bound = _master(program, list(cuts.values()), exact)
        mechanism = program.channel(weights, space.points)
        found = universal_gap(
            mechanism, space, None if exact else shape.level.eps, wanted, alpha=alpha if exact else None
        )
        gap: Any = found.gap
        if gap <= bound + (0 if exact else SETTLED):
            return _settled(mechanism, found, gap, bound, cuts, program, table, exact)
        assert found.prior is not None
        before = len(cuts)
        _add(cuts, program, found.prior, table)
        if len(cuts) == before:
            return _settled(mechanism, found, gap, bound, cuts, program, table, exact)
    raise TooLargeError(f"the least regret was not settled in {ROUNDS} rounds; give fractions", size=ROUNDS)


def _kind(exact: bool) -> Any:
    return object if exact else np.float64


def _add(
    cuts: dict[tuple[Any, ...], tuple[AnyArray, Any]], program: VertexProgram, prior: AnyArray, loss: AnyArray
) -> None:
    """What each extreme column costs at a prior, and the least loss there."""
    scores = program.columns.dot((loss * prior).T)
    costs = np.array([min(row) for row in scores.tolist()], dtype=program.columns.dtype)
    cuts.setdefault(tuple(prior.tolist()), (costs, program.optimum(prior, loss).value))


def _master(program: VertexProgram, cuts: list[tuple[AnyArray, Any]], exact: bool) -> tuple[AnyArray, Any]:
    """Weights of columns with the least largest regret over some priors: Σ b·c_k + slack_k - t = V_k."""
    m, n = program.columns.shape
    k = len(cuts)
    zero: Any = Fraction(0) if exact else 0.0
    matrix = np.full((n + k, m + k + 1), zero, dtype=program.columns.dtype)
    matrix[:n, :m] = program.columns.T
    for i, (costs, _) in enumerate(cuts):
        matrix[n + i, :m] = costs
        matrix[n + i, m + i] = zero + 1
        matrix[n + i, -1] = zero - 1
    cost = np.full(m + k + 1, zero, dtype=matrix.dtype)
    cost[-1] = zero + 1
    sides = [zero + 1] * n + [value for _, value in cuts]
    if exact:
        free: list[Fraction | None] = [None] * (m + k + 1)
        found = exact_optimum(
            ExactProgram(cost, matrix, list(sides), list(sides), [zero] * (m + k + 1), free)
        )
        if found is None:
            raise TooLargeError(
                "the least regret could not be settled in fractions; give eps instead", size=m
            )
        return found.primal[:m], found.value
    right = np.array(sides)
    program_ = LinearProgram(
        cost, csc_array(matrix), right, right, np.zeros(m + k + 1), np.full(m + k + 1, np.inf)
    )
    solution = solve(program_, "simplex", tolerance=1e-10)
    return np.maximum(solution.primal[:m], 0.0), float(solution.primal[-1])


def _settled(
    mechanism: Channel,
    found: Universality,
    gap: Any,
    bound: Any,
    cuts: dict[tuple[Any, ...], tuple[AnyArray, Any]],
    program: VertexProgram,
    loss: AnyArray,
    exact: bool,
) -> MinimaxRegret:
    """The mechanism with the priors at which its regret is attained."""
    proof: Proof | None = found.certificate if isinstance(found.certificate, UniversalProof) else None
    if exact and proof is None:
        proof = _regret_proof(mechanism, found, program, loss, gap)
    rows = mechanism.entries
    attained = []
    for prior, (_, best) in cuts.items():
        belief = np.array(prior, dtype=_kind(exact))
        lost = sum(min(column) for column in loss.dot(belief[:, None] * rows).T.tolist())
        if lost - best >= gap - (0 if exact else SETTLED):
            attained.append(prior)
    return MinimaxRegret(mechanism, gap, min(bound, gap), tuple(attained), exact, proof)


def _regret_proof(
    mechanism: Channel, found: Universality, program: VertexProgram, loss: ObjectArray, gap: Fraction
) -> Proof | None:
    """Prices at every corner of the mechanism's cells: it never loses more than the gap."""
    worse = found.certificate
    if not isinstance(worse, BetterForPriorProof):
        return None
    corners = np.array([list(c) for c in cell_priors(worse.channel, loss)], dtype=object)
    prices = np.array([program.optimum(prior, loss).prices for prior in corners], dtype=object)
    return UniversalProof(worse.space, worse.alpha, worse.channel, loss, corners, prices, gap)
