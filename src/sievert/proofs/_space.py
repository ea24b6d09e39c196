"""A finite space as a proof needs it: edges with exact lengths, and distances computed here."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IndexArray
from sievert.numerics import UNIT, exp_above, exp_below, exp_enclosure, exp_upper, rounded_to, sum_error
from sievert.proofs._reading import flag, floats, fraction, pairs, whole
from sievert.spaces import Edges, closure, least_lengths, shortest_paths

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["METRIC_ERROR", "Decay", "ProofSpace", "exact_power", "keeps_digits"]
# A metric given as floats stands for every true metric within this relative error of them.
METRIC_ERROR = 2.0**-48
# Points whose distances are kept as a table.
LARGEST_TABLE = 6000
LARGEST_SIZE = 10**7
# With coordinates, distances whose squares keep their digits.
SHORTEST = 1e-140
MOST_DIMENSIONS = 16


@dataclass(frozen=True, eq=False)
class ProofSpace:
    """`size` points and undirected edges with lengths; the distance is the shortest path.

    A channel is ε-private when K[i,j] ≤ e^(ε·length)·K[h,j] for both directions of every edge. Lengths are
    floats and mean exactly what they say. With `metric`, the edges are all pairs at finite distance and the
    lengths are those of a metric known to a relative 2^-48 (distances between coordinates, say): what is
    proved then holds for every metric that close. The triangle inequality is not taken for granted: where a
    certificate needs it, `coordinates` show that the lengths are straight lines, or shortest paths stand in
    for them.
    """

    size: int
    pairs: IndexArray
    lengths: FloatArray
    metric: bool = False
    coordinates: FloatArray | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.size <= LARGEST_SIZE:
            raise ValueError(f"a space needs from 1 to {LARGEST_SIZE} points")
        if len(self.pairs) and (self.pairs.min() < 0 or self.pairs.max() >= self.size):
            raise ValueError("an edge names a point that does not exist")
        if len(self.lengths) != len(self.pairs):
            raise ValueError("every edge needs one length")
        if not (self.lengths >= 0).all() or not np.isfinite(self.lengths).all():
            raise ValueError("the lengths of edges must be finite and ≥ 0")
        if self.metric:
            self._require_all_pairs()
        if self.coordinates is not None:
            self._require_straight(self.coordinates)

    def _require_straight(self, places: FloatArray) -> None:
        """Each length is that of a straight line, up to the error a metric may have.

        A float distance in k dimensions is off by fewer than k + 4 units.
        """
        if not self.metric or places.ndim != 2 or len(places) != self.size:
            raise ValueError("coordinates are for all points of a metric")
        if not keeps_digits(places, self.lengths):
            raise ValueError("the squares of the coordinates' differences lose their digits")
        with np.errstate(over="ignore"):
            apart = np.sqrt(((places[self.pairs[:, 0]] - places[self.pairs[:, 1]]) ** 2).sum(axis=1))
        spare = METRIC_ERROR - (places.shape[1] + 6) * UNIT
        if not np.isfinite(apart).all() or not (np.abs(self.lengths - apart) <= spare * apart).all():
            raise ValueError("a length is not that between the coordinates of its ends")

    def _require_all_pairs(self) -> None:
        if self.size > LARGEST_TABLE:
            raise ValueError(f"{self.size} points are too many for a table of distances")
        sizes = np.bincount(self.component_of)
        listed = np.zeros((self.size, self.size), dtype=bool)
        listed[self.pairs[:, 0], self.pairs[:, 1]] = listed[self.pairs[:, 1], self.pairs[:, 0]] = True
        every = int((sizes * (sizes - 1) // 2).sum())
        if len(self.pairs) != every or int(listed.sum()) != 2 * every:
            raise ValueError("a metric needs each pair at finite distance exactly once")

    def to_data(self) -> dict[str, Any]:
        """Plain data; unit lengths are left out."""
        data: dict[str, Any] = {"size": self.size, "edges": self.pairs.tolist()}
        if (self.lengths != 1).any():
            data["lengths"] = self.lengths.tolist()
        if self.metric:
            data["metric"] = True
        if self.coordinates is not None:
            data["coordinates"] = self.coordinates.tolist()
        return data

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ProofSpace:
        """The space back from plain data."""
        edges = pairs(data["edges"])
        given = data.get("lengths")
        lengths = np.ones(len(edges)) if given is None else floats(given)
        if lengths.ndim != 1:
            raise ValueError("every edge needs one length")
        places = data.get("coordinates")
        return cls(
            whole(data["size"], 1),
            edges,
            lengths,
            flag(data.get("metric", False)),
            None if places is None else floats(places),
        )

    def part(self, points: IndexArray, chosen: IndexArray) -> ProofSpace:
        """The space of some points, in their order, with the chosen edges."""
        place = np.full(self.size, -1, dtype=np.intp)
        place[points] = np.arange(len(points))
        places = None if self.coordinates is None else self.coordinates[points]
        return ProofSpace(len(points), place[self.pairs[chosen]], self.lengths[chosen], self.metric, places)

    @cached_property
    def component_of(self) -> IndexArray:
        """Component number of each point."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        joined = coo_array((np.ones(len(self.pairs)), tuple(self.pairs.T)), shape=(self.size,) * 2)
        return np.asarray(connected_components(joined, directed=False)[1], dtype=np.intp)

    @property
    def components(self) -> int:
        """Number of connected components."""
        return int(self.component_of.max()) + 1

    @property
    def is_forest(self) -> bool:
        """Whether there is no cycle."""
        return len(self.pairs) == self.size - self.components

    @property
    def is_uniform(self) -> bool:
        """Whether there is an edge between any two of at least two points, and all are equally long."""
        every = self.size * (self.size - 1) // 2
        if not 0 < len(self.pairs) == every or (self.lengths != self.lengths[0]).any():
            return False
        low, high = self.pairs.min(axis=1), self.pairs.max(axis=1)
        return bool((low < high).all()) and len(np.unique(low * self.size + high)) == every

    @property
    def whole(self) -> bool:
        """Whether every length is a whole number, so that float path lengths are exact."""
        return bool((self.lengths == np.floor(self.lengths)).all() and self.lengths.sum() < 2**53)

    @property
    def distance_error(self) -> float:
        """Relative error of `distances`: a float path of k < size edges is off by fewer than 2·size units."""
        if self.metric:
            return METRIC_ERROR
        return 0.0 if self.whole else 4 * (self.size + 1) * UNIT

    @property
    def shorter(self) -> FloatArray:
        """The least that each length may be in truth: what is private for it is private for the truth."""
        return self.lengths * (1 - METRIC_ERROR - 4 * UNIT) if self.metric else self.lengths

    @cached_property
    def distances(self) -> FloatArray:
        """Distances as floats, off by at most `distance_error`."""
        if self.size > LARGEST_TABLE:
            raise ValueError(f"{self.size} points are too many for a table of distances")
        if not self.metric:
            return shortest_paths(Edges(self.pairs, self.lengths), self.size)
        table = np.full((self.size, self.size), np.inf)
        table[self.pairs[:, 0], self.pairs[:, 1]] = self.lengths
        table[self.pairs[:, 1], self.pairs[:, 0]] = self.lengths
        np.fill_diagonal(table, 0.0)
        return table

    def distances_from(self, sources: IndexArray) -> FloatArray:
        """Distance of each point to the nearest source; off by at most `distance_error`."""
        from scipy.sparse.csgraph import dijkstra

        if self.metric:
            return np.asarray(self.distances[sources].min(axis=0))
        return np.asarray(dijkstra(self._joined, directed=False, indices=sources, min_only=True))

    @cached_property
    def _joined(self) -> csr_array:
        """The least length of each pair."""
        from scipy.sparse import coo_array

        edges = least_lengths(Edges(self.pairs, self.lengths), self.size)
        return coo_array((edges.lengths, tuple(edges.pairs.T)), shape=(self.size,) * 2).tocsr()

    def kernel(self, eps: Fraction) -> tuple[FloatArray, FloatArray]:
        """Floats proved to enclose Φ[i,j] = e^(-ε·d(i,j)); the last one asked for is kept."""
        kept: tuple[Fraction, tuple[FloatArray, FloatArray]] | None = self.__dict__.get("_kernel")
        if kept is not None and kept[0] == eps:
            return kept[1]
        if self.metric:
            low, high = (self._spread(values) for values in _enclosed(-eps, self.lengths, METRIC_ERROR))
        else:
            low, high = _enclosed(-eps, self.distances, self.distance_error)
            np.fill_diagonal(low, 1.0)
            np.fill_diagonal(high, 1.0)
        self.__dict__["_kernel"] = eps, (low, high)
        return low, high

    def closed_kernel(self, eps: Fraction) -> tuple[FloatArray, FloatArray]:
        """As `kernel`, for shortest paths: a distance below every length that obeys the triangle inequality.

        For a metric the shortest path is the length itself, up to rounding. Columns of this kernel are
        private along every edge whether or not the lengths are those of a metric.
        """
        if not self.metric or self.coordinates is not None:
            return self.kernel(eps)
        low, high = _enclosed(-eps, self._closure, METRIC_ERROR + 4 * (self.size + 1) * UNIT)
        np.fill_diagonal(low, 1.0)
        np.fill_diagonal(high, 1.0)
        return low, high

    @cached_property
    def _closure(self) -> FloatArray:
        return closure(self.distances)

    def _spread(self, values: FloatArray) -> FloatArray:
        """A symmetric table of one value for each pair: 1 on the diagonal, 0 at infinite distance."""
        table = np.eye(self.size)
        table[self.pairs[:, 0], self.pairs[:, 1]] = values
        table[self.pairs[:, 1], self.pairs[:, 0]] = values
        return table

    def growth(self, eps: Fraction) -> tuple[FloatArray, FloatArray]:
        """Floats proved to enclose e^(ε·length) for each edge."""
        return _enclosed(eps, self.lengths, METRIC_ERROR if self.metric else 0.0)

    def covered(self, eps: Fraction, y: FloatArray) -> FloatArray:
        """Floats proved to be at most (Φy)_i, for y ≥ 0: by messages on a forest, by a product otherwise."""
        if self.is_forest:
            return self._messages(eps, y)
        return self.kernel(eps)[0] @ y * (1 - sum_error(self.size))

    def _messages(self, eps: Fraction, y: FloatArray) -> FloatArray:
        """Φy on a forest: inward sums, then (Φy)_child = (1-q²)·inward + q·(Φy)_parent.

        Every number is a sum of products of non-negative numbers, built by fewer than 6·size operations;
        q is rounded down, which only lowers Φy, and 1 - q² = (1-q)(1+q) loses 3 units.
        """
        order, above, q, roots = self._in_levels(eps)
        inward = np.asarray(y, dtype=np.float64)[order]
        levels = _levels(above, roots)
        for level in reversed(levels):
            np.add.at(inward, above[level], q[level] * inward[level])
        total, rest = inward.copy(), (1 - q) * (1 + q)
        for level in levels:
            total[level] = rest[level] * inward[level] + q[level] * total[above[level]]
        found = np.empty(self.size)
        found[order] = total * (1 - sum_error(6 * self.size + 16))
        return found

    def _in_levels(self, eps: Fraction) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray, int]:
        """Points in order of levels, the place of each one's parent in it, its q, and the number of roots.

        A root has no factor: it hangs on the first point for nothing.
        """
        q = np.minimum(_enclosed(-eps, self.lengths, METRIC_ERROR if self.metric else 0.0)[0], 1.0)
        order, parent, edge = self.outward()
        place = np.empty(self.size, dtype=np.int32)
        place[order] = np.arange(self.size, dtype=np.int32)
        above = np.where(parent < 0, 0, place[parent])[order]
        return order, above, np.append(q, 0.0)[edge[order]], int((parent < 0).sum())

    def outward(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Points of a forest, level by level, with each one's parent and the edge to it (-1 for a root)."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import breadth_first_order

        # One more point leads to a root of every component.
        roots = np.unique(self.component_of, return_index=True)[1].astype(np.int32)
        count, shape = len(self.pairs), (self.size + 1,) * 2
        ends = np.full((2, count + len(roots)), self.size, dtype=np.int32)
        ends[:, :count] = self.pairs.T
        ends[1, count:] = roots
        tails, heads = ends[:, :count]
        joined = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=shape).tocsr()
        order, above = breadth_first_order(joined, self.size, directed=False)
        parent = above[:-1]
        parent[roots] = -1
        edge = np.full(self.size, -1, dtype=np.int32)
        edge[np.where(parent[heads] == tails, heads, tails)] = np.arange(count, dtype=np.int32)
        return order[1:], parent, edge


