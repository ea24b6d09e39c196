"""From a float solution to a channel that is truly private: rational repair, and the kernel channel."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.limits.space import Space
from sievert.numerics.balls import UNIT, exp_below, sum_error

__all__ = [
    "DENOMINATOR",
    "TINY",
    "integers",
    "kernel_certificate",
    "kernel_matrix",
    "merged",
    "mixed_until",
    "repaired",
]

FloatArray = NDArray[np.float64]
DENOMINATOR = 2**62
# Below this ε·length a float cannot tell e^(ε·length) from 1.
TINY = 1e-14


def repaired(matrix: FloatArray, space: Space, eps: Fraction) -> dict[str, Any]:
    """A channel certificate near a float matrix: exact rows, exactly private on every edge."""
    arcs = np.concatenate([space.pairs, space.pairs[:, ::-1]])
    return repaired_on(matrix, arcs, np.tile(space.lengths, 2), eps)


def repaired_on(
    matrix: FloatArray, arcs: NDArray[np.intp], lengths: FloatArray, eps: Fraction
) -> dict[str, Any]:
    """The same with K[a] ≤ e^(ε·length)·K[b] for each arc (a, b).

    Rows are rounded to integers over 2^62. Then every column gets the constant that brings its ratios below a
    rational proved to be below e^ε, and the whole is divided by the new row sum: a column of mere rounding
    costs no more than itself.
    """
    clipped = np.maximum(matrix, 0.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    if float(eps) * lengths.max(initial=0.0) < TINY:
        clipped = _levelled(clipped, arcs)
    rows = np.array([integers(row) for row in clipped], dtype=object)
    added = _constants(rows, arcs, lengths, eps)
    return {
        "type": "channel",
        "denominator": DENOMINATOR + int(added.sum()),
        "rows": (rows + added).tolist(),
    }


def _levelled(matrix: FloatArray, arcs: NDArray[np.intp]) -> FloatArray:
    """Each row replaced by the mean of its component: rows that may not differ at all."""
    size = len(matrix)
    joined = coo_array((np.ones(len(arcs)), tuple(arcs.T)), shape=(size, size))
    count, component = connected_components(joined, directed=False)
    share = np.zeros((count, size))
    share[component, np.arange(size)] = 1.0
    return np.asarray((share @ matrix / share.sum(axis=1, keepdims=True))[component])


def integers(row: FloatArray) -> list[int]:
    """Integers that sum to the denominator; the remainder goes to the largest entry."""
    # A product with a power of two is exact, so int() drops less than one part in 2^62.
    values = [int(v) for v in (row * float(DENOMINATOR)).tolist()]
    values[int(np.argmax(row))] += DENOMINATOR - sum(values)
    return values


def _constants(
    table: NDArray[Any], arcs: NDArray[np.intp], lengths: FloatArray, eps: Fraction
) -> NDArray[Any]:
    """For each column the least whole c with K[a] + c ≤ g·(K[b] + c), that is K[a] - g·K[b] ≤ (g-1)·c."""
    allowed = {length: exp_below(eps * Fraction(length)) for length in set(lengths.tolist())}
    least = np.array([0] * table.shape[1], dtype=object)
    for (x, y), length in zip(arcs.tolist(), lengths.tolist(), strict=True):
        g = allowed[length]
        missing = table[y] * g.numerator - table[x] * g.denominator
        if (missing >= 0).all():
            continue
        least = np.maximum(least, -(missing // (g.numerator - g.denominator)))
    return least


def merged(matrix: FloatArray) -> FloatArray:
    """Columns with their maximum in one row added up: square, as private, of the same value.

    Edwards et al., Lemma 6.
    """
    size = len(matrix)
    square = np.zeros((size, size))
    np.add.at(square.T, matrix.argmax(axis=0), matrix.T)
    return square


def mixed_until(
    round_off: Callable[[float], dict[str, Any]], holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The certificate with the least mixing towards the uniform channel that makes it hold exactly."""
    for mixing in (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 0.5):
        rounded = round_off(mixing)
        if holds(rounded):
            return rounded
    raise ArithmeticError("the solver's channel is too far from private to be repaired")


def kernel_matrix(z: FloatArray, mixing: float, space: Space, eps: float) -> FloatArray:
    """Columns (1-t)·Φ[:,j]·z_j/s for the positive z, and a last one that takes the rest."""
    kernel = space.kernel(eps) * z
    scale = float(kernel.sum(axis=1).max())
    columns = (1 - mixing) * kernel[:, z > 0] / scale
    rest = np.maximum(1 - columns.sum(axis=1), 0.0)
    return np.column_stack([columns, rest])


def kernel_certificate(z: FloatArray, space: Space, eps: Fraction) -> dict[str, Any]:
    """Weights z with the least mixing t that lets the verifier prove the remaining column private."""
    proof = space.proof
    low, high = (bound @ z for bound in proof.closed_kernel(eps))
    scale = high.max() * (1 + sum_error(len(z)))
    low, high = low / scale * (1 - sum_error(len(z))), high / scale * (1 + sum_error(len(z)))
    # Beyond e^30 a remainder need only be positive.
    growth = np.minimum(proof.growth(eps)[0], np.exp(30.0)) * (1 - 4 * UNIT)
    kept = 1.0
    for a, b in (space.pairs.T, space.pairs[:, ::-1].T):
        # 1 - (1-t)·low_a + 8u ≤ g·(1 - (1-t)·high_b - 8u), solved for 1-t.
        slope = growth * high[b] - low[a]
        most = (growth - 1 - 10 * UNIT * (growth + 1)) / np.where(slope > 0, slope, 1.0)
        kept = min(kept, float(np.where(slope > 0, most, 1.0).min(initial=1.0)))
    return {"type": "kernel", "z": z.tolist(), "t": min(0.999, max(0.0, 1 - kept) * (1 + 1e-6) + 16 * UNIT)}
