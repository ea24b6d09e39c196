"""Chapter 10: hashes of user vectors. Table 10.2, the worked example, what is false as printed."""

from __future__ import annotations

import math

import numpy as np

import sievert as sv
from papers.page import Entry, Page

KAPPAS = (10, 20, 30, 50)
PRINTED = {
    0.05: ("0.31111", "0.20280", "0.15866", "0.11713"),
    0.10: ("0.37660", "0.25209", "0.19988", "0.14979"),
    0.20: ("0.44181", "0.30509", "0.24546", "0.18683"),
    0.25: ("0.45747", "0.31977", "0.25866", "0.19796"),
    0.30: ("0.46544", "0.32908", "0.26749", "0.20573"),
    0.40: ("0.46266", "0.33474", "0.27462", "0.21313"),
    0.50: ("0.43792", "0.32553", "0.26969", "0.21123"),
}


def build() -> Page:
    """Table 10.2 beside the exact account, the example of Sec 10.5, and the errata."""
    rows, entries = _table()
    entries = [*entries, *_example(), *_errata()]
    remarks = [
        "The last columns are ξ/ε of the exact account (XDP) at ε = 1 for the same δ = 0.01: what the bounds "
        "of the source cost.",
        "Table 10.1 and the figures are on a page of their own, measured on MovieLens and Foursquare.",
    ]
    header = ["d", *(f"α, κ = {n}" for n in KAPPAS), *(f"ξ/ε exact, κ = {n}" for n in KAPPAS)]
    return Page("Table 10.2 and chapter 10: user vectors", "Fernandes (2021)", header, rows, entries, remarks)


def _table() -> tuple[list[list[str]], list[Entry]]:
    rows, entries = [], []
    for d, printed in PRINTED.items():
        alphas = [sv.vectors.alpha_kl(n, d, 0.01) for n in KAPPAS]
        exact = [sv.vectors.accountant(n, d, 1.0).xi(0.01) for n in KAPPAS]
        rows.append([f"{d:g}", *(f"{a:.8f}" for a in alphas), *(f"{xi:.4f}" for xi in exact)])
        for n, shown, alpha in zip(KAPPAS, printed, alphas, strict=True):
            cut = f"{math.floor(alpha * 1e5) / 1e5:.5f}"
            note = "Rounded, where all other entries are cut off." if cut != shown else ""
            entries.append(Entry(f"α(κ = {n}, d = {d:g})", shown, cut, note))
    return rows, entries


def _example() -> list[Entry]:
    """κ = 20, d = 0.05, ξ = 5, δ = 0.01 (Sec 10.5)."""
    found = sv.vectors.calibrate(20, 0.05, 5.0, 0.01, method="kl")
    return [
        Entry("flip probability, κ = 20, d = 0.05, ξ = 5", "0.27", f"{found.flip:.2f}"),
        Entry("bits flipped of 20", "5", f"{math.floor(20 * found.flip)}"),
        Entry("1000·ln 5, MovieLens with little privacy", "1609.44", f"{1000 * math.log(5):.2f}"),
        Entry(
            "δ claimed at ξ = 5",
            "0.01",
            f"{found.reached:.3g}",
            "Valid, and 330 times too large: the exact account of the same noise.",
        ),
    ]


def _errata() -> list[Entry]:
    law = sv.vectors.accountant(1, 1.0, 0.1).loss_distribution
    moment = float(np.exp(10 * (law.losses - law.losses @ law.probabilities)) @ law.probabilities)
    first, second = np.array([0.31, 0.69]), np.array([0.3 / math.e, 1 - 0.3 / math.e])
    merged = float(first[np.log(first / second) > 1].sum())
    vacuous = sv.vectors.accountant(10, 0.001, math.inf).delta(0.0)
    return [
        Entry(
            "Thm 10.6, κ = 1, d = 1, ε = 0.1: E e^(10·(L - EL))",
            f"at most {math.exp(100 * 0.05**2 / 2):.6f}",
            f"{moment:.6f}",
            "τ = ε·κ/2 bounds the differing bits, not the loss, which may be negative; false for κ < 4.",
        ),
        Entry(
            "Lem A1 with s < 0: P[Z ≥ -1] of a standard normal variable",
            f"at most {math.exp(-0.5):.6f}",
            f"{0.5 * math.erfc(-1 / math.sqrt(2)):.6f}",
            "The minimum is over s ≥ 0; its use is with s > 0.",
        ),
        Entry(
            "PXDP (1, 0.01) after two outputs are merged: P[L > 1]",
            "at most 0.01",
            f"{merged:.2f}",
            "PXDP does not survive processing, and matching is processing; XDP does.",
        ),
        Entry(
            "noise needed for (0, 0.01), κ = 10, d = 0.001",
            "some",
            f"none: plain hashing has δ = {vacuous:.8f}",
            "δ is per pair and far above what one pair among many can be given.",
        ),
        Entry(
            "distance of x and 2·x (a metric)",
            "above 0",
            f"{sv.vectors.angular_distance([1.0, 2.0], [2.0, 4.0]):g}",
            "The angle is a metric of directions only.",
        ),
    ]
