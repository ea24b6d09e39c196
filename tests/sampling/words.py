"""First words and floors of tables, checked against ball arithmetic."""

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import flint
import numpy as np

from sievert.sampling import Ratio

# What a table answers where a word alone does not decide.
UNDECIDED = np.iinfo(np.int64).min


Below = Callable[[int], flint.arb]


LEVELS = [
    *(Ratio(eps=F(eps)) for eps in ("1/100", "1/10", "1", "5", "7/5", "20", "100")),
    *(Ratio(alpha=F(alpha)) for alpha in ("1/2", "1/3", "99/100")),
]


def arb(value: F | int) -> flint.arb:
    return flint.arb(flint.fmpq(F(value).numerator, F(value).denominator))


def check_first_words(table: Any, bits: int, below: Below) -> int:
    """How many words are answered although their cell does not lie inside the outcome's interval."""
    outcomes = table.outcomes(bits)
    wrong = 0
    starts = np.flatnonzero(np.diff(outcomes, prepend=UNDECIDED + 1))
    for start, stop in zip(starts, [*starts[1:], len(outcomes)], strict=True):
        value = int(outcomes[start])
        if value == UNDECIDED:
            continue
        # All words from start to stop - 1 answer the same; their cells make one interval.
        inside = below(value - 1) <= F_(int(start), bits) and F_(int(stop), bits) <= below(value)
        wrong += 0 if inside else int(stop - start)
    return wrong


def F_(numerator: int, bits: int) -> flint.arb:
    return flint.arb(numerator) / flint.arb(2) ** bits


def check_floors(table: Any, below: Below) -> int:
    """How many floors violate c ≤ 2^64·F ≤ c + 2, the words c and c + 1 being undecided."""
    scale = flint.arb(2) ** 64
    wrong = 0
    rising = table.values[-1] > table.values[0]
    for c, value in zip(table.floors.tolist(), table.values[:-1].tolist(), strict=True):
        # Where outcomes fall with the prefix, the boundary after `value` is P(outcome ≥ value).
        scaled = below(value) * scale if rising else (1 - below(value - 1)) * scale
        wrong += not (scaled >= c and scaled <= c + 2)
    return wrong
