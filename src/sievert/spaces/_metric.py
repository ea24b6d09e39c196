"""Extended pseudo-metrics: symmetric, zero on the diagonal, triangle inequality; 0 and ∞ are legal.

A metric may know *edges* whose shortest paths generate it. Privacy then need only be checked on
the edges, because log-likelihood ratios add up along a path.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sized
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sievert.arrays import FloatArray
from sievert.errors import MetricError, TooLargeError
from sievert.numerics import abbreviated, count_of, flag, non_negative, require_size, taken
from sievert.results import html_table
from sievert.spaces._labels import Labels, iterable, label, labels_or_range, shown, worded
from sievert.spaces._tabular import floats, table_of

__all__ = ["Edges", "Metric", "closure", "least_lengths", "shortest_paths", "uniform_matrix"]

# Points whose distances a notebook shows.
MOST_SHOWN = 12

# Sums of three rounded square roots are off by a few ulp; 1e-9 relative is far above that and far below
# any violation a person would make.
TRIANGLE_TOLERANCE = 1e-9

LARGEST_MATRIX = 400_000_000


@dataclass(frozen=True)
class Edges:
    """Pairs of points (indices) and their lengths; the metric is the shortest-path distance over them."""

    pairs: NDArray[np.intp]
    lengths: FloatArray

    def __len__(self) -> int:
        return len(self.lengths)


class Metric:
    """An extended pseudo-metric on finitely many points.

    Parameters
    ----------
    matrix : array_like, shape (n, n), or a table
        Distances; ``inf`` is allowed, and 0 between distinct points. The names of a table's rows and
        columns are the points, in the order of the rows.
    points : sequence, optional
        Labels of the points; by default the table's own, or 0…n-1.
    close : bool
        Replace the distances by their shortest-path closure instead of refusing a triangle violation.

    Examples
    --------
    >>> Metric([[0, 1], [1, 0]], points=["left", "right"]).distance("left", "right")
    1.0
    """

    # Metrics whose sum over coordinates this one is, the first varying slowest; none where unknown.
    factors: tuple[Metric, ...] = ()

    def __init__(self, matrix: ArrayLike, points: Iterable[object] | None = None, *, close: bool = False):
        entries, points = _labelled(matrix, points)
        array = floats(entries, "matrix", MetricError, "give n rows of n distances")
        if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
            raise MetricError(f"metric: the matrix has shape {array.shape}; it must be square and not empty")
        self.points: Labels = labels_or_range(points, len(array), "points", MetricError)
        _check_entries(array, self.points)
        if flag("close", close, MetricError):
            array = closure(array)
        else:
            _check_triangles(array, self.points)
        array.setflags(write=False)
        self._matrix: FloatArray | None = array
        self._build: Callable[[], FloatArray] | None = None
        self._edges: Edges | Callable[[], Edges] | None = None
        self.coordinates: FloatArray | None = None
        self.positions: FloatArray | None = None

    @classmethod
    def _known(
        cls,
        points: Labels,
        build: Callable[[], FloatArray],
        edges: Edges | Callable[[], Edges] | None = None,
        uniform: float | None = None,
        coordinates: FloatArray | None = None,
        positions: FloatArray | None = None,
    ) -> Metric:
        """A metric that holds by construction; the matrix is built when first asked for.

        `build`, and `edges` where they are listed when first asked for, are functions of a module with their
        arguments (`functools.partial`), so that metrics pickle.

        `uniform` is the common distance of all different points, where there is one; `coordinates` those
        between which the distances are straight lines, and `positions` those of points on one line.
        """
        metric = cls.__new__(cls)
        if uniform is not None and len(points) > 1:
            metric.__dict__["uniform_distance"] = uniform
        metric.points = points
        metric._matrix = None
        metric._build = build
        metric._edges = edges
        metric.coordinates = coordinates
        metric.positions = positions
        return metric

    @classmethod
    def from_edges(cls, edges: Edges, points: Iterable[object] | None, size: int) -> Metric:
        """Shortest-path metric of weighted edges between `size` points."""
        if len(edges) and (np.isnan(edges.lengths).any() or (edges.lengths < 0).any()):
            raise MetricError("edges: every length must be a number ≥ 0")
        labels = labels_or_range(points, size, "points", MetricError)
        return cls._known(labels, partial(shortest_paths, edges, size), edges)

    @property
    def edges(self) -> Edges | None:
        """Pairs whose shortest paths generate the distances, where they are known."""
        if callable(self._edges):
            self._edges = self._edges()
        return self._edges

    @property
    def matrix(self) -> FloatArray:
        """Distances as a read-only array."""
        if self._matrix is None:
            assert self._build is not None
            if self.size**2 > LARGEST_MATRIX:
                raise TooLargeError(
                    f"the distances of {self.size} points are {self.size**2} numbers; at most "
                    f"{LARGEST_MATRIX} are stored",
                    size=self.size**2,
                )
            self._matrix = self._build()
            self._matrix.setflags(write=False)
        return self._matrix

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def distance(self, a: object, b: object) -> float:
        """Distance between two labelled points."""
        return float(self.matrix[self.index(a), self.index(b)])

    def index(self, point: object) -> int:
        """Position of a labelled point."""
        try:
            if isinstance(self.points, range):
                return self.points.index(point)  # type: ignore[arg-type]
            return self._position[label(point)]
        except (KeyError, TypeError, ValueError):
            if isinstance(point, tuple) and len(point) == 1:
                return self.index(point[0])  # a database of one record is its value
            raise MetricError(
                f"point: {abbreviated(point, worded)} is not one of the points {shown(self.points)}"
            ) from None

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {point: i for i, point in enumerate(self.points)}

    def scaled(self, factor: float) -> Metric:
        """Every distance multiplied by a factor ≥ 0 (0·∞ = ∞: unreachable stays unreachable; ∞·0 = 0)."""
        factor = non_negative("factor", factor, MetricError, infinite=True)
        edges = None
        if self.edges is not None:
            edges = Edges(self.edges.pairs, _scale(self.edges.lengths, factor))
        return Metric._known(self.points, partial(_scaled_matrix, self, factor), edges)

    def restricted(self, points: Iterable[object]) -> Metric:
        """The same distances on some of the points."""
        chosen = [self.index(point) for point in taken("points", points, MetricError, "points")]
        labels = labels_or_range([self.points[i] for i in chosen], len(chosen), "points", MetricError)
        places = None if self.coordinates is None else self.coordinates[chosen]
        line = None if self.positions is None else self.positions[chosen]
        build = partial(_part_of, self, tuple(chosen))
        return Metric._known(labels, build, coordinates=places, positions=line)

    def within(self, point: object, radius: float) -> list[Hashable]:
        """Labels of the points at distance at most `radius` from a point."""
        radius = non_negative("radius", radius, MetricError, infinite=True)
        row = self.matrix[self.index(point)]
        return [point for point, distance in zip(self.points, row, strict=True) if distance <= radius]

    @property
    def diameter(self) -> float:
        """Largest distance (inf when disconnected)."""
        return float(self.matrix.max())

    @cached_property
    def component_of(self) -> NDArray[np.intp]:
        """Component number of each point: points of different components are at infinite distance."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        edges = self.edges
        if self.coordinates is not None:
            return np.zeros(self.size, dtype=np.intp)
        if edges is None:
            ends: Any = np.nonzero(np.isfinite(self.matrix))
        else:
            finite = np.isfinite(edges.lengths)
            ends = (edges.pairs[finite, 0], edges.pairs[finite, 1])
        joined = coo_array((np.ones(len(ends[0])), ends), shape=(self.size, self.size))
        return np.asarray(connected_components(joined, directed=False)[1], dtype=np.intp)

    @cached_property
    def uniform_distance(self) -> float | None:
        """The common distance of all distinct points, or None when they differ (or there is one point)."""
        n = self.size
        if n < 2 or (self.edges is not None and len(self.edges) < n * (n - 1) // 2):
            return None
        if self.coordinates is not None and n > self.coordinates.shape[1] + 1:
            return None  # of d + 2 points in d dimensions two pairs have different distances
        value = float(self.matrix[0, 1])
        off_diagonal = self.matrix[~np.eye(n, dtype=bool)]
        return value if bool((off_diagonal == value).all()) else None

    def to_dict(self) -> dict[str, Any]:
        """Points and distances as plain data."""
        return {"points": list(self.points), "distances": self.matrix.tolist()}

    def __repr__(self) -> str:
        return f"Metric({self.size} points)"

    def _repr_html_(self) -> str:
        """The distances between the first points, in a notebook."""
        count = min(self.size, MOST_SHOWN)
        shown = self.restricted(tuple(self.points[:count]))
        names = [str(point) for point in self.points[:count]]
        rows = {
            name: ", ".join(f"{distance:.4g}" for distance in row)
            for name, row in zip(names, shown.matrix.tolist(), strict=True)
        }
        more = "" if count == self.size else f", the first {count}"
        return html_table(f"Distances of {self.size} points{more}", {"": ", ".join(names), **rows})


def _scaled_matrix(metric: Metric, factor: float) -> FloatArray:
    return _scale(metric.matrix, factor)


def _part_of(metric: Metric, chosen: tuple[int, ...]) -> FloatArray:
    return np.asarray(metric.matrix[np.ix_(chosen, chosen)])


def uniform_matrix(size: int) -> FloatArray:
    """1 between any two different points."""
    return np.asarray(1.0 - np.eye(size))


def _labelled(matrix: object, points: Iterable[object] | None) -> tuple[Any, Iterable[object] | None]:
    """Distances and points; in a table whose rows and columns have names, both in the same order."""
    table = table_of(matrix, "matrix", MetricError)
    names = table.rows if table.rows is not None else table.columns
    if points is not None and not iterable(points):
        raise MetricError(f"points is {abbreviated(points)}; give a list of labels")
    wanted = names if points is None else _bounded(points)
    entries, _, _ = table.ordered(wanted, wanted, ("points", "points"), MetricError)
    return entries, wanted


def _bounded(points: Iterable[object]) -> list[object]:
    """Points of a matrix, of which there are never so many."""
    if isinstance(points, Sized):
        require_size(count_of(points), LARGEST_MATRIX, "the points of the matrix", "take fewer points")
    return taken("points", points, MetricError, "labels")


def closure(matrix: FloatArray) -> FloatArray:
    """Largest metric below a symmetric matrix of lengths: all shortest paths (Floyd–Warshall)."""
    result = np.array(matrix, dtype=np.float64)
    apart = result[~np.eye(len(result), dtype=bool)]
    if not np.diagonal(result).any() and len(apart) and apart.max() <= 2 * apart.min():
        return result  # a detour has two lengths at least, and no length is longer than two others
    for k in range(len(result)):
        np.minimum(result, result[:, k, None] + result[None, k, :], out=result)
    return result


def shortest_paths(edges: Edges, size: int) -> FloatArray:
    """All-pairs shortest-path distances of weighted undirected edges (zero lengths allowed)."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import shortest_path

    if not len(edges):
        result = np.full((size, size), np.inf)
        np.fill_diagonal(result, 0.0)
        return result
    shortest = least_lengths(edges, size)
    ends = (shortest.pairs[:, 0], shortest.pairs[:, 1])
    graph = csr_array(coo_array((shortest.lengths, ends), shape=(size, size)))
    result = np.asarray(shortest_path(graph, method="D", directed=False), dtype=np.float64)
    return np.asarray(np.minimum(result, result.T))


def least_lengths(edges: Edges, size: int) -> Edges:
    """Each unordered pair once, with the least of its lengths; loops dropped."""
    if _are_distinct(edges.pairs, size):
        return edges
    low, high = edges.pairs.min(axis=1), edges.pairs.max(axis=1)
    proper = low != high
    codes = low[proper].astype(np.int64) * size + high[proper]
    distinct, inverse = np.unique(codes, return_inverse=True)
    lengths = np.full(len(distinct), np.inf)
    np.minimum.at(lengths, inverse, edges.lengths[proper])
    return Edges(np.column_stack([distinct // size, distinct % size]).astype(np.intp), lengths)


def _are_distinct(pairs: NDArray[np.intp], size: int) -> bool:
    """Whether pairs stand in order, each once and the smaller end first: most lists do, and need no sort."""
    first, second = pairs[:, 0], pairs[:, 1]
    if not (first < second).all():
        return False
    return bool((np.diff(first.astype(np.int64) * size + second) > 0).all())


def _scale(values: FloatArray, factor: float) -> FloatArray:
    fixed = np.isinf(values) | (values == 0)
    return np.where(fixed, values, np.where(fixed, 1.0, values) * factor)


def _check_entries(array: FloatArray, points: Labels) -> None:
    rules = (
        (np.isnan(array), "is not a number; distances are numbers ≥ 0 or inf"),
        (array < 0, "is negative; distances are numbers ≥ 0 or inf"),
        (
            np.eye(len(array), dtype=bool) & (array != 0),
            "is on the diagonal; every point is at distance 0 from itself",
        ),
        (array != array.T, "differs from the reverse distance {reverse:g}; a metric is symmetric"),
    )
    for broken, rule in rules:
        if broken.any():
            i, j = map(int, np.argwhere(broken)[0])
            raise MetricError(
                f"metric: the distance {array[i, j]:g} from {points[i]!r} to {points[j]!r} "
                + rule.format(reverse=array[j, i])
            )


def _check_triangles(array: FloatArray, points: Labels) -> None:
    """Refuse d(x,z) > d(x,y) + d(y,z), naming the triple."""
    for y in range(len(array)):
        through = array[:, y, None] + array[None, y, :]
        broken = array > through + TRIANGLE_TOLERANCE * np.where(np.isinf(through), 0.0, through)
        if broken.any():
            x, z = map(int, np.argwhere(broken)[0])
            raise MetricError(
                f"metric: the triangle inequality fails: d({points[x]!r}, {points[z]!r}) = {array[x, z]:g} > "
                f"d({points[x]!r}, {points[y]!r}) + d({points[y]!r}, {points[z]!r}) = {through[x, z]:g}; "
                "pass close=True to use shortest-path distances instead"
            )
