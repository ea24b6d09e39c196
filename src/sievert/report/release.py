"""A release, and the preview of one: in sentences, and as a page with what is published and its noise."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import singledispatch
from pathlib import Path
from typing import Any

from sievert.files import PolicyScenario, table_noise
from sievert.numerics import amount, at_most_percent, belief_growth, in_percent, number
from sievert.questions import TableCost, guess_beside
from sievert.release import CumulativeEffect, NoisyTable, PlannedReleases, Preview, Release, ReleaseEffect
from sievert.report import plots
from sievert.report._audit_pictures import noise_pictures, releases_picture
from sievert.report._bars import bars
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.report.ledger import pair_words
from sievert.results import Result
from sievert.tables import TableLine

__all__ = ["content", "lines", "near", "page", "table_lines"]

SAME_EVERYWHERE = ("eps_of_step", "alpha_of_step", "note")
# A number of at most so many digits is written as it is; others are rounded to what their error leaves.
FEW_DIGITS, MOST_PLACES, LARGEST_ROUNDED = 6, 12, 1e15
ROUNDED = {"low": ROUND_FLOOR, "high": ROUND_CEILING}
# Rows of a released table that a page shows; the file has them all.
MOST_ROWS = 200


@singledispatch
def lines(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them, of a release or of the preview of one."""
    raise TypeError(f"{type(result).__name__} is no release")


@lines.register
def _(found: Preview) -> Iterator[tuple[str, list[str]]]:
    yield "What is protected", [found.policy]
    yield "What would be released", [f"{_capital(found.released)}, through {found.mechanism}.", found.promise]
    yield "How good it would be", [*_errors(found), *_beside(found)]
    yield "What it gives away", list(_leakage(found))
    yield "The ledger", list(_ledger(found))
    if found.accept:
        yield "Accepted?", [f"{str(check)[:1].upper()}{str(check)[1:]}." for check in found.accept]
    if found.warnings:
        yield "Note", list(found.warnings)


def _beside(found: Preview) -> Iterator[str]:
    """Other noise at the same guess."""
    if found.beside is not None:
        yield (
            f"At the same guess about one record: {found.beside.mechanism} for each step, of standard "
            f"deviation {amount(found.beside.noise_sd)}, is off by at most {_plain(found.beside.radius)} "
            f"with probability {in_percent(found.confidence)}."
        )


def _errors(found: Preview | ReleaseEffect) -> Iterator[str]:
    if found.noise_sd is not None and found.expected_error is not None and found.radius is not None:
        what, metres = ("cell is moved", " m") if found.unit == "metre" else ("number is off", "")
        then = ", and a place" if metres else ", and"
        yield (
            f"Each {what} by {amount(found.expected_error)}{metres} on average (standard deviation "
            f"{amount(found.noise_sd)}{metres}){then} by at most {_plain(found.radius)}{metres} with "
            f"probability {in_percent(found.confidence)}."
        )
    if found.kept is not None:
        yield (
            f"A value stays as it is with probability {in_percent(found.kept)} or more."
            if found.kept
            else "Some values never stay as they are."
        )
    yield from (_table_error(table, found.confidence) for table in found.tables)
    if found.noise_sd is None and found.kept is None and not found.tables:
        yield "The outputs are not numbers, so there is no error to state."


def _table_error(table: TableCost, confidence: float) -> str:
    """How far off one of several tables is, and what it costs."""
    name = _capital(table.name)
    if table.ranks is not None:
        off = (
            f"chosen at most {amount(table.ranks)} records further from its rank than the best grid point "
            f"with probability {in_percent(confidence)}"
        )
    elif table.radius is None or table.noise_sd is None:
        off = "of no use: the noise has no bound"
    else:
        off = (
            f"off by at most {_plain(table.radius)} with probability {in_percent(confidence)} (standard "
            f"deviation {amount(table.noise_sd)})"
        )
    return f"{name}: {off}, for {table.symbol} = {number(table.cost_alone)}."


