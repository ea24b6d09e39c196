"""What the release changes for each adversary of the file, in the adversary's own unit."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.files import Scenario
from sievert.leakage.adversary import Adversary, MatrixAdversary
from sievert.leakage.closed_forms import Guessing, Identity, Shannon, Tries
from sievert.leakage.measures import leakage, posterior_vulnerability
from sievert.results import Result, in_bits

__all__ = ["Finding", "Unit", "bits_at", "findings"]

Unit = Literal["probability", "closeness", "gain", "risk", "loss", "guesses", "bits"]

# Two actions this close (relative) are equally good: rounding alone could tell them apart.
TIE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Finding(Result):
    """What the release changes for one adversary.

    Attributes
    ----------
    name : what the file calls the adversary
    unit : what `before` and `after` are; "probability" where all gains are between 0 and 1, "bits" for
        Shannon uncertainty
    before, after : expected gain (or loss) without and with the release
    factor : after/before for gains, before/after for losses; None for gains whose prior value is not positive
    difference : improvement of the adversary in the unit
    bits : log2 of the factor for gains, bits of uncertainty taken away for Shannon; None for other losses
    blind_guess : the best action before the release; None where several are equally good
    """

    name: str
    unit: Unit
    before: Any
    after: Any
    factor: Any
    difference: Any
    bits: float | None
    blind_guess: Hashable

    def __str__(self) -> str:
        growth = "" if self.bits is None else f" ({in_bits(self.bits)})"
        return f"{self.name}: {float(self.before):.6g} before, {float(self.after):.6g} after{growth}"


def findings(scenario: Scenario) -> tuple[Finding, ...]:
    """One finding for each gain of the file."""
    channel = scenario.channel
    # Fractions beside rounded entries gain nothing and cost much.
    belief = scenario.prior if channel.form == "exact" else scenario.prior.astype(np.float64)
    models = scenario.document.adversary.gains
    return tuple(
        _finding(channel, belief, gain, is_closeness=model == "closeness")
        for model, gain in zip(models, scenario.gains, strict=True)
    )


def _finding(channel: Channel, belief: NDArray[Any], gain: Adversary, *, is_closeness: bool) -> Finding:
    found = leakage(channel, belief, gain, kind="additive")
    unit: Unit = "closeness" if is_closeness else _unit(gain)
    factor = None if math.isnan(float(found.factor)) else found.factor
    return Finding(
        gain.name,
        unit,
        found.prior,
        found.posterior,
        factor,
        found.difference,
        _bits(gain, float(found.prior), float(found.posterior)),
        _blind_guess(gain, belief.astype(np.float64)),
    )


def _unit(gain: Adversary) -> Unit:
    if isinstance(gain, Shannon):
        return "bits"
    if isinstance(gain, Guessing):
        return "guesses"
    shares = not isinstance(gain, MatrixAdversary) or bool(((gain.table >= 0) & (gain.table <= 1)).all())
    if gain.is_loss:
        return "risk" if shares else "loss"
    return "probability" if shares else "gain"


def _bits(gain: Adversary, before: float, after: float) -> float | None:
    """Leakage in bits where it has a meaning: growth of a gain, or uncertainty taken away."""
    if isinstance(gain, Shannon):
        return max(0.0, before - after)
    if gain.is_loss or before <= 0:
        return None
    return max(0.0, math.log2(after / before))


def _blind_guess(gain: Adversary, belief: NDArray[np.float64]) -> Hashable:
    """The one best action before the release; None where there are ties or actions have no name."""
    if isinstance(gain, Tries):
        order = np.argsort(-belief, kind="stable")
        chosen = min(gain.tries, len(belief))
        if chosen == len(belief) or belief[order[chosen]] >= belief[order[chosen - 1]] * (1 - TIE_TOLERANCE):
            return None
        return tuple(gain.secrets[int(i)] for i in order[:chosen])
    if isinstance(gain, Identity):
        scores, actions = belief, gain.secrets
    elif isinstance(gain, MatrixAdversary):
        scores, actions = gain.table.astype(np.float64) @ belief, gain.actions
    else:
        return None
    scores = -scores if gain.is_loss else scores
    best = scores.max()
    winners = np.flatnonzero(scores >= best - TIE_TOLERANCE * abs(best))
    return actions[int(winners[0])] if len(winners) == 1 else None


def bits_at(channel: Channel, belief: NDArray[np.float64], gain: Adversary, before: float) -> float | None:
    """Bits that another channel on the same inputs leaks, the prior value being known."""
    if _bits(gain, before, before) is None:
        return None
    return _bits(gain, before, float(posterior_vulnerability(channel, belief, gain)))
