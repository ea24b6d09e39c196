"""How much a table, a sum or a map with noise can tell about the whole database, whatever is believed.

The capacity is Σ_y max_h P(y | h) over all answers h that are possible (the "miracle" theorem), and noise of
one law makes it a closed form. In a histogram of N records the largest likelihood of y is α^(m + |s - N|)
with m and s the sums of its negative and positive entries, so that
Σ_y = (1+α)^-k Σ_P c_P·α^|P - N| with c_P the coefficients of ((1 - α·x)/(1 - x))^k. On a map the likeliest
place is the noisy one, clamped to the region.
"""

from __future__ import annotations

import functools
import math
import operator
from functools import singledispatch

import numpy as np

from sievert.arrays import IntArray
from sievert.channels import GeometricLaw, HistogramNoise, NoiseChannel, PlanarNoise, ScalarNoise
from sievert.errors import TooLargeError
from sievert.measures._capacity import WORDS, Capacity
from sievert.measures._line_envelope import nearest_mass
from sievert.numerics import require_size
from sievert.policies import Policy

__all__ = ["noise_capacity"]

LARGEST_SUM = 20_000_000
# Bits that the sums of records are followed through: a second.
LARGEST_BITS = 20_000_000_000
LARGEST_NATS = 700.0
# A rest that is this much smaller changes no digit of a sum.
NOTHING = 1e-18


@singledispatch
def noise_capacity(noise: NoiseChannel, policy: Policy, absence: bool = False) -> Capacity:
    """The multiplicative capacity about the whole database; with `absence`, records may be left out."""
    raise TooLargeError(f"the capacity of {noise.words()} has no closed form", size=math.inf)


@noise_capacity.register
def _of_sum(noise: ScalarNoise, policy: Policy, absence: bool = False) -> Capacity:
    """The nearest possible answer is likeliest; under public knowledge some may be impossible."""
    low, high = noise.statistic.range(policy, absence)
    centre = math.exp(float(noise.law.log_pmf(np.zeros(1))[0]))
    most = 1 + (high - low) * centre
    if policy.constrained:
        return _bounded(math.log(most), 0.0)
    amounts = noise.statistic.distinct
    if (absence or policy.absent is not None) and not (amounts == 0).any():
        amounts = np.sort(np.append(amounts, 0))
    if len(amounts) == 1 or (np.diff(amounts) == 1).all():
        return _closed(math.log1p((high - low) * centre))
    found = sumset(amounts, policy.records)
    if found is None:
        # One record alone has the answers that its amounts lead to.
        return _bounded(math.log(most), math.log(nearest_mass(noise.law, amounts)))
    answers, more = found
    return _closed(math.log(nearest_mass(noise.law, answers) + more * centre))


