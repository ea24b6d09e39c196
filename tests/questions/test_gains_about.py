"""What gains are about is said by the file, and reaches all its releases: brute force beside every number."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.observations import record_gain, repeated_gain

FILE = """
version = 1
[policy]
values = {values}
secrets = "complete"
records = {records}
[query]
{query}
[mechanism]
kind = "{kind}"
eps = 1.0
[adversary]
{adversary}
"""
ALL = 'gains = ["identity", { within = 1 }, { tries = 2 }, "closeness", "shannon", "guessing", "bayes-risk"]'


def audited(
    folder: Path,
    records: int = 4,
    query: str = 'kind = "sum"',
    kind: str = "geometric",
    values: str = "[0, 1, 3]",
    adversary: str = ALL,
) -> sv.results.Audit:
    path = folder / "file.toml"
    path.write_text(FILE.format(values=values, records=records, query=query, kind=kind, adversary=adversary))
    return sv.audit(path)


def after(found: sv.results.Audit) -> dict[str, float]:
    return {item.name: float(item.repeated) for item in found.leakages}


def worth(adversary: object, joint: np.ndarray) -> float:
    """Σ_y of the adversary's value, one output at a time."""
    return math.fsum(float(adversary.values(column[:, None])[0]) for column in joint.T)  # type: ignore[attr-defined]


def geometric_rows(points: list[int], eps: float, reach: int = 60) -> np.ndarray:
    outputs = np.arange(min(points) - reach, max(points) + reach + 1)
    return np.array([math.tanh(eps / 2) * np.exp(-eps * np.abs(outputs - point)) for point in points])


@pytest.mark.parametrize("kind", ["geometric", "truncated-geometric", "staircase"])
@pytest.mark.parametrize("query", ['kind = "sum"', 'kind = "count"\nwhere = [1, 3]', 'kind = "histogram"'])
def test_more_records_do_not_change_the_question(tmp_path: Path, kind: str, query: str) -> None:
    few, many = (audited(tmp_path, records, query, kind, "[0, 1, 2, 3]") for records in (4, 3000))
    assert (few.secret, many.secret) == ("record", "record")
    for one, other in zip(few.leakages, many.leakages, strict=True):
        assert (one.name, one.before) == (other.name, pytest.approx(other.before))
        assert float(one.after) == pytest.approx(float(other.after), rel=1e-9)


def test_one_record_of_a_sum_by_brute_force(tmp_path: Path) -> None:
    found = audited(tmp_path)
    joint = geometric_rows([0, 1, 3], 1 / 3, 150) / 3
    metric = sv.metrics.line([0, 1, 3])
    expected = {
        "identity": sv.gains.identity(3),
        "within 1": sv.gains.within(metric, 1),
        "2 tries": sv.gains.tries(3, 2),
        "closeness": sv.gains.closeness(metric),
        "shannon": sv.losses.shannon(3),
        "guessing": sv.losses.guessing(3),
        "bayes risk": sv.losses.bayes_risk(3),
    }
    got = {item.name: float(item.after) for item in found.leakages}
    assert got == pytest.approx({name: worth(gain, joint) for name, gain in expected.items()}, rel=1e-9)


@pytest.mark.parametrize("kind", ["exponential", "randomised-response"])
def test_mechanisms_on_a_list_by_brute_force(tmp_path: Path, kind: str) -> None:
    """The worst of all situations of the other records, after one release and after three."""
    adversary = f"{ALL}\nobservations = 3\nrecord_prior = [0.5, 0.3, 0.2]"
    found = audited(tmp_path, 3, kind=kind, adversary=adversary)
    channel = sv.load(tmp_path / "file.toml").channel.finite()
    assert found.secret == "record"
    belief = np.array([0.5, 0.3, 0.2])
    metric = sv.metrics.line([0, 1, 3])
    gains = [sv.gains.identity(3), sv.gains.within(metric, 1), sv.gains.tries(3, 2)]
    for gain, item in zip(gains, found.leakages, strict=False):
        once, thrice = [], []
        for others in itertools.product([0, 1, 3], repeat=2):
            rows = np.array([channel.row(sum(others) + value) for value in (0, 1, 3)])
            cubed = np.array([np.multiply.outer(np.multiply.outer(row, row), row).ravel() for row in rows])
            once.append(worth(gain, belief[:, None] * rows))
            thrice.append(float(gain.values(belief[:, None] * cubed).sum()))
        assert float(item.after) == pytest.approx(max(once), rel=1e-12)
        if item.repeated_exact:
            assert float(item.repeated) == pytest.approx(max(thrice), rel=1e-9)
        else:
            assert float(item.repeated) >= max(thrice) * (1 - 1e-12)


