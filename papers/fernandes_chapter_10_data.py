"""Chapter 10 on data: Table 10.1, the figures' losses, who overtakes whom, and who is traced back.

Made from what `papers.vectors_experiment` measured on MovieLens 100k and on Foursquare check-ins of New York.
"""

from __future__ import annotations

import json
from typing import Any

from papers.page import Entry, Page
from papers.vectors_experiment import KAPPAS, OVERTAKING, RECOMMENDED, RECORD, SIZES

# Table 10.1: utility loss of codes without noise, κ = 10, 20, 30, 50.
PRINTED = {
    (100, 1): (0.139, 0.097, 0.074, 0.053),
    (100, 5): (0.119, 0.087, 0.068, 0.048),
    (100, 10): (0.109, 0.082, 0.065, 0.046),
    (500, 1): (0.117, 0.096, 0.081, 0.063),
    (500, 5): (0.101, 0.084, 0.071, 0.056),
    (500, 10): (0.092, 0.076, 0.065, 0.052),
    (1000, 1): (0.096, 0.083, 0.073, 0.060),
    (1000, 5): (0.084, 0.073, 0.065, 0.053),
    (1000, 10): (0.079, 0.068, 0.060, 0.049),
}
COLUMNS = {
    "kl": "LSHRR, Prop 10.8",
    "exact": "LSHRR, exact",
    "nominal": "LapLSH, Prop 10.9",
    "bound": "LapLSH, bound",
    "soft": "soft signs",
}
SELECTION = "Which films are the top rated of four genres is not said; the most rated ones are taken here."


def build() -> Page:
    """Losses at every promise, and what the source says of them."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [
        [name, n, kappa, d, xi, *(f"{found[key][0]:.4f}" for key in COLUMNS)]
        for name, group in (("films", record["films"]), ("places", record["places"]))
        for (n, kappa, d, xi), found in ((tuple(key.split(",")), found) for key, found in group.items())
    ]
    entries = [*_plain(record), *_figures(record), *_ranking(record)]
    remarks = [
        _people(record),
        "Utility loss (10.1) of 10 recommended users, mean of 8 draws of planes and noise, δ = 0.01 at "
        "distance d. “exact” and “soft signs” hold the same ξ by exact account and by a bound, “LapLSH, "
        "bound” by the bound on the projections (`sv.vectors.laplace_accountant`); Prop 10.9 charges all n "
        "coordinates.",
        "Films: MovieLens 100k, 943 people (package recbole). Places: 1,000 weeks of people in New York "
        "(package mat-data), a stand-in for the check-ins of the source, which cannot be had. Neither is "
        "bundled; `python -m papers.vectors_experiment` measures all of it again.",
    ]
    header = ["data", "n", "κ", "d", "ξ", *COLUMNS.values()]
    return Page(
        "Table 10.1 and chapter 10 on data", "Fernandes (2021)", header, rows, entries, remarks, agreeing=True
    )


def _plain(record: dict[str, Any]) -> list[Entry]:
    """Table 10.1: it agrees where all four are within the standard deviation of one draw of planes."""
    entries = []
    for n in SIZES:
        for k in RECOMMENDED:
            measured = [record["plain"][f"{n},{k},{kappa}"] for kappa in KAPPAS]
            pairs = zip(measured, PRINTED[n, k], strict=True)
            close = all(abs(mean - printed) <= max(deviation, 0.002) for (mean, deviation), printed in pairs)
            printed = ", ".join(f"{value:.3f}" for value in PRINTED[n, k])
            found = ", ".join(f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in measured)
            where = f"loss without noise, n = {n}, k = {k}, κ = 10, 20, 30, 50"
            if close:
                entries.append(Entry(f"{where} (measured {found})", printed, printed))
            else:
                entries.append(Entry(where, printed, found, SELECTION, True))
    return entries


def _figures(record: dict[str, Any]) -> list[Entry]:
    """What the text says of the figures."""
    films, places = record["about"]["films"], record["about"]["places"]
    nearest = films["1000"][1]
    few = min(row[4] for row in places.values())
    wide = record["films"]["1000,20,0.05,2"]
    anybody = films["1000"][3] - films["1000"][2]
    low, high = record["films"]["1000,20,0.05,5"]["kl"][0], record["films"]["1000,20,0.05,10"]["kl"][0]
    return [
        Entry(
            "nearest neighbour, films (Fig 10.2)",
            "0.25 to 0.35",
            "0.25 to 0.35" if 0.25 <= nearest <= 0.35 else f"{nearest:g}",
        ),
        Entry(
            "share of places' users with somebody within 0.1 (Fig 10.2)",
            "many",
            f"{100 * few:.0f} % to {100 * places['100'][4]:.0f} %",
            "A sample of weeks in place of all users.",
            True,
        ),
        Entry(
            "LapLSH at n = 1000, κ = 20, ξ = 2: loss less that of anybody",
            "0.000",
            f"{wide['nominal'][0] - anybody + 0.0:.3f}".replace("-0.000", "0.000"),
        ),
        Entry(
            "LSHRR at n = 1000, κ = 20 from ξ = 5 on",
            "better than anybody",
            "better than anybody" if high < low < anybody else "no better",
        ),
    ]


def _ranking(record: dict[str, Any]) -> list[Entry]:
    """E7 and E8: who wins depends on what is charged, and on κ."""
    entries = []
    for kappa in OVERTAKING:
        kl, nominal = (record["overtaking"][str(kappa)][key][0] for key in ("kl", "nominal"))
        best = "LSHRR" if kl < nominal else "LapLSH"
        entries.append(
            Entry(
                f"the better of LSHRR and LapLSH, n = 100, d = 0.05, ξ = 10, κ = {kappa}",
                "LSHRR",
                best,
                ""
                if best == "LSHRR"
                else f"Losses {kl:.4f} and {nominal:.4f}: the charge of LapLSH does not grow with κ (E8).",
            )
        )
    wide = record["films"]["1000,50,0.05,2"]
    entries.append(
        Entry(
            "the better of LSHRR and LapLSH at one proved promise, n = 1000, κ = 50, d = 0.05, ξ = 2",
            "LSHRR",
            "LSHRR" if wide["exact"][0] < wide["bound"][0] else "LapLSH",
            f"Losses {wide['exact'][0]:.4f} and {wide['bound'][0]:.4f} by account and bound: only κ bits "
            "leave, and Prop 10.9 charges all coordinates (E7).",
        )
    )
    return entries


def _people(record: dict[str, Any]) -> str:
    """The attacker whom the source leaves to future work."""
    found = record["reidentified"]
    words = "; ".join(
        f"ξ = {xi}: {row['kl']:.4f} (Prop 10.8), {row['exact']:.4f} (exact), {row['soft']:.4f} (soft signs)"
        for xi, row in ((xi, found[xi]) for xi in ("1", "2", "5"))
    )
    curve = ", ".join(f"{name}: {share:.4f}, {loss:.4f}" for name, (share, loss) in found["frontier"].items())
    return (
        f"Somebody who knows all 943 people traces back {found['plain']:.3f} of them from 10 bits without "
        f"noise (n = 1000), one in 943 by guessing. At equal ξ for d = 0.05, {words}: equal ξ at one "
        f"distance is not equal risk. Share traced back and utility loss by noise: {curve}."
    )
