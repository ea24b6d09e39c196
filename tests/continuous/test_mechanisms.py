"""Laplace on an interval, its pixels, the geometric on its grid: worked matrices, witnesses, realised ε."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.continuous import (
    Density,
    gap,
    grid_geometric,
    hyper_distance,
    induced_metric,
    laplace_loss,
    lifted,
    pixel_witness,
    realised_epsilon,
    refined_by_geometric,
    sensitivity,
    truncated_laplace,
    witness,
)
from sievert.spaces import EvenNumbers

EPS = 4 * math.log(2)
ALPHA = "1/16"


def fractions(rows: list[str]) -> list[list[F]]:
    return [[F(entry) for entry in row.split()] for row in rows]


# ── Worked matrices (our notes, 5.1 and 5.2) ────────────────────────────────────────────────────────────────


def test_geometric_on_a_grid() -> None:
    two = grid_geometric(2, alpha=ALPHA)
    assert two.inputs == (0, F(1, 2), 1)
    assert two.exact.tolist() == fractions(["4/5 3/20 1/20", "1/5 3/5 1/5", "1/20 3/20 4/5"])
    four = grid_geometric(4, alpha=ALPHA).exact.tolist()
    assert four[0] == fractions(["2/3 1/6 1/12 1/24 1/24"])[0]
    assert four[1] == fractions(["1/3 1/3 1/6 1/12 1/12"])[0]
    assert four[2] == fractions(["1/6 1/6 1/3 1/6 1/6"])[0]
    assert four[3:] == [row[::-1] for row in (four[1], four[0])]
    # e^-ε/3 is no fraction: floats then.
    assert grid_geometric(3, alpha=ALPHA).form == "log"
    assert np.allclose(grid_geometric(3, alpha=ALPHA).matrix, grid_geometric(3, EPS).matrix, rtol=1e-14)


def test_geometric_on_points_of_any_distance() -> None:
    """Our notes, 2.3: rows sum to one, every constraint is tight, regular points give the N-geometric."""
    assert grid_geometric([0, "1/2", 1], alpha=ALPHA).exact.tolist() == (
        grid_geometric(2, alpha=ALPHA).exact.tolist()
    )
    assert grid_geometric([3], 2.0).matrix.tolist() == [[1.0]]
    rng = np.random.default_rng(3)
    for size in (2, 5, 9):
        points = np.sort(rng.random(size)).round(6).tolist()
        found = grid_geometric(points, 4.0)
        assert found.matrix.sum(axis=1) == pytest.approx(1, abs=4e-16)
        assert realised_epsilon(found) == pytest.approx(4, rel=1e-9)
        exact = grid_geometric([round(1000 * x) for x in points], alpha="1/2")
        assert set(exact.exact.sum(axis=1)) == {1}
    # Best for a single-crossing loss, against the linear program.
    points = [0, F(1, 10), F(1, 2), 1]
    off = np.array([[abs(float(w - x)) for x in points] for w in points])
    prior = np.array([0.4, 0.1, 0.2, 0.3])
    lost = ((off * prior) @ grid_geometric(points, 3.0).matrix).min(axis=0).sum()
    best = sv.optimal_mechanism(sv.metrics.line(points), 3.0, prior=prior, loss=sv.losses.matrix(off))
    assert lost == pytest.approx(float(best.loss), rel=1e-9)
    for wrong in ([], [1, 0], [0, "x"]):
        with pytest.raises(sv.SievertError, match="cells"):
            grid_geometric(wrong, 1.0)


def test_pixels_of_laplace() -> None:
    noise = truncated_laplace(alpha=ALPHA)
    four = noise.pixelated(4, 2)
    assert four.exact.tolist() == fractions(["3/4 1/8 1/16 1/16", "1/4 1/4 1/4 1/4", "1/16 1/16 1/8 3/4"])
    assert noise.pixelated(2, 2).exact.tolist() == fractions(["7/8 1/8", "1/2 1/2", "1/8 7/8"])
    assert noise.pixelated(1, 2).exact.tolist() == [[1], [1], [1]]
    eight = truncated_laplace(EPS).pixelated(8, 2).matrix
    first = "0.64644661 0.10355339 0.07322331 0.05177669 0.03661165 0.02588835 0.01830583 0.04419417"
    assert eight[0] == pytest.approx([float(p) for p in first.split()], abs=1e-8)
    middle = [0.17677670, 0.07322331, 0.10355339, 0.14644661]
    assert eight[1] == pytest.approx(middle + middle[::-1], abs=1e-8)


def test_witnesses_in_fractions() -> None:
    wanted = {
        (2, 4): ["11/12 1/12 0 0", "1/9 7/18 7/18 1/9", "0 0 1/12 11/12"],
        (2, 2): ["1 0", "1/2 1/2", "0 1"],
        (4, 4): ["1 0 0 0", "1/2 1/2 0 0", "0 1/2 1/2 0", "0 0 1/2 1/2", "0 0 0 1"],
        (4, 2): ["1 0", "1 0", "1/2 1/2", "0 1", "0 1"],
        (1, 4): ["191/240 31/240 7/120 1/60", "1/60 7/120 31/240 191/240"],
        (1, 2): ["37/40 3/40", "3/40 37/40"],
    }
    for (cells, pixels), rows in wanted.items():
        found = witness(cells, pixels, alpha=ALPHA)
        assert found.exact.tolist() == fractions(rows)
        assert np.allclose(witness(cells, pixels, EPS).matrix, found.matrix, rtol=1e-13, atol=1e-16)
        product = grid_geometric(cells, alpha=ALPHA).then(found)
        assert (
            product.exact.tolist() == truncated_laplace(alpha=ALPHA).pixelated(pixels, cells).exact.tolist()
        )


def test_witnesses_in_floats() -> None:
    found = witness(2, 8, EPS).matrix
    first = [0.80300325, 0.11366342, 0.06311328, 0.02022006, 0, 0, 0, 0]
    middle = [0.02696008, 0.08415103, 0.15155123, 0.23733766]
    assert found[0] == pytest.approx(first, abs=5e-9)
    assert found[1] == pytest.approx(middle + middle[::-1], abs=5e-9)
    third = witness(2, 3, EPS).matrix
    rows = [
        [0.96377307, 0.03622693, 0],
        [0.20370941, 0.59258117, 0.20370941],
        [0, 0.03622693, 0.96377307],
    ]
    assert third == pytest.approx(np.array(rows), abs=5e-9)


def test_laplace_is_geometric_noise_and_a_bounded_one() -> None:
    """Our notes, 3.4: the variance of the smoothing noise of an inner point, and its inverse function."""
    eps, cells, fine = 3.0, 4, 4000
    row = witness(cells, fine, eps).matrix[2]
    places = (np.arange(fine) + 0.5) / fine - 0.5
    variance = row @ places**2 - 1 / (12 * fine**2)  # Sheppard
    lam = math.exp(-eps / cells)
    assert variance == pytest.approx(2 / eps**2 - 2 * lam / (cells**2 * (1 - lam) ** 2), rel=1e-6)
    assert variance == pytest.approx(0.0101301110, abs=1e-8)
    h = eps / cells
    for u in (0.05, 0.1, 0.2):
        share = 2 * row[(places > 0) & (places < u)].sum()
        assert (h - math.acosh(math.cosh(h) - share * (math.cosh(h) - 1))) / eps == pytest.approx(u, rel=1e-9)


def test_posteriors_of_figure_7_3() -> None:
    """Each Laplace posterior lies between two neighbouring geometric ones; not so with T = 3."""
    eight = truncated_laplace(EPS).pixelated(8, 2).matrix
    outer, posteriors = eight.mean(axis=0), (eight / eight.sum(axis=0)).T
    assert outer[:4] == pytest.approx([0.28913916, 0.06502751, 0.06755501, 0.07827832], abs=5e-9)
    wanted = [
        [0.745254, 0.203797, 0.050949],
        [0.530818, 0.375345, 0.093836],
        [0.361302, 0.510958, 0.127740],
        [0.220481, 0.623615, 0.155904],
    ]
    assert posteriors[:4] == pytest.approx(np.array(wanted), abs=5e-7)
    corners = np.array([[16, 4, 1], [1, 4, 1], [1, 4, 16]]) / np.array([[21], [6], [21]])
    for k, posterior in enumerate(posteriors):
        a, b = (corners[0], corners[1]) if k < 4 else (corners[1], corners[2])
        share = (posterior - b) @ (a - b) / ((a - b) @ (a - b))
        assert 0 <= share <= 1
        assert share * a + (1 - share) * b == pytest.approx(posterior, abs=1e-14)
    three = truncated_laplace(EPS).pixelated(3, 2).matrix
    assert (three / three.sum(axis=0))[:, 1] == pytest.approx([0.196390, 0.607220, 0.196390], abs=5e-7)


def test_losses_fall_along_divisors_only() -> None:
    wanted = {
        1: (2 / 3, 4 / 5),
        2: (5 / 12, 0.65),
        3: (0.3422702626, 0.6053621576),
        4: (1 / 3, 0.6),
        5: (0.3365414864, 0.5725023959),
        6: (0.3422702626, 0.5694644204),
        8: (1 / 3, 0.5656854249),
        12: (1 / 3, 0.5694644204),
        16: (1 / 3, 0.5656854249),
    }
    noise = truncated_laplace(EPS)
    for pixels, losses in wanted.items():
        found = [1 - noise.pixelated(pixels, n).matrix.max(axis=0).sum() / (n + 1) for n in (2, 4)]
        assert found == pytest.approx(losses, abs=6e-11)


def test_refinement_between_pixelations() -> None:
    for pixels, coarser, holds in [
        (4, 2, True), (3, 2, False), (5, 3, False), (3, 5, False),
        (6, 4, False), (4, 6, False), (2, 3, False), (2, 4, False),
    ]:  # fmt: skip
        found = pixel_witness(pixels, coarser, cells=2, eps=EPS)
        assert found.holds is holds
        if holds:
            fine = truncated_laplace(EPS).pixelated(pixels, 2)
            coarse = truncated_laplace(EPS).pixelated(coarser, 2)
            assert np.allclose(fine.matrix @ found.witness.matrix, coarse.matrix, atol=1e-15)
        else:
            assert found.objection.after > found.objection.before


def test_refinement_by_the_geometric() -> None:
    part = sv.Channel([grid_geometric(4, alpha=ALPHA).exact[i].tolist() for i in (0, 2, 4)], [0, F(1, 2), 1])
    found = refined_by_geometric(part, alpha=ALPHA)
    assert found
    assert found.witness.exact.tolist() == fractions(["5/6 1/6 0 0 0", "0 2/9 5/9 2/9 0", "0 0 0 1/6 5/6"])
    assert not sv.refines(part, grid_geometric(2, alpha=ALPHA)).holds


def test_a_lifted_geometric_is_refused_with_a_consumer() -> None:
    lift = lifted(grid_geometric(2, alpha="1/4"), 2)
    assert lift.exact.tolist() == fractions(["2/3 1/6 1/6"] * 2 + ["1/3 1/3 1/3"] * 2 + ["1/3 1/3 1/3"])
    printed = sv.Channel(
        fractions(["2/3 1/6 1/6"] * 2 + ["1/3 1/3 1/3"] * 2 + ["1/6 1/6 2/3"]), list(range(5))
    )
    points = [F(k, 4) for k in range(5)]
    table = sv.Channel(printed.exact.tolist(), points)
    found = refined_by_geometric(table, alpha=ALPHA)
    assert not found
    assert found.after < found.before
    # The consumer's losses are computed from scratch.
    four = grid_geometric(4, alpha=ALPHA)
    for channel, value in ((four, found.before), (table, found.after)):
        columns = found.losses @ channel.exact
        assert sum(columns.min(axis=0)) / 5 == value
    parity = np.array([[1, 0, 1, 0, 1], [0, 2, 0, 2, 0]])
    for channel, value in ((four, F(7, 12)), (table, F(17, 30))):
        assert sum((parity @ channel.exact).min(axis=0)) / 5 == value
    judged = gap([F(1, 5)] * 5, parity, EPS, optimum=True)
    assert judged.optimum == pytest.approx(7 / 15, abs=1e-9)
    assert judged.geometric == pytest.approx(7 / 12)
    assert judged.single_crossing is False
    assert not judged.optimality
    assert judged.optimality.column is not None


def test_best_mechanisms_on_finer_grids_lose_what_laplace_loses() -> None:
    """B.6: 4/15 is possible on {0, 1/2, 1} alone; private on finer grids 1/3 is best, as Laplace."""
    assert gap([F(1, 3)] * 3, "bayes-risk", EPS, optimum=True).optimum == pytest.approx(4 / 15, rel=1e-9)
    for cells in (4, 8, 16, 32):
        prior = [F(0)] * (cells + 1)
        for k in (0, cells // 2, cells):
            prior[k] = F(1, 3)
        table = [[int(x != w) for x in range(cells + 1)] for w in (0, cells // 2, cells)]
        found = gap(prior, table, EPS, optimum=True)
        assert found.optimum == pytest.approx(1 / 3, rel=1e-9)
        assert found.laplace == pytest.approx(1 / 3, rel=1e-12)
    assert float(laplace_loss([F(1, 3)] * 3, "bayes-risk", EPS)) == pytest.approx(1 / 3, rel=1e-13)


# ── What is realised ────────────────────────────────────────────────────────────────────────────────────────


def test_realised_epsilon() -> None:
    for eps in (1e-9, 0.3, EPS, 700.0):
        for channel in (
            grid_geometric(5, eps),
            truncated_laplace(eps).pixelated(7, 5),
            truncated_laplace(eps).pixelated(4, [0, "0.1", "0.15", "0.7", 1]),
        ):
            assert realised_epsilon(channel) == pytest.approx(eps, rel=1e-7)
    # Rounding to a grid step that one input's noise has and another's has not: no ε at all.
    shifted = sv.Channel([["1/2", "1/2", 0, 0], [0, 0, "1/2", "1/2"]], [0, F(1, 4)])
    assert realised_epsilon(shifted) == math.inf
    assert realised_epsilon(lifted(grid_geometric(2, EPS), 8)) > 3 * EPS


def test_rows_scaled_to_one_are_no_substitute() -> None:
    """Normalising each row of e^(-ε|x-y|) changes the privacy level (our notes, 2.7)."""
    for size, lam, wanted in [(3, 0.5, 0.826679), (5, 0.5, 0.896746), (11, 0.9, 0.182641)]:
        places = np.arange(size)
        table = lam ** np.abs(np.subtract.outer(places, places))
        channel = sv.Channel(table / table.sum(axis=1, keepdims=True))
        assert realised_epsilon(channel) == pytest.approx(wanted, abs=5e-7)


@pytest.mark.parametrize(
    ("side", "eps", "wanted"), [(3, 1, 1.220204), (5, 1, 1.320628), (9, 1, 1.337906), (9, 0.1, 0.177631)]
)
def test_rows_scaled_to_one_are_no_substitute_in_the_plane(side: int, eps: float, wanted: float) -> None:
    places = np.array([(a, b) for a in range(side) for b in range(side)], dtype=float)
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2)
    table = np.exp(-eps * apart)
    channel = sv.Channel(table / table.sum(axis=1, keepdims=True))
    assert sv.epsilon(channel, sv.Metric(apart)).nats == pytest.approx(wanted, abs=5e-7)


def test_same_privacy_several_mechanisms() -> None:
    """Our notes, 5.4: uniform on 33 points, eps = 4 ln 2."""
    noise = truncated_laplace(EPS)
    points = np.arange(33) / 32

    def exponential(eps: float) -> sv.Channel:
        table = np.exp(-eps * np.abs(np.subtract.outer(points, points)))
        return sv.Channel(table / table.sum(axis=1, keepdims=True), [F(k, 32) for k in range(33)])

    calibrated, halved = exponential(0.529130 * EPS), exponential(EPS / 2)
    assert realised_epsilon(calibrated) == pytest.approx(EPS, abs=5e-6)
    assert realised_epsilon(halved) == pytest.approx(2.624204, abs=5e-7)
    wanted = {
        grid_geometric(32, EPS): (0.195551033, 0.060308914, 0.927714310, 0.265604166),
        noise.pixelated(64, 32): (0.195628964, 0.060334750, 0.928584999, 0.265853444),
        noise.pixelated(32, 32): (0.195647500, 0.060343473, 0.929456506, 0.265945766),
        noise.pixelated(8, 32): (0.196204843, 0.060531358, 0.931893493, 0.266260145),
        noise.pixelated(4, 32): (0.198342816, 0.061273367, 0.936794350, 0.266260145),
        calibrated: (0.239097390, 0.080854231, 0.952350722, 0.379547135),
        halved: (0.240924559, 0.081622653, 0.953400926, 0.385670333),
    }
    for name, value in zip(
        ("absolute", "squared", "bayes-risk", {"threshold": "1/2"}),
        (0.195618571, 0.060331863, 0.928584999, 0.265828697),
        strict=True,
    ):
        assert float(laplace_loss(None, name, EPS, 32)) == pytest.approx(value, abs=6e-10)
    for channel, losses in wanted.items():
        joint = channel.matrix / 33
        absolute = (np.abs(np.subtract.outer(points, points)) @ joint).min(axis=0).sum()
        mean = (points @ joint) / joint.sum(axis=0)
        squared = (joint * (points[:, None] - mean) ** 2).sum()
        above = points >= 0.5
        step = np.minimum(joint[above].sum(axis=0), joint[~above].sum(axis=0)).sum()
        found = (absolute, squared, 1 - joint.max(axis=0).sum(), step)
        # 0.529130 has six digits.
        printed = 2e-7 if channel is calibrated else 6e-10
        assert found == pytest.approx(losses, abs=printed)


def test_the_mass_of_the_atoms() -> None:
    """Our notes, 5.3: (1 - e^-ε)/ε for a uniform density, half of it at each end."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    for eps, wanted in ((1, 0.632121), (EPS, 0.338132), (8, 0.124958)):
        atoms = [sum(truncated_laplace(eps).atoms((1 + t) / 2)) for t in nodes.tolist()]
        assert weights @ atoms / 2 == pytest.approx(wanted, abs=5e-7)


