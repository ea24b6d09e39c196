"""`sievert release FILE --report`: a page of what is published, and of its preview."""

import html
import re
import shutil
from pathlib import Path

import pytest

from sievert.cli import main


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(
        "examples", tmp_path, ignore=shutil.ignore_patterns("*.ledger", "out"), dirs_exist_ok=True
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def sievert(line: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    return int(ended.value.code or 0)


def text_of(path: Path) -> str:
    without = re.sub(r"<(script|style)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", without)).split())


def test_a_preview_has_a_page(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sievert("release release/income-by-district.toml --preview --report page.html") == 0
    page = text_of(examples / "page.html")
    for words in ("mean distance from the truth 1.919", "after this release 8.2%", "at most 51.4%"):
        assert words in page
    assert "sievert release release/income-by-district.toml --preview --report page.html" in page
    assert "Report written to page.html" in capsys.readouterr().out
    assert not list(examples.rglob("*.ledger"))


def test_a_release_has_a_page(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sievert("release release/income-by-district.toml --report page.html") == 0
    page = text_of(examples / "page.html")
    rows = (examples / "release/out/income-by-district.csv").read_text(encoding="utf-8").splitlines()
    for row in rows[1:]:
        assert " ".join(row.split(",")[:3]) in page
    assert "What is published" in page
    assert "not run again to see the page again" in page
    # Nothing of the truth is there: the page holds what is published alone.
    assert "Made from private data" not in page
    capsys.readouterr()


def test_rows_one_by_one_have_a_page(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sievert("release release/ages.toml --report page.html") == 0
    page = text_of(examples / "page.html")
    assert "What happens to a value" in page
    assert "Released to ages.csv" in page
    capsys.readouterr()


def test_limits_that_do_not_hold_refuse_preview_and_release(
    examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = examples / "release/income-by-district.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n[accept]\nguess = 0.08\n", encoding="utf-8")
    assert sievert("release release/income-by-district.toml --preview --report page.html") == 1
    page = text_of(examples / "page.html")
    assert "The release would be refused: the file does not accept it: best guess about one record" in page
    assert sievert("release release/income-by-district.toml --report other.html") == 1
    assert not (examples / "other.html").exists()
    assert "does not accept" in capsys.readouterr().err
    assert not list(examples.rglob("*.ledger"))


def test_a_page_replaces_nothing(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (examples / "page.html").write_text("mine", encoding="utf-8")
    assert sievert("release release/income-by-district.toml --report page.html") == 2
    assert "page.html" in capsys.readouterr().err
    assert not list(examples.rglob("*.ledger"))
    assert (examples / "page.html").read_text(encoding="utf-8") == "mine"
