"""One record when all the others are known: the attacker of differential privacy."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.results import Result
from sievert.spaces.labels import align
from sievert.spaces.query import Answers

__all__ = ["RecordLeakage", "record_leakage", "repeated_guess_bound"]


@dataclass(frozen=True)
class RecordLeakage(Result):
    """Best-guess probability about one record for someone who knows all the others.

    Attributes
    ----------
    before, after : probability of guessing the record's value without and with the release
    bits : log2(after/before)
    answers : the answers that the record's values lead to in the worst situation of the others
    """

    before: float
    after: float
    bits: float
    answers: tuple[Hashable, ...]

    def __float__(self) -> float:
        return self.after

    def __str__(self) -> str:
        return (
            f"someone who knows every other record guesses the remaining one with probability "
            f"{self.before:.4g} before and {self.after:.4g} after the release ({self.bits:.4g} bits)"
        )


def record_leakage(channel: Channel, answers: Answers, prior: object = None) -> RecordLeakage:
    """Exact best guess about one record given the others, at the worst values of the others.

    The others fix the answer up to the record's own contribution, so each situation of the others is a
    small channel whose rows are the answers the record can lead to. O(situations · values · outputs).
    """
    channel = channel.finite()
    belief = as_prior(prior, len(answers.policy.values)).astype(np.float64)
    rows = _rows(channel, answers)
    matrix = channel.rounded()
    before = float(belief.max())
    after, worst = -1.0, 0
    for context, row in enumerate(rows):
        guess = float((belief[:, None] * matrix[row]).max(axis=0).sum())
        if guess > after:
            after, worst = guess, context
    after = min(1.0, max(before, after))
    reached = tuple(channel.inputs[i] for i in rows[worst])
    return RecordLeakage(before, after, math.log2(after / before), reached)


def repeated_guess_bound(
    channel: Channel, answers: Answers, observations: int, prior: object = None
) -> float:
    """Upper bound on the best guess about one record after independent releases from the same data.

    The posterior odds of v against u change by at most exp(k·d_C(v, u)), so no output raises the belief
    in v above π_v / Σ_u π_u e^(-k·d_C(v, u)); and each release multiplies the best guess by at most the
    capacity of the record's rows.
    """
    channel = channel.finite()
    belief = as_prior(prior, len(answers.policy.values)).astype(np.float64)
    logs, matrix = channel.log_matrix, channel.rounded()
    worst = 0.0
    for row in _rows(channel, answers):
        distances = _row_distances(logs[row])
        possible = belief > 0
        spread = np.exp(-observations * distances[possible]) @ belief
        reach = float((belief[possible] / spread).max())
        growth = observations * math.log(matrix[row].max(axis=0).sum()) + math.log(belief.max())
        worst = max(worst, min(reach, math.exp(min(growth, 0.0))))
    return min(1.0, worst)


def _rows(channel: Channel, answers: Answers) -> NDArray[np.intp]:
    """Distinct situations of the others: the channel row of each value of the record."""
    order = align(answers.labels, channel.inputs, "the channel", ChannelError)
    contexts = answers.contexts if order is None else np.array(order, dtype=np.intp)[answers.contexts]
    return np.unique(contexts, axis=0)


def _row_distances(logs: NDArray[np.float64]) -> NDArray[Any]:
    size = len(logs)
    result = np.zeros((size, size))
    for i in range(size):
        with np.errstate(invalid="ignore"):
            gap = np.abs(logs - logs[i])
        result[i] = np.where(np.isnan(gap), 0.0, gap).max(axis=1)
    return result
