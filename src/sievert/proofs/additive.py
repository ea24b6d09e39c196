"""Proof of an additive capacity over gains in [0, 1]: who attains it, and what nobody exceeds.

With a prior π no gain in [0, 1] gains more than Σ_x π_x·TV(C_x, r), and over all priors no more than
max_x TV(C_x, r), for any output distribution r; a gain function with its prior shows what is gained.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.rationals import exact_matmul
from sievert.proofs.base import Proof
from sievert.proofs.matrices import (
    ROUNDING,
    exact_rows,
    require_channels,
    rows_from,
    texts_of,
    unevenness,
)
from sievert.proofs.reading import flag, fraction
from sievert.proofs.words import at_most

__all__ = ["AdditiveCapacityProof"]

AnyArray = NDArray[Any]  # of floats or of fractions


@dataclass(frozen=True, eq=False)
class AdditiveCapacityProof(Proof):
    """lower ≤ additive capacity over gains in [0, 1] ≤ upper, for the prior or (`any_prior`) over all."""

    kind: ClassVar[str] = "additive capacity"
    channel: AnyArray  # [input, output]
    prior: AnyArray  # [1, input]
    gain: AnyArray  # [action, input]
    reference: AnyArray  # [1, output]
    lower: Fraction
    upper: Fraction
    any_prior: bool

    def data(self) -> dict[str, Any]:
        return {
            "channel": texts_of(self.channel),
            "prior": texts_of(self.prior),
            "gain": texts_of(self.gain),
            "reference": texts_of(self.reference),
            "lower": str(self.lower),
            "upper": str(self.upper),
            "any_prior": self.any_prior,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> AdditiveCapacityProof:
        channel, prior, gain, reference = (
            rows_from(data[name]) for name in ("channel", "prior", "gain", "reference")
        )
        lower, upper = fraction(data["lower"]), fraction(data["upper"])
        return cls(channel, prior, gain, reference, lower, upper, flag(data["any_prior"]))

    def proved(self) -> str:
        channel, prior = exact_rows(self.channel), exact_rows(self.prior)
        gain, reference = exact_rows(self.gain), exact_rows(self.reference)
        require_channels(("the channel", channel), rounding=ROUNDING)
        require_channels(("the prior", prior), ("the reference", reference), rounding=ROUNDING)
        n, m = channel.shape
        if prior.shape != (1, n) or reference.shape != (1, m) or gain.shape[1] != n:
            raise ValueError("the sizes of the channel, the prior, the gain and the reference differ")
        if any(not 0 <= value <= 1 for value in gain.ravel()):
            raise ValueError("a gain is outside [0, 1]")
        worth = gain * prior[0]  # [action, input]
        attained = exact_matmul(worth, channel).max(axis=0).sum() - worth.sum(axis=1).max()
        apart = np.abs(channel - reference).sum(axis=1) / 2
        most = apart.max() if self.any_prior else (prior[0] * apart).sum()
        if attained < self.lower:
            raise ValueError(f"the gain function gains {float(attained):.12g} only")
        if most > self.upper:
            raise ValueError(f"the reference allows {float(most):.12g}")
        # Dividing rows by their sums moves either side by no more than they miss 1 by.
        slack = 2 * unevenness(channel, prior, reference)
        whose = "whatever the prior" if self.any_prior else "with this prior"
        about = "" if slack == 0 else f" (to {at_most(slack)})"
        return (
            f"{whose}, no adversary with gains in [0, 1] gains more than {float(self.upper):.12g} "
            f"on average, and one gains at least {float(self.lower):.12g}{about}"
        )
