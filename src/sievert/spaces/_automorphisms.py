"""Automorphisms of a graph: generators, order and orbits, never the group itself.

BLISS (igraph) finds generators. Vertices with the same neighbours, *twins*, may be permuted at will, so a
class of them costs two generators and is then seen by BLISS as one coloured vertex; stars, complete and
multipartite graphs become trivial in this way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.errors import GraphError, TooLargeError
from sievert.numerics import abbreviated, holds_masked
from sievert.results import Result
from sievert.spaces._graph import Graph
from sievert.spaces._traversal import Neighbours, neighbours

__all__ = ["LARGEST_GROUP", "Automorphisms", "automorphisms", "by_first", "colour_numbers", "orbits_of"]

# BLISS hands back every generator as a list of all vertices, and there may be as many as vertices: this
# many vertices need up to about 300 MB.
LARGEST_GROUP = 4_000


@dataclass(frozen=True)
class Automorphisms(Result):
    """The automorphism group of a graph through generators.

    `generators[g, v]` is the image of vertex v; `orbits[v]` the orbit of v, numbered by first vertex;
    `order` the exact number of automorphisms.
    """

    generators: NDArray[np.int32]
    orbits: NDArray[np.intp]
    order: int

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.orbits)

    @property
    def orbit_count(self) -> int:
        """Number of orbits of vertices."""
        return int(self.orbits.max()) + 1

    @property
    def representatives(self) -> NDArray[np.intp]:
        """The first vertex of each orbit."""
        return np.unique(self.orbits, return_index=True)[1]

    @property
    def is_transitive(self) -> bool:
        """Whether any vertex can be moved to any other."""
        return self.orbit_count == 1

    def __str__(self) -> str:
        symmetries = "1 automorphism" if self.order == 1 else f"{_short(self.order)} automorphisms"
        orbits = "1 orbit" if self.orbit_count == 1 else f"{self.orbit_count} orbits"
        return f"{symmetries}, {orbits} on {self.size} {'vertex' if self.size == 1 else 'vertices'}"


def _short(number: int) -> str:
    return str(number) if number < 10**12 else f"about 10^{int(math.log10(number))}"


def automorphisms(
    graph: Graph | Neighbours, colours: ArrayLike | None = None, largest: int = LARGEST_GROUP
) -> Automorphisms:
    """Generators, exact order and vertex orbits of the automorphism group.

    Parameters
    ----------
    graph : Graph
        Any graph.
    colours : array_like, optional
        A colour for each vertex; only automorphisms that keep every colour count. Give a vertex a colour
        of its own to get its stabiliser.
    largest : int
        Refuse graphs with more vertices than this after twins are merged.

    Examples
    --------
    >>> print(automorphisms(Graph.cycle(range(5))))
    10 automorphisms, 1 orbit on 5 vertices
    >>> print(automorphisms(Graph.complete(range(40))))
    about 10^47 automorphisms, 1 orbit on 40 vertices
    """
    lists = neighbours(graph)
    numbers = colour_numbers(colours, lists.size)
    twins = _twins(lists, numbers)
    if twins.count > largest:
        raise TooLargeError(
            f"graph: the automorphisms of {twins.count} vertices are not searched for (at most {largest}); "
            "pass largest= if you expect few generators, or solve one component at a time",
            size=twins.count,
        )
    quotient = bliss_graph(*_merged_edges(lists, twins))
    found = quotient.automorphism_group(color=twins.colours.tolist())
    lifted = [_lifted(np.array(image, dtype=np.intp), twins) for image in found]
    swaps = [_swaps(members, lists.size) for members in twins.members() if len(members) > 1]
    generators = np.array([*lifted, *(swap for pair in swaps for swap in pair)], dtype=np.int32)
    generators = generators.reshape(-1, lists.size)
    order = int(quotient.count_automorphisms(color=twins.colours.tolist()))
    for size in twins.sizes.tolist():
        order *= math.factorial(size)
    return Automorphisms(generators, orbits_of(generators, lists.size), order)


def colour_numbers(colours: ArrayLike | None, size: int) -> NDArray[np.intp]:
    """Colours as numbers 0, 1, …; one colour when none are given."""
    if colours is None:
        return np.zeros(size, dtype=np.intp)
    try:
        if isinstance(colours, range) and len(colours) != size:
            raise ValueError("not one for each vertex")
        if holds_masked(colours):
            raise ValueError("one is missing")
        array = np.asarray(colours)
    except (ValueError, OverflowError):
        raise GraphError(
            f"colours is {abbreviated(colours)}; give one colour for each of {size} vertices"
        ) from None
    if array.shape != (size,):
        raise GraphError(f"colours has shape {array.shape}; give one colour for each of {size} vertices")
    return np.unique(array, return_inverse=True)[1].astype(np.intp)


@dataclass(frozen=True)
class _Twins:
    """Classes of vertices with equal colour and equal neighbours (apart from each other)."""

    class_of: NDArray[np.intp]
    rank: NDArray[np.intp]  # place of each vertex in its class
    listed: NDArray[np.intp]  # vertices, class by class
    offsets: NDArray[np.intp]  # where each class begins in `listed`
    sizes: NDArray[np.intp]
    colours: NDArray[np.intp]  # of the classes: equal for classes that an automorphism may exchange

    @property
    def count(self) -> int:
        return len(self.sizes)

    def members(self) -> list[NDArray[np.intp]]:
        return np.split(self.listed, self.offsets[1:])


def _twins(lists: Neighbours, numbers: NDArray[np.intp]) -> _Twins:
    """Twins are either all joined or none is, and no vertex has twins of both kinds."""
    keys: list[Any] = [(int(numbers[v]), lists.of(v).tobytes()) for v in range(lists.size)]
    apart = _class_sizes(keys)
    kind = np.array([apart[key] > 1 for key in keys], dtype=np.intp)
    closed = [
        keys[v]
        if kind[v]
        else (int(numbers[v]), "joined", np.sort(np.append(lists.of(v), np.int32(v))).tobytes())
        for v in range(lists.size)
    ]
    position: dict[Any, int] = {}
    class_of = np.array([position.setdefault(key, len(position)) for key in closed], dtype=np.intp)
    sizes = np.bincount(class_of)
    listed = np.argsort(class_of, kind="stable")
    offsets = np.cumsum(sizes) - sizes
    rank = np.empty(lists.size, dtype=np.intp)
    rank[listed] = np.arange(lists.size) - np.repeat(offsets, sizes)
    first = listed[offsets]
    rows = np.column_stack([numbers[first], kind[first], sizes])
    colours = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)
    return _Twins(class_of, rank, listed, offsets, sizes, colours)


def _class_sizes(keys: list[Any]) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for key in keys:
        sizes[key] = sizes.get(key, 0) + 1
    return sizes


def _merged_edges(lists: Neighbours, twins: _Twins) -> tuple[int, NDArray[np.intp]]:
    """The graph on the first vertex of each class."""
    rows = np.repeat(np.arange(lists.size), lists.degrees)
    wanted = (twins.rank[rows] == 0) & (twins.rank[lists.ends] == 0) & (rows < lists.ends)
    return twins.count, np.column_stack([twins.class_of[rows[wanted]], twins.class_of[lists.ends[wanted]]])


def bliss_graph(size: int, edges: NDArray[np.integer]) -> Any:
    """An igraph graph."""
    import igraph

    return igraph.Graph(n=size, edges=edges.tolist())


def _lifted(image: NDArray[np.intp], twins: _Twins) -> NDArray[np.intp]:
    """A permutation of the classes as one of their vertices, place by place."""
    return np.asarray(twins.listed[twins.offsets[image[twins.class_of]] + twins.rank])


def _swaps(members: NDArray[np.intp], size: int) -> list[NDArray[np.intp]]:
    """A transposition and a rotation, which generate all permutations of the members."""
    swap = np.arange(size)
    swap[members[:2]] = members[1::-1]
    if len(members) == 2:
        return [swap]
    rotation = np.arange(size)
    rotation[members] = np.roll(members, -1)
    return [swap, rotation]


def orbits_of(generators: NDArray[np.int32], size: int) -> NDArray[np.intp]:
    """Orbits of the vertices: what generators join, directly or not."""
    sources = np.broadcast_to(np.arange(size), generators.shape).ravel()
    moved = np.flatnonzero(sources != generators.ravel())
    ends = (sources[moved], generators.ravel()[moved])
    joined = coo_array((np.ones(len(moved), dtype=bool), ends), shape=(size, size))
    return by_first(connected_components(joined, directed=False)[1])


def by_first(labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """The same classes, numbered in the order of their first members."""
    flat = labels.ravel()
    first = np.empty(int(flat.max()) + 1, dtype=np.intp)
    first[flat[::-1]] = np.arange(len(flat))[::-1]
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return np.asarray(number[labels])
