"""Optimal mechanisms in fractions, for small problems where everything given is rational.

On lines the geometric mechanism and its certificate are computed over the rationals. Otherwise a float
program's basis says which constraints are tight; solving those equations exactly gives the mechanism and its
multipliers, and both are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.arrays import FloatArray, ObjectArray
from sievert.design._line import line_form
from sievert.design._problem import DesignComponent, Problem, inward
from sievert.numerics import device, fractions_of, log_fraction
from sievert.programs import ExactProgram, LinearProgram, exact_vertex, solve
from sievert.proofs import SCALE, Decay, ExactDesignProof, costs, exact_power
from sievert.spaces import Metric

__all__ = [
    "ExactOptimum",
    "Factor",
    "Multiplied",
    "constant_answer",
    "in_fractions",
    "majorant",
    "private_counts",
    "solve_exactly",
    "with_reserve",
]
# Unknowns of a program that is rebuilt in fractions; a 16 by 16 channel takes a few seconds.
LARGEST_PROGRAM = 150
# Least factors of e^-4.6, e^-6.9 and e^-2.3 are tried where a solver in floats takes the true one for 0.
NEAR = (4.6, 6.9, 2.3)
# Entries of a line's channel in fractions; 2000 inputs with 3 actions take two seconds.
LARGEST_LINE = 6_000


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """An exactly optimal mechanism with its proof."""

    channel: ObjectArray
    value: Fraction
    method: str
    proof: ExactDesignProof


def solve_exactly(
    metric: Metric, decay: Decay, prior: NDArray[Any], loss: NDArray[Any]
) -> ExactOptimum | None:
    """The exact optimum, or None when the problem is too large or the basis does not hold exactly."""
    assert decay.alpha is not None
    table = fractions_of(loss.tolist())
    cost = prior[:, None] * table.T
    if cost.size > LARGEST_LINE:
        return None
    problem = Problem.of(metric, decay, costs(prior, loss), np.asarray(loss, dtype=np.float64))
    pieces = problem.pieces()
    factor = partial(exact_power, decay.alpha)
    if all(piece.size == 1 for piece in pieces) and (decay.alpha == 1 or not problem.space.lengths.any()):
        found = _constants(problem, cost)
        proof = ExactDesignProof(problem.space, decay.alpha, prior, table, *found)
        words = "nothing may be told" if len(pieces) == 1 else f"{len(pieces)} groups that may be told apart"
        return ExactOptimum(
            found[0], proof.value(), f"{words}: the best answer for each, in fractions", proof
        )
    for name, form in in_fractions(problem, pieces, factor, cost):
        proof = ExactDesignProof(problem.space, decay.alpha, prior, table, *form)
        if proof.bound() == (value := proof.value()):
            return ExactOptimum(form[0], value, name, proof)
    return None


Multiplied = tuple[ObjectArray, tuple[tuple[int, int, Fraction], ...]]
# What a probability may shrink to along an edge of a length.
Factor = Callable[[float], Fraction]


def in_fractions(
    problem: Problem, pieces: list[DesignComponent], factor: Factor, cost: ObjectArray, program: bool = True
) -> Iterator[tuple[str, Multiplied]]:
    """Channels with multipliers that may prove them optimal, each with its name; cheap ones first."""
    whole = pieces[0] if len(pieces) == 1 and pieces[0].size == len(cost) else None
    if whole is not None and whole.shape == "line":
        name = "two inputs (Fernandes, Thm 6.14)" if whole.size == 2 else "line, geometric mechanism"
        reason = "" if whole.size == 2 else " (Theorem SC: single-crossing losses)"
        yield f"{name}{reason}, in fractions", _line(problem, whole, factor, cost)
    if whole is not None and whole.shape == "uniform":
        known = _uniform(problem, whole, factor, cost)
        if known is not None:
            words = "discrete metric, Bayes risk: randomised response on the most valuable inputs"
            yield f"{words}, in fractions", known
    if program and cost.size <= LARGEST_PROGRAM:
        found = _program(problem, factor, cost)
        if found is not None:
            yield f"linear program in fractions, {cost.size} unknowns", found


def _line(problem: Problem, piece: DesignComponent, factor: Factor, cost: ObjectArray) -> Multiplied:
    order, _, through = piece.outward
    edges = through[order[1:]]
    t = np.array([factor(length) for length in problem.space.lengths[piece.edges[edges]].tolist()])
    # Group g of the piece is point groups[g] here, where nothing is merged.
    places = piece.groups[order]
    ordered, right, left = line_form(cost[places], t, t / (1 - t * t))
    channel = np.empty_like(ordered)
    channel[places] = ordered
    multipliers = [
        (int(arc), int(w), Fraction(values[k, w]))
        for arcs, values in (
            (piece.arc_from(edges, order[:-1]), right),
            (piece.arc_from(edges, order[1:]), left),
        )
        for k, arc in enumerate(arcs.tolist())
        for w in range(values.shape[1])
        if values[k, w] > 0
    ]
    return channel, tuple(multipliers)


def _uniform(
    problem: Problem, piece: DesignComponent, factor: Factor, cost: ObjectArray
) -> Multiplied | None:
    """Costs that one action lowers at each point of a discrete metric: randomised response on some of them.

    With V the largest (w_1 + … + w_k)/(1 + (k-1)·a) of what hits are worth, in falling order, an input among
    these k carries (w - a·V)/(1 - a) to every other one.
    """
    a = factor(float(problem.space.lengths[piece.edges[0]]))
    most = np.array([max(row) for row in cost.tolist()], dtype=object)
    gain = most[:, None] - cost
    if a == 1 or (np.asarray(gain > 0, dtype=np.int64).sum(axis=0) > 1).any():
        return None
    worth, action = gain.max(axis=1), gain.argmax(axis=1)
    order = sorted(range(piece.size), key=lambda point: -worth[point])
    sums = np.cumsum(worth[order])
    values = [total / (1 + k * a) for k, total in enumerate(sums.tolist())]
    count = values.index(max(values)) + 1
    top, value = order[:count], values[count - 1]
    if not value:
        return None
    channel = np.full(cost.shape, Fraction(0), dtype=object)
    channel[:, action[top]] = Fraction(1, count)
    channel[np.ix_(top, action[top])] = a / (1 + (count - 1) * a)
    channel[top, action[top]] = 1 / (1 + (count - 1) * a)
    edge_of = {tuple(pair): edge for edge, pair in enumerate(problem.space.pairs.tolist())}
    multipliers = []
    for w, hit in enumerate(np.where((gain > 0).any(axis=0), (gain > 0).argmax(axis=0), -1).tolist()):
        for point in top:
            carried = (worth[point] - a * value) / (1 - a)
            if hit in (-1, point) or carried <= 0:
                continue
            arc = 2 * edge_of[min(point, hit), max(point, hit)] + int(point > hit)
            multipliers.append((arc, w, Fraction(carried)))
    return channel, tuple(multipliers)


def _constants(problem: Problem, cost: ObjectArray) -> Multiplied:
    """Groups of points that must be alike, free of each other: the best constant answer for each group."""
    bracket = cost.copy()
    multipliers = []
    for point, parent, edge in inward(problem):
        # What a point spares over its least is carried towards the first point of its group.
        surplus = bracket[point] - bracket[point].min()
        bracket[parent] = bracket[parent] + surplus
        arc = 2 * edge + int(problem.space.pairs[edge, 0] != point)
        multipliers += [(arc, w, Fraction(value)) for w, value in enumerate(surplus.tolist()) if value > 0]
    channel = np.full(cost.shape, Fraction(0), dtype=object)
    for group in range(int(problem.group_of.max()) + 1):
        members = np.flatnonzero(problem.group_of == group)
        channel[members, int(np.argmin(cost[members].sum(axis=0)))] = Fraction(1)
    return channel, tuple(multipliers)


def _program(problem: Problem, factor: Factor, cost: ObjectArray) -> Multiplied | None:
    n, m = cost.shape
    pairs, lengths = problem.space.pairs, problem.space.lengths
    arcs = 2 * len(pairs)
    left = np.column_stack([pairs[:, 0], pairs[:, 1]]).ravel()
    right = np.column_stack([pairs[:, 1], pairs[:, 0]]).ravel()
    shrunk = np.array([factor(length) for length in np.repeat(lengths, 2).tolist()], dtype=object)
    row = np.arange(arcs * m)
    arc, w = np.divmod(row, m)
    rows = np.concatenate([row, row, arcs * m + np.repeat(np.arange(n), m)])
    columns = np.concatenate([left[arc] * m + w, right[arc] * m + w, np.arange(n * m)])
    shape = (arcs * m + n, n * m)

    def entries(factors: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([np.full(len(row), Fraction(1)), -factors[arc], np.full(n * m, Fraction(1))])

    lower = np.concatenate([np.zeros(arcs * m), np.ones(n)])
    upper = np.concatenate([np.full(arcs * m, np.inf), np.ones(n)])
    exact = np.full(shape, Fraction(0), dtype=object)
    exact[rows, columns] = entries(shrunk)
    sides: list[Fraction | None] = [Fraction(0) for _ in range(arcs * m)]
    sides += [Fraction(1) for _ in range(n)]
    wanted = ExactProgram(
        cost.ravel(),
        exact,
        sides,
        [None] * (arcs * m) + [Fraction(1)] * n,
        [Fraction(0)] * (n * m),
        [None] * (n * m),
    )
    for factors in _near(shrunk):
        matrix = coo_array((entries(factors).astype(np.float64), (rows, columns)), shape=shape).tocsc()
        program = LinearProgram(
            cost.ravel().astype(np.float64), matrix, lower, upper, np.zeros(n * m), np.full(n * m, np.inf)
        )
        solution = solve(program, "simplex", tolerance=1e-10)
        vertex = exact_vertex(wanted, solution) if solution.optimal else None
        if vertex is not None:
            dual = vertex.dual
            return vertex.primal.reshape(n, m), tuple(
                (int(arc[k]), int(w[k]), Fraction(dual[k])) for k in range(arcs * m) if dual[k] > 0
            )
    return None


def _near(factors: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The factors, and powers of them that a solver in floats tells from 0; their basis is often the same."""
    yield factors
    if (factors > 0).all():
        logs = np.array([log_fraction(factor) for factor in factors.tolist()])
        yield from (np.exp(logs * (least / -logs.min())) for least in NEAR if least < -logs.min())


