"""Numbers about one row say so, and one bound is one number wherever it is asked for."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.files import PolicyScenario
from sievert.questions.breach import breach_of
from sievert.questions.explain import explain_file
from sievert.report.audit import lines

MAP = """
version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 48.80, west = 2.25, north = 48.82, east = 2.28, cell = 200 }
[query]
kind = "record"
[mechanism]
kind = "planar-geometric"
eps = 0.005
[adversary]
gains = ["identity", { within = 300 }]
[data]
input = "x.csv"
column = ["lat", "lon"]
person = "who"
"""

LOCAL = """
version = 1
policy = { values = ["a", "b", "c"] }
query = { kind = "record" }
mechanism = { kind = "randomised-response", eps = 1.0 }
[data]
input = "x.csv"
column = "value"
person = "who"
"""


def _written(folder: Path, text: str, rows: int = 1) -> Path:
    (folder / "x.csv").write_text("lat,lon,value,who\n")
    path = folder / "file.toml"
    path.write_text(f"{text}rows_per_person = {rows}\n")
    return path


def test_rows_of_one_person_are_further_releases(tmp_path):
    """Five rows of one value through randomised response, exactly, by the types of five reports."""
    path = _written(tmp_path, LOCAL, 5)
    found = sv.audit(path)
    assert found.rows_per_person == 5 and found.person_rows.exact
    channel = sv.load(path).channel
    exact = sv.posterior_vulnerability(channel.repeated(5), sv.uniform(3))
    assert found.person_rows.guess == pytest.approx(float(exact))
    assert found.person_rows.guess > found.record.after
    assert "Every number is about one row; a person has up to 5." in str(found)
    assert "person_rows" not in sv.audit(_written(tmp_path, LOCAL, 1)).to_dict()


def test_no_question_about_places_is_silent_about_persons(tmp_path):
    path = _written(tmp_path, MAP, 20)
    scenario = sv.load(path)
    found = sv.audit(scenario)
    together = found.person_rows
    assert together.rows == 20 and together.releases == 20
    near = next(item for item in together.gains if item.name.startswith("within"))
    once = next(item for item in found.leakages if item.name.startswith("within"))
    # All rows of one home find it; one row does for two thirds.
    assert near.simulated.lower > 0.95 > 0.8 > once.after
    told = [str(found), str(breach_of(scenario, [1, 2])), str(explain_file(scenario))]
    assert all("a person has up to 20" in sentence for sentence in told)
    text = " ".join(dict(lines(found))["The value"])
    assert "A person has up to 20 rows" in text and "simulated" in text
    assert found.to_dict()["person_rows"]["rows"] == 20


@pytest.mark.parametrize(
    ("command", "text", "use"),
    [
        ("limits", LOCAL, ""),
        ("design", LOCAL, 'use = { loss = "distance" }\n'),
        ("design", LOCAL, 'use = { loss = "estimation-variance" }\n'),
        ("design", MAP, ""),
    ],
)
def test_limits_and_designs_of_one_row_are_not_those_of_a_person(tmp_path, command, text, use):
    for rows in (5, 1):
        asked = [command, str(_written(tmp_path, use + text, rows))]
        asked += ["--force"] if command == "design" else []
        shown = " ".join(CliRunner().invoke(app, asked).stdout.split())
        assert ("Every number is about one row; a person has up to 5." in shown) == (rows == 5), shown
        told = CliRunner().invoke(app, [*asked, "--json"])
        assert json.loads(told.stdout).get("rows_per_person", 1) == rows


def test_two_places_are_never_nearer_than_their_cells(tmp_path):
    """Telling two inputs a metre apart is about no two cells: on either side of a border they differ more."""
    scenario = sv.load(_written(tmp_path, MAP))
    found = explain_file(scenario).explanation
    diagonal = scenario.region.cells_apart(0.0)
    assert diagonal >= 200 * math.sqrt(2) * 0.99
    assert found.distinguishing == pytest.approx(math.tanh(0.005 * diagonal / 2))
    assert "border" in found.between and not found.curve.exact


def test_the_nearest_inputs_are_meant_where_none_are_at_distance_1():
    metric = sv.metrics.line([0, 10, 30])
    found = sv.explain(0.05, policy=metric)
    assert found.distinguishing == pytest.approx(math.tanh(0.25)) and "distance 10" in found.between
    near = sv.explain(0.05, policy=sv.metrics.line([0, 1, 30]))
    assert near.between == "two inputs at distance 1"


LINE = """
version = 1
[policy]
values = { range = [0, 199] }
secrets = "line"
records = 10
[query]
kind = "sum"
[mechanism]
kind = "geometric"
eps = 0.1
[adversary]
observations = 10
"""


def test_one_quantity_has_one_bound(tmp_path):
    """200 values on a line, ε = 0.1, ten releases: 0.127 and 0.401 were printed in one row of one report."""
    path = tmp_path / "file.toml"
    path.write_text(LINE)
    found = sv.audit(path)
    last = found.standing.rows[1]
    assert last.promise.value == pytest.approx(0.126923542, rel=1e-6)
    assert last.mechanism.value <= last.promise.value * (1 + 1e-9)
    told = explain_file(sv.load(path)).explanation
    assert told.after == pytest.approx(last.promise.value)
    assert told.certificate is None or "0.127" in str(told.uncertified)


@pytest.mark.parametrize(
    ("options", "eps"),
    [
        # P(noise = 0) = (1 - α)/(1 + α) of discrete Laplace noise.
        (["--accuracy", "0", "--confidence", "0.5"], math.log(3)),
        (["--accuracy", "0.5", "--confidence", "0.5"], math.log(3)),
        (["--accuracy", "0"], math.log(39)),
    ],
)
def test_exactly_right_is_an_accuracy_too(options, eps):
    told = CliRunner().invoke(app, ["explain", *options, "--json"])
    found = json.loads(told.stdout)["noise"]
    assert found["eps"] == pytest.approx(eps, rel=1e-7) and found["eps"] >= eps * (1 - 1e-12)
    # σ and ρ = Δ²/2σ² are fields, rounded to the safe side.
    assert found["rho"] >= 0.5 / found["sigma"] ** 2 * (1 - 1e-9)


def test_a_true_place_outside_the_region_is_not_blamed_on_reports(tmp_path):
    text = MAP.replace(", { within = 300 }", "").partition("[data]")[0]
    (tmp_path / "file.toml").write_text(
        f'{text}[estimate]\nreports = "reports.csv"\ncolumn = ["lat", "lon"]\noriginal = "true.csv"\n'
    )
    (tmp_path / "reports.csv").write_text("lat,lon\n48.81,2.26\n48.812,2.262\n")
    (tmp_path / "true.csv").write_text("lat,lon\n48.81,2.26\n12.0,2.262\n")
    told = CliRunner().invoke(app, ["estimate", str(tmp_path / "file.toml")])
    message = str(told.exception)
    assert "true.csv: row 2" in message and "estimate.original" in message
    assert "this file's mechanism" not in message


@pytest.mark.parametrize("gap", ["0.1", "0"])
def test_an_option_is_named_once(gap):
    told = CliRunner().invoke(app, ["design", "examples/letters/letters.toml", "--gap", gap])
    assert str(told.exception).startswith("--gap: ")


def test_shares_that_miss_1_by_their_last_digit_are_shares():
    """5/13 and 8/13 as a computer writes them; "add up to 1; they must add up to 1" is no message."""
    scenario = sv.load("examples/clinic-statistics.toml")
    text = scenario.to_toml()
    both = text.replace("share = 0.3", "share = 0.15384615384615385").replace(
        "share = 0.2", "share = 0.34615384615384615"
    )
    found = PolicyScenario.from_text(both, scenario.folder)
    assert sum(part.share for part in found.document.query.parts) == pytest.approx(1)
    assert float(sv.audit(found).epsilon.nats) == pytest.approx(1)
