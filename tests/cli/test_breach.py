"""`sievert breach` as a user runs it: sentences, table, curve, JSON, exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.files import load_policy_scenario
from sievert.questions.breach import breach_of, read_range
from sievert.report import breach

Sievert = Callable[..., CompletedProcess[str]]


def scenario(folder: Path, text: str) -> Path:
    path = folder / "file.toml"
    path.write_text(f"version = 1\n{text}")
    return path


def said(path: Path, **options: object) -> str:
    report = breach_of(load_policy_scenario(path), **options)
    return "\n".join(line for _, lines in breach.lines(report) for line in lines)


def test_sentences_table_and_report(sievert: Sievert, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = sievert(
        "breach",
        "examples/daily-question.toml",
        "--observations",
        "1..100",
        "--about",
        "bad",
        "--report",
        page,
    )
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "100 observations: the value is guessed with probability 50.0% before" in words
    assert "no belief changes by more than 2 times (1 bit)" in words
    assert "90.0%: 27 observations (exact by types)" in words
    assert "Belief in 'bad', 20.0% at first, exceeds 60.0%" in words
    assert "breach at n breach by n" in words
    assert "█" in words
    html = page.read_text()
    assert html.startswith("<!doctype html>")
    assert "A breach at n and by n observations" in html
    assert "breach by n" in html


def test_json_is_json(sievert: Sievert) -> None:
    done = sievert("breach", "examples/daily-question.toml", "--observations", "30", "--level", "1", "--json")
    result = json.loads(done.stdout)
    found = result["found"]
    assert found["worst"]["bits"] == pytest.approx(1)
    assert found["success"]["observations"] == list(range(1, 31))
    channel = sv.mechanisms.randomised_response(["bad", "fair", "good"], alpha="1/2")
    exact = sv.success_probability(channel, [0.2, 0.3, 0.5], 30)
    assert found["success"]["lower"][-1] == pytest.approx(exact.value)
    assert found["breach"]["level_bits"] == 1
    assert [item["target"] for item in result["until"]] == [0.9, 0.99]


def test_bad_input_ends_with_2(sievert: Sievert) -> None:
    done = sievert("breach", "examples/daily-question.toml", "--observations", "5..1")
    assert done.returncode == 2
    assert (
        done.stderr
        == "sievert: --observations is '5..1'; write 1..1000, or 10 for 1..10, or 1,10,100, from 1 on\n"
    )
    daily = load_policy_scenario("examples/daily-question.toml")
    with pytest.raises(
        FileError, match="--about is 'angry', which is no input; inputs are 'bad', 'fair', 'good'"
    ):
        breach_of(daily, [1], ["angry"])
    with pytest.raises(sv.SievertError, match=r"level is -1\.0"):
        breach_of(daily, [1], level=-1.0)


def test_ranges_are_read() -> None:
    assert read_range("1..4") == [1, 2, 3, 4]
    assert read_range("3") == [1, 2, 3]
    assert read_range("10,1,100") == [1, 10, 100]
    with pytest.raises(FileError, match=r"1\.\.1000"):
        read_range("0..3")


def test_a_count_speaks_of_one_record(tmp_path: Path) -> None:
    path = scenario(
        tmp_path,
        'policy = { values = ["yes", "no"], records = 3 }\nquery = { kind = "count", where = "yes" }\n'
        'mechanism = { kind = "truncated-geometric", alpha = "1/2" }\n',
    )
    words = said(path, observations=[1, 5])
    assert "The promise of the policy is 1 bit (ε = 0.6931) for neighbours" in words
    assert "up to 3 bits" in words
    assert "About one record, the others independent of it: belief in 'no' against 'yes'" in words
    assert "If records may depend on each other: up to 3 bits" in words


def test_merged_rows_infinite_levels_and_silence(tmp_path: Path) -> None:
    (tmp_path / "merged.csv").write_text("input,x,y\na,0.6,0.4\nb,0.4,0.6\nc,0.4,0.6\n")
    (tmp_path / "zeros.csv").write_text("input,x,y\na,1,0\nb,0.5,0.5\nc,0,1\n")
    (tmp_path / "silent.csv").write_text("input,x\na,1\nb,1\nc,1\n")
    base = 'policy = {{ values = ["a", "b", "c"] }}\nmechanism = {{ matrix = "{}" }}\n'
    words = said(scenario(tmp_path, base.format("merged.csv")), observations=range(1, 6))
    assert "Never told apart, however often one looks: 'b', 'c'." in words
    assert "no number of observations makes a guess better than 66.7%" in words
    words = said(scenario(tmp_path, base.format("zeros.csv")), observations=range(1, 6))
    assert "Output 'x' rules 'c' out: beliefs can change without limit." in words
    assert "100% (exact by types)" in words
    words = said(scenario(tmp_path, base.format("silent.csv")), observations=range(1, 6))
    assert "the release tells nothing" in words
    assert "No number of observations makes a guess right with probability 50% or more." in words


def test_a_level_out_of_reach_is_said(tmp_path: Path) -> None:
    words = said(Path("examples/daily-question.toml"), observations=[3], about=["good"], level=1.0)
    assert "Belief in 'good' is 50.0% at first and cannot grow by 1 bit" in words


def test_certainty_and_limits_are_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "told.csv").write_text("input,x,y\na,1,0\nb,0,1\nc,0,1\n")
    base = "policy = {{ values = {} }}\nmechanism = {}\nadversary = {{ prior = {} }}\n"
    told = base.format('["a", "b", "c"]', '{ matrix = "told.csv" }', "[0.6, 0.2, 0.2]")
    words = said(scenario(tmp_path, told), observations=range(1, 4))
    assert "inf" not in words
    assert "One observation tells any two apart for certain." in words
    # 60 % at first and 80 % in the end: 50 % is no question.
    assert "No number of observations makes a guess right with probability 90% or more." in words
    assert "50" not in words.split("a guess right")[1].split(".")[0]
    one = base.format('["a"]', '{ kind = "randomised-response", eps = 1 }', "[1]")
    words = said(scenario(tmp_path, one), observations=[1])
    assert "Belief in 'a' is certain from the start: nothing is left to learn." in words
    assert "It is guessed with probability 100% without any." in words


def test_long_ranges_are_thinned_and_said() -> None:
    path = Path("examples/daily-question.toml")
    report = breach_of(load_policy_scenario(path), range(1, 301), ["bad"])
    counts = report.found.success.observations.tolist()
    assert counts[:20] == list(range(1, 21))
    assert counts[-1] == 300
    assert {50, 100, 200} <= set(counts)
    assert len(counts) < 200
    assert len(report.found.breach.at) == 300
    words = "\n".join(line for _, lines in breach.lines(report) for line in lines)
    assert f"Guesses are computed for {len(counts)} of the 300 numbers." in words
    listed = breach_of(load_policy_scenario(path), list(range(1, 500, 2))[:10])
    assert len(listed.found.success) == 10


def test_a_breach_that_never_gets_likely(tmp_path: Path) -> None:
    """Most of the predicate shares its row with an input outside, so belief stays where it was."""
    (tmp_path / "shared.csv").write_text("input,u,v\nx,0.7,0.3\ny,0.4,0.6\nz,0.4,0.6\n")
    text = (
        'policy = { values = ["x", "y", "z"] }\nmechanism = { matrix = "shared.csv" }\n'
        "adversary = { prior = [0.1, 0.5, 0.4] }\n"
    )
    words = said(scenario(tmp_path, text), observations=range(1, 6), about=["x", "y"])
    assert "Even by 256 observations it is not likelier than not to have happened" in words
    assert "In the long run the probability that it is not the case" not in words
