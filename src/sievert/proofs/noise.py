"""Proof that added noise is enough for what one record can change.

Discrete Laplace noise of level λ for a step makes two tables c steps apart (in total over the cells) at most
λ^-c times as likely as each other, so it keeps e^(ε·d) for records at distance d when λ^-c ≤ e^(ε·d) for
every move (Fernandes, Lem 3.6). The certificate lists, for each distance that one record can move by, the
most steps that the table can change then; a smaller change at the same distance needs less noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from sievert.proofs.base import Proof
from sievert.proofs.reading import fraction, whole

__all__ = ["Move", "NoiseProof"]

# ε that is a logarithm is stated as a decimal just above it; it may not be further above than this.
SLACK = Fraction(1, 10**8)
PRECISION = 256


@dataclass(frozen=True)
class Move:
    """One record moves by a distance, and the table changes by at most so many steps."""

    steps: int
    length: Fraction


@dataclass(frozen=True)
class NoiseProof(Proof):
    """Noise of `step_eps` (or of ratio `step_alpha`) for a step is ε-private for the listed moves, and for no
    smaller ε."""

    kind: ClassVar[str] = "noise"
    eps: Fraction
    step_eps: Fraction | None
    step_alpha: Fraction | None
    moves: tuple[Move, ...]

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
        moves = tuple(Move(whole(steps), fraction(length)) for steps, length in data["moves"])
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

    def _holds(self, move: Move) -> bool:
        """λ^steps ≥ e^(-ε·length)."""
        if self.step_eps is not None:
            return self.step_eps * move.steps <= self.eps * move.length
        return self._spare(move, self.eps) >= 0

    def _attains(self, move: Move) -> bool:
        if self.step_eps is not None:
            return self.step_eps * move.steps == self.eps * move.length
        if self.eps == 0:
            return self.step_alpha == 1
        return self._spare(move, self.eps - SLACK) <= 0

    def _spare(self, move: Move, eps: Fraction) -> flint.arb:
        """ε·length + steps·ln λ as a ball: no power is written out, however many steps there are."""
        assert self.step_alpha is not None
        old = flint.ctx.prec
        flint.ctx.prec = PRECISION
        try:
            allowed = eps * move.length
            level = flint.arb(flint.fmpq(self.step_alpha.numerator, self.step_alpha.denominator)).log()
            return flint.arb(flint.fmpq(allowed.numerator, allowed.denominator)) + move.steps * level
        finally:
            flint.ctx.prec = old
