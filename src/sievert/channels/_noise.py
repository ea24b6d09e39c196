"""Noise that is the same everywhere: channels whose answers and outputs are never listed.

A table of counts, a sum or a place on a map has too many answers for a matrix, yet its law is known: noise is
independent in every cell and does not depend on the answer. Two-sided geometric noise, P(z) proportional to
α^|z| in each cell, makes tables c steps apart at most α^-c times as likely as each other, so its ε is α's
for the sensitivity of the table (Fernandes, Lem 3.6). On the plane P(z) is proportional to e^(-ε·|z|); its
normaliser is the same for every cell, so two cells are ε times their distance apart (Fernandes, 3.13).
Clamping to a public range is post-processing and costs nothing (Lem 3.3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels._channel import Channel
from sievert.channels._making import Form
from sievert.channels._structured import Privacy
from sievert.errors import ChannelError, TooLargeError
from sievert.numerics import generator_of, number
from sievert.policies import Policy, Sensitivity, Statistic
from sievert.spaces import Region

__all__ = [
    "CellNoise",
    "NoiseChannel",
    "PlanarNoise",
    "SumNoise",
    "TableNoise",
    "log_tail",
    "two_sided_noise",
]

# Simulated noise stays within 64-bit integers; it gets this far only for eps below 1e-16.
FURTHEST = 2.0**62
# Cells of a region whose clamped planar noise is listed.
LARGEST_LISTED = 2000
# Planar noise further than this many times 1/ε has a probability below 1e-15.
TAIL = 40
LARGEST_WINDOW = 4000


class NoiseChannel(Channel):
    """Base of the channels without a list: noise of one law on every answer.

    Attributes
    ----------
    level : ε, or the ratio α = e^-ε, of one step of the answer
    """

    form: Form = "log"

    def __init__(self, level: Privacy) -> None:
        self.level = level
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

    def to_dict(self) -> dict[str, Any]:
        """The noise and its parameter as plain data."""
        name, value = self.level.written
        return {"form": self.words(), name: str(value)}

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"

    def __repr__(self) -> str:
        return f"Channel({self.words()})"


class TableNoise(NoiseChannel):
    """Independent two-sided geometric noise on every cell of a table, in whole steps.

    Parameters
    ----------
    statistic : what each value of a record adds to which cell: the answers, without a list
    level : ε, or α, of one step in one cell
    limits : least and greatest number of steps, to which noisy cells are clamped (None: all integers)
    """

    def __init__(self, statistic: Statistic, level: Privacy, limits: tuple[int, int] | None = None) -> None:
        super().__init__(level)
        self.statistic, self.limits = statistic, limits

    def epsilon(self, policy: Policy, absence: bool = False) -> Fraction:
        """ε for one unit of the policy's distance, never below the true one; see `Statistic.sensitivity`."""
        return self.eps_of(self.statistic.sensitivity(policy, absence))

    def eps_of(self, sensitivity: Sensitivity) -> Fraction:
        """ε where one unit of distance moves the table by so many steps."""
        return self.level.times(sensitivity.steps)

    def log_probability(self, answer: Any, output: Any) -> float:
        """ln P(output | answer); both give the number of steps in every cell, in the statistic's order."""
        true, noisy = self._cells(answer, "answer"), self._cells(output, "output")
        return float(np.sum(self._log_noise(true.astype(np.float64), noisy.astype(np.float64))))

    def _log_noise(self, true: FloatArray, noisy: FloatArray) -> FloatArray:
        """ln P(noisy | true) of each cell."""
        eps, limits = self.level.eps, self.limits
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.log(np.tanh(eps / 2)) - np.where(noisy == true, 0.0, eps * np.abs(noisy - true))
        if limits is None:
            return np.asarray(inner)
        low, high = limits
        if low == high:
            return np.where(noisy == low, 0.0, -np.inf)
        inner = np.where(noisy == low, log_tail(true - low, eps), inner)
        inner = np.where(noisy == high, log_tail(high - true, eps), inner)
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
        noise = two_sided_noise(generator, self.level.eps, tables.size).reshape(tables.shape)
        noisy = tables + np.clip(noise, -FURTHEST, FURTHEST)
        return np.asarray(noisy if self.limits is None else np.clip(noisy, *self.limits)).astype(np.int64)

    def words(self) -> str:
        """The noise in words."""
        name, value = self.level.written
        per = f"alpha = {value}" if name == "alpha" else f"ε = {_short(value)}"
        step, clamped = self.statistic.step, ""
        if self.limits is not None:
            low, high = (number(limit * step) for limit in self.limits)
            clamped = f", clamped to {low} … {high}"
        return f"discrete Laplace noise, {per} for each step of {number(step)}{clamped}"

    def record_guess(self, policy: Policy) -> tuple[float, float] | None:
        """Best guess about one record, all of whose values are equally likely, before and after.

        For someone who knows all other records; None where no closed form is known.
        """
        return None


class SumNoise(TableNoise):
    """Noise on one number: a count or a sum."""


class CellNoise(TableNoise):
    """Noise in every cell of a histogram."""

    def record_guess(self, policy: Policy) -> tuple[float, float] | None:
        """Best guess about one record where every value has a cell of its own.

        A record of value v multiplies the likelihood of the noise by e^ε₀ where cell v came out above the
        count of the others, and by e^-ε₀ where it did not. So the guess is right with probability
        (e^ε₀·(1 - q) + e^-ε₀·q)/n, where q = (1 + e^-ε₀)^-n is the chance that no cell came out above.
        """
        values, rate = len(self.statistic.cells), self.level.eps
        plain = policy.hides_any_two and not policy.constrained
        if not plain or values != len(policy.values):
            return None
        none_above = math.exp(-values * math.log1p(math.exp(-rate)))
        after = (math.exp(rate) * (1 - none_above) + math.exp(-rate) * none_above) / values
        return 1 / values, min(1.0, after)


