"""Noise that is the same everywhere: its law, where it takes a place, and what it lets one guess."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sievert.errors import DataError
from sievert.numerics import amount, finite, flag, probability
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import (
    AFTER,
    BEFORE,
    LARGEST_BARS,
    LIMIT,
    MARK,
    SHARE,
    label_texts,
    laid_out,
    listed,
    numbers,
    pairs,
    percents,
    text,
    thinned,
)
from sievert.spaces import floats, labels_of

__all__ = ["belief_shift", "guess_curve", "noise_law", "noise_map", "released_numbers"]

# From this ratio of the last level to the first on, levels are drawn by their logarithm.
WIDE = 50


def noise_law(
    amounts: Sequence[float],
    probabilities: Sequence[float],
    *,
    radius: float | None = None,
    confidence: float = 0.95,
    unit: str = "",
) -> go.Figure:
    """The probability of each amount of noise in one number; the shaded ones are within the radius.

    Parameters
    ----------
    amounts : of noise, in the unit of the number
    probabilities : of each
    radius : how far the noise goes with probability `confidence`; nothing is marked by default
    confidence : of the radius
    unit : what the number counts, for the axis

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(amounts).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.noise_law([-1, 0, 1], [0.25, 0.5, 0.25], radius=0, confidence=0.5)
    >>> [trace.name for trace in figure.data]
    ['within 0 (probability 50% or more)', 'further off']
    """
    places = numbers("amounts", amounts)
    heights = numbers("probabilities", probabilities, len(places))
    inside = np.ones(len(places), dtype=bool)
    names = ["noise", ""]
    if radius is not None:
        reach = finite("radius", radius, DataError)
        inside = np.abs(places) <= reach * (1 + 1e-12)
        share = probability("confidence", confidence, DataError)
        names = [f"within {amount(reach, 6)} (probability {100 * share:.4g}% or more)", "further off"]
    figure = Drawing()
    for name, chosen, colour in zip(names, (inside, ~inside), (AFTER, BEFORE), strict=True):
        if not chosen.any():
            continue
        figure.add_bar(
            x=places[chosen], y=heights[chosen], name=name, marker={"color": colour, "line_width": 0}
        )
    figure.update_layout(showlegend=radius is not None, bargap=0.15 if len(places) <= LARGEST_BARS else 0)
    what = text("unit", unit)
    return percents(laid_out(figure, f"noise{f' ({what})' if what else ''}", "probability"))


def belief_shift(
    names: Sequence[Hashable], before: Sequence[float], after: Sequence[float], seen: str = "after"
) -> go.Figure:
    """Belief in each value before the release, and after it.

    Parameters
    ----------
    names : of the values
    before, after : belief in each
    seen : what the second belief is called

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(values).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.belief_shift(["a", "b"], [0.5, 0.5], [0.7, 0.3])
    >>> [trace.name for trace in figure.data]
    ['before', 'after']
    """
    labels = labels_of(listed("names", names, "values"), "names", "values", DataError)
    few = len(labels) <= LARGEST_BARS
    # Many numbers make an axis of numbers.
    places = [float(label) for label in labels if isinstance(label, int | float | Fraction)]
    along = not few and len(places) == len(labels)
    shown: Sequence[float | str] = places if along else label_texts(labels)
    figure = Drawing()
    for name, heights, colour in (("before", before, BEFORE), (text("seen", seen), after, AFTER)):
        beliefs = numbers(name, heights, len(shown))
        if few:
            figure.add_bar(x=shown, y=beliefs, name=name, marker_color=colour)
        else:
            line = {"color": colour, "width": 2, "shape": "hvh"}
            figure.add_scatter(x=shown, y=beliefs, name=name, mode="lines", line=line)
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(type="linear" if along else "category")
    if not few:
        figure.update_xaxes(nticks=6)
    figure.update_yaxes(rangemode="tozero")
    return percents(laid_out(figure, "value of the record", "belief"))


def guess_curve(
    levels: Sequence[float],
    guesses: Sequence[float],
    before: float,
    *,
    exact: Sequence[bool] | None = None,
    here: float | None = None,
    limit: float | None = None,
    ever: float | None = None,
    axis: str = "releases",
) -> go.Figure:
    """The best guess against the number of releases, or against ε; dashed where it is only a bound.

    Parameters
    ----------
    levels : numbers of releases, or levels ε, increasing
    guesses : probability of a right guess at each
    before : the guess without a release
    exact : whether each guess is exact, and not an upper bound; all are by default
    here : the level to be marked
    limit : what is accepted, to be marked
    ever : what no number of releases exceeds, to be marked
    axis : what the levels are

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(levels).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.guess_curve([1, 2, 3], [0.3, 0.4, 0.6], 0.2, exact=[True, False, False])
    >>> [trace.name for trace in figure.data]
    ['best guess', 'at most']
    """
    places = numbers("levels", levels)
    heights = numbers("guesses", guesses, len(places))
    known = np.ones(len(places), dtype=bool)
    if exact is not None:
        given = listed("exact", exact, "truth values")
        known = np.array([flag("exact", item, DataError) for item in given], dtype=bool)
        if len(known) != len(places):
            raise DataError(f"exact has {len(known)} entries; give one for each of {len(places)} levels")
    before = probability("before", before, DataError)
    limit = None if limit is None else probability("limit", limit, DataError)
    ever = None if ever is None else probability("ever", ever, DataError)
    here = None if here is None else finite("here", here, DataError)
    figure = Drawing()
    mode = "lines+markers" if len(places) <= LARGEST_BARS / 2 else "lines"
    # A bound begins where the last exact number stands.
    bounded = ~known | np.append(~known[1:], False) if not known.all() else ~known
    for name, chosen, dash in (("best guess", known, "solid"), ("at most", bounded, "dash")):
        if chosen.any():
            line = {"color": AFTER, "width": 2.5, "dash": dash}
            shown = np.where(chosen, heights, np.nan)
            figure.add_scatter(
                x=places, y=shown, name=name, mode=mode, line=line, marker={"size": 6}, showlegend=True
            )
    top = max([*heights.tolist(), before, *(value for value in (limit, ever) if value is not None)])
    # Words stand where no other line does.
    crowded = here is not None and here - places[0] < 0.2 * (places[-1] - places[0])
    free = limit is not None and limit - before > 0.1 * top
    lines = (
        (before, BEFORE, "before", "top right"),
        (ever, MARK, "never above", "bottom right"),
        (limit, LIMIT, "limit", "top right" if crowded and free else "top left"),
    )
    across = [line for line in lines if line[0] is not None]
    figure.layout.shapes = [_level(value, colour) for value, colour, _, _ in across]
    figure.layout.annotations = [_beside(*line) for line in across]
    wide = len(places) > 2 and places[0] >= 1 and places[-1] >= WIDE * places[0]
    laid_out(figure, text("axis", axis), "probability of a right guess")
    figure.plotly_relayout({"yaxis.range": [0, min(1.05, 1.15 * top)]})
    if wide:
        figure.plotly_relayout({"xaxis.type": "log", "xaxis.nticks": 6})
    if here is not None:
        _mark(figure, here, wide)
    return percents(figure)


def _level(value: float | None, colour: str) -> dict[str, Any]:
    """A line from one side of the picture to the other."""
    dash = "solid" if colour == LIMIT else "dot"
    ends = {"x0": 0, "x1": 1, "xref": "x domain", "y0": value, "y1": value, "yref": "y"}
    return {"type": "line", **ends, "line": {"color": colour, "width": 1.5, "dash": dash}}


def _beside(value: float | None, colour: str, words: str, place: str) -> dict[str, Any]:
    """Words at one end of a line, above or below it."""
    above, side = place.split()
    return {
        "text": words,
        "font": {"color": colour if colour == LIMIT else MARK},
        "showarrow": False,
        "x": 1 if side == "right" else 0,
        "xanchor": side,
        "xref": "x domain",
        "y": value,
        "yanchor": "bottom" if above == "top" else "top",
        "yref": "y",
    }


def _mark(figure: go.Figure, at: float, logarithmic: bool) -> None:
    """An upright line at a level, and its number above it."""
    line = {"color": MARK, "dash": "dot", "width": 1.5}
    figure.add_shape(type="line", x0=at, x1=at, y0=0, y1=1, yref="y domain", line=line)
    # Plotly places annotations, unlike shapes, by the logarithm.
    place = math.log10(at) if logarithmic else at
    above = {"yref": "y domain", "y": 1, "yanchor": "bottom", "showarrow": False}
    figure.add_annotation(x=place, text=f"here: {at:.4g}", **above)
    figure.plotly_relayout({"margin.t": 30})


def noise_map(
    east: Sequence[float], north: Sequence[float], probabilities: Sequence[Sequence[float]]
) -> go.Figure:
    """Where a place in the middle of the map is released; darker is likelier.

    Parameters
    ----------
    east, north : metres from the true place, of the columns and of the rows
    probabilities : of each cell, one row after the other

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(cells).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.noise_map([-10, 0, 10], [0], [[0.2, 0.6, 0.2]])
    >>> figure.layout.xaxis.title.text
    'metres east of the true place'
    """
    columns, rows = numbers("east", east), numbers("north", north)
    rule = f"give {len(rows)} rows of {len(columns)} probabilities"
    shades = floats(probabilities, "probabilities", DataError, rule)
    if shades.shape != (len(rows), len(columns)):
        raise DataError(f"probabilities has the shape {shades.shape}; {rule}")
    figure = Drawing(
        go.Heatmap(
            z=shades.astype(np.float32),
            x=columns,
            y=rows,
            colorscale="Blues",
            zmin=0.0,
            colorbar={
                "title": {"text": "probability", "side": "right"},
                "thickness": 14,
                "tickformat": SHARE,
            },
            hovertemplate="%{x:.4g} m east, %{y:.4g} m north<br>probability %{z:.3~p}<extra></extra>",
        )
    )
    figure.add_scatter(
        x=[0],
        y=[0],
        mode="markers",
        name="true place",
        marker={"color": LIMIT, "symbol": "x", "size": 9},
        showlegend=True,
        hoverinfo="name",
    )
    laid_out(figure, "metres east of the true place", "metres north of it")
    figure.update_xaxes(constrain="domain", nticks=5, tickangle=0)
    return figure.update_yaxes(scaleanchor="x", scaleratio=1, constrain="domain")


def released_numbers(
    names: Sequence[Hashable],
    values: Sequence[float],
    interval: Sequence[Sequence[float]] | None = None,
    adjusted: Sequence[float] | None = None,
) -> go.Figure:
    """Numbers of a released table, with the interval of each.

    Parameters
    ----------
    names : of the cells
    values : the noisy number of each
    interval : lower and upper end for each; nothing is drawn by default
    adjusted : the nearest possible number of each; nothing is drawn by default

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(cells).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.released_numbers(["a", "b"], [3, -1], [(1, 5), (0, 1)])
    >>> [trace.name for trace in figure.data]
    ['interval', 'released']
    """
    cells = listed("names", names, "cells")
    heights = numbers("values", values, len(cells))
    shown = thinned(len(cells))
    labels = label_texts([cells[i] for i in shown])
    figure = Drawing()
    if interval is not None:
        ends = pairs("interval", interval, len(cells))[shown]
        gap = np.full(len(shown), np.nan)
        figure.add_scatter(
            x=[label for label in labels for _ in range(3)],
            y=np.column_stack([ends, gap]).ravel(),
            mode="lines",
            name="interval",
            line={"color": BEFORE, "width": 5 if len(shown) <= LARGEST_BARS else 2},
            hoverinfo="skip",
        )
    drawn = {"color": AFTER, "size": 8 if len(shown) <= LARGEST_BARS else 4}
    figure.add_scatter(x=labels, y=heights[shown], mode="markers", name="released", marker=drawn)
    if adjusted is not None:
        nearest = numbers("adjusted", adjusted, len(cells))[shown]
        mark = {"color": MARK, "symbol": "line-ew-open", "size": 12 if len(shown) <= LARGEST_BARS else 5}
        figure.add_scatter(x=labels, y=nearest, mode="markers", name="adjusted", marker=mark)
    figure.update_xaxes(type="category")
    return laid_out(figure, "cell", "released number")