# ── From any approximate channel to one that is private to the last bit ─────────────────────────────────────
# Three steps. The smallest private majorant of each column fills zeros that face positive entries by the
# least amount. A reserve on the best constant answer makes rows sum to 1 again without breaking a ratio.
# Rounding to multiples of 2^-53 only ever rounds the smaller side of a constraint up. Afterwards every
# entry is an exact float, every row sums to exactly 1 in any order, and every ratio holds for the real
# numbers.
BLOCK_ENTRIES = 4_000_000
# Beyond this ε·distance a unit of 2^-53 more or less breaks few ratios: what rounding leaves over may go to
# the best action of each point.
LOOSE = 30.0


def private_counts(piece: DesignComponent, channel: FloatArray, factors: FloatArray) -> NDArray[np.int64]:
    """Whole numbers over 2^53 near `channel`, exactly private for the piece.

    Parameters
    ----------
    channel : any non-negative [point, action] array with row sums of about 1
    factors : for each edge of the piece a float proved to be at least e^(-ε·length)
    """
    actions = channel.shape[1]
    answer = int(np.argmin(piece.cost.sum(axis=0)))
    if piece.size == 1:
        return _constant(1, actions, int(np.argmin(piece.cost[0])))
    smooth = with_reserve(piece, majorant(piece, np.maximum(channel, 0.0)), answer)
    used = smooth.max(axis=0) > 0
    used[answer] = True
    nearest = float(piece.exponents.min())
    # What rounding m columns up can add to a row; a unit for each column is mostly enough, and what is kept
    # back goes to one answer, which on a long line is far from most points.
    amplified = 4 * (actions + 4) * (1 + 1 / -np.expm1(-nearest))
    kept_back = float(actions + 4)
    while kept_back < SCALE / 2:
        table = np.floor(smooth * (SCALE - kept_back))
        table[:, used] = np.maximum(table[:, used], 1.0)
        raised = _raised(piece, table, factors)
        rest = SCALE - raised.astype(np.int64).sum(axis=1)
        counts = raised.astype(np.int64)
        if nearest > LOOSE and (rest >= 0).all():
            own = counts.copy()
            own[np.arange(piece.size), piece.cost.argmin(axis=1)] += rest
            if _allowed(piece, own.astype(np.float64), factors):
                return own
        counts[:, answer] += rest
        column = counts[:, answer].astype(np.float64)[:, None]
        if (rest >= 0).all() and _allowed(piece, column, factors):
            return counts
        kept_back = max(amplified, 2 * kept_back)
    return _constant(piece.size, actions, answer)


