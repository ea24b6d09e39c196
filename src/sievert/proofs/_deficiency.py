"""Proof of a deficiency: a post-processing that comes so near, and an adversary who sees the difference.

Whatever R is, a gain in [0, 1] expects at most Σ_x π_x·TV(B_x, (AR)_x) more from B than from A·R, and nobody
expects more from A·R than from A. One prior and one gain show what is expected more at least.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.arrays import AnyArray, ObjectArray
from sievert.numerics import decimal, exact_matmul
from sievert.proofs._base import (
    ROUNDING,
    Proof,
    exact_rows,
    in_percent_of,
    require_channels,
    rows_from,
    texts_of,
    unevenness,
)
from sievert.proofs._reading import flag, fraction

__all__ = ["DeficiencyProof"]

DIGITS = 12


@dataclass(frozen=True, eq=False)
class DeficiencyProof(Proof):
    """lower ≤ what an adversary with gains in [0, 1] expects more from B than from A ≤ upper.

    With `any_prior` the upper end is over all priors (Le Cam's deficiency), else for the prior given.
    """

    kind: ClassVar[str] = "deficiency"
    grounds: ClassVar[str] = (
        "nobody with gains in [0, 1] expects more from B than from A·R by more than their distance (Le Cam)"
    )
    less_safe: AnyArray  # [input, output]
    safer: AnyArray
    post: AnyArray  # [output of A, output of B]
    prior: AnyArray  # [1, input]
    gain: AnyArray  # [action, input]
    lower: Fraction
    upper: Fraction
    any_prior: bool

    @classmethod
    def of(
        cls,
        less_safe: AnyArray,
        safer: AnyArray,
        post: AnyArray,
        prior: AnyArray,
        gain: AnyArray,
        any_prior: bool,
    ) -> DeficiencyProof:
        """The proof of both ends that the post-processing and the adversary show."""
        a, b, r = exact_rows(less_safe), exact_rows(safer), exact_rows(post)
        belief, wants = exact_rows(prior), exact_rows(gain)
        expected, distance = _ends(a, b, r, belief, wants, any_prior)
        return cls(a, b, r, belief, wants, expected, distance, any_prior)

    def data(self) -> dict[str, Any]:
        names = ("less_safe", "safer", "post", "prior", "gain")
        return {
            **{name: texts_of(getattr(self, name)) for name in names},
            "lower": str(self.lower),
            "upper": str(self.upper),
            "any_prior": self.any_prior,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> DeficiencyProof:
        less_safe, safer, post, prior, gain = (
            rows_from(data[name]) for name in ("less_safe", "safer", "post", "prior", "gain")
        )
        lower, upper = fraction(data["lower"]), fraction(data["upper"])
        return cls(less_safe, safer, post, prior, gain, lower, upper, flag(data["any_prior"]))

    def proved(self) -> str:
        a, b, post = exact_rows(self.less_safe), exact_rows(self.safer), exact_rows(self.post)
        prior, gain = exact_rows(self.prior), exact_rows(self.gain)
        require_channels(("A", a), ("B", b), rounding=ROUNDING)
        require_channels(("R", post), rounding=ROUNDING)
        require_channels(("the prior", prior), rounding=ROUNDING)
        n = len(a)
        if post.shape != (a.shape[1], b.shape[1]) or prior.shape != (1, n) or gain.shape[1] != n:
            raise ValueError("the shapes of A, B, R, the prior and the gain do not fit each other")
        if any(not 0 <= value <= 1 for value in gain.ravel()):
            raise ValueError("a gain is outside [0, 1]")
        expected, distance = _ends(a, b, post, prior, gain, self.any_prior)
        if self.lower > expected:
            raise ValueError(f"the adversary expects only {float(expected):.12g} more from B")
        if distance > self.upper:
            raise ValueError(f"B is {float(distance):.12g} away from A·R")
        missed = 2 * unevenness(a, b, post, prior)
        about = f" (to {float(missed):.1e})" if missed else ""
        return (
            f"{'whatever the prior' if self.any_prior else 'with this prior'}, no adversary with gains in "
            f"[0, 1] expects more than {decimal(self.upper, DIGITS, False)} more from B than from A, and one "
            f"expects at least {decimal(self.lower, DIGITS, True)} more{about}"
        )

    def meaning(self) -> str:
        return (
            f"if B replaces A, nobody has more than {in_percent_of(self.upper)} of what a right answer is "
            "worth more from it than before, and somebody has at least "
            f"{in_percent_of(self.lower, down=True)} more."
        )


def _ends(
    a: ObjectArray, b: ObjectArray, post: ObjectArray, prior: ObjectArray, gain: ObjectArray, any_prior: bool
) -> tuple[Fraction, Fraction]:
    """What the adversary expects more, and how far B is from A·R: at most, or on average."""
    worth = gain * prior[0]
    seen = [exact_matmul(worth, table).max(axis=0).sum() for table in (a, b)]
    off = b - exact_matmul(a, post)
    away = [sum((max(v, Fraction(0)) for v in row), Fraction(0)) for row in off.tolist()]
    far = max(away) if any_prior else sum((p * d for p, d in zip(prior[0], away, strict=True)), Fraction(0))
    return seen[1] - seen[0], far
