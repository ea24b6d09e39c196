"""The iterative Bayesian update (IBU): expectation–maximisation for the distribution behind noisy reports.

One round multiplies p_i by c_i = Σ_j q_j·G_ij/(pG)_j. The likelihood never falls, and ln max c bounds what
it is still below its maximum (Fernandes, Sec 8.3; the bound by concavity), so that the iteration stops on
a guarantee; a small step guarantees nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sievert.errors import EstimationError
from sievert.estimation.operators import GeometricOperator, Operator, ResponseOperator

__all__ = ["Fit", "certified_gap", "iterate", "log_likelihood", "rounding_slack"]

FloatArray = NDArray[np.float64]
# Below this a probability is taken for 0, where it stays: smaller ones become denormal and slow.
SMALLEST = 1e-300
UNIT = 2.0**-53
# Rounds between two looks at the gap where the rounds themselves are compiled.
BETWEEN_LOOKS = 16


@dataclass(frozen=True, eq=False)
class Fit:
    """A distribution, its likelihood per report (nats), and how far below the maximum that can be."""

    distribution: FloatArray
    likelihood: float
    gap: float
    iterations: int
    trace: FloatArray = field(default_factory=lambda: np.empty(0))


def log_likelihood(operator: Operator, shares: FloatArray, p: FloatArray) -> float:
    """Σ_j q_j·ln (pG)_j over the observed outputs: nats per report."""
    with np.errstate(divide="ignore"):
        return float(shares @ (np.log(operator.expected(p)) + operator.log_scale))


def certified_gap(operator: Operator, shares: FloatArray, p: FloatArray) -> float:
    """ln max_i c_i: no distribution has a likelihood per report that is larger by more than this."""
    expected = operator.expected(p)
    if (expected <= 0).any():
        return math.inf
    return max(0.0, math.log(float(operator.backward(shares / expected).max())))


def rounding_slack(inputs: int, outputs: int) -> float:
    """What rounding may hide of a computed ln max c.

    Factors are sums of positive terms, each after at most as many operations as there are inputs and
    outputs, a few for each; every operation is off by at most one part in 2^53.
    """
    return 8 * (inputs + outputs + 8) * UNIT


def iterate(
    operator: Operator,
    shares: FloatArray,
    start: FloatArray,
    tolerance: float,
    most: int,
    *,
    traced: bool = False,
) -> Fit:
    """Rounds of IBU until the certified gap is at most `tolerance`, or `most` rounds are done.

    `traced` keeps the likelihood before every round.
    """
    p = np.array(start, dtype=np.float64)
    compiled = None if traced else _compiled_rounds(operator, shares)
    trace: list[float] = []
    done, gap = 0, math.inf
    while True:
        expected = operator.expected(p)
        if (expected <= 0).any():
            raise EstimationError(
                "start gives probability 0 to an output that was reported; give every input a positive weight"
            )
        if traced:
            trace.append(float(shares @ (np.log(expected) + operator.log_scale)))
        factor = operator.backward(shares / expected)
        gap = max(0.0, math.log(float(factor.max())))
        if gap <= tolerance or done >= most:
            break
        p *= factor
        p[p < SMALLEST] = 0.0
        done += 1
        if compiled is not None and done < most:
            rounds = min(BETWEEN_LOOKS, most - done)
            compiled(p, rounds)
            done += rounds
        if done % 64 == 0:
            p /= p.sum()
    return Fit(p / p.sum(), log_likelihood(operator, shares, p / p.sum()), gap, done, np.array(trace))


def _compiled_rounds(operator: Operator, shares: FloatArray) -> Callable[[FloatArray, int], float] | None:
    """A function (p, rounds) that does rounds in place in machine code, or None."""
    if not isinstance(operator, GeometricOperator | ResponseOperator):
        return None
    from sievert.estimation.kernels import COMPILED, geometric_rounds, response_rounds

    if not COMPILED:
        return None
    if isinstance(operator, ResponseOperator):
        full = np.zeros(operator.size)
        full[operator.observed] = shares
        lie = operator.lie
        return lambda p, rounds: response_rounds(p, full, lie, rounds)
    full = np.zeros(operator.channel.shape[1])
    full[operator.observed] = shares
    decay = operator.decay
    return lambda p, rounds: geometric_rounds(p, full, decay, rounds)
