"""What was cut off to fit: values of the data before they are added up, noisy numbers after.

Clamping costs nothing, but it moves numbers: whoever reads a released table has to know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sievert.files import UseValue
from sievert.numerics import number, upwards
from sievert.release._plan import Plan

__all__ = ["clamping", "note"]


def clamping(plan: Plan) -> list[str]:
    """Sentences for the reader of the release; none where every value and every noisy number is kept."""
    return [*_data(plan), *_noisy_numbers(plan)]


def note(plan: Plan) -> str:
    """The same in a few words, for a column of the released table."""
    words = [words for rule, words in _treatments(plan) if rule]
    if _limits(plan) is not None:
        low, high = _limits(plan)  # type: ignore[misc]
        words.append(f"noisy numbers cut off at {low} and {high}")
    return "; ".join(words)


def _treatments(plan: Plan) -> Iterator[tuple[bool, str]]:
    rules: Any = plan.rules
    what = "places outside the region" if plan.places is not None else "values out of range"
    yield rules.out_of_range == "clamp", f"{what} counted as the nearest one inside"
    yield rules.off_grid == "nearest", "values between two declared ones rounded to the nearer"
    yield any(isinstance(rule, UseValue) for rule in (rules.missing, rules.unknown)), "gaps filled in"
    drops = (rules.missing, rules.unknown, rules.out_of_range, rules.off_grid)
    yield "drop" in drops, "rows that do not fit left out"


def _data(plan: Plan) -> Iterator[str]:
    """Intervals are for the table of the values as they were counted, not as they stand in the data."""
    changed = [words for rule, words in _treatments(plan) if rule]
    if changed and plan.central:
        yield (
            f"{_capital(', '.join(changed))}: low and high are for the table of what was counted, not of "
            "what stands in the data."
        )
    elif plan.rules.out_of_range == "clamp":
        yield f"{_capital(changed[0])}, before noise is drawn."


def _noisy_numbers(plan: Plan) -> Iterator[str]:
    limits = _limits(plan)
    if limits is None:
        return
    sentence = f"Noisy numbers are cut off at {limits[0]} and {limits[1]}"
    noise = plan.noise
    if noise is not None and 0 < noise.law.mean_error < math.inf:
        # E max(0, Z) = E |Z|/2 steps for symmetric noise Z at an end of the range.
        bias = float(noise.statistic.step) * noise.law.mean_error / 2
        sentence += f", so a true {limits[0]} comes out {upwards(bias, 3)} too high on average"
        if plan.table is not None and len(plan.table.cells) > 1:
            sentence += ", in every empty cell, and totals over many cells too high"
    yield f'{sentence}; kind = "geometric" leaves them as they are, below 0 too.'


def _limits(plan: Plan) -> tuple[str, str] | None:
    """Where noisy numbers of a table are cut off."""
    noise, table = plan.noise, plan.table
    if not plan.central or table is None:
        return None
    if noise is not None:
        found = noise.limits
    else:
        added = plan.scenario.mechanism.added()
        if added is None or not added.clamps:
            return None
        found = table.range(plan.scenario.policy)
    return None if found is None else (number(found[0] * table.step), number(found[1] * table.step))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
