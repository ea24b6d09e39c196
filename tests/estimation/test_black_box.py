"""Audits by samples: they rarely say too much, and they see what is wrong."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import SievertError


@pytest.mark.slow
def test_a_correct_mechanism_is_rarely_flagged() -> None:
    """1000 seeded audits of exact randomised response at its own ε: at most 5% may be refuted, plus chance.

    False alarm of this test: P(Binomial(1000, 0.05) > 75) < 4e-4, and the audit is conservative.
    """
    eps = math.log(3)
    flagged = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        first, second = rng.random(400) < 0.75, rng.random(400) < 0.25
        flagged += sv.estimation.audit_outputs(
            first.astype(int), second.astype(int), eps=eps, rng=rng
        ).refuted
    assert flagged <= 75
    # The event is as telling as can be, so a share near the nominal 2.5% a side is expected, not none.
    assert flagged > 0


@pytest.mark.slow
def test_correct_laplace_noise_is_rarely_flagged() -> None:
    flagged = 0
    for seed in range(200):
        rng = np.random.default_rng(10_000 + seed)
        flagged += sv.estimation.audit_outputs(
            rng.laplace(0, 1, 400), rng.laplace(1, 1, 400), eps=1.0, confidence=0.9, rng=rng
        ).refuted
    assert flagged <= 34  # P(Binomial(200, 0.1) > 34) < 0.001


def test_noise_of_half_the_scale_is_caught() -> None:
    caught = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = sv.estimation.audit_outputs(
            rng.laplace(0, 0.5, 5000), rng.laplace(1, 0.5, 5000), eps=1.0, confidence=0.99, rng=rng
        )
        caught += found.refuted
        assert found.eps_lower <= 2.3
    assert caught == 20


def test_a_callable() -> None:
    rng = np.random.default_rng(3)

    def half_scale(x: float) -> float:
        return x + rng.laplace(0, 0.5)

    found = sv.audit_mechanism(half_scale, 0, 1, eps=1.0, trials=4000, rng=1)
    assert found.refuted and not found.passed
    assert "refuted" in str(found)
    fine = sv.audit_mechanism(lambda x: x + rng.laplace(0, 1.0), 0, 1, eps=1.0, trials=2000, rng=1)
    assert fine.passed
    assert "proves nothing" in str(fine)


def test_labels_vectors_and_atoms() -> None:
    rng = np.random.default_rng(0)
    labels = [["yes", "no"][k] for k in (rng.random(3000) < 0.1).astype(int)]
    others = [["yes", "no"][k] for k in (rng.random(3000) < 0.9).astype(int)]
    found = sv.estimation.audit_outputs(labels, others, eps=1.0, rng=0)
    assert found.refuted and 1.8 < found.eps_lower < math.log(9) + 0.1
    # A vector whose second coordinate gives the input away.
    a = np.column_stack([rng.normal(size=2000), rng.normal(0, 0.2, 2000)])
    b = np.column_stack([rng.normal(size=2000), rng.normal(1, 0.2, 2000)])
    assert sv.estimation.audit_outputs(a, b, eps=1.0, rng=0).refuted
    # A difference that only shows in two coordinates together.
    signs = rng.choice([-1.0, 1.0], 3000)
    together = np.column_stack([signs, signs]) + rng.normal(0, 0.2, (3000, 2))
    opposed = np.column_stack([signs, -signs]) + rng.normal(0, 0.2, (3000, 2))
    assert sv.estimation.audit_outputs(together, opposed, eps=1.0, rng=0).eps_lower > 2
    # One run in ten forgets the noise.
    forgot = np.where(rng.random(4000) < 0.1, 0.0, rng.laplace(0, 1, 4000))
    fine = np.where(rng.random(4000) < 0.1, 1.0, rng.laplace(1, 1, 4000))
    found = sv.estimation.audit_outputs(forgot, fine, eps=2.0, rng=0)
    assert found.refuted and "exactly" in found.event
    # Failures (nan) that depend on the input.
    broken = np.where(rng.random(2000) < 0.2, math.nan, rng.normal(size=2000))
    assert "finite" in sv.estimation.audit_outputs(broken, rng.normal(size=2000), rng=0).event


def test_delta_is_granted() -> None:
    rng = np.random.default_rng(1)
    first = np.where(rng.random(20_000) < 0.01, 100.0, rng.laplace(0, 1, 20_000))
    second = rng.laplace(1, 1, 20_000)
    assert sv.estimation.audit_outputs(first, second, eps=1.5, rng=0).refuted
    assert not sv.estimation.audit_outputs(first, second, eps=1.5, delta=0.02, rng=0).refuted


def test_both_directions_are_tried() -> None:
    rng = np.random.default_rng(2)
    rare, never = rng.random(4000) < 0.05, np.zeros(4000, dtype=bool)
    assert sv.estimation.audit_outputs(rare, never, rng=0).likelier == "first"
    found = sv.estimation.audit_outputs(never.astype(int), rare.astype(int), rng=0)
    assert found.likelier == "second" and found.eps_lower > 1


def test_seeds_repeat() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.laplace(0, 1, 500), rng.laplace(1, 1, 500)
    assert sv.estimation.audit_outputs(first, second, rng=7) == sv.estimation.audit_outputs(
        first, second, rng=7
    )


@pytest.mark.parametrize(
    "change",
    [
        {"first": []},
        {"first": "text"},
        {"first": 3},
        {"first": [1.0] * 5},
        {"delta": 2},
        {"eps": -1},
        {"eps": math.nan},
        {"confidence": 1},
        {"confidence": 0},
        {"confidence": "high"},
    ],
)
def test_silly_inputs(change: dict[str, object]) -> None:
    options = {"first": [1.0] * 30, "second": [1.0] * 30, **change}
    with pytest.raises(SievertError):
        sv.estimation.audit_outputs(**options)


def test_runs_with_their_inputs() -> None:
    rng = np.random.default_rng(5)
    secret = rng.integers(0, 4, 16_000)
    noisy = secret + rng.laplace(0, 1.0, len(secret))
    # Only the worst pair is reported: far apart inputs are told apart better.
    found = sv.audit_samples(secret, noisy, eps=1.0, rng=0)
    assert found.refuted and {found.likelier, found.other} == {"0", "3"}
    # Neighbours on a line keep the claim, and so does ε per unit of distance.
    assert not sv.audit_samples(secret, noisy, eps=1.0, policy_or_metric=sv.secrets.line(4), rng=0).refuted
    assert not sv.audit_samples(secret, noisy, eps=1.0, policy_or_metric=sv.metrics.line(4), rng=0).refuted
    half = secret + rng.laplace(0, 0.5, len(secret))
    assert sv.audit_samples(secret, half, eps=1.0, policy_or_metric=sv.metrics.line(4), rng=0).refuted
    names = np.array(["a", "b", "c", "d"])[secret]
    assert sv.audit_samples(names.tolist(), noisy, rng=0).eps_lower == found.eps_lower
    for arguments in ((secret[:10], noisy[:10]), (secret, noisy[:-1]), ([0] * 50, [1.0] * 50), ("x", noisy)):
        with pytest.raises(SievertError):
            sv.audit_samples(*arguments)
    with pytest.raises(SievertError, match="no two neighbours with at least 20 runs each"):
        sv.audit_samples(secret, noisy, policy_or_metric=sv.secrets.line(["x", "y"]))


@pytest.mark.slow
def test_searching_pairs_does_not_flag_a_correct_mechanism() -> None:
    flagged = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        secret = rng.integers(0, 3, 900)
        answer = np.where(rng.random(900) < 0.4, secret, rng.integers(0, 3, 900))
        eps = math.log(0.6 / 0.2)
        flagged += sv.audit_samples(secret, answer, eps=eps, confidence=0.9, rng=rng).refuted
    assert flagged <= 34  # P(Binomial(200, 0.1) > 34) < 0.001


def test_silly_mechanisms() -> None:
    with pytest.raises(SievertError):
        sv.audit_mechanism(3, 0, 1)
    with pytest.raises(SievertError):
        sv.audit_mechanism(lambda x: x, 0, 1, trials=0)
    # A mechanism without any noise is caught as far as the samples allow.
    assert sv.audit_mechanism(lambda x: x, 0, 1, eps=3.0, trials=1000, rng=0).refuted
    # Equal outputs say nothing.
    assert sv.audit_mechanism(lambda x: 0, 0, 1, eps=0.0, trials=100, rng=0).eps_lower == 0