class PlanarNoise(NoiseChannel):
    """Noise of P(z) proportional to e^(-ε·|z|) on the cells of a region, clamped to it.

    Parameters
    ----------
    region : the cells
    eps : nats for each metre between the centres of cells
    """

    def __init__(self, region: Region, eps: Fraction) -> None:
        self.region, self.eps = region, eps
        step = eps * Fraction(str(region.cell))
        super().__init__(Privacy(float(step), None, exact_eps=step))

    def log_probability(self, answer: Any, output: Any) -> float:
        """ln P(output | answer) for cells (row, column) of the region."""
        chance = self.law(answer)[tuple(self._cell(output, "output"))]
        return math.log(chance) if chance > 0 else -math.inf

    def law(self, answer: Any) -> FloatArray:
        """The probability of every cell of the region, [rows, columns], for a place in one cell."""
        row, column = self._cell(answer, "answer")
        rows, columns = self.region.shape
        weights, reach = self._window()
        by_row = _collapsed(weights, reach - row, rows)
        return _collapsed(by_row.T, reach - column, columns).T

    def _window(self) -> tuple[FloatArray, int]:
        """Probabilities of all displacements up to a reach beyond which they add up to less than 1e-15."""
        reach = max(self.region.shape) + math.ceil(TAIL / self.level.eps)
        if reach > LARGEST_WINDOW:
            raise TooLargeError(
                f"ε = {self.level.eps:.3g} for a cell's width spreads the noise over more than "
                f"{LARGEST_WINDOW} cells; use larger cells",
                size=reach,
            )
        if "window" not in self._cache:
            offsets = np.arange(-reach, reach + 1)
            weights = np.exp(-self.level.eps * np.hypot(*np.meshgrid(offsets, offsets, indexing="ij")))
            self._cache["window"] = weights / weights.sum()
        return self._cache["window"], reach

    def _cell(self, given: Any, argument: str) -> tuple[int, int]:
        found = np.asarray(given)
        inside = found.shape == (2,) and found.dtype.kind in "iu"
        if not inside or (found < 0).any() or (found >= self.region.shape).any():
            rows, columns = self.region.shape
            raise ChannelError(
                f"{argument} is {given!r}; give row and column of one of {rows} by {columns} cells"
            )
        return int(found[0]), int(found[1])

    def finite(self) -> Channel:
        """The clamped noise as a matrix over the cells, row by row (floats), for small regions."""
        if len(self.region) > LARGEST_LISTED:
            raise TooLargeError(
                f"the region has {len(self.region)} cells; all pairs of at most {LARGEST_LISTED} are listed: "
                "use larger cells",
                size=len(self.region),
            )
        weights, reach = self._window()
        rows, columns = self.region.shape
        matrix = np.empty((rows, columns, rows, columns))
        for r in range(rows):
            by_row = _collapsed(weights, reach - r, rows)
            for c in range(columns):
                matrix[r, c] = _collapsed(by_row.T, reach - c, columns).T
        labels = self.region.labels
        return Channel(matrix.reshape(len(labels), len(labels)), labels, labels)

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate noisy cells, [places, 2] (floating point; not for private releases)."""
        generator = generator_of(rng)
        weights, reach = self._window()
        cells = np.stack([self._cell(cell, "xs") for cell in xs])
        drawn = generator.choice(weights.size, len(cells), p=weights.ravel())
        noise = np.stack(np.unravel_index(drawn, weights.shape), axis=1) - reach
        return np.asarray(np.clip(cells + noise, 0, np.array(self.region.shape) - 1))

    def words(self) -> str:
        """The noise in words."""
        cells = f"on cells of {self.region.cell:g} m, clamped to the region"
        return f"planar geometric noise, ε = {float(self.eps):g} for each metre, {cells}"


def log_tail(k: FloatArray, eps: float) -> FloatArray:
    """log P(noise ≥ k): alpha^k/(1+alpha) for k ≥ 0, 1 - alpha^(1-k)/(1+alpha) for k < 0."""
    normaliser = math.log1p(math.exp(-eps))
    upper = -eps * np.maximum(k, 0.0) - normaliser
    lower = np.log1p(-np.exp(-eps * (1 - np.minimum(k, 0.0)) - normaliser))
    return np.where(k >= 0, upper, lower)


def two_sided_noise(generator: np.random.Generator, eps: float, count: int) -> FloatArray:
    """Differences of two geometric draws, P(draw ≥ k) = e^(-eps·k); as floats, since tiny eps draws far."""
    if eps == 0:
        return np.where(generator.random(count) < 0.5, -np.inf, np.inf)
    draws = np.floor(generator.standard_exponential((2, count)) / eps)
    return np.asarray(draws[0] - draws[1])


def _collapsed(weights: FloatArray, start: int, size: int) -> FloatArray:
    """`size` consecutive rows from `start`, the first and last with everything beyond them added."""
    if size == 1:
        return np.asarray(weights.sum(axis=0, keepdims=True))
    kept = weights[start : start + size].copy()
    kept[0] += weights[:start].sum(axis=0)
    kept[-1] += weights[start + size :].sum(axis=0)
    return kept


def _short(value: Fraction) -> str:
    return str(value) if len(str(value)) <= 12 else number(value)
