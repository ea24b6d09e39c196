"""Agreement with libqif on random channels, dense and sparse."""

import math
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

import sievert as sv

FloatArray = NDArray[np.float64]


@pytest.fixture(scope="module")
def qif(oracle: Callable[[str], ModuleType]) -> ModuleType:
    return oracle("qif")


def instances(count: int = 40) -> Iterator[tuple[np.random.Generator, FloatArray, FloatArray]]:
    """Random priors and channels of many shapes; every second one is sparse."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 9, size=2)
        matrix = rng.dirichlet(np.ones(m), n)
        if seed % 2 and m > 1:
            matrix[rng.random(matrix.shape) < 0.3] = 0
            matrix[:, 0] += 1 - matrix.sum(axis=1)
        yield rng, rng.dirichlet(np.ones(n)), matrix


def test_bayes_vulnerability_and_leakage(qif: ModuleType) -> None:
    bayes = qif.measure.bayes_vuln
    for _, prior, matrix in instances():
        found = sv.leakage(sv.Channel(matrix), prior)
        assert found.prior == pytest.approx(bayes.prior(prior), rel=1e-12)
        assert found.posterior == pytest.approx(bayes.posterior(prior, matrix), rel=1e-12)
        assert found.factor == pytest.approx(bayes.mult_leakage(prior, matrix), rel=1e-12)
        assert found.difference == pytest.approx(bayes.add_leakage(prior, matrix), abs=1e-12)
        assert found.bits == pytest.approx(bayes.min_entropy_leakage(prior, matrix), abs=1e-12)
        assert float(sv.capacity(sv.Channel(matrix))) == pytest.approx(bayes.mult_capacity(matrix), rel=1e-12)


def test_g_vulnerability(qif: ModuleType) -> None:
    for rng, prior, matrix in instances():
        gain = rng.random((5, len(prior)))
        found = sv.leakage(sv.Channel(matrix), prior, gain)
        assert found.prior == pytest.approx(qif.measure.g_vuln.prior(gain, prior), rel=1e-12)
        assert found.posterior == pytest.approx(qif.measure.g_vuln.posterior(gain, prior, matrix), rel=1e-12)
        assert found.factor == pytest.approx(qif.measure.g_vuln.mult_leakage(gain, prior, matrix), rel=1e-12)
        additive = qif.measure.g_vuln.add_leakage(gain, prior, matrix)
        assert found.difference == pytest.approx(additive, abs=1e-12)
        strategy = qif.measure.g_vuln.strategy(gain, prior, matrix)
        ours = sv.gains.strategy(sv.Channel(matrix), prior, gain)
        joint = prior[:, None] * matrix
        for y, action in ours.items():
            if action is not None:
                assert gain[action] @ joint[:, y] == pytest.approx(gain[strategy[y]] @ joint[:, y])


def test_l_risk(qif: ModuleType) -> None:
    for rng, prior, matrix in instances():
        loss = rng.random((4, len(prior)))
        found = sv.leakage(sv.Channel(matrix), prior, sv.losses.matrix(loss))
        assert found.prior == pytest.approx(qif.measure.l_risk.prior(loss, prior), rel=1e-12)
        assert found.posterior == pytest.approx(qif.measure.l_risk.posterior(loss, prior, matrix), rel=1e-12)
        additive = qif.measure.l_risk.add_leakage(loss, prior, matrix)
        assert found.difference == pytest.approx(abs(additive), abs=1e-12)


def test_guessing_entropy(qif: ModuleType) -> None:
    for _, prior, matrix in instances():
        found = sv.leakage(sv.Channel(matrix), prior, sv.losses.guessing(len(prior)))
        assert found.prior == pytest.approx(qif.measure.guessing.prior(prior), rel=1e-12)
        assert found.posterior == pytest.approx(qif.measure.guessing.posterior(prior, matrix), rel=1e-12)


def test_shannon_entropy(qif: ModuleType) -> None:
    for _, prior, matrix in instances():
        found = sv.leakage(sv.Channel(matrix), prior, sv.losses.shannon(len(prior)), kind="additive")
        assert found.prior == pytest.approx(qif.measure.shannon.prior(prior), rel=1e-12, abs=1e-14)
        expected = qif.measure.shannon.posterior(prior, matrix)
        assert found.posterior == pytest.approx(expected, rel=1e-11, abs=1e-13)
        assert found.difference == pytest.approx(qif.measure.shannon.add_leakage(prior, matrix), abs=1e-12)


def test_exact_arithmetic(qif: ModuleType) -> None:
    """Fractions in, fractions out, as in qif's rational mode."""
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/4", "3/4"], [0, "1/2", "1/2"]])
    prior = sv.uniform(3)
    assert channel.exact is not None
    assert sv.posterior_vulnerability(channel, prior).value == qif.measure.bayes_vuln.posterior(
        prior, channel.exact
    )


