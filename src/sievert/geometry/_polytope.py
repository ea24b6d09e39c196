"""The polytope of private posteriors of a metric: p_x ≤ e^(ε·d(x,z))·p_z for all x, z (Fernandes, Sec 6.3.2).

A channel is private iff its posteriors under the uniform prior lie in it (Lem 6.10). Points at distance 0 are
merged, components at infinite distance are taken by themselves (an extreme posterior lives on one of them),
and only pairs that no third point lies between are constraints. Vertices come from `_vertices`, in whole
numbers: they do not depend on ε.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from sievert.channels import Privacy, target_metric
from sievert.channels.priors import as_prior
from sievert.errors import MetricError
from sievert.geometry._posteriors import Membership, Vertices
from sievert.geometry._rounding import whole_distances
from sievert.geometry._vertices import Component
from sievert.mechanisms import privacy
from sievert.numerics import (
    advance,
    as_fraction,
    brief,
    exp_or_infinity,
    is_exact,
    require_size,
    taken,
    whole,
)
from sievert.policies import Answers, Policy
from sievert.spaces import Labels, Metric

__all__ = ["Polytope", "absorbed", "polytope"]

# Rounding may move a point that lies between two others by this much, relatively.
BETWEEN = 1e-12
# A ratio of floats may exceed the one allowed by this much, relatively, through rounding alone.
ROUNDING = 1e-12
# Entries of all vertices together.
LARGEST_LIST = 2_000_000_000


def absorbed(eps: object, alpha: object) -> Privacy:
    """The level of privacy; without eps and alpha the metric is in nats already."""
    return privacy(1, None) if eps is None and alpha is None else privacy(eps, alpha)


class Polytope:
    """The private posteriors of a metric under the uniform prior; made by `sv.geometry.polytope`.

    Attributes
    ----------
    metric : the distances
    level : ε, and alpha where it is rational
    merged : groups of more than one input at distance 0, which every private mechanism treats alike
    tolerance : to what irrational distances are rounded for enumeration
    """

    def __init__(self, metric: Metric, level: Privacy, tolerance: Fraction | None) -> None:
        self.metric = metric
        self.level = level
        self.tolerance = tolerance

    @property
    def inputs(self) -> Labels:
        """The inputs, in the order of the metric."""
        return self.metric.points

    @cached_property
    def _group_of(self) -> IndexArray:
        """Group of each input; at ε = 0 all inputs at finite distance are alike."""
        distances = self.metric.matrix
        alike = np.isfinite(distances) if self.level.eps == 0 else distances == 0
        return np.asarray(np.unique(alike.argmax(axis=1), return_inverse=True)[1], dtype=np.intp)

    @cached_property
    def _first(self) -> IndexArray:
        """The first input of each group."""
        return np.unique(self._group_of, return_index=True)[1].astype(np.intp)

    @property
    def merged(self) -> tuple[tuple[Hashable, ...], ...]:
        """Groups of more than one input that no private mechanism tells apart."""
        sizes = np.bincount(self._group_of)
        return tuple(
            tuple(self.inputs[int(x)] for x in np.flatnonzero(self._group_of == g))
            for g in np.flatnonzero(sizes > 1)
        )

    @cached_property
    def _lengths(self) -> FloatArray:
        """Distances of the groups; at ε = ∞ different groups are infinitely far apart."""
        table = self.metric.matrix[np.ix_(self._first, self._first)]
        if self.level.eps == math.inf:
            table = np.where(table == 0, 0.0, np.inf)
        return np.asarray(table)

    @cached_property
    def _pairs(self) -> IndexArray:
        """Pairs of groups that no third lies between, up to rounding."""
        edges = self.metric.edges
        n = len(self._first)
        if edges is not None and n == self.metric.size and len(edges) < n and 0 < self.level.eps < math.inf:
            return edges.pairs[np.isfinite(edges.lengths)]
        table = self._lengths
        first, second = np.nonzero(np.triu(np.isfinite(table), 1))
        keep = np.ones(len(first), dtype=bool)
        limit = table[first, second] * (1 + BETWEEN)
        for y in range(n):
            between = table[y, first] + table[y, second] <= limit
            keep &= ~(between & (first != y) & (second != y))
        return np.column_stack([first[keep], second[keep]]).astype(np.intp)

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable, float], ...]:
        """The irreducible pairs with their distances: the constraints from which all others follow.

        >>> from sievert.spaces import metrics
        >>> polytope(metrics.line(3)).edges
        ((0, 1, 1.0), (1, 2, 1.0))
        """
        table = self._lengths
        return tuple(
            (self.inputs[int(self._first[a])], self.inputs[int(self._first[b])], float(table[a, b]))
            for a, b in self._pairs.tolist()
        )

    @cached_property
    def _component_of(self) -> IndexArray:
        """Component of each group."""
        near = np.isfinite(self._lengths)
        return np.asarray(np.unique(near.argmax(axis=1), return_inverse=True)[1], dtype=np.intp)

    @property
    def dimension(self) -> int:
        """Dimension of the polytope: one less than the groups of inputs that are told apart."""
        return len(self._first) - 1

    @cached_property
    def _whole(self) -> tuple[list[tuple[IndexArray, Component]], Fraction]:
        """The components with whole distances, and the distance that 1 stands for."""
        table, unit = whole_distances(self._lengths, self._pairs, self.tolerance)
        parts = []
        for c in range(int(self._component_of.max()) + 1):
            groups = np.flatnonzero(self._component_of == c)
            parts.append((groups, Component(table[np.ix_(groups, groups)])))
        return parts, unit

    @property
    def shapes(self) -> tuple[str, ...]:
        """What each component's constraints look like, which decides how vertices are found."""
        return tuple(part.shape for _, part in self._whole[0])

    def count(self) -> int:
        """The number of vertices; by a formula where one is known, without listing them.

        Returns
        -------
        int

        Notes
        -----
        Trees have 2^(n-1), discrete metrics 2^n - 2, cycles and complete bipartite graphs binomial sums; it
        does not depend on ε.

        Cost: O(n²) with a formula, else that of `vertices`.

        Examples
        --------
        >>> from sievert.spaces import metrics
        >>> polytope(metrics.line(30)).count(), polytope(metrics.hamming(4, 2)).count()
        (536870912, 990)
        """
        total = 0
        for _, part in self._whole[0]:
            known = part.count()
            total += sum(len(block) for block in part.blocks()) if known is None else known
        return total

    def vertices(self, exact: bool = True, limit: int | None = None) -> Vertices:
        """The extreme private posteriors, by the fastest method that fits the metric.

        Parameters
        ----------
        exact : whether items are fractions, where alpha is rational and distances are whole
        limit : how many at most; what is found is then marked as not complete

        Returns
        -------
        Vertices
            A sequence of posteriors; `levels` are whole numbers in any case.

        Notes
        -----
        p is a vertex iff the pairs whose ratio is as large as allowed connect all inputs, so ln p is a vertex
        of the Lipschitz polytope of the metric, whatever ε is.

        Cost: O(n) for each vertex of trees, discrete metrics and bipartite graphs; for general metrics all
        subsets of up to 12 points are walked through.

        Examples
        --------
        >>> from sievert.spaces import metrics
        >>> for vertex in polytope(metrics.line(3), alpha="1/2").vertices():
        ...     print(*vertex)
        4/7 2/7 1/7
        1/4 1/2 1/4
        2/5 1/5 2/5
        1/7 2/7 4/7
        """
        most = math.inf if limit is None else whole("limit", limit, MetricError)
        found, complete, count = [], True, 0
        for groups, block in self._blocks(limit is not None):
            if count + len(block) > most:
                block, complete = block[: int(most) - count], False
            count += len(block)
            require_size(
                count * self.metric.size,
                LARGEST_LIST,
                "the list of vertices",
                "give a limit, or ask for count()",
            )
            found.append((groups, block))
            advance("vertices", count, count)
            if not complete:
                break
        complete = complete and not any(part.partial_only for _, part in self._whole[0])
        levels, inside = self._spread(found, count)
        unit = self._whole[1]
        fits = exact and self.level.alpha is not None and unit.denominator == 1
        names = ", ".join(dict.fromkeys(self.shapes))
        alone = len(self.shapes) == 1
        method = METHODS[names] if alone else f"{len(self.shapes)} components: {names}"
        return Vertices(levels, inside, unit, self.inputs, complete, method, self.tolerance, self.level, fits)

    def _blocks(self, partial: bool) -> Iterator[tuple[IndexArray, AnyArray]]:
        for groups, part in self._whole[0]:
            for block in part.blocks(partial):
                yield groups, block

    def _spread(self, found: list[tuple[IndexArray, AnyArray]], count: int) -> tuple[AnyArray, BoolArray]:
        """Levels of groups as levels of inputs."""
        n = self.metric.size
        wide = np.result_type(np.int8, *(block.dtype for _, block in found))
        levels, inside = np.zeros((count, n), dtype=wide), np.zeros((count, n), dtype=bool)
        start = 0
        for groups, block in found:
            place = np.full(len(self._first), -1, dtype=np.intp)
            place[groups] = np.arange(len(groups))
            home = place[self._group_of]
            here = np.flatnonzero(home >= 0)
            levels[start : start + len(block), here] = block[:, home[here]]
            inside[start : start + len(block), here] = True
            start += len(block)
        return levels, inside

    def contains(self, posterior: object) -> Membership:
        """Whether a posterior is private: every ratio within what its distance allows.

        Parameters
        ----------
        posterior : probabilities of the inputs, in order or by label

        Returns
        -------
        Membership
            With the pair that is violated most.

        Notes
        -----
        Decided in fractions where posterior and alpha are exact and distances whole; floats may exceed a
        ratio by 1e-12 of it.

        Cost: O(edges).

        Examples
        --------
        >>> from sievert.spaces import metrics
        >>> print(polytope(metrics.line(3), alpha="1/2").contains(["1/2", "1/6", "1/3"]))
        not private: 0 is 3 times as likely as 1, and 2 is allowed
        """
        belief = as_prior(posterior, self.inputs)
        groups = list(self._alike_pairs()) + [
            (int(self._first[a]), int(self._first[b]), float(self._lengths[a, b]))
            for a, b in self._pairs.tolist()
        ]
        worst: tuple[float, int, int, float] | None = None
        for a, b, length in groups:
            for x, z in ((a, b), (b, a)):
                excess = self._excess(belief[x], belief[z], length)
                if excess > 0 and (worst is None or excess > worst[0]):
                    worst = excess, x, z, length
        if worst is None:
            return Membership(True)
        _, x, z, length = worst
        ratio = math.inf if belief[z] == 0 else as_float(belief[x] / belief[z])
        pair = (self.inputs[x], self.inputs[z])
        return Membership(False, pair, ratio, self._factor(length))

    def _alike_pairs(self) -> Iterator[tuple[int, int, float]]:
        """Inputs that are merged, each with the first of its group."""
        for x, group in enumerate(self._group_of.tolist()):
            if x != self._first[group]:
                yield int(self._first[group]), x, 0.0

    def _factor(self, length: float) -> float:
        if self.level.alpha is not None and length == int(length):
            power = self.level.alpha ** int(length)
            return math.inf if power == 0 else as_float(1 / power)
        return exp_or_infinity(self.level.eps * length) if length else 1.0

    def _excess(self, large: Any, small: Any, length: float) -> float:
        """By how much large exceeds e^(ε·length)·small, as a share; 0 where it does not."""
        if large == 0:
            return 0.0
        alpha = self.level.alpha
        if alpha is not None and length == int(length) and isinstance(large, Fraction):
            gap = alpha ** int(length) * large - small
            # The float ranks what fractions decide: a gap of 2^-2000 is one.
            return max(as_float(gap / large), sys.float_info.min) if gap > 0 else 0.0
        if small == 0:
            return math.inf
        exponent = 0.0 if length == 0 else self.level.eps * length
        over = math.log(float(large)) - math.log(float(small)) - exponent
        return over if over > ROUNDING * max(1.0, exponent) else 0.0

    def retraction(self, points: Iterable[object]) -> dict[Hashable, Hashable] | None:
        """A map onto some of the inputs that leaves them fixed and lengthens no distance; None without one.

        Parameters
        ----------
        points : the inputs to keep

        Returns
        -------
        dict or None
            Where each input goes.

        Notes
        -----
        Private mechanisms on the kept inputs extend to all inputs along such a map; without one they may not,
        and what is best for all inputs need not be best for some of them (erratum to Cor 6.23).

        Cost: a search that is exponential at worst; distances prune it.

        References
        ----------
        Fernandes, Cor 6.23.

        Examples
        --------
        >>> from sievert.spaces import metrics
        >>> line = polytope(metrics.line(3))
        >>> line.retraction([0, 1]), line.retraction([0, 2])
        ({0: 0, 1: 1, 2: 0}, None)
        """
        kept = [self.metric.index(point) for point in taken("points", points, MetricError, "points")]
        if not kept:
            raise MetricError("points is empty; keep at least one of the inputs")
        table = self.metric.matrix
        image = {x: x for x in kept}
        rest = [x for x in range(self.metric.size) if x not in image]
        found = _fold(table, kept, rest, image)
        if found is None:
            return None
        return {self.inputs[x]: self.inputs[found[x]] for x in range(self.metric.size)}

    def __repr__(self) -> str:
        return f"Polytope({self.metric.size} inputs, {len(self._pairs)} pairs, ε = {self.level.eps:g})"


