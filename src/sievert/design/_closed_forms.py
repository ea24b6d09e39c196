"""Optimal channels without a linear program, where a theorem gives one.

Each form returns a channel and the multipliers that prove it. Whether the theorem applies is not decided by
recognising the loss: the certificate is computed, and a form whose gap is too large is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.design._line import line_form
from sievert.design._problem import DesignComponent
from sievert.proofs import Multipliers

__all__ = ["Candidate", "closed_form", "kernel_form", "peaks"]
# Weights of the kernel that rounding alone has made negative.
NEGATIVE = 1e-13
# Below this e^-ε its inverse, which prices need, loses the digits of the certificate.
SMALLEST_RATIO = 1e-12


@dataclass(frozen=True, eq=False)
class Candidate:
    """A channel for a piece that may be optimal, with what proves it.

    `price` are dual prices of a uniform piece, whose certificate needs no multipliers; `interrupted` says
    that the search was ended by hand.
    """

    channel: FloatArray
    multipliers: Multipliers
    method: str
    price: FloatArray | None = None
    interrupted: bool = False


def closed_form(piece: DesignComponent) -> Candidate | None:
    """The closed form that fits the shape of a piece, or None."""
    if piece.shape == "point":
        return _point(piece)
    if piece.shape == "line":
        return _line(piece)
    if piece.shape == "uniform":
        return _uniform_peaks(piece) or _two_actions(piece)
    if piece.shape == "tree":
        return _tree(piece)
    return _regular(piece)


def _point(piece: DesignComponent) -> Candidate:
    channel = np.zeros_like(piece.cost)
    channel[0, int(np.argmin(piece.cost[0]))] = 1.0
    return Candidate(channel, Multipliers.none(), "one group of inputs: the best constant answer")


def _line(piece: DesignComponent) -> Candidate:
    """The geometric mechanism with the best remap: optimal for single-crossing losses (Theorem SC)."""
    order, _, through = piece.outward
    edges = through[order[1:]]
    t = np.exp(-piece.exponents[edges])
    # t/(1-t²), which keeps its digits for tiny distances.
    s = t / -np.expm1(-2 * piece.exponents[edges])
    ordered, towards_right, towards_left = line_form(piece.cost[order], t, s)
    channel = np.empty_like(ordered)
    channel[order] = ordered
    multipliers = Multipliers.joined(
        [
            _listed(piece.arc_from(edges, order[:-1]), towards_right),
            _listed(piece.arc_from(edges, order[1:]), towards_left),
        ]
    )
    method = "line, geometric mechanism (Theorem SC: single-crossing losses)"
    if piece.size == 2:
        method = "two inputs (Fernandes, Thm 6.14)"
    return Candidate(channel, multipliers, method)


def _listed(arcs: IndexArray, values: FloatArray) -> Multipliers:
    """The positive entries of values [arc, action]."""
    place, action = np.nonzero(values > 0)
    return Multipliers(arcs[place], action, values[place, action])


def peaks(cost: FloatArray) -> IndexArray | None:
    """For costs [point, action] that only one action lowers at each point: the point each action hits.

    -1 for an action that hits nothing. None when some action lowers the cost at two points: such a loss is
    not of the form base(x) - gain(x)·[w = x].
    """
    below = cost < cost.max(axis=1, keepdims=True)
    if (below.sum(axis=0) > 1).any():
        return None
    return np.where(below.any(axis=0), below.argmax(axis=0), -1)


def _heights(piece: DesignComponent, hit: IndexArray) -> tuple[FloatArray, IndexArray]:
    """What hitting each point is worth, and the action that does it best (-1: none)."""
    gain = piece.cost.max(axis=1, keepdims=True) - piece.cost
    worth, action = gain.max(axis=1), gain.argmax(axis=1)
    return worth, np.where(worth > 0, action, -1)


def _uniform_peaks(piece: DesignComponent) -> Candidate | None:
    """Bayes risk on a discrete metric: randomised response on the k likeliest, the others uniform on them."""
    hit = peaks(piece.cost)
    if hit is None:
        return None
    worth, action = _heights(piece, hit)
    a = float(np.exp(-piece.exponents[0]))
    order = np.argsort(-worth, kind="stable")
    ks = np.arange(1, piece.size + 1)
    values = np.cumsum(worth[order]) / (1 + (ks - 1) * a)
    if values.max() <= 0:
        return None
    k = int(values.argmax()) + 1
    k = min(k, int((worth > 0).sum()))
    top = order[:k]
    channel = np.zeros_like(piece.cost)
    channel[:, action[top]] = 1 / k
    channel[np.ix_(top, action[top])] = a / (1 + (k - 1) * a)
    channel[top, action[top]] = 1 / (1 + (k - 1) * a)
    price = piece.cost.max(axis=1)
    price[top] -= (worth[top] - a * values[k - 1]) / -np.expm1(-piece.exponents[0])
    method = f"discrete metric, Bayes risk: randomised response on the {k} most valuable inputs"
    return Candidate(channel, Multipliers.none(), method, price)


def _two_actions(piece: DesignComponent) -> Candidate | None:
    """Two actions on a discrete metric: randomised response on which is better (Fernandes, Thm 6.28)."""
    a = float(np.exp(-piece.exponents[0]))
    if piece.cost.shape[1] != 2 or a < SMALLEST_RATIO:
        return None
    difference = piece.cost[:, 0] - piece.cost[:, 1]
    first = difference < 0
    gains = np.abs(difference)
    better = piece.cost.min(axis=1)
    right, wrong = float(gains[first].sum()), float(gains[~first].sum())
    # With one kind of input much likelier the answer is constant.
    table = [[1 / (1 + a), a / (1 + a)], [a / (1 + a), 1 / (1 + a)]]
    losses = {"bit": a / (1 + a) * (right + wrong), "0": wrong, "1": right}
    best = min(losses, key=lambda name: losses[name])
    channel = np.zeros_like(piece.cost)
    if best == "bit":
        channel[first], channel[~first] = table[0], table[1]
        # Both columns' certificates are tight: X + e^ε·Y = right and Y + e^ε·X = wrong.
        span = 1 / a - a
        shares = np.where(
            first, (wrong - a * right) / span / (right or 1), (right - a * wrong) / span / (wrong or 1)
        )
        price = better + gains * shares
    else:
        channel[:, int(best)] = 1.0
        # The constant answer's dual spreads the loss over the inputs it fails.
        price = piece.cost[:, int(best)].copy()
    return Candidate(
        channel, Multipliers.none(), "discrete metric, two actions: one bit (Fernandes, Thm 6.28)", price
    )


def _tree(piece: DesignComponent) -> Candidate | None:
    """Bayes risk on a tree: the exponential kernel, where its weights are ≥ 0 (Theorem TREE-BAYES)."""
    hit = peaks(piece.cost)
    order, parent, through = piece.outward
    below = order[1:]
    t = np.exp(-piece.exponents)
    weights = np.ones(piece.size)
    for end in (0, 1):
        np.subtract.at(weights, piece.pairs[through[below], end], (t / (1 + t))[through[below]])
    if hit is None or weights.min() < -NEGATIVE:
        return None
    weights = np.maximum(weights, 0.0)
    worth, action = _heights(piece, hit)
    # φ(y) = max_w worth_w·e^(-d(w,y)), up and down the tree, with the point that attains it.
    phi, source = worth.copy(), np.arange(piece.size)
    steps = [(v, parent[v]) for v in below[::-1]] + [(parent[v], v) for v in below]
    edge_of = [through[v] for v in below[::-1]] + [through[v] for v in below]
    for (origin, target), edge in zip(steps, edge_of, strict=True):
        if t[edge] * phi[origin] > phi[target]:
            phi[target], source[target] = t[edge] * phi[origin], source[origin]
    taken = np.zeros_like(piece.cost)
    chosen = np.where(action[source] < 0, int(np.argmin(piece.cost.sum(axis=0))), action[source])
    taken[np.arange(piece.size), chosen] = weights
    channel = np.exp(-piece.distances) @ taken
    arcs: list[Multipliers] = []
    for v in below.tolist():
        edge, p = int(through[v]), int(parent[v])
        for x, z in ((v, p), (p, v)):
            flow = max(0.0, (phi[x] - t[edge] * phi[z]) / -np.expm1(-2 * piece.exponents[edge]))
            outputs = _beyond(piece, x, z, hit)
            arc = piece.arc_from(np.full(len(outputs), edge), np.full(len(outputs), x))
            arcs.append(Multipliers(arc, outputs, np.full(len(outputs), flow)))
    method = "tree, Bayes risk: exponential kernel (Theorem TREE-BAYES)"
    return Candidate(channel, Multipliers.joined(arcs), method)


def _beyond(piece: DesignComponent, x: int, z: int, hit: IndexArray) -> IndexArray:
    """Actions whose point is on z's side of the edge between x and z."""
    known = np.flatnonzero(hit >= 0)
    nearer = piece.distances[z, hit[known]] < piece.distances[x, hit[known]]
    return np.asarray(known[nearer])


