"""Breaches: what one, ten or a thousand answers from the same mechanism give away.

Levels say how much one observation can change a belief, rates what each further one adds in the long run,
and the curves what n observations do exactly. Everything is in bits (and nats): Boreale and Paolini count
in bits.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, Epsilon, epsilon, finite_channel
from sievert.errors import ChannelError, GainError
from sievert.measures import Situations, context_rows
from sievert.measures._record_leakage import _situations
from sievert.numerics import choice, in_bits
from sievert.observations._breach_levels import (
    AverageLevel,
    PredicateBreach,
    WorstLevel,
    average_level,
    predicate_breach,
    worst_level,
)
from sievert.observations._breach_times import (
    BreachCurve,
    Direction,
    Predicate,
    breach_curve,
    predicate_members,
)
from sievert.observations._success import Random, SuccessCurve, success_curve
from sievert.observations._types import observation_counts
from sievert.observations._until import Rates, rates
from sievert.policies import Answers, Policy, policy_or_answers_of
from sievert.results import Result
from sievert.spaces import Metric, align, worded

__all__ = ["Breaches", "IndividualBreach", "breaches", "individual_breach"]

LN2 = math.log(2)


@dataclass(frozen=True, eq=False)
class Breaches(Result):
    """What a mechanism gives away, at once and over many observations.

    Attributes
    ----------
    worst : worst-case level: the largest change of any belief, with predicate, pair, output and prior
    average : average-case level: the largest improvement of any yes-no guess, with predicate and prior
    privacy : the level of privacy for the policy (None: no policy was given)
    individual : the breach about one record under product priors (None: no policy was given)
    predicate : what one observation does to belief in the predicate under the prior
    rates : bits each further observation adds; which inputs are easiest and hardest to tell apart
    success : probability of a right guess for each number of observations
    breach : probability of a breach of the level at n and by n (None: no level was given)
    """

    worst: WorstLevel
    average: AverageLevel
    privacy: Epsilon | None
    individual: IndividualBreach | None
    predicate: PredicateBreach
    rates: Rates
    success: SuccessCurve
    breach: BreachCurve | None

    @property
    def classes(self) -> tuple[tuple[Hashable, ...], ...]:
        """Inputs with equal rows, which no number of observations tells apart."""
        return self.rates.classes

    @property
    def privacy_bits(self) -> float | None:
        """The level of privacy in bits per unit of distance."""
        return None if self.privacy is None else self.privacy.nats / LN2

    @property
    def differs(self) -> bool:
        """Whether belief can change by more than the level of privacy says (Thm 4)."""
        bits = self.privacy_bits
        return bits is not None and self.worst.bits > bits * (1 + 1e-9)

    def __str__(self) -> str:
        last = self.success[-1]
        return (
            f"one observation changes no belief by more than {in_bits(self.worst.bits)} and no yes-no guess "
            f"by more than {in_bits(self.average.bits)} on average; {last}"
        )


def breaches(
    channel: Channel,
    prior: object = None,
    predicate: Predicate | None = None,
    level: float | None = None,
    observations: int | Iterable[int] = 1,
    direction: Direction = "up",
    rng: Random = None,
    *,
    policy_or_metric: Policy | Metric | Answers | None = None,
) -> Breaches:
    """What one or many observations of a mechanism give away about its input.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the inputs (uniform by default); levels and rates do not depend on it
    predicate : what must not be learned: some inputs, a function of the input, or one input; by default
        the single input whose belief can grow most
    level : size of a breach in bits: belief grows by more than a factor of 2^level
    observations : a number N, for curves n = 1…N, or the numbers themselves
    direction : whether a breach is belief growing ("up"), falling ("down") or either
    rng : seed for simulations, if it comes to that
    policy_or_metric : what the level of privacy is measured against: a policy, a metric or a query's answers

    Returns
    -------
    Breaches
        The level in the worst case and on average, the level of privacy, how fast repeated answers tell, the
        success of guesses, and the curve of the breach of this size.

    Notes
    -----
    Cost: O(inputs²·outputs) for the levels and rates; curves are exact while the types of n observations can
    be listed, and bounded or simulated beyond.

    Examples
    --------
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> found = breaches(coin, level=0.5, observations=10)
    >>> round(found.worst.bits, 6), round(found.rates.utility.bits, 6)
    (0.584963, 0.029447)
    >>> print(found.breach)
    a breach of 0.5 bits about 0 has probability 0.3823 at n = 10 and 0.5671 by n = 10 (exact by types)
    """
    finite = finite_channel(channel)
    counts = observation_counts(observations)
    choice("direction", direction, ("up", "down", "either"), GainError)
    members = None if predicate is None else predicate_members(finite, predicate)
    about = predicate_breach(finite, prior, members)
    curve = None
    if level is not None:
        curve = breach_curve(finite, prior, list(about.predicate), level, max(counts), direction, rng)
    records = policy_or_metric if isinstance(policy_or_metric, Policy | Answers) else None
    return Breaches(
        worst=worst_level(finite),
        average=average_level(finite),
        privacy=None if policy_or_metric is None else epsilon(channel, policy_or_metric),
        individual=None if records is None else individual_breach(finite, records),
        predicate=about,
        rates=rates(finite),
        success=success_curve(finite, prior, counts, rng),
        breach=curve,
    )


# ── A breach about one individual: what the release says about whether record i has a value ─────────────────
# Under product priors (the records are independent) belief in "record i is v" changes by at most the ratio
# of two rows that differ in record i alone, and somebody who knows the others comes as close as one likes:
# that is the level of differential privacy (Boreale and Paolini, Thm 5). If records may be correlated,
# belief changes by up to the worst-case level of the whole channel (Thm 3), up to as many times as much as
# there are records (Thm 4).

BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True)
class IndividualBreach(Result):
    """How much belief about one record can change.

    Attributes
    ----------
    bits : under product priors: records independent
    correlated_bits : under any prior
    values : the values of the record that are told apart, the one that gains belief first (None: level 0)
    inputs : the databases (or answers) these values lead to with the others fixed
    output : the output that tells them apart
    """

    bits: float
    correlated_bits: float
    values: tuple[Hashable, Hashable] | None
    inputs: tuple[Hashable, Hashable] | None
    output: Hashable

    @property
    def nats(self) -> float:
        """The level under product priors in nats."""
        return self.bits * LN2

    def prior(self, level: float | None = None) -> dict[Hashable, float]:
        """Belief about the record under which the level is exceeded, the other records being known.

        All other records have the values that lead to `inputs`, with certainty: a product prior.
        """
        return WorstLevel(self.bits, self.values, self.output, ()).prior(level)

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        if self.values is None or self.inputs is None:
            return "no output changes any belief about one record"
        how = (
            "infinitely" if math.isinf(self.bits) else f"by a factor of up to {2 ** min(self.bits, 1000):.4g}"
        )
        more = (
            ""
            if self.correlated_bits <= self.bits * (1 + 1e-9)
            else (f"; if records may be correlated, {in_bits(self.correlated_bits)}")
        )
        return (
            f"belief that one record is {worded(self.values[0])} rather than {worded(self.values[1])} "
            f"changes {how} ({in_bits(self.bits)}) when the others are known and the input is "
            f"{worded(self.inputs[0])} or {worded(self.inputs[1])}{more}"
        )


def individual_breach(channel: Channel, policy: Policy | Answers) -> IndividualBreach:
    """The breach about one individual under product priors, with the situation that attains it.

    Parameters
    ----------
    channel : Channel
        Its inputs are the policy's databases, or the answers of the query.
    policy : Policy, or the Answers of a query over one

    Returns
    -------
    IndividualBreach
        `bits` where records are independent, `correlated_bits` under any prior, and the situation.

    Notes
    -----
    Cost: O(situations·values·outputs).

    Examples
    --------
    >>> from sievert.policies._query import Query
    >>> from sievert.mechanisms._geometric import truncated_geometric
    >>> answers = Query.count(["yes"]).answers(Policy.differential(["yes", "no"], 3))
    >>> found = individual_breach(truncated_geometric(4, alpha="1/2"), answers)
    >>> round(found.bits, 6), round(found.correlated_bits, 6)
    (1.0, 3.0)
    """
    finite = finite_channel(channel)
    given = policy_or_answers_of(policy)
    policy = given.policy if isinstance(given, Answers) else given
    logs = finite.log_matrix
    rows = _rows(finite, given)
    best, where = 0.0, -1
    step = max(1, BLOCK_ENTRIES // (rows.shape[1] * logs.shape[1]))
    for start in range(0, len(rows), step):
        spread = _spread(logs, rows[start : start + step])
        top = float(spread.max())
        if top > best * (1 + 1e-12):
            # The first that is largest up to rounding.
            best, where = top, start + int(np.argmax(spread >= top * (1 - 1e-12)))
    correlated = worst_level(finite).bits
    if where < 0:
        return IndividualBreach(0.0, correlated, None, None, None)
    possible = np.flatnonzero(rows[where] >= 0)
    part = logs[rows[where][possible]]
    with np.errstate(invalid="ignore"):
        gaps = np.where(np.isneginf(part.max(axis=0)), 0.0, part.max(axis=0) - part.min(axis=0))
    output = int(np.argmax(gaps))
    high, low = int(possible[part[:, output].argmax()]), int(possible[part[:, output].argmin()])
    values = policy.values[high], policy.values[low]
    inputs = finite.inputs[int(rows[where][high])], finite.inputs[int(rows[where][low])]
    return IndividualBreach(best / LN2, correlated, values, inputs, finite.outputs[output])


def _rows(channel: Channel, given: Policy | Answers) -> Situations:
    """[situation of the others, value]: the channel's row, -1 where public knowledge rules the value out."""
    if isinstance(given, Answers):
        return context_rows(channel, given)
    if given.records == 1 and not given.constrained:
        order = align(given.values, channel.inputs, "the channel", ChannelError)
        return np.array([order if order is not None else range(channel.shape[0])], dtype=np.intp)
    return _situations(channel, given)


def _spread(logs: FloatArray, rows: Situations) -> FloatArray:
    """For each situation the largest log-ratio of two of its rows over all outputs."""
    chosen = logs[rows]
    missing = (rows < 0)[:, :, None]
    high = np.where(missing, -np.inf, chosen).max(axis=1)
    low = np.where(missing, np.inf, chosen).min(axis=1)
    with np.errstate(invalid="ignore"):
        gaps = np.where(np.isneginf(high), 0.0, high - low)
    return np.asarray(gaps.max(axis=1))
