"""The file's JSON Schema and its reference page are made from the declarations, and fit the examples."""

import json
import runpy
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sievert.errors import FileError
from sievert.files import document_schema, load_policy_scenario

EXAMPLES = sorted(
    path for path in Path("examples").glob("*.toml") if "version" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_fit_the_schema(path: Path) -> None:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    assert list(Draft202012Validator(document_schema()).iter_errors(content)) == []


RIGHT = {
    "several rules in one table": "values = [1], permitted = { total = 1, counts = { 1 = 1 } }",
    "a list of rules": "values = [1], permitted = [{ total = 1 }, { counts = { 1 = 1 } }]",
    "values of several columns": "values = { product = [[1, 2], { range = [0, 9], step = 3 }] }",
    "a metric": "values = [1, 2], secrets = { metric = 'line' }",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_schema_and_file_take_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.toml").write_text(f"version = 1\npolicy = {{ {text} }}\n")
    scenario = load_policy_scenario(tmp_path / "file.toml")
    content = tomllib.loads(scenario.to_toml())
    assert content == tomllib.loads((tmp_path / "file.toml").read_text())
    assert list(Draft202012Validator(document_schema()).iter_errors(content)) == []


WRONG = {
    "metric as secrets": "policy = { values = [1], secrets = 'discrete' }",
    "key of another kind": "policy = { values = [1], secrets = { threshold = 1, points = 'p.csv' } }",
    "query of no kind": "policy = { values = [1] }\nquery = { kind = 'median' }",
    "unknown key": "policy = { values = [1], record = 2 }",
    "gain of no kind": "policy = { values = [1] }\nadversary = { gains = ['telepathy'] }",
    "two kinds of gain": "policy = { values = [1] }\nadversary = { gains = [{ tries = 1, within = 1 }] }",
    "number below its least": "policy = { values = [1] }\nuse = { loss = { tolerance = -1 } }",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_schema_and_file_refuse_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.toml").write_text(f"version = 1\n{text}\n")
    with pytest.raises(FileError):
        load_policy_scenario(tmp_path / "file.toml")
    content = tomllib.loads(f"version = 1\n{text}\n")
    assert list(Draft202012Validator(document_schema()).iter_errors(content))


def test_the_page_shows_the_declarations() -> None:
    made = runpy.run_path("docs/_ext/file_reference.py")
    page = Path("docs/file.md").read_text(encoding="utf-8")
    assert page == made["filled"](page), "run python docs/_ext/file_reference.py"
    written = json.loads(Path("docs/schemas/file.json").read_text(encoding="utf-8"))
    assert written == document_schema(), "run python docs/_ext/file_reference.py"
    Draft202012Validator.check_schema(written)
