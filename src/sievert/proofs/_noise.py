"""Proof of an upper bound on the guess after several releases, by way of their exact composition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, ClassVar

import flint
import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import GeometricLaw, NoiseLaw, StaircaseLaw, TableNoise
from sievert.numerics import at_most, claim_in_words, decimal, eps_in_words, exact_matmul
from sievert.policies import Move, Sensitivity
from sievert.proofs._base import (
    ROUNDING,
    Proof,
    exact_rows,
    growth,
    in_percent_of,
    require_channels,
    rows_from,
    texts_of,
    unevenness,
)
from sievert.proofs._promises import DIGITS, LARGEST_RELEASES, GuessProof
from sievert.proofs._reading import entries, flag, fraction, whole

__all__ = [
    "AdditiveCapacityProof",
    "ComposedGuessProof",
    "NoiseProof",
    "StaircaseProof",
    "composed_delta_above",
]

PRECISION = 160


@dataclass(frozen=True, eq=False)
class ComposedGuessProof(Proof):
    """k adaptive releases, each (ε, δ)-private, are together (ε', δ')-private; `total` bounds the guess for
    that.

    δ' must be at least what the composition theorem gives at ε' (Kairouz, Oh and Viswanath, Thm 3.3), which
    is recomputed with balls.
    """

    kind: ClassVar[str] = "guess after several releases"
    grounds: ClassVar[str] = "the composition of adaptive releases (Kairouz, Oh and Viswanath, Thm 3.3)"
    eps: Fraction
    delta: Fraction
    releases: int
    total: GuessProof

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "delta": str(self.delta),
            "releases": self.releases,
            "total": self.total.data(),
        }

    def question(self) -> dict[str, Any]:
        # At which ε and δ the releases together are looked at is found.
        total = self.total.question()
        return {**super().question(), "total": {name: total[name] for name in ("values", "prior")}}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ComposedGuessProof:
        return cls(
            fraction(data["eps"]),
            fraction(data["delta"]),
            whole(data["releases"], 0, LARGEST_RELEASES),
            GuessProof.from_data(data["total"]),
        )

    def upper(self) -> Fraction:
        """The proved upper bound; ValueError where a certificate does not hold."""
        if self.eps < 0 or not 0 <= self.delta <= 1 or self.releases < 1:
            raise ValueError("eps must be ≥ 0, delta a probability and releases ≥ 1")
        if composed_delta_above(self.eps, self.delta, self.releases, self.total.eps) > self.total.delta:
            raise ValueError("the releases together are not as private as the proof says")
        return self.total.bounds()[1]

    def proved(self) -> str:
        upper = self.upper()
        return (
            f"after {self.releases} adaptive releases with {claim_in_words(self.eps, self.delta)} each, the "
            f"best guess among {self.total.setting} is at most {decimal(upper, DIGITS, False)}"
        )

    def meaning(self) -> str:
        return (
            f"whatever is released {self.releases} times with this claim, the right one of "
            f"{self.total.values} values is named in at most {in_percent_of(self.upper())} of all cases."
        )


def composed_delta_above(eps: Fraction, delta: Fraction, releases: int, total: Fraction) -> Fraction:
    """A rational at least δ' of k releases at a total ε, at most 2^-100 above it."""
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        growth = _ball(eps).exp()
        right, wrong = growth / (1 + growth), 1 / (1 + growth)
        allowed = _ball(total).exp()
        excess, ways = flint.arb(0), flint.fmpz(1)
        for mistakes in range(releases + 1):
            hits = releases - mistakes
            # Outcomes whose loss (hits - mistakes)·ε exceeds the total.
            if (hits - mistakes) * eps <= total:
                break
            first, second = right**hits * wrong**mistakes, right**mistakes * wrong**hits
            excess += flint.arb(ways) * (first - allowed * second)
            ways = ways * hits // (mistakes + 1)
        hidden = (1 - _ball(delta)) ** releases
        mantissa, exponent = (1 - hidden + hidden * excess).upper().man_exp()
        value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    finally:
        flint.ctx.prec = old
    return min(Fraction(1), max(Fraction(0), Fraction((value * 2**100).__ceil__(), 2**100)))


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


