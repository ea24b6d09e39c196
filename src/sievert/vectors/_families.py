"""The three mechanisms of a file as objects: what they publish, promise and cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import expit

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import number, read_eps, rounded_up
from sievert.sampling import BitSource
from sievert.vectors._accountant import Accountant, accountant
from sievert.vectors._codes import Codes
from sievert.vectors._hashing import HyperplaneLSH, LocalityHash
from sievert.vectors._laplace_account import LaplaceAccountant, laplace_accountant
from sievert.vectors._mechanisms import laplace_lsh, one_chances, perturb, soft_sign
from sievert.vectors._soft_account import SoftAccountant, soft_sign_accountant
from sievert.vectors._threats import (
    ReIdentification,
    reidentification,
    reidentification_of_chances,
    reidentification_of_laplace,
)

__all__ = ["LaplaceHash", "NoisyHash", "SoftSigns", "VectorMechanism"]


@dataclass(frozen=True)
class VectorMechanism(ABC):
    """What becomes of a vector: a noisy code under a public hash.

    Attributes
    ----------
    hashing : the public hash
    exact : whether codes are drawn exactly, or in floating point
    accounted : whether ξ is exact; an upper bound otherwise
    """

    hashing: LocalityHash

    exact = True
    accounted = False
    kind = ""
    level_name = "eps"

    @property
    def level(self) -> float:
        """How much noise there is: `eps`, or the `scale` of soft signs."""
        return float(getattr(self, self.level_name))

    @abstractmethod
    def words(self) -> str:
        """One line about it."""

    @abstractmethod
    def noisy(self, x: Any, source: BitSource) -> Codes:
        """Noisy codes of vectors."""

    @abstractmethod
    def worst(self) -> Fraction:
        """The loss between any two vectors that no output exceeds, in nats, for this very hash."""

    @abstractmethod
    def xi(self, distance: float, delta: float) -> float:
        """The least ξ that is proved at a distance of vectors."""

    @abstractmethod
    def guess(self, distance: float) -> float:
        """The best guess which of two users at a distance it is, each as likely before, from above."""

    @abstractmethod
    def threat(self, x: Any) -> ReIdentification:
        """How often somebody who knows these vectors traces a code back."""


@dataclass(frozen=True)
class NoisyHash(VectorMechanism):
    """Randomised response on the code (LSHRR)."""

    eps: float

    kind = "lsh-response"

    def words(self) -> str:
        others = self.hashing.values - 1
        flip = 100 * others / (others + math.exp(min(self.eps, 700.0)))
        what = "bit flipped" if others == 1 else f"coordinate of {others + 1} values replaced"
        unit = "bit" if others == 1 else "coordinate"
        return f"every {what} with probability {flip:.4g} % (ε = {number(self.eps)} a {unit})"

    def noisy(self, x: Any, source: BitSource) -> Codes:
        return perturb(self.hashing.codes(x), self.eps, insecure_rng=source)

    def worst(self) -> Fraction:
        return read_eps(self.eps) * self.hashing.bits

    def account(self, distance: float) -> Accountant:
        """The exact account of a pair at a distance."""
        if not self.hashing.independent:
            raise VectorError(
                "orthogonal hyperplanes make dependent bits, for which no exact account is known; use "
                'planes = "gaussian", or the worst case eps·bits'
            )
        return accountant(
            self.hashing.bits, self.hashing.collision(distance), self.eps, values=self.hashing.values
        )

    @property
    def accounted(self) -> bool:  # type: ignore[override]
        return self.hashing.independent

    def xi(self, distance: float, delta: float) -> float:
        """That of the account; of dependent bits eps·bits, or 0 where bits·distance is at most δ."""
        if self.accounted:
            return self.account(distance).xi(delta)
        return 0.0 if self._differs(distance) <= delta else float(self.worst())

    def guess(self, distance: float) -> float:
        if self.accounted:
            return (1 + self.account(distance).delta(0.0)) / 2
        return min((1 + self._differs(distance)) / 2, float(expit(float(self.worst()))))

    def _differs(self, distance: float) -> float:
        """At least the probability that codes differ, over the draw of a hash with dependent bits."""
        return min(1.0, self.hashing.bits * self.hashing.collision(distance))

    def threat(self, x: Any) -> ReIdentification:
        return reidentification(self.hashing.codes(x), self.eps)


@dataclass(frozen=True)
class SoftSigns(VectorMechanism):
    """Noise on the projections."""

    hashing: HyperplaneLSH
    scale: float
    noise: str = "logistic"
    clip: float | None = None

    kind = "soft-sign"
    level_name = "scale"

    def words(self) -> str:
        limit = "" if self.clip is None else f", log-odds of a bit at most {self.clip:g}"
        return f"{self.noise} noise of scale {self.scale:g} on the projections{limit}"

    def noisy(self, x: Any, source: BitSource) -> Codes:
        return soft_sign(x, self.hashing, self.scale, noise=self.noise, clip=self.clip, insecure_rng=source)

    def worst(self) -> Fraction:
        if self.clip is not None:
            return read_eps(self.clip) * self.hashing.bits
        if self.noise == "gaussian":
            raise VectorError(
                "gaussian noise without clip has no largest loss to charge; write clip, such as clip = 5.0"
            )
        # |R·(x - x')|₁ ≤ Σ|r_i|·|x - x'|, and unit vectors are 2 apart at most.
        sizes = np.linalg.norm(self.hashing.planes.astype(np.float64), axis=1).sum()
        return rounded_up(2 * float(sizes) / self.scale * (1 + 1e-12))

    def account(self, distance: float) -> SoftAccountant:
        """The account of a pair at a distance."""
        if not self.hashing.independent:
            raise VectorError("the account of soft signs is for independent (gaussian) planes")
        return soft_sign_accountant(self.hashing.bits, distance, self.scale, noise=self.noise, clip=self.clip)

    def xi(self, distance: float, delta: float) -> float:
        return self.account(distance).xi(delta)

    def guess(self, distance: float) -> float:
        return (1 + self.account(distance).delta(0.0)) / 2

    def chances(self, x: Any) -> FloatArray:
        """Probabilities that bits are 1."""
        return one_chances(x, self.hashing, self.scale, self.noise, self.clip)[0]

    def threat(self, x: Any) -> ReIdentification:
        return reidentification_of_chances(self.chances(x))


@dataclass(frozen=True)
class LaplaceHash(VectorMechanism):
    """Laplace noise on the vector, then the hash (LapLSH)."""

    hashing: HyperplaneLSH
    eps: float

    kind = "laplace-lsh"
    exact = False

    def words(self) -> str:
        return f"Laplace noise on the vector, ε = {self.eps:g} a unit of length, then the hash"

    def noisy(self, x: Any, source: BitSource) -> Codes:
        return laplace_lsh(x, self.hashing, self.eps, insecure_rng=source)

    def worst(self) -> Fraction:
        return 2 * read_eps(self.eps)

    def account(self, distance: float) -> LaplaceAccountant:
        """A bound for a pair at a distance."""
        return laplace_accountant(self.hashing.dimension, self.hashing.bits, distance, self.eps)

    def xi(self, distance: float, delta: float) -> float:
        return self.account(distance).xi(delta)

    def guess(self, distance: float) -> float:
        return (1 + self.account(distance).delta(0.0)) / 2

    def threat(self, x: Any) -> ReIdentification:
        return reidentification_of_laplace(x, self.hashing, self.eps)
