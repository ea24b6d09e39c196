"""The best private mechanism for a use: least expected loss, private to the last bit, proved optimal."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel, EpsilonOrAlpha, target_metric
from sievert.channels.priors import as_prior
from sievert.design._exact import solve_exactly
from sievert.design._fine import Fine, solve_finely
from sievert.design._problem import Problem
from sievert.design._solve import ROUNDING, as_probabilities, solve_problem
from sievert.errors import GainError, MechanismError, TooLargeError
from sievert.estimation import identifiability
from sievert.measures import GainMatrix, table_adversary
from sievert.mechanisms import privacy
from sievert.numerics import abbreviated, at_most, choice, finite, on_device, read_eps
from sievert.policies import Answers, Policy, Query
from sievert.proofs import Decay, OptimalDesignProof, Proof, costs
from sievert.results import Result
from sievert.spaces import Labels, Metric

__all__ = [
    "LARGEST_ENTRIES",
    "LARGEST_EPS",
    "DesignResult",
    "OptimalMechanism",
    "as_loss",
    "decay_of",
    "optimal_mechanism",
    "require_few_entries",
]


# ── What every designed mechanism shows: its sentence above its matrix, and plain data without the proof ────


class DesignResult(Result, ABC):
    """A result with a mechanism, a gap and a certificate."""

    mechanism: Channel

    @cached_property
    def warning(self) -> str | None:
        """What the mechanism cannot be used for: None where frequencies can be estimated from its outputs.

        The best mechanism for one use may never give some outputs, or treat inputs alike; then no number of
        its reports determines how frequent each input is.
        """
        found = identifiability(self.mechanism)
        if found.complete:
            return None
        return f"frequencies cannot be estimated from this mechanism: {found}"

    @property
    @abstractmethod
    def gap(self) -> float:
        """How far from optimal the mechanism can be."""

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{self.mechanism._repr_html_()}"

    def _warned(self, sentence: str) -> str:
        """A sentence about the design, with its warning."""
        return sentence if self.warning is None else f"{sentence}; {self.warning}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself."""
        found = super().to_dict()
        found.pop("certificate")
        return {**found, "gap": self.gap, "warning": self.warning}


# Times any distance it is still a float.
LARGEST_EPS = 1e150
Method = Literal["auto", "closed", "program", "interior", "spanner", "exact"]
# Below this a loss is designed in its own unit: powers of 2 are exact, but for numbers near the least float.
SMALLEST_LOSS = 1e-200
# Shares of a loss that are told as percents.
SHOWN = 1e-6
# Entries of a channel that are designed one by one.
LARGEST_ENTRIES = 4_000_000


@dataclass(frozen=True)
class OptimalMechanism(DesignResult):
    """A private mechanism, what it loses, and what any private mechanism loses at least.

    Attributes
    ----------
    mechanism : channel from the inputs to the actions of the loss; rows sum to exactly 1 and every ratio is
        allowed, not within a tolerance but exactly
    loss : expected loss, rounded up (exact where the mechanism is exact)
    lower_bound : no private mechanism loses less; proved
    without_release : loss of the best answer that does not look at the data
    eps : ε in nats
    method : how it was found, and the theorem where there is one
    certificate : the proof; saves to JSON, `sievert verify` re-checks it without a solver
    interrupted : whether the search was ended by hand, and this is the best that it had found
    """

    mechanism: Channel
    loss: float | Fraction
    lower_bound: float | Fraction
    without_release: float
    eps: float
    method: str
    certificate: Proof = field(repr=False)
    interrupted: bool = False

    @property
    def gap(self) -> float:
        """How far from optimal the mechanism can be."""
        return float(self.loss - self.lower_bound)

    @property
    def nearness(self) -> str:
        """How far from optimal it can be, in words: as a share of the best loss where that shows."""
        if self.gap == 0:
            return "exactly optimal"
        share = self.gap / float(self.lower_bound) if self.lower_bound > 0 else math.inf
        apart = f"{self.gap:{'.1e' if self.gap < 0.001 else '.2g'}}"
        far = f"{at_most(100 * share, 2)}%" if SHOWN < share < 1 else apart
        return f"within {far} of the best possible"

    def __float__(self) -> float:
        return float(self.loss)

    def __str__(self) -> str:
        value = f"{self.loss} = {float(self.loss):.6g}" if _is_ratio(self.loss) else f"{float(self.loss):.6g}"
        return self._warned(
            f"loses {value} on average ({self.without_release:.6g} without any release), {self.nearness} for "
            f"ε = {self.eps:.6g}; {self.method}"
        )


def _is_ratio(value: float | Fraction) -> bool:
    return isinstance(value, Fraction) and value.denominator > 1


