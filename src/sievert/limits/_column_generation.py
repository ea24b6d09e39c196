"""Exact capacity by generating private columns ("rays"), for a block of up to a few hundred points.

On a connected graph every private column is a mixture of rays k = q^u with integer u ≥ 0 that change by at
most 1 along an edge, so capacity = min{Σy : y·k ≥ 1 for every ray k}. The cheapest ray with its peak at
a given point is a minimum cut. Asking for cuts half way between the present optimum and a point known to
be feasible keeps the iteration from stalling.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csc_array, hstack

from sievert.arrays import BoolArray, FloatArray, IndexArray
from sievert.limits._programs import Optimum, growth_of
from sievert.limits._space import Space, packing
from sievert.programs import GrowingProgram, LinearProgram, solved
from sievert.spaces import Neighbours, neighbours

__all__ = ["ColumnClasses", "Pricer", "Ray", "RayOptimum", "dual_of", "generate_rays", "generated"]
# Rays kept in the master program, as a multiple of the points.
KEPT = 10
# Arcs between classes whose graph is kept from one query to the next.
MOST_KEPT_ARCS = 20_000


@dataclass(frozen=True, eq=False)
class RayOptimum:
    """Bounds reached, the channel of the rays used (one column a ray), and a feasible y."""

    lower: float
    upper: float
    channel: FloatArray
    y: FloatArray
    rays: int


def generate_rays(space: Space, eps: float, *, gap: float = 1e-10, seconds: float = 120.0) -> RayOptimum:
    """The rays of a space without symmetry: every point is a class of its own."""
    q = float(np.exp(-eps))
    inside = packing(space, eps).y
    inside = inside / float((space.kernel(eps) @ inside).min())
    lists = neighbours(space.graph())
    everyone, ones = np.arange(space.size), np.ones(space.size)
    pricers = [
        Pricer(ColumnClasses(j, everyone, ones, away.astype(np.intp), lists), q)
        for j, away in enumerate(space.distances)
    ]
    found = generated(ones, pricers, inside, gap=gap, seconds=seconds)
    channel = np.column_stack([mass * q ** ray.exponents.astype(np.float64) for ray, mass in found.used])
    return RayOptimum(found.lower, float(found.y.sum()), channel, found.y, found.rays)


@dataclass(frozen=True, eq=False)
class ColumnClasses:
    """Classes of points on which rays with their peak at `peak`, a class by itself, are constant.

    y has an entry for each kind of points: `kind` is that of the points of a class, `sizes` how many they
    are. `lists` are the neighbours of each class among classes.
    """

    peak: int
    kind: IndexArray
    sizes: FloatArray
    distance: IndexArray
    lists: Neighbours


@dataclass(frozen=True, eq=False)
class Ray:
    """q^exponents on classes; `row`·y is what y pays for it, its price."""

    classes: ColumnClasses
    exponents: IndexArray
    row: FloatArray
    price: float

    @property
    def key(self) -> bytes:
        """Equal for rays that y pays the same for."""
        return np.round(self.row, 12).tobytes()


@dataclass(frozen=True, eq=False)
class Generated:
    """A lower bound with the rays used and their masses, and the best feasible y."""

    lower: float
    used: list[tuple[Ray, float]]
    y: FloatArray
    rays: int


def generated(
    cost: FloatArray,
    pricers: list[Pricer],
    y: FloatArray,
    *,
    known: Sequence[Ray] = (),
    gap: float = 1e-10,
    seconds: float = 120.0,
) -> Generated:
    """Master program over known rays, pricing by minimum cuts, stabilised half way to a feasible point.

    It minimises cost·y with a price of at least 1 for each ray, from a feasible y; cost has the number of
    points of each kind, `known` are rays to begin with.
    """
    start = time.monotonic()
    # The column of ones (no leakage at all) keeps the first programs bounded.
    rays = [pricers[0].flat(len(y)), *(pricer.cheapest(np.zeros_like(y)) for pricer in pricers), *known]
    seen = {ray.key for ray in rays}
    master = GrowingProgram(cost)
    master.add(np.array([ray.row for ray in rays]))
    count, best = len(rays), 0.0
    while True:
        outside, mass, lower = master.solve()
        upper = float(cost @ y)
        if upper - lower <= gap * upper or time.monotonic() - start > seconds:
            break
        query = 0.5 * (y + outside)
        found = [pricer.cheapest(query) for pricer in pricers]
        least = min(ray.price for ray in found)
        if least >= 1 - 1e-12:
            y = query
        elif least > 0 and cost @ query / least < upper:
            # Scaled by its cheapest ray the query is feasible.
            y = query / least
        fresh = _unseen(found, seen)
        if not fresh:
            found = [pricer.cheapest(outside) for pricer in pricers]
            fresh = _unseen(found, seen)
            if not fresh:
                least = min(ray.price for ray in found)
                if least >= 1 - 1e-9:
                    y = outside / min(1.0, least)
                break
        # Rows far from tight cost time in every later program; they come back if they are needed again.
        if lower > best and len(rays) > KEPT * len(cost):
            slack = np.array([ray.row for ray in rays]) @ outside - 1
            idle = np.flatnonzero((slack > np.quantile(slack, 0.5)) & (mass <= 0))
            idle = idle[idle > 0]
            seen -= {rays[k].key for k in idle.tolist()}
            master.drop(idle)
            rays = [rays[k] for k in np.delete(np.arange(len(rays)), idle).tolist()]
        best = max(best, lower)
        count += len(fresh)
        rays += fresh
        master.add(np.array([ray.row for ray in fresh]))
    used = [(ray, float(share)) for ray, share in zip(rays, mass, strict=True) if share > 1e-15]
    return Generated(lower, used, y, count)


def _unseen(found: list[Ray], seen: set[bytes]) -> list[Ray]:
    """Rays that y pays too little for and that are new; they are remembered."""
    fresh = []
    for ray in found:
        if ray.price < 1 - 1e-12 and ray.key not in seen:
            seen.add(ray.key)
            fresh.append(ray)
    return fresh


class Pricer:
    """The cheapest ray with its peak at one point, as a maximum closure.

    Node (i, l), l = 1…d(i, j), stands for "u_i is below l": choosing it raises k_i from q^l to q^(l-1).
    Lowering u_i below l needs u_i and its neighbours to be below l + 1.
    """

    def __init__(self, classes: ColumnClasses, q: float) -> None:
        self.classes, self.q = classes, q
        distance = classes.distance
        self.starts = np.concatenate([[0], np.cumsum(distance)])[:-1]
        self.owner = np.repeat(np.arange(len(distance)), distance)
        level = np.arange(len(self.owner)) - self.starts[self.owner] + 1
        # Raising k_i from q^l to q^(l-1) costs y_i times this.
        self.step = classes.sizes[self.owner] * (q ** (level - 1.0) - q ** level.astype(np.float64))
        # Of few arcs the graph is made once, of many for the nodes that a query can reach.
        few = len(classes.lists.ends) <= MOST_KEPT_ARCS
        self.whole = self._needed(np.ones(len(self.owner), dtype=bool)) if few else None

    def flat(self, kinds: int) -> Ray:
        """The column of ones."""
        return self._ray(np.zeros_like(self.classes.distance), np.zeros(kinds))

    def cheapest(self, y: FloatArray) -> Ray:
        """The ray q^u that minimises y·q^u."""
        profit = -y[self.classes.kind[self.owner]] * self.step
        chosen = np.empty(0, dtype=np.intp)
        # Where nothing is gained anywhere, the cone around the peak is the cheapest ray.
        if (gains := profit > 0).any():
            nodes, needs = self.whole or self._needed(gains)
            chosen = nodes[needs.best(profit[nodes])]
        lowered = np.bincount(self.owner[chosen], minlength=len(self.classes.distance))
        return self._ray(self.classes.distance - lowered, y)

    def _ray(self, exponents: IndexArray, y: FloatArray) -> Ray:
        classes = self.classes
        mass = classes.sizes * self.q ** exponents.astype(np.float64)
        row = np.asarray(np.bincount(classes.kind, mass, minlength=len(y)), dtype=np.float64)
        return Ray(classes, exponents, row, float(row @ y))

    def _needed(self, gains: BoolArray) -> tuple[IndexArray, _Closure]:
        """Nodes that gain or that others need, and which of them needs which."""
        classes, number = self.classes, np.full(len(self.owner), -1)
        reached, arcs = gains.copy(), []
        for level in range(1, int(classes.distance.max(initial=0))):
            deep = np.flatnonzero(classes.distance >= level)
            at = deep[reached[self.starts[deep] + level - 1]]
            tails, heads = classes.lists.of_each(at)
            tails, heads = np.concatenate([at[tails], at]), np.concatenate([heads, at])
            there = classes.distance[heads] > level
            needs = np.column_stack(
                [self.starts[tails[there]] + level - 1, self.starts[heads[there]] + level]
            )
            reached[needs[:, 1]] = True
            arcs.append(needs)
        nodes = np.flatnonzero(reached)
        number[nodes] = np.arange(len(nodes))
        return nodes, _Closure(len(nodes), number[np.concatenate([np.empty((0, 2), dtype=np.intp), *arcs])])


class _Closure:
    """Sets of nodes that contain all that their nodes need, as cuts of a graph."""

    def __init__(self, count: int, needs: IndexArray) -> None:
        import igraph

        self.count, self.needs = count, len(needs)
        everyone = np.arange(count)
        from_source = np.column_stack([np.full(count, count), everyone])
        to_sink = np.column_stack([everyone, np.full(count, count + 1)])
        edges = np.concatenate([needs, from_source, to_sink])
        self.graph = igraph.Graph(n=count + 2, edges=edges.data, directed=True)

    def best(self, profit: FloatArray) -> IndexArray:
        """The nodes of the set of most profit: a minimum cut."""
        import igraph

        big = np.full(self.needs, float(np.abs(profit).sum()) + 1.0)
        capacity = np.concatenate([big, np.maximum(profit, 0.0), np.maximum(-profit, 0.0)])
        # The base class hands over plain lists, several times as fast as igraph's Cut object.
        cut = igraph.GraphBase.mincut(self.graph, self.count, self.count + 1, capacity.tolist())
        chosen = np.zeros(self.count + 2, dtype=bool)
        chosen[cut[2]] = True
        if not chosen[self.count]:
            chosen = ~chosen
        return np.flatnonzero(chosen[: self.count])


def dual_of(space: Space, eps: float, y: FloatArray) -> Optimum:
    """Arc multipliers that prove y·k ≥ max k for every private column, one small program an output."""
    edges, size = len(space.pairs), space.size
    growth = growth_of(space, eps)
    tail, head = space.arcs
    rate = np.concatenate([growth, growth])
    arcs = np.arange(2 * edges)
    flow = coo_array(
        (
            np.concatenate([np.ones(2 * edges), -rate]),
            (np.concatenate([tail, head]), np.concatenate([arcs, arcs])),
        ),
        shape=(size, 2 * edges),
    ).tocsc()
    # One more variable lifts every row alike: its least value is the violation.
    matrix = csc_array(hstack([flow, csc_array(np.ones((size, 1)))]))
    cost = np.zeros(2 * edges + 1)
    cost[-1] = 1.0
    cost[:-1] = 1e-9
    table = np.zeros((2 * edges, size))
    for j in range(size):
        right = -y.copy()
        right[j] += 1.0
        program = LinearProgram(
            cost,
            matrix,
            right,
            np.full(size, np.inf),
            np.zeros(2 * edges + 1),
            np.full(2 * edges + 1, np.inf),
        )
        solution = solved(program, "simplex", tolerance=1e-10)
        table[:, j] = np.maximum(solution.primal[:-1], 0.0)
    return Optimum(float(y.sum()), np.empty((0, 0)), y, table[:edges], table[edges:])
