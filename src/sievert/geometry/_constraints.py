"""The constraints on private posteriors: p_x ≤ e^(ε·d(x,z))·p_z for all x, z (Fernandes, Sec 6.3.2).

Points at distance 0 are merged, components at infinite distance are taken by themselves, and only pairs that
no third point lies between are constraints: all others follow from them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import EpsilonOrAlpha
from sievert.channels.priors import as_prior
from sievert.errors import MetricError
from sievert.geometry._posteriors import Membership
from sievert.numerics import exp_or_infinity, taken
from sievert.spaces import Labels, Metric

__all__ = ["Constraints", "as_float"]

# Rounding may move a point that lies between two others by this much, relatively.
BETWEEN = 1e-12
# A ratio of floats may exceed the one allowed by this much, relatively, through rounding alone.
ROUNDING = 1e-12


class Constraints:
    """What privacy asks of posteriors under the uniform prior, without any list of them."""

    def __init__(self, metric: Metric, level: EpsilonOrAlpha) -> None:
        self.metric = metric
        self.level = level

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

        >>> from sievert.geometry import polytope
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
        >>> from sievert.geometry import polytope
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
        >>> from sievert.geometry import polytope
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


def as_float(ratio: Any) -> float:
    """A ratio as a float; ∞ where it is beyond the largest."""
    try:
        return float(ratio)
    except OverflowError:
        return math.inf


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
