"""The audit: does the mechanism keep the policy's promise, and what does it give away?"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from sievert.analysis import Attacker
from sievert.channels import Channel, Epsilon
from sievert.errors import FileError, TooLargeError
from sievert.files import PolicyScenario, Scenario, described, load_policy_scenario
from sievert.limits import WorstLeakage, worst_leakage
from sievert.measures import Capacity, RecordLeakage
from sievert.mechanisms import PixelatedLaplaceChannel
from sievert.numerics import abbreviated
from sievert.observations import ReleasesWithin, SimulatedVulnerability
from sievert.policies import Policy
from sievert.questions._attackers import AttackerResult, UnansweredAttacker
from sievert.questions._audit_summary import AuditParts, AuditSummary
from sievert.questions._joint_cost import JointCost, joint_cost
from sievert.questions._leakage_comparison import LeakageComparison, leakage_comparison
from sievert.questions._one_row import rows_of_person
from sievert.questions._person_rows import PersonRows, person_rows
from sievert.questions.acceptance import Check, Promise
from sievert.results import Result
from sievert.spaces import Metric

if TYPE_CHECKING:
    from sievert.files import DocumentsScenario, VectorsScenario
    from sievert.questions.documents import DocumentsAudit
    from sievert.questions.infer import InferenceAnswer
    from sievert.questions.interval import IntervalFacts
    from sievert.questions.vectors import VectorsAudit

__all__ = ["Audit", "audit"]


@dataclass(frozen=True)
class Audit(AuditSummary):
    """Everything an audit found; what does not apply, or is not known, is None.

    Attributes
    ----------
    epsilon : smallest ε for which the mechanism keeps the policy, with its witness
    claimed_eps : ε the file claims (None: no claim, or one that is not a pure ε)
    promise : what the file claims, and whether and how the mechanism keeps it (None: no claim)
    satisfied : whether the claim is kept; where it is a pure ε, or there is none, whether ε is finite too
    leakages : for each gain of the file, what the release changes
    secret : what they are about: the "value" that is released, one "record" when all others are known, or the
        "answer" that all records lead to
    record : one record when all others are known
    database : the whole database, whatever the prior (None: no closed form is known)
    radii : for metric policies, distances and how much the odds between two values so far apart change; on a
        map (`on_map`) metres on the ground between two places, wherever in their cells they lie
    observations : how many releases of the same data
    repeated_eps : total ε of them all for one person, who may own several records
    repeated_guess : best guess about one record after them all, exactly or (`repeated_exact` False) at most
    repeated_method : how it was found, or which bound it is
    worst : what any mechanism with this ε could leak about the database (None: ε is infinite, or the policy
        is too large for it)
    checks : the limits of [accept]
    guess_limit : best guess about one record after infinitely many releases (None: not known)
    releases_within : how many releases keep the guess limit of [accept] (None: no such limit, or not known)
    listed : whether answers and outputs were listed; else the mechanism was seen as noise on a table or map
    steps : how far one record moves the table for one unit of the policy's distance (None: listed)
    exact_eps : ε as a release charges it, never below the true one (None: listed, or ε is infinite)
    proved : whether the certificate that the noise is enough was verified (None: listed, or nothing moves)
    standing : what this mechanism, its promise and any mechanism give away, side by side
    simulated : the best guess after all releases by simulation, beside a bound (None: the guess is exact, or
        there is no simulation); an estimate with a 99.9 % interval, never a bound
    simulated_once : the same after one release
    unanswered : adversaries of the file whose gain is not known, each with the reason
    inference : what the release tells about the secret of [inference] (None: the file has no such table)
    together : what each of several tables costs and how far off it is (None: there is only one)
    interval : what noise on an interval means for real numbers (None: the noise is none of those)
    rows_per_person : how many rows of a person are released one by one; every number is about one of them
    person_rows : what all of them let an attacker guess together (None: a person has one)
    rho : the ρ for one record of noise that keeps no ε (None: it keeps one, or its ρ is not known)
    """

    title: str
    policy: str
    query: str
    mechanism: str
    epsilon: Epsilon
    claimed_eps: float | None
    promise: Promise | None
    satisfied: bool
    leakages: tuple[AttackerResult, ...]
    record: RecordLeakage
    database: Capacity | None
    database_bits: float
    records: int
    radii: tuple[tuple[float, float], ...]
    person_records: int
    observations: int
    repeated_eps: float
    repeated_guess: float
    repeated_exact: bool
    worst: WorstLeakage | None
    checks: tuple[Check, ...]
    guess_limit: float | None = None
    releases_within: ReleasesWithin | None = None
    on_map: bool = False
    listed: bool = True
    steps: Fraction | None = None
    exact_eps: Fraction | None = None
    proved: bool | None = None
    standing: LeakageComparison = field(default_factory=LeakageComparison)
    simulated: SimulatedVulnerability | None = None
    simulated_once: SimulatedVulnerability | None = None
    unanswered: tuple[UnansweredAttacker, ...] = ()
    inference: InferenceAnswer | None = None
    interval: IntervalFacts | None = None
    together: JointCost | None = None
    secret: Literal["value", "record", "answer"] = "answer"
    repeated_method: str = ""
    rho: Fraction | None = None
    rows_per_person: int = 1
    person_rows: PersonRows | None = None

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; inference, interval, together and ρ only where there are any."""
        found = super().to_dict()
        for name in ("inference", "interval", "together", "rho", "person_rows"):
            if getattr(self, name) is None:
                del found[name]
        return found


