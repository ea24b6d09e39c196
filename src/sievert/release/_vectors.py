"""Release noisy codes of users' vectors: read and check all, charge, draw, write; read codes to match.

Codes are drawn in blocks, each with bits of its own under one sealed key, so that an interrupted run is
finished with the same codes at no further cost. Beside the codes lies the identity of the hash: codes of
another hash are refused where they would be compared.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sievert.errors import DataError, FileError, NotAcceptedError
from sievert.files import VectorRelease, VectorScenario
from sievert.ledger import WAIT_SECONDS, Budget, Ledger, Relation, Reservation, check_name, file_hash
from sievert.numerics import number, rounded_up
from sievert.questions.vectors import VectorsAudit, audit_vectors
from sievert.release._local import OUTPUT, SealedBits, State
from sievert.release._plan import DescribedPlan
from sievert.release._running import charged, interrupted, make_folder
from sievert.results import Result
from sievert.tables import UserVectors, existing, is_inside, read_table, require_writable, table_writer
from sievert.vectors import Codes, HashIdentity, HyperplaneLSH

__all__ = [
    "ReleasedCodes",
    "VectorsPreview",
    "VectorsRelease",
    "preview_vectors",
    "read_released_codes",
    "run_vectors",
]

# Users that are drawn at once.
BLOCK = 8192
SIDECAR = 0
UNIT = "nats between any two vectors"
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class VectorsPreview(Result):
    """What a release of codes would do; no vector was read.

    Attributes
    ----------
    audit : what is promised
    cost : nats that each person is charged: the largest loss between any two vectors
    remaining : of the budget, before (None: no ledger)
    possible : whether it can be run
    why_not : what stands in the way
    """

    title: str
    audit: VectorsAudit
    cost: Fraction
    remaining: Fraction | None
    possible: bool
    why_not: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.possible:
            return f"It cannot be released: {'; '.join(self.why_not)}."
        return (
            f"Would publish a noisy code of {self.audit.bits} bits for every user and charge each person "
            f"{number(self.cost)} nats, the most that any two vectors can be told apart by."
        )


@dataclass(frozen=True)
class VectorsRelease(Result):
    """What was released.

    Attributes
    ----------
    id : its name in the ledger
    output, sidecar : the files
    eps : nats that it cost each person
    users : how many codes were written
    secure : False when the noise came from a seed, or was drawn in floating point
    seeded : whether the noise came from a seed, so that nothing is private
    """

    id: str
    output: str
    sidecar: str
    eps: Fraction
    remaining: Fraction
    users: int
    bits: int
    resumed: bool
    secure: bool
    arithmetic: str
    head: str
    meaning: str
    seeded: bool = False

    def __str__(self) -> str:
        cost = "at no further cost" if self.resumed else f"for {number(self.eps)} nats a person"
        warning = " NOT PRIVATE: the noise came from a seed." if self.seeded else ""
        if self.arithmetic == "float":
            warning += " Drawn in floating point, as the file asks: the promise holds up to rounding only."
        return (
            f"Released {self.users} codes of {self.bits} bits to {Path(self.output).name} {cost}; "
            f"{number(self.remaining)} of each person's budget is left. {self.meaning}{warning}"
        )


@dataclass(frozen=True)
class _Plan(DescribedPlan):
    scenario: VectorScenario
    output: Path
    seed: int | None
    cost: Fraction

    @property
    def rules(self) -> VectorRelease:
        found = self.scenario.document.release
        assert found is not None
        return found

    @property
    def relation(self) -> Relation:
        return Relation("vectors", "any two vectors of one person", UNIT)


def _cost(scenario: VectorScenario) -> Fraction:
    with scenario.at("mechanism"):
        found = scenario.mechanism.worst()
    return found if found.denominator < 10**12 else rounded_up(float(found))


def _planned(scenario: VectorScenario, output: str | Path | None, insecure_rng: int | None) -> _Plan:
    """Everything that can be checked without the vectors."""
    scenario.check()
    rules = scenario.document.release
    if rules is None or rules.ledger is None:
        raise FileError(
            f"{scenario.source}: key release.ledger is missing; name a budget file, for example ledger = "
            '"budget.toml" with the line person = 60.0 in it: the most nats for a person'
        )
    if not scenario.mechanism.exact and rules.sampler != "float":
        raise FileError(
            f"{scenario.source}, mechanism: {scenario.mechanism.kind} has no exact sampler; write sampler = "
            '"float" under [release] to draw in floating point, or kind = "lsh-response", drawn exactly'
        )
    if insecure_rng is not None and rules.test_seed is None:
        raise FileError(
            f"{scenario.source}: a seed was asked for, but the file does not say that it is a test; add "
            "test_seed = 1 under [release] to a file that is one"
        )
    name = rules.output or f"{Path(scenario.source).stem}-codes.csv"
    target = Path(output) if output is not None else scenario.folder / name
    require_writable(target)
    seed = rules.test_seed if insecure_rng is None else insecure_rng
    plan = _Plan(scenario, target, seed, _cost(scenario))
    if is_inside(target, plan.folder):
        raise FileError(f"{target}: lies in the ledger's own folder; name another output")
    return plan


def preview_vectors(scenario: VectorScenario, output: str | Path | None = None) -> VectorsPreview:
    """What a release would do; reads no vector and spends nothing."""
    audit = audit_vectors(scenario)
    why: list[str] = list(audit.failed)
    try:
        plan = _planned(scenario, output, None)
        look = Ledger.look(plan.folder, Budget.read(plan.budget_file), relation=plan.relation, key=plan.key())
        left = look.remaining()[None]
        if plan.cost > left:
            why.append(f"it asks for {number(plan.cost)} nats and {number(left)} of the budget is left")
        return VectorsPreview(scenario.title, audit, plan.cost, left, not why, tuple(why))
    except FileError as problem:
        return VectorsPreview(scenario.title, audit, _cost(scenario), None, False, (*why, str(problem)))


def run_vectors(
    scenario: VectorScenario,
    *,
    output: str | Path | None = None,
    id: str | None = None,
    insecure_rng: int | None = None,
    fresh: bool = False,
    wait: float = WAIT_SECONDS,
    anchor: str | None = None,
    progress: Progress | None = None,
    despite_accept: bool = False,
) -> VectorsRelease:
    """Release noisy codes of the vectors of a file, and charge its ledger."""
    plan = _planned(scenario, output, insecure_rng)
    if id is not None:
        check_name(id)
    if scenario.document.accept is not None and not despite_accept:
        failed = audit_vectors(scenario).failed
        if failed:
            raise NotAcceptedError(f"{scenario.source}: not released: {'; '.join(failed)}")
    vectors, fingerprint = _checked(plan)
    budget = Budget.read(plan.budget_file)
    make_folder(plan.output.parent)
    with Ledger.hold(
        plan.folder, budget, relation=plan.relation, key=plan.key(), wait=wait, anchor=anchor
    ) as ledger:
        salted = hashlib.sha256(f"{ledger.salt}{fingerprint}".encode()).hexdigest()
        about = {"file": plan.digest, "fingerprint": salted}
        done = ledger.just_finished(**about)
        if done is not None and done.targets[OUTPUT] == Path(os.path.abspath(plan.output)):
            content = json.loads(done.targets[SIDECAR].read_text(encoding="utf-8"))
            return _result(plan, ledger, done, content["private"], len(vectors.users), True)
        held, state = interrupted(plan, ledger, about, plan.seed, fresh, id)
        resumed = held is not None
        if held is None:
            held = ledger.reserve(
                plan.cost,
                [],
                [plan.sidecar, plan.output],
                id=id,
                unit=UNIT,
                eps=plan.cost,
                state=state.to_bytes(),
                mechanism=scenario.mechanism.words(),
                **about,
            )
        with charged(held):
            _written(plan, held, state, vectors, progress)
        return _result(plan, ledger, held, state.secure, len(vectors.users), resumed)


def _checked(plan: _Plan) -> tuple[UserVectors, str]:
    """Read every vector before anything is charged, and hash them: what is refused is refused here."""
    found = plan.scenario.vectors()
    if len(set(found.users)) < len(found.users):
        raise DataError(f"{plan.scenario.document.vectors.input}: somebody has two vectors; leave one a user")
    if not found.users:
        raise DataError(f"{plan.scenario.document.vectors.input}: holds no vector")
    hashing, model = plan.scenario.hashing, plan.scenario.document.vectors
    try:
        if isinstance(hashing, HyperplaneLSH):
            hashing.codes(found.rows, zero=model.zero, rng=0)
        else:
            hashing.codes(found.rows)
    except ValueError as problem:
        raise DataError(f"{model.input}: {problem}") from None
    digest = hashlib.sha256("\0".join(found.users).encode())
    rows = found.rows
    parts = (rows.data, rows.indices, rows.indptr) if isinstance(rows, sparse.csr_array) else (rows,)
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return found, digest.hexdigest()


def _written(
    plan: _Plan, held: Reservation, state: State, vectors: UserVectors, progress: Progress | None
) -> None:
    """Draw and write all codes under the reservation, then publish."""
    source = SealedBits(state.key, state.secure)
    columns = ["user", "code", *(["not_private"] if plan.seed is not None else [])]
    writer = table_writer(held.temporary(OUTPUT), held.targets[OUTPUT], columns, 0)
    try:
        for start in range(0, len(vectors.users), BLOCK):
            source.begin(start // BLOCK)
            part = slice(start, start + BLOCK)
            noisy = plan.scenario.mechanism.noisy(_nonzero(plan, vectors.rows[part], source), source)
            texts = [row.tobytes().hex() for row in noisy.words.astype("<u8")]
            users = vectors.users[part]
            marks = [["drawn from a test seed"] * len(users)] if plan.seed is not None else []
            writer.write([users, texts, *marks])
            if progress is not None:
                progress("drawing", start + len(users), len(vectors.users))
    except BaseException:
        writer.discard()
        raise
    writer.close()
    content = _sidecar(plan, held, len(vectors.users))
    held.write(SIDECAR, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    held.commit()


def _nonzero(plan: _Plan, rows: Any, source: SealedBits) -> Any:
    """The vectors, with a random direction in place of every zero vector where the file says so."""
    if plan.scenario.document.vectors.zero == "reject":
        return rows
    found = rows.toarray() if isinstance(rows, sparse.csr_array) else np.array(rows)
    empty = np.flatnonzero(~found.any(axis=1))
    if len(empty):
        seed = int(source.words(0, source.reserve(1))[0])
        found[empty] = np.random.default_rng(seed).standard_normal((len(empty), found.shape[1]))
    return found


def _meaning(plan: _Plan) -> str:
    model = plan.scenario.document.vectors
    xi = plan.scenario.mechanism.xi(model.distance, model.delta)
    return (
        f"Two users {180 * model.distance:.3g}° apart are told apart by {xi:.4g} nats, but for a probability "
        f"of {model.delta:g}."
    )


def _sidecar(plan: _Plan, held: Reservation, users: int) -> dict[str, Any]:
    """What was done, beside the output; nothing in it but public facts."""
    mechanism = plan.scenario.mechanism
    eps = getattr(mechanism, "eps", None) if mechanism.kind == "lsh-response" else None
    return {
        "release": held.id,
        "output": held.targets[OUTPUT].name,
        "sha256": file_hash(held.temporary(OUTPUT)),
        "mechanism": {
            "kind": mechanism.kind,
            "words": mechanism.words(),
            "eps": eps,
            "sampler": "exact" if mechanism.exact else "float",
        },
        "hash": plan.scenario.hashing.identity.to_dict(),
        "charged": str(plan.cost),
        "unit": UNIT,
        "users": users,
        "private": plan.seed is None,
        "meaning": _meaning(plan),
        "ledger": held.ledger.head,
    }


def _result(
    plan: _Plan, ledger: Ledger, held: Reservation, secure: bool, users: int, resumed: bool
) -> VectorsRelease:
    mechanism = plan.scenario.mechanism
    return VectorsRelease(
        held.id,
        os.fspath(held.targets[OUTPUT]),
        os.fspath(held.targets[SIDECAR]),
        Fraction(0) if resumed else plan.cost,
        ledger.remaining()[None],
        users,
        plan.scenario.hashing.bits,
        resumed,
        mechanism.exact and secure,
        "exact" if mechanism.exact else "float",
        ledger.head,
        _meaning(plan),
        not secure,
    )


@dataclass(frozen=True)
class ReleasedCodes:
    """Codes as they were released: users, codes with the identity of their hash, ε a bit if it is one."""

    users: list[str]
    codes: Codes
    eps: float | None
    files: list[Path] = field(default_factory=list)


def read_released_codes(path: str | Path) -> ReleasedCodes:
    """The codes that `run_vectors` wrote, checked against what lies beside them."""
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
