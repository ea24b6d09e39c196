"""What planar noise makes of a distribution over the cells of a region, by Fourier transforms.

Inside the region the outputs are a convolution on the plane. What is clamped to a side is, row by row, a
convolution along it, and what is clamped to a corner a weighted sum. So the whole product costs
O(n·log n) for n cells. A transform of m numbers is off by at most 7·u·log₂ m of its length (Higham, Accuracy
and Stability, Thm 24.2), so that no output is off by more than `error`, in absolute terms.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import irfft, irfft2, next_fast_len, rfft, rfft2

from sievert.arrays import FloatArray
from sievert.channels._plane_kernels import LogKernels
from sievert.numerics import UNIT

__all__ = ["PlaneProducts"]


class PlaneProducts:
    """Products with the law of clamped planar noise, for arrays [rows, columns] over the region."""

    def __init__(self, kernels: LogKernels) -> None:
        self.shape = rows, columns = kernels.shape
        self.size = next_fast_len(2 * rows - 1, real=True), next_fast_len(2 * columns - 1, real=True)
        inside = np.exp(kernels.inside)
        self._inside = rfft2(_around(_around(inside, self.size[1]).T, self.size[0]).T)
        self._by_row = rfft(_around(np.exp(kernels.side_row), self.size[1]), axis=1)
        self._by_column = rfft(_around(np.exp(kernels.side_column).T, self.size[0]), axis=1)
        self._corner = np.exp(kernels.corner)
        # The largest length of a kernel, over both directions of an axis.
        sides = (np.exp(2 * kernels.side_row).sum(axis=1), np.exp(2 * kernels.side_column).sum(axis=0))
        self._length = 2 * math.sqrt(max(float((inside**2).sum()), *(float(side.max()) for side in sides)))

    def forward(self, weights: FloatArray) -> FloatArray:
        """Σ_x weights_x·P(y | x) for every output y."""
        rows, columns = self.shape
        found = irfft2(rfft2(weights, self.size) * self._inside, self.size)[:rows, :columns]
        if rows > 1:
            along = rfft(weights, self.size[1], axis=1)
            for end, flipped in ((0, along), (-1, along[::-1])):
                found[end] = irfft((flipped * self._by_row).sum(axis=0), self.size[1])[:columns]
        if columns > 1:
            along = rfft(weights.T, self.size[0], axis=1)
            for end, flipped in ((0, along), (-1, along[::-1])):
                found[:, end] = irfft((flipped * self._by_column).sum(axis=0), self.size[0])[:rows]
        if rows > 1 and columns > 1:
            for row in (0, -1):
                for column in (0, -1):
                    found[row, column] = float((_seen_from(weights, row, column) * self._corner).sum())
        return np.maximum(found, 0.0)

    def backward(self, values: FloatArray) -> FloatArray:
        """Σ_y P(y | x)·values_y for every cell x."""
        rows, columns = self.shape
        inner = values.astype(np.float64, copy=True)
        found = np.zeros(self.shape)
        corners = rows > 1 and columns > 1
        within = slice(1, -1) if corners else slice(None)
        if rows > 1:
            for end in (0, -1):
                side = np.zeros(columns)
                side[within] = inner[end, within]
                part = irfft(rfft(side, self.size[1]) * self._by_row, self.size[1], axis=1)[:, :columns]
                found += part if end == 0 else part[::-1]
        if columns > 1:
            for end in (0, -1):
                side = np.zeros(rows)
                side[within] = inner[within, end]
                part = irfft(rfft(side, self.size[0]) * self._by_column, self.size[0], axis=1)[:, :rows]
                found += part.T if end == 0 else part.T[:, ::-1]
        if corners:
            for row in (0, -1):
                for column in (0, -1):
                    found += values[row, column] * _seen_from(self._corner, row, column)
        if rows > 1:
            inner[[0, -1]] = 0.0
        if columns > 1:
            inner[:, [0, -1]] = 0.0
        found += irfft2(rfft2(inner, self.size) * self._inside, self.size)[:rows, :columns]
        return np.maximum(found, 0.0)

    def error(self, weights: FloatArray) -> float:
        """No entry of `forward` or `backward` is off by more than this, for weights ≥ 0."""
        # Errors of the rows (and of the columns) add up on a side.
        lengths = max(float(np.sqrt((weights**2).sum(axis=axis)).sum()) for axis in (0, 1))
        return self._off(lengths, float(weights.sum()))

    @property
    def largest_error(self) -> float:
        """The error for weights that add up to 1, however they are spread."""
        return self._off(1.0, 1.0)

    def _off(self, lengths: float, total: float) -> float:
        stages = math.log2(self.size[0] * self.size[1]) + 4
        return 16 * UNIT * stages * (lengths + total * min(1.0, self._length))


def _around(kernel: FloatArray, size: int) -> FloatArray:
    """A kernel over the distances 0, 1, … on a circle of so many places, along the last axis."""
    found = np.zeros((*kernel.shape[:-1], size))
    found[..., : kernel.shape[-1]] = kernel
    if kernel.shape[-1] > 1:
        found[..., -(kernel.shape[-1] - 1) :] = kernel[..., :0:-1]
    return found


def _seen_from(values: FloatArray, row: int, column: int) -> FloatArray:
    """The array as seen from one of its corners."""
    return values[:: 1 if row == 0 else -1, :: 1 if column == 0 else -1]
