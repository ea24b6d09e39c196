"""Locality-sensitive hashing: a public random function under which near vectors agree on most bits.

A family declares its collision function: the probability, over the public draw, that one coordinate of the
codes of two vectors differs (Fernandes, Def 10.2.1). All accounting needs only that number.

The bit of a hyperplane is the sign of the exact product of the stored numbers: single precision decides where
its error bound allows, double precision most of the rest, fractions what remains. So the code of a vector
does not depend on the machine, on the library of linear algebra or on the order of additions.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr, ndtri

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import choice, flag, generator_of, positive, probability, require_size, whole
from sievert.vectors._codes import MOST_BITS, Codes, HashIdentity, pack_bits
from sievert.vectors._distance import angular_distance
from sievert.vectors._rows import Rows, dense, lengths, nonzero, ordinary, piece, read_rows, refuse_zeros

__all__ = ["HyperplaneLSH", "LocalityHash", "MinHash", "PStable", "distance_text"]

LARGEST_DRAW = 500_000_000
BLOCK = 16_384
# Relative rounding of single and double precision.
SINGLE, DOUBLE = 2.0**-24, 2.0**-53


def distance_text(measured: str, distance: float) -> str:
    """The distance of two vectors as text: an angle in degrees, any other distance by its name."""
    return f"{180 * distance:.3g}°" if measured == "angle" else f"{measured} {distance:.3g}"


class LocalityHash(ABC):
    """A hash drawn from a family: as many independent one-coordinate hashes as the code has coordinates.

    Attributes
    ----------
    dimension, bits, seed : as given
    values : values of one coordinate of the code
    measured : the distance of vectors that decides how often coordinates differ
    independent : whether coordinates are independent, as the exact accountant assumes
    identity : what users and curator must agree on
    """

    kind: str
    measured: str = "angle"
    values: int = 2
    independent: bool = True
    dtype: str = "float32"

    def __init__(self, dimension: int, bits: int, seed: int) -> None:
        self.dimension = whole("dimension", dimension, VectorError)
        self.bits = whole("bits", bits, VectorError, most=MOST_BITS)
        self.seed = whole("seed", seed, VectorError, least=0, most=2**63 - 1)
        require_size(
            self.dimension * self.bits, LARGEST_DRAW, "the draw of the hash", "take fewer bits or items"
        )

    @abstractmethod
    def codes(self, x: Any) -> Codes:
        """The codes of vectors."""

    @abstractmethod
    def collision(self, distance: float) -> float:
        """The probability that one coordinate of two codes differs, at a distance of the vectors."""

    @property
    @abstractmethod
    def drawn(self) -> NDArray[Any]:
        """The public random numbers."""

    @property
    def parameters(self) -> dict[str, float | str]:
        """Settings beyond dimension, bits and seed."""
        return {}

    @cached_property
    def identity(self) -> HashIdentity:
        """What users and curator must agree on."""
        digest = hashlib.sha256(np.ascontiguousarray(self.drawn).tobytes()).hexdigest()
        return HashIdentity(
            self.kind,
            self.dimension,
            self.bits,
            self.seed,
            self.values,
            self.dtype,
            parameters=tuple(sorted(self.parameters.items())),
            fingerprint=digest,
        )

    def _raw(self, count: int, stream: int = 0) -> NDArray[np.uint64]:
        """Public random words: a counter cipher under a key made of the seed, the same on every machine."""
        key = hashlib.sha256(f"sievert hash 1:{self.kind}:{self.seed}:{stream}".encode()).digest()
        generator = np.random.Philox(key=int.from_bytes(key[:16], "little"))
        return np.asarray(generator.random_raw(count), dtype=np.uint64)

    def _normals(self, count: int) -> FloatArray:
        """Standard normal numbers by the inverse of their distribution function."""
        middle = (self._raw(count) >> np.uint64(12)).astype(np.float64) + 0.5
        return np.asarray(ndtri(middle * 2.0**-52))

    def __repr__(self) -> str:
        return f"<{self.identity}>"


class HyperplaneLSH(LocalityHash):
    """Bit i says on which side of the i-th random hyperplane a vector lies; scale does not matter.

    Parameters
    ----------
    dimension : coordinates of a vector
    bits : hyperplanes, the bits of a code
    seed : of the public draw; users and curator must use the same
    orthogonal : make the hyperplanes orthogonal, `dimension` of them at a time: fewer accidents, lighter
        tails; but bits are then dependent, and no exact account is known

    Notes
    -----
    Two vectors differ in a bit with probability equal to their angular distance (Fernandes, Def 10.2.3).
    Cost: dimension·bits normal numbers, once; a product of matrices for the codes.

    References
    ----------
    Fernandes (2021), Def 10.2.3.

    Examples
    --------
    >>> hashed = HyperplaneLSH(3, 8, seed=7)
    >>> hashed.codes([[1, 2, 3], [2, 4, 6], [-1, -2, -3]]).distances().tolist()
    [[0, 0, 8], [0, 0, 8], [8, 8, 0]]
    >>> hashed.collision(0.25)
    0.25
    """

    kind = "hyperplane"

    def __init__(self, dimension: int, bits: int, seed: int, *, orthogonal: bool = False) -> None:
        super().__init__(dimension, bits, seed)
        self.orthogonal = flag("orthogonal", orthogonal, VectorError)
        self.independent = not self.orthogonal

    @property
    def parameters(self) -> dict[str, float | str]:
        return {"planes": "orthogonal" if self.orthogonal else "gaussian"}

    @cached_property
    def planes(self) -> NDArray[np.float32]:
        """The normals of the hyperplanes, one a row."""
        drawn = self._normals(self.bits * self.dimension).reshape(self.bits, self.dimension)
        if self.orthogonal:
            drawn = np.concatenate(
                [
                    _orthonormal(drawn[start : start + self.dimension])
                    for start in range(0, self.bits, self.dimension)
                ]
            )
        return drawn.astype(np.float32)

    @property
    def drawn(self) -> NDArray[Any]:
        return self.planes

    def collision(self, distance: float) -> float:
        """The angular distance itself."""
        return _share("distance", distance)

    def distance(self, x: Any, y: Any = None) -> Any:
        """The angular distance of vectors."""
        return angular_distance(x, y)

    def codes(self, x: Any, *, zero: str = "reject", rng: int | np.random.Generator | None = None) -> Codes:
        """The codes of vectors: on which side of each hyperplane they lie.

        Parameters
        ----------
        x : one vector a row, dense or sparse
        zero : what becomes of a zero vector: "reject", or "random" to put a random direction in its place
        rng : for the random directions

        Returns
        -------
        Codes
        """
        choice("zero", zero, ("reject", "random"), VectorError)
        rows = read_rows("x", x, self.dimension)
        if zero == "reject":
            refuse_zeros("x", rows, 'leave such rows out, or write zero="random"')
        found = np.empty((rows.shape[0], -(-self.bits // 64)), dtype=np.uint64)
        for start in range(0, rows.shape[0], BLOCK):
            part = piece(rows, start, start + BLOCK)
            found[start : start + BLOCK] = self._packed(part)
        if zero == "random":
            empty = np.flatnonzero(~nonzero(rows))
            directions = generator_of(rng).standard_normal((len(empty), self.dimension))
            found[empty] = self._packed(directions)
        return Codes(found, self.bits, self.identity)

    def projections(self, x: Any) -> FloatArray:
        """The products of vectors with the normals, in double precision, one row a vector."""
        rows = read_rows("x", x, self.dimension)
        wide = self.planes.astype(np.float64).T
        return np.asarray((rows if isinstance(rows, sparse.csr_array) else dense(rows)) @ wide)

    @cached_property
    def _columns(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The normals as columns, and an upper bound of their lengths."""
        size = np.linalg.norm(self.planes.astype(np.float64), axis=1) * (1 + 1e-6)
        return np.ascontiguousarray(self.planes.T), size.astype(np.float32)

    def _packed(self, rows: Rows) -> NDArray[np.uint64]:
        """Signs of the exact products, packed."""
        columns, sizes = self._columns
        rows = ordinary(rows, lengths(rows))
        norm, terms = lengths(rows), _terms(rows)
        scaled = _to_single(rows, norm)
        product = np.asarray(scaled @ columns)
        # Any order of additions: |error| ≤ γ·Σ|x_j·r_j| ≤ γ·|x|·|r| (Higham, Sec 3.1; Cauchy-Schwarz).
        margin = ((terms + 8) * SINGLE * 1.02).astype(np.float32)
        unit = np.where((norm >= 1e-9) & (norm <= 1e9), norm, 1.0).astype(np.float32) * np.float32(1.01)
        sides = product >= 0
        doubtful = np.abs(product) <= (margin * unit)[:, None] * sizes[None, :]
        again = np.flatnonzero(doubtful.any(axis=1))
        if len(again):
            sides[again] = self._sides(rows, again, norm[again], doubtful[again], sides[again])
        return pack_bits(sides)

    def _sides(
        self,
        rows: Rows,
        again: NDArray[np.intp],
        norm: FloatArray,
        doubtful: NDArray[np.bool_],
        sides: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """The doubtful signs by double precision, and the last of them by fractions."""
        part = dense(rows, again)
        safe = np.where(norm > 0, norm, 1.0)[:, None]
        part = part / 2.0 ** np.floor(np.log2(safe))  # a power of two: exact
        product = part @ self.planes.astype(np.float64).T
        terms = (part != 0).sum(axis=1)
        bound = ((terms + 8) * DOUBLE * 4.0)[:, None] * self._columns[1][None, :]
        sides = np.where(doubtful, product >= 0, sides)
        for i, j in np.argwhere(doubtful & (np.abs(product) <= bound)).tolist():
            sides[i, j] = _exact_product(part[i], self.planes[j]) >= 0
        return sides


def _terms(rows: Rows) -> FloatArray:
    """How many products a row sums, at most."""
    if isinstance(rows, sparse.csr_array):
        return np.diff(rows.indptr).astype(np.float64)
    return np.full(rows.shape[0], float(rows.shape[1]))


def _to_single(rows: Rows, norm: FloatArray) -> Any:
    """Rows in single precision; those far from length 1 are divided by it first."""
    ordinary = (norm >= 1e-9) & (norm <= 1e9) | (norm == 0)
    if not ordinary.all():
        factor = np.where(ordinary, 1.0, 1 / np.where(norm > 0, norm, 1.0))
        if isinstance(rows, sparse.csr_array):
            rows = sparse.csr_array(
                (rows.data * np.repeat(factor, np.diff(rows.indptr)), rows.indices, rows.indptr), rows.shape
            )
        else:
            rows = rows * factor[:, None]
    return rows.astype(np.float32, copy=False)


def _exact_product(x: FloatArray, plane: NDArray[np.float32]) -> Fraction:
    """The product of two lists of floats, without rounding."""
    places = np.flatnonzero(x)
    return sum((Fraction(float(x[j])) * Fraction(float(plane[j])) for j in places), Fraction(0))


def _orthonormal(rows: FloatArray) -> FloatArray:
    """Orthonormal rows with the uniform law: the QR factors with positive diagonal (Haar)."""
    q, r = np.linalg.qr(rows.T)
    return np.asarray((q * np.sign(np.diag(r))).T)


class MinHash(LocalityHash):
    """Coordinate i is a public random value of the item that a random order i puts first in the set.

    Parameters
    ----------
    dimension : items there are
    bits : coordinates of a code
    seed : of the public draw
    values : values of a coordinate, 2 for bits

    Notes
    -----
    Sets are the items with a non-zero entry. Two sets of Jaccard similarity J differ in a coordinate with
    probability (1 - J)·(1 - 1/values): half the Jaccard distance for bits.
    Cost: one minimum over the non-zero entries for every coordinate.

    Examples
    --------
    >>> hashed = MinHash(5, 4, seed=7)
    >>> hashed.codes([[1, 1, 0, 0, 0], [2, 3, 0, 0, 0]]).distances().tolist()
    [[0, 0], [0, 0]]
    >>> hashed.collision(0.5)
    0.25
    """

    kind = "minhash"
    measured = "Jaccard distance"
    dtype = "uint64"

    def __init__(self, dimension: int, bits: int, seed: int, *, values: int = 2) -> None:
        super().__init__(dimension, bits, seed)
        self.values = whole("values", values, VectorError, least=2, most=256)

    @cached_property
    def drawn(self) -> NDArray[np.uint64]:
        """For each coordinate and item: its place in the order (upper 56 bits) and its value (lowest 8)."""
        count = self.bits * self.dimension
        order = self._raw(count) & ~np.uint64(255)
        # 64-bit words times `values`: off the uniform law by less than 2^-55.
        value = (self._raw(count, 1) >> np.uint64(8)) * np.uint64(self.values) >> np.uint64(56)
        return (order | value).reshape(self.bits, self.dimension)

    def collision(self, distance: float) -> float:
        """(1 - J)·(1 - 1/values) for the Jaccard distance 1 - J."""
        return _share("distance", distance) * (1 - 1 / self.values)

    def codes(self, x: Any) -> Codes:
        """The codes of the sets of non-zero entries."""
        rows = read_rows("x", x, self.dimension)
        refuse_zeros("x", rows, "leave such rows out: an empty set has no first item")
        sets = sparse.csr_array(rows)
        sets.eliminate_zeros()
        found = np.empty((sets.shape[0], self.bits), dtype=np.uint8)
        for place in range(self.bits):
            first = np.minimum.reduceat(self.drawn[place][sets.indices], sets.indptr[:-1])
            found[:, place] = first & np.uint64(255)
        return Codes.of(found, self.identity, self.values)


class PStable(LocalityHash):
    """Bit i is a public random bit of the cell ⌊(a_i·x + b_i)/width⌋ of a random projection: l2 distance.

    Parameters
    ----------
    dimension : coordinates of a vector
    bits : projections
    seed : of the public draw
    width : of a cell, in the unit of the vectors

    Notes
    -----
    With t = width/|x - x'|: two vectors fall into one cell with probability
    c(t) = 1 - 2·Φ(-t) - 2/(√(2π)·t)·(1 - e^(-t²/2)), and differ in the bit with (1 - c(t))/2.
    Cost: a product of matrices. Cells are computed in double precision: within rounding of a border the
    cell may depend on the machine.

    Examples
    --------
    >>> hashed = PStable(2, 16, seed=7, width=2.0)
    >>> 1 - 2 * hashed.collision(1.5)
    0.465179252
    """

    kind = "p-stable"
    measured = "distance"
    dtype = "float64"

    def __init__(self, dimension: int, bits: int, seed: int, *, width: float) -> None:
        super().__init__(dimension, bits, seed)
        self.width = positive("width", width, VectorError)

    @property
    def parameters(self) -> dict[str, float | str]:
        return {"width": self.width}

    @cached_property
    def drawn(self) -> FloatArray:
        """One row a projection: the direction, then the shift."""
        directions = self._normals(self.bits * self.dimension).reshape(self.bits, self.dimension)
        shifts = (self._raw(self.bits, 1) >> np.uint64(11)).astype(np.float64) * 2.0**-53 * self.width
        return np.concatenate([directions, shifts[:, None]], axis=1)

    def collision(self, distance: float) -> float:
        """(1 - c(width/distance))/2 for the Euclidean distance."""
        if distance == 0:
            return 0.0
        t = self.width / positive("distance", distance, VectorError)
        # 1 - c(t), without the difference.
        differ = 2 * ndtr(-t) - 2 / (math.sqrt(2 * math.pi) * t) * math.expm1(-(t**2) / 2)
        return float(differ / 2)

    def codes(self, x: Any) -> Codes:
        """The codes of vectors."""
        rows = read_rows("x", x, self.dimension)
        found = np.empty((rows.shape[0], self.bits), dtype=np.bool_)
        for start in range(0, rows.shape[0], BLOCK):
            part = piece(rows, start, start + BLOCK)
            product = (part if isinstance(part, sparse.csr_array) else dense(part)) @ self.drawn[:, :-1].T
            cells = np.floor((product + self.drawn[:, -1]) / self.width)
            if not (np.abs(cells) < 2.0**62).all():
                raise VectorError("x: an entry is too large for the cells; raise width or scale the vectors")
            found[start : start + BLOCK] = self._bit(cells.astype(np.int64))
        return Codes.of(found, self.identity)

    def _bit(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """A public random bit of each cell: a finaliser of 64 bits over cell and key (SplitMix64)."""
        keys = self._raw(self.bits, 2)
        mixed = cells.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + keys
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return np.asarray((mixed ^ (mixed >> np.uint64(31))) & np.uint64(1) == 1)


def _share(argument: str, value: object) -> float:
    return probability(argument, value, VectorError)
