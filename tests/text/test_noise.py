"""n-dimensional Laplace noise: the constants and tails of the source, and what it prints wrong."""

import math

import numpy as np
import pytest
from scipy.special import gammainc, gammaln
from scipy.stats import kstest

from sievert.errors import TextError
from sievert.sampling import floats
from sievert.text import (
    Embedding,
    laplace_log_density,
    laplace_radius,
    marginal_tail,
    utility_bound,
    utility_radius,
)
from sievert.text._decoding import Decoder
from sievert.text._mechanisms import word_mechanism

SMALL = Embedding.small()


@pytest.mark.parametrize(
    ("n", "eps", "value"),
    [
        (1, 1, 0.5),
        (2, 1, 0.159154943092),
        (3, 1, 0.039788735773),
        (10, 1, 1.08060967032e-7),
        (50, 10, 0.0190030796649),
        (300, 10, 4.99585e-127),
        (1, 3, 1.5),
    ],
)
def test_constants(n: int, eps: float, value: float) -> None:
    """Spec 3.6; c_1(3) = 1.5 shows that a density may exceed 1 (erratum E7)."""
    assert math.exp(laplace_log_density([0.0] * n, eps)) == pytest.approx(
        value, rel=1e-5 if n == 300 else 1e-11
    )


def test_a_constant_too_small_for_gamma_functions() -> None:
    assert laplace_log_density([0.0] * 300, 10.0) == pytest.approx(-290.819699, abs=1e-6)


def test_the_sphere_s_density_is_not_the_printed_one() -> None:
    """Erratum E3: Γ(n/2)/(n·π^(n/2)) is right for n = 2 only; the density must integrate to 1."""
    for n, printed, right in ((1, 1.0, 0.5), (3, 0.0530516, 0.0795775), (10, 0.00784263, 0.0392132)):
        value = math.exp(gammaln(n / 2) - math.log(2) - n / 2 * math.log(math.pi))
        assert value == pytest.approx(right, rel=1e-5)
        assert value * 2 / n == pytest.approx(printed, rel=1e-5)
        # c_n = sphere's density times the radius' ε^n/Γ(n).
        assert laplace_log_density([0.0] * n, 1.0) == pytest.approx(math.log(value) - gammaln(n), abs=1e-12)


def test_the_density_is_private_by_the_triangle_inequality() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        a, b, z = rng.standard_normal((3, 7)) * 4
        loss = abs(laplace_log_density(z - a, 1.5) - laplace_log_density(z - b, 1.5))
        assert loss <= 1.5 * np.linalg.norm(a - b) + 1e-12


def test_radii() -> None:
    for p, value in ((0.1, 0.53181161), (0.5, 1.67834699), (0.9, 3.88972017)):
        assert laplace_radius(p, 2, 1.0) == pytest.approx(value, abs=1e-8)


TAILS = {
    1.5: [0.4827163, 0.3323964, 0.2579009, 0.1931895, 0.1395436, 0.09709393, 0.04188879],
    2.0: [0.4769607, 0.2817435, 0.1931895, 0.1241732, 0.07464123, 0.04188879, 0.01069063],
    2.816: [0.4675785, 0.2080700, 0.1114478, 0.05223093, 0.02133006, 0.007573497, 0.0006263528],
    4.0: [0.4539986, 0.1241732, 0.04188879, 0.01069063, 0.002055109, 0.0002977912, 2.731579e-06],
}


@pytest.mark.parametrize("apart", list(TAILS))
def test_the_table_of_flips(apart: float) -> None:
    """Spec 2.8, n = 300: why text does not change at ε = 40 and is unrecognisable at ε = 1."""
    found = [marginal_tail(apart / 2, 300, eps) for eps in (1, 10, 15, 20, 25, 30, 40)]
    assert found == pytest.approx(TAILS[apart], rel=1e-6)


def test_closed_tails_to_the_last_digits() -> None:
    for a in (0.0, 1e-3, 0.5, 3.0, 40.0, 300.0):
        assert marginal_tail(a, 1, 1.0) == pytest.approx(math.exp(-a) / 2, rel=1e-12)
        assert marginal_tail(a, 3, 1.0) == pytest.approx(math.exp(-a) * (a + 2) / 4, rel=1e-12)
    assert marginal_tail(1.0, 2, 1.0) == pytest.approx(0.238513072519, abs=1e-12)
    assert marginal_tail(0.5, 3, 2.0) == pytest.approx(3 / (4 * math.e), rel=1e-14)
    assert marginal_tail(1.0, 50, 10.0) == pytest.approx(0.0797050343, abs=1e-10)
    assert marginal_tail([0.0, 1.0], 5, 1.0)[0] == pytest.approx(0.5, abs=1e-15)


