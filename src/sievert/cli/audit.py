"""`sievert audit FILE`: does the mechanism keep its promise, and what does it give away?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sievert.cli._options import real_option, whole_option
from sievert.cli._outputs import Force, claimed
from sievert.cli._printing import print_json, print_sections, progress_bar
from sievert.cli._samples import audit_runs

if TYPE_CHECKING:
    from sievert.files import Scenario

__all__ = ["audit"]


def audit(
    file: Annotated[
        Path | None, typer.Argument(help="The TOML file that describes policy, query and mechanism.")
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="Audit a black box: a table of runs with the columns input and output."),
    ] = None,
    eps: Annotated[
        float | None,
        real_option("With --samples: the claimed ε (the file's)."),
    ] = None,
    delta: Annotated[
        float | None,
        real_option("With --samples: the claimed δ (the file's)."),
    ] = None,
    confidence: Annotated[float, real_option("With --samples: how sure to be.")] = 0.95,
    seed: Annotated[
        int | None,
        whole_option("With --samples: for the split into halves."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a mechanism against its policy and say what it gives away.

    With --samples only the outputs are looked at: runs can refute a claim, but a pass proves nothing.

    Exit code 0: the promise and every limit of [accept] hold; 1: one does not; 2: bad input.
    """
    from sievert.errors import MechanismError, TooLargeError
    from sievert.files import load_scenario
    from sievert.questions import has_added_noise, has_noise_in_cells
    from sievert.questions.audit import audit as run_audit
    from sievert.report.audit import audit_lines

    if samples is not None:
        if report is not None:
            raise MechanismError("--report goes without --samples; use --json to keep what the runs show")
        audit_runs(samples, file, eps, delta, confidence, seed, as_json)
        return
    if file is None:
        raise MechanismError("give a file, or runs of a black box with --samples RUNS.csv")
    if eps is not None or delta is not None or seed is not None:
        raise MechanismError("--eps, --delta and --seed go with --samples; the file states its own claim")
    scenario = load_scenario(file)
    outputs = claimed(scenario.reads(), force, report=report)
    if has_noise_in_cells(scenario):
        _audit_noise(scenario, report, as_json)
        return
    try:
        with progress_bar():
            result = run_audit(scenario)
    except TooLargeError:
        if not has_added_noise(scenario):
            raise
        _audit_noise(scenario, report, as_json)
        return
    if report is not None:
        from sievert.report.audit import audit_html

        outputs.write_text(report, audit_html(scenario, result))
    if as_json:
        print_json({**result.to_dict(), "passed": result.passed})
    else:
        print_sections(result.title, str(result), audit_lines(result), result.passed)
        if report is not None:
            print(f"\nReport written to {report}")
    if not result.passed:
        raise typer.Exit(1)


def _audit_noise(scenario: Scenario, report: Path | None, as_json: bool) -> None:
    """A table with noise in every cell and too many answers to list: by its sensitivity."""
    from sievert.errors import FileError
    from sievert.questions.noise import noise_audit
    from sievert.report.audit import noise_audit_lines

    if report is not None:
        raise FileError(
            "--report draws what each input is released as, and a table with too many answers to list has "
            "too many inputs for that; leave --report out, or keep the answer with --json"
        )
    result = noise_audit(scenario)
    if as_json:
        print_json({**result.to_dict(), "passed": result.passed})
    else:
        print_sections(result.title, str(result), noise_audit_lines(result), result.passed)
    if not result.passed:
        raise typer.Exit(1)
