"""`sievert verify PROOF`: re-check a saved proof, without any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli.printing import print_json

__all__ = ["verify"]


def verify(
    proof: Annotated[Path, typer.Argument(help="A proof saved as JSON.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a proof from its own numbers; exit code 1 when it does not hold."""
    from sievert.proofs import verify as check

    result = check(proof)
    if as_json:
        print_json(result.to_dict())
    else:
        print(result)
    if not result.holds:
        raise typer.Exit(1)
