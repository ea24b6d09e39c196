"""The file's table over all records, and its noise where that needs no list: cells, sums and maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sievert.channels import NoiseChannel, TableNoise
from sievert.errors import FileError, MechanismError, QueryError
from sievert.files._document import ReleaseModel
from sievert.files._joint_noise import joint_noise
from sievert.ledger import amount
from sievert.mechanisms import Family, NoiseSpec, add_to_table, planar_noise
from sievert.numerics import abbreviated, as_fraction
from sievert.policies import (
    Sensitivity,
    Statistic,
)

if TYPE_CHECKING:
    from sievert.files._scenario import PolicyScenario

__all__ = [
    "ReleasedTable",
    "exact_alpha",
    "finite_eps",
    "may_drop_rows",
    "noise_without_list",
    "released_table",
    "table_noise",
]

# A smaller alpha releases the data itself, for all that anybody could notice.
LEAST_ALPHA = Fraction(1, 10**300)
# Answers of a count or sum, and pairs of an answer and a value of one record, that a list holds: a second of
# work for a question that looks at every entry.
LARGEST_ANSWERS = 1_000
LARGEST_PAIRS = 100_000
# Databases under public knowledge that are listed where counts of groups would do without.
LARGEST_LISTED = 10_000


@dataclass(frozen=True)
class ReleasedTable:
    """A table over all records, how far one record moves it, and whether rows may be left out of it."""

    statistic: Statistic
    sensitivity: Sensitivity
    absence: bool


def released_table(scenario: PolicyScenario) -> ReleasedTable:
    """The table that [query] asks for, with the rows that [release] leaves out."""
    policy = scenario.policy
    statistic = _statistic(scenario)
    drops = may_drop_rows(scenario)
    complete = policy.hides_any_two and not policy.constrained
    if drops and policy.absent is None and not complete:
        raise QueryError(
            "dropping rows changes the table, but secrets does not say how far a dropped row is from the "
            'others; use { use = … } with one of the values, adjacency = "add-remove", or secrets = '
            '"complete" without permitted'
        )
    sensitivity = statistic.sensitivity(policy, absence=drops and policy.absent is None)
    return ReleasedTable(statistic, sensitivity, drops)


def may_drop_rows(scenario: PolicyScenario) -> bool:
    """Whether [release] leaves out some of the rows that do not fit."""
    rules = scenario.document.release or ReleaseModel()
    return "drop" in (rules.missing, rules.unknown, rules.out_of_range, rules.off_grid)


def noise_without_list(scenario: PolicyScenario, family: Family) -> NoiseChannel | None:
    """The noise that a family adds where no list holds the answers and outputs; None where one does."""
    asked, added = scenario.document.query, family.added()
    if asked.is_unlisted:
        return table_noise(scenario, family)
    if added is not None and (not asked.is_table or (not asked.is_histogram and _is_listed(scenario, added))):
        return None
    return table_noise(scenario, family)


def _is_listed(scenario: PolicyScenario, added: NoiseSpec) -> bool:
    """Whether a list holds the answers of a count or sum, and noise on the list is what is drawn."""
    policy = scenario.policy
    if not added.listed or _leaves_list(scenario):
        return False
    try:
        table = scenario.query.statistic(policy)
    except QueryError:  # totals too large for exact arithmetic, which a list of few holds
        return True
    if table is None or (policy.constrained and (policy.known_groups is None or added.clamps)):
        return True
    if policy.constrained:
        return policy.size <= LARGEST_LISTED
    if not added.clamps and table.step.denominator != 1:
        return False  # the list's noise is on the integers, not on all multiples of a fraction
    answers = table.answers_at_most(policy)
    return answers <= LARGEST_ANSWERS and answers * len(policy.values) <= LARGEST_PAIRS


def _leaves_list(scenario: PolicyScenario) -> bool:
    """Whether rows that [release] leaves out lead to answers, or further, than any database of the policy."""
    policy = scenario.policy
    if not may_drop_rows(scenario) or policy.absent is not None:
        return False
    table, sensitivity = scenario.tabulated.statistic, scenario.tabulated.sensitivity
    return (
        table.range(policy) != table.range(policy, True)
        or table.sensitivity(policy).steps != sensitivity.steps
    )


def _statistic(scenario: PolicyScenario) -> Statistic:
    asked, query = scenario.document.query, scenario.query
    if asked.is_table and not asked.is_one_table:
        raise FileError(
            f"{scenario.source}, query: {query.words} is no single table with noise in its cells; ask about "
            "each table in a file of its own, or audit, explain and release them together"
        )
    if not asked.is_table:
        raise FileError(
            f'{scenario.source}, query: {query.words} is not computed over data; use kind = "count", "sum", '
            '"mean", "quantile" or "histogram", or "record" for a release row by row'
        )
    with scenario.at("query"):
        return asked.tables(scenario.policy, scenario.columns, may_drop_rows(scenario))[0].statistic


def table_noise(scenario: PolicyScenario, family: Family | None = None) -> NoiseChannel | None:
    """The noise that [mechanism] (or another family) adds to the table or to places, which a release draws.

    None where the mechanism is a channel on a list.
    """
    family = scenario.mechanism if family is None else family
    if scenario.document.query.is_table and not scenario.document.query.is_one_table:
        return joint_noise(scenario, family, may_drop_rows(scenario), _stated_eps(family))
    if family.per_metre is not None:
        return _on_map(scenario, family.per_metre)
    added = family.added()
    on_table = scenario.document.query.is_table
    return None if added is None or not on_table else _on_cells(scenario, added)


def _stated_eps(family: Family) -> Fraction | None:
    """The ε that a family promises, as the file writes it."""
    return None if family.promised is None else finite_eps(family.promised)


def _on_map(scenario: PolicyScenario, eps: float) -> NoiseChannel | None:
    if scenario.region is None:
        return None
    try:
        return planar_noise(scenario.region, finite_eps(eps))
    except MechanismError as problem:
        raise FileError(f"mechanism.{problem}") from None


def _on_cells(scenario: PolicyScenario, added: NoiseSpec) -> TableNoise | None:
    found, policy = scenario.tabulated, scenario.policy
    table = found.statistic
    limits = None if added.outputs is None else _steps_of(added.outputs, table.step)
    if added.clamps and added.outputs is None:
        if len(table.cells) == 1 and not table.consecutive(policy):
            return None
        limits = table.range(policy, found.absence)
    eps = None if added.eps is None else finite_eps(added.eps)
    alpha = None if added.alpha is None else exact_alpha(added.alpha)
    try:
        absence = found.absence and policy.absent is None
        law = added.law(table, found.sensitivity, eps, alpha, policy=policy, absence=absence)
        return add_to_table(table, law, limits)
    except MechanismError as problem:
        raise FileError(f"mechanism.{problem}") from None


def _steps_of(outputs: Sequence[int], step: Fraction) -> tuple[int, int]:
    low, high = Fraction(min(outputs)) / step, Fraction(max(outputs)) / step
    if low.denominator != 1 or high.denominator != 1:
        raise FileError(f"mechanism.outputs: {min(outputs)} and {max(outputs)} must be multiples of {step}")
    return int(low), int(high)


def finite_eps(value: float) -> Fraction:
    """The file's eps, as written; infinite ones are refused."""
    if not math.isfinite(value):
        raise FileError("mechanism.eps is infinite: the data itself would be released; give a finite eps")
    return amount(value, "mechanism.eps")


def exact_alpha(given: object) -> Fraction:
    """The file's alpha, as written; 0 would release the data itself."""
    rule = f"a release needs a number from {float(LEAST_ALPHA):g} to 1"
    try:
        alpha = as_fraction(str(given) if isinstance(given, float) else given)
    except ValueError:
        raise FileError(f"mechanism.alpha is {abbreviated(given)}; {rule}") from None
    if not LEAST_ALPHA <= alpha <= 1:
        raise FileError(f"mechanism.alpha is {abbreviated(given)}; {rule}")
    return alpha