def _regular(piece: DesignComponent) -> Candidate | None:
    """Uniform prior and Bayes risk where every point sees the same distances (Alvim et al., Thm 27/28)."""
    hit = peaks(piece.cost)
    if hit is None:
        return None
    worth, action = _heights(piece, hit)
    kernel = np.exp(-piece.distances)
    rows = kernel.sum(axis=1)
    if action.min() < 0 or np.ptp(rows) > 1e-12 * rows[0] or np.ptp(worth) > 1e-12 * worth[0]:
        return None
    channel = np.zeros_like(piece.cost)
    channel[:, action] = kernel / rows[:, None]
    multipliers = _pushed(piece, np.asarray(action), worth / rows)
    method = "every input sees the same distances, Bayes risk: exponential kernel (Alvim et al., Thm 27/28)"
    return Candidate(channel, multipliers, method)


def kernel_form(piece: DesignComponent) -> Candidate | None:
    """The exponential kernel with the best remap, where its weights are ≥ 0: nearly optimal for large ε.

    A program's tolerance is more than what is lost there. It brings no certificate of its own.
    """
    kernel = np.exp(-piece.distances)
    try:
        weights = np.linalg.solve(kernel, np.ones(piece.size))
    except np.linalg.LinAlgError:
        return None
    if not (weights >= 0).all():
        return None
    taken = np.zeros_like(piece.cost)
    taken[np.arange(piece.size), (kernel @ piece.cost).argmin(axis=1)] = weights
    return Candidate(kernel @ taken, Multipliers.none(), "exponential kernel, bounded by a linear program")


