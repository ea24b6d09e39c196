"""Which components of a graph are the same up to names: solve one of each class and multiply.

A hash that isomorphic components share (three rounds of colour refinement) splits off most of them;
what agrees in it is compared by the canonical form that BLISS computes. Complete components, stars and
paths, however many, need neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sievert.results import Result
from sievert.spaces.automorphisms import bliss_graph, colour_numbers
from sievert.spaces.graph import Graph
from sievert.spaces.traversal import Neighbours, distances_to_nearest, neighbours, part_of

__all__ = ["ComponentClass", "are_isomorphic", "canonical_order", "induced", "isomorphic_components"]

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
    found = [one for alike in _alike(parts) for one in _classes(parts, alike)]
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


def _classes(parts: _Parts, alike: NDArray[np.intp]) -> Iterator[ComponentClass]:
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
