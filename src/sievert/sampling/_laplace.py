"""Discrete Laplace noise, P(z) = (1-λ)/(1+λ)·λ^|z|, for λ = e^-ε with rational ε or for rational λ.

Both tails are P(Z ≤ -m) = P(Z ≥ m) = λ^m/(1+λ), so one lazily revealed uniform number decides. Where ε is
small its table would be long; there the digits of a geometric variable are drawn independently.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import MechanismError
from sievert.sampling._base import FURTHEST, BitSource, NoiseSampler, Timing
from sievert.sampling._lazy import (
    AtBits,
    Enclosure,
    LazyTable,
    Ratio,
    count_below,
    one_boundary,
    quotient,
    ratio,
    unit_floor,
)

__all__ = [
    "DiscreteLaplace",
    "GeometricDigits",
    "SignedDigits",
    "discrete_laplace",
    "laplace_noise",
    "laplace_table",
    "sign_table",
]
# Below this rate the digits of the noise are drawn one by one; the last keeps at least DIGIT_RATE.
TABLE_RATE, DIGIT_RATE, DIGIT_BITS = 1 / 256, 1 / 16, 11
# Noise of a smaller rate does not fit 64-bit integers.
SMALLEST_RATE = 2.0**-50
GUARD_BITS = 96


def discrete_laplace(
    eps: object = None,
    *,
    alpha: object = None,
    scale: object = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> DiscreteLaplace:
    """Exact two-sided geometric noise on the integers.

    Parameters
    ----------
    eps, alpha, scale : exactly one of ε (nats per unit, rational; a float is read as written), the rational
        ratio alpha = e^-ε, and scale = 1/ε. For a query of sensitivity s give eps/s.
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    NoiseSampler

    Notes
    -----
    Cost: 8 bytes a draw at ε = 1, 24 at ε = 1/1000; exact: integers only.

    Examples
    --------
    >>> discrete_laplace(alpha="1/2", insecure_rng=1).noise(8)
    array([-2,  0, -3,  0, -2, -1,  0,  0])
    """
    return DiscreteLaplace(ratio(eps, alpha, scale), timing, insecure_rng)


class DiscreteLaplace(NoiseSampler):
    """Two-sided geometric noise; see `discrete_laplace`."""

    kind = "discrete Laplace"

    def __init__(self, level: Ratio, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        if level.is_one:
            raise MechanismError("eps is 0; noise on all integers needs eps > 0 (no uniform law there)")
        if level.rate() < SMALLEST_RATE:
            raise MechanismError(
                f"{level} is a noise scale above 2^50, too wide for 64-bit integers; measure in larger units"
            )
        self.level = level

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.level.to_dict())

    @property
    def variance(self) -> float:
        """2λ/(1-λ)² = 1/(2·sinh²(ε/2))."""
        rate = self.level.rate()
        return 0.0 if rate > 700 else 0.5 / math.sinh(rate / 2) ** 2

    def noise(self, size: int) -> IntArray:
        """`size` independent draws."""
        if self.level.is_zero:
            return np.zeros(size, dtype=np.int64)
        return laplace_noise(self.level).draw(self.source.reserve(size), self.source, self.timing)


def laplace_noise(level: Ratio) -> LazyTable | SignedDigits:
    """What draws the noise: one table, or digits where the table would be long."""
    return laplace_table(level) if level.rate() >= TABLE_RATE else _signed_digits(level)


def tail(level: Ratio, m: int, bits: int) -> Enclosure:
    """λ^m/(1+λ)."""
    if level.writes_out(m):
        assert level.alpha is not None
        exact = level.alpha**m / (1 + level.alpha) * (1 << bits)
        return math.floor(exact), math.ceil(exact)
    low, high = level.power(1, bits + 8)
    one = 1 << (bits + 8)
    return quotient(level.power(m, bits + 8), (one + low, one + high), bits)


def geometric_floors(start: AtBits, level: Ratio) -> list[int]:
    """Floors of a_m = a_0·λ^m, m = 1, 2, …, until one is 0; it is kept, for it is how the tail is reached.

    `start` encloses a_0 at any number of bits.
    """
    guard = GUARD_BITS
    while True:
        bits = 64 + guard
        ratio_low, ratio_high = level.power(1, bits)
        low, high = start(bits)
        floors: list[int] = []
        while not floors or floors[-1]:
            low, high = low * ratio_low >> bits, -((-high * ratio_high) >> bits)
            floor = low >> guard
            if high > (floor + 2) << guard:
                break
            floors.append(floor)
        else:
            return floors
        guard *= 2


@lru_cache(maxsize=32)
def laplace_table(level: Ratio) -> LazyTable:
    """Outcomes -M…M by the boundaries P(Z ≤ -m) and P(Z < m)."""

    def start(bits: int) -> Enclosure:
        return tail(level, 0, bits)

    def enclosure(m: int, bits: int) -> Enclosure:
        return tail(level, m, bits)

    def resolve(prefix: int, bits: int) -> int | None:
        # The first bit is the sign; the complement of an upper prefix is a prefix of 1 - U.
        upper = prefix >> (bits - 1)
        size = count_below((1 << bits) - 1 - prefix if upper else prefix, bits, enclosure)
        return None if size is None else _clipped(size if upper else -size)

    floors = np.array(geometric_floors(start, level), dtype=np.uint64)
    # c ≤ 2^64·a ≤ c + 2 gives 2^64 - c - 2 ≤ 2^64·(1 - a) ≤ 2^64 - c.
    both = np.concatenate([floors[::-1], np.uint64(2**64 - 2) - floors])
    return LazyTable(both, np.arange(-len(floors), len(floors) + 1), resolve)


def _clipped(value: int) -> int:
    return max(-FURTHEST, min(FURTHEST, value))


class GeometricDigits:
    """A geometric variable, P(g) = (1-λ)·λ^g, by independent digits.

    The low digit in base 2^k is a truncated geometric of ratio λ, the rest a geometric of ratio λ^(2^k)
    (memorylessness).
    """

    def __init__(self, level: Ratio) -> None:
        self.level = level
        self.digits: list[tuple[int, LazyTable]] = []
        shift, rate = 0, level.rate()
        while rate < DIGIT_RATE:
            bits = min(DIGIT_BITS, math.ceil(math.log2(DIGIT_RATE / rate)))
            self.digits.append((shift, digit_table(level.raised(2**shift), 2**bits)))
            shift, rate = shift + bits, rate * 2**bits
        self.digits.append((shift, geometric_table(level.raised(2**shift))))

    def draw(self, lanes: range, source: BitSource, timing: Timing, component: int = 0) -> IntArray:
        """One draw for each lane, clipped to `FURTHEST`."""
        total = np.zeros(len(lanes), dtype=np.int64)
        for k, (shift, table) in enumerate(self.digits):
            digit = table.draw(lanes, source, timing, component + k)
            total += np.minimum(digit, FURTHEST >> shift) << shift
        return np.minimum(total, FURTHEST)

    def words_for(self, value: int) -> list[int]:
        """Words on which a fixed-work draw gives this value, in the order it reads them."""
        last = len(self.digits) - 1
        words = []
        for k, (shift, table) in enumerate(self.digits):
            digit = value >> shift if k == last else (value >> shift) % 2 ** (self.digits[k + 1][0] - shift)
            words += table.words_for(digit)
        return words


class SignedDigits:
    """Z = G xor -S with S ~ Bernoulli(λ/(1+λ)) is discrete Laplace: P(Z = g) = (1-λ)λ^g/(1+λ), and
    P(Z = -1-g) = λ(1-λ)λ^g/(1+λ)."""

    def __init__(self, level: Ratio) -> None:
        self.magnitude = GeometricDigits(level)
        self.sign = sign_table(level)

    def draw(self, lanes: range, source: BitSource, timing: Timing, component: int = 0) -> IntArray:
        """One draw for each lane."""
        magnitude = self.magnitude.draw(lanes, source, timing, component + 1)
        return magnitude ^ -self.sign.draw(lanes, source, timing, component)

    def words_for(self, value: int) -> list[int]:
        """Words on which a fixed-work draw gives this value, in the order it reads them."""
        return self.magnitude.words_for(value ^ -(value < 0)) + self.sign.words_for(value < 0)


@lru_cache(maxsize=32)
def _signed_digits(level: Ratio) -> SignedDigits:
    return SignedDigits(level)


@lru_cache(maxsize=64)
def sign_table(level: Ratio) -> LazyTable:
    """1 with probability λ/(1+λ)."""
    return one_boundary(lambda bits: tail(level, 1, bits))


@lru_cache(maxsize=64)
def digit_table(level: Ratio, base: int) -> LazyTable:
    """The truncated geometric on 0…base-1: P(D < i) = (1-λ^i)/(1-λ^base)."""
    # 1 - λ^base loses about this many leading bits.
    lost = max(0, math.ceil(-math.log2(level.rate()))) + 8

    def below(i: int, bits: int) -> Enclosure:
        inner = bits + 2 * lost
        one = 1 << inner
        low, high = level.power(i, inner)
        all_low, all_high = level.power(base, inner)
        return quotient((one - high, one - low), (one - all_high, one - all_low), bits)

    def resolve(prefix: int, bits: int) -> int | None:
        # #{i ≥ 1 : U ≥ P(D < i)}, by bisection over 1…base-1.
        low, high = 0, base
        while high - low > 1:
            middle = (low + high) // 2
            if prefix >= below(middle, bits)[1]:
                low = middle
            else:
                high = middle
        return low if high == base or prefix + 1 <= below(high, bits)[0] else None

    floors = [unit_floor(partial(below, i)) for i in range(1, base)]
    return LazyTable(np.array(floors, dtype=np.uint64), np.arange(base), resolve)


@lru_cache(maxsize=64)
def geometric_table(level: Ratio) -> LazyTable:
    """P(G ≥ m) = λ^m; small numbers are the far outcomes."""

    def resolve(prefix: int, bits: int) -> int | None:
        size = count_below(prefix, bits, level.power)
        return None if size is None else min(size, FURTHEST)

    floors = geometric_floors(lambda bits: (1 << bits, 1 << bits), level)
    values = np.arange(len(floors), -1, -1)
    return LazyTable(np.array(floors[::-1], dtype=np.uint64), values, resolve)