def test_the_object() -> None:
    noise = truncated_laplace(2.0, (10, 12))
    assert noise.atoms(11) == pytest.approx((math.exp(-2) / 2, math.exp(-2) / 2))
    assert noise.density(11, 11.5) == pytest.approx(math.exp(-1))
    assert noise.log_density(11, 11.5) == pytest.approx(-1)
    assert (noise.density(11, 10), noise.density(11, 13)) == (0.0, 0.0)
    assert noise.cdf(11, 9.99) == 0.0
    assert noise.cdf(11, 10) == pytest.approx(math.exp(-2) / 2)
    assert noise.cdf(11, 11) == 0.5
    assert noise.cdf(11, 12) == 1.0
    assert np.exp(noise.log_pixels(10.5, 8)).sum() == pytest.approx(1, abs=1e-15)
    far = truncated_laplace(10_000).log_pixels(0, 4)
    assert far.tolist() == pytest.approx(
        [math.log1p(-math.exp(-2500) / 2), *(-2500 * k - math.log(2) for k in (1, 2, 3))]
    )
    assert truncated_laplace(0).pixelated(3, 2).exact.tolist() == [[F(1, 2), 0, F(1, 2)]] * 3
    with pytest.raises(sv.SievertError, match="must lie in the interval"):
        noise.atoms(13)
    with pytest.raises(sv.SievertError, match="empty"):
        truncated_laplace(1, (1, 0))
    with pytest.raises(sv.SievertError, match="exactly one"):
        truncated_laplace()
    with pytest.raises(sv.SievertError, match="bytes"):
        noise.pixelated(10**6, 10**6)


