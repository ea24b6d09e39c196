"""What every frequency protocol has: two probabilities, supports that add up, and frequencies from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from sievert.errors import EstimationError
from sievert.estimation.intervals import checked_confidence
from sievert.estimation.projection import nearest_distribution
from sievert.mechanisms.parameters import inputs_of
from sievert.numerics.checks import brief, positive, whole
from sievert.results import Result
from sievert.spaces.labels import Labels, iterable, label, shown
from sievert.spaces.tabular import by_label, floats

__all__ = ["Frequencies", "Protocol", "Support"]

FloatArray = NDArray[np.float64]
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
            raise EstimationError(f"reports is {brief(reports)}; give what the protocol's privatise returns")
        return len(reports)

    def frequencies(self, support: Any, reports: int, level: float = 0.95) -> Frequencies:
        """Frequencies from supports, of one batch or added up over many."""
        counted = by_label(support, self.values, "support", EstimationError)
        counts = floats(counted, "support", EstimationError, "give one number for each value")
        reports = whole("reports", reports, EstimationError, most=LARGEST_COUNT)
        level = checked_confidence(level, "level")
        if not ((counts >= 0) & (counts <= reports)).all():
            raise EstimationError(
                f"support is {brief(support)}; each value is supported by 0 to {reports} of {reports} reports"
            )
        found = (counts / reports - self.other) / self.chances.gap
        errors = np.sqrt(self.variances(np.clip(found, 0.0, 1.0), reports))
        reach = float(norm.ppf((1 + level) / 2)) * errors
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
            raise EstimationError(f"frequencies is {brief(frequencies)}; {rule}")
        return found

    def positions(self, values: Any) -> Positions:
        """Positions of labelled values; each distinct value of an array is looked up once."""
        array = values if isinstance(values, np.ndarray) else None
        labels = self.values
        listed = iterable(values) and not isinstance(values, str)
        if not listed or (array is not None and array.ndim != 1):
            raise EstimationError(f"values is {brief(values)}; give a list of values, one for each report")
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
            raise EstimationError(f"values: {brief(problem.args[0])} is not one of {shown(labels)}") from None


def shares_of(frequencies: Any) -> FloatArray:
    """Frequencies between 0 and 1, of one value or of many."""
    rule = "give frequencies from 0 to 1"
    found = floats(frequencies, "frequencies", EstimationError, rule)
    if not ((found >= 0) & (found <= 1)).all():
        raise EstimationError(f"frequencies is {brief(frequencies)}; {rule}")
    return found
