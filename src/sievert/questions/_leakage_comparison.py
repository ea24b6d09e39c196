"""Which "at most" is which: what this mechanism gives away, what its promise allows, what any could.

The first is a property of the file's mechanism, the second the most over all mechanisms that keep the same
promise, the third what is there to be given away. Each number is exact, or an upper bound and marked so.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from sievert.arrays import FloatArray
from sievert.errors import SievertError
from sievert.files import PolicyScenario
from sievert.limits import MEETS, fast_guess_bound, grid_of, least_guess, worst_leakage
from sievert.limits.promises import LARGEST_RELEASES, ApproximateClaim, Claim, claim_of
from sievert.measures import record_leakage
from sievert.numerics import bounded_percent, in_bits
from sievert.observations import SimulatedVulnerability
from sievert.policies import Policy
from sievert.questions._beside import finely
from sievert.questions.acceptance import record_belief
from sievert.results import Result

if TYPE_CHECKING:
    from sievert.questions._audit_summary import AuditSummary
    from sievert.questions.audit import Audit

__all__ = [
    "Amount",
    "LeakageComparison",
    "LeakageComparisonRow",
    "guess_rows",
    "guess_under_claim",
    "leakage_comparison",
]

# With more values the promise's guess is not solved for but bounded by ε alone; a uniform belief is quicker.
LARGEST_SOLVED, LARGEST_UNIFORM = 60, 1000


@dataclass(frozen=True)
class Amount(Result):
    """A number, exact or (`exact` False) an upper bound, with what a simulation finds beside it."""

    value: float
    exact: bool = True
    simulated: SimulatedVulnerability | None = None


@dataclass(frozen=True)
class LeakageComparisonRow(Result):
    """One thing that may be given away, and how much of it.

    Attributes
    ----------
    what : in words
    unit : "probability" of a right guess, or "bits"
    before : without a release
    mechanism : by the mechanism of the file (None: not known)
    promise : by any mechanism with its promise, at most (None: not known)
    anything : by any mechanism, when nothing is promised
    """

    what: str
    unit: Literal["probability", "bits"]
    before: float
    mechanism: Amount | None
    promise: Amount | None
    anything: Amount

    def texts(self) -> list[str]:
        """The row as cells of a table, with "at most" where a number is a bound."""
        amounts = (Amount(self.before), self.mechanism, self.promise, self.anything)
        return [self.what, *(self._text(amount) for amount in amounts)]

    def simulated_texts(self) -> list[str] | None:
        """Cells below the row: what a simulation finds where the mechanism's number is a bound."""
        drawn = None if self.mechanism is None else self.mechanism.simulated
        if drawn is None:
            return None
        return ["  by simulation", "", f"{finely(drawn.lower)} to {finely(drawn.upper)}", "", ""]

    def _text(self, amount: Amount | None) -> str:
        if amount is None:
            return "not known"
        if self.unit == "probability":
            return bounded_percent(amount.value, amount.exact)
        shown = in_bits(amount.value)
        return shown if amount.exact else f"at most {shown}"


@dataclass(frozen=True)
class LeakageComparison(Result):
    """Best guess about one record, after all releases, and the whole database: each by whom, exact or not.

    `promise` is the promise in words.
    """

    promise: str = ""
    rows: tuple[LeakageComparisonRow, ...] = ()

    def __str__(self) -> str:
        if not self.rows:
            return "Nothing is compared."
        first = self.rows[0].texts()
        return f"{first[0]}: {first[2]} by this mechanism, {first[3]} by any with {self.promise}."

    @property
    def header(self) -> list[str]:
        """Above the cells of the rows."""
        return ["", "before", "this mechanism", "this promise", "any mechanism"]


def leakage_comparison(scenario: PolicyScenario, audit: Audit) -> LeakageComparison:
    """Put what an audit found beside what its promise allows and what any mechanism could give away."""
    claim, rows = _claim(scenario, audit, 1), guess_rows(scenario, audit)
    capacity = audit.database
    own = None if capacity is None else Amount(float(capacity.bits), capacity.gap == 0)
    whole = "the value, any guess" if audit.records == 1 else "the whole database"
    allowed = _promised_database(scenario, audit)
    rows.append(LeakageComparisonRow(whole, "bits", 0.0, own, allowed, Amount(audit.database_bits)))
    return LeakageComparison("no finite ε" if claim is None else claim.words, tuple(rows))


