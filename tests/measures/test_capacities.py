"""Multiplicative, Bayes-risk, property and Shannon capacities: peers, brute force and closed forms."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction as F
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import sievert as sv
from sievert import testing
from sievert.errors import GainError

FloatArray = NDArray[np.float64]


@pytest.fixture(scope="module")
def qif(oracle: Callable[[str], ModuleType]) -> ModuleType:
    return oracle("qif")


def instances(count: int = 25) -> Iterator[tuple[np.random.Generator, FloatArray]]:
    """Random channels of many shapes; every second one is sparse."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 8, size=2)
        matrix = rng.dirichlet(np.ones(m), n)
        if seed % 2 and m > 1:
            matrix[rng.random(matrix.shape) < 0.3] = 0
            matrix[:, 0] += 1 - matrix.sum(axis=1)
        yield rng, matrix


def total_variation(matrix: Any, i: int, j: int) -> Any:
    return sum(max(a - b, 0) for a, b in zip(matrix[i], matrix[j], strict=True))


def test_multiplicative_capacity_against_qif_and_gains(qif: ModuleType) -> None:
    """The sum of the column maxima; no gain and prior leaks more, and 1/π_x for guessing x leaks as much."""
    for rng, matrix in instances():
        channel = sv.Channel(matrix)
        most = float(sv.capacity(channel))
        assert most == pytest.approx(qif.measure.bayes_vuln.mult_capacity(matrix), rel=1e-12)
        for _ in range(5):
            prior = rng.dirichlet(np.ones(len(matrix)))
            assert float(sv.leakage(channel, prior, rng.random((4, len(matrix))))) <= most + 1e-12
            weighing = np.diag(1 / prior)
            assert float(sv.leakage(channel, prior, weighing)) == pytest.approx(most, rel=1e-9)


def test_multiplicative_capacity_for_a_prior_counts_possible_secrets_only() -> None:
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"], [0, 0, 1]])
    assert sv.capacity(channel).factor == 2
    assert sv.capacity(channel, prior=[F(1, 2), F(1, 2), 0]).factor == F(3, 2)
    assert sv.capacity(channel, prior=[0, 0, 1]).factor == 1


def test_risk_capacity_against_qif(qif: ModuleType) -> None:
    for _, matrix in instances():
        if len(matrix) == 1:
            continue
        found = sv.capacity(sv.Channel(matrix), kind="risk")
        expected, _ = qif.measure.bayes_risk.mult_capacity(matrix)
        assert float(found) == pytest.approx(expected, rel=1e-9)


def test_risk_capacity_against_all_pairs_and_random_priors() -> None:
    for rng, matrix in instances():
        found = sv.capacity(sv.Channel(matrix), kind="risk")
        pairs = combinations(range(len(matrix)), 2)
        best = max((total_variation(matrix, i, j) for i, j in pairs), default=0.0)
        assert float(found) == pytest.approx(1 / (1 - best) if best < 1 else math.inf, rel=1e-9)
        loss = sv.losses.bayes_risk(len(matrix))
        for _ in range(10):
            prior = rng.dirichlet(np.ones(len(matrix)) / 2)
            if float(sv.vulnerability(prior, loss)) > 1e-9:
                assert float(sv.leakage(sv.Channel(matrix), prior, loss)) <= float(found) * (1 + 1e-9)
        if len(matrix) > 1 and found.factor < math.inf:
            assert float(sv.leakage(sv.Channel(matrix), found.prior, loss)) == pytest.approx(float(found))


@given(testing.channels((1, 5), (1, 4), form="exact", sparse=True))
@settings(max_examples=30)
def test_exact_risk_capacity(channel: sv.Channel) -> None:
    found = sv.capacity(channel, kind="risk")
    pairs = list(combinations(range(channel.shape[0]), 2))
    best = max((total_variation(channel.exact, i, j) for i, j in pairs), default=F(0))
    assert found.factor == (math.inf if best == 1 else 1 / (1 - best))
    i, j = (channel.input_index(name) for name in found.pair)
    assert total_variation(channel.exact, i, j) == best


def test_exact_pairs_are_told_apart_below_rounding() -> None:
    """Two pairs whose distances differ by 2^-70: floats cannot say which is larger."""
    tiny = F(1, 2**70)
    rows = [[F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)], [F(3, 4) + tiny, F(1, 4) - tiny], [F(1, 2), F(1, 2)]]
    assert sv.capacity(sv.Channel(rows), kind="risk").factor == 1 / (F(1, 2) - tiny)
    narrow = [[F(1, 2), F(1, 2)], [F(3, 4), F(1, 4)], [F(1, 4) - tiny, F(3, 4) + tiny]]
    assert sv.capacity(sv.Channel(narrow[:1] + narrow[1:]), kind="risk").factor == 1 / (F(1, 2) - tiny)


