"""What a release would do, before it costs anything: its error, what it gives away, what the ledger says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sievert.errors import LedgerError, TooLargeError
from sievert.files import Scenario, load_scenario
from sievert.leakage.records import record_leakage
from sievert.numerics.logs import exp_or_infinity
from sievert.release.noise import AddedNoise
from sievert.release.places import PlaceNoise
from sievert.release.plan import Plan, make_plan
from sievert.release.randomisers import Randomiser
from sievert.release.running import charge
from sievert.release.sidecar import policy_words, promise, query_words
from sievert.results import Result
from sievert.spaces.policy import Policy
from sievert.tables.budget import number
from sievert.tables.ledger import UNIT, Ledger

__all__ = ["Preview", "preview"]

# Beyond this many pairs of a total and a value, the guess about one record is bounded by ε alone.
LARGEST_LISTED = 200_000
# Beyond this many values their distances are not listed.
LARGEST_PAIRS = 5_000


@dataclass(frozen=True)
class Preview(Result):
    """What a release would do. Nothing in it comes from the data.

    Attributes
    ----------
    central : whether one table is released, or rows one by one
    unit : what ε is counted for
    eps : what the release would cost each person
    noise_scale, expected_error : standard deviation, and mean distance from the truth, of each number (None
        where the outputs are not numbers)
    radius : each number is within this distance of the truth with probability `confidence`
    kept : smallest probability that a released value is the true one (None where that says little)
    guess_before, guess_after : best guess about one record for someone who knows all the others (None: no
        single number; `factors` then says how the odds change)
    factors : for places, metres on the ground and the most that the odds between two places so far apart
        change, wherever in their cells they lie
    guess_is_bound : whether the guess afterwards is an upper bound
    remaining, remaining_after : each person's budget now and after the release; None without a ledger
    refusal : why the ledger would refuse the release, or None
    warnings : what the reader should know besides
    scarcest_column : the column whose own limit leaves least, if one leaves less than the person's budget
    """

    title: str
    central: bool
    unit: str
    policy: str
    released: str
    mechanism: str
    promise: str
    eps: Fraction
    noise_scale: float | None
    expected_error: float | None
    radius: Fraction | None
    confidence: float
    kept: float | None
    guess_before: float | None
    guess_after: float | None
    guess_is_bound: bool
    factors: tuple[tuple[float, float], ...]
    remaining: Fraction | None
    remaining_after: Fraction | None
    refusal: str | None
    warnings: tuple[str, ...]
    scarcest_column: str | None = None

    @property
    def possible(self) -> bool:
        """Whether the ledger would allow it."""
        return self.refusal is None

    def __str__(self) -> str:
        if self.refusal is not None:
            return f"The release would be refused: {self.refusal}."
        per = "" if self.unit == UNIT else f" for each {self.unit}"
        return f"The release would cost each person ε = {number(self.eps)}{per}. Nothing was read or spent."


def preview(scenario: Scenario | str | Path, *, output: str | Path | None = None) -> Preview:
    """What releasing a file would do, without reading the data or spending anything."""
    described = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    plan = make_plan(described, output)
    rules = plan.rules
    errors = plan.mechanism.errors(rules.confidence)
    before, after, bound = guesses(plan)
    eps, remaining, column, refusal = _ledger(plan)
    return Preview(
        described.title,
        plan.central,
        plan.unit,
        policy_words(plan),
        query_words(plan),
        plan.mechanism.describe(),
        promise(plan),
        eps,
        errors.scale,
        errors.mean,
        errors.radius,
        rules.confidence,
        errors.kept,
        before,
        after,
        bound,
        _factors(plan),
        remaining,
        None if remaining is None or refusal else remaining - eps,
        refusal,
        tuple(_warnings(plan)),
        column,
    )


def _ledger(plan: Plan) -> tuple[Fraction, Fraction | None, str | None, str | None]:
    """What would be charged, what is left now and through which column, and why it would be refused."""
    if plan.rules.ledger is None:
        return plan.eps, None, None, 'the file names no ledger; add ledger = "budget.toml" under [release]'
    ledger = Ledger.look(plan.ledger_folder, plan.budget(), key=plan.ledger_key())
    eps = charge(plan, ledger)
    left = ledger.remaining(plan.columns)
    column = min(left, key=lambda name: (left[name], name is not None))
    remaining = left[column]
    try:
        ledger.check(eps, plan.columns, plan.unit)
    except LedgerError as problem:
        return eps, remaining, column, str(problem).split(";")[0]
    if plan.output.exists():
        return eps, remaining, column, f"{plan.output} is there already, and a release replaces nothing"
    return eps, remaining, column, None


def guesses(plan: Plan) -> tuple[float | None, float | None, bool]:
    """Best guess about one record before and after, and whether the latter is only a bound."""
    scenario, mechanism = plan.scenario, plan.mechanism
    if isinstance(mechanism, PlaceNoise):
        return None, None, False
    policy = scenario.policy
    prior = scenario.document.adversary.record_prior or scenario.document.adversary.prior
    histogram = plan.central and plan.table is not None and len(plan.table.cells) > 1
    plain_policy = policy.preset == "differential" and not policy.constrained
    if histogram and isinstance(mechanism, AddedNoise) and prior in (None, "uniform") and plain_policy:
        assert plan.table is not None
        if len(plan.table.cells) == len(policy.values):
            return histogram_guess(len(policy.values), mechanism.rate)
    small = policy.constrained or policy.records * len(policy.values) ** 2 <= LARGEST_LISTED
    if small and not (histogram and isinstance(mechanism, AddedNoise)) and _has_channel(plan):
        try:
            found = record_leakage(scenario.channel, scenario.answers, scenario.record_prior)
            return found.before, found.after, found.method.startswith("bound")
        except TooLargeError:
            pass  # the bound below needs no list
    if prior in (None, "uniform") and len(policy.values) > LARGEST_PAIRS:
        return _uniform_bound(policy, float(plan.unit_eps))
    found = record_leakage(float(plan.unit_eps), policy, scenario.record_prior)
    return found.before, found.after, True


def _uniform_bound(policy: Policy, eps: float) -> tuple[float, float, bool]:
    """1/Σ_u e^(-ε·d(v, u)) at the worst of very many values, without listing their distances.

    Where all are equally far apart the sum is 1 + (n - 1)·e^(-ε·d); on a line it is least at an end.
    """
    size = len(policy.values)
    apart = policy.record_metric.uniform_distance
    if apart is not None:
        spread = 1 + (size - 1) * math.exp(-eps * apart)
    elif getattr(policy.secrets, "kind", None) == "line":
        spread = float(size) if eps == 0 else math.expm1(-eps * size) / math.expm1(-eps)
    else:
        spread = 1.0
    return 1 / size, min(1.0, 1 / spread), True


def _has_channel(plan: Plan) -> bool:
    """Whether the file's own channel is what is drawn from."""
    return isinstance(plan.mechanism, Randomiser) or not plan.domain().drops


