"""Laws of likelihood ratios, and the largest of many, against listing every release."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.channels import GaussianLaw, NoiseLaw, StaircaseLaw
from sievert.observations import Ratios, ratios_after
from sievert.observations._largest import Weights, expected_largest, expected_top, largest, top
from sievert.observations._ratios import log_affinity
from sievert.observations._sums_of_ratios import Powers, expected_excess, expected_maximum, weighted_sum
from tests.observations.test_record_views import LAWS, geometric


def listed(law: NoiseLaw, steps: int, releases: int) -> dict[float, float]:
    """Every sequence of noise within reach, by the log-ratio that it shows."""
    reach = law.beyond(math.log(1e-9))
    once: dict[float, float] = {}
    for z in range(-reach, reach + steps + 1):
        there, nobody = law.log_pmf(np.array([z - steps, z], float))
        key = round(float(there - nobody), 9)
        once[key] = once.get(key, 0.0) + math.exp(nobody)
    found = {0.0: 1.0}
    for _ in range(releases):
        more: dict[float, float] = {}
        for (a, p), (b, q) in product(found.items(), once.items()):
            key = round(a + b, 7)
            more[key] = more.get(key, 0.0) + p * q
        found = more
    return found


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("releases", [1, 2, 4])
def test_ratios_against_a_list(law: NoiseLaw, steps: int, releases: int) -> None:
    found = ratios_after(law, steps, releases)
    expected = listed(law, steps, releases)
    assert (np.diff(found.logs) > 0).all()
    # Many log-ratios, few sums: compared by the mean of functions of them.
    for power in (0.25, 0.5, 1.0):
        mean = float(np.exp(found.log_pmf + power * found.logs).sum())
        assert mean == pytest.approx(sum(p * math.exp(power * a) for a, p in expected.items()), rel=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
@pytest.mark.parametrize("releases", [1, 3, 50, 1000])
def test_both_laws_are_laws_and_mirror_each_other(law: NoiseLaw, releases: int) -> None:
    found = ratios_after(law, 1, releases)
    assert float(np.exp(found.log_pmf).sum()) == pytest.approx(1.0, rel=1e-11)
    assert float(np.exp(found.log_shown).sum()) == pytest.approx(1.0, rel=1e-11)
    # Noise is symmetric: E ρ^s = E ρ^(1-s).
    low, high = (float(np.exp(found.log_pmf + s * found.logs).sum()) for s in (0.3, 0.7))
    assert low == pytest.approx(high, rel=1e-9)


def test_a_sum_of_gaussians_is_one_from_two_on() -> None:
    """The closed form against convolutions, at σ = 2 where it is used first."""
    from sievert.observations._ratios import _by_convolution

    law = GaussianLaw(Fraction(2))
    for releases in (2, 3, 10):
        closed, added = ratios_after(law, 1, releases), _by_convolution(law, 1, releases)
        place = np.searchsorted(closed.logs, added.logs - 1e-9)
        seen = (added.log_pmf > -30) & (added.log_shown > -30)
        assert closed.log_pmf[place][seen] == pytest.approx(added.log_pmf[seen], abs=1e-11)


def test_affinities() -> None:
    for eps in (1e-7, 0.5, 30.0):
        assert log_affinity(geometric(eps), 1) == pytest.approx(-math.log(math.cosh(eps / 2)), rel=1e-8)
    assert log_affinity(geometric(0.5), 0) == 0.0
    wide = GaussianLaw(Fraction(50))
    assert log_affinity(wide, 3) == pytest.approx(-9 / (8 * 2500), rel=1e-9)
    stairs = StaircaseLaw(Fraction(1), 3)
    assert log_affinity(stairs, 3) < log_affinity(stairs, 1) < 0


ratio_laws = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(1, 5)), min_size=1, max_size=3, unique_by=lambda t: t[0]
)


def law_of(drawn: list[tuple[int, int]]) -> Ratios:
    """Any law with E ρ = 1, as ratios have."""
    drawn = sorted(drawn)
    logs = np.array([a for a, _ in drawn]) * 0.4
    chances = np.array([w for _, w in drawn], float)
    chances /= chances.sum()
    logs -= math.log(float(chances @ np.exp(logs)))
    return Ratios(logs, np.log(chances))


@given(ratio_laws, st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 4), st.integers(1, 5))
def test_the_largest_by_listing(
    drawn: list[tuple[int, int]], weights: list[int], other: int, tries: int
) -> None:
    law = law_of(drawn)
    belief, rest = np.array(weights) / 20, other / 20
    expected, exact = 0.0, 0.0
    for places in product(range(len(law.logs)), repeat=len(weights)):
        chance = math.exp(float(law.log_pmf[list(places)].sum()))
        values = sorted([*(belief * np.exp(law.logs[list(places)])), rest], reverse=True)
        expected += chance * sum(values[:tries])
        exact += chance * values[0]
    groups = Weights.of(belief)
    assert top(law, groups, tries, rest).upper == pytest.approx(expected, rel=1e-11)
    assert largest(law, groups, rest).lower == pytest.approx(exact, rel=1e-11)
    logs = np.log(groups.values)
    assert expected_largest(law, logs, groups.counts, rest) == pytest.approx(exact, rel=1e-11)
    if tries > 1:
        assert expected_top(law, logs, groups.counts, tries, rest) == pytest.approx(expected, rel=1e-11)


@given(
    ratio_laws, st.lists(st.integers(1, 6), min_size=1, max_size=4), st.lists(st.integers(1, 6), max_size=3)
)
def test_sums_by_listing(drawn: list[tuple[int, int]], first: list[int], second: list[int]) -> None:
    law = law_of(drawn)
    signs = np.array(first + [-w for w in second]) / 10
    excess = maximum = 0.0
    for places in product(range(len(law.logs)), repeat=len(signs)):
        chance = math.exp(float(law.log_pmf[list(places)].sum()))
        values = signs * np.exp(law.logs[list(places)])
        excess += chance * max(0.0, float(values.sum()))
        maximum += chance * max(float(values[: len(first)].sum()), -float(values[len(first) :].sum()))
    one = weighted_sum(law, Weights.of(np.array(first) / 10))
    other = weighted_sum(law, Weights.of(np.array(second, float) / 10))
    found = expected_excess(one.plus(other.scaled(-1.0)))
    assert found.lower - 1e-12 <= excess <= found.upper + 1e-12
    assert found.exact
    both = expected_maximum([(one, 1), (other, 1)])
    assert both.lower - 1e-12 <= maximum <= both.upper + 1e-12


def test_coarse_sums_enclose_the_exact_one() -> None:
    """Sums of 64 draws of three values, exactly by convolution on their grid."""
    law = ratios_after(geometric(0.3), 1, 2)
    found = Powers(law).times(64)
    mean = [float(part[0] @ part[1]) for part in (found.lower, found.upper)]
    assert mean == pytest.approx([64.0, 64.0], rel=1e-12)
    # ρ takes three values, so that how often each came is multinomial.
    chances, values = np.exp(law.log_pmf), np.exp(law.logs)
    exact = 0.0
    for a in range(65):
        for b in range(65 - a):
            c = 64 - a - b
            log = math.lgamma(65) - math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(c + 1)
            log += a * math.log(chances[0]) + b * math.log(chances[1]) + c * math.log(chances[2])
            exact += math.exp(log) * max(0.0, a * values[0] + b * values[1] + c * values[2] - 64.0)
    from sievert.observations._sums_of_ratios import SumLaw

    enclosed = expected_excess(found.plus(SumLaw.constant(-64.0)))
    assert enclosed.lower - 1e-12 <= exact <= enclosed.upper + 1e-12
    assert enclosed.upper - enclosed.lower < 1e-3 * exact


def test_rounded_beliefs_keep_their_number_and_nearly_their_sum() -> None:
    weights = Weights.of(np.random.default_rng(1).exponential(size=5000))
    together, apart = weights.averaged(50), weights.spread(50)
    for rounded in (together, apart):
        assert rounded.counts.sum() == weights.counts.sum()
        assert len(rounded.values) <= 101
    assert together.total == pytest.approx(weights.total, rel=1e-12)
    assert weights.total <= apart.total <= weights.total * 1.02


def test_trimmed_laws_lose_nothing_that_counts() -> None:
    law = ratios_after(geometric(0.1), 1, 4000)
    short = law.trimmed()
    assert len(short.logs) < len(law.logs) / 3
    assert float(np.exp(short.log_pmf).sum()) == pytest.approx(1.0, rel=1e-12)
    assert float(np.exp(short.log_shown).sum()) == pytest.approx(1.0, rel=1e-12)
