"""Inside `_laplace`: proofs by finite checks, against ball arithmetic."""

from fractions import Fraction as F

import flint
import numpy as np
import pytest

from sievert.sampling import Ratio, ReplayedBits
from sievert.sampling._laplace import LazyTable, digit_table, geometric_table, laplace_table, sign_table
from tests.sampling.words import LEVELS, Below, arb, check_first_words, check_floors

pytestmark = pytest.mark.usefixtures("precise")


def power(level: Ratio, exponent: int) -> flint.arb:
    if level.eps is not None:
        return (-arb(level.eps) * exponent).exp()
    assert level.alpha is not None
    return arb(level.alpha) ** exponent


def laplace_below(level: Ratio) -> Below:
    """P(Z ≤ z)."""
    one = 1 + power(level, 1)
    return lambda z: power(level, -z) / one if z < 0 else 1 - power(level, z + 1) / one


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_laplace_words_and_floors(level: Ratio) -> None:
    table, below = laplace_table(level), laplace_below(level)
    assert check_first_words(table, 16, below) == 0
    assert check_first_words(table, 8, below) == 0
    assert check_floors(table, below) == 0
    # Both tails are infinite: the first and the last word must stay undecided.
    assert table.floors[0] == 0
    assert table.floors[-1] == 2**64 - 2


@pytest.mark.parametrize("level", [Ratio(eps=F(1, 10_000)), Ratio(alpha=F(9999, 10_000))], ids=str)
def test_digits(level: Ratio) -> None:
    low, rest = digit_table(level, 256), level.raised(256)
    whole = 1 - power(level, 256)
    below: Below = lambda d: (1 - power(level, d + 1)) / whole if d < 255 else flint.arb(1)  # noqa: E731
    assert check_first_words(low, 16, below) == 0
    assert check_floors(low, below) == 0
    top = geometric_table(rest)
    tail: Below = lambda g: 1 - power(level, 256 * (g + 1))  # noqa: E731
    assert check_floors(top, tail) == 0
    assert top.floors[0] == 0
    sign = sign_table(level)
    chance = power(level, 1) / (1 + power(level, 1))
    assert sign.floors[0] <= chance * flint.arb(2) ** 64 <= sign.floors[0] + 1


@pytest.mark.parametrize("level", LEVELS[:5] + LEVELS[-3:], ids=str)
def test_short_strings(level: Ratio) -> None:
    """Of the 2^10 strings of ten bits, an outcome of probability p gets between 2^10·p - 2 and 2^10·p."""
    table, below = laplace_table(level), laplace_below(level)
    outcomes = [table.resolve(string, 10) for string in range(2**10)]
    for z in range(-20, 21):
        count, mass = outcomes.count(z), (below(z) - below(z - 1)) * 2**10
        # A ball cannot prove the equality that holds at a dyadic boundary; nothing may be disproved.
        assert not count > mass
        assert not mass > count + 2


def test_every_length_of_string_converges() -> None:
    """The probability tree to depth 14, with fractions: the decided mass of each outcome (7.11, test 1)."""
    table = laplace_table(Ratio(alpha=F(1, 2)))
    law = {z: F(1, 3) * F(1, 2) ** abs(z) for z in range(-6, 7)}
    pending, decided = [0], dict.fromkeys(law, F(0))
    for depth in range(1, 15):
        longer = [2 * prefix + bit for prefix in pending for bit in (0, 1)]
        pending = []
        for prefix in longer:
            outcome = table.resolve(prefix, depth)
            if outcome is None:
                pending.append(prefix)
            elif outcome in law:
                decided[outcome] += F(1, 2**depth)
        undecided = F(len(pending), 2**depth)
        assert all(decided[z] <= law[z] <= decided[z] + undecided for z in law)
    assert undecided < F(1, 400)


@pytest.mark.parametrize("level", [LEVELS[2], LEVELS[3], LEVELS[7]], ids=str)
def test_forced_escalation(level: Ratio) -> None:
    """Feed each floor as the 64-bit word: more bits are read, and they decide rightly."""
    table, below = laplace_table(level), laplace_below(level)
    for c in table.floors.tolist():
        for more in (0x0123456789ABCDEF, 0xFEDCBA9876543210):
            out = table.draw(range(1), ReplayedBits([c, more, 5, 5, 5]), "fixed")
            u = (flint.arb(c) * 2**64 + more) / flint.arb(2) ** 128
            assert below(int(out[0]) - 1) <= u <= below(int(out[0]))


@pytest.mark.parametrize("level", LEVELS[:4], ids=str)
def test_fast_and_fixed_agree_on_common_bits(level: Ratio) -> None:
    table = laplace_table(level)
    dtype, _ = table.first_word()
    bits = 8 * dtype.itemsize
    rng = np.random.default_rng(1)
    near = (table.floors[:, None] + np.arange(3).astype(np.uint64)).ravel()  # next to boundaries
    words = np.concatenate([rng.integers(0, 2**64, 200, dtype=np.uint64), rng.choice(near, 200)])
    for word in words.tolist():
        first, rest = word >> (64 - bits), (word << bits) % 2**64
        fast = table.draw(range(1), ReplayedBits([first, rest, 1, 1, 1]), "fast")
        fixed = table.draw(range(1), ReplayedBits([word, 1, 1, 1, 1]), "fixed")
        assert fast[0] == fixed[0]


class TestMutants:
    """A sampler broken on purpose, and the check that sees it."""

    level = Ratio(eps=F(1))

    def test_undecided_words_answered(self) -> None:
        table = laplace_table(self.level)
        broken = LazyTable(table.floors, table.values, table.resolve)
        answered = np.repeat(
            table.values, np.diff(np.concatenate([[0], (table.floors >> np.uint64(48)).astype(int), [2**16]]))
        )
        broken.outcomes = lambda bits: answered  # type: ignore[method-assign]
        assert check_first_words(broken, 16, laplace_below(self.level)) >= 20

    @pytest.mark.parametrize("shift", [1, 2**52])
    def test_a_moved_floor(self, shift: int) -> None:
        table = laplace_table(self.level)
        floors = table.floors.copy()
        floors[len(floors) // 2 - 2] += np.uint64(shift)
        broken = LazyTable(floors, table.values, table.resolve)
        assert check_floors(broken, laplace_below(self.level)) == 1
        assert (check_first_words(broken, 16, laplace_below(self.level)) > 0) == (shift == 2**52)

    def test_a_dropped_tail(self) -> None:
        table = laplace_table(self.level)
        broken = LazyTable(table.floors[1:-1], table.values[1:-1], table.resolve)
        assert check_floors(broken, laplace_below(self.level)) == 0  # invisible to this check …
        assert broken.floors[0] != 0  # … but not to this one
        assert broken.draw(range(1), ReplayedBits([0, 0]), "fast")[0] == table.values[1]

    def test_a_closed_comparison(self) -> None:
        """≤ for < in the resolution of longer prefixes."""
        table = laplace_table(self.level)

        def resolve(prefix: int, bits: int) -> int | None:
            found = table.resolve(prefix, bits)
            return table.resolve(prefix - 1, bits) if found is None and prefix else found

        outcomes = [resolve(string, 10) for string in range(2**10)]
        below = laplace_below(self.level)
        masses = [(below(z) - below(z - 1)) * 2**10 for z in range(-3, 4)]
        assert any(not outcomes.count(z) <= mass for z, mass in zip(range(-3, 4), masses, strict=True))
