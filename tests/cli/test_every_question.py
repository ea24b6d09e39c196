"""Every question for every release: each answers in JSON, or refuses with the reason that the table gives."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sievert.cli.app import app
from sievert.errors import SievertError

POLICIES = {
    "complete": 'secrets = "complete"',
    "line": 'secrets = "line"',
    "threshold": "secrets = { threshold = 2 }",
    "partition": "secrets = { partition = [[0, 1], [2]] }",
    "metric": 'secrets = { metric = "line" }',
    "add-remove": 'secrets = "complete"\nadjacency = "add-remove"',
    "permitted": 'secrets = "complete"\npermitted = { total = 3 }',
}
QUERIES = {
    "count": 'kind = "count"\nwhere = [0]',
    "sum": 'kind = "sum"',
    "histogram": 'kind = "histogram"',
    "record": 'kind = "record"',
}
MECHANISMS = {
    "geometric": "eps = 1.0",
    "truncated-geometric": "eps = 1.0",
    "randomised-response": "eps = 1.0",
    "exponential": "eps = 1.0",
    "staircase": "eps = 1.0",
    "gaussian": "sigma = 2",
}
QUESTIONS = {
    "audit": "audit FILE --json",
    "explain": "explain FILE --json",
    "limits": "limits FILE --json",
    "breach": "breach FILE --observations 1,2 --json",
    "compare": "compare FILE FILE --json",
    "design": "design FILE --eps 1 --output best.toml --json",
    "release": "release FILE --json",
    "estimate": "estimate FILE --json",
}
# Noise in a table with every policy; other mechanisms with a few; and values one by one.
CASES = [
    *((query, "geometric", policy) for query in ("count", "sum", "histogram") for policy in POLICIES),
    *((query, "gaussian", p) for query in ("sum", "histogram") for p in ("line", "metric", "permitted")),
    *((query, "staircase", "metric") for query in ("sum", "histogram")),
    *((query, "truncated-geometric", "complete") for query in ("count", "histogram")),
    ("count", "exponential", "complete"),
    *(("record", "randomised-response", policy) for policy in POLICIES if policy != "permitted"),
    ("record", "truncated-geometric", "line"),
    ("record", "gaussian", "complete"),
]
ONE_BY_ONE = "goes with counts, sums and histograms"
# Which question refuses which release under which policy (None: any), and why.
REFUSED = {
    **{
        (name, "record", "gaussian", None): ONE_BY_ONE
        for name in ("audit", "explain", "limits", "breach", "compare", "release")
    },
    ("limits", None, "gaussian", None): "satisfies no finite ε; pass --eps",
    ("breach", None, "gaussian", "permitted"): "so that there is no one curve",
    ("breach", "histogram", None, "permitted"): "so that there is no one curve",
    ("design", "sum", None, "permitted"): "no two databases",
    ("design", "record", None, None): r"table \[use\] is missing",
    ("release", "record", None, "add-remove"): "shows how many rows there are",
    ("estimate", "record", None, "add-remove"): "nothing was released",
    ("estimate", "record", "gaussian", None): "nothing was released",
}
# A sum that is public to begin with changes nothing, and Gaussian noise on it keeps ε = 0.
ANSWERED = {("limits", "sum", "gaussian", "permitted")}


def reason(question: str, query: str, mechanism: str, policy: str) -> str | None:
    """Why the table refuses a question; None where it answers."""
    if (question, query, mechanism, policy) in ANSWERED:
        return None
    for (name, *given), why in REFUSED.items():
        wanted = zip(given, (query, mechanism, policy), strict=True)
        if name == question and all(one is None or one == other for one, other in wanted):
            return why
    return None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("v\n0\n1\n2\n")
    (tmp_path / "budget.toml").write_text("person = 1000.0\n")
    return tmp_path


def asked(command: str) -> str:
    """What a command prints, or why it refuses; anything but a SievertError is raised."""
    done = CliRunner().invoke(app, command.replace("FILE", "file.toml").split())
    if done.exception is not None and not isinstance(done.exception, SystemExit | SievertError):
        raise done.exception
    return str(done.exception) if isinstance(done.exception, SievertError) else done.output


@pytest.mark.parametrize("query, mechanism, policy", CASES)
def test_every_question_answers_or_says_why_not(
    folder: Path, query: str, mechanism: str, policy: str
) -> None:
    if mechanism == "gaussian":
        (folder / "budget.toml").write_text("rho = 1000.0\ndelta = 1e-6\n")
    (folder / "file.toml").write_text(
        f"""
version = 1
[policy]
values = [0, 1, 2]
{"" if query == "record" else "records = 3"}
{POLICIES[policy]}
[query]
{QUERIES[query]}
[mechanism]
kind = "{mechanism}"
{MECHANISMS[mechanism]}
[adversary]
observations = 2
[data]
input = "data.csv"
column = "v"
[release]
ledger = "budget.toml"
output = "out.csv"
test_seed = 1
"""
    )
    _check({name: reason(name, query, mechanism, policy) for name in QUESTIONS})


def _check(expected: dict[str, str | None]) -> None:
    for question, why in expected.items():
        said = asked(QUESTIONS[question])
        if why is None:
            assert isinstance(json.loads(said), dict), f"{question}: {said}"
        else:
            assert re.search(why, said), f"{question}: {said}"


def test_every_question_about_a_map(folder: Path) -> None:
    (folder / "data.csv").write_text("lat,lon\n52.501,13.401\n52.502,13.402\n")
    (folder / "file.toml").write_text(
        """
version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.5, west = 13.4, north = 52.503, east = 13.404, cell = 150 }
[query]
kind = "record"
[mechanism]
kind = "planar-geometric"
eps = 0.01
[adversary]
observations = 2
[use]
loss = "distance"
[data]
input = "data.csv"
column = ["lat", "lon"]
[release]
ledger = "budget.toml"
output = "out.csv"
test_seed = 1
"""
    )
    _check(dict.fromkeys(QUESTIONS))
