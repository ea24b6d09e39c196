"""A claim of privacy in sentences: what it lets anybody do to one person, and whether that is accepted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sievert.channels import Channel
from sievert.channels.divergences import delta_curve, renyi_curve, smallest_epsilon
from sievert.errors import FileError, TooLargeError
from sievert.limits import MEETS, explain_claim
from sievert.limits.promises import ApproximateClaim, Claim, claim_of
from sievert.numerics import bounded_percent, in_percent
from sievert.questions._one_row import one_row, rows_of_person
from sievert.questions.acceptance import (
    CLAIM_TOLERANCE,
    Check,
    Promise,
    kept_promise,
    record_belief,
)
from sievert.results import Result
from sievert.spaces import Metric

if TYPE_CHECKING:
    from sievert.files import AcceptModel, PolicyScenario
    from sievert.limits import Explanation, Unknown, WeakestClaim
    from sievert.policies import Answers

__all__ = [
    "OTHER_NUMBERS",
    "ExplainAnswer",
    "MechanismCurve",
    "NoiseNeeded",
    "explain_file",
    "file_claim",
    "report_of",
    "stated_claim",
    "weakest_claim_for_file",
    "weakest_report",
]

FALSE_ALARMS = (0.01, 0.05, 0.1)
# δ at which a mechanism's own curve is read off.
READ_DELTAS = (1e-3, 1e-6)
LARGEST_CURVE = 20_000_000
# Likelihood ratios of two tables that are looked at, some hundred times each.
LARGEST_PAIR = 200_000
# On a map two places may be as near as one likes and yet in cells whose middles are a diagonal apart.
BORDER = "two places on either side of a border of cells"
OTHER_NUMBERS = "The best guess at other strengths of the promise"


@dataclass(frozen=True)
class MechanismCurve(Result):
    """The file's own mechanism between neighbouring inputs, exactly.

    `eps` is its smallest pure ε, `eps_at` the smallest ε at some δ, `distinguishing` the total variation at
    worst, `kullback` the largest Kullback-Leibler divergence in nats.
    """

    eps: float
    eps_at: tuple[tuple[float, float], ...]
    distinguishing: float
    kullback: float


@dataclass(frozen=True)
class NoiseNeeded(Result):
    """Noise that keeps an accuracy: the least ε of geometric noise, or the largest σ of Gaussian, and its ρ.

    `eps` and `rho` are rounded up, `sigma` down, at nine digits; `sigma` is in units of the answer.
    """

    eps: float
    sigma: float
    rho: float

    def __str__(self) -> str:
        return (
            f"geometric noise of ε = {self.eps:.9g}, or Gaussian noise of σ ≤ {self.sigma:.9g} "
            f"(ρ = {self.rho:.9g})"
        )


@dataclass(frozen=True)
class ExplainAnswer(Result):
    """An explanation with the limits it is held against and, for a file, the mechanism's own curve.

    `rows_per_person` rows of a person are released one by one, each with the claim; `all_rows` is at most how
    well they are guessed together. `answer` is the sentence to begin with where the question was not what the
    claim means, `noise` what an accuracy takes, `promise` the file's claim held against its own mechanism.
    """

    title: str
    explanation: Explanation
    checks: tuple[Check, ...] = ()
    mechanism: MechanismCurve | None = None
    answer: str | None = None
    promise: Promise | None = None
    rows_per_person: int = 1
    all_rows: float | None = None
    noise: NoiseNeeded | None = None

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; a person's rows where there are several, noise where it was looked for."""
        found = super().to_dict()
        if self.noise is None:
            del found["noise"]
        if self.rows_per_person == 1:
            del found["rows_per_person"], found["all_rows"]
        return found

    @property
    def passed(self) -> bool:
        """Whether the file's mechanism keeps the claim, and every limit holds."""
        return self.kept and all(check.passed for check in self.checks)

    @property
    def kept(self) -> bool:
        """Whether no mechanism of the file is known to break the claim."""
        return self.promise is None or self.promise.kept

    def __str__(self) -> str:
        if self.promise is not None and not self.promise.kept:
            return (
                f"The mechanism of this file does not keep the promise: it claims {self.promise.claim} but "
                f"only satisfies {self.promise.satisfied}. What follows is about the claim alone."
            )
        failed = [check for check in self.checks if not check.passed]
        if failed:
            return f"Not acceptable: {failed[0]}."
        if self.answer is not None:
            return f"{self.answer} {claim_headline(self.explanation)}"
        accepted = " This is within every limit of the file." if self.checks else ""
        return f"{claim_headline(self.explanation)}{accepted}{one_row(self.rows_per_person)}"