def test_the_sampler_has_the_law() -> None:
    """False alarms once in a thousand runs each; the seed is fixed."""
    n, eps, many = 7, 2.0, 10_000
    drawn = floats.laplace_vectors(n, eps, insecure_rng=5).draw(np.zeros((many, n)))
    norms = np.linalg.norm(drawn, axis=1)
    assert kstest(norms, lambda r: gammainc(n, eps * r)).pvalue > 1e-3
    assert (
        kstest(
            drawn[:, 0],
            lambda x: np.where(x > 0, 1 - marginal_tail(np.abs(x), n, eps), marginal_tail(np.abs(x), n, eps)),
        ).pvalue
        > 1e-3
    )
    # E|v|² = n(n+1)/ε², to four standard errors.
    assert (norms**2).mean() == pytest.approx(
        n * (n + 1) / eps**2, abs=4 * (norms**2).std() / math.sqrt(many)
    )


def test_the_utility_bound_is_corrected() -> None:
    """Erratum E1: with n in place of n·N the printed bound exceeds the truth for N ≥ 2."""
    rng = np.random.default_rng(8)
    for size, n, printed, truth in (
        (2, 1, 0.307799, 0.0531530),
        (2, 3, 0.100318, 0.000984),
        (3, 2, 0.168326, 0.000118),
    ):
        a = n / math.e
        within = a / size
        assert gammainc(n, a) == pytest.approx(printed, abs=1e-6)
        assert utility_bound(size, n, 1.0, within) == pytest.approx(truth, abs=6e-7)
        # Equal vectors: E is the mean radius, so the bound is the probability itself.
        draws = 20_000
        noise = floats.laplace_vectors(n, 1.0, insecure_rng=rng).draw(np.zeros((draws * size, n)))
        mean = np.linalg.norm(noise, axis=1).reshape(draws, size).mean(axis=1)
        share = (mean <= within).mean()
        assert share == pytest.approx(truth, abs=4 * math.sqrt(truth / draws))
        assert share < printed / 3
    assert utility_bound(1, 300, 1.0, 300 / math.e) == pytest.approx(4.262943e-50, rel=1e-6)
    assert utility_radius(250, 300, 10.0, 0.01) == pytest.approx(29.75, abs=0.01)
    assert utility_radius(250, 300, 10.0, 0.99) == pytest.approx(30.26, abs=0.01)


def test_decoding_is_exact() -> None:
    rng = np.random.default_rng(2)
    table = SMALL.vectors[:3000]
    points = table[rng.integers(0, 3000, 400)] + 2 * rng.standard_normal((400, 50))
    naive = [int(np.argmin(((table - point) ** 2).sum(axis=1))) for point in points]
    assert Decoder(table).nearest(points).tolist() == naive


def test_near_ties_are_decided_in_double_precision() -> None:
    """Two words that single precision cannot tell apart, and ties that go to the first."""
    table = np.array([[1.0, 0.0], [1.0 + 1e-9, 0.0], [-1.0, 0.0], [-1.0, 0.0], [0.0, 3.0]])
    points = np.array([[1.0, 0.0], [1.0 + 1e-9, 0.0], [-5.0, 0.0], [0.0, 0.0], [0.0, 100.0]])
    assert Decoder(table).nearest(points).tolist() == [0, 1, 2, 0, 4]
    far = np.array([[1e4, 1e4], [1e4 + 1e-7, 1e4], [0.0, 0.0]])
    assert Decoder(far).nearest(far).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("eps", "unchanged", "moved"),
    [(3, 0.014, 6.02), (5, 0.132, 4.38), (7, 0.363, 2.77), (10, 0.748, 0.89)],
)
def test_the_replacement_profile(eps: float, unchanged: float, moved: float) -> None:
    """Spec 2.11, whose own error is ±0.015; the bundled vocabulary has words of letters only."""
    places = np.random.default_rng(4).integers(200, 10_000, 1500)
    found = word_mechanism(SMALL, eps).sampler(9).draw(places)
    assert (found == places).mean() == pytest.approx(unchanged, abs=0.05)
    move = np.linalg.norm(SMALL.vectors[found] - SMALL.vectors[places], axis=1).mean()
    assert move == pytest.approx(moved, abs=0.25)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: marginal_tail(-1, 2, 1.0), "t is -1"),
        (lambda: marginal_tail(1, 0, 1.0), "n is 0"),
        (lambda: marginal_tail(1, 2, 0.0), "eps is 0"),
        (lambda: laplace_log_density([], 1.0), "at least one number"),
        (lambda: laplace_radius(2.0, 2, 1.0), "p is 2"),
        (lambda: utility_bound(0, 1, 1.0, 1.0), "size is 0"),
    ],
)
def test_arguments_that_are_refused(call, message: str) -> None:  # type: ignore[no-untyped-def]
    """n = 0 is meaningless (erratum E7)."""
    with pytest.raises(TextError, match=message):
        call()
