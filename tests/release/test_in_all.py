"""A preview says what all releases of a ledger give away together, and what its whole budget allows."""

import math
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import sievert as sv
from sievert.report.release import lines

SUMS = """version = 1
[policy]
values = { range = [0, 3] }
%s
records = 5
[query]
kind = "sum"
[mechanism]
kind = "geometric"
eps = %s
[data]
input = "data.csv"
column = "age"
person = "who"
[release]
ledger = "budget.toml"
output = "%s.csv"
"""


def files(folder: Path, secrets: str = "", relation: str = "") -> None:
    (folder / "budget.toml").write_text(f"person = 3.0\n{relation}\n", encoding="utf-8")
    rows = "".join(f"{who},{who % 4}\n" for who in range(5))
    (folder / "data.csv").write_text(f"who,age\n{rows}", encoding="utf-8")
    for name, eps in (("first", "0.5"), ("second", "1.0")):
        (folder / f"{name}.toml").write_text(SUMS % (secrets, eps, name), encoding="utf-8")


def any_two(eps: float, values: int) -> float:
    """The most that a promise of ε about any two values lets anybody guess, all being equally likely."""
    return math.exp(eps) / (math.exp(eps) + values - 1)


def test_the_first_release_stands_alone(tmp_path: Path) -> None:
    files(tmp_path)
    found = sv.release.preview(tmp_path / "first.toml")
    assert found.together is not None and found.exhausted is not None
    assert (found.together.releases, found.together.eps) == (1, Fraction(1, 2))
    assert found.together.guess == found.guess_after
    assert found.together.exact is not found.guess_is_bound
    assert (found.exhausted.releases, found.exhausted.eps) == (None, 3)
    assert found.exhausted.guess == pytest.approx(any_two(3.0, 4), rel=1e-9)


def test_earlier_releases_count(tmp_path: Path) -> None:
    files(tmp_path)
    sv.release.run(tmp_path / "first.toml")
    found = sv.release.preview(tmp_path / "second.toml")
    assert found.together is not None
    assert (found.together.releases, found.together.eps) == (2, Fraction(3, 2))
    assert not found.together.exact
    assert found.together.guess == pytest.approx(any_two(1.5, 4), rel=1e-9)
    assert found.guess_after is not None and found.guess_after < found.together.guess


def test_a_ledger_about_any_two_values_bounds_a_line_too(tmp_path: Path) -> None:
    files(tmp_path, 'secrets = "line"', 'relation = "replace"')
    found = sv.release.preview(tmp_path / "first.toml")
    assert found.together is not None and found.exhausted is not None
    # One step costs 0.5; any two of four values are up to three steps apart.
    assert found.together.eps == Fraction(3, 2)
    assert found.exhausted.guess == pytest.approx(any_two(3.0, 4), rel=1e-9)


def test_a_ledger_about_neighbours_bounds_by_their_distance(tmp_path: Path) -> None:
    files(tmp_path, 'secrets = "line"')
    sv.release.run(tmp_path / "first.toml")
    found = sv.release.preview(tmp_path / "second.toml")
    assert found.together is not None and found.together.guess is not None
    assert found.together.eps == Fraction(3, 2)
    # On a path the most is reached by geometric noise on its values, cut off at the ends.
    alpha = math.exp(-1.5)
    capacity = 4 * (1 - alpha) / (1 + alpha) + 2 * alpha / (1 + alpha)
    assert found.together.guess == pytest.approx(capacity / 4, rel=1e-6)


def test_places_are_guessed_once_and_not_after_a_whole_budget(tmp_path: Path) -> None:
    shutil.copytree("examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.ledger", "out"))
    found = sv.release.preview(tmp_path / "examples/release/taxis.toml")
    assert found.together is not None and found.exhausted is not None
    assert found.together.guess == sv.audit(tmp_path / "examples/release/taxis.toml").record.after
    assert found.exhausted.guess is None
    assert found.exhausted.eps > found.together.eps


def test_releases_of_one_file_have_the_guess_of_their_mechanism(tmp_path: Path) -> None:
    files(tmp_path)
    preview = sv.release.preview(tmp_path / "first.toml")
    assert preview.alike is not None and preview.alike.guess is not None
    assert preview.exhausted is not None and preview.exhausted.guess is not None
    assert (preview.alike.releases, preview.alike.eps) == (6, 3)
    # The law of one record through the noise of the sum, after six releases, below what ε = 3 allows.
    described = (tmp_path / "first.toml").read_text(encoding="utf-8")
    (tmp_path / "six.toml").write_text(f"{described}[adversary]\nobservations = 6\n", encoding="utf-8")
    audit = sv.audit(tmp_path / "six.toml")
    assert preview.alike.guess == pytest.approx(audit.repeated_guess, rel=1e-12)
    assert preview.alike.exact is audit.repeated_exact
    assert preview.alike.guess < preview.exhausted.guess
    assert "spent on 6 releases like this one" in "\n".join(
        text for _, block in lines(preview) for text in block
    )


def test_a_release_says_what_its_preview_said(tmp_path: Path) -> None:
    files(tmp_path)
    preview = sv.release.preview(tmp_path / "first.toml")
    done = sv.release.run(tmp_path / "first.toml")
    assert done.effect is not None
    for name in ("noise_sd", "expected_error", "radius", "guess_before", "guess_after", "together", "alike"):
        assert getattr(done.effect, name) == getattr(preview, name)
    said = dict(lines(done))
    assert said["What it gives away"] == dict(lines(preview))["What it gives away"]
    *promised, beside = dict(lines(preview))["How good it would be"]
    assert said["How good it is"] == promised and beside.startswith("At the same guess about one record")
    other = sv.release.preview(tmp_path / "second.toml")
    assert other.alike is None  # the ledger has a release of another file
