"""What a release gives away, alone and with all others of its ledger.

ε adds up whatever is released, and so bounds what anybody can guess; of a ledger in ρ the limit does, which
was fixed before. Where a ledger has releases of one file only, the guess after all of them is the mechanism's
own, and mostly far lower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sievert.analysis import Analysis
from sievert.channels import PlanarNoise
from sievert.errors import SievertError
from sievert.ledger import EPS, Currency, Ledger, Relation
from sievert.limits.promises import ApproximateClaim, Claim, ZeroConcentratedClaim
from sievert.numerics import exp_or_infinity
from sievert.observations import SimulatedVulnerability
from sievert.policies import Policy
from sievert.questions import (
    PersonRows,
    TableCost,
    guess_beside,
    guess_under_claim,
    joint_cost,
    person_rows,
    record_belief,
)
from sievert.release._budget_account import Cost, in_its_unit
from sievert.release._neighbour_relations import relation_of
from sievert.release._plan import Plan
from sievert.results import Result

__all__ = ["CumulativeEffect", "ReleaseEffect", "effect_of", "totals_in_their_unit"]


# Releases up to which the mechanism's own guess is followed.
MOST_RELEASES = 10_000


@dataclass(frozen=True)
class CumulativeEffect(Result):
    """What several releases give away together.

    Attributes
    ----------
    releases : how many (None: as many as the budget allows)
    eps : what they cost each person in all, in the ledger's currency
    guess : best guess about one record after them (None: no single number)
    exact : whether the guess is exact; otherwise an upper bound
    simulated : beside a bound on this mechanism's guess, what a simulation finds (None: none was made)
    """

    releases: int | None
    eps: Fraction
    guess: float | None
    exact: bool
    simulated: SimulatedVulnerability | None = None

    @property
    def words(self) -> str:
        """The guess in words; "" where there is no single number."""
        return "" if self.guess is None else guess_beside(self.guess, self.exact, self.simulated)


@dataclass(frozen=True)
class ReleaseEffect(Result):
    """How far a release is from the truth, and what it gives away. Nothing in it comes from the data.

    Attributes
    ----------
    central : whether one table is released, or rows one by one
    unit : what ε is counted for
    noise_sd, expected_error, radius, confidence, kept : as of a `Preview`
    guess_before, guess_after, guess_is_bound, factors : as of a `Preview`
    together : this release and the earlier ones of the ledger; None without a ledger
    alike : as many releases of this file as the budget allows; None where others were released
    exhausted : what any releases of the whole budget allow; None without a ledger
    symbol : of the ledger's currency, ε or ρ
    tables : what each of several tables costs, and how far off it is
    guess_simulated : beside a bound on the guess afterwards, what a simulation finds
    person_rows : what all rows of a person let an attacker guess together (None: a person has one)
    """

    central: bool
    unit: str
    noise_sd: float | None
    expected_error: float | None
    radius: Fraction | None
    confidence: float
    kept: float | None
    guess_before: float | None
    guess_after: float | None
    guess_is_bound: bool
    factors: tuple[tuple[float, float], ...]
    together: CumulativeEffect | None = None
    alike: CumulativeEffect | None = None
    exhausted: CumulativeEffect | None = None
    symbol: str = "ε"
    tables: tuple[TableCost, ...] = ()
    guess_simulated: SimulatedVulnerability | None = None
    person_rows: PersonRows | None = None

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; a person's rows only where there are several."""
        found = totals_in_their_unit(super().to_dict(), self.symbol)
        if self.person_rows is None:
            del found["person_rows"]
        return found


def totals_in_their_unit(found: dict[str, Any], symbol: str) -> dict[str, Any]:
    """Plain data of an effect, with what several releases cost under the name of its unit."""
    for key in ("together", "alike", "exhausted"):
        if found[key] is not None:
            found[key] = in_its_unit(found[key], symbol)
    return found


