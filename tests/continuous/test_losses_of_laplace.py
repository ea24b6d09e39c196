"""The exact and the certified loss of the truncated Laplace: every worked number, quadrature as oracle."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import sievert as sv
from sievert.continuous import Density, gap, laplace_loss

EPS = 4 * math.log(2)
THRESHOLD = {"threshold": 0.5}
# Fernandes' section 6.1a as recomputed: prior uniform on N + 1 points, eps = 4 ln 2.
TABLE_6_1A = {
    "absolute": {
        1: (0.0588235294, 0.1250000000, 3.4133),
        2: (0.1500000000, 0.1863389981, 1.7067),
        4: (0.2041666667, 0.2113889760, 0.8533),
        8: (0.2024482171, 0.2037955594, 0.4267),
        16: (0.1983230009, 0.1985800145, 0.2133),
        32: (0.1955510325, 0.1956185711, 0.1067),
        64: (0.1939483739, 0.1939654309, 0.0533),
    },
    "squared": {
        1: (0.0553633218, 0.0969642022, 6.8267),
        2: (0.0773809524, 0.0882056382, 3.4133),
        4: (0.0735568761, 0.0756882066, 1.7067),
        8: (0.0669990978, 0.0674365017, 0.8533),
        16: (0.0626932429, 0.0627907329, 0.4267),
        32: (0.0603089142, 0.0603318634, 0.2133),
        64: (0.0590618303, 0.0590673947, 0.1067),
    },
    "pinball": {
        1: (0.0294117647, 0.0500000000, 2.7307),
        2: (0.0683333333, 0.0706011330, 1.3653),
        4: (0.0708333333, 0.0716015922, 0.6827),
        8: (0.0702243792, 0.0704811671, 0.3413),
        16: (0.0688612459, 0.0689220572, 0.1707),
        32: (0.0677391576, 0.0677535911, 0.0853),
        64: (0.0671135062, 0.0671171458, 0.0427),
    },
    "bayes-risk": {
        1: (0.0588235294, 0.1250000000, None),
        2: (0.2666666667, 0.3333333333, None),
        4: (0.5333333333, 0.5656854249, None),
        8: (0.7363796664, 0.7474634802, None),
        16: (0.8598331918, 0.8630626289, None),
        32: (0.9277143103, 0.9285849995, None),
        64: (0.9632911140, 0.9635171073, None),
    },
    "threshold": {
        1: (0.0588235294, 0.1250000000, None),
        2: (0.1500000000, 0.1863389981, None),
        4: (0.2166666667, 0.2291287847, None),
        8: (0.2472081927, 0.2506571715, None),
        16: (0.2600409714, 0.2609305523, None),
        32: (0.2656041658, 0.2658286973, None),
        64: (0.2681418351, 0.2681981404, None),
    },
}
OTHER_EPS = {
    (1.0, "absolute", 2): (0.3280237762, 0.3290407102, 3.7540),
    (1.0, "absolute", 8): (0.2615293824, 0.2616234467, 0.9385),
    (1.0, "absolute", 32): (0.2443588838, 0.2443619700, 0.2346),
    (1.0, "absolute", 64): (0.2411550123, 0.2411565548, 0.1173),
    (1.0, "squared", 2): (0.1456713612, 0.1471095362, 7.5080),
    (1.0, "squared", 8): (0.0960222084, 0.0960644409, 1.8770),
    (1.0, "squared", 32): (0.0825572904, 0.0825593787, 0.4692),
    (1.0, "squared", 64): (0.0802789381, 0.0802794393, 0.2346),
    (8.0, "absolute", 2): (0.0121006163, 0.0455230119, 1.5010),
    (8.0, "absolute", 8): (0.0876707864, 0.0982282507, 0.3753),
    (8.0, "absolute", 32): (0.1021121504, 0.1026722655, 0.0938),
    (8.0, "absolute", 64): (0.1024905431, 0.1026153400, 0.0469),
    (8.0, "squared", 2): (0.0061021971, 0.0184326447, 3.0020),
    (8.0, "squared", 8): (0.0193323648, 0.0208642365, 0.7505),
    (8.0, "squared", 32): (0.0201000095, 0.0201932240, 0.1876),
    (8.0, "squared", 64): (0.0200184456, 0.0200415170, 0.0938),
}
BETA = {
    ("absolute", 2): (0.0546875000, 0.0546875000),
    ("absolute", 4): (0.1071828206, 0.1119487591),
    ("absolute", 8): (0.1168471043, 0.1175019445),
    ("absolute", 16): (0.1191222430, 0.1192261158),
    ("absolute", 32): (0.1194162031, 0.1194372155),
    ("absolute", 64): (0.1195443696, 0.1195503122),
    ("squared", 2): (0.0199749687, 0.0210255294),
    ("squared", 4): (0.0245244023, 0.0249584383),
    ("squared", 8): (0.0231555247, 0.0232391513),
    ("squared", 16): (0.0225429827, 0.0225625004),
    ("squared", 32): (0.0223716676, 0.0223764677),
    ("squared", 64): (0.0223276870, 0.0223288821),
    **{("threshold", n): (0.1093750000, 0.1093750000) for n in (2, 4, 8, 16, 32, 64)},
}


def loss_named(name: str) -> Any:
    return {"pinball": {"pinball": "0.8"}, "threshold": THRESHOLD}.get(name, name)


@pytest.mark.parametrize("name", TABLE_6_1A)
def test_the_table_for_uniform_priors(name: str) -> None:
    for cells, (geometric, laplace, thesis) in TABLE_6_1A[name].items():
        found = gap(None, loss_named(name), EPS, cells)
        assert found.geometric == pytest.approx(geometric, abs=6e-11)
        assert found.laplace == pytest.approx(laplace, abs=6e-11)
        assert found.gap <= found.bound * (1 + 1e-12)
        assert found.cosh_bound == pytest.approx((math.cosh(EPS / (2 * cells)) - 1) * found.geometric)
        if thesis is None:
            assert found.thesis_bound is None
        else:
            assert found.thesis_bound == pytest.approx(thesis, abs=5e-5)
    assert found.cells**2 * found.gap < 1


@pytest.mark.parametrize(("eps", "name", "cells"), OTHER_EPS)
def test_the_tables_for_other_eps(eps: float, name: str, cells: int) -> None:
    geometric, laplace, thesis = OTHER_EPS[eps, name, cells]
    found = gap(None, name, eps, cells)
    assert found.geometric == pytest.approx(geometric, abs=6e-11)
    assert found.laplace == pytest.approx(laplace, abs=6e-11)
    assert found.thesis_bound == pytest.approx(thesis, abs=5e-5)


@pytest.mark.parametrize(("name", "cells"), BETA)
def test_the_table_for_a_beta_prior(name: str, cells: int) -> None:
    found = gap(Density.beta(2, 5), loss_named(name), EPS, cells)
    assert (found.geometric, found.laplace) == pytest.approx(BETA[name, cells], abs=6e-11)


def test_bayes_risk_is_where_the_cosh_bound_is_tight() -> None:
    for cells in (1, 2, 5, 64, 1000):
        found = gap(None, "bayes-risk", EPS, cells)
        h = EPS / cells
        direct = 1 - ((cells - 1) * math.tanh(h / 2) + 2 / (1 + math.exp(-h))) / (cells + 1)
        assert found.geometric == pytest.approx(direct, rel=1e-12)
        assert found.laplace == pytest.approx(math.cosh(h / 2) * direct, rel=1e-12)


def test_worked_losses_of_section_5_1() -> None:
    three = [Fraction(1, 3)] * 3
    assert float(laplace_loss(three, "bayes-risk", EPS)) == pytest.approx(1 / 3, rel=1e-14)
    five = [Fraction(1, 5)] * 5
    assert float(laplace_loss(five, "bayes-risk", EPS)) == pytest.approx(2 * math.sqrt(2) / 5, rel=1e-14)
    assert gap(three, "bayes-risk", EPS).geometric == pytest.approx(4 / 15, rel=1e-14)
    assert gap(five, "bayes-risk", EPS).geometric == pytest.approx(8 / 15, rel=1e-14)
    assert gap(three, "absolute", EPS).geometric == pytest.approx(3 / 20, rel=1e-14)
    assert gap(five, "absolute", EPS).geometric == pytest.approx(49 / 240, rel=1e-14)


CONTINUOUS = {
    (1.0, "squared"): 0.07799112192071,
    (EPS, "squared"): 0.05777910384904,
    (8.0, "squared"): 0.01987771728832,
    (1.0, "absolute"): 0.2378308113126,
    (EPS, "absolute"): 0.192165810792,
    (8.0, "absolute"): 0.1023760057708,
}


@pytest.mark.parametrize(("eps", "name"), CONTINUOUS)
def test_the_uniform_density_to_ten_digits(eps: float, name: str) -> None:
    found = laplace_loss(Density.uniform(), name, eps)
    printed = 6e-13 if name == "absolute" else 6e-15
    assert found.low - printed <= CONTINUOUS[eps, name] <= found.high + printed
    assert found.high - found.low <= 1e-11 * found.value


def test_step_losses_of_section_5_5() -> None:
    """k equal cells of a fine grid, guess the cell: the geometric is the optimum, Laplace a little more."""
    cases = {
        (1.0, 24, 4): (0.6599455399, 0.6601014878),
        (EPS, 24, 4): (0.5325696428, 0.5335373258),
        (EPS, 20, 5): (0.6038765969, 0.6054847025),
        (8.0, 24, 3): (0.2202898304, 0.2236296508),
    }
    for (eps, size, k), (best, laplace) in cases.items():
        block = np.arange(size) * k // size
        table = (block[None, :] != np.arange(k)[:, None]).astype(int)
        found = gap([1 / size] * size, table, eps, size - 1, optimum=True)
        assert found.geometric == pytest.approx(best, abs=6e-11)
        assert found.laplace == pytest.approx(laplace, abs=6e-11)
        assert found.single_crossing
        assert found.optimality
        assert found.optimum == pytest.approx(best, abs=6e-11)


# ── Oracles ─────────────────────────────────────────────────────────────────────────────────────────────────


def weighted(prior: list[float], points: list[Any], eps: float, y: Any) -> list[Any]:
    """π(x)·e^(-ε|x - y|)."""
    pairs = zip(prior, points, strict=True)
    return [mpmath.mpf(p) * mpmath.exp(-mpmath.mpf(eps) * abs(mpmath.mpf(x) - y)) for p, x in pairs]


def by_quadrature(points: list[float], prior: list[float], table: Any, eps: float) -> float:
    """The loss of the truncated Laplace by integrating over the output: the kinks cost the last digits."""
    losses, weights = np.array(table), np.array(prior)

    def least(y: Any) -> Any:
        kernel = weights[:, None] * np.exp(-eps * np.abs(np.array(points)[:, None] - y))
        return (losses @ kernel).min(axis=0)

    nodes, shares = np.polynomial.legendre.leggauss(8)
    total = least(np.array([points[0], points[-1]])).sum() / 2
    for a, b in pairwise(points):
        half = (b - a) / 2**14
        middles = a + half * np.arange(1, 2**14, 2)
        total += eps / 2 * half * (least((middles[:, None] + half * nodes).ravel()) @ np.tile(shares, 2**13))
    return float(total)


@pytest.mark.parametrize("eps", [0.5, 3.0, 40.0])
def test_points_agree_with_quadrature(eps: float) -> None:
    points, prior = [0.0, 0.15, 0.2, 0.7, 1.0], [0.1, 0.3, 0.05, 0.25, 0.3]
    table = [[0.0, 1.0, 2.0, 0.5, 1.0], [1.0, 0.0, 0.25, 1.0, 2.0], [2.0, 1.0, 1.0, 0.0, 0.5]]
    found = laplace_loss(prior, table, eps, points)
    assert found.value == pytest.approx(by_quadrature(points, prior, table, eps), rel=1e-8)
    off = [[abs(a - b) for b in points] for a in points]
    assert float(laplace_loss(prior, "absolute", eps, points)) == pytest.approx(
        by_quadrature(points, prior, off, eps), rel=1e-8
    )


@pytest.mark.parametrize("eps", [1e-9, 1.0, 30.0, 700.0])
def test_squares_on_points_to_thirty_digits(eps: float) -> None:
    """The integrand S2 - S1²/S0 is smooth between points, so that quadrature has all its digits."""
    mpmath.mp.dps = 30
    points, prior = [0.0, 0.25, 0.4, 1.0], [0.4, 0.1, 0.2, 0.3]
    rate = mpmath.mpf(eps)

    def variance(y: Any) -> Any:
        kernel = [
            mpmath.mpf(p) * mpmath.exp(-rate * abs(x - y))
            for p, x in zip(prior, map(mpmath.mpf, points), strict=True)
        ]
        total = sum(kernel)
        mean = sum(k * mpmath.mpf(x) for k, x in zip(kernel, points, strict=True)) / total
        return sum(k * (mpmath.mpf(x) - mean) ** 2 for k, x in zip(kernel, points, strict=True))

    wanted = (variance(mpmath.mpf(0)) + variance(mpmath.mpf(1))) / 2
    for a, b in pairwise(points):
        middle = mpmath.mpf(a + b) / 2
        near = [middle + mpmath.mpf(k) * min(1, 40 / eps) * (b - a) / 32 for k in range(-15, 16)]
        wanted += rate / 2 * mpmath.quad(variance, [a, *near, b], maxdegree=8)
    found = laplace_loss(prior, "squared", eps, points)
    assert found.low <= wanted <= found.high
    assert found.high - found.low <= 1e-11 * found.value


@pytest.mark.parametrize(("a", "b"), [(2, 5), (0.5, 1.5), (3.5, 2.25)])
def test_beta_densities_agree_with_quadrature(a: float, b: float) -> None:
    eps = 3.0

    def moment(k: int, y: float) -> float:
        """∫ x^k·e^(-ε|x - y|) of the density; powers that end at 0 or 1 are the weights of the rule."""
        low, high = a - 1 + k, b - 1
        if y in (0.0, 1.0):
            return float(quad(lambda x: math.exp(-eps * abs(x - y)), 0, 1, weight="alg", wvar=(low, high))[0])
        rule = {"weight": "alg", "epsabs": 1e-12}
        below = quad(lambda x: (1 - x) ** high * math.exp(eps * (x - y)), 0, y, wvar=(low, 0), **rule)
        above = quad(lambda x: x**low * math.exp(eps * (y - x)), y, 1, wvar=(0, high), **rule)
        return float(below[0] + above[0])

    def variance(y: float) -> float:
        zero, one, two = (moment(k, y) for k in range(3))
        return two - one * one / zero

    inside = quad(variance, 0, 1, epsabs=1e-10, epsrel=1e-10, limit=200)[0]
    wanted = ((variance(0.0) + variance(1.0)) / 2 + eps / 2 * inside) / float(mpmath.beta(a, b))
    found = laplace_loss(Density.beta(a, b), "squared", 3)
    assert found.value == pytest.approx(wanted, rel=2e-8)
    assert found.high - found.low <= 1e-8 * found.value


def test_a_density_is_what_its_cells_tend_to() -> None:
    """Section 6.3: floor and midpoint discretisations close in on the certified value."""
    true = laplace_loss(Density.uniform(), "squared", 1).value
    table = {
        (1.0, 2): (0.058750928, 0.059236533, 0.080069867),
        (1.0, 8): (0.076802539, 0.076833569, 0.078135653),
        (1.0, 32): (0.077916908, 0.077918833, 0.078000213),
        (1.0, 128): (0.077986484, 0.077986604, 0.077991690),
        (EPS, 2): (0.040000000, 0.045109410, 0.065942743),
        (EPS, 8): (0.056689913, 0.057039529, 0.058341612),
        (EPS, 32): (0.057711517, 0.057733119, 0.057814499),
        (EPS, 128): (0.057774882, 0.057776231, 0.057781317),
        (8.0, 8): (0.018189398, 0.019608581, 0.020910664),
        (8.0, 32): (0.019770544, 0.019861728, 0.019943108),
        (8.0, 128): (0.019871017, 0.019876721, 0.019881808),
    }
    for (eps, cells), (geometric, floor, middle) in table.items():
        found = gap(Density.uniform(), "squared", eps, cells)
        assert (found.geometric, found.laplace) == pytest.approx((geometric, floor), abs=6e-10)
        points = [(2 * k + 1) / (2 * cells) for k in range(cells)]
        at_middle = float(laplace_loss([1 / cells] * cells, "squared", eps, points)) + 1 / (12 * cells**2)
        assert at_middle == pytest.approx(middle, abs=6e-10)
        exact = laplace_loss(Density.uniform(), "squared", eps)
        # Lemma 7.5 with midpoints and averaged losses.
        assert math.exp(-eps / (2 * cells)) * at_middle <= exact.low
        assert exact.high <= math.exp(eps / (2 * cells)) * at_middle
    enclosures = {
        (1.0, 2): (0.062358, 0.102812),
        (1.0, 8): (0.073402, 0.083175),
        (1.0, 32): (0.076791, 0.079229),
        (1.0, 128): (0.077688, 0.078297),
        (EPS, 2): (0.032971, 0.131885),
        (EPS, 8): (0.049059, 0.069380),
        (EPS, 32): (0.055363, 0.060374),
        (EPS, 128): (0.057159, 0.058411),
        (8.0, 8): (0.012683, 0.034476),
        (8.0, 32): (0.017600, 0.022599),
        (8.0, 128): (0.019270, 0.020513),
    }
    for (eps, cells), printed in enclosures.items():
        middle = table[eps, cells][2]
        bounds = [middle * math.exp(sign * eps / (2 * cells)) for sign in (-1, 1)]
        assert bounds == pytest.approx(printed, abs=6e-7)
    floors = {16: 0.1912521923, 32: 0.1919427912, 64: 0.1921071892}
    for cells, value in floors.items():
        assert gap(Density.uniform(), "absolute", EPS, cells).laplace == pytest.approx(value, abs=6e-11)
    assert abs(gap(Density.uniform(), "squared", 1, 128).laplace - true) < 5e-6


# ── Laws ────────────────────────────────────────────────────────────────────────────────────────────────────

LOSSES = [
    "absolute",
    "squared",
    "bayes-risk",
    {"pinball": "0.8"},
    {"threshold": "0.4"},
    {"tolerance": "0.2"},
    {"cells": 3},
]
weights = st.lists(st.integers(0, 20), min_size=2, max_size=9).filter(any)


@given(weights, st.floats(1e-3, 60), st.sampled_from(LOSSES))
def test_laplace_lies_between_geometric_and_cosh_times_it(counts: list[int], eps: float, loss: Any) -> None:
    prior = [c / sum(counts) for c in counts]
    found = gap(prior, loss, eps)
    factor = math.cosh(eps / (2 * found.cells))
    assert found.geometric <= found.laplace * (1 + 1e-11) + 1e-280
    assert found.laplace <= factor * found.geometric * (1 + 1e-11) + 1e-280
    if found.lipschitz_bound is not None:
        assert found.laplace - found.geometric <= found.lipschitz_bound + 1e-12


@given(weights, st.floats(1e-3, 60), st.integers(0, 2**32))
def test_tables_of_any_kind_obey_the_cosh_bound(counts: list[int], eps: float, seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 5, (3, len(counts)))
    found = gap([c / sum(counts) for c in counts], table, eps)
    assert found.geometric <= found.laplace * (1 + 1e-11) + 1e-280
    assert found.laplace <= math.cosh(eps / (2 * found.cells)) * found.geometric * (1 + 1e-11) + 1e-280


@given(weights, st.floats(0.01, 40), st.sampled_from(LOSSES[:4]))
def test_closed_forms_agree_with_the_envelope(counts: list[int], eps: float, loss: Any) -> None:
    prior = [c / sum(counts) for c in counts]
    if loss == "squared":
        return
    points = np.arange(len(prior)) / (len(prior) - 1)
    table, _ = sv.continuous._losses.loss_of(loss).table(points)  # type: ignore[attr-defined]
    named, listed = gap(prior, loss, eps), gap(prior, table, eps)
    assert named.laplace == pytest.approx(listed.laplace, rel=1e-10, abs=1e-280)
    assert named.geometric == pytest.approx(listed.geometric, rel=1e-10, abs=1e-280)


@given(weights, st.floats(0.05, 20), st.integers(1, 6), st.integers(2, 3))
def test_fewer_pixels_lose_more_along_divisors(
    counts: list[int], eps: float, pixels: int, times: int
) -> None:
    cells = len(counts) - 1
    prior = [c / sum(counts) for c in counts]
    noise = sv.continuous.truncated_laplace(eps)
    loss = sv.losses.absolute([k / cells for k in range(cells + 1)])

    def lost(pixels: int) -> float:
        channel = noise.pixelated(pixels, cells)
        table = np.asarray(loss.table, float) * np.array(prior)
        return float((table @ channel.matrix).min(axis=0).sum())

    exact = gap(prior, "absolute", eps).laplace
    assert exact <= lost(pixels * times) + 1e-12
    assert lost(pixels * times) <= lost(pixels) + 1e-12
    # Pixels twice as many as cells lose at most cosh(ε/T) times as much.
    assert lost(2 * cells) <= math.cosh(eps / (2 * cells)) * exact * (1 + 1e-11)


def test_extremes_of_eps_and_size() -> None:
    for eps in (0, 1e-9, 700, 5000):
        for name in ("absolute", "squared", "bayes-risk"):
            found = laplace_loss(None, name, eps, 10)
            assert 0 <= found.low <= found.value <= found.high < 1
            assert not math.isnan(found.value)
    assert float(laplace_loss([1.0], "absolute", 3)) == 0.0
    assert float(laplace_loss(None, "absolute", 0, 4)) == pytest.approx(0.3)
    assert float(laplace_loss(None, "squared", 0, 4)) == pytest.approx(0.125)
    assert float(laplace_loss([0.5, 0.5], "bayes-risk", 700)) == pytest.approx(math.exp(-350) / 2, rel=1e-12)
    tiny = laplace_loss([0.5, 0.5], "bayes-risk", 5000)
    assert (tiny.value, tiny.low) == (0.0, 0.0)
    assert tiny.high < 1e-280


@pytest.mark.parametrize("eps", [0, 1e-9, 700, 1e5, 1e9, 1e300])
def test_densities_at_the_extremes_of_eps(eps: float) -> None:
    prior = Density.beta(2.5, 5)
    for loss in ("absolute", {"threshold": "0.5"}, {"tolerance": "0.1"}):
        found = laplace_loss(prior, loss, eps)
        blind = laplace_loss(prior, loss, 0)
        assert 0 <= found.low <= found.value <= found.high <= blind.high * (1 + 1e-9)
    again = pickle.loads(pickle.dumps(prior)).pieces()
    assert (again.errors == prior.pieces().errors).all()


@pytest.mark.parametrize("name", ["absolute", "squared", "bayes-risk"])
def test_a_million_points(name: str) -> None:
    found = gap(None, name, 8.0, 1_000_000)
    assert found.gap <= found.cosh_bound * (1 + 1e-6) + found.error
    assert found.error < 1e-12
    limit = laplace_loss(Density.uniform(), name, 8.0) if name != "bayes-risk" else None
    if limit is not None:
        assert found.laplace == pytest.approx(limit.value, rel=2e-6)


def test_densities_of_every_kind_have_a_certified_loss() -> None:
    stats = pytest.importorskip("scipy.stats")
    uniform = laplace_loss(Density.uniform(), "absolute", 2)
    same = [
        Density.beta(1, 1),
        Density.piecewise([0, 0.3, 1], [1, 1]),
        Density.piecewise([0, 0.3, 1], [2, 2, 2]),
        Density.histogram([0, "1/4", 1], [1, 3]),
        Density.mixture([Density.uniform(), Density.beta(1, 1)], [1, 2]),
        Density.from_scipy(stats.uniform()),
        Density.truncated_normal(0.5, 1000),
    ]
    for prior in same:
        found = laplace_loss(prior, "absolute", 2)
        assert found.low <= uniform.high + 1e-7, prior
        assert uniform.low <= found.high + 1e-7, prior
    # On another interval lengths scale, and ε with them.
    wide = laplace_loss(Density.uniform((10, 30)), "absolute", 0.1)
    assert wide.value == pytest.approx(20 * uniform.value, rel=1e-9)


@pytest.mark.parametrize(
    ("loss", "points"),
    [
        ({"threshold": "0.35"}, 4000),
        ({"cells": 4}, 4000),
        ({"pinball": "0.9"}, 4000),
        ({"tolerance": "0.1"}, 400),
    ],
)
def test_other_losses_for_densities_are_near_those_on_many_points(loss: Any, points: int) -> None:
    prior = Density.beta(2.5, 4)
    found = laplace_loss(prior, loss, 5)
    middles = [(2 * k + 1) / (2 * points) for k in range(points)]
    masses = prior.masses(points)
    wanted = loss
    if "cells" in loss:
        block = (np.array(middles) * 4).astype(int)
        wanted = (block[None, :] != np.arange(4)[:, None]).astype(int)
    near = laplace_loss(masses / masses.sum(), wanted, 5, middles)
    assert found.low - 0.006 <= near.value <= found.high + 0.006
    assert found.high - found.low <= 1e-10


def test_functions_with_a_lipschitz_constant() -> None:
    loss = sv.continuous.function_loss(lambda w, x: abs(w - x), [k / 200 for k in range(201)], lipschitz=1)
    found, exact = laplace_loss(Density.uniform(), loss, 2), laplace_loss(Density.uniform(), "absolute", 2)
    # Guesses in steps of 1/200 lose a little more.
    assert found.low - 1e-4 <= exact.value <= found.high
    assert found.high - found.low < 2e-4
    steps = sv.continuous.step_loss([[0, 1], [1, 0]], [0, "0.35", 1])
    by_name = laplace_loss(Density.beta(2, 3), {"threshold": "0.35"}, 4)
    assert laplace_loss(Density.beta(2, 3), steps, 4).value == pytest.approx(by_name.value, rel=1e-9)


class Unnamed:
    """A distribution that says no more than SciPy's do of themselves."""

    def __init__(self, law: Any) -> None:
        self.support, self.cdf, self.sf, self.pdf = law.support, law.cdf, law.sf, law.pdf


