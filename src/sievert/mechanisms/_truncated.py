"""The truncated geometric on consecutive integers, known by its parameter alone.

C[x, y] = w_y·alpha^|x-y| with w = 1/(1+alpha) at both ends and (1-alpha)/(1+alpha) inside. Sums against
alpha^|x-y| are one recursion from the left and one from the right, so products cost O(n).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtbsv

from sievert.arrays import FloatArray
from sievert.channels import EpsilonOrAlpha, Level, StructuredChannel, largest_rate, rate, sample_geometric
from sievert.numerics import generator_of, log_of
from sievert.sampling import (
    BitSource,
    ChannelSampler,
    Sampler,
    Timing,
    TruncatedGeometricSampler,
    exact_sampler,
    ratio_of,
)
from sievert.spaces import EvenNumbers, Metric

__all__ = ["TruncatedGeometricChannel", "takes_too_long"]
# A witness ratio of more bits than this is not written out.
LARGEST_RATIO_BITS = 8000
# Entries of a matrix that is listed as fractions, and bits squared over all of them: some three seconds.
LARGEST_LISTED, MOST_WORK = 2_000_000, 240_000_000_000


def takes_too_long(size: int, alpha: Fraction) -> bool:
    """Whether matrices that are still listed have entries of so many digits that exact sums take seconds.

    An entry has as many digits as alpha times the distance, and an addition costs their square.
    """
    bits = size * alpha.denominator.bit_length()
    return size * size <= LARGEST_LISTED and size * size * bits * bits > MOST_WORK


class TruncatedGeometricChannel(StructuredChannel):
    """Geometric noise clamped to its n ≥ 2 consecutive inputs."""

    def __init__(
        self,
        size: int,
        level: EpsilonOrAlpha,
        inputs: Iterable[object],
        outputs: Iterable[object] | None = None,
    ) -> None:
        form = "log" if level.alpha is None or takes_too_long(size, level.alpha) else "exact"
        labels = inputs if isinstance(inputs, range | EvenNumbers) else list(inputs)
        super().__init__(form, (size, size), labels, labels if outputs is None else outputs)  # type: ignore[arg-type]
        self.level = level

    def weights(self) -> tuple[Any, Any]:
        """The weight of an end and of an inner output: fractions where alpha is one."""
        if self.level.alpha is not None:
            return 1 / (1 + self.level.alpha), (1 - self.level.alpha) / (1 + self.level.alpha)
        # (1-alpha)/(1+alpha) keeps its digits for tiny eps as a hyperbolic tangent.
        inner = math.tanh(self.level.eps / 2)
        return (1 + inner) / 2, inner

    def weight_vector(self) -> FloatArray:
        """The weight of every output."""
        end, inner = self.weights()
        weights = np.full(self.shape[1], float(inner))
        weights[[0, -1]] = float(end)
        return weights

    def kernel_sums(self, values: FloatArray, order: float = 1.0) -> FloatArray:
        """Σ_x values[x]·alpha^(order·|x-y|) for every y, in O(n)."""
        decay = math.exp(-self.level.eps * order)
        # s[y] = values[y] + decay·s[y-1] from the left, and its mirror image: bands of 1 and -decay.
        band = np.full((2, len(values)), -decay, order="F")
        left = dtbsv(1, band, values, lower=1, diag=1)
        right = dtbsv(1, band, values[::-1], lower=1, diag=1)[::-1]
        return np.asarray(left + right - values)

    def mean_shifts(self) -> FloatArray:
        """Expected |output - input| of each input; P(shift ≥ k) = alpha^k/(1+alpha) on either side."""
        steps = np.arange(1, self.shape[0])
        with np.errstate(over="ignore"):  # beyond the largest float, a power is 0
            powers = np.exp(-self.level.eps * steps) / (1 + math.exp(-self.level.eps))
        reach = np.concatenate([[0.0], np.cumsum(powers)])
        return np.asarray(reach + reach[::-1])

    def _entries(self) -> NDArray[Any]:
        size = self.shape[0]
        distances = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        if self.form == "log":
            with np.errstate(over="ignore"):  # beyond the largest float, an entry is 0
                return np.asarray(log_of(self.weight_vector()) - self.level.eps * distances)
        assert self.level.alpha is not None
        end, inner = self.weights()
        # Each product of a power with a weight is computed once; 0^0 = 1.
        powers = [self.level.alpha**distance for distance in range(size)]
        inside, outside = (_objects([weight * power for power in powers]) for weight in (inner, end))
        data = inside[distances]
        data[:, [0, -1]] = outside[distances[:, [0, -1]]]
        return np.asarray(data)

    def _relative_entries(self) -> FloatArray:
        """-ε times the distance."""
        if math.isinf(self.level.eps):
            return super()._relative_entries()
        positions = np.arange(self.shape[0], dtype=np.float64)
        with np.errstate(over="ignore"):
            return np.asarray(-self.level.eps * np.abs(np.subtract.outer(positions, positions)))

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input."""
        distances = np.abs(np.arange(self.shape[1]) - self.input_index(item))
        if self.level.alpha is None:
            with np.errstate(over="ignore"):  # beyond the largest float, an entry is 0
                return np.asarray(np.exp(log_of(self.weight_vector()) - self.level.eps * distances))
        return self.weight_vector() * float(self.level.alpha) ** distances

    def matvec(self, vector: Any) -> FloatArray:
        """C·v in O(n)."""
        return self.kernel_sums(self.weight_vector() * self._vector(vector, "outputs"))

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C in O(n)."""
        return self.weight_vector() * self.kernel_sums(self._vector(vector, "inputs"))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs: the difference of two geometric draws, clamped."""
        generator = generator_of(rng)
        starts = self.input_indices(xs)
        noise = sample_geometric(generator, self.level.eps, len(starts))
        drawn = np.clip(starts + noise, 0, self.shape[1] - 1)
        return self._named(drawn.astype(np.intp))

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Two inputs are eps·|x - x'| apart (Fernandes, Sec 4.7.1)."""
        last = self.shape[0] - 1
        if metric.uniform_distance is not None:
            return rate(self.level.eps * last, metric.uniform_distance), 0, last, metric.uniform_distance
        edges = metric.edges
        if edges is None or not len(edges):
            return None
        steps = np.abs(edges.pairs[:, 1] - edges.pairs[:, 0])
        with np.errstate(over="ignore"):
            gaps = np.where(steps == 0, 0.0, self.level.eps * np.maximum(steps, 1))
        return largest_rate(gaps, edges.pairs, edges.lengths)

    def witness(self, i: int, j: int) -> tuple[int, int, int, Fraction | None]:
        """Every output at or before both inputs tells them apart best."""
        low, high = min(i, j), max(i, j)
        alpha = self.level.alpha
        short = alpha and (high - low) * alpha.denominator.bit_length() <= LARGEST_RATIO_BITS
        return low, high, 0, 1 / alpha ** (high - low) if alpha and short else None

    def __repr__(self) -> str:
        alpha = self.level.alpha
        parameter = f"alpha={alpha}" if alpha is not None else f"eps={self.level.eps:g}"
        return f"Channel(truncated geometric, {self.shape[0]} values, {parameter})"


@exact_sampler.register
def _exactly(channel: TruncatedGeometricChannel, timing: Timing, source: BitSource) -> Sampler:
    positions = TruncatedGeometricSampler(ratio_of(channel.level), 0, channel.shape[0] - 1, timing, source)
    return ChannelSampler(channel, positions)


def _objects(values: list[Fraction]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
