"""How much a table, a sum or a map with noise can tell about the whole database, whatever is believed.

The capacity is Σ_y max_h P(y | h) over all answers h that are possible (the "miracle" theorem), and noise of
one law makes it a closed form. In a histogram of N records the largest likelihood of y is α^(m + |s - N|)
with m and s the sums of its negative and positive entries, so that
Σ_y = (1+α)^-k Σ_P c_P·α^|P - N| with c_P the coefficients of ((1 - α·x)/(1 - x))^k. On a map the likeliest
place is the noisy one, clamped to the region.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from sievert.channels import CellNoise, GeometricLaw, NoiseChannel, PlanarNoise, SumNoise
from sievert.errors import TooLargeError
from sievert.measures._capacity import WORDS, Capacity
from sievert.numerics import require_size
from sievert.policies import Policy

__all__ = ["noise_capacity"]

LARGEST_SUM = 20_000_000
# A rest that is this much smaller changes no digit of a sum.
NOTHING = 1e-18


@singledispatch
def noise_capacity(noise: NoiseChannel, policy: Policy, absence: bool = False) -> Capacity:
    """The multiplicative capacity about the whole database; with `absence`, records may be left out."""
    raise TooLargeError(f"the capacity of {noise.words()} has no closed form", size=math.inf)


@noise_capacity.register
def _of_sum(noise: SumNoise, policy: Policy, absence: bool = False) -> Capacity:
    """Between neighbouring answers the nearer is likeliest: 1 + M·p(0) for M + 1 answers in a row."""
    low, high = noise.statistic.range(policy, absence)
    steps = high - low
    if not noise.statistic.consecutive(policy):
        raise TooLargeError("the answers are not consecutive, so the capacity has no closed form", size=steps)
    factor = 1 + steps * math.exp(float(noise.law.log_pmf(np.zeros(1))[0]))
    return Capacity(factor, None, math.log1p(factor - 1) / math.log(2), WORDS["all"], None)


@noise_capacity.register
def _of_cells(noise: CellNoise, policy: Policy, absence: bool = False) -> Capacity:
    law = noise.law
    if not isinstance(law, GeometricLaw) or policy.constrained:
        raise TooLargeError(f"the capacity of {noise.words()} has no closed form", size=math.inf)
    nats = log_capacity(
        len(noise.statistic.cells), policy.records, law.level.eps, absence or policy.absent is not None
    )
    factor = math.exp(nats) if nats < 700 else math.inf
    return Capacity(factor, None, nats / math.log(2), WORDS["all"], None)


@noise_capacity.register
def _of_places(noise: PlanarNoise, policy: Policy, absence: bool = False) -> Capacity:
    """Every record's place is released with noise of its own: the capacities multiply."""
    nats = policy.records * math.log(noise.capacity)
    factor = math.exp(nats) if nats < 700 else math.inf
    return Capacity(factor, None, nats / math.log(2), WORDS["all"], None)


def log_capacity(cells: int, records: int, eps: float, fewer: bool = False) -> float:
    """ln of the capacity of a histogram; with `fewer`, of at most so many records.

    (P+1)·c_{P+1} = (k·(1-α) + P·(1+α))·c_P - α·(P-1)·c_{P-1}, followed as the ratio c_{P+1}/c_P. All the
    c_P·α^P add up to (1+α)^k, so what lies above N is the rest where that is most of it, else added up.
    """
    require_size(records, LARGEST_SUM, "the records", "the capacity is followed from one record to the next")
    alpha, fall = math.exp(-eps), -math.expm1(-eps)
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
    if held < math.log(0.5):
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
        if step < 1 and term * step / (1 - step) < total * NOTHING:
            return total
