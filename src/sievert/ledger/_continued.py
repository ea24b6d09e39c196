"""A ledger that continues another: the earlier one is closed, and what it spent is charged first.

Of a ledger in ε the entries keep their ε only, and any ε-private release costs ε·tanh(ε/2) in ρ. A total in ρ
says nothing in pure ε, so that way is refused. The earlier ledger is closed by a last reservation over all
that is left, which software of any version respects. An interruption between the two leaves the earlier one
closed and the new one to be finished by its next use.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sievert.errors import LedgerError
from sievert.ledger._budget import UNIT, Budget, Relation
from sievert.ledger._chain import Chain, Record
from sievert.ledger._currency import EPS

if TYPE_CHECKING:
    from sievert.ledger._ledger import Ledger

__all__ = ["carried_records", "closed_for", "missing_records", "require_continuable"]


@contextmanager
def closed_for(budget: Budget, relation: Relation, key: bytes | None, wait: float) -> Iterator[Ledger | None]:
    """The ledger that a budget continues, held and closed; None where it continues none."""
    from sievert.ledger._ledger import Ledger

    if budget.continues is None:
        yield None
        return
    folder = _folder(budget.continues)
    with Ledger.hold(folder, Budget.read(budget.continues), key=key, wait=wait) as earlier:
        require_continuable(earlier, budget, relation)
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
                }
            )
        yield earlier


def _folder(budget_file: Path) -> Path:
    folder = budget_file.with_suffix(".ledger")
    if not folder.is_dir():
        raise LedgerError(
            f"{folder}: no ledger is there, so there is nothing to continue; leave out continues"
        )
    return folder


def require_continuable(earlier: Ledger, budget: Budget, relation: Relation) -> None:
    """Refuse to carry a total over to another currency or to other pairs than it is about."""
    if budget.currency is EPS and earlier.budget.currency is not EPS:
        raise LedgerError(
            f"{earlier.folder}: adds up ρ, and no ρ is a pure ε; continue it in ρ (rho or eps, with delta)"
        )
    had = earlier.relation
    if had is not None and (not had.same_pairs(relation) or had.person_records < relation.person_records):
        raise LedgerError(
            f"{earlier.folder}: adds up what is learned about {had.words}, and the new ledger is about "
            f"{relation.words}; what was spent is not known for those"
        )


def carried_records(earlier: Ledger, budget: Budget) -> list[Record]:
    """What the new ledger charges first, one record for each set of columns."""
    from sievert.channels import rho_of_eps

    converted = budget.currency is not earlier.budget.currency
    charged: dict[tuple[str, ...], list[tuple[int, Fraction, Fraction | None]]] = {}
    pure = earlier.budget.currency is EPS
    for entry in earlier.entries:
        if entry.plan is None and not entry.closes:
            eps = entry.cost if pure else entry.eps
            charged.setdefault(entry.columns, []).append((1, entry.cost, eps))
    for plan in earlier.plans:
        charged.setdefault(plan.columns, []).append((plan.count, plan.each, plan.each if pure else plan.eps))
    records: list[Record] = []
    for number, (columns, items) in enumerate(charged.items(), start=1):
        known = [count * eps for count, _, eps in items if eps is not None]
        total = sum((n * (rho_of_eps(each) if converted else each) for n, each, _ in items), Fraction(0))
        records.append(
            {
                "kind": "reserve",
                "id": f"carried-{number}",
                "eps": str(sum(known, Fraction(0))) if len(known) == len(items) else None,
                "cost": str(total),
                "unit": UNIT if earlier.relation is None else earlier.relation.unit,
                "columns": list(columns),
                "targets": [],
                "mechanism": f"{sum(count for count, _, _ in items)} releases of {earlier.folder.name}",
                "carried": earlier.folder.name,
            }
        )
    return records


def missing_records(chain: Chain, records: list[Record]) -> list[Record]:
    """Those that an interruption kept from being written."""
    there = {record.get("id") for record in chain.records}
    return [record for record in records if record["id"] not in there]
