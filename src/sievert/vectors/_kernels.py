"""Machine code for all pairs of codes: the nearest of each, ties alike, in one pass and bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from sievert.numerics import COMPILED, compiled

__all__ = ["scan"]


def _ones(typing_context: Any, word: Any) -> Any:
    """The number of ones of a 64-bit word, one instruction where the machine has it."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = np.bitwise_count
if COMPILED:
    from numba.extending import intrinsic

    popcount = intrinsic(_ones)


@compiled
def _draw(state: Any, slot: int, below: Any) -> Any:
    """A uniform whole number below a bound, without bias (SplitMix64 and rejection)."""
    bound = np.uint64(below)
    limit = np.uint64(0xFFFFFFFFFFFFFFFF) - np.uint64(0xFFFFFFFFFFFFFFFF) % bound
    while True:
        state[slot] += np.uint64(0x9E3779B97F4A7C15)
        mixed = state[slot]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        if mixed < limit:
            return np.int64(mixed % bound)


@compiled
def scan(
    queries: Any,
    codes: Any,
    first: int,
    own: Any,
    planes: int,
    counts: Any,
    kept: Any,
    radius: Any,
    state: Any,
) -> None:
    """Offer a block of codes to every query.

    For each query and distance up to its radius, `counts` says how many were seen and `kept` holds a uniform
    sample of k of them (reservoir). The radius falls as soon as k are strictly nearer, so hardly anything is
    looked at twice. `own` is the place of the query among the codes, or -1.
    """
    rows, width = codes.shape
    single = width == 1
    k = kept.shape[2]
    distances = np.empty(rows, dtype=np.int64)
    words = width // planes
    for q in range(queries.shape[0]):
        if single:
            word = queries[q, 0]
            for i in range(rows):
                distances[i] = np.int64(popcount(word ^ codes[i, 0]))
        else:
            for i in range(rows):
                total = np.uint64(0)
                for w in range(words):
                    differ = np.uint64(0)
                    for p in range(planes):
                        differ |= queries[q, p * words + w] ^ codes[i, p * words + w]
                    total += popcount(differ)
                distances[i] = np.int64(total)
        furthest = radius[q]
        least = distances.min()
        if least > furthest:
            continue
        for i in range(rows):
            d = distances[i]
            if d > furthest or first + i == own[q]:
                continue
            seen = counts[q, d]
            counts[q, d] = seen + 1
            if seen < k:
                kept[q, d, seen] = first + i
            else:
                place = _draw(state, q, seen + 1)
                if place < k:
                    kept[q, d, place] = first + i
            if seen < k:
                nearer = 0
                for e in range(furthest):
                    nearer += min(counts[q, e], k)
                while furthest > 0 and nearer >= k:
                    furthest -= 1
                    nearer -= min(counts[q, furthest], k)
        radius[q] = furthest
