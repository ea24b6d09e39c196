"""What every frequency protocol has: two probabilities, supports that add up, and frequencies from them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.errors import EstimationError
from sievert.estimation._confidence import checked_confidence, normal_reach
from sievert.estimation._reports import nearest_distribution
from sievert.mechanisms import inputs_of
from sievert.mechanisms import randomised_response as response_channel
from sievert.numerics import abbreviated, choice, generator_of, positive, whole
from sievert.results import Result
from sievert.spaces import Labels, by_label, floats, iterable, label, shown, worded

__all__ = [
    "Frequencies",
    "Protocol",
    "ResponseProtocol",
    "Support",
    "UnaryEncoding",
    "randomised_response",
    "unary",
]
Positions = NDArray[np.intp]
LARGEST_COUNT = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Frequencies(Result):
    """Unbiased frequencies of all values; single ones may be below 0 or above 1.

    Attributes
    ----------
    frequencies, standard_errors : for each value, in the order of `values`
    interval : lower and upper limit within [0, 1] for each value at confidence `level`
    reports : number of reports
    """

    values: Labels
    frequencies: FloatArray
    standard_errors: FloatArray
    interval: FloatArray
    level: float
    reports: int
    protocol: str

    def projected(self) -> FloatArray:
        """The nearest distribution."""
        return nearest_distribution(self.frequencies)

    def __str__(self) -> str:
        top = np.argsort(-self.frequencies, kind="stable")[:5].tolist()
        parts = ", ".join(
            f"{self.values[i]}: {self.frequencies[i]:.1%} ± {self.standard_errors[i]:.1%}" for i in top
        )
        return f"{self.protocol}, {self.reports:,} reports: {parts}{', …' if len(self.values) > 5 else ''}"


class Support(NamedTuple):
    """How likely a report supports its own value (p) and another (q), each difference with all its digits.

    `miss` is 1 - p, `silence` is 1 - q and `gap` is p - q.
    """

    truth: float
    other: float
    miss: float
    silence: float
    gap: float


class Protocol(ABC):
    """A report supports its own value with probability `truth` and any other with probability `other`."""

    name: str
    chances: Support

    def __init__(self, values: int | Iterable[object], eps: float) -> None:
        self.values: Labels = inputs_of(values, "values")
        self.eps = positive("eps", eps, EstimationError)

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def truth(self) -> float:
        """Probability p that a report supports its own value."""
        return self.chances.truth

    @property
    def other(self) -> float:
        """Probability q that a report supports another value."""
        return self.chances.other

    @abstractmethod
    def privatise(self, values: Any, rng: int | np.random.Generator | None = None) -> Any:
        """The clients: one private report for each value."""

    @abstractmethod
    def support(self, reports: Any) -> NDArray[np.int64]:
        """The server: how many reports support each value. Supports of batches add up."""

    def estimate(self, reports: Any, level: float = 0.95) -> Frequencies:
        """Frequencies from reports."""
        return self.frequencies(self.support(reports), self.count(reports), level)

    def count(self, reports: Any) -> int:
        """Number of reports in a batch."""
        if isinstance(reports, str | bytes) or not iterable(reports) or not isinstance(reports, Sized):
            raise EstimationError(
                f"reports is {abbreviated(reports)}; give what the protocol's privatise returns"
            )
        return len(reports)

    def frequencies(self, support: Any, reports: int, level: float = 0.95) -> Frequencies:
        """Frequencies from supports, of one batch or added up over many."""
        counted = by_label(support, self.values, "support", EstimationError)
        counts = floats(counted, "support", EstimationError, "give one number for each value")
        reports = whole("reports", reports, EstimationError, most=LARGEST_COUNT)
        level = checked_confidence(level, "level")
        if not ((counts >= 0) & (counts <= reports)).all():
            raise EstimationError(
                f"support is {abbreviated(support)}; each value is supported by 0 to {reports} of "
                f"{reports} reports"
            )
        found = (counts / reports - self.other) / self.chances.gap
        errors = np.sqrt(self.variances(np.clip(found, 0.0, 1.0), reports))
        reach = normal_reach(level) * errors
        interval = np.clip(np.column_stack([found - reach, found + reach]), 0.0, 1.0)
        return Frequencies(self.values, found, errors, interval, level, reports, self.name)

    def variances(self, frequencies: Any, reports: int) -> FloatArray:
        """Variance of each estimated frequency, the population fixed: Σ of Bernoulli variances.

        (f·p(1-p) + (1-f)·q(1-q)) / (N·(p-q)²).
        """
        f = self._shares(frequencies)
        reports = whole("reports", reports, EstimationError, most=LARGEST_COUNT)
        p, q, miss, silence, gap = self.chances
        with np.errstate(over="ignore"):
            return np.asarray((f * p * miss + (1 - f) * q * silence) / reports / gap / gap)

    def _shares(self, frequencies: Any) -> FloatArray:
        """Frequencies between 0 and 1: one for each value, read by label where they have any, or arrays."""
        if not isinstance(frequencies, np.ndarray | list | tuple | int | float | np.generic):
            frequencies = by_label(frequencies, self.values, "frequencies", EstimationError)
        rule = "give frequencies from 0 to 1"
        found = floats(frequencies, "frequencies", EstimationError, rule)
        if not ((found >= 0) & (found <= 1)).all():
            raise EstimationError(f"frequencies is {abbreviated(frequencies)}; {rule}")
        return found

    def positions(self, values: Any) -> Positions:
        """Positions of labelled values; each distinct value of an array is looked up once."""
        array = values if isinstance(values, np.ndarray) else None
        labels = self.values
        listed = iterable(values) and not isinstance(values, str)
        if not listed or (array is not None and array.ndim != 1):
            raise EstimationError(
                f"values is {abbreviated(values)}; give a list of values, one for each report"
            )
        if array is not None and array.ndim == 1 and array.dtype.kind in "iu" and isinstance(labels, range):
            found = array - labels.start
            if len(found) == 0 or (found.min() >= 0 and found.max() < len(labels)):
                return found.astype(np.intp)
        index = {item: i for i, item in enumerate(labels)}
        try:
            if array is not None and array.ndim == 1 and array.dtype.kind in "iufbU":
                distinct, inverse = np.unique(array, return_inverse=True)
                return np.array([index[item] for item in distinct.tolist()], dtype=np.intp)[inverse]
            return np.array([index[label(item)] for item in values], dtype=np.intp)
        except KeyError as problem:
            raise EstimationError(
                f"values: {abbreviated(problem.args[0], worded)} is not one of {shown(labels)}"
            ) from None


# ── k-ary randomised response: report a value, the true one most often ──────────────────────────────────────


class ResponseProtocol(Protocol):
    """Reports are positions of values; a report supports the value it names."""

    name = "k-ary randomised response"

    def __init__(self, values: int | Iterable[object], eps: float) -> None:
        super().__init__(values, eps)
        if self.size == 1:
            self.chances = Support(1.0, 0.0, 0.0, 1.0, 1.0)
            return
        decay = math.exp(-self.eps)
        truth = 1 / (1 + (self.size - 1) * decay)
        self.chances = Support(
            truth,
            truth * decay,
            (self.size - 1) * decay * truth,
            truth * (1 + (self.size - 2) * decay),
            truth * -math.expm1(-self.eps),
        )

    def privatise(self, values: Any, rng: int | np.random.Generator | None = None) -> Positions:
        """The true position, or one of the others."""
        generator = generator_of(rng)
        true = self.positions(values)
        shift = generator.integers(1, max(self.size, 2), len(true))
        honest = generator.random(len(true)) < self.truth
        return np.where(honest | (self.size == 1), true, (true + shift) % self.size)

    def support(self, reports: Any) -> NDArray[np.int64]:
        """How often each position was reported."""
        rule = f"reports are positions from 0 to {self.size - 1}, as privatise returns them"
        found = floats(reports, "reports", EstimationError, rule)
        whole_numbers = (found == np.floor(found)) & (found >= 0) & (found < self.size)
        if found.ndim != 1 or not whole_numbers.all():
            raise EstimationError(f"reports is {abbreviated(reports)}; {rule}")
        return np.bincount(found.astype(np.int64), minlength=self.size).astype(np.int64)

    def channel(self) -> Channel:
        """The protocol as a channel, for `sv.estimate` and every measure of leakage."""
        return response_channel(self.values, self.eps)


def randomised_response(values: int | Iterable[object], eps: float) -> ResponseProtocol:
    """k-ary randomised response on the values (or that many): best for fewer than 3·e^eps + 2 values.

    Parameters
    ----------
    values : how many values, or the values themselves
    eps : ε in nats

    Returns
    -------
    ResponseProtocol

    Notes
    -----
    Cost: O(1) a report.

    Examples
    --------
    >>> protocol = randomised_response(["a", "b"], 2.0)
    >>> protocol.privatise(["a", "b", "a"], rng=1).tolist()
    [0, 0, 0]
    """
    return ResponseProtocol(values, eps)


# ── Unary encoding: one noisy bit for every value ───────────────────────────────────────────────────────────

# Bits drawn at a time, 8 bytes of randomness each.
BLOCK_BITS = 4_000_000
Bits = NDArray[np.bool_]


class UnaryEncoding(Protocol):
    """Reports are rows of bits; a report supports the values whose bit is set.

    The bit of the true value is set with probability p, every other with q, where p(1-q)/(q(1-p)) = e^eps.
    """

    def __init__(
        self, values: int | Iterable[object], eps: float, kind: Literal["optimised", "symmetric"]
    ) -> None:
        super().__init__(values, eps)
        choice("kind", kind, ("optimised", "symmetric"), EstimationError)
        if kind == "optimised":
            self.name = "optimised unary encoding (OUE)"
            decay = math.exp(-self.eps)
            silence = 1 / (1 + decay)
            self.chances = Support(0.5, decay * silence, 0.5, silence, math.tanh(self.eps / 2) / 2)
        else:
            self.name = "symmetric unary encoding"
            decay = math.exp(-self.eps / 2)
            truth, other = 1 / (1 + decay), decay / (1 + decay)
            self.chances = Support(truth, other, other, truth, math.tanh(self.eps / 4))

    def privatise(self, values: Any, rng: int | np.random.Generator | None = None) -> Bits:
        """An array [report, value] of bits."""
        generator = generator_of(rng)
        true = self.positions(values)
        bits = np.empty((len(true), self.size), dtype=bool)
        step = max(1, BLOCK_BITS // self.size)
        for start in range(0, len(true), step):
            part = bits[start : start + step]
            np.less(generator.random(part.shape), self.other, out=part)
        bits[np.arange(len(true)), true] = generator.random(len(true)) < self.truth
        return bits

    def support(self, reports: Any) -> NDArray[np.int64]:
        """How many reports set each bit."""
        return np.asarray(np.count_nonzero(self._bits(reports), axis=0), dtype=np.int64)

    def count(self, reports: Any) -> int:
        """Number of reports in a batch."""
        return len(self._bits(reports))

    def _bits(self, reports: Any) -> NDArray[Any]:
        rule = f"it must be [reports, {self.size}] bits"
        bits = (
            reports
            if isinstance(reports, np.ndarray) and reports.dtype.kind == "b"
            else floats(reports, "reports", EstimationError, rule)
        )
        if bits.ndim != 2 or bits.shape[1] != self.size or not np.isin(bits, (0, 1)).all():
            raise EstimationError(f"reports is {abbreviated(reports)}; {rule}")
        return bits


def unary(
    values: int | Iterable[object], eps: float, *, kind: Literal["optimised", "symmetric"] = "optimised"
) -> UnaryEncoding:
    """Unary encoding; "optimised" (OUE) has the least variance for rare values, 4·e^eps/(N·(e^eps-1)²).

    Parameters
    ----------
    values : how many values, or the values themselves
    eps : ε in nats
    kind : "optimised" (OUE), or "symmetric" (the basic RAPPOR)

    Returns
    -------
    UnaryEncoding

    Notes
    -----
    Cost: O(values) a report.

    Examples
    --------
    >>> protocol = unary(["a", "b", "c"], 2.0)
    >>> protocol.privatise(["a", "b"], rng=1).shape
    (2, 3)
    """
    return UnaryEncoding(values, eps, kind)
