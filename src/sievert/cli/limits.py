"""`sievert limits FILE`: what could any mechanism of this policy leak at worst?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._options import real_option
from sievert.cli._outputs import Force, claimed
from sievert.cli._printing import print_json, print_sections, progress_bar

__all__ = ["limits"]


def limits(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes the policy (and a mechanism).")],
    eps: Annotated[
        float | None,
        real_option("ε in nats; by default the file's own."),
    ] = None,
    proof: Annotated[Path | None, typer.Option(help="Save the proof here, for `sievert verify`.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Every bound on what a mechanism of this policy could leak, and which of them is exact."""
    from sievert.files import identified, load_scenario
    from sievert.proofs import save_proof
    from sievert.questions.limits import limits_of
    from sievert.report.limits import limits_lines

    scenario = load_scenario(file)
    outputs = claimed(scenario.reads(), force, report=report, proof=proof)
    with progress_bar():
        result = limits_of(scenario, eps)
    if report is not None:
        from sievert.report.limits import limits_html

        outputs.write_text(report, limits_html(scenario, result))
    certificate = result.database.certificate
    if proof is not None and certificate is not None:
        outputs.write_text(proof, save_proof(identified(certificate, scenario, eps=eps)))
    if as_json:
        print_json(result.to_dict())
        return
    print_sections(result.title, str(result), limits_lines(result))
    if report is not None:
        print(f"\nReport written to {report}")
    if proof is not None:
        saved = "there is no certificate to save" if certificate is None else f"proof written to {proof}"
        print(f"\n{saved[0].upper()}{saved[1:]}")
