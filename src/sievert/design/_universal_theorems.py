"""Theorems that say at once whether a mechanism is best whatever the prior: tried before any search."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sievert.arrays import AnyArray
from sievert.design._universal_case import TOLERANCE, ULPS, Case, Universality
from sievert.measures import single_crossing_order
from sievert.measures.losses import classify_loss
from sievert.proofs import UniversalByTheoremProof, line_order

__all__ = ["by_pairs", "by_theorem"]

# Inputs of which all pairs are tried for the largest gap, where one is enough.
MOST_PAIRED = 20


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
    """Whether every column is e^(-ε·d) from some input, exactly or as far as floats tell."""
    distances = case.metric.matrix
    if not np.isfinite(distances).all():
        return False
    if not case.exact:
        return _is_float_kernel(case, distances)
    for column in case.table.T:
        y = int(np.argmax(column == max(column)))
        powers = [_factor(case, d) for d in distances[y]]
        if any(a != b * column[y] for a, b in zip(column, powers, strict=True)):
            return False
    return True


def _is_float_kernel(case: Case, distances: AnyArray) -> bool:
    """Of logarithms, however small ε is: a column that is the same everywhere is none."""
    for logs in case.logs.T:
        # At a small ε the largest entry is the one nearest to its own pattern.
        likely = np.flatnonzero(logs >= logs.max() - ULPS * max(1.0, abs(float(logs.max()))))
        wanted = logs.max() - case.polytope.level.eps * distances[likely]
        if not case.agree(np.broadcast_to(logs, wanted.shape), wanted).all(axis=1).any():
            return False
    return True


def _tells_apart(case: Case, a: int, b: int) -> bool:
    length = float(case.metric.matrix[a, b])
    if case.exact:
        first, second = case.table[a], case.table[b]
        factor = _factor(case, length)
        return bool(((first == factor * second) | (second == factor * first)).all())
    high, low = case.logs[a], case.logs[b]
    step = case.polytope.level.eps * length
    return bool((case.agree(high - step, low) | case.agree(low - step, high)).all())


def by_pairs(case: Case) -> Universality | None:
    """No under the discrete metric: a pair and a prior on it for which "one versus the rest" is better."""
    length = case.metric.uniform_distance
    if length is None or case.metric.size < 3 or not np.isfinite(length):
        return None
    one: Any = Fraction(1) if case.exact else 1.0
    ratio = _factor(case, length)
    found: tuple[Any, Any, int] | None = None
    for a, b in combinations(range(case.metric.size), 2):
        if found is not None and found[0] > case.nothing and case.metric.size > MOST_PAIRED:
            break
        for share in _kinks(case.loss[:, a], case.loss[:, b]):
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


def _kinks(first: AnyArray, second: AnyArray) -> list[Any]:
    """Probabilities of the first of two inputs at which the best action changes: corners of an envelope."""
    slopes = first - second
    best = min(range(len(first)), key=lambda w: (second[w], slopes[w]))
    found: list[Any] = []
    while True:
        steeper = np.flatnonzero(np.asarray(slopes < slopes[best], dtype=bool))
        places = (second[steeper] - second[best]) / (slopes[best] - slopes[steeper])
        if not len(steeper) or min(places) >= 1:
            return found
        place = min(places)
        best = min(steeper[np.asarray(places == place, dtype=bool)].tolist(), key=lambda w: slopes[w])
        found += [place] if place > 0 and place not in found else []
