"""`sievert audit FILE`: does the mechanism keep its promise, and what does it give away?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sievert.cli.printing import print_sections
from sievert.cli.progress import progress_bar

__all__ = ["audit"]


def audit(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes policy, query and mechanism.")],
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a mechanism against its policy and say what it gives away.

    Exit code 0: the promise and every limit of [accept] hold; 1: one does not; 2: bad input.
    """
    from sievert.files import load_scenario
    from sievert.report.audit import audit as run_audit
    from sievert.report.text import audit_lines
    from sievert.tables.atomic import write_text

    scenario = load_scenario(file)
    with progress_bar():
        result = run_audit(scenario)
    if report is not None:
        from sievert.report.html import audit_html

        write_text(report, audit_html(scenario, result))
    if as_json:
        typer.echo(json.dumps({**result.to_dict(), "passed": result.passed}, ensure_ascii=False, indent=2))
    else:
        print_sections(result.title, str(result), audit_lines(result), result.passed)
        if report is not None:
            typer.echo(f"\nReport written to {report}")
    if not result.passed:
        raise typer.Exit(1)
