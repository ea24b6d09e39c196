"""A ledger that continues another: the earlier one is closed, and what it spent is charged first.

Of a ledger in ε the entries keep their ε only, and any ε-private release costs ε·tanh(ε/2) in ρ. A total in ρ
says nothing in pure ε, so that way is refused. The earlier ledger is closed by a last reservation over all
that is left, which software of any version respects. It names the ledger that continues it, so that no
second one can. An interruption between the two leaves the earlier one closed and the new one to be finished
by its next use.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sievert.errors import LedgerError
from sievert.ledger._budget import UNIT, WITHOUT_RELATION, Budget, Relation
from sievert.ledger._chain import Chain, Record
from sievert.ledger._currency import EPS
from sievert.numerics import number

if TYPE_CHECKING:
    from sievert.ledger._ledger import Ledger

__all__ = ["carried_records", "closed_for", "earlier_of", "missing_records", "require_continuable"]


@contextmanager
def closed_for(
    budget: Budget, relation: Relation, key: bytes | None, wait: float, by: Path
) -> Iterator[Ledger | None]:
    """The ledger that a budget continues, held and closed by another one; None where it continues none."""
    from sievert.ledger._ledger import Ledger

    if budget.continues is None:
        yield None
        return
    folder = _folder(budget.continues, by)
    with Ledger.hold(folder, Budget.read(budget.continues), key=key, wait=wait) as earlier:
        require_continuable(earlier, budget, relation, by)
        if not earlier.closed:
            left = earlier.remaining()[None]
            earlier.append(
                {
                    "kind": "reserve",
                    "id": f"closed-{secrets.token_hex(4)}",
                    "eps": str(left),
                    "cost": str(left),
                    "unit": UNIT if earlier.relation is None else earlier.relation.unit,
                    "columns": [],
                    "targets": [],
                    "closes": True,
                    "by": _name(earlier, by),
                }
            )
        yield earlier


def earlier_of(budget: Budget, key: bytes | None, by: Path) -> Ledger | None:
    """The ledger that a budget continues, as it stands; None where it continues none."""
    from sievert.ledger._ledger import Ledger

    return None if budget.continues is None else Ledger.look(_folder(budget.continues, by), key=key)


def _folder(budget_file: Path, by: Path) -> Path:
    folder = budget_file.with_suffix(".ledger")
    if folder.resolve() == by.resolve():
        raise LedgerError(
            f"{folder}: continues itself; name the budget file of the earlier ledger under continues"
        )
    if not folder.is_dir():
        raise LedgerError(
            f"{folder}: no ledger is there, so there is nothing to continue; leave out continues"
        )
    return folder


def _name(earlier: Ledger, by: Path) -> str:
    """Where the ledger that continues lies, seen from the earlier one: both may be moved together."""
    return Path(os.path.relpath(by.resolve(), earlier.folder.resolve().parent)).as_posix()


def require_continuable(earlier: Ledger, budget: Budget, relation: Relation, by: Path) -> None:
    """Refuse a second continuation, a raised limit in ρ, another currency and other pairs.

    Of a filter in ρ only a limit that was fixed before holds; Σε holds on every path, whatever the limit.
    """
    closings = [entry.record.get("by") for entry in earlier.entries if entry.closes]
    if closings and closings != [_name(earlier, by)]:
        raise LedgerError(
            f"{earlier.folder}: is closed, and {closings[0] or 'another ledger'} continues it; two would "
            "spend what is left twice: continue that one"
        )
    if budget.currency is EPS and earlier.budget.currency is not EPS:
        raise LedgerError(
            f"{earlier.folder}: adds up ρ, and no ρ is a pure ε; continue it in ρ (rho or eps, with delta)"
        )
    if earlier.budget.currency is not EPS:
        _require_no_more(earlier, budget)
    had = earlier.relation
    if had is not None and not had.same_pairs(relation):
        raise LedgerError(
            f"{earlier.folder}: adds up what is learned about {had.words}, and the new ledger is about "
            f"{relation.words}; what was spent is not known for those"
        )


def _require_no_more(earlier: Ledger, budget: Budget) -> None:
    had = earlier.budget
    raised = [("rho", budget.limit, had.limit)] if budget.limit > had.limit else []
    for name, most in had.columns.items():
        if name not in budget.columns or budget.columns[name] > most:
            raised.append((f"columns.{name}", budget.columns.get(name, budget.limit), most))
    for key, wanted, most in raised:
        raise LedgerError(
            f"{earlier.folder}: was opened with {key} = {number(most)} and the budget that continues it "
            f"allows {number(wanted)}; a limit in ρ that is raised after looking promises nothing: keep it "
            "or lower it"
        )


def carried_records(earlier: Ledger, budget: Budget) -> list[Record]:
    """What the new ledger charges first, one record for each set of columns."""
    from sievert.channels import rho_of_eps

    converted = budget.currency is not earlier.budget.currency
    charged: dict[tuple[tuple[str, ...], int], list[tuple[int, Fraction, Fraction | None]]] = {}
    pure, totals = earlier.budget.currency is EPS, earlier.totals
    for entry in earlier.entries:
        if entry.plan is None and not entry.closes:
            eps = entry.cost if pure else entry.eps
            kind = entry.columns, totals.share_of(entry.record).grows
            charged.setdefault(kind, []).append((1, entry.cost, eps))
    for plan in earlier.plans:
        kind = plan.columns, totals.share_of(plan.record).grows
        charged.setdefault(kind, []).append((plan.count, plan.each, plan.each if pure else plan.eps))
    # Version 1 states no relation, and what it added up holds for no other pairs than it says.
    carries = any("about" in entry.record for entry in earlier.entries)
    unstated = {"about": WITHOUT_RELATION} if earlier.relation is None or carries else {}
    records: list[Record] = []
    for place, ((columns, grows), items) in enumerate(charged.items(), start=1):
        # ε·tanh(ε/2) grows no faster than the square of ε.
        power = 2 if grows and converted else grows
        known = [count * eps for count, _, eps in items if eps is not None]
        total = sum((n * (rho_of_eps(each) if converted else each) for n, each, _ in items), Fraction(0))
        records.append(
            {
                "kind": "reserve",
                "id": f"carried-{place}",
                "eps": str(sum(known, Fraction(0))) if len(known) == len(items) else None,
                "cost": str(total),
                "unit": UNIT if earlier.relation is None else earlier.relation.unit,
                "columns": list(columns),
                "targets": [],
                "records": totals.records,
                **({"grows": power} if power else {}),
                "mechanism": f"{_releases(sum(count for count, _, _ in items))} of {earlier.folder.name}",
                "carried": earlier.folder.name,
                **unstated,
            }
        )
    return records


def _releases(count: int) -> str:
    return "1 release" if count == 1 else f"{count} releases"


def missing_records(chain: Chain, records: list[Record]) -> list[Record]:
    """Those that an interruption kept from being written."""
    there = {record.get("id") for record in chain.records}
    return [record for record in records if record["id"] not in there]
