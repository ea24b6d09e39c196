"""From a solver's guess to a mechanism and a bound that are proved, whatever the solver did.

The guess is first read as simple fractions: where these fit exactly, the answer is exact. Otherwise the
mechanism is repaired (every column raised to the least private one above it, what is missing from 1 spread
evenly) and the prices are raised until no private column exceeds them. What both cost is the gap between the
two bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, ObjectArray
from sievert.inference._program import AccuracyOptimum, AccuracyProgram
from sievert.inference._solver import ROUNDING, missing
from sievert.proofs import FrontierProof, Neighbours, binary_digits, forest_excess, polar_excess

__all__ = ["Exactly", "certified", "repaired"]

# Simple fractions have denominators up to these; they are tried on programs of up to so many probabilities.
DENOMINATORS, LARGEST_SIMPLE = (1000, 10**6), 2500
# By how much a private column is made more private than it must be, so that rounding cannot undo it.
MARGIN = 1e-11
GRID = 2**70
# Bounds further apart than this are tried to be brought together by simpler prices.
LOOSE = Fraction(1, 10**12)
# The least positive entry of a private column.
LEAST = 2.0**-200


@dataclass(frozen=True, eq=False)
class Whole:
    """A table of fractions as whole numbers over one denominator, so that sums need no common divisor."""

    tops: ObjectArray
    bottom: int

    @property
    def fractions(self) -> ObjectArray:
        """The entries themselves."""
        found = np.empty(self.tops.shape, dtype=object)
        zero, bottom = Fraction(0), self.bottom
        found.ravel()[:] = [Fraction(top, bottom) if top else zero for top in self.tops.ravel().tolist()]
        return found


def _whole(*tables: ObjectArray) -> tuple[tuple[ObjectArray, ...], int]:
    """Tables of fractions as whole numbers over one denominator."""
    bottom = math.lcm(*{value.denominator for table in tables for value in table.ravel().tolist()})
    found = []
    for table in tables:
        tops = np.empty(table.shape, dtype=object)
        tops.ravel()[:] = [v.numerator * (bottom // v.denominator) for v in table.ravel().tolist()]
        found.append(tops)
    return tuple(found), bottom


@dataclass(frozen=True, eq=False)
class Exactly:
    """The numbers of a problem as fractions, as its proof has them (`FrontierProof`)."""

    prior: ObjectArray
    gain: ObjectArray
    joints: tuple[ObjectArray, ...]
    wants: tuple[ObjectArray | None, ...]
    leaks: tuple[ObjectArray, ...]
    tails: Fraction
    robust: bool

    @cached_property
    def worth(self) -> ObjectArray:
        """What each guess is worth together with each input [guess, input]."""
        table = np.full(self.gain.shape, Fraction(0), dtype=object)
        places = np.nonzero(self.gain)
        table[places] = self.gain[places] * self.prior[places[1]]
        return table

    @cached_property
    def _whole(self) -> tuple[tuple[ObjectArray, ...], int]:
        """What guesses are worth, and what is given away with each, over one denominator."""
        return _whole(self.worth, *self.leaks)

    @cached_property
    def _silent(self) -> tuple[Fraction, ...]:
        """What a mechanism that says nothing gives away about each secret."""
        (_, *leaks), bottom = self._whole
        return tuple(Fraction(max(leak.sum(axis=1).tolist()), bottom) for leak in leaks)

    def given(self, mechanism: Whole) -> tuple[Fraction, ...]:
        """What a mechanism gives away about each secret."""
        (_, *leaks), bottom = self._whole
        used = mechanism.tops[:, mechanism.tops.any(axis=0)]
        return tuple(Fraction((leak @ used).max(axis=0).sum(), bottom * mechanism.bottom) for leak in leaks)

    def kept(self, limits: tuple[Fraction, ...], mechanism: Whole) -> Whole:
        """The mechanism, now and then silent where it gives away more than a limit that silence is below."""
        share = Fraction(0)
        for away, limit, silent in zip(self.given(mechanism), limits, self._silent, strict=True):
            if away > limit > silent:
                share = max(share, (away - limit) / (away - silent))
        if not share:
            return mechanism
        part = min(GRID, int(share * GRID) + 1)
        tops = np.asarray(mechanism.tops * (GRID - part))
        best = int(np.argmax(self._whole[0][0].sum(axis=1)))
        tops[:, best] = tops[:, best] + part * mechanism.bottom
        return Whole(tops, mechanism.bottom * GRID)

    def proof(
        self,
        space: Neighbours,
        limits: tuple[Fraction, ...],
        mechanism: Whole,
        prices: ObjectArray,
        weights: tuple[ObjectArray, ...],
        multipliers: tuple[tuple[int, int, int, Fraction], ...] = (),
    ) -> FrontierProof:
        """The proof with the numbers that its own parts give."""
        (worth, *_), bottom = self._whole
        guesses, inputs = np.nonzero(worth)
        lower = (worth[guesses, inputs] * mechanism.tops[inputs, guesses]).sum()
        return FrontierProof(
            space, self.prior, self.gain, self.joints, self.wants, limits, mechanism.fractions, prices,
            weights, multipliers, self.given(mechanism), Fraction(lower, bottom * mechanism.bottom),
            self.bound(limits, prices, weights), self.tails, self.robust,
        )  # fmt: skip

    def bound(
        self, limits: tuple[Fraction, ...], prices: ObjectArray, weights: tuple[ObjectArray, ...]
    ) -> Fraction:
        """What prices and weights prove that none exceeds."""
        slopes = [sum(table[0].tolist(), Fraction(0)) for table in weights]
        return sum(prices.tolist(), self.tails) + sum(
            (slope * (limit + self.tails) for slope, limit in zip(slopes, limits, strict=True)), Fraction(0)
        )

    def functionals(self, prices: ObjectArray, weights: tuple[ObjectArray, ...]) -> Whole:
        """What each guess is worth beyond the prices [guess, input]; both as whole numbers over GRID."""
        (worth, *leaks), bottom = self._whole
        found = worth * GRID - prices[None, :] * bottom
        for table, leak in zip(weights, leaks, strict=True):
            found = found - table @ leak
        return Whole(np.asarray(found), bottom * GRID)


def certified(
    problem: AccuracyProgram, exact: Exactly, limits: tuple[Fraction, ...], guess: AccuracyOptimum
) -> FrontierProof:
    """The best proof that can be made of a guess: exact, or with a gap as small as rounding allows."""
    n, m = problem.shape
    known = problem.space.form == "free" or problem.space.alpha is not None
    if known and n * m <= LARGEST_SIMPLE:
        for most in DENOMINATORS:
            simple = _simple(problem, exact, limits, guess, most)
            if simple is not None:
                return simple
    mechanism = exact.kept(limits, repaired(problem.space, guess.mechanism))
    proof = exact.proof(problem.space, limits, mechanism, *_raised(problem, exact, guess))
    if proof.upper - proof.lower > LOOSE:
        others = (option(exact, guess) for option in (_entrywise, _worthwhile))
        proofs = [proof, *(exact.proof(problem.space, limits, mechanism, *other) for other in others)]
        proof = min(proofs, key=lambda one: one.upper)
    return proof


def _simple(
    problem: AccuracyProgram, exact: Exactly, limits: tuple[Fraction, ...], guess: AccuracyOptimum, most: int
) -> FrontierProof | None:
    """The guess in fractions of small denominators, where these are optimal exactly."""
    weights = tuple(
        _even(_fractions(table, most), Fraction(float(slope)).limit_denominator(most))
        for table, slope in zip(guess.weights, guess.slopes, strict=True)
    )
    listed = tuple(
        (e, t, y, Fraction(v).limit_denominator(most)) for e, t, y, v in _listed(problem.space, guess.edges)
    )
    (tops,), bottom = _whole(_fractions(guess.mechanism, most))
    prices = _fractions(guess.prices[None], most)[0]
    proof = exact.proof(problem.space, limits, Whole(tops, bottom), prices, weights, listed)
    return proof if proof.lower == proof.upper and proof.within and proof.verify().holds else None


def _fractions(table: FloatArray, most: int) -> ObjectArray:
    found = np.empty(table.shape, dtype=object)
    found.ravel()[:] = [Fraction(value).limit_denominator(most) for value in table.ravel().tolist()]
    return found


def _even(table: ObjectArray, slope: Any) -> ObjectArray:
    """Rows of weights that sum to one number: what is missing goes to the largest of each row."""
    fixed = table.copy()
    rows = np.arange(len(fixed))
    fixed[rows, fixed.argmax(axis=1)] += slope - fixed.sum(axis=1)
    return fixed


def repaired(space: Neighbours, guess: FloatArray) -> Whole:
    """A private channel near the guess: exact rows, the rest of each added to one column."""
    columns, tightest = _closed(space, np.maximum(guess, 0.0))
    used = np.flatnonzero(columns.any(axis=0))
    ratios = [value.as_integer_ratio() for value in columns[:, used].ravel().tolist()]
    # Denominators of floats are powers of 2: whole numbers over the largest.
    bottom = max(q for _, q in ratios)
    tops = np.full(columns.shape, 0, dtype=object)
    tops[:, used] = np.array([p * (bottom // q) for p, q in ratios], dtype=object).reshape(-1, len(used))
    sums = tops.sum(axis=1)
    low, high = Fraction(min(sums), bottom), Fraction(max(sums), bottom)
    sink = int(np.argmax(columns.sum(axis=0)))
    if low < high or high != 1:
        # Scaled so that what is missing from 1 is a private column itself.
        factor = Fraction(tightest)
        scale = int((1 - factor) / (high - factor * low) * GRID)
        bottom *= GRID
        tops = np.asarray(tops * scale)
        tops[:, sink] = tops[:, sink] + (bottom - sums * scale)
    return Whole(tops, bottom)


def _closed(space: Neighbours, columns: FloatArray) -> tuple[FloatArray, float]:
    """The least private columns above these, and the largest of the factors below 1 between neighbours."""
    if space.form == "free":
        return columns, 0.0
    if space.form == "uniform":
        high = _step(space, 0)
        found, tightest = np.maximum(columns, columns.max(axis=0) * high), high if high < 1 - 1e-9 else 0.0
    elif space.form == "forest":
        found, tightest = _swept(space, columns)
    else:
        kernel = _kernel(space)
        found = np.stack([(kernel * column[None, :]).max(axis=1) for column in columns.T], axis=1)
        tightest = float(kernel[kernel < 1 - 1e-9].max(initial=0.0))
    # Below this a float is no private entry; a constant is private, and so is the larger of the two.
    return np.where(found.max(axis=0) > 0, np.maximum(found, LEAST), found), max(tightest, LEAST)


def _step(space: Neighbours, edge: int) -> float:
    """e^(-ε·length) of an edge, a little larger than it must be."""
    return min(1.0, float(space.shrinks(space.lengths[edge])[1]) * (1 + 4 * ROUNDING))


def _swept(space: Neighbours, columns: FloatArray) -> tuple[FloatArray, float]:
    """From the leaves to the roots and back: what a neighbour asks for, asked once each way."""
    found = columns.copy()
    high = [_step(space, edge) for edge in range(len(space.lengths))]
    for child, parent, edge in space.order:
        np.maximum(found[parent], found[child] * high[edge], out=found[parent])
    for child, parent, edge in space.order[::-1]:
        np.maximum(found[child], found[parent] * high[edge], out=found[child])
    return found, max((factor for factor in high if factor < 1 - 1e-9), default=0.0)


def _kernel(space: Neighbours) -> FloatArray:
    """e^(-ε·distance) between the inputs of a graph, a little larger than it must be."""
    n = space.size
    logs = np.full((n, n), -np.inf)
    np.fill_diagonal(logs, 0.0)
    for (a, b), length in zip(space.pairs, space.lengths, strict=True):
        high = float(space.shrinks(length)[1])
        step = np.log(high) * (1 - MARGIN) if high > 0 else -np.inf
        logs[a, b] = logs[b, a] = max(logs[a, b], step)
    for middle in range(n):
        np.maximum(logs, logs[:, middle][:, None] + logs[middle][None, :], out=logs)
    return np.asarray(np.exp(logs))


def _raised(
    problem: AccuracyProgram, exact: Exactly, guess: AccuracyOptimum
) -> tuple[ObjectArray, tuple[ObjectArray, ...], tuple[tuple[int, int, int, Fraction], ...]]:
    """Prices that no private column exceeds, with the weights and multipliers that go with them."""
    weights = _levelled(guess.weights)
    listed = tuple((e, t, y, Fraction(_grid(v), GRID)) for e, t, y, v in _listed(problem.space, guess.edges))
    prices = _on_grid(guess.prices)
    functionals = exact.functionals(prices, weights)
    if problem.space.form in ("forest", "graph"):
        bottom = functionals.bottom
        rest = np.array([[top / bottom for top in row] for row in functionals.tops[guess.taken].tolist()])
        more = _on_grid(missing(problem, rest, guess.edges)) + 1
        prices = prices + more
        functionals = Whole(functionals.tops - more[None, :] * (bottom // GRID), bottom)
    raised = Whole(prices, GRID).fractions + _excess(exact, problem.space, functionals, listed)
    return raised, tuple(Whole(table, GRID).fractions for table in weights), listed


def _entrywise(
    exact: Exactly, guess: AccuracyOptimum
) -> tuple[ObjectArray, tuple[ObjectArray, ...], tuple[tuple[int, int, int, Fraction], ...]]:
    """Prices that no column at all exceeds: close to the best where ε is large."""
    weights = _levelled(guess.weights)
    worth = exact.functionals(np.full(len(exact.prior), 0, dtype=object), weights)
    prices = Whole(worth.tops.max(axis=0), worth.bottom).fractions
    return prices, tuple(Whole(table, GRID).fractions for table in weights), ()


def _worthwhile(
    exact: Exactly, guess: AccuracyOptimum
) -> tuple[ObjectArray, tuple[ObjectArray, ...], tuple[tuple[int, int, int, Fraction], ...]]:
    """What telling the use itself is worth, whatever that gives away."""
    weights = tuple(np.full(table.shape, Fraction(0), dtype=object) for table in guess.weights)
    return np.asarray(exact.worth.max(axis=0)), weights, ()


def _levelled(tables: tuple[FloatArray, ...]) -> tuple[ObjectArray, ...]:
    """Weights ≥ 0 as whole numbers over GRID, with one sum for every guess."""
    weights = tuple(_even(_on_grid(table), _grid(float(table.sum(axis=1).mean()))) for table in tables)
    weights = tuple(np.maximum(table, 0) for table in weights)
    return tuple(_even(table, max(table.sum(axis=1))) for table in weights)


def _excess(
    exact: Exactly,
    space: Neighbours,
    functionals: Whole,
    multipliers: tuple[tuple[int, int, int, Fraction], ...],
) -> ObjectArray:
    """What must be added to the prices for no private column to exceed them."""
    n = space.size
    more = np.full(n, Fraction(0), dtype=object)
    if space.form == "free":
        more[:] = [Fraction(max(0, top), functionals.bottom) for top in functionals.tops.max(axis=0)]
        return more
    if space.form == "forest":
        digits = binary_digits(exact.prior)
        scaled = [
            [-((-top << digits) // functionals.bottom) for top in row] for row in functionals.tops.tolist()
        ]
        more[space.roots] = Fraction(max(0, *forest_excess(space, scaled)), 1 << digits)
        return more
    worst = max([Fraction(0), *polar_excess(space, functionals.fractions, multipliers)])
    more[:] = worst / n if space.form == "uniform" else worst
    return more


def _listed(space: Neighbours, edges: FloatArray) -> list[tuple[int, int, int, float]]:
    """The multipliers that a proof must have: those of a graph with circles."""
    if space.form != "graph":
        return []
    return [(int(e), int(t), int(y), float(edges[e, t, y])) for e, t, y in np.argwhere(edges > 0).tolist()]


def _grid(value: float) -> int:
    """The nearest whole number over GRID."""
    top, bottom = value.as_integer_ratio()
    return (2 * top * GRID + bottom) // (2 * bottom)


def _on_grid(table: FloatArray) -> ObjectArray:
    """The nearest whole numbers over GRID."""
    found = np.empty(table.shape, dtype=object)
    found.ravel()[:] = [_grid(value) for value in table.ravel().tolist()]
    return found
