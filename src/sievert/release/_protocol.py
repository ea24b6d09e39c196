"""The order of every release, whatever it publishes: check, charge, draw, write, publish; or go on.

The order is that of the ledger (`sievert.ledger._ledger`): the data are read and checked first, so that what
does not fit costs nothing; then, under the lock, the reservation is on disk before the first draw, and output
and sidecar get their names only after the commit. The random bits come from a key that is kept before the
charge, so whatever fails afterwards can be finished at no further cost, with the same outcome.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from sievert.errors import DataError, FileError, LedgerError, MechanismError, OutputError, SievertError
from sievert.ledger import EPS, WAIT_SECONDS, Ledger, Relation, Reservation, check_name, file_hash
from sievert.numerics import abbreviated, flag, instance, non_negative, on_device
from sievert.release._budget_account import AccountedPlan, Cost
from sievert.release._fit import Show
from sievert.release._row_release import OUTPUT, State, new_key
from sievert.tables import is_inside

__all__ = [
    "SIDECAR",
    "DrawResult",
    "Job",
    "Progress",
    "ReleaseRequest",
    "below_its_file",
    "in_the_way",
    "make_folder",
    "outside_ledger",
    "released",
    "seed_of",
]

SIDECAR = 0  # position among a reservation's files
Progress = Callable[[str, int, int | None], None]
Read = TypeVar("Read")
Found = TypeVar("Found")


@dataclass(frozen=True)
class ReleaseRequest:
    """What a release is told beside its file."""

    id: str | None = None
    fresh: bool = False
    wait: float = WAIT_SECONDS
    anchor: str | None = None
    progress: Progress | None = None
    despite_accept: bool = False
    device: str | None = None
    fit: Show | None = None

    def __post_init__(self) -> None:
        if self.id is not None:
            check_name(self.id)
        for name in ("fresh", "despite_accept"):
            flag(name, getattr(self, name), DataError)
        if self.anchor is not None:
            noted = "the hash noted after an earlier release, a text"
            instance("anchor", self.anchor, str, noted, LedgerError)
        seconds = non_negative("wait", self.wait, DataError, infinite=True)
        object.__setattr__(self, "wait", seconds)
        if self.progress is not None and not callable(self.progress):
            raise DataError(
                f"progress is {abbreviated(self.progress)}; give a function to be told how far the release is"
            )
        if self.fit is not None and not callable(self.fit):
            raise DataError(
                f"fit is {abbreviated(self.fit)}; give a function to be called with how the rows fit"
            )
        with on_device(self.device):  # one that is not there is refused before anything is charged
            pass

    def reporter(self, word: str, total: int | None = None) -> Callable[[int], None] | None:
        """Tells how many are done, where somebody wants to know."""
        progress = self.progress
        if progress is None:
            return None

        def told(count: int) -> None:
            try:
                progress(word, count, total)
            except Exception as problem:
                raise DataError(
                    f"progress raised {type(problem).__name__}: {problem}; it is called with a word, the "
                    "number of rows so far, and of all rows or None"
                ) from problem

        return told


class DrawResult(NamedTuple):
    """What was drawn and written: what is said of it, the table if kept, and what the ledger notes."""

    facts: Mapping[str, Any]
    table: Any = None
    noted: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Job(ABC, Generic[Read, Found]):
    """One release: what it reads, costs, draws and says."""

    plan: Any
    seed: int | None

    @property
    def columns(self) -> Sequence[str]:
        """The private columns that are charged."""
        return ()

    @property
    @abstractmethod
    def unit(self) -> str:
        """What ε is counted for."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The mechanism in words."""

    @property
    @abstractmethod
    def eps(self) -> Fraction:
        """What it costs each person by its own promise."""

    @property
    @abstractmethod
    def relation(self) -> Relation:
        """The pairs that its ε is about."""

    @property
    def mark(self) -> dict[str, Any]:
        """What else the ledger records."""
        return {}

    def charge(self, ledger: Ledger, read: Read | None = None) -> Cost:
        """What it costs for the pairs that the ledger is about; before the data are read, at the least."""
        if ledger.budget.currency is not EPS:
            raise LedgerError(
                f"{ledger.folder}: adds up {ledger.budget.currency.symbol}, and this release has its ε for "
                f"each {self.unit}; name a ledger in ε (person = … in its budget file)"
            )
        return Cost(self.eps, self.eps)

    def units(self, read: Read) -> list[dict[str, Any]] | None:
        """What every unit of the data holds, where they are several files."""
        return None

    def admits(self, ledger: Ledger) -> None:
        """Refuse a ledger whose folder is not whole."""

    @abstractmethod
    def read(self, asked: ReleaseRequest) -> Read:
        """Read and check all data: what is refused is refused here."""

    @abstractmethod
    def fingerprint(self, read: Read) -> str:
        """A hash of the data. It is kept with the key of the random bits and deleted with it."""

    @abstractmethod
    def draw(self, read: Read, held: Reservation, state: State, asked: ReleaseRequest) -> DrawResult:
        """Draw and write the output."""

    @abstractmethod
    def content(self, held: Reservation, drawn: DrawResult, digest: str) -> dict[str, Any]:
        """What lies beside the output, whose hash is `digest`; nothing in it but public facts."""

    @abstractmethod
    def result(
        self,
        ledger: Ledger,
        held: Reservation,
        eps: Fraction,
        resumed: bool,
        content: dict[str, Any],
        table: Any,
    ) -> Found:
        """What was released."""


