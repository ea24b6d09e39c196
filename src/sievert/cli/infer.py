"""`sievert infer FILE`: what else does the release tell?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._ask import ask
from sievert.cli._present import Force

__all__ = ["infer"]


def infer(
    file: Annotated[Path, typer.Argument(help="The TOML file, with [inference] and [mechanism].")],
    proof: Annotated[
        Path | None, typer.Option(help="Save the proof of the best trade-off here, for `sievert verify`.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say what the release tells about a correlated secret, and what the best mechanism could.

    Exit code 0: every limit of [accept] about inference holds, or there is none; 1: one does not.
    """
    ask("infer", file, force=force, as_json=as_json, report=report, proof=proof, exits=True)