def report_of(explanation: Explanation, accept: AcceptModel | None = None) -> ExplainAnswer:
    """An explanation of a bare claim."""
    title = f"What does “{explanation.claim}” mean?"
    return ExplainAnswer(title, explanation, _checks(explanation, accept, None))


def explain_file(
    scenario: PolicyScenario,
    releases: int | None = None,
    within: float | None = None,
    centre: object = None,
    **options: Any,
) -> ExplainAnswer:
    """Explain the claim of a file for its own policy, held against its [accept].

    The claim is what the options say, else [claim], else the ε of [mechanism]; releases default to the
    adversary's observations.
    """
    claim, read = file_claim(scenario, releases, **options)
    policy, region = scenario.policy, scenario.region
    explanation = explain_claim(
        claim,
        prior=record_belief(scenario),
        policy=policy,
        within=within,
        centre=_value(scenario, centre),
        read=read,
        between=None if region is None else BORDER,
        apart=None if region is None else region.cells_apart(0.0),
    )
    if region is not None:
        # The middles of such cells are a diagonal apart at most.
        explanation = replace(explanation, curve=replace(explanation.curve, exact=False))
    curve = _mechanism_curve(scenario)
    explanation = _with_own_guess(scenario, explanation, claim)
    checks = _checks(explanation, scenario.accept, claim, policy.person_records)
    promise = None if curve is None or _states_claim(options) else kept_promise(scenario)
    rows, together = rows_of_person(scenario), None
    if rows > 1:
        count = scenario.observations if releases is None else releases
        of_all = file_claim(scenario, rows * count, **options)[0]
        from sievert.questions._leakage_comparison import guess_under_claim

        together = guess_under_claim(of_all, policy, record_belief(scenario))
    return ExplainAnswer(
        scenario.title,
        explanation,
        checks,
        curve,
        promise=promise,
        rows_per_person=rows,
        all_rows=None if together is None else together[0].value,
    )


def file_claim(scenario: PolicyScenario, releases: int | None = None, **options: Any) -> tuple[Claim, float]:
    """The claim that is explained, and one more δ at which its curve is read."""
    count = scenario.observations if releases is None else releases
    given = options if _states_claim(options) else {**stated_claim(scenario), **options}
    return claim_of(**given, releases=count), given.get("delta", 0.0)


def _with_own_guess(scenario: PolicyScenario, found: Explanation, claim: Claim) -> Explanation:
    """The file's own mechanism, where it keeps the claim, is one that reaches what it lets anybody guess."""
    if found.exact or scenario.document.mechanism is None or not isinstance(claim, ApproximateClaim):
        return found
    try:
        if scenario.epsilon.nats > claim.eps * (1 + CLAIM_TOLERANCE):
            return found
        own = scenario.analysis.vulnerability(releases=found.releases)
    except TooLargeError:
        return found
    if not own.is_exact or not math.isclose(own.prior, found.before, rel_tol=1e-9):
        return found
    reached = min(found.after, max(found.reached, own.value))
    return replace(found, reached=reached, exact=found.after - reached <= MEETS)


def weakest_claim_for_file(
    scenario: PolicyScenario, guess: float, solve: Unknown, releases: int | None = None, **options: Any
) -> WeakestClaim:
    """The weakest claim that keeps a guess within a limit, for the policy and prior of a file.

    Releases default to the adversary's observations. Where a number of releases or a δ is looked for and the
    options state no claim, it is the file's.
    """
    from sievert.limits import weakest_claim

    count = scenario.observations if releases is None else releases
    if solve == "releases":
        count = 1 if releases is None else releases
    given = dict(options)
    if solve in ("releases", "delta") and not _states_claim(options):
        given = {**stated_claim(scenario), **options}
        if solve == "delta":
            given.pop("delta", None)
    prior = record_belief(scenario)
    return weakest_claim(guess, solve, **given, prior=prior, releases=count, policy=scenario.policy)


def _value(scenario: PolicyScenario, centre: object) -> object:
    """A centre given as text on the command line is the value that reads so."""
    if not isinstance(centre, str):
        return centre
    return next((value for value in scenario.policy.values if str(value) == centre), centre)