# ── Proof that added noise is enough for what one record can change ─────────────────────────────────────────
# Discrete Laplace noise of level λ for a step makes two tables c steps apart (in total over the cells) at
# most λ^-c times as likely as each other, so it keeps e^(ε·d) for records at distance d when λ^-c ≤ e^(ε·d)
# for every move (Fernandes, Lem 3.6). The certificate lists, for each distance that one record can move by,
# the most steps that the table can change then; a smaller change at the same distance needs less noise.

# ε that is a logarithm is stated as a decimal just above it; it may not be further above than this.
SLACK = Fraction(1, 10**8)
NOISE_PRECISION = 256


@dataclass(frozen=True)
class NoiseProof(Proof):
    """Noise of `step_eps` (or of ratio `step_alpha`) for a step is ε-private for the listed moves, and for no
    smaller ε."""

    kind: ClassVar[str] = "noise"
    grounds: ClassVar[str] = (
        "ratios of discrete Laplace noise multiply over the steps that a record moves a table by "
        "(Fernandes, Lem 3.6)"
    )
    eps: Fraction
    step_eps: Fraction | None
    step_alpha: Fraction | None
    moves: tuple[Move, ...]

    @staticmethod
    def of(noise: TableNoise, sensitivity: Sensitivity) -> Proof | None:
        """That the noise is enough for what one record can change.

        None where it changes nothing, and where no ε is large enough.
        """
        return certificate(noise.law, noise, sensitivity) if sensitivity.moves else None

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "step_eps": None if self.step_eps is None else str(self.step_eps),
            "step_alpha": None if self.step_alpha is None else str(self.step_alpha),
            "moves": [[move.steps, str(move.length)] for move in self.moves],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> NoiseProof:
        level = [None if data[name] is None else fraction(data[name]) for name in ("step_eps", "step_alpha")]
        moves = tuple(Move(whole(steps), fraction(length)) for steps, length in entries(data["moves"], 2))
        return cls(fraction(data["eps"]), level[0], level[1], moves)

    def proved(self) -> str:
        if self.eps < 0 or (self.step_eps is not None and self.step_eps < 0):
            raise ValueError("eps must be ≥ 0")
        if (self.step_eps is None) == (self.step_alpha is None):
            raise ValueError("the noise has no level, or two")
        if self.step_alpha is not None and not 0 < self.step_alpha <= 1:
            raise ValueError(f"the ratio {self.step_alpha} of the noise is not in (0, 1]")
        if not self.moves or any(move.length <= 0 or move.steps <= 0 for move in self.moves):
            raise ValueError("a move has no length, or changes nothing")
        for move in self.moves:
            if not self._holds(move):
                raise ValueError(f"a move of {move.steps} steps at distance {move.length} needs more noise")
        if not any(self._attains(move) for move in self.moves):
            raise ValueError(f"no move needs ε = {self.eps}: it is not the level of this noise")
        about = "" if self.step_alpha is None else f" (to {float(SLACK):g})"
        return f"for every move of one record the noise keeps ε = {self.eps}, and no smaller one{about}"

    def meaning(self) -> str:
        return _one_record(self.eps)

    def _holds(self, move: Move) -> bool:
        """λ^steps ≥ e^(-ε·length)."""
        if self.step_eps is not None:
            return self.step_eps * move.steps <= self.eps * move.length
        return self._spare(move, self.eps) >= 0

    def _attains(self, move: Move) -> bool:
        if self.step_eps is not None:
            return self.step_eps * move.steps == self.eps * move.length
        return self._spare(move, self.eps - SLACK) <= 0

    def _spare(self, move: Move, eps: Fraction) -> flint.arb:
        """ε·length + steps·ln λ as a ball: no power is written out, however many steps there are."""
        assert self.step_alpha is not None
        old = flint.ctx.prec
        flint.ctx.prec = NOISE_PRECISION
        try:
            allowed = eps * move.length
            level = flint.arb(flint.fmpq(self.step_alpha.numerator, self.step_alpha.denominator)).log()
            return flint.arb(flint.fmpq(allowed.numerator, allowed.denominator)) + move.steps * level
        finally:
            flint.ctx.prec = old


@singledispatch
def certificate(law: NoiseLaw, noise: TableNoise, sensitivity: Sensitivity) -> Proof | None:
    """The proof of a law of noise; None where it keeps no ε."""
    return None


@certificate.register
def _of_geometric(law: GeometricLaw, noise: TableNoise, sensitivity: Sensitivity) -> Proof:
    name, value = law.written
    level = {"step_eps": None, "step_alpha": None, f"step_{name}": value}
    return NoiseProof(noise.eps_of(sensitivity), level["step_eps"], level["step_alpha"], sensitivity.moves)


