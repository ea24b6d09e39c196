"""One question about the frontier: its inputs, the program over them, and its points."""

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
from sievert.inference._extreme_joints import extreme_joints
from sievert.inference._geometric import unlimited
from sievert.inference._inputs import actions_of, gain_table, gained, inputs_of, possible_cells, wanted
from sievert.inference._neighbours import is_line, neighbours_of
from sievert.inference._points import SAME_LIMIT, InferencePoint
from sievert.inference._program import AccuracyOptimum, AccuracyProgram
from sievert.inference._solver import LOOSE as CLOSE
from sievert.inference._solver import Solver
from sievert.measures import as_gain
from sievert.numerics import abbreviated, as_fraction, flag, is_exact, read_eps, require_float
from sievert.programs import Unsolved
from sievert.proofs import FrontierProof, Neighbours, exact_rows
from sievert.spaces import metric_of

__all__ = ["FrontierProblem"]

# What the ends of a line of tallies may stand for, at so many tallies or more.
TAILS, LARGE_LINE = 1e-11, 60
# Bounds further apart than this are tried to be brought together.
LOOSE = 1e-8


class FrontierProblem:
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
        self.remark = _one_property(self.correlations) if gain is None and use_gain is None else ""
        blocks = [
            (owner, world)
            for owner, joint in enumerate(joints)
            for world in extreme_joints(joint, possible_cells(joint, self.labels, uses), *near)
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
        self.problem = AccuracyProgram(value, tuple(leak.astype(np.float64) for leak in leaks), space)
        self.solver = Solver(self.problem)

    def limits(self, given: Any) -> tuple[Fraction, ...]:
        """One limit a secret, at least the best guess before any release."""
        count = len(self.correlations)
        items = list(given) if isinstance(given, tuple) else [given] * count
        if len(items) != count:
            raise PolicyError(
                f"limits has the entry {abbreviated(given)}; give one number, or one for each of {count}"
            )
        found = []
        for item, before in zip((items[owner] for owner in self.owners), self.before, strict=True):
            try:
                value = as_fraction(item) if is_exact(item) else read_eps(float(item))
                require_float("limits", value, PolicyError)
            except (TypeError, ValueError, OverflowError):
                raise PolicyError(f"limits has the entry {abbreviated(item)}; give probabilities") from None
            if value < before and float(before) - float(value) > SAME_LIMIT:
                raise PolicyError(
                    f"limits has the entry {float(value):.6g}; the secret is guessed with probability "
                    f"{float(before):.6g} before any release, and no mechanism can be below that"
                )
            # 2/3 as a float is meant as the best guess before, which is a little more.
            close = not is_exact(item) and abs(float(value) - float(before)) <= SAME_LIMIT
            found.append(before if close else max(value, before))
        return tuple(found)

    def asked(self, limits: tuple[Fraction, ...]) -> dict[str, Any]:
        """What a proof about the best mechanism under these limits is about."""
        exact, nothing = self.exact, np.empty((0, 0), dtype=object)
        return FrontierProof(
            self.problem.space, exact.prior, exact.gain, exact.joints, exact.wants, limits, nothing, nothing,
            (), (), (), Fraction(0), Fraction(0), exact.tails, exact.robust,
        ).question()  # fmt: skip

    def point(self, limits: tuple[Fraction, ...]) -> InferencePoint:
        """The best mechanism under these limits."""
        return self.proved(limits, self.solve([float(limit) for limit in limits]))

    def proved(self, limits: tuple[Fraction, ...], guess: AccuracyOptimum) -> InferencePoint:
        """A guess of the best mechanism and of its prices, repaired and proved."""
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
            self.remark,
            self.first,
        )

    def _each(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One number for each secret: the largest over the joints that may be true."""
        count = len(self.correlations)
        return tuple(max(v for v, o in zip(values, self.owners, strict=True) if o == k) for k in range(count))

    @cached_property
    def _unlimited(self) -> tuple[AccuracyOptimum, FloatArray] | None:
        """On a long line, the best mechanism whatever it gives away, and how much that is."""
        return unlimited(self.problem) if self.solver.long else None

    def solve(self, limits: Sequence[float], careful: bool = True, loose: float = CLOSE) -> AccuracyOptimum:
        """A float guess of the optimum, up to `loose` on a long line; a careful one can be proved closely."""
        if self._unlimited is not None and (self._unlimited[1] <= limits).all():
            return self._unlimited[0]
        try:
            return self.solver.solve(limits, careful, loose)
        except Unsolved as problem:
            raise PolicyError(
                f"the best mechanism was not found: {problem}, from every start; group the inputs into "
                "fewer, or ask for another limit"
            ) from None


def _one_property(correlations: list[Correlation]) -> str:
    """Fernandes, Thm 5.1, about the first secret that is the use."""
    for item in correlations:
        if item.secret_equals_use:
            before, least = float(max(item.secret_prior.tolist())), float(no_free_lunch(item.secret_prior))
            return (
                "Secret and use are one property, so there is no free lunch (Fernandes, Thm 5.1): an "
                f"accuracy of 1 - e and a guess of at most {before:.6g} + e need e ≥ {least:.6g}."
            )
    return ""


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