def released(job: Job[Read, Found], asked: ReleaseRequest) -> Found:
    """Run a job and charge its ledger."""
    plan: AccountedPlan = job.plan
    budget, key, relation = plan.budget(), plan.ledger_key(), job.relation
    early = Ledger.look(plan.ledger_folder, budget, relation=relation, key=key, anchor=asked.anchor)
    if not any("sha256" not in record for record in early.totals.open.values()):
        first = job.charge(early)
        early.check(first.charged, job.columns, job.unit, share=first.share)
    read = job.read(asked)
    make_folder(plan.output.parent)
    with Ledger.hold(
        plan.ledger_folder, budget, relation=relation, key=key, wait=asked.wait, anchor=asked.anchor
    ) as ledger:
        job.admits(ledger)
        seen = job.fingerprint(read)
        done = _just_finished(ledger, plan, seen)
        if done is not None:
            content = json.loads(done.targets[SIDECAR].read_text(encoding="utf-8"))
            return job.result(ledger, done, Fraction(0), True, content, None)
        held, state = _interrupted(job, ledger, seen, asked, job.units(read))
        resumed = held is not None
        charged = Fraction(0)
        if held is None:
            cost = job.charge(ledger, read)
            held = _reserved(job, ledger, cost, state, asked.id)
            charged = ledger.price(cost.charged, cost.share)
        with _charged(held), on_device(asked.device):
            drawn = job.draw(read, held, state, asked)
            content = job.content(held, drawn, file_hash(held.temporary(OUTPUT)))
            held.write(SIDECAR, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
            held.commit(**drawn.noted)
        return job.result(ledger, held, charged, resumed, content, drawn.table)


def _just_finished(ledger: Ledger, plan: AccountedPlan, seen: str) -> Reservation | None:
    """This release on these data, whose last steps were made up for when the ledger was opened now."""
    output = Path(os.path.abspath(plan.output))
    for held in ledger.recovered:
        same = held.record.get("file") == plan.digest and held.targets[OUTPUT:] == [output]
        if same and held.left is not None and State.read(held, held.left).seen == seen:
            return held
    return None


def _unfinished(ledger: Ledger, plan: AccountedPlan, seen: str, fresh: bool) -> Reservation | None:
    """The last interrupted run of this release on these data; given up if that is asked."""

    def fits(held: Reservation) -> bool:
        try:
            same = State.load(held).seen == seen
        except LedgerError:
            if not fresh:
                raise
            same = True
        if same and fresh:
            held.abandon()
        return same and not fresh

    return ledger.unfinished(fits, file=plan.digest)


def _interrupted(
    job: Job[Any, Any], ledger: Ledger, seen: str, asked: ReleaseRequest, units: Any
) -> tuple[Reservation | None, State]:
    """An interrupted run of the same release that is to be finished, and its state; else a new state."""
    begun = State(new_key(job.seed), job.seed is None, units=units, seen=seen)
    held = _unfinished(ledger, job.plan, seen, asked.fresh)
    if held is None or asked.id not in (None, held.id):
        return None, begun
    state = State.load(held)
    if state.secure != begun.secure or (job.seed is not None and state.key != begun.key):
        raise LedgerError(f"insecure_rng: the interrupted run {held.id} was begun differently; use fresh")
    targets = [Path(os.path.abspath(path)) for path in (job.plan.sidecar, job.plan.output)]
    if held.targets != targets:
        # A run that is killed from here on is begun again from its first row, under either name.
        state.restart()
        held.save_state(state.to_bytes())
        held = ledger.retarget(held, targets)
    return held, state


def _reserved(job: Job[Any, Any], ledger: Ledger, cost: Cost, state: State, id: str | None) -> Reservation:
    pure = ledger.budget.currency is EPS
    pair = {} if cost.shown is None else {"pair": cost.shown}
    mark = {key: value for key, value in job.mark.items() if value is not None}
    if not cost.amount:  # a period is charged by the release that pays for it
        mark.pop("period", None)
    return ledger.reserve(
        cost.amount,
        job.columns,
        [job.plan.sidecar, job.plan.output],
        id=id,
        unit=job.unit,
        eps=job.eps if pure else cost.eps,
        plan=cost.plan,
        share=cost.share,
        state=state.to_bytes(),
        mechanism=job.words,
        **pair,
        **mark,
        file=job.plan.digest,
    )


@contextmanager
def _charged(held: Reservation) -> Iterator[None]:
    """Whatever fails after the charge says that it is charged, and how to go on."""
    try:
        yield
    except Exception as problem:
        record = held.record
        why, private = _why(problem)
        charged = held.ledger.budget.currency.words(Fraction(record["cost" if "cost" in record else "eps"]))
        if "plan" in record:
            charged = f"slot {1 + record['slot']} of the plan {record['plan']}"
        raise OutputError(
            f"{why}; the release {held.id} is charged ({charged}) and not published. "
            "Mend the cause and run the same command again, with another --output if need be: on the same "
            "data it is finished at no further cost (--fresh gives it up)",
            private=private,
        ) from None if private else problem


def _why(problem: Exception) -> tuple[str, str]:
    """What went wrong, and words about it that may quote private cells."""
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        return where + (problem.strerror or str(problem) or type(problem).__name__), ""
    if isinstance(problem, SievertError) and not isinstance(problem, DataError):
        return str(problem), problem.private
    return type(problem).__name__, f"{type(problem).__name__}: {problem}"


def seed_of(plan: AccountedPlan, insecure_rng: object) -> int | None:
    """The seed of a test, or None for bits of the operating system."""
    given: int | None = None if plan.rules is None else plan.rules.test_seed
    if insecure_rng is None:
        return given
    if not isinstance(insecure_rng, int) or isinstance(insecure_rng, bool):
        raise MechanismError(f"insecure_rng is {abbreviated(insecure_rng)}; it must be an integer seed")
    if given is None:
        raise FileError(
            f"{plan.scenario.source}: a seed was asked for, but the file does not say that it is a test; "
            "whoever knows the seed knows the noise. Add test_seed = 1 under [release] to a file that is one"
        )
    return insecure_rng


def outside_ledger(plan: AccountedPlan) -> None:
    """Refuse an output among the ledger's own files."""
    if is_inside(plan.output, plan.ledger_folder):
        raise FileError(f"{plan.output}: lies in the ledger's own folder; name another output")


def below_its_file(plan: AccountedPlan) -> None:
    """Refuse an output of the file's choice that a link leads out of the file's own folder."""
    named = plan.output == plan.scenario.released
    if named and not is_inside(plan.output, plan.scenario.folder):
        raise FileError(
            f"{plan.output}: a link leads out of the file's own folder, to {os.path.realpath(plan.output)}; "
            "remove the link, or choose the place on the command line (--output)"
        )


def in_the_way(plan: AccountedPlan) -> str | None:
    """Why the output cannot be written, if something is there or a link leads elsewhere."""
    try:
        below_its_file(plan)
    except FileError as problem:
        return str(problem)
    there = os.path.lexists(plan.output)
    return f"{plan.output} is there already, and a release replaces nothing" if there else None


def make_folder(folder: Path) -> None:
    """The folder of the output."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"{folder}: cannot be made ({problem.strerror}); nothing was released") from None