@overload
def audit(scenario: PolicyScenario | str | Path) -> Audit: ...
@overload
def audit(scenario: DocumentsScenario) -> DocumentsAudit: ...
@overload
def audit(scenario: VectorsScenario) -> VectorsAudit: ...
def audit(scenario: Scenario | str | Path) -> Audit | Result:
    """Audit the mechanism of a file against its policy, adversaries and limits.

    Parameters
    ----------
    scenario : what `sievert.load` read from a file, or the file's path

    Returns
    -------
    Audit
        Whether the promise holds, what one record, the answer and the database give away, and whether each
        limit of `[accept]` is kept. A file with `[documents]` has a DocumentsAudit, one with
        `[vectors]` a VectorsAudit.

    Notes
    -----
    A table with noise in its cells, a sum or a place on a map may have more answers than any list holds: ε
    then comes from the sensitivity, with a verified certificate, and guesses from what one record shows
    through the noise, after any number of releases.

    Cost: O(inputs·outputs) for the channel of the file and each gain, or O(values) where it is noise without
    a list; and one `sv.worst_leakage` of its policy.

    Examples
    --------
    >>> import sievert as sv
    >>> found = sv.audit("examples/census-count.toml")
    >>> found.satisfied, round(found.record.after, 3)
    (True, 0.249)
    """
    if not isinstance(scenario, PolicyScenario):
        other = described(scenario)
        if other is not None:
            from sievert.questions.documents import audit_documents
            from sievert.questions.vectors import audit_vectors

            audit_other: Any = audit_documents if other.table == "documents" else audit_vectors
            return cast("Result", audit_other(other))
        if not isinstance(scenario, str | Path):
            raise FileError(
                f"scenario is {abbreviated(scenario)}; give a Scenario, or the path of a TOML file"
            )
        scenario = load_policy_scenario(scenario)
    view, policy = scenario.analysis, scenario.policy
    parts, found = AuditParts.of(scenario), view.epsilon
    repeated = view.vulnerability(releases=scenario.observations)
    accepted = None if scenario.accept is None else scenario.accept.guess
    limit = view.vulnerability_limit
    leakages, unanswered = parts.findings
    result = Audit(
        title=scenario.title,
        policy=policy.describe(),
        query=scenario.query.words,
        mechanism=view.description,
        epsilon=found,
        claimed_eps=scenario.claimed_eps,
        promise=parts.promise,
        satisfied=parts.satisfied,
        leakages=leakages,
        record=view.vulnerability().as_record(view.first_bits),
        database=view.capacity,
        database_bits=_database_bits(policy),
        records=policy.records,
        radii=_radii(scenario, found),
        person_records=policy.person_records,
        observations=scenario.observations,
        repeated_eps=found.nats * scenario.observations * policy.person_records,
        repeated_guess=repeated.value,
        repeated_exact=repeated.is_exact,
        worst=_worst(policy, found),
        checks=parts.checks,
        guess_limit=limit,
        releases_within=_releases_within(scenario, limit, accepted),
        on_map=scenario.region is not None,
        listed=view.is_listed,
        steps=view.steps,
        exact_eps=view.exact_eps,
        proved=view.is_verified,
        simulated=view.simulate(releases=scenario.observations),
        simulated_once=view.simulate(),
        unanswered=unanswered,
        inference=_inference(scenario),
        interval=_interval(scenario.channel, scenario),
        together=joint_cost(scenario.channel, scenario),
        secret=scenario.gains_about,
        repeated_method=repeated.posterior.method,
        rho=scenario.claimed_rho,
        rows_per_person=rows_of_person(scenario),
        person_rows=person_rows(scenario),
    )
    return replace(result, standing=leakage_comparison(scenario, result))


