"""A breach about one individual: what the release says about whether record i has a value.

Under product priors (the records are independent) belief in "record i is v" changes by at most the ratio of
two rows that differ in record i alone, and somebody who knows the others comes as close as one likes: that
is the level of differential privacy (Boreale and Paolini, Thm 5). If records may be correlated, belief
changes by up to the worst-case level of the whole channel (Thm 3), up to as many times as much as there are
records (Thm 4).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, finite_channel
from sievert.errors import ChannelError
from sievert.leakage.breach_levels import WorstLevel, worst_level
from sievert.leakage.records import Situations, _situations, context_rows
from sievert.results import Result, in_bits
from sievert.spaces.arguments import policy_or_answers_of
from sievert.spaces.labels import align
from sievert.spaces.policy import Policy
from sievert.spaces.query import Answers

__all__ = ["IndividualBreach", "individual_breach"]

FloatArray = NDArray[np.float64]

BLOCK_ENTRIES = 4_000_000
LN2 = math.log(2)


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
            f"belief that one record is {self.values[0]!r} rather than {self.values[1]!r} changes {how} "
            f"({in_bits(self.bits)}) when the others are known and the input is {self.inputs[0]!r} or "
            f"{self.inputs[1]!r}{more}"
        )


def individual_breach(channel: Channel, policy_or_answers: Policy | Answers) -> IndividualBreach:
    """The breach about one individual under product priors, with the situation that attains it.

    >>> from sievert.spaces.query import Query
    >>> from sievert.mechanisms import truncated_geometric
    >>> answers = Query.count(["yes"]).answers(Policy.differential(["yes", "no"], 3))
    >>> found = individual_breach(truncated_geometric(4, alpha="1/2"), answers)
    >>> round(found.bits, 6), round(found.correlated_bits, 6)
    (1.0, 3.0)
    """
    finite = finite_channel(channel)
    policy_or_answers_of(policy_or_answers)
    policy = policy_or_answers.policy if isinstance(policy_or_answers, Answers) else policy_or_answers
    logs = finite.log_matrix
    rows = _rows(finite, policy_or_answers)
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
