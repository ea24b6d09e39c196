"""What is cut off is said: in the preview, on the terminal, in the table and beside it."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.files import load_policy_scenario
from sievert.release import make_plan

SUM = """version = 1
[policy]
values = { range = [0, 10] }
records = 4
[query]
kind = "QUERY"
[mechanism]
kind = "KIND"
eps = 1.0
[data]
input = "data.csv"
column = "size"
[release]
ledger = "budget.toml"
output = "out.csv"
"""


def write(folder: Path, query: str, kind: str, more: str = "") -> Path:
    text = SUM.replace("QUERY", query).replace("KIND", kind) + more
    (folder / "file.toml").write_text(text, encoding="utf-8")
    (folder / "data.csv").write_text("size\n1\n2\n99\n4\n" if more else "size\n1\n2\n3\n4\n")
    (folder / "budget.toml").write_text("person = 10.0\n")
    return folder / "file.toml"


def released(folder: Path) -> tuple[str, list[dict[str, str]], dict]:
    done = CliRunner().invoke(app, ["release", str(folder / "file.toml")])
    assert done.exit_code == 0, done.exception or done.output
    with (folder / "out.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return " ".join(done.output.split()), rows, json.loads((folder / "out.csv.json").read_text())


def test_a_clamped_sum_says_that_its_interval_is_for_the_clamped_sum(tmp_path: Path) -> None:
    file = write(tmp_path, "sum", "geometric", 'out_of_range = "clamp"\n')
    warned = " ".join(sv.release.preview(file).warnings)
    shown, (row,), beside = released(tmp_path)
    for text in (warned, shown, " ".join(beside["clamping"])):
        assert "low and high are for the table of what was counted" in text
    assert row["note"] == "values out of range counted as the nearest one inside"
    assert row["eps_of_step"] == "1/10" and beside["noise"]["eps_of_step"] == "1/10"
    assert float(row["noise_sd"]) == pytest.approx(beside["noise"]["sd"], rel=1e-5)


def test_noisy_numbers_that_are_cut_off_are_said_to_be(tmp_path: Path) -> None:
    file = write(tmp_path, "histogram", "truncated-geometric")
    warned = " ".join(sv.release.preview(file).warnings)
    shown, rows, beside = released(tmp_path)
    for text in (warned, shown, " ".join(beside["clamping"])):
        assert "Noisy numbers are cut off at 0 and 4" in text and "too high" in text
    assert {row["note"] for row in rows} == {"noisy numbers cut off at 0 and 4"}


def test_noise_that_one_record_cannot_move_costs_nothing(tmp_path: Path) -> None:
    text = SUM.replace("QUERY", "sum").replace("KIND", "geometric").replace("{ range = [0, 10] }", "[3]")
    (tmp_path / "file.toml").write_text(text)
    assert make_plan(load_policy_scenario(tmp_path / "file.toml")).eps == Fraction(0)
