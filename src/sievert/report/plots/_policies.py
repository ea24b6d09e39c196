"""A policy's adjacency graph: which databases must be hard to tell apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import igraph
import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.errors import DataError, PolicyError, TooLargeError
from sievert.numerics import abbreviated, choice, instance
from sievert.policies import Policy
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import AFTER, BEFORE, CURVES, EDGE, LIMIT, SYMBOLS, laid_out, listed
from sievert.spaces import Graph, Region, automorphisms, floats
from sievert.spaces.secrets import SecretGraph

__all__ = ["graph_places", "places_before_after", "policy_graph"]

LARGEST_DRAWN = 400


def policy_graph(
    what: Policy | SecretGraph | Graph,
    colour: str = "component",
    witness: Sequence[Hashable] | None = None,
) -> go.Figure:
    """The adjacency graph of a policy (or a secret graph) with its components or orbits in colours.

    Parameters
    ----------
    what : Policy, SecretGraph or Graph
    colour : "component" (what can never be confused with what) or "orbit" (which databases are alike)
    witness : two adjacent databases to mark, such as `sv.epsilon(channel, policy).pair`

    Returns
    -------
    plotly.graph_objects.Figure
        Labels that would cover another one are seen by pointing at their vertex only.

    Notes
    -----
    Cost: O(databases + adjacent pairs) for the picture, and a layout of the graph.

    Examples
    --------
    >>> import sievert as sv
    >>> len(sv.plots.policy_graph(sv.secrets.line(3)).data)
    2
    """
    choice("colour", colour, ("component", "orbit"), PolicyError)
    instance("what", what, Policy | Graph, "a sv.Policy, or a graph of secrets", PolicyError)
    graph = what.adjacency() if isinstance(what, Policy) else what
    if graph.size > LARGEST_DRAWN:
        raise TooLargeError(
            f"the graph has {graph.size} vertices; at most {LARGEST_DRAWN} can be seen in a picture; "
            "draw the secret graph of one record instead (policy.secrets)",
            size=graph.size,
        )
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    drawn = igraph.Graph(n=graph.size, edges=edges.tolist())
    groups = _groups(graph, drawn, colour)
    spots = _places(drawn)
    names = [_name(vertex) for vertex in graph.nodes]
    labels, sides = _labels(spots, names, _sides(drawn, spots))
    figure = Drawing()
    _lines(figure, spots, edges, EDGE, 1.2, None)
    if witness is not None:
        ends = listed("witness", witness, "two databases")
        if len(ends) != 2:
            raise PolicyError(f"witness is {abbreviated(witness)}; give two databases")
        pair = np.array([[graph.index(end) for end in ends]])
        _lines(figure, spots, pair, LIMIT, 4.0, "easiest to tell apart")
    for number, members in enumerate(groups):
        figure.add_scatter(
            x=spots[members, 0],
            y=spots[members, 1],
            mode="markers+text",
            text=[labels[member] for member in members],
            textposition=[sides[member] for member in members],
            hovertext=[names[member] for member in members],
            cliponaxis=False,
            name=f"{colour} {number + 1}" if len(groups) <= 8 else "",
            showlegend=1 < len(groups) <= 8,
            marker={
                "size": 13,
                "color": CURVES[number % len(CURVES)],
                "symbol": SYMBOLS[number % len(SYMBOLS)],
                "line": {"color": "white", "width": 1},
            },
            hovertemplate="%{hovertext}<extra></extra>",
        )
    laid_out(figure, "", "")
    wide, high = _spans(spots)
    left, right = _room(spots, labels, sides)
    # Room for the labels beside and above the outermost vertices.
    figure.update_xaxes(visible=False, range=[-max(left, 0.12) * wide, (1 + max(right, 0.12)) * wide])
    figure.update_yaxes(visible=False, range=[-0.12 * high, 1.12 * high])
    if high > LOW * wide:
        return figure.update_yaxes(scaleanchor="x", scaleratio=1)
    return figure.update_yaxes(range=[-1, 1 + float(spots[:, 1].max())]).update_layout(height=LOWEST)


def _groups(graph: Graph, drawn: igraph.Graph, colour: str) -> list[list[int]]:
    if colour == "component":
        return [list(members) for members in drawn.connected_components()]
    labels = automorphisms(graph).orbits
    return [np.flatnonzero(labels == label).tolist() for label in range(int(labels.max()) + 1)]


def graph_places(graph: Graph) -> list[tuple[float, float]]:
    """Where a picture of the graph has its vertices."""
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    return [(x, y) for x, y in _places(igraph.Graph(n=graph.size, edges=edges.tolist())).tolist()]


def _places(drawn: igraph.Graph) -> NDArray[np.float64]:
    """Paths in a row, all else by the layout of Kamada and Kawai, components side by side."""
    spots = np.zeros((drawn.vcount(), 2))
    offset = 0.0
    for members in drawn.connected_components():
        part = drawn.induced_subgraph(members)
        if part.vcount() == 1:
            local = np.zeros((1, 2))
        elif part.ecount() == part.vcount() - 1 and part.maxdegree() <= 2:
            ends = part.get_diameter()
            local = np.zeros((part.vcount(), 2))
            local[ends, 0] = np.arange(len(ends))
        elif part.density() == 1 or set(part.degree()) == {2}:
            turn = 2 * math.pi * np.arange(part.vcount()) / part.vcount()
            order = np.argsort(part.dfs(0)[0]) if part.density() < 1 else np.arange(part.vcount())
            local = part.vcount() / 6 * np.column_stack([np.cos(turn), np.sin(turn)])[order]
        else:
            local = np.array(part.layout_kamada_kawai(seed=part.layout_circle()).coords)
        local = local - local.min(axis=0)
        local[:, 0] += offset
        offset = float(local[:, 0].max()) + 1.5
        spots[list(members)] = local
    return spots


# Flatter graphs are as high as they need to be, in pixels.
LOW, LOWEST = 0.25, 170
# A picture on a phone, and a letter, in pixels: labels that keep clear of each other there do so anywhere.
PHONE, LETTER, LINE, FEW = (260, 300), 7.5, 17, 12
# Labels around a circle, from the east counter-clockwise.
AROUND = (
    "middle right",
    "top right",
    "top center",
    "top left",
    "middle left",
    "bottom left",
    "bottom center",
    "bottom right",
)


def _spans(spots: NDArray[np.float64]) -> tuple[float, float]:
    """Width and height of the drawing."""
    wide, high = (spots.max(axis=0) - spots.min(axis=0)).tolist()
    return max(wide, 1.0), max(high, 1e-9)


def _sides(drawn: igraph.Graph, spots: NDArray[np.float64]) -> list[str]:
    """On which side of its vertex a label is read best: above, or where the edges are farthest away."""
    turns = np.arange(8) * math.pi / 4
    sides = []
    for vertex in range(drawn.vcount()):
        x, y = (spots[drawn.neighbors(vertex)] - spots[vertex]).T
        gaps = np.abs(np.angle(np.exp(1j * (turns[:, None] - np.arctan2(y, x)))))
        free = gaps.min(axis=1, initial=math.pi)
        above = AROUND.index("top center")
        sides.append(AROUND[above if free[above] >= math.pi / 2 - 1e-9 else int(free.argmax())])
    return sides


SHIFT = {"left": -1.0, "center": -0.5, "right": 0.0}
LIFT = {"top": 1.0, "middle": 0.0, "bottom": -1.0}


def _labels(
    spots: NDArray[np.float64], names: list[str], preferred: list[str]
) -> tuple[list[str], list[str]]:
    """The labels with their sides; no label where each side would cover a vertex or an earlier label."""
    wide, high = _spans(spots)
    scale = min(PHONE[0] / wide, PHONE[1] / high)
    places = spots * scale
    boxes = np.column_stack([places[:, 0] - LETTER, places[:, 0] + LETTER, places[:, 1]])
    longest = LETTER * max(map(len, names))
    labels, sides = [], []
    for own, ((x, y), name, side) in enumerate(zip(places.tolist(), names, preferred, strict=True)):
        # Many labels keep an even distance.
        width = LETTER * len(name) if len(names) <= FEW else longest
        for tried in (side, "top center", "bottom center") if len(names) <= FEW else (side,):
            row, column = tried.split()
            left, middle = x + SHIFT[column] * width, y + LIFT[row] * LINE
            covers = (
                (left <= boxes[:, 1]) & (left + width >= boxes[:, 0]) & (abs(middle - boxes[:, 2]) < LINE)
            )
            covers[own] = False
            if not covers.any():
                labels.append(name)
                sides.append(tried)
                boxes = np.vstack([boxes, [left, left + width + LETTER, middle]])
                break
        else:
            labels.append("")
            sides.append(side)
    return labels, sides


def _room(spots: NDArray[np.float64], labels: list[str], sides: list[str]) -> tuple[float, float]:
    """Shares of the drawing's width that labels need beyond its left and its right end, on a narrow page."""
    wide, _ = _spans(spots)
    narrow = 1.5 * PHONE[0]
    beyond = [0.0, 0.0]
    for (x, _), label, side in zip(spots.tolist(), labels, sides, strict=True):
        width = LETTER * len(label) + LETTER
        start = SHIFT[side.split()[1]] * width
        beyond[0] = max(beyond[0], -start - x / wide * narrow / 2)
        beyond[1] = max(beyond[1], start + width - (1 - x / wide) * narrow / 2)
    # The vertices keep half of the page at least.
    inner = max(narrow - sum(beyond), narrow / 2)
    return beyond[0] / inner, beyond[1] / inner


