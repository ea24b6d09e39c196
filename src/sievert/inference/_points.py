"""Points of the frontier and the whole of it: what is known of the best mechanism under a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sievert.channels import Channel
from sievert.errors import PolicyError
from sievert.numerics import abbreviated, in_percent
from sievert.proofs import FrontierProof
from sievert.results import Result, plain
from sievert.spaces import Labels

__all__ = ["SAME_LIMIT", "InferenceCurve", "InferenceFrontier", "InferencePoint"]

# Limits this close to each other or to the best guess before a release are the same but for rounding.
SAME_LIMIT = 1e-12
# Bounds this close read the same in percents.
REACHED = 1e-6
# A mechanism that is not the best exactly is a channel of floats where it has more probabilities.
LARGEST_EXACT = 10_000


@dataclass(frozen=True)
class InferencePoint(Result):
    """The most accurate mechanism under a limit.

    Attributes
    ----------
    limits : how often each secret may be guessed at most
    accuracy : how often the best mechanism tells the use right (`exact` says that it is known exactly)
    upper : what no mechanism exceeds; equal to `accuracy` where that is exact
    vulnerabilities : how often each secret is guessed from this mechanism; at most 1e-11 above its limit
    mechanism : the channel that reaches it
    certificate : the proof, which verifies without a solver
    labels : inputs and outputs of the mechanism
    remark : where secret and use are one property, the compromise that no mechanism avoids; else empty
    first : the input with the first row of the certificate's mechanism; those before it, and those after its
        last, are told as its ends
    """

    limits: tuple[Any, ...]
    accuracy: Any
    upper: Any
    vulnerabilities: tuple[Any, ...]
    certificate: FrontierProof = field(repr=False)
    labels: tuple[Labels, Labels] = field(repr=False)
    remark: str = ""
    first: int = field(default=0, repr=False)

    @cached_property
    def mechanism(self) -> Channel:
        """The channel that reaches it."""
        inputs, outputs = self.labels
        table = self.certificate.mechanism
        if len(table) < len(inputs):
            table = table[np.clip(np.arange(len(inputs)) - self.first, 0, len(table) - 1)]
        if not self.exact and table.size > LARGEST_EXACT:
            table = table.astype(np.float64)
            table = table / table.sum(axis=1, keepdims=True)
        return Channel(table, inputs=inputs, outputs=outputs)

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, with the mechanism."""
        found = super().to_dict()
        del found["labels"], found["first"]
        return {**found, "mechanism": plain(self.mechanism)}

    @property
    def exact(self) -> bool:
        """Whether the accuracy is exact, or only enclosed by `accuracy` and `upper`."""
        return bool(self.accuracy == self.upper)

    def __float__(self) -> float:
        return float(self.accuracy)

    def __str__(self) -> str:
        guessed = " and ".join(in_percent(float(limit)) for limit in self.limits)
        guesses = (
            "best guess of the secret stays" if len(self.limits) == 1 else "best guesses of the secrets stay"
        )
        told, most = float(self.accuracy), float(self.upper)
        reached = "and this one reaches that"
        if most - told > REACHED:
            reached = f"and this one tells it with {in_percent(told)}"
        return (
            f"While the {guesses} at {guessed}, no mechanism tells the use right more often than with "
            f"{in_percent(most)}, {reached}.{self.remark and ' '}{self.remark}"
        )


@dataclass(frozen=True)
class InferenceFrontier(Result):
    """Points of the frontier, one for each limit asked for."""

    points: tuple[InferencePoint, ...]

    def __iter__(self) -> Iterator[InferencePoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, place: int) -> InferencePoint:
        return self.points[place]

    @property
    def accuracies(self) -> tuple[Any, ...]:
        """The accuracy at each limit."""
        return tuple(point.accuracy for point in self.points)

    def __str__(self) -> str:
        return "\n".join(
            f"{', '.join(f'{float(limit):.6g}' for limit in point.limits)}: {float(point.accuracy):.6g}"
            for point in self.points
        )


@dataclass(frozen=True)
class InferenceCurve(Result):
    """The whole frontier: accuracy is linear between these limits, and constant after the last.

    Attributes
    ----------
    limits, accuracies : the kinks; each accuracy is reached by the mechanism of its point
    slopes : how much accuracy a larger limit is worth, one for each piece
    within : how far above the line between two kinks the curve was looked for
    gap : how far above it can be anywhere, at most; proved
    points : the best mechanism at each kink with its certificate, whose bound is a line over all limits: the
        piece to its right
    """

    limits: tuple[float, ...]
    accuracies: tuple[float, ...]
    slopes: tuple[float, ...]
    within: float
    gap: float
    points: tuple[InferencePoint, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, without the mechanisms and proofs of the points."""
        found = super().to_dict()
        del found["points"]
        return found

    def at(self, limit: float) -> float:
        """The largest accuracy under a limit."""
        if limit < self.limits[0] - SAME_LIMIT:
            raise PolicyError(
                f"limit is {abbreviated(limit)}; the secret is guessed with {self.limits[0]:.6g} already"
            )
        return float(np.interp(limit, self.limits, self.accuracies))

    def __str__(self) -> str:
        count = len(self.slopes)
        pieces = "one straight piece" if count == 1 else f"{count} straight pieces"
        if self.gap > REACHED:
            pieces += f", drawn to within {in_percent(self.gap)}"
        first, last = (in_percent(float(value)) for value in (self.accuracies[0], self.accuracies[-1]))
        low, high = (in_percent(float(value)) for value in (self.limits[0], self.limits[-1]))
        return (
            f"The best accuracy rises from {first}, where nobody guesses the secret better than before "
            f"({low}), to "
            f"{last}, where it is guessed with {high}, in {pieces}."
        )
