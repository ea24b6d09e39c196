"""Products with a channel, restricted to the outputs that were observed, without a matrix where possible.

Multiplying a column by a constant changes no estimate, only the likelihood by a constant. Every operator
divides its columns by a scale of its own, so that outputs of probability e^-2000 are as good as others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import Channel, ResponseChannel
from sievert.errors import EstimationError
from sievert.estimation._reports import Group, Reports
from sievert.mechanisms import TruncatedGeometricChannel
from sievert.numerics import log_of
from sievert.spaces import worded

__all__ = [
    "DenseOperator",
    "Fit",
    "GeometricOperator",
    "Operator",
    "ResponseOperator",
    "certified_gap",
    "iterate",
    "log_likelihood",
    "operator_of",
    "rounding_slack",
    "scaled_columns",
]
# Structured channels up to this many entries are as quick with a matrix.
SMALL_MATRIX = 2_500
# A lie that weighs more than a truth by this is as good as any: beyond it floats overflow.
MOST_WEIGHT = 1e150


class Operator(ABC):
    """One group's channel on its observed outputs, columns divided by e^log_scale.

    Attributes
    ----------
    is_definite : whether different distributions expect different shares of the observed outputs
    is_listed : whether its rows are kept as a matrix
    is_solved : whether the maximum likelihood has a closed form
    is_blurred : whether it blurs so much that its maximum likelihood is spikes, whatever the truth
    """

    is_definite: ClassVar[bool] = False
    is_listed: ClassVar[bool] = False
    is_solved: ClassVar[bool] = False
    is_blurred: ClassVar[bool] = False
    log_scale: FloatArray

    @abstractmethod
    def expected(self, p: FloatArray) -> FloatArray:
        """Σ_i p_i·G_ij for each observed output j."""

    @abstractmethod
    def backward(self, v: FloatArray) -> FloatArray:
        """Σ_j G_ij·v_j for each input i."""

    @abstractmethod
    def rows(self, chosen: IndexArray) -> FloatArray:
        """Rows of the chosen inputs."""

    def gap(self, shares: FloatArray, expected: FloatArray, factor: FloatArray) -> float:
        """ln max c for the factors c of these shares, with what the products may be off by."""
        return max(0.0, math.log(float(factor.max())))


def lie_weight(eps: float) -> float:
    """lie/(truth - lie) = alpha/(1 - alpha) of randomised response, for eps from just above 0 to infinity.

    Beside more than 1e16 the share of the truth is lost in floats; an infinity times 0 would be no number.
    """
    return min(math.exp(-eps) / -math.expm1(-eps), MOST_WEIGHT)


class DenseOperator(Operator):
    """A matrix of the observed columns."""

    is_listed = True

    def __init__(self, columns: FloatArray, log_scale: FloatArray) -> None:
        self.columns, self.log_scale = columns, log_scale

    def expected(self, p: FloatArray) -> FloatArray:
        return np.asarray(p @ self.columns)

    def backward(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.columns @ v)

    def rows(self, chosen: IndexArray) -> FloatArray:
        return np.asarray(self.columns[chosen])


class ResponseOperator(Operator):
    """Randomised response: G/(truth - lie) = b·J + I with b = alpha/(1-alpha), which is positive definite."""

    is_definite = True
    is_solved = True

    def __init__(self, channel: ResponseChannel, observed: IndexArray) -> None:
        self.size, self.observed = channel.shape[0], observed
        self.lie = lie_weight(channel.eps)
        # truth - lie = truth·(1 - alpha)
        self.log_scale = np.full(len(observed), channel.log_truth + np.log(-np.expm1(-channel.eps)))

    def whole(self, shares: FloatArray) -> FloatArray:
        """Shares of all outputs from those of the observed ones."""
        full = np.zeros(self.size)
        full[self.observed] = shares
        return full

    def expected(self, p: FloatArray) -> FloatArray:
        return np.asarray(self.lie * p.sum() + p[self.observed])

    def backward(self, v: FloatArray) -> FloatArray:
        found = np.full(self.size, self.lie * v.sum())
        found[self.observed] += v
        return found

    def rows(self, chosen: IndexArray) -> FloatArray:
        return np.asarray(self.lie + (chosen[:, None] == self.observed[None, :]))


class GeometricOperator(Operator):
    """Truncated geometric noise: the weight of an output is its column's scale; alpha^|i-j| is definite."""

    is_definite = True

    def __init__(self, channel: TruncatedGeometricChannel, observed: IndexArray) -> None:
        self.channel, self.observed = channel, observed
        # Beyond this every power of alpha is 0 anyway, and infinity times distance 0 would be no number.
        self.eps = min(channel.level.eps, 1e6)
        self.decay = float(np.exp(-self.eps))
        self.log_scale = log_of(channel.weight_vector()[observed])

    def expected(self, p: FloatArray) -> FloatArray:
        return self._sums(p)[self.observed]

    def backward(self, v: FloatArray) -> FloatArray:
        spread = np.zeros(self.channel.shape[1])
        spread[self.observed] = v
        return self._sums(spread)

    def _sums(self, values: FloatArray) -> FloatArray:
        from sievert.estimation._kernels import two_sided
        from sievert.numerics import COMPILED

        if not COMPILED:
            return self.channel.kernel_sums(values)
        found, room = np.empty(len(values)), np.empty(len(values))
        two_sided(np.ascontiguousarray(values), self.decay, room, found)
        return found

    def rows(self, chosen: IndexArray) -> FloatArray:
        return np.asarray(np.exp(-self.eps * np.abs(chosen[:, None] - self.observed[None, :])))


