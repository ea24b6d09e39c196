"""A channel as a table of shades."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

import numpy as np
import plotly.graph_objects as go

from sievert.arrays import FloatArray
from sievert.channels import Channel, finite_channel
from sievert.channels.divergences import Tradeoff
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.measures import joint_distribution
from sievert.numerics import abbreviated, positive
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import (
    AFTER,
    BEFORE,
    CORNER,
    CURVES,
    LARGEST_BARS,
    LARGEST_HEATMAP,
    MARK,
    SHARE,
    SYMBOLS,
    curve_line,
    folded,
    label_texts,
    laid_out,
    named,
    numbers,
    percents,
    text,
    thinned,
)
from sievert.spaces import floats

__all__ = ["beliefs", "channel_heatmap", "hypers", "simplex_surface", "tradeoff_curve"]


def channel_heatmap(channel: Channel, darkest: float | None = None) -> go.Figure:
    """Probability of each output for each input; darker is likelier.

    Parameters
    ----------
    channel : Channel
    darkest : the probability with the darkest shade, for pictures to be compared (the channel's largest)

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(inputs·outputs).

    Examples
    --------
    >>> import sievert as sv
    >>> sv.plots.channel_heatmap(sv.mechanisms.warner()).data[0].z.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    finite = finite_channel(channel)
    if darkest is not None:
        darkest = positive("darkest", darkest, ChannelError)
    matrix = finite.rounded()
    rows = thinned(finite.shape[0], LARGEST_HEATMAP)
    columns = thinned(finite.shape[1], LARGEST_HEATMAP)
    figure = Drawing(
        go.Heatmap(
            z=matrix[np.ix_(rows, columns)].astype(np.float32),
            x=label_texts([finite.outputs[j] for j in columns]),
            y=label_texts([finite.inputs[i] for i in rows]),
            colorscale="Blues",
            zmin=0.0,
            zmax=float(matrix.max()) if darkest is None else darkest,
            colorbar={
                "title": {"text": "probability", "side": "right"},
                "thickness": 14,
                "tickformat": SHARE,
            },
            hovertemplate="input %{y}<br>output %{x}<br>probability %{z:.3~p}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category", autorange="reversed")
    return laid_out(figure, "output", "true value")


# ── Hypers of three secrets as points of a triangle (Fernandes, Sec 2.4.1, Figs 2.1 and 4.2) ────────────────
# Corners of an equilateral triangle: the first two secrets at the base, the third on top.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
# Two secrets make a line; channels are drawn above it, one above the other.
LANE = 0.09


def hypers(channels: Mapping[str, Channel], prior: object = None) -> go.Figure:
    """Posteriors of one or more channels on two or three secrets; the area of a point is its probability.

    B is safer than A at worst when every posterior of B lies among those of A (within their hull).

    Parameters
    ----------
    channels : by name
    prior : belief in the two or three secrets; uniform by default

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(outputs).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.hypers({"survey": sv.mechanisms.warner()})
    >>> [trace.name for trace in figure.data if trace.name]
    ['survey', 'before']
    """
    channels = named("channels", channels, Channel, "a sv.Channel")
    secrets = next(iter(channels.values())).finite().inputs
    if len(secrets) not in (2, 3):
        raise ChannelError(f"channels have {len(secrets)} secrets; a triangle can show 2 or 3")
    figure = Drawing()
    _frame(figure, [str(secret) for secret in secrets])
    belief = as_prior(prior, secrets).astype(np.float64)
    for position, (name, channel) in enumerate(channels.items()):
        hyper = channel.finite().hyper(belief)
        inners, outers = hyper.inners.astype(np.float64), hyper.outers.astype(np.float64)
        if inners.shape[1] != len(secrets):
            raise ChannelError(
                f"channel {abbreviated(name)} has {inners.shape[1]} secrets and the first has {len(secrets)}"
            )
        x, y = _points(inners)
        if len(secrets) == 2:
            y = y + LANE * (position + 1)
        told = [", ".join(f"{share:.4g}" for share in inner) for inner in inners]
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            name=name,
            marker={
                "size": 8 + 34 * np.sqrt(outers),
                "color": CURVES[position % len(CURVES)],
                "symbol": SYMBOLS[position % len(SYMBOLS)],
                "opacity": 0.75,
                "line": {"color": "white", "width": 1},
            },
            customdata=np.column_stack([told, outers.round(6).astype(str)]),
            hovertemplate="belief (%{customdata[0]})<br>probability %{customdata[1]}<extra>"
            + name
            + "</extra>",
        )
    x, y = _points(belief[None, :])
    figure.add_scatter(
        x=x, y=y, mode="markers", name="before", marker={"size": 11, "color": BEFORE, "symbol": "x"}
    )
    _bare(figure)
    if len(secrets) == 2:
        figure.update_yaxes(range=[-LANE, LANE * (len(channels) + 1)])
        figure.update_layout(height=160 + 50 * len(channels))
    return figure


def simplex_surface(values: FloatArray, beliefs: FloatArray, unit: str) -> go.Figure:
    """A function of the belief in three secrets, as the colour of a triangle's points.

    Parameters
    ----------
    values : of the function
    beliefs : one row of three probabilities for each value
    unit : what the values are

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(points).

    Examples
    --------
    >>> import sievert as sv
    >>> import numpy as np
    >>> figure = sv.plots.simplex_surface(np.ones(3), np.eye(3), "bits")
    >>> len(figure.data) > 0
    True
    """
    spots = floats(beliefs, "beliefs", ChannelError, "give three probabilities for each point")
    if spots.ndim != 2 or spots.shape[1] != 3 or not np.isfinite(spots).all():
        raise ChannelError(f"beliefs is {abbreviated(beliefs)}; give three probabilities for each point")
    values = numbers("values", values, len(spots))
    x, y = _points(spots)
    figure = Drawing()
    _frame(figure, ["1", "2", "3"])
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        showlegend=False,
        marker={
            "size": 9,
            "color": values,
            "colorscale": "Blues",
            "colorbar": {"title": {"text": text("unit", unit), "side": "right"}, "thickness": 14},
        },
        hovertemplate="%{marker.color:.4g}<extra></extra>",
    )
    return _bare(figure)