def test_property_capacities_against_qif(qif: ModuleType) -> None:
    measure = qif.measure
    for rng, matrix in instances():
        n = len(matrix)
        if n == 1:
            continue
        holds = rng.random(n) < 0.5
        holds[:2] = [True, False]
        predicate = holds.astype(np.uint64)
        feature = sv.gains.property(n, np.flatnonzero(holds).tolist())
        channel = sv.Channel(matrix)
        expected, _ = measure.pred_vuln.mult_capacity(predicate, matrix)
        assert float(sv.capacity(channel, gains=feature)) == pytest.approx(expected, rel=1e-9)
        expected, _ = measure.pred_risk.mult_capacity(predicate, matrix)
        assert float(sv.capacity(channel, kind="risk", gains=feature)) == pytest.approx(expected, rel=1e-9)
        for _ in range(5):
            prior = rng.dirichlet(np.ones(n))
            most = float(sv.capacity(channel, gains=feature))
            assert float(sv.leakage(channel, prior, feature)) <= most * (1 + 1e-12)


def test_a_property_of_all_or_none_tells_nothing() -> None:
    channel = sv.Channel.identity(3)
    for holds in ([], [0, 1, 2]):
        assert sv.capacity(channel, gains=sv.gains.property(3, holds)).factor == 1
        assert sv.capacity(channel, kind="risk", gains=sv.gains.property(3, holds)).factor == 1
    with pytest.raises(GainError, match=r"known for sv\.gains\.property only"):
        sv.capacity(channel, gains=sv.gains.matrix([[1, 0, 0], [0, 1, 1], [1, 1, 1]]))
    with pytest.raises(GainError, match=r"known for sv\.gains\.property only"):
        sv.capacity(channel, kind="risk", gains=sv.losses.property(3, [0]))


def binary_entropy(p: float) -> float:
    return -sum(q * math.log2(q) for q in (p, 1 - p) if q > 0)


