"""The picture of the README: a guess about one household as ε grows, before and after a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sievert as sv
from papers.picture import write_svg
from sievert.report.plots._curves import leakage_curve

TARGET = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "guess.svg"


def main() -> None:
    """One of five classes of a household; a count of two classes among 100 households."""
    grid = np.linspace(0.02, 3, 40)
    policy = sv.Policy.differential(5, records=100)
    query = sv.Query.count([0, 1])
    noise = [
        sv.record_leakage(sv.mechanisms.truncated_geometric(101, eps), policy, query=query).after
        for eps in grid
    ]
    curves = {
        "any mechanism with this ε, at worst": [sv.explain(eps=eps, values=5).after for eps in grid],
        "any ten releases, at worst": [sv.explain(eps=eps, values=5, releases=10).after for eps in grid],
        "a count with geometric noise": noise,
        "without a release": [0.2] * len(grid),
    }
    figure = leakage_curve(grid.tolist(), curves, unit="best guess about one household")
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    TARGET.parent.mkdir(exist_ok=True)
    write_svg(figure, TARGET, width=820, height=430)


if __name__ == "__main__":
    main()
