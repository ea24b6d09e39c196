"""Documents: how one becomes another, the noise on vectors, and what attackers find against ε."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from sievert.errors import DataError
from sievert.numerics import abbreviated, instance, positive, whole
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import AFTER, BEFORE, LIMIT, MARK, curve_line, laid_out, percents

if TYPE_CHECKING:
    from sievert.text import AttackBench, Flow

__all__ = ["attack_success", "document_flow", "noise_contours"]

# Points of each axis of a density.
PIXELS = 81
# Beyond this ε the density at the origin is no float.
STEEPEST = 1e150
# Beyond this distance squares are no floats.
FARTHEST = 1e150
SHOWN_WORDS = 24


def document_flow(flow: Flow, words: int = 12) -> go.Figure:
    """How the words of one document become those of another: the best plan, its longest parts first.

    Parameters
    ----------
    flow : what `sv.text.distance` found
    words : how many of its ways are shown

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(ways).

    References
    ----------
    Fernandes (2021), Fig 9.1.

    Examples
    --------
    >>> import sievert as sv
    >>> small = sv.text.Embedding.small()
    >>> figure = sv.plots.document_flow(sv.text.distance(["president", "press"], ["chief", "media"], small))
    >>> sorted(figure.data[-1].text)
    ['chief', 'media', 'president', 'press']
    """
    from sievert.text import Flow

    found = instance("flow", flow, Flow, "what sv.text.distance found", DataError)
    many = whole("words", words, DataError, most=SHOWN_WORDS)
    ways = found.moves()[:many]
    left, right = (list(dict.fromkeys(str(way[side]) for way in ways)) for side in (0, 1))
    figure = Drawing()
    widest = max((mass for *_, mass, _ in ways), default=1.0)
    for source, target, mass, length in ways:
        ends = [-left.index(str(source)), -right.index(str(target))]
        figure.add_scatter(
            x=[0, 0.5, 1],
            y=[ends[0], sum(ends) / 2, ends[1]],
            mode="lines",
            line={"color": BEFORE if source == target else AFTER, "width": 1 + 5 * mass / widest},
            hovertemplate=f"{source} → {target}: {mass:.3g} over {length:.3g}<extra></extra>",
            showlegend=False,
        )
    figure.add_scatter(
        x=[0] * len(left) + [1] * len(right),
        y=[-place for side in (left, right) for place in range(len(side))],
        text=[*left, *right],
        mode="text",
        textposition=["middle left"] * len(left) + ["middle right"] * len(right),
        showlegend=False,
    )
    laid_out(figure, f"earth mover's distance {found.value:.4g}", "")
    figure.update_xaxes(range=[-0.5, 1.5], showticklabels=False, showgrid=False, zeroline=False)
    figure.update_yaxes(showticklabels=False, showgrid=False, zeroline=False)
    return figure


def noise_contours(eps: float = 1.0, reach: float | None = None) -> go.Figure:
    """The density of Laplace noise in a plane, with the circles inside which half and nine tenths of it lie.

    Parameters
    ----------
    eps : ε in nats per unit of distance
    reach : how far the picture goes; by default where one in a hundred goes farther

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: 81² densities.

    References
    ----------
    Fernandes (2021), Fig 9.2.

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.noise_contours(1.0)
    >>> [trace.name for trace in figure.data[1:]]
    ['50% within 1.68', '90% within 3.89']
    """
    from sievert.text import laplace_log_density, laplace_radius

    rate = positive("eps", eps, DataError)
    if rate > STEEPEST:
        raise DataError(f"eps is {abbreviated(eps)}; densities are drawn up to {STEEPEST:g}")
    usual = laplace_radius(0.99, 2, rate)
    if math.isinf(usual):
        raise DataError(f"eps is {abbreviated(eps)}; the noise goes beyond the largest float")
    far = usual if reach is None else positive("reach", reach, DataError, most=FARTHEST)
    axis = np.linspace(-far, far, PIXELS)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.exp(laplace_log_density(points, rate)).reshape(PIXELS, PIXELS)
    figure = Drawing(
        go.Contour(x=axis, y=axis, z=density, colorscale="Blues", name="density", showscale=False)
    )
    turn = np.linspace(0, 2 * math.pi, 121)
    for share, colour in ((0.5, MARK), (0.9, LIMIT)):
        radius = laplace_radius(share, 2, rate)
        figure.add_scatter(
            x=radius * np.cos(turn),
            y=radius * np.sin(turn),
            mode="lines",
            line={"color": colour, "dash": "dash"},
            name=f"{share:.0%} within {radius:.3g}",
        )
    laid_out(figure, "first coordinate", "second coordinate")
    figure.update_yaxes(scaleanchor="x")
    return figure


def attack_success(bench: AttackBench, attackers: str = "author") -> go.Figure:
    """What attackers found against ε, with intervals, and what is promised on the same axis.

    Parameters
    ----------
    bench : what `sv.text.attack` found
    attackers : "author" or "topic"

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    The promise is the largest chance of a right guess that e^(ε·N·E) allows, for two documents at the median
    distance; attackers found less so far.

    Cost: O(findings).

    Examples
    --------
    >>> import sievert as sv
    >>> texts = {"ann": "sea lake river boat", "bob": "car road engine wheel"}
    >>> small, corpus = sv.text.Embedding.small(), sv.text.Corpus(texts, texts)
    >>> bench = sv.text.attack(corpus, small, [20.0], draws=1, rng=1)
    >>> [trace.name for trace in sv.plots.attack_success(bench).data][-1]
    'promised: no more than'
    """
    from sievert.text import AttackBench

    found = instance("bench", bench, AttackBench, "what sv.text.attack found", DataError)
    if not isinstance(attackers, str) or attackers not in ("author", "topic"):
        raise DataError(f'attackers is {abbreviated(attackers)}; write "author" or "topic"')
    shown = [one for one in found.findings if one.attacker.startswith(attackers)]
    noisy = [one for one in shown if one.eps is not None]
    if not noisy:
        raise DataError(f'attackers is {attackers!r}, and none was run; give the corpus topics, or "author"')
    figure = Drawing()
    for place, name in enumerate(dict.fromkeys(one.attacker for one in noisy)):
        points = sorted((one for one in noisy if one.attacker == name), key=lambda one: one.eps or 0.0)
        figure.add_scatter(
            x=[one.eps for one in points],
            y=[one.rate for one in points],
            error_y={
                "array": [one.upper - one.rate for one in points],
                "arrayminus": [one.rate - one.lower for one in points],
                "width": 3,
                "thickness": 1,
            },
            mode="lines+markers",
            line=curve_line(place),
            name=name,
        )
    chance = noisy[0].chance
    figure.add_hline(y=chance, line={"color": BEFORE, "dash": "dot"}, annotation_text="by chance")
    _promised(figure, found, chance)
    laid_out(figure, "ε, nats per unit of distance", "share found")
    figure.update_xaxes(type="log", nticks=8)
    figure.update_yaxes(range=[0, 1.05])
    return percents(figure)


def _promised(figure: go.Figure, found: AttackBench, chance: float) -> None:
    """The chance that the promise allows: nats are proportional to ε."""
    top = max(found.nats)
    rate = found.nats[top] / top if top else 0.0
    if not rate > 0:
        return
    levels = np.geomspace(min(0.05 / rate, *found.nats), top, 80)
    allowed = 1 / (1 + (1 / chance - 1) * np.exp(-rate * levels))
    figure.add_scatter(
        x=levels,
        y=allowed,
        mode="lines",
        line={"color": LIMIT, "width": 2},
        name="promised: no more than",
        hovertemplate="%{y} at ε = %{x:.3g}<extra></extra>",
    )
