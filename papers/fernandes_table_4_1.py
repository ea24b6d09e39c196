"""Table 4.1: four programs on a 32-bit secret, compared as partitions (Ex 4.1.1)."""

from __future__ import annotations

import sievert as sv
from papers.page import Entry, Page

SIZE = 2**32
PROGRAMS = {
    "P1": {1: 2**29, 7 * 2**29: 1},
    "P2": {1: 2**30, 3 * 2**30: 1},
    "P3": {2**24: 2**8},
    "P4": {2**28: 2**4},
}
LEAKAGE = {"P1": "536870913", "P2": "1073741825", "P3": "256", "P4": "16"}
SHANNON = {"P1": "4.168564", "P2": "8.311278", "P3": "8.000000", "P4": "4.000000"}


def build() -> Page:
    rows, entries = [], []
    for name, blocks in PROGRAMS.items():
        channel = sv.Channel.from_blocks(blocks)
        factor = str(sv.leakage(channel).factor)
        bits = f"{sv.information.mutual_information(channel):.6f}"
        rows.append([name, str(channel.shape[1]), factor, bits])
        entries.append(Entry(f"{name}, growth of the one-try guess", LEAKAGE[name], factor))
        entries.append(Entry(f"{name}, Shannon bits", SHANNON[name], bits))
    entries.append(
        Entry(
            "which leaks more, P3 or P4",
            "P4",
            "P3" if float(rows[2][2]) > float(rows[3][2]) else "P4",
            "P3 reveals eight bits and P4 four, so P3 leaks more.",
        )
    )
    k = 2105377
    few, many = (
        [
            float(
                sv.posterior_vulnerability(
                    sv.Channel.from_blocks(PROGRAMS[name]), gain=sv.gains.tries(SIZE, tries)
                )
            )
            for name in ("P1", "P3")
        ]
        for tries in (k - 1, k)
    )
    entries.append(
        Entry(
            "tries from which P1 is safer than P3",
            str(k),
            str(k if few[0] >= few[1] and many[0] < many[1] else 0),
        )
    )
    header = ["program", "outputs", "growth of the one-try guess", "Shannon leakage (bits)"]
    return Page("Table 4.1: four programs", "Fernandes (2021)", header, rows, entries)
