"""Matrix inversion: the unbiased linear estimate, its variance, and its expected error.

r = q·R with G·R = I: the inverse of a square channel, the pseudo-inverse of one with more outputs than
inputs. Structured channels are inverted by their structure. The estimate may leave the simplex; where it
does not, it is the maximum likelihood (Fernandes, Prop 8.2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, CyclicChannel, ProductChannel, ResponseChannel, finite_channel
from sievert.channels.priors import as_prior
from sievert.errors import EstimationError, TooLargeError
from sievert.estimation._confidence import checked_confidence, normal_reach
from sievert.estimation._operators import lie_weight
from sievert.estimation._reports import Reports, identifiability, is_invertible, read_reports
from sievert.mechanisms import TruncatedGeometricChannel
from sievert.numerics import abbreviated
from sievert.results import Result, guarded
from sievert.spaces import Labels, by_label, floats, shown

__all__ = [
    "Inverse",
    "Mean",
    "estimate_mean",
    "frequency_variance",
    "inverse_of",
    "inverses",
    "inversion_variances",
    "invert",
]
LARGEST_DENSE = 4_000_000
LARGEST_WEIGHT = 1e100
# What a report counts for is about 1/ε, and the variance of geometric reports about 1/ε³.
SMALLEST_EPS = 1e-100


class Inverse(ABC):
    """A right inverse R of a channel: `apply` gives q·R, `squares` gives q·(R∘R), `weigh` gives R·x."""

    @abstractmethod
    def apply(self, q: FloatArray) -> FloatArray:
        """Shares of the values from shares of the outputs."""

    @abstractmethod
    def squares(self, q: FloatArray) -> FloatArray:
        """Second moments of what one report adds to each share."""

    @abstractmethod
    def weigh(self, x: FloatArray) -> FloatArray:
        """What each report counts for in the unbiased estimate of the mean of x."""


class ResponseInverse(Inverse):
    """r = (q - lie)/(truth - lie) for shares q that sum to Σ q."""

    def __init__(self, channel: ResponseChannel) -> None:
        _require_some(channel.eps)
        self.lie = lie_weight(channel.eps) if channel.shape[0] > 1 else 0.0
        self.scale = 1 + channel.shape[0] * self.lie

    def apply(self, q: FloatArray) -> FloatArray:
        # 1/(truth - lie) = k/(1-alpha) = 1 + n·b, lie/(truth - lie) = b = alpha/(1-alpha).
        return np.asarray(self.scale * q - self.lie * q.sum(axis=-1, keepdims=True))

    def squares(self, q: FloatArray) -> FloatArray:
        on, off = (self.scale - self.lie) ** 2, self.lie**2
        return np.asarray((on - off) * q + off * q.sum(axis=-1, keepdims=True))

    def weigh(self, x: FloatArray) -> FloatArray:
        return self.apply(x)  # symmetric


class GeometricInverse(Inverse):
    """The tridiagonal inverse of alpha^|i-j| after dividing by the weights of the outputs.

    Written with w_i = tanh(eps/2) inside and 1/(1+alpha) at the ends, and differences over 2·sinh(eps), it
    loses nothing to cancellation as alpha approaches 1.
    """

    def __init__(self, channel: TruncatedGeometricChannel) -> None:
        _require_some(channel.level.eps)
        eps = min(channel.level.eps, 700.0)
        self.weight = channel.weight_vector()
        self.link = np.float64(1 / (2 * math.sinh(eps)))

    def apply(self, q: FloatArray) -> FloatArray:
        v = q / self.weight
        flow = self.link * np.diff(v, axis=-1)
        # The weights of the inverse are those of the outputs: T·1 = w.
        result = np.array(q, dtype=np.float64)
        result[..., :-1] -= flow
        result[..., 1:] += flow
        return result

    def squares(self, q: FloatArray) -> FloatArray:
        v = q / self.weight**2
        diagonal = self.weight + 2 * self.link
        diagonal[[0, -1]] -= self.link
        result = v * diagonal**2
        result[..., :-1] += self.link**2 * v[..., 1:]
        result[..., 1:] += self.link**2 * v[..., :-1]
        return np.asarray(result)

    def weigh(self, x: FloatArray) -> FloatArray:
        flow = self.link * np.diff(x, axis=-1)
        result = self.weight * x
        result[..., :-1] -= flow
        result[..., 1:] += flow
        return np.asarray(result / self.weight)


class CyclicInverse(Inverse):
    """A circulant matrix has a circulant inverse, found by Fourier transform."""

    def __init__(self, channel: CyclicChannel) -> None:
        spectrum = np.fft.rfft(channel.kernel)
        size = channel.shape[0]
        if float(np.abs(spectrum).min()) <= size * np.finfo(float).eps:
            raise _singular(channel)
        self.size = size
        self.inverse = 1 / spectrum
        self.square = np.fft.rfft(np.fft.irfft(self.inverse, size) ** 2)

    def apply(self, q: FloatArray) -> FloatArray:
        return np.fft.irfft(np.fft.rfft(q) * self.inverse, self.size)

    def squares(self, q: FloatArray) -> FloatArray:
        return np.fft.irfft(np.fft.rfft(q) * self.square, self.size)

    def weigh(self, x: FloatArray) -> FloatArray:
        return np.fft.irfft(np.fft.rfft(x) * np.conj(self.inverse), self.size)


class DenseInverse(Inverse):
    """A matrix R, outputs by inputs."""

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix

    def apply(self, q: FloatArray) -> FloatArray:
        return np.asarray(q @ self.matrix)

    def squares(self, q: FloatArray) -> FloatArray:
        return np.asarray(q @ self.matrix**2)

    def weigh(self, x: FloatArray) -> FloatArray:
        return np.asarray(x @ self.matrix.T)


class ProductInverse(Inverse):
    """One record at a time: the inverse of a product is the product of the inverses."""

    def __init__(self, channel: ProductChannel) -> None:
        self.parts = [(inverse_of(factor), factor.shape) for factor in channel.channels()]

    def apply(self, q: FloatArray) -> FloatArray:
        return self._along(q, "apply")

    def squares(self, q: FloatArray) -> FloatArray:
        return self._along(q, "squares")

    def weigh(self, x: FloatArray) -> FloatArray:
        return self._along(x, "weigh")

    def _along(self, q: FloatArray, verb: str) -> FloatArray:
        table = q.reshape([shape[0 if verb == "weigh" else 1] for _, shape in self.parts])
        for axis, (part, _) in enumerate(self.parts):
            table = np.moveaxis(getattr(part, verb)(np.moveaxis(table, axis, -1)), -1, axis)
        return table.reshape(-1)


def inverse_of(channel: Channel) -> Inverse:
    """The right inverse of a channel; refused where reports do not determine the distribution."""
    return _inverse_of(channel.finite())


@lru_cache(maxsize=4)  # an estimate asks for the same one several times
def _inverse_of(finite: Channel) -> Inverse:
    return right_inverse(finite)


@singledispatch
def right_inverse(channel: Channel) -> Inverse:
    """The inverse by the structure of a finite channel, or that of its matrix."""
    rows, columns = channel.shape
    if rows > columns:
        raise _singular(channel)
    if rows * columns > LARGEST_DENSE:
        raise TooLargeError(
            f"inverting {channel!r} takes a matrix of {rows * columns} entries; at most {LARGEST_DENSE} are "
            'used; ask for method="ibu"',
            size=rows * columns,
        )
    if not identifiability(channel).complete:
        raise _singular(channel)
    matrix = channel.rounded()
    if rows == columns:
        return DenseInverse(np.asarray(np.linalg.inv(matrix), dtype=np.float64))
    return DenseInverse(np.asarray(np.linalg.pinv(matrix, rcond=0.0), dtype=np.float64))


@right_inverse.register
def _inverse_of_response(channel: ResponseChannel) -> Inverse:
    invertible = is_invertible(channel)
    return ResponseInverse(channel) if invertible else right_inverse.dispatch(Channel)(channel)


@right_inverse.register
def _inverse_of_geometric(channel: TruncatedGeometricChannel) -> Inverse:
    invertible = is_invertible(channel)
    return GeometricInverse(channel) if invertible else right_inverse.dispatch(Channel)(channel)


@right_inverse.register
def _inverse_of_cyclic_noise(channel: CyclicChannel) -> Inverse:
    return CyclicInverse(channel)


@right_inverse.register
def _inverse_of_records(channel: ProductChannel) -> Inverse:
    return ProductInverse(channel)


def _require_some(eps: float) -> None:
    if eps < SMALLEST_EPS:
        raise EstimationError(
            f"channel has ε = {eps:g}, with which a report tells so little that what it counts for is beyond "
            f"floats; at least {SMALLEST_EPS:g} is inverted",
            fix='ask for the maximum likelihood (method="auto"), or give reports with a larger ε',
        )


def _singular(channel: Channel) -> EstimationError:
    return EstimationError(
        f"channel cannot be inverted: {identifiability(channel)}",
        fix='ask for the maximum likelihood (method="auto"), which says for every value the range that fits '
        "the reports",
    )


def _stacked(reports: Reports) -> list[DenseInverse]:
    """For several groups: the pseudo-inverse of all channels side by side, cut into groups."""
    total = reports.total
    channels = [group.channel for group in reports.groups]
    known = identifiability(channels)
    if not known.complete:
        raise EstimationError(f"the channels together cannot be inverted: {known}")
    blocks = [group.channel.rounded() * (group.counts.sum() / total) for group in reports.groups]
    inverse = np.linalg.pinv(np.concatenate(blocks, axis=1), rcond=0.0)
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    return [DenseInverse(part) for part in np.split(inverse, ends)]


def inverses(reports: Reports) -> list[Inverse]:
    """The inverse of each group; of several groups, parts of the inverse of all channels side by side."""
    if len(reports.groups) == 1:
        return [inverse_of(reports.groups[0].channel)]
    return list(_stacked(reports))


def invert(reports: Reports) -> FloatArray:
    """The unbiased estimate; entries sum to 1 but may be negative or above 1."""
    total = reports.total
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [
            inverse.apply(group.counts / total)
            for inverse, group in zip(inverses(reports), reports.groups, strict=True)
        ]
        return _require_floats(np.sum(parts, axis=0))


def inversion_variances(reports: Reports, p: FloatArray) -> FloatArray:
    """Variance of every entry of the inverse when the truth is p: Σ_j m_j·R_ji² - (Σ_j m_j·R_ji)², over N."""
    total = reports.total
    found = np.zeros(len(p))
    for inverse, group in zip(inverses(reports), reports.groups, strict=True):
        m = np.maximum(group.channel.rmatvec(p), 0.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            found += group.counts.sum() / total**2 * (inverse.squares(m) - inverse.apply(m) ** 2)
    return np.maximum(_require_floats(found), 0.0)


def _require_floats(found: FloatArray) -> FloatArray:
    """Refuse estimates or errors beyond the largest float."""
    if not np.isfinite(found).all():
        raise EstimationError(
            "the reports tell next to nothing about the values: the errors of the inverse are beyond the "
            "largest float; use a mechanism with a larger eps"
        )
    return found


@guarded
def frequency_variance(channel: Channel, prior: object = None) -> float:
    """How far off frequencies are that are estimated without bias from reports, for one report.

    Parameters
    ----------
    channel : what every report went through
    prior : the true frequencies; uniform by default

    Returns
    -------
    float
        n·E Σ_x (estimated - true frequency)² for n reports, the frequencies being those of the n values.

    Notes
    -----
    Of all inverses R with G·R = I the best weighs outputs by how often they come; its variance is the trace
    of (G·D^-1·G^T)^-1 less 1, D the frequencies of the outputs: the Cramér–Rao bound. A square channel has
    one inverse only, which is applied by its structure.
    Cost: that of inverting the channel, or O(inputs²·outputs).

    Examples
    --------
    >>> from sievert.mechanisms._response import randomised_response
    >>> round(frequency_variance(randomised_response(2, alpha="1/3")), 12)  # (q/(p - q))² + … = 2·3/4
    1.5
    """
    finite = finite_channel(channel)
    p = as_prior(prior, finite).astype(np.float64)
    inverse = inverse_of(finite)
    q = np.maximum(finite.rmatvec(p), 0.0)
    plain = float(inverse.squares(q).sum()) - 1
    if finite.shape[0] == finite.shape[1] or not (q > 0).all():
        return max(plain, 0.0)
    weighted = finite.rounded() / np.sqrt(q)
    return max(0.0, min(plain, float((1 / np.linalg.svd(weighted, compute_uv=False) ** 2).sum()) - 1))


# ── The mean of any function of the true values, from noisy reports: unbiased, with its interval ────────────
# Means, and shares of groups of values, are known far better than single probabilities: errors of
# neighbouring values cancel. With R the inverse of the channel and g = R·x, the mean of g over the reports
# is unbiased for the mean of x over the true values, and its variance is that of g over the reports,
# divided by their number.


@dataclass(frozen=True)
class Mean(Result):
    """An unbiased mean, its standard error, and its interval at confidence `level`."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    level: float
    reports: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        return f"mean {self.value:.6g} ({low:.6g} to {high:.6g} at {self.level:.0%} confidence)"


