"""Noise that is the same everywhere: channels whose answers and outputs are never listed.

A table of counts, a sum or a place on a map (`_planar`) has too many answers for a matrix, yet its law is
known: noise is independent in every cell and does not depend on the answer. Two-sided geometric noise, P(z)
proportional to α^|z| in each cell, makes tables c steps apart at most α^-c times as likely as each other, so
its ε is α's for the sensitivity of the table (Fernandes, Lem 3.6). On the plane P(z) is proportional to
e^(-ε·|z|); its normaliser is the same for every cell, so two cells are ε times their distance apart
(Fernandes, 3.13). Clamping to a public range is post-processing and costs nothing (Lem 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels._channel import Channel
from sievert.channels._constructors import Form
from sievert.channels._laws import NoiseLaw
from sievert.errors import ChannelError, MechanismError, TooLargeError
from sievert.numerics import generator_of, number
from sievert.policies import Policy, Sensitivity, Statistic

__all__ = [
    "GroupedSumNoise",
    "HistogramNoise",
    "NoiseChannel",
    "ScalarNoise",
    "TableNoise",
]

# Simulated noise stays within 64-bit integers; it gets this far only for eps below 1e-16.
FURTHEST = 2.0**62


class NoiseChannel(Channel):
    """Base of the channels without a list: noise of one law on every answer."""

    form: Form = "log"

    def __init__(self) -> None:
        self._cache = {}

    def words(self) -> str:
        """The noise in words."""
        raise NotImplementedError

    def log_probability(self, answer: Any, output: Any) -> float:
        """ln of the probability of one output for one answer."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        """Refused: answers and outputs are not listed."""
        raise self._unlisted()

    def finite(self) -> Channel:
        """Refused, unless the channel is small enough to be listed."""
        raise self._unlisted()

    def __getattr__(self, name: str) -> Never:
        raise self._unlisted() if name in ("_data", "inputs", "outputs") else AttributeError(name)

    def _unlisted(self) -> TooLargeError:
        return TooLargeError(
            f"{self.words()} has too many answers and outputs to list; .log_probability(answer, output) has "
            "single entries",
            size=math.inf,
        )

    @property
    def written(self) -> tuple[str, Fraction]:
        """The parameter of the noise on one step, by its name, as it was written."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The noise and its parameter as plain data."""
        name, value = self.written
        return {"form": self.words(), name: str(value)}

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"

    def __repr__(self) -> str:
        return f"Channel({self.words()})"


class TableNoise(NoiseChannel):
    """Independent noise of one law on every cell of a table, in whole steps.

    Parameters
    ----------
    statistic : what each value of a record adds to which cell: the answers, without a list
    law : of the noise in one cell, in steps
    limits : least and greatest number of steps, to which noisy cells are clamped (None: all integers)
    """

    def __init__(self, statistic: Statistic, law: NoiseLaw, limits: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.statistic, self.law, self.limits = statistic, law, limits

    @property
    def written(self) -> tuple[str, Fraction]:
        """The parameter of the law, by its name, as it was written."""
        return self.law.written

    def epsilon(self, policy: Policy, absence: bool = False) -> Fraction:
        """ε for one unit of the policy's distance, never below the true one; see `Statistic.sensitivity`."""
        return self.eps_of(self.statistic.sensitivity(policy, absence))

    @property
    def keeps_eps(self) -> bool:
        """Whether some ε is large enough for any two tables; Gaussian noise keeps none."""
        return self.law.eps_of(Fraction(1)) is not None

    def eps_of(self, sensitivity: Sensitivity) -> Fraction:
        """ε for one unit of distance, the largest of a record's moves; refused where the law has none."""
        found = (self.eps_of_steps(Fraction(move.steps)) / move.length for move in sensitivity.moves)
        return max(found, default=Fraction(0))

    def nats_of(self, sensitivity: Sensitivity) -> float:
        """The same to the last digits of a float; inf where no ε is large enough."""
        found = (self.law.nats_of(Fraction(move.steps)) / float(move.length) for move in sensitivity.moves)
        return max(found, default=0.0)

    def eps_of_steps(self, steps: Fraction) -> Fraction:
        """ε of tables so many steps apart; refused where the law has none."""
        found = self.law.eps_of(steps)
        if found is None:
            raise MechanismError(
                f"{self.law.words()} keeps no ε: however large ε is, outputs far out in the tails exceed it"
            )
        return found

    def rho_of(self, moves: Iterable[int]) -> Fraction:
        """The ρ of a table whose cells move by so many steps each: over independent cells it adds up."""
        return sum((self.law.rho_of(steps) for steps in moves), Fraction(0))

    def log_probability(self, answer: Any, output: Any) -> float:
        """ln P(output | answer); both give the number of steps in every cell, in the statistic's order."""
        true, noisy = self._cells(answer, "answer"), self._cells(output, "output")
        return float(np.sum(self.log_cells(true.astype(np.float64), noisy.astype(np.float64))))

    def log_cells(self, true: FloatArray, noisy: FloatArray) -> FloatArray:
        """ln P(noisy | true) of each cell, in steps."""
        limits = self.limits
        with np.errstate(invalid="ignore"):
            inner = self.law.log_pmf(np.where(noisy == true, 0.0, noisy - true))
        if limits is None:
            return inner
        low, high = limits
        if low == high:
            return np.where(noisy == low, 0.0, -np.inf)
        inner = np.where(noisy == low, self.law.log_upper(true - low), inner)
        inner = np.where(noisy == high, self.law.log_upper(high - true), inner)
        return np.where((noisy < low) | (noisy > high), -np.inf, inner)

    def _cells(self, given: Any, argument: str) -> NDArray[np.int64]:
        """Steps of every cell."""
        found = np.atleast_1d(np.asarray(given))
        if found.dtype.kind not in "iu" or found.shape != (len(self.statistic.cells),):
            raise ChannelError(
                f"{argument} is {given!r}; give a whole number of steps for each of the "
                f"{len(self.statistic.cells)} cells"
            )
        return np.asarray(found, dtype=np.int64)

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate noisy tables, one for each table of steps (floating point; not for private releases)."""
        generator = generator_of(rng)
        tables = np.stack([self._cells(table, "xs") for table in xs])
        noise = self.law.simulated(generator, tables.size).reshape(tables.shape)
        noisy = tables + np.clip(noise, -FURTHEST, FURTHEST)
        return np.asarray(noisy if self.limits is None else np.clip(noisy, *self.limits)).astype(np.int64)

    def words(self) -> str:
        """The noise in words."""
        step, clamped = self.statistic.step, ""
        if self.limits is not None:
            low, high = (number(limit * step) for limit in self.limits)
            clamped = f", clamped to {low} … {high}"
        return f"{self.law.words()} for each step of {number(step)}{clamped}"


class ScalarNoise(TableNoise):
    """Noise on one number: a count or a sum."""


class HistogramNoise(TableNoise):
    """Noise in every cell of a histogram."""


class GroupedSumNoise(TableNoise):
    """Noise in every cell of a table of sums, to which records add more than one step."""
