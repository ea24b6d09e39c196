"""The exponential mechanism with more outputs than a table of boundaries could hold, drawn exactly.

A row's cumulative probabilities are first known as floats with an error bound. A uniform word that is farther
from every boundary than the bound decides; any other is decided by integers, as in the other exact samplers
(`_lazy`). Whenever it answers, its answer is that of the real uniform number, so the law is exact: rounding
of floats costs time on one word in a million, and no privacy.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IntArray, WordArray
from sievert.errors import MechanismError
from sievert.numerics import abbreviated
from sievert.sampling._base import Sampler, integers
from sievert.sampling._lazy import Enclosure, exp_neg, quotient, rational, resolved

__all__ = ["WideExponentialRows"]

# Bytes of cumulative rows that are kept.
CACHE = 512 * 2**20
# Rows that are made at once.
BATCH = 64
WORD = 2.0**-64


class WideExponentialRows(Sampler):
    """Row positions in, column positions out: P(y | x) ∝ e^(-eps·distance(x, y)), rows made when needed.

    `distances` gives the row of a position; its floats are taken as the exact numbers they store. `rough`
    gives many rows at once, each number within `error` of the exact one, and is looked at first. The time of
    a draw depends on which rows were asked for before, and (once in a hundred thousand) on its bits.
    """

    kind = "exponential"

    def __init__(
        self,
        distances: Callable[[int], FloatArray],
        shape: tuple[int, int],
        eps: object,
        insecure_rng: object = None,
        *,
        rough: Callable[[IntArray], FloatArray] | None = None,
        error: float = 0.0,
    ) -> None:
        super().__init__("fast", insecure_rng)
        self.eps = rational(eps, "eps")
        if self.eps < 0:
            raise MechanismError(f"eps is {abbreviated(eps)}; it must be ≥ 0")
        self.shape = shape
        self._distances = distances
        self._rows: OrderedDict[int, FloatArray] = OrderedDict()
        self._most = max(16, CACHE // (8 * shape[1]))
        # Each weight is within 2^-50 of its value, each of the m additions adds at most 2^-53, the quotient
        # and the word as a float 2^-51: doubled, for good measure.
        self.margin = 2 * (shape[1] + 64) * 2.0**-52 + 4 * float(self.eps) * error
        self._rough = rough

    @property
    def parameters(self) -> dict[str, Any]:
        return {"eps": str(self.eps), "inputs": self.shape[0], "outputs": self.shape[1]}

    def draw(self, inputs: Any) -> IntArray:
        """Column positions for row positions."""
        rows = integers(inputs, 0, self.shape[0] - 1)
        lanes = self.source.reserve(len(rows))
        words = self.source.words(0, lanes)
        out = np.empty(len(rows), dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        self._prepare(np.unique(rows))
        for part in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1) if len(rows) else []:
            out[part] = self._of_row(int(rows[part[0]]), words[part], part + lanes.start)
        return out

    def _prepare(self, rows: IntArray) -> None:
        """Make the rows that are not there yet, many at once, as far as there is room for them."""
        if self._rough is None:
            return
        new = np.array([row for row in rows.tolist() if row not in self._rows][: self._most], dtype=np.int64)
        for start in range(0, len(new), BATCH):
            part = new[start : start + BATCH]
            for row, lengths in zip(part.tolist(), self._rough(part), strict=True):
                self._keep(row, lengths)

    def _keep(self, row: int, distances: FloatArray) -> FloatArray:
        weights = np.exp(-float(self.eps) * (distances - distances.min()))
        sums = np.cumsum(weights)
        found = np.asarray((sums / sums[-1])[:-1])
        if len(self._rows) >= self._most:
            self._rows.popitem(last=False)
        self._rows[row] = found
        return found

    def _of_row(self, row: int, words: WordArray, lanes: IntArray) -> IntArray:
        bounds = self._cumulative(row)
        at = words.astype(np.float64) * WORD
        low = np.searchsorted(bounds, at - self.margin, side="right")
        high = np.searchsorted(bounds, at + self.margin, side="right")
        for i in np.flatnonzero(low != high).tolist():
            exact = _ExactRow(self._distances(row), self.eps)
            low[i] = resolved(int(words[i]), 64, exact.resolve, self.source, 1, int(lanes[i]))
        return low

    def _cumulative(self, row: int) -> FloatArray:
        found = self._rows.get(row)
        if found is None:
            return self._keep(row, self._distances(row))
        self._rows.move_to_end(row)
        return found


class _ExactRow:
    """One row with integers: its cumulative probabilities enclosed at any number of bits."""

    def __init__(self, distances: FloatArray, eps: Fraction) -> None:
        exact = [Fraction(value) for value in distances.tolist()]
        least = min(exact)
        self._exponents = [eps * (value - least) for value in exact]
        self._sums: dict[int, list[Enclosure]] = {}

    def _at(self, bits: int) -> list[Enclosure]:
        if bits not in self._sums:
            weights = [exp_neg(x.numerator, x.denominator, bits) for x in self._exponents]
            lows = accumulate(low for low, _ in weights)
            self._sums[bits] = list(zip(lows, accumulate(high for _, high in weights), strict=True))
        return self._sums[bits]

    def resolve(self, prefix: int, bits: int) -> int | None:
        """The column of a uniform number in [prefix, prefix + 1)/2^bits, or None while it is undecided."""
        columns = len(self._exponents)
        sums = self._at(bits + 8 + columns.bit_length())
        low, high = -1, columns - 1  # U is beyond the boundary of low for sure, not for sure beyond high's
        while high - low > 1:
            middle = (low + high) // 2
            if prefix >= quotient(sums[middle], sums[-1], bits)[1]:
                low = middle
            else:
                high = middle
        if high == columns - 1 or prefix + 1 <= quotient(sums[high], sums[-1], bits)[0]:
            return high
        return None
