"""Run a release of a table, of rows or places; those of documents and vectors have modules of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, cast, overload

from sievert.errors import DataError, FileError, LedgerError, OutputError, SievertError
from sievert.files import PolicyScenario, Scenario, described, load_policy_scenario, refuse_private
from sievert.ledger import WAIT_SECONDS, WITHOUT_RELATION, Ledger, Relation, Reservation
from sievert.numerics import abbreviated, flag, number
from sievert.release._acceptance import require_accepted
from sievert.release._budget_account import Cost, in_its_unit
from sievert.release._cumulative_effect import ReleaseEffect, effect_of
from sievert.release._domain import Fingerprints
from sievert.release._fit import Show
from sievert.release._neighbour_relations import charge, cost, relation_of
from sievert.release._plan import Plan, make_plan
from sievert.release._protocol import (
    SIDECAR,
    DrawResult,
    Job,
    Progress,
    ReleaseRequest,
    below_its_file,
    make_folder,
    outside_ledger,
    released,
    seed_of,
)
from sievert.release._row_release import OUTPUT, SealedBits, State, check_rows, stream
from sievert.release._sidecar import clamping, sidecar
from sievert.release._stable import Ids, Owners, check_places
from sievert.release._table_release import NoisyTable, chosen_tables, computed, noisy_table, read_columns
from sievert.release._unaccounted import NOTHING_CHARGED, released_without_ledger, require_asked_for
from sievert.release._units import check_units, draw_units, manifest, manifest_hash, new_shared, parts_of
from sievert.results import Result
from sievert.tables import (
    Contents,
    Engine,
    Rows,
    Unit,
    Warehouse,
    Workers,
    given_warehouse,
    is_several,
    open_rows,
    rows_about,
    table_bytes,
    units_in,
)

if TYPE_CHECKING:
    from sievert.files import DocumentsScenario, VectorsScenario
    from sievert.release._documents import DocumentsRelease
    from sievert.release._vectors import VectorsRelease

__all__ = ["Release", "run"]


@dataclass(frozen=True)
class Release(Result):
    """What was released.

    Attributes
    ----------
    id : its name in the ledger
    output, sidecar : the files
    eps : what it cost each person, in the ledger's currency (None: the noise keeps no ε, and no ledger adds
        it up)
    remaining : what is left for each person afterwards (None: no ledger)
    remaining_through : what is left through each column that has a limit of its own
    about : for which pairs of states of a person's records the ledger adds up
    table : the released numbers (None for a release row by row)
    resumed : whether an interrupted run was finished, at no further cost
    secure : False when the noise came from a seed, or was drawn in floating point
    arithmetic : "exact", or "float" where the file asked for it
    head : the ledger's last hash, to be noted elsewhere
    pending : earlier releases whose files could not be given their names yet
    notes : what was clamped, rounded or left out, and why another ε was drawn than audited
    effect : how far it is from the truth, and what it gives away, alone and with all others of the ledger
    symbol : of the ledger's currency, ε or ρ
    plan, slot : the plan that has paid for it, and its place there, from 1 (None: it was charged alone)
    parts : how many files the folder `output` holds (None: it is one file)
    per : whom the cost is for: "person", or "row of this view" where no column says whose it is
    """

    id: str
    output: str
    sidecar: str
    eps: Fraction | None
    remaining: Fraction | None
    table: NoisyTable | None
    resumed: bool
    secure: bool
    arithmetic: str
    head: str
    remaining_through: tuple[tuple[str, Fraction], ...] = ()
    about: str = ""
    pending: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    effect: ReleaseEffect | None = None
    symbol: str = "ε"
    plan: str | None = None
    slot: int | None = None
    parts: int | None = None
    per: str = "person"

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        found["table"] = None if self.table is None else self.table.rows
        if self.per == "person":
            del found["per"]
        return in_its_unit(found, self.symbol)

    def __str__(self) -> str:
        if self.eps is None or self.remaining is None:
            done = f"Released to {Path(self.output).name}; no ledger adds it up, for the noise keeps no ε."
            return " ".join([done, *self._warning()])
        cost = f"for {self.symbol} = {number(self.eps)} a {self.per}"
        if self.plan is not None:
            cost = f"in slot {self.slot} of the plan {self.plan}, which has paid"
        if self.resumed:
            cost = "at no further cost: an interrupted run was finished"
        left = f"{number(self.remaining)} of the budget of each {self.per} is left"
        if self.per == "person":
            left = f"{number(self.remaining)} of each person's budget is left"
        scarce = [(name, rest) for name, rest in self.remaining_through if rest < self.remaining]
        left += "".join(f", {number(rest)} through the column {name}" for name, rest in scarce) + "."
        name = Path(self.output).name
        where = name if self.parts is None else f"{self.parts} parts in the folder {name}"
        return " ".join([f"Released to {where} {cost}; {left}", *self._warning()])

    def _warning(self) -> list[str]:
        if self.secure:
            return []
        if self.arithmetic == "float":
            return ["Drawn in floating point, as the file asks: the promise holds up to rounding only."]
        return ["NOT PRIVATE: the noise came from a seed."]


class RunOptions(TypedDict, total=False):
    """What `run` may be told beside the file."""

    data: Any
    output: str | Path | None
    id: str | None
    insecure_rng: int | None
    fresh: bool
    wait: float
    anchor: str | None
    progress: Progress | None
    despite_accept: bool
    without_ledger: bool
    device: str | None
    fit: Show | None


@overload
def run(scenario: PolicyScenario | str | Path, **options: Unpack[RunOptions]) -> Release: ...
@overload
def run(scenario: DocumentsScenario, **options: Unpack[RunOptions]) -> DocumentsRelease: ...
@overload
def run(scenario: VectorsScenario, **options: Unpack[RunOptions]) -> VectorsRelease: ...
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
    without_ledger: bool = False,
    device: str | None = None,
    fit: Show | None = None,
) -> Release | Result:
    """Release what a file describes, and charge its ledger.

    Parameters
    ----------
    scenario : a scenario or the path of its TOML file
    data : a table in memory (pandas, polars, pyarrow), one that is counted where it is (of Ibis, a DuckDB
        relation, a lazy frame of polars) or another path, instead of [data]
    output : where the table goes, instead of [release] output
    id : name of the release in the ledger; every release has its own
    insecure_rng : another seed than the file's `test_seed`, for tests and demonstrations only; the file must
        have one, and every row of the output says so
    fresh : give up an interrupted run of the same release (what it cost stays spent) instead of finishing it
    wait : seconds to wait for another release on the same ledger
    anchor : a hash of the ledger noted after an earlier release; an older copy of the ledger is then refused
    despite_accept : release what breaks the file's [claim] or exceeds its [accept]; the sidecar says so
    without_ledger : release noise that keeps no ε from a file that names no ledger: nothing is charged, and
        nothing limits how often it is done
    progress : called with a word, the number of rows so far, and of all rows once it is known
    device : for documents, where nearest words are looked for: "cpu", "cuda" (extra `gpu`), …
    fit : called before anything is charged with how many rows fit, and why others are left out or replaced:
        private, for the owner of the data

    Returns
    -------
    Release
        The `output` and its sidecar, the `eps` charged and what remains of the budget.

    Notes
    -----
    Cost: one pass over the rows of the data for each column or table that is released.

    Examples
    --------
    >>> import shutil, tempfile
    >>> import sievert as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copied = shutil.copytree("examples", f"{folder}/examples")
    ...     done = sv.release.run(f"{copied}/census-count.toml")
    ...     print(done.eps, done.secure, done.output[-19:])
    1/2 True poor-households.csv
    """
    asked = ReleaseRequest(id, fresh, wait, anchor, progress, despite_accept, device, fit)
    without_ledger = flag("without_ledger", without_ledger, DataError)
    for name, path in (("data", data), ("output", output)):
        if isinstance(path, str | Path) and "\0" in str(path):
            raise FileError(f"{name} is {abbreviated(str(path))}; no path has a NUL in it: name a file")
    other = described(scenario)
    if device is not None and (other is None or other.table != "documents"):
        raise FileError(f"device is {device!r}; it goes with a file with [documents], leave it out")
    if other is not None:
        if without_ledger:
            raise LedgerError(f"{other.source}: is charged to a ledger; leave without_ledger out")
        if data is not None:
            raise FileError(
                f"{other.source}: data goes with a table; name {other.table} under [{other.table}] input"
            )
        from sievert.release._job import run_job

        return run_job(other, output, insecure_rng, asked)
    listed = (
        scenario
        if isinstance(scenario, PolicyScenario)
        else load_policy_scenario(cast("str | Path", scenario))
    )
    plan = make_plan(listed, output)
    seed = seed_of(plan, insecure_rng)
    require_asked_for(plan, without_ledger)
    below_its_file(plan)
    if not plan.unaccounted:
        outside_ledger(plan)
    if not asked.despite_accept:
        require_accepted(plan)
    if isinstance(data, str | Path):
        refuse_private(listed.document, listed.folder, listed.source, data)
    units = _units(plan, data)
    if units is not None:
        engine = plan.rules.engine or Engine.resolve("one")
        shared = new_shared(plan, Path(os.path.abspath(listed.folder if data is None else "")))
        with engine.start(shared, rows_about(units, shared.folder)) as workers:
            return released(_UnitsJob(plan, seed, units, workers), asked)
    with _opened(plan, data) as rows:
        if plan.unaccounted:
            make_folder(plan.output.parent)
            done = released_without_ledger(plan, rows, seed, id, asked)
            return _unaccounted(plan, *done)
        return released(_TableJob(plan, seed, rows), asked)


@contextmanager
def _opened(plan: Plan, data: Any) -> Iterator[Rows | Warehouse]:
    """The records: where they are counted, or as they are read."""
    folder = plan.scenario.folder
    counts = plan.central and not plan.scenario.policy.constrained
    there = plan.data.warehouse(folder) if data is None and counts else None
    if data is not None and (counts or not isinstance(data, str | Path)):
        there = given_warehouse(data)
        if there is not None and not counts:
            raise DataError(
                f"{there.name} is counted where it is, and this release needs every record; collect it into "
                "a pandas, polars or pyarrow table, or name files as data.input"
            )
    if there is not None:
        with there:
            yield there
        return
    yield plan.data.rows(folder) if data is None else open_rows(data)


def _units(plan: Plan, data: Any) -> list[Unit] | None:
    """The units of a release row by row whose data are a folder or a pattern of files."""
    folder = plan.scenario.folder if data is None else Path()
    if data is None:
        path = plan.data.several(folder)
    else:
        path = data if isinstance(data, str | Path) and is_several(data) else None
    if path is not None and not plan.central:
        return units_in(path, folder)
    if plan.rules.engine is not None and not plan.rules.engine.alone:
        raise FileError(
            f"{plan.scenario.source}, release.engine: goes with a release row by row whose data.input is a "
            "folder or a pattern of files; leave it out"
        )
    return None


class _Read(NamedTuple):
    """What one pass over the data found: totals or a number of rows, and a hash of each batch."""

    totals: Any
    rows: int
    seen: Fingerprints
    ids: Ids | None = None


@dataclass(frozen=True)
class _PlanJob(Job[Any, Release]):
    """What a table over all rows and every row by itself have in common."""

    plan: Plan
    seed: int | None

    @property
    def columns(self) -> list[str]:
        return self.plan.columns

    @property
    def unit(self) -> str:
        return self.plan.unit

    @property
    def words(self) -> str:
        return self.plan.words

    @property
    def eps(self) -> Fraction:
        return self.plan.eps

    @property
    def relation(self) -> Relation:
        return relation_of(self.plan)

    @property
    def mark(self) -> dict[str, Any]:
        period = {} if self.plan.period is None else {"period": self.plan.period}
        return {"stable": self.plan.stable_mark, **period}

    def charge(self, ledger: Ledger, read: Any = None) -> Cost:
        return charge(self.plan, ledger, getattr(read, "ids", None))

    def admits(self, ledger: Ledger) -> None:
        check_places(ledger)

    def _charged_for(self, held: Reservation, amount: Fraction, resumed: bool) -> Iterator[str]:
        """Why more was charged than the file alone says."""
        symbol = held.ledger.budget.currency.symbol
        if held.grown and not resumed:
            yield (
                f"This file states more records of a person than those before it: {symbol} = "
                f"{number(held.grown)} more is charged for releases that do not say whose row it is."
            )
        if self.plan.stable_mark is not None and amount:
            yield (
                "Places were drawn for ids that are new. A new id may be a known person's, so that a release "
                "with new ids is charged; one with known ids costs nothing."
            )

    def content(self, held: Reservation, drawn: DrawResult, digest: str) -> dict[str, Any]:
        name = held.targets[OUTPUT].name
        return sidecar(self.plan, held.id, name, dict(drawn.facts), digest, held.ledger.head)

    def result(
        self,
        ledger: Ledger,
        held: Reservation,
        eps: Fraction,
        resumed: bool,
        content: dict[str, Any],
        table: NoisyTable | None,
    ) -> Release:
        plan, sampler = self.plan, content["mechanism"]
        left = ledger.remaining(self.columns)
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
            plan.about_rows or (WITHOUT_RELATION if ledger.relation is None else ledger.relation.words),
            tuple(str(target) for late in ledger.pending for target in late.targets),
            (
                *clamping(plan),
                *([] if plan.note is None else [plan.note]),
                *self._charged_for(held, eps, resumed),
            ),
            _effect(plan, ledger),
            ledger.budget.currency.symbol,
            held.record.get("plan"),
            held.record["slot"] + 1 if "plan" in held.record else None,
            len(content["output"]["parts"]) if "parts" in content["output"] else None,
            plan.data.per,
        )


@dataclass(frozen=True)
class _TableJob(_PlanJob):
    """One table over all rows, or every row of one table by itself."""

    rows: Rows | Warehouse

    @property
    def columns(self) -> list[str]:
        """The columns that are charged: of a view, also those of tables that it is made of."""
        if not isinstance(self.rows, Warehouse) or self.plan.rules.ledger is None:
            return self.plan.columns
        return self.rows.through(self.plan.columns, self.plan.budget().columns)

    def charge(self, ledger: Ledger, read: Any = None) -> Cost:
        found = super().charge(ledger, read)
        for planned in ledger.plans if found.plan is not None else ():
            others = [name for name in self.columns if name in ledger.budget.columns]
            others = [name for name in others if name not in planned.columns]
            if planned.id == found.plan and others:
                raise LedgerError(
                    f"the plan {planned.id} has not paid for the column {abbreviated(others[0])}, of "
                    f"which the "
                    "data are made and which has a limit; name it as data.column, or plan the release with it"
                )
        return found

    def read(self, asked: ReleaseRequest) -> _Read:
        report = asked.reporter("reading")
        if self.plan.central:
            seen = Fingerprints(read_columns(self.plan))
            try:
                return _Read(computed(self.plan, self.rows, report, seen, asked.fit), 0, seen)
            except OutputError as problem:
                raise OutputError(
                    f"{problem}; nothing was charged, run the same command again", private=problem.private
                ) from None
        if self.plan.stable_mark is None:
            return _Read(None, *check_rows(self.plan, self._each, report, asked.fit))
        owners = Owners(self.plan.ledger_folder, self.plan.ledger_key(), self.plan.stable_mark)
        rows, seen = check_rows(self.plan, self._each, report, asked.fit, owners)
        return _Read(None, rows, seen, owners.counted())

    @property
    def _each(self) -> Rows:
        assert isinstance(self.rows, Rows)
        return self.rows

    def fingerprint(self, read: _Read) -> str:
        return read.seen.total()

    def draw(self, read: _Read, held: Reservation, state: State, asked: ReleaseRequest) -> DrawResult:
        if read.totals is None:
            report = asked.reporter("drawing", read.rows)
            sampler, noted = stream(self.plan, self._each, held, state, read.seen, report)
            return DrawResult(sampler, None, noted)
        source = self.plan.sampler(SealedBits(state.key, state.secure))
        totals = chosen_tables(self.plan, read.totals, state.key)
        table = noisy_table(self.plan, totals, source)
        held.write(OUTPUT, table_bytes(held.targets[OUTPUT], table.names, table.columns))
        return DrawResult(source.to_dict(), table)


@dataclass(frozen=True)
class _UnitsJob(_PlanJob):
    """Every row of a folder of files by itself, a unit at a time."""

    files: list[Unit]
    workers: Workers

    def read(self, asked: ReleaseRequest) -> tuple[Contents, ...]:
        return check_units(self.plan, self.files, self.workers, asked.reporter("reading"), asked.fit)

    def fingerprint(self, read: tuple[Contents, ...]) -> str:
        return manifest_hash(read)

    def units(self, read: tuple[Contents, ...]) -> list[dict[str, Any]]:
        return manifest(read)

    def draw(
        self, read: tuple[Contents, ...], held: Reservation, state: State, asked: ReleaseRequest
    ) -> DrawResult:
        report = asked.reporter("drawing", sum(item.rows for item in read))
        return DrawResult(draw_units(self.plan, read, self.workers, held, state, report))

    def content(self, held: Reservation, drawn: DrawResult, digest: str) -> dict[str, Any]:
        found = super().content(held, drawn, digest)
        found["output"]["parts"] = parts_of(held.temporary(OUTPUT))
        return found


def _effect(plan: Plan, ledger: Ledger | None) -> ReleaseEffect | None:
    """What the release gives away; what is published and charged does not fail where that is not known."""
    with suppress(SievertError):
        own = None
        if ledger is not None:
            own = cost(plan, ledger.relation, ledger.budget.currency).among(ledger)
        return effect_of(plan, ledger, own, counted=True)
    return None


def _unaccounted(plan: Plan, name: str, table: NoisyTable, sampler: dict[str, Any]) -> Release:
    return Release(
        name,
        str(plan.output),
        str(plan.sidecar),
        None,
        None,
        table,
        False,
        bool(sampler["secure"]),
        str(sampler["arithmetic"]),
        "",
        notes=(*clamping(plan), NOTHING_CHARGED),
        effect=_effect(plan, None),
    )
