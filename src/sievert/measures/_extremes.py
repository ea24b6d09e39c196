"""Column maxima and minima of a channel summed up, and its two rows furthest apart, by structure."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels import (
    BlockChannel,
    Channel,
    ConvolutionChannel,
    CyclicChannel,
    DeterministicChannel,
    PartitionChannel,
    ProductChannel,
    ResponseChannel,
    SparseChannel,
)
from sievert.measures._gain_functions import Identity
from sievert.measures._output_values import column_values
from sievert.measures._product_leakage import product_of_powers
from sievert.mechanisms import TruncatedGeometricChannel
from sievert.numerics import log_sum

__all__ = [
    "excess_of_maxima",
    "furthest_rows",
    "lack_of_minima",
    "overlap",
    "row_distance",
    "sum_of_maxima",
    "sum_of_minima",
]

# Matrices of fractions up to this many entries are built for an exact answer; beyond, floats will do.
LARGEST_EXACT = 2_000_000
# Pairs of rows at the same distance up to rounding that are compared exactly.
LARGEST_TIES = 1000
# Distances of rows that are less than this from 0 or 1 are told apart by their digits.
CLOSE = 1e-6

Number = Any  # float, or Fraction for exact channels
Mask = NDArray[np.bool_] | None  # which inputs are possible; None: all


@singledispatch
def sum_of_maxima(channel: Channel, possible: Mask = None) -> Number:
    """Σ_y max_x C[x,y] over the possible inputs."""
    entries = channel.exact_or_rounded()
    return _total((entries if possible is None else entries[possible]).max(axis=0))


@singledispatch
def excess_of_maxima(channel: Channel, possible: Mask = None) -> float:
    """Σ_y max_x C[x,y] - 1, with its digits where little leaks: Σ_y of what the largest has over one row."""
    if not _is_small(channel):
        return max(0.0, float(sum_of_maxima(channel, possible)) - 1)
    chosen = np.arange(channel.shape[0]) if possible is None else np.flatnonzero(possible)
    matrix, relative = channel.rounded()[chosen], channel.relative_logs[chosen]
    own = relative[0]
    with np.errstate(invalid="ignore", over="ignore"):
        above = matrix[0] * np.expm1(relative.max(axis=0) - own)
    return float(np.where(matrix[0] > 0, above, matrix.max(axis=0)).sum())


@singledispatch
def sum_of_minima(channel: Channel) -> Number:
    """Σ_y min_x C[x,y]."""
    return _total(channel.exact_or_rounded().min(axis=0))


@singledispatch
def lack_of_minima(channel: Channel) -> Number:
    """1 - Σ_y min_x C[x,y], with its digits where little leaks: Σ_y of what one row has over the least."""
    if channel.form == "exact" or not _is_small(channel):
        return 1 - sum_of_minima(channel)
    row, relative = channel.rounded()[0], channel.relative_logs
    with np.errstate(invalid="ignore"):
        fall = np.where(row > 0, relative.min(axis=0) - relative[0], 0.0)
    return float(row @ -np.expm1(fall))


@singledispatch
def row_distance(channel: Channel, i: int, j: int) -> float:
    """Total variation of two rows given by position, with its digits where they are close."""
    if not _is_small(channel):
        return 1 - float(overlap(channel, i, j))
    row, relative = channel.rounded()[i], channel.relative_logs
    with np.errstate(invalid="ignore"):
        loss = np.where(row > 0, relative[i] - relative[j], 0.0)
    return float(row @ -np.expm1(-np.maximum(loss, 0.0)))


@row_distance.register
def _row_distance_of_response(channel: ResponseChannel, i: int, j: int) -> float:
    return _told(channel) if i != j else 0.0


def _told(channel: ResponseChannel) -> float:
    """truth - lie."""
    return float(channel.truth) * -math.expm1(-channel.eps)


def _is_small(channel: Channel) -> bool:
    return channel.shape[0] * channel.shape[1] <= LARGEST_EXACT


def _total(values: NDArray[Any]) -> Number:
    if values.dtype == object:
        return sum(values.tolist(), Fraction(0))
    return float(values.sum())


@sum_of_maxima.register
def _sum_of_maxima_of_response(channel: ResponseChannel, possible: Mask = None) -> Number:
    size = channel.shape[0]
    count = size if possible is None else int(possible.sum())
    return count * channel.truth + (size - count) * channel.lie


@excess_of_maxima.register
def _excess_of_maxima_of_response(channel: ResponseChannel, possible: Mask = None) -> float:
    count = channel.shape[0] if possible is None else int(possible.sum())
    return (count - 1) * float(channel.truth) * -math.expm1(-channel.eps)


@sum_of_minima.register
def _sum_of_minima_of_response(channel: ResponseChannel) -> Number:
    size = channel.shape[0]
    return size * channel.lie if size > 1 else channel.truth


@lack_of_minima.register
def _lack_of_minima_of_response(channel: ResponseChannel) -> Number:
    if isinstance(channel.truth, Fraction) or channel.shape[0] == 1:
        return 1 - sum_of_minima(channel)
    return _told(channel)


@sum_of_maxima.register
def _sum_of_maxima_of_program(
    channel: DeterministicChannel | PartitionChannel, possible: Mask = None
) -> Number:
    if possible is None:
        return Fraction(channel.shape[1])
    return Fraction(len(np.unique(channel.explicit().images[possible])))


@sum_of_minima.register
def _sum_of_minima_of_program(channel: DeterministicChannel | PartitionChannel) -> Number:
    return Fraction(int(channel.shape[1] == 1))


@sum_of_maxima.register
def _sum_of_maxima_of_noise(channel: ConvolutionChannel, possible: Mask = None) -> Number:
    if possible is not None and not possible.all():
        return _maxima_by_guess(channel, possible)
    return _total(channel.column_maxima())


@sum_of_minima.register
def _sum_of_minima_of_noise(channel: ConvolutionChannel) -> Number:
    return _total(channel.column_minima())


@sum_of_maxima.register
def _sum_of_maxima_of_cyclic_noise(channel: CyclicChannel, possible: Mask = None) -> Number:
    if possible is not None and not possible.all():
        return sum_of_maxima.dispatch(Channel)(channel, possible)
    return channel.shape[0] * _total(channel.noise.exact_or_rounded().max(axis=1))


@sum_of_minima.register
def _sum_of_minima_of_cyclic_noise(channel: CyclicChannel) -> Number:
    return channel.shape[0] * _total(channel.noise.exact_or_rounded().min(axis=1))


@sum_of_maxima.register
def _sum_of_maxima_of_blocks(channel: BlockChannel, possible: Mask = None) -> Number:
    parts = []
    for block, rows, _ in channel.slices():
        inside = None if possible is None else possible[rows]
        if inside is None or inside.any():
            parts.append(sum_of_maxima(block, inside))
    return sum(parts)


@sum_of_minima.register
def _sum_of_minima_of_blocks(channel: BlockChannel) -> Number:
    return Fraction(0) if len(channel.blocks) > 1 else sum_of_minima(channel.blocks[0])


@sum_of_minima.register
def _sum_of_minima_of_records(channel: ProductChannel) -> Number:
    # Minima over tuples of products are products of minima.
    return product_of_powers((sum_of_minima(part), count) for part, count in channel.factors)[0]


@sum_of_maxima.register
def _sum_of_maxima_of_table(channel: SparseChannel, possible: Mask = None) -> Number:
    table = channel.table if possible is None else channel.table[np.flatnonzero(possible)]
    return float(table.max(axis=0).sum())


@sum_of_minima.register
def _sum_of_minima_of_table(channel: SparseChannel) -> Number:
    columns = channel.table.tocsc()
    full = np.flatnonzero(np.diff(columns.indptr) == channel.shape[0])
    return float(columns[:, full].min(axis=0).sum()) if len(full) else 0.0


@sum_of_maxima.register
def _sum_of_maxima_of_geometric(channel: TruncatedGeometricChannel, possible: Mask = None) -> Number:
    if possible is not None and not possible.all():
        return _maxima_by_guess(channel, possible)
    end, inner = channel.weights()
    return 2 * end + (channel.shape[0] - 2) * inner


@excess_of_maxima.register
def _excess_of_maxima_of_geometric(channel: TruncatedGeometricChannel, possible: Mask = None) -> float:
    if possible is not None and not possible.all():
        return excess_of_maxima.dispatch(Channel)(channel, possible)
    return (channel.shape[0] - 1) * float(channel.weights()[1])


@sum_of_minima.register
def _sum_of_minima_of_geometric(channel: TruncatedGeometricChannel) -> Number:
    end, inner = channel.weights()
    last = channel.shape[0] - 1
    if channel.level.alpha is not None and last <= 2000:
        alpha = channel.level.alpha
        inside = sum((alpha ** max(y, last - y) for y in range(1, last)), Fraction(0))
        return 2 * end * alpha**last + inner * inside
    furthest = np.maximum(np.arange(1, last), last - np.arange(1, last))
    tails = float(np.exp(-channel.level.eps * furthest).sum())
    return 2 * float(end) * math.exp(-channel.level.eps * last) + float(inner) * tails


def _maxima_by_guess(channel: Channel, possible: NDArray[np.bool_]) -> Number:
    """Under an even prior on k inputs the best guess is Σ_y max_x C[x,y] / k."""
    if channel.form == "exact" and _is_small(channel):
        return sum_of_maxima.dispatch(Channel)(channel, possible)
    count = int(possible.sum())
    even = column_values(channel, Identity(channel.inputs), possible / count)
    return count * float(even.average())


def overlap(channel: Channel, i: int, j: int) -> Number:
    """Σ_y min(C[i,y], C[j,y]), i.e. 1 minus the total-variation distance of two rows given by position.

    It keeps its digits where the distance is almost 1, and is 0 exactly where the supports are disjoint.
    """
    if channel.form == "exact" and _is_small(channel):
        entries = channel.exact
        assert entries is not None
        return sum(np.minimum(entries[i], entries[j]).tolist(), Fraction(0))
    rows = [channel.row(channel.inputs[k]) for k in (i, j)]
    return min(1.0, float(np.minimum(*rows).sum()))


@singledispatch
def furthest_rows(channel: Channel, marked: Mask = None) -> tuple[int, int, Number]:
    """The two rows at the largest total-variation distance, and their overlap, which is 1 minus it.

    With `marked`, one of the two must be marked and the other not. All pairs, O(n² m).
    """
    if channel.shape[0] == 1:
        return 0, 0, Fraction(1)
    if channel.form == "exact":
        return _furthest_exact(channel, marked)
    value, i, j = _furthest_pairs(channel.rounded(), marked)
    if not CLOSE < value / 2 < 1 - CLOSE:
        i, j = _furthest_of_ties(channel, marked, i, j, far=value > 1)
    return i, j, overlap(channel, i, j)


def _furthest_of_ties(channel: Channel, marked: Mask, i: int, j: int, far: bool) -> tuple[int, int]:
    """The furthest rows where distances are all next to 0 or next to 1: by their digits, of few rows only."""
    size, outputs = channel.shape
    if size * size * outputs > LARGEST_EXACT:
        return i, j
    best, chosen = -math.inf, (i, j)
    logs = channel.log_matrix
    for a in range(size):
        for b in range(a + 1, size):
            if marked is not None and marked[a] == marked[b]:
                continue
            shared = -float(log_sum(np.minimum(logs[a], logs[b]), axis=0)) if far else 0.0
            value = shared if far else row_distance(channel, a, b)
            if value > best * (1 + 1e-12) or best == -math.inf:
                best, chosen = value, (a, b)
    return chosen


def _furthest_pairs(matrix: NDArray[np.float64], marked: Mask) -> tuple[float, int, int]:
    """Largest L1 distance of two rows, blocks of rows on two threads."""
    from scipy.spatial.distance import cdist

    first, second = (np.arange(len(matrix)),) * 2
    if marked is not None:
        first, second = np.flatnonzero(marked), np.flatnonzero(~marked)
    left, right = (matrix, matrix) if marked is None else (matrix[first], matrix[second])
    step = max(1, min(64, len(left) // 2))

    def block(start: int) -> tuple[float, int, int]:
        skip = start if marked is None else 0
        distances = cdist(left[start : start + step], right[skip:], "cityblock")
        i, j = divmod(int(np.argmax(distances)), distances.shape[1])
        return float(distances[i, j]), int(first[start + i]), int(second[skip + j])

    with ThreadPoolExecutor(2) as pool:
        return max(pool.map(block, range(0, len(left), step)), key=lambda found: found[0])


def _furthest_exact(channel: Channel, marked: Mask) -> tuple[int, int, Fraction]:
    """As for floats; pairs that rounding cannot tell apart are compared exactly."""
    matrix = channel.rounded()
    value, i, j = _furthest_pairs(matrix, marked)
    best = (overlap(channel, i, j), i, j)
    # Rounded distances are off by less than m·4e-16; beyond that a pair cannot win.
    slack = 4e-16 * matrix.shape[1]
    compared = 0
    for a in range(len(matrix)):
        distances = np.abs(matrix[a] - matrix[a + 1 :]).sum(axis=1)
        for b in (np.flatnonzero(distances >= value - slack) + a + 1).tolist():
            if marked is not None and marked[a] == marked[b]:
                continue
            best = min(best, (overlap(channel, a, b), a, b), key=lambda found: found[0])
            compared += 1
            if compared == LARGEST_TIES:
                return best[1], best[2], best[0]
    return best[1], best[2], best[0]


@furthest_rows.register
def _furthest_rows_of_response(channel: ResponseChannel, marked: Mask = None) -> tuple[int, int, Number]:
    if channel.shape[0] == 1:
        return 0, 0, Fraction(1)
    i, j = (0, 1) if marked is None else (int(np.argmax(marked)), int(np.argmin(marked)))
    return i, j, channel.shape[0] * channel.lie


@furthest_rows.register
def _furthest_of_program(channel: DeterministicChannel, marked: Mask = None) -> tuple[int, int, Number]:
    if marked is not None:
        return _told_apart(channel, marked)
    if channel.shape[1] == 1:
        return 0, 0, Fraction(1)
    return 0, int(np.argmax(channel.images != channel.images[0])), Fraction(0)


@furthest_rows.register
def _furthest_of_block_sizes(channel: PartitionChannel, marked: Mask = None) -> tuple[int, int, Number]:
    if marked is not None:
        return _told_apart(channel.explicit(), marked)
    return (0, 0, Fraction(1)) if channel.shape[1] == 1 else (0, channel.shape[0] - 1, Fraction(0))


def _told_apart(program: DeterministicChannel, marked: NDArray[np.bool_]) -> tuple[int, int, Number]:
    """A marked input and another one with different outputs, or any two where there are none."""
    inside, outside = np.flatnonzero(marked), np.flatnonzero(~marked)
    for chosen, others in ((inside, outside), (outside, inside)):
        differs = program.images[others] != program.images[chosen[0]]
        if differs.any():
            return int(chosen[0]), int(others[np.argmax(differs)]), Fraction(0)
    return int(inside[0]), int(outside[0]), Fraction(1)


@furthest_rows.register
def _furthest_rows_of_blocks(channel: BlockChannel, marked: Mask = None) -> tuple[int, int, Number]:
    if marked is not None or len(channel.blocks) == 1:
        return furthest_rows.dispatch(Channel)(channel, marked)
    return 0, channel.shape[0] - 1, Fraction(0)


@furthest_rows.register
def _furthest_rows_of_noise(
    channel: ConvolutionChannel | CyclicChannel, marked: Mask = None
) -> tuple[int, int, Number]:
    found = channel.furthest_offset() if marked is None else None
    if found is None:
        return furthest_rows.dispatch(Channel)(channel, marked)
    return 0, *found


@furthest_rows.register
def _furthest_rows_of_geometric(
    channel: TruncatedGeometricChannel, marked: Mask = None
) -> tuple[int, int, Number]:
    if marked is not None:
        return furthest_rows.dispatch(Channel)(channel, marked)
    # Rows rise stochastically with the input, so the two ends differ most.
    last = channel.shape[0] - 1
    return 0, last, overlap(channel, 0, last)
