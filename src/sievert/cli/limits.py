"""`sievert limits FILE`: what could any mechanism of this policy leak at worst?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli import _described as others
from sievert.cli._options import real_option
from sievert.cli._present import AsJson, Force, OutputFiles, ProofPath, present, progress_bar

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
    if others.answer("limits", file, force, as_json, report, proof, eps=eps):
        return
    from sievert.files import bind_proof, load_policy_scenario
    from sievert.questions.limits import limit_curves, limits_of
    from sievert.report.limits import lines, page

    scenario = load_policy_scenario(file)
    asked = OutputFiles(scenario.reads(), force, report=report, proof=proof)
    with progress_bar():
        result = limits_of(scenario, eps)
    certificate = result.database.certificate
    present(
        result,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(result, scenario, limit_curves(scenario, result), command),
        proof=lambda: (
            str(result.uncertified) if certificate is None else bind_proof(certificate, scenario, eps=eps)
        ),
        about=(file,),
    )
