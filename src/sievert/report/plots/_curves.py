"""What a family of mechanisms leaks as ε varies."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from sievert.design import Candidates, Frontier
from sievert.errors import DataError
from sievert.numerics import finite, instance, non_negative, whole
from sievert.observations import BreachCurve, SuccessCurve, SuccessProbability
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import (
    AFTER,
    BEFORE,
    CURVES,
    EDGE,
    LARGEST_BARS,
    LIMIT,
    MARK,
    curve_line,
    folded,
    label_texts,
    laid_out,
    listed,
    named,
    numbers,
    pairs,
    percents,
    text,
    thinned,
)
from sievert.spaces import labels_of

__all__ = [
    "breach_curve",
    "candidates",
    "estimated_distribution",
    "frontier",
    "leakage_curve",
    "long_run",
    "success_curve",
    "threshold_curves",
]


def leakage_curve(
    eps: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    here: float | None = None,
    limit: float | None = None,
    unit: str = "leakage (bits)",
) -> go.Figure:
    """Leakage of a family as ε varies, with the file's own ε and limit marked.

    Parameters
    ----------
    eps : the levels
    curves : by name, a value for each level
    here : the ε to be marked
    limit : the limit to be marked
    unit : what the values are

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(levels·curves).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.leakage_curve([0.5, 1.0], {"noise": [0.3, 0.6]}, here=1.0)
    >>> figure.data[0].name
    'noise'
    """
    levels = numbers("eps", eps)
    figure = Drawing()
    for position, (name, values) in enumerate(named("curves", curves, object, "its numbers").items()):
        line = curve_line(position)
        heights = numbers(f"curves[{name!r}]", values, len(levels))
        figure.add_scatter(x=levels, y=heights, name=name, mode="lines", line=line, showlegend=True)
    here, limit = (
        None if value is None else finite(argument, value, DataError)
        for argument, value in (("here", here), ("limit", limit))
    )
    if here is not None:
        figure.add_vline(
            x=here,
            line={"color": MARK, "dash": "dot", "width": 1.5},
            annotation={"text": f"ε = {here:.3g}", "yref": "paper", "y": 1, "yanchor": "bottom"},
        )
    if limit is not None:
        figure.add_hline(
            y=limit, line={"color": LIMIT, "width": 1.5}, annotation_text="limit", annotation_font_color=LIMIT
        )
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    # Room for the mark above the curves, and below them for a legend that a phone shows one name a line.
    return laid_out(figure, "ε (nats)", text("unit", unit)).update_layout(
        margin_t=30, height=380 + 20 * len(curves)
    )


# ── What repeated observations give away ────────────────────────────────────────────────────────────────────

LONG_RUN = curve_line(1, 2.0)
# Bounds this near to each other are one number; and so few observations are marked one by one.
SAME, FEW = 1e-9, 12
# A pace whose height is further off than this misleads.
FAR = 0.25


def long_run(point: SuccessProbability, rate_bits: float) -> float:
    """limit - 2^(-n·rate), at least the blind guess: the right exponent, not the right factor.

    Parameters
    ----------
    point : SuccessProbability
    rate_bits : rate of utility, in bits an observation

    Returns
    -------
    float
        A probability.

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> import sievert as sv
    >>> coin = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> point = sv.success_probability(coin, observations=100)
    >>> round(sv.plots.long_run(point, sv.observations.rates(coin).utility.bits), 4)
    0.8701
    """
    instance("point", point, SuccessProbability, "what sv.success_probability returns", DataError)
    rate_bits = non_negative("rate_bits", rate_bits, DataError, infinite=True)
    # A finite rate never quite arrives.
    rest: float = (
        max(1e-15, 2.0 ** -min(point.observations * rate_bits, 1000.0)) if rate_bits < np.inf else 0.0
    )
    return max(point.before, point.limit - rest)


def success_curve(curve: SuccessCurve, rate_bits: float) -> go.Figure:
    """Probability of a right guess after n observations, with its bounds, and its long run where near.

    Parameters
    ----------
    curve : SuccessCurve
    rate_bits : rate of utility, in bits an observation

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(observations).

    Examples
    --------
    >>> import sievert as sv
    >>> coin = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> rate = sv.observations.rates(coin).utility.bits
    >>> figure = sv.plots.success_curve(sv.observations.success_curve(coin, observations=range(1, 9)), rate)
    >>> len(figure.data) > 1
    True
    """
    instance("curve", curve, SuccessCurve, "what sv.observations.success_curve returns", DataError)
    rate_bits = non_negative("rate_bits", rate_bits, DataError, infinite=True)
    counts = curve.observations
    figure = Drawing()
    lower = [point.lower for point in curve.points]
    upper = [point.upper for point in curve.points]
    if any(a < b for a, b in zip(lower, upper, strict=True)):
        _band(figure, counts, lower, upper, "between bounds", AFTER)
    # Where only bounds are known no line is drawn between them: nobody knows where the truth lies.
    known = [
        value if high - low <= SAME * high else np.nan
        for value, low, high in zip(curve.values, lower, upper, strict=True)
    ]
    if not np.isnan(known).all():
        mode = "lines+markers" if len(counts) <= FEW else "lines"
        line = {"color": AFTER, "width": 2.5}
        figure.add_scatter(x=counts, y=known, name="right guess", mode=mode, line=line)
    later = [long_run(point, rate_bits) for point in curve.points]
    if later[-1] - upper[-1] <= FAR:
        figure.add_scatter(x=counts, y=later, name="in the long run", mode="lines", line=LONG_RUN)
    else:
        later = upper
    before, limit = curve[0].before, curve[0].limit
    figure.add_hline(y=before, line={"color": BEFORE, "dash": "dot"}, annotation_text="blind guess")
    top = max(before, *upper, *later)
    if limit < 1 - 1e-12:
        top = max(top, limit)
        figure.add_hline(y=limit, line={"color": MARK, "dash": "dot"}, annotation_text="never above")
    laid_out(figure, "observations", "probability of a right guess")
    # Small guesses fill the picture; from one half on it shows the way to certainty.
    figure.update_yaxes(range=[0, 1.02 if top >= 0.5 else 1.15 * top])
    if counts[-1] <= FEW:
        figure.update_xaxes(dtick=1)
    return percents(figure)


def breach_curve(curve: BreachCurve) -> go.Figure:
    """Probability of a breach by all n observations, and by the first m for some m up to n.

    Parameters
    ----------
    curve : BreachCurve

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(observations).

    Examples
    --------
    >>> import sievert as sv
    >>> survey = sv.mechanisms.warner()
    >>> found = sv.observations.breach_curve(survey, predicate=["yes"], level=0.5, observations=9)
    >>> len(sv.plots.breach_curve(found).data) > 1
    True
    """
    instance("curve", curve, BreachCurve, "what sv.observations.breach_curve returns", DataError)
    counts = np.arange(1, len(curve.at) + 1).tolist()
    figure = Drawing()
    lines = (curve_line(2), curve_line(0))
    if curve.exact_until < len(counts):
        for row, line in enumerate(lines):
            name = f"{('at', 'by')[row]} n: interval"
            _band(figure, counts, curve.lower[row], curve.upper[row], name, line["color"])
    series = (
        ("breach by n", curve.by, lines[1]),
        ("breach at n", curve.at, lines[0]),
        ("at n, in the long run", [curve.asymptote(n) for n in counts], LONG_RUN),
    )
    for name, values, line in series:
        figure.add_scatter(x=counts, y=values, name=name, mode="lines", line=line)
    figure.update_yaxes(range=[0, 1.02])
    return percents(laid_out(figure, "observations", "probability of a breach"))


def _band(
    figure: go.Figure,
    counts: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    name: str,
    colour: str,
) -> None:
    """Between what is proved from below and from above, in a pale shade of the curve's own colour."""
    hidden = {"width": 0}
    figure.add_scatter(x=counts, y=lower, mode="lines", line=hidden, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=counts, y=upper, mode="lines", line=hidden, fill="tonexty", fillcolor=f"{colour}33", name=name
    )