def keeps_digits(places: FloatArray, lengths: FloatArray) -> bool:
    """Whether distances of these lengths can be recomputed from coordinates."""
    few = places.shape[1] <= MOST_DIMENSIONS
    return few and bool(((lengths > SHORTEST) & (lengths < 1 / SHORTEST)).all())


def _levels(above: NDArray[np.int32], roots: int) -> list[slice]:
    """The levels below the roots as ranges, for points in order of levels: where each one's parent stands."""
    stops = [0, roots]
    while stops[-1] < len(above):
        # Parents stand in order: the next level are the points whose parents are in the last one.
        stops.append(bisect_left(above, stops[-1]))
    return [slice(start, stop) for start, stop in pairwise(stops[1:])]


def _enclosed(rate: Fraction, lengths: FloatArray, error: float) -> tuple[FloatArray, FloatArray]:
    """e^(rate·length) for every true length within a relative error of the given one.

    The exponent then moves by x = |rate|·length·error at most, and 1 - x ≤ e^-x, e^x ≤ 1 + 1.01x for
    x ≤ 0.01; 2% more, and 4 units, cover the rounding here. Beyond 0.01 the direction is kept, and for an
    exponent beyond 1000 that the true one is beyond 900, where e^-900 < 1e-300.
    """
    low, high = exp_enclosure(rate, lengths)
    if error == 0:
        return low, high
    with np.errstate(over="ignore"):
        exponent = float(abs(rate)) * lengths
    moved = np.where(np.isinf(lengths), 0.0, exponent * (error * 1.02))
    sure = moved <= 0.01
    moved = np.minimum(moved, 0.01) + 4 * UNIT
    far = (exponent > 1000) & (error < 0.09)
    worst = (0.0, np.where(far, 1e-300, 1.0)) if rate < 0 else (np.where(far, 1e300, 1.0), np.inf)
    return np.where(sure, low * (1 - moved), worst[0]), np.where(sure, high * (1 + 1.01 * moved), worst[1])


