"""The chance to be off by more than a radius r: the best window of width 2r after each output.

Moving the window of a guess past x gains what lies at x + 2r and loses what lies at x. After an output y that
is worth it exactly where y ≥ Y(x), with 2ε·(x + r - Y) = ln π(x+2r)/π(x), and so whatever is done the loss is
at least
    ∫ min(π(x), π(x+2r), e^(-εr)·√(π(x)·π(x+2r))) dx.
One window can do all of that where Y does not decrease, as for every log-concave belief: then this is the
loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sievert.arrays import BoolArray, FloatArray
from sievert.continuous._mesh import FACTOR, RATES, evaluated, least_of, legendre, missed_by_gauss
from sievert.continuous._shapes import Pieces, centred, moved, restricted
from sievert.numerics import UNIT

__all__ = ["Windows", "windows"]
# Halvings of cells in which what is least changes, the most cells, and the share of the loss that is enough.
HALVINGS, MOST_CELLS, ENOUGH = 48, 20_000, 1e-14
# A decrease of ln π that is rounding.
SLACK = 1e-9


@dataclass(frozen=True)
class Windows:
    """The integral, what is missed, and whether one window does all that is worth it."""

    value: float
    missed: float
    attained: bool
    cells: int


def windows(model: Pieces, eps: float, radius: Fraction) -> Windows:
    """The least chance to be off by more than a radius, over [0, 1]."""
    width = 2 * radius
    if width >= 1:
        return Windows(0.0, 0.0, True, 1)
    # The loss falls as the radius grows: two floats around the width give its bounds.
    near = float(width)
    exact = Fraction(near) == width
    found = [
        _windows(model, eps, R) for R in ({near} if exact else {np.nextafter(near, 0), np.nextafter(near, 1)})
    ]
    values = [item.value for item in found]
    middle = (min(values) + max(values)) / 2
    missed = max(item.missed for item in found) + (max(values) - min(values)) / 2
    return Windows(middle, missed, all(item.attained for item in found), found[0].cells)


def _windows(model: Pieces, eps: float, width: float) -> Windows:
    shifted = model.edges - width
    edges = np.unique(np.concatenate([model.edges, shifted[shifted > 0], [1 - width]]))
    edges = edges[(edges >= 0) & (edges <= 1 - width)]
    cells, relative, lost = _pair(model, edges, width)
    decay = float(np.exp(-eps * width / 2))
    edge = max(model.spread, 1e-15)
    total, missed, attained, count = 0.0, 0.0, not _jumps(cells, decay, edge, width).any(), 0
    order: list[tuple[FloatArray, BoolArray]] = []
    for halving in range(HALVINGS + 1):
        found = _integrated(cells, decay)
        enough = ENOUGH * (total + float(found.value.sum())) / len(edges)
        close = found.value + found.missed <= enough
        last = halving == HALVINGS or len(found.value) > MOST_CELLS
        done = (found.sure & (found.missed <= enough)) | close | last
        total += float(found.value[done].sum())
        missed += float(found.missed[done].sum())
        ends = (cells.centres < edge) | (cells.centres > 1 - width - edge)
        rest = np.asarray(found.is_root & done & ~close & ~ends)
        attained &= bool((least_of(_growth(cells.some(rest), 2 * eps), np.zeros(rest.sum())) >= 0).all())
        order.append((cells.centres[done & ~close & ~ends], found.is_low[done & ~close & ~ends]))
        count += int(done.sum())
        if done.all():
            break
        cells = cells.some(~done).halved()
    if eps == 0:
        places, is_low = (np.concatenate(part) for part in zip(*order, strict=True))
        attained = not bool((np.diff(is_low[np.argsort(places)].astype(int)) > 0).any())
    error = missed + total * relative + lost + _near_ends(model, eps, width)
    return Windows(total, error, attained, count)


@dataclass(frozen=True)
class _Pair:
    """π(x) and π(x + 2r) on cells, as polynomials [cell, power]."""

    centres: FloatArray
    halves: FloatArray
    low: FloatArray
    high: FloatArray

    def some(self, chosen: BoolArray) -> _Pair:
        """Some of the cells."""
        return _Pair(self.centres[chosen], self.halves[chosen], self.low[chosen], self.high[chosen])

    def halved(self) -> _Pair:
        """Both halves of every cell."""
        half = np.full(len(self.centres), 0.5)
        parts = [
            _Pair(
                self.centres + side * self.halves / 2,
                self.halves / 2,
                moved(self.low, side * half, half),
                moved(self.high, side * half, half),
            )
            for side in (-1, 1)
        ]
        return _Pair(*(np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS))


_FIELDS = ("centres", "halves", "low", "high")


@dataclass(frozen=True)
class _Least:
    """What is least on each cell, its integral, what is missed, and whether it is sure which."""

    value: FloatArray
    missed: FloatArray
    is_low: BoolArray
    is_root: BoolArray
    sure: BoolArray


def _pair(model: Pieces, edges: FloatArray, width: float) -> tuple[_Pair, float, float]:
    """The cells, the factor by which densities may be off, and the mass that may be anywhere."""
    centres, halves, _ = centred(edges)
    (low, missed), (high, more) = restricted(model, edges), restricted(model, edges + width)
    share, lost = 0.0, 0.0
    for rows, error in ((low, missed), (high, more)):
        # Cells of x + 2r end where floats are coarser: a unit of place there. Halving costs some units.
        sizes = np.abs(rows)
        whole = (
            error + 2 * UNIT / halves * (sizes @ np.arange(rows.shape[1])) + 4000 * UNIT * sizes.sum(axis=1)
        )
        least = least_of(rows, whole / FACTOR)
        ratio = np.divide(whole, least, out=np.full_like(least, np.inf), where=least > 0)
        small = ratio <= FACTOR
        share = max(share, float(ratio[small].max(initial=0.0)))
        lost += float((whole * 2 * halves)[~small].sum())
    return _Pair(centres, halves, low, high), share, lost


def _integrated(cells: _Pair, decay: float) -> _Least:
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
    sure = is_low | is_high | is_root | (most == 0)
    return _Least(np.where(most == 0, 0.0, value), np.where(most == 0, 0.0, error), is_low, is_root, sure)


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


def _growth(cells: _Pair, limit: float) -> FloatArray:
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


def _jumps(cells: _Pair, decay: float, edge: float, width: float) -> BoolArray:
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
