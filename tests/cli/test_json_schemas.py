"""What every command prints with --json fits its schema, and docs/json.md shows the schemas."""

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from sievert.cli.app import app

FOLDER = Path("docs/schemas")


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def problems(value: Any, rules: dict[str, Any]) -> list[str]:
    """What is wrong with a value, each with its place; empty when it fits."""
    found = Draft202012Validator(rules).iter_errors(value)
    return [f"{problem.json_path}: {problem.message}" for problem in found]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    shutil.copytree("examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.ledger"))
    return tmp_path / "examples"


def checked(name: str, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Run a command, hold its JSON against a schema and its exit code against the documented one."""
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output

    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is not JSON")

    data: dict[str, Any] = json.loads(done.stdout, parse_constant=refuse)
    rules = schema(name)
    assert problems(data, rules) == []
    return data


def written(folder: Path, text: str, name: str = "own.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


# An output that some inputs never have: no ε is large enough.
LEAKY = """
version = 1
policy = { values = ["a", "b"], secrets = "complete" }
mechanism = { matrix = "leaky.csv" }
accept = { guess = 0.6 }
"""


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    written(tmp_path, "input,x,y\na,1,0\nb,1/2,1/2\n", "leaky.csv")
    return written(tmp_path, LEAKY)


@pytest.mark.parametrize("name", ["census-count", "daily-question", "survey-response", "town-places"])
def test_audit(name: str) -> None:
    assert checked("audit", "audit", f"examples/{name}.toml")["passed"]


def test_audit_of_a_broken_promise(leaky: Path) -> None:
    data = checked("audit", "audit", leaky, code=1)
    assert data["epsilon"]["nats"] == "inf"
    assert data["worst"] is None
    assert not data["passed"]


@pytest.mark.parametrize("name", ["census-count", "daily-question", "survey-response"])
def test_limits(name: str) -> None:
    assert checked("limits", "limits", f"examples/{name}.toml")["verified"].startswith("verified")


def test_infer() -> None:
    checked("infer", "infer", "examples/custody.toml")
    checked("audit", "audit", "examples/custody.toml")


def test_limits_beyond_any_float() -> None:
    data = checked("limits", "limits", "examples/census-count.toml", "--eps", 100)
    assert data["database"]["diameter"]["factor"] == "inf"
    assert isinstance(data["database"]["diameter"]["bits"], float)


def test_compare(tmp_path: Path) -> None:
    first = written(tmp_path, "input,x,y,z\na,1/2,1/2,0\nb,0,1/2,1/2\nc,1/3,1/3,1/3\n", "a.csv")
    second = written(tmp_path, "input,x,y\na,1,0\nb,0,1\nc,1/2,1/2\n", "b.csv")
    assert checked("compare", "compare", first, first)["can_replace"] is True
    data = checked("compare", "compare", first, second, code=1)
    assert data["can_replace"] is False
    assert data["forward"][0]["witness"]["prior_exact"] == ["1/3"] * 3
    shown = written(tmp_path, "input,x,y\na,1,0\nb,0,1\n", "identity.csv")
    hidden = written(tmp_path, "input,x\na,1\nb,1\n", "null.csv")
    assert checked("compare", "compare", hidden, shown, code=1)["strongest"] is None


@pytest.mark.parametrize(
    "name", ["daily-question", "survey-response", pytest.param("town-places", marks=pytest.mark.slow)]
)
def test_breach(name: str) -> None:
    data = checked("breach", "breach", f"examples/{name}.toml", "--observations", "1,5")
    assert data["found"]["success"]["observations"] == [1, 5]


def test_breach_that_is_certain(leaky: Path) -> None:
    assert checked("breach", "breach", leaky)["found"]["worst"]["bits"] == "inf"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["examples/survey-response.toml"], 0),
        (["examples/town-places.toml"], 0),
        (["examples/daily-question.toml"], 1),
        (["--eps", 1, "--delta", 1e-6, "--values", 4, "--releases", 5], 0),
        (["--eps", "inf", "--values", 2], 0),
        (["--rho", 0.1], 0),
        (["--sigma", 2, "--prior", "0.6,0.3,0.1"], 0),
    ],
)
def test_explain(arguments: list[object], code: int) -> None:
    assert checked("explain", "explain", *arguments, code=code)["passed"] is (code == 0)


@pytest.mark.parametrize("name", ["household-sizes", "income-by-district"])
def test_estimate_from_a_released_table(examples: Path, name: str) -> None:
    file = examples / "release" / f"{name}.toml"
    checked("release", "release", file)
    assert checked("estimate-table", "estimate", file)["found"]["likeliest"]


def test_estimate(tmp_path: Path) -> None:
    data = checked("estimate", "estimate", "examples/commute-reports.toml")
    assert sum(data["reported"].values()) == data["rows"] == 20_000
    assert data["original"] is not None
    assert checked("estimate", "estimate", "examples/commute-reports.toml", "--public")["original"] is None
    (tmp_path / "reports.csv").write_text("answer\na\na\na\n", encoding="utf-8")
    text = """
version = 1
policy = { values = ["a", "b", "c"] }
mechanism = { kind = "randomised-response", eps = 1.0 }
"""
    file = written(tmp_path, text, "survey.toml")
    given = ("--reports", tmp_path / "reports.csv", "--column", "answer")
    assert checked("estimate", "estimate", file, *given)["estimate"]["unique"] is True


@pytest.mark.parametrize("more", [[], ["--eps", 0.5], ["--solve", "sigma"], ["--solve", "rho"]])
def test_explain_backwards(more: list[object]) -> None:
    data = checked("explain-guess", "explain", "--guess", 0.5, "--values", 4, *more)
    assert data["explanation"]["after"] <= 0.5


@pytest.mark.parametrize("name", ["census-count", "town-places"])
def test_design(examples: Path, name: str) -> None:
    data = checked("design", "design", examples / f"{name}.toml")
    assert Path(data["written"]["file"]).exists()


def test_design_of_a_survey(tmp_path: Path) -> None:
    text = """
version = 1
policy = { values = ["a", "b", "c", "d", "e"] }
mechanism = { kind = "randomised-response", eps = 0.5 }
use = { loss = "estimation-variance", reports = 500 }
"""
    data = checked("design-survey", "design", written(tmp_path, text, "survey.toml"))
    assert not data["found"]["proved"]


def test_design_of_noise(examples: Path) -> None:
    data = checked("design-noise", "design", examples / "release" / "household-sizes.toml")
    assert data["found"]["best"] and Path(data["written"]["file"]).exists()


def test_release_without_a_ledger(examples: Path) -> None:
    file = examples / "release" / "household-sizes.toml"
    lines = file.read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("ledger", "eps", "[accept]", "guess", "bits"))]
    text = "\n".join(kept).replace('kind = "truncated-geometric"', 'kind = "gaussian"\nsigma = 20')
    file.write_text(text + "\n")
    assert checked("release-preview", "release", file, "--preview", "--without-ledger")["eps"] is None
    assert checked("release", "release", file, "--without-ledger")["remaining"] is None


def test_release(examples: Path) -> None:
    names = ["census-count", "survey-response", "town-places"]
    names += [f"release/{path.stem}" for path in sorted(Path("examples/release").glob("*.toml"))]
    for name in names:
        file = examples / f"{name}.toml"
        assert checked("release-preview", "release", file, "--preview")["possible"]
        assert checked("release", "release", file)["secure"]
        assert not checked("release-preview", "release", file, "--preview", code=1)["possible"]


def test_plans_and_ledgers(examples: Path) -> None:
    file, budget = examples / "census-count.toml", examples / "budgets" / "census.toml"
    assert checked("release-plan", "release", file, "--plan", 2)["total_exact"] == "1"
    assert checked("release", "release", file)["slot"] == 1
    assert checked("ledger", "ledger", budget)["plans"][0]["used"] == 1


def test_a_refused_release(examples: Path) -> None:
    file = examples / "census-count.toml"
    for number in range(20):
        done = CliRunner().invoke(app, ["release", str(file), "--output", str(examples / f"{number}.csv")])
        if done.exit_code == 1:
            break
    data = checked("release", "release", file, "--output", examples / "last.csv", code=1)
    assert "refused" in data
    (examples / "users" / "budgets" / "users.toml").write_text("person = 0.5\n")
    data = checked("release", "release", examples / "users" / "users.toml", code=1)
    assert data["remaining"] == "1/2" and data["refused"]
    plan = ("release", file, "--plan", 1000)
    assert checked("release", *plan, code=1)["requested"] == "500"
    # Of the budget, ρ; without the unit a reader would take it for ε, which is another amount.
    (examples / "budgets" / "rho.toml").write_text('rho = 0.01\ndelta = "1e-6"\n', encoding="utf-8")
    file.write_text(
        file.read_text(encoding="utf-8").replace("budgets/census.toml", "budgets/rho.toml"), encoding="utf-8"
    )
    data = checked("release", "release", file, "--output", examples / "rho.csv", code=1)
    assert (data["currency"], data["remaining"]) == ("rho", "1/100")


def test_verify(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    checked("limits", "limits", "examples/survey-response.toml", "--proof", proof)
    assert checked("verify", "verify", proof)["holds"]
    changed = re.sub(r'"eps": "?[0-9.e/-]+"?', '"eps": "1/100"', proof.read_text(encoding="utf-8"), count=1)
    assert changed != proof.read_text(encoding="utf-8")
    proof.write_text(changed, encoding="utf-8")
    assert not checked("verify", "verify", proof, code=1)["holds"]


def test_the_page_shows_every_schema() -> None:
    page = Path("docs/json.md").read_text(encoding="utf-8")
    tables = runpy.run_path("docs/_ext/schema_tables.py")
    assert page == tables["filled"](page), "run python docs/_ext/schema_tables.py"
    for path in set(FOLDER.glob("*.json")) - {
        FOLDER / f"{name}.json" for name in ("file", "documents-file", "vectors-file", "proof")
    }:
        Draft202012Validator.check_schema(schema(path.stem))
        assert f"<!-- schema: {path.stem} -->" in page
        assert f"schemas/{path.name}" in page


def test_an_audit_of_an_interval_fits_its_schema(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
version = 1
[policy]
values = { interval = [0.0, 1.0], cells = 10 }
secrets = { metric = "line" }
[mechanism]
kind = "truncated-laplace"
eps = 4.0
pixels = 6
[adversary]
prior = { beta = [2, 5] }
gains = [{ within = 0.1 }]
""",
    )
    found = checked("audit", "audit", file)["interval"]
    assert found["released"]["low"] > found["loss"]["high"]
    assert found["within"][0]["after"]["high"] < found["within"][0]["before"]["low"]
