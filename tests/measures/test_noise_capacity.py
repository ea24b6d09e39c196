"""What noise tells about the whole database: worked numbers, brute force over all databases and outputs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import CellNoise, GaussianLaw, GeometricLaw, NoiseLaw, Privacy, StaircaseLaw, SumNoise
from sievert.measures import noise_capacity
from sievert.measures._noise_capacity import log_capacity, sumset


def geometric(eps: float) -> GeometricLaw:
    return GeometricLaw(Privacy(eps, None))


def histogram(cells: int, records: int, law: NoiseLaw) -> tuple[CellNoise, sv.Policy]:
    policy = sv.Policy.differential([f"v{i}" for i in range(cells)], records)
    return CellNoise(sv.Query.histogram().statistic(policy), law), policy


def total(values: list[int], records: int, law: NoiseLaw) -> tuple[SumNoise, sv.Policy]:
    policy = sv.Policy.differential(values, records)
    return SumNoise(sv.Query.sum().statistic(policy), law), policy


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


def test_the_sum_of_the_formula() -> None:
    """((1-α)/(1+α))^k Σ_j C(k,j) (α/(1-α))^j Σ_P C(P+k-j-1, k-j-1) α^|P-N|, term by term in fractions."""
    alpha = Fraction(1, 3)
    for cells, records, fewer in product((1, 2, 4), (0, 1, 6), (False, True)):
        exact = Fraction(0)
        for j in range(cells + 1):
            inner = Fraction(0)
            for place in range(200 if j < cells else 1):
                ways = math.comb(place + cells - j - 1, cells - j - 1) if j < cells else 1
                off = max(0, place - records) if fewer else abs(place - records)
                inner += ways * alpha**off
            exact += math.comb(cells, j) * (alpha / (1 - alpha)) ** j * inner
        exact *= ((1 - alpha) / (1 + alpha)) ** cells
        found = log_capacity(cells, records, math.log(3), fewer)
        assert found == pytest.approx(math.log(exact), rel=1e-12, abs=1e-13)


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


@given(st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True), st.integers(1, 40))
def test_sums_of_many_records_have_the_gaps_of_few(amounts: list[int], records: int) -> None:
    """The structure theorem against adding one record at a time."""
    listed = np.array(sorted({0, *amounts}))
    found = sumset(listed, records)
    if math.gcd(*amounts) > 1:
        assert found is None
        return
    sums = {0}
    for _ in range(records):
        sums = {s + int(a) for s in sums for a in listed}
    assert found is not None
    answers, more = found
    gaps = sorted(g for g in np.diff(sorted(sums)).tolist() if g > 1)
    assert gaps == sorted(g for g in np.diff(answers).tolist() if g > 1)
    assert len(answers) + more == len(sums)


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


def test_a_large_table() -> None:
    noise = histogram(2, 3, geometric(0.5))[0]
    assert math.isfinite(noise_capacity(noise, histogram(2, 3, geometric(0.5))[1]).bits)
    nats = log_capacity(10**6, 10**4, 0.5)
    assert 0 < nats < 10**6 * math.log1p(10**4)


@given(st.integers(1, 6), st.integers(0, 30), st.sampled_from([0.1, 0.5, 2.0]))
def test_capacity_grows_with_cells_records_and_eps(cells: int, records: int, eps: float) -> None:
    here = log_capacity(cells, records, eps)
    assert here <= log_capacity(cells + 1, records, eps) + 1e-12
    assert here <= log_capacity(cells, records, eps * 1.5) + 1e-12
    assert here <= log_capacity(cells, records, eps, fewer=True) + 1e-12
    assert -1e-12 <= here <= math.log(math.comb(records + cells - 1, cells - 1)) + 1e-9
    assert log_capacity(cells, records, 0.0) == 0.0
    answers = math.log(math.comb(records + cells - 1, cells - 1))
    for large in (300.0, 700.0, 800.0):
        assert log_capacity(cells, records, large) == pytest.approx(answers, rel=1e-12, abs=1e-12)
    assert log_capacity(cells, records, 1e-9) == pytest.approx(0.0, abs=1e-6)
