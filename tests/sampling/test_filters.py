"""The vectorised shortcuts decide only what is certain: words next to every threshold, against balls."""

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from sievert import sampling
from sievert.sampling import BitSource, rational_rows

pytestmark = pytest.mark.usefixtures("precise")


class Extended(BitSource):
    """Given first words; whoever asks for more gets zeros, or ones."""

    name, secure = "test", False

    def __init__(self, words: Any, more: int) -> None:
        super().__init__()
        self._first, self._more = np.asarray(words), more
        self.escalated: list[int] = []

    def _words(self, level: int, lanes: Any, dtype: Any) -> Any:
        if level % 256 == 0:
            return self._first[np.asarray(lanes)].astype(dtype)
        self.escalated += list(lanes)
        return np.full(len(lanes), self._more, dtype=np.uint64).astype(dtype)


def test_rows_escalate_by_their_bits_alone() -> None:
    """In fixed work a boundary of any row makes every row ask for more."""
    sampler = rational_rows([["1/3", "2/3"], ["1/5", "4/5"], [1, 0], [0, 1]])
    tables = sampler._tables
    for c in tables.floors.ravel().tolist():
        for row in range(4):
            source = Extended(np.array([c], dtype=np.uint64), 7)
            tables.draw(np.array([row]), range(1), source, "fixed")
            assert source.escalated


def test_rows_around_every_boundary() -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 50, (6, 9))
    weights[:, 0] += 1
    matrix = [[F(int(w), int(row.sum())) for w in row] for row in weights]
    tables = rational_rows(matrix)._tables
    for row, entries in enumerate(matrix):
        sums = np.cumsum(entries)
        for j in range(8):
            centre = int(sums[j] * 2**64)
            for word in range(max(centre - 3, 0), min(centre + 4, 2**64)):
                for more in (0, 2**64 - 1):
                    source = Extended(np.array([word], dtype=np.uint64), more)
                    found = int(tables.draw(np.array([row]), range(1), source, "fixed")[0])
                    u = F((word << 128) + (more << 64 | more), 2**192)
                    assert entries[found] > 0
                    assert (sums[found - 1] if found else 0) <= u < sums[found]


def test_a_dyadic_boundary_does_not_hang() -> None:
    """λ = 1/3 puts a boundary exactly at 1/4, and 1023/1025 one at 1025/2048 between its digits."""
    for alpha in ("1/3", "1023/1025"):
        assert len(sampling.discrete_laplace(alpha=alpha, insecure_rng=1).noise(100)) == 100


def test_pixels_at_an_edge() -> None:
    """Pixels of lanes that need further digits are those of the real number they approach."""
    sampler = sampling.pixelated_laplace(2, 1, denominator=2, timing="fast")
    # x = 1/2 lies on the edge of the pixels: only digits 0 leave it open, and the sign decides.
    for right in (0, 1):
        found = sampler._refined(F(1, 2), 0, 20, bool(right), 0)
        assert found == right
