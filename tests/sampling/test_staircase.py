"""The staircase sampler: every boundary against balls, both ways of drawing, and its law by chi-square."""

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest

from sievert import sampling
from sievert.channels import GaussianLaw, StaircaseLaw
from sievert.errors import MechanismError
from sievert.sampling import ReplayedBits, SeededBits
from sievert.sampling._base import FURTHEST
from sievert.sampling._for_channel import ClampedNoise, law_sampler
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
        sampling.Staircase(law, timing, 11).noise(SIZE),
        by_parts(law, range(SIZE), SeededBits(12), timing),
    ):
        inside = drawn[np.abs(drawn) <= reach]
        counts = np.append(np.bincount(inside + reach, minlength=len(z)), SIZE - len(inside))
        assert fits(counts, np.append(chances, 1 - chances.sum()))


def test_stairs_of_a_sum_over_many_values(fits: Fits) -> None:
    """Δ = 150,000: stairs, and the places on them, each as likely as the law says."""
    sampler = sampling.staircase(1, 150_000, insecure_rng=5)
    law = sampler.law
    drawn = sampler.noise(SIZE)
    edges = np.array([0, *(law.top + k * law.sensitivity for k in range(6))], dtype=float)
    tails = np.append(2 * np.exp(law.log_upper(edges[1:])), 0.0)
    counts = np.histogram(np.abs(drawn), [*edges, np.inf])[0]
    assert fits(counts, np.concatenate([[1 - tails[0]], -np.diff(tails)]))
    place = (np.abs(drawn[np.abs(drawn) >= law.top]) - law.top) % law.sensitivity
    assert fits(np.histogram(place, 50, (0, law.sensitivity))[0], np.full(50, 1 / 50))
    assert sampler.variance == pytest.approx(law.deviation**2)


def test_fixed_work_reads_the_same_bits_whatever_comes_out() -> None:
    for eps, width in ((3, 3), (1, 150_000)):
        sampler = sampling.staircase(eps, width, insecure_rng=1)
        sampler.noise(1)
        once = sampler.source.used
        sampler.noise(1000)
        assert sampler.source.used == 1001 * once


def test_what_lies_far_out_is_clipped_not_wrapped() -> None:
    """Stairs of 2^38 at a tiny ε: no output leaves the integers that are released."""
    sampler = sampling.staircase("1/4096", 2**38, insecure_rng=3)
    drawn = sampler.noise(20_000)
    assert np.abs(drawn).max() <= FURTHEST
    assert abs(float(np.sign(drawn).mean())) < 0.05


def test_clamped_noise_of_any_law() -> None:
    for law in (StaircaseLaw(F(1), 4), GaussianLaw(F(3, 2))):
        sampler = law_sampler(law, (0, 3), "fixed", SeededBits(4))
        assert isinstance(sampler, ClampedNoise)
        drawn = sampler.draw(np.full(SIZE, 1))
        assert set(np.unique(drawn)) == {0, 1, 2, 3}
        low = float(np.exp(law.log_upper(np.array([1.0]))[0]))
        assert abs((drawn == 0).mean() - low) < 6 * np.sqrt(low / SIZE)
        assert sampler.parameters["low"] == 0 and sampler.secure is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3), "eps is 0; staircase noise on all integers needs an eps above 0"),
        ((-1, 3), "eps is -1"),
        (("x", 3), "eps is 'x'; it must be a finite number"),
        ((1, 0), "sensitivity is 0; it must be a whole number from 1 to"),
        ((1, 2.5), "sensitivity is 2.5"),
        ((1, 2**39), "sensitivity is 549755813888"),
        (("1/100000000", 2**38), "too wide for 64-bit integers"),
    ],
)
def test_bad_input(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        sampling.staircase(*arguments)
    with pytest.raises(MechanismError, match="top is 4; it must be a whole number from 1 to 3"):
        sampling.staircase(1, 3, top=4)