def test_scipy_distributions_are_enclosed_by_their_masses(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = pytest.importorskip("scipy.stats")
    monkeypatch.setattr("sievert.continuous._enclosure.MASSES", 20_000)
    for ours, theirs in [
        (Density.beta(0.5, 0.5), stats.arcsine()),
        (Density.beta(2, 1), stats.powerlaw(2)),
    ]:
        for name in ("absolute", "squared", THRESHOLD):
            wide = laplace_loss(Density.from_scipy(Unnamed(theirs)), name, 3)
            narrow = laplace_loss(ours, name, 3)
            assert wide.low <= narrow.low, (ours, name)
            assert narrow.high <= wide.high, (ours, name)
            assert wide.high - wide.low < 4e-3 * wide.value  # a tenth of that with all cells


def test_scipy_distributions_that_are_ours_keep_all_digits() -> None:
    stats = pytest.importorskip("scipy.stats")
    for ours, theirs, interval in [
        (Density.beta(2, 5), stats.beta(2, 5), None),
        (Density.beta(2, 5, (1, 3)), stats.beta(2, 5, loc=1, scale=2), None),
        (Density.truncated_normal(0.3, 0.1), stats.truncnorm(-3, 7, 0.3, 0.1), (0, 1)),
        (Density.truncated_normal(0.3, 0.1), stats.norm(0.3, 0.1), (0, 1)),
        (Density.uniform((2, 5)), stats.uniform(2, 3), None),
        (Density.piecewise([0, "0.25", 1], [0, 1, 0]), stats.triang(0.25), None),
        (Density.piecewise([0, 1], [1, 0]), stats.triang(0), None),
        (Density.beta("0.5", "0.5"), stats.arcsine(), None),
        (Density.beta(3, 1), stats.powerlaw(3), None),
        (Density.uniform((0, "0.5")), stats.uniform(), (0, "0.5")),
    ]:
        same = Density.from_scipy(theirs, interval)
        assert same.interval == ours.interval
        assert float(laplace_loss(same, "squared", 3)) == pytest.approx(
            float(laplace_loss(ours, "squared", 3)), rel=1e-13
        )
    cut = Density.from_scipy(stats.beta(2, 5), (0, "0.5"))
    assert cut.pieces() is None
    assert cut.cdf(0.5) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "shapes", "loc", "scale", "interval"),
    [
        ("cauchy", (), 0.5, 0.1, (0, 1)),
        ("chi2", (3,), 0, 0.1, (0, 1)),
        ("expon", (), -1, 0.4, ("-0.5", 1)),
        ("gamma", (0.5,), 0, 0.2, (0, 1)),
        ("gamma", (2.5,), 0, 0.1, ("0.2", 1)),
        ("gumbel_l", (), 0.6, 0.1, (0, 1)),
        ("gumbel_r", (), 0.3, 0.1, (0, 1)),
        ("halfnorm", (), 0, 0.3, (0, 1)),
        ("logistic", (), 0.4, 0.1, (0, 1)),
        ("lognorm", (1.5,), 0, 1, (0, 5)),
        ("maxwell", (), 0, 0.3, (0, 1)),
        ("pareto", (2.5,), 0, 1, (1, 6)),
        ("rayleigh", (), 0, 0.3, (0, 1)),
        ("t", (3,), 0.5, 0.1, (0, 1)),
        ("truncexpon", (2,), 0, 1, (0, 2)),
        ("weibull_min", (1.5,), 0, 0.4, (0, 1)),
    ],
)
def test_usual_laws_of_scipy_have_their_formula(
    name: str, shapes: tuple[float, ...], loc: float, scale: float, interval: Any
) -> None:
    law = getattr(pytest.importorskip("scipy.stats"), name)(*shapes, loc=loc, scale=scale)
    ours = Density.from_scipy(law, interval)
    low, high = map(float, ours.interval)
    places = np.linspace(low, high, 41)
    below = law.cdf(places)
    assert ours.masses(40) == pytest.approx(np.diff(below) / (below[-1] - below[0]), rel=1e-11, abs=1e-15)
    assert ours.density(low + 0.3 * (high - low)) == pytest.approx(
        law.pdf(low + 0.3 * (high - low)) / (below[-1] - below[0]), rel=1e-12
    )
    again = pickle.loads(pickle.dumps(ours)).pieces()
    assert (again.coefficients == ours.pieces().coefficients).all()
    found = laplace_loss(ours, "squared", 4)
    assert found.high - found.low <= 1e-11 * found.value
    # Points in place of the density, its mean square within a cell added.
    fine = 4000
    middles = low + (high - low) * (np.arange(fine) + 0.5) / fine
    near = laplace_loss(ours.masses(fine), "squared", 4, middles).value + ((high - low) / fine) ** 2 / 12
    assert found.value == pytest.approx(near, rel=2e-5)


