"""Theorem 5: a family whose leakage meets the bound as ε → 0."""

from __future__ import annotations

import math

import sievert as sv
from papers.blowfish import theorem_five
from papers.page import Entry, Page

CASES = {
    (2, "1"): ("2.000000", "1.415037"),
    (2, "1/10"): ("1.137504", "1.067114"),
    (2, "1/1000"): ("1.001442", "1.000721"),
    (5, "1"): ("3.321928", "2.736966"),
    (50, "1/1000"): ("5.645298", "5.644577"),
}


def build() -> Page:
    rows, entries = [], []
    for (n, delta), (bound, leaks) in CASES.items():
        channel = theorem_five(n, delta)
        eps = math.log1p(float(sv.priors.as_fraction(delta)))
        worst = sv.worst_leakage(sv.graphs.theorem_five(n), eps)
        found = f"{worst.diameter.bits:.6f}", f"{sv.capacity(channel).bits:.6f}"
        assert worst.exact is not None
        rows.append([str(n), delta, f"{eps:.6f}", *found, f"{worst.exact.bits:.6f}"])
        entries.append(Entry(f"bound, n = {n}, δ = {delta}", bound, found[0]))
        entries.append(Entry(f"leakage, n = {n}, δ = {delta}", leaks, found[1]))
    entries.append(Entry("ε(δ)", "1+δ", "ln(1+δ)", "The end of the proof omits the logarithm."))
    header = ["n", "δ", "ε", "bound (bits)", "leakage of K^(δ) (bits)", "exact maximum (bits)"]
    remark = (
        "The ratio of leakage to bound tends to 1 as δ ↓ 0, where both tend to log2 n; for larger δ a better "
        "mechanism exists and the bound is never met."
    )
    return Page("Theorem 5: a tight family", "Edwards et al. (2021)", header, rows, entries, [remark])
