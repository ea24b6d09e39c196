"""Files and data that cannot be released: a sentence and exit code 1, 2 or 4, nothing charged."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from sievert.errors import SievertError

Sievert = Callable[..., CompletedProcess[str]]

BASE = """version = 1
[policy]
values = {values}
records = {records}
[query]
{query}
[mechanism]
{mechanism}
[data]
input = "data.csv"
column = {column}
[release]
ledger = "budget.toml"
output = "out.csv"
"""
MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = {{ south = 52.505, west = 13.36, north = 52.53, east = 13.42, cell = {cell} }}
[mechanism]
kind = "planar-geometric"
eps = {eps}
[data]
input = "data.csv"
column = ["lat", "lon"]
[release]
ledger = "budget.toml"
output = "out.csv"
"""
ROWS = "age,b\n" + "".join(f"{i},{i}\n" for i in range(6))


def table(more: str = "", **parts: str) -> str:
    given = {
        "values": "{ range = [0, 5] }",
        "records": "6",
        "query": 'kind = "sum"',
        "mechanism": 'kind = "geometric"\neps = 0.5',
        "column": '"age"',
        **parts,
    }
    return BASE.format(**given) + more


def rows(more: str = "", **parts: str) -> str:
    single = {"records": "1", "query": "", "mechanism": 'kind = "randomised-response"\neps = 1'}
    return table(more, **{**single, **parts})


def places(cell: str = "150", eps: str = "0.01") -> str:
    return MAP.format(cell=cell, eps=eps)


@pytest.fixture
def release(sievert: Sievert, tmp_path: Path) -> Sievert:
    """`sievert release` of a file with its data and budget, in a folder of their own."""

    def run(
        *arguments: str, text: str, data: str = ROWS, budget: str = "person = 3.0"
    ) -> CompletedProcess[str]:
        (tmp_path / "file.toml").write_text(text, encoding="utf-8")
        (tmp_path / "data.csv").write_text(data, encoding="utf-8")
        (tmp_path / "budget.toml").write_text(budget, encoding="utf-8")
        return sievert("release", tmp_path / "file.toml", *arguments)

    return run


TWO = {"column": '["age", "b"]'}
BAD_FILES = {
    "plain values for two columns": (table(query='kind = "histogram"', **TWO), "data.column names 2 columns"),
    "one of two columns counted": (table(query='kind = "histogram"\nby = "age"', **TWO), "names 2 columns"),
    "a condition on one of two": (table(query='kind = "count"\nwhere = { age = 3 }', **TWO), "2 columns"),
    "the sum of one of two": (table(query='kind = "sum"\nof = "b"', **TWO), "2 columns"),
    "two columns row by row": (rows(**TWO), "2 columns"),
    "a column twice": (
        table(values="{ product = [[0], [0]] }", query='kind = "histogram"', column='["age", "age"]'),
        "is there twice",
    ),
    "no noise for a cell": (places(eps="0"), "mechanism.eps is 0"),
    "too much noise for a cell": (places(eps="1e308"), "mechanism.eps is 1e+308"),
    "a cell of a nanometre": (places(cell="1e-9"), "region.cell is 1e-09"),
    "a cell of nothing": (places(cell="5e-324"), "region.cell is"),
    "no outputs": (
        table(mechanism='kind = "geometric"\neps = 1\noutputs = []'),
        "outputs must be consecutive",
    ),
    "outputs with gaps": (table(mechanism='kind = "geometric"\neps = 1\noutputs = [1, 9]'), "consecutive"),
    "alpha is -inf": (table(mechanism='kind = "geometric"\nalpha = -inf'), "mechanism.alpha is -inf"),
    "alpha is nan": (rows(mechanism='kind = "randomised-response"\nalpha = nan'), "mechanism.alpha is nan"),
    "alpha is tiny": (table(mechanism='kind = "geometric"\nalpha = "1e-99999999"'), "mechanism.alpha is"),
    "alpha in other digits": (table(mechanism='kind = "geometric"\nalpha = "१/३"'), "mechanism.alpha is"),
    "an exponential at 1e308": (rows(mechanism='kind = "exponential"\neps = 1e308'), "eps is 1e+308"),
    "values beyond 2^53": (table(values="[1e308, 1]"), "2^53 steps"),
    "a range without end": (table(values=f"{{ range = [0, {10**30}] }}"), "use coarser values"),
    "a step that misses the end": (table(values="{ range = [0, 10], step = 3 }"), "does not reach the end"),
    "the person is released": (rows().replace('"age"', '"age"\nperson = "age"'), "also data.column"),
    "a private column is kept": (rows('keep = ["age"]\n'), "is private"),
    "a substitute outside the values": (table("missing = { use = 500 }\n"), "release.missing: use = 500"),
    "a substitute row by row": (rows("unknown = { use = 500 }\n"), "release.unknown: use = 500"),
    "a name too long for a file": (table().replace("out.csv", "o" * 250 + ".csv"), "at most 150 bytes"),
    "a name with a zero": (table().replace("out.csv", "o\\u0000.csv"), "is not the name of a file"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_answered_by_preview_and_release_alike(tmp_path: Path, name: str) -> None:
    from typer.testing import CliRunner

    from sievert.cli.app import app

    text, message = BAD_FILES[name]
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "budget.toml").write_text("person = 3.0")
    for arguments in (["--preview"], []):
        done = CliRunner().invoke(app, ["release", str(tmp_path / "file.toml"), *arguments])
        assert isinstance(done.exception, SievertError), done.output
        assert message in str(done.exception) and len(str(done.exception)) < 700
    assert sorted(path.name for path in tmp_path.iterdir()) == ["budget.toml", "data.csv", "file.toml"]


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ('person = "1e99999999"', "key person is '1e99999999'"),
        ('person = "1e-99999999"', "key person"),
        ('person = 3\n[columns]\nage = "1e99999999"', "key columns.age"),
        (f'person = "0.{"1" * 5000}"', "key person"),
        (f"person = {'9' * 5000}", "cannot be read"),
        ("person = 1e308", "key person"),
    ],
)
def test_a_hostile_budget_is_answered_at_once(
    release: Sievert, tmp_path: Path, budget: str, message: str
) -> None:
    done = release("--preview", text=table(), budget=budget)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("cell", ["0." + "1" * 5000, "1" * 5000, "1e99999999", "1/3", "१"])