def _releases_within(
    scenario: PolicyScenario, limit: float | None, accepted: float | None
) -> ReleasesWithin | None:
    """How many releases keep what is accepted, about a person with all records."""
    policy = scenario.policy
    if limit is None or accepted is None:
        return None
    records = 1 if policy.constrained else policy.person_records
    return scenario.analysis.releases_within(accepted, Attacker(records=records))


def _inference(scenario: PolicyScenario) -> InferenceAnswer | None:
    """What the release tells about the secret of [inference]."""
    if scenario.document.inference is None:
        return None
    from sievert.questions.infer import infer

    return infer(scenario)


@singledispatch
def _interval(channel: Channel, scenario: PolicyScenario) -> IntervalFacts | None:
    """What noise on an interval means for real numbers."""
    return None


@_interval.register(PixelatedLaplaceChannel)
def _on_interval(channel: PixelatedLaplaceChannel, scenario: PolicyScenario) -> IntervalFacts | None:
    from sievert.questions.interval import interval_facts

    return interval_facts(scenario)


def _worst(policy: Policy, found: Epsilon) -> WorstLeakage | None:
    """What any mechanism of this ε could leak about the database."""
    if math.isinf(found.nats):
        return None
    with suppress(TooLargeError):
        return worst_leakage(policy, found.nats)
    return None


def _database_bits(policy: Policy) -> float:
    """log2 of the number of possible databases."""
    if policy.constrained:
        return math.log2(policy.size)
    return policy.records * math.log2(len(policy.values))


def _radii(scenario: PolicyScenario, found: Epsilon) -> tuple[tuple[float, float], ...]:
    """Distance and odds factor for a metric policy: nearest neighbours, half way, everything."""
    metric, region = scenario.policy.secrets, scenario.region
    if not isinstance(metric, Metric) or math.isinf(found.nats):
        return ()
    if region is not None:
        least, greatest = region.cell, region.cell * math.hypot(*(side - 1 for side in region.shape))
        radii = sorted({least, greatest / 2, greatest}) if greatest > 0 else []
        return tuple((metres, found.odds(region.cells_apart(metres))) for metres in radii)
    nearest, furthest = _extremes(metric)
    radii = sorted({nearest, furthest / 2, furthest}) if furthest > 0 else []
    return tuple((radius, found.odds(radius)) for radius in radii)


def _extremes(metric: Metric) -> tuple[float, float]:
    """The least and the greatest positive distance; 0 where there is none, or they are too many to list."""
    try:
        matrix = metric.matrix
    except TooLargeError:
        return 0.0, 0.0
    positive = matrix[(matrix > 0) & (matrix < math.inf)]
    return (float(positive.min()), float(positive.max())) if positive.size else (0.0, 0.0)
