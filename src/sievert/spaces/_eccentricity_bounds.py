"""Bounding the eccentricities of all vertices until diameter and radius of every component are settled.

A search from w with eccentricity e (its largest distance) bounds that of every other vertex:
max(d, e - d) ≤ ecc(v) ≤ d + e where d = d(v, w) (Takes and Kosters 2013). All components advance
together: one search has one source in each, and each is a run of consecutive vertices, so that what is
said "for each component" below is one reduction over runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.spaces._traversal import (
    LARGEST_DEPTH,
    WORD,
    Neighbours,
    distances_to_nearest,
    part_of,
    search_together,
    single_bits,
)

__all__ = ["Extents", "bounded"]

# So many searches settle most components; the others, if not deep, go on with 64 sources at a time.
FEW = 12
UNKNOWN = np.iinfo(np.int32).max // 4


@dataclass(frozen=True)
class Extents:
    """The same for all components, as arrays; `centres` are vertex numbers."""

    sizes: NDArray[np.int64]
    diameter_lower: NDArray[np.int32]
    diameter_upper: NDArray[np.int32]
    radius_lower: NDArray[np.int32]
    radius_upper: NDArray[np.int32]
    centres: NDArray[np.int64]
    searches: NDArray[np.int64]

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Where both diameter and radius are exact."""
        exact = (self.diameter_lower == self.diameter_upper) & (self.radius_lower == self.radius_upper)
        return np.asarray(exact)

    def __len__(self) -> int:
        return len(self.sizes)


def bounded(
    lists: Neighbours, component_of: NDArray[np.intp], budget: int, classes: NDArray[np.intp] | None
) -> Extents:
    """Bounds of diameter and radius of each component by at most `budget` searches in each.

    Vertices of one class have the same eccentricity, where classes are given.
    """
    state = _arranged(lists, component_of, classes)
    found = state.found
    _regular_forms(state)
    state = _search_singly(state, min(budget, FEW))
    shallow = found.radius_upper[state.components] <= LARGEST_DEPTH
    _search_in_batches(_kept(state, shallow), budget)
    _search_singly(_kept(state, ~shallow), budget)
    return found


