"""Places on a map before and after a release."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sievert.errors import DataError
from sievert.files.regions import Region
from sievert.numerics.checks import instance
from sievert.report.plots.style import AFTER, BEFORE, laid_out
from sievert.spaces.tabular import floats

__all__ = ["places_before_after"]

FloatArray = NDArray[np.float64]
# More lines than this hide the places that they join.
LARGEST_LINES = 500


def places_before_after(before: Any, after: Any, region: Region | None = None) -> go.Figure:
    """Where places were (grey) and where they are released (blue), each pair joined by a line.

    Parameters
    ----------
    before, after : arrays [places, 2] of latitude and longitude in degrees, in the same order
    region : the policy's region; axes are then metres east and north of its south-western corner, and its
        border is drawn. Otherwise they are degrees, stretched so that the map has its true shape.
    """
    if region is not None:
        instance("region", region, Region, "the region of a policy, or None", DataError)
    old, new = _degrees(before, "before"), _degrees(after, "after")
    if len(old) != len(new):
        raise DataError(
            f"before has {len(old)} places and after {len(new)}; give both in the same order, without the "
            "rows that were dropped"
        )
    figure = go.Figure()
    if region is not None:
        rows, columns = region.shape
        width, height = columns * region.cell, rows * region.cell
        figure.add_scatter(
            x=[0, width, width, 0, 0],
            y=[0, 0, height, height, 0],
            mode="lines",
            name="region",
            line={"color": BEFORE, "width": 1, "dash": "dot"},
            hoverinfo="skip",
        )
    (x, y), (new_x, new_y) = _drawn(old, region), _drawn(new, region)
    if 0 < len(old) <= LARGEST_LINES:
        gap = np.full(len(old), np.nan)
        figure.add_scatter(
            x=np.column_stack([x, new_x, gap]).ravel(),
            y=np.column_stack([y, new_y, gap]).ravel(),
            mode="lines",
            showlegend=False,
            line={"color": BEFORE, "width": 0.7},
            hoverinfo="skip",
        )
    moved = _metres(old, new)
    told = [f"moved {metres:,.0f} m" for metres in moved]
    marks = (("before", x, y, BEFORE, "circle"), ("after", new_x, new_y, AFTER, "diamond"))
    for name, east, north, colour, symbol in marks:
        figure.add_scatter(
            x=east,
            y=north,
            mode="markers",
            name=name,
            marker={"size": 6, "color": colour, "symbol": symbol, "line": {"color": "white", "width": 0.5}},
            text=told,
            hovertemplate="%{x:.7g}, %{y:.7g}<br>%{text}<extra>" + name + "</extra>",
        )
    if region is not None:
        laid_out(figure, "metres east", "metres north")
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
        return figure
    laid_out(figure, "longitude (degrees east)", "latitude (degrees north)")
    middle = float(np.concatenate([old, new])[:, 0].mean()) if len(old) else 0.0
    figure.update_yaxes(scaleanchor="x", scaleratio=1 / max(0.01, math.cos(math.radians(middle))))
    return figure


def _degrees(places: Any, name: str) -> FloatArray:
    found = floats(places, name, DataError, "give latitudes and longitudes")
    if found.size == 0:
        return np.empty((0, 2))
    if found.ndim != 2 or found.shape[1] != 2:
        raise DataError(f"{name} has the shape {found.shape}; give a latitude and a longitude for each place")
    if not (np.abs(found) <= [90, 360]).all():
        raise DataError(f"{name} has a place that is not on the globe; latitude comes first, in degrees")
    return found


def _drawn(places: FloatArray, region: Region | None) -> tuple[FloatArray, FloatArray]:
    if region is None:
        return places[:, 1], places[:, 0]
    return region.metres(places[:, 0], places[:, 1])


def _metres(first: FloatArray, second: FloatArray) -> FloatArray:
    """Great-circle distances on a sphere with the area of the Earth."""
    a, b = np.radians(first), np.radians(second)
    half = np.sin((b - a) / 2) ** 2
    chord = half[:, 0] + np.cos(a[:, 0]) * np.cos(b[:, 0]) * half[:, 1]
    return np.asarray(2 * 6_371_007.0 * np.arcsin(np.sqrt(np.minimum(1.0, chord))))
