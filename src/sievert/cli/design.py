"""`sievert design FILE`: which mechanism is best for this use, and what would the others cost?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sievert.cli import _described as others
from sievert.cli._options import real_option
from sievert.cli._present import (
    AsJson,
    Device,
    Force,
    OutputFiles,
    ProofPath,
    folded,
    present,
    print_table,
    progress_bar,
)

__all__ = ["design"]


def design(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes the policy, query and [use].")],
    eps: Annotated[
        float | None,
        real_option("ε in nats; by default the file's own."),
    ] = None,
    gap: Annotated[
        float | None,
        real_option("Share of the loss that the proof may leave open; by default the file's [use] gap."),
    ] = None,
    device: Device = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write the designed file here (.toml; the channel beside it, as .npz or .csv)."),
    ] = None,
    proof: ProofPath = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """The mechanism of least loss for the file's [use], proved optimal, and what standard ones would cost.

    Writes the designed mechanism and a file that names it, by default FILE-optimal.toml beside FILE.
    """
    without = {"gap": gap, "device": device}
    if others.answer("design", file, force, as_json, report, proof, without=without, eps=eps, output=output):
        return
    from sievert.errors import FileError
    from sievert.files import bind_proof, load_policy_scenario
    from sievert.questions.design import announced, channel_suffixes, design_of, require_named
    from sievert.report.design import lines, page, table

    target = file.parent / f"{file.stem}-optimal.toml" if output is None else output
    if target.suffix != ".toml":
        raise FileError(f"{target}: the designed file is written to .toml")
    scenario = load_policy_scenario(file)
    require_named(scenario, target)
    asked = OutputFiles(scenario.reads(), force, output=target, proof=proof, report=report)
    for suffix in channel_suffixes(scenario):
        asked.claim(f"the channel ({suffix})", target.with_suffix(suffix))
    if (costs := announced(scenario, gap, device)) is not None:
        print(folded(costs), file=sys.stderr, flush=True)
    with progress_bar():
        result = design_of(scenario, eps, gap, device)
    written = result.files(scenario, target)
    # The file that names the others comes last.
    for path, content in reversed(written.values()):
        asked.write_bytes(path, content)
    channel = written.get("channel", (target,))[0]
    columns = table(result)
    present(
        result,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(result, scenario, command),
        proof=lambda: (
            str(result.uncertified)
            if result.certificate is None
            else bind_proof(result.certificate, scenario, eps=eps)
        ),
        about=(file,),
        table=None if columns is None else lambda: print_table(*columns, named=True),
        data={
            "uncertified": result.uncertified,
            "written": {what: str(path) for what, (path, _) in written.items()},
        },
        notes=[f"The mechanism is in {channel}; audit it with: sievert audit {target}"],
    )
