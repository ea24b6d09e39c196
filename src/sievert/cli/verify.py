"""`sievert verify PROOF [FILE]`: re-check a saved proof, without any solver, and whether it is about FILE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    eps: Annotated[float | None, typer.Option(help="The --eps that it must have been made with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a proof from its own numbers; exit code 1 when it does not hold, or is about another file."""
    from sievert.proofs import load_proof

    loaded = load_proof(proof)
    seconds = loaded.expected_seconds(proof.stat().st_size)
    if seconds > SOON and not as_json:
        print(plain(f"{proof}: {loaded.kind}; the check will take about {seconds:.1f} s"), flush=True)
    if files:
        from sievert.files import check_identity

        result = check_identity(loaded, *files, eps=eps)
        if result.holds and loaded.options.get("released"):
            from sievert.release import check_released

            result = check_released(loaded, result, *files)
    else:
        result = loaded.verify()
    if as_json:
        print_json(result.to_dict())
    else:
        for line in _lines(result):
            print(plain(line))
    if not result.holds:
        raise typer.Exit(1)


def _lines(result: Verification) -> list[str]:
    """What was proved, what it means, why it follows, and how long the check took."""
    if not result.holds:
        return [str(result)]
    return [
        str(result),
        *([f"In other words: {result.meaning}"] if result.meaning else []),
        f"By: {result.theorem} (a proof of the kind “{result.kind}”, docs/proofs.md).",
        f"Checked in {result.seconds:.2f} s from the proof's own numbers, without a solver; `python "
        "verify.py` checks it without Sievert.",
    ]