@given(st.integers(1, 8), st.integers(1, 24), st.sampled_from([1e-9, 1e-6, 0.1, 1, 2.77, 10, 40, 700]))
def test_geometric_then_witness_is_laplace(cells: int, pixels: int, eps: float) -> None:
    smoothing = witness(cells, pixels, eps).matrix
    assert smoothing.min() >= 0
    assert smoothing.sum(axis=1) == pytest.approx(1, abs=1e-13)
    made = grid_geometric(cells, eps).rounded() @ smoothing
    wanted = truncated_laplace(eps).pixelated(pixels, cells).rounded()
    assert made == pytest.approx(wanted, rel=1e-9, abs=1e-15)
    if eps < 300:
        pixels_of = truncated_laplace(eps).pixelated(pixels, cells)
        # At tiny ε the inverse amplifies the rounding of floats: the answer may stay open, never be a no.
        assert refined_by_geometric(pixels_of, eps).holds in ((None, True) if eps < 0.01 else (True,))


@given(st.integers(0, 2**32))
def test_the_geometric_is_best_for_single_crossing_losses(seed: int) -> None:
    """Pinball-like losses with random weights cross once; the certificate says the geometric is optimal."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    prior = rng.dirichlet(np.ones(size))
    below, above = rng.random(2) + 0.1
    places = np.arange(size) / (size - 1)
    off = np.subtract.outer(places, places)
    table = np.where(off > 0, above * off, -below * off)
    found = gap(prior, table, float(rng.uniform(0.2, 8)), optimum=True)
    assert found.single_crossing
    assert found.optimality
    assert found.optimum == pytest.approx(found.geometric, rel=1e-9)


@given(st.integers(0, 2**32))
def test_the_certificate_agrees_with_the_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 5))
    prior, table = rng.dirichlet(np.ones(size)), rng.integers(0, 4, (3, size))
    found = gap(prior, table, float(rng.uniform(0.2, 5)), optimum=True)
    if found.optimality:
        assert found.optimum == pytest.approx(found.geometric, rel=1e-7, abs=1e-9)
    else:
        assert found.optimum < found.geometric + 1e-9


def test_pixelating_the_prior_is_stepping_mechanism_and_loss() -> None:
    """Lemma 7.4, in fractions: U of the steps under π is U of the grid under π_N."""
    cells = 4
    masses = Density.beta(2, 3).exact_masses(2 * cells)
    coarse = Density.beta(2, 3).exact_masses(cells)
    assert masses is not None
    assert coarse is not None
    assert [masses[2 * k] + masses[2 * k + 1] for k in range(cells)] == coarse.tolist()
    channel = grid_geometric(cells, alpha=ALPHA)
    loss = np.array([[abs(w - x) for x in range(cells + 1)] for w in range(cells + 1)])
    fine = lifted(channel, 2)
    stepped = loss[:, [min(k // 2, cells - 1) for k in range(2 * cells + 1)]]
    prior = np.array([*masses.tolist(), F(0)])
    floor = np.array([*coarse.tolist(), F(0)])
    first = ((stepped * prior) @ fine.exact).min(axis=0).sum()
    second = ((loss * floor) @ channel.exact).min(axis=0).sum()
    assert first == second


HYPERS = {
    (1.0, 1): (0.03432391, 0.04689558, 0.462117),
    (1.0, 2): (0.01352423, 0.01816696, 0.160078),
    (1.0, 4): (0.00542237, 0.00727219, 0.069183),
    (1.0, 8): (0.00233408, 0.00313130, 0.031740),
    (1.0, 16): (0.00106786, 0.00143347, 0.015119),
    (EPS, 2): (0.04487538, 0.06127752, 0.357143),
    (EPS, 4): (0.02174976, 0.02925284, 0.157895),
    (EPS, 8): (0.01007596, 0.01351219, 0.073223),
    (EPS, 16): (0.00476127, 0.00638679, 0.035132),
    (8.0, 8): (0.02090596, 0.02834880, 0.118727),
    (8.0, 16): (0.01077590, 0.01449521, 0.058667),
}


@pytest.mark.parametrize(("eps", "cells"), HYPERS)
def test_hyper_distances(eps: float, cells: int) -> None:
    value, move, adjacent = HYPERS[eps, cells]
    smooth = truncated_laplace(eps).pixelated(8 * cells, cells)
    found = hyper_distance(grid_geometric(cells, eps), smooth, move_by=witness(cells, 8 * cells, eps))
    assert (found.value, found.move) == pytest.approx((value, move), abs=6e-9)
    assert found.adjacent == pytest.approx(adjacent, abs=6e-7)
    assert found.adjacent <= math.tanh(eps / (2 * cells)) + 1e-12
    # Kantorovich–Rubinstein, for the absolute error.
    lost = gap(None, "absolute", eps, cells)
    assert lost.laplace - lost.geometric <= found.value


def test_drawn_exactly() -> None:
    channel = truncated_laplace("5/2").pixelated(8, ["1/3", "1/2"])
    sampler = sv.sampling.for_channel(channel, insecure_rng=1)
    drawn = sampler.draw_positions(np.zeros(40_000, dtype=int))
    counts = np.bincount(drawn, minlength=8)
    expected = 40_000 * channel.matrix[0]
    # χ² with 7 degrees of freedom exceeds 42.9 with probability 3.5e-7.
    assert ((counts - expected) ** 2 / expected).sum() < 42.9
    exact = sv.sampling.for_channel(truncated_laplace(alpha=ALPHA).pixelated(4, 2), insecure_rng=2)
    assert set(exact.draw_positions([0, 1, 2]).tolist()) <= {0, 1, 2, 3}
    with pytest.raises(sv.SievertError, match="give eps"):
        sv.sampling.for_channel(truncated_laplace(alpha="1/2").pixelated(4, 2))


def test_workflows() -> None:
    counts = sv.Policy.differential([0, 1], 3).database_metric()
    assert induced_metric(counts, sum).matrix.tolist() == sv.metrics.line(4).matrix.tolist()
    assert sensitivity(counts, sum, sv.metrics.line(4)) == 1.0
    assert sensitivity(sv.metrics.line(4), lambda x: 3 * x, sv.metrics.line([0, 3, 6, 9])) == 3.0
    apart = sv.Metric([[0, 0], [0, 0]], ["a", "b"])
    assert sensitivity(apart, {"a": 0, "b": 1}.get, sv.metrics.line(2)) == math.inf
    never = sv.Metric([[0, math.inf], [math.inf, 0]], ["a", "b"])
    assert sensitivity(never, {"a": 0, "b": 1}.get, sv.metrics.line(2)) == 0.0
    assert induced_metric(apart, {"a": 0, "b": 1}.get).matrix.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(sv.SievertError, match="no point"):
        sensitivity(sv.metrics.line(3), lambda x: 7, sv.metrics.line(2))


def test_erratum_atoms_have_negative_exponents() -> None:
    """Def 7.4.3 prints e^(εx)/2 and e^(ε(1-x))/2, which are no probabilities."""
    noise = truncated_laplace(2.0)
    printed = math.exp(2.0 * 0.9) / 2
    assert printed > 1
    low, high = noise.atoms(0.9)
    inner = (2 - math.exp(-2 * 0.9) - math.exp(-2 * 0.1)) / 2
    assert low + high + inner == pytest.approx(1, abs=1e-15)


def test_erratum_the_proof_of_theorem_7_10() -> None:
    """B.3 loses a factor ε²: |v_i - v'_i| ≤ c/N² and the Manhattan claim fail for larger ε."""

    def columns(eps: float, cells: int) -> np.ndarray:
        matrix = grid_geometric(cells, eps).matrix
        return matrix / matrix.sum(axis=0)

    def constant(eps: float) -> float:
        return 3 / (1 - math.exp(-eps)) ** 2

    v = columns(2.0, 10)
    entry = np.abs(np.diff(v, axis=1)).max()
    assert entry == pytest.approx(0.057362, abs=5e-7)
    assert entry > constant(2.0) / 100
    assert entry <= 4 * constant(2.0) / 100
    # Step (2) of Thm 7.10: all prior mass on one point, one action of constant loss 1.
    for eps, step, bound in ((2.0, 0.573621, 0.401260), (4.0, 1.500283, 0.311299)):
        w = columns(eps, 10)
        assert 10 * np.abs(np.diff(w, axis=1)).max() == pytest.approx(step, abs=5e-6)
        assert constant(eps) / 10 == pytest.approx(bound, abs=5e-7)
        assert step > bound
    v = columns(8.0, 20)
    manhattan = np.abs(np.diff(v, axis=1)).sum(axis=0).max() / 2
    assert manhattan == pytest.approx(0.197374, abs=5e-7)
    assert manhattan > constant(8.0) / 20 == pytest.approx(0.150101, abs=5e-7)


