"""`sievert estimate FILE`: what can still be learned from the noisy reports?"""

from __future__ import annotations

from collections import Counter
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sievert.cli import _described as others
from sievert.cli._present import AsJson, Force, OutputFiles, ProofPath, present, progress_bar, terminal
from sievert.cli._streams import plain

if TYPE_CHECKING:
    from sievert.proofs import Proof
    from sievert.questions.estimate import EstimateAnswer, TableEstimateAnswer

__all__ = ["estimate"]

# A terminal shows this many values; the report and --json have all.
SHOWN_ROWS = 30


def estimate(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes the mechanism and [estimate].")],
    reports: Annotated[
        list[str] | None, typer.Option(help="Files of noisy reports (repeat it, or use a pattern in quotes).")
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column that holds the reports.")] = None,
    method: Annotated[
        str | None, typer.Option(help="auto, inversion, projection, ibu or regularised.")
    ] = None,
    interval: Annotated[str | None, typer.Option(help="normal, bootstrap, profile or none.")] = None,
    save_counts: Annotated[
        Path | None, typer.Option(help="Write the counts as a CSV that can be counted again.")
    ] = None,
    proof: ProofPath = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page here.")] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Use the noisy reports alone: read no true values.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Count noisy reports and estimate the distribution of the true values behind them.

    A count, sum or histogram is read as it was released and adjusted to what is possible.

    What comes from noisy reports alone gives away no more than they do. Where the file names true values
    (original), they are shown beside it, and the answer is as private as they are; --public leaves them out.
    """
    if others.estimate(
        file,
        force,
        as_json,
        report,
        proof,
        {"save_counts": save_counts},
        reports=reports or (),
        column=column,
        method=method,
        interval=interval,
    ):
        return
    from sievert.errors import EstimationError, FileError, TooLargeError
    from sievert.files import bind_proof, load_policy_scenario
    from sievert.questions.estimate import (
        UNPROVED,
        EstimateAnswer,
        TableEstimateAnswer,
        estimate_of,
        estimate_proof,
        reports_beside,
        unproved_estimate,
    )
    from sievert.report.estimate import lines, page
    from sievert.tables import Counted, counts_text

    scenario = load_policy_scenario(file)
    given = reports or []
    named = map(Path, [*given, *(path for pattern in given for path in glob(pattern, recursive=True))])
    reads = [*scenario.reads(), scenario.released, *named]
    asked = OutputFiles(reads, force, save_counts=save_counts, proof=proof, report=report)
    if proof is not None and unproved_estimate(scenario) is not None:
        raise FileError(f"--proof: {unproved_estimate(scenario)}; leave it out")
    with progress_bar():
        result = estimate_of(
            scenario, reports=reports or (), column=column, method=method, interval=interval, public=public
        )
    if save_counts is not None:
        if not isinstance(result, EstimateAnswer):
            raise FileError("--save-counts: a released table is not counted; leave it out")
        counted = Counted(Counter(result.reported), result.rows, result.dropped, result.files)
        asked.write_text(save_counts, counts_text(counted))

    def certificate() -> Proof | str:
        try:
            found = estimate_proof(scenario, result)
        except (EstimationError, TooLargeError) as problem:
            return str(problem)
        return (
            UNPROVED
            if found is None
            else bind_proof(found, scenario, column=column, reports=reports_beside(scenario, given))
        )

    present(
        result,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(result, scenario, command),
        proof=certificate,
        about=(file,),
        good=isinstance(result, TableEstimateAnswer)
        or (result.estimate.total_gap is not None and result.estimate.unique is not False),
        table=lambda: _print_table(result),
    )


def _print_table(result: EstimateAnswer | TableEstimateAnswer) -> None:
    from rich.table import Table
    from rich.text import Text

    from sievert.report.estimate import table

    header, rows = table(result)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for position, name in enumerate(header):
        shown.add_column(name, justify="left" if position == 0 else "right", no_wrap=position > 0)
    for row in rows[:SHOWN_ROWS]:
        shown.add_row(*(Text(plain(cell)) for cell in row))
    terminal().print(shown, soft_wrap=False)
    if len(rows) > SHOWN_ROWS:
        print(f"… and {len(rows) - SHOWN_ROWS} more values; --json and --report have all.")
