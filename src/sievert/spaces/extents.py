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
from sievert.numerics.checks import brief
from sievert.results import Result
from sievert.spaces.bounding import Extents, bounded
from sievert.spaces.graph import Graph
from sievert.spaces.secrets import CompleteGraph
from sievert.spaces.traversal import WORD, Neighbours, distances_from_each, neighbours

__all__ = ["Extent", "Extents", "component_extents", "eccentricities", "extents"]

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
    if not isinstance(budget, int | np.integer) or isinstance(budget, bool) or budget < 1:
        raise GraphError(f"budget is {brief(budget)}; it must be a whole number of searches ≥ 1")
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
