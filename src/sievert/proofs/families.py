"""Proofs that one member of a known family refines another, or not: one inequality, re-evaluated exactly.

With K(a) = [a^|i-j|], whose inverse is tridiagonal, A⁻¹B ≥ 0 becomes an inequality for each column of B
(Fernandes, Thm 4.16, 4.21; closed forms of the orders' thresholds). Parameters: alpha = e^-ε for the
truncated geometric and randomised response, a = e^(-nominal/2) for the exponential mechanism on 0…n-1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.proofs.base import Proof
from sievert.proofs.reading import flag, fraction, whole

__all__ = ["EXPONENTIAL", "FAMILIES", "GEOMETRIC", "RESPONSE", "FamilyProof", "smallest_alpha"]

GEOMETRIC, RESPONSE, EXPONENTIAL = "truncated geometric", "randomised response", "exponential"
FAMILIES = (GEOMETRIC, RESPONSE, EXPONENTIAL)
# Bits that the powers up to the number of inputs may fill together.
MOST_BITS = 2**31


def kernel_sums(a: Any, size: int) -> list[Any]:
    """S_i = Σ_y a^|i-y|."""
    powers = [a**k for k in range(size)]
    left = [powers[0]]
    for power in powers[1:]:
        left.append(left[-1] + power)
    return [left[i] + left[size - 1 - i] - 1 for i in range(size)]


def smallest_alpha(first: str, second: str, parameter: Any, size: int) -> Any:
    """The least alpha of the second family that the first, at its parameter, is refined by.

    None where no closed form is known (then the column tests decide). Works in fractions and in floats.
    """
    a = parameter
    if size == 2 and EXPONENTIAL not in (first, second):
        return a
    if (first, second) in ((GEOMETRIC, GEOMETRIC), (RESPONSE, RESPONSE)):
        return a
    if (first, second) == (GEOMETRIC, RESPONSE):
        return a / (1 - a + a * a)
    if first != EXPONENTIAL or second == EXPONENTIAL:
        return None
    sums = kernel_sums(a, size)
    end = a * sums[1] / sums[0]
    if second == GEOMETRIC or size == 2:
        return end
    inner = [end]
    for i in range(1, size - 1):
        before, here, after = sums[i - 1], sums[i], sums[i + 1]
        inner.append(a * before / ((1 + a * a) * here - a * after))
        inner.append(a * after / ((1 + a * a) * here - a * before))
    return max(inner)


def response_admits_geometric(alpha: Fraction, beta: Fraction, size: int) -> bool:
    """R(alpha) ⊑ TG(beta): every column b has Σ b ≤ (1/alpha + n - 1)·min b."""
    sums = kernel_sums(beta, size)
    bound = 1 / alpha + size - 1
    return all(sums[i] <= bound * beta ** max(i, size - 1 - i) for i in range(size))


@dataclass(frozen=True)
class FamilyProof(Proof):
    """Whether a member of one family is refined by a member of another (average and max order)."""

    kind: ClassVar[str] = "refinement of families"
    first: str
    second: str
    size: int
    first_parameter: Fraction
    second_parameter: Fraction
    holds: bool

    def data(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "size": self.size,
            "first_parameter": str(self.first_parameter),
            "second_parameter": str(self.second_parameter),
            "holds": self.holds,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> FamilyProof:
        parameters = (fraction(data["first_parameter"]), fraction(data["second_parameter"]))
        return cls(
            str(data["first"]), str(data["second"]), whole(data["size"]), *parameters, flag(data["holds"])
        )

    def decided(self) -> bool | None:
        """The inequality itself; None where no closed form is known, or its powers fill the memory."""
        alpha, beta = self.first_parameter, self.second_parameter
        bits = max(value.denominator.bit_length() for value in (alpha, beta))
        if self.first != GEOMETRIC and self.size**2 * bits > MOST_BITS:
            return None
        if (self.first, self.second) == (RESPONSE, GEOMETRIC) and self.size > 2:
            return response_admits_geometric(alpha, beta, self.size)
        least = smallest_alpha(self.first, self.second, alpha, self.size)
        return None if least is None else bool(beta >= least)

    def proved(self) -> str:
        parameters = (self.first_parameter, self.second_parameter)
        if self.size < 2 or not all(0 < value < 1 for value in parameters):
            raise ValueError("the families need two inputs or more and parameters between 0 and 1")
        if {self.first, self.second} - set(FAMILIES):
            raise ValueError("a family is unknown")
        found = self.decided()
        if found is None:
            raise ValueError("no inequality is known for these two families, or it is too long to check")
        if found != self.holds:
            raise ValueError("the inequality of the two families says otherwise")
        word = "is" if self.holds else "is not"
        return (
            f"{self.first}({self.first_parameter}) {word} refined by {self.second}({self.second_parameter}) "
            f"on {self.size} inputs"
        )
