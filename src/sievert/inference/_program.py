"""The largest accuracy under limits on what secrets give away, as a linear program.

Outputs are guesses of the use: merging outputs with the same best guess keeps the accuracy and lowers
everything else. Variables are the mechanism M [input, guess] and t[b,y] ≥ what any guess of secret b gains at
output y.

A line of tallies that is its own mirror image has an optimal mechanism that is too, so half of the variables
and of the rows suffice. Of a long line the program sees a core of likely inputs, whose ends stand for all
that lies beyond them, and likely guesses; it grows where the prices show that more is to be had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import FloatArray, IndexArray
from sievert.inference._neighbours import is_line
from sievert.numerics import advance, require_size
from sievert.programs import LinearProgram, MovingProgram, Solution, Unsolved
from sievert.proofs import Neighbours

__all__ = ["ROUNDING", "Optimum", "Problem", "Solver", "missing"]

LARGEST_PROGRAM = 150_000
# Numbers of two mirror images that differ by a smaller share are the same but for rounding.
SAME = 1e-13
# A line with so many probabilities starts with the guesses that hold a share of MOSTLY of what all are worth.
LINE, MOSTLY = 500, 0.98
# A longer one starts with a core that holds all but CORE of the probability, and with fewer guesses.
LONG_LINE, CORE, LIKELY = 2500, 1e-4, 0.9
# Where these guesses do not suffice on a line with so many, the core holds all but WIDE and has all guesses.
VERY_LONG_LINE, WIDE = 10_000, 1e-9
LARGE_PROGRAM = 1000
# Floats that are held at a time while guesses are priced that are not in the program.
LARGEST_BATCH = 2_000_000
# The core is made wider where it leaves more than this between the two bounds.
LOOSE = 2e-10
# A guess that exceeds the prices by less is not worth taking in: the bound is raised by that instead.
PRICED = 1e-11
# What a sum of a few floats may be off by, as a share of their sizes.
ROUNDING = 4e-15


@dataclass(frozen=True, eq=False)
class Problem:
    """What mechanisms are worth [guess, input], what they give away about each secret, and who are
    neighbours."""

    value: FloatArray
    leaks: tuple[FloatArray, ...]
    space: Neighbours

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and of guesses."""
        return self.value.shape[1], self.value.shape[0]

    @cached_property
    def factors(self) -> FloatArray:
        """e^(-ε·length) of each edge."""
        return np.array([float(self.space.shrinks(length)[1]) for length in self.space.lengths])


@dataclass(frozen=True, eq=False)
class Optimum:
    """A float guess of the best mechanism and of the multipliers that prove it.

    `edges` [edge, way, guess] are those of privacy, for the guesses `taken` into the program.
    """

    value: float
    mechanism: FloatArray
    prices: FloatArray
    weights: tuple[FloatArray, ...]
    slopes: FloatArray
    edges: FloatArray
    taken: IndexArray


@dataclass(frozen=True, eq=False)
class _Mirror:
    """Where the mirror image of each column and of each row stands."""

    columns: IndexArray
    rows: IndexArray


class Solver:
    """The program of a problem, solved at any limits; each solve starts from the last."""

    def __init__(self, problem: Problem) -> None:
        n, m = problem.shape
        require_size(
            n * m,
            LARGEST_PROGRAM,
            "the probabilities of the best mechanism",
            "group inputs or uses into fewer",
        )
        self.problem = problem
        self.mirrored = _mirror(problem) is not None
        line = is_line(problem.space)
        self.parted, self.long = line and n * m >= LINE, line and n * m >= LONG_LINE
        self.core = _core(problem, CORE) if self.long else (0, n - 1)
        guesses = _likely(problem, LIKELY if self.long else MOSTLY) if self.parted else np.arange(m)
        self.wide: tuple[tuple[int, int], _Part] | None = None
        self._take(guesses)

    def _take(self, guesses: IndexArray) -> None:
        """The program with these guesses, and their mirror images where there are any."""
        images = self.problem.shape[1] - 1 - guesses if self.mirrored else guesses
        self.part = _Part(self.problem, self.core, np.unique(np.concatenate([guesses, images])))

    def solve(self, limits: Sequence[float], careful: bool = True) -> Optimum:
        """The optimum where secret b gives away at most limits[b]; a careful one can be proved closely."""
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
                over = float(excess.max())
                if careful:
                    over += float(prices.sum() + found.slopes @ limits - found.value)
                if careful and best is not None and over > least / 2:
                    return best
                best, least = found, over
                if over <= LOOSE or self.core == (0, n - 1):
                    return found
                self.core = _wider(self.problem, self.core)
            self._take(np.union1d(self.part.guesses, missed))

    def _inside(self, limits: Sequence[float]) -> Optimum | None:
        """The optimum with every guess of a wide core, from inside; None where it is not found.

        Near the most that any mechanism is worth all guesses count, and the simplex takes long to order them.
        """
        if self.wide is None:
            core = _core(self.problem, WIDE)
            self.wide = core, _Part(self.problem, core, np.arange(core[0], core[1] + 1))
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


