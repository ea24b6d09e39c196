"""One record when all the others are known: the attacker of differential privacy.

Each situation of the others is a small channel whose rows are what the record's values lead to. Where the
situations can be listed, or do not matter because records are perturbed one by one, the best guess is
exact; otherwise the level of privacy alone bounds it (Alvim et al., Prop 21).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import LARGEST_DENSE, Channel, Epsilon, ProductChannel, epsilon, finite_channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError, PolicyError, PriorError, TooLargeError
from sievert.measures._output_values import float_prior
from sievert.measures._smoothed_prior import smoothed_prior
from sievert.measures._vulnerability import leakage
from sievert.numerics import abbreviated, in_bits, non_negative
from sievert.policies import Answers, Policy, Query, policy_or_answers_of, query_of
from sievert.results import Result
from sievert.spaces import align, metrics

__all__ = ["RecordLeakage", "context_rows", "record_leakage"]

# Up to this many products the best guess is also computed over the rationals.
LARGEST_EXACT = 200_000
BLOCK_ENTRIES = 4_000_000
LARGEST_NAMED = 1000
# [situations, values]: the channel's row for each value of the record, -1 where it is impossible.
Situations = NDArray[np.intp]

LISTED = "exact: every situation of the other records"
SEPARATE = "exact: each record has a channel of its own, so the others say nothing"
BOUND = "bound: Alvim et al., Prop 21"


@dataclass(frozen=True)
class RecordLeakage(Result):
    """Best-guess probability about one record for someone who knows all the others.

    Attributes
    ----------
    before, after : probability of guessing the record's value without and with the release
    bits : log2(after/before)
    answers : the inputs of the channel that the record's values lead to in the worst situation of the others
    method : how it was found
    exact : `after` as a fraction where channel and prior are exact and small
    is_bound : whether `after` and `bits` are only known from above
    """

    before: float
    after: float
    bits: float
    answers: tuple[Hashable, ...]
    method: str = LISTED
    exact: Fraction | None = None
    is_bound: bool = False

    @classmethod
    def at_most(cls, before: float, after: float, bits: float) -> RecordLeakage:
        """What the level of privacy alone allows."""
        return cls(before, after, bits, (), BOUND, is_bound=True)

    def __float__(self) -> float:
        return self.after

    def __str__(self) -> str:
        most = "at most " if self.is_bound else ""
        return (
            f"someone who knows every other record guesses the remaining one with probability "
            f"{self.before:.4g} before and {most}{self.after:.4g} after the release ({in_bits(self.bits)})"
        )


def record_leakage(
    channel: Channel | Epsilon | float,
    policy: Policy | Answers,
    query: Query | None = None,
    prior: object = None,
) -> RecordLeakage:
    """Best guess about one record given the others, at the worst values of the others.

    Parameters
    ----------
    channel : Channel, or its level of privacy
        Its inputs are the query's answers; the policy's databases; or, for a product channel, the values
        of one record. A level (nats) gives the bound that holds for every mechanism of that level.
    policy : Policy or Answers
        Which records there are, or what a query answers about them.
    query : what is computed before the channel, if a policy is given
    prior : probabilities of the record's values (uniform by default)

    Returns
    -------
    RecordLeakage
        The best guess `before` and `after`, in `bits` too, and how it was found.

    Notes
    -----
    Exact for product channels, for answers and for databases that can be listed. Otherwise π_v / Σ_u π_u
    e^(-ε·d(v, u)) at the worst v, which under a uniform prior on v values at distance 1 is e^ε/(v - 1 +
    e^ε). With public knowledge the situation that teaches most is reported.

    Cost: O(situations·values·outputs) where it is exact; otherwise O(values·log values) on complete, line,
    threshold and add/remove policies, O(values²) on others.

    Examples
    --------
    >>> survey = Policy.differential(["yes", "no"], records=1000)
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"])
    >>> found = record_leakage(coin.product(1000), survey)
    >>> found.exact, found.method
    (Fraction(3, 4), 'exact: each record has a channel of its own, so the others say nothing')
    >>> record_leakage(1.35, Policy.differential(3, records=10**6)).bits
    0.982334
    """
    given = policy_or_answers_of(policy)
    policy = given.policy if isinstance(given, Answers) else given
    query = query_of(query)
    if not isinstance(channel, Channel):
        return _bound(_level(channel), policy, prior)
    channel = finite_channel(channel)
    if isinstance(given, Policy) and query is None and not policy.constrained:
        factors = record_channels(channel, policy.records)
        if factors is not None:
            return _separate(factors, policy, prior)
    answers = _answers(given, query)
    if answers is not None:
        if channel.shape[0] * channel.shape[1] > LARGEST_DENSE:
            if policy.records == 1 and not policy.constrained and answers.labels == policy.values:
                return _separate([(channel, 1)], policy, float_prior(prior, policy.values))
            return _bound(epsilon(channel, answers).nats, policy, prior)
        return _worst(channel, as_prior(prior, policy.values), context_rows(channel, answers))
    if query is not None:
        return _bound(_level_by_sensitivity(channel, policy, query), policy, prior)
    return _worst(channel, as_prior(prior, policy.values), _situations(channel, policy))


def _level(eps: object) -> float:
    value = eps.nats if isinstance(eps, Epsilon) else eps
    if not isinstance(value, int | float | np.number):
        raise ChannelError(f"channel is {abbreviated(eps)}; give a channel or its level of privacy (nats)")
    return non_negative("channel", value, ChannelError, infinite=True)


def _answers(given: Policy | Answers, query: Query | None) -> Answers | None:
    """The answers; None where the channel is on databases, or where the answers are too many to list."""
    if isinstance(given, Answers):
        return given
    if query is None and (given.constrained or given.records > 1):
        return None
    try:
        return (Query.record() if query is None else query).answers(given)
    except TooLargeError:
        return None


def _level_by_sensitivity(channel: Channel, policy: Policy, query: Query) -> float:
    """ε per unit of the answer times how much a step of the policy moves the answer (Fernandes, Lem 3.6)."""
    if not query.is_total:
        query.answers(policy)  # raises, and says how many answers there are
    numbers = metrics.line(channel.inputs)  # type: ignore[arg-type]
    steps = query.sensitivity(policy)
    level = epsilon(channel, numbers).nats
    return 0.0 if steps == 0 else level * steps


@singledispatch
def record_channels(channel: Channel, records: int) -> Sequence[tuple[Channel, int]] | None:
    """The channel of each record and how many records it serves; None where records are not separate."""
    return [(channel, 1)] if records == 1 else None


@record_channels.register
def _channels_of_product(channel: ProductChannel, records: int) -> Sequence[tuple[Channel, int]]:
    return channel.factors


def _separate(factors: Sequence[tuple[Channel, int]], policy: Policy, prior: object) -> RecordLeakage:
    """The record's own channel, at the worst record."""
    served = sum(count for _, count in factors)
    if served != policy.records:
        raise PolicyError(f"the policy has {policy.records} records but the product channel serves {served}")
    found = []
    for part, _ in factors:
        order = align(part.inputs, policy.values, "the policy's values", PolicyError)
        own = prior
        if prior is not None and order is not None:
            own = as_prior(prior, policy.values)[order]
        found.append((leakage(part, own), part))
    worst, part = max(found, key=lambda pair: pair[0].posterior)
    named = tuple(part.inputs) if len(part.inputs) <= LARGEST_NAMED else ()
    exact = worst.posterior if isinstance(worst.posterior, Fraction) else None
    return RecordLeakage(float(worst.prior), float(worst.posterior), worst.growth, named, SEPARATE, exact)


