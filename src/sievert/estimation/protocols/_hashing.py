"""Local hashing: hash the value into a few buckets, then report a bucket by randomised response.

*Exact*: every user has a hash function of their own from a strongly universal family (multiply-shift on 64
bits, Dietzfelbinger 1996), so that two values collide with probability 1/g exactly, to 2^-32. *Limited*:
users share a public table of K random hash functions; the server works on K·g counts instead of all
reports, for a little more variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.errors import EstimationError
from sievert.estimation.protocols._base import Positions, Protocol, Support
from sievert.numerics import generator_of, whole

__all__ = ["HashedReports", "LimitedReports", "LocalHashing", "local_hashing"]

Words = NDArray[np.uint64]
# Hashes computed at a time: they stay in the processor's cache.
BLOCK_HASHES = 1 << 16
LARGEST_TABLE = 200_000_000
HALF = np.uint64(32)


class HashedReports(NamedTuple):
    """Each user's hash function (multiplier and offset) and the reported bucket."""

    multipliers: Words
    offsets: Words
    buckets: NDArray[np.uint32]


class LimitedReports(NamedTuple):
    """Which function of the public table each user took, and the reported bucket."""

    functions: NDArray[np.int32]
    buckets: NDArray[np.int32]


class LocalHashing(Protocol):
    """A report supports the values that its hash function sends to the reported bucket."""

    def __init__(
        self,
        values: int | Iterable[object],
        eps: float,
        buckets: int | None,
        hashes: int | None,
        public_seed: int,
    ) -> None:
        super().__init__(values, eps)
        best = round(math.exp(min(self.eps, 20.0))) + 1
        if buckets is not None:
            best = whole("buckets", buckets, EstimationError, least=2, most=2**31 - 1)
        self.buckets = best
        hashes = None if hashes is None else whole("hashes", hashes, EstimationError)
        public_seed = whole("public_seed", public_seed, EstimationError, least=0)
        self.hashes = hashes
        others, decay = self.buckets - 1, math.exp(-self.eps)
        truth = 1 / (1 + others * decay)
        gap = truth * others / self.buckets * -math.expm1(-self.eps)
        self.chances = Support(truth, 1 / self.buckets, others * decay * truth, others / self.buckets, gap)
        self.name = "local hashing" if hashes is None else f"local hashing with {hashes} functions"
        self.table: NDArray[np.int32] | None = None
        if hashes is not None:
            if hashes * self.size > LARGEST_TABLE:
                raise EstimationError(
                    f"hashes is {hashes}: its table for {self.size} values has {hashes * self.size} entries; "
                    f"at most {LARGEST_TABLE} are stored"
                )
            # Part of the protocol: clients and servers make the same table from the public seed.
            drawn = np.random.Generator(np.random.Philox(public_seed)).integers(
                0, self.buckets, (hashes, self.size)
            )
            self.table = drawn.astype(np.int32)

    def privatise(
        self, values: Any, rng: int | np.random.Generator | None = None
    ) -> HashedReports | LimitedReports:
        """A hash function and a bucket for each value."""
        generator = generator_of(rng)
        true = self.positions(values)
        if self.table is None:
            words = generator.integers(0, 2**64, (2, len(true)), dtype=np.uint64)
            exact = self._buckets(words[0], words[1], true.astype(np.uint64))
            reported = self._perturbed(exact.astype(np.int64), generator)
            return HashedReports(words[0], words[1], reported.astype(np.uint32))
        assert self.hashes is not None
        functions = generator.integers(0, self.hashes, len(true), dtype=np.int32)
        reported = self._perturbed(self.table[functions, true].astype(np.int64), generator)
        return LimitedReports(functions, reported.astype(np.int32))

    def _perturbed(self, exact: NDArray[np.int64], generator: np.random.Generator) -> Positions:
        shift = generator.integers(1, self.buckets, len(exact))
        honest = generator.random(len(exact)) < self.truth
        return np.where(honest, exact, (exact + shift) % self.buckets)

    def _buckets(self, multipliers: Words, offsets: Words, values: Words) -> Words:
        """((a·x + b mod 2^64) >> 32)·g >> 32."""
        return ((multipliers * values + offsets) >> HALF) * np.uint64(self.buckets) >> HALF

    def support(self, reports: Any) -> NDArray[np.int64]:
        """How many reports support each value."""
        made = self._made(reports)
        return self._limited_support(made) if isinstance(made, LimitedReports) else self._exact_support(made)

    def _limited_support(self, reports: LimitedReports) -> NDArray[np.int64]:
        assert self.table is not None and self.hashes is not None
        cells = reports.functions.astype(np.int64) * self.buckets + reports.buckets
        counts = np.bincount(cells, minlength=self.hashes * self.buckets).reshape(self.hashes, self.buckets)
        return np.asarray(np.take_along_axis(counts, self.table, axis=1).sum(axis=0), dtype=np.int64)

    def _exact_support(self, reports: HashedReports) -> NDArray[np.int64]:
        """A block of reports against a block of values at a time."""
        found = np.zeros(self.size, dtype=np.int64)
        wide = min(self.size, 256)
        step = max(1, BLOCK_HASHES // wide)
        for first in range(0, self.size, wide):
            values = np.arange(first, min(first + wide, self.size), dtype=np.uint64)
            work = np.empty((len(values), step), dtype=np.uint64)
            for start in range(0, len(reports.buckets), step):
                part = slice(start, start + step)
                hashes = work[:, : len(reports.buckets[part])]
                np.multiply(values[:, None], reports.multipliers[None, part], out=hashes)
                hashes += reports.offsets[None, part]
                hashes >>= HALF
                hashes *= np.uint64(self.buckets)
                hashes >>= HALF
                found[first : first + len(values)] += np.count_nonzero(
                    hashes == reports.buckets[None, part].astype(np.uint64), axis=1
                )
        return found

    def count(self, reports: Any) -> int:
        """Number of reports in a batch."""
        return len(self._made(reports).buckets)

    def _made(self, reports: Any) -> HashedReports | LimitedReports:
        """Reports of this protocol, with an array of whole numbers for each of their fields."""
        kind = HashedReports if self.table is None else LimitedReports
        fields: list[Any] = list(reports) if isinstance(reports, kind) else []
        whole_numbers = [isinstance(f, np.ndarray) and f.ndim == 1 and f.dtype.kind in "iu" for f in fields]
        if not fields or not all(whole_numbers) or len({len(f) for f in fields}) > 1:
            raise EstimationError("reports were not made by this protocol; use what its privatise returns")
        return reports  # type: ignore[no-any-return]

    def variances(self, frequencies: Any, reports: int) -> FloatArray:
        """As for every protocol; shared hash functions add Σ_{w≠v} f_w(f_w - 1/N)/(K(g-1)).

        Two users with the same value and the same function collide with another value together.
        """
        f = self._shares(frequencies)
        own = super().variances(f, reports)
        if self.hashes is None:
            return own
        pairs = f * np.maximum(f - 1 / reports, 0.0)
        return np.asarray(
            own + (pairs.sum(axis=-1, keepdims=True) - pairs) / (self.hashes * (self.buckets - 1))
        )


def local_hashing(
    values: int | Iterable[object],
    eps: float,
    *,
    buckets: int | None = None,
    hashes: int | None = None,
    public_seed: int = 0,
) -> LocalHashing:
    """Local hashing into `buckets` (e^eps + 1 by default, the optimum: OLH).

    Parameters
    ----------
    values : how many values, or the values themselves
    eps : ε in nats
    buckets : of each hash function; by default e^eps + 1
    hashes : limits users to that many shared functions; servers are then as quick as one table lookup a
        function and value, whatever the number of reports
    public_seed : makes the shared functions

    Returns
    -------
    LocalHashing

    Notes
    -----
    Cost: O(1) a report for users; O(reports·values) for servers without `hashes`.

    Examples
    --------
    >>> protocol = local_hashing(["a", "b", "c"], 2.0)
    >>> reports = protocol.privatise(["a"] * 900 + ["b"] * 100, rng=1)
    >>> bool(protocol.estimate(reports).frequencies[0] > 0.7)
    True
    """
    return LocalHashing(values, eps, buckets, hashes, public_seed)
