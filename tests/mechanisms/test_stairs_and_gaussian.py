"""Staircase and Gaussian noise as a file names them: their channels, candidates, proofs and bad input."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import ScalarNoise, StaircaseLaw
from sievert.errors import FileError, MechanismError
from sievert.files import load_policy_scenario, table_noise
from sievert.mechanisms import best_staircase
from sievert.mechanisms._staircase import clamped_stairs, listed_stairs
from sievert.policies import Move, Sensitivity
from sievert.proofs import NoiseProof, StaircaseProof, load_proof, save_proof
from sievert.release import make_plan, noise_proof

FILE = """version = 1
[policy]
values = {{ range = [0, 3] }}
records = 4
{policy}
[query]
kind = "{query}"
[mechanism]
{mechanism}
[data]
input = "data.csv"
column = "x"
[release]
ledger = "budget.toml"
"""


def written(folder: Path, mechanism: str, query: str = "sum", policy: str = "") -> Path:
    path = folder / "file.toml"
    path.write_text(FILE.format(policy=policy, query=query, mechanism=mechanism), encoding="utf-8")
    return path


def steps_of_three() -> sv.Metric:
    """0…30, of which one record moves the answer by up to three: the distance that a query of Δ = 3 has."""
    points = np.arange(31)
    return sv.Metric(np.ceil(np.abs(np.subtract.outer(points, points)) / 3), points.tolist())


def test_the_worked_number_of_large_sensitivity() -> None:
    """Δ = 3, ε = 3 on 0…30: geometric 0.807, optimum 0.476 by the linear program; the staircase 0.4852."""
    found = sv.candidates(steps_of_three(), 3.0, loss=sv.losses.absolute(31))
    losses = {item.name: item.as_released for item in found.alternatives}
    assert losses["truncated geometric"] == pytest.approx(0.807494494, abs=5e-10)
    assert float(found.optimal.loss) == pytest.approx(0.476296261, abs=5e-10)
    assert found.optimal.certificate.verify()
    assert losses["staircase"] == pytest.approx(0.485199336, abs=5e-10)
    assert all(item.eps <= 3 * (1 + 1e-9) for item in found.alternatives)


def test_no_staircase_beside_geometric_noise_that_is_one() -> None:
    """On a line of single steps the staircase is geometric noise, and is not listed twice."""
    found = sv.candidates(sv.metrics.line(5), 1.0, loss=sv.losses.absolute(5))
    assert "staircase" not in {item.name for item in found.alternatives}
    assert "staircase" not in found.missing


@given(st.fractions(Fraction(1, 10), 5, max_denominator=20), st.integers(1, 6), st.integers(1, 9), st.data())
def test_the_folded_channel_tells_as_much_as_the_whole_law(
    eps: Fraction, width: int, answers: int, data: st.DataObject
) -> None:
    law = StaircaseLaw(eps, width, data.draw(st.integers(1, width)))
    points = list(range(answers))
    folded = listed_stairs(law, points, points)
    assert np.allclose(folded.matrix.sum(axis=1), 1, atol=1e-12)
    far = np.arange(-400 * width, 400 * width + answers, dtype=float)
    whole = np.exp(law.log_pmf(far[None, :] - np.array(points, dtype=float)[:, None]))
    best = whole.max(axis=0).sum() / answers
    assert math.isclose(folded.matrix.max(axis=0).sum() / answers, best, rel_tol=1e-8)
    true = max(float(law.eps_of(Fraction(apart))) for apart in points)
    metric = sv.metrics.discrete(points) if answers > 1 else None
    if metric is not None:
        assert sv.epsilon(folded, metric).nats == pytest.approx(true, rel=1e-9)


@given(st.fractions(Fraction(1, 10), 5, max_denominator=20), st.integers(1, 6), st.integers(1, 9))
def test_clamping_sums_up_both_ends(eps: Fraction, width: int, answers: int) -> None:
    law = StaircaseLaw(eps, width)
    points = list(range(answers))
    channel = clamped_stairs(law, points, range(-1, answers + 2), points)
    assert np.allclose(channel.matrix.sum(axis=1), 1, atol=1e-12)
    noise = np.arange(-500 * width, 500 * width + 1, dtype=float)
    chances = np.exp(law.log_pmf(noise))
    for x in points:
        landed = np.clip(x + noise, -1, answers + 1).astype(int) + 1
        assert np.allclose(np.bincount(landed, chances, answers + 3), channel.row(x), atol=1e-9)


MOVES = st.lists(
    st.tuples(st.integers(1, 30), st.fractions(Fraction(1, 4), 4, max_denominator=4)), min_size=1, max_size=4
)


@given(st.fractions(Fraction(1, 10), 5, max_denominator=20), MOVES)
def test_the_stairs_keep_eps_for_every_move_and_no_less(
    eps: Fraction, moves: list[tuple[int, Fraction]]
) -> None:
    policy = sv.Policy.differential(range(4), 3)
    table = sv.Query.sum().statistic(policy)
    assert table is not None
    listed = tuple(Move(steps, length) for steps, length in moves)
    steps = max(move.steps / move.length for move in listed)
    sensitivity = Sensitivity(steps, None, listed)
    law = best_staircase(table, sensitivity, eps)
    noise = ScalarNoise(table, law)
    assert noise.eps_of(sensitivity) == eps
    proof = NoiseProof.of(noise, sensitivity)
    assert isinstance(proof, StaircaseProof) and proof.verify() and proof.eps == eps


def test_a_histogram_gets_geometric_noise() -> None:
    policy = sv.Policy.differential(["a", "b", "c"], 10)
    table = sv.Query.histogram().statistic(policy)
    assert table is not None
    assert best_staircase(table, table.sensitivity(policy), Fraction(1)) == StaircaseLaw(Fraction(1, 2), 1, 1)


def test_a_known_proof_and_every_way_to_forge_it(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text("person = 5.0\n")
    proof = noise_proof(make_plan(load_policy_scenario(written(tmp_path, 'kind = "staircase"\neps = 1.5'))))
    assert proof == StaircaseProof(
        Fraction(3, 2), Fraction(3, 2), 3, StaircaseLaw(Fraction(3, 2), 3).top, 1, (Move(3, Fraction(1)),)
    )
    path = tmp_path / "proof.json"
    path.write_text(save_proof(proof))
    assert sv.verify(path)
    content = json.loads(path.read_text())
    forgeries: list[dict[str, Any]] = [
        {"eps": "1"},  # needs more noise
        {"eps": "2"},  # not the level
        {"stair_eps": "2"},
        {"stair_eps": "1"},
        {"stair_eps": "0"},
        {"width": 2},  # a move of 3 crosses two edges
        {"width": 0},
        {"top": 0},
        {"top": 4},
        {"cells": 2},  # over two cells a move may cross two edges
        {"moves": [[4, "1"]]},
        {"moves": [[3, "0"]]},
        {"moves": [[0, "1"]]},
        {"moves": []},
        {"eps": "-1"},
    ]
    for changed in forgeries:
        path.write_text(json.dumps({**content, **changed}))
        with pytest.raises((FileError, AssertionError)):
            assert load_proof(path).verify()


def test_stairs_of_halves_are_steps_of_a_half(tmp_path: Path) -> None:
    path = written(tmp_path, 'kind = "staircase"\neps = 1.5')
    path.write_text(path.read_text().replace("{ range = [0, 3] }", "[0, 0.5, 2]"))
    scenario = load_policy_scenario(path)
    noise = table_noise(scenario)
    assert isinstance(noise, ScalarNoise) and noise.law == StaircaseLaw(Fraction(3, 2), 4)
    listed = scenario.mechanism.channel(scenario.answers, scenario.query)
    assert sv.epsilon(listed, scenario.answers).nats == pytest.approx(1.5, rel=1e-9)
    assert scenario.epsilon.nats == 1.5


@pytest.mark.parametrize(
    ("mechanism", "query", "message"),
    [
        ('kind = "staircase"', "sum", "mechanism.eps"),
        ('kind = "staircase"\neps = 0', "sum", "mechanism.eps"),
        ('kind = "staircase"\neps = -1.0', "sum", "mechanism.eps"),
        ('kind = "staircase"\neps = inf', "sum", "mechanism.eps"),
        ('kind = "staircase"\neps = 1\noutputs = [0, 2]', "sum", "outputs must be consecutive whole numbers"),
        ('kind = "staircase"\nalpha = 0.5', "sum", "alpha goes with"),
        ('kind = "gaussian"', "sum", "exactly one of sigma, rho"),
        ('kind = "gaussian"\nsigma = 0', "sum", "sigma must be above 0"),
        ('kind = "gaussian"\nsigma = -2', "sum", "sigma must be above 0"),
        ('kind = "gaussian"\nsigma = inf', "sum", "sigma must be a finite number above 0"),
        ('kind = "gaussian"\nsigma = "a third"', "sum", "sigma must be a finite number above 0"),
        ('kind = "gaussian"\nsigma = true', "sum", "sigma"),
        ('kind = "gaussian"\nsigma = 0.01', "sum", r"mechanism.sigma is '1/100', a σ of 0.01 steps"),
        ('kind = "gaussian"\nsigma = 1e13', "sum", "0.1 to 2\\^40"),
        ('kind = "gaussian"\neps = 1', "sum", "eps and delta go together"),
        ('kind = "normal"\nsigma = 1', "sum", 'is called "gaussian" here'),
    ],
)
def test_bad_input(tmp_path: Path, mechanism: str, query: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        make_plan(load_policy_scenario(written(tmp_path, mechanism, query)))


@pytest.mark.parametrize("mechanism", ['kind = "gaussian"\nsigma = 1', 'kind = "staircase"\neps = 1'])
def test_not_for_rows_one_by_one(tmp_path: Path, mechanism: str) -> None:
    path = written(tmp_path, mechanism, "record")
    path.write_text(path.read_text().replace("records = 4", ""))
    with pytest.raises(FileError, match="goes with counts, sums and histograms"):
        make_plan(load_policy_scenario(path))


def test_the_gaussian_has_no_proof_of_an_eps(tmp_path: Path) -> None:
    plan = make_plan(load_policy_scenario(written(tmp_path, 'kind = "gaussian"\nsigma = 2')))
    assert noise_proof(plan) is None and plan.pure_eps is None
    with pytest.raises(MechanismError, match="keeps no ε: however large ε is"):
        plan.channel.epsilon(plan.scenario.policy)  # type: ignore[attr-defined]
