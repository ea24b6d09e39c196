"""A histogram with noise in every cell is audited by its sensitivity."""

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

import sievert as sv
from sievert.files import PolicyScenario, load_policy_scenario
from sievert.report.audit import lines

HISTOGRAM = """version = 1
[policy]
values = ["a", "b", "c"]
records = 4
[query]
kind = "histogram"
[mechanism]
kind = "truncated-geometric"
eps = 1.0
[data]
input = "not-there.csv"
column = "v"
"""


def described(folder: Path, text: str) -> PolicyScenario:
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return load_policy_scenario(folder / "file.toml")


def test_the_guess_is_that_of_the_listed_channel(tmp_path: Path) -> None:
    found = sv.audit(described(tmp_path, HISTOGRAM))
    assert found.exact_eps == 1 and found.steps == 2 and found.proved and not found.listed
    # Every output of the clamped noise on three cells, for the last record on top of the others (2, 1, 0).
    ratio, limit = math.exp(-0.5), 4

    def chance(true: int, out: int) -> float:
        noise = range(-80, 81)
        masses = [(1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in noise]
        return sum(mass for z, mass in zip(noise, masses, strict=True) if min(max(true + z, 0), limit) == out)

    tables = [np.array(others) + np.eye(3, dtype=int)[i] for others in [(2, 1, 0)] for i in range(3)]
    after = sum(
        max(math.prod(chance(int(t), y) for t, y in zip(table, out, strict=True)) for table in tables) / 3
        for out in itertools.product(range(limit + 1), repeat=3)
    )
    assert found.record.after == pytest.approx(after, rel=1e-9)
    assert str(found).startswith(
        "The mechanism keeps its promise: one record is guessed with probability 33.3%"
    )


def test_many_releases_and_limits(tmp_path: Path) -> None:
    text = HISTOGRAM + "[adversary]\nobservations = 3\n[accept]\nguess = 0.5\neps = 3.0\n"
    found = sv.audit(described(tmp_path, text))
    assert found.repeated_eps == 3 and found.repeated_exact
    # Two cells out of three are told apart by counting releases whose noise in a cell is positive.
    chance, power = math.exp(-0.5) / (1 + math.exp(-0.5)), math.exp(0.5)
    law = [math.comb(3, t) * chance**t * (1 - chance) ** (3 - t) for t in range(4)]
    exact = sum(
        math.prod(law[t] for t in hits) * power ** (2 * max(hits) - 3) / 3
        for hits in itertools.product(range(4), repeat=3)
    )
    assert found.repeated_guess == pytest.approx(exact, rel=1e-12)
    assert found.repeated_guess < sv.explain(1.0, values=3, releases=3).after
    assert [check.passed for check in found.checks] == [False, True] and not found.passed
    assert "exactly 58.3%" in dict(lines(found))["One record"][1]
    with_delta = HISTOGRAM + "[accept]\neps = 1.0\ndelta = 1e-6\n"
    assert sv.audit(described(tmp_path, with_delta)).passed


def test_a_belief_about_the_record_is_used(tmp_path: Path) -> None:
    text = HISTOGRAM + "[adversary]\nrecord_prior = [0.8, 0.1, 0.1]\n"
    found = sv.audit(described(tmp_path, text))
    assert found.record.before == pytest.approx(0.8) and not found.record.is_bound
    preview = sv.release.preview(described(tmp_path, text), output=tmp_path / "out.csv")
    assert (preview.guess_before, preview.guess_after) == (pytest.approx(0.8), found.record.after)
    assert not preview.guess_is_bound


def test_the_command_and_its_page(sievert: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    described(tmp_path, HISTOGRAM.replace("eps = 1.0", 'alpha = "1/2"'))
    done = sievert("audit", tmp_path / "file.toml", "--json")
    content = json.loads(done.stdout)
    assert done.returncode == 0 and content["passed"] and content["proved"]
    assert Fraction(content["exact_eps"]) >= Fraction(str(2 * math.log(2)))
    page = tmp_path / "page.html"
    shown = sievert("audit", tmp_path / "file.toml", "--report", page)
    assert shown.returncode == 0 and "The noise in one" in page.read_text(encoding="utf-8")
    found = sv.audit(tmp_path / "file.toml")
    assert isinstance(found, sv.results.Audit) and found.passed
    assert content["exact_eps"] == float(found.exact_eps)
    alone = sv.audit(described(tmp_path, HISTOGRAM.partition("[data]")[0]))
    assert (alone.exact_eps, alone.record) == (1, sv.audit(described(tmp_path, HISTOGRAM)).record)
