"""Events that may tell two inputs apart, learned from some of the samples to be tested on others.

An event is a set of outputs: those that score at least a cut, or at most. A score is a number's value, or how
much more often an output, an interval or a whole vector came from the first input than from the second. All
cuts of a score are counted by sorting it once. Whatever is learned, testing on fresh samples keeps its error
rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import BoolArray, FloatArray
from sievert.estimation._outputs import Column

__all__ = [
    "Event",
    "Family",
    "bin_edges",
    "bin_favours",
    "bin_scores",
    "column_families",
    "cuts_of",
    "favour",
    "label_family",
    "one_of",
    "split",
]
# Cuts tried for a score, and how far into its tails.
THRESHOLDS = 100
EXTREME_SHARES = (0.001, 0.002, 0.005, 0.995, 0.998, 0.999)
BINS = 40


@dataclass(frozen=True, eq=False)
class Event:
    """The outputs whose score is at least the cut, or at most."""

    family: Family
    cut: float
    above: bool

    @property
    def words(self) -> str:
        """What the event is called."""
        return self.family.words(self.cut, self.above)

    def contains(self, rows: Any) -> BoolArray:
        """Which of the outputs are in it."""
        scores = self.family.score(rows)
        return np.asarray(scores >= self.cut if self.above else scores <= self.cut)


@dataclass(frozen=True, eq=False)
class Family:
    """Events that cut one score of an output.

    `above` are the cuts of events in favour of the first input, `below` of the second; `pilot` is on how many
    outputs the score is tried where it costs much (None: all); `plain` is whether its words say which outputs
    are in an event.
    """

    score: Callable[[Any], FloatArray]
    above: FloatArray
    below: FloatArray
    words: Callable[[float, bool], str]
    pilot: int | None = None
    plain: bool = True


def cuts_of(scores: FloatArray) -> FloatArray:
    """Quantiles of a score, more of them in its tails."""
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        return np.zeros(0)
    shares = np.concatenate([np.linspace(0, 1, THRESHOLDS), EXTREME_SHARES])
    return np.unique(np.quantile(finite, shares, method="nearest"))


def favour(first: NDArray[Any], second: NDArray[Any], runs: int, others: int) -> FloatArray:
    """How much oftener each outcome came from the first input, in nats; 0 for one that never came.

    One is added to each count (to both together two), so that an outcome seen once is no proof.
    """
    extra = 2 / (runs + others)
    return np.asarray(np.log(first / runs + extra) - np.log(second / others + extra))


def split(favours: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cuts for outcomes in favour of the first, and of the second: the best one, the best two, …"""
    distinct = np.unique(favours)
    return _thinned(distinct[distinct > 0][::-1]), _thinned(distinct[distinct < 0])


def _thinned(cuts: FloatArray) -> FloatArray:
    """The first cuts all, later ones at growing steps."""
    if len(cuts) <= THRESHOLDS:
        return cuts
    return np.asarray(cuts[np.unique(np.geomspace(1, len(cuts), THRESHOLDS).astype(int)) - 1])


# ── Labels ──────────────────────────────────────────────────────────────────────────────────────────────────


def label_family(first: Sequence[Hashable], second: Sequence[Hashable]) -> Family:
    """The outputs most in favour of an input."""
    counts, others = Counter(first), Counter(second)
    labels = sorted({*counts, *others}, key=repr)
    favours = favour(
        np.array([counts[item] for item in labels], dtype=np.float64),
        np.array([others[item] for item in labels], dtype=np.float64),
        len(first),
        len(second),
    )
    table = dict(zip(labels, favours.tolist(), strict=True))
    above, below = split(favours)
    return Family(
        partial(_label_scores, table), above, below, partial(one_of, "output", labels, favours, str)
    )


def _label_scores(table: dict[Hashable, float], rows: Sequence[Hashable]) -> FloatArray:
    return np.fromiter((table.get(item, 0.0) for item in rows), dtype=np.float64, count=len(rows))


def one_of(
    name: str,
    outcomes: Sequence[Any] | FloatArray,
    favours: FloatArray,
    written: Callable[[Any], str],
    cut: float,
    above: bool,
) -> str:
    """The outcomes beyond a cut, the first three of them by name."""
    order = np.argsort(-favours if above else favours, kind="stable")
    order = order[: int((favours >= cut).sum() if above else (favours <= cut).sum())]
    names = ", ".join(written(outcomes[k]) for k in order[:3].tolist())
    if len(order) == 1:
        return f"{name} is {names}"
    return f"{name} is one of {len(order)}: {names}" + (", …" if len(order) > 3 else "")


