"""`sievert limits FILE`: what could any mechanism of this policy leak at worst?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._ask import ask
from sievert.cli._options import real_option
from sievert.cli._present import AsJson, Force, ProofPath

__all__ = ["limits"]


def limits(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes the policy (and a mechanism).")],
    eps: Annotated[
        float | None,
        real_option("ε in nats; by default the file's own."),
    ] = None,
    proof: ProofPath = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Every bound on what a mechanism of this policy could leak, and which of them is exact."""
    ask("limits", file, force=force, as_json=as_json, report=report, proof=proof, eps=eps)
