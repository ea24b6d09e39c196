"""What a family of mechanisms leaks as ε varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from sievert.errors import DataError
from sievert.numerics.checks import finite
from sievert.report.plots.style import LIMIT, MARK, curve_line, laid_out, named, numbers, text

__all__ = ["leakage_curve"]


def leakage_curve(
    eps: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    here: float | None = None,
    limit: float | None = None,
    unit: str = "leakage (bits)",
) -> go.Figure:
    """Leakage of a family as ε varies, with the file's own ε and limit marked."""
    levels = numbers("eps", eps)
    figure = go.Figure()
    for position, (name, values) in enumerate(named("curves", curves, object, "its numbers").items()):
        line = curve_line(position)
        heights = numbers(f"curves[{name!r}]", values, len(levels))
        figure.add_scatter(x=levels, y=heights, name=name, mode="lines", line=line, showlegend=True)
    here, limit = (
        None if value is None else finite(argument, value, DataError)
        for argument, value in (("here", here), ("limit", limit))
    )
    if here is not None:
        figure.add_vline(
            x=here,
            line={"color": MARK, "dash": "dot", "width": 1.5},
            annotation={"text": f"ε = {here:.3g}", "yref": "paper", "y": 1, "yanchor": "bottom"},
        )
    if limit is not None:
        figure.add_hline(
            y=limit, line={"color": LIMIT, "width": 1.5}, annotation_text="limit", annotation_font_color=LIMIT
        )
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    # Room for the mark above the curves, and below them for a legend that a phone shows one name a line.
    return laid_out(figure, "ε (nats)", text("unit", unit)).update_layout(
        margin_t=30, height=380 + 20 * len(curves)
    )
