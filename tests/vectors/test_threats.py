"""Soft signs' account, re-identification by somebody who knows all vectors, planes nearby, number of bits."""

import math
from typing import Any

import numpy as np
import pytest

from sievert.errors import VectorError
from sievert.sampling import bit_source
from sievert.vectors import (
    Codes,
    HyperplaneLSH,
    LaplaceHash,
    NoisyHash,
    SoftSigns,
    accountant,
    angular_distance,
    calibrate_soft_sign,
    choose_bits,
    exposed_planes,
    mechanism_frontier,
    reidentification,
    reidentification_of_chances,
    soft_sign_accountant,
    synthetic_ratings,
)
from sievert.vectors import _threats as threats

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("bits", "distance", "xi", "scale", "simulated"),
    [(10, 0.05, 1, 0.353, 0.00924), (20, 0.05, 5, 0.096, 0.01099), (20, 0.25, 2, 1.86, None)],
)
def test_calibrated_soft_signs(
    bits: int, distance: float, xi: float, scale: float, simulated: float | None
) -> None:
    """Spec 13.1: δ is near 0.01 at the printed scales; two million draws of the loss agree to 1 %."""
    found = soft_sign_accountant(bits, distance, scale).delta(xi)
    assert 0.009 < found < 0.0112
    if simulated is not None:
        assert found == pytest.approx(simulated, rel=0.02)


def test_soft_signs_account_contains_response() -> None:
    soft, hard = soft_sign_accountant(20, 0.1, 0.02, clip=1.0), accountant(20, 0.1, 1.0)
    assert soft.delta(2.0) == pytest.approx(hard.delta(2.0), rel=0.03)
    assert soft.mean == pytest.approx(hard.mean, rel=0.06) and soft.worst == hard.worst
    assert soft.delta(soft.xi(0.01)) <= 0.01 and not soft.exact
    assert soft_sign_accountant(20, 0.0, 0.5).delta(0.0) == 0
    gauss = soft_sign_accountant(10, 0.1, 0.6, noise="gaussian")
    assert gauss.delta(1.0) > soft_sign_accountant(10, 0.1, 0.6).delta(1.0)


def test_soft_signs_are_calibrated_backwards() -> None:
    scale = calibrate_soft_sign(10, 0.25, 2.0, 0.01)
    assert soft_sign_accountant(10, 0.25, scale).delta(2.0) <= 0.01
    assert soft_sign_accountant(10, 0.25, scale * 0.99).delta(2.0) > 0.01


def test_reidentification_against_all_outputs() -> None:
    codes = Codes.of(RNG.integers(0, 2, (40, 8)))
    rows = codes.coordinates()
    for eps in (0.0, 0.7, 3.0):
        flip = 1 / (1 + math.exp(eps))
        outputs = (np.arange(256)[:, None] >> np.arange(8)) & 1
        distances = (outputs[:, None] != rows[None]).sum(axis=2)
        law = flip**distances * (1 - flip) ** (8 - distances)
        expected = law.max(axis=1).sum() / 40
        found = reidentification(codes, eps)
        assert found.exact and found.value == pytest.approx(expected)
        chances = np.where(rows > 0, 1 - flip, flip)
        assert reidentification_of_chances(chances).value == pytest.approx(expected)
    assert reidentification(codes, 0.0).value == pytest.approx(1 / 40)
    assert reidentification(codes, math.inf).value == len({tuple(row) for row in rows}) / 40
    assert "re-identifies" in str(found)


