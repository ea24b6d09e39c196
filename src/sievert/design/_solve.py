"""Solve, repair, certify: three independent steps, of which only the last two must be right.

A closed form or a linear program proposes a channel and multipliers. Repair makes the channel private to the
last bit. The certificate measures what is left between its loss and a bound on everybody's. If a proposal
leaves too much, the next is tried; the best channel and the best bound found are returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IndexArray
from sievert.design._closed_forms import Candidate, closed_form, kernel_form
from sievert.design._exact import constant_answer, private_counts
from sievert.design._interior import interior_point
from sievert.design._problem import DesignComponent, Problem, fold, inward
from sievert.design._programs import LARGEST_EXACT, hub_program, lazy_program
from sievert.design._tree_interior import tree_interior_point
from sievert.programs import Unsolved
from sievert.proofs import SCALE, SPARE, Multipliers, ProofSpace, UniformPart, loss_above, loss_below
from sievert.spaces import Edges, shortest_paths

__all__ = ["ROUNDING", "Solved", "as_probabilities", "greedy_spanner", "solve_problem", "spanner_programs"]

# However small a loss, this share of the largest may stay open.
ROUNDING = 1e-9
# Beyond this many places without symmetry, or as many unknowns as these have, the interior point comes first,
# where rounding allows the gap.
CITY, LEAST_GAP = 60, 1e-4
# Unknowns on a line or a tree beyond which only the interior point is tried.
LARGEST_TREE = 90_000
# What is left for the last rounding of a channel.
NEARLY = 0.98


@dataclass(frozen=True, eq=False)
class Solved:
    """A private mechanism in parts of 2^53, its certificate and both bounds."""

    counts: NDArray[np.int64]
    multipliers: Multipliers
    uniform: tuple[UniformPart, ...]
    lower: float
    upper: float
    methods: tuple[str, ...]
    interrupted: bool = False

    def scaled(self, unit: float) -> Solved:
        """The same for costs that are this many times as large; a power of 2 rounds nothing."""
        if unit == 1:
            return self
        y = self.multipliers
        return replace(
            self,
            multipliers=Multipliers(y.arc, y.output, y.value * unit),
            uniform=tuple(replace(part, price=part.price * unit) for part in self.uniform),
            lower=self.lower * unit,
            upper=self.upper * unit,
        )


@dataclass(frozen=True, eq=False)
class _Part:
    """The best channel and the best certificate found for one piece."""

    counts: NDArray[np.int64]
    multipliers: Multipliers
    uniform: tuple[UniformPart, ...]
    method: str
    lower: float = -np.inf
    upper: float = np.inf
    interrupted: bool = False


@dataclass(frozen=True)
class Aim:
    """How a piece is to be settled.

    Attributes
    ----------
    method : "auto", "closed" (closed forms only), "program" (never closed forms), "interior" or "spanner"
    gap : largest share of the loss that the certificate may leave open
    floor : what may stay open however small the loss
    stretch : target dilation of the spanner
    """

    method: str
    gap: float
    floor: float
    stretch: float

    def settled(self, lower: float, upper: float) -> bool:
        """Whether both bounds are near enough."""
        return upper - lower <= max(self.gap * abs(upper), self.floor)


def solve_problem(problem: Problem, method: str = "auto", gap: float = 1e-9, stretch: float = 1.05) -> Solved:
    """The best private mechanism, piece by piece; `method`, `gap` and `stretch` as in `Aim`."""
    counts = np.zeros(problem.cost.shape, dtype=np.int64)
    parts: list[_Part] = []
    pieces = problem.pieces()
    factors = problem.decay.enclosure(problem.space.lengths)[1]
    floor = min(gap, ROUNDING) * max(1.0, float(np.abs(problem.loss).max(initial=0.0))) / max(1, len(pieces))
    aim = Aim(method, gap, floor, stretch)
    for piece in pieces:
        part = _settled(problem, piece, factors[piece.edges], aim)
        place = np.full(int(problem.group_of.max()) + 1, -1, dtype=np.intp)
        place[piece.groups] = np.arange(piece.size)
        members = np.flatnonzero(place[problem.group_of] >= 0)
        counts[members] = part.counts[place[problem.group_of[members]]]
        parts.append(part)
    spare = SPARE * float(np.abs(problem.cost).max(axis=1).sum())
    least = 0.0 if (problem.cost >= 0).all() else -np.inf
    if len(parts) == 1 and pieces[0].size == len(counts):
        only = parts[0]
        lower = max(least, min(only.lower, only.upper) - spare)
        upper = _spared(only.upper, problem.cost, counts)
        return Solved(counts, only.multipliers, only.uniform, lower, upper, (only.method,), only.interrupted)
    multipliers = Multipliers.joined([part.multipliers for part in parts])
    uniform = tuple(item for part in parts for item in part.uniform)
    multipliers = _within_groups(problem, multipliers, uniform)
    lower = loss_below(problem.space, problem.decay, problem.cost, multipliers, uniform)
    upper = loss_above(problem.cost, counts)
    methods = tuple(dict.fromkeys(part.method for part in parts))
    if len(parts) > 1:
        methods = (f"{len(parts)} groups of inputs, each by itself: {methods[0]}", *methods[1:])
    alike = len(counts) - sum(piece.size for piece in pieces)
    if alike:
        apart = problem.exponents[problem.exponents <= problem.near].any()
        where = f"within ε·distance {problem.near:g} of" if apart else "at distance 0 from"
        methods = (*methods, f"{alike} inputs {where} others are answered as these are")
    lower, most = max(least, min(lower, upper) - spare), _spared(upper, problem.cost, counts)
    ended = any(part.interrupted for part in parts)
    return Solved(counts, multipliers, uniform, lower, most, methods, ended)


def _spared(upper: float, cost: FloatArray, counts: NDArray[np.int64]) -> float:
    """A claim with room for sums of the same terms in another order."""
    return upper + SPARE * float((np.abs(cost) * as_probabilities(counts)).sum())


def _settled(problem: Problem, piece: DesignComponent, factors: FloatArray, aim: Aim) -> _Part:
    """Proposals in turn until one's gap is small enough."""
    space = ProofSpace(piece.size, piece.pairs, problem.space.lengths[piece.edges])
    best: _Part | None = None
    lower, upper = -np.inf, np.inf
    stopped: str | bool = False
    interrupted = False
    for candidate in _proposals(piece, aim):
        counts = private_counts(piece, candidate.channel, factors)
        uniform, own = _uniform(problem, piece, candidate)
        reached = loss_above(piece.cost, counts)
        proved = loss_below(space, problem.decay, piece.cost, _local(piece, candidate.multipliers), own)
        interrupted = interrupted or candidate.interrupted
        if best is None:
            best = _Part(counts, candidate.multipliers, uniform, candidate.method)
        if reached < upper:
            upper, best = reached, replace(best, counts=counts, method=candidate.method)
        if proved > lower:
            lower, best = proved, replace(best, multipliers=candidate.multipliers, uniform=uniform)
        if aim.settled(lower, upper):
            break
        stopped = stopped or ("stopped" in candidate.method and candidate.method)
    assert best is not None
    if not aim.settled(lower, upper):
        counts = private_counts(piece, constant_answer(piece), factors)
        if (reached := loss_above(piece.cost, counts)) < upper:
            words = f"the best constant answer, bounded by: {best.method}"
            upper, best = reached, replace(best, counts=counts, method=words)
    hidden = stopped and not aim.settled(lower, upper) and stopped != best.method
    method = f"{best.method} ({stopped})" if hidden else best.method
    return replace(best, lower=lower, upper=upper, method=method, interrupted=interrupted)


