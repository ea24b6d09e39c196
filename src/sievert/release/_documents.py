"""Release documents: read and check all, charge, draw every word anew, write bags in random order.

Documents are drawn in blocks, each with bits of its own under one sealed key, so that an interrupted run is
finished with the same words at no further cost. Nothing is published but the noisy words: no name, and no
order, neither of the words nor of the documents.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import DataError, FileError, NotAcceptedError
from sievert.files import TextRelease, TextScenario
from sievert.ledger import WAIT_SECONDS, Budget, Ledger, Relation, Reservation, check_name, file_hash
from sievert.numerics import in_percent, number, on_device, read_eps
from sievert.questions.documents import DocumentsAudit, audit_documents
from sievert.release._local import OUTPUT, SealedBits, State
from sievert.release._plan import DescribedPlan
from sievert.release._running import charged, interrupted, make_folder
from sievert.results import Result
from sievert.tables import TableWriter, Text, is_inside, require_writable, table_writer
from sievert.text import Bag, promise, promised, released, verdict

__all__ = ["DocumentsPreview", "DocumentsRelease", "preview_documents", "run_documents"]

# Documents that are drawn at once.
BLOCK = 64
SIDECAR = 0
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class DocumentsPreview(Result):
    """What a release of documents would do; no document was read.

    Attributes
    ----------
    audit : what is promised and what becomes of words
    cost : ε per unit of distance that each person is charged
    remaining : of the budget, before (None: no ledger)
    possible : whether it can be run
    why_not : what stands in the way
    """

    title: str
    audit: DocumentsAudit
    cost: Fraction
    remaining: Fraction | None
    possible: bool
    why_not: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.possible:
            return f"It cannot be released: {'; '.join(self.why_not)}."
        share = self.audit.profile.unchanged[0]
        return (
            f"Would draw every word anew ({in_percent(share)} of common words stay the same) and charge each "
            f"person ε = {number(self.cost)} per unit of distance."
        )


@dataclass(frozen=True)
class DocumentsRelease(Result):
    """What was released.

    Attributes
    ----------
    id : its name in the ledger
    output, sidecar : the files
    eps : what it cost each person, in nats per unit of the embedding's distance
    documents, words : how many were written
    secure : False when the noise came from a seed, or was drawn in floating point
    meaning : what ε per unit of distance is worth
    seeded : whether the noise came from a seed, so that nothing is private
    """

    id: str
    output: str
    sidecar: str
    eps: Fraction
    remaining: Fraction
    documents: int
    words: int
    resumed: bool
    secure: bool
    arithmetic: str
    head: str
    meaning: str
    seeded: bool = False

    def __str__(self) -> str:
        cost = (
            "at no further cost"
            if self.resumed
            else f"for ε = {number(self.eps)} a person and unit of distance"
        )
        warning = " NOT PRIVATE: the noise came from a seed." if self.seeded else ""
        if self.arithmetic == "float":
            warning += " Drawn in floating point, as the file asks: the promise holds up to rounding only."
        return (
            f"Released {self.documents} documents to {Path(self.output).name} {cost}; "
            f"{number(self.remaining)} of each person's budget is left. {self.meaning}{warning}"
        )


@dataclass(frozen=True)
class _Plan(DescribedPlan):
    scenario: TextScenario
    output: Path
    seed: int | None

    @property
    def rules(self) -> TextRelease:
        found = self.scenario.document.release
        assert found is not None
        return found

    @property
    def cost(self) -> Fraction:
        owned = self.scenario.document.documents.documents_per_person
        return read_eps(self.scenario.mechanism.eps) * owned

    @property
    def unit(self) -> str:
        return f"unit of distance of the embedding {self.scenario.embedding.fingerprint[:16]}"

    @property
    def relation(self) -> Relation:
        return Relation("documents", "two documents of one person, by the distance of their words", self.unit)


def _planned(scenario: TextScenario, output: str | Path | None, insecure_rng: int | None) -> _Plan:
    """Everything that can be checked without the documents."""
    scenario.check()
    rules = scenario.document.release
    if rules is None or rules.ledger is None:
        raise FileError(
            f"{scenario.source}: key release.ledger is missing; name a budget file, for example ledger = "
            '"budget.toml" with the line person = 3.0 in it: the most ε per unit of distance for a person'
        )
    if not scenario.mechanism.exact and rules.sampler != "float":
        raise FileError(
            f"{scenario.source}, mechanism: {scenario.mechanism.kind} has no exact sampler; write sampler = "
            '"float" under [release] to draw in floating point, or kind = "word-exponential", which is drawn '
            "exactly"
        )
    if scenario.length.rule == "sample" and rules.empty == "keep":
        raise FileError(
            f'{scenario.source}: release.empty is "keep" and documents.length is "sample": a document '
            'without a known word has none to draw, and would show by its length; write empty = "reject", or '
            'length = "pad"'
        )
    if insecure_rng is not None and rules.test_seed is None:
        raise FileError(
            f"{scenario.source}: a seed was asked for, but the file does not say that it is a test; add "
            "test_seed = 1 under [release] to a file that is one"
        )
    target = Path(output) if output is not None else scenario.released
    require_writable(target)
    plan = _Plan(scenario, target, rules.test_seed if insecure_rng is None else insecure_rng)
    if is_inside(target, plan.folder):
        raise FileError(f"{target}: lies in the ledger's own folder; name another output")
    return plan


def preview_documents(scenario: TextScenario, output: str | Path | None = None) -> DocumentsPreview:
    """What a release would do; reads no document and spends nothing."""
    audit = audit_documents(scenario)
    why: list[str] = list(audit.failed)
    try:
        plan = _planned(scenario, output, None)
        look = Ledger.look(plan.folder, Budget.read(plan.budget_file), relation=plan.relation, key=plan.key())
        left = look.remaining()[None]
        if plan.cost > left:
            why.append(f"it asks for ε = {number(plan.cost)} and {number(left)} of the budget is left")
        return DocumentsPreview(scenario.title, audit, plan.cost, left, not why, tuple(why))
    except FileError as problem:
        cost = read_eps(scenario.mechanism.eps) * scenario.document.documents.documents_per_person
        return DocumentsPreview(scenario.title, audit, cost, None, False, (*why, str(problem)))


def run_documents(
    scenario: TextScenario,
    *,
    output: str | Path | None = None,
    id: str | None = None,
    insecure_rng: int | None = None,
    fresh: bool = False,
    wait: float = WAIT_SECONDS,
    anchor: str | None = None,
    progress: Progress | None = None,
    despite_accept: bool = False,
    device: str | None = None,
) -> DocumentsRelease:
    """Release the documents of a file, and charge its ledger."""
    plan = _planned(scenario, output, insecure_rng)
    with on_device(device):  # one that is not there is refused before anything is charged
        pass
    if id is not None:
        check_name(id)
    if scenario.document.accept is not None and not despite_accept:
        failed = audit_documents(scenario).failed
        if failed:
            raise NotAcceptedError(f"{scenario.source}: not released: {'; '.join(failed)}")
    budget, key = Budget.read(plan.budget_file), plan.key()
    early = Ledger.look(plan.folder, budget, relation=plan.relation, key=key, anchor=anchor)
    if all(entry.finished for entry in early.entries):
        early.check(plan.cost, [], plan.unit)
    fingerprint, count = _checked(plan, progress)
    make_folder(plan.output.parent)
    with Ledger.hold(
        plan.folder, budget, relation=plan.relation, key=key, wait=wait, anchor=anchor
    ) as ledger:
        salted = hashlib.sha256(f"{ledger.salt}{fingerprint}".encode()).hexdigest()
        about = {"file": plan.digest, "fingerprint": salted}
        done = ledger.just_finished(**about)
        if done is not None and done.targets[OUTPUT] == Path(os.path.abspath(plan.output)):
            content = json.loads(done.targets[SIDECAR].read_text(encoding="utf-8"))
            return _result(plan, ledger, done, content["private"], count, content["words"], True)
        held, state = interrupted(plan, ledger, about, plan.seed, fresh, id)
        resumed = held is not None
        if held is None:
            held = ledger.reserve(
                plan.cost,
                [],
                [plan.sidecar, plan.output],
                id=id,
                unit=plan.unit,
                eps=plan.cost,
                state=state.to_bytes(),
                mechanism=scenario.mechanism.words(),
                **about,
            )
        with charged(held), on_device(device):
            words = _written(plan, held, state, fingerprint, count, progress)
        return _result(plan, ledger, held, state.secure, count, words, resumed)


def _bags(plan: _Plan) -> Iterator[tuple[Text, Bag]]:
    """Every document as a bag; one without a known word is refused where the file says so."""
    for text in plan.scenario.texts.read():
        bag = plan.scenario.bag(text.text)
        if not bag.size and plan.rules.empty == "reject":
            raise DataError(
                f'{text.name}: has no word of the vocabulary; leave it out, or write release.empty = "keep"'
            )
        yield text, bag


def _told(text: Text, bag: Bag) -> bytes:
    """A document as its fingerprint takes it; what JSON lets into a name is no valid text always."""
    return json.dumps([text.person, list(bag.items())], ensure_ascii=False).encode(errors="surrogatepass")


def _checked(plan: _Plan, progress: Progress | None) -> tuple[str, int]:
    """Read every document before anything is charged: what they are, and that nobody has too many."""
    digest, count, owned = hashlib.sha256(), 0, Counter[str]()
    most = plan.scenario.document.documents.documents_per_person
    for text, bag in _bags(plan):
        count += 1
        digest.update(_told(text, bag))
        if text.person is not None:
            owned[text.person] += 1
            if owned[text.person] > most:
                raise DataError(
                    f"{text.name}: the same person has more than {most} document(s); raise "
                    "documents.documents_per_person, which multiplies what is charged, or leave some out"
                )
        if progress is not None:
            progress("reading", count, None)
    return digest.hexdigest(), count


def _written(
    plan: _Plan, held: Reservation, state: State, fingerprint: str, count: int, progress: Progress | None
) -> int:
    """Draw and write all documents under the reservation, then publish; how many words there are."""
    source = SealedBits(state.key, state.secure)
    with TemporaryFile() as spool:
        ends, words = _spooled(plan, spool, source, fingerprint, (count, progress))
        writer = table_writer(held.temporary(OUTPUT), held.targets[OUTPUT], _columns(plan), 0)
        try:
            _shuffled(plan, spool, ends, source, writer)
        except BaseException:
            writer.discard()
            raise
        writer.close()
    content = _sidecar(plan, held, count, words)
    held.write(SIDECAR, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    held.commit()
    return words


def _spooled(
    plan: _Plan, spool: BinaryIO, source: SealedBits, fingerprint: str, told: tuple[int, Progress | None]
) -> tuple[IntArray, int]:
    """Draw all documents into a file, one after the other: where each ends, and how many words there are."""
    count, progress = told
    seen, words, ends = hashlib.sha256(), 0, np.zeros(count + 1, dtype=np.int64)
    number_of = 0
    for block, (texts, bags) in enumerate(_blocks(plan)):
        source.begin(block)
        for text, bag in zip(texts, bags, strict=True):
            seen.update(_told(text, bag))
        if number_of + len(bags) > count:
            break
        for noisy in released(bags, plan.scenario.mechanism, plan.scenario.length, source):
            number_of += 1
            words += len(noisy)
            ends[number_of] = ends[number_of - 1] + spool.write(" ".join(noisy).encode())
        if progress is not None:
            progress("drawing", number_of, count)
    if seen.hexdigest() != fingerprint:
        raise DataError("the documents changed while they were read; run it again on documents at rest")
    return ends, words


def _shuffled(plan: _Plan, spool: BinaryIO, ends: IntArray, source: SealedBits, writer: TableWriter) -> None:
    """Write the drawn documents in random order: that of their names would say whose each is."""
    count = len(ends) - 1
    source.begin(count)  # beyond the number of every block
    order = np.argsort(source.words(2, source.reserve(count)), kind="stable").tolist()
    for start in range(0, count, BLOCK):
        part = []
        for place in order[start : start + BLOCK]:
            spool.seek(int(ends[place]))
            part.append(spool.read(int(ends[place + 1] - ends[place])).decode())
        names = [str(start + place) for place in range(1, len(part) + 1)]
        marks = [["drawn from a test seed"] * len(part)] if plan.seed is not None else []
        writer.write([names, part, *marks])


def _columns(plan: _Plan) -> list[str]:
    return ["document", "words", *(["not_private"] if plan.seed is not None else [])]


def _blocks(plan: _Plan) -> Iterator[tuple[list[Text], list[Bag]]]:
    texts: list[Text] = []
    bags: list[Bag] = []
    for text, bag in _bags(plan):
        texts.append(text)
        bags.append(bag)
        if len(bags) == BLOCK:
            yield texts, bags
            texts, bags = [], []
    if bags:
        yield texts, bags


def _meaning(plan: _Plan) -> str:
    references = plan.scenario.references
    if len(references) < 2:
        said = promised(plan.scenario.mechanism, plan.scenario.length)
        return f"{said[0].upper()}{said[1:]}; above about 5 nats that is no promise."
    (_, first), (_, second) = references[:2]
    nats = promise(first, second, plan.scenario.mechanism, plan.scenario.length).nats
    return f"Between the first two references that is {nats:.4g} nats: {verdict(nats)}."


def _sidecar(plan: _Plan, held: Reservation, documents: int, words: int) -> dict[str, Any]:
    """What was done, beside the output; nothing in it but public facts."""
    mechanism = plan.scenario.mechanism
    return {
        "release": held.id,
        "output": held.targets[OUTPUT].name,
        "sha256": file_hash(held.temporary(OUTPUT)),
        "mechanism": {
            "kind": mechanism.kind,
            "words": mechanism.words(),
            "eps": mechanism.eps,
            "unit": plan.unit,
            "sampler": "exact" if mechanism.exact else "float",
        },
        "embedding": {"name": mechanism.embedding.name, "sha256": mechanism.embedding.fingerprint},
        "charged": str(plan.cost),
        "length": plan.scenario.length.rule,
        "documents": documents,
        "words": words,
        "private": plan.seed is None,
        "meaning": _meaning(plan),
        "ledger": held.ledger.head,
    }


def _result(
    plan: _Plan, ledger: Ledger, held: Reservation, secure: bool, documents: int, words: int, resumed: bool
) -> DocumentsRelease:
    mechanism = plan.scenario.mechanism
    return DocumentsRelease(
        held.id,
        os.fspath(held.targets[OUTPUT]),
        os.fspath(held.targets[SIDECAR]),
        Fraction(0) if resumed else plan.cost,
        ledger.remaining()[None],
        documents,
        words,
        resumed,
        mechanism.exact and secure,
        "exact" if mechanism.exact else "float",
        ledger.head,
        _meaning(plan),
        not secure,
    )
