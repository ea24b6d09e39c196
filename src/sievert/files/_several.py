"""Several queries of one file, and those that are no single table: their tables, and the noise of each.

Every query gets its share of ε. No pair of values need be the worst for all of them: the shares are scaled up
together until the worst pair costs ε.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sievert.channels import MeanOf, QuantileNoise, SeveralNoise, TableNoise
from sievert.errors import FileError, MechanismError
from sievert.mechanisms import AddedToNumbers, Family, on_cells
from sievert.policies import AskedSeveral, Policy, Tabled

if TYPE_CHECKING:
    from sievert.files._scenario import Scenario

__all__ = ["several_noise"]


def several_noise(scenario: Scenario, family: Family, drops: bool, eps: Fraction | None) -> SeveralNoise:
    """The noise of every table that the file asks for, on one ε."""
    policy, asked = scenario.policy, scenario.document.query
    absence = drops and policy.absent is None
    if isinstance(asked, AskedSeveral):
        queries, shares, titles = asked.parts, asked.shares, asked.titles
    else:
        queries, shares = [asked], [Fraction(1)]
        titles = [asked.name or str(asked.declared())]
    tables: list[Tabled] = []
    parts, names = [], []
    means = []
    with scenario.at("query"):
        for query, share, title in zip(queries, shares, titles, strict=True):
            found = query.tables(policy, scenario.columns, drops)
            if found[0].mean is not None:
                words, (middle, *limits) = query.over(policy, scenario.columns).words, found[0].mean
                ends = limits[0], limits[1]
                means.append(MeanOf(title, words, len(tables), len(tables) + 1, middle, ends))
            tables += found
            parts += [share * table.part for table in found]
            names += [title if len(found) == 1 else f"{title}: {table.words}" for table in found]
    if eps is None:
        raise FileError(
            "mechanism.eps: several queries, means and quantiles share one ε; give eps, not alpha"
        )
    added = _added(family, tables)
    if eps == 0:
        raise FileError("mechanism.eps is 0: nothing would be told; give a positive eps")
    noise = SeveralNoise(_noises(policy, added, tables, parts, eps, absence), names, policy, absence, means)
    cost = noise.joint.cost
    if cost in (0, eps):
        return noise
    scaled = _noises(policy, added, tables, parts, eps * eps / cost, absence)
    return SeveralNoise(scaled, names, policy, absence, means)


def _added(family: Family, tables: list[Tabled]) -> AddedToNumbers | None:
    """What is added to the tables; None where all are quantiles, which the exponential mechanism chooses."""
    added = family.added()
    kind = str(family.declared())
    if all(table.order is not None for table in tables):
        if kind != "exponential":
            raise FileError(
                f'mechanism.kind: is "{kind}", but a quantile is chosen on its grid; use kind = "exponential"'
            )
        return None
    if added is None or added.outputs is not None:
        why = "with outputs " if added is not None else ""
        raise FileError(
            f'mechanism: kind = "{kind}" {why}is no noise for tables over all records; use "geometric", '
            '"truncated-geometric" or "staircase" without outputs (quantiles are chosen by the exponential '
            "mechanism beside them)"
        )
    return added


def _noises(
    policy: Policy,
    added: AddedToNumbers | None,
    tables: list[Tabled],
    parts: list[Fraction],
    eps: Fraction,
    absence: bool,
) -> list[TableNoise | QuantileNoise]:
    found: list[TableNoise | QuantileNoise] = []
    for table, part in zip(tables, parts, strict=True):
        if table.order is not None:
            found.append(_quantile(policy, table, part * eps, absence))
            continue
        assert added is not None
        sensitivity = table.statistic.sensitivity(policy, absence)
        # The interval of a mean needs its two numbers as they were drawn.
        clamps = added.clamps and table.part == 1
        limits = table.statistic.range(policy, absence) if clamps else None
        try:
            law = added.law(table.statistic, sensitivity, part * eps, None, policy=policy, absence=absence)
        except MechanismError as problem:
            raise FileError(f"mechanism.{problem}") from None
        found.append(on_cells(table.statistic, law, limits))
    return found


def _quantile(policy: Policy, table: Tabled, eps: Fraction, absence: bool) -> QuantileNoise:
    """A record that is replaced moves a distance by 1, one that comes or goes by max(q, 1 - q)."""
    assert table.order is not None
    far = max(table.order.q, 1 - table.order.q)
    if policy.constrained:
        raise FileError(
            "query: a quantile under public knowledge moves with several records at once; leave permitted out"
        )
    if policy.absent is not None:
        return QuantileNoise(table.statistic, table.order, eps, far, Fraction(1))
    alone = far if absence else Fraction(1, 2)
    return QuantileNoise(table.statistic, table.order, eps, Fraction(1), alone)
