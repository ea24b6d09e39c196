"""`sievert estimate` of what was released: counts, sums, histograms, and people who report again."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sievert.cli.app import app
from sievert.errors import FileError
from sievert.files import load_policy_scenario
from sievert.mechanisms import randomised_response
from sievert.questions.estimate import TableEstimateAnswer, estimate_of, estimate_proof
from sievert.report.estimate import page, table

PEOPLE = [("north", "low")] * 30 + [("south", "low")] * 15 + [("north", "high")] * 5
HISTOGRAM = """
version = 1
[policy]
values = {{ product = [["north", "south"], ["low", "high"]] }}
secrets = "complete"
records = 50
{policy}
[query]
kind = "histogram"
[mechanism]
{mechanism}
[data]
input = "people.csv"
column = ["district", "income"]
[release]
ledger = "budget.toml"
output = "out.csv"
test_seed = 4
"""
NUMBER = """
version = 1
[policy]
values = {{ range = [0, 6] }}
secrets = "line"
records = 50
[query]
{query}
[mechanism]
{mechanism}
[data]
input = "sizes.csv"
column = "size"
[release]
ledger = "budget.toml"
output = "out.csv"
test_seed = 4
"""
SIZES = [i % 7 for i in range(50)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("people.csv", ["district", "income"], PEOPLE)
    write("sizes.csv", ["size"], [[size] for size in SIZES])
    (tmp_path / "budget.toml").write_text("person = 100.0\n")
    return tmp_path


def write(name, header, rows):
    with open(name, "w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def sievert(*words, code=0):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output + str(done.exception)
    return done.output


def released(folder, text, **parts):
    (folder / "file.toml").write_text(text.format(**{"policy": "", **parts}))
    if 'kind = "gaussian"' in parts["mechanism"]:
        (folder / "budget.toml").write_text("rho = 100.0\ndelta = 1e-6\n")
    sievert("release", "file.toml")
    return load_policy_scenario(folder / "file.toml")


@pytest.mark.parametrize(
    "mechanism, likeliest",
    [
        ('kind = "geometric"\neps = 1.0', True),
        ('kind = "truncated-geometric"\neps = 1.0', True),
        ('kind = "gaussian"\nsigma = 2', True),
        ('kind = "staircase"\neps = 1.0', False),
    ],
)
@pytest.mark.parametrize("policy", ["", 'adjacency = "add-remove"'])
def test_a_released_histogram_is_adjusted(folder, mechanism, likeliest, policy):
    scenario = released(folder, HISTOGRAM, mechanism=mechanism, policy=policy)
    result = estimate_of(scenario)
    assert isinstance(result, TableEstimateAnswer)
    found = result.found
    assert [cell for cell in found.cells] == [
        (place, income) for place in ("north", "south") for income in ("low", "high")
    ]
    # A staircase of one step is geometric noise, but not known as such.
    assert found.likeliest is likeliest
    assert (found.adjusted >= 0).all()
    if policy:
        assert found.total is None
        assert found.adjusted.sum() <= 50
    else:
        assert (found.total, found.adjusted.sum()) == (50, 50)
        rows = csv.DictReader((folder / "out.csv").open())
        assert [int(row["adjusted"]) for row in rows] == found.adjusted.tolist()
    header, rows = table(result)
    assert header == ["district", "income", "released", "adjusted", "95% interval"]
    assert len(rows) == 4
    assert "Released and adjusted" in page(result, scenario)
    assert estimate_proof(scenario, result) is None


@pytest.mark.parametrize("query", ['kind = "sum"', 'kind = "count"\nwhere = [0, 1]'])
@pytest.mark.parametrize(
    "mechanism",
    [
        'kind = "geometric"\neps = 1.0',
        'kind = "truncated-geometric"\neps = 1.0',
        'kind = "gaussian"\nsigma = 2',
        'kind = "staircase"\neps = 1.0',
        'kind = "exponential"\neps = 1.0',
    ],
)
def test_a_released_number_is_estimated(folder, mechanism, query):
    scenario = released(folder, NUMBER, mechanism=mechanism, query=query)
    found = estimate_of(scenario).found
    true = sum(SIZES) if "sum" in query else sum(size <= 1 for size in SIZES)
    # The seed is fixed; an interval misses with probability 5 %.
    assert found.intervals[0, 0] <= true <= found.intervals[0, 1]
    assert found.likeliest
    said = sievert("estimate", "file.toml", "--report", "page.html")
    assert "at 95% confidence" in said
    told = json.loads(sievert("estimate", "file.toml", "--json"))
    assert told["found"]["adjusted"] == found.adjusted.tolist()
    assert "sievert estimate file.toml" in (folder / "page.html").read_text()


def test_a_table_of_another_noise_is_refused(folder):
    released(folder, HISTOGRAM, mechanism='kind = "geometric"\neps = 1.0')
    other = (folder / "file.toml").read_text().replace("eps = 1.0", "eps = 2.0")
    (folder / "other.toml").write_text(other)
    with pytest.raises(FileError, match=r"row 1 says eps_of_step = '1/2', but this file's noise has 1;"):
        estimate_of(load_policy_scenario(folder / "other.toml"))


@pytest.mark.parametrize(
    "rows, message",
    [
        ([("north", "low", 3)], "has no number for 'north', 'high'; give the whole released table"),
        ([("north", "low", 3)] * 2, "row 2 is a second number for 'north', 'low'"),
        ([("north", "middle", 3)], "row 1 is about 'north', 'middle', which is no cell of this file's table"),
        ([("north", "low", "x")], "has no number"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(folder, rows, message):
    (folder / "file.toml").write_text(HISTOGRAM.format(mechanism='kind = "geometric"\neps = 1.0', policy=""))
    write("bad.csv", ["district", "income", "value"], rows)
    with pytest.raises(FileError, match=message):
        estimate_of(load_policy_scenario(folder / "file.toml"), reports=["bad.csv"])


def test_numbers_that_the_noise_does_not_give_are_refused(folder):
    (folder / "file.toml").write_text(
        NUMBER.format(mechanism='kind = "truncated-geometric"\neps = 1.0', query='kind = "sum"')
    )
    for value, message in [
        ("1.5", "multiples of 1"),
        ("x", "give a finite number"),
        ("5000", "cut off at 0"),
    ]:
        write("bad.csv", ["value"], [[value]])
        with pytest.raises(FileError, match=message):
            estimate_of(load_policy_scenario(folder / "file.toml"), reports=["bad.csv"])
    write("bad.csv", ["value"], [["1"], ["2"]])
    with pytest.raises(FileError, match="row 2 is a second number"):
        estimate_of(load_policy_scenario(folder / "file.toml"), reports=["bad.csv"])


def test_what_is_missing_is_said(folder):
    text = NUMBER.format(mechanism='kind = "geometric"\neps = 1.0', query='kind = "sum"')
    (folder / "file.toml").write_text(text)
    scenario = load_policy_scenario(folder / "file.toml")
    with pytest.raises(FileError, match=r"nothing was released to .*out\.csv yet; run sievert release"):
        estimate_of(scenario)
    with pytest.raises(FileError, match=r"estimate\.method: goes with reports row by row"):
        estimate_of(scenario, method="ibu")
    with pytest.raises(FileError, match=r"estimate\.interval: goes with reports row by row"):
        estimate_of(scenario, interval="none")
    write("one.csv", ["value"], [["1"]])
    with pytest.raises(FileError, match="2 tables are named"):
        estimate_of(scenario, reports=["one.csv", "one.csv"])
    (folder / "file.toml").write_text(text + '[estimate]\nperson = "who"\n')
    with pytest.raises(FileError, match=r"estimate\.person: goes with reports row by row"):
        estimate_of(load_policy_scenario(folder / "file.toml"))


def test_counts_of_a_table_cannot_be_saved(folder):
    released(folder, NUMBER, mechanism='kind = "geometric"\neps = 1.0', query='kind = "sum"')
    done = CliRunner().invoke(app, ["estimate", "file.toml", "--save-counts", "counts.csv"])
    assert done.exit_code != 0
    assert not (folder / "counts.csv").exists()


SURVEY = """
version = 1
[policy]
values = ["yes", "no"]
secrets = "complete"
[mechanism]
kind = "randomised-response"
eps = 1.0
[estimate]
reports = "reports.csv"
column = "answer"
person = "who"
{more}
"""


@pytest.fixture
def survey(folder):
    """Three hundred people, a third of whom say yes, six times each."""
    rng, channel = np.random.default_rng(2), randomised_response(["yes", "no"], 1.0)
    rows = [
        (f"p{i}", answer)
        for i in range(300)
        for answer in channel.sample(["yes" if i % 3 == 0 else "no"] * 6, rng).tolist()
    ]
    write("reports.csv", ["who", "answer"], rng.permutation(rows).tolist())
    (folder / "survey.toml").write_text(SURVEY.format(more=""))
    return folder


def test_reports_of_one_person_count_together(survey):
    result = estimate_of(load_policy_scenario(survey / "survey.toml"))
    assert (result.people, result.rows) == (300, 1800)
    yes = result.estimate.distribution[0]
    low, high = result.estimate.interval[0]
    # As if people were reports: far narrower than from one report of each.
    assert low <= 1 / 3 <= high
    assert abs(yes - 1 / 3) < 0.08
    assert "From 1,800 noisy reports by 300 people" in str(result)
    said = sievert("estimate", "survey.toml", "--report", "page.html")
    assert "1,800 reports by 300 people" in said
    told = json.loads(sievert("estimate", "survey.toml", "--json"))
    assert told["people"] == 300
    sievert("estimate", "survey.toml", "--proof", "proof.json", code=1)
    assert not (survey / "proof.json").exists()


@pytest.mark.parametrize(
    "more, message",
    [
        ('counts = "n"', "leave out counts"),
        ('interval = "bootstrap"', "no inverse to centre on"),
        ('method = "inversion"', "not inverted"),
    ],
)
def test_what_repeated_reports_cannot_do_is_refused(survey, more, message):
    (survey / "survey.toml").write_text(SURVEY.format(more=more))
    with pytest.raises(FileError, match=message):
        estimate_of(load_policy_scenario(survey / "survey.toml"))


def test_reports_without_a_person_are_refused(survey):
    write("reports.csv", ["who", "answer"], [("a", "yes"), ("", "no")])
    with pytest.raises(FileError, match="nobody in the column 'who'"):
        estimate_of(load_policy_scenario(survey / "survey.toml"))
    write("reports.csv", ["who", "answer"], [("a", "yes"), ("b", "")])
    with pytest.raises(FileError, match="1 of 2 reports are empty"):
        estimate_of(load_policy_scenario(survey / "survey.toml"))


def test_remapped_places_are_refused(folder):
    text = """
version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.48, west = 13.34, north = 52.52, east = 13.40, cell = 500 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
[release]
remap = "ranks.csv"
[estimate]
reports = "noisy.csv"
"""
    write("ranks.csv", ["latitude", "longitude", "weight"], [(52.5, 13.37, 1)])
    (folder / "map.toml").write_text(text)
    with pytest.raises(FileError, match=r"release\.remap: remapped places"):
        estimate_of(load_policy_scenario(folder / "map.toml"))