def test_two_releases_of_a_histogram_by_brute_force(tmp_path: Path) -> None:
    """Cells are independent: all outputs of two releases are listed."""
    adversary = (
        'gains = ["identity", { tries = 2 }, { partition = [[0], [1, 3]] }, { property = [0] }, "shannon"]\n'
        "record_prior = [0.5, 0.3, 0.2]\nobservations = 2"
    )
    found = audited(tmp_path, 50, 'kind = "histogram"', adversary=adversary)
    # ±1 is all that a cell shows of a step: ε is 1/2 for each.
    shown = np.array([1.0, math.exp(-0.5)]) / (1 + math.exp(-0.5))
    there, nobody = shown, shown[::-1]
    rows = []
    for value in range(3):
        law = np.ones(1)
        for _, cell in itertools.product(range(2), range(3)):
            law = np.multiply.outer(law, there if cell == value else nobody).ravel()
        rows.append(law)
    joint = np.array([0.5, 0.3, 0.2])[:, None] * np.array(rows)
    blocks = np.array([[1.0, 0, 0], [0, 1, 1]])
    expected = {
        "identity": joint.max(axis=0).sum(),
        "2 tries": (joint.sum(axis=0) - joint.min(axis=0)).sum(),
        "partition": (blocks @ joint).max(axis=0).sum(),
        "property": (blocks @ joint).max(axis=0).sum(),
        "shannon": worth(sv.losses.shannon(3), joint),
    }
    assert after(found) == pytest.approx(expected, rel=1e-9)
    assert all(item.repeated_exact and item.releases == 2 for item in found.leakages)
    told = CliRunner().invoke(app, ["audit", str(tmp_path / "file.toml")])
    assert "after one release" in told.output and " after 2." in told.output


def test_blocks_of_values_are_answered_however_few_the_records(tmp_path: Path) -> None:
    blocks = "gains = [{ partition = [[0, 1], [3]] }]"
    few, many = (audited(tmp_path, records, adversary=blocks) for records in (4, 2000))
    assert float(few.leakages[0].after) == pytest.approx(float(many.leakages[0].after), rel=1e-12)


def test_the_answer_is_asked_about_by_name_or_by_a_belief_in_it(tmp_path: Path) -> None:
    named = audited(tmp_path, 2, adversary='about = "answer"')
    answers = [0, 1, 2, 3, 4, 6]
    joint = geometric_rows(answers, 1 / 3, 150) / 6
    assert named.secret == "answer"
    assert float(named.leakages[0].after) == pytest.approx(joint.max(axis=0).sum(), rel=1e-9)
    believed = audited(tmp_path, 2, adversary="prior = [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]")
    assert believed.secret == "answer" and float(believed.leakages[0].before) == 0.5
    uniform = audited(tmp_path, 2, adversary='prior = "uniform"')
    assert uniform.secret == "record"
    assert json.loads(json.dumps(uniform.to_dict()))["secret"] == "record"


def test_answers_that_no_list_holds_are_not_taken_for_a_record(tmp_path: Path) -> None:
    found = audited(tmp_path, 3000, adversary='about = "answer"')
    assert found.leakages == () and len(found.unanswered) == 1
    assert 'about = "record"' in found.unanswered[0].reason


def test_values_released_one_by_one_are_guessed_after_all_releases(tmp_path: Path) -> None:
    adversary = 'gains = ["identity", { tries = 2 }, "shannon"]\nobservations = 4'
    found = audited(tmp_path, 1, 'kind = "record"', "randomised-response", adversary=adversary)
    matrix = sv.load(tmp_path / "file.toml").channel.matrix
    rows = matrix
    for _ in range(3):
        rows = np.array([np.multiply.outer(one, row).ravel() for one, row in zip(rows, matrix, strict=True)])
    joint = rows / 3
    expected = {
        "identity": joint.max(axis=0).sum(),
        "2 tries": (joint.sum(axis=0) - joint.min(axis=0)).sum(),
        "shannon": worth(sv.losses.shannon(3), joint),
    }
    assert after(found) == pytest.approx(expected, rel=1e-9)


def test_too_many_types_give_bounds_between_one_release_and_all(tmp_path: Path) -> None:
    channel = sv.mechanisms.exponential(sv.metrics.line(12), 0.3)
    gain, belief = sv.gains.tries(12, 2), np.full(12, 1 / 12)
    once = float(sv.posterior_vulnerability(channel, belief, gain))
    found = repeated_gain(channel, gain, belief, 40)
    assert not found.exact and once <= found.after <= 1.0
    few = repeated_gain(channel, gain, belief, 2)
    assert once <= few.after <= found.after
    answers = sv.Query.record().answers(sv.Policy.local(range(12)))
    assert record_gain(channel, answers, gain, 40).after == pytest.approx(found.after)
    risk = repeated_gain(channel, sv.losses.bayes_risk(12), belief, 40)
    assert not risk.exact and 0.0 <= risk.after < risk.before


def test_classes_of_outputs_are_not_quoted_as_if_published(tmp_path: Path) -> None:
    audited(tmp_path, 3000)
    told = CliRunner().invoke(app, ["breach", str(tmp_path / "file.toml")])
    assert told.exit_code == 0 and "Output with odds e^" in told.output
    assert "'" not in told.output.split("Output with odds")[1].split("\n")[0]


def test_a_small_share_is_not_called_0(tmp_path: Path) -> None:
    """A sum gives away some ten of thousands of bits."""
    found = audited(tmp_path, 30000)
    assert found.database is not None and found.worst is not None
    share = found.database.bits / found.worst.upper.bits
    assert 0 < share < 0.005
    told = CliRunner().invoke(app, ["audit", str(tmp_path / "file.toml")])
    assert "uses 0% of that" not in " ".join(told.output.split())


def test_rounding_lifts_no_probability_above_1(tmp_path: Path) -> None:
    gains = "gains = [{ within = 30 }, { tries = 100 }]\nobservations = 40"
    found = audited(tmp_path, 500, values="{ range = [0, 150], step = 2 }", adversary=gains)
    assert all(float(item.repeated) <= 1 for item in found.leakages)