def _constant(size: int, actions: int, answer: int) -> NDArray[np.int64]:
    counts = np.zeros((size, actions), dtype=np.int64)
    counts[:, answer] = SCALE
    return counts


def majorant(piece: DesignComponent, channel: FloatArray) -> FloatArray:
    """c'_x = max_z e^(-d(x,z))·c_z for each column: private, and below every private column above c."""
    if piece.shape == "uniform":
        factor = np.exp(-piece.exponents[0])
        return np.asarray(np.maximum(channel, factor * channel.max(axis=0)))
    if piece.shape == "line":
        return _line_majorant(piece, channel)
    if piece.shape == "tree":
        return _swept(piece, channel, np.exp(-piece.exponents), rounding=False)
    return _largest(np.exp(-piece.distances), channel)


def _largest(factors: FloatArray, table: FloatArray) -> FloatArray:
    there = device()
    found: FloatArray = there.get(there.largest(there.put(factors), there.put(table)))
    return found


def _line_majorant(piece: DesignComponent, channel: FloatArray) -> FloatArray:
    """Running maxima of ln c_z ± position."""
    order, _, through = piece.outward
    position = np.concatenate([[0.0], np.cumsum(piece.exponents[through[order[1:]]])])[:, None]
    with np.errstate(divide="ignore"):
        logs = np.log(channel[order])
    left = np.maximum.accumulate(logs + position, axis=0) - position
    right = np.maximum.accumulate((logs - position)[::-1], axis=0)[::-1] + position
    result = np.empty_like(channel)
    result[order] = np.maximum(channel[order], np.exp(np.maximum(left, right)))
    return result


