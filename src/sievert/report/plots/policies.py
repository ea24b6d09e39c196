"""A policy's adjacency graph: which databases must be hard to tell apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import igraph
import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sievert.errors import PolicyError, TooLargeError
from sievert.numerics.checks import brief, choice, instance
from sievert.report.plots.style import CURVES, EDGE, LIMIT, SYMBOLS, laid_out, listed
from sievert.spaces.automorphisms import automorphisms
from sievert.spaces.graph import Graph
from sievert.spaces.policy import Policy
from sievert.spaces.secrets import SecretGraph

__all__ = ["policy_graph"]

LARGEST_DRAWN = 400


def policy_graph(
    what: Policy | SecretGraph | Graph,
    colour: str = "component",
    witness: Sequence[Hashable] | None = None,
) -> go.Figure:
    """The adjacency graph of a policy (or a secret graph) with its components or orbits in colours.

    Parameters
    ----------
    colour : "component" (what can never be confused with what) or "orbit" (which databases are alike)
    witness : two adjacent databases to mark, such as `sv.epsilon(channel, policy).pair`
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
    figure = go.Figure()
    _lines(figure, spots, edges, EDGE, 1.2, None)
    if witness is not None:
        ends = listed("witness", witness, "two databases")
        if len(ends) != 2:
            raise PolicyError(f"witness is {brief(witness)}; give two databases")
        pair = np.array([[graph.index(end) for end in ends]])
        _lines(figure, spots, pair, LIMIT, 4.0, "easiest to tell apart")
    for number, members in enumerate(groups):
        figure.add_scatter(
            x=spots[members, 0],
            y=spots[members, 1],
            mode="markers+text" if graph.size <= 60 else "markers",
            text=[names[member] for member in members],
            textposition="top center",
            name=f"{colour} {number + 1}" if len(groups) <= 8 else "",
            showlegend=1 < len(groups) <= 8,
            marker={
                "size": 13,
                "color": CURVES[number % len(CURVES)],
                "symbol": SYMBOLS[number % len(SYMBOLS)],
                "line": {"color": "white", "width": 1},
            },
            hovertemplate="%{text}<extra></extra>",
        )
    laid_out(figure, "", "")
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x", scaleratio=1)
    return figure


def _groups(graph: Graph, drawn: igraph.Graph, colour: str) -> list[list[int]]:
    if colour == "component":
        return [list(members) for members in drawn.connected_components()]
    labels = automorphisms(graph).orbits
    return [np.flatnonzero(labels == label).tolist() for label in range(int(labels.max()) + 1)]


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
