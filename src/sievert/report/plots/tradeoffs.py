"""How well two inputs can be told apart from the output."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from sievert.channels.tradeoff import Tradeoff
from sievert.report.plots.style import BEFORE, curve_line, laid_out, named

__all__ = ["tradeoff_curve"]


def tradeoff_curve(curves: Mapping[str, Tradeoff]) -> go.Figure:
    """Misses against false alarms of whoever tells two inputs apart; the grey line is guessing blindly."""
    figure = go.Figure()
    blind = {"color": BEFORE, "dash": "dash", "width": 1.5}
    figure.add_scatter(x=[0, 1], y=[1, 0], name="without the output", mode="lines", line=blind)
    for position, (name, curve) in enumerate(named("curves", curves, Tradeoff, "a sv.Tradeoff").items()):
        line = curve_line(position)
        figure.add_scatter(
            x=curve.false_alarm.tolist(),
            y=curve.miss.tolist(),
            name=name,
            mode="lines",
            line=line,
            hovertemplate="false alarms %{x:.3f}<br>misses %{y:.3f}<extra></extra>",
        )
    figure.update_xaxes(range=[0, 1])
    figure.update_yaxes(range=[0, 1])
    return laid_out(figure, "share of false alarms", "least share of misses")
