"""What a release would do, before it costs anything: its error, what it gives away, what the ledger says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from sievert.design import at_equal_guess
from sievert.errors import DataError, LedgerError, SievertError
from sievert.files import PolicyScenario, Scenario, described, load_policy_scenario
from sievert.ledger import UNIT, WITHOUT_RELATION, Ledger
from sievert.mechanisms import add_to_table
from sievert.numerics import flag, number
from sievert.observations import SimulatedVulnerability
from sievert.questions import Check, PersonRows, TableCost
from sievert.release._acceptance import acceptance, broken_claim
from sievert.release._budget_account import Cost, in_its_unit
from sievert.release._cumulative_effect import (
    CumulativeEffect,
    ReleaseEffect,
    effect_of,
    totals_in_their_unit,
)
from sievert.release._neighbour_relations import charge, relation_of
from sievert.release._plan import Plan, make_plan
from sievert.release._protocol import in_the_way
from sievert.release._sidecar import clamping, policy_words, promise, query_words
from sievert.release._stable import check_places
from sievert.release._unaccounted import NAME_A_LEDGER, NOTHING_CHARGED
from sievert.results import Result
from sievert.tables import Engine

if TYPE_CHECKING:
    from sievert.files import DocumentsScenario, VectorsScenario
    from sievert.release._documents import DocumentsPreview
    from sievert.release._vectors import VectorsPreview

__all__ = ["Preview", "preview"]


# Values of a record up to which other noise is looked for: a second.
LARGEST_BESIDE = 1_000


@dataclass(frozen=True)
class Beside(Result):
    """Other noise on the same table that lets anybody guess one record as well.

    `radius` is at the confidence of the preview; all are in units of the answer.
    """

    mechanism: str
    noise_sd: float
    radius: Fraction

    def __str__(self) -> str:
        return f"{self.mechanism}: standard deviation {self.noise_sd:.4g}, at most {number(self.radius)} off"


def _beside(plan: Plan) -> Beside | None:
    """Geometric and Gaussian noise favour different tables: one release of many cells, or many of few."""
    noise, policy = plan.noise, plan.scenario.policy
    if noise is None or policy.constrained or policy.is_metric or len(policy.values) > LARGEST_BESIDE:
        return None
    found = None
    with suppress(SievertError):
        found = at_equal_guess(add_to_table(noise.statistic, noise.law), plan.scenario.float_record_prior)
    if found is None:
        return None
    step, law = found.statistic.step, found.law
    radius = law.radius(plan.rules.confidence) * step
    return Beside(law.words(), law.deviation * float(step), radius)


@dataclass(frozen=True)
class Preview(Result):
    """What a release would do. Nothing in it comes from the data.

    Attributes
    ----------
    central : whether one table is released, or rows one by one
    unit : what ε is counted for
    eps : what the release would cost each person, in the ledger's currency (None: the noise keeps no ε)
    noise_sd, expected_error : standard deviation, and mean distance from the truth, of each number (None
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
    accept : the limits of the file's [accept]; one that does not hold is a refusal unless the release is
        asked for despite it
    scarcest_column : the column whose own limit leaves least, if one leaves less than the person's budget
    about : for which pairs of states of a person's records the ledger adds up; None without a ledger
    together : this release and the earlier ones of the ledger; None without a ledger
    exhausted : what any releases of the whole budget allow; None without a ledger
    alike : as many releases of this file as the budget allows; None where the ledger has others
    beside : Gaussian noise beside geometric, or geometric beside Gaussian, at the same guess about one record
        (None: it is no such noise, or not looked for)
    symbol : of the ledger's currency, ε or ρ
    plan : the plan whose next slot it would take, at no cost; None where it is charged alone
    pair : two states of a record that attain the cost, where they are known
    tables : what each of several tables would cost, and how far off it would be
    guess_simulated : beside a bound on the guess afterwards, what a simulation finds; no bound
    per : whom the cost is for: "person", or "row of this view" where no column says whose it is
    person_rows : what all rows of a person let an attacker guess together (None: a person has one)
    """

    title: str
    central: bool
    unit: str
    policy: str
    released: str
    mechanism: str
    promise: str
    eps: Fraction | None
    noise_sd: float | None
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
    about: str | None = None
    accept: tuple[Check, ...] = ()
    together: CumulativeEffect | None = None
    exhausted: CumulativeEffect | None = None
    alike: CumulativeEffect | None = None
    symbol: str = "ε"
    plan: str | None = None
    pair: tuple[str, str] | None = None
    tables: tuple[TableCost, ...] = ()
    beside: Beside | None = None
    guess_simulated: SimulatedVulnerability | None = None
    per: str = "person"
    person_rows: PersonRows | None = None

    @property
    def possible(self) -> bool:
        """Whether the ledger and the file's [accept] would allow it."""
        return self.refusal is None

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        if self.per == "person":
            del found["per"]
        if self.person_rows is None:
            del found["person_rows"]
        return in_its_unit(totals_in_their_unit(found, self.symbol), self.symbol)

    def __str__(self) -> str:
        if self.refusal is not None:
            return f"The release would be refused: {self.refusal}."
        if self.eps is None:
            return "The release would be charged to no ledger: its noise keeps no ε. Nothing was read."
        per = "" if self.unit == UNIT else f" for each {self.unit}"
        if self.plan is not None:
            return f"The release would take a slot of the plan {self.plan}, which has paid. Nothing was read."
        cost = f"{self.symbol} = {number(self.eps)}{per}"
        return f"The release would cost each {self.per} {cost}. Nothing was read or spent."


@overload
def preview(
    scenario: PolicyScenario | str | Path,
    *,
    output: str | Path | None = None,
    despite_accept: bool = False,
    without_ledger: bool = False,
) -> Preview: ...
@overload
def preview(
    scenario: DocumentsScenario, *, output: str | Path | None = None, despite_accept: bool = False
) -> DocumentsPreview: ...
@overload
def preview(
    scenario: VectorsScenario, *, output: str | Path | None = None, despite_accept: bool = False
) -> VectorsPreview: ...
def preview(
    scenario: Scenario | str | Path,
    *,
    output: str | Path | None = None,
    despite_accept: bool = False,
    without_ledger: bool = False,
) -> Preview | Result:
    """What releasing a file would do, without reading the data or spending anything.

    Parameters
    ----------
    scenario : a scenario or the path of its TOML file
    output : where the table would go, instead of [release] output
    despite_accept : ask for a release that breaks the file's [claim] or exceeds its [accept]
    without_ledger : ask for a release that no ledger adds up

    Returns
    -------
    Preview
        What would be charged, the expected error, and how well a person could be guessed.

    Notes
    -----
    Cost: that of reading the file and its public tables; the private data are not opened.

    Examples
    --------
    >>> import sievert as sv
    >>> found = sv.release.preview("examples/census-count.toml")
    >>> found.eps, found.noise_sd > 0, found.guess_after < 0.5
    (Fraction(1, 2), True, True)
    """
    despite_accept = flag("despite_accept", despite_accept, DataError)
    without_ledger = flag("without_ledger", without_ledger, DataError)
    other = described(scenario)
    if other is not None:
        from sievert.release._job import preview_job

        return preview_job(other, output, despite_accept)
    listed = (
        scenario
        if isinstance(scenario, PolicyScenario)
        else load_policy_scenario(cast("str | Path", scenario))
    )
    plan = make_plan(listed, output)
    cost, remaining, column, refusal, about, effect, more = _ledger(plan)
    eps = None if cost is None else cost.charged
    accept = acceptance(plan)
    failed = [check for check in accept if not check.passed]
    if plan.unaccounted and not without_ledger:
        refusal = NAME_A_LEDGER
    if failed and not despite_accept:
        refusal = f"the file does not accept it: {failed[0]}"
    broken = broken_claim(plan)
    if broken is not None and not despite_accept:
        refusal = broken
    return Preview(
        listed.title,
        plan.central,
        plan.unit,
        policy_words(plan),
        query_words(plan),
        plan.words,
        promise(plan),
        eps,
        effect.noise_sd,
        effect.expected_error,
        effect.radius,
        effect.confidence,
        effect.kept,
        effect.guess_before,
        effect.guess_after,
        effect.guess_is_bound,
        effect.factors,
        remaining,
        None if remaining is None or eps is None or refusal else remaining - eps - more,
        refusal,
        (
            *_warnings(plan),
            *_growth(effect.symbol, more),
            *([f"{broken[:1].upper()}{broken[1:]}."] if broken is not None else []),
        ),
        column,
        about,
        accept,
        effect.together,
        effect.exhausted,
        effect.alike,
        effect.symbol,
        None if cost is None else cost.plan,
        None if cost is None or cost.shown is None else (cost.shown[0], cost.shown[1]),
        effect.tables,
        beside=_beside(plan),
        guess_simulated=effect.guess_simulated,
        per=plan.data.per,
        person_rows=effect.person_rows,
    )


def _ledger(
    plan: Plan,
) -> tuple[Cost | None, Fraction | None, str | None, str | None, str | None, ReleaseEffect, Fraction]:
    """What would be charged, what is left now and through which column, why it would be refused, what the
    ledger adds up, what the release gives away, alone and with all others, and what is charged beside it."""
    none = Fraction(0)
    if plan.unaccounted:
        return None, None, None, in_the_way(plan), None, effect_of(plan, None, None), none
    if plan.rules.ledger is None:
        missing = 'the file names no ledger; add ledger = "budget.toml" under [release]'
        return Cost(plan.eps, plan.eps), None, None, missing, None, effect_of(plan, None, None), none
    ledger = Ledger.look(plan.ledger_folder, plan.budget(), relation=relation_of(plan), key=plan.ledger_key())
    left = ledger.remaining(plan.columns)
    column = min(left, key=lambda name: (left[name], name is not None))
    about = plan.about_rows or (WITHOUT_RELATION if ledger.relation is None else ledger.relation.words)
    cost = None if plan.pure_eps is None else Cost(plan.pure_eps, plan.pure_eps)
    refusal, more = None, none
    try:
        check_places(ledger)
        cost = charge(plan, ledger)
        ledger.check(cost.charged, plan.columns, plan.unit, share=cost.share)
        more = ledger.growth(cost.share).get(column, none)
        cost = cost.among(ledger)
    except LedgerError as problem:
        refusal = str(problem).split(";")[0]
    effect = effect_of(plan, ledger, cost)
    return cost, left[column], column, refusal or in_the_way(plan), about, effect, more


def _growth(symbol: str, more: Fraction) -> list[str]:
    """What earlier releases cost more by this one, said before it is charged."""
    if not more:
        return []
    return [
        f"This file states more records of a person than those before it: {symbol} = {number(more)} more is "
        "charged for releases that do not say whose row it is."
    ]


def _warnings(plan: Plan) -> list[str]:
    rules: Any = plan.rules
    found = []
    if plan.seeded:
        found.append("NOT PRIVATE: the file is a test, and its noise comes from a seed.")
    if plan.note is not None:
        found.append(plan.note)
    if not plan.central and "drop" in (rules.missing, rules.unknown, rules.out_of_range, rules.off_grid):
        found.append(
            "Rows that are dropped do not appear in the output: that a row was dropped is not protected."
        )
    found.extend(clamping(plan))
    if plan.stable_mark is not None:
        found.append(
            "A release with ids that have no place yet is charged: a new id may be a known person's. Whether "
            "there are any is seen when the data are read."
        )
    if not plan.central and plan.data.several(plan.scenario.folder) is not None:
        engine = plan.rules.engine or Engine.resolve("one")
        found.append(
            f"The data are several files: they are drawn {engine.words}, and {plan.output.name} will be a "
            "folder with a part for each, in the order of their names."
        )
    if plan.unaccounted:
        found.append(NOTHING_CHARGED)
    if plan.about_rows is not None:
        found.append(f"No column says whose row it is: the promise is for {plan.about_rows}.")
    elif plan.data.person is None and plan.owned == 1:
        found.append("No column says whose row it is: the promise is for one row, and nobody must have two.")
    if plan.noise is not None and plan.noise.limits is not None and plan.table:
        low, high = plan.noise.limits
        least, greatest = plan.table.range(plan.scenario.policy, plan.domain().drops)
        if low > least or high < greatest:
            found.append(
                f"The truth may lie outside the outputs {number(low * plan.table.step)} … "
                f"{number(high * plan.table.step)}: there a number is further off than stated, and its "
                "interval reaches to the end of what is possible."
            )
    if plan.places is not None and plan.places.population is not None:
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
    if not plan.central and plan.places is None and plan.scenario.columns[1:]:
        found.append("The columns together are one value; they are perturbed together.")
    return found
