"""The privacy order: is every pair of secrets at most as far apart under B as under A?

For all metrics at once this is d_A ≥ d_B (Fernandes, Prop 4.4); for one metric, a comparison of smallest ε.
Logarithms decide what is clear; where they are too close, fractions do.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels import Channel, distinguishability, epsilon
from sievert.errors import ChannelError
from sievert.orders._closed_forms import member_of
from sievert.orders._verdicts import Objection, Verdict, entries
from sievert.proofs import (
    GEOMETRIC,
    RESPONSE,
    MetricOrderProof,
    PrivacyOrderProof,
    PrivacyProof,
    compare_slopes,
    privacy_violation,
    steepest,
)
from sievert.spaces import Metric, align

__all__ = ["by_one_metric", "by_privacy"]

# Likelihood ratios of fractions that take about ten seconds.
MOST_RATIOS = 5_000_000


def by_privacy(first: Channel, second: Channel) -> Verdict:
    """d_A ≥ d_B for every pair; the witness metric is d_A (Fernandes, Prop 4.4; Sec 4.5.3 is an erratum)."""
    exact = first.form == "exact" and second.form == "exact"
    known = _families(first, second) if exact else None
    large = first.shape[0] * first.shape[0] * max(first.shape[1], second.shape[1]) > MOST_RATIOS * 10
    if known is not None and known[0] and large:
        return Verdict(True, "privacy", 0.0, None, None, "closed form of two families", True)
    mine, theirs = distinguishability(first), distinguishability(second)
    with np.errstate(invalid="ignore"):
        excess = theirs.matrix - mine.matrix
    excess = np.where(np.isnan(excess), 0.0, excess)
    i, j = map(int, np.unravel_index(int(np.argmax(excess)), excess.shape))
    rounding = 1e-12 * max(1.0, float(mine.matrix[i, j]) if np.isfinite(mine.matrix[i, j]) else 1.0)
    a, b = entries(first, exact), entries(second, exact)
    representable = exact or (_representable(first) and _representable(second))
    method = "every pair of secrets"
    holds = bool(excess[i, j] <= rounding)
    if exact and abs(excess[i, j]) <= 1e-9 * max(1.0, rounding * 1e12):
        # Too close for logarithms: parameters of families decide, or fractions.
        if known is not None:
            holds, (i, j) = known
            method = "closed form of two families"
        else:
            near = np.isfinite(mine.matrix) & (np.abs(excess) <= 1e-9 * np.maximum(1.0, mine.matrix))
            pairs = [(int(x), int(y)) for x, y in np.argwhere(np.tril(near, -1))]
            if len(pairs) * (a.shape[1] + b.shape[1]) > MOST_RATIOS:
                reason = f"{len(pairs)} pairs of secrets are too close for logarithms, too many for fractions"
                return Verdict(None, "privacy", max(0.0, float(excess[i, j])), None, None, reason)
            pair = privacy_violation(a, b, pairs=pairs)
            holds = pair is None
            i, j = pair or (i, j)
    if holds:
        # Checking the proof costs a comparison of every two rows.
        proof = PrivacyProof(a, b, exact) if representable and not large else None
        return Verdict(True, "privacy", 0.0, proof, None, method, exact)
    logs = second.log_matrix
    both = np.isneginf(logs[i]) & np.isneginf(logs[j])
    with np.errstate(invalid="ignore"):
        difference = np.where(both, 0.0, logs[i] - logs[j])
    output = int(np.argmax(np.abs(difference)))
    if exact and np.isfinite(difference[output]):
        ratios = [_stretch(p, q) for p, q in zip(b[i].tolist(), b[j].tolist(), strict=True)]
        output = max(range(len(ratios)), key=ratios.__getitem__)
    if b[i, output] < b[j, output]:
        i, j = j, i
    objection = Objection(
        float(mine.matrix[i, j]),
        float(theirs.matrix[i, j]),
        pair=(first.inputs[i], first.inputs[j]),
        output=second.outputs[output],
    )
    certificate = PrivacyOrderProof(a, b, (i, j), output, exact) if representable else None
    return Verdict(False, "privacy", float(excess[i, j]), certificate, objection, "a pair of secrets", exact)


def _families(first: Channel, second: Channel) -> tuple[bool, tuple[int, int]] | None:
    """Whether d_A ≥ d_B for two exact members of known families, and a pair that would violate it."""
    mine, theirs = member_of(first), member_of(second)
    if mine is None or theirs is None or not (mine.exact and theirs.exact):
        return None
    far = (0, mine.size - 1)
    names = (mine.name, theirs.name)
    if names == (RESPONSE, GEOMETRIC):
        # Ends are (n - 1)·ε apart under the geometric, every pair ε under randomised response.
        return theirs.parameter ** (mine.size - 1) >= mine.parameter, far
    if names in ((GEOMETRIC, GEOMETRIC), (RESPONSE, RESPONSE), (GEOMETRIC, RESPONSE)):
        return theirs.parameter >= mine.parameter, (0, 1)
    return None


def _stretch(p: Any, q: Any) -> Fraction:
    low, high = min(p, q), max(p, q)
    return Fraction(high / low) if low > 0 else Fraction(0)


def by_one_metric(first: Channel, second: Channel, metric: Metric) -> Verdict:
    """Compare the smallest ε for one metric, exactly where logarithms of fractions are too close."""
    exact = first.form == "exact" and second.form == "exact"
    mine, theirs = epsilon(first, metric), epsilon(second, metric)
    order = align(first.inputs, metric.points, "metric", ChannelError)
    distances = metric.matrix if order is None else metric.matrix[np.ix_(order, order)]
    a, b = entries(first, exact), entries(second, exact)
    holds = theirs.nats <= mine.nats * (1 + 1e-12)
    if exact and math.isclose(mine.nats, theirs.nats, rel_tol=1e-9):
        holds = compare_slopes(steepest(b, distances), steepest(a, distances)) <= 0
    proof = None
    if exact or (_representable(first) and _representable(second)):
        proof = MetricOrderProof(a, b, distances, holds, exact)
    objection = None if holds else Objection(mine.nats, theirs.nats, pair=theirs.pair, output=theirs.output)
    gap = 0.0 if holds else max(theirs.nats - mine.nats, 0.0)
    return Verdict(holds, "privacy for one metric", gap, proof, objection, "smallest ε of both", exact)


def _representable(channel: Channel) -> bool:
    """Whether floats hold every entry: none that is positive is rounded to 0."""
    return bool(((channel.rounded() > 0) == np.isfinite(channel.log_matrix)).all())
