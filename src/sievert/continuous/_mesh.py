"""Sums against e^(-ε|x-y|) as power series in y: what every loss of Laplace noise is made of.

With A(y) = ∫_{x<y} π(x)·e^(-ε(y-x)) dx and B(y) the same from above, A' = π - εA and B' = εB - π. Where π is
a polynomial, a cell is therefore a few numbers at its middle and a recurrence. The numbers come from a scan
by doubling that joins weight, mean and spread, all of them sums of what is not negative: no digit is lost to
a belief that is narrow and far away, and the relative error grows with log₂ of the number of cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.continuous._shapes import Pieces, centred, moved, restricted, snapped
from sievert.numerics import UNIT, require_size

__all__ = [
    "FACTOR",
    "MOST_NATS",
    "NODES",
    "RATES",
    "Groups",
    "Mesh",
    "evaluated",
    "kernel_series",
    "least_of",
    "legendre",
    "mesh",
    "missed_by_gauss",
    "scan_error",
]
# Nodes of Gauss–Legendre on a cell, and half the nats that a cell reaches over at most.
NODES, REACH = 12, 0.25
# Terms of a series beyond the density's own: (REACH)^n/n! is below a unit from there on.
MORE_TERMS = 14
# Ellipses with foci at a cell's ends on which a function is bounded, by the sum of their half-axes.
RATES = (2.5, 4.0, 6.0, 10.0, 16.0)
# An error that is no more than this share of the density there is a factor; any other is mass.
FACTOR, NOTHING = 1e-12, 1e-22
MOST_CELLS = 400_000
MOST_NATS = 20_000.0
BLOCK = 4096


@cache
def legendre(count: int = NODES) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss–Legendre on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def missed_by_gauss(largest: FloatArray, rate: float | FloatArray, count: int = NODES) -> FloatArray:
    """What Gauss–Legendre misses of ∫_{-1}^1 f, for |f| ≤ largest on the ellipse (Trefethen, Thm 19.3)."""
    return np.asarray(largest * (64 / 15 * rate ** (-2.0 * count) / (1 - rate**-2)))


def scan_error(count: int, exponent: float) -> float:
    """Relative error of a scan of so many numbers, with decays of up to e^-exponent in all.

    Every level adds a product: 3 units; e^(-ε·distance) has the units of its exponent, rounded three times.
    """
    return (3 * math.ceil(math.log2(count + 2)) + 4 * min(exponent, 745.0) + 16) * UNIT


@dataclass(frozen=True)
class Groups:
    """All that lies on one side of some places: its weight there, its mean, its spread Σ w·(x - mean)²."""

    weight: FloatArray
    mean: FloatArray
    spread: FloatArray

    def at(self, index: slice | int) -> Groups:
        """Those of some places."""
        return Groups(self.weight[..., index], self.mean[..., index], self.spread[..., index])


@dataclass(frozen=True)
class Mesh:
    """A belief over cells of [0, 1] in which e^(-ε|x-y|) hardly changes.

    Attributes
    ----------
    eps : nats for the whole of [0, 1]
    edges : of the cells
    table : [cell, power], the density as Σ a_n·t^n, t from -1 to 1
    relative : factor by which the density may be off, minus 1
    lost : mass that may lie anywhere beside that
    """

    eps: float
    edges: FloatArray
    table: FloatArray
    relative: float
    lost: float

    @cached_property
    def centres(self) -> FloatArray:
        """The middles of the cells."""
        return centred(self.edges)[0]

    @cached_property
    def halves(self) -> FloatArray:
        """Half their widths."""
        return centred(self.edges)[1]

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For both halves of all cells [cell, half, node]: t, mass, and ε times the distance to 0."""
        nodes, weights = legendre()
        t = np.stack([(nodes - 1) / 2, (nodes + 1) / 2])
        heights = evaluated(self.table, t.ravel()).reshape(len(self.table), 2, NODES)
        mass = np.maximum(heights, 0.0) * (weights / 2) * self.halves[:, None, None]
        return t, mass, self.eps * self.halves[:, None, None] * t

    @cached_property
    def masses(self) -> FloatArray:
        """Of the halves of the cells, in order."""
        return np.asarray(self.nodes[1].sum(axis=2).ravel())

    @cached_property
    def before(self) -> FloatArray:
        """The mass below each place 2i (an edge) and 2i + 1 (a middle)."""
        return np.concatenate([[0.0], np.cumsum(self.masses)])

    def decayed(self, factors: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """A at every place from below, and B from above, [edge, middle, edge, …].

        `factors` [action, cell] multiply the density, for an action each.
        """
        _, mass, exponent = self.nodes
        step = self.eps * self.halves[:, None, None]
        shift = np.array([0.0, 1.0])[None, :, None]
        up = (mass * np.exp(exponent - shift * step)).sum(axis=2)
        down = (mass * np.exp(-(exponent + (1 - shift) * step))).sum(axis=2)
        if factors is not None:
            up, down = factors[:, :, None] * up, factors[:, :, None] * down
        lead = up.shape[:-2]
        both = np.stack([up.reshape(*lead, -1), down.reshape(*lead, -1)[..., ::-1]])
        found = _scanned(both, self._places, self.eps)
        zero = np.zeros((*lead, 1))
        return np.concatenate([zero, found[0]], axis=-1), np.concatenate([found[1][..., ::-1], zero], axis=-1)

    @cached_property
    def _places(self) -> FloatArray:
        """Where half cells end, seen from below and from above, [side, half cell]."""
        ends = np.empty(2 * len(self.centres) + 1)
        ends[::2], ends[1::2] = self.edges, self.centres
        return np.stack([ends[1:], -ends[-2::-1]])

    @cached_property
    def groups(self) -> tuple[Groups, Groups]:
        """What lies below each place, and above it."""
        t, mass, exponent = self.nodes
        step = self.eps * self.halves[:, None, None]
        shift = np.array([0.0, 1.0])[None, :, None]
        off = self.halves[:, None, None] * t
        sides = []
        for weights in (
            mass * np.exp(exponent - shift * step),
            mass * np.exp(-(exponent + (1 - shift) * step)),
        ):
            total = weights.sum(axis=2)
            mean = _ratio((weights * off).sum(axis=2), total)
            spread = (weights * (off - mean[:, :, None]) ** 2).sum(axis=2)
            sides.append([total.ravel(), (self.centres[:, None] + mean).ravel(), spread.ravel()])
        both = [np.stack([first, last[::-1]]) for first, last in zip(*sides, strict=True)]
        weight, mean, spread = _joined(both[0], both[1], both[2], self._places, self.eps)
        zero = np.zeros(1)
        below = [np.concatenate([zero, part[0]]) for part in (weight, mean, spread)]
        above = [np.concatenate([part[1][::-1], zero]) for part in (weight, mean, spread)]
        return Groups(*below), Groups(*above)

    def series(self, below: FloatArray, above: FloatArray, table: FloatArray | None = None) -> FloatArray:
        """A + B as series [cell, term], from their values at the middles."""
        return kernel_series(
            self.eps * self.halves, self.halves, below, above, self.table if table is None else table
        )

    def sides(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """A and B as series, from their values at the middles: A' = π - εA, B' = εB - π."""
        degree, count = self.table.shape[1], len(below)
        found = np.zeros((degree + MORE_TERMS, 2, count))
        found[0] = below, above
        step = self.eps * self.halves
        source = np.zeros((degree + MORE_TERMS - 1, count))
        source[:degree] = (self.halves[:, None] * self.table).T
        signs = np.array([[1.0], [-1.0]]) / np.arange(1, len(found))[:, None, None]
        for n, (given, sign) in enumerate(zip(source, signs, strict=True)):
            found[n + 1] = sign * (given - step * found[n])
        return np.ascontiguousarray(found.transpose(1, 2, 0))

    def where(self, places: FloatArray) -> IndexArray:
        """The cells that places lie in."""
        after = np.searchsorted(self.edges, places, side="right")
        return np.asarray(np.minimum(np.maximum(after - 1, 0), len(self.centres) - 1))


def kernel_series(
    steps: FloatArray, halves: FloatArray, below: FloatArray, above: FloatArray, table: FloatArray
) -> FloatArray:
    """S = A + B as series [cell, term], from values at middles: S'' = ε²·S - 2ε·π; steps are ε·halves."""
    degree, count = table.shape[1], len(below)
    size = degree + MORE_TERMS
    pairs = (size + 1) // 2
    # Two terms at a time: neither enters the other.
    found = np.zeros((pairs, 2, count))
    found[0] = below + above, steps * (above - below)
    source = np.zeros((2 * pairs - 2, count))
    source[:degree] = (2 * steps * halves) * table.T
    square, orders = steps * steps, np.arange(1.0, 2 * pairs - 1).reshape(-1, 2, 1)
    given = source.reshape(pairs - 1, 2, count)
    for n, divisor in enumerate(orders * (orders + 1)):
        found[n + 1] = (square * found[n] - given[n]) / divisor
    return np.ascontiguousarray(found.reshape(2 * pairs, count)[:size].T)


def mesh(model: Pieces, eps: float, places: FloatArray | None = None) -> Mesh:
    """Cells of [0, 1] that respect the pieces and further places, none wider than ε allows."""
    parts = [model.edges] if places is None else [model.edges, places]
    base = np.unique(np.concatenate(parts))
    counts = np.maximum(1, np.ceil(eps * np.diff(base) / (2 * REACH))).astype(np.int64)
    require_size(int(counts.sum()), MOST_CELLS, "the cells of the density", "use one with fewer pieces")
    edges = base
    if counts.max() > 1:
        first = np.repeat(np.cumsum(counts) - counts, counts)
        steps = np.repeat(np.diff(base) / counts, counts)
        index = np.arange(len(first)) - first
        starts = np.repeat(base[:-1], counts)
        edges = np.append(np.where(index > 0, snapped(starts + index * steps), starts), base[-1])
    rows, missed = _restricted(model, edges)
    lower = least_of(rows, missed / FACTOR)
    mass = missed * np.diff(edges)
    share = np.divide(missed, lower, out=np.full_like(lower, np.inf), where=lower > 0)
    is_mass = (share > FACTOR) | (mass <= NOTHING)
    relative = float(share[~is_mass].max(initial=0.0))
    return Mesh(eps, edges, rows, relative, float(mass[is_mass].sum()))


def least_of(rows: FloatArray, wanted: FloatArray, halvings: int = 3) -> FloatArray:
    """Lower bounds on polynomials over [-1, 1]; over halves, where that may reach what is wanted."""
    found = rows[:, 0] - np.abs(rows[:, 1:]).sum(axis=1)
    again = np.flatnonzero((found < wanted) & (rows[:, 0] > wanted))
    if halvings and len(again):
        half = np.full(len(again), 0.5)
        parts = [
            least_of(moved(rows[again], sign * half, half), wanted[again], halvings - 1) for sign in (-1, 1)
        ]
        found[again] = np.minimum(*parts)
    return np.asarray(found)


def _restricted(model: Pieces, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The polynomials on the cells, in blocks: a Taylor shift takes [cell, power, power]."""
    if len(edges) <= BLOCK or len(edges) == len(model.edges):
        return restricted(model, edges)
    parts = [restricted(model, edges[k : k + BLOCK + 1]) for k in range(0, len(edges) - 1, BLOCK)]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def evaluated(table: FloatArray, t: FloatArray) -> FloatArray:
    """Σ a_n·t^n, [row, place]."""
    return np.asarray(table @ np.vander(t, table.shape[1], increasing=True).T)


def _scanned(values: FloatArray, places: FloatArray, eps: float) -> FloatArray:
    """Σ_{j ≤ i} values[…, j]·e^(-ε(place_i - place_j)), [side, …, i]."""
    found = np.array(values)
    size, span = found.shape[-1], 1
    while span < size:
        decay = np.exp(-eps * (places[:, span:] - places[:, :-span]))
        if not decay.any():
            break
        wide = decay if found.ndim == 2 else decay[:, None, :]
        found[..., span:] += wide * found[..., :-span].copy()
        span *= 2
    return found


def _joined(
    weight: FloatArray, mean: FloatArray, spread: FloatArray, places: FloatArray, eps: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same for weight, mean and spread: two groups add w₁w₂/(w₁+w₂)·(distance of means)²."""
    size, span = weight.shape[-1], 1
    while span < size:
        decay = np.exp(-eps * (places[:, span:] - places[:, :-span]))
        if not decay.any():
            break
        earlier = decay * weight[:, :-span]
        total = earlier + weight[:, span:]
        share = _ratio(earlier, total)
        apart = mean[:, :-span] - mean[:, span:]
        spread[:, span:] = spread[:, span:] + decay * spread[:, :-span] + share * weight[:, span:] * apart**2
        mean[:, span:] = mean[:, span:] + share * apart
        weight[:, span:] = total
        span *= 2
    return weight, mean, spread


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
