"""docs/compare.md: every Python block prints the block below it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path


def test_blocks_print_what_the_page_shows():
    page = Path("docs/compare.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == page.count("```python") == 4
    names: dict[str, object] = {}
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == shown
