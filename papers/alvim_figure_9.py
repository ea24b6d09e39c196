"""Fig 9: all databases of two records of three values and the matrix that leaks most (Ex 17)."""

from __future__ import annotations

import math

import sievert as sv
from papers.page import Entry, Page

NAMES = ("aa", "ab", "ac", "ba", "ca", "bb", "bc", "cb", "cc")
PRINTED = (
    "011112222",
    "101221212",
    "110222121",
    "122011212",
    "122102211",
    "212120112",
    "221121021",
    "212211201",
    "221212110",
)


def build() -> Page:
    eps = 1.0
    policy = sv.Policy.differential(["a", "b", "c"], 2)
    worst = sv.worst_leakage(policy, eps)
    assert worst.mechanism is not None
    channel = worst.mechanism
    databases = [tuple(name) for name in NAMES]
    matrix = channel.matrix
    order = [channel.inputs.index(database) for database in databases]
    matrix = matrix[order][:, order]  # output k is the guess of database k
    rows, entries = [], []
    for name, row, printed in zip(NAMES, matrix, PRINTED, strict=True):
        # An entry d stands for the row's maximum divided by e^(ε·d).
        found = "".join(f"{round(math.log(row.max() / entry) / eps)}" for entry in row)
        rows.append([name, *found])
        note = (
            "Columns bc and cb are swapped in this row: ba and bc differ in one record."
            if name == "ba"
            else ""
        )
        entries.append(Entry(f"row {name}", printed, found, note))
    largest = math.exp(2 * eps) / (2 + math.exp(eps)) ** 2
    entries.append(Entry("largest entry at ε = 1", f"{largest:.12f}", f"{matrix.max():.12f}"))
    remark = "The mechanism is what `sv.worst_leakage` returns: randomised response on each record (Prop 16)."
    header = ["", *NAMES]
    title = "Fig 9: the matrix that leaks most, two records of three values"
    return Page(title, "Alvim et al. (2015)", header, rows, entries, [remark])
