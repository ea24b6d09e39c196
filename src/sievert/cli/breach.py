"""`sievert breach FILE`: what one, ten or a thousand answers give away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._ask import ask
from sievert.cli._options import real_option
from sievert.cli._present import AsJson, Force

__all__ = ["breach"]


def breach(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes policy, query and mechanism.")],
    observations: Annotated[
        str | None,
        typer.Option(help="1..1000, or 10 for 1..10, or 1,10,100; by default the file's, at least 10."),
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(
            help="An input that must not be learned; repeat for several. By default the most exposed."
        ),
    ] = None,
    level: Annotated[
        float | None,
        real_option("Bits by which belief must grow for a breach; by default half way to certainty."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say what repeated answers give away, and how many it takes to know."""
    from sievert.questions.breach import read_range

    counts = None if observations is None else read_range(observations)
    ask(
        "breach",
        file,
        force=force,
        as_json=as_json,
        report=report,
        observations=counts,
        about=about,
        level=level,
    )
