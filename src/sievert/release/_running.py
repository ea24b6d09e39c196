"""Run a release: charge, draw, write, publish; or go on where an interrupted run stopped.

The order is that of the ledger (`sievert.ledger._ledger`): rows are read and checked first, so that data
that does not fit costs nothing; then, under the lock, the reservation is on disk before the first draw, and
table and sidecar get their names only after the commit. The random bits come from a key that is kept before
the charge, so whatever fails afterwards can be finished at no further cost, with the same outcome.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict, Unpack, cast, overload

from sievert.errors import DataError, FileError, LedgerError, MechanismError, OutputError, SievertError
from sievert.files import Described, Scenario, described, load_scenario, refuse_private
from sievert.ledger import WAIT_SECONDS, WITHOUT_RELATION, Ledger, Reservation, check_name, file_hash
from sievert.numerics import brief, flag, instance, non_negative, number
from sievert.release._acceptance import require_accepted
from sievert.release._central import NoisyTable, computed, noisy_table
from sievert.release._domain import Fingerprints
from sievert.release._in_all import Effect, effect_of
from sievert.release._local import OUTPUT, SealedBits, State, check_places, check_rows, new_key, stream
from sievert.release._plan import Plan, make_plan
from sievert.release._relations import charge, relation_of
from sievert.release._sidecar import clamping, sidecar
from sievert.release._unaccounted import NOTHING_CHARGED, released_without_ledger
from sievert.results import Result
from sievert.tables import Rows, is_inside, open_rows, table_bytes

if TYPE_CHECKING:
    from sievert.files import TextScenario, VectorScenario
    from sievert.release._documents import DocumentsRelease
    from sievert.release._vectors import VectorsRelease

__all__ = ["Release", "charged", "interrupted", "make_folder", "run"]

Progress = Callable[[str, int, int | None], None]
SIDECAR = 0


@dataclass(frozen=True)
class Release(Result):
    """What was released.

    Attributes
    ----------
    id : its name in the ledger
    output, sidecar : the files
    eps : what it cost each person (None: the noise keeps no ε, and no ledger adds it up)
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
    effect: Effect | None = None

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        found["table"] = None if self.table is None else self.table.rows
        return found

    def __str__(self) -> str:
        if self.eps is None or self.remaining is None:
            done = f"Released to {Path(self.output).name}; no ledger adds it up, for the noise keeps no ε."
            return " ".join([done, *self._warning()])
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


class Options(TypedDict, total=False):
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


