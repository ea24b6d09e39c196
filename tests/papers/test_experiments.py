"""The experiment of Fernandes, Sec 8.4, and the calibration of what it compares."""

import math

import numpy as np
import pytest

import sievert as sv
from papers.experiments import batched_rounds, binomial, run_experiment
from sievert.errors import EstimationError

LN2 = math.log(2)
LINE = sv.metrics.line(101)
TG = sv.mechanisms.truncated_geometric(101, LN2 / 10)
RR = sv.mechanisms.randomised_response(101, LN2)
POINTS = np.zeros(101)
POINTS[[10, 35, 60, 90]] = 0.4, 0.3, 0.2, 0.1
TRUTHS = {"binom": binomial(101, 0.5), "4pt": POINTS}

# Means and standard deviations over 20 other runs (spec, section 9): IBU after 5000 rounds, and the exact
# maximum.
REPORTED = {
    ("binom", "TG", 10_000): ((1.101, 0.303), (1.519, 0.258)),
    ("binom", "RR", 10_000): ((18.960, 3.940), (18.974, 4.170)),
    ("4pt", "TG", 10_000): ((1.465, 0.229), (1.350, 0.276)),
    ("4pt", "RR", 10_000): ((7.802, 2.892), (7.929, 2.968)),
    ("binom", "TG", 100_000): ((0.434, 0.088), (0.899, 0.118)),
    ("binom", "RR", 100_000): ((12.272, 1.512), (9.924, 1.836)),
    ("4pt", "TG", 100_000): ((0.900, 0.113), (0.555, 0.146)),
    ("4pt", "RR", 100_000): ((2.725, 0.990), (3.217, 1.527)),
}


@pytest.fixture(scope="module")
def experiment():
    return run_experiment(
        TRUTHS, {"TG": TG, "RR": RR}, [10_000, 100_000], [500, 5000, "auto"], LINE, runs=20, seed=8
    )


@pytest.mark.parametrize("setting", REPORTED, ids=lambda setting: f"{setting[0]} {setting[1]} {setting[2]}")
def test_errors_agree_with_the_recomputed_table(setting, experiment) -> None:
    """Two means of 20 runs: 4.5 standard errors of their difference (false alarm 1e-5 each)."""
    for method, (mean, deviation) in zip((5000, "auto"), REPORTED[setting], strict=True):
        cell = experiment.cell(*setting, method)
        noise = math.sqrt((deviation**2 + cell.deviation**2) / 20)
        assert abs(cell.mean - mean) <= 4.5 * noise
        low, high = cell.interval()
        assert low < cell.mean < high


def test_findings_of_the_experiment(experiment) -> None:
    """(i) geometric noise wins on Kantorovich; (ii) not on total variation for the points; (iv) stopping
    early helps a smooth truth and harms a spiky one; erratum: the factor is not bounded by 5."""
    for truth in TRUTHS:
        for reports in (10_000, 100_000):
            assert (
                experiment.cell(truth, "TG", reports, 5000).mean
                < experiment.cell(truth, "RR", reports, 5000).mean
            )
    assert (
        experiment.cell("binom", "TG", 100_000, 5000).variation
        < experiment.cell("binom", "RR", 100_000, 5000).variation
    )
    assert (
        experiment.cell("4pt", "TG", 100_000, 5000).variation
        > experiment.cell("4pt", "RR", 100_000, 5000).variation
    )
    smooth, spiky = (
        {m: experiment.cell(t, "TG", 100_000, m).mean for m in (500, 5000, "auto")} for t in TRUTHS
    )
    assert smooth[500] < smooth[5000] < smooth["auto"]
    assert spiky["auto"] < spiky[5000] < spiky[500]
    assert experiment.cell("binom", "RR", 100_000, 5000).mean > 5 * smooth[5000]


def test_the_verdict_depends_on_the_calibration_radius() -> None:
    """(v): geometric noise calibrated at radius 50, not 10, loses to randomised response on the points."""
    wide = sv.mechanisms.truncated_geometric(101, LN2 / 50)
    found = run_experiment({"4pt": POINTS}, {"TG": wide, "RR": RR}, [100_000], [5000], LINE, runs=6)
    assert found.cell("4pt", "TG", 100_000, 5000).mean > found.cell("4pt", "RR", 100_000, 5000).mean


