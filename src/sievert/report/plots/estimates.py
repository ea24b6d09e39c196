"""What was, what was reported with noise, and what is estimated from the reports."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import plotly.graph_objects as go

from sievert.errors import DataError
from sievert.numerics.checks import instance
from sievert.report.plots.style import (
    AFTER,
    BEFORE,
    CURVES,
    LARGEST_BARS,
    MARK,
    label_texts,
    laid_out,
    listed,
    numbers,
    pairs,
    thinned,
)
from sievert.spaces.labels import labels_of

__all__ = ["estimated_distribution"]


def estimated_distribution(
    names: Sequence[Hashable],
    estimated: Sequence[float],
    *,
    reported: Mapping[Hashable, float] | None = None,
    original: Sequence[float] | None = None,
    interval: Sequence[Sequence[float]] | None = None,
) -> go.Figure:
    """Original, noisy and estimated shares of each value; whiskers are intervals of the estimate.

    Only reports that are themselves values can be drawn beside them.
    """
    names = labels_of(listed("names", names, "values"), "names", "values", DataError)
    estimated = numbers("estimated", estimated, tuple(names)).tolist()
    original = None if original is None else numbers("original", original, tuple(names)).tolist()
    if reported is not None:
        instance("reported", reported, Mapping, "a mapping from a value to its share", DataError)
        numbers("reported", list(reported.values()))
    limits = None if interval is None else pairs("interval", interval, len(names))
    shown = thinned(len(names))
    labels = label_texts([names[i] for i in shown])
    curves: list[tuple[str, list[float], str]] = []
    if original is not None:
        curves.append(("original", [float(original[i]) for i in shown], BEFORE))
    if reported is not None:
        curves.append(("reported (noisy)", [float(reported.get(names[i], 0.0)) for i in shown], CURVES[1]))
    curves.append(("estimated", [float(estimated[i]) for i in shown], AFTER))
    figure = go.Figure()
    for name, heights, colour in curves:
        whiskers = None
        if name == "estimated" and limits is not None and len(shown) <= LARGEST_BARS:
            lower, upper = ([float(limits[i, side]) for i in shown] for side in (0, 1))
            whiskers = {
                "type": "data",
                "symmetric": False,
                "array": [high - here for high, here in zip(upper, heights, strict=True)],
                "arrayminus": [here - low for low, here in zip(lower, heights, strict=True)],
                "color": MARK,
                "thickness": 1.5,
            }
        if len(shown) <= LARGEST_BARS:
            figure.add_bar(x=labels, y=heights, name=name, marker_color=colour, error_y=whiskers)
        else:
            line = {"color": colour, "width": 2, "shape": "hvh"}
            figure.add_scatter(x=labels, y=heights, name=name, mode="lines", line=line)
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(type="category")
    return laid_out(figure, "value", "share")
