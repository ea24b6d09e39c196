"""The Kantorovich distance between distributions: how far mass must move, with the plan and the proof.

K(p, q) = min over plans of Σ mass·distance = max over 1-Lipschitz f of Σ f·(p - q) (Fernandes, Def 8.3.2).
Every answer has both sides: the plan attains the value, the potentials show that no plan is cheaper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, hstack
from scipy.sparse.linalg import splu

from sievert.arrays import FloatArray, IndexArray
from sievert.channels.priors import as_prior
from sievert.errors import EstimationError, TooLargeError
from sievert.programs import LinearProgram, Solution, solved
from sievert.proofs import TransportProof
from sievert.results import Result
from sievert.spaces import Edges, Metric, least_lengths, metric_of

__all__ = ["Transport", "along_edges", "between", "kantorovich", "prove_transport"]
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

    Points at infinite distance exchange no mass.

    Parameters
    ----------
    p, q : the distributions, in the order of the metric's points or by label
    metric : Metric

    Returns
    -------
    Transport
        The `value`, a `plan` that costs it, and potentials that prove it; `float(result)` is the value.

    Notes
    -----
    Cost: O(n) on a line and for a discrete metric; on a graph a flow along its edges, otherwise a network
    simplex on n² pairs.

    Examples
    --------
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


# ── Optimal transport under any finite distances: the network simplex, or a linear program without numba ────


def between(cost: FloatArray, supply: FloatArray, demand: FloatArray) -> tuple[Moves, FloatArray]:
    """The cheapest way from supplies to demands of the same total: (source, sink, mass) and a price of
    each sink.

    No source i has price_i > price_j + cost_ij, where price_i = min_j price_j + cost_ij: the dual optimum.
    """
    from sievert.numerics import COMPILED

    demand = demand * (supply.sum() / demand.sum())
    if COMPILED:
        return _simplex(np.ascontiguousarray(cost), supply, demand)
    return _program(cost, supply, demand)


def _simplex(cost: FloatArray, supply: FloatArray, demand: FloatArray) -> tuple[Moves, FloatArray]:
    from sievert.estimation._kernels import network_simplex

    sources = len(supply)
    most = 1000 * (sources + len(demand)) + 100_000
    flow, parent, _, potential, _ = network_simplex(cost, supply, demand, most)
    root = sources + len(demand)
    nodes = np.flatnonzero((parent[:root] != root) & (flow[:root] > 0))
    above = parent[nodes]
    is_source = nodes < sources
    tails, heads = np.where(is_source, nodes, above), np.where(is_source, above, nodes) - sources
    return (tails.astype(np.intp), heads.astype(np.intp), flow[nodes]), -potential[sources:root]


def _program(cost: FloatArray, supply: FloatArray, demand: FloatArray) -> tuple[Moves, FloatArray]:
    sources, sinks = cost.shape
    tails, heads = np.divmod(np.arange(sources * sinks), sinks)
    ones = np.ones(len(tails))
    columns = np.arange(len(tails))
    matrix = csc_array(
        coo_array(
            (np.concatenate([ones, ones]), (np.concatenate([tails, sources + heads]), np.tile(columns, 2))),
            shape=(sources + sinks, len(tails)),
        )
    )
    limits = np.concatenate([supply, demand])
    free = np.full(len(tails), np.inf)
    found = solved(LinearProgram(cost.ravel(), matrix, limits, limits, np.zeros(len(tails)), free))
    used = np.flatnonzero(found.primal > 0)
    return (tails[used], heads[used], found.primal[used]), -found.dual[sources:]


# ── Optimal transport along the edges of a sparse graph ─────────────────────────────────────────────────────
# Optimal transport along the edges of a sparse graph: a flow with a variable for either way of an edge.
# Flow that is left over from rounding is not followed any further.
NOTHING = 1e-15
UNITS = 1e5


def along_edges(edges: Edges, surplus: FloatArray) -> tuple[Moves, FloatArray, float]:
    """Move surplus (sum 0 on each component) along finite edges: (from, to, mass), potentials, cost."""
    size = len(surplus)
    finite = np.isfinite(edges.lengths)
    simple = least_lengths(Edges(edges.pairs[finite], edges.lengths[finite]), size)
    count = len(simple)
    tails = np.concatenate([simple.pairs[:, 0], simple.pairs[:, 1]])
    heads = np.concatenate([simple.pairs[:, 1], simple.pairs[:, 0]])
    lengths = np.concatenate([simple.lengths, simple.lengths])
    columns = np.arange(2 * count)
    ones = np.ones(2 * count)
    matrix = csc_array(
        coo_array(
            (np.concatenate([ones, -ones]), (np.concatenate([tails, heads]), np.tile(columns, 2))),
            shape=(size, 2 * count),
        )
    )
    # The solver meets equations to 1e-10: counted in units this small, that is below rounding.
    scaled = surplus * (UNITS / max(float(np.abs(surplus).max()), 1e-300))
    program = LinearProgram(lengths, matrix, scaled, scaled, np.zeros(2 * count), np.full(2 * count, np.inf))
    found = solved(program)
    steps = found.dual[tails] - found.dual[heads]
    # The solver's potentials may be steeper than 1 by its tolerance; flattened they are 1-Lipschitz.
    steepest = float(np.max(steps[lengths > 0] / lengths[lengths > 0], initial=1.0))
    flow = _tree_flow(matrix, found, surplus)
    return _paths(size, tails, heads, flow, surplus), found.dual / steepest, float(lengths @ flow)


def _tree_flow(matrix: csc_array, found: Solution, surplus: FloatArray) -> FloatArray:
    """The flow of the optimal basis (a spanning forest) to the last digit; the solver's has about ten."""
    columns, slacks = np.flatnonzero(found.basic_columns), np.flatnonzero(found.basic_rows)
    size = len(surplus)
    assert len(columns) + len(slacks) == size
    units = coo_array((np.ones(len(slacks)), (slacks, np.arange(len(slacks)))), shape=(size, len(slacks)))
    basis = csc_array(hstack([matrix[:, columns], units]))
    flow = np.zeros(matrix.shape[1])
    flow[columns] = np.maximum(splu(basis).solve(surplus)[: len(columns)], 0.0)
    return flow


