"""The most that ε allows over very many values in a row, or beside one that is absent: closed forms.

q = e^(-ε). Privacy gives K[i,j] ≥ q^d(i,j)·K[j,j], so weights y ≥ 0 with Σ_j q^d(i,j)·y_j ≥ 1 at every value
bound any capacity by Σ y (the packing bound), and that of n records by its power.

- *A line* of gaps ε₁, ε₂, …: 1 + Σ tanh(εᵢ/2), weights and the channel of truncated geometric noise alike.
- *A row* in which values up to θ places apart are neighbours: the noise c·q^⌈|z|/θ⌉ on all integers, with
  c = (1-q)/(1-q+2θq), clamped to the row, reaches c·(n + 2θq/(1-q)). Weights c everywhere cover but for the
  values beyond the ends; as ⌈(v+k)/θ⌉ ≥ ⌈v/θ⌉ + ⌊k/θ⌋, a weight of c·(θ/(1-q) - 1) more at either end makes
  up for these. Blocks of θ+1 neighbours, each of capacity (θ+1)/(1+θq), are a bound too.
- *A star*: k values beside the one in the middle: e^ε where that is at most k - 1 (all weight in the middle;
  report a value), otherwise every weight is positive and it is 1 + k·tanh(ε/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise

import numpy as np

from sievert.arrays import FloatArray
from sievert.limits.bounds import complete_capacity
from sievert.proofs import ClosedLeakageProof
from sievert.spaces import Graph, Metric
from sievert.spaces.secrets import LineGraph, PresenceGraph, ThresholdGraph

__all__ = ["ClosedBounds", "closed_bounds"]
# e^x above this is not computed; hops times ε grow past it on long rows.
LARGEST_EXPONENT = 600.0


@dataclass(frozen=True)
class ClosedBounds:
    """Logarithms of bounds on any capacity and of one that is reached, and the proof for one record."""

    diameter: float
    radius: float
    packing: float
    reached: float
    method: str
    certificate: ClosedLeakageProof | None


@singledispatch
def closed_bounds(target: Graph | Metric, eps: Fraction) -> ClosedBounds | None:
    """The bounds by closed forms, where the values are in a row or beside one; None where they are not."""
    return None


@closed_bounds.register
def _of_metric(target: Metric, eps: Fraction) -> ClosedBounds | None:
    if target.positions is None:
        return None
    ordered = np.sort(target.positions)
    exact = [Fraction(place) for place in ordered.tolist()]
    apart = [after - before for before, after in pairwise(exact)]
    return _on_line(np.diff(ordered) * float(eps), ClosedLeakageProof.of_gaps(eps, apart))


@closed_bounds.register
def _of_line(target: LineGraph, eps: Fraction) -> ClosedBounds:
    return _evenly(target.size, eps)


def _evenly(size: int, eps: Fraction) -> ClosedBounds:
    """A line of gaps of 1."""
    proof = ClosedLeakageProof(eps, "line", size, gaps=((Fraction(1), size - 1),) if size > 1 else ())
    return _on_line(np.full(size - 1, float(eps)), proof)


def _on_line(gaps: FloatArray, proof: ClosedLeakageProof | None) -> ClosedBounds:
    """1 + Σ tanh(gap/2), which the packing bound and truncated geometric noise share."""
    value = math.log1p(math.fsum(np.tanh(gaps / 2).tolist()))
    whole = middle = _length(gaps)
    if math.isfinite(whole) and len(gaps):
        ahead = np.cumsum(gaps)
        middle = min(whole, float(np.maximum(ahead, whole - ahead).min()))
    method = "a line: 1 + Σ tanh(ε·gap/2), attained by truncated geometric noise"
    return ClosedBounds(whole, middle, value, value, method, proof)


def _length(gaps: FloatArray) -> float:
    """All gaps together; ∞ beyond the largest float."""
    try:
        return math.fsum(gaps.tolist())
    except OverflowError:
        return math.inf


@closed_bounds.register
def _of_star(target: PresenceGraph, eps: Fraction) -> ClosedBounds:
    level, leaves = float(eps), target.size - 1
    small = leaves > 1 and level <= math.log(leaves - 1)
    value = level if small else math.log1p(leaves * math.tanh(level / 2))
    method = "values beside a missing one: " + ("e^ε, attained" if small else "1 + k·tanh(ε/2), attained")
    proof = ClosedLeakageProof(eps, "star", target.size)
    return ClosedBounds(min(2, leaves) * level, min(1, leaves) * level, value, value, method, proof)


@closed_bounds.register
def _of_threshold(target: ThresholdGraph, eps: Fraction) -> ClosedBounds | None:
    reach, level = target.reach.steps, float(eps)
    if reach is None or reach == 0 or level == 0:
        return None
    if reach == 1:
        return _evenly(target.size, eps)
    count, diameter = target.size, target.reach.hops
    q, rest = math.exp(-level), -math.expm1(-level)
    share = rest / (rest + 2 * reach * q)
    reached = min(math.log(count), math.log(share * (count + 2 * reach * q / rest)))
    spread = math.log(share * (count + 2 * (reach / rest - 1)))
    blocks, left = divmod(count, reach + 1)
    cliques = blocks * (reach + 1) / (1 + reach * q) + (left / (1 + (left - 1) * q) if left else 0.0)
    radius = -(-(diameter) // 2) * level
    packing = max(0.0, min(math.log(count), radius, spread, math.log(cliques)))
    if diameter == 1:
        packing = reached = complete_capacity(count, level).log
    method = f"values up to {reach} places apart: the least of closed bounds; clamped noise from below"
    proof = ClosedLeakageProof(eps, "row", count, reach=reach)
    return ClosedBounds(diameter * level, radius, packing, max(0.0, min(packing, reached)), method, proof)
