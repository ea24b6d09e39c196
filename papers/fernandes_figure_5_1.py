"""Figures 5.1 and 5.2 with the tables of 4.1: a survey of two, by randomised response and geometric noise."""

from __future__ import annotations

from fractions import Fraction

import plotly.graph_objects as go

from papers.page import Entry, Page
from sievert.inference import (
    Correlation,
    accuracy,
    curve,
    frontier,
    survey,
    survey_channel,
    survey_correlation,
    vulnerability,
)
from sievert.report.plots._style import CURVES, MARK, laid_out
from sievert.spaces import metrics

THIRD = Fraction(1, 3)
# What is printed, rounded.
FIRST_ROW = "0.56 0.38 0.06"
KINDS = {"response": ("0.63", "0.59"), "geometric": ("0.67", "0.625")}
PERSON = ("<0,0>", "<1,0>", "<0,1>", "<1,1>")
CLAIM = (
    "Sec 5.3.2 explains that a better guess of the answers must be a better guess of the tally. Telling the "
    "first answer refutes it: it is then guessed with 1, and the tally with 1/2."
)


def build() -> Page:
    correlation = survey_correlation(2)
    entries, rows = [], []
    for kind in KINDS:
        table = survey_channel(2, THIRD, kind).exact
        assert table is not None
        for person, tally in zip(PERSON, (0, 1, 1, 2), strict=True):
            rows.append([f"{kind}, {person}", *(str(value) for value in table[tally])])
        if kind == "response":
            entries.append(Entry("response, row <0,0>", FIRST_ROW, " ".join(map(_rounded, table[0]))))
    for kind, (secret, use) in KINDS.items():
        one = survey(2, kind=kind, alpha=THIRD)
        rows.append([f"{kind}: V_S and V_U", str(one.privacy), str(one.accuracy), ""])
        entries.append(Entry(f"{kind}, V_S", secret, _rounded(one.privacy, len(secret) - 2)))
        entries.append(Entry(f"{kind}, V_U", use, _rounded(one.accuracy, len(use) - 2)))
    for kind in ("individual", "noiseless"):
        one = survey(2, kind=kind, **({} if kind == "noiseless" else {"alpha": THIRD}))
        rows.append([f"{kind}: V_S and V_U", str(one.privacy), str(one.accuracy), ""])
    entries.append(Entry("does V_S ≥ V_S' imply V_U ≥ V_U'", "yes", _implied(), CLAIM))
    limits = ["1/2", "11/20", "3/5", "5/8", "13/20", "2/3", "7/10", "3/4"]
    free = frontier(correlation, limits).accuracies
    private = frontier(correlation, limits, alpha=THIRD, metric=metrics.line(3)).accuracies
    remarks = [
        f"While the first answer is guessed with at most {limit}, the tally is told with at most {a}, and "
        f"with {b} by an ln 3-private mechanism."
        for limit, a, b in zip(limits, free, private, strict=True)
    ]
    header = ["", "output 0", "output 1", "output 2"]
    figures = {"fernandes_figure_5_1": _figure(correlation)}
    return Page(
        "Figures 5.1 and 5.2: a survey of two", "Fernandes (2021)", header, rows, entries, remarks, figures
    )


def _rounded(value: Fraction, digits: int = 2) -> str:
    """Decimals, a half upwards."""
    return f"{float(value) + 1e-9:.{digits}f}"


def _implied() -> str:
    people = Correlation.from_labels([1, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 2])
    from sievert.channels import Channel

    told = Channel([[1, 0], [0, 1], [1, 0], [0, 1]])
    noisy = survey(2, kind="response", alpha=THIRD)
    better = vulnerability(told, people).value >= noisy.privacy
    return "yes" if not better or accuracy(told, people).value >= noisy.accuracy else "no"


def _figure(correlation: Correlation) -> go.Figure:
    figure = go.Figure()
    lines = {
        "any mechanism": curve(correlation),
        "ln 3-private": curve(correlation, alpha=THIRD, metric=metrics.line(3)),
    }
    for (name, line), colour in zip(lines.items(), CURVES, strict=False):
        x, y = [*line.limits, 0.8], [*line.accuracies, line.accuracies[-1]]
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line={"color": colour})
    for kind in KINDS:
        one = survey(2, kind=kind, alpha=THIRD)
        figure.add_scatter(
            x=[float(one.privacy)], y=[float(one.accuracy)], name=kind, mode="markers", marker={"color": MARK}
        )
    laid_out(figure, "how often the first answer is guessed", "how often the tally is told")
    return figure