def optimal_mechanism(
    policy_or_metric: Policy | Metric | Answers,
    eps: float | None = None,
    prior: object = None,
    loss: object = None,
    *,
    alpha: object = None,
    query: Query | None = None,
    method: Method = "auto",
    gap: float = 1e-9,
    stretch: float = 1.05,
    device: str | None = None,
) -> OptimalMechanism:
    """The ε-private mechanism of least expected loss, with a proof of how far from optimal it can be.

    Parameters
    ----------
    policy_or_metric : Policy, Metric or Answers
        What must be hidden. With a `query`, noise for its answers: the policy is carried over to them.
    eps : float
        In nats per unit of distance; or `alpha` = e^-eps. A rational alpha with whole distances, a rational
        prior and a rational loss gives an exact mechanism where the problem is small.
    prior : what is known about the inputs; uniform by default
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps
    query : what is computed first
    method : "auto"; "closed" forms only; "program" for the linear program only; "interior" for an interior
        point over columns, which solves hundreds of places to a gap of about 1e-4; "spanner" for fewer
        constraints at a measured price; "exact" to insist on fractions
    gap : share of the loss that the certificate may leave open, above 0 and at most 1; where a problem has
        more than a few hundred probabilities, a 10⁻⁹ of the largest loss is always near enough
    stretch : with method="spanner", the dilation aimed at
    device : where the interior point factors its matrices, such as "cuda" (extra `gpu`); the processor by
        default

    Returns
    -------
    OptimalMechanism

    Notes
    -----
    Closed forms where a theorem applies: lines with single-crossing losses, trees and vertex-transitive
    spaces with Bayes risk, two inputs, discrete metrics with Bayes risk or two actions. Otherwise the linear
    program on the pairs that no third point lies between, folded by symmetry, with constraints as needed; or,
    beyond 60 inputs without symmetry and where `gap` is at least 1e-4, an interior point over columns.
    An interrupt ends the interior point with the best certified mechanism found, and `method` says so.

    Cost: O(n²) for the closed forms; the program has a variable for each input and action, and a constraint
    for each pair of neighbours and action; a step of the interior point has b·n² operations for each action,
    where constraints reach over b of the n inputs in a suitable order.

    References
    ----------
    Alvim et al., Def 25 and Prop 26.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from sievert.spaces import metrics
    >>> best = optimal_mechanism(metrics.line(3), alpha="1/2", loss=losses.absolute(3))
    >>> best.loss, best.gap, best.mechanism.exact[0].tolist()
    (Fraction(5, 9), 0.0, [Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)])
    >>> print(optimal_mechanism(metrics.grid(3, 3), 1.0).certificate.verify().holds)
    True
    """
    metric = target_metric(policy_or_metric, query)
    belief = as_prior(prior, metric.points)
    wanted = as_loss(loss, metric.points)
    level = privacy(eps, alpha)
    if LARGEST_EPS < level.eps < math.inf:
        raise MechanismError(f"eps is {abbreviated(eps)}; give at most {LARGEST_EPS:g}, or inf for no noise")
    choice("method", method, get_args(Method), MechanismError)
    share = finite("gap", gap, MechanismError)
    if not 0 < share <= 1:
        raise MechanismError(
            f"gap is {abbreviated(gap)}; it must be above 0 and at most 1: the share of the loss that "
            f"may stay open"
        )
    stretch = finite("stretch", stretch, MechanismError)
    if stretch < 1:
        raise MechanismError(f"stretch is {abbreviated(stretch)}; it must be a number ≥ 1")
    require_few_entries(metric, wanted)
    decay = decay_of(level, metric)
    with on_device(device):
        return _designed(metric, decay, belief, wanted, level, method, share, stretch)


def _designed(
    metric: Metric,
    decay: Decay,
    belief: NDArray[Any],
    wanted: GainMatrix,
    level: EpsilonOrAlpha,
    method: str,
    gap: float,
    stretch: float,
) -> OptimalMechanism:
    """In fractions where everything is rational and small, else certified."""
    if method == "exact" or (method == "auto" and level.alpha is not None):
        found = _exact(metric, decay, belief, wanted, level, insist=method == "exact")
        if found is not None:
            return found
    return _certified(metric, decay, belief, wanted, level, method, gap, stretch)


def require_few_entries(metric: Metric, wanted: GainMatrix) -> None:
    """Refuse channels that are too large to be designed."""
    entries = metric.size * len(wanted.actions)
    if entries > LARGEST_ENTRIES:
        raise TooLargeError(
            f"{metric.size} inputs and {len(wanted.actions)} actions make {entries} probabilities; at most "
            f"{LARGEST_ENTRIES} are designed",
            size=entries,
        )


