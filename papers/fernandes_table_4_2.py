"""Table 4.2: within a family, is a smaller ε safer in each order?"""

from __future__ import annotations

from collections.abc import Callable

import sievert as sv
from papers.page import Entry, Page

ORDERS = ("average", "max", "privacy")
PAIRS = ((3.0, 1.0), (1.0, 0.9), (0.5, 0.1))
SIZES = (3, 4, 6)


def families() -> dict[str, Callable[[int, float], sv.Channel]]:
    """Each family as a function of the number of inputs and ε (nominal for E)."""
    return {
        "G": sv.mechanisms.geometric,
        "TG": sv.mechanisms.truncated_geometric,
        "OTG": lambda n, eps: sv.mechanisms.truncated_geometric(n, eps, outputs=range(n - 1)),
        "E": lambda n, eps: sv.mechanisms.exponential(sv.metrics.line(n), eps),
        "R": sv.mechanisms.randomised_response,
    }


PRINTED = {"G": "YYY", "TG": "YYY", "OTG": "NNY", "E": "YYY", "R": "YYY"}


def build() -> Page:
    """Y where every tried pair refines."""
    rows, entries = [], []
    for name, make in families().items():
        found = "".join(
            "Y"
            if all(sv.refines(make(n, a), make(n, b), order).holds for n in SIZES for a, b in PAIRS)
            else "N"
            for order in ORDERS
        )
        rows.append([name, *found])
        entries.append(Entry(f"{name} (average, max, privacy)", PRINTED[name], found))
    remarks = [
        f"Inputs {SIZES}, ε pairs {PAIRS}. For E the source states a conjecture (4.20); "
        "`papers.conjecture_4_20.check_exponential_monotone(n)` proves it for n = 2 … 20.",
        "Lem 4.18 (OTG never refines) is not universal: one output, or two inputs, may refine (erratum E21).",
    ]
    return Page(
        "Table 4.2: decreasing ε within a family", "Fernandes (2021)", ["", *ORDERS], rows, entries, remarks
    )
