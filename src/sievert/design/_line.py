"""The geometric mechanism on a line with the multipliers that prove it, in O(points·actions).

Sums against e^-distance are one recursion from each end of the line, and the inverse of e^-distance is
tridiagonal. So is everything that the certificate needs: what each action costs at each output, the prices λ
that make the geometric mechanism's own columns worth what they cost, and a flow of what each point can spare
towards the point where an action is short. The recursions run in floats, fractions and balls alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray

__all__ = ["carried", "discounted", "line_form", "line_prices"]


def line_form(
    q: NDArray[Any], t: NDArray[Any], s: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Channel and multipliers on a line, in floats or in fractions.

    Parameters
    ----------
    q : costs [point, action], points in order
    t : e^-gap of consecutive points; s : t/(1-t²)

    Returns
    -------
    channel [point, action]; multipliers [gap, action] of c_x ≥ t·c_{x+1}, and of c_{x+1} ≥ t·c_x
    """
    size = len(q)
    zero = t[0] * 0
    h = discounted(q, t)
    remap = h.argmin(axis=1)
    inside = t / (1 + t)
    weights = np.full(size, zero + 1)
    weights[:-1] -= inside
    weights[1:] -= inside
    taken = np.full(q.shape, zero)
    taken[np.arange(size), remap] = weights
    rest = q - line_prices(h[np.arange(size), remap], t, s)[:, None]
    root = _roots(rest, t)
    before = np.arange(size - 1)[:, None] < root[None, :]
    right = np.where(before, _flow(rest, t), zero)
    left = np.where(before, zero, _flow(rest[::-1], t[::-1])[::-1])
    return discounted(taken, t), right, left


def carried(values: NDArray[Any], t: NDArray[Any]) -> NDArray[Any]:
    """Σ_{z ≤ x} values[z]·e^-d(z,x) for every point x."""
    found = values.copy()
    for x in range(1, len(found)):
        found[x] = found[x] + t[x - 1] * found[x - 1]
    return found


def discounted(values: NDArray[Any], t: NDArray[Any]) -> NDArray[Any]:
    """Σ_z values[z]·e^-d(z,x) for every point x."""
    found, right = carried(values, t), carried(values[::-1], t[::-1])[::-1]
    for x in range(len(found) - 1):
        found[x] = found[x] + t[x] * right[x + 1]
    return found


def line_prices(least: NDArray[Any], t: NDArray[Any], s: NDArray[Any]) -> NDArray[Any]:
    """λ with λ·e^(-d(·,y)) = least_y for every y: a tridiagonal inverse."""
    price = least.copy()
    price[:-1] = price[:-1] + s * (t * least[:-1] - least[1:])
    price[1:] = price[1:] + s * (t * least[1:] - least[:-1])
    return price


def _roots(rest: NDArray[Any], t: NDArray[Any]) -> IndexArray:
    """For each action the point where what is carried from both sides meets, at the least deficit."""
    left, right = carried(rest, t), carried(rest[::-1], t[::-1])[::-1]
    below_left, below_right = np.maximum(-left, 0), np.maximum(-right, 0)
    before = np.cumsum(below_left, axis=0) - below_left
    after = np.cumsum(below_right[::-1], axis=0)[::-1] - below_right
    here = np.maximum(rest - left - right, 0)
    return np.asarray((before + after + here).argmin(axis=0), dtype=np.intp)


def _flow(rest: NDArray[Any], t: NDArray[Any]) -> NDArray[Any]:
    """F_x = max(0, p_x + t·F_{x-1}), on c_x ≥ t·c_{x+1}."""
    flow: NDArray[Any] = np.maximum(rest[:-1], 0)
    for x in range(1, len(flow)):
        flow[x] = np.maximum(rest[x] + t[x - 1] * flow[x - 1], 0)
    return flow