def constant_answer(piece: DesignComponent) -> FloatArray:
    """The best answer that does not look at the data: always private."""
    channel = np.zeros_like(piece.cost)
    channel[:, int(np.argmin(piece.cost.sum(axis=0)))] = 1.0
    return channel


def with_reserve(piece: DesignComponent, channel: FloatArray, answer: int) -> FloatArray:
    """Rows of private columns brought to sum 1 by a private addition to one column.

    With e the excess of each row, H - e_x ≥ e^(-d(x,z))·(H - e_z) for the H chosen here, and sums of private
    columns are private.
    """
    excess = channel.sum(axis=1) - 1
    factor = np.exp(-piece.exponents)
    ends = excess[piece.pairs]
    worst = np.maximum(ends[:, 0] - factor * ends[:, 1], ends[:, 1] - factor * ends[:, 0])
    height = max(0.0, float(excess.max()), float((worst / -np.expm1(-piece.exponents)).max()))
    result = channel.copy()
    result[:, answer] += height - excess
    return np.asarray(result / (1 + height))


def _raised(piece: DesignComponent, table: FloatArray, factors: FloatArray) -> FloatArray:
    """The least whole numbers above `table` that pass every comparison of `_allowed`."""
    while not _allowed(piece, table, factors):
        if piece.shape == "uniform":
            table = np.maximum(table, _charge(factors[0], table.max(axis=0)))
            continue
        if piece.shape in ("line", "tree"):
            table = _swept(piece, table, factors, rounding=True)
        if len(piece.pairs) >= piece.size:
            table = _stepped(piece, table, factors)
    return table


