"""`sievert release FILE --report`: a page of what is published, and of its preview."""

import base64
import html
import json
import re
import shutil
from pathlib import Path

import pytest

from sievert.cli import main
from sievert.files import check_identity
from sievert.proofs import proof_from_dict


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
    for words in ("mean distance from the truth 1.919", "after this release 8.24%", "at most 51.4%"):
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


CARRIED = {
    "audit survey-response.toml": "released mechanism",
    "audit daily-question.toml": "released mechanism",
    "release survey-response.toml --preview": "released mechanism",
    "release survey-response.toml": "released mechanism",
    "estimate commute-reports.toml --interval none": "likelihood",
    "audit users/users.toml": "codes",
}


@pytest.mark.parametrize("line", CARRIED)
def test_pages_carry_their_proof(examples: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sievert(f"{line} --report page.html") == 0
    page = (examples / "page.html").read_text(encoding="utf-8")
    found = re.search(r'download="proof.json" href="data:application/json;base64,([^"]+)"', page)
    assert found is not None and 'download="verify.py"' in page and len(page.encode()) <= 2_000_000
    proof = proof_from_dict(json.loads(base64.b64decode(found[1])))
    assert proof.kind == CARRIED[line]
    assert check_identity(proof, examples / line.split()[1]).holds
    capsys.readouterr()


UNCERTIFIED = {
    "audit town-places.toml": ("[release]", '[release]\nsampler = "float"', "drawn in floating point"),
    "release survey-response.toml": (
        "[release]",
        "[release]\ntest_seed = 7",
        "came from a seed that is known",
    ),
    "estimate commute-reports.toml --method inversion": ("", "", "leaves the simplex"),
    "limits users/users.toml": ("", "", "which needs no search"),
}


@pytest.mark.parametrize("line", UNCERTIFIED)
def test_pages_say_why_they_carry_none(examples: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, why = UNCERTIFIED[line]
    path = examples / line.split()[1]
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    sievert(f"{line} --report page.html")
    page = text_of(examples / "page.html")
    assert re.search(rf"Not certified: [^.]*{why}", page), page[-1500:]
    assert 'download="proof.json"' not in page
    capsys.readouterr()
