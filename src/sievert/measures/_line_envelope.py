"""Σ_y max_v w_v·p(y - x_v): the upper envelope of one law of noise at many places on a line.

For geometric noise the likeliest place is, at every y, the best one to its left or the best one to its right,
so two passes over the places and closed sums between them are enough (Fernandes, 3.2). For equal weights and
any law that falls away from 0 it is the nearest place. For Gaussian noise ln w_v·p(y - x_v) is a line in y
but for what all places share, and the envelope is a convex hull.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import GaussianLaw, GeometricLaw, NoiseLaw
from sievert.numerics import require_size

__all__ = ["envelope_mass", "nearest_mass", "top_mass"]

# Pairs of an output and a place that are compared one by one.
LARGEST_COMPARED = 50_000_000
BLOCK = 1_000_000
# ln of a probability that no sum notices.
NOTHING = -40.0


def envelope_mass(law: NoiseLaw, places: IntArray, logs: FloatArray) -> float:
    """The sum over all outputs, for increasing places and the logarithms of their weights."""
    if len(places) == 1 or law.never_moves:
        return float(np.exp(logs).sum())
    return _envelope(law, places, logs)


def nearest_mass(law: NoiseLaw, places: IntArray) -> float:
    """Equal weights: half way to the next place on both sides, with both tails."""
    gaps, counts = np.unique(np.diff(places), return_counts=True)
    # Σ_{0<z≤m} p(z) from either end of a gap of 2m + 1; an even gap has one output more, in its middle.
    half = (gaps - 1) // 2
    upper = np.exp(law.log_upper(np.ones(1)))[0] - np.exp(law.log_upper(half + 1.0))
    middle = np.where(gaps % 2 == 0, np.exp(law.log_pmf(gaps / 2.0)), 0.0)
    centre = math.exp(float(law.log_pmf(np.zeros(1))[0]))
    tails = 2 * math.exp(float(law.log_upper(np.ones(1))[0]))
    return len(places) * centre + tails + float(counts @ (2 * upper + middle))


@singledispatch
def _envelope(law: NoiseLaw, places: IntArray, logs: FloatArray) -> float:
    """Every output between the first and the last place, and both tails."""
    if (logs == logs[0]).all():
        return math.exp(logs[0]) * nearest_mass(law, places)
    span = int(places[-1] - places[0])
    require_size(
        span * len(places), LARGEST_COMPARED, "outputs times values", "use equal weights or fewer values"
    )
    total, step = 0.0, max(1, BLOCK // len(places))
    for start in range(int(places[0]), int(places[-1]) + 1, step):
        outputs = np.arange(start, min(start + step, int(places[-1]) + 1), dtype=np.float64)
        total += float(np.exp((logs + law.log_pmf(outputs[:, None] - places)).max(axis=1)).sum())
    return total + _beyond(law, places, logs) + _beyond(law, -places[::-1], logs[::-1])


def _beyond(law: NoiseLaw, places: IntArray, logs: FloatArray) -> float:
    """Outputs above the last place, to where nothing is left."""
    reach = law.beyond(NOTHING) if math.isinf(law.reach) else int(law.reach)
    require_size(reach * len(places), LARGEST_COMPARED, "outputs times values", "use fewer values")
    outputs = np.arange(1.0, reach + 1) + places[-1]
    return float(np.exp((logs + law.log_pmf(outputs[:, None] - places)).max(axis=1)).sum())


@_envelope.register
def _of_geometric(law: GeometricLaw, places: IntArray, logs: FloatArray) -> float:
    eps = law.level.eps
    # Best place to the left of each, falling to the right, and best to the right, falling to the left.
    left = np.maximum.accumulate(logs + eps * (places - places[0]))
    right = np.maximum.accumulate((logs + eps * (places[-1] - places))[::-1])[::-1]
    left, right = left - eps * (places - places[0]), right - eps * (places[-1] - places)
    at = np.maximum(left, right)
    gaps = np.diff(places).astype(np.float64)
    between = _of_gaps(left[:-1], right[1:], gaps, eps)
    tails = (math.exp(right[0]) + math.exp(left[-1])) * math.exp(-eps)
    # tanh(ε/2) = (1 - e^-ε)/(1 + e^-ε): sums over outputs are never divided by 1 - e^-ε, which may be tiny.
    return math.tanh(eps / 2) * float(np.exp(at).sum()) + (float(between.sum()) + tails) / (
        1 + math.exp(-eps)
    )


def top_mass(law: GeometricLaw, places: IntArray, logs: FloatArray, tries: int) -> float:
    """Σ_y of the few largest w_v·p(y - x_v) under geometric noise, ε > 0; places never decrease.

    The places on one side of an output keep their order, whatever the output is. So the few best on its left
    come from one pass, those on its right from another, and of two falling lists the largest together are
    max(left_i, right_{j+1-i}): between two places each is a closed sum.
    """
    eps = law.level.eps
    at, gaps = (places - places[0]).astype(np.float64), np.diff(places).astype(np.float64)
    left = _best(logs + eps * at, tries) - eps * at
    right = _best((logs - eps * at)[::-1], tries)[:, ::-1] + eps * at
    # Outputs at the last place and beyond it, or at the first and before it, have all places on one side.
    ends = float(np.exp(left[:, -1]).sum() + np.exp(right[:, 0]).sum())
    # A place itself, the first apart, counts to its left; of equal places the last one is followed by a gap.
    some = gaps > 0
    inner = some & (at[:-1] > 0)
    here = between = 0.0
    for one, other in zip(left[:, :-1], right[::-1, 1:], strict=True):
        here += float(np.exp(np.maximum(one[inner], other[inner] - eps * gaps[inner])).sum())
        between += float(_of_gaps(one[some], other[some], gaps[some], eps).sum())
    return math.tanh(eps / 2) * here + (ends + between) / (1 + math.exp(-eps))


def _best(logs: FloatArray, count: int) -> FloatArray:
    """[rank, place]: the largest up to each place, the next largest, …; what is displaced is ranked next."""
    found = np.full((count, len(logs)), -np.inf)
    rest = logs
    for rank in range(min(count, len(logs))):
        found[rank] = np.maximum.accumulate(rest)
        before = np.concatenate([[-np.inf], found[rank][:-1]])
        rest = np.minimum(before, rest)
    return found


def _of_gaps(first: FloatArray, last: FloatArray, gaps: FloatArray, eps: float) -> FloatArray:
    """Σ_{0<j<d} max(e^(first - ε·j), e^(last - ε·(d - j))) for each gap d, times 1 - e^-ε."""
    with np.errstate(over="ignore"):
        crossing = np.floor((first - last) / (2 * eps) + gaps / 2)
    own = np.clip(crossing, 0.0, gaps - 1)
    return np.asarray(np.exp(first) * _falling(own, eps) + np.exp(last) * _falling(gaps - 1 - own, eps))


def _falling(count: FloatArray, eps: float) -> FloatArray:
    """Σ_{1≤j≤count} e^(-ε·j), times 1 - e^-ε."""
    return np.asarray(math.exp(-eps) * -np.expm1(-eps * count))


@_envelope.register
def _of_gaussian(law: GaussianLaw, places: IntArray, logs: FloatArray) -> float:
    if (logs == logs[0]).all():
        return math.exp(logs[0]) * nearest_mass(law, places)
    kept, crossings = _hull(law.squared, places.tolist(), logs.tolist())
    # From the first output that a place has to the first of the next, around the place.
    ends = np.concatenate([[-np.inf], np.ceil(crossings), [np.inf]])
    return float(np.exp(logs[kept]) @ _mass(law, ends[:-1] - places[kept], ends[1:] - places[kept]))


def _hull(squared: float, places: list[int], logs: list[float]) -> tuple[IntArray, FloatArray]:
    """Places that are best somewhere, and the outputs from which on each is better than the one before it."""
    kept: list[int] = []
    crossings: list[float] = []
    for new, (place, log) in enumerate(zip(places, logs, strict=True)):
        if log == -math.inf:
            continue
        while kept:
            other = places[kept[-1]]
            crossing = (other + place) / 2 + squared * (logs[kept[-1]] - log) / (place - other)
            if not crossings or crossing > crossings[-1]:
                crossings.append(crossing)
                break
            kept.pop()
            crossings.pop()
        kept.append(new)
    return np.array(kept, dtype=np.int64), np.array(crossings)


def _mass(law: NoiseLaw, low: FloatArray, high: FloatArray) -> FloatArray:
    """P(low ≤ noise < high), from the tails that are smaller."""
    mirrored = high <= 0
    first, last = np.where(mirrored, 1 - high, low), np.where(mirrored, 1 - low, high)
    far = np.where(np.isinf(last), 0.0, np.exp(law.log_upper(np.where(np.isinf(last), 1.0, last))))
    near = np.exp(law.log_upper(np.where(np.isinf(first), 1.0, first)))
    return np.where(np.isinf(first), 1.0, near) - far
