"""Capacity: the most a channel can leak over a named class of adversaries.

| kind | gains | prior | value |
|---|---|---|---|
| multiplicative | all | all, or given | Σ_y max_x C[x,y] over possible x |
| additive | unit | all, or given | least total-variation distance of the rows from one distribution |
| additive | spanning | given | Σ_y a_y·TV(δ^y, π) |
| additive | signed | any with full support | 1 - Σ_y min_x C[x,y] |
| risk | identity | all | 1 / (1 - largest total-variation distance of two rows) |
| shannon | – | all | largest mutual information |
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sievert.channels.channel import Channel
from sievert.channels.deterministic import DeterministicChannel, PartitionChannel
from sievert.channels.priors import as_prior
from sievert.channels.products import ProductChannel
from sievert.channels.response import ResponseChannel
from sievert.channels.structured import StructuredChannel
from sievert.errors import GainError
from sievert.leakage.additive import signed_capacity, spanning_capacity, unit_capacity, unit_radius
from sievert.leakage.shannon import shannon_capacity
from sievert.results import Result

__all__ = ["Capacity", "capacity"]

Kind = Literal["multiplicative", "additive", "risk", "shannon"]
Gains = Literal["all", "unit", "spanning", "signed", "identity"]

WORDS = {
    "all": "all non-negative gain functions",
    "unit": "gain functions between 0 and 1",
    "spanning": "gain functions whose actions each span at most 1",
    "signed": "gain functions at most 1 with a prior value of at least 0",
    "identity": "the one-try guess, as a risk",
    "shannon": "Shannon uncertainty",
}


@dataclass(frozen=True)
class Capacity(Result):
    """The most a channel leaks over a class of gain functions and priors.

    Attributes
    ----------
    factor : largest growth of the gain (multiplicative), or largest fall of the risk; None where additive
    difference : largest growth in the gain's own units; None where multiplicative
    bits : log2 of the factor (may be right where the factor itself overflows to inf), or Shannon bits
    gains : the class of gain functions, in words
    prior : a prior that attains it
    gap : how far the proved upper bound is above the value (0: closed form or exact)
    gain : for gains between 0 and 1, a gain function [action, secret] that attains it
    pair : for risks, the two inputs whose even prior attains it
    """

    factor: Any
    difference: Any
    bits: Any
    gains: str
    prior: Any
    gap: Any = 0
    gain: Any = None
    pair: tuple[Any, Any] | None = None

    def __float__(self) -> float:
        if self.factor is not None:
            return float(self.factor)
        return float(self.difference if self.difference is not None else self.bits)

    def __str__(self) -> str:
        if self.factor is not None:
            return f"at most a factor {float(self.factor):.6g} ({self.bits:.6g} bits) over {self.gains}"
        if self.difference is not None:
            return f"at most {float(self.difference):.6g} more over {self.gains}"
        return f"at most {self.bits:.6g} bits of {self.gains}"


def capacity(
    channel: Channel, kind: Kind = "multiplicative", gains: Gains | None = None, prior: object = None
) -> Capacity:
    """The most a channel leaks over a class of adversaries.

    Parameters
    ----------
    kind : "multiplicative", "additive", "risk" (Bayes risk, multiplicative) or "shannon"
    gains : for additive capacity the class is part of the question: "unit", "spanning" or "signed"
    prior : a fixed prior, or None for the worst one

    Notes
    -----
    Multiplicative capacity over all gains and priors is the sum of the column maxima, attained by the
    one-try guess and the uniform prior (the "miracle" theorem; min-capacity of Alvim et al.); for a
    fixed prior the gain 1/π_x for guessing x attains it.

    Examples
    --------
    >>> c = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> capacity(c).factor, capacity(c, "additive", "unit").difference, capacity(c, "risk").factor
    (Fraction(3, 2), Fraction(1, 4), Fraction(2, 1))
    """
    finite = channel.finite()
    chosen: str = gains or {"multiplicative": "all", "risk": "identity", "shannon": "shannon"}.get(kind, "")
    if kind == "multiplicative" and chosen == "all":
        return _multiplicative(finite, prior)
    if kind == "additive" and chosen in ("unit", "spanning", "signed"):
        return _additive(finite, chosen, prior)
    if kind == "risk" and chosen == "identity" and prior is None:
        return _risk(finite)
    if kind == "shannon" and chosen == "shannon" and prior is None:
        return _shannon(finite)
    raise GainError(
        f"kind is {kind!r}, gains {gains!r}, prior {'given' if prior is not None else 'None'}; known are "
        'kind="multiplicative" with gains="all"; kind="additive" with gains="unit", "spanning" or "signed"; '
        'kind="risk" and kind="shannon" over all priors'
    )


def _multiplicative(channel: Channel, prior: object) -> Capacity:
    words = WORDS["all"]
    if isinstance(channel, ProductChannel) and prior is None:
        bits = sum(count * capacity(part).bits for part, count in channel.factors)
        return Capacity(2.0**bits if bits < 1024 else math.inf, None, bits, words, None)
    closed = _closed_sum(channel) if prior is None else None
    if closed is not None:
        return Capacity(closed, None, math.log2(closed), words, None)
    belief = as_prior(prior, channel.shape[0])
    possible = np.asarray(belief > 0, dtype=bool)
    maxima = channel.exact_or_rounded()[possible].max(axis=0)
    exact = channel.form == "exact"
    factor: Any = sum(maxima.tolist(), Fraction(0)) if exact else max(1.0, float(maxima.sum()))
    return Capacity(factor, None, math.log2(factor), words, belief)


def _closed_sum(channel: Channel) -> Any:
    """Sum of the column maxima where the structure knows it."""
    if isinstance(channel, ResponseChannel):
        return channel.shape[0] * channel.truth
    if isinstance(channel, DeterministicChannel | PartitionChannel):
        return Fraction(channel.shape[1])
    if isinstance(channel, StructuredChannel):
        maxima = channel.column_maxima()
        return None if maxima is None else max(1.0, float(maxima.sum()))
    return None


def _additive(channel: Channel, gains: str, prior: object) -> Capacity:
    words = WORDS[gains]
    size = channel.shape[0]
    if gains == "signed":
        belief = as_prior(prior, size)
        if not np.asarray(belief > 0, dtype=bool).all():
            raise GainError(
                "prior has a zero; the signed class is defined for priors that are positive everywhere"
            )
        return Capacity(None, signed_capacity(channel), None, words, belief)
    if gains == "spanning":
        if prior is None:
            raise GainError(
                'prior is None; the capacity over gains="spanning" is known for a fixed prior: '
                "give one, e.g. sv.uniform(n)"
            )
        belief = as_prior(prior, size)
        return Capacity(None, spanning_capacity(channel, belief), None, words, belief)
    found = unit_radius(channel) if prior is None else unit_capacity(channel, as_prior(prior, size))
    return Capacity(None, found.value, None, words, found.prior, found.gap, found.gain)


def _risk(channel: Channel) -> Capacity:
    """Bayes risk falls most for an even prior on the two rows furthest apart (Cherubin et al., Thm 7)."""
    i, j, distance = _furthest_rows(channel)
    belief = np.full(channel.shape[0], Fraction(0), dtype=object)
    belief[[i, j]] = Fraction(1, 2)
    factor: Any = math.inf if distance == 1 else 1 / (1 - distance)
    pair = (channel.inputs[i], channel.inputs[j])
    bits = math.inf if factor == math.inf else math.log2(factor)
    return Capacity(factor, None, bits, WORDS["identity"], belief, pair=pair)


def _furthest_rows(channel: Channel) -> tuple[int, int, Any]:
    """The two rows at the largest total-variation distance: all pairs, O(n² m), two threads of blocks."""
    if channel.shape[0] == 1:
        return 0, 0, Fraction(0)
    if isinstance(channel, ResponseChannel):
        return 0, 1, channel.truth - channel.lie
    matrix = channel.rounded()
    step = max(1, min(256, len(matrix) // 2))

    def block(start: int) -> tuple[float, int, int]:
        distances = cdist(matrix[start : start + step], matrix[start:], "cityblock")
        k = int(np.argmax(distances))
        return float(distances.flat[k]), start + k // distances.shape[1], start + k % distances.shape[1]

    with ThreadPoolExecutor(2) as pool:
        value, i, j = max(pool.map(block, range(0, len(matrix), step)), key=lambda found: found[0])
    if channel.form == "exact":
        assert channel.exact is not None
        rows: NDArray[Any] = channel.exact
        return i, j, sum(np.maximum(rows[i] - rows[j], 0).tolist(), Fraction(0))
    return i, j, min(1.0, value / 2)


def _shannon(channel: Channel) -> Capacity:
    if isinstance(channel, ResponseChannel):
        size, truth, lie = channel.shape[0], float(channel.truth), float(channel.lie)
        noise = -truth * math.log2(truth) - ((size - 1) * lie * math.log2(lie) if lie > 0 else 0.0)
        return Capacity(None, None, max(0.0, math.log2(size) - noise), WORDS["shannon"], None)
    if isinstance(channel, DeterministicChannel | PartitionChannel):
        return Capacity(None, None, math.log2(channel.shape[1]), WORDS["shannon"], None)
    if isinstance(channel, ProductChannel):
        found = [(capacity(part, "shannon"), count) for part, count in channel.factors]
        bits = sum(count * part.bits for part, count in found)
        gap = sum(count * part.gap for part, count in found)
        return Capacity(None, None, bits, WORDS["shannon"], None, gap)
    found_one = shannon_capacity(channel)
    return Capacity(None, None, found_one.bits, WORDS["shannon"], found_one.prior, found_one.gap)