def effect_of(plan: Plan, ledger: Ledger | None, cost: Cost | None, counted: bool = False) -> ReleaseEffect:
    """What a release does, alone and with all others of its ledger; `counted`: it is among these already."""
    errors, view = plan.errors, _view(plan)
    guess = None if view is None else view.vulnerability()
    found = ReleaseEffect(
        plan.central,
        plan.unit,
        errors.sd,
        errors.mean,
        errors.radius,
        plan.rules.confidence,
        errors.kept,
        None if guess is None else guess.prior,
        None if guess is None else guess.value,
        guess is not None and not guess.is_exact,
        _factors(plan),
        tables=_tables(plan),
        guess_simulated=None if view is None else view.simulate(),
        person_rows=None if view is None else person_rows(plan.scenario),
    )
    if ledger is None or cost is None:
        return found
    together, alike, exhausted = _in_all(plan, ledger, cost, view, counted)
    symbol = ledger.budget.currency.symbol
    return replace(found, together=together, alike=alike, exhausted=exhausted, symbol=symbol)


def _tables(plan: Plan) -> tuple[TableCost, ...]:
    found = joint_cost(plan.channel, plan.scenario)
    return () if found is None else found.tables


def _view(plan: Plan) -> Analysis | None:
    """One record, or one place; None on a map through any other channel than planar noise."""
    if plan.places is not None and not isinstance(plan.places.channel, PlanarNoise):
        return None
    return plan.scenario.analysis


def _factors(plan: Plan) -> tuple[tuple[float, float], ...]:
    """Metres on the ground, and how much the odds between two places so far apart can change."""
    if plan.places is None or not plan.eps:
        return ()
    eps, region = float(plan.eps), plan.places.region
    apart = sorted({float(f"{factor / eps:.1g}") for factor in (0.5, 1, 2)})
    return tuple((metres, exp_or_infinity(eps * region.cells_apart(metres))) for metres in apart)


def _in_all(
    plan: Plan, ledger: Ledger, cost: Cost, view: Analysis | None, counted: bool
) -> tuple[CumulativeEffect, CumulativeEffect | None, CumulativeEffect]:
    """After this release and the earlier ones of its ledger, and when the whole budget is spent: on releases
    of this file, where there was no other, and on any."""
    others = ledger.totals.file not in ("", plan.digest)
    count, total, pure = ledger.totals.releases, ledger.spent, ledger.eps_spent
    if not counted:
        count, total = count + 1, total + cost.charged
        more = Fraction(0) if cost.plan is not None else cost.eps
        pure = None if pure is None or more is None else pure + more
    whole = ledger.budget.limit
    limit: list[Claim] = [_claim(ledger.budget.currency, whole)]
    sums = [] if pure is None else [_claim(EPS, pure)]
    together = CumulativeEffect(count, total, _at_most(plan, ledger.relation, [*limit, *sums]), False)
    exhausted = CumulativeEffect(None, whole, _at_most(plan, ledger.relation, limit), False)
    if others or view is None or plan.owned > 1 or not cost.amount:
        return together, None, exhausted
    most = int(whole / cost.amount)
    own = CumulativeEffect(most, most * cost.amount, exhausted.guess, False)
    return _own(view, together), _own(view, own), exhausted


def _claim(currency: Currency, total: Fraction) -> Claim:
    """What a total promises; not below the sum, whatever is lost by rounding."""
    level = math.nextafter(float(total), math.inf)
    return ApproximateClaim(level) if currency is EPS else ZeroConcentratedClaim(level)


def _own(view: Analysis, bound: CumulativeEffect) -> CumulativeEffect:
    """The guess after so many releases of this mechanism, never above what their ε allows."""
    if bound.releases is None or not 1 <= bound.releases <= MOST_RELEASES:
        return bound
    count = bound.releases
    with suppress(SievertError):
        found = view.vulnerability(releases=count)
        if found.is_exact or bound.guess is None or found.value < bound.guess:
            bound = replace(bound, guess=found.value, exact=found.is_exact)
        return replace(bound, simulated=None if bound.exact else view.simulate(releases=count))
    return bound


def _at_most(plan: Plan, relation: Relation | None, claims: Sequence[Claim]) -> float | None:
    """What any releases that keep these claims, for the pairs of the ledger, let anybody guess."""
    if plan.places is not None:
        return None
    policy = plan.scenario.policy
    own = relation_of(plan)
    target: Policy | None = None
    if relation is None or own.same_pairs(relation):
        target = policy
    elif relation.is_any_two:
        target = Policy.differential(policy.values, 1)
    if target is None:
        return None
    found = [guess_under_claim(claim, target, record_belief(plan.scenario)) for claim in claims]
    return min((guess[0].value for guess in found if guess is not None), default=None)
