"""Additive noise: the output is the input plus noise, on the integers or around a cycle."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels._channel import Channel, Level
from sievert.channels._structured import StructuredChannel, closest_pair, largest_rate, rate
from sievert.errors import ChannelError
from sievert.numerics import abbreviated, generator_of, is_whole, taken, whole
from sievert.spaces import Metric

__all__ = ["ConvolutionChannel", "CyclicChannel"]
# Up to this many products a convolution is computed directly, which keeps every digit of small entries;
# beyond, by Fourier transform, which is off by about 1e-16 of the largest entry.
LARGEST_DIRECT = 2_000_000_000
LARGEST_OFFSETS = 100_000_000


def _noise(kernel: Any) -> Channel:
    """The noise distribution, checked like the row of a channel."""
    table: Any = np.atleast_2d(kernel) if isinstance(kernel, np.ndarray) else None
    if table is None:
        table = [taken("kernel", kernel, ChannelError, "probabilities, one a noise value")]
    try:
        return Channel(table)
    except ChannelError as problem:
        raise ChannelError(f"kernel: {problem}") from None


def _integer(name: str, value: object) -> int:
    if not is_whole(value):
        raise ChannelError(f"{name} is {abbreviated(value)}; it must be a whole number")
    return int(value)


class ConvolutionChannel(StructuredChannel):
    """Inputs 0…n-1, output = input + noise; P(noise = first + k) = kernel[k] (a Toeplitz matrix)."""

    def __init__(self, kernel: Any, size: int, first: int = 0) -> None:
        noise = _noise(kernel)
        count, start = whole("size", size, ChannelError), _integer("first", first)
        total = count + noise.shape[1] - 1
        super().__init__(noise.form, (count, total), None, range(start, start + total))
        self.noise = noise
        self.kernel: FloatArray = noise.rounded()[0]
        self.first = start

    def _entries(self) -> NDArray[Any]:
        data = np.zeros(self.shape, dtype=self.noise._data.dtype)
        if self.form == "exact":
            data.fill(Fraction(0))
        for i in range(len(data)):
            data[i, i : i + len(self.kernel)] = self.noise._data[0]
        return data

    def row(self, item: object) -> FloatArray:
        """Output distribution of one input: the kernel, shifted."""
        row = np.zeros(self.shape[1])
        start = self.input_index(item)
        row[start : start + len(self.kernel)] = self.kernel
        return row

    def matvec(self, vector: Any) -> FloatArray:
        """C·v: a correlation with the kernel."""
        return convolve(self._vector(vector, "outputs"), self.kernel[::-1], "valid")

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: a convolution with the kernel."""
        return convolve(self._vector(vector, "inputs"), self.kernel, "full")

    def output_probabilities(self, belief: FloatArray) -> FloatArray:
        """Probability of each output; what a Fourier transform leaves of an impossible one is 0."""
        weights = np.maximum(self.rmatvec(belief), 0.0)
        ways = convolve((belief > 0).astype(np.float64), (self.kernel > 0).astype(np.float64), "full")
        weights[ways < 0.5] = 0.0
        return weights

    def column_maxima(self) -> NDArray[Any]:
        """max_x C[x,y] for each output: output y sees kernel[y-n+1 … y]. Exact for an exact kernel."""
        return self._running(max)

    def column_minima(self) -> NDArray[Any]:
        """min_x C[x,y] for each output."""
        return self._running(min)

    def _running(self, extreme: Callable[..., Any]) -> NDArray[Any]:
        from scipy.ndimage import maximum_filter1d, minimum_filter1d

        n, m = self.shape
        if self.form == "exact":
            padded = [Fraction(0)] * (n - 1) + list(self.noise._data[0]) + [Fraction(0)] * (n - 1)
            return _running_extreme(padded, n, extreme)
        float_filter = maximum_filter1d if extreme is max else minimum_filter1d
        padded_floats = np.concatenate([np.zeros(n - 1), self.kernel, np.zeros(n - 1)])
        # The filter's window is centred; the window that starts at y has its centre at y + n//2.
        return np.asarray(float_filter(padded_floats, n)[n // 2 : n // 2 + m])

    def furthest_offset(self) -> tuple[int, Any]:
        """The offset of two inputs whose rows overlap least (Σ_y min), and that overlap."""
        length, last = len(self.kernel), self.shape[0] - 1
        if last >= length:
            return length, Fraction(0)
        row = self.noise._data[0]
        overlaps = [np.minimum(row[k:], row[: length - k]).sum() for k in range(last + 1)]
        k = min(range(last + 1), key=overlaps.__getitem__)
        return k, overlaps[k]

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs: inputs plus independent noise."""
        generator = generator_of(rng)
        starts = self.input_indices(xs)
        return starts + self.first + generator.choice(len(self.kernel), len(starts), p=self.kernel)

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Shifted kernels have different supports, so ε is infinite for any two inputs at finite distance."""
        if self.shape[0] == 1:
            return 0.0, 0, 0, 0.0
        i, j, distance = closest_pair(metric)
        return (0.0 if math.isinf(distance) else math.inf), i, j, distance

    def __repr__(self) -> str:
        return f"Channel(input + noise on {len(self.kernel)} integers, {self.shape[0]} inputs)"


class CyclicChannel(StructuredChannel):
    """Output = input + noise modulo n (a circulant matrix); `kernel[k]` = P(noise = k mod n)."""

    def __init__(self, kernel: Any, size: int, first: int = 0) -> None:
        noise = _noise(kernel)
        length, count = noise.shape[1], whole("size", size, ChannelError)
        if length > count:
            raise ChannelError(
                f"kernel has {length} entries but the cycle only {count}; add up what wraps around"
            )
        super().__init__(noise.form, (count, count))
        padded = np.zeros(count, dtype=noise._data.dtype)
        if noise.form == "exact":
            padded.fill(Fraction(0))
        padded[:length] = noise._data[0]
        turned = np.roll(padded, _integer("first", first) % count)
        self.noise = Channel.trusted(turned[None, :], noise.form)
        self.kernel: FloatArray = self.noise.rounded()[0]

    def _entries(self) -> NDArray[Any]:
        size = self.shape[0]
        offsets = (np.arange(size)[None, :] - np.arange(size)[:, None]) % size
        return np.asarray(self.noise._data[0][offsets])

    def row(self, item: object) -> FloatArray:
        """Output distribution of one input: the kernel, rotated."""
        return np.roll(self.kernel, self.input_index(item))

    def matvec(self, vector: Any) -> FloatArray:
        """C·v: a correlation with the kernel around the cycle."""
        return self._around(self._vector(vector, "outputs"), np.roll(self.kernel[::-1], 1))

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: a convolution with the kernel around the cycle."""
        return self._around(self._vector(vector, "inputs"), self.kernel)

    def _around(self, values: FloatArray, kernel: FloatArray) -> FloatArray:
        """A convolution whose end is added to its beginning; zeros around the kernel cost nothing."""
        size = len(values)
        reached = np.flatnonzero(kernel)
        first, last = int(reached[0]), int(reached[-1])
        full = convolve(values, kernel[first : last + 1], "full")
        found = full[:size].copy()
        found[: len(full) - size] += full[size:]
        return np.roll(found, first)

    def furthest_offset(self) -> tuple[int, Any] | None:
        """As for noise on the integers, a rotation for each offset; None where that takes too long."""
        size = self.shape[0]
        if size * (size // 2 + 1) > LARGEST_OFFSETS:
            return None
        row = self.noise._data[0]
        overlaps = [np.minimum(row, np.roll(row, k)).sum() for k in range(size // 2 + 1)]
        k = min(range(len(overlaps)), key=overlaps.__getitem__)
        return k, overlaps[k]

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs: inputs plus independent noise, around the cycle."""
        generator = generator_of(rng)
        starts = self.input_indices(xs)
        drawn = (starts + generator.choice(len(self.kernel), len(starts), p=self.kernel)) % self.shape[0]
        return np.asarray(drawn)

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Pairs at the same offset are equally far apart: one rotation of the kernel for each offset."""
        logs, size = self.noise.log_matrix[0], self.shape[0]
        if metric.uniform_distance is not None:
            # Some input reaches a given output by the likeliest noise, another one by the least likely.
            high, low = int(np.argmax(logs)), int(np.argmin(logs))
            gap = float(logs[high] - logs[low])
            return rate(gap, metric.uniform_distance), 0, (high - low) % size, metric.uniform_distance
        edges = metric.edges
        if edges is None or not len(edges):
            return None
        offsets = (edges.pairs[:, 1] - edges.pairs[:, 0]) % size
        distinct = np.unique(offsets)
        if len(distinct) * size > LARGEST_OFFSETS:
            return None
        gaps = np.array([_largest_ratio(logs, int(offset)) for offset in distinct])
        return largest_rate(gaps[np.searchsorted(distinct, offsets)], edges.pairs, edges.lengths)

    def __repr__(self) -> str:
        return f"Channel(input + noise around a cycle of {self.shape[0]})"


def _running_extreme(values: list[Fraction], window: int, extreme: Callable[..., Any]) -> NDArray[Any]:
    """Extreme of each window, each value entering and leaving a queue once."""
    found = np.empty(len(values) - window + 1, dtype=object)
    queue: deque[int] = deque()
    for position, value in enumerate(values):
        while queue and extreme(values[queue[-1]], value) == value:
            queue.pop()
        queue.append(position)
        if queue[0] <= position - window:
            queue.popleft()
        if position >= window - 1:
            found[position - window + 1] = values[queue[0]]
    return found


def _largest_ratio(logs: FloatArray, offset: int) -> float:
    shifted = np.roll(logs, offset)
    both = np.isneginf(logs) & np.isneginf(shifted)
    with np.errstate(invalid="ignore"):
        return float(np.abs(np.where(both, 0.0, logs - shifted)).max())


def convolve(signal: FloatArray, kernel: FloatArray, mode: Literal["full", "valid"]) -> FloatArray:
    """A convolution, directly or by Fourier transform."""
    if len(signal) * len(kernel) <= LARGEST_DIRECT:
        return np.convolve(signal, kernel, mode)
    from scipy.fft import irfft, next_fast_len, rfft

    length = len(signal) + len(kernel) - 1
    size = next_fast_len(length, real=True)
    full: FloatArray = irfft(rfft(signal, size) * rfft(kernel, size), size)[:length]
    outside = min(len(signal), len(kernel)) - 1 if mode == "valid" else 0
    return full[outside : length - outside]
