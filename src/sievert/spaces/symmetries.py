"""What symmetry a graph has: orbits of vertices and of pairs, regularity, and the symmetries of products.

A mechanism may be averaged over all automorphisms without losing privacy or leakage (Edwards et al.,
Lem 7), so only one entry for each orbit of ordered pairs remains unknown. Orbits come from generators by
joining each pair to its images; the group is never listed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.errors import GraphError, TooLargeError
from sievert.numerics import instance, readable, require_size, taken, whole
from sievert.results import Result
from sievert.spaces._automorphisms import Automorphisms, automorphisms, by_first, orbits_of
from sievert.spaces._graph import Graph, graph_of
from sievert.spaces._regularity import IntersectionArray, common_distance_counts, intersection_array
from sievert.spaces.secrets import CompleteGraph

__all__ = [
    "is_vertex_transitive",
    "pair_orbits",
    "product_generators",
    "product_orbit_size",
    "product_symmetries",
    "symmetries",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# Orbits of pairs are an array of all pairs.
LARGEST_PAIRS = 25_000_000
# Pairs joined to their images at a time, to bound memory.
CHUNK = 20_000_000


@dataclass(frozen=True)
class Symmetries(Result):
    """What symmetry a graph has.

    `orbits` and `order` are of the automorphism group; `intersection_array` is None unless the graph is
    distance-regular; `counts` are n_0, n_1, … where they are the same from every vertex, else None.
    """

    size: int
    components: int
    order: int
    orbits: int
    vertex_transitive: bool
    intersection_array: IntersectionArray | None
    counts: tuple[int, ...] | None

    @property
    def distance_regular(self) -> bool:
        """Whether the graph is distance-regular."""
        return self.intersection_array is not None

    def __str__(self) -> str:
        regular = (
            f"distance-regular with intersection array {self.intersection_array}"
            if self.intersection_array is not None
            else "not distance-regular"
        )
        transitive = "vertex-transitive" if self.vertex_transitive else f"{self.orbits} orbits of vertices"
        number = str(self.order) if self.order < 10**12 else f"about 10^{int(math.log10(self.order))}"
        return f"{number} automorphism{'' if self.order == 1 else 's'}; {transitive}; {regular}"


def symmetries(graph: Graph, group: Automorphisms | None = None) -> Symmetries:
    """Automorphisms, orbits, vertex-transitivity and distance-regularity of a graph.

    Parameters
    ----------
    graph : Graph
    group : its automorphisms, if they are known already

    Returns
    -------
    Symmetries

    Notes
    -----
    Cost: that of finding generators of the automorphisms, by BLISS, and distances from one vertex of each
    orbit.

    Examples
    --------
    >>> print(symmetries(Graph.cycle(range(6))))
    12 automorphisms; vertex-transitive; distance-regular with intersection array {2,1,1;1,1,2}
    """
    graph, group = graph_of(graph), _group_of(group)
    if isinstance(graph, CompleteGraph):
        order, orbits = math.factorial(graph.size), np.zeros(graph.size, dtype=np.intp)
    else:
        group = automorphisms(graph) if group is None else group
        order, orbits = group.order, group.orbits
    count = int(orbits.max()) + 1
    return Symmetries(
        size=graph.size,
        components=int(graph.component_of.max()) + 1,
        order=order,
        orbits=count,
        vertex_transitive=count == 1,
        intersection_array=intersection_array(graph, orbits),
        counts=common_distance_counts(graph, orbits),
    )


MOST_RECORDS = 10_000_000


def _group_of(group: object) -> Automorphisms | None:
    """Symmetries that are known already, or None."""
    if group is not None:
        instance(
            "group", group, Automorphisms, "what the automorphisms of the graph are, or None", GraphError
        )
    return group  # type: ignore[return-value]


def is_vertex_transitive(graph: Graph) -> bool:
    """Whether some automorphism moves any vertex to any other.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    bool

    Notes
    -----
    Cost: that of finding generators of the automorphisms, by BLISS.

    Examples
    --------
    >>> is_vertex_transitive(Graph.path(range(3)))
    False
    """
    if isinstance(graph_of(graph), CompleteGraph):
        return True
    degrees = np.bincount(graph.edges.ravel(), minlength=graph.size)
    return bool((degrees == degrees[0]).all()) and automorphisms(graph).is_transitive


@dataclass(frozen=True)
class PairOrbits(Result):
    """Orbits of ordered pairs of vertices: `labels[i, j]` is the orbit of (i, j), numbered row by row."""

    labels: NDArray[np.intp]

    @property
    def count(self) -> int:
        """Number of orbits."""
        return int(self.labels.max()) + 1

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of pairs in each orbit."""
        return np.bincount(self.labels.ravel())

    @property
    def representatives(self) -> NDArray[np.intp]:
        """The first pair (i, j) of each orbit, a row each."""
        first = np.unique(self.labels, return_index=True)[1]
        return np.column_stack(np.unravel_index(first, self.labels.shape))

    @property
    def reversed(self) -> NDArray[np.intp]:
        """The orbit of (j, i) for each orbit of (i, j)."""
        i, j = self.representatives.T
        return np.asarray(self.labels[j, i])

    @property
    def vertices(self) -> NDArray[np.intp]:
        """The orbit of (i, i) for each vertex i; equal just where vertices are in one orbit."""
        return np.diagonal(self.labels).copy()

    def __str__(self) -> str:
        return f"{self.count} orbits of ordered pairs of {len(self.labels)} vertices"