def as_float(ratio: Any) -> float:
    """A ratio as a float; ∞ where it is beyond the largest."""
    try:
        return float(ratio)
    except OverflowError:
        return math.inf


METHODS = {
    "point": "one group of inputs",
    "tree": "a tree: every pattern of steps up and down its edges",
    "uniform": "a discrete metric: every proper subset",
    "odd cycle": "an odd cycle: one flat edge",
    "even cycle": "an even cycle: as many steps up as down",
    "complete bipartite": "a complete bipartite graph: height functions",
    "bipartite": "a bipartite graph: height functions, by extension point after point",
    "general": "a general metric: extension of the vertices of all subsets",
}


def _fold(
    table: FloatArray, kept: list[int], rest: list[int], image: dict[int, int]
) -> dict[int, int] | None:
    """Images for the remaining points such that no distance grows; the most constrained point first."""
    if not rest:
        return image
    options = {x: [s for s in kept if all(table[s, image[y]] <= table[x, y] for y in image)] for x in rest}
    x = min(rest, key=lambda point: len(options[point]))
    left = [point for point in rest if point != x]
    for s in options[x]:
        found = _fold(table, kept, left, {**image, x: s})
        if found is not None:
            return found
    return None


def polytope(
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    *,
    alpha: object = None,
    tolerance: object = None,
) -> Polytope:
    """The polytope of private posteriors of a metric: constraints, membership, vertices.

    Parameters
    ----------
    metric : Metric, Policy or Answers
        What must be hidden. Points at distance 0 are merged.
    eps : float
        In nats per unit of distance; without eps and alpha the metric is in nats already.
    alpha : e^-eps, instead of eps; a rational alpha with whole distances gives exact posteriors
    tolerance : to what irrational distances (Euclidean ones, say) are rounded before vertices are listed;
        sums along shortest paths stay exact

    Returns
    -------
    Polytope
        With `edges`, `dimension`, `contains(posterior)`, `count()`, `vertices()` and `retraction(points)`.

    Notes
    -----
    Cost: O(n³) for the irreducible pairs of n points; nothing is listed before it is asked for.

    References
    ----------
    Fernandes, Lem 6.10.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> shape = polytope(metrics.discrete(3), alpha="1/2")
    >>> shape.count(), shape.dimension, len(shape.edges)
    (6, 2, 3)
    """
    found = target_metric(metric)
    level = absorbed(eps, alpha)
    step: Fraction | None = None
    if tolerance is not None:
        try:
            if isinstance(tolerance, bool):
                raise TypeError
            step = as_fraction(tolerance if is_exact(tolerance) else repr(tolerance))
        except (ValueError, TypeError):
            step = Fraction(0)
        if step <= 0:
            raise MetricError(f"tolerance is {brief(tolerance)}; it must be a number > 0, such as 1e-6")
    return Polytope(found, level, step)
