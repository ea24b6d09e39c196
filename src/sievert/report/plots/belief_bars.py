"""What an adversary believes before a release and after it."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import plotly.graph_objects as go

from sievert.channels.channel import Channel, finite_channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.leakage.columns import joint_distribution
from sievert.numerics.checks import brief
from sievert.report.plots.style import AFTER, BEFORE, LARGEST_BARS, label_texts, laid_out, thinned

__all__ = ["beliefs"]


def beliefs(channel: Channel, prior: object = None, output: Hashable | None = None) -> go.Figure:
    """Belief in each secret before the release and after one output (the most revealing by default)."""
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
            raise ChannelError(f"output {brief(output)} has probability 0 under this prior")
    shown = thinned(finite.shape[0])
    names = label_texts([finite.inputs[i] for i in shown])
    after = joint[:, chosen] / weights[chosen]
    figure = go.Figure()
    told = f"after output {finite.outputs[chosen]}"
    for name, heights, colour in (("before", belief[shown], BEFORE), (told, after[shown], AFTER)):
        if len(shown) <= LARGEST_BARS:
            figure.add_bar(x=names, y=heights, name=name, marker_color=colour)
        else:
            line = {"color": colour, "width": 2, "shape": "hvh"}
            figure.add_scatter(x=names, y=heights, name=name, mode="lines", line=line)
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return laid_out(figure, "true value", "probability")
