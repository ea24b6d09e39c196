"""Noise on an interval: its density with the two atoms, its price on finer grids, its path of beliefs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import plotly.graph_objects as go

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.continuous import Gap, TruncatedLaplace, grid_geometric
from sievert.errors import DataError
from sievert.numerics import instance, log_of, whole
from sievert.report.plots._channels import _bare, _frame, _points
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import AFTER, BEFORE, CURVES, LIMIT, SYMBOLS, curve_line, laid_out, listed

__all__ = ["laplace_density", "laplace_posteriors", "laplace_price"]
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
    figure = Drawing()
    places = listed("inputs", inputs, "numbers of the interval")
    for position, x in enumerate(float(noise.place("inputs", x)) for x in places):
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
    figure = Drawing()
    for name, (values, line) in curves.items():
        if None not in values:
            figure.add_scatter(x=cells, y=values, mode="lines+markers", name=name, line=line)
    figure.update_xaxes(type="log", tickvals=cells, ticktext=[str(count) for count in cells])
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return laid_out(figure, "cells of the grid", "loss beyond the geometric's")


def laplace_posteriors(noise: TruncatedLaplace, pixels: int | None = None, prior: object = None) -> go.Figure:
    """The path of beliefs in three numbers as the output of Laplace noise grows, in a triangle.

    Parameters
    ----------
    noise : what `sv.continuous.truncated_laplace` made
    pixels : how many equal pixels are told apart, a point each; without them the path alone
    prior : belief in the lower end, the middle and the upper end of the interval; uniform by default

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    The path leads from one posterior of the geometric mechanism on these three numbers straight to the next:
    every belief after Laplace noise is a mixture of two neighbours. So is every pixel's that does not reach
    over the middle; one that does lies within the triangle of the three.

    Cost: O(pixels).

    References
    ----------
    Fernandes, Figs 7.2 and 7.3b.

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.laplace_posteriors(sv.continuous.truncated_laplace(2), 8)
    >>> [trace.name for trace in figure.data if trace.name]
    ['every output', 'geometric', '8 pixels', 'before']
    """
    instance("noise", noise, TruncatedLaplace, "what sv.continuous.truncated_laplace(…) makes", DataError)
    if not math.isfinite(noise.eps):
        raise DataError("noise has eps = inf: without noise there is no path; give a finite eps")
    (low, high), count = noise.interval, None if pixels is None else whole("pixels", pixels, DataError)
    belief = as_prior(prior, 3).astype(np.float64)
    numbers = [low, (low + high) / 2, high]
    figure = Drawing()
    _frame(figure, [f"{float(x):g}" for x in numbers])
    _add_path(figure, noise, belief)
    channels = {"geometric": grid_geometric(2, noise.level.exact_eps or noise.eps, noise.interval)}
    if count is not None:
        channels[f"{count} pixels"] = noise.pixelated(count, numbers)
    for (name, channel), colour, symbol in zip(channels.items(), CURVES[1:], SYMBOLS, strict=False):
        joint = belief[:, None] * channel.rounded()
        outers = joint.sum(axis=0)
        seen = outers > 0
        told = np.array([str(output) for output in channel.outputs])[seen]
        x, y = _points((joint / np.where(seen, outers, 1.0)).T[seen])
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            name=name,
            marker={
                "size": 7 + 24 * np.sqrt(outers[seen]),
                "color": colour,
                "symbol": symbol,
                "opacity": 0.75,
                "line": {"color": "white", "width": 1},
            },
            customdata=np.column_stack([told, outers[seen].round(6).astype(str)]),
            hovertemplate="output %{customdata[0]}<br>probability %{customdata[1]}<extra>"
            + name
            + "</extra>",
        )
    x, y = _points(belief[None, :])
    figure.add_scatter(
        x=x, y=y, mode="markers", name="before", marker={"size": 11, "color": BEFORE, "symbol": "x"}
    )
    return _bare(figure)


def _add_path(figure: go.Figure, noise: TruncatedLaplace, belief: FloatArray) -> None:
    """What is believed after each output, from the lower end to the upper."""
    low, high = (float(end) for end in noise.interval)
    shares = np.linspace(0.0, 1.0, 2 * POINTS - 1)
    nats = noise.eps * (high - low) * np.abs(np.array([0.0, 0.5, 1.0]) - shares[:, None])
    # Relative to the likeliest, so that no row underflows.
    logs = log_of(belief) - nats
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    x, y = _points(weights / weights.sum(axis=1, keepdims=True))
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        name="every output",
        line={"color": AFTER, "width": 2.5},
        customdata=low + (high - low) * shares,
        hovertemplate="output %{customdata:.4g}<extra></extra>",
    )
