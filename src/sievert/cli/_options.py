"""What every command is made of: the door they stand behind, and options that take numbers.

Numbers given on the command line are plain decimal digits; what is not a number is refused by the option's
name. Nothing heavy is imported here: `sievert studio` opens its page at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer

__all__ = ["TYPED", "command_group", "number", "real_option", "whole_number", "whole_option"]

# Beyond these, products and squares of numbers are no floats.
LEAST, LARGEST = 1e-300, 1e300
# What was typed after `sievert`.
TYPED: ContextVar[tuple[str, ...]] = ContextVar("TYPED", default=())


def command_group(*commands: Callable[..., Any]) -> typer.Typer:
    """The command `sievert` with some of its commands."""
    found = typer.Typer(
        name="sievert",
        help="Measure, bound, compare and design what a privacy mechanism leaks.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    found.callback()(_options)
    for command in commands:
        found.command()(command)
    return found


def _version(asked: bool) -> None:
    if asked:
        from sievert.results import package_version

        print(f"sievert {package_version()}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure, bound, compare and design what a privacy mechanism leaks."""


def real_option(help: str) -> Any:
    """An option that takes a real number."""
    return typer.Option(parser=number, metavar="NUMBER", help=help)


def whole_option(help: str) -> Any:
    """An option that takes a whole number."""
    return typer.Option(parser=whole_number, metavar="N", help=help)


def number(written: str | float) -> float:
    """A number ≥ 0, perhaps inf, that floats can compute with; an option's default comes as the number it is.

    >>> number("1e-3")
    0.001
    """
    text = str(written)
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise _refused(text, "a number")
    if (value not in (0.0, math.inf) and not LEAST <= value <= LARGEST) or _rounded_away(text, value):
        raise _refused(text, "0, inf or a number from 1e-300 to 1e300")
    return value


def _rounded_away(text: str, value: float) -> bool:
    """Whether a number was written that a float takes for 0 or for inf."""
    digits = text.lower().partition("e")[0]
    return any(digit in digits for digit in "123456789") and value in (0.0, math.inf)


def whole_number(written: str | int) -> int:
    """A whole number.

    >>> whole_number("12")
    12
    """
    text = str(written)
    try:
        if text.isascii() and "_" not in text:
            return int(text)
    except ValueError:
        pass
    raise _refused(text, "a whole number")


def _refused(text: str, what: str) -> typer.BadParameter:
    from sievert.numerics import abbreviated

    return typer.BadParameter(f"{abbreviated(text)} is not {what}.")