def _paths(size: int, tails: IndexArray, heads: IndexArray, flow: FloatArray, surplus: FloatArray) -> Moves:
    """Follow the flow from every surplus to deficits, as much as the thinnest edge on the way carries."""
    left = surplus.copy()
    leaving: list[list[int]] = [[] for _ in range(size)]
    for arc in np.flatnonzero(flow > NOTHING).tolist():
        leaving[int(tails[arc])].append(arc)
    carried = flow.copy()
    moves: list[tuple[int, int, float]] = []
    for start in np.flatnonzero(surplus > NOTHING).tolist():
        while left[start] > NOTHING:
            node, path = start, []
            while left[node] > -NOTHING or node == start:
                while leaving[node] and carried[leaving[node][-1]] <= NOTHING:
                    leaving[node].pop()
                if not leaving[node]:
                    break
                path.append(leaving[node][-1])
                node = int(heads[path[-1]])
            if node == start or left[node] > -NOTHING:
                break
            mass = min(left[start], -left[node], *(carried[arc] for arc in path))
            for arc in path:
                carried[arc] -= mass
            left[start] -= mass
            left[node] += mass
            moves.append((start, node, mass))
    if not moves:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
    table = np.array(moves)
    return table[:, 0].astype(np.intp), table[:, 1].astype(np.intp), table[:, 2]


# ── Proofs that can be saved and checked elsewhere: of an estimate's likelihood, of a transport's cost ──────

# Entries of a matrix that are written out as fractions.
LARGEST_PROOF = 250_000


def prove_transport(found: Transport, p: Any, q: Any, metric: Metric) -> TransportProof:
    """That the Kantorovich distance lies between two bounds, which meet to about 1e-15."""
    if found.sources is None or found.targets is None or found.masses is None or found.potentials is None:
        raise EstimationError(
            "the distance is infinite: components have different masses, which is its own proof"
        )
    _refuse_large(metric.size**2)
    distances = metric.matrix
    if not np.isfinite(distances).all():
        raise EstimationError("metric has infinite distances; prove each of its components on its own")
    moves = list(zip(found.sources.tolist(), found.targets.tolist(), found.masses.tolist(), strict=True))
    first, second = (as_prior(side, metric.points).astype(np.float64).tolist() for side in (p, q))
    return TransportProof.of(distances, first, second, moves, found.potentials.tolist())


def _refuse_large(entries: int) -> None:
    if entries > LARGEST_PROOF:
        raise TooLargeError(
            f"a proof would hold {entries} fractions; at most {LARGEST_PROOF} are written", size=entries
        )
