"""The table behind a picture: the numbers that are drawn, so that they can be read, copied and heard.

It is made from the drawn traces themselves, so that picture and table cannot say different things.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from sievert.numerics import in_percent
from sievert.report._page import PageTable
from sievert.report.plots._style import SHARE, thinned

__all__ = ["picture_data"]

# Rows and columns of a table that somebody reads; of more some are shown, evenly spaced.
MOST_ROWS, MOST_COLUMNS = 200, 12


def picture_data(figure: go.Figure, heading: str = "", caption: str = "") -> PageTable:
    """What a picture of curves, bars or cells shows, as a table.

    Parameters
    ----------
    figure : as the plots of this package draw it
    heading, caption : of the table

    Returns
    -------
    Table
        A row for each place on the axis and a column for each curve, or the cells of a heat map.
    """
    cells = [trace for trace in figure.data if trace.type == "heatmap"]
    header, rows = _of_cells(cells[0], figure) if cells else _of_curves(figure)
    kept = thinned(len(rows), MOST_ROWS)
    if len(kept) < len(rows):
        caption = f"{caption} {len(kept)} of {len(rows)} rows, evenly spaced.".strip()
    return PageTable(heading, header, [rows[place] for place in kept], caption)


def _of_curves(figure: go.Figure) -> tuple[list[str], list[list[str]]]:
    """Places along the axis against the names of the traces; bars may lie."""
    traces = [trace for trace in figure.data if trace.x is not None and trace.y is not None]
    lying = any(getattr(trace, "orientation", None) == "h" for trace in traces)
    along, across = ("y", "x") if lying else ("x", "y")
    names: list[str] = []
    values: dict[Any, dict[str, str]] = {}
    shown = _texts_of(figure, across)
    for trace in traces:
        name = trace.name or _axis_title(figure, across) or "value"
        points = [
            (_plain(place), value)
            for place, value in zip(trace[along], trace[across], strict=False)
            if _is_drawn(place) and _is_drawn(value)
        ]
        if not points:
            continue
        names += [] if name in names else [name]
        for place, value in points:
            values.setdefault(place, {})[name] = shown(value)
    first, ticks = _axis_title(figure, along) or "", _texts_of(figure, along)
    places = list(values)
    if all(isinstance(place, int | float) for place in places):
        places = sorted(places)
    rows = [[ticks(place), *(values[place].get(name, "") for name in names)] for place in places]
    return [first, *names], rows


def _is_drawn(value: Any) -> bool:
    """Whether there is a point: gaps of a curve are no numbers."""
    return value is not None and not (isinstance(value, float | np.floating) and np.isnan(value))


def _of_cells(trace: Any, figure: go.Figure) -> tuple[list[str], list[list[str]]]:
    """A row of the picture in each row; too many columns are thinned."""
    grid = np.asarray(trace.z, dtype=np.float64)
    columns = thinned(grid.shape[1], MOST_COLUMNS)
    wide = [_short(place) for place in (range(grid.shape[1]) if trace.x is None else trace.x)]
    high = [_short(place) for place in (range(grid.shape[0]) if trace.y is None else trace.y)]
    corner = " \\ ".join(filter(None, (_axis_title(figure, "y"), _axis_title(figure, "x"))))
    header = [corner, *(wide[place] for place in columns)]
    rows = [
        [name, *("" if np.isnan(row[place]) else in_percent(float(row[place])) for place in columns)]
        for name, row in zip(high, grid, strict=True)
    ]
    return header, rows


def _texts_of(figure: go.Figure, axis: str) -> Any:
    """How numbers along an axis are written: percents where its ticks are, and names where it has some."""
    layout = figure.layout[f"{axis}axis"]
    if layout.tickvals is not None and layout.ticktext is not None:
        named = dict(zip(layout.tickvals, layout.ticktext, strict=False))
        return lambda value: str(named.get(_plain(value), _short(value)))
    if layout.tickformat == SHARE:
        return lambda value: in_percent(float(value))
    return _short


def _axis_title(figure: go.Figure, axis: str) -> str:
    text = figure.layout[f"{axis}axis"].title.text
    return "" if text is None else str(text)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _short(value: Any) -> str:
    value = _plain(value)
    return value if isinstance(value, str) else f"{value:.6g}" if isinstance(value, float) else str(value)
