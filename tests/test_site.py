"""The documentation: every public name has its entry, every theorem its words, every page its place."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import sievert as sv


@pytest.fixture(scope="module")
def pages(monkeypatch_module: pytest.MonkeyPatch) -> dict[str, str]:
    """The pages that are made from the source, as the Sphinx extension writes them."""
    monkeypatch_module.syspath_prepend("docs/_ext")
    made: dict[str, str] = runpy.run_path("docs/_ext/reference_pages.py")["pages"]()
    return made


@pytest.fixture(scope="module")
def monkeypatch_module() -> pytest.MonkeyPatch:  # type: ignore[misc]
    with pytest.MonkeyPatch.context() as patch:
        yield patch
        sys.modules.pop("theorems", None)


def test_the_reference_has_every_public_name(pages: dict[str, str]) -> None:
    entries = set(re.findall(r"auto(?:class|function):: sievert\.(\S+)", "".join(pages.values())))
    last = {entry.rpartition(".")[2] for entry in entries}
    for name in sv.__all__:
        assert name in last or f"{name}.md" in pages or name in ("__version__", "leakage"), name


def test_every_theorem_is_said_in_words(pages: dict[str, str]) -> None:
    rows = re.findall(
        r"^\| ((?:Def|Lem|Prop|Thm|Cor|Ex) [\d.]+) \| (.*?) \|", pages["theorems.md"], re.MULTILINE
    )
    assert len(rows) > 50
    assert [name for name, words in rows if not words] == []
    # And nothing is said of a statement that no line of code names.
    assert len(Path("docs/statements.txt").read_text(encoding="utf-8").splitlines()) == len(rows)


def test_every_page_has_its_place() -> None:
    """A page that no table of contents names would be found by nobody."""
    trees = "".join(path.read_text(encoding="utf-8") for path in Path("docs").glob("*.md"))
    listed = set(re.findall(r"^[\w/-]+$", trees, re.MULTILINE))
    for path in Path("docs").glob("*.md"):
        assert path.stem in listed or path.stem == "index", path
