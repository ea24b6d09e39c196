"""A plan of releases: noise and number are fixed before the first, charged whole, and composed exactly."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from sievert.channels import law_from_data
from sievert.errors import FileError, LedgerError, SievertError
from sievert.files import PolicyScenario, Scenario, described, load_policy_scenario
from sievert.ledger import WAIT_SECONDS, WITHOUT_RELATION, Ledger, Planned, epsilon_of
from sievert.limits import PlannedClaim, planned_claim, planned_claim_of_any
from sievert.numerics import at_most, bounded_percent, number, whole
from sievert.release._acceptance import require_accepted
from sievert.release._neighbour_relations import (
    cost,
    moves_by_noise,
    planned_pair,
    relation_of,
    require_small_delta,
)
from sievert.release._plan import Plan, make_plan
from sievert.release._protocol import ReleaseRequest
from sievert.results import Result

__all__ = ["PlannedReleases", "epsilon_at", "is_attained", "plan", "promised_by", "rho_of"]

# The δ at which the curve of a plan is read where the budget has none.
DEFAULT_DELTA = Fraction(1, 10**6)
MOST_SLOTS = 1_000_000
# Moves beyond which one that is as large in every cell is taken for all.
MOST_MOVES = 64


@dataclass(frozen=True)
class PlannedReleases(Result):
    """Releases that were charged together, before the first of them.

    Attributes
    ----------
    id : the plan's name in the ledger
    count : how many releases it has paid for
    each, total : what one costs, and all, in the ledger's currency
    symbol : of the currency, ε or ρ
    delta : the δ at which the plan is read
    eps : the least ε of the plan alone at that δ: composed exactly, by adding up, or from its ρ, whichever is
        least (None: its mechanism has no such form)
    exact : whether that ε is attained; otherwise it is a bound
    added_eps, rho_eps : the same by adding up ε, and from the plan's ρ; None where there is none
    guess, guess_is_bound : best guess about one record if every slot releases this file's answer (None: not
        known)
    remaining : what is left for each person
    about : for which pairs of states of a person's records
    per : whom the cost is for: "person", or "row of this view" where no column says whose it is
    """

    title: str
    id: str
    count: int
    each: Fraction
    total: Fraction
    symbol: str
    delta: Fraction
    eps: float | None
    exact: bool
    added_eps: Fraction | None
    rho_eps: float | None
    guess: float | None
    guess_is_bound: bool
    remaining: Fraction
    about: str
    head: str
    per: str = "person"

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        if self.per == "person":
            del found["per"]
        return found

    def __str__(self) -> str:
        return (
            f"Planned {self.count} releases as {self.id}: {self.symbol} = {number(self.total)} is charged to "
            f"each {self.per}, {number(self.each)} for each release, and {number(self.remaining)} is left. "
            "Nothing was read or drawn."
        )

    def sentences(self) -> list[str]:
        """What the plan promises alone."""
        found = []
        at = f"at δ = {number(self.delta)}"
        others = [] if self.added_eps is None else [f"adding up gives ε = {number(self.added_eps)}"]
        others += [] if self.rho_eps is None else [f"ρ gives {at_most(self.rho_eps, 8)}"]
        if self.eps is not None:
            least = "" if self.exact else "at most "
            more = f" ({', '.join(others)})" if others else ""
            found.append(f"All of its releases together keep {least}ε = {at_most(self.eps, 10)} {at}{more}.")
        elif others:
            found.append(f"All of its releases together: {', '.join(others)} {at}.")
        if self.guess is not None:
            found.append(
                f"If every slot releases this file's answer, one record is guessed with probability "
                f"{bounded_percent(self.guess, not self.guess_is_bound)} after all of them."
            )
        found.append(
            "This holds for the plan alone; with other releases of the ledger only the sums hold. Slots that "
            "are not used stay charged: choose their dates beforehand."
        )
        return found


def plan(
    scenario: Scenario | str | Path,
    count: int,
    *,
    id: str | None = None,
    wait: float = WAIT_SECONDS,
    anchor: str | None = None,
    despite_accept: bool = False,
) -> PlannedReleases:
    """Charge several releases of a file together, before the first; `run` then takes their slots.

    Parameters
    ----------
    scenario : a scenario or the path of its TOML file
    count : how many releases
    id : name of the plan in the ledger
    wait : seconds to wait for another release on the same ledger
    anchor : a hash of the ledger noted after an earlier release; an older copy of the ledger is then refused
    despite_accept : plan what breaks the file's [claim] or exceeds its [accept]

    Returns
    -------
    PlannedReleases
        What was charged, and what the plan promises, composed exactly.

    Notes
    -----
    Cost: one convolution of the losses of all releases (0.4 s for a thousand). No data is read.

    A slot takes any query with the same noise whose moves are no larger cell by cell. Because number and
    noise do not depend on what is seen, the losses of the releases convolve; adding up is all that is valid
    where they do.

    Examples
    --------
    >>> import shutil, tempfile
    >>> import sievert as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copied = shutil.copytree("examples", f"{folder}/examples")
    ...     found = sv.release.plan(f"{copied}/census-count.toml", 4)
    ...     print(found.total, sv.release.run(f"{copied}/census-count.toml").slot)
    2 1
    """
    asked = ReleaseRequest(id, wait=wait, anchor=anchor, despite_accept=despite_accept)
    other = described(scenario)
    if other is not None:
        raise FileError(
            f"{other.source}: plans are for tables and rows; a [{other.table}] release is charged alone"
        )
    listed = (
        scenario
        if isinstance(scenario, PolicyScenario)
        else load_policy_scenario(cast("str | Path", scenario))
    )
    count = whole("plan", count, LedgerError, most=MOST_SLOTS)
    made = make_plan(listed)
    if made.stable_mark is not None:
        raise FileError(
            f"{listed.source}: remembered places (stable = true) are paid for once; leave out the plan"
        )
    if made.unaccounted:
        raise FileError(f"{listed.source}: key release.ledger is missing; a plan is charged to a ledger")
    if not despite_accept:
        require_accepted(made)
    budget, key, relation = made.budget(), made.ledger_key(), relation_of(made)
    early = Ledger.look(made.ledger_folder, budget, relation=relation, key=key, anchor=anchor)
    require_small_delta(made, early)
    each = cost(made, early.relation, early.budget.currency)
    early.check(count * each.amount, made.columns, made.unit, f"plan of {count} releases", each.share)
    with Ledger.hold(
        made.ledger_folder, budget, relation=relation, key=key, wait=asked.wait, anchor=anchor
    ) as ledger:
        once = cost(made, ledger.relation, ledger.budget.currency)
        guess = _guess(made, count)
        planned = ledger.plan(
            count,
            once.amount,
            made.columns,
            id=id,
            unit=made.unit,
            eps=once.eps,
            share=once.share,
            pair=planned_pair(made, ledger.relation),
            states=once.shown,
            values=len(made.scenario.policy.values) if made.scenario.policy.hides_any_two else None,
            guess=None if guess is None else {"after": guess[0], "exact": guess[1]},
            mechanism=made.words,
            file=made.digest,
        )
        return _result(made, ledger, planned.id, guess)


def _guess(made: Plan, count: int) -> tuple[float, bool] | None:
    """The mechanism's own guess about one record after so many releases, and whether it is exact."""
    if made.places is not None or made.owned > 1:
        return None
    with suppress(SievertError):
        found = made.scenario.analysis.vulnerability(releases=count)
        return found.value, found.is_exact
    return None