def test_a_formula_agrees_with_quadrature() -> None:
    """The lognormal, singular at 0: moments by Gauss–Legendre in the logarithm, where all is smooth."""
    stats = pytest.importorskip("scipy.stats")
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def on(*places: float) -> tuple[Any, Any]:
        halves = [(a, (b - a) / 2) for a, b in pairwise(places)]
        x = np.concatenate([a + half * (1 + nodes) for a, half in halves])
        return x, np.concatenate([half * weights for _, half in halves])

    def variance(y: float) -> float:
        # e^-7 has a weight of e^-72.
        inner = [math.log(y)] if math.exp(-7) < y < 1 else []
        u, w = on(*sorted([-7.0, -4.0, -2.0, -1.0, 0.0, *inner]))
        x = np.exp(u)
        w = w * np.exp(-2 * (u + 1) ** 2 - 3 * np.abs(x - y))
        return float(w @ x**2 - (w @ x) ** 2 / w.sum())

    outputs, shares = on(0.0, 0.05, 0.15, 0.4, 1.0)
    u, w = on(-7.0, -4.0, -2.0, -1.0, 0.0)
    inner = 1.5 * sum(share * variance(y) for y, share in zip(outputs, shares, strict=True))
    wanted = ((variance(0.0) + variance(1.0)) / 2 + inner) / (w @ np.exp(-2 * (u + 1) ** 2))
    found = laplace_loss(Density.from_scipy(stats.lognorm(0.5, scale=math.exp(-1)), (0, 1)), "squared", 3)
    assert found.value == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Density.uniform((1, 1)), "empty"),
        (lambda: Density.uniform((0, 1, 2)), "two ends"),
        (lambda: Density.beta(0, 2), "a is 0"),
        (lambda: Density.beta(math.nan, 2), "a is nan"),
        (lambda: Density.piecewise([0, 1], [math.inf]), "masses of cells"),
        (lambda: Density.piecewise([0, 1], [-1]), "≥ 0"),
        (lambda: Density.piecewise([0, 1], [1, 2, 3]), "one height"),
        (lambda: Density.histogram([0, 1], [1, 2]), "cells"),
        (lambda: Density.truncated_normal(90, 1), "30 deviations"),
        (lambda: Density.truncated_normal(0, 0), "deviation is 0"),
        (lambda: Density.mixture([Density.uniform(), Density.uniform((0, 2))], [1, 1]), "one interval"),
        (lambda: Density.from_scipy(3), "frozen"),
        (lambda: laplace_loss(Density.uniform(), "absolut", 1), "did you mean 'absolute'"),
        (lambda: laplace_loss(Density.uniform(), {"pinbal": 1}, 1), "did you mean 'pinball'"),
        (lambda: laplace_loss(Density.uniform(), "bayes-risk", 1), "cells = 10"),
        (lambda: laplace_loss(Density.uniform(), [[0, 1], [1, 0]], 1), "step_loss"),
        (lambda: laplace_loss(Density.uniform(), "absolute", -1), "eps is -1"),
        (lambda: laplace_loss(Density.uniform(), "absolute", math.inf), "finite eps"),
        (
            lambda: laplace_loss(Density.uniform(), sv.continuous.function_loss(lambda w, x: 0, [0]), 1),
            "lipschitz is missing",
        ),
        (lambda: laplace_loss([0.5, 0.6], "absolute", 1), "sums to"),
        (lambda: laplace_loss([0.5, 0.5], "absolute", 1, [1, 0]), "increasing"),
        (lambda: laplace_loss(None, "absolute", 1), "points is missing"),
        (lambda: gap(None, "absolute", 1), "cells"),
        (lambda: sv.continuous.resolution(0.01), "exactly one"),
        (lambda: sv.continuous.resolution(0, eps=1), "relative is 0"),
    ],
)
def test_mistakes_are_explained(call: Any, message: str) -> None:
    with pytest.raises(sv.SievertError, match=message):
        call()