# ── How far ε must fall before one family may replace another (Fernandes, Fig 4.5) ──────────────────────────


def threshold_curves(eps: Sequence[float], curves: Mapping[str, Sequence[float]]) -> go.Figure:
    """The largest safe ε of each replacement (`sv.threshold`) against the ε in use.

    Below its curve a replacement is safe against every adversary; the grey diagonal is equal ε.

    Parameters
    ----------
    eps : the levels in use
    curves : by name, the largest safe ε of a replacement at each level

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(levels) for each curve.

    Examples
    --------
    >>> import sievert as sv
    >>> levels = [1.0, 4.0]
    >>> safe = [sv.threshold("truncated-geometric", "randomised-response", eps, 5) for eps in levels]
    >>> figure = sv.plots.threshold_curves(levels, {"randomised response for geometric noise": safe})
    >>> round(float(figure.data[1].y[0]), 6)
    0.735326
    """
    levels = numbers("eps", eps)
    if not len(levels):
        raise DataError("eps is empty; give one level or more")
    figure, top = Drawing(), float(levels.max())
    figure.add_scatter(
        x=[0, top],
        y=[0, top],
        mode="lines",
        line={"color": MARK, "width": 1},
        name="equal ε",
        hoverinfo="skip",
    )
    for position, (name, safe) in enumerate(named("curves", curves, object, "its numbers").items()):
        figure.add_scatter(
            x=levels,
            y=numbers(f"curves[{name!r}]", safe, len(levels)),
            mode="lines",
            name=name,
            line=curve_line(position),
        )
    return laid_out(figure, "ε of the mechanism in use (nats)", "largest safe ε of its replacement (nats)")


