"""The linear program of the best private channel: scaled, folded by symmetry, with constraints as needed.

minimise Σ cost[x,w]·C[x,w] over C ≥ 0 with rows summing to 1 and C[x,w] ≥ e^(-d(x,z))·C[z,w]. Columns are
measured in units of a private column s_w that peaks where action w is best, so that every coefficient is at
most 1 however small the probabilities. About as many constraints as unknowns are tight at the optimum: the
program starts with those that lie nearest to a geodesic towards the peak and adds what is violated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from sievert.arrays import FloatArray, IndexArray
from sievert.design._closed_forms import Candidate
from sievert.design._problem import DesignComponent, Folding, fold
from sievert.errors import TooLargeError
from sievert.numerics import advance
from sievert.programs import LinearProgram, RowProgram, cost_scale, solved
from sievert.proofs import Multipliers

__all__ = ["LARGEST_EXACT", "Rows", "hub_program", "lazy_program", "polished"]
# Below this the scaling column is flat: smaller units lose the certificate on losses without a peak.
FLOOR = np.log(1e-4)
# Violation that adds a constraint; the level of the solver's own tolerance.
VIOLATED = 1e-9
# Up to here the dual simplex is fastest from scratch.
SIMPLEX_UNKNOWNS = 1500
# Constraints for each unknown at the start, on either side, and the most that a round adds.
START_SIMPLEX, START_INTERIOR, ADDED = 3, 5, 10
# Beyond this many unknowns a few rounds must do, the best of which counts; the certificate says what they
# miss. The same holds for the time that such a program is given.
LARGEST_EXACT = 20_000
MOST_ROUNDS, LARGE_ROUNDS = 40, 10
MOST_SECONDS = 60.0
# Constraints that are listed, each with its numbers.
LARGEST_ROWS = 20_000_000


def lazy_program(piece: DesignComponent, every_round: bool = False) -> Iterator[Candidate]:
    """Channels with multipliers, one a round for very large programs or `every_round`, else the last.

    Bounds grow from round to round, but what a channel loses after repair may rise and fall.
    """
    cost = piece.cost
    folding = fold(piece, cost)
    away = _away(piece)
    scale = np.maximum(-away, FLOOR)
    rows = _candidates(piece, folding, scale, away)
    unknowns = folding.entries
    units = np.exp(scale.ravel()[folding.first_entry])
    sizes = np.bincount(folding.entry.ravel())
    objective = np.asarray(units * np.bincount(folding.entry.ravel(), cost.ravel()), dtype=np.float64)
    large = unknowns > LARGEST_EXACT
    program = RowProgram(
        objective,
        _row_sums(folding, units),
        np.ones(len(folding.first_point)),
        seconds=MOST_SECONDS if large else None,
    )
    first = "simplex" if unknowns <= SIMPLEX_UNKNOWNS else "ipm"
    listed = _least(rows, START_SIMPLEX if first == "simplex" else START_INTERIOR)
    coefficients = np.exp(-rows.defect)
    most = LARGE_ROUNDS if large else MOST_ROUNDS
    method = f"linear program, {unknowns} unknowns"
    if unknowns < cost.size:
        method += f" ({cost.size} folded by symmetry)"
    fresh = listed
    advance("meeting the constraints", 0, len(rows.left))
    for turn in range(most):
        program.add(rows.left[fresh], rows.right[fresh], coefficients[fresh])
        z, prices, y = program.solve(first if turn == 0 else "warm")  # type: ignore[arg-type]
        violation = coefficients * z[rows.right] - z[rows.left]
        wanted = np.flatnonzero(violation > VIOLATED)
        advance("meeting the constraints", len(rows.left) - len(wanted), len(rows.left))
        last = not len(wanted) or turn == most - 1 or program.out_of_time
        if every_round or large or last:
            share = sizes / np.bincount(folding.point)[_point_of(folding)]
            target = prices[_point_of(folding)] * units * share
            final, values = polished(rows, listed, y, objective, target, units * share, _point_of(folding))
            multipliers = _expanded(piece, folding, rows, final, values / units[rows.left[final]])
            words = f"{method}, {len(program.left)} constraints"
            if program.out_of_time:
                words += f", stopped after {MOST_SECONDS:g} seconds"
            elif len(wanted):
                words += f", stopped after {turn + 1} of its rounds"
            yield Candidate((units * z)[folding.entry], multipliers, words)
        if last:
            return
        fresh = wanted[_ranked(rows.left[wanted], -violation[wanted]) < ADDED]
        listed = np.concatenate([listed, fresh])


def _away(piece: DesignComponent) -> FloatArray:
    """Distance of each point to the nearest one where each action loses least: [point, action]."""
    loss = piece.loss
    spread = float(np.ptp(loss)) or 1.0
    best = loss <= loss.min(axis=1, keepdims=True) + 1e-12 * spread
    return np.ascontiguousarray(np.array([piece.distances[:, peak].min(axis=1) for peak in best]).T)


def _candidates(piece: DesignComponent, folding: Folding, scale: FloatArray, away: FloatArray) -> Rows:
    """Every constraint once: for the first member of each orbit on the left, the strongest for each right."""
    needed = piece.needed
    expected = folding.entries * 2 * len(needed) // piece.size
    if expected > LARGEST_ROWS:
        raise TooLargeError(
            f"the program would have about {expected} constraints for {folding.entries} unknowns; at most "
            f'{LARGEST_ROWS} are listed; use method="spanner", or fewer inputs or actions',
            size=expected,
        )
    left = np.concatenate([piece.pairs[needed, 0], piece.pairs[needed, 1]])
    right = np.concatenate([piece.pairs[needed, 1], piece.pairs[needed, 0]])
    edge = np.concatenate([needed, needed])
    order = np.argsort(left, kind="stable")
    left, right, edge = left[order], right[order], edge[order]
    starts = np.searchsorted(left, np.arange(piece.size + 1))
    actions = scale.shape[1]
    x, w = np.divmod(folding.first_entry, actions)
    degree = (starts[1:] - starts[:-1])[x]
    unknown = np.repeat(np.arange(folding.entries), degree)
    place = np.arange(len(unknown)) - np.repeat(np.cumsum(degree) - degree, degree) + starts[x[unknown]]
    z, e = right[place], edge[place]
    other = folding.entry[z, w[unknown]]
    units = scale.ravel()[folding.first_entry]
    defect = piece.exponents[e] + units[unknown] - units[other]
    rise = away[x, w][unknown] - away.ravel()[folding.first_entry][other]
    rows = Rows(unknown, other, defect, e, piece.exponents[e], rise, x[unknown], w[unknown])
    keep = np.flatnonzero(unknown != other)
    if folding.entries < folding.entry.size:
        strongest = np.lexsort((rows.length[keep], other[keep], unknown[keep]))
        keep = keep[strongest]
        code = unknown[keep].astype(np.int64) * folding.entries + other[keep]
        keep = keep[np.concatenate([[True], code[1:] != code[:-1]])] if len(keep) else keep
    return rows.only(keep)


def _least(rows: Rows, count: int) -> IndexArray:
    """The constraints of least defect with each unknown on the left, and on the right."""
    first = _ranked(rows.left, rows.defect) < count
    second = _ranked(rows.right, rows.defect) < count
    return np.flatnonzero(first | second)


def _ranked(owner: IndexArray, value: FloatArray) -> IndexArray:
    """The rank of each entry among those of its owner, by value."""
    order = np.lexsort((value, owner))
    ordered = owner[order]
    start = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(order) else np.empty(0, dtype=bool)
    begin = np.maximum.accumulate(np.where(start, np.arange(len(order)), 0))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order)) - begin
    return rank


def _point_of(folding: Folding) -> IndexArray:
    """The orbit of the point of each unknown."""
    return np.asarray(folding.point[folding.first_entry // folding.entry.shape[1]])


def _row_sums(folding: Folding, units: FloatArray) -> csr_array:
    entries = folding.entry[folding.first_point]
    rows = np.repeat(np.arange(len(entries)), entries.shape[1])
    columns = entries.ravel()
    return csr_array(coo_array((units[columns], (rows, columns)), shape=(len(entries), folding.entries)))


def _expanded(
    piece: DesignComponent, folding: Folding, rows: Rows, chosen: IndexArray, values: FloatArray
) -> Multipliers:
    """Multipliers of folded constraints spread evenly over all the constraints they stand for."""
    positive = values > 0
    if not positive.any():
        return Multipliers.none()
    chosen, values = chosen[positive], values[positive]
    if folding.entries == folding.entry.size:
        arcs = piece.arc_from(rows.edge[chosen], rows.point[chosen])
        return Multipliers(arcs, rows.action[chosen], values)
    code = rows.left[chosen].astype(np.int64) * folding.entries + rows.right[chosen]
    code, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    chosen = chosen[first]
    values = np.asarray(np.bincount(inverse, values), dtype=np.float64)
    parts: list[tuple[IndexArray, IndexArray, IndexArray]] = []
    for end in (0, 1):
        left, right = piece.pairs[piece.needed, end], piece.pairs[piece.needed, 1 - end]
        every = folding.entry[left].astype(np.int64) * folding.entries + folding.entry[right]
        place = np.minimum(np.searchsorted(code, every), len(code) - 1)
        length = piece.exponents[piece.needed][:, None]
        alike = np.abs(rows.length[chosen][place] - length) <= 1e-9 * (1 + length)
        e, w = np.nonzero((code[place] == every) & alike)
        parts.append((piece.arc_from(piece.needed[e], left[e]), w, place[e, w]))
    arc, action, place = (np.concatenate(column) for column in zip(*parts, strict=True))
    share = values / np.maximum(np.bincount(place, minlength=len(values)), 1)
    return Multipliers(arc, action, share[place])


def hub_program(piece: DesignComponent) -> Candidate:
    """All points equally far apart: a column is private iff a·T ≤ c_x ≤ T, n·m constraints instead of n²·m.

    With c = a·T + (1-a)·u, 0 ≤ u ≤ T, every coefficient is at most 1.
    """
    cost = piece.cost
    size, count = cost.shape
    a, rest = float(np.exp(-piece.exponents[0])), float(-np.expm1(-piece.exponents[0]))
    inner = np.arange(size * count)
    w = np.tile(np.arange(count), size)
    x = np.repeat(np.arange(size), count)
    hub = size * count
    row = np.concatenate([inner, inner, hub + x, hub + x])
    column = np.concatenate([hub + w, inner, inner, hub + w])
    value = np.concatenate([np.ones(hub), -np.ones(hub), np.full(hub, rest), np.full(hub, a)])
    matrix = coo_array((value, (row, column)), shape=(hub + size, hub + count)).tocsc()
    objective = np.concatenate([rest * cost.ravel(), a * cost.sum(axis=0)])
    lower = np.concatenate([np.zeros(hub), np.ones(size)])
    upper = np.concatenate([np.full(hub, np.inf), np.ones(size)])
    unknowns = hub + count
    scale = cost_scale(objective)
    program = LinearProgram(
        objective * scale, matrix, lower, upper, np.zeros(unknowns), np.full(unknowns, np.inf)
    )
    solution = solved(program, tolerance=1e-10, time_limit=MOST_SECONDS)
    channel = a * solution.primal[hub:] + rest * solution.primal[:hub].reshape(size, count)
    method = f"discrete metric, linear program with hubs, {unknowns} unknowns"
    return Candidate(channel, Multipliers.none(), method, solution.dual[hub:] / scale)


# ── Multipliers of a scaled program made into a good bound ──────────────────────────────────────────────────
# Multipliers of a scaled program made into a good bound: what rounding left over is carried to the peaks.
#
# The program's multipliers are accurate in its own units. In units of the probabilities their errors are up
# to e^(+d) larger, and the bound would collapse for large ε. Any multipliers ≥ 0 give a valid bound, so
# surplus is moved to the point where an action is best, and what overshoots is scaled down, until nothing
# improves.
MOST_STEPS = 40


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints z_left ≥ e^(-defect)·z_right, and the edge, point and action each stands for.

    `rise` is how much nearer the right side is to the peak of its column.
    """

    left: IndexArray
    right: IndexArray
    defect: FloatArray
    edge: IndexArray
    length: FloatArray
    rise: FloatArray
    point: IndexArray
    action: IndexArray

    def only(self, chosen: IndexArray) -> Rows:
        """Some of the constraints."""
        return Rows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def polished(
    rows: Rows,
    listed: IndexArray,
    y: FloatArray,
    cost: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    group: IndexArray,
) -> tuple[IndexArray, FloatArray]:
    """Constraints and multipliers with the best bound found.

    Parameters
    ----------
    listed, y : positions of the constraints in `rows` and their multipliers from the program
    cost : cost of each unknown; target : what the program says its reduced value should be
    weight : the bound is the sum over groups of the least reduced value / weight
    group : row (point) that each unknown belongs to
    """
    unknowns = len(cost)
    way = _ways(rows, unknowns)
    positions = np.concatenate([listed, way.row])
    left, right = rows.left[positions], rows.right[positions]
    coefficient = np.exp(-rows.defect[positions])
    values = np.concatenate([y, np.zeros(len(way.row))])
    best, kept = -np.inf, values.copy()
    count = int(group.max()) + 1
    for _ in range(MOST_STEPS):
        reduced = (
            cost - np.bincount(left, values, unknowns) + np.bincount(right, coefficient * values, unknowns)
        )
        moved = way.carried(reduced - target, coefficient[len(listed) :])
        values[len(listed) :] += moved
        reduced = (
            cost - np.bincount(left, values, unknowns) + np.bincount(right, coefficient * values, unknowns)
        )
        least = np.full(count, np.inf)
        np.minimum.at(least, group, reduced / weight)
        bound = float(least.sum())
        if bound > best:
            best, kept = bound, values.copy()
        missing = np.maximum(target - reduced, 0.0)
        missing[way.peak] = 0.0
        out = np.bincount(left, values, unknowns)
        short = (missing > 0) & (out > 0)
        if not short.any():
            break
        share = np.ones(unknowns)
        share[short] = 1 - np.minimum(1.0, missing[short] / out[short])
        values *= share[left]
    return positions, kept


