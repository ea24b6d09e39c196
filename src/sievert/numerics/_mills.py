"""Mills' ratio R(x) = (1 - Φ(x))/φ(x) of the normal distribution, and its fall over a short way."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.special import erfcx

from sievert.arrays import FloatArray

__all__ = ["gauss_legendre", "mills_drop"]
NODES = 16
# From here on the asymptotic series is exact to the last digit.
FAR = 14.0


@cache
def gauss_legendre(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes in (-1, 1) and weights of Gauss and Legendre's rule, which is exact for degrees below 2·count.

    >>> nodes, weights = gauss_legendre(2)
    >>> bool(np.isclose(nodes**2 @ weights, 2 / 3))
    True
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


def mills_drop(start: FloatArray, way: float) -> FloatArray:
    """R(x) - R(x + way) for a way of at most about 1, to full relative precision: R' = x·R - 1, integrated.

    >>> float(mills_drop(np.array(0.0), 1e-15) / 1e-15)
    1.0
    """
    inner, shares = gauss_legendre(NODES)
    places = np.asarray(start, dtype=np.float64)[..., None] + way * (inner + 1) / 2
    return np.asarray(_slope(places) @ shares * (way / 2), dtype=np.float64)


def _slope(x: FloatArray) -> FloatArray:
    """1 - x·R(x) > 0; far out 1/x² - 3/x⁴ + 15/x⁶ - …"""
    far = x > FAR
    near = 1 - np.where(far, 0.0, x) * math.sqrt(math.pi / 2) * erfcx(np.where(far, 0.0, x) / math.sqrt(2))
    inverse = 1 / np.where(far, x, FAR) ** 2
    series = np.ones_like(inverse)
    for k in range(25, 1, -2):
        series = 1 - k * inverse * series
    return np.where(far, inverse * series, near)
