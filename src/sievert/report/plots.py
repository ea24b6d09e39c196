"""One function a picture; each returns a Plotly figure.

Colours mean the same everywhere: grey is before the release, blue after, orange a limit or a claim.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.leakage.columns import joint_distribution

__all__ = ["AFTER", "BEFORE", "LIMIT", "beliefs", "channel_heatmap", "leakage_curve"]

BEFORE, AFTER, LIMIT = "#8a8f98", "#1f5fa8", "#d9822b"
LARGEST_HEATMAP = 400


def _layout(figure: go.Figure, title: str, x: str, y: str) -> go.Figure:
    figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left", "font": {"size": 16}},
        xaxis_title=x,
        yaxis_title=y,
        template="plotly_white",
        font={"family": "system-ui, sans-serif", "size": 13},
        margin={"l": 60, "r": 20, "t": 50, "b": 50},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "right", "x": 1},
    )
    return figure


def _names(labels: Sequence[Hashable]) -> list[str]:
    return [str(item) for item in labels]


def channel_heatmap(channel: Channel) -> go.Figure:
    """Probability of each output for each input; darker is likelier."""
    finite = channel.finite()
    matrix = finite.rounded()
    rows = _thinned(finite.shape[0])
    columns = _thinned(finite.shape[1])
    figure = go.Figure(
        go.Heatmap(
            z=matrix[np.ix_(rows, columns)],
            x=_names([finite.outputs[j] for j in columns]),
            y=_names([finite.inputs[i] for i in rows]),
            colorscale="Blues",
            zmin=0,
            colorbar={"title": "probability"},
            hovertemplate="input %{y}<br>output %{x}<br>probability %{z:.4g}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category", autorange="reversed")
    return _layout(figure, "What the mechanism does", "output", "true value")


def _thinned(size: int) -> list[int]:
    """Every index, or evenly spaced ones when there are too many to see."""
    if size <= LARGEST_HEATMAP:
        return list(range(size))
    return [int(i) for i in np.unique(np.linspace(0, size - 1, LARGEST_HEATMAP).round())]


def beliefs(channel: Channel, prior: object = None, output: Hashable | None = None) -> go.Figure:
    """Belief in each secret before the release and after one output (the most revealing by default)."""
    finite = channel.finite()
    belief = as_prior(prior, finite.shape[0]).astype(np.float64)
    joint = joint_distribution(finite, belief).astype(np.float64)
    weights = joint.sum(axis=0)
    if output is None:
        with np.errstate(invalid="ignore", divide="ignore"):
            peak = np.where(weights > 0, joint.max(axis=0) / weights, -1.0)
        chosen = int(np.argmax(peak))
    else:
        chosen = finite.output_index(output)
        if weights[chosen] == 0:
            raise ChannelError(f"output {output!r} has probability 0 under this prior")
    shown = _thinned(finite.shape[0])
    names = _names([finite.inputs[i] for i in shown])
    after = joint[:, chosen] / weights[chosen]
    figure = go.Figure()
    figure.add_bar(x=names, y=belief[shown], name="before", marker_color=BEFORE)
    figure.add_bar(x=names, y=after[shown], name=f"after output {finite.outputs[chosen]}", marker_color=AFTER)
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    return _layout(figure, "Belief before and after the most revealing output", "secret", "probability")


def leakage_curve(
    eps: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    here: float | None = None,
    limit: float | None = None,
    title: str = "Leakage against ε",
    unit: str = "leakage (bits)",
) -> go.Figure:
    """Leakage of a family as ε varies, with the file's own ε and limit marked."""
    figure = go.Figure()
    dashes = ["solid", "dash", "dot", "dashdot"]
    for position, (name, values) in enumerate(curves.items()):
        line: dict[str, Any] = {"color": AFTER, "dash": dashes[position % len(dashes)], "width": 2}
        figure.add_scatter(x=list(eps), y=list(values), name=name, mode="lines", line=line)
    if here is not None:
        figure.add_vline(x=here, line={"color": BEFORE, "dash": "dot"}, annotation_text=f"ε = {here:.3g}")
    if limit is not None:
        figure.add_hline(y=limit, line={"color": LIMIT}, annotation_text="limit")
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    return _layout(figure, title, "ε (nats)", unit)
