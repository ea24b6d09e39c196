"""The capacity of a connected space to every digit, where a formula or a solution in ball arithmetic has it.

For small ε the certificates' floats enclose a factor next to 1, which leaves its logarithm few digits; these
values have all of theirs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

from sievert.limits._space import LARGEST_DENSE, Space

__all__ = ["log_capacity"]

# ε·diameter below which floats have too few digits for the weights, and points for which balls are quick.
SMALL = 1e-3
LARGEST_SOLVED = 80
# Bits of the balls: weights of order ε^k cost k·log2(1/ε) of them.
PRECISIONS = (512, 2048, 8192)


def log_capacity(space: Space, eps: Fraction) -> float | None:
    """ln of the most that any ε-private mechanism on the space multiplies a guess by; None where unknown.

    >>> from sievert.limits._space import space_of
    >>> from sievert.spaces.graphs import grid
    >>> log_capacity(space_of(grid(3, 3)), Fraction(1, 10**12))
    2e-12
    """
    level = float(eps)
    if space.is_tree:
        return _on_tree(space, level)
    if space.size > LARGEST_DENSE:
        return None
    even = _evenly_spaced(space, level)
    if even is None and 0 < level * space.extent[0] < SMALL and space.size <= LARGEST_SOLVED:
        return _by_weights(space, eps)
    return even


def _on_tree(space: Space, eps: float) -> float | None:
    """On a path 1 + Σ tanh(ε·length/2); on a star of k leaves with e^(ε·length) ≤ k - 1 the radius bound.

    The star's channel has the leaves as outputs: even at the centre, e^(ε·length) times that at the leaf.
    """
    degrees, lengths = np.bincount(space.pairs.ravel(), minlength=space.size), space.lengths
    if degrees.max() <= 2:
        return math.log1p(math.fsum(np.tanh(eps * lengths / 2).tolist()))
    star = len(lengths) == degrees.max() and bool((lengths == lengths[0]).all())
    reached = eps * float(lengths[0])
    return reached if star and reached <= math.log(len(lengths) - 1) else None


def _evenly_spaced(space: Space, eps: float) -> float | None:
    """n/Σ e^(-εd) where every point has others at the same distances.

    Even weights then cover every point, and the kernel divided by the sum is a channel.
    """
    totals = space.distances.sum(axis=1)
    if (totals != totals[0]).any():
        return None
    away = np.sort(space.distances, axis=1)
    if (away != away[0]).any():
        return None
    return -math.log1p(math.fsum(np.expm1(-eps * away[0]).tolist()) / space.size)


def _by_weights(space: Space, eps: Fraction) -> float | None:
    """Σ w for Φw = 1, where no weight is negative: w covers every point, and Φ·diag(w) is a channel."""
    rates = {float(d): eps * Fraction(float(d)) for d in np.unique(space.distances)}
    old = flint.ctx.prec
    try:
        for precision in PRECISIONS:
            flint.ctx.prec = precision
            powers = {d: (-flint.arb(flint.fmpq(r.numerator, r.denominator))).exp() for d, r in rates.items()}
            kernel = flint.arb_mat([[powers[d] for d in row] for row in space.distances.tolist()])
            try:
                found = kernel.solve(flint.arb_mat(space.size, 1, [flint.arb(1)] * space.size)).entries()
            except ZeroDivisionError:
                continue
            if any(weight < 0 for weight in found):
                return None
            value = sum(found, flint.arb(0)).log()
            if all(weight > 0 for weight in found) and value.rel_accuracy_bits() > 60:
                return float(value.mid())
        return None
    finally:
        flint.ctx.prec = old
