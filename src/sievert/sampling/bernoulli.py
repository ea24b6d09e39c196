"""Exact coins: Bernoulli(p) for rational p, and Bernoulli(e^-γ) for rational γ ≥ 0."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import MechanismError
from sievert.numerics.checks import brief, whole
from sievert.sampling.acceptance import accepted, fixed_point
from sievert.sampling.base import Sampler, Timing, integers
from sievert.sampling.enclosures import Enclosure, ceiling, exp_neg, rational
from sievert.sampling.lazy import AtBits, LazyTable, one_boundary

__all__ = ["Coin", "ExponentialCoins", "bernoulli", "bernoulli_exp", "bernoulli_exp_each", "fair_coin"]

IntArray = NDArray[np.int64]
BLOCK = 2**16


def bernoulli(p: object, *, timing: Timing = "fixed", insecure_rng: object = None) -> Coin:
    """1 with rational probability p, else 0.

    >>> bernoulli("1/3", insecure_rng=1).noise(6)
    array([1, 0, 1, 0, 1, 1])
    """
    chance = rational(p, "p")
    if not 0 <= chance <= 1:
        raise MechanismError(f"p is {brief(p)}; a probability is from 0 to 1")
    return Coin(
        "Bernoulli(p)", {"p": str(chance)}, _rational_coin(chance), float(chance), timing, insecure_rng
    )


def bernoulli_exp(gamma: object, *, timing: Timing = "fixed", insecure_rng: object = None) -> Coin:
    """1 with probability e^-γ, rational γ ≥ 0; else 0.

    >>> bernoulli_exp("1/2", insecure_rng=1).noise(6)
    array([1, 1, 1, 1, 1, 1])
    """
    rate = rational(gamma, "gamma")
    if rate < 0:
        raise MechanismError(f"gamma is {brief(gamma)}; it must be ≥ 0, for e^-gamma to be a probability")
    table = _exponential_coin(rate)
    chance = math.exp(-float(min(rate, Fraction(800))))
    return Coin("Bernoulli(e^-γ)", {"gamma": str(rate)}, table, chance, timing, insecure_rng)


class Coin(Sampler):
    """0 or 1, independent of any input."""

    def __init__(
        self,
        kind: str,
        parameters: dict[str, Any],
        table: LazyTable,
        chance: float,
        timing: Timing = "fixed",
        insecure_rng: object = None,
    ) -> None:
        super().__init__(timing, insecure_rng)
        self.kind, self._parameters, self._table = kind, parameters, table
        self.chance = chance

    @property
    def parameters(self) -> dict[str, Any]:
        return self._parameters

    def noise(self, size: int) -> IntArray:
        """`size` independent tosses."""
        return self._table.draw(self.source.reserve(size), self.source, self.timing)

    def draw(self, inputs: Any) -> IntArray:
        """A toss for each input, which is otherwise ignored."""
        return self.noise(len(inputs))


def bernoulli_exp_each(
    denominator: int = 1, *, timing: Timing = "fixed", insecure_rng: object = None
) -> ExponentialCoins:
    """A coin for every input: 1 with probability e^-(k/denominator) for the integer k ≥ 0, else 0.

    >>> bernoulli_exp_each(2, insecure_rng=1).draw([0, 1, 2, 100])
    array([1, 1, 0, 0])
    """
    return ExponentialCoins(whole("denominator", denominator, MechanismError), timing, insecure_rng)


class ExponentialCoins(Sampler):
    """Coins with exponents of their own; see `bernoulli_exp_each`."""

    kind = "Bernoulli(e^-γ), a γ each"

    def __init__(self, denominator: int, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self.denominator = denominator

    @property
    def parameters(self) -> dict[str, Any]:
        return {"denominator": self.denominator}

    def draw(self, inputs: Any) -> IntArray:
        """A toss for each numerator of γ."""
        numerators = integers(inputs, 0)
        out = np.empty(len(numerators), dtype=np.int64)
        lanes = self.source.reserve(len(numerators))
        for start in range(0, len(numerators), BLOCK):
            part = numerators[start : start + BLOCK]

            def exact(lane: int, bits: int, part: IntArray = part) -> Enclosure:
                scaled = int(part[lane]) << bits
                return scaled // self.denominator, ceiling(scaled, self.denominator)

            # Both conversions and the quotient are each off by a unit of 2^-53 at most.
            g = part.astype(np.float64) / float(self.denominator)
            low, narrow = fixed_point(g, g * 2.0**-51)
            piece = lanes[start : start + BLOCK]
            out[start : start + BLOCK] = accepted(low, narrow, exact, piece, self.source, 0)
        return out


def rational_enclosure(value: Fraction) -> AtBits:
    """Bounds of a fraction at any number of bits."""

    def enclosure(bits: int) -> tuple[int, int]:
        scaled = value.numerator << bits
        return scaled // value.denominator, ceiling(scaled, value.denominator)

    return enclosure


@lru_cache(maxsize=64)
def _rational_coin(chance: Fraction) -> LazyTable:
    return one_boundary(rational_enclosure(chance))


@lru_cache(maxsize=64)
def _exponential_coin(rate: Fraction) -> LazyTable:
    return one_boundary(lambda bits: exp_neg(rate.numerator, rate.denominator, bits))


def fair_coin() -> LazyTable:
    """0 or 1 with equal probability."""
    return _rational_coin(Fraction(1, 2))
