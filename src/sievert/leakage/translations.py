"""Questions about a secret turned into plain guesses of another secret.

Whether the secret has a property is itself a secret, with a channel of its own; and every gain function
is the one-try guess of some other secret, up to a factor and a shift. So whatever is known of guesses
holds for properties and gains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels.channel import Channel, finite_channel
from sievert.channels.priors import Prior, as_prior
from sievert.errors import GainError
from sievert.leakage.adversary import MatrixAdversary, table_adversary
from sievert.leakage.gains import property as property_gain

__all__ = ["Guess", "as_guess", "property_channel"]


@dataclass(frozen=True)
class Guess:
    """A secret whose one-try guess is worth what another game is worth: value = factor·guess + shift.

    Attributes
    ----------
    prior : the prior of the new secret, which is the best action
    channel : from the new secret to the old one; let it be followed by any channel of the old secret
    factor, shift : for every channel C, V_g(prior, C) = factor·V(self.prior, self.channel.then(C)) + shift
    """

    prior: Prior
    channel: Channel
    factor: Any
    shift: Any


def property_channel(
    channel: Channel,
    prior: object,
    holds: Callable[[Any], object] | Iterable[object],
) -> tuple[Prior, Channel]:
    """The secret "does it have the property?": its prior and what the channel tells about it.

    Parameters
    ----------
    prior : belief in the secrets; None is uniform
    holds : a function of the secret, or the secrets that have the property

    Returns
    -------
    (prior, channel) with the inputs True and False

    Notes
    -----
    A side that cannot happen has a row of its own all the same: the secret is then uniform on that side,
    or the whole row is the channel's average when no secret is on it.

    >>> channel = Channel([["3/4", "1/4"], ["1/2", "1/2"], [0, 1]])
    >>> belief, told = property_channel(channel, None, [0, 1])
    >>> belief.tolist(), told.exact.tolist()[0]
    ([Fraction(2, 3), Fraction(1, 3)], [Fraction(5, 8), Fraction(3, 8)])
    """
    finite = finite_channel(channel)
    belief = as_prior(prior, finite)
    has = np.asarray(property_gain(finite.inputs, holds).table[0] == 1)
    sides = [np.where(side, belief, belief * 0) for side in (has, ~has)]
    shares = np.array([side.sum() for side in sides], dtype=belief.dtype)
    weights = []
    for side, share, members in zip(sides, shares, (has, ~has), strict=True):
        if share:
            weights.append(side / share)
        else:
            fallback = members if members.any() else np.ones_like(members)
            even = np.array([Fraction(int(each), int(fallback.sum())) for each in fallback])
            weights.append(even.astype(belief.dtype))
    return shares, Channel(np.vstack(weights), [True, False], finite.inputs).then(finite)


def as_guess(gain: MatrixAdversary, prior: object = None) -> Guess:
    """The secret whose one-try guess is this game: guess what the best action would be.

    With gains made non-negative by a shift, action w is the new secret with probability
    Σ_x π_x·g(w, x)/factor, and given w the old secret is x in proportion to π_x·g(w, x). Gains that are
    worth nothing under the prior have no such form.

    >>> import sievert as sv
    >>> told = as_guess(sv.gains.matrix([[1, "1/2"], [0, 1]]))
    >>> told.factor, told.prior.tolist()
    (Fraction(5, 4), [Fraction(3, 5), Fraction(2, 5)])
    """
    gain = table_adversary(gain, is_loss=False)
    belief = as_prior(prior, gain.secrets)
    shift = min(gain.table.min(), 0)
    joint = (gain.table - shift) * belief  # [action, secret]
    totals = joint.sum(axis=1)
    factor = totals.sum()
    if factor == 0:
        raise GainError(
            f"gain {gain.name!r} is worth nothing under this prior, whatever is done; "
            "a guess needs an action that gains something"
        )
    used = np.asarray(totals > 0)
    actions = [action for action, kept in zip(gain.actions, used, strict=True) if kept]
    rows = joint[used] / totals[used, None]
    return Guess(totals[used] / factor, Channel(rows, actions, gain.secrets), factor, shift)
