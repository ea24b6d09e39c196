"""What every sampler is: one verb, where its bits come from, and what it promises."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Literal, Never

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sievert.arrays import IntArray
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, choice, instance, is_whole

__all__ = [
    "FURTHEST",
    "LARGEST_INPUT",
    "BitSource",
    "Lanes",
    "NoiseSampler",
    "OperatingSystemBits",
    "ReplayedBits",
    "Sampler",
    "SeededBits",
    "Timing",
    "bit_source",
    "integers",
    "philox",
]

Timing = Literal["fixed", "fast"]

# Noise is clipped to ±FURTHEST and outputs to ±LARGEST_INPUT. Inputs lie within ±LARGEST_INPUT, so the first
# clip changes no output: together they are one clamp of the exact output, which costs no privacy.
FURTHEST = 2**62
LARGEST_INPUT = 2**61


class Sampler(ABC):
    """Draws outputs of a mechanism.

    Attributes
    ----------
    kind : the family, in words
    exact : whether the law is exactly the stated one (integers only) or subject to floating point
    timing : "fixed" (equal work whatever the noise, the default) or "fast" (an observer of the run time
        learns how many draws of a batch needed more bits)
    source : where the bits come from; `source.used` counts bytes, `source.secure` says whether a release
        may use it
    """

    kind: str = "noise"
    exact: bool = True

    def __init__(self, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        choice("timing", timing, ("fixed", "fast"), MechanismError)
        self.timing: Timing = timing
        self.source: BitSource = bit_source(insecure_rng)

    @property
    def secure(self) -> bool:
        """Whether the output may be released: an exact law on secret bits."""
        return self.exact and self.source.secure

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What defines the law, as plain data (fractions as texts)."""

    @abstractmethod
    def draw(self, inputs: Any) -> NDArray[Any]:
        """One independent output for each input."""

    def draw_positions(self, inputs: Any) -> NDArray[Any]:
        """The same by positions of inputs and outputs, where these are listed."""
        return self.draw(inputs)

    def to_dict(self) -> dict[str, Any]:
        """What a release writes beside its output."""
        return {
            "kind": self.kind,
            "parameters": self.parameters,
            "arithmetic": "exact" if self.exact else "float",
            "timing": self.timing,
            "bits": self.source.name,
            "secure": self.secure,
        }

    def __str__(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        arithmetic = "exact" if self.exact else "floating point, not for release"
        return f"{self.kind} ({settings}); {arithmetic}; {self.timing} work; bits from {self.source.name}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __reduce__(self) -> Never:
        raise MechanismError(
            "a sampler does not pickle: a copy would use the same random bits twice; pickle the channel and "
            "call sv.sampling.for_channel where it is drawn"
        )


class NoiseSampler(Sampler):
    """Noise that does not depend on the input and is added to it."""

    @abstractmethod
    def noise(self, size: int) -> NDArray[Any]:
        """`size` independent draws of the noise alone."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise of one draw (of one coordinate, in the plane)."""

    def draw(self, inputs: Any) -> NDArray[Any]:
        """Integers plus noise; sums beyond ±2^61 are clamped there (post-processing)."""
        values = integers(inputs)
        noisy = self.noise(len(values))  # before any input is added: time does not depend on it
        noisy += values
        return np.clip(noisy, -LARGEST_INPUT, LARGEST_INPUT, out=noisy)


def integers(
    inputs: Any, low: int = -LARGEST_INPUT, high: int = LARGEST_INPUT, coordinates: int | None = None
) -> IntArray:
    """Inputs as 64-bit integers within the given bounds: a list, or rows of as many coordinates."""
    try:
        values = np.asarray(inputs)
    except (TypeError, ValueError):
        raise MechanismError(
            f"inputs is {abbreviated(inputs)}; give a list or an array of integers"
        ) from None
    if values.ndim == 0:
        raise MechanismError(f"inputs is {abbreviated(inputs)}; give a list or an array of integers")
    if values.shape[1:] != (() if coordinates is None else (coordinates,)) and values.size:
        wanted = "a list of integers" if coordinates is None else f"rows of {coordinates} integers"
        raise MechanismError(f"inputs has shape {values.shape}; give {wanted}")
    if values.size == 0:
        return np.empty(0 if coordinates is None else (0, coordinates), np.int64)
    if values.dtype.kind not in "iub":
        whole = values.dtype.kind == "f" and bool((values == np.floor(values)).all())
        if not whole or bool((np.abs(values) >= 2.0**62).any()):
            bad = values.ravel()[0] if values.dtype.kind != "f" else _first_bad(values)
            raise MechanismError(
                f"inputs: {abbreviated(bad)} is not an integer of at most 61 bits; round or scale first"
            )
    smallest, largest = int(values.min()), int(values.max())
    if smallest < low or largest > high:
        bad = smallest if smallest < low else largest
        raise MechanismError(f"inputs: {bad} is not from {low} to {high}; clamp the inputs first")
    return values.astype(np.int64, copy=False)


def _first_bad(values: NDArray[Any]) -> float:
    wrong = (values != np.floor(values)) | ~(np.abs(values) < 2.0**62)
    return float(values[wrong].ravel()[0])


# ── Where random bits come from: the operating system, or a seed asked for by name ──────────────────────────
# Samplers ask a source for words by *level* and *lane*. A lane is one draw; a level is one independent
# quantity of that draw (its first word, the bits that extend it, its sign, …). A seeded source answers by a
# pure function of (seed, level, lane, width), so its draws depend neither on the order of the questions nor
# on the size of a batch; the operating system ignores the address and gives fresh bits each time.

Lanes = range | NDArray[np.int64]
Words = NDArray[Any]

# A component of a sampler owns this many levels: the first word, then extensions by 64 bits each.
LEVELS = 256
MOST_COMPONENTS = 2**24


class BitSource(ABC):
    """Fair, independent bits, and how many bytes of them were used."""

    name: str
    secure: bool

    def __init__(self) -> None:
        self.used = 0
        self.position = 0

    def reserve(self, count: int) -> range:
        """The lanes of the next `count` draws; no lane is given twice."""
        if count < 0:
            raise MechanismError(f"size is {count}; it must be at least 0")
        lanes = range(self.position, self.position + count)
        self.position += count
        return lanes

    def words(self, level: int, lanes: Lanes, dtype: DTypeLike = np.uint64) -> Words:
        """One unsigned word for each lane."""
        if not 0 <= level < LEVELS * MOST_COMPONENTS:
            raise MechanismError(f"level is {level}; a bit source has {LEVELS * MOST_COMPONENTS} of them")
        self.used += len(lanes) * np.dtype(dtype).itemsize
        return self._words(level, lanes, np.dtype(dtype))

    def extend(self, level: int, lane: int) -> int:
        """64 more bits for one lane, as a Python integer."""
        return int(self.words(level, range(lane, lane + 1))[0])

    @abstractmethod
    def _words(self, level: int, lanes: Lanes, dtype: np.dtype[Any]) -> Words: ...

    def __repr__(self) -> str:
        return f"<{self.name}, {self.used} bytes used>"


class OperatingSystemBits(BitSource):
    """`os.urandom`: nothing to seed, to store or to share between processes."""

    name = "operating system"
    secure = True

    def _words(self, level: int, lanes: Lanes, dtype: np.dtype[Any]) -> Words:
        return np.frombuffer(os.urandom(len(lanes) * dtype.itemsize), dtype=dtype)


class SeededBits(BitSource):
    """Repeatable bits for tests and simulations (Philox4x32-10); whoever knows the seed knows the noise.

    Parameters
    ----------
    seed : a whole number

    Examples
    --------
    >>> SeededBits(7).words(0, range(2)) == SeededBits(7).words(0, range(2))
    array([ True,  True])
    """

    secure = False

    def __init__(self, seed: int) -> None:
        super().__init__()
        instance("seed", seed, int | np.integer, "a whole number", MechanismError)
        self.name = f"seed {seed} (not secret)"
        digest = hashlib.sha256(f"sievert bit source 1:{seed}".encode()).digest()
        self._key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little"))

    def _words(self, level: int, lanes: Lanes, dtype: np.dtype[Any]) -> Words:
        if not len(lanes):
            return np.empty(0, dtype)
        # A 16-byte block holds the words of `packed` neighbouring lanes; the width is part of the address,
        # so that lanes read in different widths share no bits.
        packed = 16 // dtype.itemsize
        if isinstance(lanes, range):
            first, last = lanes.start // packed, (lanes.stop - 1) // packed
            blocks = np.arange(first, last + 1, dtype=np.uint64)
            words = self._blocks(blocks, level, dtype).reshape(-1)
            skip = lanes.start - first * packed
            return np.asarray(words[skip : skip + len(lanes)])
        places = np.asarray(lanes, dtype=np.int64)
        blocks = (places // packed).astype(np.uint64)
        return np.asarray(self._blocks(blocks, level, dtype)[np.arange(len(places)), places % packed])

    def _blocks(self, blocks: NDArray[np.uint64], level: int, dtype: np.dtype[Any]) -> Words:
        low = np.uint64(0xFFFFFFFF)
        counter = (blocks & low, blocks >> np.uint64(32), np.uint64(level), np.uint64(dtype.itemsize))
        words = np.stack(philox(counter, self._key), axis=1).astype("<u4")
        return words.view(dtype.newbyteorder("<")).astype(dtype, copy=False)


class ReplayedBits(BitSource):
    """Words given in advance, for exhaustive tests: they are handed out in the order they are asked for."""

    name = "replayed (not secret)"
    secure = False

    def __init__(self, words: Iterable[int]) -> None:
        super().__init__()
        self._left = iter(words)

    def _words(self, level: int, lanes: Lanes, dtype: np.dtype[Any]) -> Words:
        try:
            return np.array([next(self._left) for _ in range(len(lanes))], dtype=dtype)
        except StopIteration:
            raise MechanismError("words: the replayed bits are used up; give more words") from None


def bit_source(insecure_rng: object = None) -> BitSource:
    """The operating system's bits, unless a seed is asked for by name.

    Parameters
    ----------
    insecure_rng : None for the operating system; an integer seed, a numpy Generator (which supplies a
        seed), or a `BitSource`

    Returns
    -------
    BitSource

    Notes
    -----
    Cost: O(1); bits are drawn when they are needed.

    Examples
    --------
    >>> bit_source().secure, bit_source(insecure_rng=7).secure
    (True, False)
    """
    if insecure_rng is None:
        return OperatingSystemBits()
    if isinstance(insecure_rng, BitSource):
        return insecure_rng
    if isinstance(insecure_rng, np.random.Generator):
        return SeededBits(int(insecure_rng.integers(2**63)))
    if is_whole(insecure_rng):
        return SeededBits(int(insecure_rng))
    raise MechanismError(
        f"insecure_rng is {abbreviated(insecure_rng)}; it must be a seed, a numpy Generator or a BitSource "
        "(leave it out to draw from the operating system)"
    )


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[int, int]) -> tuple[Words, Words, Words, Words]:
    """Philox4x32-10 (Salmon et al., 2011): four 32-bit words for each 128-bit counter.

    >>> [f"{int(word):08x}" for word in philox((0, 0, 0, 0), (0, 0))]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b, c, d = np.broadcast_arrays(*(np.asarray(word, dtype=np.uint64) for word in counter))
    first, second = key
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, b, c, d = (
            (right >> half) ^ b ^ np.uint64(first),
            right & mask,
            (left >> half) ^ d ^ np.uint64(second),
            left & mask,
        )
        first, second = (first + 0x9E3779B9) & 0xFFFFFFFF, (second + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d
