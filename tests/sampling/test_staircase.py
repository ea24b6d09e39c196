"""The staircase sampler: every boundary against balls, both ways of drawing, and its law by chi-square."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sievert import sampling
from sievert.errors import MechanismError

Fits = Callable[[Any, Any], bool]
SIZE = 200_000


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
    assert np.abs(drawn).max() <= 2**62
    assert abs(float(np.sign(drawn).mean())) < 0.05


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
