"""Events that may tell two inputs apart, learned from some of the samples to be tested on others.

An event is a set of outputs. For numbers: one side of a threshold, an interval, a single value that occurs
often. For other outputs: the outputs most in favour of the first input. For vectors: the same through the
share of the first input among nearest neighbours. Whatever is learned, testing on fresh samples keeps its
error rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import betaincinv, erfcinv, erfinv

from sievert.arrays import BoolArray, FloatArray
from sievert.errors import ChannelError, EstimationError
from sievert.numerics import brief, holds_masked, probability, taken
from sievert.spaces import iterable, label

__all__ = [
    "Event",
    "candidate_events",
    "checked_confidence",
    "normal_reach",
    "outputs_kind",
    "outputs_of",
    "runs_of",
    "share_above",
    "share_below",
]
# Thresholds tried on each side, and single values.
THRESHOLDS = 100
EXTREME_SHARES = (0.001, 0.002, 0.005, 0.995, 0.998, 0.999)
ATOMS = 50
NEIGHBOURS = 25


@dataclass(frozen=True, eq=False)
class Event:
    """A set of outputs: what it is called, and which outputs are in it."""

    words: str
    contains: Callable[[Any], BoolArray]


def outputs_kind(outputs: Any) -> str:
    """ "number", "vector" or "label"."""
    first = outputs[0]
    if isinstance(first, bool | str) or first is None:
        return "label"
    try:
        table = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return "label"
    if table.ndim == 1:
        return "number"
    return "vector" if table.ndim == 2 else "label"


def outputs_of(given: object, name: str) -> list[Any] | FloatArray:
    """Samples as floats where they are numbers or vectors of numbers, else as a list of labels."""
    if isinstance(given, str) or not isinstance(given, Sized) or not iterable(given):
        raise ChannelError(f"{name} is {brief(given)}; give a list or array of outputs, one for each run")
    items: Any = given if isinstance(given, np.ndarray) else taken(name, given, ChannelError, "outputs")
    if isinstance(items, np.ndarray) and items.dtype.kind == "c":
        raise ChannelError(f"{name} is {brief(given)}; outputs are numbers, labels or vectors, not complex")
    if holds_masked(items):
        raise ChannelError(f"{name} is {brief(given)}; a masked output is missing, leave it out")
    if len(items) == 0:
        raise ChannelError(f"{name} is empty; give one output for each run")
    if outputs_kind(items) == "label":
        return [item if item.__hash__ is not None else _written(item, name) for item in items]
    return np.asarray(items, dtype=np.float64)


def _written(item: object, name: str) -> str:
    try:
        return repr(item)
    except RecursionError:
        raise ChannelError(f"{name} holds one that is nested without end; give numbers or labels") from None


def runs_of(inputs: object) -> tuple[tuple[Hashable, ...], NDArray[np.intp]]:
    """Distinct inputs in order of first appearance, and the number of each run's input."""
    if isinstance(inputs, str) or not isinstance(inputs, Sized) or not iterable(inputs):
        raise ChannelError(f"inputs is {brief(inputs)}; give a list or array with one input for each run")
    items: Any = (
        inputs.tolist() if isinstance(inputs, np.ndarray) else taken("inputs", inputs, ChannelError, "inputs")
    )
    position: dict[Hashable, int] = {}
    try:
        named = [label(item) for item in items]
    except TypeError as problem:
        raise ChannelError(f"inputs: {problem}") from None
    numbers = [position.setdefault(item, len(position)) for item in named]
    return tuple(position), np.array(numbers, dtype=np.intp)


def candidate_events(first: Any, second: Any, kind: str) -> Iterator[Event]:
    """Events worth testing, learned from samples of the first and of the second input."""
    if kind == "label":
        yield from _label_events(first, second)
    elif kind == "number":
        yield from _number_events(np.asarray(first), np.asarray(second))
    else:
        yield from _vector_events(np.asarray(first), np.asarray(second))


def _label_events(first: Sequence[Any], second: Sequence[Any]) -> Iterator[Event]:
    """The outputs most in favour of the first input: the best one, the best two, …"""
    counts, others = Counter(first), Counter(second)
    # One is added to each count, so that an output seen once is not mistaken for a proof.
    ranked = sorted(
        {*counts, *others},
        key=lambda label: (-(counts[label] + 1) / (others[label] + 1), repr(label)),
    )
    for size in range(1, min(len(ranked), THRESHOLDS) + 1):
        chosen = frozenset(ranked[:size])
        names = ", ".join(map(str, ranked[:3])) + (", …" if size > 3 else "")
        yield Event(
            f"output is {names}" if size == 1 else f"output is one of {size}: {names}", _member(chosen)
        )


def _member(chosen: frozenset[Any]) -> Callable[[Any], BoolArray]:
    return lambda outputs: np.fromiter((item in chosen for item in outputs), dtype=bool, count=len(outputs))