def _proposals(piece: DesignComponent, aim: Aim) -> Iterator[Candidate]:
    """Closed forms first, then programs; dominated actions are left out where they cost time."""
    method = aim.method
    if piece.shape == "point" or (piece.shape == "line" and method in ("auto", "closed")):
        found = closed_form(piece)
        assert found is not None
        yield found
        if piece.shape == "point" or method == "closed":
            return
        aim = replace(aim, method="line")
    actions, better = undominated(piece.cost)
    if len(actions) == 1:
        trivial = "one action is best whatever the input"
        yield _widened(_constant(piece.with_actions(actions), trivial), actions, better)
        return
    small = piece if len(actions) == len(better) else piece.with_actions(actions)
    for candidate in _small_proposals(small, aim):
        yield candidate if small is piece else _widened(candidate, actions, better)


def _small_proposals(piece: DesignComponent, aim: Aim) -> Iterator[Candidate]:
    method = aim.method
    if method not in ("program", "interior", "line"):
        found = closed_form(piece)
        if found is not None:
            yield found
    if method == "closed":
        yield _constant(piece, "no closed form fits: the best constant answer")
        return
    scale = max(1.0, float(np.abs(piece.loss).max(initial=0.0)))
    try:
        if method == "spanner" and piece.shape == "general":
            yield from spanner_programs(piece, aim.stretch)
            return
        near = max(NEARLY * aim.gap, aim.floor / scale)
        if piece.shape in ("line", "tree"):
            large = piece.cost.size > LARGEST_EXACT and method in ("auto", "line")
            if large or method == "interior":
                found = tree_interior_point(piece, near, NEARLY * aim.floor)
                yield found
                if method == "interior" or piece.cost.size > LARGEST_TREE or found.interrupted:
                    return
        elif method == "interior" or (method == "auto" and _is_city(piece, aim)):
            found = interior_point(piece, near, NEARLY * aim.floor)
            yield found
            if method == "interior" or piece.cost.size > LARGEST_EXACT or found.interrupted:
                return
        if piece.shape == "uniform":
            yield hub_program(piece)
        yield from lazy_program(piece, every_round=max(aim.gap, aim.floor) > 1e-7)
        found = kernel_form(piece)
        if found is not None:
            yield found
        if method in ("auto", "line") and piece.shape != "uniform" and piece.cost.size <= CITY**2:
            # The tolerances of programs are absolute: of a tiny loss they may prove nothing.
            search = interior_point if piece.shape == "general" else tree_interior_point
            yield search(piece, near, NEARLY * aim.floor)
    except Unsolved as problem:
        # Still a private mechanism with an honest gap.
        yield _constant(piece, f"{problem}: the best constant answer")
        found = kernel_form(piece)
        if found is not None:
            yield found


