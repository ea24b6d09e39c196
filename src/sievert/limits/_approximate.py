"""The best guess that any (ε, δ)-private mechanism allows where not all values are neighbours.

The mechanism of `_ends` is a lower bound only, and the program max Σ A·K with K[i,·] ≤ e^ε·K[h,·] + s, Σs ≤ δ
along every arc decides.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from sievert.arrays import FloatArray
from sievert.errors import TooLargeError
from sievert.limits._objectives import solve_objective
from sievert.limits._programs import DENOMINATOR, growth_of, integers, triples, uncapped
from sievert.limits._space import Space, packing
from sievert.programs import LinearProgram, solved_by_classes
from sievert.proofs import ApproximateProof, hockey_stick_excess

__all__ = [
    "approximate_interval",
    "approximate_program",
]
LARGEST_UNKNOWNS = 25_000
# Beyond it e^ε is not a float; a smaller exponent only raises the bound.
LARGEST_EXPONENT = 700.0


def approximate_program(
    space: Space, eps: Fraction, delta: Fraction, objective: FloatArray
) -> tuple[ApproximateProof, FloatArray]:
    """The exact program for any graph of neighbours, with its proof and the channel that is reached.

    n·w + arcs·w unknowns for w actions. The lower end is the better of the program's own channel, mixed with
    its mean row until it is exactly private, and of "the truth with probability δ, else the worst ε-private
    channel", which needs no repair of δ.
    """
    size, outputs = objective.shape
    edges = len(space.pairs)
    unknowns = (size + 2 * edges) * outputs
    if unknowns > LARGEST_UNKNOWNS:
        raise TooLargeError(
            f"the program for (ε, δ) would have {unknowns} unknowns ({size} values, {edges} pairs of "
            f"neighbours); at most {LARGEST_UNKNOWNS} are tried; with δ = 0 far more values are possible",
            size=unknowns,
        )
    value, y, forward, backward = _solve(space, float(eps), float(delta), objective)
    dual = {
        "y": y.tolist(),
        "forward": triples(uncapped(forward, space, float(eps))),
        "backward": triples(uncapped(backward, space, float(eps))),
    }
    pure, _ = solve_objective(space, eps, objective)
    assert pure.lower is not None
    own = _mixed(value, space, eps, delta)
    options = [_revealing(pure.lower, objective, delta), *([] if own is None else [own])]
    proofs = [
        ApproximateProof(space.proof, eps, delta, objective, dual, channel, tuple(space.labels))
        for channel in options
    ]
    best = max(proofs, key=lambda proof: proof.bounds()[0])
    table = np.array(
        [[float(Fraction(v, best.channel["denominator"])) for v in row] for row in best.channel["rows"]]
    )
    return best, table


def approximate_interval(space: Space, eps: float, delta: float, weights: FloatArray) -> tuple[float, float]:
    """Ends of max Σ w_j·K[j,j] over (ε, δ)-private channels where the program is too large.

    Above: promises add up along a path of d edges to a_j ≤ e^(εd)·K[i,j] + δ·(e^(εd)-1)/(e^ε-1), so a packing
    vector y ≥ 0 with Φy ≥ w bounds the sum by Σy + δ·Σ_i y_i·Σ_j (1-e^(-εd(i,j)))/(e^ε-1). Below: the truth
    with probability δ, else always the best blind guess.
    """
    found = packing(space, eps, weights)
    distances = space.distances
    steps = np.where(np.isfinite(distances), distances, 0.0)
    # δ·(1 + e^ε + … ) of d terms over e^(εd); for ε = 0 it is d.
    added = -np.expm1(-eps * steps) / math.expm1(min(eps, LARGEST_EXPONENT)) if eps > 0 else steps
    scale = found.value / found.y.sum() if found.y.sum() > 0 else 1.0
    upper = found.value + delta * scale * float(found.y @ added.sum(axis=1))
    # The packing is a float solution; its covering vector is scaled to hold up to rounding.
    total = math.fsum(weights)
    top = min(total, float(upper) * (1 + 1e-9))
    return min(top, delta * total + (1 - delta) * float(weights.max())), top


def _solve(
    space: Space, eps: float, delta: float, objective: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The float optimum: channel, and multipliers of rows and arcs."""
    size, outputs = objective.shape
    edges, arcs = len(space.pairs), 2 * len(space.pairs)
    growth = growth_of(space, eps)
    tail, head = space.arcs
    arc = np.repeat(np.arange(arcs), outputs)
    w = np.tile(np.arange(outputs), arcs)
    row = np.arange(arcs * outputs)
    slack = size * outputs + row
    entries = [
        (row, tail[arc] * outputs + w, np.ones(len(row))),
        (row, head[arc] * outputs + w, -np.concatenate([growth, growth])[arc]),
        (row, slack, -np.ones(len(row))),
        (len(row) + arc, slack, np.ones(len(row))),
        (
            len(row) + arcs + np.repeat(np.arange(size), outputs),
            np.arange(size * outputs),
            np.ones(size * outputs),
        ),
    ]
    rows, columns, values = (np.concatenate([entry[k] for entry in entries]) for k in range(3))
    shape = (len(row) + arcs + size, size * outputs + len(row))
    upper = np.concatenate([np.zeros(len(row)), np.full(arcs, delta), np.ones(size)])
    lower = np.concatenate([np.full(len(row) + arcs, -np.inf), np.ones(size)])
    cost = np.concatenate([-objective.ravel(), np.zeros(len(row))])
    program = LinearProgram(
        cost,
        coo_array((values, (rows, columns)), shape=shape).tocsc(),
        lower,
        upper,
        np.zeros(shape[1]),
        np.full(shape[1], np.inf),
    )
    solution = solved_by_classes(program, tolerance=1e-10)
    multipliers = np.maximum(-solution.dual[: len(row)].reshape(arcs, outputs), 0.0)
    channel = np.maximum(solution.primal[: size * outputs].reshape(size, outputs), 0.0)
    return channel, -solution.dual[len(row) + arcs :], multipliers[:edges], multipliers[edges:]


def _mixed(channel: FloatArray, space: Space, eps: Fraction, delta: Fraction) -> dict[str, Any] | None:
    """The program's channel, exactly private: mixing with the mean row scales every excess (convexity)."""
    scaled = channel / channel.sum(axis=1, keepdims=True)
    rows = [integers(row) for row in scaled]
    most = hockey_stick_excess(rows, DENOMINATOR, space.proof, eps)
    if most <= delta:
        return {"denominator": DENOMINATOR, "rows": rows}
    if delta == 0:
        return None
    keep = _rounded_down(delta / most)
    mean = [sum(column) for column in zip(*rows, strict=True)]
    a, b, n = keep.numerator, keep.denominator, len(rows)
    blended = [[a * n * v + (b - a) * u for v, u in zip(row, mean, strict=True)] for row in rows]
    return {"denominator": b * n * DENOMINATOR, "rows": blended}


def _rounded_down(value: Fraction) -> Fraction:
    return Fraction((value.numerator * 2**60) // value.denominator, 2**60)


def _revealing(channel: dict[str, Any], objective: FloatArray, delta: Fraction) -> dict[str, Any]:
    """(1-δ) times a private channel, and δ on the best action of each point."""
    a, b, whole = delta.numerator, delta.denominator, int(channel["denominator"])
    best = objective.argmax(axis=1).tolist()
    rows = [
        [(b - a) * int(v) + (a * whole if w == best[x] else 0) for w, v in enumerate(row)]
        for x, row in enumerate(channel["rows"])
    ]
    return {"denominator": b * whole, "rows": rows}