@dataclass
class _State:
    """The components still searched, each a run of consecutive vertices, and the bounds of every vertex."""

    found: Extents  # of all components of the graph
    lists: Neighbours
    vertices: NDArray[np.intp]  # number in the whole graph
    components: NDArray[np.intp]  # number in the whole graph
    starts: NDArray[np.intp]  # first vertex of each component, and the end
    classes: NDArray[np.intp] | None
    lower: NDArray[np.int32]  # bounds of the eccentricity of each vertex
    upper: NDArray[np.int32]
    total: NDArray[np.int64]  # sum of the distances from all sources so far: small is central
    from_centre: NDArray[np.int32]

    @property
    def sizes(self) -> NDArray[np.intp]:
        return np.diff(self.starts)

    def spread(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """A value of each component at each of its vertices."""
        return np.repeat(values, self.sizes)


def _arranged(lists: Neighbours, component_of: NDArray[np.intp], classes: NDArray[np.intp] | None) -> _State:
    sizes = np.bincount(component_of)
    count = len(sizes)
    found = Extents(
        sizes=sizes.astype(np.int64),
        diameter_lower=np.zeros(count, dtype=np.int32),
        diameter_upper=np.full(count, UNKNOWN, dtype=np.int32),
        radius_lower=np.zeros(count, dtype=np.int32),
        radius_upper=np.full(count, UNKNOWN, dtype=np.int32),
        centres=np.zeros(count, dtype=np.int64),
        searches=np.zeros(count, dtype=np.int64),
    )
    vertices = np.argsort(component_of, kind="stable")
    size = lists.size
    return _State(
        found=found,
        lists=lists if count == 1 else part_of(lists, vertices),
        vertices=vertices,
        components=np.arange(count),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        classes=classes if classes is None or count == 1 else classes[vertices],
        lower=np.zeros(size, dtype=np.int32),
        upper=np.full(size, UNKNOWN, dtype=np.int32),
        total=np.zeros(size, dtype=np.int64),
        from_centre=np.zeros(size, dtype=np.int32),
    )


def _kept(state: _State, wanted: NDArray[np.bool_]) -> _State:
    """The state of some of the components."""
    if wanted.all():
        return state
    mask = np.repeat(wanted, state.sizes)
    rows = np.flatnonzero(mask)
    return _State(
        found=state.found,
        lists=part_of(state.lists, rows),
        vertices=state.vertices[rows],
        components=state.components[wanted],
        starts=np.concatenate([[0], np.cumsum(state.sizes[wanted])]),
        classes=None if state.classes is None else state.classes[rows],
        lower=state.lower[rows],
        upper=state.upper[rows],
        total=state.total[rows],
        from_centre=state.from_centre[rows],
    )


def _regular_forms(state: _State) -> None:
    """Settle cycles and complete components, which searching would settle only vertex by vertex."""
    found, degrees, first = state.found, state.lists.degrees, state.starts[:-1]
    least, most = np.minimum.reduceat(degrees, first), np.maximum.reduceat(degrees, first)
    complete = least == found.sizes - 1
    cycle = (least == 2) & (most == 2)
    for form, width in ((complete, np.minimum(found.sizes - 1, 1)), (cycle, found.sizes // 2)):
        for bound in (found.diameter_lower, found.diameter_upper, found.radius_lower, found.radius_upper):
            bound[form] = width[form]
        found.centres[form] = state.vertices[first[form]]


def _search_singly(state: _State, most: int) -> _State:
    """One source in each component at a time, until settled or `most` searches; what is left open."""
    found = state.found
    for turn in range(most):
        unsettled = ~found.settled[state.components] & (found.searches[state.components] < most)
        if 2 * state.sizes[unsettled].sum() <= len(state.vertices):  # else leaving them costs less
            state = _kept(state, unsettled)
            unsettled = np.ones(len(state.components), dtype=bool)
        if not len(state.components):
            return state
        sources = _central(state) if turn % 2 == 0 else _peripheral(state)
        distances = distances_to_nearest(state.lists, sources)
        farthest = np.maximum.reduceat(distances, state.starts[:-1])
        reach = state.spread(farthest)
        np.maximum(state.lower, np.maximum(distances, reach - distances), out=state.lower)
        np.minimum(state.upper, distances + reach, out=state.upper)
        state.total += distances
        _note_sources(state, sources, farthest, distances)
        found.searches[state.components[unsettled]] += 1
        _settle(state)
    return _kept(state, ~found.settled[state.components])


def _central(state: _State) -> NDArray[np.intp]:
    """The likeliest centre of each component: least lower bound, then least total, then largest degree."""
    open_vertices = state.lower < state.upper
    return _least(state, np.where(open_vertices, state.lower, UNKNOWN), state.total, -state.lists.degrees)


def _peripheral(state: _State) -> NDArray[np.intp]:
    """The likeliest end of a longest path: largest upper bound, then largest total."""
    return _least(state, -state.upper, -state.total)


def _least(state: _State, *keys: NDArray[np.integer]) -> NDArray[np.intp]:
    """The vertex of each component that is least by the first key, then by the next, and so on."""
    first = state.starts[:-1]
    eligible = np.ones(len(state.vertices), dtype=bool)
    for key in keys:
        values = np.where(eligible, key.astype(np.int64), np.iinfo(np.int64).max)
        eligible = values == np.repeat(np.minimum.reduceat(values, first), state.sizes)
    winners = np.flatnonzero(eligible)
    return winners[np.searchsorted(winners, first)]


def _note_sources(
    state: _State,
    sources: NDArray[np.intp],
    eccentricities: NDArray[np.int32],
    distances: NDArray[np.int32],
) -> None:
    """What one exact eccentricity in each component says about its diameter and radius."""
    found, components = state.found, state.components
    better = eccentricities < found.radius_upper[components]
    found.radius_upper[components[better]] = eccentricities[better]
    found.centres[components[better]] = state.vertices[sources[better]]
    nearer = np.repeat(better, state.sizes)
    state.from_centre[nearer] = distances[nearer]
    found.diameter_lower[components] = np.maximum(found.diameter_lower[components], eccentricities)


def _settle(state: _State) -> None:
    """Bounds of each component from the bounds of its vertices."""
    found, components, first = state.found, state.components, state.starts[:-1]
    if state.classes is not None:
        _share(state.lower, state.classes, np.maximum)
        _share(state.upper, state.classes, np.minimum)
    longest = found.diameter_lower[components]
    deepest = np.maximum(np.minimum.reduceat(state.lower, first), (longest + 1) // 2)
    found.radius_lower[components] = np.maximum(found.radius_lower[components], deepest)
    # Both ends of a path longer than the longest so far have eccentricities above it, and it is at most
    # as long as the way round by the centre.
    end = state.upper > state.spread(longest)
    round_trip = 2 * np.maximum.reduceat(np.where(end, state.from_centre, 0), first)
    round_trip[np.add.reduceat(end, first, dtype=np.int64) < 2] = 0
    widest = np.minimum(np.maximum.reduceat(state.upper, first), np.maximum(longest, round_trip))
    found.diameter_upper[components] = np.minimum(found.diameter_upper[components], widest)


def _share(bounds: NDArray[np.int32], classes: NDArray[np.intp], best: np.ufunc) -> None:
    """Give every vertex the best bound of its class."""
    shared = np.full(int(classes.max()) + 1, 0 if best is np.maximum else UNKNOWN, dtype=np.int32)
    best.at(shared, classes, bounds)
    bounds[...] = shared[classes]


def _search_in_batches(state: _State, budget: int) -> None:
    """Up to 64 sources in each component at a time, until settled or the budget ends.

    An end is ruled out by a search from it, or by one from a central vertex near it. The second kind rules
    out many ends at once, as long as there are such vertices.
    """
    found = state.found
    covering = np.ones(len(state.components), dtype=bool)
    spent = FEW
    while len(state.components) and spent < budget:
        width = min(WORD, budget - spent)
        before = _open_ends(state)
        _search_batch(state, _batch(state, covering, width))
        spent += width
        found.searches[state.components] += np.minimum(width, state.sizes)
        _settle(state)
        covering &= before - _open_ends(state) > width
        unsettled = ~found.settled[state.components]
        state, covering = _kept(state, unsettled), covering[unsettled]


def _open_ends(state: _State) -> NDArray[np.int64]:
    """How many vertices of each component may still be ends of a longer path than the longest found."""
    longest = state.found.diameter_lower[state.components]
    return np.add.reduceat(state.upper > state.spread(longest), state.starts[:-1], dtype=np.int64)


def _batch(state: _State, covering: NDArray[np.bool_], width: int) -> NDArray[np.intp]:
    """Sources of the next searches, a row for each component."""
    found, components = state.found, state.components
    longest, radius = found.diameter_lower[components], found.radius_upper[components]
    deep = found.radius_lower[components] < radius
    ends = _picked(state, state.upper > state.spread(longest), (-state.upper, -state.total), width)
    chosen = ends.copy()
    if deep.any():
        centres = _picked(state, state.lower < state.spread(radius), (state.lower, state.total), width)
        half = (width + 1) // 2
        chosen[deep, :half] = centres[deep, :half]
        chosen[deep, half:] = ends[deep, : width - half]
    if (covering & ~deep).any():
        # A search from c settles the ends within longest - ecc(c) of it. That eccentricity is not known
        # yet; where it may be near the radius it is worth a try, first where most ends are near.
        near = _ways_from_ends(state, longest - radius - 1)
        unsearched = (state.lower < state.upper) & (state.lower <= state.spread(radius) + 1)
        chosen[covering & ~deep] = _picked(state, unsearched, (-near,), width)[covering & ~deep]
    return np.take(chosen, np.arange(WORD) % width, axis=1)


def _ways_from_ends(state: _State, steps: NDArray[np.int32]) -> NDArray[np.float64]:
    """Number of walks of so many steps (in each component) from the open ends to each vertex, up to scale."""
    longest = state.found.diameter_lower[state.components]
    ways = (state.upper > state.spread(longest)).astype(np.float64)
    walking = state.spread(steps)
    for step in range(int(steps.max())):
        ways = np.where(walking > step, state.lists.matrix @ ways, ways)
        ways /= ways.max()
    return ways


def _picked(
    state: _State, eligible: NDArray[np.bool_], keys: tuple[NDArray[np.generic], ...], count: int
) -> NDArray[np.intp]:
    """The `count` least eligible vertices of each component by the keys, over again where there are fewer."""
    rows = np.flatnonzero(eligible)
    owner = np.searchsorted(state.starts, rows, side="right") - 1
    rows = rows[np.lexsort((*(key[rows] for key in reversed(keys)), owner))]
    available = np.bincount(owner, minlength=len(state.components))
    offsets = np.cumsum(available) - available
    places = offsets[:, None] + np.arange(count) % np.maximum(available, 1)[:, None]
    return np.where(
        available[:, None] > 0, np.append(rows, 0)[np.minimum(places, len(rows))], state.starts[:-1, None]
    )


def _search_batch(state: _State, sources: NDArray[np.intp]) -> None:
    """Tighten all bounds by 64 searches in each component."""
    first, components = state.starts[:-1], np.arange(len(state.components))
    steps = search_together(state.lists, single_bits(sources, len(state.vertices)))[0]
    farthest = np.maximum.reduceat(steps, first, axis=0)
    reach = np.repeat(farthest, state.sizes, axis=0)
    np.minimum(state.upper, (steps + reach).min(axis=1), out=state.upper)
    np.maximum(state.lower, np.maximum(steps, reach - steps).max(axis=1), out=state.lower)
    state.total += steps.sum(axis=1, dtype=np.int64)
    for searched in (farthest.argmin(axis=1), farthest.argmax(axis=1)):  # a centre so far, an end so far
        distances = np.take_along_axis(steps, np.repeat(searched, state.sizes)[:, None], axis=1)[:, 0]
        eccentricities = farthest[components, searched].astype(np.int32)
        _note_sources(state, sources[components, searched], eccentricities, distances.astype(np.int32))