def context_rows(channel: Channel, answers: Answers) -> Situations:
    """Distinct situations of the others: the channel row of each value of the record."""
    order = align(answers.labels, channel.inputs, "the channel", ChannelError)
    contexts = answers.contexts
    if order is not None:
        contexts = np.where(contexts >= 0, np.array(order, dtype=np.intp)[contexts], -1)
    return np.unique(contexts, axis=0)


def _situations(channel: Channel, policy: Policy) -> Situations:
    """As `context_rows`, for a channel on the databases; -1 where public knowledge rules a value out."""
    policy.require_enumerable("one record given the others")
    labels = policy.database_labels()
    order = align(labels, channel.inputs, "the channel", ChannelError)
    row_of = np.arange(len(labels)) if order is None else np.array(order)
    place = {value: i for i, value in enumerate(policy.values)}
    databases = np.array([[place[value] for value in database] for database in policy.databases()])
    found = []
    for record in range(policy.records):
        others = np.delete(databases, record, axis=1)
        distinct, situation = np.unique(others, axis=0, return_inverse=True)
        table = np.full((max(1, len(distinct)), len(policy.values)), -1, dtype=np.intp)
        table[situation.ravel(), databases[:, record]] = row_of
        found.append(table)
    return np.unique(np.concatenate(found), axis=0)


