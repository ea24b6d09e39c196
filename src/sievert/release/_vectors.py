"""Release noisy codes of users' vectors: read and check all, charge, draw, write; read codes to match.

Codes are drawn in blocks, each with bits of its own under one sealed key, so that an interrupted run is
finished with the same codes at no further cost. Beside the codes lies the identity of the hash: codes of
another hash are refused where they would be compared.
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
from sievert.files import VectorScenario
from sievert.ledger import Ledger, Relation, Reservation, file_hash
from sievert.numerics import number, rounded_up
from sievert.questions.vectors import VectorsAudit, audit_vectors
from sievert.release._described import DescribedJob, DescribedPreview, DescribedRelease
from sievert.release._local import SealedBits, State
from sievert.release._protocol import Asked, Drawn
from sievert.tables import UserVectors, existing, read_table
from sievert.vectors import Codes, HashIdentity, HyperplaneLSH

__all__ = ["ReleasedCodes", "VectorsJob", "VectorsPreview", "VectorsRelease", "read_released_codes"]

# Users that are drawn at once.
BLOCK = 8192


@dataclass(frozen=True)
class VectorsPreview(DescribedPreview):
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
            f"{number(self.cost)} nats, the most that any two vectors can be told apart by."
        )


@dataclass(frozen=True)
class VectorsRelease(DescribedRelease):
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
        return f"{number(self.eps)} nats a person"


@dataclass(frozen=True)
class VectorsJob(DescribedJob[UserVectors]):
    """A noisy code of every user's vector."""

    budget_line = "person = 60.0 in it: the most nats for a person"
    drawn_exactly = "lsh-response"
    columns_written = ("user", "code")
    preview = VectorsPreview

    @staticmethod
    def audit(scenario: VectorScenario) -> VectorsAudit:
        return audit_vectors(scenario)

    @staticmethod
    def cost(scenario: VectorScenario) -> Fraction:
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
        return (
            f"Two users {180 * model.distance:.3g}° apart are told apart by {xi:.4g} nats, but for a "
            f"probability of {model.delta:g}."
        )

    def read(self, asked: Asked) -> UserVectors:
        found: UserVectors = self.scenario.vectors()
        hashing, model = self.scenario.hashing, self.scenario.document.vectors
        if len(set(found.users)) < len(found.users):
            raise DataError(f"{model.input}: somebody has two vectors; leave one a user")
        if not found.users:
            raise DataError(f"{model.input}: holds no vector")
        try:
            if isinstance(hashing, HyperplaneLSH):
                hashing.codes(found.rows, zero=model.zero, rng=0)
            else:
                hashing.codes(found.rows)
        except ValueError as problem:
            raise DataError(f"{model.input}: {problem}") from None
        return found

    def digest(self, read: UserVectors) -> str:
        digest = hashlib.sha256("\0".join(read.users).encode())
        rows = read.rows
        parts = (rows.data, rows.indices, rows.indptr) if isinstance(rows, sparse.csr_array) else (rows,)
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def draw(self, read: UserVectors, held: Reservation, state: State, asked: Asked) -> Drawn:
        source, report = SealedBits(state.key, state.secure), asked.reporter("drawing", len(read.users))
        writer = self.writer(held)
        try:
            for start in range(0, len(read.users), BLOCK):
                source.begin(start // BLOCK)
                part = slice(start, start + BLOCK)
                noisy = self.scenario.mechanism.noisy(self._nonzero(read.rows[part], source), source)
                texts = [row.tobytes().hex() for row in noisy.words.astype("<u8")]
                writer.write(self.marked(read.users[part], texts))
                if report is not None:
                    report(start + len(texts))
        except BaseException:
            writer.discard()
            raise
        writer.close()
        return Drawn({"users": len(read.users)})

    def _nonzero(self, rows: Any, source: SealedBits) -> Any:
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
    beside = target.with_name(target.name + ".json")
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
