"""`sievert attack FILE`: what attackers still find in released documents, beside what is promised."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli import _described as others
from sievert.cli._options import real_option
from sievert.cli._present import AsJson, Device, Force

__all__ = ["attack"]


def attack(
    file: Annotated[Path, typer.Argument(help="A TOML file with [documents], whose authors are known.")],
    eps: Annotated[
        list[float] | None, real_option("A level to try; may be given several times (the file's).")
    ] = None,
    device: Device = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Try to find authors and topics of documents before and after noise.

    Some documents of every author are known and the last one is attacked: by nearest neighbours, character
    n-grams, a linear model, and by an attacker who knows the channel. An attack that fails proves nothing.

    Exit code 0: answered; 2: bad input.
    """
    others.attack(file, force, as_json, report, eps, device)
