"""Noisy codes: exact flips, soft signs that contain them, Laplace noise before the hash; channels."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

import sievert as sv
from sievert.errors import MechanismError, VectorError
from sievert.sampling import ReplayedBits, bit_flips
from sievert.vectors import (
    Codes,
    HyperplaneLSH,
    channel,
    laplace_channel,
    laplace_lsh,
    perturb,
    soft_sign,
)
from sievert.vectors._mechanisms import _logistic, _normal, one_chances


@pytest.mark.parametrize("eps", [0.1, 1.0, "5/2"])
def test_flips_have_their_probability(eps: object) -> None:
    """Chi-square over patterns of four neighbouring bits; a false alarm once in 10^5."""
    noisy = perturb(Codes.of(np.zeros((20_000, 8), dtype=int)), eps, insecure_rng=11)
    flip = 1 / (1 + math.exp(float(sv.sampling.bit_flips(eps).level.eps)))
    assert noisy.flip == pytest.approx(flip, rel=1e-15)
    patterns = noisy.coordinates().reshape(-1, 4) @ [1, 2, 4, 8]
    ones = np.bitwise_count(np.arange(16))
    expected = 40_000 * flip**ones * (1 - flip) ** (4 - ones)
    keep = expected > 5
    counts = np.bincount(patterns, minlength=16)
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    assert statistic < chi2.isf(1e-5, keep.sum())


def test_flips_are_exact_to_the_last_digit() -> None:
    """Words that follow the binary digits of p: the first that differs decides, wherever it stands."""
    sampler = bit_flips(1.0)
    p, _ = sampler._enclosure(200)
    digits = [p >> (199 - place) & 1 for place in range(200)]
    for differ in (3, 15, 40, 150):
        stream = list(digits)
        stream[differ] ^= 1
        words = [(2**64 - 1) * bit for bit in stream[:16]]
        rest = [int("".join(map(str, stream[start : start + 64])), 2) for start in range(16, 144, 64)]
        more = rest * 64 if differ >= 16 else []
        if differ == 150:
            rest.append(int("".join(map(str, (stream + [0] * 64)[144:208])), 2))
            more = rest * 64
        elif differ == 40:
            more = rest[:1] * 64
        flips = bit_flips(1.0, insecure_rng=ReplayedBits(words + more)).masks(1, 64)
        # U < p exactly where the digit of p is the 1.
        assert flips[0, 0] == (2**64 - 1 if digits[differ] else 0)


def test_flips_of_dyadic_probability_end() -> None:
    counts = np.bitwise_count(bit_flips(alpha="1/3", insecure_rng=1).masks(4000, 64)).sum()
    assert abs(int(counts) - 64_000) < 1400  # six standard deviations
    assert bit_flips(alpha=0, insecure_rng=1).masks(3, 64).sum() == 0
    assert bit_flips(0, insecure_rng=1).probability == 0.5
    fixed = bit_flips(1.0, timing="fixed", insecure_rng=1).masks(5, 70)
    assert (fixed[:, 1] >> np.uint64(6) == 0).all()


def test_more_values_are_replaced_uniformly() -> None:
    noisy = perturb(Codes.of(np.full((4000, 5), 2), values=5), 1.0, insecure_rng=3)
    counts = np.bincount(noisy.coordinates().ravel(), minlength=5) / 20_000
    expected = np.full(5, 1 / (math.e + 4))
    expected[2] *= math.e
    assert counts == pytest.approx(expected, abs=0.02)
    assert noisy.flip == pytest.approx(4 / (math.e + 4))


def test_channels() -> None:
    """Spec 13.2: min-capacity of the noise alone, and the product of coins."""
    small = channel(3, alpha="1/3")
    flips = np.bitwise_count(np.arange(8)[:, None] ^ np.arange(8)[None])
    assert small.matrix == pytest.approx(0.25**flips * 0.75 ** (3 - flips))
    assert float(sv.epsilon(channel(1, 0.7), sv.Policy.local([(0,), (1,)]))) == pytest.approx(0.7)
    eps = math.log((1 - 0.271125) / 0.271125)
    assert math.log2(float(sv.capacity(channel(16, eps)))) == pytest.approx(16 / 20 * 10.8749, abs=1e-4)
    assert bool(sv.refines(channel(2, 1.0), channel(2, 0.5))) and not bool(
        sv.refines(channel(2, 0.5), channel(2, 1.0))
    )
    with pytest.raises(VectorError, match="16 coordinates"):
        channel(17, 1.0)


def test_soft_signs_contain_response() -> None:
    hashed = HyperplaneLSH(4, 9, seed=2)
    x = np.random.default_rng(1).standard_normal((50, 4))
    chances, _ = one_chances(x, hashed, 0.0, "logistic", 0.8)
    sides = hashed.codes(x).coordinates() > 0
    assert chances == pytest.approx(np.where(sides, 1, math.exp(-0.8)) / (1 + math.exp(-0.8)))
    narrow, _ = one_chances(x, hashed, 1e-9, "gaussian", 0.8)
    assert narrow == pytest.approx(chances)


@pytest.mark.parametrize("noise", ["logistic", "gaussian"])
def test_soft_signs_have_their_probability(noise: str) -> None:
    hashed = HyperplaneLSH(3, 8, seed=2)
    x = np.tile([1.0, 2.0, -0.5], (20_000, 1))
    found = soft_sign(x, hashed, 0.7, noise=noise, insecure_rng=4).coordinates().mean(axis=0)
    chances, scaled = one_chances(x[:1], hashed, 0.7, noise, None)
    assert found == pytest.approx(chances[0], abs=0.02)  # Hoeffding: once in 10^6
    unit = x[0] / np.linalg.norm(x[0])
    assert scaled[0] == pytest.approx(hashed.planes @ unit / 0.7, rel=1e-6)
    clipped, _ = one_chances(x[:1], hashed, 0.1, noise, 0.5)
    assert np.abs(np.log(clipped / (1 - clipped))).max() == pytest.approx(0.5)


def test_coins_of_soft_signs_are_enclosed() -> None:
    for z in (-3.25, 0.0, 0.5, 40.0):
        low, high = _logistic(z)(120)
        assert low <= high <= low + 3
        assert low / 2**120 == pytest.approx(1 / (1 + math.exp(-z)), rel=1e-14)
        low, high = _normal(z, 120)
        assert high - low <= 2 and low / 2**120 == pytest.approx(
            0.5 * math.erfc(-z / math.sqrt(2)), rel=1e-14
        )


def test_soft_sign_is_private_by_distance() -> None:
    """Spec 13.1: |loss| ≤ |R·(x - x')|₁/scale for these very planes."""
    rng = np.random.default_rng(3)
    hashed = HyperplaneLSH(5, 6, seed=2)
    x, y = rng.standard_normal((2, 30, 5))
    y = x + 0.1 * y
    units = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y)]
    one, other = (one_chances(v, hashed, 0.4, "logistic", None)[0] for v in (x, y))
    worst = np.maximum(np.abs(np.log(one / other)), np.abs(np.log((1 - one) / (1 - other)))).sum(axis=1)
    bound = np.abs((units[0] - units[1]) @ hashed.planes.T).sum(axis=1) / 0.4
    assert (worst <= bound * (1 + 1e-6)).all()


