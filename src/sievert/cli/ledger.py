"""`sievert ledger BUDGET`: what was spent on what, what is left, and what an attacker can guess after it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._present import AsJson, Force, OutputFiles, present

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

    _refuse_scenario(budget)
    asked = OutputFiles([budget, *([] if key is None else [key])], force, report=report)
    found = account(budget, key=None if key is None else read_key(key), anchor=anchor)
    present(found, lines, asked, json=as_json, page=lambda command: page(found, command))


def _refuse_scenario(path: Path) -> None:
    """A file that describes a release names its budget; say which one was meant."""
    from sievert.errors import FileError, SievertError
    from sievert.files import Scenario, load

    try:
        found = load(path) if path.suffix == ".toml" else None
    except SievertError:
        return
    named = getattr(getattr(found, "document", None), "release", None)
    if isinstance(found, Scenario):
        ledger = getattr(named, "ledger", None)
        where = (
            "names no budget: add ledger to [release]" if ledger is None else f"is {found.folder / ledger}"
        )
        raise FileError(f"{path}: describes a release and is no budget file; its budget {where}")
