"""Frequency protocols: private, unbiased, with the variance they say, exact and limited hashing."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import EstimationError
from sievert.estimation.protocols import HashedReports, local_hashing, randomised_response, unary

TRUTH = np.array([0.5, 0.25, 0.15, 0.1, 0.0, 0.0])
PROTOCOLS = {
    "response": lambda eps: randomised_response(6, eps),
    "optimised unary": lambda eps: unary(6, eps),
    "symmetric unary": lambda eps: unary(6, eps, kind="symmetric"),
    "hashing": lambda eps: local_hashing(6, eps),
    "binary hashing": lambda eps: local_hashing(6, eps, buckets=2),
    "limited hashing": lambda eps: local_hashing(6, eps, hashes=20, public_seed=3),
}


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name != "limited hashing"])
def test_estimates_are_unbiased_with_the_variance_in_closed_form(name: str) -> None:
    """400 seeded runs: the mean within 4.5 standard errors for each of 6 values (false alarm 4e-5 a
    protocol), the variance of standardised errors within 4.5 of its own, √(2/2400)."""
    protocol = PROTOCOLS[name](1.0)
    people, runs = 400, 400
    values = np.repeat(np.arange(6), (TRUTH * people).astype(int))
    rng = np.random.default_rng(1)
    found = np.array([protocol.estimate(protocol.privatise(values, rng)).frequencies for _ in range(runs)])
    variances = protocol.variances(TRUTH, people)
    assert (np.abs(found.mean(axis=0) - TRUTH) <= 4.5 * np.sqrt(variances / runs)).all()
    standardised = ((found - TRUTH) ** 2 / variances).mean()
    # Supports of different values are correlated, so that the 6·400 terms count for at least 400.
    assert standardised == pytest.approx(1, abs=4.5 * math.sqrt(2 / runs))


def test_limited_hashing_has_the_variance_of_shared_functions() -> None:
    """Over random tables: more variance than exact hashing by exactly Σ f(f-1/N)/(K(g-1))."""
    people, runs, functions = 400, 1500, 5
    values = np.repeat(np.arange(6), (TRUTH * people).astype(int))
    rng = np.random.default_rng(2)
    errors = []
    for seed in range(runs):
        protocol = local_hashing(6, 1.0, hashes=functions, public_seed=seed)
        errors.append(protocol.estimate(protocol.privatise(values, rng)).frequencies - TRUTH)
    found = np.array(errors)
    variances = protocol.variances(TRUTH, people)
    exact = local_hashing(6, 1.0).variances(TRUTH, people)
    assert variances[5] > 1.5 * exact[5]
    assert (np.abs(found.mean(axis=0)) <= 4.5 * np.sqrt(variances / runs)).all()
    assert (found**2).mean(axis=0) / variances == pytest.approx(np.ones(6), abs=4.5 * math.sqrt(3 / runs))


@pytest.mark.parametrize("eps", [0.3, 1.0, 3.0])
def test_every_protocol_is_private(eps: float) -> None:
    response = randomised_response(6, eps)
    assert math.log(response.truth / response.other) == pytest.approx(eps)
    assert response.truth + 5 * response.other == pytest.approx(1)
    assert sv.epsilon(response.channel(), sv.Policy.local(6)).nats == pytest.approx(eps)
    for kind in ("optimised", "symmetric"):
        bits = unary(6, eps, kind=kind)
        odds = bits.truth * (1 - bits.other) / (bits.other * (1 - bits.truth))
        assert math.log(odds) == pytest.approx(eps)
    hashed = local_hashing(6, eps)
    lie = (1 - hashed.truth) / (hashed.buckets - 1)
    assert math.log(hashed.truth / lie) == pytest.approx(eps)


@pytest.mark.parametrize("eps", [0.5, 1.0, 2.0])
def test_known_variances_of_rare_values(eps: float) -> None:
    """Wang et al.: both optimised protocols have 4e^ε/(N(e^ε-1)²), k-ary response (k-2+e^ε)/(N(e^ε-1)²)."""
    growth = math.exp(eps)
    common = 4 * growth / (1000 * (growth - 1) ** 2)
    assert unary(50, eps).variances(0.0, 1000) == pytest.approx(common)
    assert randomised_response(50, eps).variances(0.0, 1000) == pytest.approx(
        (48 + growth) / (1000 * (growth - 1) ** 2)
    )
    # e^ε + 1 buckets, rounded, come within a few per cent.
    assert local_hashing(50, eps).variances(0.0, 1000) == pytest.approx(common, rel=0.05)


def test_the_hash_family_is_strongly_universal() -> None:
    """Two values collide once in g, over random functions: 10^5 of them, five standard deviations."""
    protocol = local_hashing(1000, 1.0, buckets=4)
    rng = np.random.default_rng(3)
    words = rng.integers(0, 2**64, (2, 100_000), dtype=np.uint64)
    for a, b in ((0, 1), (1, 2), (0, 512), (7, 999)):
        first, second = (protocol._buckets(words[0], words[1], np.uint64(x)) for x in (a, b))
        assert first.max() < 4
        assert (first == second).mean() == pytest.approx(0.25, abs=5 * math.sqrt(0.25 * 0.75 / 1e5))
        pairs = np.bincount(first * 4 + second, minlength=16) / 1e5
        assert pairs == pytest.approx(np.full(16, 1 / 16), abs=5 * math.sqrt(1 / 16 / 1e5))


def test_exact_supports_are_those_of_a_plain_loop() -> None:
    protocol = local_hashing(600, 1.5)
    reports = protocol.privatise(np.random.default_rng(0).integers(0, 600, 50), rng=4)
    plain = np.zeros(600, dtype=int)
    for a, b, bucket in zip(*(part.tolist() for part in reports), strict=True):
        for value in range(600):
            plain[value] += (((a * value + b) % 2**64 >> 32) * protocol.buckets >> 32) == bucket
    assert protocol.support(reports).tolist() == plain.tolist()


def test_supports_of_batches_add_up() -> None:
    for make in PROTOCOLS.values():
        protocol = make(1.0)
        parts = [protocol.privatise([0, 1, 2, 2], rng=k) for k in range(2)]
        support = sum(protocol.support(part) for part in parts)
        assert protocol.frequencies(support, 8).reports == 8


def test_labels_and_results() -> None:
    protocol = randomised_response(["red", "green", "blue"], 2.0)
    values = np.array(["red"] * 600 + ["blue"] * 300)
    found = protocol.estimate(protocol.privatise(values, rng=0))
    assert found.frequencies[0] == pytest.approx(2 / 3, abs=0.08)
    assert found.projected().sum() == pytest.approx(1)
    assert (found.interval[:, 0] <= found.interval[:, 1]).all()
    assert str(found).startswith("k-ary randomised response, 900 reports: red: ")
    assert protocol.privatise(["green"], rng=1).shape == (1,)
    # The unbiased frequencies are the inverse of the channel.
    support = protocol.support(protocol.privatise(values, rng=0))
    inverse = sv.estimate(support, protocol.channel(), "inversion").distribution
    assert found.frequencies == pytest.approx(inverse)


def test_one_value() -> None:
    for make in (randomised_response, unary, local_hashing):
        protocol = make(["only"], 1.0)
        assert protocol.estimate(protocol.privatise(["only"] * 5000, rng=0)).frequencies == pytest.approx(
            [1], abs=0.1
        )


def test_bad_input_is_named() -> None:
    for call, message in (
        (lambda: randomised_response(3, 0), "eps is 0"),
        (lambda: randomised_response(3, math.inf), "eps is inf"),
        (lambda: unary(3, 1.0, kind="best"), "kind is 'best'"),
        (lambda: local_hashing(3, 1.0, buckets=1), "buckets is 1"),
        (lambda: local_hashing(3, 1.0, hashes=0), "hashes is 0"),
        (lambda: randomised_response(["a"], 1.0).privatise(["b"]), "'b' is not one of"),
        (lambda: randomised_response(3, 1.0).privatise(np.array([5])), "5 is not one of"),
        (lambda: unary(3, 1.0).support(np.zeros((2, 2), dtype=bool)), "bits"),
        (lambda: local_hashing(3, 1.0).support([1, 2]), "not made by this protocol"),
        (lambda: unary(3, 1.0).frequencies([1, 2], 5), "support has 2 entries but 3 are needed"),
        (lambda: unary(3, 1.0).frequencies([1, 2, 3], 0), "reports is 0"),
    ):
        with pytest.raises(EstimationError, match=message):
            call()
    shared = local_hashing(3, 1.0, hashes=4)
    with pytest.raises(EstimationError, match="not made by this protocol"):
        shared.support(HashedReports(*(np.zeros(1, dtype=np.uint64),) * 3))


@pytest.mark.parametrize(
    ("frequencies", "reports"), [(0.2, -5), (2, 1000), (0.2, 0), ([0.1, np.nan], 10), (0.2, 2.5)]
)
def test_variances_need_shares_and_a_number_of_reports(frequencies: object, reports: int) -> None:
    with pytest.raises(EstimationError, match=r"frequencies is|reports is"):
        sv.protocols.unary(3, 1.0).variances(frequencies, reports)
