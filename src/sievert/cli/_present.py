"""Every answer is shown in one way: sentences or JSON, and beside them the page and the proof asked for.

Sentences are a title, a verdict and headings with wrapped lines below.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sievert.cli._options import TYPED
from sievert.cli._streams import STEERING, complain, plain
from sievert.tables import Outputs, TableLine

if TYPE_CHECKING:
    from sievert.proofs import Proof
    from sievert.results import Result


__all__ = [
    "AsJson",
    "Device",
    "Force",
    "OutputFiles",
    "ProofPath",
    "folded",
    "present",
    "print_json",
    "print_table",
    "progress_bar",
    "terminal",
    "typed_command",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ProofPath = Annotated[Path | None, typer.Option(help="Save the proof here, for `sievert verify`.")]
Device = Annotated[
    str | None, typer.Option(help="Where to compute large products, such as cuda (extra gpu).")
]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are there already.")]


class OutputFiles(Outputs):
    """The files that a command was asked to write, by their options; refused before any work is done."""

    def __init__(self, reads: Iterable[Path], force: bool, **paths: Path | None) -> None:
        super().__init__(reads, force)
        self.paths = {option: path for option, path in paths.items() if path is not None}
        for option, path in self.paths.items():
            self.claim(f"--{option.replace('_', '-')}", path)


def present(
    result: Result,
    sections: Callable[[Any], Iterable[tuple[str, list[str]]]],
    asked: OutputFiles,
    *,
    json: bool,
    page: Callable[[str], str] | None = None,
    proof: Callable[[], Proof | str] | None = None,
    about: Sequence[Path] = (),
    title: str | None = None,
    good: bool = True,
    holds: bool = True,
    table: Callable[[], None] | None = None,
    data: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Write what was asked for, print the answer, and end the command where that is no success.

    The exit code is 1 where the answer is a no (`holds`), else 3 where a proof was asked for and there is
    none.

    `page`, which is told the command, and `proof`, which the page carries too, are made only when they are
    asked for; a text instead of a proof says why there is none. `about` are the files that the proof is
    checked against; `data` goes into the JSON beside the result's own; `table` prints one below the sections,
    and `notes` come last.
    """
    written, unproved = _keep(asked, page, None if proof is None else cache(proof), about)
    if json:
        print_json({**result.to_dict(), **(data or {})})
        if unproved:
            complain(unproved)
    else:
        _print(result, sections, title, good, table, (*notes, *written))
    if not holds or unproved:
        raise typer.Exit(3 if holds else 1)


def _print(
    result: Result,
    sections: Callable[[Any], Iterable[tuple[str, list[str]]]],
    title: str | None,
    good: bool,
    table: Callable[[], None] | None,
    notes: Iterable[str],
) -> None:
    """The answer in sentences, with the table and the notes below."""
    heading = title if title is not None else str(getattr(result, "title", ""))
    _print_sections(heading, str(result), sections(result), good)
    if table is not None:
        print()
        table()
    for note in notes:
        print(f"\n{note}")


def _keep(
    asked: OutputFiles,
    page: Callable[[str], str] | None,
    proof: Callable[[], Proof | str] | None,
    about: Sequence[Path],
) -> tuple[list[str], str]:
    """Write the page and the proof, and say so in the order of the options; and why there is no proof."""
    said, unproved = [], ""
    for option, path in asked.paths.items():
        if option == "report" and page is not None:
            asked.write_text(path, _with_proof(page(typed_command()), proof))
            said.append(f"Report written to {path}")
        if option == "proof" and proof is not None:
            certificate = proof()
            check = shlex.join(["sievert", "verify", *map(str, (path, *about)), *_asked_with(certificate)])
            why = _save(asked, path, certificate)
            if why:
                earlier = f"; {path} is from an earlier run and is no proof of this" if path.exists() else ""
                unproved = f"There is no certificate to save: {why}{earlier}"
            said.append(unproved or f"Proof written to {path}; check it with: {check}")
    return said, unproved


def _asked_with(certificate: Proof | str) -> list[str]:
    """What `verify` must be told to ask for the options of a proof."""
    told = {} if isinstance(certificate, str) else certificate.options
    return [word for name in ("eps", "releases") if name in told for word in (f"--{name}", str(told[name]))]


def _with_proof(page: str, proof: Callable[[], Proof | str] | None) -> str:
    """A page that carries the proof of its answer, or says why there is none."""
    if proof is None:
        return page
    from sievert.report import page_with_proof

    return page_with_proof(page, proof())


def _save(asked: OutputFiles, path: Path, certificate: Proof | str) -> str:
    """Save a proof; why there is none, or nothing."""
    from sievert.proofs import save_proof

    if isinstance(certificate, str):
        return certificate
    asked.write_text(path, save_proof(certificate))
    return ""


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


NARROWEST, WIDEST = 40, 100


def terminal(*, stderr: bool = False) -> Console:
    """Standard output or error, at the width it has; some report 0, or no number."""
    size = shutil.get_terminal_size()
    width = max(NARROWEST, size.columns)
    return Console(stderr=stderr, highlight=False, soft_wrap=True, width=width, height=size.lines)


def folded(sentence: str, indent: str = "") -> str:
    """A sentence in lines that the terminal does not break."""
    return textwrap.fill(
        plain(sentence),
        min(terminal().width, WIDEST),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_json(content: Mapping[str, Any]) -> None:
    """Print a result as JSON; letters that the output's encoding lacks, or that steer it, are escaped."""
    text = STEERING.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(content, ensure_ascii=False, indent=2)
    )
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
            if isinstance(sentence, TableLine) and len(sentence) + 2 <= console.width:
                console.print(Text(f"  {plain(sentence)}"))
                continue
            for line in textwrap.wrap(plain(sentence), width, initial_indent="  ", subsequent_indent="    "):
                console.print(Text(line))


def print_table(header: list[str], rows: list[list[str]], *, named: bool = False) -> None:
    """Print columns of texts, numbers to the right and the last column, and names of rows, to the left.

    Where they are wider than the terminal, titles and cells go on in the next line.
    """
    console = terminal()
    lines = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = _widths(lines, console.width)
    for number, cells in enumerate(lines):
        parts = [textwrap.wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
        height = max(map(len, parts))
        # A title stands on its column, a cell beside the name of its row.
        filled = [[""] * (height - len(part)) * (not number) + part for part in parts]
        for row in zip_longest(*filled, fillvalue=""):
            first = row[0].ljust(widths[0]) if named else row[0].rjust(widths[0])
            others = (cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=False))
            line = "  ".join(["", first, *others, row[-1]])
            console.print(Text(line.rstrip(), style="" if number else "bold"))


def _widths(lines: list[list[str]], most: int) -> list[int]:
    """Columns as wide as what stands in them; on a narrower terminal titles wrap first, then cells."""
    columns = list(zip(*lines, strict=True))
    widths = [max(1, *map(len, column)) for column in columns]
    words = [max(len(word) for cell in column for word in (cell.split() or [""])) for column in columns]
    cells = [max(low, *map(len, column[1:])) for column, low in zip(columns, words, strict=True)]
    for least in (cells, words):
        while sum(widths) + 2 * len(widths) > most:
            wide = [width if width > low else 0 for width, low in zip(widths, least, strict=True)]
            if not any(wide):
                break
            widths[wide.index(max(wide))] -= 1
    return widths


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

    from sievert.numerics import progress_listener

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what[0].upper() + what[1:], total=total)
            bar.update(tasks[what], completed=done, total=total)

        with progress_listener(show):
            yield show
