"""Curves, rates and breaches about one record behind noise, against the listed channel of the record."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.channels import GaussianLaw
from sievert.errors import GainError
from sievert.observations import (
    breach_curve,
    chernoff_information,
    observations_until,
    record_breach_curve,
    record_breach_until,
    record_rates,
    record_success,
    record_until,
    success_curve,
)
from tests.observations.test_record_views import geometric, line, table

# A count that two of three values raise by one, listed: noise beyond 0 and 1 tells nothing more.
COUNT = sv.mechanisms.truncated_geometric(2, eps=0.5)
LISTED = sv.Channel([COUNT.matrix[0], COUNT.matrix[1], COUNT.matrix[1]])
BELIEF = [0.5, 0.3, 0.2]


def test_success_against_types() -> None:
    found = record_success(line([0, 1, 1], 0.5, BELIEF), 30)
    expected = success_curve(LISTED, BELIEF, 30)
    assert found.values == pytest.approx(expected.values, rel=1e-11)
    assert found.points[0].limit == pytest.approx(0.8) and found.points[0].before == 0.5
    assert all(point.exact for point in found.points)
    bits = [point.missing_bits for point in found.points]
    assert bits == pytest.approx([point.missing_bits for point in expected.points], rel=1e-6)


def test_missing_bits_go_on_where_rounding_ends() -> None:
    point = record_success(table(4, 2.0), [10_000]).points[0]
    assert point.value == pytest.approx(1.0)
    assert point.missing_bits > 1000


def test_releases_until() -> None:
    view = line([0, 1, 1], 0.5, BELIEF)
    for target in (0.5, 0.6, 0.75, 0.79):
        found, expected = record_until(view, [target])[0], observations_until(LISTED, target, BELIEF)
        assert (found.least, found.most) == (expected.least, expected.most)
    assert record_until(view, [0.9])[0].most is None
    with pytest.raises(GainError, match="success is 0"):
        record_until(view, [0])


def test_releases_until_of_a_long_sum_are_enclosed() -> None:
    found = record_until(line(range(40), 0.2), [0.3], rng=1)[0]
    assert found.least is not None and found.most is not None
    assert found.least <= found.most
    assert not found.method.startswith("exact")


@pytest.mark.parametrize("amounts", [[0, 1], [0, 3], [0, 2, 5]])
def test_rates_of_a_sum_by_chernoff(amounts: list[int]) -> None:
    for law in (geometric(0.7), GaussianLaw(Fraction(2))):
        view = line(amounts, law)
        noise = np.arange(-120.0, 121.0)
        rows = [np.exp(law.log_pmf(noise - amount)) for amount in amounts]
        pairs = {
            (i, j): chernoff_information(rows[i] / rows[i].sum(), rows[j] / rows[j].sum())
            for i in range(len(amounts))
            for j in range(i)
        }
        found = record_rates(view)
        assert found.average.bits == pytest.approx(max(pairs.values()), rel=1e-9)
        assert found.utility.bits == pytest.approx(min(pairs.values()), rel=1e-9)
    assert record_rates(line([0, 4], GaussianLaw(Fraction(2)))).worst.bits == math.inf


def test_rates_of_a_table() -> None:
    found = record_rates(table([0, 1, 1, None], 0.5), ["a", "b", "c", "absent"])
    assert found.average.nats == pytest.approx(0.0618596072, abs=5e-11)
    assert found.average.pair == ("a", "b")
    assert found.utility.nats == pytest.approx(0.0618596072 / 2, abs=5e-11)
    assert found.utility.pair is not None and "absent" in found.utility.pair
    assert found.worst.nats == pytest.approx(1.0)
    assert found.classes == (("b", "c"),)
    assert record_rates(table([0, 0], 0.5)).worst.bits == 0


def test_the_chernoff_point_is_one_half() -> None:
    """-min_s ln M(s)·M(1-s) for two cells, searched: the shift goes one way in one and back in the other."""
    law = geometric(0.5)
    noise = np.arange(-200.0, 201.0)
    there, nobody = law.log_pmf(noise - 1), law.log_pmf(noise)

    def moment(s: float) -> float:
        return float(np.exp(s * there + (1 - s) * nobody).sum())

    searched = max(-math.log(moment(s) * moment(1 - s)) for s in np.linspace(0, 1, 201))
    assert table(2, 0.5).rate == pytest.approx(searched, rel=1e-12)


def test_breaches_against_types() -> None:
    """Simulated shares, whose intervals miss with probability 0.1 % at most, around the exact curve."""
    view = line([0, 1, 1], 0.5, BELIEF)
    found = record_breach_curve(view, [0], 0.5, 20, rng=3)
    exact = breach_curve(LISTED, BELIEF, [0], 0.5, 20)
    assert found.before == exact.before and found.reachable
    for row, curve in enumerate((exact.at, exact.by)):
        assert (found.lower[row] <= curve + 1e-12).all() and (curve <= found.upper[row] + 1e-12).all()
    assert found.rate_bits == pytest.approx(exact.rate_bits, rel=1e-9)
    assert found.exact_until == 0


def test_breaches_of_a_table() -> None:
    """Two cells of equal belief: belief in one is above 3/4 iff B_0 - B_1 is large enough, n = 4."""
    view = table(2, 0.5)
    level = math.log2(1.5)
    found = record_breach_curve(view, [0], level, 4, rng=5)
    alpha = math.exp(-0.5)
    chance = 0.0
    for mine in range(5):
        for other in range(5):
            if 1 / (1 + alpha ** (2 * (mine - other))) > 0.75:
                there, nobody = 1 / (1 + alpha), alpha / (1 + alpha)
                chance += (
                    math.comb(4, mine)
                    * there**mine
                    * (1 - there) ** (4 - mine)
                    * math.comb(4, other)
                    * nobody**other
                    * (1 - nobody) ** (4 - other)
                )
    assert found.lower[0, 3] <= chance <= found.upper[0, 3]
    assert (np.diff(found.by) >= 0).all()
    impossible = record_breach_curve(table([0, 0], 0.5), [0], 0.1, 5)
    assert not impossible.reachable and impossible.by[-1] == 0


def test_releases_until_a_breach() -> None:
    found = record_breach_until(table(3, 1.0), 0.5, [1], level=0.9, rng=1)
    assert found.least is not None and found.most is not None and found.least <= found.most
    curve = record_breach_curve(table(3, 1.0), [1], 0.9, 32, rng=1)
    assert curve.by[found.most - 1] >= 0.45


def test_breaches_of_a_large_table() -> None:
    size = 200_000
    view = table(size, 1.0)
    found = record_breach_curve(view, [7], 5.0, 30, rng=1)
    assert found.reachable and (np.diff(found.by) >= 0).all()
    assert found.by[-1] > 0.5


def test_the_rate_of_a_breach_is_that_of_the_hardest_pair() -> None:
    view = line([0, 3, 5, 9], 0.5)
    found = record_breach_curve(view, [0, 2], 0.5, 1, rng=1)
    assert found.rate_bits == pytest.approx(-view.affinity(1, 2) / math.log(2), rel=1e-12)
    absent = table([0, 1, 2, None], 0.5)
    assert record_breach_curve(absent, [1], 1.0, 1, rng=1).rate_bits == pytest.approx(
        -absent.affinity(1, 3) / math.log(2), rel=1e-12
    )
