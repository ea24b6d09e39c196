"""What all pictures share: colours that mean the same everywhere, dashes, fonts and margins.

Grey is before the release, blue after, red a limit. Curves differ in colour, in lightness and in dashes, so
that they can be told apart in grey and by colour-blind readers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.io import templates

from sievert.errors import DataError
from sievert.numerics import abbreviated, instance, taken
from sievert.spaces import Labels, by_label, floats, iterable

__all__ = [
    "AFTER",
    "BEFORE",
    "CORNER",
    "CURVES",
    "DASHES",
    "EDGE",
    "LARGEST_BARS",
    "LARGEST_HEATMAP",
    "LIMIT",
    "MARK",
    "SHARE",
    "SYMBOLS",
    "curve_line",
    "folded",
    "label_texts",
    "laid_out",
    "listed",
    "named",
    "numbers",
    "pairs",
    "percents",
    "text",
    "thinned",
]

BEFORE, AFTER, LIMIT = "#b4bac4", "#1f5fa8", "#b3361f"
# What is pointed at, and what only joins things.
MARK, EDGE = "#5b6675", "#c3c9d2"
# Neighbours differ in lightness (Okabe and Ito's colours, with our own blue and a darker purple).
CURVES = (AFTER, "#e69f00", "#222222", "#009e73", "#882e72", "#56b4e9")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
# Probabilities as percents, of three digits.
SHARE = ".3~p"
FONT = {"family": "system-ui, sans-serif", "size": 13}
LEGEND = {"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0}
AXIS = {"automargin": True, "nticks": 12}
# More points than this on an axis cannot be seen; a heat map holds the square of its number.
LARGEST_AXIS, LARGEST_HEATMAP = 400, 180
# More bars than this are too thin to see; shares are then drawn as steps.
LARGEST_BARS = 60
# Characters of a line beside the corner of a triangle.
CORNER = 14


def laid_out(figure: go.Figure, x: str, y: str) -> go.Figure:
    """Axes with these names, and the fonts and margins of every picture."""
    # As plotly sets its default: to check its own template again is most of the time of a small picture.
    figure.layout._validate = False
    try:
        figure.layout.template = templates["plotly_white"]
    finally:
        figure.layout._validate = True
    # Settings by their paths: an update looks for each of them in the whole layout.
    figure.plotly_relayout(
        {
            **{f"font.{key}": value for key, value in FONT.items()},
            **{f"margin.{side}": 10 for side in "lrtb"},
            **{f"legend.{key}": value for key, value in LEGEND.items()},
            "height": 420,
            "xaxis.title.text": x,
            "yaxis.title.text": y,
            **{f"{axis}.{key}": value for axis in ("xaxis", "yaxis") for key, value in AXIS.items()},
        }
    )
    if any(len(list(axes)) > 1 for axes in (figure.select_xaxes(), figure.select_yaxes())):
        figure.update_xaxes(AXIS)
        figure.update_yaxes(AXIS)
    return figure


def percents(figure: go.Figure, *axes: str) -> go.Figure:
    """Probabilities along some axes as percents ("y" where none is named)."""
    for axis in axes or ("y",):
        figure.plotly_relayout({f"{axis}axis.tickformat": SHARE, f"{axis}axis.hoverformat": SHARE})
    return figure


def curve_line(position: int, width: float = 2.5) -> dict[str, Any]:
    """Colour and dashes of the curve at this position of a list."""
    return {
        "color": CURVES[position % len(CURVES)],
        "dash": DASHES[position % len(DASHES)],
        "width": width,
    }


def folded(words: str, width: int = 34) -> str:
    """Words in lines of at most so many characters, so that a narrow picture holds them."""
    return "<br>".join(textwrap.wrap(words, width, break_long_words=False)) or words


def label_texts(labels: Sequence[Hashable]) -> list[str]:
    """Labels as an axis shows them: the parts of a tuple side by side."""
    return [", ".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in labels]


def thinned(size: int, most: int = LARGEST_AXIS) -> list[int]:
    """Every index, or evenly spaced ones when there are too many to see."""
    if size <= most:
        return list(range(size))
    return [int(i) for i in np.unique(np.linspace(0, size - 1, most).round())]


def numbers(argument: str, given: Any, labels: Labels | int | None = None) -> NDArray[np.float64]:
    """Finite or infinite numbers to draw, one after the other; one for each label where they are given."""
    items = given if labels is None else by_label(given, labels, argument, DataError)
    found = floats(items, argument, DataError, "give one number for each point")
    if found.ndim != 1 or np.isnan(found).any():
        raise DataError(f"{argument} is {abbreviated(given)}; give one number for each point")
    return found


def pairs(argument: str, given: Any, size: int) -> NDArray[np.float64]:
    """Two numbers for each of `size` points, such as the ends of intervals."""
    rule = f"give two numbers for each of {size} points"
    found = floats(given, argument, DataError, rule)
    if found.shape != (size, 2) or np.isnan(found).any():
        raise DataError(f"{argument} is {abbreviated(given)}; {rule}")
    return found


def listed(argument: str, given: Any, words: str) -> list[Any]:
    """Several things in their order."""
    if isinstance(given, str | bytes | Mapping) or not iterable(given):
        raise DataError(f"{argument} is {abbreviated(given)}; give a list of {words}")
    return taken(argument, given, DataError, words)


def named(argument: str, given: Any, kind: Any, words: str) -> dict[str, Any]:
    """Things to draw, each of one kind and with a name for the legend."""
    if not isinstance(given, Mapping) or not given:
        raise DataError(f"{argument} is {abbreviated(given)}; map a name to {words}, for one or more of them")
    return {
        str(name): instance(f"{argument}[{name!r}]", item, kind, words, DataError)
        for name, item in given.items()
    }


def text(argument: str, given: Any) -> str:
    """Words beside an axis or a scale."""
    return str(instance(argument, given, str, "a text", DataError))
