"""Sentences on a terminal: a title, a verdict, headings with wrapped lines below."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from sievert.cli._streams import plain

__all__ = ["print_json", "print_sections", "print_table", "progress_bar", "terminal"]

NARROWEST, WIDEST = 40, 100


def terminal(*, stderr: bool = False) -> Console:
    """Standard output or error, at the width it has; some report 0, or no number."""
    size = shutil.get_terminal_size()
    width = max(NARROWEST, size.columns)
    return Console(stderr=stderr, highlight=False, soft_wrap=True, width=width, height=size.lines)


def print_json(content: Mapping[str, Any]) -> None:
    """Print a result as JSON; letters that the output's encoding lacks are escaped."""
    text = json.dumps(content, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(content, indent=2)
    print(text)


def print_sections(
    title: str, verdict: str, sections: Iterable[tuple[str, list[str]]], good: bool = True
) -> None:
    """Print an answer: verdict first, then each heading with its sentences."""
    console = terminal()
    width = min(console.width, WIDEST)
    console.print(Text(plain(title), style="bold"))
    for line in textwrap.wrap(plain(verdict), width):
        console.print(Text(line, style="green" if good else "red"))
    for heading, sentences in sections:
        console.print()
        console.print(Text(heading, style="bold"))
        for sentence in sentences:
            for line in textwrap.wrap(plain(sentence), width, initial_indent="  ", subsequent_indent="    "):
                console.print(Text(line))


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Print columns of texts, numbers to the right and the last column to the left."""
    rows = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    console = terminal()
    for number, cells in enumerate([header, *rows]):
        line = "  ".join(cell.rjust(width) for cell, width in zip(cells[:-1], widths, strict=False))
        console.print(Text(f"  {line}  {cells[-1]}".rstrip(), style="bold" if number == 0 else ""))


# ── A progress bar on a terminal for work that takes long; nothing where the output is a file or a pipe ─────


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """Show how far the work inside has come, on standard error, and clear it away afterwards.

    Work is heard of where it calls `advance`, or the function that is yielded.
    """
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    from sievert.numerics import listening

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what[0].upper() + what[1:], total=total)
            bar.update(tasks[what], completed=done, total=total)

        with listening(show):
            yield show
