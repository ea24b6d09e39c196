"""Inside `_response`: proofs by finite checks, against ball arithmetic."""

from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest

from sievert.sampling import BitSource, Ratio, ratio
from sievert.sampling._response import Spread
from sievert.sampling._response import _table as response_table
from tests.sampling.words import Below, arb, check_first_words, check_floors

pytestmark = pytest.mark.usefixtures("precise")


@pytest.mark.parametrize(("n", "eps"), [(100, F(1)), (100, F(5)), (7, F(1, 10)), (3, F(40))])
def test_response_words_and_floors(n: int, eps: F) -> None:
    table = response_table(n, ratio(eps, None))
    spread = arb(eps).exp() + n - 1
    below: Below = lambda d: (flint.arb(d + 1) / spread) if d < n else flint.arb(1)  # noqa: E731
    assert check_first_words(table, 16, below) == 0
    assert check_floors(table, below) == 0


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


@pytest.mark.parametrize("more", [0, 2**64 - 1])
@pytest.mark.parametrize(("timing", "bits"), [("fast", 32), ("fixed", 64)])
@pytest.mark.parametrize(
    ("n", "level"),
    [
        (10_000, Ratio(eps=F(1))),
        (3000, Ratio(alpha=F(2, 7))),
        (1500, Ratio(alpha=F(1))),
        (2000, Ratio(eps=F(12))),
    ],
)
def test_multiplication_around_every_boundary(
    n: int, level: Ratio, timing: Any, bits: int, more: int
) -> None:
    """⌊U·S⌋ for the 7 words around each j/S, whether they are decided at once or by more bits."""
    spread = Spread(n, level)
    size = (arb(level.eps).exp() if level.eps is not None else 1 / arb(level.alpha)) + n - 1  # type: ignore[arg-type]
    boundaries = np.unique(np.linspace(1, n, 250).astype(int))
    words = []
    for j in boundaries.tolist():
        centre = int((flint.arb(j) / size * flint.arb(2) ** bits).mid().floor().unique_fmpz())
        words += [w for w in range(centre - 3, centre + 4) if w < 2**bits]
    source = Extended(np.array(words, dtype=np.uint64), more)
    found = spread.draw(range(len(words)), source, timing)
    assert source.escalated
    for word, drawn in zip(words, found.tolist(), strict=True):
        u = (flint.arb(word) * flint.arb(2) ** 128 + (more << 64 | more)) / flint.arb(2) ** (bits + 128)
        product = u * size
        value = min(drawn, n)
        assert not product < value
        assert value == n or not product >= value + 1


def test_a_margin_that_is_missing_is_noticed() -> None:
    """The mutant of the test above: answering every word at once is wrong for thousands of them."""
    spread = Spread(10_000, ratio(1, None))
    size = arb(1).exp() + 9999
    wrong = 0
    for j in range(1, 2000):
        word = int((flint.arb(j) / size * flint.arb(2) ** 32).mid().floor().unique_fmpz())
        answered = word * (spread.low >> (spread.shift - 17)) >> 49
        wrong += bool(answered < j) and bool(flint.arb(word + 1) / flint.arb(2) ** 32 * size > j)
    assert wrong > 1000
