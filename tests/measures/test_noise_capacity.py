"""What noise tells about the whole database: worked numbers, brute force over all databases and outputs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sievert as sv
from sievert.channels import (
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    HistogramNoise,
    NoiseLaw,
    ScalarNoise,
    StaircaseLaw,
)
from sievert.measures import noise_capacity


def geometric(eps: float) -> GeometricLaw:
    return GeometricLaw(EpsilonOrAlpha(eps, None))


def histogram(cells: int, records: int, law: NoiseLaw) -> tuple[HistogramNoise, sv.Policy]:
    policy = sv.Policy.differential([f"v{i}" for i in range(cells)], records)
    return HistogramNoise(sv.Query.histogram().statistic(policy), law), policy


def total(values: list[int], records: int, law: NoiseLaw) -> tuple[ScalarNoise, sv.Policy]:
    policy = sv.Policy.differential(values, records)
    return ScalarNoise(sv.Query.sum().statistic(policy), law), policy


def brute_force(answers: np.ndarray, law: NoiseLaw) -> float:
    """Σ over all outputs near the answers of the largest likelihood."""
    reach = law.beyond(math.log(1e-12))
    low, high = answers.min() - reach, answers.max() + reach
    found = 0.0
    for output in product(range(low, high + 1), repeat=answers.shape[1]):
        found += math.exp(float(law.log_pmf(np.array(output, float) - answers).sum(axis=1).max()))
    return found


@pytest.mark.parametrize(
    ("cells", "records", "eps", "factor"),
    [(5, 100, 0.5, 21989.0504), (12, 240, 0.25, 2.85186247e9), (3, 10, 1.0, 18.6093707)],
)
def test_the_worked_tables(cells: int, records: int, eps: float, factor: float) -> None:
    noise, policy = histogram(cells, records, geometric(eps))
    found = noise_capacity(noise, policy)
    assert found.factor == pytest.approx(factor, rel=5e-9)
    assert found.gap == 0


def test_bits_of_the_worked_table() -> None:
    noise, policy = histogram(12, 240, geometric(0.25))
    assert noise_capacity(noise, policy).bits == pytest.approx(31.409257265, abs=5.1e-10)


@pytest.mark.parametrize("absence", [False, True])
def test_tables_by_brute_force(absence: bool) -> None:
    law = geometric(2.0)
    for cells, records in [(2, 3), (3, 2)]:
        noise, policy = histogram(cells, records, law)
        sizes = range(records + 1) if absence else [records]
        answers = np.array([h for h in product(range(records + 1), repeat=cells) if sum(h) in sizes])
        found = noise_capacity(noise, policy, absence)
        assert found.factor == pytest.approx(brute_force(answers, law), rel=1e-8)


LAWS = [geometric(0.7), GaussianLaw(Fraction(2)), StaircaseLaw(Fraction(1), 3)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
@pytest.mark.parametrize(
    ("values", "records"), [([0, 1], 5), ([0, 2, 5], 1), ([0, 2, 5], 9), ([-3, 0, 4], 4), ([0, 7, 10], 30)]
)
def test_sums_by_brute_force(law: NoiseLaw, values: list[int], records: int) -> None:
    noise, policy = total(values, records, law)
    sums = {0}
    for _ in range(records):
        sums = {s + v for s in sums for v in noise.statistic.amount.tolist()}
    found = noise_capacity(noise, policy)
    assert found.gap == 0
    assert found.factor == pytest.approx(brute_force(np.array(sorted(sums))[:, None], law), rel=1e-9)


def test_a_sum_in_closed_form() -> None:
    """(M+1)(1-α)/(1+α) + 2α/(1+α) for answers 0…M."""
    noise, policy = total(list(range(11)), 100, geometric(0.5))
    alpha = math.exp(-0.5)
    expected = 1001 * (1 - alpha) / (1 + alpha) + 2 * alpha / (1 + alpha)
    assert noise_capacity(noise, policy).factor == pytest.approx(expected, rel=1e-13)


def test_a_sum_whose_records_may_be_absent() -> None:
    law = geometric(0.7)
    noise, policy = total([3, 4], 3, law)
    sums = {s for n in range(4) for s in range(3 * n, 4 * n + 1)}
    expected = brute_force(np.array(sorted(sums))[:, None], law)
    assert noise_capacity(noise, policy, absence=True).factor == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("law", LAWS[1:], ids=lambda law: law.words())
def test_other_laws_are_bounded_both_ways(law: NoiseLaw) -> None:
    for cells, records in [(2, 3), (3, 2)]:
        noise, policy = histogram(cells, records, law)
        answers = np.array([h for h in product(range(records + 1), repeat=cells) if sum(h) == records])
        found = noise_capacity(noise, policy)
        exact = brute_force(answers, law) if cells == 2 else None
        assert found.gap > 0
        if exact is not None:
            assert found.factor - found.gap <= exact + 1e-9 and exact <= found.factor + 1e-9


def test_a_table_has_finitely_many_bits() -> None:
    noise = histogram(2, 3, geometric(0.5))[0]
    assert math.isfinite(noise_capacity(noise, histogram(2, 3, geometric(0.5))[1]).bits)