def test_simulated_reidentification_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within five standard errors of the exact value."""
    codes = Codes.of(RNG.integers(0, 2, (60, 10)))
    exact = reidentification(codes, 1.0)
    value, deviation = threats._simulated(codes, 1.0, 4000, 1)
    assert abs(value - exact.value) < 5 * deviation
    monkeypatch.setattr(threats, "LARGEST_LIST", 1000)
    flip = 1 / (1 + math.e)
    drawn = reidentification_of_chances(
        np.where(codes.coordinates() > 0, 1 - flip, flip) + RNG.random((60, 10)) * 1e-6
    )
    assert not drawn.exact and abs(drawn.value - exact.value) < 5 * drawn.deviation
    assert not reidentification(Codes.of(RNG.integers(0, 2, (20, 64))), 1.0, draws=100).exact


def test_example_10_1() -> None:
    """Secrets (0,1), (1,0), (1,1) and one plane: six hashes; posterior vulnerability 1/2, 5/12 with noise."""
    secrets = np.array([[0.0, 1], [1, 0], [1, 1]])
    planes = HyperplaneLSH(2, 40_000, seed=5)
    columns, counts = np.unique(planes.codes(secrets).coordinates().T, axis=0, return_counts=True)
    expected = {
        (1, 0, 0): 1 / 8,
        (0, 1, 1): 1 / 8,
        (1, 0, 1): 1 / 8,
        (0, 1, 0): 1 / 8,
        (1, 1, 1): 1 / 4,
        (0, 0, 0): 1 / 4,
    }
    found = {tuple(map(int, column)): count / 40_000 for column, count in zip(columns, counts, strict=True)}
    assert found == pytest.approx(expected, abs=0.014)
    for eps, posterior in ((math.inf, 1 / 2), (math.log(3), 5 / 12)):
        value = sum(p * float(reidentification(np.array([h]).T, eps)) for h, p in expected.items())
        assert value == pytest.approx(posterior)
    entropy = sum(p * (math.log2(3) - 2 / 3 if len(set(h)) == 2 else 0) for h, p in expected.items())
    assert entropy == pytest.approx(0.459147917, abs=5e-10)


def test_planes_nearby_bound_the_loss() -> None:
    """Spec 12.8: eps times the count bounds the realised loss against everybody within the distance."""
    hashed = HyperplaneLSH(3, 50, seed=6)
    x = np.array([[1.0, 2.0, 3.0]])
    near = exposed_planes(hashed, x, 0.1)[0]
    others = x + 0.6 * RNG.standard_normal((400, 3))
    inside = angular_distance(x, others)[0] <= 0.1
    assert inside.sum() > 50
    realised = hashed.codes(x).distances(hashed.codes(others[inside]))
    assert realised.max() <= near < 50


def test_number_of_bits() -> None:
    found = choose_bits(0.05, 5.0, 0.01, near=0.2, far=0.45, bits=[8, 32, 128])
    assert found.bits in found.tried and found.success.max() < 1
    assert (found.eps[:-1] > found.eps[1:]).all()
    assert choose_bits(0.05, 200.0, 0.01, near=0.2, far=0.45, bits=[8, 32, 128]).bits == 128


def test_mechanisms_of_files() -> None:
    hashed = HyperplaneLSH(3, 10, seed=6)
    x = RNG.standard_normal((30, 3))
    response, soft = NoisyHash(hashed, 1.0), SoftSigns(hashed, 0.5, clip=2.0)
    assert response.worst() == 10 and soft.worst() == 20
    assert response.xi(0.1, 0.01) == accountant(10, 0.1, 1.0).xi(0.01)
    assert response.threat(x).exact and soft.threat(x).value > 1 / 30
    assert float(SoftSigns(hashed, 0.5).worst()) > np.linalg.norm(hashed.planes, axis=1).sum() * 4 * 0.999
    laplace = LaplaceHash(hashed, 4.0)
    assert laplace.worst() == 8 and laplace.xi(1.0, 0.0) == pytest.approx(8.0)
    for mechanism in (response, soft, laplace):
        assert len(mechanism.noisy(x, bit_source(1))) == 30
        assert mechanism.words()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda h: LaplaceHash(h, 1.0).threat([[1.0, 0, 0]]), "dependent"),
        (lambda h: NoisyHash(HyperplaneLSH(3, 3, 1, orthogonal=True), 1.0).xi(0.1, 0.1), "orthogonal"),
        (lambda h: SoftSigns(h, 1.0, "gaussian").worst(), "clip"),
        (lambda h: reidentification([[0, 1]], -1.0), "eps is -1.0"),
        (lambda h: reidentification_of_chances([[1.5]]), "probabilities"),
        (lambda h: choose_bits(0.05, 1.0, 0.01, 0.1, 0.4, bits=[]), "bits is empty"),
        (lambda h: soft_sign_accountant(10, 0.1, 0.001), "scales from 0.01"),
        (lambda h: calibrate_soft_sign(10, 0.1, 1.0, 0.0), "delta is 0"),
        (lambda h: exposed_planes(h, [[1.0, 0, 0]], 2.0), "distance is 2.0"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    with pytest.raises(VectorError, match=words):
        call(HyperplaneLSH(3, 8, seed=1))


def test_the_frontier_of_mechanisms() -> None:
    """Spec 13.1, 13.2 and E7: at equal ξ for close pairs soft signs lose less and tell more about people."""
    people = synthetic_ratings(300, 100, rng=2)
    found = mechanism_frontier(people, HyperplaneLSH(100, 14, seed=7), [2.0], k=10)
    response, soft, laplace = found.points
    assert found.plain < soft.loss < response.loss <= laplace.loss + 0.01
    assert laplace.loss == pytest.approx(found.random, abs=0.01)
    assert response.reidentified < soft.reidentified < found.plain_reidentified
    assert "soft-sign at 2 nats" in str(soft)


def test_synthetic_people_are_like_those_of_the_spec() -> None:
    """Spec 10: the nearest neighbour of 943 users at 0.187 and pairs at 0.297, for 100 items."""
    people = synthetic_ratings(943, 100, rng=3)
    angles = angular_distance(people)
    np.fill_diagonal(angles, np.nan)
    assert np.nanmean(np.nanmin(angles, axis=1)) == pytest.approx(0.187, abs=0.02)
    assert np.nanmean(angles) == pytest.approx(0.297, abs=0.03)
    assert set(np.unique(people.data)) == {1, 2, 3, 4, 5} and people.dtype == np.float32
