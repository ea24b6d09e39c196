"""Randomised response among n values: one multiplication, whatever n.

With S = e^ε + n - 1 and U uniform, d = ⌊U·S⌋ is each of 0…n-1 with probability 1/S and beyond with
(e^ε-1)/S: report d if d < n, else the truth. Then P(truth) = e^ε/S and P(each other) = 1/S, and the draw does
not depend on the input.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.errors import MechanismError
from sievert.numerics import whole
from sievert.sampling._base import LEVELS, BitSource, Sampler, Timing, integers
from sievert.sampling._lazy import (
    FIXED_BLOCK,
    Enclosure,
    LazyTable,
    Ratio,
    ceiling,
    one_boundary,
    quotient,
    ratio,
    resolved,
    unit_floor,
)

__all__ = [
    "LARGEST_SPREAD_BITS",
    "RandomisedResponseSampler",
    "Spread",
    "randomised_response",
    "uniform_below",
]
# Up to this many values a table of 16-bit words beats the multiplication of 32-bit words.
LARGEST_TABLE = 1024
# ⌊U·S⌋ by 64-bit words leaves 63 - log2(S) bits behind the point; beyond this, keep and replace apart.
LARGEST_SPREAD_BITS = 40
BLOCK = 2**15


def randomised_response(
    n: int,
    eps: object = None,
    *,
    alpha: object = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> RandomisedResponseSampler:
    """Exact randomised response among 0…n-1: P(y | x) = 1/k if y = x, else alpha/k, k = 1 + (n-1)·alpha.

    Parameters
    ----------
    n : how many values
    eps, alpha : exactly one of ε (nats, rational) and the rational ratio alpha = e^-ε
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: 8 bytes a draw, whatever n is; exact: integers only.

    Examples
    --------
    >>> randomised_response(3, alpha="1/3", insecure_rng=1).draw([0, 1, 2, 2])
    array([0, 1, 0, 2])
    """
    if whole("n", n, MechanismError) > 2**LARGEST_SPREAD_BITS:
        raise MechanismError(f"n is {n}; randomised response is for at most 2^{LARGEST_SPREAD_BITS} values")
    return RandomisedResponseSampler(int(n), ratio(eps, alpha), timing, insecure_rng)


class RandomisedResponseSampler(Sampler):
    """Report the truth or a uniform value; see `randomised_response`."""

    kind = "randomised response"

    def __init__(self, n: int, level: Ratio, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self.n, self.level = n, level

    @property
    def parameters(self) -> dict[str, Any]:
        return {"n": self.n, **self.level.to_dict()}

    def draw(self, inputs: Any) -> IntArray:
        """Reported values for true values."""
        values = integers(inputs, 0, self.n - 1)
        if self.level.is_zero or self.n == 1:
            return values.copy()
        lanes = self.source.reserve(len(values))
        out = np.empty(len(values), dtype=np.int64)
        for start in range(0, len(values), BLOCK):
            part = slice(start, start + BLOCK)
            drawn = self._replacements(lanes[part])  # before any input is read
            # truth ^ (difference where it is replaced): no branch depends on the noise.
            replaced = -(drawn < self.n).astype(np.int64)
            drawn ^= values[part]
            drawn &= replaced
            np.bitwise_xor(drawn, values[part], out=out[part])
        return out

    def _replacements(self, lanes: range) -> IntArray:
        """A uniform value, or anything from n on for the truth."""
        spread = _spread(self.n, self.level)
        if self.timing == "fast" and self.n <= LARGEST_TABLE:
            return _table(self.n, self.level).draw(lanes, self.source, "fast")
        if spread.bits <= LARGEST_SPREAD_BITS:
            return spread.draw(lanes, self.source, self.timing)
        kept = _keep_table(self.n, self.level).draw(lanes, self.source, self.timing)
        return kept * self.n + uniform_below(self.n).draw(lanes, self.source, self.timing, component=1)


class Spread:
    """⌊U·S⌋ for S enclosed at any number of bits."""

    def __init__(self, n: int, level: Ratio) -> None:
        self.n, self.level = n, level
        large = level.rate() > LARGEST_SPREAD_BITS
        self.bits = 2 * LARGEST_SPREAD_BITS if large else self.enclosure(0)[1].bit_length()
        if self.bits <= LARGEST_SPREAD_BITS:
            self.shift = 63 - self.bits
            self.low, self.high = self.enclosure(self.shift)

    def enclosure(self, bits: int) -> Enclosure:
        """S = 1/λ + n - 1, scaled."""
        rest = (self.n - 1) << bits
        if self.level.is_one:
            return rest + (1 << bits), rest + (1 << bits)
        guard = 8
        while True:
            low, high = self.level.power(1, bits + guard)
            if low >> 4:
                scaled = 1 << (2 * bits + guard)
                found = scaled // high + rest, ceiling(scaled, low) + rest
                # The error of 1/λ is about (high - low)·λ^-2: enough guard bits make it a unit.
                if found[1] - found[0] <= 2:
                    return found
            guard *= 2

    def resolve(self, prefix: int, bits: int) -> int | None:
        """⌊U·S⌋, or n for anything from n on."""
        low, high = self.enclosure(bits)
        least = prefix * low >> (2 * bits)
        most = ((prefix + 1) * high - 1) >> (2 * bits)
        return min(least, self.n) if least == most or least >= self.n else None

    def draw(self, lanes: range, source: BitSource, timing: Timing, component: int = 0) -> IntArray:
        """One value for each lane; values from n on mean n."""
        out = np.empty(len(lanes), dtype=np.int64)
        narrow = timing == "fast" and self.bits <= 21
        block = BLOCK if narrow else FIXED_BLOCK
        for start in range(0, len(lanes), block):
            part = lanes[start : start + block]
            fill = self._narrow if narrow else self._wide
            fill(part, out[start : start + len(part)], source, component * LEVELS)
        return out

    def _narrow(self, lanes: range, out: IntArray, source: BitSource, level: int) -> None:
        """32-bit words times ⌊S·2^f⌋ below 2^31: the product's upper bits, unless its rest nearly carries."""
        words = source.words(level, lanes, np.uint32)
        fraction = 31 - self.bits
        low, high = self.low >> (self.shift - fraction), ceiling(self.high, 1 << (self.shift - fraction))
        product = words.astype(np.uint64) * np.uint64(low)
        point = 32 + fraction
        np.right_shift(product, np.uint64(point), out=out.view(np.uint64))
        # U·S·2^point lies in [product, product + margin).
        margin = ((high - low) << 32) + high
        product &= np.uint64((1 << point) - 1)
        tied = product >= np.uint64((1 << point) - margin)
        self._escalate(tied, words, 32, lanes, out, source, level + 1)

    def _wide(self, lanes: range, out: IntArray, source: BitSource, level: int) -> None:
        """64-bit words; the upper half of the 128-bit product from four products of halves."""
        words = source.words(level, lanes)
        half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
        left, right = np.uint64(self.low >> 32), np.uint64(self.low & 0xFFFFFFFF)
        top, bottom = words >> half, words & mask
        carry = (bottom * right >> half) + (top * right & mask) + (bottom * left & mask)
        upper = top * left + (top * right >> half) + (bottom * left >> half) + (carry >> half)
        np.right_shift(upper, np.uint64(self.shift), out=out.view(np.uint64))
        # U·S·2^shift lies in [upper, upper + 2 + high - low).
        margin = 2 + self.high - self.low
        tied = (upper & np.uint64((1 << self.shift) - 1)) > np.uint64((1 << self.shift) - margin)
        self._escalate(tied, words, 64, lanes, out, source, level + 1)

    def _escalate(
        self,
        tied: NDArray[np.bool_],
        words: NDArray[Any],
        bits: int,
        lanes: range,
        out: IntArray,
        source: BitSource,
        level: int,
    ) -> None:
        for i in np.flatnonzero(tied).tolist():
            out[i] = resolved(int(words[i]), bits, self.resolve, source, level, lanes[i])