def _number_events(first: FloatArray, second: FloatArray) -> Iterator[Event]:
    both = np.concatenate([first, second])
    finite = both[np.isfinite(both)]
    if len(finite) < len(both):
        yield Event("output is not a finite number", _is_not_finite)
    if len(finite):
        shares = np.concatenate([np.linspace(0, 1, THRESHOLDS), EXTREME_SHARES])
        for cut in np.unique(np.quantile(finite, shares)).tolist():
            yield Event(f"output ≥ {cut:.6g}", partial(_at_least, cut))
            yield Event(f"output ≤ {cut:.6g}", partial(_at_most, cut))
    values, index = np.unique(both, return_inverse=True)
    here = np.bincount(index[: len(first)], minlength=len(values))
    there = np.bincount(index[len(first) :], minlength=len(values))
    if len(values) < len(both) / 4:
        # Few different outputs: sets of them, as for labels.
        order = np.argsort(-(here + 1) / (there + 1), kind="stable")
        for size in range(1, min(len(values), THRESHOLDS) + 1):
            chosen = values[order[:size]]
            names = ", ".join(f"{v:g}" for v in chosen[:3]) + (", …" if size > 3 else "")
            yield Event(f"output is one of {size}: {names}", partial(_one_of, chosen))
        return
    # A value that occurs again and again is an atom (a rounding, a default, a failure to add noise).
    often = np.flatnonzero(here + there > 1)
    for k in often[np.argsort(-(here[often] + 1) / (there[often] + 1), kind="stable")][:ATOMS].tolist():
        yield Event(f"output is exactly {float(values[k])!r}", partial(_one_of, values[k : k + 1]))
    yield from _intervals(first, second)


def _is_not_finite(outputs: FloatArray) -> BoolArray:
    return np.asarray(~np.isfinite(outputs))


def _at_least(cut: float, outputs: FloatArray) -> BoolArray:
    return np.asarray(outputs >= cut)


def _at_most(cut: float, outputs: FloatArray) -> BoolArray:
    return np.asarray(outputs <= cut)


def _one_of(chosen: FloatArray, outputs: FloatArray) -> BoolArray:
    return np.isin(outputs, chosen)


def _intervals(first: FloatArray, second: FloatArray) -> Iterator[Event]:
    """Unions of equally full bins, those most in favour of the first input first."""
    both = np.concatenate([first, second])
    both = both[np.isfinite(both)]
    if len(both) < 2:
        return
    edges = np.unique(np.quantile(both, np.linspace(0, 1, 41)))[1:-1]
    here = np.bincount(np.searchsorted(edges, first), minlength=len(edges) + 1)
    there = np.bincount(np.searchsorted(edges, second), minlength=len(edges) + 1)
    order = np.argsort(-(here + 1) / (there + 1), kind="stable")
    for size in range(1, len(order)):
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order[:size]] = True
        yield Event(f"output is in {_ranges(edges, chosen)}", partial(_in_bins, edges, chosen))


def _ranges(edges: FloatArray, chosen: BoolArray) -> str:
    """Adjoining bins as one interval, the first three of them."""
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    change = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    spans = [f"({ends[a]:.4g}, {ends[b]:.4g}]" for a, b in zip(change[::2], change[1::2], strict=True)]
    return " or ".join(spans[:3]) + (f" or {len(spans) - 3} more intervals" if len(spans) > 3 else "")


def _in_bins(edges: FloatArray, chosen: BoolArray, outputs: FloatArray) -> BoolArray:
    return np.asarray(chosen[np.searchsorted(edges, outputs)])


def _vector_events(first: FloatArray, second: FloatArray) -> Iterator[Event]:
    """Outputs whose nearest training samples came mostly from the first input; each coordinate by itself."""
    for axis in range(first.shape[1]):
        for event in _number_events(first[:, axis], second[:, axis]):
            yield Event(f"coordinate {axis}: {event.words}", partial(_on_axis, axis, event.contains))
    tree = cKDTree(np.concatenate([first, second]))
    is_first = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
    for share in np.linspace(0.1, 0.95, 18).tolist():
        words = f"at least {share:.0%} of the nearest samples came from the first input"
        yield Event(words, partial(_near_first, tree, is_first, share))


def _on_axis(axis: int, contains: Callable[[Any], BoolArray], outputs: FloatArray) -> BoolArray:
    return contains(outputs[:, axis])


def _near_first(tree: cKDTree, is_first: FloatArray, share: float, outputs: FloatArray) -> BoolArray:
    near = min(NEIGHBOURS, len(is_first))
    _, index = tree.query(outputs, k=near)
    scores = is_first[np.reshape(index, (len(outputs), near))].mean(axis=1)
    return np.asarray(scores >= share)


# ── Confidence intervals for a share, exact whatever the sample size ────────────────────────────────────────


def share_above(successes: int, trials: int, risk: float) -> float:
    """Clopper and Pearson's lower end: below the true share except with probability at most `risk`.

    >>> round(share_above(9, 10, 0.05), 6)
    0.605836
    """
    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, risk))


def share_below(successes: int, trials: int, risk: float) -> float:
    """Clopper and Pearson's upper end: above the true share except with probability at most `risk`.

    >>> round(share_below(0, 100, 0.05), 6)          # 1 - 0.05^(1/100)
    0.029513
    """
    return 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - risk))


def checked_confidence(confidence: object, argument: str = "confidence") -> float:
    """A probability strictly between 0 and 1."""
    level = probability(argument, confidence, EstimationError)
    if not 0 < level < 1:
        raise EstimationError(f"{argument} is {brief(confidence)}; it must be between 0 and 1, such as 0.95")
    return level


def normal_reach(level: float) -> float:
    """How many standard deviations around its mean hold a normal number with this probability.

    >>> round(normal_reach(0.95), 6)
    1.959964
    """
    # Each form keeps the digits of the smaller of the two, the probability within and the one outside.
    return math.sqrt(2) * float(erfinv(level) if level < 0.5 else erfcinv(1 - level))