def promised_by(planned: Planned) -> PlannedClaim | None:
    """The exact claim of a plan; None where its mechanism has no moves.

    Every release may make any of the moves. Where these are too many, one that is as large in every cell
    stands for all.
    """
    pair, times = planned.record["pair"], planned.times
    if "moves" not in pair:
        return None
    noises, moves = moves_by_noise(pair)
    if not moves:
        return None
    laws = list(map(law_from_data, noises))
    listed = [
        [(law, times * size) for law, steps in zip(laws, move, strict=True) for size in steps]
        for move in moves
    ]
    if len(listed) <= MOST_MOVES:
        return planned_claim_of_any(listed, planned.count)
    cells = []
    for law, rows in zip(laws, zip(*moves, strict=True), strict=True):
        if not law.is_log_concave:
            return None
        width = max(map(len, rows), default=0)
        cells += [(law, times * max(row[i] for row in rows if i < len(row))) for i in range(width)]
    return planned_claim(cells, planned.count)


def rho_of(planned: Planned) -> Fraction | None:
    """ρ of all releases of a plan, whichever of its moves each makes; None where it has none."""
    pair = planned.record["pair"]
    if "moves" not in pair:
        return None
    noises, moves = moves_by_noise(pair)
    laws = list(map(law_from_data, noises))
    costs = (
        sum(
            (
                law.rho_of(planned.times * size)
                for law, steps in zip(laws, move, strict=True)
                for size in steps
            ),
            Fraction(0),
        )
        for move in moves
    )
    return planned.count * max(costs, default=Fraction(0))


def epsilon_at(planned: Planned, claim: PlannedClaim | None, delta: Fraction) -> tuple[float | None, bool]:
    """The least ε of a plan alone at a δ that is known, and whether it is only a bound.

    It is the least of what is composed exactly, of the sum of ε, and of what the plan's ρ implies.
    """
    found = [] if claim is None else [claim.epsilon(float(delta))]
    exact = claim is not None and claim.exact and is_attained(planned.record["pair"])
    rho = rho_of(planned)
    if rho is not None:
        found.append(epsilon_of(rho, delta))
    if planned.eps is not None:
        found.append(math.nextafter(float(planned.count * planned.eps), math.inf))
    if claim is None or not found:
        return None, False
    return min(found), not exact


def is_attained(pair: dict[str, Any]) -> bool:
    """Whether what is planned is the move of one pair, not above those of several."""
    return len(pair["moves"]) == 1 and not pair.get("above", False)


def _result(made: Plan, ledger: Ledger, id: str, guess: tuple[float, bool] | None) -> PlannedReleases:
    found = next(planned for planned in ledger.plans if planned.id == id)
    delta = ledger.budget.delta or DEFAULT_DELTA
    claim = promised_by(found)
    eps, is_bound = epsilon_at(found, claim, delta)
    in_rho = ledger.budget.delta is not None
    return PlannedReleases(
        made.scenario.title,
        id,
        found.count,
        found.each,
        found.total,
        ledger.budget.currency.symbol,
        delta,
        eps,
        claim is not None and not is_bound,
        None if found.eps is None else found.count * found.eps,
        epsilon_of(found.total, delta) if in_rho else None,
        None if guess is None else guess[0],
        guess is not None and not guess[1],
        ledger.remaining(made.columns)[None],
        made.about_rows or (WITHOUT_RELATION if ledger.relation is None else ledger.relation.words),
        ledger.head,
        made.data.per,
    )
