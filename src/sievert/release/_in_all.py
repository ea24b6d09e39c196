"""What all releases of a ledger give away together: ε adds up, and so bounds what anybody can guess."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sievert.ledger import Ledger, Relation
from sievert.limits.promises import ApproximateClaim
from sievert.measures import RecordLeakage
from sievert.policies import Policy
from sievert.questions import promised_guess, record_belief
from sievert.release._plan import Plan
from sievert.release._relations import relation_of
from sievert.results import Result

__all__ = ["InAll", "in_all"]


@dataclass(frozen=True)
class InAll(Result):
    """What several releases give away together.

    Attributes
    ----------
    releases : how many (None: as many as the budget allows)
    eps : what they cost each person in all
    guess : best guess about one record after them (None: no single number)
    exact : whether the guess is exact; otherwise an upper bound, by ε alone
    """

    releases: int | None
    eps: Fraction
    guess: float | None
    exact: bool


def in_all(plan: Plan, ledger: Ledger, eps: Fraction, record: RecordLeakage | None) -> tuple[InAll, InAll]:
    """After this release and the earlier ones of its ledger, and when the whole budget is spent."""
    total = ledger.spent + eps
    count = len(ledger.entries) + 1
    if count == 1 and record is not None:
        together = InAll(1, total, record.after, not record.is_bound)
    else:
        together = InAll(count, total, _at_most(plan, ledger.relation, total), False)
    whole = ledger.budget.person
    return together, InAll(None, whole, _at_most(plan, ledger.relation, whole), False)


def _at_most(plan: Plan, relation: Relation | None, total: Fraction) -> float | None:
    """What any releases of so much ε in all, for the pairs of the ledger, let anybody guess."""
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
    # Not below the sum, whatever is lost by rounding.
    claim = ApproximateClaim(math.nextafter(float(total), math.inf))
    found = promised_guess(claim, target, record_belief(plan.scenario))
    return None if found is None else found[0].value
