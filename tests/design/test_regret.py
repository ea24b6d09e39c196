"""Least regret, domination, and which theorem says that a universally optimal mechanism exists."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import MechanismError, MetricError, SievertError, TooLargeError
from sievert.proofs import ProofSpace, RegretProof, proof_from_dict, save_proof

line, discrete = sv.metrics.line, sv.metrics.discrete
HALF = "1/2"


@pytest.mark.parametrize("alpha", ["1/10", "1/3", "1/2", "4/5"])
def test_randomised_response_has_the_least_regret_for_three_values(alpha: str) -> None:
    a = F(alpha)
    found = sv.design.minimax_regret(discrete(3), alpha=alpha)
    assert found.regret == found.lower_bound == a * (1 - a) / ((1 + a) * (2 + 4 * a))
    response = sv.mechanisms.randomised_response(3, alpha=alpha)
    assert sv.design.universal_gap(response, discrete(3), alpha=alpha).gap == found.regret
    assert found.mechanism.hyper().is_same(response.hyper())


@pytest.mark.parametrize(
    "metric, loss, regret",
    [
        (line(4), [[0, 1, 0, 1], [1, 0, 1, 0]], F(1, 15)),  # parity
        (discrete(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]], F(2, 75)),
        (line(3), None, F(0)),
        (line(3), [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]], F(0)),
    ],
)
def test_least_regrets_in_fractions(metric: sv.Metric, loss: Any, regret: F) -> None:
    """Two of them were only known as floats."""
    found = sv.design.minimax_regret(metric, alpha=HALF, loss=loss)
    assert (found.regret, found.lower_bound, found.exact) == (regret, regret, True)
    assert sv.design.universal_gap(found.mechanism, metric, alpha=HALF, loss=loss).gap == regret
    proof = proof_from_dict(json.loads(save_proof(found.certificate)))  # type: ignore[arg-type]
    assert proof.verify().holds
    if regret:
        assert isinstance(proof, RegretProof)
        assert proof.bound() == regret
        assert found.priors


def regret_proof() -> RegretProof:
    proof = sv.design.minimax_regret(discrete(3), alpha=HALF).certificate
    assert isinstance(proof, RegretProof)
    assert proof.verify().holds
    return proof


def test_a_least_regret_is_refused_when_one_rule_alone_fails() -> None:
    proof = regret_proof()
    most = proof.most
    smaller = replace(most, gap=most.gap * F(99, 100))
    assert "too low" in replace(proof, most=smaller).verify().statement
    larger = replace(most, gap=most.gap * F(101, 100))
    assert larger.verify().holds
    assert "at least 1/24 is proved" in replace(proof, most=larger).verify().statement
    weights = proof.weights * F(1, 2)
    assert "distribution" in replace(proof, weights=weights).verify().statement
    signs = proof.weights.copy()
    signs[0], signs[1] = -signs[0], signs[1] + 2 * signs[0]
    assert not replace(proof, weights=signs).verify().holds
    raised = proof.prices.copy()
    raised[0] += F(1, 100)
    assert "costs less than the prices" in replace(proof, prices=raised).verify().statement
    lowered = proof.prices - F(1, 100)
    assert "is proved" in replace(proof, prices=lowered).verify().statement
    identity = np.array([[F(int(x == y)) for y in range(3)] for x in range(3)], dtype=object)
    telling = (identity, *proof.rivals[1:])
    assert "a rival is not private" in replace(proof, rivals=telling).verify().statement
    constant = np.array([[F(1)]] * 3, dtype=object)
    worse = tuple(constant for _ in proof.rivals)
    assert "is proved" in replace(proof, rivals=worse).verify().statement
    assert "one rival" in replace(proof, rivals=proof.rivals[1:]).verify().statement
    priors = proof.priors.copy()
    priors[0] = priors[0] * 2
    assert "distribution" in replace(proof, priors=priors).verify().statement


def test_a_larger_regret_cannot_be_forged_with_a_metric_that_lists_a_pair_twice() -> None:
    """Three edges on three points, one of them twice: no uniform metric, so columns may differ more."""
    proof = regret_proof()
    space = ProofSpace(3, np.array([[0, 1], [0, 2], [0, 2]]), np.ones(3))
    assert not space.is_uniform
    forged = replace(proof, most=replace(proof.most, space=space))
    assert not forged.verify().holds


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6))
def test_no_kernel_has_less_regret(seed: int) -> None:
    """The least regret against all kernels, and against random mixtures of two of them."""
    rng = np.random.default_rng(seed)
    metric = line(3) if seed % 2 else discrete(3)
    loss = rng.integers(0, 5, (int(rng.integers(2, 4)), 3)).tolist()
    found = sv.design.minimax_regret(metric, alpha=HALF, loss=loss)
    proof = proof_from_dict(json.loads(save_proof(found.certificate)))  # type: ignore[arg-type]
    assert proof.verify().holds, proof.verify().statement
    kernels = [kernel.channel.exact for kernel in sv.geometry.kernels(metric, HALF)]
    tables = [*kernels, np.concatenate([kernels[0] / 3, kernels[-1] * 2 / 3], axis=1)]
    for table in tables:
        other = sv.design.universal_gap(sv.Channel(table.tolist()), metric, alpha=HALF, loss=loss)
        assert other.gap >= found.regret  # type: ignore[operator]


def test_least_regret_in_floats() -> None:
    found = sv.design.minimax_regret(discrete(3), math.log(2))
    assert float(found) == pytest.approx(1 / 24, abs=1e-8)
    assert not found.exact
    assert found.lower_bound <= found.regret
    assert found.certificate is not None
    assert found.certificate.verify().holds
    with pytest.raises(TooLargeError, match="9 inputs have more than 200 corners"):
        sv.design.minimax_regret(sv.metrics.cycle(9), 1.0, effort=200)
    long = sv.design.minimax_regret(line(20), 1.0, sv.losses.absolute(20))
    assert long.regret == 0
    assert long.mechanism.shape == (20, 20)


@pytest.mark.parametrize("eps", [1e-3, 1.0, 20.0, 40.0, 90.0])
def test_the_least_regret_of_a_float_epsilon_is_private_and_proved(eps: float) -> None:
    """In fractions at an alpha just above e^-ε: never above the ε asked for, no regret of 0 by rounding."""
    loss = [[0.0, 0.83, 0.41], [0.77, 0.13, 0.6], [0.5, 0.44, 0.02]]
    found = sv.design.minimax_regret(line(3), eps, loss)
    assert sv.is_private(found.mechanism, line(3), eps)
    assert 0 < found.lower_bound <= found.regret <= found.lower_bound * (1 + 1e-12)
    assert found.certificate is not None
    assert found.certificate.verify().holds
    bayes = sv.design.minimax_regret(discrete(3), eps)
    assert bayes.regret > 0  # Thm 6.33
    a = math.exp(-eps)
    assert float(bayes) == pytest.approx(a * -math.expm1(-eps) / ((1 + a) * (2 + 4 * a)), rel=1e-9)


def test_what_the_least_regret_cannot_be_asked_of() -> None:
    with pytest.raises(MechanismError, match="beyond 100 all regrets"):
        sv.design.minimax_regret(discrete(3), 700.0)
    with pytest.raises(MetricError, match=r"give tolerance to round distances down, such as 0\.057"):
        sv.design.minimax_regret(sv.metrics.euclidean([(0, 0), (1, 1), (2, 0)]), 1.0)
    with pytest.raises(TooLargeError, match="give a coarser tolerance"):
        sv.design.minimax_regret(sv.metrics.euclidean([(0, 0), (1, 1), (2, 0)]), 1.0, tolerance=1e-6)
    with pytest.raises(TooLargeError, match="give a larger ε"):
        sv.design.minimax_regret(line(3), 1e-12, [[0.0, 0.83, 0.41], [0.77, 0.13, 0.6], [0.5, 0.44, 0.02]])


def test_least_regret_of_points_in_the_plane() -> None:
    """Distances are rounded down, so the mechanism is private for the true ones; proved, and said."""
    metric = sv.metrics.euclidean([(0, 0), (1, 1), (2, 0)])
    found = sv.design.minimax_regret(metric, 1.0, tolerance="1/5")
    assert found.certificate is not None and found.certificate.verify().holds
    assert sv.is_private(found.mechanism, metric, 1.0)
    assert found.regret == pytest.approx(found.lower_bound) and found.regret > 0.01
    assert (found.tolerance, found.exact) == (0.2, False)
    assert "distances rounded down to multiples of 0.2" in str(found)
    # Decimals are taken as they are.
    line_ = sv.design.minimax_regret(sv.metrics.line([0, 0.5, 1.5]), 1.0, sv.losses.absolute([0, 0.5, 1.5]))
    assert (line_.regret, line_.tolerance) == (0, None)
    whole = sv.design.minimax_regret(line(3), alpha=HALF, loss=sv.losses.absolute(3), tolerance=0.1)
    assert (whole.regret, whole.tolerance) == (0, None)
    for wrong in ("x", -1):
        with pytest.raises(MetricError, match="tolerance is"):
            sv.design.minimax_regret(line(3), 1.0, tolerance=wrong)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10**6))
def test_the_geometric_mechanism_dominates_on_lines(n: int, seed: int) -> None:
    """For every private mechanism one remap of G serves all monotone, and all unimodal, losses."""
    rng = np.random.default_rng(seed)
    geometric = sv.mechanisms.truncated_geometric(n, alpha=HALF)
    found = sv.geometry.kernels(line(n), HALF, limit=30)
    kernel = found[int(rng.integers(len(found)))].channel
    answers = rng.integers(0, 4, (kernel.shape[1], n)) + np.eye(kernel.shape[1], n, dtype=int)
    other = kernel.then(sv.Channel(answers.tolist(), kernel.outputs, range(n), normalise=True))
    for losses in ("monotone", "unimodal"):
        domination = sv.design.dominating_remap(geometric, other, line(n), losses)  # type: ignore[arg-type]
        assert domination.holds
        assert domination.remap is not None
        served = geometric.matrix @ domination.remap.matrix
        for x in range(n):
            for t in range(n):
                ball = np.abs(np.arange(n) - x) <= t
                assert losses != "monotone" or served[x, ball].sum() >= other.matrix[x, ball].sum() - 1e-7


def test_randomised_response_does_not_dominate() -> None:
    two = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]], outputs=[0, 1])
    found = sv.design.dominating_remap(sv.mechanisms.randomised_response(3, alpha=HALF), two, discrete(3))
    assert not found
    assert found.slack == pytest.approx(-1 / 24, abs=1e-9)
    same = sv.design.dominating_remap(two, two, discrete(3), "all")
    assert same.holds
    with pytest.raises(SievertError, match="losses is 'some'"):
        sv.design.dominating_remap(two, two, discrete(3), "some")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "metric, loss, holds, word",
    [
        (line(5), sv.losses.absolute(5), True, "Theorem SC"),
        (line([0, 1, 5, 6]), sv.losses.absolute([0, 1, 5, 6]), True, "Theorem SC"),
        (line(2), None, True, "Thm 6.14"),
        (discrete(3), [[0, 1, 1], [1, 2, 3]], True, "Lem 6.19"),
        (discrete(4), [[0, 1, 0, 1], [1, 0, 0, 0]], True, "Thm 6.28"),
        (discrete(4), None, False, "Thm 6.33"),
        (discrete(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]], False, "Thm 6.16"),
        (sv.metrics.from_graph([(0, 1), (0, 2), (0, 3)]), None, True, "TREE-BAYES"),
        (line(4), [[0, 1, 0, 1], [1, 0, 1, 0]], False, "Thm 6.16"),
        (line(3), [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]], True, "quotient theorem"),
        (sv.metrics.grid(2, 2), [[0, 1, 1, 0], [2, 0, 0, 2]], True, "quotient theorem"),
        (sv.metrics.cycle(4), [[0, 1, 0, 0], [1, 0, 0, 0]], True, "Lem 6.20"),
        (sv.metrics.hamming(3, 2), None, None, "no theorem"),
    ],
)
def test_which_theorem_says_that_one_exists(
    metric: sv.Metric, loss: Any, holds: bool | None, word: str
) -> None:
    found = sv.design.universal_existence(metric, alpha=HALF, loss=loss)
    assert found.holds is holds
    assert word in found.theorem
    assert (found.mechanism is not None) is (holds is True)
    if found.mechanism is not None:
        assert sv.is_universally_optimal(found.mechanism, metric, alpha=HALF, loss=loss).holds
    for alpha in (0, 1):
        at_end = sv.design.universal_existence(metric, alpha=alpha, loss=loss)
        assert at_end.holds


def test_existence_where_inputs_are_apart_alike_or_hardly_protected() -> None:
    """Thm 6.14 and 6.15 on components, distances 0, and Theorem SC for an ε at which e^-ε·d is singular."""
    far = math.inf
    cases = [
        sv.Metric([[0, 1, far], [1, 0, far], [far, far, 0]]),
        sv.Metric([[0, far, far], [far, 0, far], [far, far, 0]]),
        sv.Metric([[0, 0], [0, 0]]),
        sv.Metric([[0, 0, 2], [0, 0, 2], [2, 2, 0]]),
    ]
    rng = np.random.default_rng(0)
    for metric in cases:
        n = metric.size
        found = sv.design.universal_existence(metric, alpha="1/3")
        assert found.holds
        assert "Thm 6.15" in found.theorem
        assert found.mechanism is not None
        for _ in range(5):
            loss = rng.integers(0, 5, (3, n)).tolist()
            assert sv.design.universal_gap(found.mechanism, metric, alpha="1/3", loss=loss).gap == 0
    small = sv.design.universal_existence(line(3), 1e-9, sv.losses.absolute(3))
    assert "Theorem SC" in small.theorem
    assert small.mechanism is not None
    assert sv.epsilon(small.mechanism, line(3)).nats == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 0.3, 5.0, 800.0])
def test_the_exponential_kernel_of_lines_keeps_its_digits(eps: float) -> None:
    gaps = sv.metrics.line([0.0, 1.0, 3.5, 4.0])
    kernel = sv.mechanisms.tight_constraints(gaps, eps)
    assert np.exp(kernel.log_matrix).sum(axis=1) == pytest.approx(np.ones(4), rel=1e-14)
    even = sv.mechanisms.tight_constraints(line(4), eps).log_matrix
    assert even == pytest.approx(sv.mechanisms.truncated_geometric(4, eps).log_matrix, rel=1e-12)


def test_images_of_the_worst_prior_settle_four_alike_inputs() -> None:
    """The vertices, the uniform prior and the uniform priors of pairs."""
    found = sv.design.minimax_regret(discrete(4), alpha=HALF)
    assert (found.regret, found.lower_bound, found.exact) == (F(2, 35), F(2, 35), True)
    assert found.method == "cutting planes over 11 priors"
    assert found.certificate is not None and found.certificate.verify()