def estimate_mean(
    counts: Any, channel: Channel | Sequence[Channel], weights: Any = None, *, confidence: float = 0.95
) -> Mean:
    """The mean over the true values, from counts of noisy reports as in `sv.estimate`.

    Parameters
    ----------
    counts, channel : as in `sv.estimate`
    weights : what each value counts for: a list in the order of the inputs or a mapping (others count 0);
        without it the values themselves, which must be numbers. Weights of 0 and 1 give the share of a group
    confidence : that the interval holds the mean

    Returns
    -------
    Mean
        The `value`, its `standard_error` and interval; `float(result)` is the value.

    Notes
    -----
    Unbiased, by inverting the channel: the mean may lie outside the range of the values.

    Cost: O(n) for randomised response and geometric noise, O(n³) for another matrix.

    Examples
    --------
    >>> from sievert.mechanisms._response import randomised_response
    >>> channel = randomised_response(["never", "once", "often"], alpha="1/3")
    >>> print(estimate_mean([4800, 3100, 2100], channel, {"once": 1, "often": 1}))
    mean 0.3 (0.27552 to 0.32448 at 95% confidence)
    """
    level = checked_confidence(confidence)
    reports = read_reports(counts, channel)
    x = _weights(weights, reports.inputs)
    total = reports.total
    value = variance = 0.0
    for inverse, group in zip(inverses(reports), reports.groups, strict=True):
        size = float(group.counts.sum())
        worth = inverse.weigh(x)
        mean = float(group.counts @ worth) / size
        value += mean * size / total
        seen = float(group.counts @ (worth - mean) ** 2) / size
        # Reports vary at least as much as the noise alone, even where few of them happen to agree.
        noise = float((group.channel.matvec(worth**2) - x**2).min())
        variance += size / total**2 * max(seen, noise)
    error = float(np.sqrt(variance))
    reach = normal_reach(level) * error
    return Mean(value, error, (value - reach, value + reach), level, total)


def _weights(weights: Any, inputs: Labels) -> FloatArray:
    weights = Counter(weights) if isinstance(weights, Mapping) else weights
    given = list(inputs) if weights is None else by_label(weights, inputs, "weights", EstimationError)
    rule = f"it must be {len(inputs)} finite numbers, one for each of the values {shown(inputs)}"
    x = floats(given, "weights", EstimationError, rule)
    if x.shape != (len(inputs),) or not np.isfinite(x).all():
        raise EstimationError(f"weights is {abbreviated(given)}; {rule}")
    if np.abs(x).max(initial=0.0) > LARGEST_WEIGHT:
        raise EstimationError(
            f"weights is {abbreviated(given)}; they must be at most {LARGEST_WEIGHT:g}, because the "
            f"error is a sum "
            "of squares"
        )
    return x
