"""Theorems that say at once whether a mechanism is best whatever the prior: tried before any search."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sievert.arrays import AnyArray
from sievert.design._universal_case import TOLERANCE, Case, Universality
from sievert.measures import single_crossing_order
from sievert.measures.losses import classify_loss
from sievert.proofs import UniversalByTheoremProof, line_order

__all__ = ["by_pairs", "by_theorem"]

# Ratios of floats that agree to this, relatively, are equal.
SAME = 1e-9


def by_theorem(case: Case) -> Universality | None:
    """Yes by the first theorem whose conditions hold."""
    trivial = np.flatnonzero((case.given <= case.given.min(axis=0)).all(axis=1))
    if len(trivial):
        words = "one action is best whatever the input (Lem 6.19)"
        return _yes(case, "trivial", (int(trivial[0]),), words)
    order = line_order(case.space)
    if order is not None and _is_kernel(case):
        actions = single_crossing_order(case.given[:, order])
        if actions is not None:
            return _yes(case, "single crossing", tuple(actions), "single crossing (Theorem SC)")
    connected = case.space.is_forest and len(case.pairs) == case.metric.size - 1
    if connected and _is_peaked(case.given) and _is_kernel(case):
        return _yes(case, "tree", (), "Bayes risk on a tree (Theorem TREE-BAYES)")
    matter = tuple(np.flatnonzero((case.given != case.given[0]).any(axis=0)).tolist())
    if len(matter) == 2 and _tells_apart(case, *matter):
        words = "the loss is about one pair, told apart as far as allowed (Lem 6.20)"
        return _yes(case, "pair", matter, words)
    return None


def _yes(case: Case, theorem: str, witness: tuple[int, ...], words: str) -> Universality:
    proof = None
    if case.exact:
        proof = UniversalByTheoremProof(case.space, case.ratio, case.table, case.loss, theorem, witness)
    return case.yes(words, proof)


def _is_peaked(loss: AnyArray) -> bool:
    gains = loss.max(axis=0)[None, :] - loss
    return bool(((gains > 0).sum(axis=1) <= 1).all())


def _factor(case: Case, length: Any) -> Any:
    """e^(-ε·length), as a fraction where the case is exact."""
    if not case.exact:
        return np.exp(-case.polytope.level.eps * length)
    return Fraction(0) if np.isinf(length) else case.ratio ** int(length)


def _is_kernel(case: Case) -> bool:
    """Whether every column is e^(-ε·d) from some input, exactly or to a relative 1e-9."""
    distances = case.metric.matrix
    if not np.isfinite(distances).all():
        return False
    for column in case.table.T:
        y = int(np.argmax(column == max(column)))
        if case.exact:
            powers = [_factor(case, d) for d in distances[y]]
            if any(a != b * column[y] for a, b in zip(column, powers, strict=True)):
                return False
        elif not np.allclose(column, column[y] * _factor(case, distances[y]), rtol=SAME, atol=0):
            return False
    return True


def _tells_apart(case: Case, a: int, b: int) -> bool:
    first, second = case.table[a], case.table[b]
    factor = _factor(case, float(case.metric.matrix[a, b]))
    if case.exact:
        return bool(((first == factor * second) | (second == factor * first)).all())
    one, other = ((u, factor * v) for u, v in ((first, second), (second, first)))
    near = np.isclose(*one, rtol=SAME, atol=0) | np.isclose(*other, rtol=SAME, atol=0)
    return bool(near.all())


def by_pairs(case: Case) -> Universality | None:
    """No under the discrete metric: a pair and a prior on it for which "one versus the rest" is better."""
    length = case.metric.uniform_distance
    if length is None or case.metric.size < 3 or not np.isfinite(length):
        return None
    one: Any = Fraction(1) if case.exact else 1.0
    ratio = _factor(case, length)
    found: tuple[Any, Any, int] | None = None
    for a, b in combinations(range(case.metric.size), 2):
        for share in _kinks(case.loss[:, a], case.loss[:, b], one):
            prior = np.full(case.metric.size, one * 0, dtype=case.table.dtype)
            prior[a], prior[b] = share, one - share
            gap = case.lost(prior) - case.lost(prior, _versus(case, a, ratio, one))
            if found is None or gap > found[0]:
                found = gap, prior, a
    # Both losses are sums of numbers ≥ 0, so their difference is known to a share of them.
    if found is None or found[0] <= (0 if case.exact else TOLERANCE * case.lost(found[1])):
        return None
    gap, prior, a = found
    words = "one versus the rest is better on a pair"
    if not classify_loss(case.wanted).pairs_bipartite:
        words = "no mechanism is: pairs on which the loss is not trivial form an odd cycle (Thm 6.33)"
    return case.no(prior, _versus(case, a, ratio, one), gap, words)


def _versus(case: Case, a: int, ratio: Any, one: Any) -> AnyArray:
    """One input versus the rest: two outputs."""
    table = np.full((case.metric.size, 2), one / (one + ratio), dtype=case.table.dtype)
    table[:, 0] = ratio / (one + ratio)
    table[a] = table[a][::-1].copy()
    return table


def _kinks(first: AnyArray, second: AnyArray, one: Any) -> list[Any]:
    """Probabilities of the first of two inputs at which two actions are equally good, and best."""
    found = []
    for v, w in combinations(range(len(first)), 2):
        rise, fall = first[v] - first[w], second[v] - second[w]
        if rise * fall < 0:
            share = fall / (fall - rise)
            values = share * first + (one - share) * second
            if values[v] <= min(values) + (0 if isinstance(share, Fraction) else TOLERANCE):
                found.append(share)
    return found