def test_scipy_without_a_finite_interval_is_asked_for_one() -> None:
    stats = pytest.importorskip("scipy.stats")
    with pytest.raises(sv.SievertError, match="say where it is cut"):
        Density.from_scipy(stats.norm())
    with pytest.raises(sv.SievertError, match="jumps"):
        laplace_loss(Density.from_scipy(Unnamed(stats.arcsine())), {"tolerance": 0.1}, 1)


def test_backwards() -> None:
    resolution = sv.continuous.resolution
    assert [resolution(0.01, eps=eps).cells for eps in (1, 8)] == [4, 29]
    found = resolution(0.01, cells=29)
    assert math.cosh(found.eps / 58) == pytest.approx(1.01)
    assert found.eps > 8
    assert math.cosh(1 / (2 * resolution(1e-6, eps=1).cells)) - 1 <= 1e-6
    for kind in ("absolute", "squared", "bayes-risk"):
        cells = resolution(0.01, eps=8).cells
        assert gap(None, kind, 8, cells).factor <= 1.01


def test_distributions_without_a_density_are_refused() -> None:
    stats = pytest.importorskip("scipy.stats")
    for distribution, message in [
        (stats.binom(1, 0.5), "no density"),
        (stats.randint(0, 5), "no density"),
        (stats.beta, "not frozen"),
    ]:
        with pytest.raises(sv.SievertError, match=message):
            Density.from_scipy(distribution)

    class Clamped:
        """Half of it at 0 itself."""

        def support(self) -> tuple[float, float]:
            return 0.0, 1.0

        def cdf(self, x: Any) -> Any:
            return np.where(np.asarray(x) < 0, 0.0, np.minimum(0.5 + np.asarray(x) / 2, 1.0))

        def pdf(self, x: Any) -> Any:
            return np.full_like(x, 0.5)

    with pytest.raises(sv.SievertError, match=r"probability 0\.5 at 0 itself"):
        Density.from_scipy(Clamped())
    with pytest.raises(sv.SievertError, match="error is -1"):
        Density.from_scipy(stats.arcsine(), error=-1)


