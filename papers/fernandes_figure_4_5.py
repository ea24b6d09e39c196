"""Fig 4.5: the largest ε₂ such that one family at ε₁ is refined by another at ε₂, five inputs."""

from __future__ import annotations

from papers.page import Entry, Page
from sievert.orders import threshold
from sievert.report.plots._curves import threshold_curves

TG, RR, E = "truncated-geometric", "randomised-response", "exponential"
COLUMNS = {
    "TG→R": (TG, RR),
    "TG→E": (TG, E),
    "R→TG": (RR, TG),
    "R→E": (RR, E),
    "E→TG": (E, TG),
    "E→R": (E, RR),
}
EPSILONS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)


def build() -> Page:
    """The curves as a table (the source has only a plot), and the two values its text names."""
    rows = [
        [f"{eps:g}", *(f"{threshold(*pair, eps, 5):.9f}" for pair in COLUMNS.values())] for eps in EPSILONS
    ]
    entries = [
        Entry(
            '"TG^4 ⊑ R^4"',
            "4.000000",
            f"{threshold(TG, RR, 4.0, 5):.6f}",
            "E23: nearly, not literally; Table 4.3 says N at equal ε.",
        ),
        Entry(
            '"R^4 ⊑ TG^1"',
            "1.000000",
            f"{threshold(RR, TG, 4.0, 5):.6f}",
            f"E23: {threshold(RR, TG, 4.0, 5, 'privacy'):.6f} is the threshold of the privacy order.",
        ),
        Entry("R is the hardest to refine at ε₁ = 4", "yes", _hardest()),
        Entry("TG and E refine each other at nearly equal ε for large ε₁", "yes", _close()),
    ]
    header = ["ε₁", *COLUMNS]
    grid = [8 * k / 40 for k in range(1, 41)]
    curves = {name: [threshold(*pair, eps, 5) for eps in grid] for name, pair in COLUMNS.items()}
    figure = threshold_curves(grid, curves)
    figures = {"fernandes_figure_4_5": figure}
    return Page(
        "Fig 4.5: thresholds, five inputs", "Fernandes (2021)", header, rows, entries, figures=figures
    )


def _hardest() -> str:
    values = {name: threshold(*pair, 4.0, 5) for name, pair in COLUMNS.items()}
    others = min(value for name, value in values.items() if not name.startswith("R"))
    return "yes" if max(values["R→TG"], values["R→E"]) < others else "no"


def _close() -> str:
    return "yes" if min(threshold(TG, E, 8.0, 5), threshold(E, TG, 8.0, 5)) > 0.999 * 8 else "no"
