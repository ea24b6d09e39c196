"""A smoother estimate: IBU stopped early, at the round that predicts reports it has not seen best.

The maximum likelihood of smooth noise is a handful of spikes. Stopped early, IBU is still spread out like its
start; how early is decided by held-out likelihood. The exact maximum is among the candidates, so that truths
made of spikes are not smoothed away when there are reports enough to tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.estimation.expectation_maximisation import Fit, certified_gap, iterate, log_likelihood
from sievert.estimation.maximum_likelihood import maximum_likelihood
from sievert.estimation.operators import Operator

__all__ = ["WHEN", "EarlyStop", "stopped_early"]

FloatArray = NDArray[np.float64]
FOLDS = 5
MOST_ROUNDS = 1 << 15
# Rounds after which the held-out likelihood is looked at: half an octave apart.
LOOKS = tuple(sorted({round(2 ** (k / 2)) for k in range(2 * 15 + 1)}))
# Looks in a row without a better one before the search ends.
PATIENCE = 4

WHEN = (
    "beats the maximum likelihood when the noise blurs neighbouring values and the truth is smooth on that "
    "scale; it loses to it when the truth is a few spikes, and under noise that ignores distance (randomised "
    "response)"
)


@dataclass(frozen=True, eq=False)
class EarlyStop:
    """The fit, and the rounds it was stopped after (None: the exact maximum predicted best)."""

    fit: Fit
    rounds: int | None


def stopped_early(
    operator: Operator, shares: FloatArray, total: float, start: FloatArray, rng: np.random.Generator
) -> EarlyStop:
    """Choose the number of rounds by held-out likelihood over a few folds, then fit all reports with it."""
    folds = _folds(np.rint(shares * total).astype(np.int64), rng)
    scores = np.zeros(len(LOOKS) + 1)
    for fold in folds:
        scores += _held_out(operator, shares * total - fold, fold, start)
    best = int(np.argmax(scores))
    if best == len(LOOKS):
        return EarlyStop(maximum_likelihood(operator, shares, len(start)), None)
    rounds = LOOKS[best]
    fit = iterate(operator, shares, start, 0.0, rounds)
    return EarlyStop(
        Fit(
            fit.distribution,
            log_likelihood(operator, shares, fit.distribution),
            certified_gap(operator, shares, fit.distribution),
            rounds,
        ),
        rounds,
    )


def _folds(counts: NDArray[np.int64], rng: np.random.Generator) -> list[FloatArray]:
    """The reports shared out at random into folds of about equal size."""
    left, folds = counts.copy(), []
    for k in range(FOLDS, 1, -1):
        drawn = rng.binomial(left, 1 / k)
        folds.append(drawn.astype(np.float64))
        left = left - drawn
    return [*folds, left.astype(np.float64)]


def _held_out(operator: Operator, training: FloatArray, fold: FloatArray, start: FloatArray) -> FloatArray:
    """Log-likelihood of a fold after each look, and at last under the exact maximum of the other folds."""
    if not training.sum() > 0:
        return np.zeros(len(LOOKS) + 1)
    shares = training / training.sum()
    p = np.array(start, dtype=np.float64)
    scores = np.full(len(LOOKS) + 1, -np.inf)
    done, best = 0, -np.inf
    worse = 0
    for look, rounds in enumerate(LOOKS):
        p = iterate(operator, shares, p, -1.0, rounds - done).distribution
        done = rounds
        with np.errstate(divide="ignore"):
            scores[look] = float(fold @ np.log(operator.expected(p)))
        worse = 0 if scores[look] > best else worse + 1
        best = max(best, float(scores[look]))
        if worse >= PATIENCE:
            break
    seen = np.flatnonzero(training)
    exact = _maximum_of(operator, shares, seen, len(start))
    expected = operator.expected(exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores[-1] = float(np.where(fold > 0, fold * np.log(expected), 0.0).sum())
    return scores


def _maximum_of(operator: Operator, shares: FloatArray, seen: NDArray[np.intp], size: int) -> FloatArray:
    """The exact maximum for shares that may be 0 on some of the operator's outputs."""
    positive = np.maximum(shares, 1e-15)
    if len(seen) == len(shares):
        positive = shares
    return maximum_likelihood(operator, positive / positive.sum(), size).distribution
