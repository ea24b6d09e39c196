"""multi-freq-ldpy has no suite; what its tutorials rest on: its probabilities, variances and estimators.

They compare protocols for 74 ages of 45,222 people at ε = .5, 1, … 5. Its estimators clip and rescale, which
biases them: ours are compared before that step, and after it where the step changes nothing.
"""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sievert as sv

LEVELS = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
AGES, PEOPLE = 74, 45222
ROOM = "multi_freq_ldpy.pure_frequency_oracles"


def chances(protocol: str, n: int, eps: float) -> tuple[float, float]:
    """P[a report supports v | the value is v] and P[… | it is another] (Wang et al. 2017)."""
    e = math.exp(eps)
    if protocol == "direct":
        return e / (e + n - 1), 1 / (e + n - 1)
    if protocol == "symmetric":
        p = math.exp(eps / 2) / (math.exp(eps / 2) + 1)
        return p, 1 - p
    if protocol == "optimised":
        return 0.5, 1 / (e + 1)
    buckets = 2 if protocol == "binary hashing" else round(e) + 1
    return e / (e + buckets - 1), 1 / buckets


def ours(protocol: str, n: int, eps: float) -> Any:
    if protocol == "direct":
        return sv.protocols.randomised_response(n, eps)
    if protocol in ("symmetric", "optimised"):
        return sv.protocols.unary(n, eps, kind=protocol)  # type: ignore[arg-type]
    buckets = 2 if protocol == "binary hashing" else round(math.exp(eps)) + 1
    return sv.protocols.local_hashing(n, eps, buckets=buckets)


PROTOCOLS = ["direct", "symmetric", "optimised", "binary hashing", "hashing"]


