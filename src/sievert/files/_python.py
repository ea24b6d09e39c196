"""The same question in Python: a script that holds the tables of a file and asks what it leaks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sievert.files._scenario import Scenario

__all__ = ["as_python"]

WIDTH = 99


def as_python(scenario: Scenario, folder: str | Path | None = None) -> str:
    """A Python script that audits what a file describes, and prints the same headline.

    Parameters
    ----------
    scenario : what `sievert.load` read
    folder : where the script will be run; the file's own folder unless given

    Returns
    -------
    str
        The script: one variable a table, which can be changed and run again.

    Notes
    -----
    Paths in it are relative to the folder. Cost: O(length of the file).

    Examples
    --------
    >>> import sievert as sv
    >>> from sievert.files import as_python
    >>> script = as_python(sv.load("examples/daily-question.toml"), ".")
    >>> print(script.partition("\\n\\n")[2][:74])
    import sievert as sv
    <BLANKLINE>
    scenario = sv.load(
        {
            "version": 1,
    """
    home = scenario.folder if folder is None else Path(folder)
    tables = {"version": 1, "title": scenario.title} | scenario.tables_in(home)
    return "\n".join(
        [
            # Neither of the first two lines is the title: there it could name another encoding of the script.
            "# What the release leaks; run it in the folder from which the files it names are found.",
            "#",
            f"# {_shown(' '.join(scenario.title.split()))}",
            "",
            "import sievert as sv",
            "",
            "scenario = sv.load(",
            f"    {_literal(tables, 4, whole=True)}",
            ")",
            "print(sv.audit(scenario))",
            "",
        ]
    )


def _literal(item: Any, indent: int, name: str = "", whole: bool = False) -> str:
    """A value as Python writes it after its name, over several lines where one is too short, or always."""
    flat = _flat(item)
    if not whole and (indent + len(name) + len(flat) <= WIDTH or not isinstance(item, dict | list | tuple)):
        return flat
    inner, outer = " " * (indent + 4), " " * indent
    if isinstance(item, dict):
        named = [(f"{_text(str(key))}: ", part) for key, part in item.items()]
        lines = [f"{inner}{name}{_literal(part, indent + 4, name)}," for name, part in named]
        return "\n".join(["{", *lines, f"{outer}}}"])
    if any(isinstance(part, dict | list | tuple) for part in item):
        lines = [f"{inner}{_literal(part, indent + 4)}," for part in item]
    else:
        lines = list(_rows([_flat(part) for part in item], inner))
    return "\n".join(["[", *lines, f"{outer}]"])


def _rows(words: list[str], inner: str) -> Iterator[str]:
    """Words with commas, as many on a line as fit."""
    line = inner.rstrip("\n")
    for word in words:
        if line != inner and len(line) + len(word) + 1 > WIDTH:
            yield line.rstrip()
            line = inner
        line += f"{word}, "
    yield line.rstrip()


def _flat(item: Any) -> str:
    """A value on one line."""
    if isinstance(item, dict):
        return f"{{{', '.join(f'{_text(str(key))}: {_flat(part)}' for key, part in item.items())}}}"
    if isinstance(item, list | tuple):
        return f"[{', '.join(map(_flat, item))}]"
    if isinstance(item, float) and not math.isfinite(item):
        return f'float("{item}")'
    return _text(item) if isinstance(item, str) else repr(item)


def _text(text: str) -> str:
    """A text in double quotes, as the rest of the script has them."""
    return _shown(json.dumps(text, ensure_ascii=False))


def _shown(text: str) -> str:
    """A text in which nothing is hidden, steers a terminal or turns the direction of what follows."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
