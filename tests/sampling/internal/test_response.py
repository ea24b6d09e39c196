"""Inside `_response`: proofs by finite checks, against ball arithmetic."""

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest

from sievert.sampling import BitSource, Ratio, ratio
from sievert.sampling._response import Spread
from sievert.sampling._response import _table as response_table

pytestmark = pytest.mark.usefixtures("precise")


# What a table answers where a word alone does not decide.
UNDECIDED = np.iinfo(np.int64).min


Below = Callable[[int], flint.arb]


LEVELS = [
    *(Ratio(eps=F(eps)) for eps in ("1/100", "1/10", "1", "5", "7/5", "20", "100")),
    *(Ratio(alpha=F(alpha)) for alpha in ("1/2", "1/3", "99/100")),
]


def arb(value: F | int) -> flint.arb:
    return flint.arb(flint.fmpq(F(value).numerator, F(value).denominator))


def check_first_words(table: Any, bits: int, below: Below) -> int:
    """How many words are answered although their cell does not lie inside the outcome's interval."""
    outcomes = table.outcomes(bits)
    wrong = 0
    starts = np.flatnonzero(np.diff(outcomes, prepend=UNDECIDED + 1))
    for start, stop in zip(starts, [*starts[1:], len(outcomes)], strict=True):
        value = int(outcomes[start])
        if value == UNDECIDED:
            continue
        # All words from start to stop - 1 answer the same; their cells make one interval.
        inside = below(value - 1) <= F_(int(start), bits) and F_(int(stop), bits) <= below(value)
        wrong += 0 if inside else int(stop - start)
    return wrong


def F_(numerator: int, bits: int) -> flint.arb:
    return flint.arb(numerator) / flint.arb(2) ** bits


def check_floors(table: Any, below: Below) -> int:
    """How many floors violate c ≤ 2^64·F ≤ c + 2, the words c and c + 1 being undecided."""
    scale = flint.arb(2) ** 64
    wrong = 0
    rising = table.values[-1] > table.values[0]
    for c, value in zip(table.floors.tolist(), table.values[:-1].tolist(), strict=True):
        # Where outcomes fall with the prefix, the boundary after `value` is P(outcome ≥ value).
        scaled = below(value) * scale if rising else (1 - below(value - 1)) * scale
        wrong += not (scaled >= c and scaled <= c + 2)
    return wrong


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
