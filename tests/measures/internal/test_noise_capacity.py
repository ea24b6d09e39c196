"""The sum over numbers of places, and the sums of very many records, each by other means."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.measures._noise_capacity import log_capacity, sumset


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


def test_a_large_table() -> None:
    nats = log_capacity(10**6, 10**4, 0.5)
    assert 0 < nats < 10**6 * math.log1p(10**4)