# ── Proof that a staircase is wide enough ───────────────────────────────────────────────────────────────────
# P(z) falls by e^-ε₀ at each edge of the staircase, and edges are Δ steps apart: |z + c| and |z| differ by at
# most c, so a move of c steps crosses ⌈c/Δ⌉ edges at most, and as many from the last number of the top on.
# Over several cells the crossings add up; with Δ = 1 they are the steps, however these are split.


@dataclass(frozen=True)
class StaircaseProof(Proof):
    """Stairs of `width` steps, ε₀ each, keep ε for the listed moves in a table of so many cells, and no
    smaller ε."""

    kind: ClassVar[str] = "staircase noise"
    grounds: ClassVar[str] = "a move of c steps crosses at most c/width edges of a staircase, rounded up"
    eps: Fraction
    stair_eps: Fraction
    width: int
    top: int
    cells: int
    moves: tuple[Move, ...]

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "stair_eps": str(self.stair_eps),
            "width": self.width,
            "top": self.top,
            "cells": self.cells,
            "moves": [[move.steps, str(move.length)] for move in self.moves],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> StaircaseProof:
        return cls(
            fraction(data["eps"]),
            fraction(data["stair_eps"]),
            whole(data["width"], 1),
            whole(data["top"], 1),
            whole(data["cells"], 1),
            tuple(Move(whole(steps), fraction(length)) for steps, length in entries(data["moves"], 2)),
        )

    def proved(self) -> str:
        if self.eps < 0 or self.stair_eps <= 0:
            raise ValueError("eps must be ≥ 0, and above 0 on a stair")
        if not 1 <= self.top <= self.width:
            raise ValueError(f"{self.top} steps lie on top, which must be 1 to {self.width} of them")
        if self.cells > 1 and self.width > 1:
            raise ValueError("a move over several cells crosses an edge in each: stairs must be single steps")
        if not self.moves or any(move.length <= 0 or move.steps <= 0 for move in self.moves):
            raise ValueError("a move has no length, or changes nothing")
        spent = [(-(-move.steps // self.width) * self.stair_eps, move) for move in self.moves]
        for cost, move in spent:
            if cost > self.eps * move.length:
                raise ValueError(f"a move of {move.steps} steps at distance {move.length} needs more noise")
        if all(cost < self.eps * move.length for cost, move in spent):
            raise ValueError(f"no move needs ε = {self.eps}: it is not the level of this noise")
        return f"for every move of one record the stairs keep ε = {self.eps}, and no smaller one"

    def meaning(self) -> str:
        return _one_record(self.eps)


def _one_record(eps: Fraction) -> str:
    """What a level of noise means for whoever is in the data."""
    return (
        f"a published table is at most {growth(eps)} times as likely with one record "
        "as with any record at a distance of 1 in its place."
    )


@certificate.register
def _of_stairs(law: StaircaseLaw, noise: TableNoise, sensitivity: Sensitivity) -> Proof:
    cells = len(noise.statistic.cells)
    eps = noise.eps_of(sensitivity)
    return StaircaseProof(eps, law.eps, law.sensitivity, law.top, cells, sensitivity.moves)


# ── Proof of an additive capacity over gains in [0, 1]: who attains it, and what nobody exceeds ─────────────
# With a prior π no gain in [0, 1] gains more than Σ_x π_x·TV(C_x, r), and over all priors no more than
# max_x TV(C_x, r), for any output distribution r; a gain function with its prior shows what is gained.


@dataclass(frozen=True, eq=False)
class AdditiveCapacityProof(Proof):
    """lower ≤ additive capacity over gains in [0, 1] ≤ upper, for the prior or (`any_prior`) over all."""

    kind: ClassVar[str] = "additive capacity"
    grounds: ClassVar[str] = "no gain in [0, 1] exceeds the total variation from any fixed law of outputs"
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
            f"{whose}, no adversary with gains in [0, 1] gains more than {eps_in_words(self.upper)} "
            f"on average, and one gains at least {eps_in_words(self.lower)}{about}"
        )

    def meaning(self) -> str:
        return (
            f"of what a right answer is worth, seeing the output adds {in_percent_of(self.upper)} at most, "
            f"and {in_percent_of(self.lower, down=True)} for somebody."
        )
