"""What every command prints with --json fits its schema, and docs/json.md shows the schemas."""

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sievert.cli.app import app

FOLDER = Path("docs/schemas")
TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required"}
KNOWN |= {"additionalProperties", "items", "prefixItems", "minItems", "maxItems", "anyOf", "enum"}
KNOWN |= {"minimum", "maximum", "pattern"}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def problems(value: Any, rule: dict[str, Any], root: dict[str, Any], where: str = "$") -> list[str]:
    """What is wrong with a value, each with its place; empty when it fits."""
    assert set(rule) <= KNOWN, f"{where}: unknown keywords {set(rule) - KNOWN}"
    if "$ref" in rule:
        return problems(value, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root, where)
    if "anyOf" in rule:
        tried = [problems(value, item, root, where) for item in rule["anyOf"]]
        # The alternative that goes deepest before something is wrong says most.
        return [] if [] in tried else max(tried, key=lambda found: len(found[0].split(": ")[0]))
    if "enum" in rule and not any(type(item) is type(value) and item == value for item in rule["enum"]):
        return [f"{where}: {value!r} is none of {rule['enum']}"]
    kind = rule.get("type")
    if kind is not None and (
        not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind in ("integer", "number"))
    ):
        return [f"{where}: {value!r} is not of type {kind}"]
    if kind == "object":
        return _object(value, rule, root, where)
    if kind == "array":
        return _array(value, rule, root, where)
    found = []
    if not rule.get("minimum", value) <= value <= rule.get("maximum", value) if _numeric(value) else False:
        found.append(f"{where}: {value} is out of range")
    if "pattern" in rule and not re.search(rule["pattern"], value):
        found.append(f"{where}: {value!r} does not match {rule['pattern']}")
    return found


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _object(value: dict[str, Any], rule: dict[str, Any], root: dict[str, Any], where: str) -> list[str]:
    known = rule.get("properties", {})
    found = [f"{where}: {key!r} is missing" for key in rule.get("required", []) if key not in value]
    rest = rule.get("additionalProperties", {})
    for key, item in value.items():
        if key not in known and rest is False:
            found.append(f"{where}: {key!r} is not documented; add it to docs/schemas")
        else:
            found += problems(item, known.get(key, rest), root, f"{where}.{key}")
    return found


def _array(value: list[Any], rule: dict[str, Any], root: dict[str, Any], where: str) -> list[str]:
    found = []
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        found.append(f"{where}: {len(value)} items")
    first = rule.get("prefixItems", [])
    for position, item in enumerate(value):
        inner = first[position] if position < len(first) else rule.get("items", {})
        found += problems(item, inner, root, f"{where}[{position}]")
    return found


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
    assert problems(data, rules, rules) == []
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


def test_release(examples: Path) -> None:
    names = ["census-count", "survey-response", "town-places"]
    names += [f"release/{path.stem}" for path in sorted(Path("examples/release").glob("*.toml"))]
    for name in names:
        file = examples / f"{name}.toml"
        assert checked("release-preview", "release", file, "--preview")["possible"]
        assert checked("release", "release", file)["secure"]
        assert not checked("release-preview", "release", file, "--preview", code=1)["possible"]


def test_a_refused_release(examples: Path) -> None:
    file = examples / "census-count.toml"
    for number in range(20):
        done = CliRunner().invoke(app, ["release", str(file), "--output", str(examples / f"{number}.csv")])
        if done.exit_code == 1:
            break
    data = checked("release", "release", file, "--output", examples / "last.csv", code=1)
    assert "refused" in data


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
    for path in FOLDER.glob("*.json"):
        assert f"<!-- schema: {path.stem} -->" in page
        assert f"schemas/{path.name}" in page


def test_the_checker_finds_what_is_wrong() -> None:
    rules = schema("verify")
    assert problems({"holds": True, "statement": "x"}, rules, rules) == []
    assert problems({"holds": 1, "statement": "x"}, rules, rules) == ["$.holds: 1 is not of type boolean"]
    assert problems({"holds": True}, rules, rules) == ["$: 'statement' is missing"]
    more = problems({"holds": True, "statement": "x", "more": 0}, rules, rules)
    assert more == ["$: 'more' is not documented; add it to docs/schemas"]
    audit = schema("audit")
    number = audit["$defs"]["number"]
    assert problems("inf", number, audit) == []
    assert problems("many", number, audit) != []
    assert problems(1.5, audit["$defs"]["probability"], audit) == ["$: 1.5 is out of range"]
    assert problems("1/3", audit["$defs"]["fraction"], audit) == []
    assert problems("0.3", audit["$defs"]["fraction"], audit) != []
    assert problems([1], audit["$defs"]["pair"], audit) != []
