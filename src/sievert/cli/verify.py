"""`sievert verify PROOF`: re-check a saved proof, without any solver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["verify"]


def verify(
    proof: Annotated[Path, typer.Argument(help="A proof saved as JSON.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a proof from its own numbers; exit code 1 when it does not hold."""
    from sievert.proofs import verify as check

    result = check(proof)
    typer.echo(json.dumps(result.to_dict(), ensure_ascii=False, indent=2) if as_json else str(result))
    if not result.holds:
        raise typer.Exit(1)
