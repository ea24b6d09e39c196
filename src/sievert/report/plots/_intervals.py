"""Noise on an interval: its density with the two atoms, and its price as the grid gets finer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import plotly.graph_objects as go

from sievert.continuous import Gap, TruncatedLaplace
from sievert.errors import DataError
from sievert.numerics import instance
from sievert.report.plots._style import AFTER, BEFORE, LIMIT, curve_line, laid_out, listed

__all__ = ["laplace_density", "laplace_price"]
# Points of a curve on either side of the input, where it has its peak.
POINTS = 101


def laplace_density(noise: TruncatedLaplace, inputs: Iterable[float]) -> go.Figure:
    """The density of clamped Laplace noise for some inputs, with its two atoms as bars.

    Parameters
    ----------
    noise : what `sv.continuous.truncated_laplace` made
    inputs : numbers of its interval, a curve each

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Atoms are probabilities, the curve a density: the bars stand beside it with their height as a probability.

    Cost: O(inputs).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.laplace_density(sv.continuous.truncated_laplace(2), [0.25])
    >>> len(figure.data)
    2
    """
    instance("noise", noise, TruncatedLaplace, "what sv.continuous.truncated_laplace(…) makes", DataError)
    low, high = (float(end) for end in noise.interval)
    figure = go.Figure()
    for position, x in enumerate(listed("inputs", inputs, "numbers of the interval")):
        below, above = noise.atoms(x)
        at = np.unique(np.concatenate([np.linspace(low, x, POINTS), np.linspace(x, high, POINTS)]))[1:-1]
        heights = [noise.density(x, float(y)) for y in at]
        line = curve_line(position)
        figure.add_scatter(x=at, y=heights, mode="lines", name=f"density for {x:g}", line=line)
        figure.add_bar(
            x=[low, high],
            y=[below, above],
            width=(high - low) / 40,
            offset=[-(high - low) / 40 * (position + 1), (high - low) / 40 * position],
            name=f"atoms for {x:g}",
            marker={"color": line["color"], "opacity": 0.6},
        )
    margin = (high - low) / 40 * (len(figure.data) / 2 + 1)
    figure.update_xaxes(range=[low - margin, high + margin])
    return laid_out(figure, "output", "density; probability of an atom")


def laplace_price(gaps: Sequence[Gap]) -> go.Figure:
    """What Laplace noise loses on ever finer grids, between the geometric and the cosh bound.

    Parameters
    ----------
    gaps : results of `sv.continuous.gap` for one prior, loss and ε, and several numbers of cells

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(gaps).

    Examples
    --------
    >>> import sievert as sv
    >>> found = [sv.continuous.gap(None, "absolute", 2, cells) for cells in (2, 4, 8)]
    >>> [trace.name for trace in sv.plots.laplace_price(found).data]
    ['gap', 'cosh bound', 'Lipschitz bound', "the thesis's bound"]
    """
    found = listed("gaps", gaps, "results of sv.continuous.gap")
    for item in found:
        instance("gaps", item, Gap, "results of sv.continuous.gap", DataError)
    if not found:
        raise DataError("gaps is empty; give one result or more")
    cells = [item.cells for item in found]
    curves = {
        "gap": ([item.gap for item in found], {"color": AFTER, "width": 2.5}),
        "cosh bound": ([item.cosh_bound for item in found], {"color": LIMIT, "width": 2.5}),
        "Lipschitz bound": ([item.lipschitz_bound for item in found], {"color": BEFORE, "width": 2}),
        "the thesis's bound": (
            [item.thesis_bound for item in found],
            {"color": BEFORE, "width": 2, "dash": "dot"},
        ),
    }
    figure = go.Figure()
    for name, (values, line) in curves.items():
        if None not in values:
            figure.add_scatter(x=cells, y=values, mode="lines+markers", name=name, line=line)
    figure.update_xaxes(type="log", tickvals=cells, ticktext=[str(count) for count in cells])
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return laid_out(figure, "cells of the grid", "loss beyond the geometric mechanism's")
