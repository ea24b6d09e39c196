"""Upper bounds that a certificate proves: no private channel has a larger value.

- *packing* y ≥ 0: any private K has K[i,j] ≥ Φ[i,j]·K[j,j], so Σ_j K[j,j]·(Φy)_j ≤ Σ_i y_i (rows sum to 1).
- *cover*: the packing vector e^(εr) on centres such that every point is within r of one; *points*: y = 1.
- *dual* (y, f): linear-programming weak duality with y of free sign and multipliers f ≥ 0 on the arcs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.balls import UNIT, exp_above
from sievert.proofs.reading import floats, indices
from sievert.proofs.space import ProofSpace

__all__ = ["cover_bound", "dual_bound", "exact_sum", "packing_bound"]

FloatArray = NDArray[np.float64]
# Below this a product may have underflowed, which relative errors do not count.
SMALLEST = 1e-200
# Entries of a table of multipliers.
LARGEST_DUAL = 10**8


def exact_sum(values: FloatArray) -> Fraction:
    """The sum of floats without any rounding."""
    # Integers over the smallest power of 2 among the denominators: far faster than adding fractions.
    ratios = [float(v).as_integer_ratio() for v in values]
    whole = max((below for _, below in ratios), default=1)
    return Fraction(sum(above * (whole // below) for above, below in ratios), whole)


def packing_bound(space: ProofSpace, eps: Fraction, weights: FloatArray, y: FloatArray) -> Fraction:
    """Σy / min_j (Φy)_j/c_j for weights c; the sum is exact, the minimum is rounded down."""
    if y.shape != (space.size,) or not (y >= 0).all() or not np.isfinite(y).all():
        raise ValueError("the packing vector must have one finite entry ≥ 0 for each point")
    counted = weights > 0
    if not counted.any():
        return Fraction(0)
    # The quotient and the product are each off by a unit: (1+u)²(1-2u) < 1.
    least = float((space.covered(eps, y)[counted] / weights[counted]).min() * (1 - 2 * UNIT))
    if not least > SMALLEST:
        raise ValueError("the packing vector leaves some point uncovered")
    return exact_sum(y) / Fraction(least)


def cover_bound(space: ProofSpace, eps: Fraction, centres: Any, radius: float) -> Fraction:
    """|C|·e^(εr), after checking that every point is within r of a centre."""
    sources = indices(centres)
    if sources.ndim != 1 or not len(sources) or sources.max() >= space.size:
        raise ValueError("a cover needs centres that are points of the space")
    farthest = float(space.distances_from(sources).max()) * (1 + space.distance_error)
    if not farthest <= radius < np.inf:
        raise ValueError("some point is farther from every centre than the cover's radius")
    return len(sources) * exp_above(eps * Fraction(radius))


def dual_bound(
    space: ProofSpace, eps: Fraction, objective: FloatArray, certificate: dict[str, Any]
) -> Fraction:
    """Σy + n·δ, δ the largest violation of y_v + Σ_h f[(v,h),w] - Σ_i e^ε f[(i,v),w] ≥ A[v,w].

    Raising every y by δ removes the violations, and weak duality then bounds Σ A·K by Σy + n·δ. Each entry
    sums at most 2·degree + 2 rounded terms, so its error is that many units of the sum of their sizes.
    """
    y = floats(certificate["y"])
    outputs = objective.shape[1]
    if y.shape != (space.size,):
        raise ValueError("the dual needs one finite entry for each point")
    forward = _multipliers(certificate["forward"], len(space.pairs), outputs)
    backward = _multipliers(certificate["backward"], len(space.pairs), outputs)
    growth = space.growth(eps)[1]
    total = np.repeat(y[:, None], outputs, axis=1)
    size = np.abs(total) + np.abs(objective)
    for multipliers, tail, head in (
        (forward, space.pairs[:, 0], space.pairs[:, 1]),
        (backward, space.pairs[:, 1], space.pairs[:, 0]),
    ):
        # Arc (tail, head) says K[tail] ≤ e^ε·K[head].
        used = multipliers > 0
        charged = np.where(used, multipliers, 1.0) * np.where(used, growth[:, None], 0.0)
        for index, sign, part in ((tail, 1.0, multipliers), (head, -1.0, charged)):
            np.add.at(total, index, sign * part)
            np.add.at(size, index, part)
    degree = int(np.bincount(space.pairs.ravel(), minlength=space.size).max(initial=0))
    # 1e-300 covers products that underflow.
    slack = total - objective - size * (2 * degree + 8) * UNIT * 1.01 - 1e-300
    if not np.isfinite(slack).all():
        raise ValueError("the dual's numbers overflow")
    return exact_sum(y) + space.size * Fraction(max(0.0, -float(slack.min())))


def _multipliers(stored: Any, arcs: int, outputs: int) -> FloatArray:
    """Sparse multipliers [[arc, output, value], …] as a non-negative array."""
    if arcs * outputs > LARGEST_DUAL:
        raise ValueError(f"{arcs} edges with {outputs} outputs are too many for a dual")
    table = np.zeros((arcs, outputs))
    if len(stored):
        entries = floats(stored)
        if entries.ndim != 2 or entries.shape[1] != 3:
            raise ValueError("a multiplier is a triple of finite numbers: arc, output, value")
        places = entries[:, :2].astype(np.intp)
        if not (entries >= 0).all() or (places != entries[:, :2]).any():
            raise ValueError("multipliers must be ≥ 0, the arcs and outputs they name whole numbers")
        if len(np.unique(places, axis=0)) < len(places):
            raise ValueError("an arc has two multipliers for one output")
        table[places[:, 0], places[:, 1]] = entries[:, 2]
    return table
