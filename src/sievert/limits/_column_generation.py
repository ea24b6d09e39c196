"""Exact capacity by generating private columns ("rays"), for a block of up to a few hundred points.

On a connected graph every private column is a mixture of rays k = q^u with integer u ≥ 0 that change by at
most 1 along an edge, so capacity = min{Σy : y·k ≥ 1 for every ray k}. The cheapest ray with its peak at
a given point is a minimum cut. Asking for cuts half way between the present optimum and a point known to
be feasible keeps the iteration from stalling.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csc_array, hstack

from sievert.arrays import FloatArray
from sievert.limits._programs import Optimum, growth_of
from sievert.limits._space import Space, packing
from sievert.programs import GrowingProgram, LinearProgram, solved

__all__ = ["RayOptimum", "dual_of", "generate_rays"]
# Rays kept in the master program, as a multiple of the points.
KEPT = 10


@dataclass(frozen=True, eq=False)
class RayOptimum:
    """Bounds reached, the channel of the rays used (one column a ray), and a feasible y."""

    lower: float
    upper: float
    channel: FloatArray
    y: FloatArray
    rays: int


def generate_rays(space: Space, eps: float, *, gap: float = 1e-10, seconds: float = 120.0) -> RayOptimum:
    """Master program over known rays, pricing by minimum cuts, stabilised half way to a feasible point."""
    start = time.monotonic()
    q = float(np.exp(-eps))
    inside = packing(space, eps).y
    inside = inside / float((space.kernel(eps) @ inside).min())
    pricers = [_Pricer(space, q, j) for j in range(space.size)]
    # The column of ones (no leakage at all) keeps the first programs bounded.
    rays = np.vstack([np.ones(space.size), space.kernel(eps)])
    seen = {ray.tobytes() for ray in np.round(rays, 12)}
    master = GrowingProgram(np.ones(space.size))
    master.add(rays)
    generated, best = len(rays), 0.0
    while True:
        outside, mass, lower = master.solve()
        upper = float(inside.sum())
        if upper - lower <= gap * upper or time.monotonic() - start > seconds:
            break
        query = 0.5 * (inside + outside)
        found = _price(pricers, query)
        if found.least >= 1 - 1e-12:
            inside = query
        elif found.least > 0 and query.sum() / found.least < inside.sum():
            # Scaled by its cheapest ray the query is feasible.
            inside = query / found.least
        fresh = _unseen(found, seen)
        if not fresh:
            found = _price(pricers, outside)
            fresh = _unseen(found, seen)
            if not fresh:
                if found.least >= 1 - 1e-9:
                    inside = outside / min(1.0, found.least)
                break
        # Rows far from tight cost time in every later program; they come back if they are needed again.
        slack = rays @ outside - 1
        if lower > best and len(rays) > KEPT * space.size:
            idle = np.flatnonzero((slack > np.quantile(slack, 0.5)) & (mass <= 0))
            idle = idle[idle > 0]
            seen -= {key.tobytes() for key in np.round(rays[idle], 12)}
            master.drop(idle)
            rays = np.delete(rays, idle, axis=0)
        best = max(best, lower)
        generated += len(fresh)
        rays = np.vstack([rays, *fresh])
        master.add(np.array(fresh))
    mass = np.maximum(mass, 0.0)
    used = mass > 1e-15
    channel = (rays[used] * mass[used, None]).T
    return RayOptimum(lower, float(inside.sum()), channel, inside, generated)


def _unseen(found: _Priced, seen: set[bytes]) -> list[FloatArray]:
    """Rays that violate y·k ≥ 1 and are new; they are remembered."""
    fresh = []
    for ray, value in found.columns:
        key = np.round(ray, 12).tobytes()
        if value < 1 - 1e-12 and key not in seen:
            seen.add(key)
            fresh.append(ray)
    return fresh


@dataclass(frozen=True, eq=False)
class _Priced:
    least: float
    columns: list[tuple[FloatArray, float]]


def _price(pricers: list[_Pricer], y: FloatArray) -> _Priced:
    columns = [pricer.cheapest(y) for pricer in pricers]
    return _Priced(min(value for _, value in columns), columns)


class _Pricer:
    """The cheapest ray with its peak at one point, as a maximum closure.

    Node (i, l), l = 1…d(i, j), stands for "u_i is below l": choosing it raises k_i from q^l to q^(l-1).
    Lowering u_i below l needs its neighbours to be low enough as well.
    """

    def __init__(self, space: Space, q: float, peak: int) -> None:
        import igraph

        distance = space.distances[peak].astype(np.intp)
        self.q, self.distance = q, distance
        starts = np.concatenate([[0], np.cumsum(distance)])
        self.nodes = int(starts[-1])
        self.source, self.sink = self.nodes, self.nodes + 1
        self.owner = np.repeat(np.arange(space.size), distance)
        level = np.arange(self.nodes) - starts[self.owner] + 1
        # Raising k_i from q^l to q^(l-1) costs y_i times this.
        self.step = q ** (level - 1) - q ** level.astype(np.float64)
        # u_i < l implies u_i < l + 1, and u_h < l + 1 for each neighbour h, where that level exists.
        inner = np.flatnonzero(level < distance[self.owner])
        tail, head = np.concatenate([space.pairs, space.pairs[:, ::-1]]).T
        count = np.maximum(np.minimum(distance[tail], distance[head] - 1), 0)
        arc = np.repeat(np.arange(len(tail)), count)
        offset = np.arange(len(arc)) - np.repeat(np.cumsum(count) - count, count)
        needs = np.column_stack([starts[tail[arc]] + offset, starts[head[arc]] + offset + 1])
        self.arcs = np.concatenate([np.column_stack([inner, inner + 1]), needs])
        everyone = np.arange(self.nodes)
        from_source = np.column_stack([np.full(self.nodes, self.source), everyone])
        to_sink = np.column_stack([everyone, np.full(self.nodes, self.sink)])
        edges = np.concatenate([self.arcs, from_source, to_sink])
        self.graph = igraph.Graph(n=self.nodes + 2, edges=edges.tolist(), directed=True)

    def cheapest(self, y: FloatArray) -> tuple[FloatArray, float]:
        """The ray q^u that minimises y·q^u, and its value."""
        import igraph

        profit = -y[self.owner] * self.step
        if not (profit > 0).any():
            # Nothing is gained anywhere: the cone around the peak is the cheapest ray.
            ray = self.q ** self.distance.astype(np.float64)
            return ray, float(y @ ray)
        big = float(np.abs(profit).sum()) + 1.0
        capacity = np.concatenate(
            [np.full(len(self.arcs), big), np.maximum(profit, 0.0), np.maximum(-profit, 0.0)]
        )
        # The base class hands over plain lists, several times as fast as igraph's Cut object.
        cut = igraph.GraphBase.mincut(self.graph, self.source, self.sink, capacity.tolist())
        chosen = np.zeros(self.nodes + 2, dtype=bool)
        chosen[cut[2]] = True
        if not chosen[self.source]:
            chosen = ~chosen
        lowered = np.bincount(self.owner[chosen[: self.nodes]], minlength=len(y))
        ray = self.q ** (self.distance - lowered).astype(np.float64)
        return ray, float(y @ ray)


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