def _leakage(found: Preview | ReleaseEffect) -> Iterator[str]:
    if found.guess_before is not None and found.guess_after is not None:
        after = guess_beside(found.guess_after, not found.guess_is_bound, found.guess_simulated)
        who = (
            "Someone who knows every other record guesses the remaining one"
            if found.central
            else "It is guessed"
        )
        yield (f"{who} with probability {in_percent(found.guess_before)} before and {after} after.")
    if found.person_rows is not None:
        yield f"{found.person_rows}"
    if found.factors:
        yield belief_growth("places", found.factors, " m")
    yield from _in_all(found)


def _in_all(found: Preview | ReleaseEffect) -> Iterator[str]:
    """What all releases of the ledger give away, and what its budget allows."""
    together, whole = found.together, found.exhausted
    per = " for each metre" if found.unit == "metre" else ""
    if together is not None and together.releases is not None and together.releases > 1:
        earlier = (
            "one earlier release" if together.releases == 2 else f"{together.releases - 1} earlier releases"
        )
        yield (
            f"Together with {earlier} of this ledger {found.symbol} = {number(together.eps)}{per} is spent"
            f"{_guess_of(together)}."
        )
    if whole is not None and together is not None and whole.guess is not None and whole.eps > together.eps:
        yield _spent(whole, found.alike, f" of {found.symbol} = {number(whole.eps)}{per}", found.symbol)


def _spent(whole: CumulativeEffect, alike: CumulativeEffect | None, amount: str, symbol: str) -> str:
    """What the budget allows: releases of this file, where there were no others, and any."""
    budget = f"the whole budget{amount}"
    if alike is None or alike.guess is None or alike.guess == whole.guess or (alike.releases or 0) < 2:
        return f"If {budget} is spent{_guess_of(whole)}."
    return (
        f"If {budget} is spent on {alike.releases} releases like this one{_guess_of(alike)}; on any releases "
        f"of so much {symbol}: at most {at_most_percent(whole.guess or 1.0)}."
    )


def _guess_of(item: CumulativeEffect) -> str:
    return "" if item.guess is None else f": the guess is right with probability {item.words}"


def _ledger(found: Preview) -> Iterator[str]:
    through = "" if found.scarcest_column is None else f" through the column {found.scarcest_column}"
    if found.remaining is None and found.eps is None:
        yield "There is none, and nothing limits further releases: a ledger in ρ would add this noise up."
    elif found.remaining is None:
        yield "There is none: a release needs one."
    elif found.eps is None:
        yield f"It adds ε up, and the noise keeps none; {number(found.remaining)} is left{through}."
    elif found.plan is not None:
        yield f"The plan {found.plan} has paid for it; {number(found.remaining)} is left{through}."
    elif found.remaining_after is None:
        cost = f"{found.symbol} = {number(found.eps)}"
        yield f"{cost} would be asked for and {number(found.remaining)} is left{through}."
    else:
        cost = f"{found.symbol} = {number(found.eps)} would be charged to each {found.per}"
        left = f"{number(found.remaining)} is left now{through}"
        yield f"{cost}; {left} and {number(found.remaining_after)} would be left."
    if found.pair is not None and found.remaining is not None:
        yield f"It costs most between {pair_words(found.pair)}."
    if found.about is not None:
        yield f"It adds up what is learned about {found.about}."


@lines.register
def _(found: Release) -> Iterator[tuple[str, list[str]]]:
    if found.table is not None:
        yield "Released", list(_table(found.table))
    if found.effect is not None:
        yield "How good it is", list(_errors(found.effect))
        yield "What it gives away", list(_leakage(found.effect))
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


