"""A kind is one class: once registered, the file, its errors, its schema and what it writes know it."""

import tomllib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

import sievert as sv
from sievert.errors import FileError
from sievert.files import document_schema, documents_schema, load_policy_scenario, vectors_schema
from sievert.kinds import ConfigType, Positive, paths_in, variant
from sievert.policies import Policy, Query, QueryConfig
from sievert.spaces import SecretGraph, Secrets, ValuesConfig
from sievert.tables import Rows, Source


class LetterValues(ValuesConfig):
    """The first letters of the alphabet."""

    letters: Annotated[Positive, Field(description="how many")]

    def labels(self) -> Sequence[Hashable]:
        return "abcdefghijklmnopqrstuvwxyz"[: self.letters]


class StarSecrets(Secrets):
    """The first value and each other may not be told apart."""

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        assert values is not None
        first, *others = values.labels()
        return sv.secrets.edges([first, *others], [(first, other) for other in others])


class AskedMost(QueryConfig):
    """The greatest value."""

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        return Query.from_table(max)


class MemorySource(Source):
    """Rows that are held in memory."""

    rows_of: Annotated[Mapping[str, list[str]], Field(description="a list for each column")]

    def rows(self, folder: Path) -> Rows:
        raise NotImplementedError


@pytest.fixture
def made_up() -> Iterator[None]:
    kinds: list[tuple[type[ConfigType], str | None, str | None, type[ConfigType]]] = [
        (ValuesConfig, None, "letters", LetterValues),
        (Secrets, "star", None, StarSecrets),
        (QueryConfig, "most", None, AskedMost),
        (Source, None, "rows_of", MemorySource),
    ]
    for noun, name, key, owner in kinds:
        variant(noun, name, key=key)(owner)
    yield
    for noun, name, key, _ in kinds:
        del noun.registry[str(name or key)]


FILE = """
version = 1
[policy]
values = { letters = 3 }
secrets = "star"
records = 2
[query]
kind = "most"
[data]
rows_of = { letter = ["a", "b"] }
column = "letter"
"""


def _written(folder: Path, text: str) -> Path:
    path = folder / "file.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.usefixtures("made_up")
def test_a_kind_is_one_class(tmp_path: Path) -> None:
    scenario = load_policy_scenario(_written(tmp_path, FILE))
    assert scenario.policy.values == ("a", "b", "c")
    assert scenario.policy.distance(("b", "a"), ("c", "a")) == 2
    assert scenario.answers.labels == ("a", "b", "c")
    assert scenario.columns == ["letter"]
    assert tomllib.loads(scenario.to_toml()) == tomllib.loads(FILE)
    assert list(Draft202012Validator(document_schema()).iter_errors(tomllib.loads(FILE))) == []


@pytest.mark.usefixtures("made_up")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("letters = 3", "leters = 3"), r"values\.leters is unknown.*did you mean 'letters'"),
        (("letters = 3", "letters = 0"), r"values\.letters must be greater than or equal to 1"),
        (('"star"', '"stra"'), r"secrets must be .*'star' or a table.*did you mean 'star'"),
        (('kind = "most"', 'kind = "mots"'), r"query\.kind must be .*'most'.*did you mean 'most'"),
        (("rows_of =", 'input = "x.csv"\nrows_of ='), r"give exactly one of input, source, rows_of"),
    ],
)
def test_errors_know_the_kinds(tmp_path: Path, wrong: tuple[str, str], message: str) -> None:
    with pytest.raises(FileError, match=message):
        load_policy_scenario(_written(tmp_path, FILE.replace(*wrong)))


def test_without_the_class_there_is_no_kind(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="letters is unknown"):
        load_policy_scenario(_written(tmp_path, FILE))


def test_paths_are_named_as_the_file_writes_them(tmp_path: Path) -> None:
    text = """
    version = 1
    [policy]
    values = { product = [["a"], { file = "codes.csv" }] }
    permitted = { databases = "known.csv", total = 3 }
    [query]
    kind = "table"
    table = "answers.csv"
    [adversary]
    prior = "prior.csv"
    gains = [{ matrix = "gain.csv" }]
    [data]
    input = "data.csv"
    """
    document = load_policy_scenario(_written(tmp_path, text)).document
    assert {key: str(path) for key, path in paths_in(document)} == {
        "policy.values.product, entry 2.file": "codes.csv",
        "policy.permitted.databases": "known.csv",
        "query.table": "answers.csv",
        "adversary.prior": "prior.csv",
        "adversary.gains, entry 1.matrix": "gain.csv",
        "data.input": "data.csv",
    }


def _nouns() -> list[type[ConfigType]]:
    document_schema()  # loads every noun
    return [noun for noun in ConfigType.nouns.values() if noun.__module__.startswith("sievert.")]


# What the keys that must be given hold.
GIVEN = {
    "range": [0, 3],
    "list": [1, 2],
    "product": [[1, 2]],
    "partition": [[1], [2]],
    "edges": [[1, 2]],
    "tree": {"a": ""},
    "histogram": {"1": 2},
    "counts": {"1": 2},
    "tables": [{"total": 1}],
    "probabilities": [0.5, 0.5],
    "property": [1],
    "where": [1],
    "members": [1],
    "sets": [[1], [2]],
    "interval": [0.0, 1.0],
    "beta": [2, 5],
    "q": 0.5,
    "normal": [0.5, 0.1],
}
# The same keys with other contents, by the kind.
OTHERS: dict[str, dict[str, object]] = {
    "Gaussian": {"sigma": 2.0},
    "PullBack": {"anchor": 1},
    "RayCluster": {"address": "ray://head:10001"},
    "DatabaseSource": {"source": "duckdb://x.db", "table": "x"},
    "ColumnProperty": {"column": "x"},
    "WhereProperty": {"where": {"x": 1}},
    "CountProperty": {"count": ["x"], "of": 1},
}


def _required(owner: type[ConfigType]) -> dict[str, object]:
    needed = [name for name, field in owner.model_fields.items() if field.is_required()]
    text = ["file", "matrix", "databases", "points", "input", "table", "density"]
    found: dict[str, object] = {name: "x.csv" if name in text else GIVEN.get(name, 1) for name in needed}
    found |= OTHERS.get(owner.__name__, {})
    if "alpha" in owner.model_fields:
        found["eps"] = 1.0
    return found | ({"points": "x.csv"} if "region" in owner.model_fields else {})


def test_every_noun_names_its_kinds_alike() -> None:
    """By a bare name, by the tag, or by one leading key; the schema takes what the file takes."""
    definitions, tried = {}, 0
    for schema in (documents_schema, vectors_schema, document_schema):
        definitions |= schema()["$defs"]
    for noun in _nouns():
        part = Draft202012Validator({**definitions[noun.noun], "$defs": definitions})
        for name, found in noun.kinds().items():
            if found.is_noun:
                continue
            table = _required(found.owner)
            given: list[object] = [{noun.tag: name, **table} if found.name is not None else table]
            if found.bare:
                given.append(name)
            if name in (noun.list_key, noun.text_key):
                given.append(table[name])
            resolved = [noun.resolve(item) for item in given]
            assert all(item == resolved[0] for item in resolved), (noun.noun, name)
            assert all(part.is_valid(item) for item in given), (noun.noun, name)
            assert isinstance(resolved[0], found.owner)
            tried += len(given)
    assert tried > 50