@pytest.mark.parametrize("eps", [1e-9, 0.5, 3, 8, 700, 5000])
def test_pixels_realise_their_epsilon_to_the_last_digit(eps: float) -> None:
    noise = sv.continuous.truncated_laplace(eps)
    for pixels, cells in ((64, 100), (8, 4), (7, 10), (2, 3)):
        assert sv.continuous.realised_epsilon(noise.pixelated(pixels, cells)) == eps
    # Two inputs within the two ends' own pixels: less is told, and that is computed.
    assert sv.continuous.realised_epsilon(noise.pixelated(2, [0.25, 0.75])) < eps
    assert sv.continuous.realised_epsilon(noise.pixelated(1, 4)) == 0
    level = sv.epsilon(noise.pixelated(64, 100), sv.metrics.line([F(k, 100) for k in range(101)]))
    assert level.nats == eps
    assert level.output == F(127, 128)


@pytest.mark.parametrize("eps", [1e-9, 1, 700])
def test_the_geometric_is_refined_by_pixels_at_every_epsilon(eps: float) -> None:
    """Lem 7.7, also where entries underflow."""
    for pixels, cells in ((7, 4), (5, 5), (3, 2)):
        found = sv.continuous.refined_by_geometric(
            sv.continuous.truncated_laplace(eps).pixelated(pixels, cells), eps
        )
        assert found.holds is True
    # Without the closed form: a matrix alone is never denied for its rounding.
    table = sv.Channel(sv.continuous.truncated_laplace(700).pixelated(7, 4).matrix, [0, 0.25, 0.5, 0.75, 1])
    assert sv.continuous.refined_by_geometric(table, 700).holds is not False


