"""Codes of users' vectors: what is told by distance, and utility against both risks."""

from __future__ import annotations

import plotly.graph_objects as go

from sievert.errors import DataError
from sievert.numerics import choice, instance
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import BEFORE, LIMIT, curve_line, laid_out, percents
from sievert.vectors import LossCurve, VectorFrontier

__all__ = ["loss_by_distance", "vector_frontier"]

ACCOUNTS = {
    "exact": "exact (XDP)",
    "tail": "exact tail (PXDP)",
    "binomial": "binomial",
    "kl": "Chernoff (Prop 10.8)",
    "hoeffding": "Hoeffding (Thm 10.7)",
}


def loss_by_distance(curve: LossCurve) -> go.Figure:
    """ξ against the distance of two users, by every account.

    Parameters
    ----------
    curve : what `sv.vectors.loss_curve` found

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(distances).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.loss_by_distance(sv.vectors.loss_curve(20, 1.0, 0.01, [0.05, 0.1]))
    >>> figure.data[0].name
    'exact (XDP)'
    """
    instance("curve", curve, LossCurve, "a LossCurve, of sv.vectors.loss_curve", DataError)
    figure = Drawing()
    for position, (field, name) in enumerate(ACCOUNTS.items()):
        figure.add_scatter(
            x=180 * curve.distances,
            y=getattr(curve, field),
            name=name,
            mode="lines",
            line=curve_line(position),
        )
    figure.update_yaxes(rangemode="tozero")
    return laid_out(figure, "angle between two users (degrees)", f"ξ at δ = {curve.delta:g} (nats)")


def vector_frontier(found: VectorFrontier, against: str = "xi") -> go.Figure:
    """Utility loss of every mechanism against its promise, or against the share of people traced back.

    Parameters
    ----------
    found : what `sv.vectors.mechanism_frontier` found
    against : "xi" (nats promised) or "reidentified"

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    The lines are plain hashing and recommending anybody. Of laplace-lsh the share traced back is an upper
    bound.
    Cost: O(points).

    Examples
    --------
    >>> import sievert as sv
    >>> people = sv.vectors.synthetic_ratings(40, 20, rng=1)
    >>> found = sv.vectors.mechanism_frontier(people, sv.vectors.HyperplaneLSH(20, 6, seed=7), [2.0], k=3)
    >>> [trace.name for trace in vector_frontier(found, "reidentified").data]
    ['lsh-response', 'soft-sign', 'laplace-lsh']
    """
    instance("found", found, VectorFrontier, "a VectorFrontier, of sv.vectors.mechanism_frontier", DataError)
    choice("against", against, ("xi", "reidentified"), DataError)
    figure = Drawing()
    for position, kind in enumerate(dict.fromkeys(point.mechanism for point in found.points)):
        points = [point for point in found.points if point.mechanism == kind]
        figure.add_scatter(
            x=[getattr(point, against) for point in points],
            y=[point.loss for point in points],
            name=kind,
            mode="lines+markers",
            line=curve_line(position),
            showlegend=True,
        )
    figure.add_hline(y=found.plain, line={"color": BEFORE, "width": 1.5}, annotation_text="without noise")
    figure.add_hline(y=found.random, line={"color": LIMIT, "width": 1.5}, annotation_text="anybody")
    figure.update_yaxes(rangemode="tozero")
    if against == "xi":
        where = f"ξ at {180 * found.distance:.3g}° and δ = {found.delta:g} (nats)"
        return laid_out(figure, where, "utility loss (angular distance)")
    return percents(laid_out(figure, "people traced back", "utility loss (angular distance)"), "x")
