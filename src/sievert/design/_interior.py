"""The best private channel of many places: an interior point over columns, with constraints as needed.

minimise Σ_w c_w·m_w over columns with m_w[x] ≥ e^(-d(x,z))·m_w[z] for all pairs and Σ_w m_w = 1. Columns
meet in their sum alone, so that a Newton step inverts one matrix for each column and one for the sum. A few
near pairs are constraints from the start, others join a column where it violates them. Both directions of a
pair are always taken together: then m ≥ 0 is implied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.design._closed_forms import Candidate
from sievert.design._columns import Breakdown, columns_on
from sievert.design._exact import with_reserve
from sievert.design._problem import Piece
from sievert.numerics import advance, device
from sievert.proofs import Multipliers

__all__ = ["Search", "climbed", "interior_point"]

# A pair is left out at first where a way over a nearer one is longer by less than this.
DETOUR = 1.05
# Share of the way to the boundary, correctors of a step, steps of a round, rounds.
BOUNDARY, CORRECTORS, MOST_STEPS, MOST_ROUNDS = 0.92, 4, 150, 20
# A round is solved to this share of what it aims at: the rest is for the repair.
AHEAD = 0.3
# The first rounds aim at this gap.
FIRST_GAP = 1e-2
# A round ends where steps are shorter.
SHORTEST = 1e-4


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Constrained pairs of every column, sorted by column: entries w·n + x, w·n + z, and a = e^(-d(x,z))."""

    low: Any
    high: Any
    factor: Any
    xp: Any

    def slack(self, m: Any) -> Any:
        """G m: m_x - a·m_z and m_z - a·m_x for each pair."""
        flat = m.reshape(-1)
        near, far = flat[self.low], flat[self.high]
        return self.xp.stack([near - self.factor * far, far - self.factor * near])

    def spread(self, t: Any, shape: tuple[int, int]) -> Any:
        """Gᵀt."""
        size = shape[0] * shape[1]
        found = self.xp.bincount(self.low, t[0] - self.factor * t[1], size)
        found += self.xp.bincount(self.high, t[1] - self.factor * t[0], size)
        return found.reshape(shape)


def interior_point(piece: Piece, gap: float) -> Candidate:
    """A private channel with multipliers that prove a gap, or the best that was found when it ended.

    Parameters
    ----------
    gap : (loss - bound)/loss at which the search ends

    Notes
    -----
    Each round ends with a repaired channel, private for all pairs. An interrupt ends the search with the best
    channel and bound met.
    Cost: n³ operations for each action and step, n² floats for each action.
    """
    return climbed(Search(piece), gap)


def climbed(search: Search, gap: float) -> Candidate:
    """Rounds of a search until its gap is small enough, with ever smaller gaps to aim at."""
    # Where no constraint is missing, nothing is learned from a larger gap on the way.
    target, ended = gap if search.complete else max(gap, FIRST_GAP), ""
    try:
        for _ in range(MOST_ROUNDS):
            before = search.gap
            reached = search.round(AHEAD * target)
            search.repair()
            search.tell(gap)
            if search.gap <= gap:
                break
            while search.gap <= target > gap:
                target = max(gap, target / 10)
            added = search.add_violated(1e-4 * target / search.shape[1])
            if not (added or reached or search.gap < 0.9 * before):
                ended = ", ended by rounding"
                break
            search.restart(quick=reached)
    except KeyboardInterrupt:
        search.repair()
        ended = ", interrupted"
    return Candidate(np.ascontiguousarray(search.channel.T), search.multipliers(), search.words() + ended)


