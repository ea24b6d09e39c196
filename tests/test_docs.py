"""The documents show what really comes out."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

DOCS = [path for path in sorted(Path("docs").rglob("*.md")) if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.stem)
def test_examples_run(path: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(str(path.resolve()), module_relative=False, optionflags=flags)
    assert tried > 0
    assert failed == 0


# A Python block without prompts prints the block below it.
SHOWN = re.compile(r"```python\n((?:(?!```|>>>).)+)```\n\n```\n(.*?)```", flags=re.DOTALL)
PRINTING = [path for path in sorted(Path("docs").rglob("*.md")) if SHOWN.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("path", PRINTING, ids=lambda path: path.stem)
def test_blocks_print_what_stands_below(path: Path) -> None:
    scope: dict[str, object] = {}
    for code, shown in SHOWN.findall(path.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, scope)
        assert printed.getvalue() == shown


def test_no_block_is_left_out() -> None:
    """Every Python block either has prompts or stands above what it prints."""
    for path in Path("docs").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        blocks = [
            block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if ">>>" not in block
        ]
        assert len(blocks) == len(SHOWN.findall(text)), path


def test_the_traps_are_there() -> None:
    assert Path("docs/traps.md") in DOCS