def _states_claim(options: dict[str, Any]) -> bool:
    return any(options.get(name) is not None for name in ("eps", "rho", "sigma"))


def stated_claim(scenario: PolicyScenario) -> dict[str, Any]:
    """The claim that a file states or whose mechanism makes it, as arguments."""
    found = scenario.claimed
    if found is None and scenario.document.mechanism is None:
        raise FileError(
            f"{scenario.source}: has neither [claim] nor [mechanism] to take a claim from; add [claim] "
            "with eps, or pass --eps"
        )
    return {"eps": scenario.epsilon.nats} if found is None else found


def _mechanism_curve(scenario: PolicyScenario) -> MechanismCurve | None:
    """The mechanism's own curve, where there is one small enough to look at every pair of neighbours."""
    if scenario.document.mechanism is None or scenario.policy.is_metric:
        return None
    try:
        neighbours = _few_neighbours(scenario)
    except TooLargeError:
        return None
    if neighbours is None:
        return None
    return MechanismCurve(
        scenario.epsilon.nats,
        tuple((delta, smallest_epsilon(*neighbours, delta)) for delta in READ_DELTAS),
        float(delta_curve(*neighbours, [0.0]).delta[0]),
        float(renyi_curve(*neighbours, [1.0]).nats[0]),
    )


def _few_neighbours(scenario: PolicyScenario) -> tuple[Channel, Answers | Metric] | None:
    """Neighbours, and a channel that tells them apart; None where they are too many to look at each pair."""
    if not scenario.analysis.is_listed:
        found = scenario.analysis.dominating_pair()
        return None if found is None or found[0].shape[1] > LARGEST_PAIR else found
    answers = scenario.answers
    # Every answer has a neighbour: what is too large already for one each is not listed.
    if len(answers.labels) ** 2 > LARGEST_CURVE:
        return None
    channel = scenario.channel.finite()
    return None if len(answers.edges.pairs) * channel.shape[1] > LARGEST_CURVE else (channel, answers)


def _checks(
    found: Explanation, accept: AcceptModel | None, claim: Claim | None, people: int = 1
) -> tuple[Check, ...]:
    """Limits on what any mechanism with the claim allows; a value that is only a bound may fail a limit that
    holds, and says so."""
    if accept is None:
        return ()
    after = "after the release" if found.releases == 1 else f"after {found.releases} releases"
    limits = (
        ("guess", "best guess about one person", accept.guess, found.after),
        ("bits", "bits about one person", accept.bits, found.bits),
        ("advantage", "advantage about one person", accept.advantage, found.advantage),
        ("odds", "growth of the odds about one person", accept.odds, found.odds),
    )
    checks = [
        Check(key, f"{name} {after}", limit, value, value <= limit * (1 + CLAIM_TOLERANCE), found.exact)
        for key, name, limit, value in limits
        if limit is not None
    ]
    if accept.eps is not None and claim is not None:
        at = "" if accept.delta is None else f" at δ = {accept.delta:g}"
        total = claim.of_group(people).epsilon(accept.delta or 0.0)
        whose = "" if people == 1 else f" for a person with {people} records"
        passed = total <= accept.eps * (1 + CLAIM_TOLERANCE)
        name = f"total ε{whose}{at} {after}"
        checks.append(Check("eps", name, accept.eps, total, passed, claim.tight and people == 1))
    return tuple(checks)


def claim_headline(found: Explanation) -> str:
    """The answer in one sentence."""
    if found.before >= 1:
        return "Nothing can be learned: the person's value is certain already."
    after = "the release" if found.releases == 1 else f"{found.releases} releases"
    return (
        f"Someone who knows everything else guesses {found.guessed} with probability "
        f"{in_percent(found.before)} before and {bounded_percent(found.after, found.exact)} after {after}."
    )


def weakest_report(found: WeakestClaim) -> ExplainAnswer:
    """What the weakest acceptable claim means."""
    assert found.explanation is not None
    title = f"What keeps a guess at {found.guess:g} or below?"
    text = str(found)
    # A symbol keeps its case: Σ is not σ.
    opening = text[0].upper() if text[0].isascii() else text[0]
    return ExplainAnswer(title, found.explanation, answer=f"{opening}{text[1:]}.")