class Search:
    """Columns m [action, point], slacks s and multipliers y of the pairs, and the prices of the row sums."""

    complete = False  # whether every constraint is there from the start

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.shape = piece.cost.shape[1], piece.size
        self._begin()
        there, count = self.columns, self.shape[0]
        self.m = there.put(np.full(self.shape, 1 / count))
        self.s = self.pairs.slack(self.m)
        below = 0.3 * float(abs(piece.cost).mean() or 1.0)
        self.prices = there.xp.amin(self.cost, 0) - below
        self.y = self.best_y = self._carrying(self.cost - self.prices)
        self.lower, self.upper = self._bound(self.y), np.inf
        self.channel: FloatArray = np.empty(0)
        self.steps = 0

    def _begin(self) -> None:
        """Where columns are kept, what they cost, and which pairs are constrained at first."""
        piece, (count, size) = self.piece, self.shape
        self.columns = there = columns_on(device(), count, size)
        self.cost = there.put(np.ascontiguousarray(piece.cost.T))
        self.decay = there.put(np.exp(-piece.distances))
        self.edge = np.full((size, size), -1, dtype=np.int32)
        first, second = piece.pairs[piece.needed].T
        self.edge[first, second] = self.edge[second, first] = piece.needed
        self.needed = there.put(np.where(self.edge >= 0, np.exp(-piece.distances), 0.0))
        ends = piece.pairs[_near(piece)]
        low, high = ends.min(axis=1), ends.max(axis=1)
        self._set_pairs((np.arange(count)[:, None] * size**2 + np.sort(low * size + high)).ravel())

    def _set_pairs(self, codes: IndexArray) -> None:
        """Constrain these pairs, each given as w·n² + x·n + z, in order."""
        count, size = self.shape
        self.codes, self.arcs = codes, 2 * len(codes)
        w, place = np.divmod(codes, size * size)
        x, z = np.divmod(place, size)
        there = self.columns
        there.place(x, z, np.searchsorted(w, np.arange(count + 1)))
        factor = np.exp(-self.piece.distances[x, z])
        self.pairs = _Pairs(there.put(w * size + x), there.put(w * size + z), there.put(factor), there.xp)

    @property
    def gap(self) -> float:
        """What is proved, relative to the loss."""
        return (self.upper - self.lower) / max(abs(self.upper), np.finfo(float).tiny)

    def tell(self, wanted: float) -> None:
        """Say how far the gap has fallen, from 1 to what is wanted, in its logarithm."""
        total = max(1, round(-100 * np.log10(wanted)))
        done = min(total, max(0, round(-100 * np.log10(max(self.gap, wanted)))))
        advance(f"certified within {self.gap:.2g} of the best possible", done, total)

    def words(self) -> str:
        """How it was found."""
        unknowns = self.shape[0] * self.shape[1]
        each = self.arcs / unknowns
        return f"interior point, {unknowns} unknowns, {each:.1f} constraints for each, {self.steps} steps"

    def _carrying(self, wanted: Any) -> Any:
        """y ≥ 0 with Gᵀy = wanted ≥ 0 exactly: what each place is to get goes along its arcs and back."""
        xp, low, high, a = self.columns.xp, self.pairs.low, self.pairs.high, self.pairs.factor
        size, ones = self.shape[0] * self.shape[1], a * 0 + 1
        degree = xp.bincount(low, ones, size) + xp.bincount(high, ones, size)
        own = wanted.reshape(-1) / degree
        forth, back = own[low] / (1 - a * a), own[high] / (1 - a * a)
        return xp.stack([forth + a * back, back + a * forth])

    def _bound(self, y: Any) -> float:
        """No private mechanism loses less, whatever y ≥ 0."""
        reduced = self.cost - self.pairs.spread(y, self.shape)
        return float(self.columns.xp.amin(reduced, 0).sum())

    # ── One round: Newton steps with predictor and correctors ───────────────────────────────────────────────

    def round(self, target: float) -> bool:
        """Steps until the gap of the constraints taken is below the target; whether it was reached."""
        best = -np.inf
        for _ in range(MOST_STEPS):
            value, found = float((self.cost * self.m).sum()), self._bound(self.y)
            best = max(best, found)
            if found > self.lower:
                self.lower, self.best_y = found, self.y
            if value - best <= target * abs(value):
                return True
            try:
                moved = self._step()
            except Breakdown:
                return False
            self.steps += 1
            if not moved:
                return False
        return False

    def _step(self) -> bool:
        """Mehrotra's predictor and corrector, then Gondzio's; whether the step went anywhere."""
        s, y, there = self.s, self.y, self.columns
        weight = there.each(lambda s, y: y / s, s, y)
        self._invert(weight)
        entries = self.arcs
        mu = there.total(lambda s, y: s * y, s, y) / entries
        base, missing = self.prices - self.cost, 1 - self.m.sum(0)
        _, _, ds = self._direction(base, missing)
        dy = there.each(lambda y, w, ds: -y - w * ds, y, weight, ds)
        far, deep = self._length(s, ds, 1.0), self._length(y, dy, 1.0)
        ahead = there.total(lambda s, ds, y, dy: (s + far * ds) * (y + deep * dy), s, ds, y, dy)
        centre = mu * min(0.9, max(1e-6, (ahead / entries / mu) ** 3))
        lift = there.each(lambda s, ds, dy: (centre - ds * dy) / s, s, ds, dy)
        dm, dprices, ds = self._direction(self.pairs.spread(lift, self.shape) + base, missing)
        dy = there.each(lambda lift, y, w, ds: lift - y - w * ds, lift, y, weight, ds)
        far, deep = self._length(s, ds), self._length(y, dy)
        for _ in range(CORRECTORS):
            t = self._centred((min(1.0, far + 0.3), min(1.0, deep + 0.3)), (ds, dy), centre)
            more, higher, slack = self._direction(self.pairs.spread(t, self.shape), 0 * missing)
            next_ds = ds + slack
            next_dy = there.each(lambda dy, t, w, slack: dy + t - w * slack, dy, t, weight, slack)
            longer = self._length(s, next_ds), self._length(y, next_dy)
            if sum(longer) < far + deep + 0.02:
                break
            dm, dprices, ds, dy = dm + more, dprices + higher, next_ds, next_dy
            far, deep = longer
        self.m = self.m + far * dm
        self.y = there.each(lambda y, dy: y + deep * dy, y, dy)
        self.prices = self.prices + deep * dprices
        self.s = self.pairs.slack(self.m)
        if not (there.least(lambda s: s, self.s) > 0 and there.least(lambda y: y, self.y) > 0):
            # Rounding: back to the last point inside.
            self.m, self.y, self.s = self.m - far * dm, y, s
            raise Breakdown
        return max(far, deep) > SHORTEST

    def _centred(self, lengths: tuple[float, float], changes: tuple[Any, Any], centre: float) -> Any:
        """What brings products that a longer step would leave far from the centre back towards it, over s."""
        (far, deep), xp = lengths, self.columns.xp

        def work(s: Any, ds: Any, y: Any, dy: Any) -> Any:
            v = (s + far * ds) * (y + deep * dy)
            return xp.clip(xp.clip(v, 0.3 * centre, 5 * centre) - v, -5 * centre, None) / s

        return self.columns.each(work, self.s, changes[0], self.y, changes[1])

    def _length(self, value: Any, change: Any, share: float = BOUNDARY) -> float:
        """How far along a change values stay positive, times a share; at most 1."""
        steepest = -self.columns.least(lambda value, change: change / value, value, change)
        return 1.0 if steepest <= share else share / steepest

    def _invert(self, weight: Any) -> None:
        """The inverses of GᵀWG, one for each column."""
        xp, low, high, a = self.columns.xp, self.pairs.low, self.pairs.high, self.pairs.factor
        size = self.shape[0] * self.shape[1]
        diagonal = xp.bincount(low, weight[0] + a * a * weight[1], size)
        diagonal += xp.bincount(high, weight[1] + a * a * weight[0], size)
        self.columns.invert(diagonal.reshape(self.shape), -a * (weight[0] + weight[1]))

    def _direction(self, right: Any, missing: Any) -> tuple[Any, Any, Any]:
        """dm = V(right + dprices) with Σ dm = missing, dprices, and G dm."""
        dprices = self.columns.prices(missing - self.columns.product(right).sum(0))
        dm = self.columns.product(right + dprices)
        return dm, dprices, self.pairs.slack(dm)

    # ── Between rounds: a private channel, constraints that it lacks, and a start inside them ───────────────

    def repair(self) -> None:
        """Keep a channel near the columns that is private for all pairs, if it is the best so far."""
        there = self.columns
        smooth = there.get(device().largest(self.decay, there.xp.clip(self.m, 0.0, None).T))
        answer = int(np.argmin(self.piece.cost.sum(axis=0)))
        self.keep(with_reserve(self.piece, smooth, answer))

    def keep(self, channel: FloatArray) -> None:
        """Keep a private channel [point, action] if it is the best so far."""
        loss = float((self.piece.cost * channel).sum())
        if loss < self.upper:
            self.upper, self.channel = loss, channel.T

    def inside(self) -> FloatArray:
        """The best channel [action, point], as columns are kept."""
        return self.channel

    def add_violated(self, least: float) -> bool:
        """Let the most violated constraints join their columns; whether there were any."""
        size = self.shape[1]
        w, x, z = self.columns.violated(self.needed, self.m, least)
        fresh = w * size**2 + np.minimum(x, z) * size + np.maximum(x, z)
        codes = np.sort(np.concatenate([self.codes, fresh]))
        codes = codes[np.concatenate([[True], codes[1:] != codes[:-1]])]
        if len(codes) == len(self.codes):
            return False
        widened = np.zeros((2, len(codes)))
        widened[:, np.searchsorted(codes, self.codes)] = self.columns.get(self.best_y)
        self._set_pairs(codes)
        self.best_y = self.columns.put(widened)
        return True

    def restart(self, quick: bool) -> None:
        """Strictly inside every constraint: the best channel, with a share of uniform answers.

        Quick leaves it to the steps to meet the prices again, which saves a third of them and seldom breaks.
        """
        share = min(0.05, 0.3 * self.gap)
        self.m = self.columns.put((1 - share) * self.inside() + share / self.shape[0])
        self.s = self.pairs.slack(self.m)
        least = share * abs(self.upper) / self.arcs / self.s
        self.y = self.columns.xp.maximum(self.best_y, least)
        if not quick:
            reduced = self.cost - self.pairs.spread(self.y, self.shape)
            self.prices = self.columns.xp.amin(reduced, 0)
            self.y += self._carrying(reduced - self.prices)

    def multipliers(self) -> Multipliers:
        """The multipliers of the best bound, for the arcs of the whole problem."""
        size = self.shape[1]
        w, place = np.divmod(self.codes, size * size)
        x, z = np.divmod(place, size)
        edge = self.edge[x, z].astype(np.intp)
        arcs = np.concatenate([self.piece.arc_from(edge, x), self.piece.arc_from(edge, z)])
        value = np.ascontiguousarray(self.columns.get(self.best_y)).ravel()
        return Multipliers(arcs, np.concatenate([w, w]), value)


def _near(piece: Piece) -> IndexArray:
    """Positions of the pairs that a way over a nearer point does not nearly replace."""
    distances, pairs = piece.distances, piece.pairs[piece.needed]
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    position = np.concatenate([piece.needed, piece.needed])
    order = np.lexsort((distances[ends[:, 0], ends[:, 1]], ends[:, 0]))
    starts = np.searchsorted(ends[order, 0], np.arange(piece.size + 1))
    taken = []
    for x in range(piece.size):
        left = order[starts[x] : starts[x + 1]]
        while len(left):
            taken.append(position[left[0]])
            z, others = ends[left[0], 1], ends[left, 1]
            left = left[distances[x, z] + distances[z, others] > DETOUR * distances[x, others]]
    return np.unique(taken)
