"""How wide each component of a graph is: diameter, radius and a centre, exact or as certified intervals.

A search from w with eccentricity e (its largest distance) bounds that of every other vertex:
max(d, e - d) ≤ ecc(v) ≤ d + e where d = d(v, w) (Takes and Kosters 2013). Searching in turn from the
likeliest centre and from the likeliest end of a longest path settles most graphs in a handful of
searches, however large. All components advance together, one source in each. When the budget ends
first, the bounds so far are a certified interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sievert.errors import GraphError
from sievert.numerics import abbreviated, is_whole
from sievert.results import Result
from sievert.spaces._automorphisms import bliss_graph, colour_numbers
from sievert.spaces._eccentricity_bounds import Extents, bounded
from sievert.spaces._graph import Graph
from sievert.spaces._traversal import (
    WORD,
    Neighbours,
    distances_from_each,
    distances_to_nearest,
    neighbours,
    part_of,
)
from sievert.spaces.secrets import CompleteGraph

__all__ = [
    "ComponentClass",
    "Extent",
    "Extents",
    "are_isomorphic",
    "canonical_order",
    "component_extents",
    "eccentricities",
    "extents",
    "induced",
    "isomorphic_components",
]

# Vertices and edges that all searches together may pass unless a budget is given: some ten seconds.
WORK = 1_000_000_000
FEWEST = 64


@dataclass(frozen=True)
class Extent(Result):
    """How wide one component is.

    `diameter` and `radius` are None where the search ended before they were settled; the bounds always
    hold. `centre` is a vertex whose eccentricity is the upper bound of the radius.
    """

    size: int
    diameter: int | None
    diameter_bounds: tuple[int, int]
    radius: int | None
    radius_bounds: tuple[int, int]
    centre: Hashable
    searches: int

    @property
    def is_exact(self) -> bool:
        """Whether both diameter and radius are settled."""
        return self.diameter is not None and self.radius is not None

    def __str__(self) -> str:
        vertices = "1 vertex" if self.size == 1 else f"{self.size} vertices"
        wide = _value_or_interval("diameter", self.diameter_bounds)
        deep = _value_or_interval("radius", self.radius_bounds)
        ended = "" if self.is_exact else f"; the budget ended after {self.searches} searches"
        return f"{vertices}, {wide}, {deep} (around {self.centre!r}){ended}"


def _value_or_interval(name: str, bounds: tuple[int, int]) -> str:
    low, high = bounds
    return f"{name} {low}" if low == high else f"{name} between {low} and {high}"


def extents(graph: Graph, budget: int | None = None, orbits: ArrayLike | None = None) -> list[Extent]:
    """Diameter, radius and a centre of each component, in the order of `graph.component_of`.

    Parameters
    ----------
    graph : Graph
        Any graph; 10^6 vertices are fine.
    budget : int, optional
        Most breadth-first searches in a component; by default some ten seconds' worth, and at least 64.
        Where they do not suffice (large small-world graphs, large graphs in which most eccentricities
        agree) the bounds are a certified interval.
    orbits : array_like, optional
        A class number for each vertex, such that vertices of one class have the same eccentricity, for
        example their orbit under automorphisms: a vertex-transitive graph is then settled by one search.

    Examples
    --------
    >>> for extent in extents(Graph(range(5), [(0, 1), (1, 2), (2, 3)])):
    ...     print(extent)
    4 vertices, diameter 3, radius 2 (around 1)
    1 vertex, diameter 0, radius 0 (around 4)
    """
    if isinstance(graph, CompleteGraph):  # its edges need not be listed
        width = min(graph.size - 1, 1)
        return [Extent(graph.size, width, (width, width), width, (width, width), graph.nodes[0], 0)]
    found = component_extents(neighbours(graph), graph.component_of, budget, orbits)
    return list(_labelled(found, graph))


def _labelled(found: Extents, graph: Graph) -> Iterator[Extent]:
    columns = (
        found.sizes,
        found.diameter_lower,
        found.diameter_upper,
        found.radius_lower,
        found.radius_upper,
        found.centres,
        found.searches,
    )
    for size, least_wide, wide, least_deep, deep, centre, searches in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        diameter = wide if least_wide == wide else None
        radius = deep if least_deep == deep else None
        yield Extent(
            size, diameter, (least_wide, wide), radius, (least_deep, deep), graph.nodes[centre], searches
        )


def component_extents(
    graph: Graph | Neighbours,
    component_of: NDArray[np.intp],
    budget: int | None = None,
    orbits: ArrayLike | None = None,
) -> Extents:
    """As `extents`, on neighbour lists, for graphs with very many components.

    Notes
    -----
    One search costs O(vertices + edges) for all components together. Bad cases are components in which
    most eccentricities agree, such as tori: pass their `orbits`.
    """
    lists = neighbours(graph)
    if budget is None:
        budget = max(FEWEST, WORK // (lists.size + len(lists.ends)))
    if not is_whole(budget) or budget < 1:
        raise GraphError(f"budget is {abbreviated(budget)}; it must be a whole number of searches ≥ 1")
    classes = None if orbits is None else _classes(orbits, lists.size)
    return bounded(lists, component_of, int(budget), classes)


def eccentricities(graph: Graph) -> NDArray[np.int32]:
    """Largest distance from each vertex within its component, by a search from every vertex.

    O(vertices·edges/64) as long as distances are at most 60.

    >>> eccentricities(Graph.path(range(4))).tolist()
    [3, 2, 2, 3]
    """
    lists = neighbours(graph)
    result = np.empty(lists.size, dtype=np.int32)
    for first in range(0, lists.size, WORD):
        vertices = range(first, min(first + WORD, lists.size))
        result[first : first + WORD] = distances_from_each(lists, vertices).max(axis=1)
    return result


def _classes(orbits: ArrayLike, size: int) -> NDArray[np.intp]:
    classes = np.asarray(orbits)
    if classes.shape != (size,):
        raise GraphError(
            f"orbits has shape {classes.shape}; give one class number for each of {size} vertices"
        )
    return np.unique(classes, return_inverse=True)[1].astype(np.intp)


# ── Which components of a graph are the same up to names: solve one of each class and multiply ──────────────
# A hash that isomorphic components share (three rounds of colour refinement) splits off most of them; what
# agrees in it is compared by the canonical form that BLISS computes. Complete components, stars and paths,
# however many, need neither.

ROUNDS = 3


@dataclass(frozen=True)
class ComponentClass(Result):
    """Components that are the same up to names.

    `components` are their numbers in `graph.component_of`. Row k of `vertices` lists the vertices of the
    k-th of them in corresponding order: mapping one row to another is an isomorphism (that keeps colours).
    """

    components: NDArray[np.intp]
    vertices: NDArray[np.intp]

    @property
    def count(self) -> int:
        """How many components there are in the class."""
        return len(self.components)

    @property
    def size(self) -> int:
        """Number of vertices of each."""
        return int(self.vertices.shape[1])

    def __str__(self) -> str:
        number = "1 component" if self.count == 1 else f"{self.count} isomorphic components"
        return f"{number} of {self.size} {'vertex' if self.size == 1 else 'vertices'}"


def isomorphic_components(graph: Graph, colours: ArrayLike | None = None) -> list[ComponentClass]:
    """The components of a graph, isomorphic ones together, in the order of their first members.

    With colours, only isomorphisms that keep the colour of every vertex count.

    >>> graph = Graph("abcdefg", [("a", "b"), ("c", "d"), ("d", "e"), ("f", "g")])
    >>> [str(found) for found in isomorphic_components(graph)]
    ['2 isomorphic components of 2 vertices', '1 component of 3 vertices']
    """
    numbers = colour_numbers(colours, graph.size)
    vertices = np.argsort(graph.component_of, kind="stable")
    sizes = np.bincount(graph.component_of)
    parts = _Parts(
        part_of(neighbours(graph), vertices),
        vertices,
        numbers[vertices],
        np.concatenate([[0], np.cumsum(sizes)]),
    )
    found = [one for alike in _alike(parts) for one in _isomorphism_classes(parts, alike)]
    return sorted(found, key=lambda one: int(one.components[0]))


def induced(graph: Graph, vertices: ArrayLike) -> Graph:
    """The graph on some vertices (numbers), in the given order, with their labels.

    >>> induced(Graph.path("abcd"), [2, 1]).labelled_edges()
    [('c', 'b')]
    """
    chosen = np.asarray(vertices, dtype=np.intp)
    number = np.full(graph.size, -1, dtype=np.intp)
    number[chosen] = np.arange(len(chosen))
    edges = number[graph.edges]
    edges = np.sort(edges[(edges >= 0).all(axis=1)], axis=1)
    return Graph._of_indices(tuple(graph.nodes[int(v)] for v in chosen), edges)


@dataclass(frozen=True)
class _Parts:
    """A graph with the vertices of each component next to each other."""

    lists: Neighbours
    vertices: NDArray[np.intp]  # number in the graph
    colours: NDArray[np.intp]
    starts: NDArray[np.intp]  # first vertex of each component, and the end

    def slice(self, component: int) -> slice:
        return slice(int(self.starts[component]), int(self.starts[component + 1]))


def _alike(parts: _Parts) -> Iterator[NDArray[np.intp]]:
    """Components that agree in size, edges and hash."""
    first = parts.starts[:-1]
    sizes = np.diff(parts.starts).astype(np.uint64)
    degrees = np.add.reduceat(parts.lists.degrees, first, dtype=np.uint64)
    hashes = np.add.reduceat(_refined(parts), first, dtype=np.uint64)
    order = np.lexsort((hashes, degrees, sizes))
    keys = np.column_stack([sizes, degrees, hashes])[order]
    changes = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    yield from (np.sort(group) for group in np.split(order, changes))


def _refined(parts: _Parts) -> NDArray[np.uint64]:
    """A number for each vertex that isomorphisms keep: from its colour and degree, and those around it."""
    lists = parts.lists
    values = _mixed(lists.degrees.astype(np.uint64) + (parts.colours.astype(np.uint64) << np.uint64(32)))
    inner = np.flatnonzero(lists.degrees)
    for _ in range(ROUNDS if len(inner) else 0):
        around = np.zeros_like(values)
        around[inner] = np.add.reduceat(values[lists.ends], lists.starts[inner])
        values = _mixed(values * np.uint64(3) + _mixed(around))
    return values


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter 64-bit numbers (the finaliser of splitmix64; overflow wraps)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _isomorphism_classes(parts: _Parts, alike: NDArray[np.intp]) -> Iterator[ComponentClass]:
    """Classes among components that agree in the hash."""
    size = int(parts.starts[alike[0] + 1] - parts.starts[alike[0]])
    rows = parts.starts[alike][:, None] + np.arange(size)
    if len(alike) == 1:
        yield ComponentClass(alike, parts.vertices[rows])
        return
    aligned = _aligned_form(parts, rows)
    if aligned is not None:
        yield ComponentClass(alike, parts.vertices[aligned])
        return
    canonical: dict[bytes, tuple[bytes, NDArray[np.intp]]] = {}
    members: dict[bytes, list[int]] = {}
    orders: dict[bytes, list[NDArray[np.intp]]] = {}
    for component in alike.tolist():
        part = parts.slice(component)
        literal, edges, colours = _local(parts, part)
        if literal not in canonical:
            canonical[literal] = _canonical(size, edges, colours)
        form, order = canonical[literal]
        members.setdefault(form, []).append(component)
        orders.setdefault(form, []).append(parts.vertices[part][order])
    for form, components in members.items():
        yield ComponentClass(np.array(components), np.array(orders[form]))


def _aligned_form(parts: _Parts, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Vertices of complete components, stars or paths in corresponding order; None for others.

    Agreement in size, number of edges and hash (hence almost surely, and checked here, in degrees) decides
    these forms.
    """
    if (parts.colours[rows] != parts.colours[rows[0, 0]]).any():
        return None
    size = rows.shape[1]
    degrees = parts.lists.degrees[rows]
    edges = degrees.sum(axis=1) // 2
    if (degrees == size - 1).all():  # complete
        return rows
    if (edges == size - 1).all() and (degrees.max(axis=1) == size - 1).all():  # stars: the centre first
        return np.take_along_axis(rows, np.argsort(-degrees, axis=1, kind="stable"), axis=1)
    if (edges == size - 1).all() and (degrees.max(axis=1) <= 2).all():  # paths: from one end to the other
        ends = rows[np.arange(len(rows)), np.argmin(degrees, axis=1)]
        distances = distances_to_nearest(parts.lists, ends)[rows]
        return np.take_along_axis(rows, np.argsort(distances, axis=1), axis=1)
    return None


