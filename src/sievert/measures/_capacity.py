"""Capacity: the most a channel can leak over a named class of adversaries.

| kind | gains | prior | value |
|---|---|---|---|
| multiplicative | all | all, or given | Σ_y max_x C[x,y] over possible x |
| additive | unit | all, or given | least total-variation distance of the rows from one distribution |
| additive | spanning | given | Σ_y a_y·TV(δ^y, π) |
| additive | spanning | all | its largest value, between a prior and a bound by the distances of two rows |
| additive | signed | any with full support | 1 - Σ_y min_x C[x,y] |
| multiplicative | a property | all | 1 + largest total-variation distance of a row with it and one without |
| risk | identity | all | 1 / (1 - largest total-variation distance of two rows) |
| risk | a property | all | the same over pairs of which one has the property |
| shannon | – | all | largest mutual information |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sievert.channels import (
    BlockChannel,
    Channel,
    CyclicChannel,
    DeterministicChannel,
    PartitionChannel,
    ProductChannel,
    ResponseChannel,
    finite_channel,
)
from sievert.channels.priors import as_prior
from sievert.errors import GainError
from sievert.measures._capacities import (
    AdditiveOptimum,
    shannon_capacity,
    signed_capacity,
    spanning_capacity,
    unit_capacity,
    unit_radius,
)
from sievert.measures._extremes import excess_of_maxima, furthest_rows, row_distance, sum_of_maxima
from sievert.measures._gain_function import GainMatrix
from sievert.measures._output_values import float_prior
from sievert.measures._power_sums import even_divergence, row_negentropies
from sievert.measures._product_leakage import log2, product_of_powers, record_priors, tuple_prior
from sievert.measures._spanning import spanning_radius
from sievert.numerics import UNIT, abbreviated, choice, in_bits, log_sum
from sievert.proofs import AdditiveCapacityProof
from sievert.results import Result

__all__ = ["Capacity", "capacity"]

Kind = Literal["multiplicative", "additive", "risk", "shannon"]
KINDS = get_args(Kind)
Gains = Literal["all", "unit", "spanning", "signed", "identity"]
# Above this many inputs a symmetric prior is not written out.
LARGEST_VECTOR = 1_000_000
MUCH = 2.0

WORDS = {
    "all": "all non-negative gain functions",
    "unit": "gain functions between 0 and 1",
    "spanning": "gain functions whose actions each span at most 1",
    "signed": "gain functions at most 1 with a prior value of at least 0",
    "identity": "the one-try guess, as a risk",
    "property": "the guess whether the secret has a property",
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
    prior : a prior that attains it (None: the uniform or another symmetric one, not written out)
    gap : how far the proved upper bound is above the value (0: closed form or exact); of noise without a list
        the bound itself is given where there is no closed form, and it is so far above what is attained
    gain : for gains between 0 and 1, a gain function [action, secret] that attains it
    pair : for risks and properties, the two inputs whose even prior attains it
    certificate : for gains between 0 and 1, a proof of the value and of the upper bound (None: closed form)
    """

    factor: Any
    difference: Any
    bits: Any
    gains: str
    prior: Any
    gap: Any = 0
    gain: Any = None
    pair: tuple[Any, Any] | None = None
    certificate: AdditiveCapacityProof | None = None

    def __float__(self) -> float:
        if self.factor is not None:
            return float(self.factor)
        return float(self.difference if self.difference is not None else self.bits)

    def __str__(self) -> str:
        if self.factor is not None:
            return f"at most a factor {float(self.factor):.6g} ({in_bits(self.bits, 6)}) over {self.gains}"
        if self.difference is not None:
            reached = float(self.difference)
            most = reached + float(self.gap)
            between = (
                "" if f"{most:.6g}" == f"{reached:.6g}" else f"; a prior is known that gives {reached:.6g}"
            )
            return f"at most {most:.6g} more over {self.gains}{between}"
        return f"at most {in_bits(self.bits, 6)} of {self.gains}"


