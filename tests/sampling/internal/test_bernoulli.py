"""Inside `_bernoulli`: the vectorised shortcuts decide only what is certain."""

from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest

from sievert.sampling import BitSource
from sievert.sampling._bernoulli import accepted, fixed_point

pytestmark = pytest.mark.usefixtures("precise")

# How far, in units of 2^-40, an exponent may lie above what is read off floats.
WIDEST = 2**8


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


def arb(value: F | int) -> flint.arb:
    return flint.arb(flint.fmpq(F(value).numerator, F(value).denominator))


@pytest.mark.parametrize("more", [0, 2**64 - 1])
def test_acceptance_next_to_the_threshold(more: int) -> None:
    """Bernoulli(e^-g) for words within 40 of 2^32·e^-g, g = 0 and whole steps of the tables included."""
    rng = np.random.default_rng(4)
    exponents = [F(0), F(1, 4), F(3), F(1, 2**14), F(4095, 2**14), F(40), F(10**7)]
    exponents += [F(a, b) for a, b in rng.integers([1, 10**5], 10**6, (300, 2)).tolist()]
    words, rates = [], []
    for g in exponents:
        centre = int(((-arb(g)).exp() * flint.arb(2) ** 32).mid().floor().unique_fmpz())
        for offset in range(-40, 41, 3):
            if 0 <= centre + offset < 2**32:
                words.append(centre + offset)
                rates.append(g)
    floats = np.array([float(g) for g in rates])
    low, narrow = fixed_point(floats, floats * 2.0**-52)
    assert ((low.astype(object) <= [g * 2**40 for g in rates]) | (floats > 2**20)).all()
    assert all(
        g * 2**40 <= start + WIDEST
        for g, start, ok in zip(rates, low.tolist(), narrow, strict=True)
        if ok and g < 2**20
    )

    def exact(lane: int, bits: int) -> tuple[int, int]:
        scaled = rates[lane] * 2**bits
        return int(scaled // 1), int(-(-scaled // 1))

    source = Extended(np.array(words, dtype=np.uint64), more)
    taken = accepted(low, narrow, exact, range(len(words)), source, 0)
    for word, g, yes in zip(words, rates, taken.tolist(), strict=True):
        u = (flint.arb(word) * flint.arb(2) ** 128 + (more << 64 | more)) / flint.arb(2) ** 160
        assert not (u >= (-arb(g)).exp() if yes else u < (-arb(g)).exp())
    # The bracket is 23 words wide: hardly anything beyond it asked for more.
    assert len(set(source.escalated)) < 0.5 * len(words)
