"""Beliefs with several peaks: the outputs at which the best window jumps, and what is lost around them.

The window passes x at some output s(x) that does not decrease, and loses ∫ c(x, s(x)) dx, where
    c(x, s) = π(x)·P[output ≥ s | x] + π(x+2r)·P[output < s | x+2r].
Where the best output Y(x) of each x decreases, neighbours are pooled (isotonic regression): the window jumps
from the start p of a block to its end q at one output s, after which both are as good. With W(m, u) what the
window from m covers after the output u, no other rule does better on the block if
    W(m, u) ≤ W(q, u) for u > s and W(m, u) ≤ W(p, u) for u < s, for all m of the block.
Ratios of what lies right to what lies left increase with the output, so that each needs proof at one output
alone, and what lies between the two outputs that are proved is of second order in their distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sievert.arrays import BoolArray, FloatArray
from sievert.continuous._mesh import RATES, evaluated, least_of, legendre, missed_by_gauss
from sievert.continuous._pairs import Pair, pair, pair_edges
from sievert.continuous._shapes import Pieces

__all__ = ["APART", "SAME", "Block", "BlockLoss", "block_at", "block_loss", "turning"]
# Half the nats that a cell reaches over, and cells at least among which the best windows are looked for.
REACH, FEWEST = 0.25, 512
# Nats on either side of an output at which a jump is proved, and places that are the same.
APART, SAME = 1e-9, 1e-13
# Times that both ends and the output are found again, a change that is none; cuts of cells for a proof.
ROUNDS, SETTLED, CUTS, PARTS = 12, 4e-16, 26, 4
# Mass that is none, half a cell that is not cut, and edges within which a peak is looked for.
NOTHING, SMALLEST, BESIDE = 1e-16, 1e-16, 6
# Cells that are cut at once.
MOST_OPEN = 2000
# Of what is covered, what rounding may change.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Block:
    """The window jumps from a start to an end at an output; at -∞ or ∞ where it never stands elsewhere."""

    start: float
    end: float
    output: float


@dataclass(frozen=True)
class BlockLoss:
    """What is lost on a block, and what that misses: by the integral, the density, and mass anywhere."""

    value: float
    missed: float
    relative: float
    lost: float
    cells: int


def turning(cells: Pair, eps: float, width: float) -> tuple[FloatArray, FloatArray]:
    """Y at both ends of cells: the output at which it becomes worth it to pass x."""
    ends = np.array([-1.0, 1.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(evaluated(cells.high, ends)) - np.log(evaluated(cells.low, ends))
        found = cells.centres[:, None] + cells.halves[:, None] * ends + width / 2 - logs / (2 * eps)
    return found[:, 0], found[:, 1]


class _Covered:
    """What a window covers after an output, on cells: masses at the nodes of Gauss–Legendre."""

    def __init__(self, model: Pieces, eps: float, width: float, edges: FloatArray) -> None:
        self.eps, self.width = eps, width
        counts = np.maximum(1, np.ceil(eps * np.diff(edges) / (2 * REACH))).astype(np.int64)
        index = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        steps: FloatArray = np.repeat(np.diff(edges) / counts, counts)
        self.edges = np.unique(np.append(np.repeat(edges[:-1], counts) + index * steps, edges[-1]))
        self.cells, self.relative, self.lost = pair(model, self.edges, width)
        nodes, weights = legendre()
        halves = self.cells.halves[:, None]
        self.places = self.cells.centres[:, None] + halves * nodes
        self.low = np.maximum(evaluated(self.cells.low, nodes), 0.0) * weights * halves
        self.high = np.maximum(evaluated(self.cells.high, nodes), 0.0) * weights * halves

    def passed(self, output: float) -> tuple[FloatArray, FloatArray]:
        """What each cell loses at x and wins at x + 2r, weighed by e^(-ε·distance)."""
        lost = self.low * np.exp(-self.eps * np.abs(self.places - output))
        won = self.high * np.exp(-self.eps * np.abs(self.places + self.width - output))
        return lost.sum(axis=1), won.sum(axis=1)

    def windows(self, output: float) -> FloatArray:
        """W at every edge, less W at the first."""
        lost, won = self.passed(output)
        return np.concatenate([[0.0], np.cumsum(won - lost)])

    def missed(self) -> float:
        """What Gauss–Legendre misses of a chance of at most 1 that is a sum of exponentials."""
        best = np.full(len(self.cells.halves), np.inf)
        for rate in RATES:
            reach = (rate + 1 / rate) / 2
            powers = reach ** np.arange(self.cells.low.shape[1])
            sizes = (np.abs(self.cells.low) + np.abs(self.cells.high)) @ powers
            grown = 2 * np.exp(self.eps * self.cells.halves * reach)
            best = np.minimum(best, missed_by_gauss(sizes * grown, rate))
        return float((self.cells.halves * best).sum())


def block_at(model: Pieces, eps: float, width: float, place: float) -> Block:
    """The block around a place at which Y decreases."""
    last = 1 - width
    edges = pair_edges(model, width, 0.0, last, *np.linspace(0.0, last, FEWEST + 1), place)
    seen = _Covered(model, eps, width, edges)
    k = int(np.searchsorted(seen.edges, place))

    def beyond(output: float) -> float:
        found = seen.windows(output)
        return float(found[k + 1 :].max() - found[: k + 1].max())

    output = _crossing(beyond)
    found = seen.windows(min(max(output, 0.0), 1.0))
    first, after = int(found[: k + 1].argmax()), k + 1 + int(found[k + 1 :].argmax())
    start, end = float(seen.edges[first]), float(seen.edges[after])
    for _ in range(ROUNDS):
        before, at = output, min(max(output, 0.0), 1.0)
        start, end = (
            _peak(model, eps, width, seen.edges, near, at) if side is None else side
            for near, side in (
                (start, 0.0 if output == -math.inf else None),
                (end, last if output == math.inf else None),
            )
        )
        if math.isinf(output):
            break
        output = _tie(model, eps, width, Block(start, end, output))
        if abs(output - before) <= SETTLED:
            break
    return Block(start, end, output)


def _crossing(function: Callable[[float], float]) -> float:
    """The output at which a function crosses 0 upwards; ±∞ where it does not."""
    if function(0.0) >= 0:
        return -math.inf
    if function(1.0) <= 0:
        return math.inf
    return float(brentq(function, 0.0, 1.0, xtol=1e-16, rtol=1e-15))


def _tie(model: Pieces, eps: float, width: float, block: Block) -> float:
    """The output after which both ends of a block are as good."""
    kinks = (block.output, block.output - width)
    seen = _Covered(model, eps, width, pair_edges(model, width, block.start, block.end, *_in(block, kinks)))
    return _crossing(lambda output: float(seen.windows(output)[-1]))


def _in(block: Block, places: tuple[float, ...]) -> list[float]:
    return [place for place in places if block.start < place < block.end]


def _peak(model: Pieces, eps: float, width: float, edges: FloatArray, near: float, output: float) -> float:
    """Where W has its peak beside a place: bisection on what the window wins and loses there."""
    k = int(np.clip(np.searchsorted(edges, near), 0, len(edges) - 1))
    before, behind = edges[max(k - BESIDE, 0) : k + 1][::-1].tolist(), edges[k : k + BESIDE + 1].tolist()
    below = next((at for at in before if _rises(model, eps, width, at, output, 1.0)), None)
    above = next((at for at in behind if not _rises(model, eps, width, at, output, -1.0)), None)
    if below is None or above is None:
        return float(before[-1] if below is None else behind[-1])
    while True:
        middle = (below + above) / 2
        if not below < middle < above:
            break
        if _rises(model, eps, width, middle, output, 0.0):
            below = middle
        else:
            above = middle
    for exact in (model.edges, model.edges - width):
        closest = float(exact[np.abs(exact - above).argmin()])
        if abs(closest - above) <= SAME and 0 <= closest <= edges[-1]:
            return closest
    return float(above)


def _rises(model: Pieces, eps: float, width: float, place: float, output: float, side: float) -> bool:
    """Whether a window gains on its way past a place: right of it for 1, left of it for -1."""
    heights = []
    for at in (place, place + width):
        k = int(np.searchsorted(model.edges, at, side="left" if side < 0 else "right")) - 1
        k = min(max(k, 0), len(model.edges) - 2)
        a, b = model.edges[k], model.edges[k + 1]
        t = (2 * at - a - b) / (b - a)
        heights.append(max(0.0, float(np.polynomial.polynomial.polyval(t, model.coefficients[k]))))
    exponent = eps * (abs(place + width - output) - abs(place - output))
    return heights[1] * math.exp(-max(exponent, 0.0)) > heights[0] * math.exp(min(exponent, 0.0))


def block_loss(model: Pieces, eps: float, width: float, block: Block) -> BlockLoss:
    """What the best rule loses on a block."""
    kinks = (block.output, block.output - width)
    seen = _Covered(model, eps, width, pair_edges(model, width, block.start, block.end, *_in(block, kinks)))
    value = float((seen.low * _later(seen.places, block.output, eps)).sum())
    value += float((seen.high * _later(-seen.places - width, -block.output, eps)).sum())
    error = seen.missed() + _unproved(model, eps, width, block)
    return BlockLoss(value, error, seen.relative, seen.lost, len(seen.cells.halves))


def _later(places: FloatArray, output: float, eps: float) -> FloatArray:
    """P[output ≥ s] for each truth."""
    if math.isinf(output):
        return np.full_like(places, float(output < 0))
    nats = eps * (places - output)
    return np.where(nats > 0, 0.5 - np.expm1(-np.abs(nats)) / 2, np.exp(-np.abs(nats)) / 2)


def _unproved(model: Pieces, eps: float, width: float, block: Block) -> float:
    """What a better rule may save on the block, where the proof has gaps; and between its two outputs."""
    apart = APART / eps if eps else 0.0
    missing = 0.0
    if block.output < math.inf:
        missing += _unbeaten(model, eps, width, block, min(max(block.output + apart, 0.0), 1.0), True)
    if block.output > -math.inf:
        missing += _unbeaten(model, eps, width, block, min(max(block.output - apart, 0.0), 1.0), False)
    return missing + 2 * APART * APART


def _unbeaten(model: Pieces, eps: float, width: float, block: Block, output: float, is_end: bool) -> float:
    """Mass that a window from within the block may cover beyond that from its end (or start)."""
    edges = pair_edges(model, width, block.start, block.end, *_in(block, (output, output - width)))
    for cut in range(CUTS + 1):
        seen = _Covered(model, eps, width, edges)
        open_cells, missing = _compared(seen, output, is_end)
        open_cells &= seen.cells.halves > SMALLEST
        if cut == CUTS or not 0 < open_cells.sum() <= MOST_OPEN or missing <= NOTHING:
            break
        edges = seen.edges
        inside = np.linspace(edges[:-1][open_cells], edges[1:][open_cells], PARTS + 1)[1:-1]
        edges = np.unique(np.concatenate([edges, inside.ravel()]))
    return missing


def _compared(seen: _Covered, output: float, is_end: bool) -> tuple[BoolArray, float]:
    """Cells to cut in which a window may cover more than that from the end (start), and the mass at stake."""
    lost, won = seen.passed(output)
    mass, signs = (seen.low if is_end else seen.high).sum(axis=1), _signs(seen, output)
    if is_end:
        # Seen from the end, what is won is lost.
        lost, won, mass, signs = won[::-1], lost[::-1], mass[::-1], -signs[::-1]
    gains = np.concatenate([[0.0], np.cumsum(won - lost)])
    falls: BoolArray = np.append(signs < 0, True)
    # Beside the end nothing may be known; beyond that W falls for a while, and cannot exceed what it was.
    near = int(falls.argmax())
    after = near + int(np.append(~falls[near:-1], True).argmax())
    top = np.where(signs != 0, np.maximum(gains[:-1], gains[1:]), gains[:-1] + won)
    passed = np.cumsum(won)
    rounding = ROUNDING * (np.cumsum(lost) + passed)
    unsure = top > -rounding
    unsure[near:after] = False
    unsure[:near] = False
    where = np.flatnonzero(unsure)
    missing = float(mass[:near].sum())
    if len(where):
        # Right over left grows with the output: no more is at stake than this share of what lies left.
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (np.maximum(top, 0.0) + rounding)[where] / passed[where]
        missing += min(1.0, float(np.nan_to_num(shares, nan=0.0).max())) * float(mass[: where[-1] + 1].sum())
    unsure[:near] = True
    cells = unsure & (signs == 0)
    return (cells[::-1] if is_end else cells), missing


def _signs(seen: _Covered, output: float) -> FloatArray:
    """1 where W rises on a whole cell, -1 where it falls, 0 where that is not known."""
    low, high, zero = seen.cells.low, seen.cells.high, np.zeros(len(seen.cells.low))
    factors = []
    for places in (seen.edges[:-1], seen.edges[1:]):
        nats = seen.eps * (np.abs(places + seen.width - output) - np.abs(places - output))
        factors.append((np.exp(np.minimum(nats, 0.0))[:, None], np.exp(-np.maximum(nats, 0.0))[:, None]))
    # The ratio of the two weights decreases in x.
    (low_first, high_first), (low_last, high_last) = factors
    rises = least_of(high * high_last - low * low_last, zero) >= 0
    falls = least_of(low * low_first - high * high_first, zero) >= 0
    return np.where(rises, 1.0, np.where(falls, -1.0, 0.0))
