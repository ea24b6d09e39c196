"""Additive noise: the output is the input plus noise, on the integers or around a cycle."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.signal import fftconvolve

from sievert.channels.channel import Channel
from sievert.channels.structured import StructuredChannel, closest_pair
from sievert.errors import ChannelError
from sievert.spaces.metric import Metric

__all__ = ["ConvolutionChannel", "CyclicChannel"]

FloatArray = NDArray[np.float64]
# Below this kernel length a direct convolution is faster, and it keeps every digit of small entries.
SHORT_KERNEL = 256


def _noise(kernel: Any) -> Channel:
    """The noise distribution, checked like the row of a channel."""
    try:
        return Channel([list(kernel)])
    except ChannelError as problem:
        raise ChannelError(f"kernel: {problem}") from None


class ConvolutionChannel(StructuredChannel):
    """Inputs 0…n-1, output = input + noise; P(noise = first + k) = kernel[k] (a Toeplitz matrix)."""

    def __init__(self, kernel: Any, size: int, first: int = 0) -> None:
        noise = _noise(kernel)
        if size < 1:
            raise ChannelError(f"size is {size!r}; a channel needs at least one input")
        length = noise.shape[1]
        super().__init__(noise.form, (size, size + length - 1), None, range(first, first + size + length - 1))
        self.noise = noise
        self.kernel: FloatArray = noise.rounded()[0]
        self.first = first

    def _entries(self) -> NDArray[Any]:
        n, m = self.shape
        data = np.zeros((n, m), dtype=self.noise._data.dtype)
        data[:] = self.noise._data.ravel()[0] * 0
        for i in range(n):
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
        return _convolve(np.asarray(vector, dtype=np.float64), self.kernel[::-1], "valid")

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: a convolution with the kernel."""
        return _convolve(np.asarray(vector, dtype=np.float64), self.kernel, "full")

    def column_maxima(self) -> FloatArray:
        """max_x C[x,y] for each output: a running maximum of the kernel."""
        n, length = self.shape[0], len(self.kernel)
        padded = np.concatenate([np.zeros(n - 1), self.kernel, np.zeros(n - 1)])
        # Output y sees kernel[y-n+1 … y].
        running = maximum_filter1d(padded, n, origin=-(n // 2) if n % 2 else -(n // 2 - 1) if n > 1 else 0)
        return np.asarray(running[: n + length - 1])

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs: inputs plus independent noise."""
        generator = np.random.default_rng(rng)
        starts = self._indices(xs)
        return starts + self.first + generator.choice(len(self.kernel), len(starts), p=self.kernel)

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """Shifted kernels have different supports, so ε is infinite for any two inputs at finite distance."""
        if self.shape[0] == 1:
            return 0.0, 0, 0, 0.0
        i, j, distance = closest_pair(metric)
        return (0.0 if math.isinf(distance) else math.inf), i, j, distance

    def __repr__(self) -> str:
        return f"Channel(input + noise on {len(self.kernel)} integers, {self.shape[0]} inputs)"


class CyclicChannel(StructuredChannel):
    """Output = input + noise modulo n (a circulant matrix)."""

    def __init__(self, kernel: Any, size: int, first: int = 0) -> None:
        noise = _noise(kernel)
        length = noise.shape[1]
        if length > size:
            raise ChannelError(
                f"kernel has {length} entries but the cycle only {size}; add up what wraps around"
            )
        super().__init__(noise.form, (size, size))
        padded = (
            np.zeros(size, dtype=noise._data.dtype)
            if noise.form == "float"
            else np.full(size, noise._data.ravel()[0] * 0, dtype=object)
        )
        padded[:length] = noise._data[0]
        noise = Channel._trusted(np.roll(padded, first)[None, :], noise.form)
        self.noise = noise
        self.kernel: FloatArray = noise.rounded()[0]

    def _entries(self) -> NDArray[Any]:
        size = self.shape[0]
        offsets = (np.arange(size)[None, :] - np.arange(size)[:, None]) % size
        return np.asarray(self.noise._data[0][offsets])

    def row(self, item: object) -> FloatArray:
        """Output distribution of one input: the kernel, rotated."""
        return np.roll(self.kernel, self.input_index(item))

    def matvec(self, vector: Any) -> FloatArray:
        """C·v by fast Fourier transform, O(n log n)."""
        values = np.asarray(vector, dtype=np.float64)
        spectrum = np.conj(np.fft.rfft(self.kernel)) * np.fft.rfft(values)
        return np.asarray(np.fft.irfft(spectrum, len(values)))

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C by fast Fourier transform, O(n log n)."""
        values = np.asarray(vector, dtype=np.float64)
        return np.asarray(np.fft.irfft(np.fft.rfft(self.kernel) * np.fft.rfft(values), len(values)))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs: inputs plus independent noise, around the cycle."""
        generator = np.random.default_rng(rng)
        starts = self._indices(xs)
        drawn = (starts + generator.choice(len(self.kernel), len(starts), p=self.kernel)) % self.shape[0]
        return np.asarray(drawn)

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """Pairs at the same offset are equally far apart: one rotation of the kernel for each offset."""
        edges = metric.edges
        if edges is None or not len(edges):
            return None
        offsets = (edges.pairs[:, 1] - edges.pairs[:, 0]) % self.shape[0]
        distinct = np.unique(offsets)
        if len(distinct) * self.shape[0] > 100_000_000:
            return None
        logs = self.noise.log_matrix[0]
        distances = np.array([_largest_ratio(logs, int(offset)) for offset in distinct])
        per_edge = distances[np.searchsorted(distinct, offsets)]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where((per_edge == 0) | np.isinf(edges.lengths), 0.0, per_edge / edges.lengths)
        k = int(np.argmax(ratios))
        return float(ratios[k]), int(edges.pairs[k, 0]), int(edges.pairs[k, 1]), float(edges.lengths[k])

    def __repr__(self) -> str:
        return f"Channel(input + noise around a cycle of {self.shape[0]})"


def _largest_ratio(logs: FloatArray, offset: int) -> float:
    shifted = np.roll(logs, offset)
    both = np.isneginf(logs) & np.isneginf(shifted)
    with np.errstate(invalid="ignore"):
        return float(np.abs(np.where(both, 0.0, logs - shifted)).max())


def _convolve(signal: FloatArray, kernel: FloatArray, mode: Literal["full", "valid"]) -> FloatArray:
    if min(len(signal), len(kernel)) <= SHORT_KERNEL:
        return np.convolve(signal, kernel, mode)
    return np.asarray(fftconvolve(signal, kernel, mode))
