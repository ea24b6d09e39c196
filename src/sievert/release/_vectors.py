"""Release noisy codes of users' vectors: read and check all, charge, draw, write; read codes to match.

Files of vectors are units of work, each with bits of its own under one sealed key, so that an interrupted run
is finished with the same codes at no further cost, whoever does the work. Beside the codes lies the
identity of the hash: codes of another hash are refused where they would be compared.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sievert.errors import DataError, FileError
from sievert.files import VectorsScenario
from sievert.ledger import Ledger, Relation, Reservation, file_hash
from sievert.numerics import in_nats, number, rounded_up
from sievert.questions.vectors import VectorsAudit, audit_vectors
from sievert.release._fit import DataFit, admit
from sievert.release._job import JobPreview, JobRelease, ReleaseJob, on_worker_device
from sievert.release._protocol import DrawResult, ReleaseRequest
from sievert.release._row_release import SealedBits, State
from sievert.release._units import Part, changed, publish
from sievert.tables import (
    Contents,
    FitModel,
    TableWriter,
    Unit,
    UserVectors,
    existing,
    is_among,
    open_rows,
    read_table,
)
from sievert.vectors import Codes, HashIdentity, HyperplaneLSH, distance_text

__all__ = ["ReleasedCodes", "VectorsJob", "VectorsPreview", "VectorsRelease", "read_released_codes"]

# Users that are drawn at once.
BLOCK = 8192


@dataclass(frozen=True)
class VectorsPreview(JobPreview):
    """What a release of codes would do; no vector was read.

    Attributes
    ----------
    audit : what is promised
    cost : nats that each person is charged: the largest loss between any two vectors
    remaining : of the budget, before (None: no ledger)
    possible : whether it can be run
    why_not : what stands in the way
    """

    audit: VectorsAudit

    @property
    def would(self) -> str:
        return (
            f"Would publish a noisy code of {self.audit.bits} bits for every user and charge each person "
            f"{in_nats(number(self.cost))}, the most that any two vectors can be told apart by."
        )


@dataclass(frozen=True)
class VectorsRelease(JobRelease):
    """Noisy codes that were released, at a cost in nats.

    Attributes
    ----------
    users : how many codes were written
    bits : of each
    """

    users: int
    bits: int

    @property
    def what(self) -> str:
        return f"{self.users} codes of {self.bits} bits"

    @property
    def price(self) -> str:
        return f"{in_nats(number(self.eps))} a person"


@dataclass(frozen=True)
class VectorsJob(ReleaseJob):
    """A noisy code of every user's vector."""

    budget_line = "person = 60.0 in it: the most nats for a person"
    drawn_exactly = "lsh-response"
    columns_written = ("user", "code")
    preview = VectorsPreview

    @staticmethod
    def audit(scenario: VectorsScenario) -> VectorsAudit:
        return audit_vectors(scenario)

    @staticmethod
    def cost(scenario: VectorsScenario) -> Fraction:
        with scenario.at("mechanism"):
            found = scenario.mechanism.worst()
        return found if found.denominator < 10**12 else rounded_up(float(found))

    @property
    def unit(self) -> str:
        return "nats between any two vectors"

    @property
    def relation(self) -> Relation:
        return Relation("vectors", "any two vectors of one person", self.unit)

    @property
    def meaning(self) -> str:
        model = self.scenario.document.vectors
        xi = self.scenario.mechanism.xi(model.distance, model.delta)
        apart = distance_text(self.scenario.hashing.measured, model.distance)
        return (
            f"Two users {apart} apart are told apart by {in_nats(xi)}, but for a "
            f"probability of {model.delta:g}."
        )

    def check(self) -> None:
        model, scenario = self.scenario.document.vectors, self.scenario
        for target in (self.plan.output, self.plan.sidecar):
            if is_among(target, model.input, scenario.folder):
                raise FileError(
                    f"{target}: is a file that vectors.input ({model.input}) names; another run would take "
                    "what was released for private vectors: name another folder for one of them"
                )

    def read(self, asked: ReleaseRequest) -> tuple[Contents, ...]:
        model, report = self.scenario.document.vectors, asked.reporter("reading")
        found: list[Contents] = []
        users: set[str] = set()
        zero = 0
        for contents, names, without in self.done(check_vectors, self.scenario.units()):
            found.append(contents)
            zero += without
            if len(users) + contents.rows != len(users | names):
                raise DataError(f"{model.input}: somebody has two vectors; leave one a user")
            users |= names
            if report is not None:
                report(len(users))
        replaced = {"zero": zero} if zero else {}
        admit(DataFit(len(users), replaced=replaced, counted_in="vectors"), FitModel(), asked.fit)
        return tuple(found)

    def draw(
        self, read: tuple[Contents, ...], held: Reservation, state: State, asked: ReleaseRequest
    ) -> DrawResult:
        parts = self.drawn_parts(draw_vectors, read, held, state, asked)
        writer = self.writer(held)
        try:
            for path in parts:
                for batch in open_rows(path).batches(self.columns_written):
                    writer.write(self.marked(*(list(batch.columns[name]) for name in self.columns_written)))
        except BaseException:
            writer.discard()
            raise
        writer.close()
        return DrawResult({"users": sum(item.rows for item in read)})

    def nonzero(self, rows: Any, source: SealedBits) -> Any:
        """The vectors, with a random direction in place of every zero vector where the file says so."""
        if self.scenario.document.vectors.zero == "reject":
            return rows
        found = rows.toarray() if isinstance(rows, sparse.csr_array) else np.array(rows)
        empty = np.flatnonzero(~found.any(axis=1))
        if len(empty):
            seed = int(source.words(0, source.reserve(1))[0])
            found[empty] = np.random.default_rng(seed).standard_normal((len(empty), found.shape[1]))
        return found

    def facts(self) -> dict[str, Any]:
        mechanism = self.scenario.mechanism
        eps = getattr(mechanism, "eps", None) if mechanism.kind == "lsh-response" else None
        return {"mechanism": {"eps": eps}, "hash": self.scenario.hashing.identity.to_dict()}

    def result(
        self,
        ledger: Ledger,
        held: Reservation,
        eps: Fraction,
        resumed: bool,
        content: dict[str, Any],
        table: Any,
    ) -> VectorsRelease:
        common = self.common(ledger, held, eps, resumed, content)
        return VectorsRelease(**common, users=content["users"], bits=self.scenario.hashing.bits)