def capacity(
    channel: Channel,
    prior: object = None,
    *,
    gains: Gains | GainMatrix | None = None,
    kind: Kind = "multiplicative",
) -> Capacity:
    """The most a channel leaks over a class of adversaries.

    Parameters
    ----------
    channel : Channel
    prior : a fixed prior, or None for the worst one
    gains : for additive capacity the class is part of the question: "unit", "spanning" or "signed"; for
        multiplicative and risk also a property (`sv.gains.property`)
    kind : "multiplicative", "additive", "risk" (Bayes risk, multiplicative) or "shannon"

    Returns
    -------
    Capacity
        `factor` or `difference`, `bits`, and over which gains; `float(result)` is the one asked for.

    Notes
    -----
    Multiplicative capacity over all gains and priors is the sum of the column maxima, attained by the
    one-try guess and the uniform prior (the "miracle" theorem; min-capacity of Alvim et al.); for a
    fixed prior the gain 1/π_x for guessing x attains it.

    Cost: O(inputs·outputs) for multiplicative, risk and signed additive capacity; a linear program for
    gains="unit" and "spanning", an iteration for kind="shannon".

    Examples
    --------
    >>> c = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> capacity(c).factor, capacity(c, kind="risk").factor
    (Fraction(3, 2), Fraction(2, 1))
    >>> capacity(c, gains="unit", kind="additive").difference
    Fraction(1, 4)
    """
    if isinstance(prior, str) and prior in KINDS:
        raise GainError(f"prior is {prior!r}, which is a kind of capacity; write kind={prior!r}")
    finite = finite_channel(channel)
    own = gains if isinstance(gains, GainMatrix) else None
    if own is not None and kind in ("multiplicative", "risk") and prior is None:
        return _property(finite, own, kind)
    choice("kind", kind, KINDS, GainError)
    if gains is not None and own is None:
        choice("gains", gains, tuple(WORDS), GainError)
    asked: tuple[Any, Any] = (kind, OWN_GAINS.get(kind) if gains is None else gains)
    if asked in WITH_PRIOR:
        return WITH_PRIOR[asked](finite, prior)
    if asked in OVER_ALL_PRIORS and prior is None:
        return OVER_ALL_PRIORS[asked](finite)
    raise GainError(
        f"kind is {abbreviated(kind)}, gains {abbreviated(gains)}, "
        f"prior {'given' if prior is not None else 'None'}; known are "
        'kind="multiplicative" with gains="all"; kind="additive" with gains="unit", "spanning" or "signed"; '
        'kind="risk" and kind="shannon" over all priors; a property with kind="multiplicative" or "risk"'
    )


def _multiplicative(channel: Channel, prior: object) -> Capacity:
    words = WORDS["all"]
    parts = record_priors(channel, prior)
    if parts is not None:
        found = [(_multiplicative(part.channel, part.prior), part.count) for part in parts]
        factor = product_of_powers([(part.factor, count) for part, count in found])[0]
        return Capacity(factor, None, math.fsum(count * part.bits for part, count in found), words, prior)
    possible = None
    if prior is not None:
        belief = as_prior(prior, channel)
        possible = np.asarray(belief > 0, dtype=bool)
        possible = None if possible.all() else possible
    factor = sum_of_maxima(channel, possible)
    if isinstance(factor, Fraction):
        return Capacity(factor, None, log2(factor), words, prior)
    # Far above 1 the factor itself has all the digits of its logarithm.
    much = float(factor) > MUCH
    bits = math.log2(factor) if much else math.log1p(excess_of_maxima(channel, possible)) / math.log(2)
    return Capacity(max(1.0, float(factor)), None, bits, words, prior)


def _signed(channel: Channel, prior: object) -> Capacity:
    given = tuple_prior(channel, prior)
    possible = None if given is None else np.asarray(as_prior(given, channel) > 0, dtype=bool)
    return Capacity(None, signed_capacity(channel, possible), None, WORDS["signed"], given)


def _spanning(channel: Channel, prior: object) -> Capacity:
    if prior is None:
        found = spanning_radius(channel)
        return Capacity(None, found.value, None, WORDS["spanning"], found.prior, found.gap)
    belief = as_prior(tuple_prior(channel, prior), channel)
    return Capacity(None, spanning_capacity(channel, belief), None, WORDS["spanning"], belief)


def _unit(channel: Channel, prior: object) -> Capacity:
    given = tuple_prior(channel, prior)
    found = unit_radius(channel) if given is None else unit_capacity(channel, as_prior(given, channel))
    proof = None if found.gain is None else _unit_proof(channel, found, given is None)
    words = WORDS["unit"]
    return Capacity(None, found.value, None, words, found.prior, found.gap, found.gain, certificate=proof)


def _unit_proof(channel: Channel, found: AdditiveOptimum, any_prior: bool) -> AdditiveCapacityProof:
    """Both sides of the optimum as data; a gain that rounding left above 1 is cut.

    The ends of a float optimum are sums of n·m products that add up to at most 1: they are moved outward by
    more than their rounding, so that they hold for the numbers in the proof.
    """
    assert found.gain is not None
    assert found.prior is not None
    assert found.reference is not None
    exact = found.gain.dtype == object
    entries = channel.exact_or_rounded() if exact else channel.rounded()
    gain = found.gain if exact else np.clip(found.gain, 0.0, 1.0)
    spare = Fraction(0) if exact else 4 * (sum(entries.shape) + 8) * Fraction(UNIT)
    lower, upper = Fraction(found.value) - spare, Fraction(found.value) + Fraction(found.gap) + spare
    prior, reference = found.prior[None, :], found.reference[None, :]
    return AdditiveCapacityProof(entries, prior, gain, reference, lower, upper, any_prior)


def _risk(channel: Channel) -> Capacity:
    """Bayes risk falls most for an even prior on the two rows furthest apart (Cherubin et al., Thm 7)."""
    i, j, overlap = furthest_rows(channel)
    return _of_pair(channel, i, j, _inverse(overlap), "identity", "risk")