@pytest.mark.parametrize("sampler", ["projected", "naive"])
def test_laplace_noise_has_the_closed_tail(sampler: str) -> None:
    """Spec 13.3, n = 3: P[noise along a unit direction > t] = e^(-εt)·(2 + εt)/4."""
    hashed, eps = HyperplaneLSH(3, 6, seed=7), 3.0
    x = np.tile([1.0, 2.0, 3.0], (20_000, 1))
    found = laplace_lsh(x, hashed, eps, sampler=sampler, insecure_rng=1).coordinates().mean(axis=0)
    t = hashed.planes @ (x[0] / np.linalg.norm(x[0])) / np.linalg.norm(hashed.planes, axis=1)
    tail = np.exp(-eps * np.abs(t)) * (2 + eps * np.abs(t)) / 4
    assert found == pytest.approx(np.where(t > 0, 1 - tail, tail), abs=0.02)


def test_samplers_of_laplace_noise_agree_jointly() -> None:
    """All eight cells of three correlated planes; a false alarm once in 10^5."""
    hashed = HyperplaneLSH(5, 3, seed=9)
    x = np.tile(np.arange(1.0, 6.0), (20_000, 1))
    counts = [
        np.bincount(
            laplace_lsh(x, hashed, 4.0, sampler=kind, insecure_rng=2).coordinates() @ [1, 2, 4], minlength=8
        )
        for kind in ("projected", "naive")
    ]
    total = counts[0] + counts[1]
    seen = total > 0
    statistic = ((counts[0] - counts[1])[seen] ** 2 / total[seen]).sum()
    assert statistic < chi2.isf(1e-5, seen.sum() - 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda h: soft_sign([1.0, 0, 0], h, 0.0), "clip is missing"),
        (lambda h: soft_sign([1.0, 0, 0], h, -1.0), "scale is -1.0"),
        (lambda h: soft_sign([0.0, 0, 0], h, 1.0), "zero"),
        (lambda h: soft_sign([1.0, 0, 0], "h", 1.0), "hashing"),
        (lambda h: soft_sign([1.0, 0, 0], h, 1.0, noise="laplace"), "noise is 'laplace'"),
        (lambda h: laplace_lsh([1.0, 0, 0], h, 0.0), "eps is 0.0"),
        (lambda h: laplace_lsh([1.0, 0, 0], h, 1.0, sampler="x"), "sampler"),
        (lambda h: perturb(perturb([[0, 1]], 1.0, insecure_rng=1), 1.0), "noisy already"),
        (lambda h: perturb([[0, 1]], -1.0), "eps is -1.0"),
        (lambda h: perturb([[0, 3]], 1.0), "from 0 to 1"),
    ],
)
def test_bad_input(call: object, words: str) -> None:
    with pytest.raises((VectorError, MechanismError), match=words):
        call(HyperplaneLSH(3, 8, seed=1))  # type: ignore[operator]


