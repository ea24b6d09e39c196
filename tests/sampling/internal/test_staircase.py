"""Inside `_staircase`: the staircase sampler."""

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest

from sievert import sampling
from sievert.channels import StaircaseLaw
from sievert.sampling import ReplayedBits, SeededBits
from sievert.sampling._staircase import _sides, _table, by_parts

Fits = Callable[[Any, Any], bool]
LAWS = [
    StaircaseLaw(F(3), 3),
    StaircaseLaw(F(1), 1),
    StaircaseLaw(F(1, 2), 8, 3),
    StaircaseLaw(F(7, 5), 5, 5),
    StaircaseLaw(F(20), 4, 2),
    StaircaseLaw(F(100), 2, 1),
]
SIZE = 200_000


def arb(value: F | int) -> flint.arb:
    return flint.arb(flint.fmpq(F(value).numerator, F(value).denominator))


def below(law: StaircaseLaw) -> Callable[[int], flint.arb]:
    """P(Z ≤ z), added up weight by weight, the far end by the geometric series of whole stairs."""
    ratio = (-arb(law.eps)).exp()

    def weight(z: int) -> flint.arb:
        return ratio ** ((abs(z) + law.sensitivity - law.top) // law.sensitivity)

    def upper(m: int) -> flint.arb:
        """Σ_{z ≥ m}, m ≥ 1: what is left of its stair, then whole stairs."""
        total, z = flint.arb(0), m
        while (z - law.top) % law.sensitivity:
            total += weight(z)
            z += 1
        return total + law.sensitivity * weight(z) / (1 - ratio)

    whole = 1 + 2 * upper(1)
    return lambda z: upper(-z) / whole if z < 0 else 1 - upper(z + 1) / whole


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_every_floor_and_every_first_word(law: StaircaseLaw) -> None:
    table, chance = _table(law), below(law)
    scale = flint.arb(2) ** 64
    for c, value in zip(table.floors.tolist(), table.values[:-1].tolist(), strict=True):
        assert c <= chance(value) * scale <= c + 2
    assert table.floors[0] == 0 and table.floors[-1] == 2**64 - 2
    outcomes = [table.resolve(word, 10) for word in range(2**10)]
    for value in range(-20, 21):
        count, mass = outcomes.count(value), (chance(value) - chance(value - 1)) * 2**10
        assert not count > mass
        assert not mass > count + 2


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_word_on_a_boundary_reads_more(law: StaircaseLaw) -> None:
    table, chance = _table(law), below(law)
    for c in table.floors.tolist()[:: max(1, len(table.floors) // 12)]:
        for more in (0x0123456789ABCDEF, 0xFEDCBA9876543210):
            out = int(table.draw(range(1), ReplayedBits([c, more, 5, 5, 5]), "fixed")[0])
            u = (flint.arb(c) * 2**64 + more) / flint.arb(2) ** 128
            assert chance(out - 1) <= u <= chance(out)


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("law", [*LAWS, StaircaseLaw(F(1, 1000), 150_000)], ids=str)
def test_the_side_of_a_long_staircase(law: StaircaseLaw) -> None:
    """Beyond the top with Δ·b/(2r - 1 + b·(2Δ - 2r + 1)), on either side."""
    ratio = (-arb(law.eps)).exp()
    width, top = law.sensitivity, law.top
    chance = width * ratio / (2 * top - 1 + ratio * (2 * width - 2 * top + 1))
    low, high = _sides(law).floors.tolist()
    assert low <= chance * flint.arb(2) ** 64 <= low + 2
    assert high <= (1 - chance) * flint.arb(2) ** 64 <= high + 2


@pytest.mark.parametrize("timing", ["fixed", "fast"])
@pytest.mark.parametrize("law", [*LAWS[:4], StaircaseLaw(F(1, 300), 1), StaircaseLaw(F(2), 400)], ids=str)
def test_both_ways_have_the_law(law: StaircaseLaw, timing: Any, fits: Fits) -> None:
    reach = law.radius(0.999)
    z = np.arange(-reach, reach + 1)
    chances = np.exp(law.log_pmf(z.astype(float)))
    for drawn in (
        sampling.StaircaseSampler(law, timing, 11).noise(SIZE),
        by_parts(law, range(SIZE), SeededBits(12), timing),
    ):
        inside = drawn[np.abs(drawn) <= reach]
        counts = np.append(np.bincount(inside + reach, minlength=len(z)), SIZE - len(inside))
        assert fits(counts, np.append(chances, 1 - chances.sum()))
