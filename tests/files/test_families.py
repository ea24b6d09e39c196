"""A family is one class: once registered, every command, the schema and the reference know it."""

import csv
import json
import math
import runpy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import find, given, settings
from jsonschema import Draft202012Validator
from pydantic import Field
from typer.testing import CliRunner

from sievert import testing
from sievert.channels import Channel, epsilon
from sievert.cli.app import app
from sievert.errors import FileError
from sievert.files import document_schema, load_policy_scenario
from sievert.kinds import Probability, variant
from sievert.mechanisms import Family
from sievert.orders import threshold
from sievert.policies import Answers, Policy, Query
from sievert.spaces import Labels, Metric, metrics


class LazyResponse(Family):
    """The truth now and then, else any answer, each as likely."""

    truth: Annotated[Probability, Field(description="how often the truth is told")]

    def channel(self, answers: Answers, query: Query) -> Channel:
        return _lazy(answers.labels, Fraction(str(self.truth)))

    def claimed(self, policy: Policy, query: Query) -> float | None:
        return None

    def words(self) -> str:
        return f"{self.title()}, the truth with probability {self.truth:g}"

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel:
        # (p + (1-p)/n)/((1-p)/n) = e^ε
        growth = math.expm1(eps)
        return _lazy(metric.points, growth / (growth + metric.size))


def _lazy(labels: Labels, truth: Any) -> Channel:
    n = len(labels)
    rows = [[(1 - truth) / n + truth * (i == j) for j in range(n)] for i in range(n)]
    return Channel(rows, labels, labels)


@pytest.fixture
def lazy() -> Iterator[None]:
    variant(Family, "lazy-response")(LazyResponse)
    yield
    del Family.registry["lazy-response"]


FILE = """
version = 1
[policy]
values = ["yes", "no", "perhaps"]
[mechanism]
kind = "lazy-response"
truth = 0.4
[use]
loss = "bayes-risk"
[data]
input = "data.csv"
column = "answer"
[release]
ledger = "budget.toml"
output = "out.csv"
[estimate]
reports = "out.csv"
"""
# Rows of 0.4 + 0.2 and 0.2.
EPS = math.log(3)


@pytest.fixture
def file(tmp_path: Path, lazy: None) -> Path:
    (tmp_path / "file.toml").write_text(FILE)
    (tmp_path / "budget.toml").write_text("person = 3.0\n")
    (tmp_path / "data.csv").write_text("answer\n" + "yes\nno\nperhaps\nyes\n" * 25)
    return tmp_path / "file.toml"