def _lines(
    figure: go.Figure,
    spots: NDArray[np.float64],
    edges: NDArray[np.int64],
    colour: str,
    width: float,
    name: str | None,
) -> None:
    if not len(edges):
        return
    gap = np.full((len(edges), 1), np.nan)
    x = np.hstack([spots[edges, 0], gap]).ravel()
    y = np.hstack([spots[edges, 1], gap]).ravel()
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": colour, "width": width},
        hoverinfo="skip",
        name=name,
        showlegend=name is not None,
    )


def _name(vertex: Any) -> str:
    return "".join(map(str, vertex)) if isinstance(vertex, tuple) else str(vertex)


# ── Places on a map before and after a release ──────────────────────────────────────────────────────────────
# More lines than this hide the places that they join.
LARGEST_LINES = 500


def places_before_after(before: Any, after: Any, region: Region | None = None) -> go.Figure:
    """Where places were (grey) and where they are released (blue), each pair joined by a line.

    Parameters
    ----------
    before, after : arrays [places, 2] of latitude and longitude in degrees, in the same order
    region : the policy's region; axes are then metres east and north of its south-western corner, and its
        border is drawn. Otherwise they are degrees, stretched so that the map has its true shape.

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(places).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.places_before_after([[46.0, 7.0]], [[46.01, 7.02]])
    >>> [trace.name for trace in figure.data]
    [None, 'before', 'after']
    """
    if region is not None:
        instance("region", region, Region, "the region of a policy, or None", DataError)
    old, new = _degrees(before, "before"), _degrees(after, "after")
    if len(old) != len(new):
        raise DataError(
            f"before has {len(old)} places and after {len(new)}; give both in the same order, without the "
            "rows that were dropped"
        )
    figure = Drawing()
    if region is not None:
        rows, columns = region.shape
        width, height = columns * region.cell, rows * region.cell
        figure.add_scatter(
            x=[0, width, width, 0, 0],
            y=[0, 0, height, height, 0],
            mode="lines",
            name="region",
            line={"color": BEFORE, "width": 1, "dash": "dot"},
            hoverinfo="skip",
        )
    (x, y), (new_x, new_y) = _drawn(old, region), _drawn(new, region)
    if 0 < len(old) <= LARGEST_LINES:
        gap = np.full(len(old), np.nan)
        figure.add_scatter(
            x=np.column_stack([x, new_x, gap]).ravel(),
            y=np.column_stack([y, new_y, gap]).ravel(),
            mode="lines",
            showlegend=False,
            line={"color": BEFORE, "width": 0.7},
            hoverinfo="skip",
        )
    moved = _metres(old, new)
    told = [f"moved {metres:,.0f} m" for metres in moved]
    marks = (("before", x, y, BEFORE, "circle"), ("after", new_x, new_y, AFTER, "diamond"))
    for name, east, north, colour, symbol in marks:
        figure.add_scatter(
            x=east,
            y=north,
            mode="markers",
            name=name,
            marker={"size": 6, "color": colour, "symbol": symbol, "line": {"color": "white", "width": 0.5}},
            text=told,
            hovertemplate="%{x:.7g}, %{y:.7g}<br>%{text}<extra>" + name + "</extra>",
        )
    if region is not None:
        laid_out(figure, "metres east", "metres north")
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
        return figure
    laid_out(figure, "longitude (degrees east)", "latitude (degrees north)")
    middle = float(np.concatenate([old, new])[:, 0].mean()) if len(old) else 0.0
    figure.update_yaxes(scaleanchor="x", scaleratio=1 / max(0.01, math.cos(math.radians(middle))))
    return figure


def _degrees(places: Any, name: str) -> FloatArray:
    found = floats(places, name, DataError, "give latitudes and longitudes")
    if found.size == 0:
        return np.empty((0, 2))
    if found.ndim != 2 or found.shape[1] != 2:
        raise DataError(f"{name} has the shape {found.shape}; give a latitude and a longitude for each place")
    if not (np.abs(found) <= [90, 360]).all():
        raise DataError(f"{name} has a place that is not on the globe; latitude comes first, in degrees")
    return found


def _drawn(places: FloatArray, region: Region | None) -> tuple[FloatArray, FloatArray]:
    if region is None:
        return places[:, 1], places[:, 0]
    return region.metres(places[:, 0], places[:, 1])


def _metres(first: FloatArray, second: FloatArray) -> FloatArray:
    """Great-circle distances on a sphere with the area of the Earth."""
    a, b = np.radians(first), np.radians(second)
    half = np.sin((b - a) / 2) ** 2
    chord = half[:, 0] + np.cos(a[:, 0]) * np.cos(b[:, 0]) * half[:, 1]
    return np.asarray(2 * 6_371_007.0 * np.arcsin(np.sqrt(np.minimum(1.0, chord))))