def pair_orbits(graph: Graph | Automorphisms, colours: ArrayLike | None = None) -> PairOrbits:
    """Orbits of ordered pairs of vertices under the automorphisms of a graph.

    Parameters
    ----------
    graph : Graph or Automorphisms
        The graph, or its automorphisms if they are known already.
    colours : array_like, optional
        Only automorphisms that keep the colour of every vertex.

    Returns
    -------
    PairOrbits
        The orbit of each ordered pair, and one pair of each orbit.

    Notes
    -----
    Each generator joins the pairs it moves to their images: O(g·n²) at most, less where generators move
    few vertices. (Edwards et al., Lem 7 averages over exactly these orbits.)

    Cost: O(generators·n²) for n vertices.

    References
    ----------
    Edwards et al., Lem 7.

    Examples
    --------
    >>> print(pair_orbits(Graph.cycle(range(50))))
    26 orbits of ordered pairs of 50 vertices
    """
    words = "a sv.Graph, such as sv.graphs.cycle(n), or its automorphisms"
    instance("graph", graph, Graph | Automorphisms, words, GraphError)
    size = graph.size
    if size**2 > LARGEST_PAIRS:
        raise TooLargeError(
            f"graph: {size} vertices have {size**2} ordered pairs; at most {LARGEST_PAIRS} are sorted into "
            "orbits; solve one component or block at a time",
            size=size**2,
        )
    group = graph if isinstance(graph, Automorphisms) else automorphisms(graph, colours)
    labels = np.arange(size * size)
    pending: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
    waiting = 0
    for generator in group.generators:
        pending.append(_moved_pairs(generator, size))
        waiting += len(pending[-1][0])
        if waiting > CHUNK:
            labels, pending, waiting = _joined(labels, pending), [], 0
    return PairOrbits(by_first(_joined(labels, pending)).reshape(size, size))


