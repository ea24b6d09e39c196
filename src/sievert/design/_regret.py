"""What to use when nothing is known of the prior: the mechanism of least regret.

The regret of a mechanism is how much more than the best for the true prior it loses, at worst. It is linear
in the weights of extreme private columns for every prior, so it is minimised by cutting planes: a program
over the priors found so far proposes a mechanism, and the corners of its cells show where it does worst. The
multipliers of the last program weigh the priors so that no mechanism regrets less on average over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import Channel, EpsilonOrAlpha, target_metric
from sievert.design._existence import existence_by_theorem
from sievert.design._optimal import DesignResult, as_loss
from sievert.design._universal import by_cells, is_universally_optimal
from sievert.design._universal_case import Case, Universality
from sievert.errors import MechanismError, MetricError, TooLargeError
from sievert.geometry import Optimum, VertexProgram, polytope, vertex_program, whole_metric
from sievert.measures import GainMatrix
from sievert.mechanisms import privacy
from sievert.numerics import (
    abbreviated,
    advance,
    as_fraction,
    exp_above,
    fractions_of,
    require_size,
    rounded_to,
    whole,
)
from sievert.policies import Answers, Policy
from sievert.programs import ExactProgram, exact_optimum
from sievert.proofs import LargestGapProof, Proof, RegretProof, UniversalProof
from sievert.spaces import Metric

__all__ = ["MinimaxRegret", "minimax_regret", "regret_tolerance"]

ROUNDS = 200
# Of alpha, beyond those that ε itself needs.
BITS = 64
# Steps of the longest distance, each a factor of all fractions; and one over the share of ε that is given up
# so that the fraction for one step is short.
MOST_STEPS, FINER = 120, 500
LARGEST_EPS = 100.0
# Inputs whose permutations are all tried for symmetries.
MOST_PERMUTED = 6


@dataclass(frozen=True, eq=False)
class MinimaxRegret(DesignResult):
    """The mechanism whose largest regret over all priors is least.

    Attributes
    ----------
    mechanism : outputs are to be used with the best action for the prior that turns out to be true
    regret : how much more than the best for the true prior it loses at most
    lower_bound : no private mechanism has a smaller largest regret
    priors : priors at which that is attained
    exact : whether regret and bound are fractions; for a float ε they are those of a fraction just above e^-ε
    method : the theorem, or how it was found
    certificate : a proof of both sides in fractions, re-checked without a solver
    tolerance : to what irrational distances were rounded down; the best for a prior is then the best that is
        private for the rounded ones
    """

    mechanism: Channel
    regret: float | Fraction
    lower_bound: float | Fraction
    priors: tuple[tuple[Any, ...], ...]
    exact: bool
    method: str
    certificate: Proof | None = field(repr=False)
    tolerance: float | None = None

    @property
    def gap(self) -> float:
        """How much smaller the largest regret of another mechanism could be: nothing, up to rounding."""
        return float(self.regret - self.lower_bound)

    def __float__(self) -> float:
        return float(self.regret)

    def __str__(self) -> str:
        value = f"{self.regret} = {float(self.regret):.6g}" if self.exact else f"{float(self.regret):.6g}"
        rounded = ""
        if self.tolerance is not None:
            rounded = f"; among mechanisms for distances rounded down to multiples of {self.tolerance:g}"
        if self.regret == 0:
            return f"this mechanism is best whatever the prior{rounded}"
        return (
            f"whatever the prior, this mechanism loses at most {value} more than the best for that prior; no "
            f"private mechanism does better at worst{rounded}"
        )


def minimax_regret(
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    loss: object = None,
    *,
    alpha: object = None,
    effort: int = 2000,
    tolerance: object = None,
) -> MinimaxRegret:
    """The private mechanism that loses least more than the best one, at the prior that is worst for it.

    Parameters
    ----------
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps; fractions throughout give an exact answer with its proof
    effort : linear programs that each round may take to find the prior that is worst for its mechanism
    tolerance : to what irrational distances (Euclidean ones, say) are rounded down, so that what is private
        for them is private; a share of 1/25 of the shortest one is a good choice

    Returns
    -------
    MinimaxRegret
        With regret 0 where one mechanism is best whatever the prior.

    Notes
    -----
    Cutting planes: every round solves one program over the extreme private columns, and one for each corner
    of the cells of the mechanism it proposes. The prior that is worst comes with its images under the
    symmetries of metric and loss, which are as bad for a mechanism that treats inputs alike.

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
    given_space = target_metric(metric)
    wanted = as_loss(loss, given_space.points)
    level = privacy(eps, alpha)
    space, ratio, given = _exact_space(given_space, level, tolerance)
    given = given and wanted.is_exact
    found = _least(space, ratio, wanted, given, effort)
    if tolerance is None or space is given_space:
        return found
    return replace(found, tolerance=float(as_fraction(tolerance)))


