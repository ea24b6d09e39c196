"""`explain` and `limits` answer from ε and the policy where the query's answers cannot be listed."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app

FILE = """
version = 1
[policy]
values = {values}
records = {records}
[query]
kind = "{query}"
[mechanism]
kind = "{kind}"
{level}
"""
CASES = {
    "histogram": ("{ range = [0, 4] }", 60, "histogram", "geometric", "eps = 1.0"),
    "sum": ("{ range = [0, 1000000] }", 100, "sum", "geometric", "eps = 1.0"),
    "truncated sum": ("{ range = [0, 1000000] }", 100, "sum", "truncated-geometric", "eps = 1.0"),
    "record": ("{ range = [0, 1000000] }", 1, "record", "randomised-response", "eps = 1.0"),
}


def answer(folder: Path, command: str, case: tuple[Any, ...], *options: object) -> dict[str, Any]:
    path = folder / "file.toml"
    names = ("values", "records", "query", "kind", "level")
    path.write_text(FILE.format(**dict(zip(names, case, strict=True))), encoding="utf-8")
    done = CliRunner().invoke(app, [command, str(path), "--json", *map(str, options)])
    assert done.exit_code == 0, done.exception
    return dict(json.loads(done.output))


@pytest.mark.parametrize("name", CASES)
def test_explain_needs_no_list(tmp_path: Path, name: str) -> None:
    values = 5 if name == "histogram" else 1_000_001
    found = answer(tmp_path, "explain", CASES[name], "--report", tmp_path / "page.html")
    assert found["explanation"]["after"] == pytest.approx(sv.explain(eps=1.0, values=values).after, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("options", [(), ("--eps", "1")])
def test_limits_need_no_list(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    values, records = (5, 60) if name == "histogram" else (1_000_001, 1 if name == "record" else 100)
    found = answer(tmp_path, "limits", CASES[name], *options, "--report", tmp_path / "page.html")
    worst = sv.worst_leakage(sv.Policy.differential(values, records), 1.0)
    assert found["eps"] == 1.0
    assert found["database"]["upper"]["bits"] == pytest.approx(worst.upper.bits, rel=1e-9)
    assert 0 < found["used_bits"] <= found["database"]["upper"]["bits"] * (1 + 1e-12)


def test_a_ratio_for_each_unit_claims_as_much_as_the_answer_moves(tmp_path: Path) -> None:
    """One record moves a histogram by 2 and a sum by its whole range."""
    for query, moves in (("histogram", 2), ("sum", 4)):
        case = ("{ range = [0, 4] }", 60, query, "geometric", 'alpha = "1/2"')
        found = answer(tmp_path, "limits", case)
        assert found["eps"] == pytest.approx(moves * 0.6931471805599453, rel=1e-12)
