"""What every command does: load the file, ask the question, show the answer."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from sievert.cli._present import OutputFiles, present, print_table, progress_bar

__all__ = ["ask"]


def ask(
    question: str,
    file: Path,
    *,
    force: bool,
    as_json: bool,
    report: Path | None,
    proof: Path | None = None,
    exits: bool = False,
    **options: Any,
) -> None:
    """Answer a question about a file of any kind; `exits` with 1 where the answer is a no."""
    from sievert.files import bind_proof, load_any
    from sievert.questions._ask import ask as answer_of

    scenario = load_any(file)
    wanted = {"report": report, "proof": proof}
    if scenario.table != "policy":  # files are named in this order there
        wanted = {"proof": proof, "report": report}
    asked = OutputFiles(scenario.reads(), force, **wanted)
    with progress_bar():
        found = answer_of(question, scenario, **options)
    home = question if scenario.table == "policy" else scenario.table
    shown = import_module(f"sievert.report.{home}")
    table = getattr(shown, "table", None) if scenario.table == "policy" else None
    good = found.passed if hasattr(found, "passed") else found.good
    present(
        found,
        shown.lines,
        asked,
        json=as_json,
        title=scenario.title if scenario.table != "policy" else None,
        page=lambda command: shown.page(found, scenario, command=command),
        proof=None
        if not hasattr(found, "certificate")
        else lambda: (
            found.unproved
            if found.certificate is None
            else bind_proof(found.certificate, scenario, **found.told)
        ),
        about=(file,),
        good=good is not False,
        holds=not (exits and good is False and scenario.table == "policy"),
        table=None if table is None else lambda: print_table(*table(found)),
        data={"passed": good} if exits and scenario.table == "policy" else None,
    )
