"""Vulnerability before and after a release, and leakage: how much the release changes it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, finite_channel
from sievert.channels.priors import as_prior
from sievert.channels.products import ProductChannel
from sievert.channels.structured import StructuredChannel
from sievert.errors import GainError, PriorError
from sievert.leakage import response_columns  # noqa: F401  (teaches column_values randomised response)
from sievert.leakage.adversary import Adversary, MatrixAdversary, matrix_adversary, secret_labels
from sievert.leakage.closed_forms import Belief, Guessing, Identity, Shannon, Symmetric, Tries
from sievert.leakage.columns import column_values, float_prior, joint_distribution
from sievert.leakage.extremes import excess_of_maxima
from sievert.leakage.gains import as_gain
from sievert.leakage.growth import improvement
from sievert.leakage.products import (
    is_product_question,
    log2,
    power_of_two,
    product_of_powers,
    record_priors,
    tuple_prior,
)
from sievert.numerics.checks import choice
from sievert.numerics.logs import log_of
from sievert.results import Result, in_bits
from sievert.spaces.labels import Labels
from sievert.spaces.tabular import column_of

__all__ = ["Leakage", "Vulnerability", "leakage", "posterior_vulnerability", "strategy", "vulnerability"]

# Above this many entries (or secrets) a structured channel answers by its rule alone.
LARGEST_COLUMNS = 4_000_000
# Above this many secrets a uniform prior is not written out.
LARGEST_VECTOR = 10_000
# Guesses about more records than this are not spelled out.
LARGEST_NAMED = 1000

Case = Literal["average", "max"]
Kind = Literal["multiplicative", "additive"]
Number = Any  # float, or Fraction when every input is exact


@dataclass(frozen=True)
class Vulnerability(Result):
    """An adversary's expected gain (or loss) and the action that reaches it.

    `value` is a Fraction when channel, prior and gain are exact. `action` is the best action before a
    release, or the best action at `output` in the max case (None in the average case, where it
    depends on the output: see `strategy`).
    """

    value: Number
    action: Hashable
    output: Hashable
    gain: str
    is_loss: bool

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        word = "loss" if self.is_loss else "gain"
        where = "" if self.output is None else f" at output {self.output!r}"
        how = "" if self.action is None else f" by {self.action!r}"
        return f"the adversary ({self.gain}) expects a {word} of {float(self.value):.6g}{where}{how}"


@dataclass(frozen=True)
class Leakage(Result):
    """What a release changes for one adversary.

    Attributes
    ----------
    prior, posterior : expected gain (or loss) before and after
    factor : posterior/prior for gains, prior/posterior for losses; at least 1
    difference : improvement of the adversary in the gain's own units; at least 0
    bits : log2 of the factor
    action : best action before the release
    kind, case : what `float(leakage)` reports, and over outputs on average or at worst
    """

    prior: Number
    posterior: Number
    factor: Number
    difference: Number
    bits: float
    action: Hashable
    gain: str
    kind: Kind
    case: Case

    def __float__(self) -> float:
        return float(self.factor if self.kind == "multiplicative" else self.difference)

    def __str__(self) -> str:
        if self.bits > 0 and float(self.prior) == 0 == float(self.posterior):
            return (
                f"{self.gain} ({self.case} case): below the smallest float before and after; "
                f"the logarithm grows by {in_bits(self.bits)}"
            )
        return (
            f"{self.gain} ({self.case} case): {float(self.prior):.6g} before, "
            f"{float(self.posterior):.6g} after; factor {float(self.factor):.6g} ({in_bits(self.bits)}), "
            f"difference {float(self.difference):.6g}"
        )


def vulnerability(prior: object, gain: object = None) -> Vulnerability:
    """Expected gain (or loss) of the adversary's best action before any release.

    Parameters
    ----------
    prior : sequence of probabilities
    gain : gain or loss function, or a matrix [action, secret]; the one-try guess by default

    Examples
    --------
    >>> float(vulnerability([0.5, 0.3, 0.2]))
    0.5
    """
    if prior is None and gain is None:
        raise PriorError("prior is missing; give a list of probabilities, or a gain for a uniform prior")
    if gain is None:
        adversary: Adversary = Identity(_own_labels(prior))
    else:
        adversary = gain if isinstance(gain, Adversary) else matrix_adversary(gain)
    belief = as_prior(prior, adversary.secrets)
    column = belief[:, None]
    value = adversary.values(column)[0]
    return Vulnerability(_number(value), adversary.best(column)[0], None, adversary.name, adversary.is_loss)


def _own_labels(prior: object) -> Labels:
    """The labels that a prior carries itself, or 0, 1, 2, …"""
    given = column_of(prior, "prior", PriorError)
    named = given.labels is not None and not given.made_up
    return secret_labels(given.labels if named and given.labels is not None else len(given.values))


def posterior_vulnerability(
    channel: Channel, prior: object = None, gain: object = None, case: Case = "average"
) -> Vulnerability:
    """Expected gain (or loss) after observing the output: on average, or for the worst possible output.

    Average: Σ_y max_w Σ_x π_x C[x,y] g[w,x] (Fernandes, Thm 2.1). Max: over outputs that can occur
    (Def 4.3.1); for losses the worst output is the one with the least loss.

    Examples
    --------
    >>> c = Channel([["1/2", "1/2", 0], [0, "1/4", "3/4"], [0, "1/2", "1/2"]])
    >>> posterior_vulnerability(c).value
    Fraction(7, 12)
    >>> posterior_vulnerability(c, case="max").value
    Fraction(1, 1)
    """
    choice("case", case, ("average", "max"), GainError)
    channel = finite_channel(channel)
    if isinstance(channel, ProductChannel) and is_product_question(channel, prior, gain):
        return _product_vulnerability(channel, prior, gain, case)[1]
    if isinstance(channel, ProductChannel):
        prior = tuple_prior(channel, prior)
    adversary = as_gain(gain, channel.inputs)
    if case == "average":
        total = column_values(channel, adversary, prior).average()
        return Vulnerability(_number(total), None, None, adversary.name, adversary.is_loss)
    if isinstance(channel, StructuredChannel) and channel.shape[0] * channel.shape[1] > LARGEST_COLUMNS:
        worst_value, y = column_values(channel, adversary, prior).extreme(adversary.is_loss)
        name = channel.outputs[y]
        return Vulnerability(_number(worst_value), None, name, adversary.name, adversary.is_loss)
    outputs, columns = _possible_columns(channel, as_prior(prior, channel))
    values = adversary.values(columns) / columns.sum(axis=0)
    worst = int(values.argmin() if adversary.is_loss else values.argmax())
    action = adversary.best(columns[:, [worst]])[0]
    output = channel.outputs[int(outputs[worst])]
    return Vulnerability(_number(values[worst]), action, output, adversary.name, adversary.is_loss)


def strategy(channel: Channel, prior: object = None, gain: object = None) -> dict[Hashable, Hashable]:
    """The adversary's best action for each output; None for outputs that cannot occur.

    >>> strategy(Channel([[1, 0], [0, 1]], inputs=["yes", "no"]))
    {0: 'yes', 1: 'no'}
    """
    channel = finite_channel(channel)
    if isinstance(channel, ProductChannel):
        prior = tuple_prior(channel, prior)
    adversary = as_gain(gain, channel.inputs)
    outputs, columns = _possible_columns(channel, as_prior(prior, channel))
    chosen: dict[Hashable, Hashable] = dict.fromkeys(channel.outputs)
    for y, action in zip(outputs.tolist(), adversary.best(columns), strict=True):
        chosen[channel.outputs[y]] = action
    return chosen


def leakage(
    channel: Channel,
    prior: object = None,
    gain: object = None,
    kind: Kind = "multiplicative",
    case: Case = "average",
) -> Leakage:
    """How much a release helps an adversary, as a factor and as a difference (Fernandes, Def 2.2.6).

    A secret with prior vulnerability 0 has factor 1. Signed gains whose prior value is not positive have
    no factor, and asking for one is an error.

    Examples
    --------
    >>> c = Channel([["9/10", "1/10"], ["1/10", "9/10"]])
    >>> print(leakage(c))
    identity (average case): 0.5 before, 0.9 after; factor 1.8 (0.848 bits), difference 0.4
    """
    choice("kind", kind, ("multiplicative", "additive"), GainError)
    channel = finite_channel(channel)
    if isinstance(channel, ProductChannel) and is_product_question(channel, prior, gain):
        return _product_leakage(channel, prior, gain, kind, case)
    if isinstance(channel, ProductChannel):
        prior = tuple_prior(channel, prior)
    adversary = as_gain(gain, channel.inputs)
    before = _before(adversary, prior, channel)
    after = posterior_vulnerability(channel, prior, adversary, case).value
    if not (isinstance(after, Fraction) or isinstance(adversary, Belief)):
        # A release never makes the best action worse; rounding may say so by 1e-16.
        after = min(before.value, after) if adversary.is_loss else max(before.value, after)
    difference = before.value - after if adversary.is_loss else after - before.value
    factor = _factor(before.value, after, adversary, kind)
    bits = log2(factor)
    known = None if isinstance(after, Fraction) else _improvement(channel, adversary, prior, case)
    if known is not None:
        difference = known
        bottom = float(after if adversary.is_loss else before.value)
        bits = math.log1p(known / bottom) / math.log(2) if bottom > 0 and not math.isnan(bits) else bits
    return Leakage(before.value, after, factor, difference, bits, before.action, adversary.name, kind, case)


def _improvement(channel: Channel, adversary: Adversary, prior: object, case: Case) -> float | None:
    """What the adversary gains, with its digits where it is small; None where only two values are known."""
    if isinstance(adversary, Identity) and prior is None and case == "average":
        # n·V(after) = Σ_y max_x C[x,y], whose excess over 1 keeps its digits.
        return excess_of_maxima(channel) / channel.shape[0]
    return improvement(channel, adversary, prior, case)


def _before(adversary: Adversary, prior: object, channel: Channel) -> Vulnerability:
    """Prior vulnerability; for a uniform prior and a guess that treats secrets alike, without a vector.

    Fractions beside a channel that is not exact would cost an exact product and gain nothing.
    """
    size = channel.shape[0]
    if size <= LARGEST_VECTOR:
        belief = as_prior(prior, channel)
        return vulnerability(belief if channel.form == "exact" else belief.astype(np.float64), adversary)
    if prior is None and isinstance(adversary, Symmetric):
        return Vulnerability(*_even_before(adversary, size), None, adversary.name, adversary.is_loss)
    column = float_prior(prior, channel)[:, None]
    value = adversary.values(column)[0]
    short = isinstance(adversary, Identity | MatrixAdversary)
    action = adversary.best(column)[0] if short else None
    return Vulnerability(_number(value), action, None, adversary.name, adversary.is_loss)


def _even_before(adversary: Symmetric, size: int) -> tuple[Number, Hashable]:
    """Value and best action under a uniform prior."""
    if isinstance(adversary, Identity):
        return Fraction(1, size), adversary.secrets[0]
    if isinstance(adversary, Tries):
        return Fraction(min(adversary.tries, size), size), None
    return (Fraction(size + 1, 2) if isinstance(adversary, Guessing) else math.log2(size)), None


def _product_vulnerability(
    channel: ProductChannel, prior: object, gain: object, case: Case
) -> tuple[Vulnerability, Vulnerability, float]:
    """Before and after, and the bits gained: records are independent, so best guesses multiply and Shannon
    bits add."""
    shannon = isinstance(gain, Shannon)
    parts = record_priors(channel, prior)
    assert parts is not None
    found: list[tuple[Vulnerability, Vulnerability, int]] = []
    gained: list[tuple[Leakage, int]] = []
    for part in parts:
        own = Shannon(part.channel.inputs) if shannon else Identity(part.channel.inputs)
        after = posterior_vulnerability(part.channel, part.prior, own, case)
        before = _before(own, part.prior, part.channel)
        found.append((before, after, part.count))
        gained.append((leakage(part.channel, part.prior, own, case=case), part.count))
    named = channel.records <= LARGEST_NAMED and not shannon
    actions = tuple(before.action for before, _, count in found for _ in range(count)) if named else None
    outputs = None
    if case == "max" and channel.records <= LARGEST_NAMED:
        outputs = tuple(after.output for _, after, count in found for _ in range(count))
    if shannon:
        sums = [sum(count * pair[side].value for *pair, count in found) for side in (0, 1)]
        told = math.fsum(count * float(one.difference) for one, count in gained)
        bits = math.log1p(told / sums[1]) / math.log(2) if sums[1] > 0 else math.inf if sums[0] > 0 else 0.0
        values: list[Number] = sums
    else:
        powers = [product_of_powers((pair[side].value, count) for *pair, count in found) for side in (0, 1)]
        bits = math.fsum(count * max(0.0, one.bits) for one, count in gained)
        values = [value for value, _ in powers]
    name = "shannon" if shannon else "identity"
    return (
        Vulnerability(values[0], actions, None, name, shannon),
        Vulnerability(values[1], None, outputs, name, shannon),
        bits,
    )


def _product_leakage(channel: ProductChannel, prior: object, gain: object, kind: Kind, case: Case) -> Leakage:
    before, after, bits = _product_vulnerability(channel, prior, gain, case)
    top, bottom = (before, after) if before.is_loss else (after, before)
    exact = isinstance(top.value, Fraction) and isinstance(bottom.value, Fraction)
    # Where both guesses are too small for a float, their ratio is known by its bits.
    factor: Number = top.value / bottom.value if exact else power_of_two(bits)
    # 2^bits - 1 keeps the digits that the difference of two guesses loses.
    small = not exact and bits < 1
    difference = bottom.value * math.expm1(bits * math.log(2)) if small else top.value - bottom.value
    difference = max(difference, 0 * bottom.value)
    return Leakage(
        before.value, after.value, factor, difference, bits, before.action, before.gain, kind, case
    )


def _factor(before: Number, after: Number, adversary: Adversary, kind: Kind) -> Number:
    if before == after == 0:
        return Fraction(1) if isinstance(before, Fraction) and isinstance(after, Fraction) else 1.0
    top, bottom = (before, after) if adversary.is_loss else (after, before)
    if before < 0 or (before == 0 and not adversary.is_loss):
        if kind == "multiplicative":
            raise GainError(
                f"gain {adversary.name!r} has prior value {float(before):g}; a factor needs a positive one; "
                'use kind="additive", or add a constant to the gains of each secret'
            )
        return math.nan
    return math.inf if bottom == 0 else top / bottom


def _possible_columns(channel: Channel, belief: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The outputs that can occur and their columns of the joint distribution, each up to a scale.

    The scale makes the largest entry of a float column 1, so that outputs of probability e^-2000 count.
    """
    if channel.form == "exact" and belief.dtype == object:
        joint = joint_distribution(channel, belief)
        possible = np.flatnonzero(np.asarray(joint.sum(axis=0) > 0, dtype=bool))
        return possible, joint[:, possible]
    logs = log_of(belief.astype(np.float64))[:, None] + channel.log_matrix
    largest = logs.max(axis=0)
    possible = np.flatnonzero(~np.isneginf(largest))
    return possible, np.exp(logs[:, possible] - largest[possible])


def _number(value: Any) -> Number:
    return value if isinstance(value, Fraction) else float(value)
