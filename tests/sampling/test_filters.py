"""The vectorised shortcuts decide only what is certain: words next to every threshold, against balls."""

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest

from sievert import sampling
from sievert.sampling import BitSource, Ratio, ratio, rational_rows
from sievert.sampling._bernoulli import WIDEST, accepted, fixed_point
from sievert.sampling._lazy import Enclosure
from sievert.sampling._response import Spread

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


def arb(value: F | int) -> flint.arb:
    return flint.arb(flint.fmpq(F(value).numerator, F(value).denominator))


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

    def exact(lane: int, bits: int) -> Enclosure:
        scaled = rates[lane] * 2**bits
        return int(scaled // 1), int(-(-scaled // 1))

    source = Extended(np.array(words, dtype=np.uint64), more)
    taken = accepted(low, narrow, exact, range(len(words)), source, 0)
    for word, g, yes in zip(words, rates, taken.tolist(), strict=True):
        u = (flint.arb(word) * flint.arb(2) ** 128 + (more << 64 | more)) / flint.arb(2) ** 160
        assert not (u >= (-arb(g)).exp() if yes else u < (-arb(g)).exp())
    # The bracket is 23 words wide: hardly anything beyond it asked for more.
    assert len(set(source.escalated)) < 0.5 * len(words)


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


@pytest.mark.parametrize("eps", [F(1), F(1, 10), F(3), F(7, 5)])
def test_planar_brackets(eps: F) -> None:
    """The bracket of ε·√(i²+j²) - e1·(|i|+|j|), floats against balls and against the exact path."""
    from sievert.sampling._lattice import PlanarGeometric

    sampler = PlanarGeometric(eps)
    assert 2 * sampler.proposal**2 <= eps**2
    rng = np.random.default_rng(5)
    points = np.concatenate(
        [[[0, 0], [1, 0], [3, 4], [10**6, 1], [2**30, 2**30]], rng.integers(-300, 300, (500, 2))]
    )
    i, j = points.T
    seen: list[tuple[Any, ...]] = []

    def keep(low: Any, narrow: Any, exact: Callable[[int, int], Enclosure], *rest: Any) -> Any:
        seen.append((low, narrow, exact))
        return np.zeros(len(low), dtype=bool)

    class Fixed:
        def draw(self, lanes: range, source: Any, timing: Any, component: int = 0) -> Any:
            return j if component else i

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sievert.sampling._lattice.accepted", keep)
        patch.setattr("sievert.sampling._lattice.laplace_noise", lambda level: Fixed())
        sampler._proposals(len(points))
    low, narrow, exact = seen[0]
    for lane, (a, b) in enumerate(points.tolist()):
        g = arb(eps) * (flint.arb(a) ** 2 + flint.arb(b) ** 2).sqrt() - arb(sampler.proposal) * (
            abs(a) + abs(b)
        )
        least, most = exact(lane, 100)
        assert not g * flint.arb(2) ** 100 < least
        assert not g * flint.arb(2) ** 100 > most
        assert most - least <= 4
        if narrow[lane] and g < 2**20:
            assert not g * flint.arb(2) ** 40 < int(low[lane])
            assert not g * flint.arb(2) ** 40 > int(low[lane]) + WIDEST


def test_pixels_at_an_edge() -> None:
    """Pixels of lanes that need further digits are those of the real number they approach."""
    sampler = sampling.pixelated_laplace(2, 1, denominator=2, timing="fast")
    # x = 1/2 lies on the edge of the pixels: only digits 0 leave it open, and the sign decides.
    for right in (0, 1):
        found = sampler._refined(F(1, 2), 0, 20, bool(right), 0)
        assert found == right
