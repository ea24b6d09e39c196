"""What all pictures share: colours that mean the same everywhere, dashes, fonts and margins.

Grey is before the release, blue after, red a limit. Curves differ in colour, in lightness and in dashes, so
that they can be told apart in grey and by colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

__all__ = [
    "AFTER",
    "BEFORE",
    "CURVES",
    "DASHES",
    "EDGE",
    "LARGEST_BARS",
    "LIMIT",
    "MARK",
    "SYMBOLS",
    "curve_line",
    "label_texts",
    "laid_out",
    "thinned",
]

BEFORE, AFTER, LIMIT = "#b4bac4", "#1f5fa8", "#b3361f"
# What is pointed at, and what only joins things.
MARK, EDGE = "#5b6675", "#c3c9d2"
# Neighbours differ in lightness (Okabe and Ito's colours, with our own blue and a darker purple).
CURVES = (AFTER, "#e69f00", "#222222", "#009e73", "#882e72", "#56b4e9")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
LARGEST_HEATMAP = 400
# More bars than this are too thin to see; shares are then drawn as steps.
LARGEST_BARS = 60


def laid_out(figure: go.Figure, x: str, y: str) -> go.Figure:
    """Axes with these names, and the fonts and margins of every picture."""
    figure.update_layout(
        xaxis_title=x,
        yaxis_title=y,
        template="plotly_white",
        font={"family": "system-ui, sans-serif", "size": 13},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        height=420,
        legend={"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0},
    )
    figure.update_xaxes(automargin=True, nticks=12)
    figure.update_yaxes(automargin=True, nticks=12)
    return figure


def curve_line(position: int, width: float = 2.5) -> dict[str, Any]:
    """Colour and dashes of the curve at this position of a list."""
    return {
        "color": CURVES[position % len(CURVES)],
        "dash": DASHES[position % len(DASHES)],
        "width": width,
    }


def label_texts(labels: Sequence[Hashable]) -> list[str]:
    """Labels as an axis shows them."""
    return [str(item) for item in labels]


def thinned(size: int) -> list[int]:
    """Every index, or evenly spaced ones when there are too many to see."""
    if size <= LARGEST_HEATMAP:
        return list(range(size))
    return [int(i) for i in np.unique(np.linspace(0, size - 1, LARGEST_HEATMAP).round())]
