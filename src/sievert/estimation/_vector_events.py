"""Events of vectors: what no coordinate shows by itself.

Vectors that return are outcomes of their own; of vectors with numbers that hardly ever do, the pattern of
what returns. Where coordinates differ independently, adding what each one (and each difference of two)
favours is best; a logistic fit weighs them. For everything else the nearest vectors vote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.estimation._events import (
    Family,
    bin_edges,
    bin_favours,
    bin_scores,
    column_families,
    cuts_of,
    favour,
    one_of,
    split,
)
from sievert.estimation._neighbours import Neighbours
from sievert.estimation._outputs import A_NUMBER, Column, rows_as_codes
from sievert.estimation._scales import Scale, by_quartiles, by_ranks

__all__ = ["table_families"]
# Of more coordinates, those that favour an input most are weighed, and fewer vote.
MOST_WEIGHED = 30
MOST_PLACED = 20
MOST_DIFFERENCES = 20
# Runs of an input from which weights are learned, and among which neighbours are sought.
MOST_LEARNED = 50_000
MOST_POINTS = 10_000
VOTERS = 50
FEWEST = 50
NEUTRAL, RIDGE, ROUNDS = 0.0, 1.0, 8
# Standard deviations of a linear term are cut off here: a tail has its own bin.
REACH = 4.0
SHOWN = 12


def table_families(
    columns: Sequence[Column], first: FloatArray, second: FloatArray, names: tuple[str, str]
) -> Iterator[Family]:
    """Events of each column; of several, also of all together."""
    for j, column in enumerate(columns):
        for family in column_families(column, first[:, j], second[:, j]):
            yield _of_column(j, family)
    if len(columns) == 1:
        return
    both = np.concatenate([first, second])
    yield from _outcome_families(columns, both, len(first))
    if len(both) >= FEWEST:
        strongest = _strongest(first, second)
        yield _weighed_family(columns, strongest[:MOST_WEIGHED], first, second, names)
        yield _voting_family(np.sort(strongest[:MOST_PLACED]), first, second, names)


def _of_column(j: int, family: Family) -> Family:
    return Family(partial(_column_scores, j, family), family.above, family.below, family.words)


def _column_scores(j: int, family: Family, rows: FloatArray) -> FloatArray:
    return family.score(rows[:, j])


# ── Whole vectors, and their patterns ───────────────────────────────────────────────────────────────────────


def _outcome_families(columns: Sequence[Column], both: FloatArray, runs: int) -> Iterator[Family]:
    yield from _outcomes(_Whole(), columns, both, runs)
    known = [_frequent(column) for column in both.T]
    seldom = [len(values) < len(np.unique(column)) for values, column in zip(known, both.T, strict=True)]
    if any(seldom) and any(map(len, known)):
        yield from _outcomes(_Pattern(known), columns, both, runs)


class _Whole:
    """A vector as it is."""

    def __call__(self, rows: FloatArray) -> FloatArray:
        return rows

    def entry(self, j: int, value: float) -> str:
        return f"{value:g}"


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Which entries are values that return, and which; 0 for any other."""

    known: list[FloatArray]

    def __call__(self, rows: FloatArray) -> FloatArray:
        return np.column_stack(
            [_places(known, column) for known, column in zip(self.known, rows.T, strict=True)]
        )

    def entry(self, j: int, value: float) -> str:
        return "any other" if value == 0 else f"{self.known[j][int(value) - 1]:g}"


def _frequent(column: FloatArray) -> FloatArray:
    """Values with a share of a hundredth at least."""
    values, counts = np.unique(column, return_counts=True)
    return np.asarray(values[counts >= max(2, len(column) / 100)])


def _places(known: FloatArray, column: FloatArray) -> FloatArray:
    if not len(known):
        return np.zeros(len(column))
    place = np.minimum(np.searchsorted(known, column), len(known) - 1)
    found = (known[place] == column) | (np.isnan(known[place]) & np.isnan(column))
    return np.where(found, place + 1.0, 0.0)


