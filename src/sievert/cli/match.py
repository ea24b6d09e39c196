"""`sievert match CODES`: who is alike, from noisy codes as they were released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._options import whole_option
from sievert.cli._present import AsJson, Device, Force, OutputFiles, present, progress_bar

__all__ = ["match"]


def match(
    codes: Annotated[Path, typer.Argument(help="Codes that `sievert release` wrote, with what lies beside.")],
    neighbours: Annotated[int, whole_option("How many neighbours of every user.")] = 10,
    output: Annotated[Path | None, typer.Option(help="Write all neighbours to this CSV file.")] = None,
    seed: Annotated[int | None, whole_option("Of the random choice among ties.")] = None,
    device: Device = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the users most alike to every user, from noisy codes alone; ties are broken at random.

    Exit code 0: answered; 2: bad input.
    """
    from sievert.questions.match import match as run
    from sievert.questions.match import table
    from sievert.release import read_released_codes
    from sievert.report.vectors import match_lines
    from sievert.tables import table_bytes

    given = read_released_codes(codes)
    asked = OutputFiles(given.files, force)
    asked.claim("--output", output)
    with progress_bar():
        found = run(given.users, given.codes, neighbours, given.eps, seed, device)
    notes = []
    if output is not None:
        asked.write_bytes(output, table_bytes(output, *table(found)))
        notes.append(f"All neighbours are in {output}.")
    present(found, match_lines, asked, json=as_json, title=codes.name, notes=notes)
