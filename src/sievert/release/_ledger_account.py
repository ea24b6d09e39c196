"""What a ledger says: what was spent on what, what is left, and what an attacker can guess after all of it.

Every total that is shown is valid however one went on: Σε so far holds on every path, and ρ by the limit that
was fixed before. Numbers of a plan alone (its exact curve, the guess after its releases) are shown as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sievert.errors import LedgerError, SievertError
from sievert.ledger import EPS, WITHOUT_RELATION, Budget, Entry, Ledger, Planned, epsilon_of
from sievert.limits import best_guess
from sievert.limits.promises import ApproximateClaim, Claim, ZeroConcentratedClaim
from sievert.numerics import file_path, number
from sievert.release._planning import DEFAULT_DELTA, epsilon_at, promised_by, rho_of
from sievert.results import Result

__all__ = ["AffordableReleases", "ChargedPlan", "ChargedRelease", "LedgerAccount", "LedgerGuess", "account"]


@dataclass(frozen=True)
class ChargedRelease(Result):
    """One release of a ledger.

    Attributes
    ----------
    what : the mechanism, in words
    cost : what was charged, in the ledger's currency: 0 in a slot
    plan, slot : the plan that has paid, and its place there, from 1
    published : whether its files were published; of what an earlier ledger spent: True
    pair : two states of a record that attain the cost, where they are known
    """

    id: str
    what: str
    cost: Fraction
    columns: tuple[str, ...]
    published: bool
    plan: str | None = None
    slot: int | None = None
    pair: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChargedPlan(Result):
    """A plan of a ledger, and what it promises alone.

    Attributes
    ----------
    count, used : slots, and how many are taken
    each, total : what one costs, and all
    eps, eps_is_bound : the least ε of all its releases at `delta`, composed exactly, or a bound on it; None
        where that is not known
    guess, guess_is_bound : best guess about one record if every slot releases what it was planned with
    """

    id: str
    what: str
    count: int
    used: int
    each: Fraction
    total: Fraction
    delta: Fraction
    eps: float | None
    eps_is_bound: bool
    guess: float | None
    guess_is_bound: bool


@dataclass(frozen=True)
class LedgerGuess(Result):
    """What an attacker can guess after everything charged, all values being equally likely before.

    Attributes
    ----------
    values : among how many values
    guess : the least valid bound
    bound : its name
    others : the other valid bounds, by their names
    """

    values: int
    guess: float
    bound: str
    others: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class AffordableReleases(Result):
    """How many more releases like an earlier one the ledger allows."""

    what: str
    each: Fraction
    more: int


@dataclass(frozen=True)
class LedgerAccount(Result):
    """What a ledger says.

    Attributes
    ----------
    currency : "eps" or "rho"; `symbol` is how it is written
    limit, spent, remaining : in the currency
    delta, limit_eps : of a ledger in ρ: the δ at which it is read, and the ε of its limit there
    spent_eps : Σε so far, where every release keeps an ε
    through : limits, and what was spent, of single columns
    about : the pairs of states of a person's records that the total is for
    guesses : what an attacker can guess after everything charged; empty where no such bound is known
    fits : how many more releases fit
    closed : whether another ledger continues it
    head : the last hash, to be noted elsewhere
    """

    title: str
    currency: str
    symbol: str
    limit: Fraction
    spent: Fraction
    remaining: Fraction
    delta: Fraction | None
    limit_eps: float | None
    spent_eps: Fraction | None
    through: tuple[tuple[str, Fraction, Fraction], ...]
    about: str
    plans: tuple[ChargedPlan, ...]
    releases: tuple[ChargedRelease, ...]
    guesses: tuple[LedgerGuess, ...]
    fits: tuple[AffordableReleases, ...]
    closed: bool
    head: str

    def __str__(self) -> str:
        if self.closed:
            return f"{self.title} is closed: another ledger continues it."
        limit = f"{self.symbol} = {number(self.limit)}"
        return (
            f"{self.symbol} = {number(self.spent)} of {number(self.limit)} is spent on {self._what()}; "
            f"{number(self.remaining)} is left. Nobody loses more than {limit}{self._read()}, whatever is "
            "released."
        )

    def _what(self) -> str:
        alone = sum(release.plan is None for release in self.releases)
        plans = [f"a plan of {plan.count} releases ({plan.used} made)" for plan in self.plans]
        if alone or not plans:
            plans.append("1 release" if alone == 1 else f"{alone} releases")
        return " and ".join(plans)

    def _read(self) -> str:
        if self.limit_eps is None or self.delta is None:
            return ""
        return f" (ε = {self.limit_eps:.6g} at δ = {number(self.delta)})"


def account(budget: str | Path, *, key: bytes | None = None, anchor: str | None = None) -> LedgerAccount:
    """What the ledger of a budget file says; nothing is changed and no data is read.

    Parameters
    ----------
    budget : the budget file; its ledger lies beside it
    key : the secret that binds the ledger's records, if it has one
    anchor : a hash of the ledger noted after an earlier release; an older copy of the ledger is then refused

    Returns
    -------
    LedgerAccount
        What was spent on what, what is left, and what an attacker can guess after everything charged.

    Notes
    -----
    Cost: reading the ledger, and one convolution for each plan.

    The guess is the least of the bounds that are valid: Σε so far, the limit in ρ, and for a ledger of one
    plan and nothing else any releases of its ε (Kairouz, Oh and Viswanath), its ρ, and its noise. What the
    plan's own table gives away stands with the plan: it is no bound, since slots take other queries too.

    Examples
    --------
    >>> import shutil, tempfile
    >>> import sievert as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copied = shutil.copytree("examples", f"{folder}/examples")
    ...     done = sv.release.run(f"{copied}/census-count.toml")
    ...     found = sv.release.account(f"{copied}/budgets/census.toml")
    ...     found.spent, found.fits[0].more
    (Fraction(1, 2), 3)
    """
    path = file_path("budget", budget, LedgerError)
    limits = Budget.read(path)
    ledger = Ledger.look(path.with_suffix(".ledger"), limits, key=key, anchor=anchor)
    delta = ledger.budget.delta
    spent, through = ledger.spent, ledger.spent_through()
    return LedgerAccount(
        path.name,
        ledger.budget.currency.key,
        ledger.budget.currency.symbol,
        ledger.budget.limit,
        spent,
        ledger.budget.limit - spent,
        delta,
        None if delta is None else epsilon_of(ledger.budget.limit, delta),
        ledger.eps_spent,
        tuple((name, most, through.get(name, Fraction(0))) for name, most in ledger.budget.columns.items()),
        _about(ledger),
        tuple(_plan(planned, delta or DEFAULT_DELTA) for planned in ledger.plans),
        tuple(_release(entry) for entry in ledger.entries if not entry.closes),
        tuple(_guesses(ledger)),
        tuple(_fits(ledger)),
        ledger.closed,
        ledger.head,
    )


def _about(ledger: Ledger) -> str:
    if ledger.relation is not None:
        carried = [entry for entry in ledger.entries if "about" in entry.record]
        less = [
            f"; of what {entry.record['carried']} added up, {entry.record['about']}" for entry in carried[:1]
        ]
        owned = ledger.totals.records
        of = f", of whom one owns {owned} records at most" if owned > 1 else ""
        return "".join([ledger.relation.words, of, *less])
    return WITHOUT_RELATION if ledger.chain.records else "the pairs of its first release"


def _release(entry: Entry) -> ChargedRelease:
    return ChargedRelease(
        entry.id,
        str(entry.record.get("mechanism", "")),
        entry.cost,
        entry.columns,
        entry.finished or entry.carried,
        entry.plan,
        None if entry.slot is None else entry.slot + 1,
        tuple(entry.record.get("pair") or ()),
    )


def _plan(planned: Planned, delta: Fraction) -> ChargedPlan:
    guess = planned.record.get("guess")
    eps, is_bound = epsilon_at(planned, promised_by(planned), delta)
    return ChargedPlan(
        planned.id,
        str(planned.record.get("mechanism", "")),
        planned.count,
        len(planned.taken),
        planned.each,
        planned.total,
        delta,
        eps,
        eps is not None and is_bound,
        None if guess is None else float(guess["after"]),
        guess is not None and not guess["exact"],
    )


def _fits(ledger: Ledger) -> Iterator[AffordableReleases]:
    """For every kind of release that was charged, how many more of it are paid for or can be."""
    kinds: dict[tuple[str, Fraction], tuple[str, ...]] = {}
    for entry in ledger.entries:
        if entry.plan is None and entry.cost and not entry.closes and not entry.carried:
            kinds[str(entry.record.get("mechanism", "")), entry.cost] = entry.columns
    for planned in ledger.plans:
        if planned.each:
            kinds[str(planned.record.get("mechanism", "")), planned.each] = planned.columns
    for (what, each), columns in kinds.items():
        left = min(ledger.remaining(columns).values())
        yield AffordableReleases(what, each, max(0, math.floor(left / each)))


def _guesses(ledger: Ledger) -> Iterator[LedgerGuess]:
    """The least valid bound, between two states and among the values of whatever was planned."""
    unit = ledger.relation is None or ledger.relation.counts_records
    if not unit or not ledger.spent:
        return
    counts = {2}
    if ledger.relation is not None and ledger.relation.is_any_two:
        counts |= {plan.record["values"] for plan in ledger.plans if plan.record.get("values")}
    for values in sorted(counts):
        found = sorted(_bounds(ledger, values), key=lambda item: item[1])
        yield LedgerGuess(values, found[0][1], found[0][0], tuple(found[1:]))


def _bounds(ledger: Ledger, values: int) -> Iterator[tuple[str, float]]:
    """Names and values of all bounds that hold."""
    claims: list[tuple[str, Claim]] = []
    eps, limit = ledger.eps_spent, ledger.budget.limit
    if eps is not None:
        claims.append(("Σε of all that was charged", ApproximateClaim(_above(eps))))
    if ledger.budget.currency is not EPS:
        claims.append(("ρ of the limit", ZeroConcentratedClaim(_above(limit))))
    alone = _only_plan(ledger)
    if alone is not None:
        yield from _own_bounds(alone, values)
        claims += _plan_claims(alone)
    for name, claim in claims:
        with suppress(SievertError):
            yield name, best_guess(claim, values, None, upper_only=True).upper


def _only_plan(ledger: Ledger) -> Planned | None:
    """The plan that is all that was ever charged; None where there is more, which may depend on it."""
    plans = ledger.plans
    if len(plans) != 1 or any(entry.plan is None for entry in ledger.entries):
        return None
    return plans[0]


def _own_bounds(planned: Planned, values: int) -> Iterator[tuple[str, float]]:
    """What the plan's own noise allows, whichever queries its slots take."""
    claim = promised_by(planned)
    between = claim.between_two(0.5) if claim is not None and values == 2 else None
    if between is not None:
        yield "the plan's noise, composed exactly", between.guess


def _plan_claims(planned: Planned) -> Iterator[tuple[str, Claim]]:
    """What any releases of the plan's ε, or of its ρ, allow."""
    if planned.eps is not None:
        name = "any releases of the plan's ε (Kairouz, Oh and Viswanath)"
        yield name, ApproximateClaim(_above(planned.eps), 0.0, planned.count)
    rho = rho_of(planned)
    if rho is not None:
        yield "ρ of the plan", ZeroConcentratedClaim(_above(rho))


def _above(total: Fraction) -> float:
    """Not below the sum, whatever is lost by rounding."""
    return math.nextafter(float(total), math.inf) if total else 0.0