class _Part:
    """The program with some of the inputs and of the guesses."""

    def __init__(self, problem: Problem, core: tuple[int, int], guesses: IndexArray) -> None:
        self.guesses = guesses
        self.problem = _within(Problem(problem.value[guesses], problem.leaks, problem.space), core)
        n, m = self.problem.shape
        self.full = _program(self.problem)
        mirror = _mirror(self.problem)
        self.fold = None if mirror is None else _Fold(self.full, mirror)
        self.moving = MovingProgram(self.full if self.fold is None else self.fold.program)
        first = n + sum(len(leak) for leak in problem.leaks) * m
        self.limit_rows = np.arange(first, first + len(problem.leaks))

    def solve(self, limits: Sequence[float], careful: bool = True, inside: bool = False) -> Optimum:
        """The optimum among mechanisms with these guesses; inside the optimal face where that is asked."""
        upper = np.asarray(limits, dtype=np.float64)
        rows = self.limit_rows if self.fold is None else self.fold.kept_at[self.limit_rows]
        found = self.moving.inside(rows, upper) if inside else self.moving.solve(rows, upper, careful)
        if self.fold is None:
            return self._read(found.primal, found.dual, -found.value)
        return self._read(*self.fold.unfolded(found), -found.value)

    def _read(self, primal: FloatArray, dual: FloatArray, value: float) -> Optimum:
        problem = self.problem
        n, m = problem.shape
        at, weights = n, []
        for leak in problem.leaks:
            weights.append(np.maximum(dual[at : at + len(leak) * m].reshape(len(leak), m).T, 0.0))
            at += len(leak) * m
        slopes = np.maximum(-dual[at : at + len(problem.leaks)], 0.0)
        at += len(problem.leaks)
        edges = np.zeros((0, 2, m))
        if problem.space.form in ("forest", "graph"):
            edges = np.maximum(dual[at:], 0.0).reshape(len(problem.space.pairs), 2, m)
        mechanism = primal[: n * m].reshape(n, m)
        return Optimum(value, mechanism, -dual[:n], tuple(weights), slopes, edges, self.guesses)


# ── A long line: few inputs and few guesses of many ─────────────────────────────────────────────────────────


def _core(problem: Problem, tails: float) -> tuple[int, int]:
    """The inputs that hold all but `tails` of what is given away, the same on both sides."""
    weights = np.sum([np.abs(leak).sum(axis=0) for leak in problem.leaks], axis=0)
    shares = weights / weights.sum()
    left, right = (int(np.searchsorted(np.cumsum(side), tails / 2)) for side in (shares, shares[::-1]))
    cut = min(left, right)
    return (
        (cut, len(weights) - 1 - cut) if _close(weights, weights[::-1]) else (left, len(weights) - 1 - right)
    )


