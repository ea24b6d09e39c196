"""The survey of Figures 5.1 and 5.2 for any number of participants."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from papers.page import Entry, Page
from sievert.inference import survey
from sievert.report.plots._style import CURVES, laid_out

SIZES = [1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1000]


def build() -> Page:
    rows = []
    for n in SIZES:
        response, geometric = (survey(n, math.log(3), kind=kind) for kind in ("response", "geometric"))
        exact = survey(n, kind="noiseless")
        values = [
            response.privacy, response.accuracy, geometric.privacy, geometric.accuracy,
            response.accuracy_before, exact.privacy,
        ]  # fmt: skip
        rows.append([str(n), *(f"{float(value):.8f}" for value in values)])
    entries = [
        Entry("n = 2, response: V_S and V_U", "0.63 0.59", _pair(2, "response")),
        Entry("n = 2, geometric: V_S", "0.67", _pair(2, "geometric").split()[0]),
    ]
    figure = go.Figure()
    for column, name in enumerate(("response, V_S", "response, V_U", "geometric, V_S", "geometric, V_U")):
        y = [float(row[column + 1]) for row in rows]
        dash = "dash" if name.endswith("V_S") else "solid"
        line = {"color": CURVES[column // 2], "dash": dash}
        figure.add_scatter(x=SIZES, y=y, name=name, line=line)
    laid_out(figure, "participants", "how often the guess is right")
    figure.update_xaxes(type="log")
    header = [
        "n",
        "response V_S",
        "response V_U",
        "geometric V_S",
        "geometric V_U",
        "V_U before",
        "exact V_S",
    ]
    remarks = ["For large n even the exact tally tells little about one participant; e^ε = 3, answers even."]
    title = "Surveys of n participants"
    return Page(
        title, "Fernandes (2021)", header, rows, entries, remarks, figures={"fernandes_surveys": figure}
    )


def _pair(n: int, kind: str) -> str:
    found = survey(n, math.log(3), kind=kind)
    return f"{float(found.privacy) + 1e-9:.2f} {float(found.accuracy) + 1e-9:.2f}"
