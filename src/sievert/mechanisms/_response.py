"""Randomised response: tell the truth with the largest probability that privacy allows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction

import numpy as np

from sievert.channels import Channel, ResponseChannel, require_dense
from sievert.errors import MechanismError
from sievert.kinds import variant
from sievert.mechanisms._family import EpsilonFamily, Family, inputs_of, privacy
from sievert.policies import Answers, Query
from sievert.proofs import RESPONSE
from sievert.spaces import Metric

__all__ = ["randomised_response", "warner"]


def randomised_response(
    n: int | Iterable[object],
    eps: float | None = None,
    *,
    alpha: object = None,
    outputs: Iterable[object] | None = None,
) -> Channel:
    """Report the true value with probability 1/k and each other with alpha/k, k = 1 + (n-1)·alpha.

    Any two inputs are at distance exactly eps. With `outputs`, an input that is not among them reports
    uniformly.

    Parameters
    ----------
    n : number of inputs, or their labels
    eps, alpha : exactly one of eps (nats) and alpha = e^-eps; rational alpha gives an exact channel
    outputs : labels that can be reported, if they are not the inputs

    Returns
    -------
    Channel

    Notes
    -----
    Cost: O(n) for the labels; the matrix is never listed unless asked for, except with `outputs`.

    Examples
    --------
    >>> randomised_response(3, alpha="1/3").exact[0].tolist()
    [Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)]
    """
    inputs = inputs_of(n)
    labels = inputs if outputs is None else inputs_of(outputs, "outputs")
    level = privacy(eps, alpha)
    if outputs is None:
        return ResponseChannel(len(labels), level, labels)
    size = len(labels)
    require_dense(len(inputs), size, "randomised response")
    position = {name: j for j, name in enumerate(labels)}
    column = np.array([position.get(name, -1) for name in inputs])
    truthful = np.flatnonzero(column >= 0)
    if level.alpha is not None:
        total = 1 + (size - 1) * level.alpha
        data = np.full((len(inputs), size), level.alpha / total, dtype=object)
        data[truthful, column[truthful]] = 1 / total
        data[column < 0] = Fraction(1, size)
        return Channel.trusted(data, "exact", inputs, labels)
    normaliser = math.log1p((size - 1) * math.exp(-level.eps))
    logs = np.full((len(inputs), size), -level.eps - normaliser)
    logs[truthful, column[truthful]] = -normaliser
    logs[column < 0] = -math.log(size)
    return Channel.trusted(logs, "log", inputs, labels)


def warner(yes: Hashable = "yes", no: Hashable = "no") -> Channel:
    """Warner's protocol: on heads tell the truth, on tails answer by a second coin (eps = ln 3).

    Parameters
    ----------
    yes, no : what the two answers are called

    Returns
    -------
    Channel
        Exact: the true answer with probability 3/4.

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> warner().exact[0].tolist()
    [Fraction(3, 4), Fraction(1, 4)]
    """
    return randomised_response([yes, no], alpha=Fraction(1, 3))


@variant(Family, "randomised-response")
class RandomisedResponse(EpsilonFamily):
    """The truth with the largest probability that ε allows, else any other answer, each as likely."""

    in_theorems = RESPONSE

    def channel(self, answers: Answers, query: Query) -> Channel:
        return randomised_response(answers.labels, self.eps, alpha=self.alpha)

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel | None:
        return randomised_response(metric.points, eps * _nearest(metric))


def _nearest(metric: Metric) -> float:
    """The smallest distance of different points."""
    if metric.size == 1:
        return 1.0
    nearest = float(metric.matrix[~np.eye(metric.size, dtype=bool)].min())
    if math.isinf(nearest):
        raise MechanismError("no two inputs need to be alike, so the truth itself may be released")
    return nearest