@lru_cache(maxsize=32)
def _spread(n: int, level: Ratio) -> Spread:
    return Spread(n, level)


def uniform_below(n: int) -> Spread:
    """Each of 0…n-1 with equal probability, n of at most `LARGEST_SPREAD_BITS` bits."""
    return _spread(n, Ratio(alpha=Fraction(1)))


def _share(n: int, level: Ratio, values: int, bits: int) -> Enclosure:
    """values/S = values·λ/(1 + (n-1)·λ), which no large ε makes large."""
    inner = bits + 8 + n.bit_length()
    one = 1 << inner
    low, high = level.power(1, inner)
    return quotient((values * low, values * high), (one + (n - 1) * low, one + (n - 1) * high), bits)


@lru_cache(maxsize=32)
def _table(n: int, level: Ratio) -> LazyTable:
    """Boundaries j/S, j = 1…n; the last outcome, n, is the truth."""

    def boundary(j: int, bits: int) -> Enclosure:
        return _share(n, level, j, bits)

    def resolve(prefix: int, bits: int) -> int | None:
        low, high = 0, n + 1  # U ≥ low/S for sure, and not for sure ≥ high/S
        while high - low > 1:
            middle = (low + high) // 2
            if prefix >= boundary(middle, bits)[1]:
                low = middle
            else:
                high = middle
        return low if low == n or prefix + 1 <= boundary(high, bits)[0] else None

    floors = [unit_floor(partial(boundary, j)) for j in range(1, n + 1)]
    return LazyTable(np.array(floors, dtype=np.uint64), np.arange(n + 1), resolve)


@lru_cache(maxsize=32)
def _keep_table(n: int, level: Ratio) -> LazyTable:
    """1 with probability (S - n)/S."""

    def kept(bits: int) -> Enclosure:
        low, high = _share(n, level, n, bits)
        return (1 << bits) - high, (1 << bits) - low

    return one_boundary(kept)