def _outcomes(
    form: _Whole | _Pattern, columns: Sequence[Column], both: FloatArray, runs: int
) -> Iterator[Family]:
    """The vectors (or patterns) that occur more than once, those most in favour of an input first."""
    formed = form(both)
    codes, index, counts = np.unique(rows_as_codes(formed), return_inverse=True, return_counts=True)
    here = np.bincount(np.ravel(index)[:runs], minlength=len(codes))
    kept = np.flatnonzero(counts > 1)
    if not len(kept):
        return
    favours = favour(here[kept], (counts - here)[kept], runs, len(both) - runs)
    vectors = codes[kept].view(np.float64).reshape(len(kept), -1)
    yield Family(
        partial(_outcome_scores, form, codes[kept], favours),
        *split(favours),
        partial(one_of, "output", vectors, favours, partial(_vector, form, columns)),
    )


def _outcome_scores(
    form: _Whole | _Pattern, codes: NDArray[Any], favours: FloatArray, rows: FloatArray
) -> FloatArray:
    asked = rows_as_codes(form(rows))
    place = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    return np.where(codes[place] == asked, favours[place], NEUTRAL)


def _vector(form: _Whole | _Pattern, columns: Sequence[Column], values: FloatArray) -> str:
    """Its entries; a coordinate of two columns is its number, or what it is instead."""
    entries: dict[int | None, str] = {}
    for j, (column, value) in enumerate(zip(columns, values.tolist(), strict=True)):
        if column.meanings is None or isinstance(form, _Pattern):
            written = form.entry(j, value)
        else:
            written = column.meanings[int(value)]
        if column.coordinate not in entries or written != A_NUMBER:
            entries[column.coordinate] = written
    shown = list(entries.values())
    return "(" + ", ".join(shown[:SHOWN]) + (", …" if len(shown) > SHOWN else "") + ")"


# ── All coordinates weighed ─────────────────────────────────────────────────────────────────────────────────


def _strongest(first: FloatArray, second: FloatArray) -> NDArray[np.intp]:
    """The columns, those that show the most by themselves first."""
    shown = [_shown(a, b) for a, b in zip(first.T, second.T, strict=True)]
    return np.argsort(-np.array(shown), kind="stable")


def _shown(first: FloatArray, second: FloatArray) -> float:
    """Symmetric divergence of the two inputs over a column's bins."""
    edges = bin_edges(np.concatenate([first, second]))
    favours = bin_favours(edges, first, second)
    return float(bin_scores(edges, favours, first).mean() - bin_scores(edges, favours, second).mean())


@dataclass(frozen=True, eq=False)
class _Features:
    """What each column and each difference of two favours, and the columns themselves on a robust scale."""

    kept: NDArray[np.intp]
    pairs: list[tuple[int, int]]
    bins: list[tuple[FloatArray, FloatArray]]
    scale: Scale

    @classmethod
    def learned(cls, kept: NDArray[np.intp], first: FloatArray, second: FloatArray) -> _Features:
        """Bins and scale from samples of the two inputs."""
        pairs = _pairs_of(np.sort(kept).tolist())
        sides = [_with_differences(side, kept, pairs) for side in (first, second)]
        bins = []
        for a, b in zip(*(side.T for side in sides), strict=True):
            edges = bin_edges(np.concatenate([a, b]))
            bins.append((edges, bin_favours(edges, a, b)))
        return cls(kept, pairs, bins, by_quartiles(np.concatenate([first, second])[:, kept]))

    def __call__(self, rows: FloatArray) -> FloatArray:
        values = _with_differences(rows, self.kept, self.pairs)
        favours = [bin_scores(*bins, column) for bins, column in zip(self.bins, values.T, strict=True)]
        linear = self.scale(rows[:, self.kept])
        return np.column_stack(
            [*favours, np.clip(np.where(np.isnan(rows[:, self.kept]), 0.0, linear), -REACH, REACH)]
        )