def test_experiments_repeat_and_cells_are_independent() -> None:
    settings = ({"uniform": None}, {"RR": RR}, [1000], [10, "projection"], LINE)
    first, again = (run_experiment(*settings, runs=3, seed=5) for _ in range(2))
    assert (
        first.cell("uniform", "RR", 1000, 10).errors.tolist()
        == again.cell("uniform", "RR", 1000, 10).errors.tolist()
    )
    more = run_experiment({"uniform": None}, {"RR": RR, "TG": TG}, [1000, 2000], [10], LINE, runs=3, seed=5)
    assert (
        more.cell("uniform", "RR", 1000, 10).errors.tolist()
        == first.cell("uniform", "RR", 1000, 10).errors.tolist()
    )
    truth = run_experiment(*settings, runs=3, seed=5, against="truth")
    assert truth.cell("uniform", "RR", 1000, 10).mean != first.cell("uniform", "RR", 1000, 10).mean
    with pytest.raises(EstimationError, match="no cell"):
        first.cell("uniform", "RR", 1000, 11)
    with pytest.raises(EstimationError, match="against"):
        run_experiment(*settings, against="nobody")


def test_batched_rounds_are_rounds() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(101), 3)
    found = batched_rounds(shares, TG.matrix, [0, 7])
    for row, p in zip(shares, found[7], strict=True):
        one = sv.estimate(row * 1000, TG, "ibu", tolerance=0, most_rounds=7, interval="none")
        assert one.distribution == pytest.approx(p, abs=1e-12)
    assert found[0] == pytest.approx(np.full((3, 101), 1 / 101))


def test_calibration_of_the_chapter() -> None:
    """8.2: equal within radius 10 only; the geometric mechanism leaks more."""
    found = sv.design.calibration(TG, RR, LINE, 10)
    assert found.first.worst_nats == pytest.approx(10 * LN2, abs=1e-12)
    assert found.second.worst_nats == pytest.approx(LN2)
    assert found.first.within_ratio == pytest.approx(2)
    assert found.second.within_ratio == pytest.approx(2)
    assert found.first.capacity == pytest.approx(4.464349, abs=1e-6)
    assert found.second.capacity == pytest.approx(1.980392, abs=1e-6)
    assert found.agrees == ("within",)
    assert "equally private only within the radius" in str(found)


def test_calibration_edges() -> None:
    assert sv.design.calibration(RR, RR, LINE, 3).agrees == ("worst", "within", "capacity")
    nothing = sv.design.calibration(RR, TG, LINE, 0)
    assert nothing.first.within_nats == nothing.second.within_nats == 0
    identity = sv.Channel.identity(3)
    open_book = sv.design.calibration(identity, identity, sv.metrics.line(3), 1)
    assert math.isinf(open_book.first.worst_ratio)
    with pytest.raises(EstimationError, match="has 3 elements but 101 are needed"):
        sv.design.calibration(RR, TG, sv.metrics.line(3), 1)
    with pytest.raises(EstimationError, match="radius"):
        sv.design.calibration(RR, TG, LINE, -1)


def test_other_truths_and_the_projected_inverse() -> None:
    """Section 9, another set of runs: within a factor that their spread allows."""
    ends = np.zeros(101)
    ends[[0, 100]] = 0.5
    truths = {"uniform": np.full(101, 1 / 101), "ends": ends}
    found = run_experiment(truths, {"TG": TG, "RR": RR}, [100_000], [5000], LINE, runs=10)
    for (truth, mechanism), mean in {
        ("uniform", "TG"): 0.762,
        ("uniform", "RR"): 4.081,
        ("ends", "TG"): 0.101,
        ("ends", "RR"): 3.113,
    }.items():
        cell = found.cell(truth, mechanism, 100_000, 5000)
        assert abs(cell.mean - mean) <= 4.5 * math.sqrt(2 / 10) * cell.deviation
    projected = run_experiment(TRUTHS, {"TG": TG, "RR": RR}, [100_000], ["projection"], LINE, runs=20)
    for (truth, mechanism), mean in {
        ("binom", "TG"): 5.69,
        ("binom", "RR"): 9.78,
        ("4pt", "TG"): 8.47,
        ("4pt", "RR"): 4.64,
    }.items():
        cell = projected.cell(truth, mechanism, 100_000, "projection")
        assert abs(cell.mean - mean) <= 4.5 * math.sqrt(2 / 20) * cell.deviation