# ── How much a probability may shrink over a distance: e^(-ε·length), enclosed by floats that are proved ────
# Powers of an exact alpha are written out up to this length.
MOST_BITS = 2**17


@dataclass(frozen=True)
class Decay:
    """e^(-ε·length) for an exact rational ε, or alpha^length for an exact alpha and whole lengths.

    alpha = 1 is ε = 0 and alpha = 0 is ε = ∞ (only points at distance 0 must stay alike).
    """

    eps: Fraction | None = None
    alpha: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.eps is None) == (self.alpha is None):
            raise ValueError("a decay has either eps or alpha")
        if self.eps is not None and self.eps < 0:
            raise ValueError("eps must be ≥ 0")
        if self.alpha is not None and not 0 <= self.alpha <= 1:
            raise ValueError("alpha must be from 0 to 1")

    def to_data(self) -> dict[str, str]:
        """Plain data."""
        return {"eps": str(self.eps)} if self.eps is not None else {"alpha": str(self.alpha)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Decay:
        """Back from plain data."""
        eps, alpha = data.get("eps"), data.get("alpha")
        return cls(None if eps is None else fraction(eps), None if alpha is None else fraction(alpha))

    def exponents(self, lengths: FloatArray) -> FloatArray:
        """ε·length as floats, for computing with; nothing is proved about their last digits."""
        if self.eps is not None:
            return float(self.eps) * lengths
        assert self.alpha is not None
        if self.alpha == 0:
            return np.where(lengths == 0, 0.0, np.inf)
        rate = math.log(self.alpha.denominator) - math.log(self.alpha.numerator)
        return rate * lengths

    def enclosure(self, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Floats proved to enclose e^(-ε·length); each distinct length is computed once."""
        distinct, inverse = np.unique(lengths, return_inverse=True)
        if self.eps is not None:
            low, high = exp_enclosure(-self.eps, distinct)
        else:
            powers = [self._power(float(length)) for length in distinct]
            low = np.array([rounded_to(power, down=True) for power in powers])
            high = np.array([rounded_to(power, down=False) for power in powers])
        low, high = np.minimum(low, 1.0), np.minimum(high, 1.0)
        return low[inverse].reshape(lengths.shape), high[inverse].reshape(lengths.shape)

    def ends(self, length: float) -> tuple[Fraction, Fraction]:
        """Fractions proved to enclose e^(-ε·length), a relative 1e-30 apart at most."""
        if self.eps is None:
            return (self._power(length),) * 2
        exponent = -self.eps * Fraction(length)
        return exp_below(exponent), exp_above(exponent)

    def growth_above(self, length: float) -> float:
        """A float proved to be at least e^(ε·length); inf where it overflows."""
        if self.eps is not None:
            return exp_upper(self.eps * Fraction(length))
        power = self._power(length)
        return math.inf if power == 0 else rounded_to(1 / power, down=False)

    def allows(self, small: int, large: int, length: float) -> bool:
        """Whether small ≥ e^(-ε·length)·large, decided exactly for whole numbers."""
        if self.alpha is not None:
            return Fraction(small) >= self._power(length) * large
        assert self.eps is not None
        # Balls of 128 bits separate numbers of 53 bits; closer than that is refused, never guessed.
        return small >= large or small >= exp_above(-self.eps * Fraction(length)) * large

    def _power(self, length: float) -> Fraction:
        assert self.alpha is not None
        return exact_power(self.alpha, length)


@lru_cache(maxsize=4096)
def exact_power(alpha: Fraction, length: float) -> Fraction:
    """alpha^length for a whole length (any length where alpha is 0 or 1), in numbers of bounded size."""
    if length == 0:
        return Fraction(1)
    if alpha in (0, 1):
        return alpha
    if length != int(length):
        raise ValueError("an exact alpha needs whole lengths")
    bits = max(alpha.numerator.bit_length(), alpha.denominator.bit_length())
    if length * bits > MOST_BITS:
        raise ValueError(f"alpha to the power of {length:g} has too many digits; give eps instead")
    return Fraction(alpha ** int(length))
