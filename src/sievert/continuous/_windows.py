"""The chance to be off by more than a radius r: the best window of width 2r after each output.

Moving the window of a guess past x gains what lies at x + 2r and loses what lies at x. After an output y that
is worth it exactly where y ≥ Y(x), with 2ε·(x + r - Y) = ln π(x+2r)/π(x), and so whatever is done the loss is
at least
    ∫ min(π(x), π(x+2r), e^(-εr)·√(π(x)·π(x+2r))) dx.
One window can do all of that where Y does not decrease, as for every log-concave belief: then this is the
loss. Where Y decreases, as between two peaks, the window jumps (`_pooled`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from sievert.arrays import BoolArray, FloatArray
from sievert.continuous._mesh import RATES, evaluated, least_of, legendre, missed_by_gauss
from sievert.continuous._pairs import Pair, pair, pair_edges
from sievert.continuous._pooled import APART, SAME, Block, BlockLoss, block_at, block_loss, turning
from sievert.continuous._shapes import GRID, Pieces, restricted

__all__ = ["WindowLoss", "windows"]
# Halvings of cells in which what is least changes, the most cells, and the share of the loss that is enough.
HALVINGS, MOST_CELLS, ENOUGH = 48, 20_000, 1e-14
# Times that places are looked for at which the window must jump.
ROUNDS = 6
# A decrease of ln π that is rounding.
SLACK = 1e-9


@dataclass(frozen=True)
class WindowLoss:
    """The integral, what is missed, and whether one window does all that is worth it."""

    value: float
    missed: float
    attained: bool
    cells: int
    jumps: int = 0


def windows(model: Pieces, eps: float, radius: Fraction) -> WindowLoss:
    """The least chance to be off by more than a radius, over [0, 1]."""
    width = 2 * radius
    if width >= 1:
        return WindowLoss(0.0, 0.0, True, 1)
    # The loss falls as the radius grows: two widths at which x + 2r is a float give its bounds.
    grid = int(GRID)
    found = [
        _windows(model, eps, part / GRID) for part in {math.floor(width * grid), math.ceil(width * grid)}
    ]
    values = [item.value for item in found]
    middle = (min(values) + max(values)) / 2
    missed = max(item.missed for item in found) + (max(values) - min(values)) / 2
    return WindowLoss(middle, missed, all(item.attained for item in found), found[0].cells, found[0].jumps)


def _windows(model: Pieces, eps: float, width: float) -> WindowLoss:
    last = 1 - width
    whole = _apart(model, eps, width, 0.0, last)
    beside = _near_ends(model, eps, width)
    parts, breaks = [whole], whole.breaks
    blocks: list[Block] = []
    for _ in range(ROUNDS):
        if not breaks:
            break
        for place in breaks:
            if not any(block.start - SAME <= place <= block.end + SAME for block in blocks):
                blocks.append(block_at(model, eps, width, place))
        blocks.sort(key=lambda block: (block.start, block.end))
        if any(one.end > other.start for one, other in pairwise(blocks)):
            break
        places = [0.0, *(place for block in blocks for place in (block.start, block.end)), last]
        gaps = list(zip(places[::2], places[1::2], strict=True))
        parts = [_apart(model, eps, width, a, b) for a, b in gaps if a < b]
        breaks = [place for part in parts for place in part.breaks]
    if breaks or not _in_order(parts, blocks, eps):
        error = whole.missed + whole.value * whole.relative + whole.lost + beside
        return WindowLoss(whole.value, error, False, whole.cells)
    losses = [block_loss(model, eps, width, block) for block in blocks]
    total = sum(part.value for part in parts) + sum(loss.value for loss in losses)
    every: list[_Apart | BlockLoss] = [*parts, *losses]
    relative = max(item.relative for item in every)
    # Between a block and what is beside it, outputs agree up to what a block is proved for.
    missed = sum(item.missed + item.lost for item in every) + 4 * APART * APART * len(blocks)
    cells = sum(item.cells for item in every)
    return WindowLoss(total, missed + total * relative + beside, True, cells, len(blocks))


@dataclass(frozen=True)
class _Apart:
    """Windows where each end does what is best for it, from a start to an end, and where that cannot be.

    `first` and `last` are the outputs at which the start and the end are passed.
    """

    value: float
    missed: float
    relative: float
    lost: float
    cells: int
    start: float
    first: float
    last: float
    breaks: list[float]


def _apart(model: Pieces, eps: float, width: float, start: float, end: float) -> _Apart:
    edges = pair_edges(model, width, start, end)
    cells, relative, lost = pair(model, edges, width)
    decay = float(np.exp(-eps * width / 2))
    edge = max(model.spread, 1e-15)
    places = cells.centres - cells.halves
    breaks = [(place, place) for place in places[1:][_jumps(cells, decay, edge, width)].tolist()]
    total, missed, count = 0.0, 0.0, 0
    kept: list[tuple[FloatArray, FloatArray, FloatArray, FloatArray, BoolArray]] = []
    for halving in range(HALVINGS + 1):
        found = _integrated(cells, decay)
        rises, falls = (
            np.asarray(least_of(sign * _growth(cells, 2 * eps), np.zeros(len(cells.centres))) >= 0)
            for sign in (1, -1)
        )
        enough = ENOUGH * (total + float(found.value.sum())) / len(edges)
        close = found.either <= enough
        final = halving == HALVINGS or len(found.value) > MOST_CELLS
        clear = found.sure & (~found.is_root | rises | falls) & (found.missed <= enough)
        done = clear | close | final
        total += float(found.value[done].sum())
        # Beside a block, the best output is known no better than the place.
        beside = (cells.centres < start + SAME) | (cells.centres > end - SAME)
        # Whatever output passes a cell, no more is lost there than both.
        unseen = done & (close | ~clear | beside)
        missed += float(found.missed[done].sum()) + float(found.either[unseen].sum())
        ends = (cells.centres < edge) | (cells.centres > 1 - width - edge)
        seen = done & found.sure & ~unseen & ~ends & ~(found.is_low & found.is_high)
        some = cells.some(seen)
        outputs = _outputs(found, seen, some, eps, width)
        kept.append((some.centres, some.halves, *outputs, (found.is_root & ~rises)[seen]))
        count += int(done.sum())
        if done.all():
            break
        cells = cells.some(~done).halved()
    centres, halves, first, last, falling = (np.concatenate(part) for part in zip(*kept, strict=True))
    order = np.argsort(centres)
    centres, halves, first, last, falling = (x[order] for x in (centres, halves, first, last, falling))
    breaks += zip((centres - halves)[falling].tolist(), (centres + halves)[falling].tolist(), strict=True)
    # Up to rounding; more where the window never stops on one side.
    back = np.flatnonzero(first[1:] < last[:-1] - (APART / eps if eps else 0.0))
    breaks += zip((centres + halves)[back].tolist(), (centres - halves)[back + 1].tolist(), strict=True)
    outer = (float(first[0]), float(last[-1])) if len(first) else (np.nan, np.nan)
    return _Apart(total, missed, relative, lost, count, start, *outer, _merged(breaks))


def _outputs(
    found: _Least, seen: BoolArray, cells: Pair, eps: float, width: float
) -> tuple[FloatArray, FloatArray]:
    """Y at both ends of some cells, ±∞ where a window always or never passes them."""
    sides = turning(cells, eps, width) if eps else (np.zeros(seen.sum()), np.zeros(seen.sum()))
    low, high = found.is_low[seen], found.is_high[seen]
    first, last = (np.where(low, -np.inf, np.where(high, np.inf, side)) for side in sides)
    return np.asarray(first), np.asarray(last)


def _merged(breaks: list[tuple[float, float]]) -> list[float]:
    """The middle of each run of breaks that touch."""
    runs: list[tuple[float, float]] = []
    for a, b in sorted(breaks):
        if runs and a <= runs[-1][1] + 1e-14:
            runs[-1] = (runs[-1][0], max(b, runs[-1][1]))
        else:
            runs.append((a, b))
    return [(a + b) / 2 for a, b in runs]


def _in_order(parts: list[_Apart], blocks: list[Block], eps: float) -> bool:
    """Whether outputs do not decrease from part to part, up to what a block is proved for."""
    items = [(part.start, 1, part.first, part.last) for part in parts]
    items += [(block.start, 0, block.output, block.output) for block in blocks]
    items = sorted(item for item in items if not np.isnan(item[2]))
    slack = APART / eps if eps else 0.0
    return all(other[2] >= one[3] - slack for one, other in pairwise(items))


@dataclass(frozen=True)
class _Least:
    """What is least on each cell, its integral, what is missed, and whether it is sure which."""

    value: FloatArray
    missed: FloatArray
    either: FloatArray
    is_low: BoolArray
    is_high: BoolArray
    is_root: BoolArray
    sure: BoolArray


def _integrated(cells: Pair, decay: float) -> _Least:
    low, high, square = cells.low, cells.high, decay * decay
    zero = np.zeros(len(low))
    moves, stays = high * square - low, low * square - high
    is_low, is_high = least_of(moves, zero) >= 0, least_of(stays, zero) >= 0
    is_root = (least_of(-moves, zero) >= 0) & (least_of(-stays, zero) >= 0) & ~is_low & ~is_high
    even = 2.0 / np.arange(1, low.shape[1] + 1) * (np.arange(low.shape[1]) % 2 == 0)
    masses = [cells.halves * np.maximum(rows @ even, 0.0) for rows in (low, high)]
    nodes, weights = legendre()
    product = np.maximum(evaluated(low, nodes), 0.0) * np.maximum(evaluated(high, nodes), 0.0)
    root = decay * cells.halves * (np.sqrt(product) @ weights)
    missed = decay * cells.halves * _root_missed(low, high)
    # Whatever is least, the integral is at most the least of three: Cauchy–Schwarz for the root.
    most = np.minimum(np.minimum(*masses), decay * np.sqrt(masses[0] * masses[1]))
    value = np.where(is_low, masses[0], np.where(is_high, masses[1], np.where(is_root, root, most / 2)))
    error = np.where(is_low | is_high, 0.0, np.where(is_root, np.minimum(missed, most), most / 2))
    sure = is_low | is_high | is_root
    nothing = most == 0
    value, error = np.where(nothing, 0.0, value), np.where(nothing, 0.0, error)
    return _Least(value, error, masses[0] + masses[1], is_low, is_high, is_root, sure)


def _root_missed(low: FloatArray, high: FloatArray) -> FloatArray:
    """What Gauss–Legendre misses of √(π·π), analytic where neither has a zero."""
    best = np.full(len(low), np.inf)
    for rate in RATES:
        powers = ((rate + 1 / rate) / 2) ** np.arange(low.shape[1])
        sizes = [np.abs(rows) @ powers for rows in (low, high)]
        positive = (2 * low[:, 0] > sizes[0]) & (2 * high[:, 0] > sizes[1])
        missed = missed_by_gauss(np.sqrt(sizes[0] * sizes[1]), rate)
        best = np.where(positive, np.minimum(best, missed), best)
    return best


def _near_ends(model: Pieces, eps: float, width: float) -> float:
    """A window that begins within what is spread near an end may as well begin at the end."""
    if model.spread == 0:
        return 0.0
    slivers = 0.0
    for place in (width, 1 - width - model.spread):
        span = np.array([max(0.0, place), min(1.0, place + model.spread)])
        rows, errors = restricted(model, span)
        slivers += float((np.abs(rows).sum(axis=1) + errors)[0] * 2 * model.spread)
    slivers = min(slivers, model.ends)
    return slivers + 2 * eps * model.spread * model.ends


def _growth(cells: Pair, limit: float) -> FloatArray:
    """2ε·half·π·π₊ - (π₊'·π - π'·π₊), a polynomial in t: not negative where Y increases."""
    low, high = cells.low, cells.high
    size = low.shape[1]
    found = np.zeros((len(low), 2 * size))
    for n in range(size):
        terms = high[:, n : n + 1] * low
        found[:, n : n + size] += (limit * cells.halves)[:, None] * terms
        slopes = (n - np.arange(size)) * terms
        start = 1 if n == 0 else 0
        found[:, n + start - 1 : n + size - 1] -= slopes[:, start:]
    return found


def _jumps(cells: Pair, decay: float, edge: float, width: float) -> BoolArray:
    """Between which cells ln π(x+2r)/π(x) jumps up, and is not beyond its limits there."""
    ends, square = np.array([-1.0, 1.0]), decay * decay
    low, high = evaluated(cells.low, ends), evaluated(cells.high, ends)
    before, after = (high[:-1, 1], low[:-1, 1]), (high[1:, 0], low[1:, 0])
    grows = after[0] * before[1] > before[0] * after[1] * (1 + SLACK)
    # Clipped to the same limit on both sides, a jump changes nothing.
    both_high = (before[0] * square >= before[1]) & (after[0] * square >= after[1])
    both_low = (before[1] * square >= before[0]) & (after[1] * square >= after[0])
    place = cells.centres[1:] - cells.halves[1:]
    inside = (place > edge * (1 + 1e-9)) & (place < (1 - width - edge) * (1 - 1e-9))
    return np.asarray(grows & ~both_high & ~both_low & inside)