def histogram_guess(values: int, rate: float) -> tuple[float, float, bool]:
    """Best guess about one record, uniform among the values, from a histogram with noise in every cell.

    A record of value v multiplies the likelihood of the noise by e^ε₀ where cell v came out above the count
    of the others, and by e^-ε₀ where it did not. So the guess is right with probability
    (e^ε₀·(1 - q) + e^-ε₀·q)/n, where q = (1 + e^-ε₀)^-n is the chance that no cell came out above.

    >>> before, after, _ = histogram_guess(2, math.log(2))
    >>> before, after
    (0.5, 0.666666666)
    """
    none_above = math.exp(-values * math.log1p(math.exp(-rate)))
    after = (math.exp(rate) * (1 - none_above) + math.exp(-rate) * none_above) / values
    return 1 / values, min(1.0, after), False


def _factors(plan: Plan) -> tuple[tuple[float, float], ...]:
    """Metres on the ground, and how much the odds between two places so far apart can change."""
    if not isinstance(plan.mechanism, PlaceNoise) or not plan.eps:
        return ()
    eps, region = float(plan.eps), plan.mechanism.region
    apart = sorted({float(f"{factor / eps:.1g}") for factor in (0.5, 1, 2)})
    return tuple((metres, exp_or_infinity(eps * region.cells_apart(metres))) for metres in apart)


def _warnings(plan: Plan) -> list[str]:
    rules: Any = plan.rules
    found = []
    if not plan.central and "drop" in (rules.missing, rules.unknown, rules.out_of_range, rules.off_grid):
        found.append(
            "Rows that are dropped do not appear in the output: that a row was dropped is not protected."
        )
    if plan.data.person is None and plan.owned == 1:
        found.append("No column says whose row it is: the promise is for one row, and nobody must have two.")
    if isinstance(plan.mechanism, AddedNoise) and plan.mechanism.limits is not None and plan.table:
        low, high = plan.mechanism.limits
        least, greatest = plan.table.range(plan.scenario.policy, plan.domain().drops)
        if low > least or high < greatest:
            found.append(
                f"The truth may lie outside the outputs {number(low * plan.table.step)} … "
                f"{number(high * plan.table.step)}: there a number is further off than stated, and its "
                "interval reaches to the end of what is possible."
            )
    if isinstance(plan.mechanism, PlaceNoise) and plan.mechanism.population is not None:
        found.append(
            "How far places are moved is stated on average over the public weights of the remap; places to "
            "which these give little weight are moved further."
        )
    if rules.keep:
        found.append(f"The columns {', '.join(rules.keep)} are written as they are: they must be public.")
    if plan.data.person in rules.keep:
        found.append(f"The column {plan.data.person} is kept: every row says whose it is.")
    if rules.sampler == "float":
        found.append(
            "Drawn in floating point where no exact sampler is used: the promise holds up to rounding."
        )
    if rules.timing == "fast":
        found.append("An observer of the run time learns how many draws needed more random bits.")
    if not plan.central and not isinstance(plan.mechanism, PlaceNoise) and plan.scenario.columns[1:]:
        found.append("The columns together are one value; they are perturbed together.")
    return found
