"""Numbers on the command line: plain decimal digits; what is not a number is refused by the option's name."""

from __future__ import annotations

import math
from typing import Any

import typer

from sievert.numerics import brief

__all__ = ["real_option", "whole_option"]


def real_option(help: str) -> Any:
    """An option that takes a real number."""
    return typer.Option(parser=number, metavar="NUMBER", help=help)


def whole_option(help: str) -> Any:
    """An option that takes a whole number."""
    return typer.Option(parser=whole_number, metavar="N", help=help)


def number(written: str | float) -> float:
    """A real number, perhaps inf; an option's default comes as the number it is.

    >>> number("1e-3")
    0.001
    """
    text = str(written)
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise typer.BadParameter(f"{brief(text)} is not a number.")
    return value


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
    raise typer.BadParameter(f"{brief(text)} is not a whole number.")
