"""The setting that figures 8.2 to 8.4 share, and what it assumes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

import sievert as sv
from papers.experiments import binomial
from sievert.report.plots import _style as style

LN2 = math.log(2)
LINE = sv.metrics.line(101)
MECHANISMS = {
    "TG": sv.mechanisms.truncated_geometric(101, LN2 / 10),
    "RR": sv.mechanisms.randomised_response(101, LN2),
}
POINTS = np.zeros(101)
POINTS[[10, 35, 60, 90]] = 0.4, 0.3, 0.2, 0.1
TRUTHS = {"binomial": binomial(101, 0.5), "4-point": POINTS}
POPULATIONS = (1_000, 10_000, 50_000, 100_000)
SEED = 8
ASSUMPTIONS = (
    "Assumed where the source is silent: Bin(100, 1/2); the four points 10, 35, 60, 90 with weights 0.4, "
    "0.3, 0.2, 0.1; IBU from the uniform start; errors against the people who reported, not what they are "
    "drawn from; 20 repetitions (the caption; the text says 10). Synthetic data, seed 8."
)


def lines(
    x: Sequence[float], curves: Mapping[str, Sequence[float]], across: str, up: str, log: str = ""
) -> go.Figure:
    """Curves over a common axis; `log` names the axes ("x", "y", "xy") with a logarithmic scale."""
    figure = go.Figure()
    for position, (name, values) in enumerate(curves.items()):
        line = {"color": style.CURVES[position % 6], "dash": style.DASHES[position % 6], "width": 2}
        figure.add_scatter(x=list(x), y=list(values), name=name, mode="lines", line=line)
    figure.update_layout(
        xaxis_title=across,
        yaxis_title=up,
        template="plotly_white",
        font={"family": "system-ui, sans-serif", "size": 13},
        legend={"orientation": "h", "y": -0.25},
    )
    if "x" in log:
        figure.update_xaxes(type="log")
    if "y" in log:
        figure.update_yaxes(type="log")
    return figure
