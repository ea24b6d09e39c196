"""The law of every sampler, by chi-square at a false-alarm rate of 1e-6 (fixed seeds), and its edge cases."""

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, kstest

import sievert as sv
from sievert import sampling
from sievert.errors import MechanismError
from sievert.sampling import floats

Fits = Callable[[Any, Any], bool]
TIMINGS = ["fixed", "fast"]
SIZE = 200_000


def two_sided(noise: Any, law: Callable[[Any], Any], reach: int) -> tuple[Any, Any]:
    """Counts and probabilities on -reach…reach; the rest is the law's tail."""
    z = np.arange(-reach, reach + 1)
    inside = noise[np.abs(noise) <= reach]
    counts = np.bincount(inside + reach, minlength=2 * reach + 1)
    beyond = len(noise) - len(inside)
    probabilities = law(z)
    return np.append(counts, beyond), np.append(probabilities, max(0.0, 1 - probabilities.sum()))


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("eps", ["1", "1/3", "7/5", "1/100", "20", "1/1000"])
def test_discrete_laplace(eps: str, timing: Any, fits: Fits) -> None:
    rate = float(F(eps))
    sampler = sampling.discrete_laplace(eps, timing=timing, insecure_rng=11)
    noise = sampler.noise(SIZE)
    counts, law = two_sided(
        noise, lambda z: math.tanh(rate / 2) * np.exp(-rate * abs(z)), math.ceil(12 / rate)
    )
    assert fits(counts, law)
    # 2λ/(1-λ)²; the mean of |Z|² has a relative deviation of √5/√SIZE.
    ratio = math.exp(-rate)
    assert sampler.variance == pytest.approx(2 * ratio / (1 - ratio) ** 2)
    if rate < 5:
        assert np.mean(noise.astype(float) ** 2) == pytest.approx(
            sampler.variance, rel=6 * math.sqrt(5 / SIZE)
        )


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("alpha", ["1/2", "1/4", "99/100", "1/3", "9999/10000"])
def test_two_sided_geometric(alpha: str, timing: Any, fits: Fits) -> None:
    ratio = float(F(alpha))
    noise = sampling.discrete_laplace(alpha=alpha, timing=timing, insecure_rng=12).noise(SIZE)
    counts, law = two_sided(
        noise, lambda z: (1 - ratio) / (1 + ratio) * ratio ** np.abs(z), math.ceil(-12 / math.log(ratio))
    )
    assert fits(counts, law)


@pytest.mark.parametrize("eps", [F(1, 10**4), F(1, 10**6), F(1, 2**40)])
def test_tiny_rates_by_quantiles(eps: F, fits: Fits) -> None:
    """200 bins of equal probability under the continuous law, exact to ε."""
    noise = sampling.discrete_laplace(eps, timing="fast", insecure_rng=13).noise(SIZE)
    scaled = (noise + 0.5) * float(eps)
    uniform = np.where(scaled < 0, np.exp(scaled) / 2, 1 - np.exp(-scaled) / 2)
    assert fits(np.bincount((uniform * 200).astype(int), minlength=200), np.full(200, 1 / 200))


def test_noise_beyond_64_bits_is_refused_or_clamped() -> None:
    with pytest.raises(MechanismError, match=r"above 2\^50.*larger units"):
        sampling.discrete_laplace(F(1, 2**51))
    wide = sampling.discrete_laplace(F(1, 2**50), insecure_rng=1)
    ends = wide.draw([2**61] * 1000)
    assert ends.max() == 2**61
    assert (np.abs(ends) <= 2**61).all()


def test_limits_of_eps() -> None:
    assert (sampling.discrete_laplace(math.inf).noise(5) == 0).all()
    assert (sampling.discrete_laplace("inf").noise(5) == 0).all()
    assert (sampling.discrete_laplace(alpha=0).draw([3, 4]) == [3, 4]).all()
    assert (sampling.discrete_laplace(1000).noise(1000) == 0).all()
    with pytest.raises(MechanismError, match="eps is 0; noise on all integers"):
        sampling.discrete_laplace(0)
    nothing = sampling.truncated_geometric(5, 0, insecure_rng=1).draw(np.arange(1000) % 5)
    assert set(nothing.tolist()) == {0, 4}
    assert abs((nothing == 0).mean() - 0.5) < 0.09
    assert (sampling.truncated_geometric(5, math.inf).draw(np.arange(5)) == np.arange(5)).all()
    assert (sampling.truncated_geometric(1, 1).draw([0, 0]) == 0).all()
    assert set(sampling.irregular_geometric([0, 2, 9], 0).draw(np.zeros(200, int)).tolist()) == {0, 2}
    assert (sampling.irregular_geometric([0, 2, 9], math.inf).draw([2, 1]) == [2, 1]).all()
    assert (sampling.irregular_geometric([7], 1).draw([0, 0]) == 0).all()
    assert (sampling.randomised_response(4, math.inf).draw([3, 1]) == [3, 1]).all()
    assert (sampling.randomised_response(1, 1).draw([0]) == [0]).all()
    assert (sampling.discrete_gaussian(0).noise(3) == 0).all()
    assert len(sampling.discrete_laplace(1).noise(0)) == 0
    assert sampling.randomised_response(4, 1).draw([]).tolist() == []
    assert sampling.planar_geometric(1).noise(0).shape == (0, 2)
    assert sampling.pixelated_laplace(4, 1, denominator=4).draw([]).tolist() == []


