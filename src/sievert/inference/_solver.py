"""The program of the frontier, as much of it as is needed, solved at any limits.

Of a long line of tallies the program sees a core of likely inputs, whose ends stand for all that lies beyond
them, and likely guesses; it grows where the prices show that more is to be had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.inference._neighbours import is_line
from sievert.inference._program import AccuracyOptimum, AccuracyProgram, Part, close, mirror_of
from sievert.numerics import advance, require_size
from sievert.programs import Unsolved

__all__ = ["LOOSE", "ROUNDING", "Solver", "missing"]

LARGEST_PROGRAM = 150_000
# A line with so many probabilities starts with the guesses that hold a share of MOSTLY of what all are worth.
LINE, MOSTLY = 500, 0.98
# A longer one starts with a core that holds all but CORE of the probability, and with fewer guesses.
LONG_LINE, CORE, LIKELY = 2500, 1e-4, 0.9
# Where these guesses do not suffice on a line with so many, the core holds all but WIDE and has all guesses.
VERY_LONG_LINE, WIDE = 10_000, 1e-9
# Floats that are held at a time while guesses are priced that are not in the program.
LARGEST_BATCH = 2_000_000
# The core is made wider where it leaves more than this between the two bounds.
LOOSE = 2e-10
# A guess that exceeds the prices by less is not worth taking in: the bound is raised by that instead.
PRICED = 1e-11
# What a sum of a few floats may be off by, as a share of their sizes.
ROUNDING = 4e-15


class Solver:
    """The program of a problem, solved at any limits; each solve starts from the last."""

    def __init__(self, problem: AccuracyProgram) -> None:
        n, m = problem.shape
        require_size(
            n * m,
            LARGEST_PROGRAM,
            "the probabilities of the best mechanism",
            "group inputs or uses into fewer",
        )
        self.problem = problem
        self.mirrored = mirror_of(problem) is not None
        line = is_line(problem.space)
        self.parted, self.long = line and n * m >= LINE, line and n * m >= LONG_LINE
        self.core = _core(problem, CORE) if self.long else (0, n - 1)
        guesses = _likely(problem, LIKELY if self.long else MOSTLY) if self.parted else np.arange(m)
        self.wide: tuple[tuple[int, int], Part] | None = None
        self._take(guesses)

    def _take(self, guesses: IndexArray) -> None:
        """The program with these guesses, and their mirror images where there are any."""
        images = self.problem.shape[1] - 1 - guesses if self.mirrored else guesses
        self.part = Part(self.problem, self.core, np.unique(np.concatenate([guesses, images])))

    def solve(self, limits: Sequence[float], careful: bool = True, loose: float = LOOSE) -> AccuracyOptimum:
        """The optimum where secret b gives away at most limits[b]; a careful one can be proved closely.

        The core of a long line is made wider until its bounds are `loose` apart at most.
        """
        n, m = self.problem.shape
        best, least = None, np.inf
        while True:
            advance("guesses of the best mechanism", len(self.part.guesses), m)
            try:
                found = self.part.solve(limits, careful)
            except Unsolved:
                best = best or (self._inside(limits) if self.long else None)
                if best is None:
                    raise
                return best
            if not self.parted:
                return found
            found, excess, prices = _spread(self.problem, self.core, found)
            missed = np.flatnonzero(excess > PRICED)
            missed = self._near(missed) if self.long else np.arange(m if len(missed) else 0)
            whole = self._inside(limits) if len(missed) and n * m >= VERY_LONG_LINE else None
            if whole is not None:
                return whole
            if not len(missed):
                over = float(excess.max() + prices.sum() + found.slopes @ limits - found.value)
                if best is not None and over > least / 2 and found.value <= best.value + loose:
                    return best
                best, least = found, over
                if over <= loose or self.core == (0, n - 1):
                    return found
                self.core = _wider(self.problem, self.core)
            self._take(np.union1d(self.part.guesses, missed))

    def _inside(self, limits: Sequence[float]) -> AccuracyOptimum | None:
        """The optimum with every guess of a wide core, from inside; None where it is not found.

        Near the most that any mechanism is worth all guesses count, and the simplex takes long to order them.
        """
        if self.wide is None:
            core = _core(self.problem, WIDE)
            self.wide = core, Part(self.problem, core, np.arange(core[0], core[1] + 1))
        core, part = self.wide
        try:
            found = part.solve(limits, inside=True)
        except Unsolved:
            return None
        return _spread(self.problem, core, found)[0]

    def _near(self, missed: IndexArray) -> IndexArray:
        """Of the guesses that are worth taking in, those in the core and next to others."""
        taken = self.part.guesses
        more = max(2, len(taken) // 4)
        first, last = max(self.core[0], taken[0] - more), min(self.core[1], taken[-1] + more)
        return np.asarray(missed[(first <= missed) & (missed <= last)])


def _core(problem: AccuracyProgram, tails: float) -> tuple[int, int]:
    """The inputs that hold all but `tails` of what is given away, the same on both sides."""
    weights = np.sum([np.abs(leak).sum(axis=0) for leak in problem.leaks], axis=0)
    shares = weights / weights.sum()
    left, right = (int(np.searchsorted(np.cumsum(side), tails / 2)) for side in (shares, shares[::-1]))
    cut = min(left, right)
    return (
        (cut, len(weights) - 1 - cut) if close(weights, weights[::-1]) else (left, len(weights) - 1 - right)
    )


def _wider(problem: AccuracyProgram, core: tuple[int, int]) -> tuple[int, int]:
    """A fifth more inputs."""
    more = max(2, (core[1] - core[0]) // 10)
    return max(0, core[0] - more), min(problem.shape[0] - 1, core[1] + more)


def _likely(problem: AccuracyProgram, share: float) -> IndexArray:
    """The guesses that hold this share of what all are worth."""
    worth = problem.value.max(axis=1)
    order = np.argsort(-worth, kind="stable")
    enough = int(np.searchsorted(np.cumsum(worth[order]), share * worth.sum())) + 1
    return np.sort(order[:enough])


def _spread(
    problem: AccuracyProgram, core: tuple[int, int], found: AccuracyOptimum
) -> tuple[AccuracyOptimum, FloatArray, FloatArray]:
    """The optimum over all inputs and guesses, by how much guesses left out exceed the prices, and these.

    Beyond the core a price is the least that no guess of the program exceeds, which an end pays for. A guess
    that was left out takes the weights of the one in the program with which it exceeds the prices least.
    """
    n, m = problem.shape
    first, last = core
    inside, taken = np.clip(np.arange(n), first, last) - first, found.taken
    given = np.zeros((len(taken), n))
    for table, leak in zip(found.weights, problem.leaks, strict=True):
        given += table @ leak
    worth = problem.value[taken] - given
    prices = worth.max(axis=0)
    prices[first : last + 1] = found.prices
    prices[first] -= prices[:first].sum()
    prices[last] -= prices[last + 1 :].sum()
    edges = np.zeros((n - 1, 2, len(taken)))
    edges[first:last] = found.edges
    raised = prices + missing(problem, worth - prices, edges)
    excess, chosen = np.zeros(m), np.zeros(m, dtype=np.intp)
    chosen[taken] = np.arange(len(taken))
    left = np.setdiff1d(np.arange(m), taken)
    for some in np.array_split(left, 1 + left.size * given.size // LARGEST_BATCH):
        above = _polar(problem, problem.value[some][:, None, :] - (given + raised)[None, :, :])
        chosen[some], excess[some] = above.argmin(axis=1), above.min(axis=1)
    mechanism = np.zeros((n, m))
    mechanism[:, taken] = found.mechanism[inside]
    weights = tuple(table[chosen] for table in found.weights)
    whole = replace(found, mechanism=mechanism, prices=prices, weights=weights, edges=edges)
    return whole, excess, raised


def missing(problem: AccuracyProgram, functionals: FloatArray, edges: FloatArray) -> FloatArray:
    """What the solver's own multipliers leave above 0 at each input, with room for rounding."""
    if not problem.space.pairs:
        return np.asarray(np.maximum(functionals.max(axis=0), 0.0))
    rest, size = functionals.T.copy(), np.abs(functionals.T)
    ends, factors = np.array(problem.space.pairs).T, problem.factors[:, None]
    # c_a ≥ e^(-ε·length)·c_b and the reverse.
    for first, second, value in ((*ends, edges[:, 0]), (*ends[::-1], edges[:, 1])):
        np.add.at(rest, first, value)
        np.subtract.at(rest, second, value * factors)
        np.add.at(size, first, value)
        np.add.at(size, second, value)
    return np.asarray(np.maximum((rest + size * ROUNDING).max(axis=1), 0.0))


def _polar(problem: AccuracyProgram, functionals: FloatArray) -> FloatArray:
    """The most that a private column with an entry of 1 at the root makes of each functional."""
    held = functionals.copy()
    for child, parent, edge in problem.space.order:
        value, factor = held[..., child], problem.factors[edge]
        held[..., parent] += np.where(value > 0, value / factor, value * factor)
    return np.asarray(held[..., problem.space.roots].max(axis=-1))