def _moved_pairs(generator: NDArray[np.int32], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs that a permutation moves, and their images, as numbers i·size + j."""
    every, image = np.arange(size), generator.astype(np.intp)
    moved = np.flatnonzero(image != every)
    still = np.flatnonzero(image == every)
    rows = (moved[:, None] * size + every).ravel(), (image[moved][:, None] * size + image).ravel()
    columns = (still[:, None] * size + moved).ravel(), (still[:, None] * size + image[moved]).ravel()
    return np.concatenate([rows[0], columns[0]]), np.concatenate([rows[1], columns[1]])


def _joined(
    labels: NDArray[np.intp], pending: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
) -> NDArray[np.intp]:
    """Classes merged where a pair and its image are in different ones."""
    if not pending:
        return labels
    before, after = (labels[np.concatenate(side)] for side in zip(*pending, strict=True))
    count = int(labels.max()) + 1
    edges = coo_array((np.ones(len(before), dtype=bool), (before, after)), shape=(count, count))
    return connected_components(edges, directed=False)[1].astype(np.intp)[labels]


@dataclass(frozen=True)
class ProductSymmetries(Result):
    """Symmetries of an unconstrained policy: its secret graph's, record by record, and the order of records.

    These are automorphisms of the databases (Edwards et al., Thm 6 and Remark 2), in general not all, so
    the orbits here may be finer than the true ones; vertex-transitivity is exact.
    """

    records: int
    vertex_orbits: int
    pair_orbits: int
    order_bits: float
    vertex_transitive: bool

    def __str__(self) -> str:
        transitive = (
            "vertex-transitive" if self.vertex_transitive else f"{self.vertex_orbits} orbits of databases"
        )
        return f"{self.records} records: {transitive}, {self.pair_orbits} orbits of pairs of databases"


def product_symmetries(graph: Graph, records: int, group: Automorphisms | None = None) -> ProductSymmetries:
    """Orbits of the databases of `records` records over a secret graph, counted without listing any.

    An orbit of databases is a multiset of `records` orbits of values, and an orbit of pairs of databases
    a multiset of `records` orbits of pairs of values. A product is vertex-transitive just when its factor
    is (products of connected graphs have unique prime factors).

    Parameters
    ----------
    graph : Graph of one record
    records : how many records
    group : its automorphisms, if they are known already

    Returns
    -------
    ProductSymmetries
        `order_bits` is log2 of |Aut(graph)|^records · records!, the number of symmetries known.

    Notes
    -----
    Cost: that of `sv.symmetries.pair_orbits` for one record, whatever the number of records.

    Examples
    --------
    >>> print(product_symmetries(Graph.path(range(3)), records=100))
    100 records: 101 orbits of databases, 4598126 orbits of pairs of databases
    """
    group = _group_of(group)
    records = whole("records", records, GraphError)
    require_size(records, MOST_RECORDS, "the records whose orbits are counted", "take fewer records")
    if isinstance(graph_of(graph), CompleteGraph):
        values, pairs, order = 1, min(graph.size, 2), math.factorial(graph.size)
    else:
        group = automorphisms(graph) if group is None else group
        values, pairs, order = group.orbit_count, pair_orbits(group).count, group.order
    return ProductSymmetries(
        records=records,
        vertex_orbits=math.comb(records + values - 1, records),
        pair_orbits=math.comb(records + pairs - 1, records),
        order_bits=_order_bits(order, records) if graph.size > 1 else 0.0,
        vertex_transitive=values == 1,
    )


def _order_bits(order: int, records: int) -> float:
    return records * math.log2(order) + math.lgamma(records + 1) / math.log(2)


def product_orbit_size(sizes: Sequence[int], times: Sequence[int]) -> int:
    """Members of the orbit of a product in which orbit k of the factor, of sizes[k], occurs times[k] times.

    The records are arranged in a multinomial number of ways, and each chooses within its orbit.

    Parameters
    ----------
    sizes : of the orbits of the factor
    times : how often each occurs

    Returns
    -------
    int

    Notes
    -----
    Cost: O(orbits) products of whole numbers.

    Examples
    --------
    >>> product_orbit_size([1, 2], times=[2, 1])
    6
    """
    for name, given in (("sizes", sizes), ("times", times)):
        instance(name, given, list | tuple | np.ndarray, "a list of whole numbers", GraphError)
        for number in taken(name, given, GraphError, "whole numbers"):
            whole(name, number, GraphError, least=0, most=MOST_RECORDS)
    if len(sizes) != len(times):
        raise GraphError(f"times has {len(times)} entries; give one for each of the {len(sizes)} orbits")
    ways, placed = 1, 0
    for size, count in zip(sizes, times, strict=True):
        placed += int(count)
        ways *= math.comb(placed, int(count)) * int(size) ** int(count)
    return ways


def product_generators(group: Automorphisms, records: int) -> Automorphisms:
    """The known symmetries of a small product as permutations of its databases, listed first record slowest.

    The automorphisms of the graph on the first record, the exchange of the first two records and the
    rotation of all.

    Parameters
    ----------
    group : automorphisms of the graph of one record
    records : how many records

    Returns
    -------
    Automorphisms
        Of the databases.

    Notes
    -----
    Cost: O(values^records·generators).

    References
    ----------
    Edwards et al., Thm 6 and Remark 2; Edwards et al., Thm 6 and Remark 2.

    Examples
    --------
    >>> from sievert.spaces.graphs import path
    >>> product_generators(automorphisms(path(2)), 3).order
    48
    """
    instance("group", group, Automorphisms, "the automorphisms of a graph", GraphError)
    records = whole("records", records, GraphError)
    size = 2**63 if records > 63 and group.size > 1 else min(group.size ** min(records, 64), 2**63)
    if size * (len(group.generators) + 2) > LARGEST_PAIRS:
        raise TooLargeError(
            f"records: {group.size}^{readable(records)} databases are too many to list permutations of; "
            "product_symmetries counts their orbits",
            size=size,
        )
    index = np.arange(size).reshape((group.size,) * records)
    moves = [index[generator].ravel() for generator in group.generators]
    if records > 1:
        moves.append(np.swapaxes(index, 0, 1).ravel())
    if records > 2:
        moves.append(np.moveaxis(index, 0, -1).ravel())
    generators = np.array(moves, dtype=np.int32).reshape(-1, size)
    order = group.order**records * math.factorial(records) if group.size > 1 else 1
    return Automorphisms(generators, orbits_of(generators, size), order)
