"""The upper end alone of the best guess that a claim allows: in floats, rounded upwards, without a proof.

An audit and a search ask for it at many levels of ε. Each way here bounds Σ_w max_x π_x·K[x,w] for every
private channel K: along a path by what each step adds, on a star by what the centre leaves, on a map by sums
over its cells, elsewhere by packing. What `guess_bounds` proves of the same claim is never less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import PolicyError, TooLargeError
from sievert.limits._approximate import LARGEST_UNKNOWNS
from sievert.limits._complete_guess import GuessBounds, best_guess
from sievert.limits._component_solvers import is_only_packed
from sievert.limits._grids import grid_of
from sievert.limits._guess_bounds import CLOSE, curve_points, guess_bounds, nearest_pairs
from sievert.limits._objectives import LARGEST_ROWS
from sievert.limits._space import (
    LARGEST_DENSE,
    Space,
    likeliest,
    packing,
    packing_program,
    space_of,
    weights,
)
from sievert.limits._targets import Target, is_complete, values_of
from sievert.limits.promises import LARGEST_RELEASES, ApproximateClaim, Claim
from sievert.numerics import UNIT, at_most, read_eps
from sievert.policies import Policy
from sievert.programs import Unsolved
from sievert.spaces import Graph, Metric
from sievert.spaces.secrets import PresenceGraph, SecretGraph

__all__ = [
    "fast_guess_bound",
    "guess_allowed_by_epsilon",
    "guess_upper_bound",
    "is_by_programs",
    "least_guess",
]

# By which share a bound without a proof must be lower to take the place of one that has one.
BETTER = 1e-6
# Beyond it e^ε is not a float; a smaller exponent only raises the bound.
LARGEST_EXPONENT = 700.0
STEPS = "what neighbours allow, added up from one value to the next"
PACKING = "packing bound, with what δ adds along the way"
# Programs at two (ε, δ) whose quotients have smaller logarithms have corners alike; so many are kept.
NEARBY, MOST_CORNERS = 0.25, 64
# Pairs that are looked at one by one where one bound on them all does as well.
FEW_PAIRS = 10_000
# Points of a curve that may turn out the best when programs are solved closer to them.
NEXT_BEST = 1.03
_PACKED: WeakKeyDictionary[Space, bool] = WeakKeyDictionary()
_TALLIED: WeakKeyDictionary[Space, tuple[FloatArray, FloatArray]] = WeakKeyDictionary()
_CORNERS: WeakKeyDictionary[Space, list[_Corner]] = WeakKeyDictionary()


def guess_allowed_by_epsilon(
    policy: Policy,
    eps: float,
    releases: int,
    belief: FloatArray | None,
    before: float,
    enough: float = 0.0,
) -> float:
    """What any mechanism with this ε allows in so many releases; 1 where that is not known.

    `belief` is about one record (None: uniform), `before` the guess without a release. Where the answer is
    sure to be at least `enough` it may be 1: whoever has a bound that good needs no other.
    """
    if policy.constrained or math.isinf(eps):
        return 1.0
    blind = 1 / len(policy.values) if belief is None else float(belief.max())
    if not math.isclose(blind, before, rel_tol=1e-9):
        return 1.0
    # Of more releases than are composed one by one the ε is added up.
    claim = ApproximateClaim(eps, 0.0, releases)
    if releases > LARGEST_RELEASES:
        claim = ApproximateClaim(eps * releases)
    try:
        return guess_upper_bound(claim, policy, belief, enough)
    except (PolicyError, TooLargeError):
        return 1.0


def guess_upper_bound(claim: Claim, target: Target, prior: FloatArray | None, enough: float = 0.0) -> float:
    """A number that the best guess about one record under a claim is at most; quickly where that is known.

    Never above the upper end of `guess_bounds` but for rounding, unless both are at least `enough`.
    """
    found = fast_guess_bound(claim, target, prior, enough)
    return guess_bounds(claim, target, prior)[0].upper if found is None else found.upper


def least_guess(claim: Claim, target: Target, prior: FloatArray | None) -> tuple[GuessBounds, float]:
    """The best guess about one record under a claim by the least bound that is known, and the blind guess.

    Where a bound without a proof is clearly lower than what is proved, the upper end and the method are its
    own; `certificate` is of what is proved, and `reason` says that it proves less.
    """
    found, before = guess_bounds(claim, target, prior)
    quick = fast_guess_bound(claim, target, prior)
    if quick is None or not quick.upper < found.upper * (1 - BETTER):
        return found, before
    proof, reason = found.certificate, None
    if proof is not None:
        lower = (
            f"that the guess is at most {at_most(quick.upper, 4)}, by {quick.method}, which is computed; "
            f"the proof is of at most {at_most(found.upper, 4)}"
        )
        reason = lower if found.reason is None else f"{found.reason}; {lower}"
    return replace(quick, lower=min(found.lower, quick.upper), certificate=proof, reason=reason), before


def fast_guess_bound(
    claim: Claim, target: Target, prior: FloatArray | None, enough: float = 0.0, nearby: float = NEARBY
) -> GuessBounds | None:
    """The bound without a proof; None where only `guess_bounds` knows one that is as good.

    A smaller `nearby` has programs solved closer to the claim, for more digits.
    """
    if isinstance(target, Policy) and target.constrained:
        return None
    count = len(values_of(target))
    if is_complete(target):
        return best_guess(claim, count, prior, upper_only=True)
    one = target.secrets if isinstance(target, Policy) else target
    belief = np.full(count, 1 / count) if prior is None else prior
    if isinstance(one, Metric):
        if (merged := likeliest(one, prior)) is not None:
            metric, held, share = merged
            part = fast_guess_bound(claim, metric, held, enough / share, nearby)
            return None if part is None else part.of_share(share)
        found = _of_metric(claim, one, belief, prior is None, enough)
    else:
        found = _of_graph(claim, one, belief, prior is None, enough, nearby)
    if found is None:
        return None
    before = float(belief.max())
    return GuessBounds(before, max(before, found), PACKING if is_by_programs(target) else STEPS)


def _rounded_up(value: float, terms: int) -> float:
    """A sum of so many positive terms, with what rounding may have taken from it."""
    return min(1.0, value * (1 + 8 * (terms + 8) * UNIT))


# ── Graphs: what is promised of neighbours, at several (ε, δ) ───────────────────────────────────────────────


def is_by_programs(target: Target) -> bool:
    """Whether the bound is of programs, solved at some (ε, δ) and carried over to those nearby."""
    graph = target.secrets if isinstance(target, Policy) else target
    space = None if isinstance(graph, Metric) or is_complete(graph) else _by_packing(graph)
    return space is not None


def _by_packing(graph: Graph) -> Space | None:
    """The space of a graph whose capacity is bounded by packing alone; None for others."""
    if _is_path(graph) or graph.size > LARGEST_DENSE or graph.size**2 <= LARGEST_UNKNOWNS:
        return None
    space = space_of(graph)
    return space if not space.component_of.any() and _is_packed(space) else None


def _of_graph(
    claim: Claim, graph: Graph, belief: FloatArray, uniform: bool, enough: float, nearby: float = NEARBY
) -> float | None:
    points = [(eps, lost) for eps, lost in curve_points(claim) if math.isfinite(eps) and lost < 1]
    if not points:
        return 1.0
    if _is_path(graph):
        bound = _rounded_up(_along_path(belief, points), len(belief))
        # For equal beliefs it is the program's own optimum; for others the program may be the better bound.
        return bound if uniform or bound <= _revealed(space_of(graph), belief, points) else None
    if isinstance(graph, PresenceGraph) and graph.absent in graph.nodes:
        centre = list(graph.nodes).index(graph.absent)
        return _rounded_up(min(_around_centre(belief, centre, *point) for point in points), len(belief))
    space = _by_packing(graph) if uniform else None
    if space is None:
        return None
    if _at_least(space, belief, points) >= enough > 0:
        return 1.0
    found = {point: _packed(space, belief, *point, NEARBY) for point in points}
    least = min(found.values())
    if nearby == NEARBY:
        return least
    return min(
        _packed(space, belief, *point, nearby) for point in points if found[point] <= least * NEXT_BEST
    )


def _is_path(graph: Graph) -> bool:
    """Whether each value is joined to the next, and to no other."""
    if isinstance(graph, SecretGraph) and graph.is_path:
        return True
    if graph.size > LARGEST_DENSE or len(graph.edges) != graph.size - 1:
        return False
    first, second = np.sort(graph.edges, axis=1).T
    return bool((second == first + 1).all()) and len(np.unique(first)) == len(first)


def _along_path(belief: FloatArray, points: list[tuple[float, float]]) -> float:
    """max_j a_j ≤ a_r + Σ (a_j - a_i)⁺ over the steps i→j that lead away from r, a_j = π_j·K[j,w].

    Summed over w, a step adds at most what two neighbours allow: their best test between the two.
    """
    first, second = belief[:-1], belief[1:]
    onward = np.min([_told_apart(second, first, *point) for point in points], axis=0)
    back = np.min([_told_apart(first, second, *point) for point in points], axis=0)
    from_left = np.concatenate([[0.0], np.cumsum(back)])
    from_right = np.concatenate([np.cumsum(onward[::-1])[::-1], [0.0]])
    return float((belief + from_left + from_right).min())


def _told_apart(one: FloatArray, other: FloatArray, eps: float, lost: float) -> FloatArray:
    """max of π·P(A) - ρ·Q(A) over (ε, δ)-close P and Q and tests A: at a corner of their trade-off."""
    shrunk = math.exp(-min(eps, LARGEST_EXPONENT))
    hit, alarm = (1 + lost * shrunk) / (1 + shrunk), (1 - lost) * shrunk / (1 + shrunk)
    corners = (one * lost, one * hit - other * alarm, one - other * (1 - lost))
    return np.asarray(np.maximum(0.0, np.max(corners, axis=0)))


def _revealed(space: Space, belief: FloatArray, points: list[tuple[float, float]]) -> float:
    """What every (ε, δ) lets some mechanism reach: the truth with probability δ, else a private channel."""
    reached = []
    for eps, lost in points:
        pure = _evenly(space, eps) if eps > 0 else 0.0
        reached.append(lost + (1 - lost) * max(pure, float(belief.max())))
    return min(reached)


def _around_centre(belief: FloatArray, centre: int, eps: float, lost: float) -> float:
    """On a star K[j,j] is at most f(q) = min(e^ε·q + δ, 1 - e^(-ε)·(1 - q - δ)), q the centre's share of j.

    f is concave and the shares add up to 1, so the steepest slopes of π_j·f take them.
    """
    grown = math.exp(min(eps, LARGEST_EXPONENT))
    leaves = np.delete(belief, centre)
    turn = (1 - lost) / (grown + 1)
    slopes = np.concatenate([leaves * grown, leaves / grown, belief[centre : centre + 1]])
    lengths = np.concatenate([np.full(len(leaves), turn), np.full(len(leaves), 1 - lost - turn), [1.0]])
    order = np.argsort(-slopes, kind="stable")
    until = np.minimum(np.cumsum(lengths[order]), 1.0)
    return float(lost * leaves.sum() + slopes[order] @ np.diff(until, prepend=0.0))


def _is_packed(space: Space) -> bool:
    """Whether packing is the bound that `guess_bounds` comes to, at any ε."""
    if space not in _PACKED:
        _PACKED[space] = is_only_packed(space)
    return _PACKED[space]


def _at_least(space: Space, belief: FloatArray, points: list[tuple[float, float]]) -> float:
    """Below what packing gives: equal weights are one packing, and every point is so far from the others."""
    found = math.inf
    levels, tally = _tallied(space)
    for eps, lost in points:
        most = float((tally @ np.exp(-eps * levels)).max())
        added = -np.expm1(-eps * levels) / math.expm1(min(eps, LARGEST_EXPONENT)) if eps > 0 else levels
        found = min(found, (1 + lost * float((tally @ added).min())) / most)
    return found * (1 - 1e-9)


def _tallied(space: Space) -> tuple[FloatArray, FloatArray]:
    """The different distances, and how many points are so far from each."""
    if space not in _TALLIED:
        levels, place = np.unique(space.distances, return_inverse=True)
        rows = place.reshape(space.distances.shape)
        tally = np.stack([np.bincount(row, minlength=len(levels)) for row in rows])
        _TALLIED[space] = levels, tally.astype(np.float64)
    return _TALLIED[space]


def _packed(space: Space, belief: FloatArray, eps: float, lost: float, nearby: float) -> float:
    """The least Σ_i y_i·(1 + δ·Σ_j (1-e^(-εd(i,j)))/(e^ε-1)) over vectors y that cover, Φy ≥ 1.

    Promises add up along a path of d edges to a_j ≤ e^(εd)·K[i,j] + δ·(e^(εd)-1)/(e^ε-1).
    """
    levels, tally = _tallied(space)
    # For ε = 0 a step adds δ.
    added = -np.expm1(-eps * levels) / math.expm1(min(eps, LARGEST_EXPONENT)) if eps > 0 else levels
    costs = 1 + lost * (tally @ added)
    if eps == 0:
        return _rounded_up(float(costs.min()) * float(belief.max()), space.size)
    y = _covering(space, eps, lost, costs, nearby)
    least = float((space.kernel(eps) @ y).min())
    return _rounded_up(float(costs @ y) / least * float(belief.max()), space.size) if least > 0 else 1.0


@dataclass(frozen=True, eq=False)
class _Corner:
    """Where a packing program had its optimum: the rows that bind and the columns that are used."""

    eps: float
    lost: float
    rows: IndexArray
    columns: IndexArray

    def away(self, eps: float, lost: float) -> float:
        """How far another (ε, δ) is: the larger of the logarithms of both quotients."""
        if (lost == 0) != (self.lost == 0):
            return math.inf
        moved = abs(math.log(self.lost / lost)) if lost else 0.0
        return max(moved, abs(math.log(self.eps / eps)))


def _covering(space: Space, eps: float, lost: float, costs: FloatArray, nearby: float) -> FloatArray:
    """y ≥ 0 with Φy ≥ 1 at a small cost: of the corner of a program at (ε, δ) nearby, or of a program."""
    known = _CORNERS.setdefault(space, [])
    nearest = min(known, key=lambda corner: corner.away(eps, lost), default=None)
    if nearest is not None and nearest.away(eps, lost) < nearby:
        found = _at_corner(space.kernel(eps), nearest)
        if found is not None:
            return found
    solution = packing_program(space, eps, limits=costs)
    rows, columns = np.flatnonzero(~solution.basic_rows), np.flatnonzero(solution.basic_columns)
    if len(rows) == len(columns):
        del known[: max(0, len(known) - MOST_CORNERS)]
        known.append(_Corner(eps, lost, rows, columns))
    return np.maximum(-solution.dual, 0.0)


def _at_corner(kernel: FloatArray, corner: _Corner) -> FloatArray | None:
    """The multipliers of the rows that bind; None where they are no covering vector."""
    part = kernel[np.ix_(corner.rows, corner.columns)]
    try:
        found = np.linalg.solve(part.T, np.ones(len(corner.columns)))
    except np.linalg.LinAlgError:
        return None
    y = np.zeros(len(kernel))
    y[corner.rows] = np.maximum(found, 0.0)
    return y if float((kernel @ y).min()) > 1 - CLOSE else None


def _covered(space: Space, eps: float, y: FloatArray, needed: FloatArray) -> float:
    """Σ y scaled until Φy covers what is needed, rounded upwards."""
    reached = space.kernel(eps) @ y
    least = float((reached[needed > 0] / needed[needed > 0]).min())
    return float(y.sum()) / least * (1 + 8 * (space.size + 8) * UNIT) if least > 0 else math.inf


# ── Metrics: what is promised of any two values, by their distance ──────────────────────────────────────────


class _Ends(NamedTuple):
    """What some mechanism reaches, and what none exceeds."""

    low: float
    high: float

    @property
    def meet(self) -> bool:
        return self.low >= self.high * (1 - CLOSE)


def _of_metric(
    claim: Claim, metric: Metric, belief: FloatArray, uniform: bool, enough: float
) -> float | None:
    """ε adds up over releases; the nearest pairs alone are composed, as in `guess_bounds`."""
    if not isinstance(claim, ApproximateClaim) or claim.lost or math.isinf(claim.eps):
        return None
    near = _by_nearest_pairs(claim, metric, belief, uniform)
    needed = min((number for number in (near, enough) if number), default=0.0)
    total = _at_distance(metric, claim.eps * claim.releases, belief, uniform, needed)
    if total is None or (near is None and claim.releases > 1 and nearest_pairs(metric) is not None):
        return None
    if near is not None and (near <= total.low or total.meet):
        return min(near, total.high)
    return total.high if total.meet or 0 < enough <= total.low else None


def _by_nearest_pairs(
    claim: ApproximateClaim, metric: Metric, belief: FloatArray, uniform: bool
) -> float | None:
    nearest = nearest_pairs(metric) if claim.releases > 1 else None
    if nearest is None:
        return None
    graph, length = nearest
    return _of_graph(ApproximateClaim(claim.eps * length, 0.0, claim.releases), graph, belief, uniform, 0.0)


def _at_distance(
    metric: Metric, eps: float, belief: FloatArray, uniform: bool, enough: float
) -> _Ends | None:
    """Ends that meet where `guess_bounds` has no better bound; where both are `enough` they need not."""
    if eps == 0:
        return _Ends(float(belief.max()), float(belief.max()))
    grid = grid_of(metric)
    if grid is not None:
        most = grid.upper(read_eps(eps), belief, enough)
        return _Ends(most, most)
    if metric.size > LARGEST_DENSE:
        return None
    space = space_of(metric)
    if space.component_of.any():
        return None
    if enough > 0 and (even := _evenly(space, eps)) >= enough:
        return _Ends(even, 1.0)
    if uniform:
        found = weights(space, eps)
        if found is None:
            return None
        most = min(1.0, _covered(space, eps, found, np.ones(space.size)) / space.size)
        return _Ends(most, most)
    try:
        packed = packing(space, eps, belief)
    except Unsolved:
        return None
    most = min(1.0, _covered(space, eps, packed.y, belief))
    if 2 * len(space.pairs) * space.size > LARGEST_ROWS:
        return _Ends(most, most)  # no exact program is tried
    return _Ends(_reached(space, eps, packed.z) * float(belief @ packed.z), most)


def _evenly(space: Space, eps: float) -> float:
    """What equal weights reach, Σπ·z for z = 1/max Φ1: what rows lack is private after a little mixing."""
    sums = space.kernel(eps).sum(axis=1)
    if len(space.pairs) <= FEW_PAIRS:
        even = np.full(space.size, 1 / float(sums.max()))
        return _reached(space, eps, even) * float(even[0])
    growth = math.exp(min(eps * float(space.lengths.min()), 30.0))
    return (growth - 1) / (growth - float(sums.min() / sums.max())) / float(sums.max())


def _reached(space: Space, eps: float, z: FloatArray) -> float:
    """The share of the columns Φ[:,j]·z_j that makes, with what rows then lack, a private channel."""
    rows = space.kernel(eps) @ z
    tail, head = space.arcs
    growth = np.exp(np.minimum(eps * np.concatenate([space.lengths] * 2), 30.0))
    slope = growth * rows[head] - rows[tail]
    # 1 - s·rows[tail] ≤ g·(1 - s·rows[head]), solved for s.
    most = (growth - 1) / np.where(slope > 0, slope, 1.0)
    return min(1.0, float(np.where(slope > 0, most, 1.0).min(initial=1.0)))
