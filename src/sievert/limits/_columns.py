"""Exact capacity of a graph that symmetries move: columns of one point for each orbit of points.

y may be taken alike at points that symmetries exchange, and then a column is paid for as its images are:
only rays with their peak at the first point of each orbit are generated. Such a ray may be averaged over
the symmetries that fix its peak, so it has one exponent for each of their orbits (a class). No orbit of
pairs is listed, nor the arcs between classes other than those that a cut needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array

from sievert.arrays import FloatArray, IndexArray
from sievert.limits._column_generation import ColumnClasses, Pricer, Ray, generated
from sievert.limits._orbits import covering_of_orbits, remainder
from sievert.limits._space import Space
from sievert.numerics import advance
from sievert.programs import LinearProgram, solved
from sievert.spaces import Neighbours, distances_to_nearest, neighbours, orbits_of

__all__ = ["SECONDS", "SymmetricOptimum", "has_few_classes", "symmetric_optimum"]
Certificate = dict[str, Any]
# Orbits of points, for each of which cuts are looked for, and classes around the first points of all.
MOST_PEAKS = 150
LARGEST_CLASSES = 20_000
LARGEST_SPACE = 200_000
SECONDS = 120.0
# Elements of the group: enough that all but one in 2^12 generates the symmetries that fix a point. Fewer
# symmetries mean more classes, never another answer.
RANDOM_ELEMENTS = 12
MIXING = 40


@dataclass(frozen=True, eq=False)
class SymmetricOptimum:
    """The packing bound, both certificates, the channel where it is asked for, whether the ends meet."""

    orbits: int
    classes: int
    cover: Certificate
    upper: Certificate
    lower: Certificate
    channel: FloatArray | None
    closed: bool


def symmetric_optimum(
    space: Space, eps: Fraction, symmetries: tuple[IndexArray, ...], *, channel: bool
) -> SymmetricOptimum | None:
    """The exact optimum of a connected graph; None where orbits or classes are too many.

    `symmetries` are permutations of the points that keep the edges; `channel` asks for the table.
    """
    surroundings = _surroundings(space, symmetries)
    if surroundings is None:
        return None
    group, kind, around = surroundings
    sizes = np.bincount(kind).astype(np.float64)
    level = float(eps)
    q = float(np.exp(-level))
    kernel = np.array([_kernel_row(one.classes, q, len(sizes)) for one in around])
    y, _ = covering_of_orbits(kernel, sizes)
    covering = y / float((kernel @ y).min())
    known = _coarse_rays(around, q, sizes, covering)
    pricers = [Pricer(one.classes, q) for one in around]
    found = generated(sizes, pricers, covering, known=known, seconds=SECONDS)
    moved = [image.tolist() for image in symmetries]
    cover = {"type": "orbits", "symmetries": moved, "y": y.tolist()}
    label = {one.classes.peak: one.label for one in around}
    means = sum((mass * ray.row / sizes for ray, mass in found.used), np.zeros(len(sizes)))
    lower = {
        "type": "columns",
        "symmetries": moved,
        "columns": [ray.exponents[label[ray.classes.peak]].tolist() for ray, _ in found.used],
        "z": [mass for _, mass in found.used],
        "t": remainder(space, level, kind, means),
    }
    return SymmetricOptimum(
        len(sizes),
        sum(len(one.classes.sizes) for one in around),
        cover,
        cover if found.y is covering else _paid(space, around, pricers, found.y, moved),
        lower,
        _channel(group, around, found.used, q) if channel else None,
        float(sizes @ found.y) - found.lower <= 1e-6 * found.lower,
    )


def has_few_classes(space: Space, symmetries: tuple[IndexArray, ...]) -> bool:
    """Whether `symmetric_optimum` is found for a connected graph, whatever ε is."""
    return _surroundings(space, symmetries) is not None


def _surroundings(
    space: Space, symmetries: tuple[IndexArray, ...]
) -> tuple[_Group, IndexArray, list[_Around]] | None:
    """The group, the orbit of each point and what is around first points; None where either are too many."""
    if not symmetries or space.size > LARGEST_SPACE:
        return None
    kind = orbits_of(np.array(symmetries, dtype=np.int32), space.size)
    peaks = np.unique(kind, return_index=True)[1].tolist()
    if len(peaks) > MOST_PEAKS:
        return None
    group, lists = _Group(symmetries, space.size), neighbours(space.graph())
    around: list[_Around] = []
    for peak in peaks:
        around.append(_around(group, lists, kind, peak))
        if sum(len(one.classes.sizes) for one in around) > LARGEST_CLASSES:
            return None
        advance("classes around each point", len(around), len(peaks))
    return group, kind, around


def _paid(
    space: Space, around: list[_Around], pricers: list[Pricer], y: FloatArray, moved: list[list[int]]
) -> Certificate:
    """The certificate that y pays for every column of the first points of orbits."""
    ways: tuple[list[list[float]], list[list[float]]] = [], []
    for number, (one, pricer) in enumerate(zip(around, pricers, strict=True)):
        for way, found in zip(ways, _flows(one, pricer, y, space.pairs, number), strict=True):
            way += found
    forward, backward = ways
    return {
        "type": "columns",
        "symmetries": moved,
        "y": y.tolist(),
        "forward": forward,
        "backward": backward,
    }


# ── The symmetries that fix a point, and what they leave around it ──────────────────────────────────────────


class _Group:
    """Generators of a group of permutations, and elements of it at random."""

    def __init__(self, generators: tuple[IndexArray, ...], size: int) -> None:
        self.size = size
        chance = np.random.default_rng(0)
        pool = [np.asarray(image, dtype=np.intp) for image in generators]
        first = list(pool)
        while len(pool) < max(10, len(first) + 1):
            pool.append(pool[len(pool) % len(first)])
        self.elements: list[IndexArray] = []
        for step in range(MIXING + RANDOM_ELEMENTS):
            # Product replacement.
            i, k = chance.choice(len(pool), 2, replace=False)
            pool[i] = pool[i][pool[k]]
            if step >= MIXING:
                self.elements.append(pool[i])
        # With a few elements at random, any point of an orbit is a few steps away.
        self.steps = [*first, *self.elements[:4]]
        self.back = [np.argsort(step) for step in self.steps]

    def ways(self, point: int) -> tuple[list[int], IndexArray, IndexArray]:
        """Points that `point` is moved to, nearest first; the last step to each, and where it comes from."""
        order, step, source = [], np.full(self.size, -1), np.full(self.size, -1)
        source[point] = point
        front = np.array([point])
        while len(front):
            moved = []
            for k, image in enumerate(self.steps):
                new = source[image[front]] < 0
                reached = image[front[new]]
                step[reached], source[reached] = k, front[new]
                moved.append(reached)
            front = np.concatenate(moved)
            order += front.tolist()
        return order, step, source

    def fixing(self, point: int) -> list[IndexArray]:
        """Symmetries that fix a point: an element at random, and steps back to the point (Schreier)."""
        _, step, _ = self.ways(point)
        found = []
        for element in self.elements:
            image = element
            while (at := int(image[point])) != point:
                image = self.back[step[at]][image]
            found.append(image)
        return found


@dataclass(frozen=True, eq=False)
class _Around:
    """The class of each point, as seen from a peak, and what a pricer needs to know of the classes.

    `counts` has how many neighbours a point of one class has in another, in the order of its lists.
    """

    label: IndexArray
    classes: ColumnClasses
    counts: FloatArray


def _around(group: _Group, lists: Neighbours, kind: IndexArray, peak: int) -> _Around:
    """Orbits of the symmetries that fix the peak; neighbours of one point of a class show those of all."""
    label = orbits_of(np.array(group.fixing(peak), dtype=np.int32), group.size)
    first, sizes = np.unique(label, return_index=True, return_counts=True)[1:]
    place, ends = lists.of_each(first)
    near, counts = _lists(place, label[ends], len(first))
    away = distances_to_nearest(lists, [peak])[first].astype(np.intp)
    return _Around(label, ColumnClasses(peak, kind[first], sizes.astype(np.float64), away, near), counts)


def _lists(tail: IndexArray, head: IndexArray, count: int) -> tuple[Neighbours, FloatArray]:
    """Which classes have neighbours in which, and how many times each arc was given."""
    table = coo_array((np.ones(len(tail)), (tail, head)), shape=(count, count)).tocsr()
    return Neighbours(table.indptr.astype(np.int32), table.indices.astype(np.int32)), table.data


def _kernel_row(classes: ColumnClasses, q: float, kinds: int) -> FloatArray:
    """Σ e^(-εd) from the peak to all points of each kind."""
    weight = classes.sizes * q ** classes.distance.astype(np.float64)
    return np.asarray(np.bincount(classes.kind, weight, minlength=kinds), dtype=np.float64)


def _coarse_rays(around: list[_Around], q: float, sizes: FloatArray, covering: FloatArray) -> list[Ray]:
    """The best rays among those that are alike at points of one kind at one distance: few, found at once."""
    pricers, members = [], {}
    for one in around:
        classes = one.classes
        keys = np.column_stack([classes.kind, classes.distance])
        distinct, member = np.unique(keys, axis=0, return_inverse=True)
        tail, head = classes.lists.of_each(np.arange(len(member)))
        near = _lists(member.ravel()[tail], member.ravel()[head], len(distinct))[0]
        amounts = np.asarray(np.bincount(member.ravel(), classes.sizes), dtype=np.float64)
        pricers.append(Pricer(ColumnClasses(classes.peak, distinct[:, 0], amounts, distinct[:, 1], near), q))
        members[classes.peak] = classes, member.ravel()
    used = generated(sizes, pricers, covering, seconds=SECONDS).used
    rays = []
    for ray, _ in used:
        classes, member = members[ray.classes.peak]
        rays.append(Ray(classes, ray.exponents[member], ray.row, ray.price))
    return rays


# ── Certificates, and the channel itself ────────────────────────────────────────────────────────────────────


def _flows(
    around: _Around, pricer: Pricer, y: FloatArray, pairs: IndexArray, number: int
) -> list[list[list[float]]]:
    """Multipliers f of k_a ≤ e^ε·k_b that prove y·k ≥ k_peak for every private column k: [edge, number, f].

    Only arcs along which the cheapest ray is as steep as may be carry any (complementary slackness). What y
    has left at b goes to neighbours a that are one step nearer to the peak, and is worth q times as much.
    """
    classes, ray = pricer.classes, pricer.cheapest(y)
    growth = 1 / pricer.q
    tail, head = classes.lists.of_each(np.arange(len(classes.sizes)))
    steep = ray.exponents[tail] == ray.exponents[head] - 1
    tail, head = tail[steep], head[steep]
    count, arcs = len(classes.sizes), np.arange(len(tail))
    peak = int(np.flatnonzero(classes.distance == 0)[0])
    # One unknown an arc between classes (all that leaves a class there), and one for what the peak gets.
    matrix = coo_array(
        (
            np.concatenate([np.ones(len(tail)), np.full(len(tail), -growth), [-1.0]]),
            (np.concatenate([tail, head, [peak]]), np.concatenate([arcs, arcs, [len(tail)]])),
        ),
        shape=(count, len(tail) + 1),
    )
    cost = np.append(np.zeros(len(tail)), -1.0)
    endless = np.full(count, np.inf)
    program = LinearProgram(
        cost,
        csc_array(matrix),
        -y[classes.kind] * classes.sizes,
        endless,
        np.zeros(len(cost)),
        np.full(len(cost), np.inf),
    )
    amount = np.maximum(solved(program, tolerance=1e-10).primal[:-1], 0.0)
    # The same along each of the edges that lead from one class to another.
    each = amount / (classes.sizes[tail] * around.counts[steep])
    chosen = np.flatnonzero(each > 1e-300)
    codes, place = np.unique(tail[chosen] * count + head[chosen], return_index=True)
    found = []
    for ends in (around.label[pairs], around.label[pairs[:, ::-1]]):
        near = np.minimum(np.searchsorted(codes, ends @ [count, 1]), len(codes) - 1)
        used = np.flatnonzero(codes[near] == ends @ [count, 1])
        given = each[chosen[place[near[used]]]]
        found.append([[e, number, f] for e, f in zip(used.tolist(), given.tolist(), strict=True)])
    return found


def _channel(group: _Group, around: list[_Around], used: list[tuple[Ray, float]], q: float) -> FloatArray:
    """A column for each point: that of the first point of its orbit, moved there."""
    table = np.zeros((group.size, group.size))
    for one in around:
        peak = one.classes.peak
        rays = [
            mass * q ** ray.exponents.astype(np.float64) for ray, mass in used if ray.classes is one.classes
        ]
        order, step, source = group.ways(peak)
        table[:, peak] = sum(rays, np.zeros(len(one.classes.sizes)))[one.label] / (len(order) + 1)
        for point in order:
            table[:, point] = table[group.back[step[point]], source[point]]
    return table
