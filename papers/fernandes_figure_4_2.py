"""Fig 4.2: two channels of equal ε whose posteriors do not contain each other (Ex 4.5)."""

from __future__ import annotations

import sievert as sv
from papers.page import Entry, Page
from sievert.report.plots._channels import hypers


def build() -> Page:
    a = sv.Channel([["4/5", "1/5"], ["2/5", "3/5"]], inputs=["x1", "x2"])
    b = sv.Channel([["2/5", "3/5"], ["4/5", "1/5"]], inputs=["x1", "x2"])
    rows, entries = [], []
    printed = {"A": ("3/5 (2/3, 1/3)", "2/5 (1/4, 3/4)"), "B": ("3/5 (1/3, 2/3)", "2/5 (3/4, 1/4)")}
    for name, channel in (("A", a), ("B", b)):
        hyper = channel.hyper()
        pairs = zip(hyper.outers, hyper.inners, strict=True)
        found = sorted((f"{outer} ({inner[0]}, {inner[1]})" for outer, inner in pairs), reverse=True)
        rows.append([name, *found])
        entries += [Entry(f"posteriors of {name}", x, y) for x, y in zip(printed[name], found, strict=True)]
    for first, second, label in ((a, b, "A ⊑max B"), (b, a, "B ⊑max A")):
        entries.append(Entry(label, "False", str(sv.refines(first, second, "max").holds)))
    for first, second, label in ((a, b, "A ⊑prv B"), (b, a, "B ⊑prv A")):
        entries.append(Entry(label, "True", str(sv.refines(first, second, "privacy").holds)))
    figure = hypers({"A": a, "B": b})
    header = ["channel", "probability (posterior)", "probability (posterior)"]
    title = "Fig 4.2: equal ε, yet neither refines the other"
    return Page(title, "Fernandes (2021)", header, rows, entries, figures={"fernandes_figure_4_2": figure})
