"""Every answer is shown in one way: sentences or JSON, and beside them the page and the proof asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sievert.cli._printing import print_json, print_sections
from sievert.tables import Outputs

if TYPE_CHECKING:
    from sievert.proofs import Proof
    from sievert.results import Result

__all__ = ["Asked", "Force", "present"]

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
    page: Callable[[], str] | None = None,
    proof: Callable[[], Proof | None] | None = None,
    unproved: str = "There is no certificate to save",
    about: Path | None = None,
    title: str | None = None,
    good: bool = True,
    table: Callable[[], None] | None = None,
    data: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Write what was asked for, then print the answer.

    `page` and `proof` are made only when they are asked for; `about` is the file that the proof is checked
    against; `data` goes into the JSON beside the result's own; `table` prints one below the sections, and
    `notes` come last.
    """
    written = _keep(asked, page, proof, unproved, about)
    if json:
        print_json({**result.to_dict(), **(data or {})})
        return
    heading = title if title is not None else str(getattr(result, "title", ""))
    print_sections(heading, str(result), sections(result), good)
    if table is not None:
        print()
        table()
    for note in (*notes, *written):
        print(f"\n{note}")


def _keep(
    asked: Asked,
    page: Callable[[], str] | None,
    proof: Callable[[], Proof | None] | None,
    unproved: str,
    about: Path | None,
) -> list[str]:
    """Write the page and the proof, and say so in the order of the options."""
    said = []
    for option, path in asked.paths.items():
        if option == "report" and page is not None:
            asked.write_text(path, page())
            said.append(f"Report written to {path}")
        if option == "proof" and proof is not None:
            check = "" if about is None else f"; check it with: sievert verify {path} {about}"
            said.append(f"Proof written to {path}{check}" if _save(asked, path, proof()) else unproved)
    return said


def _save(asked: Asked, path: Path, certificate: Proof | None) -> bool:
    from sievert.proofs import save_proof

    if certificate is not None:
        asked.write_text(path, save_proof(certificate))
    return certificate is not None
