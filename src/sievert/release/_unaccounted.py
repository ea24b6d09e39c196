"""A release that no ledger adds up: its noise keeps no ε, the file names none, and it is asked for.

Nothing is charged, so nothing can be finished later: the noise is drawn once, and the table gets its name
only after its sidecar has one. Another run draws again; what both tell together is for the owner to add up.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sievert.errors import LedgerError
from sievert.release._domain import Fingerprints
from sievert.release._plan import Plan
from sievert.release._protocol import ReleaseRequest
from sievert.release._row_release import SealedBits, new_key
from sievert.release._sidecar import sidecar
from sievert.release._table_release import NoisyTable, chosen_tables, computed, noisy_table, read_columns
from sievert.tables import Rows, Warehouse, table_bytes, write_bytes

__all__ = ["NAME_A_LEDGER", "NOTHING_CHARGED", "released_without_ledger", "require_asked_for"]

NOTHING_CHARGED = (
    "No ledger adds this release up: its noise keeps no ε. Every further release from the same data tells "
    "more, and `sievert audit` with [adversary] observations says how much."
)
NAME_A_LEDGER = (
    "the file names no ledger, so nothing adds up what its releases tell, or limits how many there are; "
    'add ledger = "budget.toml" under [release] (a budget with rho and delta for this noise), or release it '
    "without one by name: --without-ledger (without_ledger=True in Python)"
)


def require_asked_for(plan: Plan, without_ledger: bool) -> None:
    """Refuse a release that nothing charges, unless it is asked for; and asking where a ledger is charged."""
    if plan.unaccounted and not without_ledger:
        raise LedgerError(f"{plan.scenario.source}: {NAME_A_LEDGER}")
    if without_ledger and not plan.unaccounted:
        raise LedgerError(
            f"{plan.scenario.source}: without_ledger goes with noise that keeps no ε in a file that names no "
            "ledger, and this release is charged to one; leave it out"
        )


def released_without_ledger(
    plan: Plan, rows: Rows | Warehouse, seed: int | None, id: str | None, asked: ReleaseRequest
) -> tuple[str, NoisyTable, dict[str, Any]]:
    """Read, draw and write: the release's name, the table, and what its sampler says."""
    seen = Fingerprints(read_columns(plan))
    found, key = computed(plan, rows, asked.reporter("reading"), seen, asked.fit), new_key(seed)
    sampler = plan.sampler(SealedBits(key, seed is None))
    table = noisy_table(plan, chosen_tables(plan, found, key), sampler)
    content = table_bytes(plan.output, table.names, table.columns)
    digest = hashlib.sha256(content).hexdigest()
    name = digest[:16] if id is None else id
    beside = sidecar(plan, name, plan.output.name, sampler.to_dict(), digest, None)
    write_bytes(
        plan.sidecar, (json.dumps(beside, ensure_ascii=False, indent=1) + "\n").encode(), replace=False
    )
    write_bytes(plan.output, content, replace=False)
    return name, table, sampler.to_dict()