def test_smallest_epsilon_and_privacy_vulnerability(qif: ModuleType) -> None:
    for rng, prior, matrix in instances():
        n = len(prior)
        points = rng.random((n, 2))
        for metric in (sv.metrics.line(n), sv.metrics.euclidean(points), sv.metrics.discrete(n)):
            distances = metric.matrix

            def d(a: int, b: int, table: FloatArray = distances) -> float:
                return float(table[a, b])

            channel = sv.Channel(matrix, inputs=metric.points)
            expected = qif.measure.d_privacy.smallest_epsilon(matrix, d)
            assert sv.epsilon(channel, metric).nats == pytest.approx(expected, rel=1e-10)
            expected = qif.measure.d_privacy.prior(prior, d) if n > 1 else 0.0
            assert sv.divergences.privacy_vulnerability(prior, metric) == pytest.approx(expected, rel=1e-10)


def test_reduced_channels_and_hypers(qif: ModuleType) -> None:
    for rng, prior, matrix in instances():
        doubled = np.column_stack([matrix / 2, matrix / 2])[:, rng.permutation(2 * matrix.shape[1])]
        ours = sv.Channel(doubled)
        theirs = sv.Channel(qif.channel.reduced(doubled), normalise=True)
        assert ours.reduced(1e-9).shape == theirs.shape
        assert ours.is_equivalent(theirs, tolerance=1e-9)
        outers, inners = qif.channel.hyper(doubled, prior)
        hyper = ours.hyper(prior)
        assert len(hyper) == len(outers)
        assert sorted(hyper.outers) == pytest.approx(sorted(outers))
        assert hyper.outers @ hyper.inners == pytest.approx(inners @ outers)


@pytest.mark.parametrize("eps", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_mechanisms(qif: ModuleType, n: int, eps: float) -> None:
    """qif's geometric, randomised response, exponential (metric scaled by ε) and tight constraints."""
    peer = qif.mechanism.d_privacy
    ours = sv.mechanisms
    line = sv.metrics.line(n)

    def scaled(a: int, b: int) -> float:
        return eps * abs(a - b)

    assert ours.truncated_geometric(n, eps).matrix == pytest.approx(peer.geometric(n, eps), rel=1e-12)
    clamped = ours.truncated_geometric(points=range(2, n + 2), eps=eps, outputs=range(-1, 3))
    assert clamped.matrix == pytest.approx(peer.geometric(n, eps, 4, 2, -1), rel=1e-12)
    assert ours.randomised_response(n, eps).matrix == pytest.approx(
        peer.randomized_response(n, eps), rel=1e-12
    )
    wider = ours.randomised_response(n, eps, outputs=range(n + 2))
    assert wider.matrix == pytest.approx(peer.randomized_response(n, eps, n + 2), rel=1e-12)
    assert ours.exponential(line, eps).matrix == pytest.approx(peer.exponential(n, scaled), rel=1e-12)
    assert ours.tight_constraints(line, eps).matrix == pytest.approx(
        peer.tight_constraints(n, scaled), rel=1e-9
    )


def test_our_levels_survive_where_floats_underflow(qif: ModuleType) -> None:
    """TG of 800 inputs at ε = 2: as a float matrix it is no longer private at all."""
    matrix = qif.mechanism.d_privacy.geometric(800, 2.0)
    assert matrix.min() == 0
    assert sv.epsilon(sv.Channel(matrix), sv.metrics.line(800)).nats == math.inf
    ours = sv.mechanisms.truncated_geometric(800, 2.0)
    assert sv.epsilon(ours, sv.metrics.line(800)).nats == pytest.approx(2)
