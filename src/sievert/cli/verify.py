"""`sievert verify PROOF [FILE]`: re-check a saved proof, without any solver, and whether it is about FILE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sievert.cli._options import real_option, whole_option
from sievert.cli._present import AsJson, print_json
from sievert.cli._streams import plain

if TYPE_CHECKING:
    from sievert.proofs import Verification

__all__ = ["verify"]

# Seconds of a check that needs no announcement.
SOON = 1.0


def verify(
    proof: Annotated[Path, typer.Argument(help="A proof saved as JSON.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="The file (of `compare`, both) that it must be about.")
    ] = None,
    eps: Annotated[float | None, real_option("The --eps that it must have been made with.")] = None,
    releases: Annotated[int | None, whole_option("The --releases that it must have been made with.")] = None,
    reports: Annotated[
        list[str] | None,
        typer.Option(help="Of an estimate, the reports that it is about (the file's own; repeat it)."),
    ] = None,
    no_options: Annotated[
        bool,
        typer.Option("--no-options", help="Refuse a proof that was asked with options beside FILE."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a proof from its own numbers, and that it is about FILE by what FILE says.

    Exit code 0: it holds, and is about the file; 1: it does not hold, or is about something else; 2: bad
    input; 3: it holds, but whether it is about the file could not be checked.
    """
    from sievert.proofs import load_proof

    loaded = load_proof(proof)
    seconds = loaded.expected_seconds(proof.stat().st_size)
    if seconds > SOON and not as_json:
        print(plain(f"{proof}: {loaded.kind}; the check will take about {seconds:.1f} s"), flush=True)
    if files:
        from sievert.verification import check_about

        result = check_about(
            loaded, *files, reports=reports or (), no_options=no_options, eps=eps, releases=releases
        )
    else:
        result = loaded.verify()
    if as_json:
        print_json(result.to_dict())
    else:
        for line in _lines(result):
            print(plain(line))
    if not result.holds:
        raise typer.Exit(3 if result.unchecked else 1)


def _lines(result: Verification) -> list[str]:
    """What was proved, what it means, why it follows, and how long the check took."""
    if not result.holds:
        return [str(result)]
    return [
        str(result),
        *(
            []
            if result.about
            else ["It was compared with no file: `sievert verify PROOF FILE` says whether it is about one."]
        ),
        *([f"In other words: {result.meaning}"] if result.meaning else []),
        f"By: {result.theorem} (a proof of the kind “{result.kind}”, docs/proofs.md).",
        f"Checked in {result.seconds:.2f} s from the proof's own numbers, without a solver; `python "
        "verify.py` checks it without Sievert.",
    ]
