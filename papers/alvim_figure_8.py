"""Fig 8: the largest leakage of a differentially private mechanism, Bnd(u, v, ε)."""

from __future__ import annotations

import numpy as np

import sievert as sv
from papers.page import Entry, Page
from sievert.report.plots._curves import leakage_curve

PRINTED = {
    (100, 2, 5.0): "99.031180",
    (2, 3, 1.0): "1.578792",
    (10, 100, 1.0): "14.181160",
    (100, 100, 0.01): "1.428196",
    (1000, 100, 2.0): "2796.040329",
}


def bound(u: int, v: int, eps: float) -> float:
    """Bnd(u, v, ε) in bits (Thm 15)."""
    return float(sv.bounds.database_bound(records=u, values=v, eps=eps).bits)


def build() -> Page:
    rows, entries = [], []
    for (u, v, eps), printed in PRINTED.items():
        found = f"{bound(u, v, eps):.6f}"
        rows.append([str(u), str(v), f"{eps:g}", found])
        entries.append(Entry(f"u = {u}, v = {v}, ε = {eps:g}", printed, found))
    grid = np.linspace(0, 10, 41)
    people = np.unique(np.linspace(1, 1000, 41).round().astype(int))
    by_people = {f"u = {u}": [bound(u, 100, e) for e in grid] for u in (10, 100, 1000)}
    by_values = {f"v = {v}": [bound(100, v, e) for e in grid] for v in (2, 10, 100)}
    by_eps = {f"ε = {e:g}": [bound(int(u), 100, e) for u in people] for e in (0.01, 0.1, 0.5)}
    figures = {
        "alvim_figure_8_people": leakage_curve(grid.tolist(), by_people, unit="Bnd (bits), v = 100"),
        "alvim_figure_8_values": leakage_curve(grid.tolist(), by_values, unit="Bnd (bits), u = 100"),
        "alvim_figure_8_eps": leakage_curve(people.tolist(), by_eps, unit="Bnd (bits), v = 100").update_xaxes(
            title="individuals"
        ),
    }
    header = ["individuals u", "values v", "ε", "Bnd(u, v, ε) (bits)"]
    title = "Fig 8: the bound for any number of individuals"
    return Page(title, "Alvim et al. (2015)", header, rows, entries, figures=figures)