def _certified(
    metric: Metric,
    decay: Decay,
    belief: NDArray[Any],
    wanted: GainMatrix,
    level: EpsilonOrAlpha,
    method: str,
    gap: float,
    stretch: float,
) -> OptimalMechanism:
    """Floats that are multiples of 2^-53, with a certificate in ball arithmetic; finer where those miss.

    A small problem whose loss is so little that rounding alone leaves a larger share of it open than was
    asked for is settled in parts of 2^-bits.
    """
    cost = costs(belief, wanted.table)
    table = np.asarray(wanted.table, dtype=np.float64)
    unit = _unit(table)
    problem = Problem.of(metric, decay, cost / unit, table / unit, gap)
    solved = solve_problem(problem, method, gap, stretch).scaled(unit)
    before = float(cost.sum(axis=0).min())
    open_ = solved.upper - solved.lower
    # Settled but for what rounding leaves open, which is a larger share of a tiny loss than was asked for.
    rounded = gap * abs(solved.upper) < open_ <= ROUNDING * max(1.0, float(np.abs(table).max()))
    if rounded and method in ("auto", "closed"):
        fine = solve_finely(problem, belief, wanted.table, gap, method)
        if fine is not None:
            return _in_fine_parts(fine, problem, belief, wanted, level, metric, before)
    proof = OptimalDesignProof(
        problem.space,
        decay,
        belief,
        wanted.table,
        solved.counts,
        solved.multipliers,
        solved.uniform,
        solved.lower,
        solved.upper,
        tuple(metric.points),
    )
    channel = Channel.trusted(as_probabilities(solved.counts), "float", metric.points, wanted.actions)
    return OptimalMechanism(
        channel,
        solved.upper,
        solved.lower,
        before,
        level.eps,
        "; ".join(solved.methods),
        proof,
        solved.interrupted,
    )


def _in_fine_parts(
    fine: Fine,
    problem: Problem,
    belief: NDArray[Any],
    wanted: GainMatrix,
    level: EpsilonOrAlpha,
    metric: Metric,
    before: float,
) -> OptimalMechanism:
    points = metric.points
    proof = OptimalDesignProof(
        problem.space,
        problem.decay,
        belief,
        wanted.table,
        fine.found.counts,
        fine.multipliers,
        (),
        fine.lower,
        fine.upper,
        tuple(points),
        fine.found.bits,
    )
    channel = Channel.trusted(fine.channel, "exact", points, wanted.actions)
    return OptimalMechanism(
        channel, fine.upper, fine.lower, before, level.eps, fine.method, proof, interrupted=False
    )


def _unit(loss: NDArray[np.float64]) -> float:
    """A power of 2 near the largest loss where that is below 1: the solver's tolerances are absolute."""
    largest = float(np.abs(loss).max())
    return math.ldexp(1.0, math.frexp(largest)[1]) if SMALLEST_LOSS < largest < 0.5 else 1.0


def _exact(
    metric: Metric,
    decay: Decay,
    belief: NDArray[Any],
    wanted: GainMatrix,
    level: EpsilonOrAlpha,
    insist: bool,
) -> OptimalMechanism | None:
    """Fractions throughout, where everything given is rational and the problem is small."""
    rational = decay.alpha is not None and belief.dtype == object and wanted.is_exact
    if not rational:
        if insist:
            raise MechanismError(
                'method is "exact" but not everything is rational: give alpha as a fraction, whole '
                "distances, and prior and loss as fractions or whole numbers"
            )
        return None
    found = solve_exactly(metric, decay, belief, wanted.table)
    if found is None:
        if insist:
            raise MechanismError(
                'method is "exact" but the problem is too large for fractions, or the solver\'s basis is not '
                'exactly optimal; use method="auto", whose gap is proved'
            )
        return None
    channel = Channel.trusted(found.channel, "exact", metric.points, wanted.actions)
    before = min(
        sum((p * Fraction(v) for p, v in zip(belief, row, strict=True)), Fraction(0))
        for row in wanted.table.tolist()
    )
    return OptimalMechanism(
        channel, found.value, found.value, float(before), level.eps, found.method, found.proof
    )


def decay_of(level: EpsilonOrAlpha, metric: Metric) -> Decay:
    """How probabilities may shrink: an exact alpha over whole distances, else an exact ε.

    Over other distances alpha is read as the float just below -ln alpha.
    """
    if level.alpha is not None and (level.alpha in (0, 1) or _whole(metric)):
        return Decay(alpha=level.alpha)
    eps = level.eps if level.alpha is None else float(np.nextafter(level.eps, 0.0))
    return Decay(eps=read_eps(eps))


def _whole(metric: Metric) -> bool:
    lengths = metric.matrix if metric.edges is None else metric.edges.lengths
    finite = lengths[np.isfinite(lengths)]
    return bool((finite == np.floor(finite)).all()) and (not finite.size or float(finite.max()) < 10_000)


def as_loss(loss: object, inputs: Labels) -> GainMatrix:
    """A loss with a matrix, on the given inputs; Bayes risk by default."""
    if loss is None:
        from sievert.measures.losses import bayes_risk

        return bayes_risk(inputs)
    found = table_adversary(loss, "loss", is_loss=True).for_secrets(inputs)
    if not math.isfinite(float(np.abs(np.asarray(found.table, dtype=np.float64)).max())):
        raise GainError("loss has an entry that is too large for a float")
    return found
