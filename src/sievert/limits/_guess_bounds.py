"""From a claim and a policy to the best guess about one record, and about the whole database.

Where any two values are neighbours the closed form answers. Otherwise the exact programs do: the ladder of
`worst_leakage` for δ = 0, the program with hockey-stick constraints for δ > 0. A curve δ(ε) is
looked at in several points, each a valid bound; the least one counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from sievert.arrays import FloatArray
from sievert.errors import PolicyError, TooLargeError
from sievert.limits._approximate import LARGEST_UNKNOWNS, approximate_interval, approximate_program
from sievert.limits._complete_guess import MEETS, GuessBounds, best_guess
from sievert.limits._grids import Grid, grid_of
from sievert.limits._objectives import LARGEST_ROWS, explicit_space, prior_packing, solve_objective
from sievert.limits._restricted import individual_groups, largest_packing, worst_about
from sievert.limits._space import LARGEST_DENSE, Space, likeliest
from sievert.limits._targets import Target, is_complete, power, values_of
from sievert.limits._worst import WorstLeakage, worst_leakage
from sievert.limits.promises import ApproximateClaim, Claim
from sievert.numerics import UNIT, abbreviated, in_bits, log2_bounds, read_eps
from sievert.policies import Policy
from sievert.programs import Unsolved
from sievert.proofs import Proof
from sievert.results import Result
from sievert.spaces import Graph, Metric, worded

__all__ = [
    "CLOSE",
    "BallGuess",
    "DatabaseBits",
    "ball_guess",
    "curve_points",
    "database_bits",
    "guess_bounds",
    "is_by_distance",
    "nearest_pairs",
]
# Points of a curve δ(ε) at which a program is solved, and solved ones that are kept for each policy.
MOST_PROGRAMS = 9
CLOSE = 1e-9  # relative distance of two ends that are one number
LARGEST_PLACES = 60  # places for each of whose balls a program over all of them is solved
MOST_KEPT = 64
COMPOSED = "that the claim implies this ε and δ for all releases together, which is computed"
_Asked = tuple[float, float, bytes, bool]
_KEPT: WeakKeyDictionary[Graph | Metric, dict[_Asked, GuessBounds]] = WeakKeyDictionary()
# Points of a metric up to which its nearest pairs are looked at by themselves.
MOST_POINTS = 24


@dataclass(frozen=True)
class DatabaseBits(Result):
    """What mechanisms with a claim could leak about the whole database, in bits; None where not known."""

    lower: float | None
    upper: float | None
    reason: str | None = None

    def __str__(self) -> str:
        if self.upper is None:
            return f"no bound is known about the whole database: {self.reason}"
        if self.lower is not None and self.upper - self.lower <= MEETS:
            return f"at most {in_bits(self.upper, 6)} about the whole database, and some mechanism leaks that"
        return f"at most {in_bits(self.upper, 6)} about the whole database"


def guess_bounds(claim: Claim, target: Target, prior: FloatArray | None) -> tuple[GuessBounds, float]:
    """Best guess about one record, all others known, over all mechanisms with the claim; and before.

    Under public knowledge the situation of the others that lets the guess grow most is meant, every value it
    leaves possible being equally likely.
    """
    if isinstance(target, Policy) and target.constrained:
        if prior is not None:
            raise PolicyError("prior goes with a policy without public knowledge; leave it out")
        return _constrained(claim, target)
    count = len(values_of(target))
    before = 1 / count if prior is None else float(prior.max())
    if is_complete(target):
        return best_guess(claim, count, prior), before
    one = target.secrets if isinstance(target, Policy) else target
    weights = np.full(count, 1 / count) if prior is None else prior
    if isinstance(one, Metric):
        if (merged := likeliest(one, prior)) is not None:
            metric, held, share = merged
            return guess_bounds(claim, metric, held)[0].of_share(share), before
        return _over_distances(claim, one, weights, prior is None), before
    best: GuessBounds | None = None
    single = isinstance(claim, ApproximateClaim) and claim.releases == 1
    for eps, delta in curve_points(claim):
        found = _kept(one, eps, delta, weights, prior is None, single)
        if single:
            return found, before
        if best is None or found.upper < best.upper:
            best = found
    assert best is not None
    reached = max(before, _reached(claim, one, weights, prior is None))
    reason = COMPOSED if best.certificate is not None else best.reason
    method = f"best of several (ε, δ): {best.method}"
    return replace(best, lower=min(reached, best.upper), method=method, reason=reason), before


def is_by_distance(claim: Claim) -> TypeGuard[ApproximateClaim]:
    """Whether a claim between neighbours says something about any two points of a metric.

    ε adds up along paths and over releases; a δ is that of one pair in one release.
    """
    return isinstance(claim, ApproximateClaim) and (claim.releases == 1 or not claim.lost)


def _over_distances(claim: Claim, metric: Metric, weights: FloatArray, uniform: bool) -> GuessBounds:
    """A claim per unit of distance; a curve δ(ε) says nothing of other pairs.

    Over several releases ε adds up, and what one release of that ε allows is a bound, which several need not
    reach; nor need the one by the nearest pairs alone, whose releases are composed exactly.
    """
    single = isinstance(claim, ApproximateClaim) and claim.releases == 1
    if not is_by_distance(claim):
        raise PolicyError(
            f"{claim.words}: on a metric a claim must be a pure ε per unit of distance, or (ε, δ) of one "
            "release; a curve δ(ε) between neighbours says nothing about pairs that are farther apart"
        )
    if single:
        return _kept(metric, claim.eps, claim.lost, weights, uniform, True)
    found = _kept(metric, claim.eps * claim.releases, 0.0, weights, uniform, False)
    reason = COMPOSED if found.certificate is not None else found.reason
    found = replace(found, method=f"ε of all releases added up: {found.method}", reason=reason)
    nearest = nearest_pairs(metric)
    if nearest is not None and math.isfinite(claim.eps):
        graph, length = nearest
        prior = None if uniform else weights
        other, _ = guess_bounds(ApproximateClaim(claim.eps * length, 0.0, claim.releases), graph, prior)
        if other.upper < found.upper:
            found = replace(other, method=f"the nearest pairs alone, {other.method}")
    # One release is a mechanism with the claim, and shows what it allows at least.
    reached = max(float(weights.max()), _kept(metric, claim.eps, 0.0, weights, uniform, True).lower)
    return replace(found, lower=min(reached, found.upper))


def nearest_pairs(metric: Metric) -> tuple[Graph, float] | None:
    """The pairs of points at the least distance, and that; None where points are many, or that is 0."""
    if not 1 < metric.size <= MOST_POINTS:
        return None
    matrix = metric.matrix
    length = float(matrix[~np.eye(metric.size, dtype=bool)].min())
    if not 0 < length < math.inf:
        return None
    # Lengths that differ in the last digits are one length; the longest of them bounds them all.
    near = np.triu(matrix <= length * (1 + 1e-12), 1)
    pairs = np.argwhere(near)
    names = list(metric.points)
    edges = [(names[i], names[j]) for i, j in pairs.tolist()]
    return Graph(names, edges), float(matrix[near].max())


def curve_points(claim: Claim) -> list[tuple[float, float]]:
    """(ε, δ) that the claim implies; one for a single release, several along a curve."""
    if isinstance(claim, ApproximateClaim) and claim.releases == 1:
        return [(claim.eps, claim.lost)]
    levels = np.unique(claim.levels())
    if len(levels) > MOST_PROGRAMS:
        lost = claim.delta(levels)
        # Where δ is neither everything nor nothing is where the best point lies.
        useful = np.flatnonzero((lost < 0.5) & (lost > 1e-12))
        useful = useful if len(useful) else np.arange(len(levels))
        chosen = useful[np.unique(np.linspace(0, len(useful) - 1, MOST_PROGRAMS).round().astype(int))]
        levels = np.unique(np.append(levels[chosen], levels[-1] if lost[-1] < 1 else levels[chosen[-1]]))
    return [(float(level), float(lost)) for level, lost in zip(levels, claim.delta(levels), strict=True)]


def _kept(
    target: Graph | Metric, eps: float, delta: float, weights: FloatArray, uniform: bool, below: bool
) -> GuessBounds:
    """The guess at one (ε, δ), solved once: several questions ask for the same."""
    known = _KEPT.setdefault(target, {})
    asked = eps, delta, b"" if uniform else weights.tobytes(), below
    if asked not in known:
        if len(known) >= MOST_KEPT:
            known.clear()
        known[asked] = _at(target, eps, delta, weights, uniform, below)
    return known[asked]


def _at(
    target: Target, eps: float, delta: float, weights: FloatArray, uniform: bool, below: bool = True
) -> GuessBounds:
    """The guess at one (ε, δ); without `below` only its upper end counts, which may spare a program."""
    if math.isinf(eps) or delta >= 1:
        return GuessBounds(1.0, 1.0, "the claim promises nothing")
    level, lost = read_eps(eps), read_eps(delta)
    if lost == level == 0 and not uniform:
        return GuessBounds(float(weights.max()), float(weights.max()), "ε = 0: nothing is learned")
    if lost == 0 and uniform:
        worst = worst_leakage(target, eps)
        scale = 1 / len(weights)
        return GuessBounds(
            min(1.0, worst.lower.factor * scale),
            min(1.0, worst.upper.factor * scale),
            worst.method,
            worst.certificate,
            reason=None if worst.certificate is not None else f"computed, not written down ({worst.method})",
        )
    if lost == 0 and (grid := grid_of(target)) is not None:
        least, most, found = grid.guess(level, weights)
        method = "a map: the least bound by sums over its cells"
        reason = None if found is not None else f"{method}, of which a proof would take too long to check"
        return GuessBounds(least, most, method, found, reason=reason)
    space = adjacency_space(target, lost > 0)
    if lost == 0 < level and space.size <= LARGEST_DENSE:
        packed = prior_packing(space, level, weights)
        large = 2 * len(space.pairs) * space.size > LARGEST_ROWS
        if packed is not None and (large or packed.meets(CLOSE)):
            upper = min(1.0, float(packed.upper))
            return GuessBounds(float(packed.lower), upper, "packing on the known prior", packed.proof)
    if space.size**2 > LARGEST_UNKNOWNS or (lost and _unknowns(space) > LARGEST_UNKNOWNS):
        return _interval(target, space, eps, delta, weights, uniform and below)
    try:
        low, high, proof = _program(space, level, lost, np.diag(weights))
    except (ArithmeticError, Unsolved):
        why = "the exact program was not solved"
        return _interval(target, space, eps, delta, weights, uniform and below, why)
    return GuessBounds(float(low), min(1.0, float(high)), "linear program over channels", proof)


def _program(
    space: Space, eps: Fraction, delta: Fraction, objective: FloatArray
) -> tuple[Fraction, Fraction, Proof]:
    if delta:
        found, _ = approximate_program(space, eps, delta, objective)
        return *found.bounds(), found
    exact, _ = solve_objective(space, eps, objective)
    low, high = exact.bounds()
    assert low is not None
    return low, high, exact


def _unknowns(space: Space) -> int:
    return (space.size + 2 * len(space.pairs)) * space.size


def _interval(
    target: Target,
    space: Space,
    eps: float,
    delta: float,
    weights: FloatArray,
    climb: bool,
    why: str = "the exact program would be too large",
) -> GuessBounds:
    """Ends by packing, where the program is too large or its solver gave up; `climb` seeks a better lower."""
    if space.size > LARGEST_DENSE or (isinstance(target, Metric) and delta):
        raise TooLargeError(
            f"{space.size} values are too many for a claim with this prior or δ; without both, far more are "
            "possible",
            size=space.size,
        )
    low, high = approximate_interval(space, eps, delta, weights)
    if climb:
        pure = worst_leakage(target, eps).lower.factor / space.size
        low = min(high, max(low, delta + (1 - delta) * min(1.0, pure)))
    return GuessBounds(low, min(1.0, high), f"packing bound; {why}")


def adjacency_space(target: Target, all_pairs: bool) -> Space:
    """The space whose edges carry the promise.

    With δ > 0 promises do not add up along paths, so for a metric every pair of points is an edge of its own;
    for a graph the pairs of neighbours are what is promised.
    """
    if isinstance(target, Metric) and all_pairs:
        rows, columns = np.nonzero(np.triu(np.isfinite(target.matrix), 1))
        lengths = target.matrix[rows, columns]
        return Space(target.size, np.column_stack([rows, columns]), lengths, target.points)
    return explicit_space(target)


def _reached(claim: Claim, target: Graph | Metric, weights: FloatArray, uniform: bool) -> float:
    """One release of several is a mechanism with the claim; of a mere curve none is known."""
    if not isinstance(claim, ApproximateClaim):
        return 0.0
    return _kept(target, claim.eps, claim.lost, weights, uniform, True).lower


def _constrained(claim: Claim, policy: Policy) -> tuple[GuessBounds, float]:
    """Public knowledge: the program over all permitted databases, about those that one record leaves open."""
    groups = individual_groups(policy)
    if not groups:
        return GuessBounds(1.0, 1.0, "public knowledge leaves nothing open about a record"), 1.0
    space = explicit_space(policy)
    best: tuple[GuessBounds, float] | None = None
    for eps, delta in curve_points(claim):
        if math.isinf(eps) or delta >= 1:
            found, before = GuessBounds(1.0, 1.0, "the claim promises nothing"), 1 / max(map(len, groups))
        elif delta == 0:
            worst = worst_leakage(policy, eps, individual=True)
            size = max(map(len, groups)) if worst.mechanism is None else worst.mechanism.shape[1]
            before = 1 / size
            found = GuessBounds(
                min(1.0, worst.lower.factor * before),
                min(1.0, worst.upper.factor * before),
                worst.method,
                worst.certificate,
            )
        else:
            found, before = _worst_group(space, groups, read_eps(eps), read_eps(delta))
        if best is None or found.upper / before < best[0].upper / best[1]:
            best = found, before
    assert best is not None
    guess, before = best
    if isinstance(claim, ApproximateClaim) and claim.releases == 1:
        return guess, before
    reason = COMPOSED if guess.certificate is not None else guess.reason
    return replace(guess, lower=min(before, guess.upper), reason=reason), before


def _worst_group(
    space: Space, groups: Sequence[Sequence[int]], eps: Fraction, delta: Fraction
) -> tuple[GuessBounds, float]:
    found = []
    for group in {tuple(sorted(group)) for group in groups}:
        objective = np.eye(space.size)[:, list(group)] / len(group)
        try:
            low, high, proof = _program(space, eps, delta, objective)
            method = "linear program over all permitted databases"
            guess = GuessBounds(float(low), min(1.0, float(high)), method, proof)
        except (ArithmeticError, Unsolved):
            guess = GuessBounds(1 / len(group), 1.0, "no bound: the exact program was not solved")
        found.append((guess, 1 / len(group)))
    highest = max(found, key=lambda pair: pair[0].upper / pair[1])
    return highest


def database_bits(claim: Claim, target: Target) -> DatabaseBits:
    """What any mechanism with the claim could leak about the whole database, every one equally likely."""
    single = isinstance(claim, ApproximateClaim) and claim.releases == 1
    if single and isinstance(claim, ApproximateClaim) and claim.lost == 0:
        worst = worst_leakage(target, claim.eps)
        return DatabaseBits(worst.lower.bits, worst.upper.bits, worst.reason)
    highest = _levels_without_delta(claim, target)
    if highest is not None:
        return DatabaseBits(None, highest.upper.bits, "the ε of all releases added up")
    if not isinstance(claim, ApproximateClaim) or not single:
        return DatabaseBits(None, None, "it needs ε, or ε and δ, of one release")
    try:
        target_graph: Target = target
        if isinstance(target, Policy) and target.records == 1 and not target.constrained:
            target_graph = target.secrets
        elif isinstance(target, Policy):
            by_distance = isinstance(target.secrets, Metric)
            target_graph = target.database_metric() if by_distance else target.adjacency()
        space = adjacency_space(target_graph, True)
        if _unknowns(space) > LARGEST_UNKNOWNS and isinstance(target_graph, Graph):
            if space.size > LARGEST_DENSE:
                return DatabaseBits(None, None, f"{space.size} databases are too many for a claim with δ")
            ends = approximate_interval(space, claim.eps, claim.lost, np.ones(space.size))
            return DatabaseBits(math.log2(ends[0]), math.log2(ends[1]), "a bound by packing")
        proof, _ = approximate_program(space, read_eps(claim.eps), read_eps(claim.lost), np.eye(space.size))
    except (TooLargeError, ArithmeticError, Unsolved) as problem:
        return DatabaseBits(None, None, str(problem))
    low, high = log2_bounds(*proof.bounds())
    return DatabaseBits(low, high)


def _levels_without_delta(claim: Claim, target: Target) -> WorstLeakage | None:
    if isinstance(claim, ApproximateClaim) and claim.lost == 0:
        return worst_leakage(target, claim.eps * claim.releases)
    return None


@dataclass(frozen=True)
class BallGuess(Result):
    """Somebody known to be within a radius of a place, protected by ε·distance.

    Attributes
    ----------
    centre, radius : what the attacker knows; `points` places remain
    belief_factor : belief in the centre grows at most this many times, e^(ε·radius)
    odds_factor : odds between two of the places that remain change at most this many times
    before, after : best guess of the place, all that remain being equally likely
    exact : whether some mechanism reaches `after`
    """

    centre: object
    radius: float
    points: int
    belief_factor: float
    odds_factor: float
    before: float
    after: float
    exact: bool

    def __float__(self) -> float:
        return self.after

    def __str__(self) -> str:
        return (
            f"someone known to be within {self.radius:g} of {worded(self.centre)} ({self.points} places) is "
            f"located with probability {self.before:.4g} before and at most {self.after:.4g} after; belief "
            f"in {worded(self.centre)} grows at most {self.belief_factor:.4g} times"
        )


def ball_guess(eps: float, target: Target, radius: float, centre: object = None) -> BallGuess:
    """What ε·distance lets anybody learn who knows the value to within a radius of a place.

    The mechanism is private on all places, so the program runs over all of them with the objective on the
    ball. Without a centre, the one whose ball lets the guess grow most.

    Belief in the centre grows at most e^(εr) times (Fernandes, Sec 3.2). Two other places of the ball may be
    2r apart, so their odds may change e^(2εr) times: the diameter of the ball counts.
    """
    metric = target.record_metric if isinstance(target, Policy) else target
    if not isinstance(metric, Metric):
        metric = metric.metric()
    if not radius >= 0:
        raise PolicyError(f"within is {abbreviated(radius)}; it must be a distance ≥ 0")
    points = list(metric.points)
    if centre is not None and centre not in points:
        raise PolicyError(f"centre is {abbreviated(centre)}; it must be one of the values")
    grid = grid_of(metric)
    if grid is not None:
        return _ball_on_map(eps, metric, grid, radius, None if centre is None else points.index(centre))
    centres = range(len(points)) if centre is None else [points.index(centre)]
    # Balls with the same places are one question.
    balls: dict[tuple[int, ...], int] = {}
    for index in centres:
        inside = tuple(np.flatnonzero(metric.matrix[index] <= radius).tolist())
        balls.setdefault(inside, index)
    if len(points) > LARGEST_PLACES and math.isfinite(eps):
        return _bounded_ball(eps, metric, radius, balls)
    return max((_ball(eps, metric, radius, index, inside) for inside, index in balls.items()), key=_growth)


def _bounded_ball(eps: float, metric: Metric, radius: float, balls: dict[tuple[int, ...], int]) -> BallGuess:
    """Too many places for a program for each ball: the worst by packing bounds."""
    wide = [inside for inside in balls if len(inside) > 1]
    if not wide:
        inside, index = next(iter(balls.items()))
        return _ball(eps, metric, radius, index, inside)
    number, growth = largest_packing(explicit_space(metric), read_eps(eps), wide)
    inside = wide[number]
    places, before = list(inside), 1 / len(inside)
    return BallGuess(
        metric.points[balls[inside]],
        radius,
        len(inside),
        power(eps, float(metric.matrix[balls[inside]][places].max())),
        power(eps, float(metric.matrix[np.ix_(places, places)].max())),
        before,
        min(1.0, before * float(growth) * (1 + 4 * UNIT)),
        eps == 0,
    )


def _ball_on_map(eps: float, metric: Metric, grid: Grid, radius: float, place: int | None) -> BallGuess:
    """On a map of many cells: bounded by the square around the ball, without a list of distances.

    What is private on the map is so on any part of it, and fewer places tell no more than those around them.
    """
    row, column = (grid.rows // 2, grid.columns // 2) if place is None else divmod(place, grid.columns)
    away = np.hypot(np.arange(grid.rows)[:, None] - row, np.arange(grid.columns)[None, :] - column) * float(
        grid.step
    )
    inside = away <= radius
    count, reach = int(inside.sum()), float(away[inside].max())
    side = 2 * math.floor(reach / float(grid.step) + 1e-9) + 1
    before, after = 1 / count, 1.0
    if count > 1 and math.isfinite(eps):
        around = Grid(min(side, grid.rows), min(side, grid.columns), grid.step)
        nats = min(around.bounds(read_eps(eps)).packing, eps * 2 * reach)
        after = math.exp(min(0.0, nats - math.log(count)))
    return BallGuess(
        metric.points[row * grid.columns + column],
        radius,
        count,
        power(eps, reach),
        power(eps, 2 * reach),
        before,
        max(before, after),
        count == 1 or eps == 0,
    )


def _growth(found: BallGuess) -> float:
    return found.after / found.before


def _ball(eps: float, metric: Metric, radius: float, index: int, inside: tuple[int, ...]) -> BallGuess:
    apart = float(metric.matrix[np.ix_(inside, inside)].max())
    reach = float(metric.matrix[index][list(inside)].max())
    before = 1 / len(inside)
    after, exact = 1.0, True
    if len(inside) > 1 and math.isfinite(eps):
        worst = worst_about(metric, eps, [metric.points[i] for i in inside])
        after, exact = min(1.0, before * worst.upper.factor), worst.exact is not None
    return BallGuess(
        metric.points[index],
        radius,
        len(inside),
        power(eps, reach),
        power(eps, apart),
        before,
        after,
        exact,
    )