@lines.register
def _(found: PlannedReleases) -> Iterator[tuple[str, list[str]]]:
    yield "What the plan promises", found.sentences()
    yield (
        "The ledger",
        [
            f"It adds up what is learned about {found.about}.",
            f"Its last hash is {found.head[:16]}…: note it elsewhere to notice an older copy.",
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
    rows, more = _rows(names, columns, most)
    texts = list(zip(map(str, names), *rows, strict=True))
    widths = [max(map(len, column)) for column in texts]
    for row in zip(*texts, strict=True):
        yield TableLine("  ".join(map(str.ljust, row, widths)).rstrip())
    if more:
        yield f"… and {more:,} more rows in the file"


def _rows(names: Sequence[str], columns: Sequence[Sequence[Any]], most: int) -> tuple[list[list[str]], int]:
    """About so many rows, their numbers rounded for people, and how many more there are in the file."""
    size = len(columns[0]) if columns else 0
    column = dict(zip(names, columns, strict=True))
    kept = _kept_rows(list(column.get("query", [""] * size)), most)
    errors = column.get("noise_sd", [None] * size)
    return [[_cell(name, column[name][row], errors[row]) for name in names] for row in kept], size - len(kept)


def _cell(name: str, value: object, error: object) -> str:
    """A cell with as many digits as the error allows; the ends of an interval are rounded outwards.

    >>> [_cell(name, 4.22211155378, 0.344877726506) for name in ("low", "value", "high", "noise_sd")]
    ['4.2221', '4.2221', '4.2222', '4.222']
    """
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if name == "noise_sd":
        return amount(value)
    if float(f"{value:.{FEW_DIGITS}g}") == value or abs(value) > LARGEST_ROUNDED:
        return str(value)
    unit = error / 1000 if isinstance(error, float) and error else abs(value) / 10 ** (FEW_DIGITS - 1)
    places = min(max(0, -math.floor(math.log10(unit))), MOST_PLACES)
    rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUNDED.get(name, ROUND_HALF_EVEN))
    # Nothing is minus zero.
    return f"{rounded + 0:f}"


def _kept_rows(statistics: list[object], most: int) -> list[int]:
    """The first rows, so many together, of every statistic; a single one is not left out."""
    rows = range(len(statistics))
    if len(rows) <= most + 1:
        return list(rows)
    each = {name: [row for row in rows if statistics[row] == name] for name in dict.fromkeys(statistics)}
    share = max(1, most // len(each))
    # What statistics of few rows do not take, the others may.
    spare = most - sum(min(share, len(part)) for part in each.values())
    kept: list[int] = []
    for part in each.values():
        count = min(len(part), share + max(0, spare))
        spare -= max(0, count - share)
        kept += part[:count]
    return list(rows) if len(rows) == len(kept) + 1 else sorted(kept)


def _plain(value: Fraction) -> str:
    return f"{value.numerator:,}" if value.denominator == 1 else amount(float(value), 6)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# ── As a page ───────────────────────────────────────────────────────────────────────────────────────────────


@singledispatch
def page(result: Result, scenario: PolicyScenario, command: str = "") -> str:
    """The whole page of a release or of the preview of one, working offline."""
    raise TypeError(f"{type(result).__name__} is no release")


@page.register
def _page_of_preview(found: Preview, scenario: PolicyScenario, command: str = "") -> str:
    return page_html(content(found, scenario, command))


def content(found: Preview, scenario: PolicyScenario, command: str = "") -> Page:
    """What the page of a preview holds."""
    source = Path(scenario.source).name
    return Page(
        title=found.title,
        made_by=f"Preview of the release of {source}",
        headline=str(found),
        sections=list(lines(found)),
        good=found.possible,
        command=command or f"sievert release {source} --preview --report page.html",
        summary=PageTable(
            "At a glance", (), list(_glance(found, found.eps, found.remaining_after, found.per))
        ),
        pictures=[*_shares(found.tables), *_noise(scenario)],
        text=scenario.to_toml(),
    )


def _shares(tables: Sequence[TableCost]) -> list[Picture]:
    """What each of several tables costs by itself."""
    if len(tables) < 2:
        return []
    symbol = tables[0].symbol
    figure = bars([table.name for table in tables], [float(table.cost_alone) for table in tables], symbol)
    caption = (
        f"{symbol} of each table by itself; together they cost what the worst pair of values does, which may "
        "be less than the sum."
    )
    return [Picture("What each table costs", caption, figure)]


@page.register
def _page_of_release(found: Release, scenario: PolicyScenario, command: str = "") -> str:
    source = Path(scenario.source).name
    table, pictures = found.table, _noise(scenario)
    tables = []
    if table is not None:
        shown = [i for i, name in enumerate(table.names) if name not in SAME_EVERYWHERE]
        names = [table.names[i] for i in shown]
        rows, more = _rows(names, [table.columns[i] for i in shown], MOST_ROWS)
        tables = [PageTable("Released", names, rows, f"And {more:,} more rows in the file." if more else "")]
        pictures = [
            *_published(table),
            *_shares(() if found.effect is None else found.effect.tables),
            *pictures,
        ]
    return page_html(
        Page(
            title=scenario.title,
            made_by=f"Release of {source}",
            headline=str(found),
            sections=[item for item in lines(found) if item[0] != "Released"],
            good=found.secure,
            summary=_summary(found),
            tables=tables,
            pictures=pictures,
            proofs=[
                f"Made by `{command or f'sievert release {source}'}`, which drew the noise and charged the "
                "ledger: it is not run again to see the page again."
            ],
            text=scenario.to_toml(),
        )
    )


def _summary(found: Release) -> PageTable | None:
    """What a release cost and gives away, as its preview said."""
    if found.effect is None:
        return None
    return PageTable("At a glance", (), list(_glance(found.effect, found.eps, found.remaining, found.per)))


def _glance(
    found: Preview | ReleaseEffect, eps: Fraction | None, left: Fraction | None, whom: str = "person"
) -> Iterator[tuple[str, str]]:
    """What is asked first: the cost, the error in the unit of the numbers, the guess."""
    metres = " m" if found.unit == "metre" else ""
    per = " for each metre" if metres else ""
    cost = "no ε: nothing adds it up" if eps is None else f"{found.symbol} = {number(eps)}{per}"
    yield f"cost for each {whom}", cost
    if found.noise_sd is not None and found.expected_error is not None and found.radius is not None:
        yield "standard deviation of the noise", f"{amount(found.noise_sd)}{metres}"
        yield "mean distance from the truth", f"{amount(found.expected_error)}{metres}"
        within = f"at most {_plain(found.radius)}{metres}"
        yield f"distance with probability {in_percent(found.confidence)}", within
    if found.kept is not None:
        yield "a value stays as it is", f"{in_percent(found.kept)} or more"
    if found.guess_before is not None and found.guess_after is not None:
        after = guess_beside(found.guess_after, not found.guess_is_bound, found.guess_simulated)
        yield "best guess about one record before", in_percent(found.guess_before)
        yield "after this release", after
    if found.person_rows is not None and found.person_rows.guess is not None:
        yield f"after all {found.person_rows.rows} rows of a person", found.person_rows.words
    alike = found.alike
    for name, item in (
        ("after all releases of the ledger", found.together),
        (f"after {0 if alike is None else alike.releases} releases like this one", alike),
        ("when all is spent on any releases", found.exhausted),
    ):
        if item is not None and item.guess is not None and (item.releases or 2) > 1:
            yield name, item.words
    if left is not None:
        yield "left in the ledger afterwards", f"{found.symbol} = {number(left)}{per}"


def _noise(scenario: PolicyScenario) -> list[Picture]:
    """The law of the noise where it is the same everywhere, else each row of the channel."""
    noise = table_noise(scenario)
    if noise is not None:
        return [*noise_pictures(noise, scenario), *releases_picture(scenario)]
    return [
        Picture(
            "What happens to a value",
            "Each row is a true value; the darker a cell, the likelier that output.",
            plots.channel_heatmap(scenario.channel),
        ),
        *releases_picture(scenario),
    ]


def _published(table: NoisyTable) -> Iterator[Picture]:
    """The noisy numbers with their intervals; each statistic on an axis of its own."""
    found = dict(zip(table.names, table.columns, strict=True))
    first = table.names.index("value")
    size = len(found["value"])
    # A quantile has no interval in values: it stands for itself.
    low, high = (found.get(name, found["value"]) for name in ("low", "high"))
    statistics = found["query"] if "query" in table.names[:first] else [""] * size
    for statistic in dict.fromkeys(statistics):
        rows = [row for row in range(size) if statistics[row] == statistic]
        values = [float(found["value"][row]) for row in rows]
        groups = range(1 if statistic else 0, first)
        names = [
            ", ".join(str(cell) for i in groups if (cell := table.columns[i][row]) is not None) or statistic
            for row in rows
        ]
        intervals = [
            tuple(value if column[row] is None else float(column[row]) for column in (low, high))
            for row, value in zip(rows, values, strict=True)
        ]
        yield Picture(
            f"What is published: {statistic}" if statistic else "What is published",
            "Each number with the interval that covers the truth at the file's confidence.",
            plots.released_numbers(names, values, intervals),
        )
