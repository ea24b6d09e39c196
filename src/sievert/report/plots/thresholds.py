"""How far ε must fall before one family may replace another (Fernandes, Fig 4.5)."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from sievert.errors import DataError
from sievert.orders.thresholds import threshold
from sievert.report.plots.style import MARK, curve_line, laid_out, listed, numbers, text

__all__ = ["threshold_curves"]


def threshold_curves(
    pairs: Sequence[tuple[str, str]], n: int, eps: Sequence[float], names: Sequence[str] | None = None
) -> go.Figure:
    """For each pair (in use, replacement): the largest safe ε of the replacement against the ε in use.

    Below its curve a replacement is safe against every adversary; the grey diagonal is equal ε.
    """
    levels = numbers("eps", eps)
    wanted = [tuple(listed("pairs", pair, "two families each")) for pair in listed("pairs", pairs, "pairs")]
    if not len(levels) or not all(len(pair) == 2 for pair in wanted):
        raise DataError("pairs and eps: give one ε or more, and two families for each pair")
    figure = go.Figure()
    top = float(levels.max())
    figure.add_scatter(
        x=[0, top],
        y=[0, top],
        mode="lines",
        line={"color": MARK, "width": 1},
        name="equal ε",
        hoverinfo="skip",
    )
    labels = [f"{second} for {first}" for first, second in wanted]
    if names is not None:
        labels = [text("names", name) for name in listed("names", names, "texts")]
    if len(labels) != len(wanted):
        raise DataError(f"names has {len(labels)} entries; give one for each of {len(wanted)} pairs")
    for position, ((first, second), name) in enumerate(zip(wanted, labels, strict=True)):
        figure.add_scatter(
            x=levels,
            y=[threshold(first, second, float(value), n) for value in levels],
            mode="lines",
            name=name,
            line=curve_line(position),
        )
    return laid_out(figure, "ε of the mechanism in use (nats)", "largest safe ε of its replacement (nats)")
