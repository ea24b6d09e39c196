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

from sievert.channels.channel import Channel, finite_channel
from sievert.channels.privacy import Epsilon, epsilon
from sievert.errors import ChannelError
from sievert.leakage.breach_levels import (
    AverageLevel,
    PredicateBreach,
    WorstLevel,
    average_level,
    predicate_breach,
    worst_level,
)
from sievert.leakage.breach_times import BreachCurve, Direction, Predicate, breach_curve, predicate_members
from sievert.leakage.individuals import IndividualBreach, individual_breach
from sievert.leakage.rates import Rates, rates
from sievert.leakage.success import Random, SuccessCurve, success_curve
from sievert.results import Result, in_bits
from sievert.spaces.labels import whole_number
from sievert.spaces.metric import Metric
from sievert.spaces.policy import Policy
from sievert.spaces.query import Answers

__all__ = ["Breaches", "breaches"]

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
    policy: Metric | Policy | Answers | None = None,
    direction: Direction = "up",
    rng: Random = None,
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
    policy : what the level of privacy is measured against: a metric, a policy or a query's answers
    direction : whether a breach is belief growing ("up"), falling ("down") or either
    rng : seed for simulations, if it comes to that

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
    counts = _counts(observations)
    members = None if predicate is None else predicate_members(finite, predicate)
    about = predicate_breach(finite, prior, members)
    curve = None
    if level is not None:
        curve = breach_curve(finite, prior, list(about.predicate), level, max(counts), direction, rng)
    records = policy if isinstance(policy, Policy | Answers) else None
    return Breaches(
        worst=worst_level(finite),
        average=average_level(finite),
        privacy=None if policy is None else epsilon(channel, policy),
        individual=None if records is None else individual_breach(finite, records),
        predicate=about,
        rates=rates(finite),
        success=success_curve(finite, prior, counts, rng),
        breach=curve,
    )


def _counts(observations: int | Iterable[int]) -> list[int]:
    if isinstance(observations, Iterable):
        counts = sorted({whole_number("observations", n, ChannelError) for n in observations})
        if not counts:
            raise ChannelError("observations is empty; give at least one number, such as range(1, 101)")
        return counts
    if isinstance(observations, np.integer):
        observations = int(observations)
    return list(range(1, whole_number("observations", observations, ChannelError) + 1))
