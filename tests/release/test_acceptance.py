"""A release that the file's [accept] refuses is not made unless it is asked for by name."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.channels import TableNoise
from sievert.cli.app import app
from sievert.errors import NotAcceptedError
from sievert.files import load_policy_scenario
from sievert.release import make_plan

TABLE = """version = 1
[policy]
values = ["a", "b", "c"]
records = 3
[query]
{query}
[mechanism]
{mechanism}
[adversary]
observations = {observations}
[accept]
{accept}
[data]
input = "data.csv"
column = "value"
[release]
ledger = "budget.toml"
output = "out.csv"
"""
COUNT = 'kind = "count"\nwhere = ["a"]'
NOISE = 'kind = "truncated-geometric"\neps = 2.0'


def write(folder: Path, query: str, mechanism: str, accept: str, observations: int = 1) -> Path:
    text = TABLE.format(query=query, mechanism=mechanism, accept=accept, observations=observations)
    if "record" in query:
        text = text.replace("records = 3", "records = 1")
    (folder / "file.toml").write_text(text, encoding="utf-8")
    (folder / "data.csv").write_text("value\na\nb\nc\n")
    (folder / "budget.toml").write_text("person = 30.0\n")
    return folder / "file.toml"


def sievert(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, " ".join(done.output.split())


@pytest.mark.parametrize(
    ("query", "mechanism"),
    [
        (COUNT, NOISE),
        ('kind = "histogram"', 'kind = "geometric"\neps = 2.0'),
        ('kind = "record"', 'kind = "randomised-response"\neps = 2.0'),
        (COUNT, 'kind = "exponential"\neps = 2.0'),
    ],
)
@pytest.mark.parametrize(
    ("accept", "observations", "holds"),
    [
        ("guess = 0.4", 1, False),
        ("guess = 0.99", 1, True),
        ("eps = 1.9", 1, False),
        ("eps = 2.0", 1, True),
        ("eps = 2.0", 2, False),
        ("bits = 0.1", 1, False),
        ("advantage = 0.05", 1, False),
    ],
)
def test_preview_release_and_audit_agree_on_what_is_accepted(
    tmp_path: Path, query: str, mechanism: str, accept: str, observations: int, holds: bool
) -> None:
    file = write(tmp_path, query, mechanism, accept, observations)
    assert sievert("audit", file)[0] == (0 if holds else 1)
    code, text = sievert("release", file, "--preview")
    assert code == (0 if holds else 1) and ("does not accept" in text) != holds
    code, text = sievert("release", file)
    assert code == (0 if holds else 1)
    assert (tmp_path / "out.csv").exists() == holds
    assert (tmp_path / "budget.ledger").exists() == holds, "what is refused is not charged"


def test_a_release_despite_its_limits_says_so(tmp_path: Path) -> None:
    file = write(tmp_path, COUNT, NOISE, "guess = 0.4")
    with pytest.raises(NotAcceptedError, match=r"EXCEEDS the limit 40.0%, which the file does not accept"):
        sv.release.run(file)
    assert not sv.release.preview(file).possible
    assert sv.release.preview(file, despite_accept=True).possible
    code, text = sievert("release", file, "--preview", "--json")
    assert code == 1 and json.loads(text)["accept"][0]["passed"] is False
    code, text = sievert("release", file, "--despite-accept")
    assert code == 0, text
    (limit,) = json.loads((tmp_path / "out.csv.json").read_text())["accept"]
    assert limit["holds"] is False and "EXCEEDS" in limit["limit"]


def test_limits_of_places_on_a_map(tmp_path: Path) -> None:
    text = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.505, west = 13.36, north = 52.53, east = 13.42, cell = 50 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
[accept]
LIMIT
[data]
input = "data.csv"
column = ["lat", "lon"]
[release]
ledger = "budget.toml"
"""
    (tmp_path / "budget.toml").write_text("person = 1.0\n")
    for limit, possible in (
        ("eps = 0.01", True),
        ("eps = 0.005", False),
        ("guess = 0.9", True),
        ("guess = 1e-4", False),
    ):
        (tmp_path / "file.toml").write_text(text.replace("LIMIT", limit))
        found = sv.release.preview(tmp_path / "file.toml")
        assert found.possible is possible


@pytest.mark.parametrize(
    ("query", "mechanism", "claim"),
    [
        (COUNT, 'kind = "truncated-geometric"\nalpha = "1/3"', "eps = 0.1"),
        ('kind = "histogram"', 'kind = "geometric"\nalpha = "1/3"', "eps = 0.1"),
        ('kind = "record"', 'kind = "randomised-response"\nalpha = "1/3"', "rho = 0.01"),
        (COUNT, 'kind = "exponential"\neps = 2.0\nlevel = "nominal"', "eps = 0.1\ndelta = 1e-6"),
    ],
)
def test_nothing_is_released_on_a_claim_that_does_not_hold(
    tmp_path: Path, query: str, mechanism: str, claim: str
) -> None:
    path = write(tmp_path, query, f"{mechanism}\n[claim]\n{claim}", "eps = 30.0")
    assert sievert("audit", path)[0] == 1
    for options in (["--preview"], []):
        code, said = sievert("release", path, *options)
        assert code == 1
        assert "does not keep [claim]" in " ".join(said.split())
    assert not (tmp_path / "budget.ledger").exists()
    path.write_text(path.read_text().replace(claim, "eps = 30.0"))
    assert sievert("release", path)[0] == 0


DROPPED = """version = 1
[policy]
values = [10, 11, 12]
records = 4
[query]
kind = "sum"
[mechanism]
kind = "geometric"
alpha = "1/2"
[accept]
eps = 2.0
delta = 1e-6
[data]
input = "data.csv"
column = "v"
[release]
ledger = "budget.toml"
out_of_range = "drop"
"""


def test_rows_left_out_count_for_every_question(tmp_path: Path) -> None:
    """A dropped row moves the sum by 12, two values by 2: α^-12 is what is drawn, charged and judged."""
    file = tmp_path / "file.toml"
    file.write_text(DROPPED, encoding="utf-8")
    scenario = load_policy_scenario(file)
    plan = make_plan(scenario)
    assert float(plan.eps) == pytest.approx(12 * math.log(2))
    audited = sv.audit(scenario)
    assert audited.exact_eps == plan.eps and not audited.listed and not audited.passed
    assert scenario.claimed_eps == pytest.approx(12 * math.log(2))
    assert isinstance(scenario.channel, TableNoise)
    with pytest.raises(NotAcceptedError, match=r"8\.318 EXCEEDS"):
        sv.release.run(scenario)
    for harmless in (DROPPED.replace("[10, 11, 12]", "[0, 1, 2]"), DROPPED.replace('"drop"', '"clamp"')):
        file.write_text(harmless, encoding="utf-8")
        assert sv.audit(file).epsilon.nats == pytest.approx(2 * math.log(2))
