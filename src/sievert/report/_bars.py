"""Amounts under their names, as bars: what was spent on what."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import AFTER, BEFORE, laid_out

__all__ = ["bars"]

# Letters of a name beside its bar.
LONGEST = 24


def bars(
    names: Sequence[str], amounts: Sequence[float], axis: str, muted: Sequence[bool] | None = None
) -> go.Figure:
    """One bar for each name, the first on top; muted ones are not spent."""
    pale = [False] * len(names) if muted is None else list(muted)
    # A number before each name keeps equal ones apart; what is shown are the names.
    places = list(range(len(names)))
    shown = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
    figure = Drawing(
        go.Bar(
            x=list(amounts),
            y=places,
            orientation="h",
            marker={"color": [BEFORE if one else AFTER for one in pale]},
            customdata=list(names),
            hovertemplate="%{customdata}: %{x:.6g}<extra></extra>",
            showlegend=False,
        )
    )
    figure = laid_out(figure, axis, "")
    upright = {"tickvals": places, "ticktext": shown, "autorange": "reversed", "fixedrange": True}
    figure.plotly_relayout(
        {
            **{f"yaxis.{key}": value for key, value in upright.items()},
            "xaxis.rangemode": "tozero",
            "height": 110 + 28 * len(names),
        }
    )
    return figure
