"""Run a release: charge, draw, write, publish; or go on where an interrupted run stopped.

The order is that of the ledger (`sievert.tables.ledger`): rows are read and checked first, so that data
that does not fit costs nothing; then, under the lock, the reservation is on disk before the first draw, and
table and sidecar get their names only after the commit.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sievert.errors import DataError, LedgerError, MechanismError
from sievert.files import Scenario, load_scenario
from sievert.release.acceptance import require_accepted
from sievert.release.central import NoisyTable, computed, noisy_table
from sievert.release.clamping import clamping
from sievert.release.local import OUTPUT, State, check_rows, stream
from sievert.release.plan import Plan, make_plan, refuse_private_domain
from sievert.release.sealed import new_key
from sievert.release.sidecar import sidecar
from sievert.results import Result
from sievert.sampling import SeededBits
from sievert.tables.batches import Rows, open_rows
from sievert.tables.budget import number
from sievert.tables.ledger import WAIT_SECONDS, Ledger, Reservation, file_hash
from sievert.tables.writing import table_bytes

__all__ = ["Release", "charge", "run"]

Progress = Callable[[str, int, int | None], None]
SIDECAR = 0


@dataclass(frozen=True)
class Release(Result):
    """What was released.

    Attributes
    ----------
    id : its name in the ledger
    output, sidecar : the files
    eps : what it cost each person
    remaining : what is left for each person afterwards
    remaining_through : what is left through each column that has a limit of its own
    table : the released numbers (None for a release row by row)
    resumed : whether an interrupted run was finished, at no further cost
    secure : False when the noise came from a seed, or was drawn in floating point
    arithmetic : "exact", or "float" where the file asked for it
    head : the ledger's last hash, to be noted elsewhere
    notes : what was clamped, rounded or left out
    """

    id: str
    output: str
    sidecar: str
    eps: Fraction
    remaining: Fraction
    table: NoisyTable | None
    resumed: bool
    secure: bool
    arithmetic: str
    head: str
    remaining_through: tuple[tuple[str, Fraction], ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        found["table"] = None if self.table is None else self.table.rows
        return found

    def __str__(self) -> str:
        cost = f"for ε = {number(self.eps)} a person"
        if self.resumed:
            cost = "at no further cost: an interrupted run was finished"
        left = f"{number(self.remaining)} of each person's budget is left"
        scarce = [(name, rest) for name, rest in self.remaining_through if rest < self.remaining]
        left += "".join(f", {number(rest)} through the column {name}" for name, rest in scarce) + "."
        return " ".join([f"Released to {Path(self.output).name} {cost}; {left}", *self._warning()])

    def _warning(self) -> list[str]:
        if self.secure:
            return []
        if self.arithmetic == "float":
            return ["Drawn in floating point, as the file asks: the promise holds up to rounding only."]
        return ["NOT PRIVATE: the noise came from a seed."]


def run(
    scenario: Scenario | str | Path,
    *,
    data: Any = None,
    output: str | Path | None = None,
    id: str | None = None,
    insecure_rng: int | None = None,
    fresh: bool = False,
    wait: float = WAIT_SECONDS,
    anchor: str | None = None,
    progress: Progress | None = None,
    despite_accept: bool = False,
) -> Release:
    """Release what a file describes, and charge its ledger.

    Parameters
    ----------
    scenario : a scenario or the path of its TOML file
    data : a table in memory (pandas, polars, pyarrow) or another path, instead of [data] input
    output : where the table goes, instead of [release] output
    id : name of the release in the ledger; every release has its own
    insecure_rng : a seed, for tests and demonstrations only; the sidecar says so
    fresh : give up an interrupted run of the same release (what it cost stays spent) instead of finishing it
    wait : seconds to wait for another release on the same ledger
    anchor : a hash of the ledger noted after an earlier release; an older copy of the ledger is then refused
    despite_accept : release what exceeds a limit of the file's [accept]; the sidecar says so
    progress : called with a word, the number of rows so far, and of all rows once it is known
    """
    described = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    _check_seed(insecure_rng)
    plan = dataclasses.replace(make_plan(described, output), seeded=insecure_rng is not None)
    if not despite_accept:
        require_accepted(plan)
    source = described.folder / plan.data.input if data is None else data
    refuse_private_domain(described, source)
    rows = open_rows(source)
    budget, key = plan.budget(), plan.ledger_key()
    early = Ledger.look(plan.ledger_folder, budget, key=key)
    if not any(not entry.finished for entry in early.entries):
        early.check(charge(plan, early), plan.columns, plan.unit)
    report = _reporter(progress, "reading")
    totals = computed(plan, rows, report) if plan.central else None
    count = check_rows(plan, rows, report) if totals is None else 0
    _make_folder(plan.output.parent)
    with Ledger.hold(plan.ledger_folder, budget, key=key, wait=wait, anchor=anchor) as ledger:
        about = {"file": plan.digest, "fingerprint": rows.fingerprint(ledger.salt)}
        done = ledger.just_finished(**about)
        if done is not None and done.targets[OUTPUT] == Path(os.path.abspath(plan.output)):
            content = json.loads(done.targets[SIDECAR].read_text(encoding="utf-8"))
            return _result(plan, ledger, done, Fraction(0), None, True, content["mechanism"])
        held = None if plan.central else ledger.unfinished(**about)
        if held is not None and fresh:
            held.abandon()
        if fresh or id is not None:
            held = None
        resumed = held is not None
        eps = Fraction(0) if resumed else charge(plan, ledger)
        if held is None:
            held = ledger.reserve(
                eps,
                plan.columns,
                [plan.sidecar, plan.output],
                id=id,
                unit=plan.unit,
                mechanism=plan.mechanism.describe(),
                stable=plan.stable_mark,
                **about,
            )
        if totals is not None:
            table, sampler = _central(plan, totals, held, insecure_rng)
        else:
            report = _reporter(progress, "drawing", count)
            table, sampler = None, _local(plan, rows, held, resumed, insecure_rng, report)
        content = sidecar(plan, held, sampler, file_hash(held.temporary(OUTPUT)), ledger.head)
        held.write(SIDECAR, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
        held.commit()
        return _result(plan, ledger, held, eps, table, resumed, sampler)


def _result(
    plan: Plan,
    ledger: Ledger,
    held: Reservation,
    eps: Fraction,
    table: NoisyTable | None,
    resumed: bool,
    sampler: dict[str, Any],
) -> Release:
    left = ledger.remaining(plan.columns)
    return Release(
        held.id,
        str(held.targets[OUTPUT]),
        str(held.targets[SIDECAR]),
        eps,
        left[None],
        table,
        resumed,
        bool(sampler["secure"]),
        str(sampler["arithmetic"]),
        ledger.head,
        tuple((name, rest) for name, rest in left.items() if name is not None),
        tuple(clamping(plan)),
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise LedgerError(f"{folder}: cannot be made ({problem.strerror}); nothing was released") from None


def _check_seed(insecure_rng: object) -> None:
    if insecure_rng is not None and (not isinstance(insecure_rng, int) or isinstance(insecure_rng, bool)):
        raise MechanismError(f"insecure_rng is {insecure_rng!r}; it must be an integer seed")


def charge(plan: Plan, ledger: Ledger) -> Fraction:
    """What the release costs: a place that was drawn once for each person is paid for once."""
    mark = plan.stable_mark
    paid = mark is not None and any(entry.record.get("stable") == mark for entry in ledger.entries)
    return Fraction(0) if paid else plan.eps


def _central(
    plan: Plan, totals: Any, held: Reservation, insecure_rng: int | None
) -> tuple[NoisyTable, dict[str, Any]]:
    source = None if insecure_rng is None else SeededBits(insecure_rng)
    sampler = plan.mechanism.sampler(plan.rules.timing, source)
    table = noisy_table(plan, totals, sampler)
    held.write(OUTPUT, table_bytes(held.targets[OUTPUT], table.names, table.columns))
    return table, sampler.to_dict()


def _local(
    plan: Plan,
    rows: Rows,
    held: Reservation,
    resumed: bool,
    insecure_rng: int | None,
    report: Callable[[int], None] | None,
) -> dict[str, Any]:
    if resumed:
        state = State.load(held)
        if state.secure != (insecure_rng is None):
            raise LedgerError(f"insecure_rng: the interrupted run {held.id} was begun differently; use fresh")
    else:
        state = State(new_key(insecure_rng), insecure_rng is None)
        state.save(held)
    try:
        return stream(plan, rows, held, state, report)
    except DataError as problem:
        raise DataError(f"{problem}; the data changed while it was read") from None


def _reporter(progress: Progress | None, word: str, total: int | None = None) -> Callable[[int], None] | None:
    return None if progress is None else lambda rows: progress(word, rows, total)
