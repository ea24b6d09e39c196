"""What is cut off is said: in the preview, on the terminal, in the table and beside it."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.files import load_scenario
from sievert.release import make_plan
from sievert.release._central import noisy_table
from sievert.sampling import SeededBits

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


def test_unclamped_counts_go_below_zero_and_their_total_is_right_on_average(tmp_path: Path) -> None:
    """500 seeds; a mean of 500 totals is off by five standard deviations once in a million runs."""
    totals = {}
    for kind in ("geometric", "truncated-geometric"):
        plan = make_plan(load_scenario(write(tmp_path, "histogram", kind)))
        empty = np.array([4, *[0] * 10])
        tables = [noisy_table(plan, [empty], plan.sampler(SeededBits(i))) for i in range(500)]
        sums = [sum(row["value"] for row in table.rows) for table in tables]
        totals[kind] = float(np.mean(sums)) - 4
        if kind == "geometric":
            assert "note" not in tables[0].names and min(table.columns[1][3] for table in tables) < 0
            allowed = 5 * tables[0].rows[0]["noise_sd"] * np.sqrt(11 / 500)
    assert abs(totals["geometric"]) < allowed < totals["truncated-geometric"]
    # A true 0 is too high by 1/(2·sinh ε₀) at ε₀ = 1/2 (a little less: 4 is an end too).
    stated = " ".join(sv.release.preview(tmp_path / "file.toml").warnings)
    assert "0.96 too high" in stated and totals["truncated-geometric"] / 10 < 0.96 + 0.1


def test_noise_that_one_record_cannot_move_costs_nothing(tmp_path: Path) -> None:
    text = SUM.replace("QUERY", "sum").replace("KIND", "geometric").replace("{ range = [0, 10] }", "[3]")
    (tmp_path / "file.toml").write_text(text)
    assert make_plan(load_scenario(tmp_path / "file.toml")).eps == Fraction(0)