# ── One column of numbers ───────────────────────────────────────────────────────────────────────────────────


def column_families(column: Column, first: FloatArray, second: FloatArray) -> Iterator[Family]:
    """Values beyond a threshold, values that return, intervals; codes only by themselves."""
    both = np.concatenate([first, second])
    if column.meanings is None:
        cuts = cuts_of(both)
        yield Family(_itself, cuts, cuts, partial(_beyond, column.name))
        if not np.isfinite(both).all():
            half = np.array([0.5])
            yield Family(_is_not_finite, half, half, partial(_finite_words, column.name))
    values, index, counts = np.unique(both, return_inverse=True, return_counts=True)
    here = np.bincount(index[: len(first)], minlength=len(values))
    there = counts - here
    returns = np.flatnonzero(counts > 1)
    if len(returns):
        # A value that occurs again and again is an atom (a rounding, a default, a failure to add noise).
        atoms = values[returns]
        favours = favour(here[returns], there[returns], len(first), len(second))
        written = partial(_meaning, column.meanings)
        yield Family(
            partial(_atom_scores, atoms, favours),
            *split(favours),
            partial(one_of, column.name, atoms, favours, written),
        )
    if column.meanings is None and len(values) > BINS:
        yield _interval_family(column, first, second)


def _itself(rows: FloatArray) -> FloatArray:
    return rows


def _beyond(name: str, cut: float, above: bool) -> str:
    return f"{name} {'≥' if above else '≤'} {cut:.6g}"


def _is_not_finite(rows: FloatArray) -> FloatArray:
    return np.where(np.isfinite(rows), 0.0, 1.0)


def _finite_words(name: str, cut: float, above: bool) -> str:
    return f"{name} is not a finite number" if above else f"{name} is a finite number"


def _meaning(meanings: tuple[str, ...] | None, value: float) -> str:
    return f"exactly {float(value)!r}" if meanings is None else meanings[int(value)]


def _atom_scores(atoms: FloatArray, favours: FloatArray, rows: FloatArray) -> FloatArray:
    place = np.minimum(np.searchsorted(atoms, rows), len(atoms) - 1)
    found = (atoms[place] == rows) | (np.isnan(atoms[place]) & np.isnan(rows))
    return np.where(found, favours[place], 0.0)


def _interval_family(column: Column, first: FloatArray, second: FloatArray) -> Family:
    """Unions of equally full bins."""
    both = np.concatenate([first, second])
    edges = bin_edges(both)
    favours = bin_favours(edges, first, second)
    return Family(
        partial(bin_scores, edges, favours), *split(favours), partial(_ranges, column.name, edges, favours)
    )


def bin_edges(values: FloatArray) -> FloatArray:
    """Inner ends of equally full bins; a bin holds its right end."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.zeros(0)
    return np.unique(np.quantile(finite, np.linspace(0, 1, BINS + 1), method="nearest"))[:-1]


def bins_of(edges: FloatArray, values: FloatArray) -> NDArray[np.intp]:
    """The bin of each value; what is no number has the last to itself."""
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values))


def bin_favours(edges: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """How much each bin favours the first input."""
    counts = [np.bincount(bins_of(edges, side), minlength=len(edges) + 2) for side in (first, second)]
    return favour(counts[0], counts[1], len(first), len(second))


def bin_scores(edges: FloatArray, favours: FloatArray, rows: FloatArray) -> FloatArray:
    """The favour of each value's bin."""
    return favours[bins_of(edges, rows)]


def _ranges(name: str, edges: FloatArray, favours: FloatArray, cut: float, above: bool) -> str:
    """Adjoining bins as one interval, the first three of them."""
    chosen = favours >= cut if above else favours <= cut
    ends = np.concatenate([[-math.inf], edges, [math.inf]])
    change = np.flatnonzero(np.diff(np.concatenate([[False], chosen[:-1], [False]]).astype(int)))
    spans = [f"({ends[a]:.4g}, {ends[b]:.4g}]" for a, b in zip(change[::2], change[1::2], strict=True)]
    spans += ["what is no number"] * bool(chosen[-1])
    return (
        f"{name} is in "
        + " or ".join(spans[:3])
        + (f" or {len(spans) - 3} more intervals" if len(spans) > 3 else "")
    )
