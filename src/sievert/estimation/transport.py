"""The Kantorovich distance between distributions: how far mass must move, with the plan and the proof.

K(p, q) = min over plans of Σ mass·distance = max over 1-Lipschitz f of Σ f·(p - q) (Fernandes, Def 8.3.2).
Every answer has both sides: the plan attains the value, the potentials show that no plan is cheaper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from sievert.channels.priors import as_prior
from sievert.estimation.transport_general import between
from sievert.estimation.transport_graph import along_edges
from sievert.results import Result
from sievert.spaces.arguments import metric_of
from sievert.spaces.metric import Metric

__all__ = ["Transport", "kantorovich"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Moves = tuple[IndexArray, IndexArray, FloatArray]
# Sums of probabilities are off by rounding; components whose masses differ by less have the same mass.
SAME_MASS = 1e-9
# Up to this many points a graph's distances are a small matrix; beyond, its edges are fewer.
SMALL_GRAPH = 1500


@dataclass(frozen=True, eq=False)
class Transport(Result):
    """How two distributions differ under a metric.

    Attributes
    ----------
    value : the distance (inf where mass would have to move infinitely far)
    potentials : a 1-Lipschitz function of the points; Σ potentials·(p - q) is the value (None when infinite)
    sources, targets, masses : the moves of the plan, mass that stays included (None when infinite)
    gap : value of the plan less that of the potentials; both are right to within this
    method : how it was found
    """

    value: float
    potentials: FloatArray | None
    sources: IndexArray | None = field(repr=False)
    targets: IndexArray | None = field(repr=False)
    masses: FloatArray | None = field(repr=False)
    size: int
    gap: float
    method: str

    @property
    def plan(self) -> csr_array | None:
        """The plan as a sparse matrix: row sums p, column sums q."""
        if self.masses is None or self.sources is None or self.targets is None:
            return None
        return csr_array(coo_array((self.masses, (self.sources, self.targets)), shape=(self.size, self.size)))

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if math.isinf(self.value):
            return "Kantorovich distance inf: components at infinite distance have different mass"
        agree = f"plan and potentials agree within {self.gap:.1e}"
        return f"Kantorovich distance {self.value:.9g} ({self.method}; {agree})"


def kantorovich(p: Any, q: Any, metric: Metric) -> Transport:
    """Kantorovich (earth mover's, Wasserstein-1) distance of two distributions on the points of a metric.

    On a line O(n), under the discrete metric total variation, on a graph a flow along its edges, otherwise
    a network simplex. Points at infinite distance exchange no mass.

    >>> from sievert.spaces import metrics
    >>> found = kantorovich([1, 0, 0], [0, 0.5, 0.5], metrics.line(3))
    >>> found.value, found.plan.toarray()[0].tolist()
    (1.5, [0.0, 0.5, 0.5])
    """
    metric = metric_of(metric)
    first, second = (as_prior(side, metric.points).astype(np.float64) for side in (p, q))
    difference = first - second
    chain = _chain(metric)
    if chain is not None:
        return _along_line(first, second, *chain)
    if metric.uniform_distance is not None and math.isfinite(metric.uniform_distance):
        distance = metric.uniform_distance
        moves, potentials = _discrete(difference, distance)
        return _with_what_stays(
            first, second, moves, potentials, distance * float(moves[2].sum()), "discrete"
        )
    component = metric.component_of
    masses = np.bincount(component, weights=difference)
    if float(np.abs(masses).max()) > SAME_MASS:
        return Transport(math.inf, None, None, None, None, metric.size, 0.0, "infinite distances")
    # What rounding leaves over in a component is taken from its largest entry.
    for c in np.flatnonzero(masses):
        members = np.flatnonzero(component == c)
        difference[members[np.argmax(np.abs(difference[members]))]] -= masses[c]
    edges = metric.edges
    if edges is not None and metric.size > SMALL_GRAPH and len(edges) < metric.size**2 / 8:
        moves, potentials, value = along_edges(edges, difference)
        return _with_what_stays(first, second, moves, potentials, value, "graph flow")
    moves, potentials = _components(difference, metric, component)
    value = float(moves[2] @ metric.matrix[moves[0], moves[1]])
    return _with_what_stays(first, second, moves, potentials, value, "network simplex")


def _chain(metric: Metric) -> tuple[IndexArray, FloatArray] | None:
    """The order of the points along a path and the steps between them, where the metric is one."""
    edges = metric.edges
    if edges is None or len(edges) != metric.size - 1 or not np.isfinite(edges.lengths).all():
        return None
    if metric.size == 1:
        return np.zeros(1, dtype=np.intp), np.empty(0)
    if not (edges.pairs[1:, 0] == edges.pairs[:-1, 1]).all():
        return None
    order = np.concatenate([edges.pairs[:1, 0], edges.pairs[:, 1]])
    if len(np.unique(order)) != metric.size:
        return None
    return order, edges.lengths


def _along_line(p: FloatArray, q: FloatArray, order: IndexArray, lengths: FloatArray) -> Transport:
    """Both distribution functions in step: monotone moves; potentials fall where p is ahead."""
    above, below = np.cumsum(p[order]), np.cumsum(q[order])
    above, below = above / above[-1], below / below[-1]
    ahead = above[:-1] - below[:-1]
    potentials = np.empty(len(order))
    potentials[order] = np.concatenate([[0.0], np.cumsum(-np.sign(ahead) * lengths)])
    # Two sorted runs: a stable sort merges them in linear time.
    steps = np.sort(np.concatenate([above, below]), kind="stable")
    masses = np.diff(steps, prepend=0.0)
    moved = masses > 0
    sources, targets = np.searchsorted(above, steps[moved]), np.searchsorted(below, steps[moved])
    masses = masses[moved]
    positions = np.concatenate([[0.0], np.cumsum(lengths)])
    cost = float(masses @ np.abs(positions[sources] - positions[targets]))
    value = float(np.abs(ahead) @ lengths)
    return Transport(
        value, potentials, order[sources], order[targets], masses, len(p), abs(cost - value), "line"
    )


def _discrete(difference: FloatArray, distance: float) -> tuple[Moves, FloatArray]:
    """Total variation: whatever is too much anywhere fills what is missing anywhere."""
    rich, poor = np.flatnonzero(difference > 0), np.flatnonzero(difference < 0)
    potentials = np.where(difference > 0, distance, 0.0)
    if not len(rich) or not len(poor):
        empty = np.empty(0, dtype=np.intp)
        return (empty, empty, np.empty(0)), potentials
    from_ends, to_ends = np.cumsum(difference[rich]), np.cumsum(-difference[poor])
    to_ends = np.minimum(to_ends * (from_ends[-1] / to_ends[-1]), from_ends[-1])
    to_ends[-1] = from_ends[-1]
    steps = np.sort(np.concatenate([from_ends, to_ends]), kind="stable")
    masses = np.diff(steps, prepend=0.0)
    moved = masses > 0
    sources = rich[np.searchsorted(from_ends, steps[moved])]
    targets = poor[np.searchsorted(to_ends, steps[moved])]
    return (sources, targets, masses[moved]), potentials


def _components(difference: FloatArray, metric: Metric, component: IndexArray) -> tuple[Moves, FloatArray]:
    """The network simplex within every component; what both have in common stays where it is."""
    distances = metric.matrix
    potentials = np.zeros(metric.size)
    found: list[Moves] = []
    for c in range(int(component.max()) + 1):
        members = np.flatnonzero(component == c)
        part = difference[members]
        rich, poor = members[part > 0], members[part < 0]
        if not len(rich) or not len(poor):
            continue
        cost = distances[np.ix_(rich, poor)]
        (tails, heads, masses), prices = between(cost, difference[rich], -difference[poor])
        found.append((rich[tails], poor[heads], masses))
        # McShane's extension: 1-Lipschitz on the whole component, and no worse than the prices.
        potentials[members] = (distances[np.ix_(members, poor)] + prices).min(axis=1)
    if not found:
        empty = np.empty(0, dtype=np.intp)
        return (empty, empty, np.empty(0)), potentials
    sources, targets, masses = (np.concatenate(part) for part in zip(*found, strict=True))
    return (sources, targets, masses), potentials


def _with_what_stays(
    p: FloatArray, q: FloatArray, moves: Moves, potentials: FloatArray, value: float, method: str
) -> Transport:
    """Mass that both distributions have at a point stays there: a metric gains nothing by moving it."""
    stays = np.minimum(p, q)
    kept = np.flatnonzero(stays > 0)
    sources, targets = np.concatenate([kept, moves[0]]), np.concatenate([kept, moves[1]])
    masses = np.concatenate([stays[kept], moves[2]])
    gap = abs(value - float(potentials @ (p - q)))
    return Transport(value, potentials, sources, targets, masses, len(p), gap, method)
