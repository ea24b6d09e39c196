"""A release that no ledger adds up: its noise keeps no ε, and the file names no ledger.

Nothing is charged, so nothing can be finished later: the noise is drawn once, and the table gets its name
only after its sidecar has one. Another run draws again; what both tell together is for the owner to add up.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sievert.release._central import NoisyTable, chosen_tables, computed, noisy_table, read_columns
from sievert.release._domain import Fingerprints
from sievert.release._local import SealedBits, new_key
from sievert.release._plan import Plan
from sievert.release._protocol import Asked
from sievert.release._sidecar import sidecar
from sievert.tables import Rows, Warehouse, table_bytes, write_bytes

__all__ = ["NOTHING_CHARGED", "released_without_ledger"]

NOTHING_CHARGED = (
    "No ledger adds this release up: its noise keeps no ε. Every further release from the same data tells "
    "more, and `sievert audit` with [adversary] observations says how much."
)


def released_without_ledger(
    plan: Plan, rows: Rows | Warehouse, seed: int | None, id: str | None, asked: Asked
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