def sievert(*arguments: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_questions_about_a_new_family(file: Path) -> None:
    found = sievert("audit", file)
    assert found["epsilon"]["nats"] == pytest.approx(EPS)
    assert found["mechanism"] == "lazy response, the truth with probability 0.4"
    assert found["record"]["after"] == pytest.approx(0.6)
    assert sievert("explain", file)["explanation"]["after"] == pytest.approx(0.6)
    assert sievert("breach", file)["mechanism"] == found["mechanism"]
    assert sievert("limits", file)["eps"] == pytest.approx(EPS)
    assert sievert("compare", file, file)["can_replace"]
    done = CliRunner().invoke(app, ["audit", str(file), "--report", str(file.with_suffix(".html"))])
    assert done.exit_code == 0 and file.with_suffix(".html").exists()


def test_a_new_family_is_released_exactly_and_estimated(file: Path) -> None:
    assert sievert("release", file, "--preview")["possible"]
    sievert("release", file)
    with (file.parent / "out.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 100 and {row["answer"] for row in rows} <= {"yes", "no", "perhaps"}
    sidecar = json.loads((file.parent / "out.csv.json").read_text())
    assert sidecar["mechanism"]["arithmetic"] == "exact" and sidecar["mechanism"]["secure"]
    assert EPS <= Fraction(sidecar["eps"]["exact"]) < EPS + 1e-8
    assert sievert("estimate", file)["mechanism"].startswith("lazy response")


def test_a_mechanism_without_another_level_has_one_group_of_reports(file: Path) -> None:
    sievert("release", file)
    grouped = FILE.replace('reports = "out.csv"', 'groups = [{ reports = "out.csv", eps = 1.0 }]')
    file.write_text(grouped)
    done = CliRunner().invoke(app, ["estimate", str(file)])
    assert done.exit_code != 0 and "has no other ε" in str(done.exception)


def test_a_design_weighs_a_new_family(file: Path) -> None:
    found = sievert("design", file, "--eps", 1.0, "--output", file.with_name("best.toml"))
    alternatives = {item["name"]: item for item in found["found"]["alternatives"]}
    assert alternatives["lazy response"]["eps"] == pytest.approx(1.0)
    # It is randomised response by another name.
    assert alternatives["lazy response"]["loss"] == pytest.approx(alternatives["randomised response"]["loss"])
    assert threshold("lazy-response", "randomised-response", 1.0, 3) == pytest.approx(1.0)


def test_the_schema_and_the_reference_name_a_new_family(file: Path) -> None:
    content = load_policy_scenario(file).document.model_dump(exclude_unset=True)
    assert content["mechanism"] == {"kind": "lazy-response", "truth": 0.4}
    schema = document_schema()
    assert not list(Draft202012Validator(schema).iter_errors(content))
    content["mechanism"]["truth"] = 2.0
    assert list(Draft202012Validator(schema).iter_errors(content))
    page = runpy.run_path("docs/_ext/file_reference.py")["reference"](schema)
    row = next(line for line in page.splitlines() if "lazy-response" in line)
    assert "The truth now and then" in row and "`truth`: how often the truth is told" in row


@pytest.mark.parametrize(
    "written, message",
    [
        ('kind = "lazy-respnse"\ntruth = 0.4', "did you mean 'lazy-response'"),
        ('kind = "lazy-response"\ntrth = 0.4', "did you mean 'truth'"),
        ('kind = "lazy-response"', "key mechanism.truth is missing"),
        ('kind = "lazy-response"\ntruth = 2.0', "mechanism.truth must be less than or equal to 1"),
        ('kind = "lazy-response"\ntruth = 0.4\neps = 1.0', "eps goes with"),
        ('kind = "geometric"\neps = 1.0\ntruth = 0.4', 'truth goes with kind = "lazy-response"'),
        ('kind = "lazy-response"\ntruth = 0.4\nmatrix = "m.csv"', "matrix goes without kind"),
    ],
)
def test_mistakes_in_a_new_family(file: Path, written: str, message: str) -> None:
    file.write_text(FILE.replace('kind = "lazy-response"\ntruth = 0.4', written))
    with pytest.raises(FileError, match=message):
        load_policy_scenario(file)


def test_a_family_is_gone_with_its_registration(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(FILE)
    with pytest.raises(FileError, match=r"mechanism\.kind must be"):
        load_policy_scenario(tmp_path / "file.toml")
    with pytest.raises(TypeError, match="'geometric' is a mechanism already"):
        variant(Family, "geometric")(LazyResponse)


@settings(max_examples=60, deadline=None)
@given(testing.families(inputs=(1, 6)))
def test_members_of_families_keep_their_level(drawn: tuple[Channel, float]) -> None:
    channel, eps = drawn
    assert epsilon(channel, metrics.line(len(channel.inputs))).nats <= eps * (1 + 1e-9) + 1e-12


def test_strategies_draw_a_new_family(lazy: None) -> None:
    found, _ = find(testing.families(inputs=2), lambda drawn: drawn[0].form == "float")
    assert found.shape == (2, 2)


def test_every_family_says_itself_in_words() -> None:
    for family in Family.classes():
        named = family.declared()
        if named.name is not None:
            assert family.title() == named.name.replace("-", " ")
        assert family.__doc__ and all(field.description for field in family.model_fields.values())