@pytest.mark.parametrize("p", [0.0, 1e-6, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_shannon_capacity_in_closed_form(p: float) -> None:
    symmetric = sv.Channel([[1 - p, p], [p, 1 - p]])
    assert sv.capacity(symmetric, kind="shannon").bits == pytest.approx(1 - binary_entropy(p), abs=1e-10)
    erasure = sv.Channel([[1 - p, p, 0], [0, p, 1 - p]])
    assert sv.capacity(erasure, kind="shannon").bits == pytest.approx(1 - p, abs=1e-10)
    z_channel = sv.Channel([[1.0, 0.0], [p, 1 - p]])
    closed = math.log2(1 + (1 - p) * p ** (p / (1 - p))) if p < 1 else 0.0
    assert sv.capacity(z_channel, kind="shannon").bits == pytest.approx(closed, abs=1e-10)


def test_shannon_capacity_of_the_closed_families() -> None:
    for n in (1, 2, 5):
        response = sv.mechanisms.randomised_response(n, 1.0)
        plain = sv.Channel(response.matrix)
        expected = sv.capacity(plain, kind="shannon").bits
        assert sv.capacity(response, kind="shannon").bits == pytest.approx(expected, abs=1e-9)
        assert sv.capacity(response.product(3), kind="shannon").bits == pytest.approx(3 * expected, abs=1e-9)
    assert sv.capacity(sv.Channel.identity(8), kind="shannon").bits == pytest.approx(3)
    assert sv.capacity(sv.Channel.null(8), kind="shannon").bits == 0


def test_shannon_capacity_against_qif(qif: ModuleType) -> None:
    for _, matrix in instances():
        found = sv.capacity(sv.Channel(matrix), kind="shannon")
        expected, _ = qif.measure.shannon.add_capacity(matrix, 1e-10)
        assert found.bits == pytest.approx(expected, abs=1e-7)
        assert found.bits + found.gap >= expected - 1e-12


@given(testing.channels((1, 6), (1, 5), sparse=True))
@settings(max_examples=40)
def test_the_gap_of_the_shannon_capacity_is_proved(channel: sv.Channel) -> None:
    """At the prior reported, the average divergence is the value and the largest one is within the gap."""
    found = sv.capacity(channel, kind="shannon")
    assert found.gap <= 1e-9
    assert sv.information.mutual_information(channel, found.prior) == pytest.approx(found.bits, abs=1e-9)
    output = np.asarray(found.prior) @ channel.matrix
    divergences = [
        sum(p * math.log2(p / q) for p, q in zip(row, output, strict=True) if p > 0) for row in channel.matrix
    ]
    assert max(divergences) <= found.bits + found.gap + 1e-9


@pytest.mark.parametrize("shape", [(600, 20), (20, 300), (150, 150)])
def test_shannon_capacity_of_larger_channels(shape: tuple[int, int]) -> None:
    """More inputs than outputs go through a growing set of inputs; the gap says whether that was enough."""
    matrix = np.random.default_rng(1).dirichlet(np.full(shape[1], 0.3), shape[0])
    found = sv.capacity(sv.Channel(matrix), kind="shannon")
    assert found.gap <= 1e-9
    assert found.bits <= math.log2(min(shape))


def test_shannon_capacity_among_many_similar_inputs() -> None:
    """Hundreds of inputs that look alike stand before the few that matter: the set of inputs must grow."""
    rng = np.random.default_rng(3)
    alike = rng.dirichlet(2000 * rng.dirichlet(np.full(5, 0.3)) + 1e-3, 500)
    others = rng.dirichlet(np.full(5, 3.0), 40)
    found = sv.capacity(sv.Channel(np.vstack([alike, others])), kind="shannon")
    assert found.gap <= 1e-9
    assert found.prior[500:].sum() > 0.1


def test_capacities_in_words() -> None:
    channel = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert str(sv.capacity(channel)) == (
        "at most a factor 1.5 (0.584963 bits) over all non-negative gain functions"
    )
    assert str(sv.capacity(channel, kind="additive", gains="unit")) == (
        "at most 0.25 more over gain functions between 0 and 1"
    )
    assert "the one-try guess, as a risk" in str(sv.capacity(channel, kind="risk"))
    assert str(sv.capacity(channel, kind="shannon")) == "at most 0.188722 bits of Shannon uncertainty"
    assert float(sv.capacity(channel, kind="shannon")) == pytest.approx(0.188722, abs=1e-6)


def test_what_a_prior_attains_is_not_called_the_most() -> None:
    """Over all priors the capacity of spanning gains is known between two ends."""
    channel = sv.Channel(np.random.default_rng(0).dirichlet(np.ones(5), 6))
    found = sv.capacity(channel, None, gains="spanning", kind="additive")
    assert found.gap > 1e-3
    assert str(found) == (
        f"at most {found.difference + found.gap:.6g} more over {found.gains}; "
        f"a prior is known that gives {found.difference:.6g}"
    )


@pytest.mark.parametrize(
    "question",
    [
        {"kind": "risk", "prior": [0.5, 0.5]},
        {"kind": "shannon", "prior": [0.5, 0.5]},
        {"kind": "multiplicative", "gains": "unit"},
        {"kind": "capacity"},
    ],
)
def test_questions_without_an_answer_are_refused(question: Any) -> None:
    with pytest.raises(GainError, match=r"known are|must be one of"):
        sv.capacity(sv.Channel.identity(2), **question)


@given(st.integers(1, 3), st.integers(2, 3), st.integers(1, 5))
@settings(max_examples=20)
def test_alvim_prop_16_the_product_of_responses_attains_the_bound(u: int, v: int, tenths: int) -> None:
    """Bnd(u, v, ε) = u·log2(v·e^ε/(v - 1 + e^ε)) with e^ε = 1/α: exactly the capacity of the product."""
    alpha = F(tenths, 10)
    channel = sv.mechanisms.randomised_response(v, alpha=alpha).product(u)
    growth = v / alpha / (v - 1 + 1 / alpha)
    assert sv.capacity(channel).factor == growth**u
    assert sv.leakage(channel).factor == growth**u
    for x in channel.inputs:
        row = channel.exact[channel.input_index(x)]  # type: ignore[index]
        for y, entry in zip(channel.outputs, row, strict=True):
            different = sum(a != b for a, b in zip(x, y, strict=True))
            # K[x, z] = (2^Bnd / v^u)·e^(-ε·d(x, z))
            assert entry == growth**u / v**u * alpha**different


def test_alvim_ex_17_two_records_of_three_values() -> None:
    """Entry = e^(-ε·Hamming)·e^(2ε)/(2 + e^ε)² on {aa, ab, …, cc}."""
    eps = 1.0
    channel = sv.mechanisms.randomised_response(["a", "b", "c"], eps).product(2)
    for x in channel.inputs:
        for y, entry in zip(channel.outputs, channel.row(x), strict=True):
            different = sum(a != b for a, b in zip(x, y, strict=True))
            expected = math.exp(-eps * different) * math.exp(2 * eps) / (2 + math.exp(eps)) ** 2
            assert entry == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("u", "v", "eps", "bits"),
    [
        (100, 2, 5, "99.031180"),
        (2, 3, 1, "1.578792"),
        (10, 100, 1, "14.181160"),
        (100, 100, 0.01, "1.428196"),
        (1000, 100, 2, "2796.040329"),
    ],
)
def test_alvim_worked_bounds(u: int, v: int, eps: float, bits: str) -> None:
    channel = sv.mechanisms.randomised_response(v, eps).product(u)
    assert f"{sv.capacity(channel).bits:.6f}" == bits
    assert f"{sv.information.min_entropy_leakage(channel):.6f}" == bits