class ProductOperator(Operator):
    """Any structured channel, by its own products."""

    def __init__(self, channel: Channel, observed: IndexArray) -> None:
        self.channel, self.observed = channel, observed
        self.log_scale = np.zeros(len(observed))

    def expected(self, p: FloatArray) -> FloatArray:
        # A Fourier transform in the product may leave entries just below 0.
        return np.maximum(self.channel.rmatvec(p)[self.observed], 0.0)

    def backward(self, v: FloatArray) -> FloatArray:
        spread = np.zeros(self.channel.shape[1])
        spread[self.observed] = v
        return self.channel.matvec(spread)

    def rows(self, chosen: IndexArray) -> FloatArray:
        return np.array([self.channel.row(self.channel.inputs[i])[self.observed] for i in chosen.tolist()])


class StackedOperator(Operator):
    """The observed outputs of several groups side by side."""

    def __init__(self, parts: list[Operator]) -> None:
        self.parts = parts
        self.log_scale = np.concatenate([part.log_scale for part in parts])
        self.ends = np.cumsum([len(part.log_scale) for part in parts])[:-1]

    def expected(self, p: FloatArray) -> FloatArray:
        return np.concatenate([part.expected(p) for part in self.parts])

    def backward(self, v: FloatArray) -> FloatArray:
        pieces = np.split(v, self.ends)
        found = [part.backward(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return np.asarray(np.sum(found, axis=0))

    def rows(self, chosen: IndexArray) -> FloatArray:
        return np.concatenate([part.rows(chosen) for part in self.parts], axis=1)


def operator_of(reports: Reports) -> tuple[Operator, FloatArray]:
    """The operator of all groups, and the share of all reports that each observed output has."""
    parts = [group_operator(group.channel, group) for group in reports.groups]
    total = reports.total
    shares = np.concatenate([group.counts[group.observed] / total for group in reports.groups])
    return (parts[0] if len(parts) == 1 else StackedOperator(parts)), shares


@singledispatch
def group_operator(channel: Channel, group: Group) -> Operator:
    """The operator of one group's channel: by its own products where it has a rule and is large."""
    observed = group.observed
    if channel.is_rule_beyond(SMALL_MATRIX):
        operator = ProductOperator(channel, observed)
        _refuse_impossible(group, operator.expected(np.full(channel.shape[0], 1 / channel.shape[0])) == 0)
        return operator
    columns, log_scale = scaled_columns(channel, observed)
    _refuse_impossible(group, np.isneginf(log_scale))
    return DenseOperator(columns, log_scale)


@group_operator.register
def _operator_of_geometric(channel: TruncatedGeometricChannel, group: Group) -> Operator:
    if channel.level.eps > 0:
        return GeometricOperator(channel, group.observed)
    return group_operator.dispatch(Channel)(channel, group)


@group_operator.register
def _operator_of_response(channel: ResponseChannel, group: Group) -> Operator:
    if channel.eps > 0 and channel.shape[0] > 1:
        return ResponseOperator(channel, group.observed)
    return group_operator.dispatch(Channel)(channel, group)


def scaled_columns(channel: Channel, chosen: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Columns divided by their largest entry, and the logarithms of those entries (-inf: a zero column)."""
    columns: FloatArray = channel.rounded()[:, chosen]
    largest = columns.max(axis=0)
    # Subnormal entries have lost digits: such columns come from the logarithms.
    if channel.form != "float" and (largest < 1e-200).any():
        logs = channel.log_matrix[:, chosen]
        tops: Any = logs.max(axis=0)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.exp(logs - tops)), tops
    return columns / np.where(largest > 0, largest, 1.0), log_of(largest)


def _refuse_impossible(group: Group, impossible: NDArray[np.bool_]) -> None:
    if impossible.any():
        j = int(group.observed[np.flatnonzero(impossible)[0]])
        raise EstimationError(
            f"counts: output {worded(group.channel.outputs[j])} was reported {group.counts[j]:g} times but "
            "the channel never gives it; check that the reports come from this channel"
        )


# ── The iterative Bayesian update (IBU) ─────────────────────────────────────────────────────────────────────
# The iterative Bayesian update (IBU): expectation–maximisation for the distribution behind noisy reports.
#
# One round multiplies p_i by c_i = Σ_j q_j·G_ij/(pG)_j. The likelihood never falls, and ln max c bounds
# what it is still below its maximum (Fernandes, Sec 8.3; the bound by concavity), so that the iteration
# stops on a guarantee; a small step guarantees nothing.
# Below this a probability is taken for 0, where it stays: smaller ones become denormal and slow.
SMALLEST = 1e-300
UNIT = 2.0**-53
# Rounds between two looks at the gap where the rounds themselves are compiled.
BETWEEN_LOOKS = 16


@dataclass(frozen=True, eq=False)
class Fit:
    """A distribution, its likelihood per report (nats), and how far below the maximum that can be."""

    distribution: FloatArray
    mean_log_likelihood: float
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
    return operator.gap(shares, expected, operator.backward(shares / expected))


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
    compiled = None if traced else compiled_rounds(operator, shares)
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
        gap = operator.gap(shares, expected, factor)
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


Rounds = Callable[[FloatArray, int], float]


@singledispatch
def compiled_rounds(operator: Operator, shares: FloatArray) -> Rounds | None:
    """A function (p, rounds) that does rounds in place in machine code, or None."""
    return None


@compiled_rounds.register
def _rounds_of_response(operator: ResponseOperator, shares: FloatArray) -> Rounds | None:
    from sievert.estimation._kernels import response_rounds
    from sievert.numerics import COMPILED

    if not COMPILED:
        return None
    full, lie = operator.whole(shares), operator.lie
    return lambda p, rounds: response_rounds(p, full, lie, rounds)


@compiled_rounds.register
def _rounds_of_geometric(operator: GeometricOperator, shares: FloatArray) -> Rounds | None:
    from sievert.estimation._kernels import geometric_rounds
    from sievert.numerics import COMPILED

    if not COMPILED:
        return None
    full = np.zeros(operator.channel.shape[1])
    full[operator.observed] = shares
    decay = operator.decay
    return lambda p, rounds: geometric_rounds(p, full, decay, rounds)
