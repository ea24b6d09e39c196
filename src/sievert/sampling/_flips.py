"""Exact random flips of packed bits, 64 at a time, and exact coins with a probability each.

A flip is "U < p" for a uniform U. Both numbers are compared digit by digit: where the digits first differ,
the comparison is decided. A word of random bits is one digit of U for 64 flips at once, so 16 words decide
all but one flip in 65,536; those go on by themselves, 64 digits at a time. Nothing is rounded, whatever p.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, WordArray
from sievert.errors import MechanismError
from sievert.numerics import whole
from sievert.sampling._base import LEVELS, BitSource, Sampler, Timing
from sievert.sampling._bernoulli import rational_enclosure
from sievert.sampling._lazy import AtBits, Enclosure, Ratio, quotient, ratio, resolved

__all__ = ["BitFlips", "bit_flips", "coins"]

# Digits that are drawn for everybody: 16, or 32 in fixed work, after which one flip in 2^32 is undecided.
DIGITS = {"fast": 16, "fixed": 32}
BLOCK = 2**16
FULL = np.uint64(2**64 - 1)


def bit_flips(
    eps: object = None, *, alpha: object = None, timing: Timing = "fast", insecure_rng: object = None
) -> BitFlips:
    """Flip every bit with probability 1/(1 + e^ε): randomised response on packed bits.

    Parameters
    ----------
    eps, alpha : exactly one of ε (nats, rational, or inf for no noise) and the rational ratio alpha = e^-ε
    timing : "fast" (an observer of the run time learns how many flips needed more than 16 digits, which does
        not depend on any input) or "fixed"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: 2 bytes a bit, 4 in fixed work; exact: integers only.

    Examples
    --------
    >>> flips = bit_flips(1.0, insecure_rng=7)
    >>> int(np.bitwise_count(flips.masks(100, 64)).sum())
    1749
    """
    return BitFlips(ratio(eps, alpha), timing, insecure_rng)


class BitFlips(Sampler):
    """Independent flips of packed bits; see `bit_flips`."""

    kind = "randomised response on bits"

    def __init__(self, level: Ratio, timing: Timing = "fast", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self.level = level
        self._digits: tuple[int, bool] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        return self.level.to_dict()

    @property
    def probability(self) -> float:
        """Of a flip."""
        low, high = self._enclosure(200)
        return float(Fraction(low + high, 2 << 200))

    def draw(self, inputs: Any) -> NDArray[Any]:
        """Words with every one of their 64 bits flipped or not."""
        words = np.asarray(inputs, dtype=np.uint64)
        return np.asarray(words ^ self.masks(len(words), 64)[:, 0])

    def masks(self, rows: int, bits: int) -> WordArray:
        """Rows of words with a 1 for every bit that flips; what is left of the last word stays 0."""
        width = -(-whole("bits", bits, MechanismError) // 64)
        lanes = self.source.reserve(rows * width)
        flips = np.zeros(rows * width, dtype=np.uint64)
        for start in range(0, len(flips), BLOCK):
            part = lanes[start : start + BLOCK]
            flips[start : start + BLOCK] = self._flipped(part)
        found = flips.reshape(rows, width)
        if bits % 64:
            found[:, -1] &= np.uint64(2 ** (bits % 64) - 1)
        return found

    def _flipped(self, lanes: range) -> WordArray:
        if self.level.is_zero:
            return np.zeros(len(lanes), dtype=np.uint64)
        count = DIGITS[self.timing]
        digits, ends = self._leading(count)
        flips = np.zeros(len(lanes), dtype=np.uint64)
        equal = np.full(len(lanes), FULL)
        for place in range(count):
            drawn = self.source.words(place, lanes)
            if digits >> (count - 1 - place) & 1:
                flips |= equal & ~drawn  # U has 0 where p has 1: U < p
                equal &= drawn
            else:
                equal &= ~drawn
        if not ends:
            self._resolve(flips, equal, digits, count, lanes)
        return flips

    def _resolve(self, flips: WordArray, equal: WordArray, digits: int, count: int, lanes: range) -> None:
        """The flips whose digits have all been those of p."""

        def below(prefix: int, bits: int) -> int | None:
            low, high = self._enclosure(bits)
            return 1 if prefix + 1 <= low else 0 if prefix >= high else None

        for place in np.flatnonzero(equal).tolist():
            left = int(equal[place])
            for bit in range(64):
                if left >> bit & 1:
                    level = (1 + bit) * LEVELS
                    if resolved(digits, count, below, self.source, level, lanes[place]) == 1:
                        flips[place] |= np.uint64(1 << bit)

    def _leading(self, count: int) -> tuple[int, bool]:
        """The first binary digits of p, and whether p ends there."""
        if self._digits is None:
            self._digits = self._found(count)
        return self._digits

    def _found(self, count: int) -> tuple[int, bool]:
        exact = self._rational()
        if exact is not None:
            scaled = exact * 2**count
            return int(scaled), scaled.denominator == 1
        guard = 64
        while True:
            low, high = self._enclosure(count + guard)
            if low >> guard == high >> guard:
                return low >> guard, False
            guard *= 2

    def _rational(self) -> Fraction | None:
        alpha = self.level.alpha
        return None if alpha is None else alpha / (1 + alpha)

    def _enclosure(self, bits: int) -> Enclosure:
        """p = λ/(1 + λ) with λ = e^-ε."""
        exact = self._rational()
        if exact is not None:
            return rational_enclosure(exact)(bits)
        inner = bits + 8
        one = 1 << inner
        low, high = self.level.power(1, inner)
        return quotient((low, low), (one + low, one + low), bits)[0], quotient(
            (high, high), (one + high, one + high), bits
        )[1]


def coins(
    chances: FloatArray, error: float, exact: Callable[[int], AtBits], source: BitSource
) -> NDArray[np.bool_]:
    """True with a probability for each place, known as a float within `error` and exactly on demand.

    A word u of 32 bits says U ∈ [u, u+1)/2^32, which decides U < p unless p is within the error of that
    interval; then `exact(i)` encloses the probability of place i at any number of bits, and more bits decide.
    """
    flat = chances.ravel()
    lanes = source.reserve(len(flat))
    found = np.empty(len(flat), dtype=np.bool_)
    margin = error * 2.0**32 + 1.0
    for start in range(0, len(flat), BLOCK):
        part = lanes[start : start + BLOCK]
        words = source.words(0, part, np.uint32).astype(np.float64)
        scaled = flat[start : start + BLOCK] * 2.0**32
        decided = words < scaled
        for i in np.flatnonzero(np.abs(words - scaled) <= margin).tolist():
            enclosure = exact(start + i)

            def below(prefix: int, bits: int, enclosure: AtBits = enclosure) -> int | None:
                low, high = enclosure(bits)
                return 1 if prefix + 1 <= low else 0 if prefix >= high else None

            decided[i] = resolved(int(words[i]), 32, below, source, LEVELS, part[i]) == 1
        found[start : start + BLOCK] = decided
    return found.reshape(chances.shape)