def guess_rows(scenario: PolicyScenario, audit: AuditSummary) -> list[LeakageComparisonRow]:
    """The best guess about one record after one release, and where there are several after them all."""
    one = "the value" if audit.records == 1 else "one record"
    record = audit.record
    certain = Amount(1.0)
    claim = _claim(scenario, audit, 1)
    rows = [
        LeakageComparisonRow(
            f"guess about {one}",
            "probability",
            record.before,
            Amount(record.after, not record.is_bound, audit.simulated_once),
            _promised_guess(scenario, claim, record.before),
            certain,
        )
    ]
    if audit.observations > 1:
        rows.append(
            LeakageComparisonRow(
                f"guess after {audit.observations} releases",
                "probability",
                record.before,
                Amount(audit.repeated_guess, audit.repeated_exact, audit.simulated),
                _after_all(scenario, audit),
                certain,
            )
        )
    return rows


def _after_all(scenario: PolicyScenario, audit: AuditSummary) -> Amount | None:
    """The best guess that the promise allows after all releases; where ε is merely added up, a bound."""
    claim = _claim(scenario, audit, audit.observations)
    found = _promised_guess(scenario, claim, audit.record.before)
    composed = claim is None or getattr(claim, "releases", 1) == audit.observations
    return found if found is None or composed else replace(found, exact=False)


def _claim(scenario: PolicyScenario, audit: AuditSummary, releases: int) -> Claim | None:
    """What the file promises, or else what its mechanism keeps; None where that is no finite ε."""
    stated = scenario.claimed
    if stated is not None and audit.claimed_eps is None:
        return claim_of(**stated, releases=releases)
    eps = audit.epsilon.nats if audit.claimed_eps is None else audit.claimed_eps
    if math.isinf(eps):
        return None
    # Of more releases than are composed one by one the ε is added up.
    return (
        ApproximateClaim(eps * releases)
        if releases > LARGEST_RELEASES
        else ApproximateClaim(eps, 0.0, releases)
    )


def _promised_guess(scenario: PolicyScenario, claim: Claim | None, before: float) -> Amount | None:
    """The best guess about one record over all mechanisms that keep the claim."""
    if claim is None:
        return Amount(1.0)
    found = guess_under_claim(claim, scenario.policy, record_belief(scenario))
    return None if found is None or not math.isclose(found[1], before, rel_tol=1e-9) else found[0]


def guess_under_claim(claim: Claim, policy: Policy, belief: FloatArray | None) -> tuple[Amount, float] | None:
    """The best guess that a claim allows, and the blind one; among many values by ε alone (None: unknown)."""
    most = LARGEST_UNIFORM if belief is None else LARGEST_SOLVED
    with suppress(SievertError):
        few = policy.hides_any_two or policy.constrained or len(policy.values) <= most
        # On a map bounds are sums over its cells, however many.
        if few or grid_of(policy.secrets) is not None:
            found, blind = least_guess(claim, policy, belief)
            return Amount(found.upper, found.lower >= found.upper * (1 - MEETS)), blind
    known = [_by_eps(claim, policy, belief)] if isinstance(claim, ApproximateClaim) and not claim.lost else []
    with suppress(SievertError):
        quick = fast_guess_bound(claim, policy, belief)
        blind = 1 / len(policy.values) if belief is None else float(belief.max())
        known.append(None if quick is None else (Amount(quick.upper, False), blind))
    found_all = [item for item in known if item is not None]
    return min(found_all, key=lambda item: (item[0].value, not item[0].exact), default=None)


def _by_eps(
    claim: ApproximateClaim, policy: Policy, belief: FloatArray | None
) -> tuple[Amount, float] | None:
    """What ε alone allows, which adds up over releases: the least of what it leaves of the odds of any two
    values and of the capacity of one record, which some mechanism reaches for a uniform belief."""
    blind = 1 / len(policy.values) if belief is None else float(belief.max())
    eps, found = claim.eps * claim.releases, []
    with suppress(SievertError):
        # Alvim et al., Prop 21.
        found.append(Amount(record_leakage(eps, policy, prior=belief).after, False))
    with suppress(SievertError):
        worst = worst_leakage(policy, eps, individual=True)
        reached = belief is None and claim.releases == 1 and worst.exact is not None
        found.append(Amount(min(1.0, worst.upper.factor * blind), reached))
    return (min(found, key=lambda amount: (amount.value, not amount.exact)), blind) if found else None


def _promised_database(scenario: PolicyScenario, audit: Audit) -> Amount | None:
    """The most that any mechanism of the promised ε gives away about the database."""
    worst, eps = audit.worst, audit.claimed_eps
    if eps is not None and not math.isclose(eps, audit.epsilon.nats, rel_tol=1e-9):
        worst = None
        with suppress(SievertError):
            worst = worst_leakage(scenario.policy, eps)
    elif eps is None and scenario.document.claim is not None:
        return None
    return None if worst is None else Amount(worst.upper.bits, worst.exact is not None)
