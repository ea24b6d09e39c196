"""Named graphs, and the policy whose databases are joined as in a given graph.

Vertices are 0…n-1 unless said otherwise. Edges are arrays throughout, so that 10^6 vertices are no matter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sievert.errors import GraphError
from sievert.numerics import abbreviated, generator_of, holds_masked, require_size, whole
from sievert.spaces._graph import Graph, graph_of
from sievert.spaces._labels import Labels, labels_or_range

__all__ = [
    "binary_tree",
    "chang",
    "complete",
    "cycle",
    "disjoint_union",
    "grid",
    "hamming",
    "hypercube",
    "of_pairs",
    "path",
    "petersen",
    "random_tree",
    "star",
    "theorem_five",
    "triangular",
    "truncated_tetrahedron",
]


def __dir__() -> list[str]:
    return sorted(__all__)


LARGEST_EDGES = 50_000_000


def of_pairs(pairs: ArrayLike, size: int | None = None) -> Graph:
    """A graph on 0…size-1 from an array of pairs of vertices; repeated and reversed pairs count once.

    Parameters
    ----------
    pairs : array of shape (edges, 2)
    size : number of vertices; by default just enough

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(edges·log edges).

    Examples
    --------
    >>> of_pairs([[0, 1], [1, 0], [2, 1]])
    Graph(3 nodes, 2 edges)
    """
    try:
        if isinstance(pairs, range) or holds_masked(pairs):
            raise ValueError("these are no pairs")
        array = np.asarray(pairs)
    except (TypeError, ValueError):
        raise GraphError(f"pairs is {abbreviated(pairs)}; give rows of two vertices") from None
    if not array.size:
        array = np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise GraphError(
            f"pairs is an array of {array.dtype} of shape {array.shape}; give rows of two vertices"
        )
    if size is None and not array.size:
        raise GraphError("pairs is empty; say how many vertices there are with size=")
    count = int(array.max()) + 1 if size is None else _count("size", size)
    _refuse_many(count)
    outside = np.flatnonzero(((array < 0) | (array >= count)).any(axis=1))
    if len(outside):
        row = int(outside[0])
        raise GraphError(f"pairs[{row}] is {array[row].tolist()}; vertices are 0…{count - 1}")
    loops = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(loops):
        row = int(loops[0])
        raise GraphError(f"pairs[{row}] joins vertex {array[row, 0]} to itself; loops are not allowed")
    ordered = np.sort(array.astype(np.int64), axis=1)
    codes = np.unique(ordered[:, 0] * count + ordered[:, 1])
    return _graph(count, np.column_stack([codes // count, codes % count]))


def path(n: int) -> Graph:
    """n vertices in a row: diameter n - 1, radius n // 2.

    Parameters
    ----------
    n : number of vertices

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> path(3).labelled_edges()
    [(0, 1), (1, 2)]
    """
    n = _count("n", n)
    _refuse_many(n)
    index = np.arange(n)
    return _graph(n, np.column_stack([index[:-1], index[1:]]))


def cycle(n: int) -> Graph:
    """n vertices in a ring (two of them: one edge): diameter n // 2.

    Parameters
    ----------
    n : number of vertices

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(n).

    References
    ----------
    Edwards et al., Ex. 4.

    Examples
    --------
    >>> len(cycle(5).edges)
    5
    """
    n = _count("n", n)
    _refuse_many(n)
    closing = [[0, n - 1]] if n > 2 else []
    return _graph(n, np.concatenate([path(n).edges, np.array(closing, dtype=np.intp).reshape(-1, 2)]))


def complete(n: int) -> Graph:
    """Every two of n vertices joined.

    Parameters
    ----------
    n : number of vertices

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(n²).

    Examples
    --------
    >>> len(complete(4).edges)
    6
    """
    n = _count("n", n)
    _refuse_many(n * (n - 1) // 2)
    return _graph(n, np.column_stack(np.triu_indices(n, 1)))


def star(n: int) -> Graph:
    """Vertex 0 joined to each of the n - 1 others.

    Parameters
    ----------
    n : number of vertices

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> star(3).labelled_edges()
    [(0, 1), (0, 2)]
    """
    n = _count("n", n)
    _refuse_many(n)
    leaves = np.arange(1, n)
    return _graph(n, np.column_stack([np.zeros_like(leaves), leaves]))


def grid(rows: int, columns: int) -> Graph:
    """Cells (row, column), each joined to the next in its row and in its column.

    Parameters
    ----------
    rows, columns : size of the grid

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(cells).

    Examples
    --------
    >>> grid(2, 2).labelled_edges()
    [((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 0), (0, 1)), ((1, 0), (1, 1))]
    """
    rows, columns = _count("rows", rows), _count("columns", columns)
    size = rows * columns
    _refuse_many(20 * size)
    index = np.arange(size).reshape(rows, columns)
    down = np.column_stack([index[:-1].ravel(), index[1:].ravel()])
    across = np.column_stack([index[:, :-1].ravel(), index[:, 1:].ravel()])
    found = _graph(tuple(product(range(rows), range(columns))), np.concatenate([down, across]))
    found.factors = path(rows), path(columns)
    return found


def hamming(length: int, values: int) -> Graph:
    """Tuples of `length` entries 0…values-1, joined when they differ in one.

    Parameters
    ----------
    length : entries of a tuple
    values : how many values an entry may have

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(values^length·length·values).

    References
    ----------
    Alvim et al., Prop 13.

    Examples
    --------
    >>> hamming(2, 3)
    Graph(9 nodes, 18 edges)
    """
    length, values = _count("length", length), _count("values", values)
    # A power beyond 2^63 is refused whatever it is.
    size = values**length if length < 64 and length * math.log2(values) < 63 else 2**63
    many = size * length * (values - 1) // 2
    _refuse_many(many)
    index = np.arange(size).reshape((values,) * length) if values > 1 else np.zeros((1,), dtype=np.intp)
    edges = np.empty((many, 2), dtype=np.intp)
    start, step = 0, size // values
    for axis in range(length if values > 1 else 0):
        for pair in combinations(range(values), 2):
            for end, value in enumerate(pair):
                edges[start : start + step, end] = np.take(index, value, axis).ravel()
            start += step
    found = _graph(tuple(product(range(values), repeat=length)), edges)
    if length > 1:
        found.factors = (complete(values),) * length
    return found


def hypercube(dimension: int) -> Graph:
    """Tuples of `dimension` bits, joined when they differ in one: `hamming(dimension, 2)`.

    Parameters
    ----------
    dimension : number of bits

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(2^dimension·dimension).

    Examples
    --------
    >>> hypercube(3)
    Graph(8 nodes, 12 edges)
    """
    return hamming(dimension, 2)


def petersen() -> Graph:
    """Pairs of five things, joined when disjoint: distance-regular {3,2;1,1}.

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> petersen()
    Graph(10 nodes, 15 edges)
    """
    pairs = list(combinations(range(5), 2))
    joined = [(i, j) for i, j in combinations(range(10), 2) if set(pairs[i]).isdisjoint(pairs[j])]
    return _graph(tuple(pairs), np.array(joined))


def triangular(n: int) -> Graph:
    """T(n): pairs of n things, joined when they share one.

    Parameters
    ----------
    n : number of things

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(n³).

    Examples
    --------
    >>> triangular(8)
    Graph(28 nodes, 168 edges)
    """
    n = _count("n", n)
    if n < 2:
        raise GraphError(f"n is {n}; pairs need at least 2 things")
    _refuse_many(n * (n - 1) // 2 * (n - 2))
    pairs = np.column_stack(np.triu_indices(n, 1))
    place = np.zeros((n, n), dtype=np.intp)
    place[tuple(pairs.T)] = np.arange(len(pairs))
    place += place.T
    # The pairs that share one thing form a clique.
    rows, columns = np.triu_indices(n - 1, 1)
    cliques = [np.delete(place[i], i) for i in range(n)]
    joined = np.concatenate([np.column_stack([clique[rows], clique[columns]]) for clique in cliques])
    joined = np.sort(joined, axis=1)
    joined = joined[np.lexsort((joined[:, 1], joined[:, 0]))]
    return _graph(tuple(map(tuple, pairs.tolist())), joined)


# Edges of K8, as vertices of T(8), whose neighbourhoods are switched (Chang 1959; Seidel 1967).
_SWITCHED = (
    [(0, 1), (2, 3), (4, 5), (6, 7)],
    [(i, (i + 1) % 8) for i in range(8)],
    [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (5, 6), (6, 7), (3, 7)],
)


def chang(k: int) -> Graph:
    """The k-th Chang graph, k = 1, 2, 3: distance-regular as T(8) is, but not vertex-transitive.

    T(8) switched with respect to four disjoint edges, an 8-cycle, or a triangle and a pentagon of K8:
    whether two vertices are joined is inverted when exactly one of them is in the set.

    Parameters
    ----------
    k : 1, 2 or 3

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> chang(1)
    Graph(28 nodes, 168 edges)
    """
    k = whole("k", k, GraphError, most=3)
    base = triangular(8)
    inside = np.zeros(base.size, dtype=bool)
    inside[[base.index(tuple(sorted(pair))) for pair in _SWITCHED[k - 1]]] = True
    joined = np.zeros((base.size, base.size), dtype=bool)
    joined[tuple(base.edges.T)] = True
    joined ^= np.triu(inside[:, None] != inside[None, :], 1)
    return _graph(base.nodes, np.argwhere(joined))


def truncated_tetrahedron() -> Graph:
    """The twelve corners (i, j), i ≠ j, of four triangles: vertex-transitive, not distance-regular.

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> truncated_tetrahedron()
    Graph(12 nodes, 18 edges)
    """
    corners = [(i, j) for i in range(4) for j in range(4) if i != j]
    joined = [
        (a, b)
        for a, b in combinations(range(12), 2)
        if corners[a][0] == corners[b][0] or corners[a] == corners[b][::-1]
    ]
    return _graph(tuple(corners), np.array(joined))


def binary_tree(depth: int) -> Graph:
    """The complete binary tree with 2^(depth+1) - 1 vertices; 0 is the root, 2v+1 and 2v+2 the children of v.

    Parameters
    ----------
    depth : steps from the root to a leaf

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(2^depth).

    Examples
    --------
    >>> binary_tree(6).size
    127
    """
    size = 2 ** (min(whole("depth", depth, GraphError, least=0), 62) + 1) - 1
    _refuse_many(size)
    children = np.arange(1, size)
    return _graph(size, np.column_stack([(children - 1) // 2, children]))


def random_tree(n: int, rng: int | np.random.Generator | None = None) -> Graph:
    """A random recursive tree: vertex k is joined to one of 0…k-1, each equally likely.

    Parameters
    ----------
    n : number of vertices
    rng : seed or generator

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> len(random_tree(10, rng=1).edges)
    9
    """
    n = _count("n", n)
    _refuse_many(n)
    joining = np.arange(1, n)
    return _graph(n, np.column_stack([generator_of(rng).integers(joining), joining]))


def theorem_five(n: int) -> Graph:
    """One K4 and n - 1 disjoint K2: the graphs on which the diameter bound is tight as ε → 0.

    Neither regular nor distance-regular, n components of diameter 1; n ≥ 2 is needed.
    `papers.blowfish.theorem_five` is the channel.

    Parameters
    ----------
    n : number of components

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(n).

    References
    ----------
    Edwards et al., Thm 5.

    Examples
    --------
    >>> theorem_five(3)
    Graph(8 nodes, 8 edges)
    """
    n = _count("n", n)
    if n < 2:
        raise GraphError(f"n is {n}; the family of Theorem 5 starts at n = 2 components")
    _refuse_many(n)
    low = np.arange(4, 2 * n + 2, 2)
    pairs = np.concatenate([complete(4).edges, np.column_stack([low, low + 1])])
    return _graph(2 * n + 2, pairs)


def disjoint_union(*graphs: Graph) -> Graph:
    """Graphs side by side; vertex v of the k-th is (k, v).

    Parameters
    ----------
    graphs : the graphs

    Returns
    -------
    Graph

    Notes
    -----
    Cost: O(vertices + edges).

    Examples
    --------
    >>> disjoint_union(path(2), path(1)).components()
    [[(0, 0), (0, 1)], [(1, 0)]]
    """
    if not graphs:
        raise GraphError("disjoint_union needs at least one graph")
    for graph in graphs:
        graph_of(graph, "graphs")
    labels: tuple[Hashable, ...] = tuple((k, node) for k, graph in enumerate(graphs) for node in graph.nodes)
    offsets = np.cumsum([0, *(graph.size for graph in graphs)])
    return _graph(
        labels, np.concatenate([g.edges + offset for g, offset in zip(graphs, offsets[:-1], strict=True)])
    )


def _graph(nodes: int | Labels, edges: NDArray[np.intp]) -> Graph:
    labels = labels_or_range(None, nodes, "n", GraphError) if isinstance(nodes, int) else nodes
    return Graph._of_indices(labels, np.sort(edges.astype(np.intp).reshape(-1, 2), axis=1))


def _count(argument: str, value: object) -> int:
    return whole(argument, value, GraphError)


def _refuse_many(edges: int) -> None:
    way = "a product over records stays implicit as sv.Policy(secrets, records)"
    require_size(edges, LARGEST_EDGES, "the edges of the graph", way)