def test_the_size_of_pixels_is_checked_before_the_grid_is_made() -> None:
    with pytest.raises(sv.SievertError, match="1,000,001 × 1,000,000"):
        sv.continuous.truncated_laplace(1).pixelated(10**6, 10**6)
    with pytest.raises(sv.SievertError, match="1,000,000"):
        sv.continuous.witness(2, 10**6, 1.0)


# ── Large grids make no label that nobody asks for ──────────────────────────────────────────────────────────


def test_labels_of_a_large_grid_are_made_when_asked_for() -> None:
    large = grid_geometric(10**6, 8.0, (0, "1/3"))
    assert large.shape == (10**6 + 1, 10**6 + 1)
    assert isinstance(large.inputs, EvenNumbers)
    assert large.inputs[:3] == (0, F(1, 3 * 10**6), F(2, 3 * 10**6))
    assert (large.inputs[-1], large.inputs[10**6]) == (F(1, 3), F(1, 3))
    assert large.input_index(F(1, 6)) == 500_000
    assert large.inputs == grid_geometric(10**6, 2.0, (0, "1/3")).inputs
    drawn = large.sample([F(1, 6)] * 50, rng=1)
    assert len(drawn) == 50
    assert all(isinstance(x, F | int) and 0 <= x <= F(1, 3) for x in drawn)
    for absent in (F(1, 7), "1/6", math.nan, 2):
        with pytest.raises(sv.SievertError):
            large.input_index(absent)
    assert grid_geometric(10**6, 1e-6, (-5, 10**6 - 5)).inputs == range(-5, 10**6 - 4)


