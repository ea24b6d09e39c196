"""Table 4.4: across families at different ε; N means "not implied by ε₁ > ε₂", not "never"."""

from __future__ import annotations

from papers.fernandes_table_4_3 import PRINTED, verdict
from papers.page import Entry, Page
from sievert.orders import threshold

NAMES = {"TG": "truncated-geometric", "R": "randomised-response", "E": "exponential"}
N, LARGE = 5, 2.0


def build() -> Page:
    """The same pattern as Table 4.3 just below ε₁; and where refinement does begin."""
    rows, entries = [], []
    for (first, second), printed in PRINTED.items():
        found = verdict(first, second, N, ((LARGE, 0.9999 * LARGE),))
        limits = [threshold(NAMES[first], NAMES[second], LARGE, N, order) for order in ("average", "privacy")]
        below = verdict(first, second, N, ((LARGE, 0.99 * limits[0]),))
        rows.append([f"{first} → {second}", found, f"{limits[0]:.6f}", f"{limits[1]:.6f}", below])
        entries.append(Entry(f"{first} → {second}", printed, found))
        entries.append(Entry(f"{first} → {second} below the threshold", "YYY", below))
    remarks = [
        "Erratum E24: N means that ε₁ > ε₂ alone does not guarantee refinement; below the threshold it holds "
        "in every order, and at ε₂ = 0 always (Thm 4.25).",
    ]
    header = [
        f"n = {N}, ε₁ = {LARGE:g}",
        "ε₂ just below ε₁",
        "average threshold",
        "privacy threshold",
        "below it",
    ]
    return Page(
        "Table 4.4: across families at different ε", "Fernandes (2021)", header, rows, entries, remarks
    )
