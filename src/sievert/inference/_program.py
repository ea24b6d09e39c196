"""The largest accuracy under limits on what secrets give away, as a linear program.

Outputs are guesses of the use: merging outputs with the same best guess keeps the accuracy and lowers
everything else. Variables are the mechanism M [input, guess] and t[b,y] ≥ what any guess of secret b gains at
output y.

A line of tallies that is its own mirror image has an optimal mechanism that is too, so half of the variables
and of the rows suffice.
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
from sievert.programs import LinearProgram, MovingProgram, Solution
from sievert.proofs import Neighbours

__all__ = ["AccuracyOptimum", "AccuracyProgram", "Part", "close", "mirror_of"]

# Numbers of two mirror images that differ by a smaller share are the same but for rounding.
SAME = 1e-13
# Forests with so many probabilities are bounded.
LARGE_PROGRAM = 1000


@dataclass(frozen=True, eq=False)
class AccuracyProgram:
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
class AccuracyOptimum:
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


class Part:
    """The program with some of the inputs and of the guesses."""

    def __init__(self, problem: AccuracyProgram, core: tuple[int, int], guesses: IndexArray) -> None:
        self.guesses = guesses
        self.problem = _within(AccuracyProgram(problem.value[guesses], problem.leaks, problem.space), core)
        n, m = self.problem.shape
        self.full = _program(self.problem)
        mirror = mirror_of(self.problem)
        self.fold = None if mirror is None else _Fold(self.full, mirror)
        self.moving = MovingProgram(self.full if self.fold is None else self.fold.program)
        first = n + sum(len(leak) for leak in problem.leaks) * m
        self.limit_rows = np.arange(first, first + len(problem.leaks))

    def solve(self, limits: Sequence[float], careful: bool = True, inside: bool = False) -> AccuracyOptimum:
        """The optimum among mechanisms with these guesses; inside the optimal face where that is asked."""
        upper = np.asarray(limits, dtype=np.float64)
        rows = self.limit_rows if self.fold is None else self.fold.kept_at[self.limit_rows]
        found = self.moving.inside(rows, upper) if inside else self.moving.solve(rows, upper, careful)
        if self.fold is None:
            return self._read(found.primal, found.dual, -found.value)
        return self._read(*self.fold.unfolded(found), -found.value)

    def _read(self, primal: FloatArray, dual: FloatArray, value: float) -> AccuracyOptimum:
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
        return AccuracyOptimum(value, mechanism, -dual[:n], tuple(weights), slopes, edges, self.guesses)


def _within(problem: AccuracyProgram, core: tuple[int, int]) -> AccuracyProgram:
    """The problem of mechanisms that do not tell the inputs beyond an end of the core from that end."""
    first, last = core
    if last - first + 1 == problem.shape[0]:
        return problem
    space = problem.space
    pairs = tuple((i, i + 1) for i in range(last - first))
    part = replace(space, size=last - first + 1, pairs=pairs, lengths=space.lengths[first:last])
    starts = np.concatenate([[0], np.arange(first + 1, last + 1)])
    tables = [np.add.reduceat(table, starts, axis=1) for table in (problem.value, *problem.leaks)]
    return AccuracyProgram(tables[0], tuple(tables[1:]), part)


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


def _program(problem: AccuracyProgram) -> LinearProgram:
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


def _edge_rows(rows: _Entries, problem: AccuracyProgram, m: int) -> None:
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


def mirror_of(problem: AccuracyProgram) -> _Mirror | None:
    """The reversal of a line of tallies, where nothing tells it from the line."""
    n, m = problem.shape
    space = problem.space
    if not is_line(space) or space.lengths != space.lengths[::-1]:
        return None
    if not close(problem.value, problem.value[::-1, ::-1]):
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
        found = [w for w, other in enumerate(leak) if close(row[::-1], other)]
        if not found:
            return None
        order.append(found[0])
    return order if sorted(order) == list(range(len(leak))) else None


def close(first: FloatArray, second: FloatArray) -> bool:
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