# ── Mechanisms of one ε by what they cost and what they give away ───────────────────────────────────────────


def candidates(found: Candidates, gain: int = 0) -> go.Figure:
    """Loss against what one adversary reaches, a point for each mechanism of the same ε.

    Neighbours in the order of the loss are joined. An arrow leads to the one that is at least as safe against
    every adversary (without a head they tell the same); a dotted line says that neither is, or that it is
    undecided. Towards the lower left is better.

    Parameters
    ----------
    found : Candidates
    gain : which of its adversaries

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(mechanisms).

    Examples
    --------
    >>> import sievert as sv
    >>> found = sv.candidates(sv.metrics.line(3), 1.0, loss=sv.losses.absolute(3))
    >>> sv.plots.candidates(found).layout.xaxis.title.text
    'what the adversary reaches<br>(exact guess)'
    """
    instance("found", found, Candidates, "what sv.candidates returns", DataError)
    gain = whole("gain", gain, DataError, least=0, most=len(found.alternatives[0].leaks) - 1)
    figure = Drawing()
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
    spots: dict[tuple[str, str], list[str]] = {}
    for name, (x, y) in place.items():
        spots.setdefault((f"{x:.6g}", f"{y:.6g}"), []).append(name)
    looked_for = {item.name for item in found.alternatives if item.is_optimal}
    for position, names in enumerate(spots.values()):
        x, y = place[names[0]]
        star = bool(looked_for & set(names))
        figure.add_scatter(
            x=[x],
            y=[y],
            mode="markers",
            name=folded(", ".join(names)),
            marker={
                "color": CURVES[position % len(CURVES)],
                "size": 14 if star else 10,
                "symbol": "star" if star else "circle",
            },
            hovertemplate=f"{', '.join(names)}<br>adversary %{{x:.4g}}<br>loss %{{y:.4g}}<extra></extra>",
        )
    leak = found.alternatives[0].leaks[gain]
    figure.add_vline(
        x=leak.before,
        line={"color": BEFORE, "dash": "dot", "width": 2},
        annotation={"text": "no release", "yref": "paper", "y": 1, "yanchor": "bottom"},
    )
    figure = laid_out(figure, f"what the adversary reaches<br>({leak.title})", f"{found.loss_name} loss")
    reached = [leak.before, *(x for x, _ in place.values())]
    room = 0.05 * (max(reached) - min(reached)) or 0.05
    sides = [min(reached) - room, max(reached) + room]
    if not leak.is_loss and min(reached) >= 0 and max(reached) <= 1:
        percents(figure, "x")
    # An adversary's loss is drawn from right to left, so that left always gives away less.
    figure.update_xaxes(range=sides[::-1] if leak.is_loss else sides)
    losses = [y for _, y in place.values()]
    if min(losses) >= 0:
        # One loss alone has no scale of its own but 0.
        alone = math.isclose(min(losses), max(losses), rel_tol=1e-6)
        figure.update_yaxes(
            rangemode="nonnegative", range=[0.0, 1.25 * max(losses) or 1.0] if alone else None
        )
    lines = sum(1 + trace.name.count("<br>") for trace in figure.data if trace.showlegend is not False)
    return figure.update_layout(margin_t=30, height=400 + 20 * lines, showlegend=True)


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
    """Least loss against what the adversary may reach; nothing lies below the line.

    Parameters
    ----------
    found : Frontier

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(points).

    Examples
    --------
    >>> import sievert as sv
    >>> found = sv.frontier(None, sv.losses.bayes_risk(2), points=3)
    >>> [round(y, 6) for y in sv.plots.frontier(found).data[0].y]
    [0.5, 0.25, 0.0]
    """
    instance("found", found, Frontier, "what sv.frontier returns", DataError)
    figure = Drawing()
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


