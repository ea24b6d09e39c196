"""Sentences on a terminal: a title, a verdict, headings with wrapped lines below."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

__all__ = ["print_sections", "print_table"]


def print_sections(
    title: str, verdict: str, sections: Iterable[tuple[str, list[str]]], good: bool = True
) -> None:
    """Print an answer: verdict first, then each heading with its sentences."""
    console = Console(highlight=False, soft_wrap=True)
    width = max(40, min(console.width, 100))
    console.print(Text(title, style="bold"))
    for line in textwrap.wrap(verdict, width):
        console.print(Text(line, style="green" if good else "red"))
    for heading, sentences in sections:
        console.print()
        console.print(Text(heading, style="bold"))
        for sentence in sentences:
            for line in textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="    "):
                console.print(Text(line))


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Print columns of texts, numbers to the right and the last column to the left."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    console = Console(highlight=False, soft_wrap=True)
    for number, cells in enumerate([header, *rows]):
        line = "  ".join(cell.rjust(width) for cell, width in zip(cells[:-1], widths, strict=False))
        console.print(Text(f"  {line}  {cells[-1]}".rstrip(), style="bold" if number == 0 else ""))
