"""What a release tells about a correlated secret: Dalenius vulnerability, privacy loss, accuracy.

The value of a release to somebody who wants the secret is Σ_y max_w Σ_s g[w,s]·(Π·C)[s,y]
(Fernandes, Def 5.3.1): rows of the channel are added up by secret, and no gain over raw data is ever made.
A best guess may stand still while beliefs move, so "zero Bayes leakage" never stands alone: the largest
change of the odds, the capacity and the mutual information stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, FloatArray
from sievert.channels import Channel
from sievert.errors import GainError
from sievert.inference._correlation import Correlation, correlation_of
from sievert.inference._masses import information_bits
from sievert.measures import GainFunction, Vulnerability, as_gain
from sievert.numerics import in_bits, in_percent, times
from sievert.results import Result

__all__ = ["Accuracy", "BeliefShift", "PrivacyLoss", "accuracy", "loss_of", "privacy_loss", "vulnerability"]

Number = Any  # float, or Fraction where everything given is exact
# Two best guesses this close (relative) are the same but for rounding.
SAME_GUESS = 1e-12


@dataclass(frozen=True)
class BeliefShift(Result):
    """How far belief in one secret value moves: its probability before, and between which it lies after."""

    secret: Hashable
    before: float
    least: float
    most: float

    def __str__(self) -> str:
        least, most = in_percent(self.least), in_percent(self.most)
        return f"{self.secret}: {in_percent(self.before)} before, from {least} to {most} after"


@dataclass(frozen=True)
class PrivacyLoss(Result):
    """What a release about one property tells about another.

    Attributes
    ----------
    factor : V after over V before, at least 1 (Fernandes, Def 5.4.1); `float(loss)` is this
    before, after : what somebody who wants the secret expects without and with the release
    gain : what they want
    shifts : for each secret value, its probability before and between which it lies after
    odds : the most by which the odds of a secret value change, up or down; inf where one is ruled out
    capacity : the most by which any non-negative gain and any belief about the secret could grow
    bits : mutual information of secret and output, in bits
    """

    factor: Number
    before: Number
    after: Number
    gain: str
    shifts: tuple[BeliefShift, ...]
    odds: float
    capacity: Number
    bits: float

    def __float__(self) -> float:
        return float(self.factor)

    @property
    def leaks(self) -> bool:
        """Whether the best guess improves at all: an inference leak."""
        return bool(self.factor > 1)

    @property
    def preserves(self) -> bool:
        """Whether nothing whatever is told: every belief stays as it was."""
        return self.odds == 1

    def __str__(self) -> str:
        before, after = (
            (in_percent(float(value)) for value in (self.before, self.after))
            if self.gain == "identity"
            else (f"{float(value):.6g}" for value in (self.before, self.after))
        )
        if self.preserves:
            return f"Nothing is told about the secret: {before} before and after."
        moved = (
            f"beliefs move: the odds of a secret value change by up to {times(self.odds)}, "
            f"{in_bits(self.bits)} are told"
        )
        if not self.leaks:
            return f"Zero Bayes leakage ({before} before and after), yet {moved}."
        return f"The secret is guessed with {before} before and {after} after; {moved}."


@dataclass(frozen=True)
class Accuracy(Result):
    """How well the released answer tells the useful property: V_U after the release, and before it."""

    value: Number
    before: Number
    gain: str

    def __float__(self) -> float:
        return float(self.value)

    @property
    def complete(self) -> bool:
        """Whether the useful property is always told right."""
        return bool(self.value == 1)

    def __str__(self) -> str:
        if self.gain != "identity":
            before, after = float(self.before), float(self.value)
            return f"The useful property is worth {after:.6g} after and {before:.6g} before."
        return (
            f"The useful property is told right with {in_percent(float(self.value))}, "
            f"and with {in_percent(float(self.before))} without a release."
        )


def vulnerability(channel: Channel, correlation: Correlation, gain: object = None) -> Vulnerability:
    """What somebody who wants a correlated secret expects from a release (Dalenius vulnerability).

    Parameters
    ----------
    channel : on the uses of the correlation, or on its raw data
    correlation : how secret and use go together
    gain : on the secrets: a gain or loss function, or a matrix [action, secret]; one guess by default

    Returns
    -------
    Vulnerability
        Its `value`, a fraction where everything given is exact; `float(result)` is the value.

    Notes
    -----
    V = Σ_y max_w Σ_s g[w,s]·(Π·C)[s,y]. At most V before times the channel's Bayes capacity, whatever the
    correlation.

    Cost: O(inputs·outputs + actions·secrets·outputs): rows are added up by secret.

    References
    ----------
    Fernandes, Def 5.3.1.

    Examples
    --------
    >>> import sievert as sv
    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> vulnerability(sv.mechanisms.truncated_geometric(3, alpha="1/3"), survey).value
    Fraction(2, 3)
    """
    correlation = correlation_of(correlation)
    adversary = as_gain(gain, correlation.secrets)
    joint = correlation.with_outputs(channel)
    return Vulnerability(_total(adversary, joint), None, None, adversary.name, adversary.is_loss)


def privacy_loss(channel: Channel, correlation: Correlation, gain: object = None) -> PrivacyLoss:
    """How much a release helps somebody who wants a correlated secret, and how far beliefs move.

    Parameters
    ----------
    channel : on the uses of the correlation, or on its raw data
    correlation : how secret and use go together
    gain : on the secrets: a gain function or a matrix [action, secret]; one guess by default

    Returns
    -------
    PrivacyLoss
        The `factor` with `before` and `after`, and the stronger facts beside it: `odds`, `capacity`, `bits`
        and the `shifts` of each secret value.

    Notes
    -----
    A factor of 1 says that the best guess has not improved, not that nothing was told.

    Cost: O(inputs·outputs + actions·secrets·outputs).

    References
    ----------
    Fernandes, Def 5.4.1.

    Examples
    --------
    >>> import sievert as sv
    >>> noisy = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> found = privacy_loss(noisy, Correlation([["9/10", 0], [0, "1/10"]]))
    >>> found.factor, found.leaks, round(found.odds, 6)
    (Fraction(1, 1), False, 3.0)
    """
    correlation = correlation_of(correlation)
    adversary = as_gain(gain, correlation.secrets)
    if adversary.is_loss:
        raise GainError(
            f"gain is the loss {adversary.name!r}; the privacy loss is a ratio of gains, give a gain"
        )
    return loss_of(correlation.with_outputs(channel), correlation, adversary)


def loss_of(joint: AnyArray, correlation: Correlation, adversary: GainFunction) -> PrivacyLoss:
    """The privacy loss of a joint distribution [secret, output]."""
    before = _total(adversary, correlation.secret_prior[:, None])
    after = _total(adversary, joint)
    if not isinstance(after, Fraction):
        # A release never makes the best guess worse; rounding may say so by 1e-16.
        after = float(before) if abs(after - float(before)) <= SAME_GUESS * abs(float(before)) else after
        after = max(after, float(before))
    floats = joint.astype(np.float64)
    factor = _factor(before, after, adversary.name)
    shifts, odds = _shifts(floats, correlation)
    if joint.dtype == object and _is_constant(joint, correlation.secret_prior):
        odds = 1.0
    capacity = _capacity(joint, correlation.secret_prior)
    bits = information_bits(floats) if odds != 1 else 0.0
    return PrivacyLoss(factor, before, after, adversary.name, shifts, odds, capacity, bits)


def accuracy(channel: Channel, correlation: Correlation, gain: object = None) -> Accuracy:
    """How well a release tells the useful property.

    Parameters
    ----------
    channel : on the uses of the correlation, or on its raw data
    correlation : how secret and use go together
    gain : on the uses: a gain function or a matrix [action, use]; one guess by default

    Returns
    -------
    Accuracy
        Its `value`, and what is known `before` any release; `float(result)` is the value.

    Notes
    -----
    V_U = Σ_y max_u Σ_{x : U(x) = u} π_x·C[x,y]; it is 1 where the useful property is always told.

    Cost: O(inputs·outputs).

    References
    ----------
    Fernandes, Def 5.4.2.

    Examples
    --------
    >>> import sievert as sv
    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> accuracy(sv.mechanisms.truncated_geometric(3, alpha="1/3"), survey).value
    Fraction(5, 8)
    """
    correlation = correlation_of(correlation)
    adversary = as_gain(gain, correlation.uses)
    value = _total(adversary, correlation.uses_with_outputs(channel))
    before = _total(adversary, correlation.use_prior[:, None])
    return Accuracy(value, before, adversary.name)


def _total(adversary: GainFunction, joint: AnyArray) -> Number:
    """Σ_y of the best action's gain, a fraction where the joint distribution is one."""
    values = adversary.values(joint)
    if joint.dtype == object:
        total = sum(values.tolist(), Fraction(0))
        return total if isinstance(total, Fraction) else float(total)
    return math.fsum(values.tolist())


