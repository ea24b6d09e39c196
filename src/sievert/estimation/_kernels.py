"""Recursions of truncated geometric noise, compiled where numba is installed (extra `speed`).

Forward and backward sums have only positive terms, so that every entry keeps its digits; a Fourier
transform would lose those below 1e-16 of the largest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.numerics import COMPILED, compiled

__all__ = ["COMPILED", "geometric_rounds", "network_simplex", "response_rounds", "two_sided"]
# Below this a weight is 0: smaller ones would become denormal and slow every later step down.
SMALLEST = 1e-300


@compiled
def two_sided(values: FloatArray, decay: Any, left: FloatArray, out: FloatArray) -> None:
    """out[y] = Σ_x values[x]·decay^|x-y|; `left` is room to work in.

    Both recursions run in one loop, two steps at a time, so that the processor need not wait for one product
    after the other: nearly twice as fast as one recursion after the other.
    """
    size = len(values)
    square = decay * decay
    forward, backward = 0.0, 0.0
    for k in range(0, size - 1, 2):
        a, b = values[k], values[k + 1]
        left[k] = forward * decay + a
        forward = forward * square + (a * decay + b)
        left[k + 1] = forward
        i = size - 1 - k
        c, d = values[i], values[i - 1]
        out[i] = backward
        out[i - 1] = (backward + c) * decay
        backward = backward * square + (c * decay + d) * decay
        if forward < SMALLEST:
            forward = 0.0
        if backward < SMALLEST:
            backward = 0.0
    if size % 2 == 1:
        left[size - 1] = forward * decay + values[size - 1]
        out[0] = backward
    for i in range(size):
        out[i] += left[i]


@compiled
def geometric_rounds(p: FloatArray, shares: FloatArray, decay: Any, rounds: Any) -> float:
    """IBU in place for truncated geometric noise; the largest factor of the last round."""
    expected = np.empty(len(p))
    factor = np.empty(len(p))
    room = np.empty(len(p))
    largest = 0.0
    for _ in range(rounds):
        two_sided(p, decay, room, expected)
        for j in range(len(p)):
            # Where nothing was observed the share is 0; the added least number only avoids 0/0.
            expected[j] = shares[j] / (expected[j] + SMALLEST)
        two_sided(expected, decay, room, factor)
        largest = 0.0
        for i in range(len(p)):
            largest = max(largest, factor[i])
            moved = p[i] * factor[i]
            p[i] = moved if moved > SMALLEST else 0.0
    return largest


@compiled
def response_rounds(p: FloatArray, shares: FloatArray, lie: Any, rounds: Any) -> float:
    """IBU in place for randomised response with lie/(truth - lie) = `lie`; the largest last factor."""
    largest = 0.0
    for _ in range(rounds):
        total = 0.0
        for i in range(len(p)):
            if shares[i] > 0.0:
                total += shares[i] / (lie + p[i])
        largest = 0.0
        for i in range(len(p)):
            factor = lie * total + (shares[i] / (lie + p[i]) if shares[i] > 0.0 else 0.0)
            largest = max(largest, factor)
            moved = p[i] * factor
            p[i] = moved if moved > SMALLEST else 0.0
    return largest


# ── The network simplex for transport problems, compiled where numba is installed (extra `speed`) ───────────
# A spanning tree of sources, sinks and an artificial root carries the flow; every pivot lets the arc with a
# negative reduced cost in and pushes flow around the cycle it closes. Ties in the leaving arc are broken so
# that trees stay strongly feasible (Cunningham, 1976), which excludes cycling.
Integers = NDArray[np.int64]


@compiled
def _detach(child: Any, parent: Any, first: Integers, after: Integers, before: Integers) -> None:
    if before[child] >= 0:
        after[before[child]] = after[child]
    else:
        first[parent] = after[child]
    if after[child] >= 0:
        before[after[child]] = before[child]


@compiled
def _attach(child: Any, parent: Any, first: Integers, after: Integers, before: Integers) -> None:
    after[child] = first[parent]
    before[child] = -1
    if first[parent] >= 0:
        before[first[parent]] = child
    first[parent] = child


@compiled
def network_simplex(
    cost: FloatArray, supply: FloatArray, demand: FloatArray, most: Any
) -> tuple[FloatArray, Integers, Integers, FloatArray, Any]:
    """Flow above each node, its parent, its source-to-sink direction, potentials, and the number of pivots.

    Potentials have pi_sink - pi_source ≤ cost, with equality along the tree. Pivots beyond `most` are not
    made.
    """
    sources, sinks = cost.shape
    nodes = sources + sinks
    root = nodes
    # A unit that goes through the root costs more than any direct way, and so leaves it.
    through_root = cost.max() + 1.0
    parent = np.full(nodes + 1, root, dtype=np.int64)
    parent[root] = -1
    upward = np.zeros(nodes + 1, dtype=np.int64)
    upward[:sources] = 1
    flow = np.zeros(nodes + 1)
    flow[:sources] = supply
    flow[sources:nodes] = demand
    potential = np.zeros(nodes + 1)
    potential[:sources] = -through_root
    potential[sources:nodes] = through_root
    depth = np.ones(nodes + 1, dtype=np.int64)
    depth[root] = 0
    first = np.full(nodes + 1, -1, dtype=np.int64)
    after = np.full(nodes + 1, -1, dtype=np.int64)
    before = np.full(nodes + 1, -1, dtype=np.int64)
    for node in range(nodes):
        _attach(node, root, first, after, before)
    stack = np.empty(nodes + 1, dtype=np.int64)
    slack = -1e-14 * through_root
    position = 0
    pivots = 0
    while pivots < most:
        entering, least, position = _priced(cost, potential, position, slack)
        if entering < 0:
            break
        pivots += 1
        tail = entering // sinks
        head = sources + entering - tail * sinks
        apex = _apex(tail, head, parent, depth)
        delta, leaving, on_tail = _leaving(tail, head, apex, parent, upward, flow)
        _push(tail, apex, -delta, parent, upward, flow)
        _push(head, apex, delta, parent, upward, flow)
        # Hang the part below the leaving arc under the other end of the entering one.
        top, above, direction = (tail, head, 1) if on_tail else (head, tail, 0)
        node, carried, last = top, delta, False
        while not last:
            last = node == leaving
            old_parent, old_flow, old_direction = parent[node], flow[node], upward[node]
            _detach(node, old_parent, first, after, before)
            _attach(node, above, first, after, before)
            parent[node], flow[node], upward[node] = above, carried, direction
            above, node = node, old_parent
            carried, direction = old_flow, 1 - old_direction
        _lift(top, -least if on_tail else least, parent, depth, potential, first, after, stack)
    return flow, parent, upward, potential, pivots


@compiled
def _priced(cost: FloatArray, potential: FloatArray, position: Any, slack: Any) -> tuple[Any, Any, Any]:
    """The most negative arc of the first block from a position on that has one, and its reduced cost."""
    sources, sinks = cost.shape
    arcs = sources * sinks
    block = max(10, int(np.sqrt(arcs)))
    least, entering = slack, -1
    scanned = 0
    while scanned < arcs and entering < 0:
        here = min(block, arcs - scanned)
        for _ in range(here):
            i = position // sinks
            j = position - i * sinks
            reduced = cost[i, j] + potential[i] - potential[sources + j]
            if reduced < least:
                least, entering = reduced, position
            position += 1
            if position == arcs:
                position = 0
        scanned += here
    return entering, least, position


@compiled
def _apex(u: Any, v: Any, parent: Integers, depth: Integers) -> Any:
    """Where the ways up from two nodes meet."""
    while u != v:
        if depth[u] >= depth[v]:
            u = parent[u]
        else:
            v = parent[v]
    return u


@compiled
def _leaving(
    tail: Any, head: Any, apex: Any, parent: Integers, upward: Integers, flow: FloatArray
) -> tuple[Any, Any, Any]:
    """The least flow against the cycle, the node below it, and whether that is on the tail's way up."""
    delta, leaving, on_tail = np.inf, -1, False
    u = tail
    while u != apex:
        if upward[u] == 1 and flow[u] < delta:
            delta, leaving, on_tail = flow[u], u, True
        u = parent[u]
    u = head
    while u != apex:
        if upward[u] == 0 and flow[u] <= delta:
            delta, leaving, on_tail = flow[u], u, False
        u = parent[u]
    return delta, leaving, on_tail


@compiled
def _push(u: Any, apex: Any, more: Any, parent: Integers, upward: Integers, flow: FloatArray) -> None:
    """Add to the flow of each arc on the way up, with its direction."""
    while u != apex:
        flow[u] += more if upward[u] == 1 else -more
        u = parent[u]


@compiled
def _lift(
    top: Any,
    shift: Any,
    parent: Integers,
    depth: Integers,
    potential: FloatArray,
    first: Integers,
    after: Integers,
    stack: Integers,
) -> None:
    """Depths and potentials of a part of the tree that was hung elsewhere."""
    size = 1
    stack[0] = top
    while size > 0:
        size -= 1
        node = stack[size]
        depth[node] = depth[parent[node]] + 1
        potential[node] += shift
        child = first[node]
        while child >= 0:
            stack[size] = child
            size += 1
            child = after[child]