def _local(parts: _Parts, part: slice) -> tuple[bytes, NDArray[np.intp], NDArray[np.intp]]:
    """A component on the vertices 0, 1, …: what it is literally, its edges and its colours."""
    lists, colours = parts.lists, parts.colours[part]
    begin, end = int(lists.starts[part.start]), int(lists.starts[part.stop])
    rows = np.repeat(np.arange(part.stop - part.start), lists.degrees[part])
    pairs = np.column_stack([rows, lists.ends[begin:end] - part.start])
    edges = pairs[pairs[:, 0] < pairs[:, 1]]
    return edges.tobytes() + colours.tobytes(), edges, colours


def _canonical(
    size: int, edges: NDArray[np.intp], colours: NDArray[np.intp]
) -> tuple[bytes, NDArray[np.intp]]:
    """The canonical form, equal just for isomorphic graphs, and the vertices in its order."""
    graph = bliss_graph(size, edges)
    graph.vs["number"] = range(size)
    # Which way round igraph states a permutation changed with 1.0; a vertex attribute tells in either.
    permuted = graph.permute_vertices(graph.canonical_permutation(color=colours.tolist()))
    order = np.array(permuted.vs["number"], dtype=np.intp)
    place = np.argsort(order)
    moved = np.sort(place[edges], axis=1)
    moved = moved[np.lexsort((moved[:, 1], moved[:, 0]))]
    return moved.tobytes() + b"|" + colours[order].tobytes(), order


def canonical_order(graph: Graph, colours: ArrayLike | None = None) -> tuple[bytes, NDArray[np.intp]]:
    """A text that is equal just for isomorphic graphs, and the vertices in the order that shows it.

    >>> canonical_order(Graph.path("abc"))[0] == canonical_order(Graph("abc", [("a", "c"), ("a", "b")]))[0]
    True
    """
    numbers = colour_numbers(colours, graph.size)
    return _canonical(graph.size, np.asarray(graph.edges, dtype=np.intp), numbers)


def are_isomorphic(first: Graph, second: Graph) -> bool:
    """Whether two graphs are the same up to names.

    >>> are_isomorphic(Graph.path("abc"), Graph("xyz", [("x", "z"), ("z", "y")]))
    True
    """
    if first.size != second.size or len(first.edges) != len(second.edges):
        return False
    return canonical_order(first)[0] == canonical_order(second)[0]
