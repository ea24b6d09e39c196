"""The command `sievert` and its options."""

from __future__ import annotations

from typing import Annotated

import typer

from sievert.cli.attack import attack
from sievert.cli.audit import audit
from sievert.cli.breach import breach
from sievert.cli.compare import compare
from sievert.cli.design import design
from sievert.cli.estimate import estimate
from sievert.cli.explain import explain
from sievert.cli.infer import infer
from sievert.cli.init import init
from sievert.cli.ledger import ledger
from sievert.cli.limits import limits
from sievert.cli.match import match
from sievert.cli.release import release
from sievert.cli.schema import schema
from sievert.cli.studio import studio
from sievert.cli.verify import verify

__all__ = ["app"]

app = typer.Typer(
    name="sievert",
    help="Measure, bound, compare and design what a privacy mechanism leaks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(attack)
app.command()(audit)
app.command()(breach)
app.command()(compare)
app.command()(design)
app.command()(estimate)
app.command()(explain)
app.command()(infer)
app.command()(init)
app.command()(ledger)
app.command()(limits)
app.command()(match)
app.command()(release)
app.command()(schema)
app.command()(studio)
app.command()(verify)


def _version(asked: bool) -> None:
    if asked:
        from sievert.results import package_version

        print(f"sievert {package_version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure, bound, compare and design what a privacy mechanism leaks."""
