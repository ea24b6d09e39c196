"""Fig 2: the bound of Theorem 3 on n records of four values, and the exact maximum."""

from __future__ import annotations

import sievert as sv
from papers.page import Entry, Page
from sievert.report.plots._curves import leakage_curve

RECORDS = (1, 2, 5, 10, 20, 50, 100)
PRINTED = {1: "4.328085", 2: "2.885390", 3: "1.442695"}
EXACT = {1: "1.254807", 2: "1.028294", 3: "0.927113"}


def build() -> Page:
    rows, entries, curves = [], [], {}
    for theta in (1, 2, 3):
        bound, exact = [], []
        for n in RECORDS:
            worst = sv.worst_leakage(
                sv.Policy.blowfish(sv.secrets.threshold([1, 2, 3, 4], theta), records=n), 1.0
            )
            assert worst.exact is not None
            bound.append(worst.diameter.bits)
            exact.append(worst.exact.bits)
        rows += [[f"θ = {theta}, bound", *(f"{value:.4f}" for value in bound)]]
        rows += [[f"θ = {theta}, exact", *(f"{value:.4f}" for value in exact)]]
        entries.append(Entry(f"bits per record, bound, θ = {theta}", PRINTED[theta], f"{bound[0]:.6f}"))
        entries.append(Entry(f"bits per record, exact, θ = {theta}", EXACT[theta], f"{exact[0]:.6f}"))
        curves[f"bound, θ = {theta}"] = bound
        curves[f"exact, θ = {theta}"] = exact
    figure = leakage_curve(RECORDS, curves).update_xaxes(title="records")
    remark = (
        "The source plots the bound only; its slopes are 3ε, 2ε and ε nats a record. The exact lines are the "
        "most that any mechanism of the policy leaks (`sv.worst_leakage`)."
    )
    header = ["ε = 1, bits", *(f"n = {n}" for n in RECORDS)]
    figures = {"edwards_figure_2": figure}
    return Page(
        "Fig 2: bound against records", "Edwards et al. (2021)", header, rows, entries, [remark], figures
    )