def _pushed(piece: DesignComponent, action: IndexArray, surplus: FloatArray) -> Multipliers:
    """What each point can spare carried to the point an action hits, along shortest paths to it."""
    parts = []
    near = _arcs(piece)
    for w in range(piece.size):
        away = piece.distances[w]
        carried = surplus.copy()
        carried[w] = 0.0
        arcs, values = [], []
        for x in np.argsort(-away, kind="stable").tolist():
            if x == w:
                continue
            neighbours, edges, lengths = near[x]
            step = int(np.argmin(np.abs(away[neighbours] + lengths - away[x])))
            z = int(neighbours[step])
            arcs.append(2 * int(piece.edges[edges[step]]) + int(piece.pairs[edges[step], 0] != x))
            values.append(carried[x])
            if z != w:
                carried[z] += np.exp(-lengths[step]) * carried[x]
        parts.append(
            Multipliers(np.array(arcs, dtype=np.intp), np.full(len(arcs), action[w]), np.array(values))
        )
    return Multipliers.joined(parts)


def _arcs(piece: DesignComponent) -> list[tuple[IndexArray, IndexArray, FloatArray]]:
    """Of each point: its neighbours, the edges to them, and their lengths."""
    found = []
    for x in range(piece.size):
        edges = np.flatnonzero((piece.pairs == x).any(axis=1))
        neighbours = piece.pairs[edges].sum(axis=1) - x
        found.append((neighbours, edges, piece.exponents[edges]))
    return found