# ── What was, what was reported with noise, and what is estimated from the reports ──────────────────────────


def estimated_distribution(
    names: Sequence[Hashable],
    estimated: Sequence[float],
    *,
    reported: Mapping[Hashable, float] | None = None,
    original: Sequence[float] | None = None,
    interval: Sequence[Sequence[float]] | None = None,
) -> go.Figure:
    """Original, noisy and estimated shares of each value; whiskers are intervals of the estimate.

    Only reports that are themselves values can be drawn beside them.

    Parameters
    ----------
    names : of the values
    estimated : share of each
    reported : shares of the noisy reports
    original : true shares, where they are known
    interval : lower and upper end for each value

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(values).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.estimated_distribution(["a", "b"], [0.7, 0.3], original=[0.6, 0.4])
    >>> [trace.name for trace in figure.data]
    ['original', 'estimated']
    """
    names = labels_of(listed("names", names, "values"), "names", "values", DataError)
    estimated = numbers("estimated", estimated, tuple(names)).tolist()
    original = None if original is None else numbers("original", original, tuple(names)).tolist()
    if reported is not None:
        instance("reported", reported, Mapping, "a mapping from a value to its share", DataError)
        numbers("reported", list(reported.values()))
    limits = None if interval is None else pairs("interval", interval, len(names))
    shown = thinned(len(names))
    labels = label_texts([names[i] for i in shown])
    curves: list[tuple[str, list[float], str]] = []
    if original is not None:
        curves.append(("original", [float(original[i]) for i in shown], BEFORE))
    if reported is not None:
        curves.append(("reported (noisy)", [float(reported.get(names[i], 0.0)) for i in shown], CURVES[1]))
    curves.append(("estimated", [float(estimated[i]) for i in shown], AFTER))
    figure = Drawing()
    for name, heights, colour in curves:
        whiskers = None
        if name == "estimated" and limits is not None and len(shown) <= LARGEST_BARS:
            lower, upper = ([float(limits[i, side]) for i in shown] for side in (0, 1))
            whiskers = {
                "type": "data",
                "symmetric": False,
                "array": [high - here for high, here in zip(upper, heights, strict=True)],
                "arrayminus": [here - low for low, here in zip(lower, heights, strict=True)],
                "color": MARK,
                "thickness": 1.5,
            }
        if len(shown) <= LARGEST_BARS:
            figure.add_bar(x=labels, y=heights, name=name, marker_color=colour, error_y=whiskers)
        else:
            line = {"color": colour, "width": 2, "shape": "hvh"}
            figure.add_scatter(x=labels, y=heights, name=name, mode="lines", line=line)
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(type="category")
    return percents(laid_out(figure, "value", "share"))