@overload
def run(scenario: Scenario | str | Path, **options: Unpack[Options]) -> Release: ...
@overload
def run(scenario: TextScenario, **options: Unpack[Options]) -> DocumentsRelease: ...
@overload
def run(scenario: VectorScenario, **options: Unpack[Options]) -> VectorsRelease: ...
def run(
    scenario: Described | str | Path,
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
) -> Release | Result:
    """Release what a file describes, and charge its ledger.

    Parameters
    ----------
    scenario : a scenario or the path of its TOML file
    data : a table in memory (pandas, polars, pyarrow) or another path, instead of [data] input
    output : where the table goes, instead of [release] output
    id : name of the release in the ledger; every release has its own
    insecure_rng : another seed than the file's `test_seed`, for tests and demonstrations only; the file must
        have one, and every row of the output says so
    fresh : give up an interrupted run of the same release (what it cost stays spent) instead of finishing it
    wait : seconds to wait for another release on the same ledger
    anchor : a hash of the ledger noted after an earlier release; an older copy of the ledger is then refused
    despite_accept : release what breaks the file's [claim] or exceeds its [accept]; the sidecar says so
    progress : called with a word, the number of rows so far, and of all rows once it is known

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
    other = described(scenario)
    if other is not None:
        from sievert.release._documents import run_documents
        from sievert.release._vectors import run_vectors

        if data is not None:
            raise FileError(
                f"{other.source}: data goes with a table; name {other.table} under [{other.table}] input"
            )
        run_other: Any = run_documents if other.table == "documents" else run_vectors
        done = run_other(
            other,
            output=output,
            id=id,
            insecure_rng=insecure_rng,
            fresh=fresh,
            wait=wait,
            anchor=anchor,
            progress=progress,
            despite_accept=despite_accept,
        )
        return cast("Result", done)
    listed = scenario if isinstance(scenario, Scenario) else load_scenario(cast("str | Path", scenario))
    plan = make_plan(listed, output)
    seed = _seed(plan, insecure_rng)
    if id is not None:
        check_name(id)
    fresh, despite_accept = flag("fresh", fresh, DataError), flag("despite_accept", despite_accept, DataError)
    if anchor is not None:
        instance("anchor", anchor, str, "the hash noted after an earlier release, a text", LedgerError)
    wait = non_negative("wait", wait, DataError, infinite=True)
    if progress is not None and not callable(progress):
        raise DataError(f"progress is {brief(progress)}; give a function to be told how far the release is")
    if not plan.unaccounted and is_inside(plan.output, plan.ledger_folder):
        raise FileError(f"{plan.output}: lies in the ledger's own folder; name another output")
    if not despite_accept:
        require_accepted(plan)
    if isinstance(data, str | Path):
        refuse_private(listed.document, listed.folder, listed.source, data)
    rows = plan.data.rows(listed.folder) if data is None else open_rows(data)
    if plan.unaccounted:
        make_folder(plan.output.parent)
        return _unaccounted(
            plan, *released_without_ledger(plan, rows, seed, id, _reporter(progress, "reading"))
        )
    budget, key, relation = plan.budget(), plan.ledger_key(), relation_of(plan)
    early = Ledger.look(plan.ledger_folder, budget, relation=relation, key=key, anchor=anchor)
    if all(entry.finished for entry in early.entries):
        early.check(charge(plan, early), plan.columns, plan.unit)
    read = _read(plan, rows, _reporter(progress, "reading"))
    make_folder(plan.output.parent)
    with Ledger.hold(
        plan.ledger_folder, budget, relation=relation, key=key, wait=wait, anchor=anchor
    ) as ledger:
        check_places(ledger)
        about = {"file": plan.digest, "fingerprint": read.seen.total(ledger.salt)}
        done = ledger.just_finished(**about)
        if done is not None and done.targets[OUTPUT] == Path(os.path.abspath(plan.output)):
            content = json.loads(done.targets[SIDECAR].read_text(encoding="utf-8"))
            return _result(plan, ledger, done, Fraction(0), None, True, content["mechanism"])
        held, state = interrupted(plan, ledger, about, seed, fresh, id)
        resumed = held is not None
        eps = Fraction(0) if resumed else charge(plan, ledger)
        if held is None:
            held = _reserved(plan, ledger, eps, state, id, about)
        with charged(held):
            table, sampler = _published(plan, rows, read, held, state, progress)
        return _result(plan, ledger, held, eps, table, resumed, sampler)


class _Read(NamedTuple):
    """What one pass over the data found: totals or a number of rows, and a hash of each batch."""

    totals: Any
    rows: int
    seen: Fingerprints


def _read(plan: Plan, rows: Rows, report: Callable[[int], None] | None) -> _Read:
    if plan.central:
        seen = Fingerprints(plan.columns)
        return _Read(computed(plan, rows, report, seen), 0, seen)
    return _Read(None, *check_rows(plan, rows, report))


def _published(
    plan: Plan, rows: Rows, read: _Read, held: Reservation, state: State, progress: Progress | None
) -> tuple[NoisyTable | None, dict[str, Any]]:
    """Draw, write table and sidecar, and give them their names; the table, if kept, and the sampler."""
    noted: dict[str, Any] = {}
    table = None
    if read.totals is not None:
        table, sampler = _central(plan, read.totals, held, state)
    else:
        report = _reporter(progress, "drawing", read.rows)
        sampler, noted = stream(plan, rows, held, state, read.seen, report)
    digest = file_hash(held.temporary(OUTPUT))
    content = sidecar(plan, held.id, held.targets[OUTPUT].name, sampler, digest, held.ledger.head)
    held.write(SIDECAR, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    held.commit(**noted)
    return table, sampler


def _seed(plan: Plan, insecure_rng: object) -> int | None:
    """The seed of a test, or None for bits of the operating system."""
    if insecure_rng is None:
        return plan.rules.test_seed
    if not isinstance(insecure_rng, int) or isinstance(insecure_rng, bool):
        raise MechanismError(f"insecure_rng is {brief(insecure_rng)}; it must be an integer seed")
    if not plan.seeded:
        raise FileError(
            f"{plan.scenario.source}: a seed was asked for, but the file does not say that it is a test; "
            "whoever knows the seed knows the noise. Add test_seed = 1 under [release] to a file that is one"
        )
    return insecure_rng


class Placed(Protocol):
    """A release that knows where its files go."""

    @property
    def output(self) -> Path: ...

    @property
    def sidecar(self) -> Path: ...


def interrupted(
    plan: Placed, ledger: Ledger, about: dict[str, str], seed: int | None, fresh: bool, id: str | None
) -> tuple[Reservation | None, State]:
    """An interrupted run of the same release that is to be finished, and its state; else a new state."""
    begun = State(new_key(seed), seed is None)
    held = ledger.unfinished(**about)
    if held is not None and fresh:
        held.abandon()
    if held is None or fresh or id not in (None, held.id):
        return None, begun
    state = State.load(held)
    if state.secure != begun.secure or (seed is not None and state.key != begun.key):
        raise LedgerError(f"insecure_rng: the interrupted run {held.id} was begun differently; use fresh")
    targets = [Path(os.path.abspath(path)) for path in (plan.sidecar, plan.output)]
    if held.targets != targets:
        held = ledger.retarget(held, targets)
        state.restart()
    return held, state


def _reserved(
    plan: Plan, ledger: Ledger, eps: Fraction, state: State, id: str | None, about: dict[str, str]
) -> Reservation:
    return ledger.reserve(
        eps,
        plan.columns,
        [plan.sidecar, plan.output],
        id=id,
        unit=plan.unit,
        eps=plan.eps,
        state=state.to_bytes(),
        mechanism=plan.words,
        stable=plan.stable_mark,
        **about,
    )


@contextmanager
def charged(held: Reservation) -> Iterator[None]:
    """Whatever fails after the charge says that it is charged, and how to go on."""
    try:
        yield
    except Exception as problem:
        entry = next(entry for entry in held.ledger.entries if entry.id == held.id)
        why = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        where = f"{problem.filename}: " if isinstance(problem, OSError) and problem.filename else ""
        raise OutputError(
            f"{where}{why}; the release {held.id} is charged (ε = {number(entry.cost)}) and not published. "
            "Mend the cause and run the same command again, with another --output if need be: on the same "
            "data it is finished at no further cost (--fresh gives it up)"
        ) from problem


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
        WITHOUT_RELATION if ledger.relation is None else ledger.relation.words,
        tuple(str(target) for late in ledger.pending for target in late.targets),
        (*clamping(plan), *([] if plan.note is None else [plan.note])),
        _effect(plan, ledger),
    )


def _effect(plan: Plan, ledger: Ledger | None) -> Effect | None:
    """What the release gives away; what is published and charged does not fail where that is not known."""
    with suppress(SievertError):
        return effect_of(plan, ledger, None if ledger is None else plan.pure_eps, counted=True)
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


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"{folder}: cannot be made ({problem.strerror}); nothing was released") from None


def _central(plan: Plan, totals: Any, held: Reservation, state: State) -> tuple[NoisyTable, dict[str, Any]]:
    sampler = plan.sampler(SealedBits(state.key, state.secure))
    table = noisy_table(plan, totals, sampler)
    held.write(OUTPUT, table_bytes(held.targets[OUTPUT], table.names, table.columns))
    return table, sampler.to_dict()


def _reporter(progress: Progress | None, word: str, total: int | None = None) -> Callable[[int], None] | None:
    if progress is None:
        return None

    def told(rows: int) -> None:
        try:
            progress(word, rows, total)
        except Exception as problem:
            raise DataError(
                f"progress raised {type(problem).__name__}: {problem}; it is called with a word, the number "
                "of rows so far, and of all rows or None"
            ) from problem

    return told