def test_channel_of_laplace_noise() -> None:
    """Spec 13.3: the closed tail in three dimensions; orthants of dependent planes against draws."""
    x = [[1.0, 2.0, 3.0], [1.0, -1.0, 0.5]]
    unit = np.array(x) / np.linalg.norm(x, axis=1, keepdims=True)
    single = HyperplaneLSH(3, 1, seed=7, orthogonal=True)
    t = unit @ (single.planes[0] / np.linalg.norm(single.planes[0]))
    tail = np.exp(-3 * np.abs(t)) * (2 + 3 * np.abs(t)) / 4
    assert laplace_channel(x, single, 3.0).matrix[:, 1] == pytest.approx(
        np.where(t > 0, 1 - tail, tail), abs=1e-8
    )
    for hashed, error in ((HyperplaneLSH(3, 3, 2, orthogonal=True), 0.02), (HyperplaneLSH(3, 3, 2), 0.02)):
        found = laplace_channel(x, hashed, 4.0).matrix
        drawn = laplace_lsh(np.repeat(x[:1], 20_000, axis=0), hashed, 4.0, insecure_rng=1).coordinates()
        assert found[0] == pytest.approx(np.bincount(drawn @ [1, 2, 4], minlength=8) / 20_000, abs=error)
        loss = np.abs(np.log(found[0] / found[1])).max()
        assert loss <= 4.0 * np.linalg.norm(unit[0] - unit[1])  # Prop 10.9
    with pytest.raises(VectorError, match="17 bits"):
        laplace_channel(x, HyperplaneLSH(3, 17, 1), 1.0)


def test_laplace_noise_is_charged_far_too_much() -> None:
    """E7: nominal ξ = 5, n = 100, d = 0.05, ten orthonormal planes: the real loss is a tenth of it."""
    angle = math.pi * 0.05
    pair = np.zeros((2, 100))
    pair[0, 0], pair[1, :2] = 1.0, (math.cos(angle), math.sin(angle))
    eps = 5 / (2 * math.sin(angle / 2))
    losses = []
    for seed in range(8):
        law = laplace_channel(pair, HyperplaneLSH(100, 10, seed, orthogonal=True), eps).matrix
        losses.append(np.abs(np.log(law[0] / law[1])).max())
    assert 0.2 < max(losses) < 0.6


def test_flip_rates_of_laplace_noise() -> None:
    """Spec 7.7: at the source's nominal budget nearly half of the bits flip, about atan(n/ε)/π."""
    table = {
        (100, 0.05): (0.4796, 0.4594, 0.4014, 0.3186, 0.2565),
        (100, 0.25): (0.4959, 0.4916, 0.4791, 0.4585, 0.4382),
        (500, 0.05): (0.4959, 0.4919, 0.4797, 0.4596, 0.4398),
        (1000, 0.05): (0.4979, 0.4959, 0.4898, 0.4797, 0.4697),
        (1000, 0.25): (0.4996, 0.4992, 0.4979, 0.4959, 0.4938),
    }
    for (n, d), rates in table.items():
        for xi, rate in zip((1, 2, 5, 10, 15), rates, strict=True):
            eps = xi / (2 * math.sin(math.pi * d / 2))
            assert math.atan(n / eps) / math.pi == pytest.approx(rate, abs=1.1e-3)
    hashed = HyperplaneLSH(100, 2000, seed=3)
    x = np.tile(np.eye(100)[0], (30, 1))
    eps = 10 / (2 * math.sin(math.pi * 0.05 / 2))
    drawn = laplace_lsh(x, hashed, eps, sampler="naive", insecure_rng=1)
    assert drawn.distances(hashed.codes(x[:1])).mean() / 2000 == pytest.approx(0.3186, abs=0.01)


@pytest.mark.parametrize("logit", [20.0, 800.0, 5000.0])
def test_soft_signs_that_are_almost_certain_have_a_finite_loss(logit: float) -> None:
    hashed = sv.vectors.HyperplaneLSH(2, 1, seed=7)
    first = hashed.projections(np.array([[1.0, 0.0]]))[0, 0]
    # Opposite vectors: the log-odds of the one bit are ±logit.
    scale = abs(float(first)) / logit
    found = sv.vectors.soft_sign_channel([[1.0, 0.0], [-1.0, 0.0]], hashed, scale)
    assert sv.epsilon(found, sv.metrics.discrete(2)).nats == pytest.approx(logit)
    assert np.isfinite(found.log_matrix).all()
    clipped = sv.vectors.soft_sign_channel([[1.0, 0.0], [-1.0, 0.0]], hashed, 0, clip=logit)
    assert sv.epsilon(clipped, sv.metrics.discrete(2)).nats == pytest.approx(logit)
