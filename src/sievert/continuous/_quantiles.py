"""The pinball loss: for every t one decision, whether the truth lies below t, and its integral over t.

E of the loss is ∫ min_y V(t, y) dt, where V(t, y) is the cost of saying "above t" after outputs beyond y.
With A, B the sums against e^(-ε|x-y|) from below and from above, S = A + B, F the belief's distribution
function and N that of the output,
    V = ½·A(t)·e^(-ε(y-t)) + q·(N(y) - F(t)) for y ≥ t, and its mirror image for y ≤ t,
and V' = (ε/2)·(q·S(y) - A(t)·e^(-ε(y-t))). A rule ỹ(t) near the best is a polynomial on each cell, so that
V(t, ỹ(t)) is analytic there and integrated to a known error; what the rule costs is bounded by V' at ỹ, which
is nearly 0: e^(εy)·V' increases in y, so that |V'| grows at most by e^(ε·distance) on the way to the best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from sievert.arrays import BoolArray, FloatArray, IndexArray
from sievert.continuous._mesh import RATES, Mesh, legendre, missed_by_gauss, scan_error

__all__ = ["quantiles"]
# Points through which the rule goes on a cell, Newton's steps to each, and halvings of a cell.
POINTS, NEWTON, HALVINGS = 16, 10, 14
# A crossing is looked for among so many places of a cell, so often: 2^54 of them in all.
PLACES, PARTINGS = 64, 9
# A step of Newton after which the next would change nothing: they square.
SETTLED = 1e-9
# Parts between the least guess and the next place, each half of the one before.
SHRINKING = 14
# Nats beyond a cell's outputs within which the best one is proved to lie, and a distance that is none.
BRACKET, NONE = 1.0, 1e-8
# Terms below this share of the first are dropped from a series.
NEGLIGIBLE = 1e-20
# ∫ of a cell is good enough where it misses this share of the loss.
ENOUGH = 1e-12


def quantiles(cells: Mesh, quantile: float) -> tuple[float, float]:
    """E[q·(x - w)⁺ + (1 - q)·(w - x)⁺] of the best guesses w over [0, 1], and what is missed."""
    if not 0 < quantile < 1:
        return 0.0, 0.0
    sums = _Sums(cells, quantile)
    if cells.eps == 0:
        place = sums.median()
        return sums.outside(place, place), 0.0
    guesses = sums.guess(cells.edges)
    first, last = float(guesses[0]), float(guesses[-1])
    if first >= last:
        return sums.outside(first, first), sums.slip(first) + sums.slip(last)
    value = sums.outside(first, last)
    missed = sums.slip(first) + sums.slip(last)
    places, outputs = _broken(sums, guesses)
    edges, total = cells.edges, value
    for halving in range(HALVINGS + 1):
        parts = _Parts.of(sums, places, outputs)
        found, error = parts.integral(ENOUGH * total / len(edges))
        total = max(total, value + float(found.sum()))
        again = error > ENOUGH * total * np.maximum(parts.halves, 1 / len(edges))
        if halving == HALVINGS:
            again[:] = False
        value, missed = value + float(found[~again].sum()), missed + float(error[~again].sum())
        if not again.any():
            break
        places, outputs = parts.halved(again)
    return float(value), float(missed)


class _Sums:
    """A, B, S, F and N on the cells as series, and at their edges."""

    def __init__(self, cells: Mesh, quantile: float) -> None:
        self.cells, self.q, self.eps = cells, quantile, cells.eps
        below, above = cells.decayed()
        self.total = float(cells.before[-1])
        a, b = cells.one_sided(below[1::2], 1), cells.one_sided(above[1::2], -1)
        f = np.zeros_like(a)
        f[:, 0] = cells.before[1::2]
        degree = cells.table.shape[1]
        f[:, 1 : degree + 1] = cells.halves[:, None] * cells.table / np.arange(1, degree + 1)
        sizes = np.abs(a + b).max(axis=0) + np.abs(f).max(axis=0)
        kept = int(np.flatnonzero(sizes > NEGLIGIBLE * sizes[0]).max()) + 1
        self.below, self.above, self.mass = a[:, :kept], b[:, :kept], f[:, :kept]
        self.both = self.below + self.above
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
        return np.asarray(self.at(self.below, places) >= self.q * self.at(self.both, places))

    def guess(self, outputs: FloatArray) -> FloatArray:
        """The quantile of what is believed after each output."""
        both = self.at(self.both, outputs)
        left = self.at(self.below, outputs) >= self.q * both  # what is guessed lies at or left of the output
        sign = np.where(left, 1.0, -1.0)
        share = np.where(left, math.log(self.q), math.log(1 - self.q))
        wanted = sign * (share + np.log(both)) + self.eps * outputs
        cell = self._cells(left, (self.log_below, -self.log_above), wanted)
        rows = np.where(left[:, None], self.below[cell], self.above[cell])
        return self.newton(rows, cell, wanted, sign, np.zeros_like(wanted))

    def outputs(self, places: FloatArray, right: BoolArray) -> FloatArray:
        """The output after which each place is the quantile, on the right of it or on the left."""
        sign = np.where(right, 1.0, -1.0)
        share = np.where(right, math.log(self.q), math.log(1 - self.q))
        cell = self.cells.where(places)
        rows = np.where(right[:, None], self.below[cell], self.above[cell])
        with np.errstate(divide="ignore"):
            level = np.log(horner(rows, (places - self.cells.centres[cell]) / self.cells.halves[cell]))
        wanted = sign * (level - share) + self.eps * places
        out = self._cells(right, (self.rising, -self.falling), wanted)
        return self.newton(self.both[out], out, wanted, sign, np.zeros_like(wanted))

    @staticmethod
    def _cells(right: BoolArray, known: tuple[FloatArray, FloatArray], wanted: FloatArray) -> IndexArray:
        """The cells in which what increases is what is wanted, from what it is at edges on either side."""
        after = np.where(right, *(np.searchsorted(edges, wanted, side="right") for edges in known))
        return np.asarray(np.clip(after - 1, 0, len(known[0]) - 2))

    def newton(
        self,
        rows: FloatArray,
        cell: IndexArray,
        wanted: FloatArray,
        sign: FloatArray,
        start: FloatArray,
    ) -> FloatArray:
        """Where sign·(ln Σ + sign·ε·x), which increases, is what is wanted: a little beyond cells at most."""
        centre, half = self.cells.centres[cell], self.cells.halves[cell]
        if wanted.ndim == 2:
            centre, half = centre[:, None], half[:, None]
        slopes = rows[:, 1:] * np.arange(1, rows.shape[1])
        u, step = start, self.eps * half
        low, high = np.full_like(u, -1.0), np.full_like(u, 1.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for _ in range(NEWTON):
                height = horner(rows, u)
                off = sign * (np.log(height) + sign * self.eps * (centre + half * u)) - wanted
                low, high = np.where(off < 0, u, low), np.where(off > 0, u, high)
                new = u - off / (sign * horner(slopes, u) / height + step)
                step_back = ~((new > low) & (new < high))
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


def _broken(sums: _Sums, guesses: FloatArray) -> tuple[FloatArray, FloatArray]:
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


def _crossings(sums: _Sums, first: float, last: float) -> FloatArray:
    """Places whose output is the place itself: A = q·S."""
    excess = sums.below - sums.q * sums.both
    ends = (
        excess @ np.stack([np.where(np.arange(excess.shape[1]) % 2, -1.0, 1.0), np.ones(excess.shape[1])]).T
    )
    cell = np.flatnonzero(ends[:, 0] * ends[:, 1] < 0)
    if not len(cell):
        return np.empty(0)
    low, width = np.full((len(cell), 1), -1.0), 2.0
    for _ in range(PARTINGS):
        width /= PLACES
        u = low + width * np.arange(PLACES)
        same = horner(excess[cell], u) * ends[cell, :1] > 0
        # The last place before the first change of sign.
        low = low + width * (np.where(same.all(axis=1), PLACES, same.argmin(axis=1)) - 1)[:, None]
        low = np.maximum(low, -1.0)
    found = sums.cells.centres[cell] + sums.cells.halves[cell] * low[:, 0]
    return np.asarray(found[(found > first) & (found < last)])


def horner(rows: FloatArray, u: FloatArray) -> FloatArray:
    """Σ a_n·u^n for rows of coefficients, each at its own place or places."""
    wide = u.ndim == 2
    found = np.zeros_like(u)
    for column in rows.T[::-1]:
        found *= u
        found += column[:, None] if wide else column
    return found


@cache
def _chebyshev() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Chebyshev's points, from values there to coefficients, and from coefficients to Gauss's nodes."""
    angles = math.pi * (np.arange(POINTS) + 0.5) / POINTS
    orders = np.arange(POINTS)
    to_coefficients = np.cos(np.outer(angles, orders)) * 2 / POINTS
    to_coefficients[:, 0] /= 2
    nodes, _ = legendre()
    return np.cos(angles), to_coefficients, np.cos(np.outer(orders, np.arccos(nodes)))


