"""The best private channel of many places: an interior point over columns, with constraints as needed.

minimise Σ_w c_w·m_w over columns with m_w[x] ≥ e^(-d(x,z))·m_w[z] for all pairs and Σ_w m_w = 1. Columns
meet in their sum alone, so that a Newton step factors one matrix for each column and one for the sum. A few
near pairs are constraints from the start, others join a column where it violates them. Both directions of a
pair are always taken together: then m ≥ 0 is implied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.design._bandwidth import block_order, cut, most_blocks, reached, wider
from sievert.design._closed_forms import Candidate
from sievert.design._columns import Breakdown, Columns, columns_on
from sievert.design._exact import constant_answer, with_reserve
from sievert.design._problem import DesignComponent
from sievert.numerics import advance, device
from sievert.proofs import Multipliers
from sievert.spaces import Edges, shortest_paths

__all__ = ["Search", "climbed", "interior_point"]

# A pair is left out at first where a way over a nearer one is longer by less than this.
DETOUR = 1.05
# Share of the way to the boundary, correctors of a step, steps of a round, rounds.
BOUNDARY, CORRECTORS, MOST_STEPS, MOST_ROUNDS = 0.92, 4, 150, 20
# A round aims at this share of the gap before it.
AHEAD = 0.2
# Columns are repaired from this gap on. A round ends where constraints that are missing cost more than this
# share of what its steps can still gain.
WORTH_REPAIR, LEFT = 0.1, 1.0
# Constraints reach far enough for a gap where no way over them is longer than this share of its root. A guess
# that is wrong costs a round, or longer ones.
DETOUR_OF_GAP = 0.1
# A round ends where steps are shorter.
SHORTEST = 1e-4


class _Pairs:
    """Constrained pairs of every column, sorted by column: points x < z, and a = e^(-d(x,z))."""

    def __init__(
        self, columns: Columns, starts: IndexArray, ends: tuple[IndexArray, IndexArray], factor: Any
    ) -> None:
        self.factor, self._columns, self._starts = columns.put(factor), columns, starts.tolist()
        self._step = columns.step(len(factor))
        # Entries are counted from the first column of those that are worked on together.
        first = np.repeat(np.arange(columns.count) % self._step, np.diff(starts)) * columns.size
        self._low, self._high = columns.put(first + ends[0]), columns.put(first + ends[1])

    def ends(self, m: Any) -> Any:
        """What stands at x and at z of each pair."""
        return self._made(m, lambda near, far, a: (near, far))

    def slack(self, m: Any) -> Any:
        """G m: m_x - a·m_z and m_z - a·m_x for each pair."""
        return self._made(m, lambda near, far, a: (near - a * far, far - a * near))

    def _made(self, m: Any, work: Callable[..., tuple[Any, Any]]) -> Any:
        found = self._columns.zeros((2, len(self.factor)))

        def some(start: int, end: int) -> None:
            part, flat = self._part(start, end), m[start:end].reshape(-1)
            found[0, part], found[1, part] = work(
                flat[self._low[part]], flat[self._high[part]], self.factor[part]
            )

        self._columns.shared(some, self._columns.count, self._step)
        return found

    def spread(self, t: Any) -> Any:
        """Gᵀt."""
        return self.gathered(t, lambda t, u, a: (t - a * u, u - a * t))

    def gathered(self, t: Any, work: Callable[..., tuple[Any, Any]]) -> Any:
        """What the work makes of both numbers of each pair, added up at x and at z."""
        count, size, xp = self._columns.count, self._columns.size, self._columns.xp
        found = self._columns.zeros((count, size))

        def some(start: int, end: int) -> None:
            part, entries = self._part(start, end), (end - start) * size
            near, far = work(t[0, part], t[1, part], self.factor[part])
            total = xp.bincount(self._low[part], near, entries)
            total += xp.bincount(self._high[part], far, entries)
            found[start:end] = total.reshape(end - start, size)

        self._columns.shared(some, count, self._step)
        return found

    def _part(self, start: int, end: int) -> slice:
        return slice(self._starts[start], self._starts[end])


def interior_point(piece: DesignComponent, gap: float, floor: float = 0.0) -> Candidate:
    """A private channel with multipliers that prove a gap, or the best that was found when it ended.

    Parameters
    ----------
    gap : (loss - bound)/loss at which the search ends
    floor : loss - bound at which it ends after a round, however small the loss

    Notes
    -----
    Each round ends with a repaired channel, private for all pairs. An interrupt ends the search with the best
    channel and bound met.
    Points are taken in an order in which constraints reach from a block of them to the next at most.
    Cost: with blocks of b points b·n² operations for each action and step, and 2·b·n floats for each action.
    """
    order = block_order(piece.pairs[_near(piece)], piece.distances)
    turned = piece if (order == np.arange(piece.size)).all() else piece.ordered(order)
    found = climbed(Search(turned, floor), gap)
    channel = np.empty_like(found.channel)
    channel[order] = found.channel
    return replace(found, channel=channel)


def climbed(search: Search, gap: float) -> Candidate:
    """Rounds of a search until its gap is small enough, with ever smaller gaps to aim at."""
    # Rounding may leave matrices without a finite factor: then a round ends.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"), search.columns.threads():
        ended = _rounds(search, gap)
    search.keep(constant_answer(search.piece))
    channel = np.ascontiguousarray(search.channel.T)
    words = search.words() + ended
    return Candidate(channel, search.multipliers(), words, interrupted=search.interrupted)


def _rounds(search: Search, gap: float) -> str:
    """Rounds until the gap is small enough; words where they ended before."""
    try:
        for _ in range(MOST_ROUNDS):
            before = search.gap
            reached = search.round(gap)
            search.repair()
            search.tell(gap)
            if search.is_within(gap):
                return ""
            target = max(gap, AHEAD * search.gap)
            widened = search.widen(target, stuck=search.gap > 0.7 * before)
            added = search.add_violated(1e-4 * target / search.shape[1])
            if not (widened or added or search.gap < 0.9 * before):
                return ", ended by rounding"
            search.restart(quick=reached)
    except KeyboardInterrupt:
        search.repair()
        search.interrupted = True
        return ", interrupted"
    return f", ended after {MOST_ROUNDS} rounds"


class Search:
    """Columns m [action, point], slacks s and multipliers y of the pairs, and the prices of the row sums."""

    interrupted = False

    def __init__(self, piece: DesignComponent, floor: float = 0.0) -> None:
        self.piece, self._floor = piece, floor
        self.shape = piece.cost.shape[1], piece.size
        self._begin()
        there, count = self.columns, self.shape[0]
        self.m = there.put(np.full(self.shape, 1 / count))
        self.s = self.pairs.slack(self.m)
        below = 0.3 * float(abs(piece.cost).mean() or 1.0)
        self.prices = there.xp.amin(self.cost, 0) - below
        self.y = self._carrying(self.cost - self.prices)
        # What the best bound has, with the pairs that it was found for: others may have joined them.
        self.best = self.codes, self.y
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
        ends = np.sort(piece.pairs[_near(piece)], axis=1)
        self._take_blocks(most_blocks(ends, size))
        codes = np.sort(ends[:, 0] * size + ends[:, 1])
        self._set_pairs((np.arange(count)[:, None] * size**2 + codes).ravel())

    def _take_blocks(self, blocks: int) -> None:
        """Let constraints reach as far as from one of so many blocks to the next."""
        size, self.blocks = self.shape[1], blocks
        within = (self.edge >= 0) & reached(size, blocks)
        self.needed = self.columns.put(np.where(within, np.exp(-self.piece.distances), 0.0))

    def _set_pairs(self, codes: IndexArray) -> None:
        """Constrain these pairs, each given as w·n² + x·n + z, in order."""
        count, size = self.shape
        self.codes, self.arcs = codes, 2 * len(codes)
        w, place = np.divmod(codes, size * size)
        x, z = np.divmod(place, size)
        starts = np.searchsorted(w, np.arange(count + 1))
        self.columns.place(x, z, starts, cut(size, self.blocks))
        self.pairs = _Pairs(self.columns, starts, (x, z), np.exp(-self.piece.distances[x, z]))

    @property
    def gap(self) -> float:
        """What is proved, relative to the loss."""
        if self.upper == np.inf:
            return np.inf
        return (self.upper - self.lower) / max(abs(self.upper), np.finfo(float).tiny)

    def is_within(self, gap: float) -> bool:
        """Whether a gap is proved, or what is left is too small to count."""
        return self.gap <= gap or self.upper - self.lower <= self._floor

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
        a = self.pairs.factor
        degree = self.pairs.gathered(self.columns.zeros((2, len(a))), lambda t, u, a: (t + 1, u + 1))
        forth, back = self.pairs.ends(wanted / degree) / (1 - a * a)
        return self.columns.xp.stack([forth + a * back, back + a * forth])

    def _bound(self, y: Any) -> float:
        """No private mechanism loses less, whatever y ≥ 0."""
        reduced = self.cost - self.pairs.spread(y)
        return float(self.columns.xp.amin(reduced, 0).sum())

    # ── One round: Newton steps with predictor and correctors ───────────────────────────────────────────────

    def round(self, gap: float) -> bool:
        """Steps until the gap is proved, or missing constraints cost more than steps gain; whether so far."""
        best, repaired, small = -np.inf, max(gap, WORTH_REPAIR), self._floor
        for _ in range(MOST_STEPS):
            value, found = float((self.cost * self.m).sum()), self._bound(self.y)
            best = max(best, found)
            if found > self.lower:
                self.lower, self.best = found, (self.codes, self.y)
            left = value - best
            if left <= max(repaired * abs(value), small):
                missing = self.repair() - value
                self.tell(gap)
                if self.gap <= gap or missing > max(LEFT * left, gap * abs(value) / 2):
                    return True
                repaired, small = 0.7 * left / (abs(value) or 1.0), min(small, 0.7 * left)
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
        dm, dprices, ds = self._direction(self.pairs.spread(lift) + base, missing)
        dy = there.each(lambda lift, y, w, ds: lift - y - w * ds, lift, y, weight, ds)
        far, deep = self._length(s, ds), self._length(y, dy)
        for _ in range(CORRECTORS):
            t = self._centred((min(1.0, far + 0.3), min(1.0, deep + 0.3)), (ds, dy), centre)
            more, higher, slack = self._direction(self.pairs.spread(t), 0 * missing)
            next_ds = ds + slack
            next_dy = there.each(lambda dy, t, w, slack: dy + t - w * slack, dy, t, weight, slack)
            longer = self._length(s, next_ds), self._length(y, next_dy)
            if sum(longer) < far + deep + 0.02:
                break
            dm, dprices, ds, dy = dm + more, dprices + higher, next_ds, next_dy
            far, deep = longer
        before = self.m
        self.m = self.m + far * dm
        self.y = there.each(lambda y, dy: y + deep * dy, y, dy)
        self.prices = self.prices + deep * dprices
        self.s = self.pairs.slack(self.m)
        if not (there.least(lambda s: s, self.s) > 0 and there.least(lambda y: y, self.y) > 0):
            # Rounding: back to the last point inside.
            self.m, self.y, self.s = before, y, s
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
        """The factors of GᵀWG, one for each column."""
        diagonal = self.pairs.gathered(weight, lambda v, w, a: (v + a * a * w, w + a * a * v))
        self.columns.factor(diagonal, -self.pairs.factor * (weight[0] + weight[1]))

    def _direction(self, right: Any, missing: Any) -> tuple[Any, Any, Any]:
        """dm = V(right + dprices) with Σ dm = missing, dprices, and G dm."""
        dprices = self.columns.prices(missing - self.columns.product(right).sum(0))
        dm = self.columns.product(right + dprices)
        return dm, dprices, self.pairs.slack(dm)

    # ── Between rounds: a private channel, constraints that it lacks, and a start inside them ───────────────

    def repair(self) -> float:
        """The loss of a channel near the columns that is private for all pairs, kept if it is the best."""
        there = self.columns
        smooth = there.get(device().largest(self.decay, there.xp.clip(self.m, 0.0, None).T))
        answer = int(np.argmin(self.piece.cost.sum(axis=0)))
        return self.keep(with_reserve(self.piece, smooth, answer))

    def keep(self, channel: FloatArray) -> float:
        """The loss of a private channel [point, action], kept if it is the best so far."""
        loss = float((self.piece.cost * channel).sum())
        if loss < self.upper:
            self.upper, self.channel = loss, channel.T
        return loss

    def inside(self) -> FloatArray:
        """The best channel [action, point], as columns are kept."""
        return self.channel

    def widen(self, target: float, stuck: bool) -> bool:
        """Let constraints reach as far as a gap wants, farther after a round in vain; whether they do."""
        before = self.blocks
        while self.blocks > 2 and self.columns.fits(cut(self.shape[1], wider(self.blocks))):
            if not stuck and self._detour() <= DETOUR_OF_GAP * np.sqrt(target):
                break
            self._take_blocks(wider(self.blocks))
            stuck = False
        return self.blocks < before

    def _detour(self) -> float:
        """By which share a way over constraints within reach is longer than the distance, at most."""
        piece = self.piece
        near = piece.needed[reached(piece.size, self.blocks)[tuple(piece.pairs[piece.needed].T)]]
        found = shortest_paths(Edges(piece.pairs[near], piece.exponents[near]), piece.size)
        apart = piece.distances > 0
        return float((found[apart] / piece.distances[apart]).max()) - 1

    def add_violated(self, least: float) -> bool:
        """Let the most violated constraints join their columns; whether there were any."""
        size = self.shape[1]
        w, x, z = self.columns.violated(self.needed, self.m, least)
        fresh = w * size**2 + np.minimum(x, z) * size + np.maximum(x, z)
        codes = np.sort(np.concatenate([self.codes, fresh]))
        codes = codes[np.concatenate([[True], codes[1:] != codes[:-1]])]
        if len(codes) == len(self.codes):
            return False
        self._set_pairs(codes)
        return True

    def _best_y(self) -> Any:
        """The multipliers of the best bound, on all pairs that are constrained by now."""
        codes, y = self.best
        if len(codes) == len(self.codes):
            return y
        widened = np.zeros((2, len(self.codes)))
        widened[:, np.searchsorted(self.codes, codes)] = self.columns.get(y)
        return self.columns.put(widened)

    def restart(self, quick: bool) -> None:
        """Strictly inside every constraint: the best channel, with a share of uniform answers.

        Quick leaves it to the steps to meet the prices again, which saves a third of them and seldom breaks.
        """
        share = min(0.05, 0.3 * self.gap)
        self.m = self.columns.put((1 - share) * self.inside() + share / self.shape[0])
        self.s = self.pairs.slack(self.m)
        least = share * abs(self.upper) / self.arcs / self.s
        self.y = self.columns.xp.maximum(self._best_y(), least)
        if not quick:
            reduced = self.cost - self.pairs.spread(self.y)
            self.prices = self.columns.xp.amin(reduced, 0)
            self.y += self._carrying(reduced - self.prices)

    def multipliers(self) -> Multipliers:
        """The multipliers of the best bound, for the arcs of the whole problem."""
        size = self.shape[1]
        codes, y = self.best
        w, place = np.divmod(codes, size * size)
        x, z = np.divmod(place, size)
        edge = self.edge[x, z].astype(np.intp)
        arcs = np.concatenate([self.piece.arc_from(edge, x), self.piece.arc_from(edge, z)])
        value = np.ascontiguousarray(self.columns.get(y)).ravel()
        return Multipliers(arcs, np.concatenate([w, w]), value)


def _near(piece: DesignComponent) -> IndexArray:
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
            through = distances[x, z] + distances[z, others] <= DETOUR * distances[x, others]
            # Only over a point that is nearer to the other end: two of them never rely on each other.
            left = left[~(through & (distances[z, others] < distances[x, others]))]
    return np.unique(taken)
