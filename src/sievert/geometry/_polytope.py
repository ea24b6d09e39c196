"""The polytope of private posteriors of a metric: p_x ≤ e^(ε·d(x,z))·p_z for all x, z (Fernandes, Sec 6.3.2).

A channel is private iff its posteriors under the uniform prior lie in it (Lem 6.10). Points at distance 0 are
merged, components at infinite distance are taken by themselves (an extreme posterior lives on one of them),
and only pairs that no third point lies between are constraints. Vertices come from `_vertices`, in whole
numbers: they do not depend on ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import AnyArray, BoolArray, IndexArray
from sievert.channels import EpsilonOrAlpha, target_metric
from sievert.errors import MetricError
from sievert.geometry._constraints import Constraints
from sievert.geometry._posteriors import Vertices, merged_words
from sievert.geometry._rounding import whole_distances
from sievert.geometry._vertices import Component
from sievert.mechanisms import privacy
from sievert.numerics import abbreviated, advance, as_fraction, finite, is_exact, require_size, whole
from sievert.policies import Answers, Policy
from sievert.spaces import Metric

__all__ = ["Polytope", "absorbed", "polytope", "whole_metric"]

# Entries of all vertices together.
LARGEST_LIST = 2_000_000_000


def absorbed(eps: object, alpha: object) -> EpsilonOrAlpha:
    """The level of privacy; without eps and alpha the metric is in nats already."""
    return privacy(1, None) if eps is None and alpha is None else privacy(eps, alpha)


class Polytope(Constraints):
    """The private posteriors of a metric under the uniform prior; made by `sv.geometry.polytope`.

    Attributes
    ----------
    metric : the distances
    level : ε, and alpha where it is rational
    merged : groups of more than one input at distance 0, which every private mechanism treats alike
    tolerance : to what irrational distances are rounded for enumeration
    """

    def __init__(self, metric: Metric, level: EpsilonOrAlpha, tolerance: Fraction | None) -> None:
        super().__init__(metric, level)
        self.tolerance = tolerance

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

        Cost: O(n) for each vertex of trees, discrete metrics and bipartite graphs; other graphs with equal
        edges are searched point after point, and for general metrics all subsets of up to 12 points are
        walked through.

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
            complete = count + len(block) <= most
            block = block if complete else block[: int(most) - count]
            count += len(block)
            way = "give a limit, or ask for count()"
            require_size(count * self.metric.size, LARGEST_LIST, "the list of vertices", way)
            found.append((groups, block))
            advance("vertices", count, max(count, self._expected(most)))
            if not complete:
                break
        complete = complete and not any(part.partial_only for _, part in self._whole[0])
        return self._listed(found, exact, complete)

    def iter_vertices(self, exact: bool = True, limit: int | None = None) -> Iterator[NDArray[Any]]:
        """The extreme private posteriors one after another, without keeping them.

        Parameters
        ----------
        exact : whether items are fractions, where alpha is rational and distances are whole
        limit : how many at most

        Returns
        -------
        iterator of numpy.ndarray
            Posteriors, in the order of `vertices`.

        Notes
        -----
        Trees, discrete metrics and graphs with equal edges are walked through block after block, so the first
        ones come at once, however many there are.

        Cost: that of `vertices` for as many as are taken.

        Examples
        --------
        >>> from sievert.spaces import metrics
        >>> far = polytope(metrics.line(60), alpha="1/2")
        >>> [str(p) for p in next(far.iter_vertices())[:2]]
        ['576460752303423488/1152921504606846975', '288230376151711744/1152921504606846975']
        """
        left = math.inf if limit is None else whole("limit", limit, MetricError)
        return self._each(exact, left, limit is not None)

    def _each(self, exact: bool, left: float, partial: bool) -> Iterator[NDArray[Any]]:
        for groups, block in self._blocks(partial):
            block = block if len(block) <= left else block[: int(left)]
            left -= len(block)
            yield from self._listed([(groups, block)], exact, False)
            if left <= 0:
                return

    def _expected(self, most: float) -> int:
        """How many will be listed, as far as formulas tell."""
        known = sum(part.count() or 0 for _, part in self._whole[0])
        return int(min(most, known))

    def _listed(self, found: list[tuple[IndexArray, AnyArray]], exact: bool, complete: bool) -> Vertices:
        levels, inside = self._spread(found, sum(len(block) for _, block in found))
        unit = self._whole[1]
        fits = exact and self.level.alpha is not None and unit.denominator == 1
        names = ", ".join(dict.fromkeys(self.shapes))
        alone = len(self.shapes) == 1
        method = METHODS[names] if alone else f"{len(self.shapes)} components: {names}"
        return Vertices(
            levels, inside, unit, self.inputs, complete, method, self.tolerance, self.level, fits, self.merged
        )

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

    def __repr__(self) -> str:
        return f"Polytope({self.metric.size} inputs, {len(self._pairs)} pairs, ε = {self.level.eps:g})"

    def __str__(self) -> str:
        pairs = f"{len(self._pairs)} pair{'' if len(self._pairs) == 1 else 's'}"
        return (
            f"the private posteriors over {self.metric.size} inputs at ε = {self.level.eps:g}: the ratios of "
            f"{pairs} bind, dimension {self.dimension}{merged_words(self.merged)}"
        )


METHODS = {
    "point": "one group of inputs",
    "tree": "a tree: every pattern of steps up and down its edges",
    "uniform": "a discrete metric: every proper subset",
    "odd cycle": "an odd cycle: one flat edge",
    "even cycle": "an even cycle: as many steps up as down",
    "complete bipartite": "a complete bipartite graph: height functions",
    "bipartite": "a bipartite graph: height functions, by extension point after point",
    "graph": "a graph with equal edges: functions of tight steps, point after point",
    "general": "a general metric: extension of the vertices of all subsets",
}


def whole_metric(metric: Metric, tolerance: object = None) -> tuple[Metric, Fraction]:
    """A metric with whole distances that exceed none of the given ones, and the unit that 1 stands for.

    Without a tolerance distances are taken as they are written; MetricError where they are irrational.
    """
    shape = polytope(metric, tolerance=tolerance)
    if shape.merged or not len(shape._pairs):
        raise MetricError(
            "metric: inputs at distance 0, or all apart; merge them before distances are rounded"
        )
    table, unit = whole_distances(shape._lengths, shape._pairs, shape.tolerance, down=True)
    return Metric(np.where(table < 0, np.inf, table).astype(np.float64), metric.points), unit


def polytope(
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    alpha: object = None,
    *,
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
        With `edges`, `dimension`, `contains(posterior)`, `count()`, `vertices()`, `iter_vertices()` and
        `retraction(points)`.

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
            step = as_fraction(
                tolerance if is_exact(tolerance) else repr(finite("tolerance", tolerance, MetricError))
            )
        except (ValueError, TypeError):
            step = Fraction(0)
        if step <= 0:
            raise MetricError(f"tolerance is {abbreviated(tolerance)}; it must be a number > 0, such as 1e-6")
    return Polytope(found, level, step)
