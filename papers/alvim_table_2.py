"""Table 2: two mechanisms for a count of five voters (Ex 31), ε = ln 2."""

from __future__ import annotations

import math

import sievert as sv
from papers.page import Entry, Page

FIRST = ("32 8 4 2 1 1", "16 16 8 4 2 2", "8 8 16 8 4 4", "4 4 8 16 8 8", "2 2 4 8 16 16", "1 1 2 4 8 32")
SECOND = ("8 4 2 1 2 4", "4 8 4 2 1 2", "2 4 8 4 2 1", "1 2 4 8 4 2", "2 1 2 4 8 4", "4 2 1 2 4 8")


def build() -> Page:
    line = sv.mechanisms.truncated_geometric(6, alpha="1/2")
    ring = sv.mechanisms.tight_constraints(sv.metrics.cycle(6), alpha="1/2")
    rows, entries = [], []
    for label, channel, scale, printed in (("M1", line, 48, FIRST), ("M2", ring, 21, SECOND)):
        assert channel.exact is not None
        for x, (row, text) in enumerate(zip(channel.exact, printed, strict=True)):
            found = " ".join(str(entry * scale) for entry in row)
            rows.append([f"{label}, {x}", *map(str, row)])
            entries.append(Entry(f"{label}, row {x} (times {scale})", text, found))
    for label, channel, printed in (("M1", line, "4/9"), ("M2", ring, "8/21")):
        entries.append(Entry(f"utility of {label}", printed, str(sv.posterior_vulnerability(channel).value)))
    entries.append(Entry("label of the fifth row of M2", "8", "4", "A slip in the source's table."))
    on_ring = sv.epsilon(line, sv.metrics.cycle(6)).nats / math.log(2)
    entries.append(Entry("ε of M1 on the ring, in units of ln 2", "5", f"{on_ring:g}"))
    header = ["", *map(str, range(6))]
    return Page("Table 2: how many votes?", "Alvim et al. (2015)", header, rows, entries)
