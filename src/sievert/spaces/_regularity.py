"""Distance-regular graphs, and graphs in which every vertex sees the same numbers of vertices.

n_d, the number of vertices at distance d, is the same from every vertex of a distance-regular or
vertex-transitive graph (Alvim et al., Prop 5), and then decides the worst leakage alone (Thm 12).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sievert.errors import GraphError, TooLargeError
from sievert.numerics import abbreviated, whole
from sievert.results import Result
from sievert.spaces._graph import Graph
from sievert.spaces._traversal import WORD, Neighbours, distances_from_each, distances_to_nearest, neighbours
from sievert.spaces.secrets import CompleteGraph

__all__ = [
    "IntersectionArray",
    "common_distance_counts",
    "distance_counts",
    "intersection_array",
    "is_distance_regular",
    "product_distance_counts",
]

# Vertices searched from times edges: about half a minute.
LARGEST_WORK = 2_000_000_000
# Numbers n_d of a product are integers of up to records·log2(values) bits; all of them in this many bytes.
LARGEST_COUNTS = 500_000_000


@dataclass(frozen=True)
class IntersectionArray(Result):
    """b_0, …, b_{D-1} and c_1, …, c_D: at distance d from any vertex, a vertex has b_d neighbours one step
    farther and c_d neighbours one step nearer.

    >>> hexagon = IntersectionArray((2, 1, 1), (1, 1, 2))
    >>> print(hexagon, hexagon.counts)
    {2,1,1;1,1,2} (1, 2, 2, 1)
    """

    b: tuple[int, ...]
    c: tuple[int, ...]

    @property
    def diameter(self) -> int:
        """Largest distance."""
        return len(self.b)

    @property
    def counts(self) -> tuple[int, ...]:
        """n_0, …, n_D: vertices at each distance; n_{d+1} = n_d·b_d/c_{d+1}."""
        counts = [1]
        for farther, nearer in zip(self.b, self.c, strict=True):
            counts.append(counts[-1] * farther // nearer)
        return tuple(counts)

    def __str__(self) -> str:
        return "{" + ",".join(map(str, self.b)) + ";" + ",".join(map(str, self.c)) + "}"


def intersection_array(
    graph: Graph | Neighbours, orbits: ArrayLike | None = None
) -> IntersectionArray | None:
    """The intersection array of a distance-regular graph; None when the graph is not distance-regular.

    A disconnected graph is not; a single vertex is, with the empty array.

    Parameters
    ----------
    graph : Graph
        Any graph.
    orbits : array_like, optional
        Orbit of each vertex under automorphisms: one vertex of each is then enough.

    Notes
    -----
    O(vertices·edges), or O(orbits·edges); most graphs that are not distance-regular are told at once.

    Examples
    --------
    >>> print(intersection_array(Graph.cycle(range(6))))
    {2,1,1;1,1,2}
    >>> intersection_array(Graph.path(range(4))) is None
    True
    """
    if isinstance(graph, CompleteGraph):
        return IntersectionArray((), ()) if graph.size == 1 else IntersectionArray((graph.size - 1,), (1,))
    lists = neighbours(graph)
    if len(np.unique(lists.degrees)) > 1:
        return None
    if lists.size == 1:
        return IntersectionArray((), ())
    found: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    for row in _rows(lists, orbits, "distance-regularity"):
        numbers = _numbers_from(row, lists) if row.min() >= 0 else None
        if numbers is None or (found is not None and not _same(numbers, found)):
            return None
        found = numbers
    assert found is not None
    farther, nearer = found
    return IntersectionArray(tuple(farther[:-1].tolist()), tuple(nearer[1:].tolist()))


def is_distance_regular(graph: Graph | Neighbours, orbits: ArrayLike | None = None) -> bool:
    """Whether the graph is distance-regular; see `intersection_array`.

    >>> is_distance_regular(Graph.complete(range(4)))
    True
    """
    return intersection_array(graph, orbits) is not None


def _rows(lists: Neighbours, orbits: ArrayLike | None, what: str) -> Iterator[NDArray[np.int32]]:
    """Distances from each vertex that must be looked at, 64 at a time; the first 64 before any refusal."""
    vertices = (
        np.arange(lists.size) if orbits is None else np.unique(np.asarray(orbits), return_index=True)[1]
    )
    for first in range(0, len(vertices), WORD):
        work = len(vertices) * (lists.size + len(lists.ends))
        if first and work > LARGEST_WORK:
            raise TooLargeError(
                f"graph: {what} was not refuted from {first} vertices, and from all {len(vertices)} it "
                f"takes {work:.1e} steps (at most {LARGEST_WORK:.0e}); pass orbits= if symmetries are known",
                size=work,
            )
        yield from distances_from_each(lists, vertices[first : first + WORD])


def _numbers_from(
    distances: NDArray[np.int32], lists: Neighbours
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """(b_d, c_d) as seen from one vertex, or None when they differ between vertices at one distance."""
    step = distances[lists.ends] - np.repeat(distances, lists.degrees)
    numbers = []
    for direction in (1, -1):
        each = np.add.reduceat(step == direction, lists.starts[:-1], dtype=np.int64)
        at_distance = np.zeros(int(distances.max()) + 1, dtype=np.int64)
        at_distance[distances] = each
        if not np.array_equal(at_distance[distances], each):
            return None
        numbers.append(at_distance)
    return numbers[0], numbers[1]


def _same(a: tuple[NDArray[np.int64], ...], b: tuple[NDArray[np.int64], ...]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def distance_counts(graph: Graph, node: object | None = None) -> tuple[int, ...]:
    """n_0, n_1, …: vertices at each finite distance from a node (the first one by default).

    >>> distance_counts(Graph.path("abcd"), "b")
    (1, 2, 1)
    """
    source = 0 if node is None else graph.index(node)
    if isinstance(graph, CompleteGraph):
        return (1, graph.size - 1) if graph.size > 1 else (1,)
    return _counts_of(distances_to_nearest(graph, [source]))


def _counts_of(distances: NDArray[np.int32]) -> tuple[int, ...]:
    return tuple(np.bincount(distances[distances >= 0]).tolist())


def common_distance_counts(
    graph: Graph | Neighbours, orbits: ArrayLike | None = None
) -> tuple[int, ...] | None:
    """n_0, n_1, … where they are the same from every vertex, else None.

    So it is in every distance-regular and every vertex-transitive graph. Vertices of other components
    are at distance ∞ and do not count (erratum 5 of Alvim et al., Prop 5).

    >>> common_distance_counts(Graph.cycle(range(6)))
    (1, 2, 2, 1)
    >>> common_distance_counts(Graph.path(range(3))) is None
    True
    """
    if isinstance(graph, CompleteGraph):
        return distance_counts(graph)
    lists = neighbours(graph)
    if len(np.unique(lists.degrees)) > 1:
        return None
    rows = _rows(lists, orbits, "that every vertex has the same distance counts")
    found = _counts_of(next(rows))
    return found if all(_counts_of(row) == found for row in rows) else None


def product_distance_counts(counts: Sequence[int], records: int) -> tuple[int, ...]:
    """n_d of the product of `records` copies of a graph with distance counts n_d, as exact integers.

    Distances add over records (Edwards et al., Thm 1), so the generating polynomial Σ n_d x^d is raised to
    the power `records`. For Hamming graphs: C(u, d)·(v - 1)^d (Alvim et al., Prop 14).

    >>> product_distance_counts((1, 2), 3)
    (1, 6, 12, 8)
    """
    import flint

    records = whole("records", records, GraphError)
    numbers = [int(count) for count in counts]
    if not numbers or numbers[0] != 1 or min(numbers) < 0:
        raise GraphError(f"counts is {abbreviated(counts)}; give n_0 = 1, n_1, n_2, …, all ≥ 0")
    size = (len(numbers) - 1) * records**2 * sum(numbers).bit_length() // 8
    if size > LARGEST_COUNTS:
        raise TooLargeError(
            f"records: the distance counts of {records} records are {size:.1e} bytes of digits (at most "
            f"{LARGEST_COUNTS:.0e}); Σ n_d x^d of the product is that of one record to the power {records}",
            size=size,
        )
    power = flint.fmpz_poly(numbers) ** records
    return tuple(int(power[d]) for d in range(power.degree() + 1))
