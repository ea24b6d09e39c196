"""Guesses and outputs of the pinball loss: which quantile is guessed after an output, and the reverse.

Both are monotone, and found by Newton within a cell on sums that are power series there: A(t)·e^(εt) is
q·S(y)·e^(εy) where the guess t lies left of the output y, and its mirror image right of it.
"""

from __future__ import annotations

import math

import numpy as np

from sievert.arrays import BoolArray, FloatArray, IndexArray
from sievert.continuous._mesh import Mesh, scan_error

__all__ = ["Sums", "broken", "horner"]
# Newton's steps to a place whose cell alone is known.
NEWTON = 10
# A crossing is looked for among so many places of a cell, so often: 2^30 of them in all.
PLACES, PARTINGS = 1024, 3
# Terms of the slope that Newton takes.
SLOPES = 8
# A step of Newton after which the next would change nothing: they square.
SETTLED = 1e-9
# Parts between the least guess and the next place, each half of the one before.
SHRINKING = 20
# Terms below this share of the first are dropped from a series.
NEGLIGIBLE = 1e-20


class Sums:
    """A, B, S, F and N on the cells as series, and at their edges."""

    def __init__(self, cells: Mesh, quantile: float) -> None:
        self.cells, self.q, self.eps = cells, quantile, cells.eps
        below, above = cells.decayed()
        self.total = float(cells.before[-1])
        a, b = cells.sides(below[1::2], above[1::2])
        f = np.zeros_like(a)
        f[:, 0] = cells.before[1::2]
        degree = cells.table.shape[1]
        f[:, 1 : degree + 1] = cells.halves[:, None] * cells.table / np.arange(1, degree + 1)
        sizes = np.abs(a + b).max(axis=0) + np.abs(f).max(axis=0)
        kept = int(np.flatnonzero(sizes > NEGLIGIBLE * sizes[0]).max()) + 1
        self.below, self.above, self.mass = a[:, :kept], b[:, :kept], f[:, :kept]
        self.both = self.below + self.above
        self.excess = self.below - quantile * self.both
        self.output = self.mass - self.below / 2 + self.above / 2
        self.edges = cells.edges
        self.edge_below, self.edge_above = below[::2], above[::2]
        self.edge_both = self.edge_below + self.edge_above
        self.slack = 100 * scan_error(len(cells.centres), self.eps)
        with np.errstate(divide="ignore"):
            self.rising = np.log(self.edge_both) + self.eps * self.edges
            self.falling = np.log(self.edge_both) - self.eps * self.edges
            self.log_below = np.log(self.edge_below) + self.eps * self.edges
            self.log_above = np.log(self.edge_above) - self.eps * self.edges

    def at(self, series: FloatArray, places: FloatArray) -> FloatArray:
        """A series' value at places, each in the cell that it lies in."""
        cell = self.cells.where(places)
        return horner(series[cell], (places - self.cells.centres[cell]) / self.cells.halves[cell])

    def is_right(self, places: FloatArray) -> BoolArray:
        """Whether the outputs after which t is the guess lie at t or right of it."""
        return np.asarray(self.at(self.excess, places) >= 0)

    def guess(self, outputs: FloatArray) -> FloatArray:
        """The quantile of what is believed after each output."""
        both = self.at(self.both, outputs)
        left = self.is_right(outputs)  # what is guessed lies at or left of the output
        sign = np.where(left, 1.0, -1.0)
        share = np.where(left, math.log(self.q), math.log(1 - self.q))
        wanted = sign * (share + np.log(both)) + self.eps * outputs
        cell, start = self._cells(left, (self.log_below, -self.log_above), wanted)
        rows = np.where(left[:, None], self.below[cell], self.above[cell])
        return self.newton(rows, cell, wanted, sign, start)

    def outputs(self, places: FloatArray, right: BoolArray) -> FloatArray:
        """The output after which each place is the quantile, on the right of it or on the left."""
        sign = np.where(right, 1.0, -1.0)
        share = np.where(right, math.log(self.q), math.log(1 - self.q))
        cell = self.cells.where(places)
        rows = np.where(right[:, None], self.below[cell], self.above[cell])
        with np.errstate(divide="ignore"):
            level = np.log(horner(rows, (places - self.cells.centres[cell]) / self.cells.halves[cell]))
        wanted = sign * (level - share) + self.eps * places
        out, start = self._cells(right, (self.rising, -self.falling), wanted)
        return self.newton(self.both[out], out, wanted, sign, start)

    @staticmethod
    def _cells(
        right: BoolArray, known: tuple[FloatArray, FloatArray], wanted: FloatArray
    ) -> tuple[IndexArray, FloatArray]:
        """The cells in which what increases is what is wanted, and where on the line between their edges."""
        after = np.where(right, *(np.searchsorted(edges, wanted, side="right") for edges in known))
        cell = np.minimum(np.maximum(after - 1, 0), len(known[0]) - 2)
        low, high = (np.where(right, known[0][cell + k], known[1][cell + k]) for k in (0, 1))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            start = np.nan_to_num(2 * (wanted - low) / (high - low) - 1, nan=0.0)
        return cell, np.minimum(np.maximum(start, -1.0), 1.0)

    def newton(
        self,
        rows: FloatArray,
        cell: IndexArray,
        wanted: FloatArray,
        sign: FloatArray,
        start: FloatArray,
        most: int = NEWTON,
    ) -> FloatArray:
        """Where sign·(ln Σ + sign·ε·x), which increases, is what is wanted, within a cell."""
        centre, half = self.cells.centres[cell], self.cells.halves[cell]
        if wanted.ndim == 2:
            centre, half = centre[:, None], half[:, None]
        # A slope to some digits does for a step.
        slopes = rows[:, 1 : SLOPES + 1] * np.arange(1, min(SLOPES + 1, rows.shape[1]))
        u, step = start, self.eps * half
        low, high = np.full_like(u, -1.0), np.full_like(u, 1.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for _ in range(most):
                height = horner(rows, u)
                off = sign * (np.log(height) + sign * self.eps * (centre + half * u)) - wanted
                low, high = np.where(off < 0, u, low), np.where(off > 0, u, high)
                # What is wanted may lie at an end of the cell: there a step goes at most.
                new = u - off / (sign * horner(slopes, u) / height + step)
                new = np.minimum(np.maximum(new, -1.0), 1.0)
                step_back = ~((new >= low) & (new <= high))
                new[step_back] = (low[step_back] + high[step_back]) / 2
                settled = np.abs(new - u).max(initial=0.0) < SETTLED
                u = new
                if settled:
                    break
        return np.asarray(centre + half * u)

    def median(self) -> float:
        """The quantile of the belief itself."""
        before = self.cells.before[::2]
        cell = int(np.clip(np.searchsorted(before, self.q * self.total) - 1, 0, len(before) - 2))
        low, high = -1.0, 1.0
        for _ in range(60):
            u = (low + high) / 2
            is_low = horner(self.mass[cell : cell + 1], np.array([u]))[0] < self.q * self.total
            low, high = (u, high) if is_low else (low, u)
        return float(self.cells.centres[cell] + self.cells.halves[cell] * low)

    def outside(self, first: float, last: float) -> float:
        """∫ of (1 - q)·F below the least guess, and of q·(1 - F) above the largest."""
        rising = self._integral(first)
        everything, reached = self._integral(1.0), self._integral(last)
        falling = self.total * (1.0 - last) - (everything - reached)
        return (1 - self.q) * rising + self.q * falling

    def _integral(self, place: float) -> float:
        """∫ F from 0 to a place."""
        powers = np.arange(1, self.mass.shape[1] + 1)
        ends = np.where(powers % 2 == 1, -1.0, 1.0)
        whole = self.cells.halves * (self.mass @ ((1 - ends) / powers))
        cell = int(self.cells.where(np.array([place]))[0])
        half = float(self.cells.halves[cell])
        u = (place - float(self.cells.centres[cell])) / half
        return math.fsum(whole[:cell]) + half * float(self.mass[cell] @ ((u**powers - ends) / powers))

    def slip(self, place: float) -> float:
        """What it may cost that the least or the largest guess is not known exactly."""
        distance = min(1e-9, place, 1 - place)
        around = np.array([place - distance, place + distance])
        low = self.at(self.above, around) * np.exp(-self.eps * around) - (1 - self.q) * self.edge_both[0]
        high = self.q * self.edge_both[-1] - self.at(self.below, around) * np.exp(-self.eps * (1 - around))
        return float(distance * min(np.abs(low).max(), np.abs(high).max()))


def broken(sums: Sums, guesses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places between the least and the largest guess, with their outputs: neither crosses an edge between."""
    edges, first, last = sums.edges, float(guesses[0]), float(guesses[-1])
    inner = edges[(edges > first) & (edges < last)]
    crossings = _crossings(sums, first, last)
    known = np.sort(np.concatenate([[first, last], inner, guesses, crossings]))
    known = known[(known >= first) & (known <= last)]
    # Near the least and the largest guess outputs are a root of t: parts get ever smaller there.
    shrinking = 0.5 ** np.arange(1, SHRINKING + 1)
    near = [
        first + (_next(known, first) - first) * shrinking,
        last - (last + _next(-known, -last)) * shrinking,
    ]
    free = np.concatenate([inner, *near])
    places = np.concatenate([[first, last], free, guesses, crossings])
    outputs = np.concatenate([[0.0, 1.0], sums.outputs(free, sums.is_right(free)), edges, crossings])
    kept = (places >= first) & (places <= last)
    places, outputs = places[kept], outputs[kept]
    order = np.lexsort((outputs, places))
    places, outputs = places[order], np.maximum.accumulate(outputs[order])
    distinct = np.concatenate([[True], np.diff(places) > 1e-15])
    return places[distinct], outputs[distinct]


def _next(places: FloatArray, start: float) -> float:
    """The least of the places that is well beyond the start."""
    return float(places[places > start + 1e-9].min(initial=start + 1.0))


def _crossings(sums: Sums, first: float, last: float) -> FloatArray:
    """Places whose output is the place itself: A = q·S."""
    excess = sums.excess
    ends = (
        excess @ np.stack([np.where(np.arange(excess.shape[1]) % 2, -1.0, 1.0), np.ones(excess.shape[1])]).T
    )
    cell = np.flatnonzero(ends[:, 0] * ends[:, 1] < 0)
    if not len(cell):
        return np.empty(0)
    low, width = np.full((len(cell), 1), -1.0), 2.0
    rows, side = excess[cell], ends[cell, :1]
    for _ in range(PARTINGS):
        width /= PLACES
        u = low + width * np.arange(PLACES)
        same = horner(rows, u) * side > 0
        # The last place before the first change of sign.
        low = low + width * (np.where(same.all(axis=1), PLACES, same.argmin(axis=1)) - 1)[:, None]
        low = np.maximum(low, -1.0)
    # So near, secants are lines.
    here, there = horner(rows, low)[:, 0], horner(rows, low + width)[:, 0]
    low = low[:, 0] + width * np.divide(here, here - there, out=np.zeros_like(here), where=here != there)
    found = sums.cells.centres[cell] + sums.cells.halves[cell] * low
    return np.asarray(found[(found > first) & (found < last)])


def horner(rows: FloatArray, u: FloatArray) -> FloatArray:
    """Σ a_n·u^n for rows of coefficients, each at its own place or places."""
    wide = u.ndim == 2
    found = np.zeros_like(u)
    for column in rows.T[::-1]:
        found *= u
        found += column[:, None] if wide else column
    return found
