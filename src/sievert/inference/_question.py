"""One question about the frontier: its inputs, the program over them, its points and its kinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, FloatArray, ObjectArray
from sievert.errors import MechanismError, PolicyError
from sievert.inference._certificates import Exactly, certified
from sievert.inference._correlation import Correlation, correlation_of
from sievert.inference._counterexamples import no_free_lunch
from sievert.inference._geometric import unlimited
from sievert.inference._inputs import actions_of, gain_table, gained, inputs_of, possible_cells, wanted
from sievert.inference._neighbours import is_line, neighbours_of
from sievert.inference._points import SAME_LIMIT, InferenceCurve, InferencePoint
from sievert.inference._program import Optimum, Problem
from sievert.inference._solver import Solver
from sievert.inference._worlds import worlds
from sievert.measures import as_gain
from sievert.numerics import advance, as_fraction, brief, flag, is_exact, read_eps
from sievert.programs import Unsolved
from sievert.proofs import Neighbours, exact_rows
from sievert.spaces import metric_of

__all__ = ["SMALLEST_KINK", "Question"]

# What the ends of a line of tallies may stand for, at so many tallies or more.
TAILS, LARGE_LINE = 1e-11, 60
# Bounds further apart than this are tried to be brought together.
LOOSE = 1e-8
# Pieces of a curve that are looked at; a kink smaller than this is rounding.
MOST_PIECES, SMALLEST_KINK = 400, 1e-9


class Question:
    """The inputs that a mechanism may tell apart, and the program over them."""

    def __init__(
        self,
        correlation: Any,
        level: Any,
        metric: Any,
        insensitive: bool,
        gains: tuple[Any, Any],
        near: tuple[Any, Any],
    ) -> None:
        gain, use_gain = gains
        insensitive = flag("insensitive", insensitive, MechanismError)
        several = isinstance(correlation, list | tuple) and any(
            isinstance(item, Correlation) for item in correlation
        )
        self.correlations = [correlation_of(item) for item in (correlation if several else [correlation])]
        _refuse_same(self.correlations, gain, use_gain)
        if metric is not None and level is None:
            raise MechanismError(
                "metric goes with eps: how much may the odds change for each unit of distance?"
            )
        given = None if metric is None else metric_of(metric)
        self.labels, prior, use_of, joints = inputs_of(self.correlations, given, insensitive)
        uses = self.correlations[0].uses
        worth = as_gain(use_gain, uses)
        wants = [as_gain(gain, item.secrets) for item in self.correlations]
        self.guesses = actions_of(worth)
        blocks = [
            (owner, world)
            for owner, joint in enumerate(joints)
            for world in worlds(joint, possible_cells(joint, self.labels, uses), *near)
        ]
        self.owners = [owner for owner, _ in blocks]
        self.wants = tuple(wanted(wants[owner]) for owner in self.owners)
        self.before = [
            max(gained(want, world).sum(axis=1).tolist())
            for want, (_, world) in zip(self.wants, blocks, strict=True)
        ]
        space = neighbours_of(self.labels, given, level)
        self.robust = any(item is not None for item in near)
        plain = worth.name == "identity" and not self.robust and all(want is None for want in self.wants)
        whole = (0, len(self.labels) - 1)
        self.first, self.last = _window(space, prior) if plain else whole
        self._set_up(space, prior, gain_table(worth)[:, use_of], [world for _, world in blocks])

    def _set_up(
        self, space: Neighbours, prior: ObjectArray, gain: AnyArray, joints: list[ObjectArray]
    ) -> None:
        """The program; of a long line, its two ends stand for all that lies beyond them."""
        first, last = self.first, self.last
        self.outputs, tails = self.guesses, Fraction(0)
        if last - first + 1 < len(self.labels):
            kept = slice(first, last + 1)
            pairs = tuple((i, i + 1) for i in range(last - first))
            lengths = space.lengths[first:last]
            space = Neighbours("forest", last - first + 1, pairs, lengths, space.eps, space.alpha)
            tails = sum(prior[:first].tolist() + prior[last + 1 :].tolist(), Fraction(0))
            merged = _merged(prior[None, :], first, last)[0]
            gain = exact_rows(gain[kept, kept])
            for end in (0, -1):
                # Told right as often as before it stood for others.
                gain[:, end] *= prior[kept][end] / merged[end]
            prior, joints = merged, [_merged(joint, first, last) for joint in joints]
            self.outputs = self.guesses[first : last + 1]
        leaks = tuple(gained(want, joint) for want, joint in zip(self.wants, joints, strict=True))
        self.exact = Exactly(prior, exact_rows(gain), tuple(joints), self.wants, leaks, tails, self.robust)
        value = gain.astype(np.float64) * prior.astype(np.float64)[None, :]
        self.problem = Problem(value, tuple(leak.astype(np.float64) for leak in leaks), space)
        self.solver = Solver(self.problem)

    def limits(self, given: Any) -> tuple[Fraction, ...]:
        """One limit a secret, at least the best guess before any release."""
        count = len(self.correlations)
        items = list(given) if isinstance(given, tuple) else [given] * count
        if len(items) != count:
            raise PolicyError(
                f"limits has the entry {brief(given)}; give one number, or one for each of {count}"
            )
        found = []
        for item, before in zip((items[owner] for owner in self.owners), self.before, strict=True):
            try:
                value = as_fraction(item) if is_exact(item) else read_eps(float(item))
            except (TypeError, ValueError):
                raise PolicyError(f"limits has the entry {brief(item)}; give probabilities") from None
            if value < before and float(before) - float(value) > SAME_LIMIT:
                raise PolicyError(
                    f"limits has the entry {float(value):.6g}; the secret is guessed with probability "
                    f"{float(before):.6g} before any release, and no mechanism can be below that"
                )
            # 2/3 as a float is meant as the best guess before, which is a little more.
            close = not is_exact(item) and abs(float(value) - float(before)) <= SAME_LIMIT
            found.append(before if close else max(value, before))
        return tuple(found)

    def point(self, limits: tuple[Fraction, ...]) -> InferencePoint:
        """The best mechanism, repaired and proved."""
        guess = self._solve([float(limit) for limit in limits])
        proof = certified(self.problem, self.exact, limits, guess)
        if proof.upper - proof.lower > LOOSE and self._unlimited is not None:
            # Prices that hold without limits hold with them, and are close where limits hardly matter.
            most = self._unlimited[0]
            other = replace(most, value=guess.value, mechanism=guess.mechanism)
            proof = min(proof, certified(self.problem, self.exact, limits, other), key=lambda one: one.upper)
        exact = proof.lower == proof.upper and proof.within
        given = proof.given if exact else tuple(float(away) for away in proof.given)
        return InferencePoint(
            self._each(limits if exact else tuple(float(limit) for limit in limits)),
            proof.lower if exact else float(proof.lower),
            proof.upper if exact else float(proof.upper),
            self._each(given),
            proof,
            (self.labels, self.outputs),
            self.first,
        )

    def _each(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One number for each secret: the largest over the joints that may be true."""
        count = len(self.correlations)
        return tuple(max(v for v, o in zip(values, self.owners, strict=True) if o == k) for k in range(count))

    @cached_property
    def _unlimited(self) -> tuple[Optimum, FloatArray] | None:
        """On a long line, the best mechanism whatever it gives away, and how much that is."""
        return unlimited(self.problem) if self.solver.long else None

    def _solve(self, limits: Sequence[float], careful: bool = True) -> Optimum:
        if self._unlimited is not None and (self._unlimited[1] <= limits).all():
            return self._unlimited[0]
        try:
            return self.solver.solve(limits, careful)
        except Unsolved as problem:
            raise PolicyError(
                f"the best mechanism was not found: {problem}, from every start; group the inputs into "
                "fewer, or ask for another limit"
            ) from None

    def curve(self, within: float) -> InferenceCurve:
        """Tangents from both ends until every two neighbours meet on the curve, or closely above it."""
        low = max(float(before) for before in self.before)
        top = max(float(max(leak.max(axis=0).sum() for leak in self.problem.leaks)) + _slack(self), low)
        ends = [self._tangent(low), self._tangent(top)]
        kinks = {limit: value for limit, value, _ in ends}
        open_ = [(ends[0], ends[1])]
        while open_ and len(kinks) < MOST_PIECES:
            (a, value_a, steep), (b, value_b, flat) = open_.pop()
            if steep - flat <= SMALLEST_KINK or b - a <= SMALLEST_KINK:
                continue
            meet = (value_b - flat * b - value_a + steep * a) / (steep - flat)
            if not a + SMALLEST_KINK < meet < b - SMALLEST_KINK:
                continue
            advance("kinks of the frontier", len(kinks), len(kinks) + len(open_) + 1)
            expected = value_a + steep * (meet - a)
            middle = self._tangent(meet)
            kinks[meet] = middle[1]
            if expected - middle[1] > within:
                open_ += [((a, value_a, steep), middle), (middle, (b, value_b, flat))]
        return _pieces(kinks, within)

    def _tangent(self, limit: float) -> tuple[float, float, float]:
        found = self._solve([limit] * len(self.owners), careful=False)
        return limit, found.value, float(found.slopes.sum())


