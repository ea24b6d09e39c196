"""Unary encoding: one noisy bit for every value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.errors import EstimationError
from sievert.estimation.protocols.base import Protocol, Support
from sievert.numerics.checks import brief, choice
from sievert.numerics.randomness import generator_of
from sievert.spaces.tabular import floats

__all__ = ["UnaryEncoding", "unary"]

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
        rule = f"it must be [reports, {self.size}] bits"
        bits = (
            reports
            if isinstance(reports, np.ndarray) and reports.dtype.kind == "b"
            else floats(reports, "reports", EstimationError, rule)
        )
        if bits.ndim != 2 or bits.shape[1] != self.size or not np.isin(bits, (0, 1)).all():
            raise EstimationError(f"reports is {brief(reports)}; {rule}")
        return np.asarray(np.count_nonzero(bits, axis=0), dtype=np.int64)


def unary(
    values: int | Iterable[object], eps: float, kind: Literal["optimised", "symmetric"] = "optimised"
) -> UnaryEncoding:
    """Unary encoding; "optimised" (OUE) has the least variance for rare values, 4·e^eps/(N·(e^eps-1)²)."""
    return UnaryEncoding(values, eps, kind)
