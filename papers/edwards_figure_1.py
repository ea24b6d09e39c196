"""Fig 1: distance-threshold secret graphs on four values, and the databases of two records."""

from __future__ import annotations

import sievert as sv
from papers.page import Entry, Page
from sievert.report.plots._policies import policy_graph

# Solid, dotted and all edges of the figure.
PRINTED = {
    1: "12 23 34",
    2: "12 13 23 24 34",
    3: "12 13 14 23 24 34",
}


def build() -> Page:
    rows, entries, figures = [], [], {}
    for theta, printed in PRINTED.items():
        secrets = sv.secrets.threshold([1, 2, 3, 4], theta)
        edges = " ".join(f"{a}{b}" for a, b in sorted(secrets.labelled_edges()))
        policy = sv.Policy.blowfish(secrets, records=2)
        graph = policy.adjacency()
        diameter = int(graph.metric().diameter)
        rows.append([str(theta), edges, str(graph.size), str(len(graph.edges)), str(diameter)])
        entries.append(Entry(f"edges of G, θ = {theta}", printed, edges))
        # Thm 1: one record changes along one edge of G.
        product = str(2 * 4 * len(secrets.edges))
        entries.append(Entry(f"edges of the adjacency graph, θ = {theta}", product, str(len(graph.edges))))
        figures[f"edwards_figure_1_theta_{theta}"] = policy_graph(policy, colour="orbit")
    header = ["θ", "secret pairs", "databases of two records", "adjacent pairs", "diameter"]
    remark = "Colours are orbits: databases that a symmetry of the policy can swap."
    return Page(
        "Fig 1: threshold policies", "Edwards et al. (2021)", header, rows, entries, [remark], figures
    )