def _wider(problem: Problem, core: tuple[int, int]) -> tuple[int, int]:
    """A fifth more inputs."""
    more = max(2, (core[1] - core[0]) // 10)
    return max(0, core[0] - more), min(problem.shape[0] - 1, core[1] + more)


def _likely(problem: Problem, share: float) -> IndexArray:
    """The guesses that hold this share of what all are worth."""
    worth = problem.value.max(axis=1)
    order = np.argsort(-worth, kind="stable")
    enough = int(np.searchsorted(np.cumsum(worth[order]), share * worth.sum())) + 1
    return np.sort(order[:enough])


def _within(problem: Problem, core: tuple[int, int]) -> Problem:
    """The problem of mechanisms that do not tell the inputs beyond an end of the core from that end."""
    first, last = core
    if last - first + 1 == problem.shape[0]:
        return problem
    space = problem.space
    pairs = tuple((i, i + 1) for i in range(last - first))
    part = replace(space, size=last - first + 1, pairs=pairs, lengths=space.lengths[first:last])
    starts = np.concatenate([[0], np.arange(first + 1, last + 1)])
    tables = [np.add.reduceat(table, starts, axis=1) for table in (problem.value, *problem.leaks)]
    return Problem(tables[0], tuple(tables[1:]), part)


def _spread(
    problem: Problem, core: tuple[int, int], found: Optimum
) -> tuple[Optimum, FloatArray, FloatArray]:
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


def missing(problem: Problem, functionals: FloatArray, edges: FloatArray) -> FloatArray:
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


def _polar(problem: Problem, functionals: FloatArray) -> FloatArray:
    """The most that a private column with an entry of 1 at the root makes of each functional."""
    held = functionals.copy()
    for child, parent, edge in problem.space.order:
        value, factor = held[..., child], problem.factors[edge]
        held[..., parent] += np.where(value > 0, value / factor, value * factor)
    return np.asarray(held[..., problem.space.roots].max(axis=-1))


class _Entries:
    """Rows of a sparse matrix, gathered block by block."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.columns: list[Any] = []
        self.values: list[Any] = []
        self.lower: list[FloatArray] = []
        self.upper: list[FloatArray] = []
        self.count = 0

    def block(self, lower: FloatArray, upper: FloatArray, *parts: tuple[Any, Any, Any]) -> None:
        """As many rows as bounds; each part is (row of the block, column, value)."""
        for row, column, value in parts:
            r, c, v = np.broadcast_arrays(row, column, value)
            self.rows.append(self.count + r.ravel())
            self.columns.append(c.ravel())
            self.values.append(v.ravel().astype(np.float64))
        self.lower.append(lower)
        self.upper.append(upper)
        self.count += len(lower)


def _program(problem: Problem) -> LinearProgram:
    """Rows: sums of M; t above every guess; sums of t; privacy."""
    n, m = problem.shape
    blocks = len(problem.leaks)
    u, y = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    cell, tops = u * m + y, n * m + np.arange(blocks * m).reshape(blocks, m)
    rows = _Entries()
    rows.block(np.ones(n), np.ones(n), (u, cell, 1.0))
    for b, leak in enumerate(problem.leaks):
        for row in leak:
            rows.block(
                np.zeros(m), np.full(m, np.inf), (y, cell, -row[:, None]), (np.arange(m), tops[b], 1.0)
            )
    limits = np.repeat(np.arange(blocks)[:, None], m, axis=1)
    rows.block(np.full(blocks, -np.inf), np.full(blocks, np.inf), (limits, tops, 1.0))
    columns = n * m + blocks * m
    free = np.arange(n * m, columns)
    if problem.space.form in ("forest", "graph"):
        _edge_rows(rows, problem, m)
    elif problem.space.form == "uniform":
        least = columns + np.arange(m)
        columns += m
        rows.block(np.zeros(n * m), np.full(n * m, np.inf), (cell, cell, 1.0), (cell, least[y], -1.0))
        shrunk = -float(problem.factors[0])
        rows.block(np.zeros(n * m), np.full(n * m, np.inf), (cell, least[y], 1.0), (cell, cell, shrunk))
    cost = np.zeros(columns)
    cost[: n * m] = -problem.value.T.ravel()
    lower = np.zeros(columns)
    lower[free] = -np.inf
    upper = np.full(columns, np.inf)
    if problem.space.form == "forest" and n * m >= LARGE_PROGRAM:
        # Implied by the sums, and it keeps the simplex from wandering far; prices are raised for it later.
        upper[: n * m] = 1.0
    places = (np.concatenate(rows.rows), np.concatenate(rows.columns))
    matrix = csc_array((np.concatenate(rows.values), places), shape=(rows.count, columns))
    return LinearProgram(cost, matrix, np.concatenate(rows.lower), np.concatenate(rows.upper), lower, upper)


def _edge_rows(rows: _Entries, problem: Problem, m: int) -> None:
    """c_a ≥ e^(-ε·length)·c_b and the reverse, for each edge and guess."""
    ends = np.array(problem.space.pairs, dtype=np.intp)
    place = np.arange(2 * len(ends) * m).reshape(len(ends), 2, m)
    guesses = np.arange(m)
    rows.block(
        np.zeros(place.size),
        np.full(place.size, np.inf),
        (place, ends[:, :, None] * m + guesses, 1.0),
        (place, ends[:, ::-1, None] * m + guesses, -problem.factors[:, None, None]),
    )


# ── A line that is its own mirror image ─────────────────────────────────────────────────────────────────────


def _mirror(problem: Problem) -> _Mirror | None:
    """The reversal of a line of tallies, where nothing tells it from the line."""
    n, m = problem.shape
    space = problem.space
    if not is_line(space) or space.lengths != space.lengths[::-1]:
        return None
    if not _close(problem.value, problem.value[::-1, ::-1]):
        return None
    turned = [_turned(leak) for leak in problem.leaks]
    if any(order is None for order in turned):
        return None
    inputs, back = np.arange(n)[::-1], np.arange(m)[::-1]
    cells = (inputs[:, None] * m + back[None, :]).ravel()
    columns, rows, at, base = [cells], [inputs], n, n * m
    for order in turned:
        assert order is not None
        columns.append(base + back)
        rows.append((at + np.array(order)[:, None] * m + back[None, :]).ravel())
        base, at = base + m, at + len(order) * m
    rows.append(at + np.arange(len(turned)))
    at += len(turned)
    edges = np.arange(2 * (n - 1))[::-1]
    rows.append((at + edges[:, None] * m + back[None, :]).ravel())
    return _Mirror(np.concatenate(columns), np.concatenate(rows))


def _turned(leak: FloatArray) -> list[int] | None:
    """Which guess of the secret is each one's mirror image."""
    order = []
    for row in leak:
        found = [w for w, other in enumerate(leak) if _close(row[::-1], other)]
        if not found:
            return None
        order.append(found[0])
    return order if sorted(order) == list(range(len(leak))) else None


def _close(first: FloatArray, second: FloatArray) -> bool:
    return bool((np.abs(first - second) <= SAME * np.abs(first).max(initial=0.0)).all())


class _Fold:
    """The program of mechanisms that are their own mirror image: one column and one row of each pair."""

    def __init__(self, program: LinearProgram, mirror: _Mirror) -> None:
        size, height = len(mirror.columns), len(mirror.rows)
        owner = np.minimum(np.arange(size), mirror.columns)
        used = np.unique(owner)
        self.place = np.searchsorted(used, owner)
        spread = csc_array((np.ones(size), (np.arange(size), self.place)), shape=(size, len(used)))
        kept = np.flatnonzero(np.arange(height) <= mirror.rows)
        self.kept, self.mirror = kept, mirror
        self.kept_at = np.searchsorted(kept, np.arange(height))
        self.program = LinearProgram(
            np.asarray(spread.T @ program.cost),
            csc_array((program.matrix @ spread).tocsr()[kept]),
            program.row_lower[kept],
            program.row_upper[kept],
            program.lower[used],
            program.upper[used],
        )

    def unfolded(self, found: Solution) -> tuple[FloatArray, FloatArray]:
        """Primal and multipliers of the whole program; those of a pair of rows are shared evenly."""
        dual = np.zeros(len(self.mirror.rows))
        partner = self.mirror.rows[self.kept]
        share = np.where(partner == self.kept, 1.0, 0.5) * found.dual
        dual[self.kept] = share
        dual[partner] = share
        return found.primal[self.place], dual
