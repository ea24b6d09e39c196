"""Fig 8.1: what both mechanisms report for the true value 50 on 0…100."""

from __future__ import annotations

import math

import numpy as np

import sievert as sv
from papers.chapter_8 import lines
from papers.page import Entry, Page

LN2 = math.log(2)
TG = sv.mechanisms.truncated_geometric(101, LN2 / 10)
RR = sv.mechanisms.randomised_response(101, LN2)
SHOWN = (0, 1, 10, 20, 30, 40, 45, 49, 50, 51, 55, 60, 70, 80, 90, 99, 100)


def build() -> Page:
    """The curves at some outputs (the source has only a plot), and what the text says of them."""
    geometric, response = TG.row(50), RR.row(50)
    rows = [[str(y), f"{geometric[y]:.9f}", f"{response[y]:.9f}"] for y in SHOWN]
    found = sv.design.calibration(TG, RR, sv.metrics.line(101), 10)
    entries = [
        Entry("ratio within radius 10, both", "2", f"{found.first.within_ratio:.6g}"),
        Entry("ratio within radius 10, randomised response", "2", f"{found.second.within_ratio:.6g}"),
        Entry(
            "for values further away the bound is smaller",
            "smaller",
            "larger" if found.first.worst_ratio > found.first.within_ratio else "smaller",
            f"Erratum 9: the bound e^(εd) grows to {found.first.worst_ratio:g}: a weaker guarantee.",
        ),
    ]
    inverse = [np.linalg.cond(channel.matrix) for channel in (TG, RR)]
    remarks = [
        f"Calibration: {found}.",
        f"Condition numbers: geometric {inverse[0]:.2f}, randomised response {inverse[1]:.0f}.",
    ]
    header = ["output", "truncated geometric, ε = ln 2/10", "randomised response, ε = ln 2"]
    curves = {"truncated geometric": geometric.tolist(), "randomised response": response.tolist()}
    figures = {"fernandes_figure_8_1": lines(range(101), curves, "output", "probability")}
    title = "Fig 8.1: reports for the value 50"
    return Page(title, "Fernandes (2021)", header, rows, entries, remarks, figures)
