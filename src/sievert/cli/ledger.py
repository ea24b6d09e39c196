"""`sievert ledger BUDGET`: what was spent on what, what is left, and what an attacker can guess after it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._present import AsJson, Asked, Force, present

__all__ = ["ledger"]


def ledger(
    budget: Annotated[Path, typer.Argument(help="The budget file; its ledger lies beside it.")],
    key: Annotated[Path | None, typer.Option(help="The file with the ledger's key, if it has one.")] = None,
    anchor: Annotated[
        str | None, typer.Option(help="A hash of the ledger noted earlier; an older copy is refused.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show a budget ledger: releases, plans, what is left, and what an attacker can guess after all of it.

    Nothing is changed and no data is read. Exit code 0: shown; 2: bad input, or a ledger that is damaged.
    """
    from sievert.release import account, read_key
    from sievert.report.ledger import lines, page

    asked = Asked([budget, *([] if key is None else [key])], force, report=report)
    found = account(budget, key=None if key is None else read_key(key), anchor=anchor)
    present(found, lines, asked, json=as_json, page=lambda command: page(found, command))
