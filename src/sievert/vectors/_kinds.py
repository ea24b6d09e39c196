"""What a file with [vectors] can name: hashes and mechanisms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sievert.errors import VectorError
from sievert.kinds import ConfigType, Count, Positive, Probability, variant
from sievert.numerics import abbreviated
from sievert.vectors._bounds import LARGEST_EPS
from sievert.vectors._calibrate import calibrate
from sievert.vectors._families import LaplaceHash, NoisyHash, SoftSigns, VectorMechanism
from sievert.vectors._hashing import HyperplaneLSH, LocalityHash, MinHash, PStable
from sievert.vectors._laplace_account import calibrate_laplace
from sievert.vectors._soft_account import calibrate_soft_sign

__all__ = ["HashFamily", "VectorFamily"]

Level = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Bits = Annotated[Positive, Field(description="coordinates of a code")]
Seed = Annotated[Count, Field(description="of the public draw; users and curator use the same")]


class HashFamily(ConfigType, noun="vector-hash"):
    """The public hash that users and curator share."""

    tables_only = True

    bits: Bits
    seed: Seed

    @abstractmethod
    def hashing(self, dimension: int) -> LocalityHash:
        """The hash for vectors of so many coordinates."""


@variant(HashFamily, "hyperplane")
class Hyperplane(HashFamily):
    """On which side of random hyperplanes a vector lies: angles."""

    planes: Annotated[
        Literal["gaussian", "orthogonal"],
        Field(description="orthogonal ones have lighter tails and no exact account"),
    ] = "gaussian"

    def hashing(self, dimension: int) -> LocalityHash:
        return HyperplaneLSH(dimension, self.bits, self.seed, orthogonal=self.planes == "orthogonal")


@variant(HashFamily, "minhash")
class MinHashing(HashFamily):
    """The first item of a set in random orders: Jaccard distance of the items with a non-zero entry."""

    values: Annotated[int, Field(ge=2, le=256, description="values of a coordinate of the code")] = 2

    def hashing(self, dimension: int) -> LocalityHash:
        return MinHash(dimension, self.bits, self.seed, values=self.values)


@variant(HashFamily, "p-stable")
class Stable(HashFamily):
    """Cells of random projections: Euclidean distance."""

    width: Annotated[Level, Field(description="of a cell, in the unit of the vectors")]

    def hashing(self, dimension: int) -> LocalityHash:
        return PStable(dimension, self.bits, self.seed, width=self.width)


class VectorFamily(ConfigType, noun="vector-mechanism"):
    """What becomes of a user's vector."""

    tables_only = True
    elsewhere: ClassVar[Mapping[str, str]] = {
        "randomised-response": 'it is called "lsh-response" here',
        "laplace": 'it is called "laplace-lsh" here',
        "geometric": "noise on numbers goes with [data]; vectors need a mechanism on codes",
    }

    xi: Annotated[Level, Field(description="nats for a pair at `distance`, instead of the level")] | None = (
        None
    )
    delta: Annotated[Probability, Field(description="that goes with `xi`")] | None = None
    distance: Annotated[Probability, Field(description="of the pair that `xi` is about")] | None = None

    @property
    @abstractmethod
    def level(self) -> float | None:
        """The level where the file gives it."""

    @abstractmethod
    def _made(self, hashing: LocalityHash) -> VectorMechanism:
        """The mechanism, once the level is known to be given in one way."""

    def mechanism(self, hashing: LocalityHash) -> VectorMechanism:
        """The mechanism under a hash."""
        promise = (self.xi, self.distance)
        if (self.level is None) == (promise == (None, None)):
            raise VectorError("give either the level of the noise, or xi, delta and distance, not both")
        if self.level is None and None in promise:
            raise VectorError("xi and distance go together; delta with them")
        if self.level is not None and self.level > LARGEST_EPS:
            name = "scale" if "scale" in type(self).model_fields else "eps"
            raise VectorError(f"{name} is {abbreviated(self.level)}; give at most {LARGEST_EPS:g}")
        return self._made(hashing)


def _planes(hashing: LocalityHash, what: str) -> HyperplaneLSH:
    if not isinstance(hashing, HyperplaneLSH):
        raise VectorError(f'{what} needs hyperplanes; write hash = {{ kind = "hyperplane", … }}')
    return hashing


@variant(VectorFamily, "lsh-response")
class LshResponse(VectorFamily):
    """Every bit of the code is flipped with probability 1/(1 + e^eps); drawn exactly.

    A coordinate with more values is replaced by another with probability (values - 1)/(e^eps + values - 1).
    """

    eps: Annotated[Level, Field(description="nats a bit")] | None = None

    @property
    def level(self) -> float | None:
        return self.eps

    def _made(self, hashing: LocalityHash) -> VectorMechanism:
        if self.eps is not None:
            return NoisyHash(hashing, self.eps)
        assert self.xi is not None and self.distance is not None
        if not hashing.independent:
            raise VectorError("orthogonal planes have no exact account; give eps instead of xi")
        found = calibrate(
            hashing.bits,
            hashing.collision(self.distance),
            self.xi,
            self.delta or 0.0,
            values=hashing.values,
        )
        if found.vacuous:
            raise VectorError(f"xi and delta ask for no noise at all: {found.warnings[0]}; lower delta")
        return NoisyHash(hashing, float(f"{found.eps * (1 - 1e-9):.9g}"))


@variant(VectorFamily, "soft-sign")
class SoftSign(VectorFamily):
    """Noise on the projections: bits near a hyperplane are noisy, others hardly; drawn exactly."""

    scale: Annotated[Level, Field(description="of the noise, for vectors of length 1")] | None = None
    noise: Annotated[Literal["logistic", "gaussian"], Field(description="its law")] = "logistic"
    clip: Annotated[Level, Field(description="the largest log-odds of a bit: the loss is at most bits·clip")]

    @property
    def level(self) -> float | None:
        return self.scale

    def _made(self, hashing: LocalityHash) -> VectorMechanism:
        planes = _planes(hashing, "soft-sign")
        if self.scale is not None:
            return SoftSigns(planes, self.scale, self.noise, self.clip)
        assert self.xi is not None and self.distance is not None
        if self.delta is None:
            raise VectorError("soft-sign needs delta with xi and distance")
        found = calibrate_soft_sign(
            hashing.bits, self.distance, self.xi, self.delta, noise=self.noise, clip=self.clip
        )
        return SoftSigns(planes, float(f"{found * (1 + 1e-5):.6g}"), self.noise, self.clip)


@variant(VectorFamily, "laplace-lsh")
class LaplaceLsh(VectorFamily):
    """Laplace noise on the vector, then the hash; drawn in floating point."""

    eps: Annotated[Level, Field(description="nats per unit of length, vectors scaled to length 1")] | None = (
        None
    )

    @property
    def level(self) -> float | None:
        return self.eps

    def _made(self, hashing: LocalityHash) -> VectorMechanism:
        planes = _planes(hashing, "laplace-lsh")
        if self.eps is not None:
            return LaplaceHash(planes, self.eps)
        assert self.xi is not None and self.distance is not None
        found = calibrate_laplace(
            hashing.dimension, hashing.bits, self.distance, self.xi, 0.0 if self.delta is None else self.delta
        )
        return LaplaceHash(planes, float(f"{found * (1 - 1e-5):.6g}"))
