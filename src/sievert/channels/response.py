"""Randomised response on any number of values: one probability for the truth, one for every lie."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.structured import Level, StructuredChannel, closest_pair, rate
from sievert.numerics.randomness import generator_of
from sievert.spaces.metric import Metric

__all__ = ["ResponseChannel"]

FloatArray = NDArray[np.float64]


class ResponseChannel(StructuredChannel):
    """C = lie·J + (truth - lie)·I on n values, J all ones; truth + (n-1)·lie = 1.

    Stored as two numbers; every product with it costs O(n).
    """

    def __init__(
        self,
        size: int,
        eps: float,
        alpha: Fraction | None,
        labels: Iterable[object] | None = None,
    ) -> None:
        super().__init__("log" if alpha is None else "exact", (size, size), labels, labels)
        self.eps = eps
        self.alpha = alpha
        # truth = 1/(1 + (n-1)·e^-eps), also when e^-eps is below the smallest float.
        self.log_truth = -math.log1p((size - 1) * math.exp(-eps))
        self.log_lie = self.log_truth - eps if size > 1 else -math.inf

    @property
    def truth(self) -> Fraction | float:
        """Probability of reporting the true value."""
        if self.alpha is not None:
            return 1 / (1 + (self.shape[0] - 1) * self.alpha)
        return math.exp(self.log_truth)

    @property
    def lie(self) -> Fraction | float:
        """Probability of reporting one given other value (0 where there is none)."""
        if self.alpha is not None and self.shape[0] == 1:
            return Fraction(0)
        if self.alpha is not None:
            return self.alpha / (1 + (self.shape[0] - 1) * self.alpha)
        return math.exp(self.log_lie)

    def _entries(self) -> NDArray[Any]:
        size = self.shape[0]
        if self.alpha is None:
            return np.where(np.eye(size, dtype=bool), self.log_truth, self.log_lie)
        data = np.full((size, size), self.lie, dtype=object)
        data[np.diag_indices(size)] = self.truth
        return data

    def _relative_entries(self) -> FloatArray:
        """ε for the truth, 0 for every lie."""
        if math.isinf(self.eps):
            return super()._relative_entries()
        return np.where(np.eye(self.shape[0], dtype=bool), self.eps, 0.0)

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input."""
        row = np.full(self.shape[1], float(self.lie))
        row[self.input_index(item)] = float(self.truth)
        return row

    def matvec(self, vector: Any) -> FloatArray:
        """C·v in O(n)."""
        values = self._vector(vector, "outputs")
        return np.asarray(float(self.lie) * values.sum() + (float(self.truth) - float(self.lie)) * values)

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C in O(n); the channel is symmetric."""
        return self.matvec(self._vector(vector, "inputs"))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs: lie uniformly among the others with the total probability of lying."""
        generator = generator_of(rng)
        truths = self._indices(xs)
        size = self.shape[0]
        others = generator.integers(0, max(size - 1, 1), len(truths))
        lies = others + (others >= truths)
        honest = generator.random(len(truths)) < float(self.truth)
        return self._named(np.where(honest | (size == 1), truths, lies))

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Every pair of values is eps apart, so the closest pair of the metric decides."""
        if self.shape[0] == 1:
            return 0.0, 0, 0, 0.0
        i, j, distance = closest_pair(metric)
        return rate(self.eps, distance), i, j, distance

    def witness(self, i: int, j: int) -> tuple[int, int, int, Fraction | None]:
        """Reporting i tells i from any other input."""
        return i, j, i, 1 / self.alpha if self.alpha else None

    def __repr__(self) -> str:
        parameter = f"alpha={self.alpha}" if self.alpha is not None else f"eps={self.eps:g}"
        return f"Channel(randomised response, {self.shape[0]} values, {parameter})"