@pytest.mark.parametrize("eps", LEVELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_chances_and_variances(oracle: Callable[[str], ModuleType], protocol: str, eps: float) -> None:
    """Their variance q(1-q)/(N(p-q)²) + f(1-p-q)/(N(p-q)) is ours, at every frequency."""
    variance = oracle(f"{ROOM}.Variance_PURE").VAR_Pure
    found = ours(protocol, AGES, eps)
    p, q = chances(protocol, AGES, eps)
    assert (found.truth, found.other) == pytest.approx((p, q), rel=1e-12)
    for share in (0.0, 1 / AGES, 0.3, 1.0):
        frequencies = np.r_[share, np.full(AGES - 1, (1 - share) / (AGES - 1))]
        expected = variance(p, q, PEOPLE, share)
        assert found.variances(frequencies, PEOPLE)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("eps", LEVELS)
def test_which_protocol_is_best(eps: float) -> None:
    """Direct answers win where n < 3e^ε + 2; optimised unary encoding and hashing are equally good."""
    rare = {
        name: float(np.ravel(ours(name, AGES, eps).variances(np.zeros(AGES), PEOPLE))[0])
        for name in PROTOCOLS
    }
    assert (rare["direct"] < rare["optimised"]) == (3 * math.exp(eps) + 2 > AGES)
    assert rare["optimised"] == pytest.approx(4 * math.exp(eps) / (PEOPLE * math.expm1(eps) ** 2), rel=1e-9)
    assert rare["optimised"] <= rare["symmetric"] * (1 + 1e-12)
    assert rare["optimised"] <= rare["hashing"] * (1 + 1e-12) <= rare["binary hashing"] * (1 + 1e-9)


@pytest.mark.parametrize("eps", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("n", [2, 5, 20])
def test_inversion_of_direct_answers(oracle: Callable[[str], ModuleType], n: int, eps: float) -> None:
    """From the reports of everybody: inverted by both, and theirs is ours clipped and rescaled."""
    peer = oracle(f"{ROOM}.GRR")
    rng = np.random.default_rng(n)
    protocol = sv.protocols.randomised_response(n, eps)
    reports = protocol.privatise(rng.choice(n, 20_000, p=rng.dirichlet(np.ones(n))), rng=1)
    found = protocol.estimate(reports)
    clipped = found.frequencies.clip(0)
    theirs = peer.GRR_Aggregator_MI(np.asarray(reports).tolist(), n, eps)
    assert theirs == pytest.approx(clipped / clipped.sum(), rel=1e-9, abs=1e-12)
    counts = np.bincount(np.asarray(reports), minlength=n)
    inverted = sv.estimate(counts, sv.mechanisms.randomised_response(n, eps), "inversion", interval="none")
    if (found.frequencies >= 0).all():
        assert inverted.distribution == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("eps", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", [2, 5, 20])
def test_likelihood_of_direct_answers(oracle: Callable[[str], ModuleType], n: int, eps: float) -> None:
    """Their iterative update stops at a small step; ours at a proved gap to the maximum, which it may ask
    for as small."""
    peer = oracle(f"{ROOM}.GRR")
    rng = np.random.default_rng(n)
    channel = sv.mechanisms.randomised_response(n, eps)
    reports = rng.choice(n, 5_000, p=rng.dirichlet(np.ones(n)) @ channel.matrix)
    counts = np.bincount(reports, minlength=n)
    found = sv.estimate(counts, channel, interval="none")
    stepwise = sv.estimate(counts, channel, "ibu", interval="none", tolerance=1e-9)
    theirs = peer.GRR_Aggregator_IBU(reports.tolist(), n, eps)

    def likelihood(distribution: Any) -> float:
        return float(counts @ np.log(np.asarray(distribution) @ channel.matrix))

    assert likelihood(found.distribution) >= likelihood(theirs) - 1e-6
    assert found.distribution == pytest.approx(theirs, abs=1e-3)
    assert stepwise.distribution == pytest.approx(theirs, abs=1e-3)


@pytest.mark.parametrize("kind", ["optimised", "symmetric"])
@pytest.mark.parametrize("eps", [0.5, 1.0, 3.0])
def test_inversion_of_unary_reports(oracle: Callable[[str], ModuleType], kind: Any, eps: float) -> None:
    peer = oracle(f"{ROOM}.UE")
    protocol = sv.protocols.unary(6, eps, kind=kind)
    values = np.random.default_rng(2).choice(6, 4_000, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])
    reports = protocol.privatise(values, rng=3)
    found = protocol.estimate(reports).frequencies
    p, q = chances(kind, 6, eps)
    support = protocol.support(reports)
    assert found == pytest.approx((support / 4_000 - q) / (p - q), rel=1e-9)
    # Reports that carry each value as often as ours support it: their aggregator from the same counts.
    rows = [np.array([float(i < count) for count in support]) for i in range(4_000)]
    clipped = found.clip(0)
    theirs = peer.UE_Aggregator_MI(rows, eps, kind == "optimised")
    assert theirs == pytest.approx(clipped / clipped.sum(), rel=1e-9)


@pytest.mark.parametrize("eps", [0, -1, math.nan])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_levels_that_are_none_are_refused(protocol: str, eps: float) -> None:
    with pytest.raises(sv.SievertError):
        if protocol == "hashing":
            sv.protocols.local_hashing(10, eps)
        else:
            ours(protocol, 10, eps)


@pytest.mark.parametrize("eps", [0.5, 1.0, 4.0])
def test_epsilon_of_unary_encoding_and_of_direct_answers(eps: float) -> None:
    """Two values differ in two bits: ln(p(1-q)/(q(1-p))) is ε for both encodings."""
    for kind in ("optimised", "symmetric"):
        p, q = chances(kind, 4, eps)
        bit = sv.Channel([[1 - q, q], [1 - p, p]])
        two = np.outer(bit.matrix[1], bit.matrix[0]).ravel(), np.outer(bit.matrix[0], bit.matrix[1]).ravel()
        assert sv.epsilon(sv.Channel(np.array(two)), sv.metrics.line(2)).nats == pytest.approx(eps, rel=1e-9)
    assert sv.epsilon(
        sv.protocols.randomised_response(4, eps).channel(), sv.metrics.discrete(4)
    ).nats == pytest.approx(eps)