def regret_tolerance(metric: Metric) -> Fraction | None:
    """To what distances are rounded where they are not whole: a share of the shortest, in few steps."""
    lengths = metric.matrix[np.isfinite(metric.matrix) & (metric.matrix > 0)]
    if not len(lengths) or (lengths == np.floor(lengths)).all():
        return None
    step = max(float(lengths.min()) / 25, float(lengths.max()) / (MOST_STEPS / 2))
    return Fraction(f"{step:.1e}")


def _exact_space(space: Metric, level: EpsilonOrAlpha, tolerance: object) -> tuple[Metric, Fraction, bool]:
    """Whole distances, e^-ε for one of them as a fraction, and whether both are what was given."""
    lengths = space.matrix[np.isfinite(space.matrix)]
    polytope(space, tolerance=tolerance)
    if (lengths == np.floor(lengths)).all() or not 0 < level.eps < math.inf:
        return space, _ratio(level), level.alpha is not None
    try:
        rounded, unit = whole_metric(space, tolerance)
    except MetricError as problem:
        if tolerance is not None:
            raise
        broken = float(lengths[lengths != np.floor(lengths)][0])
        raise MetricError(
            f"metric: a distance is {abbreviated(broken)}; the least regret is found in fractions, give "
            f"tolerance "
            f"to round distances down, such as {float(regret_tolerance(space) or 0):g}"
        ) from problem
    steps = float(rounded.matrix[np.isfinite(rounded.matrix)].max())
    require_size(steps, MOST_STEPS, "the steps of the longest distance", "give a coarser tolerance")
    above = _ratio(EpsilonOrAlpha(level.eps * float(unit), None))
    return rounded, _simplest(above, above + (1 - above) / FINER), False


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator strictly between two, by their continued fractions."""
    whole_part = math.floor(low)
    if whole_part + 1 < high:
        return Fraction(whole_part + 1)
    if low == whole_part:
        return whole_part + Fraction(1, math.floor(1 / (high - whole_part)) + 1)
    return whole_part + 1 / _simplest(1 / (high - whole_part), 1 / (low - whole_part))


def _least(space: Metric, ratio: Fraction, wanted: GainMatrix, given: bool, effort: int) -> MinimaxRegret:
    """By a theorem, or by cutting planes."""
    table: AnyArray = fractions_of([[Fraction(value) for value in row] for row in wanted.table.tolist()])
    by_theorem = _by_theorem(space, ratio, table, given)
    if by_theorem is not None:
        return by_theorem
    program = vertex_program(polytope(space, alpha=ratio))
    n = space.size
    images = _symmetries(space, table)
    cuts: dict[tuple[Any, ...], _Cut] = {}
    for x in range(n):
        _add(cuts, program, np.array([Fraction(int(z == x)) for z in range(n)], dtype=object), table)
    _add(cuts, program, np.full(n, Fraction(1, n), dtype=object), table)
    for turn in range(ROUNDS):
        advance("rounds of cutting planes", turn, ROUNDS)
        master = _master(program, list(cuts.values()))
        mechanism = program.channel(master.weights, space.points)
        found = _worst(Case(mechanism, space, None, table.tolist(), ratio, effort), master.bound)
        assert isinstance(found.gap, Fraction)
        if found.gap <= master.bound:
            return _settled(mechanism, found, master, cuts, program, given)
        assert found.prior is not None
        for image in images:
            _add(cuts, program, found.prior[image], table)
    raise TooLargeError(
        f"the least regret was not settled in {ROUNDS} rounds; give fewer inputs or actions", size=ROUNDS
    )


def _symmetries(space: Metric, loss: AnyArray) -> list[list[int]]:
    """Permutations of few inputs that keep distances, and the loss up to names of actions; identity first."""
    if space.size > MOST_PERMUTED:
        return [list(range(space.size))]
    rows = sorted(loss.tolist())
    return [
        list(image)
        for image in permutations(range(space.size))
        if (space.matrix[np.ix_(image, image)] == space.matrix).all()
        and sorted(loss[:, image].tolist()) == rows
    ]


def _ratio(level: EpsilonOrAlpha) -> Fraction:
    """alpha as it is given, or a fraction just above e^-ε: what is private for it is private for ε."""
    if level.alpha is not None:
        return level.alpha
    if level.eps in (0.0, math.inf):
        return Fraction(int(level.eps == 0))
    if level.eps > LARGEST_EPS:
        raise MechanismError(
            f"eps is {abbreviated(level.eps)}; beyond {LARGEST_EPS:g} all regrets are below 1e-40, "
            f"design for any "
            "prior"
        )
    above = exp_above(-Fraction(level.eps))
    # So many bits that 1 - alpha keeps its digits for small ε, and alpha for large.
    scale = 1 << (BITS + math.ceil(abs(math.log2(level.eps))) + math.ceil(2 * level.eps))
    return min(Fraction(math.ceil(above * scale), scale), Fraction(1))


def _worst(case: Case, bound: Fraction) -> Universality:
    """A gap above a bound, or the largest one; TooLargeError where that takes more than the effort."""
    found = by_cells(case, bound)
    if found is None:
        raise TooLargeError(
            f"the cells of priors of a mechanism on {case.metric.size} inputs have more than {case.effort} "
            "corners; give fewer inputs or actions, or a larger effort",
            size=case.metric.size,
        )
    return found


def _by_theorem(space: Metric, alpha: Fraction, table: AnyArray, given: bool) -> MinimaxRegret | None:
    """The mechanism that a theorem calls best whatever the prior, for any number of inputs."""
    exists = existence_by_theorem(space, None, table.tolist(), alpha=alpha)
    if exists is None or exists.mechanism is None:
        return None
    found = is_universally_optimal(exists.mechanism, space, None, table.tolist(), alpha=alpha)
    if not found:
        return None
    none: Any = Fraction(0) if given else 0.0
    return MinimaxRegret(exists.mechanism, none, none, (), given, exists.theorem, found.certificate)


@dataclass(frozen=True, eq=False)
class _Cut:
    """A prior: what each extreme column costs there, and the least loss."""

    loss: AnyArray
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
    key = tuple(prior.tolist())
    if key in cuts:
        return
    scores = program.columns.dot((loss * prior).T)
    costs = np.array([min(row) for row in scores.tolist()], dtype=program.columns.dtype)
    cuts[key] = _Cut(loss, prior, costs, program.optimum(prior, loss))


def _master(program: VertexProgram, cuts: list[_Cut]) -> _Master:
    """min t subject to Σ b·v = 1 and Σ b·c_k + slack_k - t = V_k for every prior k."""
    m, n = program.columns.shape
    k = len(cuts)
    matrix = np.full((n + k, m + k + 1), Fraction(0), dtype=object)
    matrix[:n, :m] = program.columns.T
    for i, cut in enumerate(cuts):
        matrix[n + i, :m] = cut.costs
        matrix[n + i, m + i], matrix[n + i, -1] = Fraction(1), Fraction(-1)
    cost = np.full(m + k + 1, Fraction(0), dtype=object)
    cost[-1] = Fraction(1)
    sides: list[Fraction | None] = [*[Fraction(1)] * n, *(cut.best.value for cut in cuts)]
    free: list[Fraction | None] = [None] * (m + k + 1)
    found = exact_optimum(ExactProgram(cost, matrix, sides, sides, [Fraction(0)] * (m + k + 1), free))
    if found is None:
        raise TooLargeError(
            "the least regret could not be settled in fractions; give a larger ε, or fewer inputs", size=m
        )
    return _Master(found.primal[:m], found.value, -found.dual[n:], found.dual[:n])


def _settled(
    mechanism: Channel,
    found: Universality,
    master: _Master,
    cuts: dict[tuple[Any, ...], _Cut],
    program: VertexProgram,
    given: bool,
) -> MinimaxRegret:
    """The mechanism with the priors at which its regret is attained."""
    proof: Proof | None = found.certificate
    if isinstance(proof, LargestGapProof):
        proof = _regret_proof(proof.most, master, list(cuts.values()), program)
    assert isinstance(found.gap, Fraction)
    attained = tuple(prior for prior, cut in cuts.items() if _regret_at(mechanism, cut) == found.gap)
    words = f"cutting planes over {len(cuts)} priors"
    if given:
        return MinimaxRegret(mechanism, found.gap, master.bound, attained, True, words, proof)
    regret, bound = rounded_to(found.gap, down=False), rounded_to(master.bound, down=True)
    priors = tuple(tuple(map(float, prior)) for prior in attained)
    return MinimaxRegret(mechanism, regret, bound, priors, False, words, proof)


def _regret_at(mechanism: Channel, cut: _Cut) -> Fraction:
    scores = cut.loss.dot(cut.prior[:, None] * mechanism.entries)
    return Fraction(sum(min(column) for column in scores.T.tolist()) - cut.best.value)


def _regret_proof(
    most: UniversalProof, master: _Master, cuts: list[_Cut], program: VertexProgram
) -> RegretProof:
    """The priors that count in the last program, with the best mechanism for each."""
    used = np.flatnonzero(np.asarray(master.shares > 0, dtype=bool)).tolist()
    priors = np.array([cuts[k].prior.tolist() for k in used], dtype=object)
    rivals = tuple(program.channel(cuts[k].best.weights, None).entries for k in used)
    return RegretProof(most, priors, master.shares[used], rivals, master.prices)
