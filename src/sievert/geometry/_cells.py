"""The cells of priors on which the loss of a mechanism is linear, by their corners."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from sievert.arrays import ObjectArray
from sievert.numerics import extreme_rays, require_size

__all__ = ["cell_priors"]

# Unknowns of the cone whose corners are the cells'.
LARGEST_CELLS = 400


def cell_priors(
    channel: ObjectArray, loss: ObjectArray, most: int | None = None
) -> list[tuple[Fraction, ...]]:
    """The corners of the cells of priors on which `best_loss` is linear.

    They are the corners of {(π, z) : z_y ≤ Σ_x π_x·C[x,y]·ℓ[w,x] for all y, w}: with slacks, the extreme rays
    of a cone in the orthant. TooLargeError where more than `most` are met on the way.
    """
    n, outputs = channel.shape
    actions = len(loss)
    require_size(n + outputs * actions, LARGEST_CELLS, "the cells of priors", "take fewer inputs or actions")
    rows = []
    for y in range(outputs):
        for w in range(1, actions):
            row = np.full(n + outputs * actions, Fraction(0), dtype=object)
            row[:n] = channel[:, y] * (loss[w] - loss[0])
            row[n + y * actions] += 1
            row[n + y * actions + w] -= 1
            rows.append(_whole(row))
    if not rows:
        return [tuple(Fraction(int(x == k)) for x in range(n)) for k in range(n)]
    found = []
    for ray in extreme_rays(np.array(rows, dtype=object), most):
        total = sum(ray[:n])
        if total:
            found.append(tuple(Fraction(value, total) for value in ray[:n]))
    return sorted(set(found))


def _whole(row: ObjectArray) -> list[int]:
    """A row of fractions times their common denominator."""
    scale = lcm(*(Fraction(value).denominator for value in row))
    return [int(value * scale) for value in row]
