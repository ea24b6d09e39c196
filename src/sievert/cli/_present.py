"""Every answer is shown in one way: sentences or JSON, and beside them the page and the proof asked for.

Sentences are a title, a verdict and headings with wrapped lines below. Numbers given on the command line are
plain decimal digits; what is not a number is refused by the option's name.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sievert.cli._streams import plain
from sievert.numerics import brief
from sievert.tables import Outputs

if TYPE_CHECKING:
    from sievert.proofs import Proof
    from sievert.results import Result


__all__ = [
    "TYPED",
    "AsJson",
    "Asked",
    "Device",
    "Force",
    "ProofPath",
    "present",
    "print_json",
    "print_table",
    "progress_bar",
    "real_option",
    "terminal",
    "typed_command",
    "whole_option",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ProofPath = Annotated[Path | None, typer.Option(help="Save the proof here, for `sievert verify`.")]
Device = Annotated[
    str | None, typer.Option(help="Where to compute large products, such as cuda (extra gpu).")
]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are there already.")]


class Asked(Outputs):
    """The files that a command was asked to write, by their options; refused before any work is done."""

    def __init__(self, reads: Iterable[Path], force: bool, **paths: Path | None) -> None:
        super().__init__(reads, force)
        self.paths = {option: path for option, path in paths.items() if path is not None}
        for option, path in self.paths.items():
            self.claim(f"--{option.replace('_', '-')}", path)


def present(
    result: Result,
    sections: Callable[[Any], Iterable[tuple[str, list[str]]]],
    asked: Asked,
    *,
    json: bool,
    page: Callable[[str], str] | None = None,
    proof: Callable[[], Proof | None] | None = None,
    unproved: str = "There is no certificate to save",
    about: Path | None = None,
    carried: bool = False,
    title: str | None = None,
    good: bool = True,
    table: Callable[[], None] | None = None,
    data: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Write what was asked for, then print the answer.

    `page`, which is told the command, and `proof` are made only when they are asked for; `about` is the file
    that the proof is checked against; `carried` puts the proof into the page too; `data` goes into the JSON
    beside the result's own; `table` prints one below the sections, and `notes` come last.
    """
    written = _keep(asked, page, None if proof is None else cache(proof), unproved, about, carried)
    if json:
        print_json({**result.to_dict(), **(data or {})})
        return
    heading = title if title is not None else str(getattr(result, "title", ""))
    _print_sections(heading, str(result), sections(result), good)
    if table is not None:
        print()
        table()
    for note in (*notes, *written):
        print(f"\n{note}")


def _keep(
    asked: Asked,
    page: Callable[[str], str] | None,
    proof: Callable[[], Proof | None] | None,
    unproved: str,
    about: Path | None,
    carried: bool,
) -> list[str]:
    """Write the page and the proof, and say so in the order of the options."""
    said = []
    for option, path in asked.paths.items():
        if option == "report" and page is not None:
            asked.write_text(path, _with_proof(page(typed_command()), proof if carried else None))
            said.append(f"Report written to {path}")
        if option == "proof" and proof is not None:
            check = "" if about is None else f"; check it with: sievert verify {path} {about}"
            said.append(f"Proof written to {path}{check}" if _save(asked, path, proof()) else unproved)
    return said


def _with_proof(page: str, proof: Callable[[], Proof | None] | None) -> str:
    """A page that carries the proof of its answer, where there is one."""
    certificate = None if proof is None else proof()
    if certificate is None:
        return page
    from sievert.report import page_with_proof

    return page_with_proof(page, certificate)


def _save(asked: Asked, path: Path, certificate: Proof | None) -> bool:
    from sievert.proofs import save_proof

    if certificate is not None:
        asked.write_text(path, save_proof(certificate))
    return certificate is not None


# What was typed after `sievert`.
TYPED: ContextVar[tuple[str, ...]] = ContextVar("TYPED", default=())


def typed_command() -> str:
    """The command as it was typed; of absolute paths what a reader of a page may know."""
    return shlex.join(["sievert", *map(_shown, TYPED.get())]) if TYPED.get() else ""


def _shown(word: str) -> str:
    """A word of the command line; an absolute path from the current folder, or by its name alone.

    >>> _shown("--report=/nowhere/page.html"), _shown("examples/a.toml"), _shown("0.5")
    ('--report=page.html', 'examples/a.toml', '0.5')
    """
    option, mark, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if os.path.isabs(value):
        relative = os.path.relpath(value)
        value = Path(value).name if relative.startswith(os.pardir) else relative
    return f"{option}{mark}{value}"


def real_option(help: str) -> Any:
    """An option that takes a real number."""
    return typer.Option(parser=number, metavar="NUMBER", help=help)


def whole_option(help: str) -> Any:
    """An option that takes a whole number."""
    return typer.Option(parser=whole_number, metavar="N", help=help)


def number(written: str | float) -> float:
    """A real number, perhaps inf; an option's default comes as the number it is.

    >>> number("1e-3")
    0.001
    """
    text = str(written)
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise typer.BadParameter(f"{brief(text)} is not a number.")
    return value


def whole_number(written: str | int) -> int:
    """A whole number.

    >>> whole_number("12")
    12
    """
    text = str(written)
    try:
        if text.isascii() and "_" not in text:
            return int(text)
    except ValueError:
        pass
    raise typer.BadParameter(f"{brief(text)} is not a whole number.")


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


def _print_sections(
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


def print_table(header: list[str], rows: list[list[str]], *, named: bool = False) -> None:
    """Print columns of texts, numbers to the right and the last column, and names of rows, to the left."""
    rows = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    console = terminal()
    for number, cells in enumerate([header, *rows]):
        first = cells[0].ljust(widths[0]) if named else cells[0].rjust(widths[0])
        others = (cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:], strict=False))
        line = "  ".join([first, *others])
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
