"""A channel as a table of shades."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from sievert.channels.channel import Channel, finite_channel
from sievert.report.plots.style import label_texts, laid_out, thinned

__all__ = ["channel_heatmap"]


def channel_heatmap(channel: Channel, darkest: float | None = None) -> go.Figure:
    """Probability of each output for each input; darker is likelier.

    Parameters
    ----------
    darkest : the probability with the darkest shade, for pictures to be compared (the channel's largest)
    """
    finite = finite_channel(channel)
    matrix = finite.rounded()
    rows = thinned(finite.shape[0])
    columns = thinned(finite.shape[1])
    figure = go.Figure(
        go.Heatmap(
            z=matrix[np.ix_(rows, columns)],
            x=label_texts([finite.outputs[j] for j in columns]),
            y=label_texts([finite.inputs[i] for i in rows]),
            colorscale="Blues",
            zmin=0.0,
            zmax=float(matrix.max()) if darkest is None else darkest,
            colorbar={"title": {"text": "probability", "side": "right"}, "thickness": 14},
            hovertemplate="input %{y}<br>output %{x}<br>probability %{z:.4g}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category", autorange="reversed")
    return laid_out(figure, "output", "true value")
