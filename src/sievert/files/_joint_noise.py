"""Several queries of one file, and those that are no single table: their tables, and the noise of each.

Every query gets its share of ε, or of ρ. No pair of values need be the worst for all of them: the shares are
scaled up together until the worst pair costs all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING

from sievert.channels import DerivedMean, JointNoise, QuantileNoise, TableNoise
from sievert.errors import FileError, MechanismError
from sievert.ledger import largest_rho
from sievert.limits import keeps
from sievert.mechanisms import Family, GaussianNoiseSpec, NoiseSpec, add_to_table
from sievert.policies import Policy, QueryListConfig, QueryTable, joint_moves, require_parts

if TYPE_CHECKING:
    from sievert.files._scenario import PolicyScenario

__all__ = ["joint_noise"]

# ε of a quantile is rounded down to such a part; a search for ρ at ε and δ ends after so many halvings.
ROUNDED_DOWN = 10**12
HALVINGS = 20
# A δ that is summed in floats stays so much below the limit.
ROUNDING = 1e-9


@dataclass(frozen=True)
class _Asked:
    """The tables that a file asks for, with what each gets of the budget."""

    policy: Policy
    absence: bool
    tables: list[QueryTable]
    parts: list[Fraction]
    names: list[str]
    means: list[DerivedMean]
    shared: bool

    def noise(self, parts: list[TableNoise | QuantileNoise]) -> JointNoise:
        """The noise of all tables together."""
        return JointNoise(parts, self.names, self.policy, self.absence, self.means)

    @property
    def has_quantile(self) -> bool:
        return any(table.order is not None for table in self.tables)


def joint_noise(scenario: PolicyScenario, family: Family, drops: bool, eps: Fraction | None) -> JointNoise:
    """The noise of every table that the file asks for, on one ε or ρ."""
    asked = _asked(scenario, drops)
    try:
        return _shared(_added(family, asked.tables), asked, eps)
    except MechanismError as problem:
        raise FileError(f"mechanism.{problem}") from None


def _asked(scenario: PolicyScenario, drops: bool) -> _Asked:
    policy, asked = scenario.policy, scenario.document.query
    if isinstance(asked, QueryListConfig):
        queries, shares, titles = asked.parts, asked.shares, asked.titles
    else:
        queries, shares = [asked], [Fraction(1)]
        titles = [asked.name or str(asked.declared())]
    found = _Asked(
        policy,
        drops and policy.absent is None,
        [],
        [],
        [],
        [],
        any(query.share is not None for query in queries),
    )
    with scenario.at("query"):
        require_parts(policy, scenario.columns)
        for query, share, title in zip(queries, shares, titles, strict=True):
            tables = query.tables(policy, scenario.columns, drops)
            if tables[0].mean is not None:
                words, (middle, *limits) = query.over(policy, scenario.columns).words, tables[0].mean
                place, ends = len(found.tables), (limits[0], limits[1])
                found.means.append(DerivedMean(title, words, place, place + 1, middle, ends))
            found.tables.extend(tables)
            found.parts.extend(share * table.part for table in tables)
            found.names.extend(title if len(tables) == 1 else f"{title}: {t.words}" for t in tables)
    return found


def _added(family: Family, tables: list[QueryTable]) -> NoiseSpec | None:
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
            '"truncated-geometric", "staircase" or "gaussian" without outputs (quantiles are chosen by the '
            "exponential mechanism beside them)"
        )
    return added


@singledispatch
def _shared(added: NoiseSpec | None, asked: _Asked, eps: Fraction | None) -> JointNoise:
    """Shares of ε."""
    if eps is None:
        raise FileError(
            "mechanism.eps: several queries, means and quantiles share one ε; give eps, not alpha"
        )
    if eps == 0:
        raise FileError("mechanism.eps is 0: nothing would be told; give a positive eps")
    noise = asked.noise(_of_eps(added, asked, eps))
    cost = noise.joint.cost
    return noise if cost in (0, eps) else asked.noise(_of_eps(added, asked, eps * eps / cost))


def _of_eps(added: NoiseSpec | None, asked: _Asked, eps: Fraction) -> list[TableNoise | QuantileNoise]:
    policy, absence = asked.policy, asked.absence
    found: list[TableNoise | QuantileNoise] = []
    for table, part in zip(asked.tables, asked.parts, strict=True):
        if table.order is not None:
            found.append(_quantile(policy, table, part * eps, absence))
            continue
        assert added is not None
        sensitivity = table.statistic.sensitivity(policy, absence)
        # The interval of a mean needs its two numbers as they were drawn.
        clamps = added.clamps and table.part == 1
        limits = table.statistic.range(policy, absence) if clamps else None
        law = added.law(table.statistic, sensitivity, part * eps, None, policy=policy, absence=absence)
        found.append(add_to_table(table.statistic, law, limits))
    return found


# ── Gaussian noise: shares of ρ ─────────────────────────────────────────────────────────────────────────────


@_shared.register
def _gaussian(added: GaussianNoiseSpec, asked: _Asked, eps: Fraction | None) -> JointNoise:
    """By σ the same in every table; by ρ, or by ε and δ, in shares of ρ."""
    if added.sigma is not None:
        return _of_sigma(added, asked)
    if added.rho is not None:
        return _of_rho(added, asked, added.rho)
    assert added.level is not None and added.delta is not None
    return _calibrated(added, asked, added.level, added.delta)


def _of_sigma(added: GaussianNoiseSpec, asked: _Asked) -> JointNoise:
    if asked.has_quantile:
        raise FileError(
            "mechanism.sigma: a quantile is chosen on its grid and has no σ; give rho, of which each query "
            "gets its share"
        )
    if asked.shared:
        raise FileError(
            "mechanism.sigma: is the noise of every table alike, so that shares say nothing; leave out every "
            "share, or give rho, of which each query gets its share"
        )
    policy, absence = asked.policy, asked.absence
    tables = [table.statistic for table in asked.tables]
    laws = [
        added.law(t, t.sensitivity(policy, absence), None, None, policy=policy, absence=absence)
        for t in tables
    ]
    return asked.noise([add_to_table(table, law) for table, law in zip(tables, laws, strict=True)])


def _of_rho(added: GaussianNoiseSpec, asked: _Asked, rho: Fraction) -> JointNoise:
    """Scaled up as shares of ε are; ρ of a quantile grows more slowly than its share, and stays below."""
    noise = asked.noise(_by_shares(added, asked, rho))
    cost = noise.joint_rho.cost
    return noise if cost in (0, rho) else asked.noise(_by_shares(added, asked, rho * rho / cost))


def _by_shares(added: GaussianNoiseSpec, asked: _Asked, rho: Fraction) -> list[TableNoise | QuantileNoise]:
    found: list[TableNoise | QuantileNoise] = []
    for table, part in zip(asked.tables, asked.parts, strict=True):
        if table.order is not None:
            # ρ ≤ ε²/8 for losses that span ε.
            root = math.isqrt(math.floor(8 * part * rho * ROUNDED_DOWN**2))
            found.append(_quantile(asked.policy, table, Fraction(root, ROUNDED_DOWN), asked.absence))
        else:
            law = added.of_rho(table.statistic, part * rho, asked.policy, asked.absence)
            found.append(add_to_table(table.statistic, law))
    return found


def _calibrated(added: GaussianNoiseSpec, asked: _Asked, eps: Fraction, delta: Fraction) -> JointNoise:
    """From the ρ that ε and δ surely allow up to the largest at which δ(ε) of every move is kept.

    δ need not fall with σ: what is certain is the noise that is used, not that it is least.
    """
    policy = asked.policy
    if policy.is_metric or policy.constrained:
        raise FileError(
            "mechanism.eps with delta: on distances, and under public knowledge, δ has no closed form; give "
            "rho, of which each query gets its share"
        )
    moves = joint_moves(policy, [table.statistic for table in asked.tables], asked.absence)

    def kept(noise: JointNoise) -> bool:
        return keeps([noise.cells(move) for move in moves], float(eps), float(delta) / (1 + ROUNDING))

    low = largest_rho(eps, delta)
    high, found = 2 * low, _of_rho(added, asked, low)
    for _ in range(HALVINGS):
        middle = Fraction(math.floor((low + high) / 2 * ROUNDED_DOWN**2), ROUNDED_DOWN**2)
        tried = _of_rho(added, asked, middle)
        if kept(tried):
            low, found = middle, tried
        else:
            high = middle
    return found


def _quantile(policy: Policy, table: QueryTable, eps: Fraction, absence: bool) -> QuantileNoise:
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