def _points(beliefs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Barycentric coordinates; two secrets lie on the base."""
    spots = beliefs @ CORNERS[: beliefs.shape[1]]
    return spots[:, 0], spots[:, 1]


def _frame(figure: go.Figure, names: list[str]) -> None:
    corners = CORNERS[: len(names)]
    outline = np.vstack([corners, corners[:1]])
    figure.add_scatter(
        x=outline[:, 0],
        y=outline[:, 1],
        mode="lines",
        line={"color": MARK, "width": 1},
        showlegend=False,
        hoverinfo="skip",
    )
    places = ["bottom center", "bottom center", "top center"][: len(names)]
    # Clear of the points that lie in a corner.
    off = np.array([-0.06, -0.06, 0.03])[: len(names)]
    figure.add_scatter(
        x=corners[:, 0],
        y=corners[:, 1] + off,
        mode="text",
        text=[folded(f"surely {name}", CORNER) for name in names],
        textposition=places,
        showlegend=False,
        hoverinfo="skip",
    )


def _bare(figure: go.Figure) -> go.Figure:
    laid_out(figure, "", "")
    figure.update_xaxes(visible=False, range=[-0.25, 1.25])
    figure.update_yaxes(visible=False, scaleanchor="x", scaleratio=1, range=[-0.15, 1.0])
    return figure


# ── What an adversary believes before a release and after it ────────────────────────────────────────────────


def beliefs(channel: Channel, prior: object = None, output: Hashable | None = None) -> go.Figure:
    """Belief in each secret before the release and after one output (the most revealing by default).

    Parameters
    ----------
    channel : Channel
    prior : belief in the secrets; uniform by default
    output : what was seen; by default the most revealing output

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(inputs·outputs).

    Examples
    --------
    >>> import sievert as sv
    >>> [trace.name for trace in sv.plots.beliefs(sv.mechanisms.warner()).data]
    ['before', 'after output yes']
    """
    finite = finite_channel(channel)
    belief = as_prior(prior, finite).astype(np.float64)
    joint = joint_distribution(finite, belief).astype(np.float64)
    weights = joint.sum(axis=0)
    if output is None:
        with np.errstate(invalid="ignore", divide="ignore"):
            peak = np.where(weights > 0, joint.max(axis=0) / weights, -1.0)
        chosen = int(np.argmax(peak))
    else:
        chosen = finite.output_index(output)
        if weights[chosen] == 0:
            raise ChannelError(f"output {abbreviated(output)} has probability 0 under this prior")
    shown = thinned(finite.shape[0])
    names = label_texts([finite.inputs[i] for i in shown])
    after = joint[:, chosen] / weights[chosen]
    figure = Drawing()
    told = f"after output {label_texts([finite.outputs[chosen]])[0]}"
    for name, heights, colour in (("before", belief[shown], BEFORE), (told, after[shown], AFTER)):
        if len(shown) <= LARGEST_BARS:
            figure.add_bar(x=names, y=heights, name=name, marker_color=colour)
        else:
            line = {"color": colour, "width": 2, "shape": "hvh"}
            figure.add_scatter(x=names, y=heights, name=name, mode="lines", line=line)
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return percents(laid_out(figure, "true value", "probability"))


# ── How well two inputs can be told apart from the output ───────────────────────────────────────────────────


def tradeoff_curve(curves: Mapping[str, Tradeoff]) -> go.Figure:
    """Misses against false alarms of whoever tells two inputs apart; the grey line is guessing blindly.

    Parameters
    ----------
    curves : Tradeoff by name

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(corners).

    Examples
    --------
    >>> import sievert as sv
    >>> curve = sv.divergences.tradeoff_function(sv.mechanisms.warner(), pair=("yes", "no"))
    >>> [trace.name for trace in sv.plots.tradeoff_curve({"survey": curve}).data]
    ['without the output', 'survey']
    """
    figure = Drawing()
    blind = {"color": BEFORE, "dash": "dash", "width": 1.5}
    figure.add_scatter(x=[0, 1], y=[1, 0], name="without the output", mode="lines", line=blind)
    for position, (name, curve) in enumerate(
        named("curves", curves, Tradeoff, "a sv.results.Tradeoff").items()
    ):
        line = curve_line(position)
        figure.add_scatter(
            x=curve.false_alarm.tolist(),
            y=curve.miss.tolist(),
            name=name,
            mode="lines",
            line=line,
            hovertemplate="false alarms %{x:.3~p}<br>misses %{y:.3~p}<extra></extra>",
        )
    figure.update_xaxes(range=[0, 1])
    figure.update_yaxes(range=[0, 1])
    return percents(laid_out(figure, "share of false alarms", "least share of misses"), "x", "y")
