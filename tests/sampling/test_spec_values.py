"""The worked numbers of the samplers' section (Fernandes 4, section 7) and the floating-point attack."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

import sievert as sv
from sievert import sampling
from sievert.sampling import floats
from sievert.testing import TextbookLaplace, float_support_attack


def lattice_sum(eps: float) -> float:
    reach = math.ceil(45 / eps)
    side = np.arange(-reach, reach + 1)
    return float(np.exp(-eps * np.hypot(side[:, None], side[None, :])).sum())


def test_acceptance_never_falls_below_its_bound() -> None:
    rates = np.exp(np.linspace(-2.5, 3, 40)).tolist()
    found = [lattice_sum(eps) * math.tanh(eps / math.sqrt(8)) ** 2 for eps in rates]
    assert min(found) > 0.734
    assert found[0] == pytest.approx(math.pi / 4, abs=1e-3)  # the limit of small ε


def test_lattice_at_ln_two() -> None:
    assert lattice_sum(math.log(2)) == pytest.approx(13.234625703, rel=1e-10)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (1e-20, 1.4142135624e-10),
        (1e-6, 1.41488066148e-3),
        (0.1, 0.531811608390),
        (0.5, 1.678346990017),
        (0.9, 3.889720169867),
        (0.95, 4.743864518391),
        (1e-12, 1.4142142290e-06),
    ],
)
def test_planar_radius(p: float, expected: float) -> None:
    assert float(floats.laplace_radius(2, 1.0, p)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("q", "expected"), [(1e-20, 49.983197987), (1e-300, 697.324211379)])
def test_planar_radius_far_out(q: float, expected: float) -> None:
    assert float(floats.laplace_radius(2, 1.0, upper=q)) == pytest.approx(expected, rel=1e-10)


def test_the_lambert_form_loses_its_digits() -> None:
    """-(W_{-1}((p-1)/e) + 1)/ε fails at its branch point; the inverse incomplete gamma does not."""
    from scipy.special import lambertw

    p = 1e-12
    lambert = -(lambertw((p - 1) / math.e, -1).real + 1)
    assert abs(lambert / 1.4142142290e-06 - 1) > 0.01
    assert float(floats.laplace_radius(2, 1.0, p)) == pytest.approx(1.4142142290e-06, rel=1e-9)


def test_privacy_within_200_metres() -> None:
    """ε = ln(4)/200 a metre: mean displacement 288.539 m, median 242.134 m, 95 % within 684.395 m."""
    eps = math.log(4) / 200
    assert 2 / eps == pytest.approx(288.539, abs=5e-4)
    assert float(floats.laplace_radius(2, eps, 0.5)) == pytest.approx(242.134, abs=5e-4)
    assert float(floats.laplace_radius(2, eps, 0.95)) == pytest.approx(684.395, abs=5e-4)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, 0.5),
        (2, 0.159154943),
        (3, 0.0397887358),
        (4, 0.00844343197),
        (5, 0.00158314349),
        (6, 0.000268762787),
    ],
)
def test_density_at_the_origin(n: int, expected: float) -> None:
    assert floats.normaliser(n) == pytest.approx(expected, rel=1e-8)
    # c_n·(surface of the unit sphere)·Γ(n)/ε^n = 1, with the sphere 2π^(n/2)/Γ(n/2) (erratum of chapter 9).
    sphere = 2 * math.pi ** (n / 2) / math.gamma(n / 2)
    assert floats.normaliser(n, 3.0) * sphere * math.gamma(n) / 3.0**n == pytest.approx(1)


def test_sphere_of_the_source_is_wrong() -> None:
    """Γ(n/2)/(n·π^(n/2)) is printed for the uniform density on the sphere; only n = 2 agrees."""
    right = [math.gamma(n / 2) / (2 * math.pi ** (n / 2)) for n in (2, 3)]
    printed = [math.gamma(n / 2) / (n * math.pi ** (n / 2)) for n in (2, 3)]
    assert right[0] == pytest.approx(printed[0])
    assert right[1] == pytest.approx(0.0795775, abs=1e-7)
    assert printed[1] == pytest.approx(0.0530516, abs=1e-7)
    assert floats.normaliser(3) == pytest.approx(right[1] / math.gamma(3))


def test_clamped_square_has_eps_one_exactly() -> None:
    """The planar geometric clamped to {0, 1, 2}², ε = 1: the printed masses, and the privacy is 1."""
    side = np.arange(-60, 61)
    weights = np.exp(-np.hypot(side[:, None], side[None, :]))
    weights /= weights.sum()
    points = [(i, j) for i in range(3) for j in range(3)]
    matrix = np.zeros((9, 9))
    for row, (i, j) in enumerate(points):
        rows, columns = np.clip(side + i, 0, 2), np.clip(side + j, 0, 2)
        np.add.at(matrix[row], (3 * rows[:, None] + columns[None, :]).ravel(), weights.ravel())
    assert matrix[4, 4] == pytest.approx(0.153674943737, abs=1e-11)
    assert matrix[4, 1] == pytest.approx(0.0894352376844, abs=1e-11)
    assert matrix[4, 0] == pytest.approx(0.122146026381, abs=1e-11)
    metric = sv.metrics.euclidean(np.array(points, dtype=float))
    assert sv.epsilon(sv.Channel(matrix, normalise=True), metric).nats == pytest.approx(1.0, abs=1e-9)


def test_geometric_normaliser_of_the_source_is_wrong() -> None:
    """Eq 7.4 prints 1/(1+α); the law sums to 1 with (1-α)/(1+α)."""
    alpha = F(1, 2)
    inside = sum(alpha ** abs(z) for z in range(-60, 61))
    assert abs((1 - alpha) / (1 + alpha) * inside - 1) < F(1, 2**58)
    assert 1 / (1 + alpha) * inside > F(19, 10)


def test_real_inputs_are_refused() -> None:
    """Noise on the integers added to reals has disjoint supports: ε would be infinite (Sec 7.3.2)."""
    with pytest.raises(sv.SievertError, match=r"0.25 is not an integer.*round or scale"):
        sampling.discrete_laplace(1).draw([0.25])


@pytest.mark.parametrize(
    ("scale", "x", "other", "expected"),
    [
        (1.0, 0.0, 1.0, 0.810),
        (1.0, 0.0, 0.1, 0.822),
        (1.0, 0.5, 1.5, 0.708),
        (10.0, 0.0, 1.0, 0.820),
        (10.0, 0.0, 0.1, 0.837),
        (10.0, 0.5, 1.5, 0.803),
    ],
)
def test_the_attack_breaks_the_textbook(scale: float, x: float, other: float, expected: float) -> None:
    """Share of outputs that reveal the input; 3000 draws leave a deviation below 0.009."""
    found = float_support_attack(TextbookLaplace(scale), x, other, draws=3000, rng=42)
    assert found.fraction == pytest.approx(expected, abs=0.05)
    assert "reveals the input with certainty" in str(found)
    # The search finds the uniform number that made an output, so "impossible" means what it says.
    own = TextbookLaplace(scale)
    assert all(own.possible(x, y) for y in own.draw(x, 300, rng=43).tolist())


@pytest.mark.parametrize("parameter", [{"eps": 1}, {"eps": "1/50"}, {"eps": "1/2000"}, {"alpha": "1/3"}])
def test_the_attack_fails_against_the_exact_tier(parameter: dict[str, object]) -> None:
    sampler = sampling.discrete_laplace(**parameter, insecure_rng=44)
    found = float_support_attack(sampler, 0, 1, draws=150)
    assert found.impossible == 0
    assert float(found) == 0.0
    assert "none of 150 outputs" in str(found)