def test_a_hostile_cell_is_named_and_costs_nothing(release: Sievert, tmp_path: Path, cell: str) -> None:
    done = release("--details", text=table(), data=ROWS.replace("5,5", f"{cell},5"))
    assert done.returncode in (2, 4) and "row 6 has" in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr) < 700 and not (tmp_path / "out.csv").exists()


def test_hostile_cells_are_clamped_and_rounded_where_the_file_says_so(
    release: Sievert, tmp_path: Path
) -> None:
    cells = ["1e99999999", "-1e400", "1" * 5000, "1e-99999999", "3.5", "2.0"]
    rules = 'out_of_range = "clamp"\noff_grid = "nearest"\n'
    data = "age,b\n" + "".join(f"{cell},0\n" for cell in cells)
    mechanism = 'kind = "truncated-geometric"\nalpha = "1/1000000000000000000000000000000000000000"'
    budget = "person = 10000"
    done = release(text=table(rules, mechanism=mechanism), data=data, budget=budget)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["value"] == str(5 + 0 + 5 + 0 + 3 + 2)


def test_a_large_range_is_previewed_and_released(release: Sievert, tmp_path: Path) -> None:
    """150,001 salaries: nothing is listed by pairs."""
    text = table(values="{ range = [0, 150000] }", mechanism='kind = "truncated-geometric"\neps = 0.5')
    assert release("--preview", text=text).returncode == 0
    done = release(text=text)
    assert done.returncode == 0, done.stderr


def test_a_step_leaves_out_what_lies_between(release: Sievert, tmp_path: Path) -> None:
    text = table(values="{ range = [0, 50], step = 10 }")
    data = "age,b\n" + "".join(f"{i},0\n" for i in (0, 10, 20, 30, 40, 50))
    assert release(text=text, data=data).returncode == 0
    other = data.replace("\n40,", "\n41,")
    done = release("--details", "--output", str(tmp_path / "b.csv"), text=text, data=other)
    assert done.returncode in (2, 4) and "lies between two values" in done.stderr


def test_a_table_with_too_many_answers_is_audited_by_its_sensitivity(
    release: Sievert, sievert: Sievert, tmp_path: Path
) -> None:
    """A sum over 150,001 salaries: audit, [accept] and the charge agree, and nothing is listed."""
    text = table(values="{ range = [0, 150000] }", mechanism='kind = "truncated-geometric"\neps = 0.5')
    for limit, code in (("eps = 0.5", 0), ("eps = 0.4", 1)):
        accepting = text + f"[accept]\n{limit}\n"
        (tmp_path / "file.toml").write_text(accepting, encoding="utf-8")
        done = sievert("audit", tmp_path / "file.toml", "--json")
        assert done.returncode == code, done.stderr
        assert json.loads(done.stdout)["exact_eps_exact"] == "1/2"
        assert release("--preview", text=accepting).returncode == code
