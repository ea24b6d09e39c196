"""What repeated observations give away."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from sievert.errors import DataError
from sievert.leakage.breach_times import BreachCurve
from sievert.leakage.success import SuccessCurve, SuccessProbability
from sievert.numerics.checks import instance, non_negative
from sievert.report.plots.style import AFTER, BEFORE, MARK, curve_line, laid_out

__all__ = ["breach_curve", "long_run", "success_curve"]

LONG_RUN = curve_line(1, 2.0)


def long_run(point: SuccessProbability, rate_bits: float) -> float:
    """limit - 2^(-n·rate), at least the blind guess: the right exponent, not the right factor."""
    instance("point", point, SuccessProbability, "what sv.success_probability returns", DataError)
    rate_bits = non_negative("rate_bits", rate_bits, DataError, infinite=True)
    # A finite rate never quite arrives.
    rest: float = (
        max(1e-15, 2.0 ** -min(point.observations * rate_bits, 1000.0)) if rate_bits < np.inf else 0.0
    )
    return max(point.before, point.limit - rest)


def success_curve(curve: SuccessCurve, rate_bits: float) -> go.Figure:
    """Probability of a right guess after n observations, with its bounds and its long run beside it."""
    instance("curve", curve, SuccessCurve, "what sv.success_curve returns", DataError)
    rate_bits = non_negative("rate_bits", rate_bits, DataError, infinite=True)
    counts = curve.observations
    figure = go.Figure()
    lower = [point.lower for point in curve.points]
    upper = [point.upper for point in curve.points]
    if any(a < b for a, b in zip(lower, upper, strict=True)):
        _band(figure, counts, lower, upper, "between bounds", AFTER)
    figure.add_scatter(
        x=counts, y=curve.values, name="right guess", mode="lines", line={"color": AFTER, "width": 2.5}
    )
    figure.add_scatter(
        x=counts,
        y=[long_run(point, rate_bits) for point in curve.points],
        name="in the long run",
        mode="lines",
        line=LONG_RUN,
    )
    before, limit = curve[0].before, curve[0].limit
    figure.add_hline(y=before, line={"color": BEFORE, "dash": "dot"}, annotation_text="blind guess")
    if limit < 1 - 1e-12:
        figure.add_hline(y=limit, line={"color": MARK, "dash": "dot"}, annotation_text="never above")
    figure.update_yaxes(range=[0, 1.02])
    return laid_out(figure, "observations", "probability of a right guess")


def breach_curve(curve: BreachCurve) -> go.Figure:
    """Probability of a breach by all n observations, and by the first m for some m up to n."""
    instance("curve", curve, BreachCurve, "what sv.breach_curve returns", DataError)
    counts = np.arange(1, len(curve.at) + 1).tolist()
    figure = go.Figure()
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
    return laid_out(figure, "observations", "probability of a breach")


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
