"""How far ε must fall before one family may replace another (Fernandes, Fig 4.5)."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from sievert.orders.thresholds import threshold
from sievert.report.plots import CURVES, DASHES, MARK, _layout

__all__ = ["threshold_curves"]


def threshold_curves(
    pairs: Sequence[tuple[str, str]], n: int, eps: Sequence[float], names: Sequence[str] | None = None
) -> go.Figure:
    """For each pair (in use, replacement): the largest safe ε of the replacement against the ε in use.

    Below its curve a replacement is safe against every adversary; the grey diagonal is equal ε.
    """
    figure = go.Figure()
    top = max(eps)
    figure.add_scatter(
        x=[0, top],
        y=[0, top],
        mode="lines",
        line={"color": MARK, "width": 1},
        name="equal ε",
        hoverinfo="skip",
    )
    labels = names if names is not None else [f"{second} for {first}" for first, second in pairs]
    for position, ((first, second), name) in enumerate(zip(pairs, labels, strict=True)):
        figure.add_scatter(
            x=list(eps),
            y=[threshold(first, second, value, n) for value in eps],
            mode="lines",
            name=name,
            line={
                "color": CURVES[position % len(CURVES)],
                "dash": DASHES[position % len(DASHES)],
                "width": 2.5,
            },
        )
    return _layout(figure, "ε of the mechanism in use (nats)", "largest safe ε of its replacement (nats)")
