"""The documents show what really comes out."""

import doctest
from pathlib import Path

import pytest

DOCS = [path for path in sorted(Path("docs").rglob("*.md")) if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.stem)
def test_examples_run(path: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(str(path.resolve()), module_relative=False, optionflags=flags)
    assert tried > 0
    assert failed == 0


def test_the_traps_are_there() -> None:
    assert Path("docs/traps.md") in DOCS
