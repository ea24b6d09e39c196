"""Mechanisms of one ε by what they cost and what they give away."""

from __future__ import annotations

import plotly.graph_objects as go

from sievert.design.candidates import Candidates
from sievert.design.frontier import Frontier
from sievert.errors import DataError
from sievert.numerics.checks import instance, whole
from sievert.report.plots.style import AFTER, BEFORE, CURVES, EDGE, MARK, laid_out

__all__ = ["candidates", "frontier"]


def candidates(found: Candidates, gain: int = 0) -> go.Figure:
    """Loss against what one adversary reaches, a point for each mechanism of the same ε.

    Neighbours in the order of the loss are joined. An arrow leads to the one that is at least as safe against
    every adversary (without a head they tell the same); a dotted line says that neither is, or that it is
    undecided. Towards the lower left is better.
    """
    instance("found", found, Candidates, "what sv.candidates returns", DataError)
    gain = whole("gain", gain, DataError, least=0, most=len(found.alternatives[0].leaks) - 1)
    figure = go.Figure()
    place = {item.name: (item.leaks[gain].after, item.loss) for item in found.alternatives}
    for pair in found.neighbours:
        (x0, y0), (x1, y1) = place[pair.first], place[pair.second]
        dash = "solid" if pair.relation in ("safer", "less safe", "equivalent") else "dot"
        figure.add_scatter(
            x=[x0, x1],
            y=[y0, y1],
            mode="lines",
            line={"color": EDGE, "dash": dash, "width": 1.5},
            hoverinfo="text",
            text=str(pair),
            showlegend=False,
        )
        if pair.relation in ("safer", "less safe") and (x0, y0) != (x1, y1):
            head, tail = ((x1, y1), (x0, y0)) if pair.relation == "safer" else ((x0, y0), (x1, y1))
            figure.add_annotation(_arrow(tail, head))
    # Mechanisms that coincide share a point and its label.
    spots: dict[tuple[float, float], list[str]] = {}
    for name, (x, y) in place.items():
        spots.setdefault((round(x, 6), round(y, 6)), []).append(name)
    for position, ((x, y), names) in enumerate(spots.items()):
        figure.add_scatter(
            x=[x],
            y=[y],
            mode="markers",
            name=", ".join(names),
            marker={
                "color": CURVES[position % len(CURVES)],
                "size": 14 if "optimal" in names else 10,
                "symbol": "star" if "optimal" in names else "circle",
            },
            hovertemplate=f"{', '.join(names)}<br>adversary %{{x:.4g}}<br>loss %{{y:.4g}}<extra></extra>",
        )
    leak = found.alternatives[0].leaks[gain]
    figure.add_vline(
        x=leak.before,
        line={"color": BEFORE, "dash": "dot", "width": 2},
        annotation={"text": "no release", "yref": "paper", "y": 1, "yanchor": "bottom"},
    )
    adversary = "exact guess" if leak.name == "identity" else leak.name
    figure = laid_out(figure, f"what the adversary reaches ({adversary})", f"{found.loss_name} loss")
    reached = [leak.before, *(x for x, _ in place.values())]
    room = 0.05 * (max(reached) - min(reached)) or 0.05
    ends = [min(reached) - room, max(reached) + room]
    # An adversary's loss is drawn from right to left, so that left always gives away less.
    figure.update_xaxes(range=ends[::-1] if leak.is_loss else ends)
    return figure.update_layout(margin_t=30, height=400 + 20 * len(spots), showlegend=True)


def _arrow(tail: tuple[float, float], head: tuple[float, float]) -> dict[str, object]:
    """An arrow between two points of the chart, ending before the mark it leads to."""
    return {
        "x": head[0],
        "y": head[1],
        "ax": tail[0],
        "ay": tail[1],
        "axref": "x",
        "ayref": "y",
        "text": "",
        "showarrow": True,
        "arrowhead": 2,
        "arrowsize": 1.2,
        "arrowwidth": 1.5,
        "arrowcolor": MARK,
        "standoff": 8,
    }


def frontier(found: Frontier) -> go.Figure:
    """Least loss against what the adversary may reach; nothing lies below the line."""
    instance("found", found, Frontier, "what sv.frontier returns", DataError)
    figure = go.Figure()
    figure.add_scatter(
        x=found.posteriors,
        y=found.losses,
        mode="lines+markers",
        name="least loss",
        line={"color": AFTER, "width": 2.5},
        hovertemplate="adversary %{x:.4g}<br>loss %{y:.4g}<extra></extra>",
    )
    first, last = found.designs[0], found.designs[-1]
    for design, words, anchor, shift in (
        (first, "leaks least", "left", 14),
        (last, "loses least", "right", -12),
    ):
        figure.add_annotation(
            x=design.posterior, y=design.loss, text=words, showarrow=False, xanchor=anchor, yshift=shift
        )
    figure = laid_out(figure, "what the adversary reaches", "least possible expected loss")
    # An adversary's loss falls as more is given away.
    if first.posterior > last.posterior:
        figure.update_xaxes(autorange="reversed")
    return figure