def _worst(channel: Channel, belief: NDArray[Any], rows: Situations) -> RecordLeakage:
    """The situation whose best guess grows most."""
    rows = rows[np.where(rows >= 0, np.asarray(belief > 0, dtype=bool), False).any(axis=1)]
    if not len(rows):
        raise PriorError("prior: no database is possible under it; give weight to a permitted value")
    befores, gains = _guesses(channel, belief.astype(np.float64), rows)
    growth = gains / befores
    worst = int(np.lexsort((befores + gains, growth))[-1])
    before = float(befores[worst])
    after = min(1.0, before + float(gains[worst]))
    # Situations that rounding cannot tell apart are compared exactly.
    ties = np.flatnonzero(1 + growth >= (1 + growth[worst]) * (1 - 1e-12))
    exact = _exactly(channel, belief, rows[ties])
    reached = tuple(channel.inputs[i] for i in rows[worst] if i >= 0)
    bits = math.log1p(float(growth[worst])) / math.log(2)
    return RecordLeakage(before, after if exact is None else float(exact), bits, reached, LISTED, exact)


def _guesses(channel: Channel, belief: FloatArray, rows: Situations) -> tuple[FloatArray, FloatArray]:
    """Best guess before the release in each situation, and what the release adds to it; a block at a time.

    What is added is the sum over outputs of what the best value has there over the one best before.
    """
    matrix, relative = channel.rounded(), channel.relative_logs
    befores, gains = np.empty((2, len(rows)))
    step = max(1, BLOCK_ENTRIES // (rows.shape[1] * matrix.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        likely = np.where(part >= 0, belief, 0.0)
        if part.min() < 0:
            likely /= likely.sum(axis=1, keepdims=True)
        befores[start : start + step] = likely.max(axis=1)
        top = likely.argmax(axis=1)[:, None]
        first = np.take_along_axis(part, top, axis=1)
        more = likely - np.take_along_axis(likely, top, axis=1)
        above = more[:, :, None] * matrix[first] + likely[:, :, None] * _differences(
            matrix[part], matrix[first], relative[part], relative[first]
        )
        gains[start : start + step] = above.max(axis=1).sum(axis=1)
    return befores, gains


def _differences(
    matrix: FloatArray, first: FloatArray, logs: FloatArray, first_logs: FloatArray
) -> FloatArray:
    """Entries less those of one row, from the logarithms where they nearly agree."""
    with np.errstate(invalid="ignore"):
        apart = logs - first_logs
    near = np.abs(apart) < 0.5
    return np.where(near, first * np.expm1(np.where(near, apart, 0.0)), matrix - first)


def _exactly(channel: Channel, belief: NDArray[Any], rows: Situations) -> Fraction | None:
    """The largest best guess over some situations as a fraction, where that is quick."""
    if channel.form != "exact" or belief.dtype != object or rows.size * channel.shape[1] > LARGEST_EXACT:
        return None
    entries = channel.exact
    assert entries is not None
    best = Fraction(0)
    for row in rows:
        likely = belief * (row >= 0)
        joint = (likely / likely.sum())[:, None] * entries[row]
        best = max(best, sum(joint.max(axis=0).tolist(), Fraction(0)))
    return best


def _bound(eps: float, policy: Policy, prior: object) -> RecordLeakage:
    """The odds of v against u change by at most e^(ε·d(v, u)), so no output raises the belief in v above
    π_v / Σ_u π_u e^(-ε·d(v, u))."""
    if policy.constrained:
        raise PolicyError(
            "permitted: under public knowledge a level of privacy alone does not bound one record; give the "
            "channel on the databases"
        )
    weights = float_prior(prior, policy.values)
    before = float(weights.max())
    missing, kept = smoothed_prior(policy.secrets, eps, weights)
    possible = weights > 0
    weights, missing, kept = weights[possible], missing[possible], kept[possible]
    # π_v/k_v - max π, without taking the difference of two beliefs: k_v = 1 - m_v.
    gained = max(0.0, float((((weights - before) + before * missing) / kept).max()))
    return RecordLeakage.at_most(before, min(1.0, before + gained), math.log1p(gained / before) / math.log(2))