def _is_city(piece: DesignComponent, aim: Aim) -> bool:
    """Whether a piece has many places without symmetry, and the gap can be had from an interior point."""
    unknowns = piece.cost.size
    if piece.shape != "general" or (piece.size <= CITY and unknowns <= CITY**2):
        return False
    if aim.gap < LEAST_GAP and unknowns <= LARGEST_EXACT:
        return False
    return fold(piece, piece.cost).entries == unknowns


def _constant(piece: DesignComponent, method: str) -> Candidate:
    return Candidate(constant_answer(piece), Multipliers.none(), method)


def undominated(cost: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Actions that none other is at least as good as everywhere, and for each action one of them that is."""
    order = np.lexsort((np.arange(cost.shape[1]), cost.sum(axis=0)))
    best = cost.argmin(axis=0)
    kept = np.empty(0, dtype=np.intp)
    better = np.empty(cost.shape[1], dtype=np.intp)
    for w in order.tolist():
        # Only an action of smaller or equal total can dominate, and only one as good where this is best.
        rivals = kept[cost[best[w], kept] <= cost[best[w], w]]
        above = rivals[(cost[:, rivals] <= cost[:, w, None]).all(axis=0)]
        if not len(above):
            kept = np.append(kept, w)
        better[w] = above[0] if len(above) else w
    return np.sort(kept), better


def _widened(candidate: Candidate, actions: IndexArray, better: IndexArray) -> Candidate:
    """A proposal for some actions as one for all: others are never taken, and cost at least as much.

    Their brackets are at least those of a better action if they carry the same multipliers.
    """
    channel = np.zeros((len(candidate.channel), len(better)))
    channel[:, actions] = candidate.channel
    y = candidate.multipliers
    output = actions[y.output]
    parts = [Multipliers(y.arc, output, y.value)]
    for w in np.flatnonzero(better != np.arange(len(better))).tolist():
        same = np.flatnonzero(output == better[w])
        parts.append(Multipliers(y.arc[same], np.full(len(same), w, dtype=np.intp), y.value[same]))
    return replace(candidate, channel=channel, multipliers=Multipliers.joined(parts))


def _local(piece: DesignComponent, multipliers: Multipliers) -> Multipliers:
    """Arcs of the whole problem as arcs of the piece."""
    place = np.empty(0, dtype=np.intp)
    if len(piece.edges):
        place = np.full(int(piece.edges.max()) + 1, -1, dtype=np.intp)
        place[piece.edges] = np.arange(len(piece.edges))
    arc = multipliers.arc
    return Multipliers(
        2 * place[arc >> 1] + (arc & 1) if len(arc) else arc, multipliers.output, multipliers.value
    )


def _uniform(
    problem: Problem, piece: DesignComponent, candidate: Candidate
) -> tuple[tuple[UniformPart, ...], tuple[UniformPart, ...]]:
    """Prices of a uniform piece for the points of the whole problem, and for its own."""
    if candidate.price is None:
        return (), ()
    own = UniformPart(np.arange(piece.size), np.arange(piece.size), candidate.price)
    place = np.full(int(problem.group_of.max()) + 1, -1, dtype=np.intp)
    place[piece.groups] = np.arange(piece.size)
    points = np.flatnonzero(place[problem.group_of] >= 0)
    group = place[problem.group_of[points]]
    # A group's price may be spread over its members in any way.
    price = candidate.price[group] / np.bincount(group)[group]
    return (UniformPart(points, group, price),), (own,)


def _within_groups(
    problem: Problem, multipliers: Multipliers, uniform: tuple[UniformPart, ...]
) -> Multipliers:
    """Multipliers between points of one group, which carry what the others spare to one of them."""
    groups = int(problem.group_of.max()) + 1
    if groups == problem.space.size:
        return multipliers
    covered = np.zeros(problem.space.size, dtype=bool)
    for part in uniform:
        covered[part.points] = True
    n, m = problem.cost.shape
    bracket = problem.cost.copy()
    pairs = problem.space.pairs
    low = problem.decay.enclosure(problem.space.lengths)[0]
    if len(multipliers.value):
        ends, turned = pairs[multipliers.arc >> 1], (multipliers.arc & 1).astype(bool)
        left = np.where(turned, ends[:, 1], ends[:, 0]) * m + multipliers.output
        right = np.where(turned, ends[:, 0], ends[:, 1]) * m + multipliers.output
        y = multipliers.value
        bracket -= np.bincount(left, y, n * m).reshape(n, m)
        bracket += np.bincount(right, y * low[multipliers.arc >> 1], n * m).reshape(n, m)
    parts = [multipliers]
    for point, parent, edge in inward(problem):
        if covered[point]:
            continue
        surplus = bracket[point] - bracket[point].min()
        outputs = np.flatnonzero(surplus > 0)
        arc = 2 * edge + int(pairs[edge, 0] != point)
        bracket[parent] += low[edge] * surplus
        parts.append(Multipliers(np.full(len(outputs), arc, dtype=np.intp), outputs, surplus[outputs]))
    return Multipliers.joined(parts)


def as_probabilities(counts: NDArray[np.int64]) -> FloatArray:
    """Whole numbers over 2^53 as floats, exactly."""
    return counts.astype(np.float64) / SCALE


# ── Fewer constraints at a price: a spanner whose shortest paths are not much longer than the distances ─────
# With the measured dilation D = max d_H/d, a channel that is private for d_H/D is private for d, because
# d_H/D ≤ d. What that costs is measured: a second program bounds what any channel private for d loses.


def greedy_spanner(pairs: IndexArray, lengths: FloatArray, size: int, stretch: float) -> IndexArray:
    """Positions of pairs whose shortest paths stretch no distance by more than `stretch`.

    Pairs are taken from the shortest on, each unless those taken already join its ends closely enough.
    """
    reach = np.full((size, size), np.inf)
    np.fill_diagonal(reach, 0.0)
    taken = []
    for position in np.argsort(lengths, kind="stable").tolist():
        a, b = pairs[position].tolist()
        length = lengths[position]
        if reach[a, b] <= stretch * length * (1 + 1e-12):
            continue
        taken.append(position)
        through = np.minimum(
            reach[:, a, None] + length + reach[None, b, :], reach[:, b, None] + length + reach[None, a, :]
        )
        np.minimum(reach, through, out=reach)
    return np.array(sorted(taken), dtype=np.intp)


def spanner_programs(piece: DesignComponent, stretch: float) -> Iterator[Candidate]:
    """The optimum under the spanner's constraints, its dilation taken off the distances; then a bound.

    Without the dilation the same constraints are some of the true ones, so the multipliers of that program
    prove what no private channel goes below.
    """
    chosen = greedy_spanner(piece.pairs, piece.exponents, piece.size, stretch)
    spanned = shortest_paths(Edges(piece.pairs[chosen], piece.exponents[chosen]), piece.size)
    apart = piece.distances > 0
    dilation = float((spanned[apart] / piece.distances[apart]).max())
    thin = replace(
        piece, pairs=piece.pairs[chosen], exponents=piece.exponents[chosen], edges=piece.edges[chosen]
    )
    words = f"spanner with {len(chosen)} of {len(piece.pairs)} pairs, dilation {dilation:.4f}"
    for lengths in (thin.exponents / (dilation * (1 + 1e-12)), thin.exponents):
        for found in lazy_program(replace(thin, exponents=lengths)):
            yield replace(found, method=f"{words}; {found.method}")
