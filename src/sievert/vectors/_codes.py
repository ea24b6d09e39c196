"""Codes: the hashes of many vectors, packed, and the identity of the hash that made them.

Bit i of a code is bit i mod 64 of its word i // 64; what is left of the last word is 0 for everybody and is
never noised. A hash with more than two values takes one plane of words for each binary digit of a value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray, WordArray
from sievert.errors import VectorError
from sievert.numerics import abbreviated, whole
from sievert.vectors._rows import read_array

__all__ = ["BIT_ORDER", "VERSION", "Codes", "HashIdentity", "pack_bits", "planes_of", "read_codes"]

BIT_ORDER = "little"
VERSION = 1
MOST_BITS = 1_000_000


@dataclass(frozen=True)
class HashIdentity:
    """What users and curator must agree on before codes can be compared.

    Attributes
    ----------
    kind : the family: "hyperplane", "minhash" or "p-stable"
    dimension : coordinates of a vector
    bits : coordinates of a code
    seed : of the public random draw
    values : values of a coordinate of the code, 2 for bits
    dtype : of the drawn numbers
    bit_order : how codes are packed
    version : of the way the numbers are drawn and codes are computed
    parameters : further settings, by name
    fingerprint : SHA-256 of the drawn numbers themselves

    Examples
    --------
    >>> from sievert.vectors import HyperplaneLSH
    >>> HyperplaneLSH(4, 20, seed=7).identity == HyperplaneLSH(4, 20, seed=8).identity
    False
    """

    kind: str
    dimension: int
    bits: int
    seed: int
    values: int = 2
    dtype: str = "float32"
    bit_order: str = BIT_ORDER
    version: int = VERSION
    parameters: tuple[tuple[str, float | str], ...] = ()
    fingerprint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file."""
        return {**asdict(self), "parameters": dict(self.parameters)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The identity that `to_dict` wrote.

        >>> one = HashIdentity("hyperplane", 10, 20, 7)
        >>> HashIdentity.from_dict(one.to_dict()) == one
        True
        """
        try:
            parameters = tuple(sorted(dict(data.get("parameters", {})).items()))
            return cls(**{**data, "parameters": parameters})
        except (TypeError, ValueError) as problem:
            raise VectorError(
                f"identity is {abbreviated(data)}; it is no identity of a hash ({problem})"
            ) from None

    @property
    def short(self) -> str:
        """A name of 16 hexadecimal digits for the whole identity."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def require_same(self, other: HashIdentity | None, what: str) -> None:
        """Refuse codes of another hash, naming what differs."""
        if other is None:
            raise VectorError(f"{what} say nothing about their hash; give codes with the identity of a hash")
        mine, theirs = self.to_dict(), other.to_dict()
        for key in mine:
            if mine[key] != theirs[key]:
                raise VectorError(
                    f"{what} come from another hash: {key} is {abbreviated(theirs[key])} there and "
                    f"{abbreviated(mine[key])} here; distances between them mean nothing. Hash both "
                    f"with one seed"
                )

    def __str__(self) -> str:
        return (
            f"{self.kind} hash {self.short}: {self.bits} bits of {self.dimension} coordinates, "
            f"seed {self.seed}"
        )


def planes_of(values: int) -> int:
    """Words a coordinate takes: binary digits of its largest value."""
    return max(1, (values - 1).bit_length())


@dataclass(frozen=True, eq=False)
class Codes:
    """Packed codes, one row a user.

    Attributes
    ----------
    words : 64 bits a word; `planes` groups of ⌈bits/64⌉ words a row
    bits : coordinates of a code
    identity : of the hash (None: nobody said)
    values : values of a coordinate, 2 for bits
    flip : probability that a coordinate was replaced by another value, 0 without noise; None where it
        differs from coordinate to coordinate
    mechanism : what made them noisy, in words

    Examples
    --------
    >>> Codes.of([[1, 0, 1], [0, 0, 1]]).distances().tolist()
    [[0, 1], [1, 0]]
    """

    words: WordArray
    bits: int
    identity: HashIdentity | None = None
    values: int = 2
    flip: float | None = 0.0
    mechanism: str = "no noise"

    @classmethod
    def of(cls, rows: Any, identity: HashIdentity | None = None, values: int = 2) -> Self:
        """Codes from rows of coordinates, each a whole number below `values`."""
        given = read_array("codes", rows, "rows of whole numbers, one row a user", "iub")
        if given.ndim != 2 or not given.shape[1]:
            raise VectorError(f"codes is {abbreviated(rows)}; give rows of whole numbers, one row a user")
        whole("values", values, VectorError, least=2, most=256)
        if given.size and not (given.min() >= 0 and given.max() < values):
            raise VectorError(f"codes holds {given.max()}; a coordinate is from 0 to {values - 1}")
        planes = [
            pack_bits(((given >> digit) & 1).astype(np.bool_)) if values > 2 else pack_bits(given != 0)
            for digit in range(planes_of(values))
        ]
        return cls(np.concatenate(planes, axis=1), given.shape[1], identity, values)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def planes(self) -> int:
        """Binary digits of a coordinate."""
        return planes_of(self.values)

    def coordinates(self) -> NDArray[np.uint8]:
        """The codes as rows of numbers, one a coordinate."""
        width = self.words.shape[1] // self.planes
        found = np.zeros((len(self), self.bits), dtype=np.uint8)
        for digit in range(self.planes):
            found |= unpack_bits(self.words[:, digit * width : (digit + 1) * width], self.bits) << digit
        return found

    def distances(self, other: Codes | None = None) -> IntArray:
        """How many coordinates differ, for all pairs."""
        theirs = self if other is None else self.agreeing(other, "other")
        width = self.words.shape[1] // self.planes
        found = np.zeros((len(self), len(theirs)), dtype=np.int64)
        for place in range(width):
            differ = np.zeros((len(self), len(theirs)), dtype=np.uint64)
            for digit in range(self.planes):
                column = digit * width + place
                differ |= self.words[:, None, column] ^ theirs.words[None, :, column]
            found += np.bitwise_count(differ)
        return found

    def agreeing(self, other: Codes, what: str) -> Codes:
        """The other codes, if they belong to the same hash."""
        if not isinstance(other, Codes):
            other = read_codes(what, other)
        if self.bits != other.bits or self.values != other.values:
            raise VectorError(
                f"{what} have {other.bits} coordinates of {other.values} values, these {self.bits} of "
                f"{self.values}; only codes of one hash can be compared"
            )
        if self.identity is not None:
            self.identity.require_same(other.identity, what)
        elif other.identity is not None:
            other.identity.require_same(None, "codes")
        return other

    def rows(self, part: Any) -> Codes:
        """Some of the codes."""
        return replace(self, words=self.words[part])

    def __str__(self) -> str:
        hashed = "" if self.identity is None else f" of the {self.identity.kind} hash {self.identity.short}"
        return f"{len(self):,} codes of {self.bits} bits{hashed}; {self.mechanism}"


def read_codes(argument: str, given: Any) -> Codes:
    """Codes as they are, or from rows of zeros and ones."""
    found = given if isinstance(given, Codes) else Codes.of(given)
    width = -(-found.bits // 64)
    if found.words.dtype != np.uint64 or found.words.shape[1:] != (width * found.planes,):
        raise VectorError(
            f"{argument}: words of type {found.words.dtype} and shape {found.words.shape} do not hold "
            f"{found.bits} coordinates; make codes with a hash or with Codes.of"
        )
    return found


def pack_bits(bits: NDArray[np.bool_]) -> WordArray:
    """Rows of truth values as rows of words."""
    rows, count = bits.shape
    packed = np.zeros((rows, 8 * -(-count // 64)), dtype=np.uint8)
    packed[:, : -(-count // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack_bits(words: WordArray, count: int) -> NDArray[np.uint8]:
    """The first bits of every row, each 0 or 1."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little")
