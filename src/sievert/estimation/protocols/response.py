"""k-ary randomised response: report a value, the true one most often."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.errors import EstimationError
from sievert.estimation.protocols.base import Positions, Protocol, Support
from sievert.mechanisms import randomised_response as response_channel
from sievert.numerics.checks import brief
from sievert.numerics.randomness import generator_of
from sievert.spaces.tabular import floats

__all__ = ["ResponseProtocol", "randomised_response"]


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
            raise EstimationError(f"reports is {brief(reports)}; {rule}")
        return np.bincount(found.astype(np.int64), minlength=self.size).astype(np.int64)

    def channel(self) -> Channel:
        """The protocol as a channel, for `sv.estimate` and every measure of leakage."""
        return response_channel(self.values, self.eps)


def randomised_response(values: int | Iterable[object], eps: float) -> ResponseProtocol:
    """k-ary randomised response on the values (or that many): best for fewer than 3·e^eps + 2 values."""
    return ResponseProtocol(values, eps)