def _pairs_of(kept: list[int]) -> list[tuple[int, int]]:
    """Pairs of columns, neighbours first."""
    pairs = sorted(combinations(kept, 2), key=lambda pair: pair[1] - pair[0])
    return pairs[:MOST_DIFFERENCES]


def _with_differences(rows: FloatArray, kept: NDArray[np.intp], pairs: list[tuple[int, int]]) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.column_stack([rows[:, kept], *(rows[:, j] - rows[:, i] for i, j in pairs)])


def _weighed_family(
    columns: Sequence[Column],
    kept: NDArray[np.intp],
    first: FloatArray,
    second: FloatArray,
    names: tuple[str, str],
) -> Family:
    features = _Features.learned(kept, first, second)
    learned = features(first[:MOST_LEARNED]), features(second[:MOST_LEARNED])
    weights = _logistic(*learned)
    cuts = cuts_of(np.concatenate(learned) @ weights)
    return Family(
        partial(_weighed_scores, features, weights),
        cuts,
        cuts,
        partial(_weighed_words, names[0]),
        plain=False,
    )


def _weighed_scores(features: _Features, weights: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(features(rows) @ weights)


def _weighed_words(name: str, cut: float, above: bool) -> str:
    return f"the coordinates' weighed score for {name} is {'≥' if above else '≤'} {cut:.4g}"


def _logistic(first: FloatArray, second: FloatArray) -> FloatArray:
    """Weights that best predict the input, by Newton's method with a ridge; the constant is left out."""
    table = np.concatenate([first, second])
    table = np.column_stack([table, np.ones(len(table))])
    shares = np.repeat([0.5 / len(first), 0.5 / len(second)], [len(first), len(second)]) * len(table)
    truth = np.repeat([1.0, 0.0], [len(first), len(second)])
    ridge = np.full(table.shape[1], RIDGE)
    weights = np.zeros(table.shape[1])
    for _ in range(ROUNDS):
        chances = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        slope = table.T @ (shares * (truth - chances)) - ridge * weights
        bend = (table * (shares * np.maximum(chances * (1 - chances), 1e-9))[:, None]).T @ table
        step = np.linalg.solve(bend + np.diag(ridge), slope)
        weights += step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-4:
            break
    return np.asarray(weights[:-1])


# ── Neighbours ──────────────────────────────────────────────────────────────────────────────────────────────


def _voting_family(
    kept: NDArray[np.intp], first: FloatArray, second: FloatArray, names: tuple[str, str]
) -> Family:
    sides = [side[:MOST_POINTS, kept] for side in (first, second)]
    scale = by_ranks(np.concatenate(sides))
    sizes = [len(side) for side in sides]
    owners = np.repeat(np.array([0, 1], dtype=np.intp), sizes)
    weights = np.repeat([1 / sizes[0], 1 / sizes[1]], sizes)
    near = Neighbours(scale(np.concatenate(sides)), owners, weights, 2, VOTERS)
    cuts = np.linspace(0.05, 0.95, 19)
    pilot = 20_000 if len(kept) <= 6 else 5_000
    return Family(
        partial(_votes, near, scale, kept), cuts, cuts, partial(_vote_words, names[0]), pilot, plain=False
    )


def _votes(near: Neighbours, scale: Scale, kept: NDArray[np.intp], rows: FloatArray) -> FloatArray:
    """The first input's share among the nearest samples."""
    shares = np.empty(len(rows))
    for block, _, votes in near.scores(scale(rows[:, kept]), (VOTERS,)):
        shares[block] = votes[:, 0] / votes.sum(axis=1)
    return shares


def _vote_words(name: str, cut: float, above: bool) -> str:
    return f"at {'least' if above else 'most'} {cut:.0%} of the nearest samples came from {name}"
