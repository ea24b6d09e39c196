"""Table 1: two mechanisms for "which city?" (Ex 30), six cities, ε = ln 2."""

from __future__ import annotations

import math

import sievert as sv
from papers.page import Entry, Page

PRINTED = (
    "0.534 0.060 0.053 0.046 0.040 0.267",
    "0.465 0.069 0.060 0.053 0.046 0.307",
    "0.405 0.060 0.069 0.060 0.053 0.353",
    "0.353 0.053 0.060 0.069 0.060 0.405",
    "0.307 0.046 0.053 0.060 0.069 0.465",
    "0.267 0.040 0.046 0.053 0.060 0.534",
)


def build() -> Page:
    adapted = sv.mechanisms.truncated_geometric(6, alpha=2 ** (-1 / 5))
    best = sv.mechanisms.randomised_response(6, alpha="1/2")
    rows, entries = [], []
    for city, row, printed in zip("ABCDEF", adapted.matrix, PRINTED, strict=True):
        rows.append([f"M1, {city}", *(f"{entry:.4f}" for entry in row)])
        close = max(abs(entry - float(text)) for entry, text in zip(row, printed.split(), strict=True))
        agrees = printed if close < 0.0015 else " ".join(f"{entry:.3f}" for entry in row)
        entries.append(Entry(f"M1, row {city} (within 0.0015)", printed, agrees))
    rows += [[f"M2, {city}", *map(str, row)] for city, row in zip("ABCDEF", best.exact, strict=True)]
    for name, prior, values in (
        ("uniform", None, ("0.2243", "0.2857")),
        ("(.1,.2,.2,.2,.2,.1)", [0.1, 0.2, 0.2, 0.2, 0.2, 0.1], ("0.2415", "0.2857")),
    ):
        for label, channel, printed in (("M1", adapted, values[0]), ("M2", best, values[1])):
            found = f"{float(sv.posterior_vulnerability(channel, prior)):.4f}"
            entries.append(Entry(f"utility of {label}, prior {name}", printed, found))
    alpha = f"{2 ** (1 / 5):.6f}"
    entries.append(Entry("α", "1.5", alpha, "α^5 = 2 on [0, 5]; the source maps the six cities to [0, 6]."))
    assert math.isclose(sv.epsilon(adapted, sv.metrics.discrete(6)).nats, math.log(2))
    header = ["", *"ABCDEF"]
    return Page("Table 1: which city?", "Alvim et al. (2015)", header, rows, entries)
