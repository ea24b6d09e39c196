"""What a sentence or a table for people says of values, numbers and rows; files and JSON keep all of it."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import ChannelError
from sievert.report.release import table_lines

PRODUCT = """
title = "Two columns"
version = 1
[policy]
values = { product = [["n", "s"], ["0-17", "3"]] }
secrets = "complete"
[query]
kind = "record"
[mechanism]
kind = "randomised-response"
eps = 1
"""


def said(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "400"})
    assert done.exit_code == code, done.output
    return done.output if code == 0 else str(done.exception) + done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "product.toml").write_text(PRODUCT, encoding="utf-8")
    return tmp_path / "product.toml"


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    shutil.copytree("examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.ledger"))
    return tmp_path / "examples" / "clinic-statistics.toml"


@pytest.mark.parametrize("command", ["audit", "breach", "explain", "limits"])
def test_a_combination_is_its_parts_between_commas(file: Path, command: str) -> None:
    page = file.with_name("page.html")
    text = said(command, file, "--report", page)
    # A text that reads as a number keeps its quotes.
    assert "4 values ((n, 0-17), (n, '3'), (s, 0-17), (s, '3'))" in text
    written = page.read_text(encoding="utf-8")
    for wrong in ("('n'", "('s'", "(&#39;n", "(&#39;s"):
        assert wrong not in text and wrong not in written


def test_json_keeps_its_values(file: Path) -> None:
    found = json.loads(said("audit", file, "--json"))
    assert "(n, 0-17)" in found["policy"]
    assert '["n", "0-17"]' in json.dumps(found)


def test_a_preview_and_a_ledger_name_the_pair_that_costs_most(clinic: Path) -> None:
    assert "It costs most between 'absent' and (surgery, 30)." in said("release", clinic, "--preview")
    pair = json.loads(said("release", clinic, "--preview", "--json"))["pair"]
    assert pair == ["'absent'", "('surgery', 30)"]
    said("release", clinic)
    assert "most between 'absent' and (surgery, 30);" in said(
        "ledger", clinic.parent / "budgets" / "clinic.toml"
    )


def test_an_error_lists_combinations_in_words(file: Path) -> None:
    assert "(n, 0-17), (n, '3'), (s, 0-17)" in said("breach", file, "--about", "x", code=1)


def test_a_table_on_the_terminal_rounds_outwards_and_the_file_does_not(clinic: Path) -> None:
    text = said("release", clinic)
    (row,) = re.findall(r"^  mean nights  +([-0-9. ]+)$", text, flags=re.MULTILINE)
    value, low, high, error = row.split()
    with (clinic.parent / "out" / "clinic-statistics.csv").open(encoding="utf-8") as lines:
        (kept,) = [line for line in csv.DictReader(lines) if line["query"] == "mean nights"]
    assert max(map(len, (value, low, high, error))) <= 7 < len(kept["value"])
    assert float(kept["low"]) - 1e-3 <= float(low) <= float(kept["low"])
    assert float(kept["high"]) <= float(high) <= float(kept["high"]) + 1e-3
    assert float(value) == pytest.approx(float(kept["value"]), abs=1e-3)
    assert float(error) == pytest.approx(float(kept["noise_sd"]), rel=1e-3)


@pytest.mark.parametrize("queries", [1, 2, 21])
def test_no_single_row_is_left_out(queries: int) -> None:
    names = [f"q{min(row, queries - 1)}" for row in range(22)]
    for size in (21, 22, 23):
        rows = names[:1] * (size - 22) + names[-size:]
        lines = [*table_lines(["query", "value"], [rows, list(range(size))])]
        assert not any("… and 1 more" in line for line in lines)
        assert {line.split()[0] for line in lines} >= set(rows)


def test_one_nat_is_one() -> None:
    words = sv.text.Embedding(["a", "b"], [[0.0], [1.0]])
    found = sv.text.calibrate(words, nats=1.0, references=[["a"], ["b"]])
    assert "for 1 nat between" in str(found)


def test_init_breaks_no_word(tmp_path: Path) -> None:
    word = "wards-" * 8
    answers = ["no,yes", word, "100", "histogram", "1", "1", ""]
    done = CliRunner().invoke(
        app, ["init", str(tmp_path / "a.toml")], input="\n".join(answers) + "\n", env={"COLUMNS": "40"}
    )
    assert word in done.output.replace(word, "", 1)


def test_an_error_quotes_a_wrong_combination_as_it_lists_the_others(file: Path) -> None:
    channel = sv.Channel([[1.0, 0.0], [0.0, 1.0]], inputs=[("n", 1), ("s", 1)])
    with pytest.raises(
        ChannelError, match=re.escape("(n, 2) is not one of the channel's inputs: (n, 1), (s, 1)")
    ):
        channel.input_index(("n", 2))
    # What is no label is quoted as it was given.
    with pytest.raises(ChannelError, match="'x' is not one of the channel's inputs"):
        channel.input_index("x")
