"""One function a picture; each returns a Plotly figure without a title, for the page to give it a heading.

Colours mean the same everywhere: grey is before the release, blue after, red a limit. Curves differ in
colour, in lightness and in dashes, so that they can be told apart in grey and by colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.channels.tradeoff import Tradeoff
from sievert.design.candidates import Candidates
from sievert.design.frontier import Frontier
from sievert.errors import ChannelError
from sievert.leakage.breach_times import BreachCurve
from sievert.leakage.columns import joint_distribution
from sievert.leakage.success import SuccessCurve, SuccessProbability

__all__ = [
    "AFTER",
    "BEFORE",
    "LIMIT",
    "beliefs",
    "breach_curve",
    "candidates",
    "channel_heatmap",
    "estimated_distribution",
    "frontier",
    "leakage_curve",
    "long_run",
    "success_curve",
    "tradeoff_curve",
]

BEFORE, AFTER, LIMIT = "#b4bac4", "#1f5fa8", "#b3361f"
MARK = "#5b6675"
# Neighbours in the list differ in lightness (Okabe and Ito's colours, after our own blue).
CURVES = (AFTER, "#e69f00", "#222222", "#009e73", "#cc79a7", "#56b4e9")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
LARGEST_HEATMAP = 400
# More bars than this are too thin to see; beliefs are then drawn as steps.
LARGEST_BARS = 60


def _layout(figure: go.Figure, x: str, y: str) -> go.Figure:
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


def _names(labels: Sequence[Hashable]) -> list[str]:
    return [str(item) for item in labels]


def channel_heatmap(channel: Channel) -> go.Figure:
    """Probability of each output for each input; darker is likelier."""
    finite = channel.finite()
    matrix = finite.rounded()
    rows = _thinned(finite.shape[0])
    columns = _thinned(finite.shape[1])
    figure = go.Figure(
        go.Heatmap(
            z=matrix[np.ix_(rows, columns)],
            x=_names([finite.outputs[j] for j in columns]),
            y=_names([finite.inputs[i] for i in rows]),
            colorscale="Blues",
            zmin=0.0,
            zmax=float(matrix.max()),
            colorbar={"title": {"text": "probability", "side": "right"}, "thickness": 14},
            hovertemplate="input %{y}<br>output %{x}<br>probability %{z:.4g}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category", autorange="reversed")
    return _layout(figure, "output", "true value")


def _thinned(size: int) -> list[int]:
    """Every index, or evenly spaced ones when there are too many to see."""
    if size <= LARGEST_HEATMAP:
        return list(range(size))
    return [int(i) for i in np.unique(np.linspace(0, size - 1, LARGEST_HEATMAP).round())]


def beliefs(channel: Channel, prior: object = None, output: Hashable | None = None) -> go.Figure:
    """Belief in each secret before the release and after one output (the most revealing by default)."""
    finite = channel.finite()
    belief = as_prior(prior, finite.shape[0]).astype(np.float64)
    joint = joint_distribution(finite, belief).astype(np.float64)
    weights = joint.sum(axis=0)
    if output is None:
        with np.errstate(invalid="ignore", divide="ignore"):
            peak = np.where(weights > 0, joint.max(axis=0) / weights, -1.0)
        chosen = int(np.argmax(peak))
    else:
        chosen = finite.output_index(output)
        if weights[chosen] == 0:
            raise ChannelError(f"output {output!r} has probability 0 under this prior")
    shown = _thinned(finite.shape[0])
    names = _names([finite.inputs[i] for i in shown])
    after = joint[:, chosen] / weights[chosen]
    figure = go.Figure()
    told = f"after output {finite.outputs[chosen]}"
    for name, heights, colour in (("before", belief[shown], BEFORE), (told, after[shown], AFTER)):
        if len(shown) <= LARGEST_BARS:
            figure.add_bar(x=names, y=heights, name=name, marker_color=colour)
        else:
            line = {"color": colour, "width": 2, "shape": "hvh"}
            figure.add_scatter(x=names, y=heights, name=name, mode="lines", line=line)
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return _layout(figure, "secret", "probability")


def leakage_curve(
    eps: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    here: float | None = None,
    limit: float | None = None,
    unit: str = "leakage (bits)",
) -> go.Figure:
    """Leakage of a family as ε varies, with the file's own ε and limit marked."""
    figure = go.Figure()
    for position, (name, values) in enumerate(curves.items()):
        line = {
            "color": CURVES[position % len(CURVES)],
            "dash": DASHES[position % len(DASHES)],
            "width": 2.5,
        }
        figure.add_scatter(x=list(eps), y=list(values), name=name, mode="lines", line=line, showlegend=True)
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
    return _layout(figure, "ε (nats)", unit).update_layout(margin_t=30, height=380 + 20 * len(curves))


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
    """
    shown = _thinned(len(names))
    labels = _names([names[i] for i in shown])
    curves: list[tuple[str, list[float], str]] = []
    if original is not None:
        curves.append(("original", [float(original[i]) for i in shown], BEFORE))
    if reported is not None:
        curves.append(("reported (noisy)", [float(reported.get(names[i], 0.0)) for i in shown], CURVES[1]))
    curves.append(("estimated", [float(estimated[i]) for i in shown], AFTER))
    figure = go.Figure()
    for name, heights, colour in curves:
        whiskers = None
        if name == "estimated" and interval is not None and len(shown) <= LARGEST_BARS:
            lower, upper = ([float(interval[i][side]) for i in shown] for side in (0, 1))
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
    return _layout(figure, "value", "share")


def candidates(found: Candidates, gain: int = 0) -> go.Figure:
    """Loss against what one adversary reaches, a point for each mechanism of the same ε.

    Neighbours in the order of the loss are joined: a solid line says that the left one is at least as safe
    against every adversary, a dotted one that neither is. Towards the lower left is better.
    """
    figure = go.Figure()
    place = {item.name: (item.leaks[gain].after, item.loss) for item in found.alternatives}
    for pair in found.neighbours:
        (x0, y0), (x1, y1) = place[pair.first], place[pair.second]
        dash = "solid" if pair.relation in ("safer", "less safe", "equivalent") else "dot"
        figure.add_scatter(
            x=[x0, x1],
            y=[y0, y1],
            mode="lines",
            line={"color": BEFORE, "dash": dash, "width": 1.5},
            hoverinfo="text",
            text=str(pair),
            showlegend=False,
        )
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
    before = found.alternatives[0].leaks[gain]
    figure.add_vline(
        x=before.before,
        line={"color": MARK, "dash": "dot", "width": 1.5},
        annotation={"text": "no release", "yref": "paper", "y": 1, "yanchor": "bottom"},
    )
    name = "exact guess" if before.name == "identity" else before.name
    figure = _layout(figure, f"what the adversary reaches ({name})", f"{found.loss_name} loss")
    reached = [before.before, *(x for x, _ in place.values())]
    room = 0.05 * (max(reached) - min(reached)) or 0.05
    ends = [min(reached) - room, max(reached) + room]
    # An adversary's loss is drawn from right to left, so that left always gives away less.
    figure.update_xaxes(range=ends[::-1] if before.is_loss else ends)
    return figure.update_layout(margin_t=30, height=400 + 20 * len(spots), showlegend=True)


def frontier(found: Frontier) -> go.Figure:
    """Least loss against what the adversary may reach; nothing lies below the line."""
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
    figure = _layout(figure, "what the adversary reaches", "least possible expected loss")
    # An adversary's loss falls as more is given away.
    if first.posterior > last.posterior:
        figure.update_xaxes(autorange="reversed")
    return figure


def long_run(point: SuccessProbability, rate_bits: float) -> float:
    """limit - 2^(-n·rate), at least the blind guess: the right exponent, not the right factor."""
    # A finite rate never quite arrives.
    rest: float = (
        max(1e-15, 2.0 ** -min(point.observations * rate_bits, 1000.0)) if rate_bits < np.inf else 0.0
    )
    return max(point.before, point.limit - rest)


def success_curve(curve: SuccessCurve, rate_bits: float) -> go.Figure:
    """Probability of a right guess after n observations, with its bounds and its long run beside it."""
    counts = curve.observations
    figure = go.Figure()
    lower = [point.lower for point in curve.points]
    upper = [point.upper for point in curve.points]
    if any(a < b for a, b in zip(lower, upper, strict=True)):
        hidden = {"width": 0}
        figure.add_scatter(x=counts, y=lower, mode="lines", line=hidden, showlegend=False, hoverinfo="skip")
        figure.add_scatter(
            x=counts, y=upper, mode="lines", line=hidden, fill="tonexty", name="between bounds"
        )
    figure.add_scatter(
        x=counts, y=curve.values, name="right guess", mode="lines", line={"color": AFTER, "width": 2.5}
    )
    figure.add_scatter(
        x=counts,
        y=[long_run(point, rate_bits) for point in curve.points],
        name="in the long run",
        mode="lines",
        line={"color": CURVES[1], "dash": "dash", "width": 2},
    )
    before, limit = curve[0].before, curve[0].limit
    figure.add_hline(y=before, line={"color": BEFORE, "dash": "dot"}, annotation_text="blind guess")
    if limit < 1 - 1e-12:
        figure.add_hline(y=limit, line={"color": MARK, "dash": "dot"}, annotation_text="limit")
    figure.update_yaxes(range=[0, 1.02])
    return _layout(figure, "observations", "probability")


def breach_curve(curve: BreachCurve) -> go.Figure:
    """Probability of a breach by all n observations, and by the first m for some m up to n."""
    counts = np.arange(1, len(curve.at) + 1)
    figure = go.Figure()
    if curve.exact_until < len(counts):
        for row in (0, 1):
            hidden = {"width": 0}
            low, high = curve.lower[row], curve.upper[row]
            figure.add_scatter(x=counts, y=low, mode="lines", line=hidden, showlegend=False, hoverinfo="skip")
            figure.add_scatter(
                x=counts,
                y=high,
                mode="lines",
                line=hidden,
                fill="tonexty",
                name=f"{('at', 'by')[row]} n: interval",
            )
    series = (
        ("breach by n", curve.by),
        ("breach at n", curve.at),
        ("at n, in the long run", [curve.asymptote(n) for n in counts.tolist()]),
    )
    for position, (name, values) in enumerate(series):
        line = {"color": CURVES[position], "dash": DASHES[position], "width": 2.5}
        figure.add_scatter(x=counts, y=values, name=name, mode="lines", line=line)
    figure.update_yaxes(range=[0, 1.02])
    return _layout(figure, "observations", "probability")


def tradeoff_curve(curves: Mapping[str, Tradeoff]) -> go.Figure:
    """Misses against false alarms of whoever tells two inputs apart; the grey line is guessing blindly."""
    figure = go.Figure()
    blind = {"color": BEFORE, "dash": "dash", "width": 1.5}
    figure.add_scatter(x=[0, 1], y=[1, 0], name="without the output", mode="lines", line=blind)
    for position, (name, curve) in enumerate(curves.items()):
        line = {
            "color": CURVES[position % len(CURVES)],
            "dash": DASHES[position % len(DASHES)],
            "width": 2.5,
        }
        figure.add_scatter(
            x=curve.false_alarm.tolist(),
            y=curve.miss.tolist(),
            name=name,
            mode="lines",
            line=line,
            hovertemplate="false alarms %{x:.3f}<br>misses %{y:.3f}<extra></extra>",
        )
    figure.update_xaxes(range=[0, 1])
    figure.update_yaxes(range=[0, 1])
    return _layout(figure, "share of false alarms", "least share of misses")
