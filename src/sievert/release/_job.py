"""Releases of documents and of vectors: what their plans, previews and results have in common."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, Self

from sievert.errors import FileError, LedgerError, NotAcceptedError
from sievert.files import Scenario
from sievert.ledger import Ledger, Reservation
from sievert.numerics import number, on_device
from sievert.release._budget_account import AccountedPlan
from sievert.release._plan import NOT_PRIVATE, SEEDED
from sievert.release._protocol import (
    SIDECAR,
    DrawResult,
    Job,
    ReleaseRequest,
    below_its_file,
    in_the_way,
    outside_ledger,
    released,
    seed_of,
)
from sievert.release._row_release import OUTPUT, State
from sievert.release._units import draw_parts, manifest, manifest_hash
from sievert.results import Result
from sievert.tables import Contents, Engine, TableWriter, Workers, require_writable, table_writer

__all__ = [
    "JobPlan",
    "JobPreview",
    "JobRelease",
    "ReleaseJob",
    "on_worker_device",
    "preview_job",
    "run_job",
]
Work = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class WorkerContext:
    """What every worker is told: the job, and the device that it may use."""

    job: Any
    device: str | None


def on_worker_device(work: Work) -> Work:
    """Work that is told its job, done on the device that was asked for."""

    @wraps(work)
    def done(told: WorkerContext, task: Any) -> Any:
        with on_device(told.device):
            return work(told.job, task)

    return done


@dataclass(frozen=True)
class JobPreview(Result):
    """What a release would do; no private data were read.

    Attributes
    ----------
    audit : what is promised
    cost : what each person is charged
    remaining : of the budget, before (None: no ledger)
    possible : whether it can be run
    why_not : what stands in the way
    """

    title: str
    audit: Any
    cost: Fraction
    remaining: Fraction | None
    possible: bool
    why_not: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.possible:
            return f"It cannot be released: {'; '.join(self.why_not)}."
        return self.would

    @property
    @abstractmethod
    def would(self) -> str:
        """What it would do, in a sentence."""


@dataclass(frozen=True)
class JobRelease(Result):
    """What was released.

    Attributes
    ----------
    id : its name in the ledger
    output, sidecar : the files
    eps : what it cost each person
    remaining : what is left for each person afterwards
    resumed : whether an interrupted run was finished, at no further cost
    secure : False when the noise came from a seed, or was drawn in floating point
    arithmetic : "exact", or "float" where the file asked for it
    head : the ledger's last hash, to be noted elsewhere
    meaning : what the cost is worth
    seeded : whether the noise came from a seed, so that nothing is private
    """

    id: str
    output: str
    sidecar: str
    eps: Fraction
    remaining: Fraction
    resumed: bool
    secure: bool
    arithmetic: str
    head: str
    meaning: str
    seeded: bool

    def __str__(self) -> str:
        cost = "at no further cost" if self.resumed else f"for {self.price}"
        warning = " NOT PRIVATE: the noise came from a seed." if self.seeded else ""
        if self.arithmetic == "float":
            warning += " Drawn in floating point, as the file asks: the promise holds up to rounding only."
        return (
            f"Released {self.what} to {Path(self.output).name} {cost}; {number(self.remaining)} of each "
            f"person's budget is left. {self.meaning}{warning}"
        )

    @property
    @abstractmethod
    def what(self) -> str:
        """What was written, in words."""

    @property
    @abstractmethod
    def price(self) -> str:
        """What it cost, in words."""


@dataclass(frozen=True)
class JobPlan(AccountedPlan):
    """Where such a release goes, and who keeps its budget."""

    scenario: Any
    rules: Any
    output: Path
    budget_line: str


@dataclass(frozen=True)
class ReleaseJob(Job[tuple[Contents, ...], Any]):
    """One release of such a file.

    Attributes
    ----------
    budget_line : a line of a budget file for it
    drawn_exactly : the kind of mechanism that is
    columns_written : of the output
    preview : what a look at the release is
    """

    plan: JobPlan
    workers: Workers | None = field(default=None, repr=False)

    budget_line: ClassVar[str]
    drawn_exactly: ClassVar[str]
    columns_written: ClassVar[tuple[str, ...]]
    preview: ClassVar[type[JobPreview]]

    @classmethod
    def of(cls, scenario: Scenario, output: str | Path | None, insecure_rng: object = None) -> Self:
        """The job of a file, with everything checked that can be without the private data."""
        given: Any = scenario
        given.check()
        target = given.released if output is None else Path(output)
        plan = JobPlan(given, given.document.release, target, cls.budget_line)
        _ = plan.budget_file
        if not given.mechanism.exact and plan.rules.sampler != "float":
            raise FileError(
                f"{given.source}, mechanism: {given.mechanism.kind} has no exact sampler; write sampler = "
                f'"float" under [release] to draw in floating point, or kind = "{cls.drawn_exactly}", which '
                "is drawn exactly"
            )
        found = cls(plan, seed_of(plan, insecure_rng))
        found.check()
        require_writable(plan.output)
        outside_ledger(plan)
        below_its_file(plan)
        return found

    def check(self) -> None:
        """Refuse what else does not go together."""

    @property
    def scenario(self) -> Any:
        """The file."""
        return self.plan.scenario

    @property
    def words(self) -> str:
        return str(self.scenario.mechanism.words())

    @property
    def eps(self) -> Fraction:
        return self.cost(self.scenario)

    @staticmethod
    @abstractmethod
    def audit(scenario: Any) -> Any:
        """What is promised for the file."""

    @staticmethod
    @abstractmethod
    def cost(scenario: Any) -> Fraction:
        """What a release of the file costs each person."""

    @property
    @abstractmethod
    def meaning(self) -> str:
        """What the cost is worth, in a sentence."""

    def fingerprint(self, read: Sequence[Contents]) -> str:
        return manifest_hash(read)

    def units(self, read: Sequence[Contents]) -> list[dict[str, Any]]:
        return manifest(read)

    def done(self, work: Work, tasks: Sequence[Any]) -> Iterator[Any]:
        """What workers make of tasks; each is told of the job, and on which device it is done."""
        assert self.workers is not None
        return self.workers.map(work, tasks)

    def drawn_parts(
        self, work: Work, read: Sequence[Contents], held: Reservation, state: State, asked: ReleaseRequest
    ) -> list[Path]:
        """Have every unit drawn into a part of its own, which the output is made of."""
        assert self.workers is not None
        report = asked.reporter("drawing", sum(item.rows for item in read))
        return draw_parts(work, read, self.workers, held, state, held.workplace / "drawn", report)

    def writer(self, held: Reservation) -> TableWriter:
        """Writes the output; a test is marked in every row."""
        names = [*self.columns_written, *([NOT_PRIVATE] if self.seed is not None else [])]
        return table_writer(held.temporary(OUTPUT), held.targets[OUTPUT], names, 0)

    def marked(self, *columns: list[str]) -> list[list[str]]:
        """Columns of some rows as they are written."""
        return [*columns, *([[SEEDED] * len(columns[0])] if self.seed is not None else [])]

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What the sidecar says beside what every release says."""

    def content(self, held: Reservation, drawn: DrawResult, digest: str) -> dict[str, Any]:
        mechanism, facts = self.scenario.mechanism, self.facts()
        return {
            "release": held.id,
            "output": held.targets[OUTPUT].name,
            "sha256": digest,
            "mechanism": {
                "kind": mechanism.kind,
                "words": mechanism.words(),
                "sampler": "exact" if mechanism.exact else "float",
                **facts.pop("mechanism"),
            },
            **facts,
            "charged": str(self.eps),
            "unit": self.unit,
            **drawn.facts,
            "private": self.seed is None,
            "meaning": self.meaning,
            "ledger": held.ledger.head,
        }

    def common(
        self, ledger: Ledger, held: Reservation, eps: Fraction, resumed: bool, content: dict[str, Any]
    ) -> dict[str, Any]:
        """What every result says."""
        exact, private = self.scenario.mechanism.exact, content["private"]
        return {
            "id": held.id,
            "output": os.fspath(held.targets[OUTPUT]),
            "sidecar": os.fspath(held.targets[SIDECAR]),
            "eps": eps,
            "remaining": ledger.remaining()[None],
            "resumed": resumed,
            "secure": exact and private,
            "arithmetic": "exact" if exact else "float",
            "head": ledger.head,
            "meaning": self.meaning,
            "seeded": not private,
        }


