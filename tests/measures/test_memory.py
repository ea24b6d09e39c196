"""Memory of channels without a matrix: at most 50 MB for any measure of a million values or records."""

import math
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sievert as sv

MILLION = 10**6
CEILING = 50e6


def peak(question: Callable[..., Any], *given: Any, **named: Any) -> float:
    """Bytes allocated at most while a question is answered, beyond what there was before."""
    tracemalloc.start()
    try:
        question(*given, **named)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def prior() -> Any:
    return np.random.default_rng(0).dirichlet(np.ones(MILLION))


@pytest.fixture(scope="module")
def gains() -> dict[str, Any]:
    return {
        "identity": None,
        "tries": sv.gains.tries(MILLION, 5),
        "guessing": sv.losses.guessing(MILLION),
        "shannon": sv.losses.shannon(MILLION),
        "property": sv.gains.property(MILLION, lambda x: x % 3 == 0),
    }


INFORMATION: dict[str, Callable[..., float]] = {
    "mutual": sv.information.mutual_information,
    "min-entropy": sv.information.min_entropy_leakage,
    "maximal": sv.information.maximal_leakage,
    "Sibson": sv.information.sibson_information,
    "Arimoto": sv.information.arimoto_information,
}


@pytest.fixture(scope="module", params=["eps", "alpha"])
def response(request: pytest.FixtureRequest) -> sv.Channel:
    parameter: dict[str, Any] = {"eps": 1.0} if request.param == "eps" else {"alpha": "1/3"}
    return sv.mechanisms.randomised_response(MILLION, **parameter)


def test_leakage_of_a_million_values(response: sv.Channel, prior: Any, gains: dict[str, Any]) -> None:
    for name, gain in gains.items():
        for belief in (None, prior):
            for case in ("average", "max"):
                used = peak(sv.leakage, response, belief, gain, kind="additive", case=case)
                assert used < CEILING, (name, case, belief is None)


def test_information_of_a_million_values(response: sv.Channel, prior: Any) -> None:
    for name, measure in INFORMATION.items():
        for belief in (None, prior):
            assert peak(measure, response, belief) < CEILING, name


def test_everything_else_about_a_million_values(
    response: sv.Channel, prior: Any, gains: dict[str, Any]
) -> None:
    xs = np.arange(MILLION)
    questions: dict[str, Callable[[], Any]] = {
        "capacity": lambda: sv.capacity(response),
        "capacity for a prior": lambda: sv.capacity(response, prior=prior),
        "unit": lambda: sv.capacity(response, kind="additive", gains="unit"),
        "unit for a prior": lambda: sv.capacity(response, kind="additive", gains="unit", prior=prior),
        "spanning": lambda: sv.capacity(response, kind="additive", gains="spanning", prior=prior),
        "signed": lambda: sv.capacity(response, kind="additive", gains="signed"),
        "risk": lambda: sv.capacity(response, kind="risk"),
        "property": lambda: sv.capacity(response, gains=gains["property"]),
        "Shannon": lambda: sv.capacity(response, kind="shannon"),
        "ε, discrete": lambda: sv.epsilon(response, sv.metrics.discrete(MILLION)),
        "ε, line": lambda: sv.epsilon(response, sv.metrics.line(MILLION)),
        "ε, policy": lambda: sv.epsilon(response, sv.Policy.local(MILLION)),
        "record": lambda: sv.record_leakage(response, sv.Policy.local(MILLION), prior=prior),
        "bound": lambda: sv.record_leakage(1.0, sv.Policy.local(MILLION), prior=prior),
        "row": lambda: response.row(5),
        "matvec": lambda: response.matvec(prior),
        "rmatvec": lambda: response.rmatvec(prior),
        "sample": lambda: response.sample(xs, rng=1),
    }
    for name, question in questions.items():
        assert peak(question) < CEILING, name


@pytest.mark.parametrize("parameter", [{"eps": 1.0}, {"alpha": "1/3"}])
def test_a_million_records(parameter: dict[str, Any]) -> None:
    single = sv.mechanisms.randomised_response(3, **parameter)
    channel = single.product(MILLION)
    policy = sv.Policy.differential(3, MILLION)
    xs = np.zeros((1, MILLION), dtype=np.int64)
    questions: dict[str, Callable[[], Any]] = {
        "Shannon capacity": lambda: sv.capacity(channel, kind="shannon"),
        "signed": lambda: sv.capacity(channel, kind="additive", gains="signed"),
        "ε": lambda: sv.epsilon(channel, policy),
        "record": lambda: sv.record_leakage(channel, policy, prior=[0.5, 0.3, 0.2]),
        "sample": lambda: channel.sample(xs, rng=1),
    }
    for name, question in questions.items():
        assert peak(question) < CEILING, name
    for given in (None, [0.5, 0.3, 0.2]):
        for case in ("average", "max"):
            for gain in (None, sv.losses.shannon(3)):
                assert peak(sv.leakage, channel, given, gain, kind="additive", case=case) < CEILING
        assert peak(sv.capacity, channel, given) < CEILING
        for name, measure in INFORMATION.items():
            assert peak(measure, channel, given) < CEILING, name


def test_what_a_million_records_leak() -> None:
    """Bits add up: each record gives what one gives."""
    single = sv.mechanisms.randomised_response(3, 1.0)
    channel = single.product(MILLION)
    policy = sv.Policy.differential(3, MILLION)
    assert sv.epsilon(channel, policy).nats == pytest.approx(1)
    assert sv.leakage(channel).bits == pytest.approx(MILLION * sv.leakage(single).bits)
    assert "the logarithm grows by 789,400 bits" in str(sv.leakage(channel))
    assert sv.capacity(channel).bits == pytest.approx(MILLION * sv.capacity(single).bits)
    assert sv.capacity(channel).factor == math.inf
    assert sv.information.mutual_information(channel) == pytest.approx(
        MILLION * sv.information.mutual_information(single)
    )
    entropy = sv.leakage(channel, None, sv.losses.shannon(3))
    assert entropy.prior == pytest.approx(MILLION * math.log2(3))
    assert sv.record_leakage(channel, policy).after == pytest.approx(math.e / (2 + math.e))


def test_what_a_million_values_leak() -> None:
    """Closed forms: truth = e^ε/(n - 1 + e^ε), one lie = 1/(n - 1 + e^ε)."""
    n = MILLION
    total = n - 1 + math.e
    channel = sv.mechanisms.randomised_response(n, 1.0)
    assert float(sv.posterior_vulnerability(channel)) == pytest.approx(math.e / total, rel=1e-12)
    assert float(sv.capacity(channel)) == pytest.approx(n * math.e / total, rel=1e-12)
    found = sv.posterior_vulnerability(channel, None, sv.losses.guessing(n))
    assert float(found) == pytest.approx((math.e + n * (n + 1) / 2 - 1) / total, rel=1e-12)
    assert float(sv.capacity(channel, kind="risk")) == pytest.approx(
        1 / (1 - (math.e - 1) / total), rel=1e-12
    )
    exact = sv.mechanisms.randomised_response(n, alpha="1/3")
    assert sv.leakage(exact).factor == sv.capacity(exact).factor == Fraction(3 * n, n + 2)