def _property(channel: Channel, gain: GainMatrix, kind: Kind) -> Capacity:
    """Over all priors an even one on two secrets, one with the property, is worst: the guess whether it
    holds then is the guess between two rows."""
    table = np.asarray(gain.for_secrets(channel.inputs).table != 0, dtype=bool)
    says_whether = {type(action) for action in gain.actions} == {bool}
    if gain.is_loss or len(table) != 2 or not (table[0] ^ table[1]).all() or not says_whether:
        raise GainError(
            f"gains is {abbreviated(gain)}; a capacity over priors is known for sv.gains.property only"
        )
    marked = table[gain.actions.index(True)]
    if marked.all() or not marked.any():
        # Nothing to find out: the guess is right before the release.
        return Capacity(Fraction(1), None, 0.0, WORDS["property"], None)
    i, j, overlap = furthest_rows(channel, marked)
    factor = _inverse(overlap) if kind == "risk" else 2 - overlap
    return _of_pair(channel, i, j, factor, "property", kind)


def _inverse(value: Any) -> Any:
    return math.inf if value == 0 else 1 / value


def _of_pair(channel: Channel, i: int, j: int, factor: Any, words: str, kind: Kind) -> Capacity:
    """A capacity attained by an even prior on two inputs."""
    belief: NDArray[Any] | None = None
    if channel.shape[0] <= LARGEST_VECTOR:
        belief = np.full(channel.shape[0], Fraction(0), dtype=object)
        belief[[i, j]] = Fraction(1, 2) if i != j else Fraction(1)
    bits = _lost_bits(channel, i, j) if factor == math.inf else log2(factor)
    if bits < 1 and not isinstance(factor, Fraction):
        apart = row_distance(channel, i, j)
        bits = (-math.log1p(-apart) if kind == "risk" else math.log1p(apart)) / math.log(2)
    pair = (channel.inputs[i], channel.inputs[j])
    return Capacity(factor, None, bits, WORDS[words], belief, pair=pair)


def _lost_bits(channel: Channel, i: int, j: int) -> float:
    """-log2 of an overlap of two rows that no float holds; inf where there is none."""
    if channel.form == "exact" or channel.shape[0] * channel.shape[1] > LARGEST_VECTOR:
        return math.inf
    return -float(log_sum(np.minimum(*channel.log_matrix[[i, j]]), axis=0)) / math.log(2)


@singledispatch
def shannon(channel: Channel) -> Capacity:
    """Largest mutual information over all priors."""
    optimum = shannon_capacity(channel)
    return Capacity(None, None, optimum.bits, WORDS["shannon"], optimum.prior, optimum.gap)


@shannon.register
def _shannon_of_permutations(channel: ResponseChannel | CyclicChannel) -> Capacity:
    """Every row is a permutation of every other and so is every column: the uniform prior is best."""
    even = even_divergence(channel, 1.0)
    bits = math.log2(channel.shape[0]) + float(row_negentropies(channel)) / math.log(2)
    bits = bits if even is None else even / math.log(2)
    return Capacity(None, None, max(0.0, bits), WORDS["shannon"], None)


@shannon.register
def _shannon_of_program(channel: DeterministicChannel | PartitionChannel) -> Capacity:
    return Capacity(None, None, math.log2(channel.shape[1]), WORDS["shannon"], None)


@shannon.register
def _shannon_of_records(channel: ProductChannel) -> Capacity:
    found = [(capacity(part, kind="shannon"), count) for part, count in channel.factors]
    bits = sum(count * part.bits for part, count in found)
    gap = sum(count * part.gap for part, count in found)
    return Capacity(None, None, bits, WORDS["shannon"], None, gap)


@shannon.register
def _shannon_of_blocks(channel: BlockChannel) -> Capacity:
    """log2 Σ 2^capacity, each block used in that proportion (Shannon's sum channel)."""
    found = [shannon(block) for block in channel.blocks]
    largest = max(part.bits for part in found)
    shares = np.array([2.0 ** (part.bits - largest) for part in found])
    bits = largest + math.log2(shares.sum())
    priors = [
        share / shares.sum() * float_prior(part.prior, block)
        for share, part, block in zip(shares, found, channel.blocks, strict=True)
    ]
    gap = max(part.gap for part in found)
    return Capacity(None, None, bits, WORDS["shannon"], np.concatenate(priors), gap)


# ── What is known, by kind and class of gains ───────────────────────────────────────────────────────────────

OWN_GAINS = {"multiplicative": "all", "risk": "identity", "shannon": "shannon"}
WITH_PRIOR: dict[tuple[str, str], Callable[[Channel, object], Capacity]] = {
    ("multiplicative", "all"): _multiplicative,
    ("additive", "unit"): _unit,
    ("additive", "spanning"): _spanning,
    ("additive", "signed"): _signed,
}
OVER_ALL_PRIORS: dict[tuple[str, str], Callable[[Channel], Capacity]] = {
    ("risk", "identity"): _risk,
    ("shannon", "shannon"): shannon,
}
