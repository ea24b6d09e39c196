"""From any approximate channel to one that is private to the last bit.

Three steps. The smallest private majorant of each column fills zeros that face positive entries by the
least amount. A reserve on the best constant answer makes rows sum to 1 again without breaking a ratio.
Rounding to multiples of 2^-53 only ever rounds the smaller side of a constraint up. Afterwards every entry is
an exact float, every row sums to exactly 1 in any order, and every ratio holds for the real numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sievert.design.problem import Piece
from sievert.proofs.design import SCALE

__all__ = ["majorant", "private_counts", "with_reserve"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
BLOCK_ENTRIES = 4_000_000
# Beyond this ε·distance a unit of 2^-53 more or less breaks few ratios: what rounding leaves over may go to
# the best action of each point.
LOOSE = 30.0


def private_counts(piece: Piece, channel: FloatArray, factors: FloatArray) -> NDArray[np.int64]:
    """Whole numbers over 2^53 near `channel`, exactly private for the piece.

    Parameters
    ----------
    channel : any non-negative [point, action] array with row sums of about 1
    factors : for each edge of the piece a float proved to be at least e^(-ε·length)
    """
    actions = channel.shape[1]
    answer = int(np.argmin(piece.cost.sum(axis=0)))
    if piece.size == 1:
        return _constant(1, actions, int(np.argmin(piece.cost[0])))
    smooth = with_reserve(piece, majorant(piece, np.maximum(channel, 0.0)), answer)
    used = smooth.max(axis=0) > 0
    used[answer] = True
    nearest = float(piece.exponents.min())
    # What rounding m columns up can add to a row, amplified by the tightest pair.
    kept_back = 4 * (actions + 4) * (1 + 1 / -np.expm1(-nearest))
    while kept_back < SCALE / 2:
        table = np.floor(smooth * (SCALE - kept_back))
        table[:, used] = np.maximum(table[:, used], 1.0)
        raised = _raised(piece, table, factors)
        rest = SCALE - raised.astype(np.int64).sum(axis=1)
        counts = raised.astype(np.int64)
        if nearest > LOOSE and (rest >= 0).all():
            own = counts.copy()
            own[np.arange(piece.size), piece.cost.argmin(axis=1)] += rest
            if _allowed(piece, own.astype(np.float64), factors):
                return own
        counts[:, answer] += rest
        column = counts[:, answer].astype(np.float64)[:, None]
        if (rest >= 0).all() and _allowed(piece, column, factors):
            return counts
        kept_back *= 2
    return _constant(piece.size, actions, answer)


def _constant(size: int, actions: int, answer: int) -> NDArray[np.int64]:
    counts = np.zeros((size, actions), dtype=np.int64)
    counts[:, answer] = SCALE
    return counts


def majorant(piece: Piece, channel: FloatArray) -> FloatArray:
    """c'_x = max_z e^(-d(x,z))·c_z for each column: private, and below every private column above c."""
    if piece.shape == "uniform":
        factor = np.exp(-piece.exponents[0])
        return np.asarray(np.maximum(channel, factor * channel.max(axis=0)))
    if piece.shape == "line":
        return _line_majorant(piece, channel)
    if piece.shape == "tree":
        return _swept(piece, channel, np.exp(-piece.exponents), rounding=False)
    factor = np.exp(-piece.distances)
    result = np.empty_like(channel)
    for x in range(piece.size):
        result[x] = (factor[x][:, None] * channel).max(axis=0)
    return result


def _line_majorant(piece: Piece, channel: FloatArray) -> FloatArray:
    """Running maxima of ln c_z ± position."""
    order, _, through = piece.outward
    position = np.concatenate([[0.0], np.cumsum(piece.exponents[through[order[1:]]])])[:, None]
    with np.errstate(divide="ignore"):
        logs = np.log(channel[order])
    left = np.maximum.accumulate(logs + position, axis=0) - position
    right = np.maximum.accumulate((logs - position)[::-1], axis=0)[::-1] + position
    result = np.empty_like(channel)
    result[order] = np.maximum(channel[order], np.exp(np.maximum(left, right)))
    return result


def with_reserve(piece: Piece, channel: FloatArray, answer: int) -> FloatArray:
    """Rows of private columns brought to sum 1 by a private addition to one column.

    With e the excess of each row, H - e_x ≥ e^(-d(x,z))·(H - e_z) for the H chosen here, and sums of private
    columns are private.
    """
    excess = channel.sum(axis=1) - 1
    factor = np.exp(-piece.exponents)
    ends = excess[piece.pairs]
    worst = np.maximum(ends[:, 0] - factor * ends[:, 1], ends[:, 1] - factor * ends[:, 0])
    height = max(0.0, float(excess.max()), float((worst / -np.expm1(-piece.exponents)).max()))
    result = channel.copy()
    result[:, answer] += height - excess
    return np.asarray(result / (1 + height))


def _raised(piece: Piece, table: FloatArray, factors: FloatArray) -> FloatArray:
    """The least whole numbers above `table` that pass every comparison of `_allowed`."""
    while not _allowed(piece, table, factors):
        if piece.shape == "uniform":
            table = np.maximum(table, _charge(factors[0], table.max(axis=0)))
            continue
        if piece.shape in ("line", "tree"):
            table = _swept(piece, table, factors, rounding=True)
        if len(piece.pairs) >= piece.size:
            table = _stepped(piece, table, factors)
    return table


def _charge(factor: FloatArray | np.float64, values: FloatArray) -> FloatArray:
    """The least whole number that is surely at least factor·value; 0 for 0."""
    return np.where(values > 0, np.ceil(np.nextafter(factor * values, np.inf)), 0.0)


def _allowed(piece: Piece, table: FloatArray, factors: FloatArray) -> bool:
    if piece.is_uniform:
        return bool((_charge(factors[0], table.max(axis=0)) <= table.min(axis=0)).all())
    step = max(1, BLOCK_ENTRIES // table.shape[1])
    for start in range(0, len(piece.pairs), step):
        first, second = piece.pairs[start : start + step].T
        factor = factors[start : start + step, None]
        if (_charge(factor, table[first]) > table[second]).any():
            return False
        if (_charge(factor, table[second]) > table[first]).any():
            return False
    return True


def _stepped(piece: Piece, table: FloatArray, factors: FloatArray) -> FloatArray:
    """Every edge once, in both directions, from the values before."""
    left = np.concatenate([piece.pairs[:, 0], piece.pairs[:, 1]])
    right = np.concatenate([piece.pairs[:, 1], piece.pairs[:, 0]])
    order = np.argsort(left, kind="stable")
    starts = np.searchsorted(left[order], np.arange(piece.size + 1))
    both = np.concatenate([factors, factors])[order][:, None]
    right = right[order]
    result = table.copy()
    for x in range(piece.size):
        part = slice(starts[x], starts[x + 1])
        result[x] = np.maximum(result[x], _charge(both[part], table[right[part]]).max(axis=0))
    return result


def _swept(piece: Piece, table: FloatArray, factors: FloatArray, rounding: bool) -> FloatArray:
    """Maxima carried to the root of a line or tree and back: exact for max-products along it."""
    order, parent, through = piece.outward
    result = table.copy()
    for v in order[:0:-1].tolist():
        carried = factors[through[v]] * result[v]
        if rounding:
            carried = _charge(factors[through[v]], result[v])
        np.maximum(result[parent[v]], carried, out=result[parent[v]])
    for v in order[1:].tolist():
        carried = factors[through[v]] * result[parent[v]]
        if rounding:
            carried = _charge(factors[through[v]], result[parent[v]])
        np.maximum(result[v], carried, out=result[v])
    return result
