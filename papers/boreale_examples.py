"""Examples 1 and 2, Remark 4 and Corollary 1: levels and rates, printed and found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import sievert as sv
from papers.page import Entry, Page
from sievert.observations._breach_levels import average_level, worst_level
from sievert.observations._chernoff import chernoff_pairs
from sievert.observations._until import geometric_rate

EXAMPLE_2 = (
    ("2/3", "1/6", "1/12", "1/24", "1/48", "1/48"),
    ("1/3", "1/3", "1/6", "1/12", "1/24", "1/24"),
    ("1/6", "1/6", "1/3", "1/6", "1/12", "1/12"),
    ("1/12", "1/12", "1/6", "1/3", "1/6", "1/6"),
)
LINE = ((0, 1), (1, 2), (2, 3))
SQUARE = ((0, 1), (0, 2), (1, 3), (2, 3))
# Corollary 1: the largest answer N, and c.
SIZES, RATIOS = (1, 2, 5), ("1/5", "1/2", "4/5")


def neighbours(row: int) -> tuple[int, ...]:
    """The three values that Example 1's printed matrix favours."""
    return tuple(sorted((row + step) % 6 for step in (-1, 0, 1)))


def described(row: int) -> tuple[int, ...]:
    """The values that Example 1's noise of ±1/2, rounded down, favours."""
    return tuple(sorted({math.floor(row + noise) % 6 for noise in (-0.5, 0.5)}))


def listed(columns: Sequence[int]) -> str:
    """Columns in words."""
    return "columns " + ", ".join(map(str, columns))


def favouring(chosen: Sequence[Sequence[int]]) -> sv.Channel:
    """Half of the probability on the chosen outputs, half on all six."""
    share = Fraction(1, 12)
    rows = [[share + (Fraction(1, 2 * len(some)) if y in some else 0) for y in range(6)] for some in chosen]
    return sv.Channel(rows)


def level_on(channel: sv.Channel, edges: Sequence[tuple[int, int]]) -> float:
    """The level of privacy in bits when these pairs of rows are neighbours."""
    return max(
        worst_level(sv.Channel([list(channel.exact[i]), list(channel.exact[j])])).bits for i, j in edges
    )


def geometric(last: int, ratio: Fraction, reach: int) -> sv.Channel:
    """The geometric mechanism on {0, …, last}; the outputs `reach` outside stand for all beyond them."""
    rows = [[ratio ** abs(i - j) for j in range(-reach, last + reach + 1)] for i in range(last + 1)]
    # Σ c^k over k ≥ 0 is 1/(1-c).
    for row in rows:
        row[0] /= 1 - ratio
        row[-1] /= 1 - ratio
    total = (1 + ratio) / (1 - ratio)
    return sv.Channel([[entry / total for entry in row] for row in rows])


def build() -> Page:
    """Every number of the source's examples beside ours."""
    first = favouring([neighbours(i) for i in range(6)])
    second = sv.Channel([list(row) for row in EXAMPLE_2])
    pairs = chernoff_pairs(first)
    orders = [level_on(second, [(a[i], a[j]) for i, j in SQUARE]) for a in permutations(range(4))]
    printed_row = sum((Fraction(text) for text in (*EXAMPLE_2[0][:3], "1/64", "1/48", "1/48")), Fraction(0))
    entries = [
        Entry(
            "Example 1, security level",
            "3.0012",
            f"{worst_level(first).bits:.4f}",
            "3.0012 is the ratio 0.25/0.0833 before its logarithm; log2 3 = 1.5850.",
        ),
        Entry(
            "Example 1, entries of row 0 above 1/12",
            listed(neighbours(0)),
            listed(described(0)),
            "Noise of ±1/2 rounded down favours two values; the printed matrix favours three.",
        ),
        Entry(
            "Example 2, sum of row 0",
            "1",
            str(printed_row),
            "The fourth entry, printed 1/64, must be 1/24; the rest uses that.",
        ),
        Entry("Example 2, ratio of column 0", "8", f"{2 ** worst_level(second).bits:.4g}"),
        Entry(
            "Example 2, level of privacy on {0,1}², best order of the rows",
            "1",
            f"{min(orders):.4g}",
            "Two individuals: no order of the rows makes it 1-private; on the line of a count it is.",
        ),
        Entry("Example 2, level of privacy on the line", "1", f"{level_on(second, LINE):.4g}"),
        Entry("Remark 4, rate for ε = 1", "0.085", f"{geometric_rate(eps=math.log(2)).bits:.3f}"),
    ]
    rows = [
        ["Example 1", "worst-case level", f"{worst_level(first).bits:.6f}"],
        ["Example 1", "average-case level", f"{average_level(first).bits:.6f}"],
        ["Example 1", "largest Chernoff information", f"{pairs.easiest()[2]:.6f}"],
        ["Example 1", "least Chernoff information", f"{pairs.hardest()[2]:.7f}"],
        ["Example 2", "worst-case level", f"{worst_level(second).bits:.6f}"],
        ["Example 2", "level of privacy on the line", f"{level_on(second, LINE):.6f}"],
        ["Example 2", "on {0,1}², rows in order", f"{level_on(second, SQUARE):.6f}"],
        *[["Remark 4", f"rate, c = {c}", f"{geometric_rate(alpha=c).bits:.7f}"] for c in RATIOS],
    ]
    equal = []
    for last in SIZES:
        for text in RATIOS:
            full, cut = (chernoff_pairs(geometric(last, Fraction(text), reach)) for reach in (20, 0))
            rates = full.hardest()[2], cut.hardest()[2]
            what = f"full and truncated rate, c = {text}"
            rows.append([f"Corollary 1, N = {last}", what, f"{rates[0]:.9f}, {rates[1]:.9f}"])
            closed = geometric_rate(alpha=text).bits
            equal.append(abs(full.bits - cut.bits).max() < 1e-12 and abs(rates[1] - closed) < 1e-12)
    entries.append(
        Entry(
            f"Corollary 1, truncated against full rate, {len(equal)} cases",
            "less in all",
            f"equal in {'all' if all(equal) else sum(equal)}",
            "All columns beyond an end are proportional: merging them loses nothing, for any pair of inputs.",
        )
    )
    return Page(
        "Levels and rates of breaches: Examples 1 and 2, Remark 4, Corollary 1",
        "Boreale and Paolini (2012)",
        ["where", "what (bits)", "found"],
        rows,
        entries,
    )
