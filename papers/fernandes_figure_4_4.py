"""Fig 4.4: the vulnerability V_d of the discrete metric on three secrets."""

from __future__ import annotations

import numpy as np

import sievert as sv
from papers.page import Entry, Page
from sievert.report.plots._channels import simplex_surface

PRINTED = {
    ("1/3", "1/3", "1/3"): "0.000000",
    ("1/2", "1/4", "1/4"): "0.693147",
    ("4/5", "1/10", "1/10"): "2.079442",
    ("49/50", "1/100", "1/100"): "4.584967",
    ("1/2", "1/2", "0"): "inf",
}
STEPS = 36


def build() -> Page:
    metric = sv.metrics.discrete(3)
    rows, entries = [], []
    for prior, printed in PRINTED.items():
        belief = [sv.priors.as_fraction(share) for share in prior]
        found = f"{sv.divergences.privacy_vulnerability(belief, metric):.6f}"
        rows.append([f"({', '.join(prior)})", found])
        entries.append(Entry(f"V_d({', '.join(prior)})", printed, found))
    grid = [(i, j, STEPS - i - j) for i in range(1, STEPS) for j in range(1, STEPS - i)]
    beliefs = np.array(grid) / STEPS
    values = np.array([sv.divergences.privacy_vulnerability(belief, metric) for belief in beliefs])
    figure = simplex_surface(values, beliefs, "V_d (nats)")
    header = ["belief", "V_d = ln(largest/smallest)"]
    title = "Fig 4.4: privacy vulnerability on three secrets"
    return Page(title, "Fernandes (2021)", header, rows, entries, figures={"fernandes_figure_4_4": figure})