@dataclass(frozen=True)
class _Parts:
    """Parts of the range of t, each with its cell, the cell of its outputs, and on which side they lie."""

    sums: _Sums
    starts: FloatArray
    ends: FloatArray
    first: FloatArray
    last: FloatArray

    @staticmethod
    def of(sums: _Sums, places: FloatArray, outputs: FloatArray) -> _Parts:
        """Parts between places; with two columns, each row is one."""
        if places.ndim == 2:
            return _Parts(sums, places[:, 0], places[:, 1], outputs[:, 0], outputs[:, 1])
        return _Parts(sums, places[:-1], places[1:], outputs[:-1], outputs[1:])

    @property
    def halves(self) -> FloatArray:
        """Half their widths."""
        return (self.ends - self.starts) / 2

    @property
    def centres(self) -> FloatArray:
        """Their middles."""
        return (self.ends + self.starts) / 2

    def halved(self, chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
        """The halves of some, with the outputs at their ends."""
        middle = self.centres[chosen]
        at = self.sums.outputs(middle, self.sums.is_right(middle))
        at = np.clip(at, self.first[chosen], self.last[chosen])
        places = np.stack([self.starts[chosen], middle, middle, self.ends[chosen]], axis=1)
        outputs = np.stack([self.first[chosen], at, at, self.last[chosen]], axis=1)
        return places.reshape(-1, 2), outputs.reshape(-1, 2)

    def integral(self, enough: float) -> tuple[FloatArray, FloatArray]:
        """∫ V(t, ỹ(t)) dt on each part, and what is missed: by Gauss–Legendre, and by the rule."""
        sums = self.sums
        terms = _Terms(sums, self.centres, self.halves, (self.first + self.last) / 2)
        points, to_coefficients, _ = _chebyshev()
        rule = self._rule(terms, points) @ to_coefficients
        value, error = self._of_rule(terms, rule)
        unsure = np.flatnonzero(error > enough)
        if len(unsure):
            # Near the least and the largest guess the best output is a root of t: there one output does.
            rest = _Parts(sums, *(part[unsure] for part in (self.starts, self.ends, self.first, self.last)))
            constant = np.zeros((len(unsure), POINTS))
            constant[:, 0] = (rest.first + rest.last) / 2
            other, missed = rest._of_rule(_Terms(sums, rest.centres, rest.halves, constant[:, 0]), constant)
            better = missed < error[unsure]
            value[unsure[better]], error[unsure[better]] = other[better], missed[better]
        return value, error

    def _of_rule(self, terms: _Terms, rule: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for a rule, given by its coefficients [part, order]."""
        points, _, to_nodes = _chebyshev()
        nodes, weights = legendre()
        value = self.halves * (terms.cost(nodes, rule @ to_nodes) @ weights)
        at_points = rule @ np.cos(np.outer(np.arange(POINTS), np.arccos(points)))
        missed, steep = terms.bounds(rule, np.abs(terms.slope(points, at_points)).max(axis=1))
        regret = np.where(terms.is_beside(rule), self._regret(steep, terms.right), np.inf)
        regret = np.minimum(regret, self.sums.total)
        return value, np.nan_to_num(self.halves * (missed + 2 * regret), nan=np.inf)

    def _rule(self, terms: _Terms, points: FloatArray) -> FloatArray:
        """The best outputs at Chebyshev's points of each part, [part, point]."""
        sums, sign = self.sums, terms.sign[:, None]
        places = self.centres[:, None] + self.halves[:, None] * points
        with np.errstate(divide="ignore"):
            level = np.log(horner(terms.near, terms.shift[:, None] + terms.scale[:, None] * points))
        wanted = sign * (level + sign * sums.eps * places - np.log(terms.share)[:, None])
        # The outputs at the ends of a part are known: begin on the line between them.
        middle, half = (self.first + self.last) / 2, (self.last - self.first) / 2
        start = (middle[:, None] + half[:, None] * points - terms.middle[:, None]) / terms.half[:, None]
        return sums.newton(terms.both, terms.out, wanted, sign, np.clip(start, -1.0, 1.0))

    def _regret(self, steep: FloatArray, right: BoolArray) -> FloatArray:
        """What a rule may lose at any t of a part, whose best outputs lie between two that are proved."""
        sums = self.sums
        low, high = np.zeros_like(self.first), np.ones_like(self.last)
        reach = np.stack([np.full_like(self.first, BRACKET / sums.eps), self.last - self.first])
        lowers, uppers = np.maximum(self.first - reach, 0.0), np.minimum(self.last + reach, 1.0)
        slopes = self._slope(
            np.concatenate([self.starts, self.starts, self.ends, self.ends]),
            np.concatenate([lowers.ravel(), uppers.ravel()]),
        ).reshape(2, 2, -1)
        for lower, upper, (falls, rises) in zip(lowers, uppers, slopes.swapaxes(0, 1), strict=True):
            low = np.where((lower <= 0) | (falls < 0), np.maximum(low, lower), low)
            high = np.where((upper >= 1) | (rises > 0), np.minimum(high, upper), high)
        # |V'| grows at most by e^(ε·distance) on the way to the best output.
        nats = sums.eps * (high - low)
        with np.errstate(over="ignore", invalid="ignore"):
            along = nats / 2 * np.exp(nats) * steep
        # Beyond both outputs there is no more to lose than what lies there.
        beyond = np.where(
            right, sums.q * (sums.total - sums.at(sums.mass, low)), (1 - sums.q) * sums.at(sums.mass, high)
        )
        return np.fmin(along, np.maximum(beyond, 0.0) + sums.slack * sums.total)

    def _slope(self, places: FloatArray, outputs: FloatArray) -> FloatArray:
        """V' up to a factor, with 0 where rounding leaves its sign open."""
        sums = self.sums
        both = sums.at(sums.both, outputs)
        right = outputs >= places
        cell = sums.cells.where(places)
        near = horner(
            np.where(right[:, None], sums.below[cell], sums.above[cell]),
            (places - sums.cells.centres[cell]) / sums.cells.halves[cell],
        ) * np.exp(-sums.eps * np.abs(outputs - places))
        found = np.where(right, sums.q * both - near, near - (1 - sums.q) * both)
        return np.where(np.abs(found) > sums.slack * both, found, 0.0)


class _Terms:
    """V and V' on parts, at places given from -1 to 1 across each with outputs, and bounds on ellipses."""

    def __init__(self, sums: _Sums, centres: FloatArray, halves: FloatArray, outputs: FloatArray) -> None:
        cells = sums.cells
        cell, self.out = cells.where(centres), cells.where(outputs)
        self.sums, self.centres, self.halves, self.right = sums, centres, halves, sums.is_right(centres)
        self.share = np.where(self.right, sums.q, 1 - sums.q)
        self.sign = np.where(self.right, 1.0, -1.0)
        self.near = np.where(self.right[:, None], sums.below[cell], sums.above[cell])
        self.mass, self.output, self.both = sums.mass[cell], sums.output[self.out], sums.both[self.out]
        self.shift = (centres - cells.centres[cell]) / cells.halves[cell]
        self.scale = halves / cells.halves[cell]
        self.middle, self.half = cells.centres[self.out], cells.halves[self.out]

    def _at(self, nodes: FloatArray, outputs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Both places within their cells, and what e^(-ε|y-t|) is."""
        u = self.shift[:, None] + self.scale[:, None] * nodes
        v = (outputs - self.middle[:, None]) / self.half[:, None]
        apart = outputs - (self.centres[:, None] + self.halves[:, None] * nodes)
        return u, v, np.exp(-self.sums.eps * self.sign[:, None] * apart)

    def cost(self, nodes: FloatArray, outputs: FloatArray) -> FloatArray:
        """V, [part, node]."""
        u, v, decay = self._at(nodes, outputs)
        between = self.sign[:, None] * (horner(self.output, v) - horner(self.mass, u))
        return horner(self.near, u) * decay / 2 + self.share[:, None] * between

    def slope(self, nodes: FloatArray, outputs: FloatArray) -> FloatArray:
        """V' up to ε/2."""
        u, v, decay = self._at(nodes, outputs)
        return self.share[:, None] * horner(self.both, v) - horner(self.near, u) * decay

    def bounds(self, rule: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What Gauss–Legendre misses of ∫ V from -1 to 1, and the largest |V'| between Chebyshev's points."""
        lebesgue = 2 / math.pi * math.log(POINTS) + 1
        rates = np.array(RATES)
        reach = (rates + 1 / rates) / 2
        off = np.abs(rule[:, 1:]) @ rates ** np.arange(1, POINTS)[:, None]
        u = np.abs(self.shift)[:, None] + self.scale[:, None] * reach
        v = (np.abs(rule[:, 0] - self.middle)[:, None] + off) / self.half[:, None]
        apart = (-self.sign * (rule[:, 0] - self.centres))[:, None] + off + self.halves[:, None] * reach
        share = self.share[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.exp(np.minimum(self.sums.eps * apart, 700.0))
            near = horner(np.abs(self.near), u) * grown
            fixed = np.abs(self.output[:, 0] - self.mass[:, 0])[:, None]
            moving = horner(np.abs(self.output[:, 1:]), v) * v + horner(np.abs(self.mass[:, 1:]), u) * u
            missed = missed_by_gauss(near / 2 + share * (fixed + moving), rates)
            # Interpolation at Chebyshev's points (Trefethen, Thm 8.2, by Hermite's formula).
            between = reach / (reach - 1) * 2 / (rates**POINTS - rates**-POINTS)
            steepest = share * horner(np.abs(self.both), v) + near
            steep = lebesgue * slope[:, None] + between * steepest
            return np.fmin.reduce(missed, axis=1, initial=np.inf), np.fmin.reduce(
                steep, axis=1, initial=np.inf
            )

    def is_beside(self, rule: FloatArray) -> BoolArray:
        """Whether outputs stay in their cell and on their side of t, up to a distance that is none."""
        points, _, _ = _chebyshev()
        at_points = rule @ np.cos(np.outer(np.arange(POINTS), np.arccos(points)))
        within = (np.abs(at_points - self.middle[:, None]) <= self.half[:, None] * (1 + NONE)).all(axis=1)
        off = self.sign[:, None] * rule
        off[:, 0] -= self.sign * self.centres
        off[:, 1] -= self.sign * self.halves
        none = NONE / self.sums.eps
        rest = np.abs(off[:, 1:]).sum(axis=1)
        orders = np.arange(2, POINTS)
        monotone = np.abs(off[:, 1]) > np.abs(off[:, 2:]) @ (orders * orders)
        ends = np.minimum(off.sum(axis=1), off @ np.where(np.arange(POINTS) % 2, -1.0, 1.0))
        return np.asarray(
            within
            & (
                (off[:, 0] - rest >= -none)
                | (monotone & (ends >= -none))
                | (np.abs(off[:, 0]) + rest <= none)
            )
        )