@dataclass(frozen=True, eq=False)
class _Ways:
    """For each unknown that is not a peak the constraint along which surplus moves, farthest first."""

    row: IndexArray
    origin: IndexArray
    to: IndexArray
    levels: list[IndexArray]
    peak: IndexArray

    def carried(self, surplus: FloatArray, coefficient: FloatArray) -> FloatArray:
        """Multipliers that move every surplus ≥ 0, and what arrives on the way, to the peaks."""
        carried = surplus.copy()
        moved = np.zeros(len(self.row))
        for level in self.levels:
            part = np.maximum(carried[self.origin[level]], 0.0)
            moved[level] = part
            np.add.at(carried, self.to[level], coefficient[level] * part)
        return moved


def _ways(rows: Rows, unknowns: int) -> _Ways:
    """The constraint that leads from each unknown nearest along a geodesic to the peak of its column."""
    rising = np.flatnonzero(rows.rise > 0)
    order = rising[np.lexsort((rows.length[rising] - rows.rise[rising], rows.left[rising]))]
    owner = rows.left[order]
    first = order[np.concatenate([[True], owner[1:] != owner[:-1]])] if len(order) else order
    to = np.full(unknowns, -1, dtype=np.intp)
    row = np.full(unknowns, -1, dtype=np.intp)
    to[rows.left[first]], row[rows.left[first]] = rows.right[first], first
    depth = _depths(to)
    origin = np.flatnonzero(to >= 0)
    levels = [np.flatnonzero(depth[origin] == k) for k in range(int(depth.max(initial=0)), 0, -1)]
    return _Ways(row[origin], origin, to[origin], levels, np.flatnonzero(to < 0))


def _depths(to: IndexArray) -> IndexArray:
    """Number of steps from each unknown to the end of its way."""
    depth = np.zeros(len(to), dtype=np.intp)
    here = np.where(to >= 0, to, -1)
    active = np.flatnonzero(here >= 0)
    while len(active):
        depth[active] += 1
        here[active] = to[here[active]]
        active = active[here[active] >= 0]
    return depth
