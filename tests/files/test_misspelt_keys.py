"""Every key of every example, misspelt once: the message names the key, its table and the right spelling."""

import copy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sievert.errors import FileError
from sievert.files import PolicyScenario, dumps, load

EXAMPLES = sorted(
    path for path in Path("examples").rglob("*.toml") if not {"budgets", "letters"} & set(path.parts)
)
# Keys that no example has.
FURTHER = {
    "values by range": "[policy]\nvalues = { range = [0, 6], step = 2 }\n",
    "values in a file": '[policy]\nvalues = { file = "codes.csv", column = "code" }\n',
    "values by columns": '[policy]\nvalues = { product = [["a", "b"], { list = [1, 2] }] }\n',
    "places": '[policy]\nsecrets = { metric = "euclidean", region = '
    "{ south = 48.8, west = 2.3, north = 48.9, east = 2.4, cell = 500 } }\n",
    "knowledge": '[policy]\nvalues = ["a", "b"]\nrecords = 2\npermitted = { total = 1, weights = [1, 1] }\n',
    "bounds": '[policy]\nvalues = [1, 2]\nrecords = 2\n[query]\nkind = "count"\n'
    "where = { at_least = 1, at_most = 2 }\n",
    "a sum": '[policy]\nvalues = [1, 2]\nrecords = 2\n[query]\nkind = "sum"\nof = "age"\n'
    '[data]\ninput = "x.csv"\ncolumn = "age"\n',
    "a histogram": '[policy]\nvalues = [1, 2]\nrecords = 2\n[query]\nkind = "histogram"\nby = "age"\n'
    '[data]\ninput = "x.csv"\ncolumn = "age"\nmissing_values = ["NA"]\n',
    "a matrix": '[policy]\nvalues = [1, 2]\n[mechanism]\nmatrix = "m.csv"\neps = 1.0\n'
    "[claim]\neps = 1.0\ndelta = 1e-6\n",
    "prior and losses": '[policy]\nvalues = [1, 2]\n[adversary]\nprior = { kind = "uniform" }\n'
    'record_prior = { file = "p.csv" }\n'
    'gains = [{ kind = "identity" }, { partition = [[1], [2]], name = "x" }]\n'
    "[use]\nloss = { pinball = 0.5 }\n",
    "release": '[policy]\nvalues = [1, 2]\n[release]\nledger = "b.toml"\n'
    'missing = { use = 1 }\nkeep = ["x"]\n',
    "groups": '[policy]\nvalues = [1, 2]\n[estimate]\ngroups = [{ reports = "x.csv", eps = 1.0 }]\n',
}
FILES = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES} | {
    name: f"version = 1\n{text}" for name, text in FURTHER.items()
}


def _keys(item: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for key, value in parts:
        if isinstance(key, str):
            yield (*path, key)
        yield from _keys(value, (*path, key))


def _misspelt(document: Any, path: tuple[Any, ...], wrong: str) -> Any:
    changed = copy.deepcopy(document)
    table = changed
    for part in path[:-1]:
        table = table[part]
    items = [(wrong if key == path[-1] else key, value) for key, value in table.items()]
    table.clear()
    table.update(items)
    return changed


def _spellings(key: str) -> list[str]:
    """One letter left out, one twice, and two that changed places."""
    last = key[:-2] + key[:-3:-1]
    near = [key[:-2] + key[-1], key + key[-1], *([last] if len(key) > 3 else [])]
    return [wrong for wrong in near if wrong != key]


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_every_misspelt_key_is_told_its_spelling(tmp_path: Path, text: str) -> None:
    document = tomllib.loads(text)
    for path in _keys(document):
        for wrong in _spellings(path[-1]):
            (tmp_path / "file.toml").write_text(dumps(_misspelt(document, path, wrong)), encoding="utf-8")
            with pytest.raises(FileError) as caught:
                scenario = load(tmp_path / "file.toml")
                if isinstance(scenario, PolicyScenario):
                    _ = scenario.policy, scenario.query
                pytest.fail(f"{wrong} for {path} is taken")
            said = str(caught.value)
            names = [part for part in path[:-1] if isinstance(part, str)]
            assert f"did you mean '{path[-1]}'?" in said, (path, said)
            assert wrong in said and all(name in said for name in names), (path, said)
            assert not any(f"{name}: {name}" in said for name in names), said