@on_worker_device
def check_vectors(job: VectorsJob, unit: Unit) -> tuple[Contents, set[str], int]:
    """Read the vectors of a file: what they are, whose, and how many are zero."""
    found: UserVectors = job.scenario.vectors(unit)
    hashing, model = job.scenario.hashing, job.scenario.document.vectors
    try:
        if found.users and isinstance(hashing, HyperplaneLSH):
            hashing.codes(found.rows, zero=model.zero, rng=0)
        elif found.users:
            hashing.codes(found.rows)
    except ValueError as problem:
        raise DataError(f"{unit.file}: {problem}") from None
    return Contents(unit, len(found.users), (_digest(found),)), set(found.users), _zeros(found)


@on_worker_device
def draw_vectors(job: VectorsJob, part: Part) -> int:
    """Draw a noisy code of every vector of a file."""
    read: UserVectors = job.scenario.vectors(part.contents.unit)
    if (_digest(read),) != part.contents.digests:
        raise changed(job.scenario.folder / part.contents.unit.file)
    source = SealedBits(part.key, part.secure)

    def write(writer: TableWriter) -> None:
        for start in range(0, len(read.users), BLOCK):
            source.begin(start // BLOCK)
            chosen = slice(start, start + BLOCK)
            noisy = job.scenario.mechanism.noisy(job.nonzero(read.rows[chosen], source), source)
            writer.write(
                [
                    read.users[chosen],
                    [row.tobytes().hex() for row in noisy.words.astype("<u8")],
                ]
            )

    publish(part, job.columns_written, write)
    return part.contents.rows


def _zeros(read: UserVectors) -> int:
    """How many vectors have no direction."""
    return int(((read.rows != 0).sum(axis=1) == 0).sum())


def _digest(read: UserVectors) -> bytes:
    digest = hashlib.sha256("\0".join(read.users).encode(errors="surrogatepass"))
    rows = read.rows
    parts = (rows.data, rows.indices, rows.indptr) if isinstance(rows, sparse.csr_array) else (rows,)
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


@dataclass(frozen=True)
class ReleasedCodes:
    """Codes as they were released: users, codes with the identity of their hash, ε a bit if it is one."""

    users: list[str]
    codes: Codes
    eps: float | None
    files: list[Path] = field(default_factory=list)


def read_released_codes(path: str | Path) -> ReleasedCodes:
    """The codes that a release wrote, checked against what lies beside them."""
    target = existing(path)
    beside = target.parent / f"{target.name}.json"
    try:
        facts = json.loads(existing(beside, "; it was written beside the codes").read_text(encoding="utf-8"))
        identity = HashIdentity.from_dict(facts["hash"])
        written, eps = facts["sha256"], facts["mechanism"]["eps"]
    except (KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, FileError):
            raise
        raise FileError(f"{beside}: does not say which hash made the codes ({problem})") from None
    if file_hash(target) != written:
        raise FileError(
            f"{target}: is not the table that {beside.name} is about; use them as they were released"
        )
    table = read_table(target)
    try:
        places = [table.header.index(name) for name in ("user", "code")]
        raw = b"".join(bytes.fromhex(str(row[places[1]])) for row in table.rows)
        words = np.frombuffer(raw, dtype="<u8").astype(np.uint64).reshape(len(table.rows), -1)
    except ValueError as problem:
        raise FileError(f"{target}: holds no codes ({problem}); give a table of user and code") from None
    codes = Codes(words, identity.bits, identity, identity.values, None, facts["mechanism"]["words"])
    return ReleasedCodes([str(row[places[0]]) for row in table.rows], codes, eps, [target, beside])