@given(
    st.fractions(-5, 5, max_denominator=20), st.fractions("1/20", 3, max_denominator=20), st.integers(1, 40)
)
def test_even_numbers_are_the_list_of_them(start: F, step: F, size: int) -> None:
    numbers = EvenNumbers(start, step, size)
    listed = tuple(start + k * step for k in range(size))
    assert (tuple(numbers), len(numbers), numbers[1:-1:2]) == (listed, size, listed[1:-1:2])
    assert numbers == listed
    assert listed == numbers
    assert numbers != (*listed[:-1], listed[-1] + step / 2)
    assert [numbers.index(x) for x in listed] == list(range(size))
    assert (start - step not in numbers) and (start + step / 2 not in numbers)
    with pytest.raises(IndexError):
        numbers[size]
    with pytest.raises(ValueError, match="not among"):
        numbers.index(listed[0], 1)


def test_a_large_grid_does_as_a_small_one() -> None:
    large, listed = grid_geometric(3000, 8.0), [F(k, 3000) for k in range(3001)]
    assert isinstance(large.inputs, EvenNumbers)
    assert list(large.inputs) == listed
    small = sv.Channel.trusted(large.entries, large.form, listed, listed)
    assert np.allclose(large.row(F(1, 2)), small.rounded()[1500], rtol=1e-12)
    assert realised_epsilon(large) == pytest.approx(8.0, rel=1e-12)
    assert large.rmatvec(np.full(3001, 1 / 3001)).sum() == pytest.approx(1)