def _slack(question: Question) -> float:
    """What outputs that are never merged could add: nothing, but rounding at the last kink."""
    return 1e-9 * max(float(np.abs(leak).sum()) for leak in question.problem.leaks)


def _pieces(kinks: dict[float, float], within: float) -> InferenceCurve:
    """Kinks in order, those in the middle of a straight piece left out."""
    limits = sorted(kinks)
    kept = [limits[0]]
    for limit, after in zip(limits[1:], [*limits[2:], None], strict=True):
        if after is not None:
            left = (kinks[limit] - kinks[kept[-1]]) / (limit - kept[-1])
            right = (kinks[after] - kinks[limit]) / (after - limit)
            if left - right <= 10 * SMALLEST_KINK:
                continue
        kept.append(limit)
    if len(kept) > 1 and kinks[kept[-1]] - kinks[kept[-2]] <= SMALLEST_KINK:
        kept.pop()
    values = [kinks[limit] for limit in kept]
    slopes = tuple(
        (b - a) / (y - x) for x, y, a, b in zip(kept[:-1], kept[1:], values[:-1], values[1:], strict=True)
    )
    return InferenceCurve(tuple(kept), tuple(values), slopes, within)


def _refuse_same(correlations: list[Correlation], gain: Any, use_gain: Any) -> None:
    for item in correlations:
        if gain is None and use_gain is None and item.secret_equals_use:
            before = max(item.secret_prior.tolist())
            least = no_free_lunch(item.secret_prior)
            raise PolicyError(
                "secret and use are one property, so that whoever tells the use tells the secret: there is "
                "no free "
                f"lunch (Fernandes, Thm 5.1). It is guessed with {float(before):.6g} before; an accuracy "
                "of 1 - e and a "
                f"guess of at most {float(before):.6g} + e need e ≥ {float(least):.6g}"
            )


def _merged(table: ObjectArray, first: int, last: int) -> ObjectArray:
    """Columns first to last, the two ends with all that lies beyond them."""
    found = table[:, first : last + 1].copy()
    found[:, 0] = found[:, 0] + table[:, :first].sum(axis=1)
    found[:, -1] = found[:, -1] + table[:, last + 1 :].sum(axis=1)
    return found


def _window(space: Neighbours, prior: ObjectArray) -> tuple[int, int]:
    """The part of a long line of tallies that holds all but TAILS of the probability."""
    n = len(prior)
    if n < LARGE_LINE or not is_line(space):
        return 0, n - 1
    weights: FloatArray = prior.astype(np.float64)
    left, right = (int(np.searchsorted(np.cumsum(side), TAILS / 2)) for side in (weights, weights[::-1]))
    if _mirrored(weights):
        left = right = min(left, right)
    return left, n - 1 - right


def _mirrored(weights: FloatArray) -> bool:
    return bool((np.abs(weights - weights[::-1]) <= 1e-12).all())