def test_a_constant_that_the_loss_refutes_is_refused() -> None:
    steep = sv.continuous.function_loss(lambda w, x: abs(w - x) * 100, [0, 0.5, 1], lipschitz=1e-9)
    with pytest.raises(sv.SievertError, match="is 100 for one unit"):
        laplace_loss(Density.uniform(), steep, 8)
    with pytest.raises(sv.SievertError, match="must be a finite number"):
        laplace_loss([1.0], sv.continuous.function_loss(lambda w, x: "x", [0], 1), 1)


def test_what_is_known_exactly_is_said_so() -> None:
    for loss, value in [
        ({"threshold": 0}, 0),
        ({"threshold": 5}, 0),
        ({"pinball": 0}, 0),
        ({"pinball": 1}, 0),
        ({"tolerance": 2}, 0),
        ({"tolerance": 0}, 1),
        (sv.continuous.step_loss([[3], [4]], [0, 1]), 3),
    ]:
        found = laplace_loss(Density.beta(2, 5), loss, 8)
        assert (found.low, found.value, found.high) == (value, value, value), loss
        assert str(found).endswith("exactly")


def test_no_bound_exceeds_what_is_lost_without_a_release() -> None:
    for start in (0, 10**9, 10**15):
        found = laplace_loss(Density.uniform((start, start + 1)), "absolute", 1)
        assert found.value == pytest.approx(0.2378308113126, rel=1e-11)
    wide = laplace_loss(Density.uniform((0, 1e300)), "absolute", 1)
    assert (wide.low, wide.value) == (0, wide.high)
    assert wide.high == pytest.approx(1)
    assert "at most 1 (absolute error); no more is proved" in str(wide)


def test_sizes_and_ranges_are_checked_before_work() -> None:
    with pytest.raises(sv.SievertError, match="fewer cells"):
        laplace_loss(Density.uniform(), {"cells": 10**6}, 8)
    assert gap(None, "absolute", 5000, 1).cosh_bound == math.inf
    assert "times as much" in str(gap(None, "absolute", 700, 4))
    with pytest.raises(sv.SievertError, match="prior"):
        gap(5, "absolute", 1)
    assert "1 cell keeps" in str(sv.continuous.resolution(1e300, eps=1))
