"""`sievert infer FILE`: what else does the release tell?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli import _described as others
from sievert.cli._present import Force, OutputFiles, present, progress_bar

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
    if others.answer("infer", file, force, as_json, report, proof):
        return
    from sievert.files import bind_proof, load_policy_scenario
    from sievert.questions.infer import infer as run
    from sievert.report.infer import lines, page

    scenario = load_policy_scenario(file)
    asked = OutputFiles(scenario.reads(), force, report=report, proof=proof)
    with progress_bar():
        result = run(scenario)
    best = result.best
    present(
        result,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(result, scenario, command),
        proof=lambda: str(result.uncertified) if best is None else bind_proof(best.certificate, scenario),
        about=(file,),
        good=result.passed,
        holds=result.passed,
        data={"passed": result.passed},
    )
