"""A release, and the preview of one, in sentences."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from functools import singledispatch
from typing import Any

from sievert.numerics import belief_growth, in_percent, number
from sievert.release import NoisyTable, Preview, Release
from sievert.results import Result

__all__ = ["lines", "table_lines"]

SAME_EVERYWHERE = ("eps_of_step", "alpha_of_step", "note")


@singledispatch
def lines(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them, of a release or of the preview of one."""
    raise TypeError(f"{type(result).__name__} is no release")


@lines.register
def _(found: Preview) -> Iterator[tuple[str, list[str]]]:
    yield "What is protected", [found.policy]
    yield "What would be released", [f"{_capital(found.released)}, through {found.mechanism}.", found.promise]
    yield "How good it would be", list(_errors(found))
    yield "What it gives away", list(_leakage(found))
    yield "The ledger", list(_ledger(found))
    if found.accept:
        yield "Accepted?", [f"{str(check)[:1].upper()}{str(check)[1:]}." for check in found.accept]
    if found.warnings:
        yield "Note", list(found.warnings)


def _errors(found: Preview) -> Iterator[str]:
    if found.noise_sd is not None and found.expected_error is not None and found.radius is not None:
        what, metres = ("cell is moved", " m") if found.unit == "metre" else ("number is off", "")
        then = ", and a place" if metres else ", and"
        yield (
            f"Each {what} by {found.expected_error:.4g}{metres} on average (standard deviation "
            f"{found.noise_sd:.4g}{metres}){then} by at most {_plain(found.radius)}{metres} with "
            f"probability {in_percent(found.confidence)}."
        )
    if found.kept is not None:
        yield (
            f"A value stays as it is with probability {in_percent(found.kept)} or more."
            if found.kept
            else "Some values never stay as they are."
        )
    if found.noise_sd is None and found.kept is None:
        yield "The outputs are not numbers, so there is no error to state."


def _leakage(found: Preview) -> Iterator[str]:
    if found.guess_before is not None and found.guess_after is not None:
        most = "at most " if found.guess_is_bound else ""
        who = (
            "Someone who knows every other record guesses the remaining one"
            if found.central
            else "It is guessed"
        )
        yield (
            f"{who} with probability "
            f"{in_percent(found.guess_before)} before and {most}{in_percent(found.guess_after)} after."
        )
    if found.factors:
        yield belief_growth("places", found.factors, " m")


def _ledger(found: Preview) -> Iterator[str]:
    through = "" if found.scarcest_column is None else f" through the column {found.scarcest_column}"
    if found.remaining is None and found.eps is None:
        yield "There is none, and none is needed: the noise keeps no ε that a ledger could add up."
    elif found.remaining is None:
        yield "There is none: a release needs one."
    elif found.eps is None:
        yield f"It adds ε up, and the noise keeps none; {number(found.remaining)} is left{through}."
    elif found.remaining_after is None:
        yield f"ε = {number(found.eps)} would be asked for and {number(found.remaining)} is left{through}."
    else:
        yield (
            f"ε = {number(found.eps)} would be charged to each person; {number(found.remaining)} is left now"
            f"{through} and {number(found.remaining_after)} would be left."
        )
    if found.about is not None:
        yield f"It adds up what is learned about {found.about}."


@lines.register
def _(found: Release) -> Iterator[tuple[str, list[str]]]:
    if found.table is not None:
        yield "Released", list(_table(found.table))
    if found.notes:
        yield "Note", list(found.notes)
    yield (
        "Files",
        [
            f"{near(found.output)}: the released table.",
            f"{near(found.sidecar)}: what was done, and what it promises.",
            *_ledger_of(found),
            *(
                f"{near(late)} could not be given its name yet; the next release tries."
                for late in found.pending
            ),
        ],
    )


def _ledger_of(found: Release) -> Iterator[str]:
    """What the ledger says after a release; nothing where there is none."""
    if not found.head:
        return
    yield (
        f"Release {found.id}; the ledger's last hash is {found.head[:16]}…: note it elsewhere to notice an "
        "older ledger put back in place."
    )
    yield f"The ledger adds up what is learned about {found.about}."


def _table(found: NoisyTable) -> Iterator[str]:
    """The numbers; what is the same in every row is in the file and in the sentences below."""
    shown = [i for i, name in enumerate(found.names) if name not in SAME_EVERYWHERE]
    return table_lines([found.names[i] for i in shown], [found.columns[i] for i in shown])


def near(path: str) -> str:
    """A path as somebody in the current folder would write it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def table_lines(names: Any, columns: Any, most: int = 20) -> Iterator[str]:
    """A small table, one line a row."""
    texts = [
        [str(name), *("" if value is None else str(value) for value in column[:most])]
        for name, column in zip(names, columns, strict=True)
    ]
    widths = [max(map(len, column)) for column in texts]
    for row in zip(*texts, strict=True):
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    if columns and len(columns[0]) > most:
        yield f"… and {len(columns[0]) - most} more rows in the file"


def _plain(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