def _charge(factor: FloatArray | np.float64, values: FloatArray) -> FloatArray:
    """The least whole number that is surely at least factor·value; 0 for 0."""
    return np.where(values > 0, np.ceil(np.nextafter(factor * values, np.inf)), 0.0)


def _allowed(piece: DesignComponent, table: FloatArray, factors: FloatArray) -> bool:
    if piece.is_uniform:
        return bool((_charge(factors[0], table.max(axis=0)) <= table.min(axis=0)).all())
    if _is_complete(piece):
        return bool((_needed(piece, table, factors) <= table).all())
    step = max(1, BLOCK_ENTRIES // table.shape[1])
    for start in range(0, len(piece.pairs), step):
        first, second = piece.pairs[start : start + step].T
        factor = factors[start : start + step, None]
        if (_charge(factor, table[first]) > table[second]).any():
            return False
        if (_charge(factor, table[second]) > table[first]).any():
            return False
    return True


def _is_complete(piece: DesignComponent) -> bool:
    return len(piece.pairs) == piece.size * (piece.size - 1) // 2


def _needed(piece: DesignComponent, table: FloatArray, factors: FloatArray) -> FloatArray:
    """What all others charge each entry, every pair being an edge: charges grow with their products."""
    dense = np.zeros((piece.size, piece.size))
    dense[piece.pairs[:, 0], piece.pairs[:, 1]] = dense[piece.pairs[:, 1], piece.pairs[:, 0]] = factors
    top = _largest(dense, table)
    # A product of positive numbers may underflow; the charge does not.
    return np.where(table.max(axis=0) > 0, np.maximum(_charge(np.float64(1.0), top), 1.0), 0.0)


def _stepped(piece: DesignComponent, table: FloatArray, factors: FloatArray) -> FloatArray:
    """Every edge once, in both directions, from the values before."""
    if _is_complete(piece):
        return np.maximum(table, _needed(piece, table, factors))
    left = np.concatenate([piece.pairs[:, 0], piece.pairs[:, 1]])
    right = np.concatenate([piece.pairs[:, 1], piece.pairs[:, 0]])
    order = np.argsort(left, kind="stable")
    starts = np.searchsorted(left[order], np.arange(piece.size + 1))
    both = np.concatenate([factors, factors])[order][:, None]
    right = right[order]
    result = table.copy()
    for x in range(piece.size):
        part = slice(starts[x], starts[x + 1])
        result[x] = np.maximum(result[x], _charge(both[part], table[right[part]]).max(axis=0))
    return result


def _swept(piece: DesignComponent, table: FloatArray, factors: FloatArray, rounding: bool) -> FloatArray:
    """Maxima carried to the root of a line or tree and back: exact for max-products along it."""
    order, parent, through = piece.outward
    result = table.copy()
    for v in order[:0:-1].tolist():
        carried = factors[through[v]] * result[v]
        if rounding:
            carried = _charge(factors[through[v]], result[v])
        np.maximum(result[parent[v]], carried, out=result[parent[v]])
    for v in order[1:].tolist():
        carried = factors[through[v]] * result[parent[v]]
        if rounding:
            carried = _charge(factors[through[v]], result[parent[v]])
        np.maximum(result[v], carried, out=result[v])
    return result