def sumset(amounts: IntArray, records: int) -> tuple[IntArray, int] | None:
    """The sums of so many amounts from a list: some, and how many more there are in their full middle.

    With least amount 0, largest b and no common divisor, the sums of n ≥ b - k + 2 of k amounts are all
    numbers but for the same gaps at either end (Granville and Walker 2020): more records only lengthen the
    middle.
    None where even these sums are too many to list.
    """
    moved = [int(amount - amounts[0]) for amount in amounts]
    common = math.gcd(*moved)
    steps = [amount // common for amount in moved]
    count = min(records, steps[-1] - len(steps) + 2)
    if count * count * len(steps) * steps[-1] > LARGEST_BITS or common > 1:
        return None
    sums = 1
    for _ in range(count):
        sums = functools.reduce(operator.or_, (sums << step for step in steps))
    size = count * steps[-1] + 1
    bits = np.unpackbits(np.frombuffer(sums.to_bytes(size // 8 + 1, "little"), np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64), (records - count) * steps[-1]


@noise_capacity.register
def _of_cells(noise: HistogramNoise, policy: Policy, absence: bool = False) -> Capacity:
    """Geometric noise has a closed form, a bound under public knowledge; other laws are bounded."""
    law, cells, records = noise.law, len(noise.statistic.cells), policy.records
    fewer = absence or policy.absent is not None or bool((noise.statistic.amount == 0).any())
    if isinstance(law, GeometricLaw):
        nats = log_capacity(cells, records, law.level.eps, fewer)
        return _bounded(nats, 0.0) if policy.constrained else _closed(nats)
    centre = math.exp(float(law.log_pmf(np.zeros(1))[0]))
    free = cells if fewer else cells - 1
    # As many answers as there are histograms, or every cell on its own; some cells that share the records.
    answers = math.lgamma(records + free + 1) - math.lgamma(records + 1) - math.lgamma(free + 1)
    upper = min(answers, cells * math.log1p(records * centre))
    used = np.arange(1, min(free, records) + 1)
    lower = float((used * np.log1p(records // used * centre)).max()) if len(used) else 0.0
    return _bounded(upper, 0.0 if policy.constrained else lower)


def _closed(nats: float) -> Capacity:
    return Capacity(_exp(nats), None, nats / math.log(2), WORDS["all"], None)


def _bounded(upper: float, lower: float) -> Capacity:
    """An upper bound, and how far it is above what is attained."""
    gap = _exp(upper) * -math.expm1(min(lower - upper, 0.0)) if upper < LARGEST_NATS else math.inf
    return Capacity(_exp(upper), None, upper / math.log(2), WORDS["all"], None, gap if upper > lower else 0)


def _exp(nats: float) -> float:
    return math.exp(nats) if nats < LARGEST_NATS else math.inf


@noise_capacity.register
def _of_places(noise: PlanarNoise, policy: Policy, absence: bool = False) -> Capacity:
    """Every record's place is released with noise of its own: the capacities multiply."""
    nats = policy.records * math.log(noise.capacity)
    return _closed(nats)


def log_capacity(cells: int, records: int, eps: float, fewer: bool = False) -> float:
    """ln of the capacity of a histogram; with `fewer`, of at most so many records.

    (P+1)·c_{P+1} = (k·(1-α) + P·(1+α))·c_P - α·(P-1)·c_{P-1}, followed as the ratio c_{P+1}/c_P. All the
    c_P·α^P add up to (1+α)^k, so what lies above N is the rest where that is most of it, else added up.
    """
    require_size(records, LARGEST_SUM, "the records", "the capacity is followed from one record to the next")
    alpha, fall = math.exp(-eps), -math.expm1(-eps)
    if eps == 0:
        return 0.0
    if alpha == 0:
        free = cells if fewer else cells - 1
        return math.lgamma(records + free + 1) - math.lgamma(records + 1) - math.lgamma(free + 1)
    decay = 1.0 if fewer else alpha
    ratio, size, below, mass = cells * fall, 0.0, 1.0, 1.0
    for place in range(1, records + 1):
        # Σ_{Q≤P} c_Q·α^(P-Q) and Σ_{Q≤P} c_Q·α^(Q-P), both over c_P, so that nothing overflows.
        below, mass = below * decay / ratio + 1.0, mass / (ratio * alpha) + 1.0
        size += math.log(ratio)
        ratio = (cells * fall + place * (1 + alpha) - alpha * (place - 1) / ratio) / (place + 1)
    whole = cells * math.log1p(alpha)
    held = math.log(mass) + size - records * eps - whole
    inside = math.log(below) + size - whole
    if held < math.log(0.9):
        return float(np.logaddexp(inside, records * eps + math.log1p(-math.exp(held))))
    return inside + math.log1p(_above(cells, records, alpha, ratio) / below)


def _above(cells: int, place: int, alpha: float, ratio: float) -> float:
    """Σ_{P>N} c_P·α^(P-N) over c_N, to where nothing is left of it."""
    total, term = 0.0, 1.0
    while True:
        term *= ratio * alpha
        total += term
        place += 1
        ratio = (cells * (1 - alpha) + place * (1 + alpha) - alpha * (place - 1) / ratio) / (place + 1)
        step = ratio * alpha
        if step < 1 and term * step / (1 - step) <= total * NOTHING:
            return total
