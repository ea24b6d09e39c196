"""What a noisy count tells beyond the blind guess, when somebody joins rows that everybody knows.

Given the newcomer's useful value v, an output y has the probability (1-r_v)·f(y) + r_v·f(y-1): f is the law
of the noisy count of the others, r_v how often v is counted. So every secret is a line in the ratio
f(y-1)/f(y), and the best guess is the upper envelope of these lines. With noise on every row f is a sum of
binomials, which is log-concave: the ratio rises with y, so each line of the envelope is best on one interval.
There f is computed in the tilted law, whose bulk is at that interval: full relative accuracy however far out
it lies.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from sievert.arrays import AnyArray, FloatArray
from sievert.mechanisms import truncated_geometric

__all__ = [
    "Joining",
    "best_line",
    "binomial_law",
    "chances",
    "exact_excess",
    "excess_at",
    "gaps",
    "lines",
    "local_excess",
]

# Terms of a binomial beyond so many standard deviations are below 1e-300 of the largest.
REACH, FEWEST = 40.0, 80
# A tilted law has its largest terms where they are asked for: beyond so many, terms are below 1e-40 of them.
TILTED_REACH = 14.0


@dataclass(frozen=True, eq=False)
class Joining:
    """Probabilities [secret, value] as fractions, the number of rows of each value, and which are counted."""

    joint: AnyArray
    rows: tuple[int, ...]
    counted: tuple[bool, ...]

    @property
    def records(self) -> int:
        return sum(self.rows)

    @property
    def count(self) -> int:
        return sum(n for n, asked in zip(self.rows, self.counted, strict=True) if asked)

    @property
    def by_use(self) -> AnyArray:
        """Probabilities [counted or not, value]."""
        asked = np.array(self.counted)
        prior = self.joint.sum(axis=0)
        zero = np.full(len(prior), Fraction(0), dtype=object)
        return np.stack([np.where(asked, zero, prior), np.where(asked, prior, zero)])


def lines(joint: AnyArray, miss: AnyArray, hit: AnyArray) -> tuple[AnyArray, AnyArray]:
    """a_s and b_s with P(s, y) = a_s·f(y) + b_s·f(y-1), for the chances that v is missed and counted."""
    return (joint * miss).sum(axis=1), (joint * hit).sum(axis=1)


def gaps(joint: AnyArray, miss: FloatArray, hit: FloatArray) -> list[tuple[float, float]]:
    """(a_s - a_t, b_s - b_t) of every s but the best blind guess t; what is exact is subtracted first."""
    totals = joint.sum(axis=1).tolist()
    top = totals.index(max(totals))
    apart = np.delete(joint - joint[top], top, axis=0).astype(np.float64)
    return [(math.fsum(row * miss), math.fsum(row * hit)) for row in apart]


def best_line(a: AnyArray, b: AnyArray) -> int:
    """The best guess without a release."""
    total = (a + b).tolist()
    return int(np.argmax(total))


def exact_excess(asked: Joining, joint: AnyArray, alpha: Any) -> Fraction:
    """The same in fractions: the law of the count is a product of binomials (1 - r + r·x)^n."""
    rows = truncated_geometric(len(asked.rows), alpha=alpha).exact
    assert rows is not None
    hit = rows[:, np.array(asked.counted)].sum(axis=1) + Fraction(0)
    a, b = lines(joint, 1 - hit, hit)
    top = best_line(a, b)
    law = flint.fmpq_poly([1])
    for n, r in zip(asked.rows, hit.tolist(), strict=True):
        chance = flint.fmpq(r.numerator, r.denominator)
        law *= flint.fmpq_poly([1 - chance, chance]) ** n
    f = [Fraction(0), *(Fraction(int(x.p), int(x.q)) for x in law.coeffs()), Fraction(0)]
    gains = [[(x - a[top]) * here + (y - b[top]) * there for x, y in zip(a, b, strict=True)]
             for there, here in itertools.pairwise(f)]  # fmt: skip
    return sum((max(gain) for gain in gains), Fraction(0))


def excess_at(asked: Joining, joint: AnyArray, eps: float) -> float:
    """The excess under truncated geometric noise on the code of every row."""
    size = len(asked.rows)
    noise = truncated_geometric(size, eps)
    rows = np.stack([noise.row(v) for v in range(size)])
    return local_excess(asked, joint, *chances(rows, np.flatnonzero(asked.counted).tolist()))


def chances(rows: FloatArray, places: list[int]) -> tuple[FloatArray, FloatArray]:
    """How often a row with each value is not counted, and how often it is: both with all their digits."""
    counted = np.isin(np.arange(rows.shape[1]), places)
    miss, hit = (np.array([math.fsum(row[part]) for row in rows]) for part in (~counted, counted))
    return miss / (miss + hit), hit / (miss + hit)


def local_excess(asked: Joining, joint: AnyArray, miss: FloatArray, hit: FloatArray) -> float:
    """Σ_y max_s P(s, y) - max_s P(s), term by term above the best guess without a release."""
    # Where s beats the blind guess: a gap in the ratio f(y-1)/f(y), from 0 to ∞.
    pieces = _envelope(gaps(joint, miss, hit))
    return math.fsum(_piece(asked.rows, miss, hit, *piece) for piece in pieces)


def _envelope(lines: list[tuple[float, float]]) -> list[tuple[float, float, float, float]]:
    """(a, b, from, to) of each line of the upper envelope, over ratios ≥ 0, where it is above 0."""
    cuts = {0.0, math.inf}
    for i, (a, b) in enumerate(lines):
        for other_a, other_b in [(0.0, 0.0), *lines[:i]]:
            if b != other_b and 0 < (cut := (other_a - a) / (b - other_b)) < math.inf:
                cuts.add(cut)
    edges = sorted(cuts)
    pieces = []
    for low, high in itertools.pairwise(edges):
        middle = 2 * low + 1 if math.isinf(high) else (low + high) / 2
        a, b = max(lines, key=lambda line: line[0] + line[1] * middle, default=(0.0, 0.0))
        if a + b * middle > 0:
            pieces.append((a, b, low, high))
    return pieces


def _piece(
    rows: tuple[int, ...], miss: FloatArray, hit: FloatArray, a: float, b: float, low: float, high: float
) -> float:
    """Σ a·f(y) + b·f(y-1) over the outputs whose ratio f(y-1)/f(y) lies from low to high.

    The ratio rises with y (f is log-concave) and is 1 at the mode, so the largest terms are next to the end
    nearest to 1: the law is tilted to have its bulk there.
    """
    tilt = min(max(1.0, low), high)
    start, logs, scale = _tilted(rows, miss, hit, tilt)
    y = start + np.arange(len(logs) + 1)
    here = np.append(logs, -math.inf)
    there = np.concatenate([[-math.inf], logs]) + math.log(tilt)
    with np.errstate(invalid="ignore"):
        ratio = there - here
    inside = (ratio >= _log(low)) & (ratio < _log(high)) if math.isfinite(high) else ratio >= _log(low)
    inside |= np.isneginf(here) & math.isinf(high) & ~np.isneginf(there)
    shift = scale - (y * math.log(tilt))
    with np.errstate(under="ignore", invalid="ignore"):
        terms = a * np.exp(here[inside] + shift[inside]) + b * np.exp(there[inside] + shift[inside])
    # A term is above 0 in the gap; rounding at its very end may say otherwise.
    return math.fsum(np.maximum(np.nan_to_num(terms, nan=0.0), 0.0).tolist())


def _log(value: float) -> float:
    return -math.inf if value <= 0 else math.log(value)


def _tilted(
    rows: tuple[int, ...], miss: FloatArray, hit: FloatArray, tilt: float
) -> tuple[int, FloatArray, float]:
    """The law f(y)·tilt^y/G as logarithms from its first output on, and ln G.

    A tilted binomial is a binomial with r·t/(1-r+r·t); sums of positive terms keep their digits.
    """
    start, law, scale = 0, np.ones(1), 0.0
    for n, q, r in zip(rows, miss.tolist(), hit.tolist(), strict=True):
        if not n:
            continue
        odds = r * tilt / q if q else math.inf
        # q + r·t, with q + r = 1.
        scale += n * (math.log1p(r * (tilt - 1)) if r * (tilt - 1) > -0.5 else math.log(q + r * tilt))
        first, part = binomial_law(n, odds, TILTED_REACH)
        start += first
        law = np.convolve(law, part)
    with np.errstate(divide="ignore"):
        return start, np.log(law), scale


def binomial_law(n: int, odds: float, reach: float = REACH) -> tuple[int, FloatArray]:
    """The binomial law with these odds, from its first output worth keeping on."""
    if odds == 0 or math.isinf(odds):
        return (0 if odds == 0 else n), np.ones(1)
    mean, chance = n * odds / (1 + odds), odds / (1 + odds)
    width = reach * math.sqrt(mean / (1 + odds)) + FEWEST
    low, high = max(0, math.floor(mean - width)), min(n, math.ceil(mean + width))
    k = np.arange(low, high + 1, dtype=np.float64)
    mode = min(n, math.floor((n + 1) * chance))
    # The whole law sums to 1, which fixes its scale better than ln Γ would.
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - k[:-1]) / k[1:]) + math.log(odds))])
    weights = np.exp(logs - logs[mode - low])
    return low, weights / weights.sum()