def _jobs(scenario: Scenario) -> type[ReleaseJob]:
    """What releases the files of a kind."""
    if scenario.table == "documents":
        from sievert.release._documents import DocumentsJob

        return DocumentsJob
    from sievert.release._vectors import VectorsJob

    return VectorsJob


def run_job(
    scenario: Scenario, output: str | Path | None, insecure_rng: object, asked: ReleaseRequest
) -> JobRelease:
    """Release the documents or vectors of a file, and charge its ledger."""
    job = _jobs(scenario).of(scenario, output, insecure_rng)
    if not asked.despite_accept and job.scenario.document.accept is not None:
        failed = job.audit(scenario).failed
        if failed:
            raise NotAcceptedError(f"{scenario.source}: not released: {'; '.join(failed)}")
    engine = job.plan.rules.engine or Engine.resolve("one")
    with engine.start(WorkerContext(job, asked.device)) as workers:
        found: JobRelease = released(replace(job, workers=workers), asked)
    return found


def preview_job(scenario: Scenario, output: str | Path | None, despite_accept: bool) -> JobPreview:
    """What a release would do; reads no private data and spends nothing."""
    kind = _jobs(scenario)
    audit = kind.audit(scenario)
    why: list[str] = [] if despite_accept else list(audit.failed)
    left = None
    try:
        job = kind.of(scenario, output)
        plan = job.plan
        look = Ledger.look(plan.ledger_folder, plan.budget(), relation=job.relation, key=plan.ledger_key())
        left = look.remaining()[None]
        look.check(job.eps, job.columns, job.unit)
        there = in_the_way(plan)
        why += [] if there is None else [there]
    except LedgerError as problem:
        why.append(str(problem).split(";")[0])
    except FileError as problem:
        why.append(str(problem))
    return kind.preview(scenario.title, audit, kind.cost(scenario), left, not why, tuple(why))