def _factor(before: Number, after: Number, name: str) -> Number:
    """After over before; 1 where both are 0, as everywhere."""
    if before < 0 or (before == 0 and after < 0):
        raise GainError(
            f"gain {name!r} is negative before the release, so there is no factor; add a constant"
        )
    if before == 0:
        return Fraction(1) if after == 0 else math.inf
    return after / before


def _shifts(joint: FloatArray, correlation: Correlation) -> tuple[tuple[BeliefShift, ...], float]:
    """Probability of each secret before and after, and the largest change of the odds of any of them."""
    prior = correlation.secret_prior.astype(np.float64)
    possible = joint[:, joint.sum(axis=0) > 0]
    shifts, largest = [], 1.0
    for i, secret in enumerate(correlation.secrets):
        others = np.delete(possible, i, axis=0).sum(axis=0)
        total = possible[i] + others
        posterior = possible[i] / total
        shifts.append(BeliefShift(secret, float(prior[i]), float(posterior.min()), float(posterior.max())))
        rest = math.fsum(np.delete(prior, i).tolist())
        if rest == 0 or prior[i] == 0:
            continue
        with np.errstate(divide="ignore"):
            ratio = (possible[i] / others) * (rest / prior[i])
            worst = float(np.maximum(ratio, 1 / ratio).max())
        largest = max(largest, worst)
    return tuple(shifts), 1.0 if largest <= 1 + SAME_GUESS else largest


def _is_constant(joint: AnyArray, prior: AnyArray) -> bool:
    """Whether every output has the prior as its posterior, exactly."""
    weights = joint.sum(axis=0)
    return bool((joint == prior[:, None] * weights[None, :]).all())


def _capacity(joint: AnyArray, prior: AnyArray) -> Number:
    """Σ_y max_s P(y|s): the most by which any non-negative gain and any belief could grow."""
    exact = joint.dtype == object and prior.dtype == object
    possible = np.asarray(prior != 0, dtype=bool)
    joint, prior = joint[possible], prior[possible]
    rows = joint / prior[:, None] if exact else joint.astype(np.float64) / prior.astype(np.float64)[:, None]
    best = rows.max(axis=0).tolist()
    return sum(best, Fraction(0)) if exact else max(1.0, math.fsum(best))
