"""Answers as plain data: a sentence, a picture with the table behind it, and what else there is to see."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sievert.report import Page, PageTable, Picture, picture_data

__all__ = ["Shown", "drawn", "facts_of", "of_page", "of_pictures", "refused", "tabled"]

Shown = dict[str, Any]


def drawn(picture: Picture, table: PageTable | None = None) -> Shown:
    """A picture with the table behind it."""
    figure = json.loads(picture.figure.to_json())
    found = picture_data(picture.figure, picture.heading, picture.caption) if table is None else table
    return {
        "heading": picture.heading,
        "caption": picture.caption,
        "figure": {"data": figure["data"], "layout": figure["layout"]},
        "table": tabled(found),
    }


def tabled(table: PageTable) -> Shown:
    """A table whose cells are texts."""
    return {
        "heading": table.heading,
        "columns": list(table.header),
        "rows": [[_text(cell) for cell in row] for row in table.rows],
        "caption": table.caption,
    }


def _text(cell: Any) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float | Fraction):
        return "∞" if math.isinf(cell) else f"{float(cell):.6g}"
    return str(cell)


def of_pictures(
    sentence: str,
    pictures: Iterable[Picture],
    tables: Sequence[PageTable] = (),
    *,
    brief: bool = False,
    **further: Any,
) -> Shown:
    """A sentence with pictures: the first is the part's own, the others follow with the tables.

    In brief it has the first alone, and the others are not even drawn where they come one by one.
    """
    if brief:
        only = [drawn(picture) for picture in itertools.islice(pictures, 1)]
        return {"sentence": sentence, **(only[0] if only else {})}
    shown = [drawn(picture) for picture in pictures]
    first, rest = (shown[0], shown[1:]) if shown else ({}, [])
    alone = [tabled(table) for table in tables]
    if not shown and alone:
        first, alone = {"table": alone[0]}, alone[1:]
    rest += [{"heading": table["heading"], "table": table} for table in alone]
    return {"sentence": sentence, **first, **({"more": rest} if rest else {}), **further}


def of_page(page: Page) -> Shown:
    """What a report says, as a part."""
    tables = [] if page.summary is None else [page.summary]
    if page.summary is not None and not page.summary.header:
        tables = [page.summary._replace(header=("", ""))]
    return of_pictures(
        page.headline,
        page.pictures,
        [*tables, *page.tables],
        good=page.good,
        sections=[[heading, list(sentences)] for heading, sentences in page.sections],
    )


def facts_of(facts: Mapping[str, tuple[str, str]]) -> list[dict[str, str]]:
    """Names with amounts and their units."""
    return [{"name": name, "value": value, "unit": unit} for name, (value, unit) in facts.items()]


def refused(reason: str, nearest: str = "") -> Shown:
    """Why there is no answer, and the nearest question that has one."""
    return {"sentence": reason, "refused": reason, **({"nearest": nearest} if nearest else {})}
