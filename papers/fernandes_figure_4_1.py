"""Fig 4.1: truncated geometric against randomised response on 0…100, input 50."""

from __future__ import annotations

import math

import plotly.graph_objects as go

import sievert as sv
from papers.page import Entry, Page
from sievert.report.plots._style import CURVES, laid_out

GEOMETRIC = {
    50: "0.0384615",
    49: "0.0356125",
    40: "0.0178151",
    25: "0.00561607",
    1: "0.000885651",
    0: "0.0110706",
}


def build() -> Page:
    noise = sv.mechanisms.truncated_geometric(101, alpha="25/27")
    response = sv.mechanisms.randomised_response(101, alpha="1/2")
    first, second = noise.row(50), response.row(50)
    rows, entries = [], []
    for y, printed in GEOMETRIC.items():
        rows.append([str(y), f"{first[y]:.6g}", f"{second[y]:.6g}"])
        entries.append(Entry(f"TG, output {y}", printed, f"{first[y]:.6g}"))
    entries.append(Entry("R, output 50", f"{1 / 51:.6g}", f"{second[50]:.6g}"))
    entries.append(Entry("R, another output", f"{1 / 102:.6g}", f"{second[0]:.6g}"))
    below = [abs(y - 50) for y in range(101) if first[y] < second[y]]
    entries.append(Entry("distances at which TG is below R", "18..49", f"{min(below)}..{max(below)}"))
    eps = f"{-math.log(25 / 27):.6g}"
    entries.append(Entry("ε of TG", "0.076961", eps))
    figure = go.Figure()
    figure.add_scatter(x=list(range(101)), y=first, name="truncated geometric", line={"color": CURVES[0]})
    figure.add_scatter(
        x=list(range(101)), y=second, name="randomised response", line={"color": CURVES[1], "dash": "dash"}
    )
    laid_out(figure, "output", "probability given input 50")
    header = ["output", "TG, α = 25/27", "R, α = 1/2"]
    title = "Fig 4.1: two mechanisms on one input"
    return Page(title, "Fernandes (2021)", header, rows, entries, figures={"fernandes_figure_4_1": figure})
