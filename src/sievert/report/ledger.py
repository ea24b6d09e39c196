"""A budget ledger in sentences and as a page: what was spent on what, what is left, what can be guessed."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator, Sequence
from fractions import Fraction

from sievert.numerics import at_most, at_most_percent, bounded_percent, in_percent, number
from sievert.release import ChargedPlan, ChargedRelease, LedgerAccount, LedgerGuess
from sievert.report._bars import bars
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.spaces import worded

__all__ = ["content", "lines", "page", "pair_words"]

# Releases that are shown in sentences; a page and --json have more.
SHOWN = 12
MOST_ROWS = 500
# What a ledger holds of a state is not longer.
LONGEST_STATE = 60


def lines(found: LedgerAccount) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "What it adds up", list(_adds_up(found))
    if found.plans:
        yield "Plans", [sentence for plan in found.plans for sentence in _plan(plan, found.symbol)]
    if found.releases:
        shown = [_release(item, found.symbol) for item in found.releases[-SHOWN:]]
        more = len(found.releases) - len(shown)
        yield "Spent on", [*([f"{more} earlier releases (--json lists them)."] if more else []), *shown]
    yield "What an attacker can guess", list(_guesses(found))
    if found.fits and not found.closed:
        yield "What still fits", [f"{fit.more} more of: {_what(fit.what)}." for fit in found.fits]
    yield "Files", [f"The last hash is {found.head[:16]}…: note it elsewhere to notice an older copy."]


def _adds_up(found: LedgerAccount) -> Iterator[str]:
    yield f"What is learned about {found.about}; a second ledger for the same people adds to it."
    if found.delta is not None and found.limit_eps is not None:
        promised = f"ε = {at_most(found.limit_eps, 8)} at δ = {number(found.delta)}"
        yield (
            f"Promised is the limit, {promised}: one may go on by looking at what was released, so what is "
            "spent so far promises nothing by itself."
        )
    if found.spent_eps is not None:
        yield f"Σε so far is {number(found.spent_eps)}, which holds however one went on."
    for name, limit, spent in found.through:
        yield f"Through the column {name}: {number(spent)} of {number(limit)}."


def _plan(plan: ChargedPlan, symbol: str) -> Iterator[str]:
    yield (
        f"{plan.id}: {plan.used} of {plan.count} slots used, {symbol} = {number(plan.total)} charged whole; "
        f"{_what(plan.what)}."
    )
    if plan.eps is not None:
        how = "a bound on what they compose to" if plan.eps_is_bound else "composed exactly"
        yield f"Alone, all its releases keep ε = {at_most(plan.eps, 10)} at δ = {number(plan.delta)}, {how}."
    if plan.guess is not None:
        yield (
            "If every slot releases what it was planned with, one record is guessed with probability "
            f"{bounded_percent(plan.guess, not plan.guess_is_bound)} after all of them; other queries may "
            "tell more."
        )


def _release(item: ChargedRelease, symbol: str) -> str:
    cost = f"{symbol} = {number(item.cost)}"
    if item.plan is not None:
        cost = f"slot {item.slot} of {item.plan}"
    between = f", most between {pair_words(item.pair)}" if len(item.pair) == 2 else ""
    state = "" if item.published else "; charged, not published"
    return f"{item.id}: {cost}{between}; {_what(item.what)}{state}."


def pair_words(pair: Sequence[str]) -> str:
    """The two states that cost most, of which a ledger holds what Python calls them.

    >>> pair_words(["'absent'", "('surgery', 30)"])
    "'absent' and (surgery, 30)"
    """
    return " and ".join(map(_state, map(str, pair)))


def _state(text: str) -> str:
    try:
        return worded(literal_eval(text)) if text.startswith("(") and len(text) <= LONGEST_STATE else text
    except (ValueError, SyntaxError, TypeError):
        # Cut in the middle, or with what is more than numbers and texts.
        return text


def _what(words: str) -> str:
    return words or "carried over"


def _guesses(found: LedgerAccount) -> Iterator[str]:
    if not found.guesses:
        yield (
            "Nothing beyond chance yet." if not found.spent else "No single number is known for these pairs."
        )
    for guess in found.guesses:
        among = "Between two states" if guess.values == 2 else f"Among {guess.values} equally likely values"
        yield f"{among}: right with probability at most {at_most_percent(guess.guess)}, by {guess.bound}."


def page(found: LedgerAccount, command: str = "") -> str:
    """The whole page, working offline."""
    return page_html(content(found, command))


def content(found: LedgerAccount, command: str = "") -> Page:
    """What the page says."""
    symbol = found.symbol
    rows = [
        (item.id, number(item.cost), "" if item.plan is None else f"{item.plan}, {item.slot}", item.what)
        for item in found.releases[-MOST_ROWS:]
    ]
    tables = [PageTable("Releases", ("release", symbol, "plan and slot", "mechanism"), rows)] if rows else []
    bounds = [row for guess in found.guesses for row in _bounds(guess)]
    if bounds:
        caption = "Every bound holds; the least is the answer. All values are equally likely before."
        tables.append(PageTable("What an attacker can guess", ("among", "by", "at most"), bounds, caption))
    return Page(
        title=found.title,
        made_by="Budget ledger",
        headline=str(found),
        sections=list(lines(found)),
        good=not found.closed,
        command=command or f"sievert ledger {found.title} --report page.html",
        summary=PageTable("At a glance", (), list(_glance(found))),
        tables=tables,
        pictures=list(_pictures(found)),
    )


def _pictures(found: LedgerAccount) -> Iterator[Picture]:
    """What was spent on what, and what is left; earlier releases of many in one bar."""
    spent = [(f"plan {plan.id}", plan.total) for plan in found.plans]
    alone = [(item.id, item.cost) for item in found.releases if item.plan is None]
    if len(alone) > SHOWN:
        before = alone[:-SHOWN]
        spent.append((f"{len(before)} earlier", sum((cost for _, cost in before), Fraction(0))))
    spent += alone[-SHOWN:]
    if not spent:
        return
    rows = [*spent, ("left", found.remaining)]
    figure = bars(
        [name for name, _ in rows],
        [float(amount) for _, amount in rows],
        found.symbol,
        [name == "left" for name, _ in rows],
    )
    caption = f"Of {found.symbol} = {number(found.limit)} in all; a plan is charged whole, whatever is used."
    yield Picture("Spent on what", caption, figure)


def _bounds(guess: LedgerGuess) -> Iterator[tuple[str, str, str]]:
    for name, value in ((guess.bound, guess.guess), *guess.others):
        yield f"{guess.values}", name, in_percent(value)


def _glance(found: LedgerAccount) -> Iterator[tuple[str, str]]:
    yield "limit", f"{found.symbol} = {number(found.limit)}"
    if found.limit_eps is not None and found.delta is not None:
        yield f"which is, at δ = {number(found.delta)}", f"ε = {at_most(found.limit_eps, 6)}"
    yield "spent", f"{found.symbol} = {number(found.spent)}"
    yield "left", f"{found.symbol} = {number(found.remaining)}"
    yield "releases", f"{len(found.releases)}"
    for guess in found.guesses:
        yield f"best guess among {guess.values}", f"at most {at_most_percent(guess.guess)}"
