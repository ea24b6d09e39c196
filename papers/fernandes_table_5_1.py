"""Table 5.1: a new row joins a database; privacy loss and utility of oblivious and local geometric noise."""

from __future__ import annotations

import math

from papers.chapter_5 import COMPAS, CUSTODY
from papers.page import Entry, Page
from sievert.inference import newcomer, newcomer_table

LEVELS = [1, 3, 5, 10, 100, 200, 500, 1000, 100_000]
COLUMNS = [
    "A oblivious loss", "A oblivious utility", "A local loss", "A local utility",
    "B oblivious loss", "B oblivious utility", "B local loss", "B local utility",
]  # fmt: skip
# As printed, four decimals; one line a level.
PRINTED = """
1.0000 0.7984 1.0000 0.7984 1.0000 0.7704 1.0000 0.7704
1.0000 0.7984 1.0000 0.7984 1.0000 0.7704 1.0000 0.7704
1.0452 0.8333 1.0000 0.7984 1.0000 0.8333 1.0000 0.7704
1.1402 0.9091 1.0000 0.7984 1.0000 0.9091 1.0000 0.7704
1.2418 0.9901 1.0000 0.7984 1.0000 0.9901 1.0000 0.7704
1.2480 0.9950 1.0001 0.7984 1.0000 0.9950 1.0000 0.7704
1.2517 0.9980 1.0035 0.8011 1.0000 0.9980 1.0000 0.7704
1.2529 0.9990 1.0234 0.8169 1.0000 0.9990 1.0000 0.7704
1.2542 1.0000 1.2481 0.9952 1.0000 1.0000 1.0000 0.9330
"""
LARGEST = "The printed number is 1/V(prior), the loss if the secret were told outright, and rounds to 1.2608."


def build() -> Page:
    eps = [math.log(level) for level in LEVELS]
    tables = [newcomer_table(table, 0, eps).rows() for table in (CUSTODY, COMPAS)]
    rows, entries = [], []
    lines = PRINTED.strip().splitlines()
    for level, a, b, line in zip(LEVELS, *tables, lines, strict=True):
        found = [f"{value:.4f}" for value in (*a[1:], *b[1:])]
        rows.append([f"{level:g}", *(f"{value:.6f}" for value in (*a[1:], *b[1:]))])
        for column, printed, value in zip(COLUMNS, line.split(), found, strict=True):
            entries.append(Entry(f"e^ε = {level:g}, {column}", printed, value))
    ends = [newcomer(table, 0, 0.0) for table in (CUSTODY, COMPAS)]
    limits = [f"{float(end.limit):.6f}" for end in ends]
    rows.append(["∞ (limit)", *(text for limit in limits for text in (limit, "1.000000") * 2)])
    outright = f"{float(ends[0].largest_loss):.6f}"
    rows.append(["told outright", *(text for _ in limits for text in (outright, "1.000000") * 2)])
    for column, end in zip(("A", "B"), ends, strict=True):
        printed, found = "1.2607", f"{float(end.limit):.4f}"
        entries.append(Entry(f"last row, {column}: limit of the loss for ε → ∞", printed, found, LARGEST))
    entries.append(Entry("last row: 1/V(prior)", "1.2607", f"{float(ends[0].largest_loss):.4f}", LARGEST))
    remarks = [
        "A: the secret is the custody status, and so is the query (= 0). B: the query counts single people.",
        "The oblivious columns are closed forms; the local ones are sums of binomials in a tilted law.",
        "Thresholds: utility leaves its floor at ε = ln(9349/2361) in A and ln(9021/2689) in B, the loss at "
        "ln(9288/2361) in A and never in B.",
    ]
    header = ["e^ε", *COLUMNS]
    return Page("Table 5.1: somebody joins", "Fernandes (2021)", header, rows, entries, remarks)
