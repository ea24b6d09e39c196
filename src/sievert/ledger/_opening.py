"""How a ledger begins: its budget and relation are written down first, and never change afterwards."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sievert.errors import LedgerError
from sievert.ledger._binding import refuse_other_ledger
from sievert.ledger._budget import REPLACE, Budget, Relation
from sievert.ledger._chain import Chain, Record, legible
from sievert.ledger._continued import (
    carried_records,
    closed_for,
    earlier_of,
    missing_records,
    require_continuable,
)
from sievert.ledger._known import name_of
from sievert.numerics import abbreviated

if TYPE_CHECKING:
    from sievert.ledger._ledger import Ledger

__all__ = ["agreed", "begin", "looked"]

VERSION = 2  # version 1 states no relation; it can still be charged


def begin(chain: Chain, budget: Budget | None, relation: Relation | None, wait: float, folder: Path) -> None:
    """Open a new ledger, and charge what an earlier one spent where it continues one."""
    if chain.records and not _unfinished_opening(chain):
        return
    if budget is None:
        what = "has yet to charge what it continues" if chain.records else "is a new ledger"
        raise LedgerError(f"{folder}: {what}; give the budget it starts with")
    earlier = earlier_of(budget, chain.key, folder)
    refuse_other_ledger(budget.ledger, name_of(chain.records[0]) if chain.records else None, folder)
    about = _counted(_stated(budget, earlier) or relation or REPLACE, budget)
    if chain.records:
        about = Relation.from_record(chain.records[0]["relation"])
    with closed_for(budget, about, chain.key, wait, folder) as earlier:
        carried = [] if earlier is None else carried_records(earlier, budget)
        if not chain.records:
            chain.append(_opening(budget, about, earlier, len(carried)))
        for record in missing_records(chain, carried):
            chain.append(record)


def _unfinished_opening(chain: Chain) -> bool:
    """Whether an interruption kept some of what an earlier ledger spent from being charged."""
    carried = sum("carried" in record for record in chain.records)
    with legible():
        return bool(carried < chain.records[0].get("carries", 0))


def looked(
    chain: Chain, budget: Budget | None, relation: Relation | None, folder: Path
) -> tuple[Budget, Relation | None]:
    """What a ledger is about; where it is not there yet, or not whole, what it continues counts as spent."""
    if chain.records and not _unfinished_opening(chain):
        return agreed(chain.records[0], budget, folder)
    if budget is None:
        what = "has yet to charge what it continues" if chain.records else "no ledger is there"
        raise LedgerError(f"{folder}: {what}")
    earlier = earlier_of(budget, chain.key, folder)
    if chain.records:
        about = agreed(chain.records[0], budget, folder)[1]
    else:
        about = _stated(budget, earlier) or relation
        about = None if about is None else _counted(about, budget)
    if earlier is not None:
        require_continuable(earlier, budget, about or REPLACE, folder)
        chain.records.extend(missing_records(chain, carried_records(earlier, budget)))
    return budget, about


def _stated(budget: Budget, earlier: Ledger | None) -> Relation | None:
    """The relation of a new ledger before its first release: what the budget says, or that it continues."""
    return budget.relation or (None if earlier is None else earlier.relation)


def _counted(about: Relation, budget: Budget) -> Relation:
    """The relation with as many records of a person as the budget states: what a file states comes later."""
    return replace(about, person_records=budget.person_records or 1)


def _opening(budget: Budget, about: Relation, earlier: Ledger | None, carries: int) -> Record:
    opening = {"kind": "open", "version": VERSION, "salt": secrets.token_hex(16)}
    continued = {} if earlier is None else {"continues": earlier.head, "carries": carries}
    return {**opening, **budget.to_record(), "relation": about.to_record(), **continued}


def agreed(opening: Record, budget: Budget | None, folder: Path) -> tuple[Budget, Relation | None]:
    """What the ledger was opened with; another budget or relation in the file is refused, not adopted."""
    if opening.get("kind") != "open" or opening.get("version") not in (1, VERSION):
        raise LedgerError(
            f"{folder}: was not written by this version; its first record is {abbreviated(opening)}"
        )
    with legible():
        opened = Budget.from_record(opening)
        relation = None if opening["version"] == 1 else Relation.from_record(opening["relation"])
    if budget is None:
        return opened, relation
    if not budget.same_limits(opened):
        raise LedgerError(
            f"{folder}: was opened with the budget {opened.words()} but the file now says {budget.words()}; "
            "a budget cannot be changed once spending has begun: put it back, or name a new ledger for new "
            "data"
        )
    if budget.person_records is not None and budget.person_records != opened.person_records:
        raise LedgerError(
            f"{folder}: was opened with person_records = {opened.person_records or 1} but the file now says "
            f"{budget.person_records}; it cannot be changed once spending has begun: put it back, or name a "
            "new ledger for new data"
        )
    if budget.relation is not None and (relation is None or budget.relation.kind != relation.kind):
        had = "for no stated relation" if relation is None else f'for the relation "{relation.kind}"'
        raise LedgerError(
            f'{folder}: was opened {had} but the file now says "{budget.relation.kind}"; it cannot be '
            "changed once spending has begun: put it back, or name a new ledger for new data"
        )
    return opened, relation