def test_uniform_response(fits: Fits) -> None:
    for timing in TIMINGS:
        drawn = sampling.randomised_response(6, 0, timing=timing, insecure_rng=5).draw(np.zeros(60_000, int))  # type: ignore[arg-type]
        assert fits(np.bincount(drawn), np.full(6, 1 / 6))


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(("n", "eps"), [(3, 1), (101, 1), (5, F(1, 10)), (40, F(1, 1000))])
def test_truncated_geometric(n: int, eps: F, timing: Any, fits: Fits) -> None:
    law = sv.mechanisms.truncated_geometric(n, float(eps)).rounded()
    sampler = sampling.truncated_geometric(n, eps, timing=timing, insecure_rng=14)
    for x in {0, n // 2, n - 1}:
        assert fits(np.bincount(sampler.draw(np.full(SIZE // 2, x)), minlength=n), law[x])


@pytest.mark.parametrize("timing", TIMINGS)
def test_irregular_geometric(timing: Any, fits: Fits) -> None:
    points = [F(0), F(1), F(3), F(7, 2), F(10)]
    law = sv.mechanisms.truncated_geometric(points=[float(p) for p in points], eps=0.5).rounded()
    sampler = sampling.irregular_geometric(points, "1/2", timing=timing, insecure_rng=15)
    for x in range(5):
        assert fits(np.bincount(sampler.draw(np.full(50_000, x)), minlength=5), law[x])
    exact = sv.mechanisms.truncated_geometric(points=[0, 1, 3, 8], alpha="1/3").rounded()
    sampler = sampling.irregular_geometric([0, 1, 3, 8], alpha="1/3", timing=timing, insecure_rng=15)
    for x in range(4):
        assert fits(np.bincount(sampler.draw(np.full(50_000, x)), minlength=4), exact[x])


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(
    ("n", "eps"), [(2, 1), (7, F(1, 10)), (100, 5), (3000, 3), (1500, 20), (9, 60), (2000, 40)]
)
def test_randomised_response(n: int, eps: Any, timing: Any, fits: Fits) -> None:
    spread = math.exp(eps) + n - 1
    law = np.full(n, 1 / spread)
    law[1] = math.exp(eps) / spread
    drawn = sampling.randomised_response(n, eps, timing=timing, insecure_rng=16).draw(np.full(SIZE, 1))
    assert fits(np.bincount(drawn, minlength=n), law)


def test_response_of_a_half() -> None:
    """λ = 1/2 among three values: 1/2, 1/4, 1/4 (Fernandes 4, 7.10)."""
    channel = sv.mechanisms.randomised_response(3, alpha="1/2")
    assert channel.exact is not None
    assert channel.exact[0].tolist() == [F(1, 2), F(1, 4), F(1, 4)]


@pytest.mark.parametrize("timing", TIMINGS)
def test_rational_rows(timing: Any, fits: Fits) -> None:
    rng = np.random.default_rng(6)
    weights = rng.integers(0, 30, (20, 40)) * (rng.random((20, 40)) < 0.7)
    weights[:, 5] += 1
    matrix = [[F(int(w), int(row.sum())) for w in row] for row in weights]
    sampler = sampling.rational_rows(matrix, timing=timing, insecure_rng=17)
    inputs = np.arange(400_000) % 20
    drawn = sampler.draw(inputs)
    for x in range(20):
        assert fits(np.bincount(drawn[inputs == x], minlength=40), np.array(matrix[x], dtype=float))


def test_degenerate_rows() -> None:
    sampler = sampling.rational_rows([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert (sampler.draw([0, 1, 2, 0]) == [1, 0, 2, 1]).all()
    assert (sampling.rational_rows([[1], [1]]).draw([0, 1]) == 0).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["1/2", "1/3"]], "row 0 sums to 5/6"),
        ([["3/2", "-1/2"]], "row 0 holds -1/2"),
        ([["x", 1]], "matrix: 'x'"),
    ],
)
def test_bad_rows(rows: Any, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        sampling.rational_rows(rows)


@pytest.mark.parametrize("timing", TIMINGS)
def test_exponential_rows(timing: Any, fits: Fits) -> None:
    metric = sv.metrics.euclidean([[0, 0], [1, 0], [0, 2], [3, 3]])
    law = sv.mechanisms.exponential(metric, 1.5).rounded()
    sampler = sampling.exponential_rows(metric.matrix, "3/4", timing=timing, insecure_rng=18)
    for x in range(4):
        assert fits(np.bincount(sampler.draw(np.full(50_000, x)), minlength=4), law[x])
    far = sampling.exponential_rows([[0, math.inf], [2000, 0]], 1)
    assert far.draw([0, 1]).tolist() == [0, 1]


def pixel_law(x: float, pixels: int, eps: float) -> Any:
    """^T L(x): masses of the clamped Laplace density in each pixel (Fernandes 4, 2.5)."""
    edges = np.arange(1, pixels) / pixels - x
    below = np.where(edges < 0, np.exp(np.minimum(eps * edges, 0)) / 2, 1 - np.exp(-np.abs(eps * edges)) / 2)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(
    ("x", "pixels", "eps"),
    [
        (F(1, 3), 8, F(5, 2)),
        (F(0), 16, F(1)),
        (F(1), 5, F(30)),
        (F(1, 2), 4, F(1, 1000)),
        (F(3, 7), 64, F(4)),
        (F(1, 2), 2, F(1, 10**6)),
    ],
)
def test_pixelated_laplace(x: F, pixels: int, eps: F, timing: Any, fits: Fits) -> None:
    law = pixel_law(float(x), pixels, float(eps))
    sampler = sampling.pixelated_laplace(
        pixels, eps, denominator=x.denominator, timing=timing, insecure_rng=19
    )
    drawn = sampler.draw(np.full(100_000, x.numerator))
    assert fits(np.bincount(drawn, minlength=pixels), law)
    one_by_one = sampling.pixelated_laplace(pixels, eps, timing=timing, insecure_rng=20)
    assert fits(np.bincount(one_by_one.draw([x] * 5000), minlength=pixels), law)


def test_pixels_of_an_interval(fits: Fits) -> None:
    sampler = sampling.pixelated_laplace(10, "1/20", low=-40, high=60, insecure_rng=21)
    assert sampler.centres().tolist() == [-35 + 10 * k for k in range(10)]
    drawn = sampler.draw([10.0] * 10_000)
    assert fits(np.bincount(drawn, minlength=10), pixel_law(0.5, 10, 5.0))
    assert (sampling.pixelated_laplace(1, 1, denominator=3).draw([0, 3]) == 0).all()
    assert (sampling.pixelated_laplace(4, math.inf, denominator=4).draw([0, 1, 4]) == [0, 1, 3]).all()
    assert set(sampling.pixelated_laplace(4, 0, denominator=4).draw([1] * 99).tolist()) == {0, 3}
    with pytest.raises(MechanismError, match=r"61.0 is not from -40 to 60; clamp"):
        sampler.draw([61.0])


def test_pixels_beyond_64_bits(fits: Fits) -> None:
    """A denominator too large for 64-bit arithmetic takes Python integers, and the same law."""
    big = 10**15
    sampler = sampling.pixelated_laplace(1000, "123456789/1000000", denominator=big, insecure_rng=22)
    drawn = sampler.draw([big // 3] * 20_000)
    law = pixel_law((big // 3) / big, 1000, 123.456789)
    assert fits(np.bincount(drawn, minlength=1000), law)


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("eps", [F(1), F(1, 2), F(3), F(1, 10)])
def test_planar_geometric(eps: F, timing: Any, fits: Fits) -> None:
    sampler = sampling.planar_geometric(eps, timing=timing, insecure_rng=23)
    noise = sampler.noise(SIZE)
    reach = math.ceil(8 / float(eps))
    side = np.arange(-60 * reach // 8, 60 * reach // 8 + 1)
    weights = np.exp(-float(eps) * np.hypot(side[:, None], side[None, :]))
    law = weights / weights.sum()
    middle = len(side) // 2
    window = slice(middle - reach, middle + reach + 1)
    inside = noise[(np.abs(noise) <= reach).all(axis=1)] + reach
    counts = np.bincount(inside[:, 0] * (2 * reach + 1) + inside[:, 1], minlength=(2 * reach + 1) ** 2)
    probabilities = law[window, window].ravel()
    assert fits(
        np.append(counts, len(noise) - len(inside)), np.append(probabilities, 1 - probabilities.sum())
    )
    assert sampler.variance == pytest.approx((law * side[:, None] ** 2).sum(), rel=1e-6)


def test_planar_clamped_to_a_square(fits: Fits) -> None:
    """{0, 1, 2}² from its centre, ε = 1 (Fernandes 4, 7.9)."""
    sampler = sampling.planar_geometric(1, bounds=((0, 2), (0, 2)), insecure_rng=24)
    drawn = sampler.draw(np.ones((SIZE, 2), dtype=int))
    corner, edge, centre = 0.122146026381, 0.0894352376844, 0.153674943737
    law = [corner, edge, corner, edge, centre, edge, corner, edge, corner]
    assert math.isclose(sum(law), 1, abs_tol=1e-9)
    assert fits(np.bincount(drawn[:, 0] * 3 + drawn[:, 1], minlength=9), law)


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("sigma", [F(1, 3), F(1), F(7, 2), F(50), F(1500), F(10**6)])
def test_discrete_gaussian(sigma: F, timing: Any, fits: Fits) -> None:
    width = float(sigma)
    noise = sampling.discrete_gaussian(sigma, timing=timing, insecure_rng=25).noise(SIZE)
    if width < 1000:
        reach = math.ceil(9 * width)
        z = np.arange(-2 * reach, 2 * reach + 1)
        total = np.exp(-(z**2) / (2 * width**2)).sum()
        assert fits(*two_sided(noise, lambda z: np.exp(-(z**2) / (2 * width**2)) / total, reach))
    else:
        from scipy.special import ndtr

        bins = (ndtr((noise + 0.5) / width) * 100).astype(int)
        assert fits(np.bincount(bins, minlength=100), np.full(100, 0.01))


@pytest.mark.parametrize("timing", TIMINGS)
def test_coins(timing: Any, fits: Fits) -> None:
    for gamma in (F(0), F(1, 2), F(1), F(3), F(100)):
        coin = sampling.bernoulli_exp(gamma, timing=timing, insecure_rng=26)
        chance = math.exp(-gamma)
        assert coin.chance == pytest.approx(chance)
        assert fits(np.bincount(coin.noise(SIZE), minlength=2), [1 - chance, chance])
    for p in (F(0), F(1, 4), F(2, 3), F(1)):
        drawn = sampling.bernoulli(p, timing=timing, insecure_rng=27).noise(SIZE)
        assert fits(np.bincount(drawn, minlength=2), [float(1 - p), float(p)])


def test_sign_and_size_are_independent(fits: Fits) -> None:
    """The digits and the sign read different words."""
    noise = sampling.discrete_laplace("1/2000", insecure_rng=28).noise(SIZE)
    sign, digit = noise < 0, np.where(noise < 0, -1 - noise, noise) & 3
    table = np.bincount(2 * digit + sign, minlength=8) / SIZE
    expected = np.outer(table.reshape(4, 2).sum(axis=1), table.reshape(4, 2).sum(axis=0)).ravel()
    assert fits(table * SIZE, expected)


@pytest.mark.parametrize("timing", TIMINGS)
def test_privacy_is_not_exceeded(timing: Any) -> None:
    """Clopper-Pearson bounds of P_x(E)/P_x'(E), over the events Y = y and Y ≤ y (7.11, test 4)."""
    eps, size = 0.5, SIZE
    sampler = sampling.truncated_geometric(8, "1/2", timing=timing, insecure_rng=29)
    first, second = sampler.draw(np.full(size, 3)), sampler.draw(np.full(size, 4))
    worst = 0.0
    alarm = 1e-6 / 64
    for y in range(8):
        for event in (lambda d, y=y: d == y, lambda d, y=y: d <= y):
            a, b = int(event(first).sum()), int(event(second).sum())
            if 0 < a < size and 0 < b < size:
                for low, high in ((a, b), (b, a)):
                    least = beta.ppf(alarm, low, size - low + 1)
                    most = beta.ppf(1 - alarm, high + 1, size - high)
                    worst = max(worst, math.log(least / most))
    assert worst <= eps
    assert worst > 0.8 * eps  # and the audit is not blind


class TestReference:
    """The float tier: its law, its labels."""

    def test_it_says_what_it_is(self) -> None:
        for sampler in (
            floats.laplace(1.0),
            floats.truncated_laplace(2.0),
            floats.planar_laplace(1.0),
            floats.laplace_vectors(3, 1.0),
            floats.of_channel(sv.mechanisms.warner()),
        ):
            assert not sampler.exact
            assert not sampler.secure
            assert "floating point, not for release" in str(sampler)
            assert sampler.to_dict()["arithmetic"] == "float"

    def test_laplace(self) -> None:
        noise = floats.laplace(2.0, insecure_rng=1).draw(np.full(50_000, 3.0)) - 3.0
        assert kstest(noise / 2, "laplace").pvalue > 1e-6

    def test_truncated_laplace(self, fits: Fits) -> None:
        drawn = floats.truncated_laplace(2.0, insecure_rng=1).draw(np.full(100_000, 0.25))
        atoms = [math.exp(-2 * 0.25) / 2, math.exp(-2 * 0.75) / 2]
        inside = ((drawn > 0) & (drawn < 1)).sum()
        assert fits([(drawn == 0).sum(), inside, (drawn == 1).sum()], [atoms[0], 1 - sum(atoms), atoms[1]])

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_vectors(self, n: int) -> None:
        sampler = floats.laplace_vectors(n, 2.0, insecure_rng=2)
        noise = sampler.draw(np.zeros((50_000, n)))
        norm = np.linalg.norm(noise, axis=1)
        assert kstest(norm * 2, "gamma", args=(n,)).pvalue > 1e-6
        # E r = n/ε and E r² = n(n+1)/ε².
        assert norm.mean() == pytest.approx(n / 2, rel=0.02)
        assert (norm**2).mean() == pytest.approx(n * (n + 1) / 4, rel=0.05)
        if n == 2:
            angle = np.arctan2(noise[:, 1], noise[:, 0])
            assert kstest((angle + math.pi) / (2 * math.pi), "uniform").pvalue > 1e-6
            for direction in (np.cos(angle), np.sin(angle), np.cos(2 * angle)):
                # Independent of the norm: a correlation has deviation 1/√n; 5 of them are 6e-7.
                assert abs(np.corrcoef(norm, direction)[0, 1]) < 5 / math.sqrt(len(norm))

    def test_repeatable(self) -> None:
        first, second = (floats.laplace(1.0, insecure_rng=4).draw(np.zeros(9)) for _ in range(2))
        assert (first == second).all()

    @pytest.mark.parametrize("bad", [0, -1, math.inf, math.nan, "1"])
    def test_bad_parameters(self, bad: Any) -> None:
        with pytest.raises(MechanismError, match="must be a finite number > 0"):
            floats.laplace(bad)
        with pytest.raises(MechanismError, match="must be a finite number > 0"):
            floats.planar_laplace(bad)


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("eps", [10**6, "1e400"])
def test_huge_eps_is_no_noise_and_no_wait(eps: Any, timing: Any) -> None:
    settings: dict[str, Any] = {"timing": timing, "insecure_rng": 1}
    inputs = np.arange(5)
    assert (sampling.discrete_laplace(eps, **settings).draw(inputs) == inputs).all()
    assert (sampling.truncated_geometric(5, eps, **settings).draw(inputs) == inputs).all()
    assert (sampling.randomised_response(5, eps, **settings).draw(inputs) == inputs).all()
    assert (sampling.randomised_response(5000, eps, **settings).draw(inputs) == inputs).all()
    assert (sampling.irregular_geometric([0, 1, 2, 3, 4], eps, **settings).draw(inputs) == inputs).all()


@pytest.mark.parametrize("timing", TIMINGS)
def test_coins_of_their_own(timing: Any, fits: Fits) -> None:
    coins = sampling.bernoulli_exp_each(3, timing=timing, insecure_rng=30)
    numerators = np.tile([0, 1, 2, 10, 40, 10**15], 30_000)
    drawn = coins.draw(numerators)
    for k in np.unique(numerators).tolist():
        chance = math.exp(-min(k / 3, 700))
        assert fits(np.bincount(drawn[numerators == k], minlength=2), [1 - chance, chance])
    with pytest.raises(MechanismError, match="-1 is not from 0"):
        coins.draw([-1])
    with pytest.raises(MechanismError, match="denominator is 0"):
        sampling.bernoulli_exp_each(0)
