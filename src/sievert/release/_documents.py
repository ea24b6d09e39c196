"""Release documents: read and check all, charge, draw every word anew, write bags in random order.

Files of documents are units of work, each with bits of its own under one sealed key, so that an interrupted
run is finished with the same words at no further cost, whoever does the work. Nothing is published but the
noisy words: no name, and no order, neither of the words nor of the documents.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import DataError, FileError
from sievert.files import DocumentsScenario
from sievert.ledger import Ledger, Relation, Reservation
from sievert.numerics import in_nats, in_percent, number, read_eps
from sievert.questions.documents import DocumentsAudit, audit_documents
from sievert.release._fit import DataFit, admit
from sievert.release._job import JobPreview, JobRelease, ReleaseJob, on_worker_device
from sievert.release._protocol import DrawResult, ReleaseRequest
from sievert.release._row_release import SealedBits, State
from sievert.release._units import Part, changed, publish
from sievert.tables import Contents, TableWriter, Text, Unit, fits, open_rows
from sievert.text import Bag, document_guarantee, promised, released, verdict

__all__ = ["DocumentsJob", "DocumentsPreview", "DocumentsRelease"]

# Documents that are drawn at once.
BLOCK = 64


@dataclass(frozen=True)
class DocumentsPreview(JobPreview):
    """What a release of documents would do; no document was read.

    Attributes
    ----------
    audit : what is promised and what becomes of words
    cost : ε per unit of distance that each person is charged
    remaining : of the budget, before (None: no ledger)
    possible : whether it can be run
    why_not : what stands in the way
    """

    audit: DocumentsAudit

    @property
    def would(self) -> str:
        share = self.audit.profile.unchanged[0]
        return (
            f"Would draw every word anew ({in_percent(share)} of common words stay the same) and charge each "
            f"person ε = {number(self.cost)} per unit of distance."
        )


@dataclass(frozen=True)
class DocumentsRelease(JobRelease):
    """Documents that were released, at a cost in nats per unit of the embedding's distance.

    Attributes
    ----------
    documents, words : how many were written
    """

    documents: int
    words: int

    @property
    def what(self) -> str:
        return f"{self.documents} documents"

    @property
    def price(self) -> str:
        return f"ε = {number(self.eps)} a person and unit of distance"


@dataclass(frozen=True)
class DocumentsJob(ReleaseJob):
    """Every word drawn anew, documents and words in random order."""

    budget_line = "person = 3.0 in it: the most ε per unit of distance for a person"
    drawn_exactly = "word-exponential"
    columns_written = ("document", "words")
    preview = DocumentsPreview

    def check(self) -> None:
        source = self.scenario.texts
        for target in (self.plan.output, self.plan.sidecar):
            if fits(source.pattern, source.folder, target):
                raise FileError(
                    f"{target}: is a file that documents.input ({source.pattern}) names; another run would "
                    "take what was released for private documents: name another folder for one of them"
                )
        if self.scenario.length.rule == "sample" and self.plan.rules.empty == "keep":
            raise FileError(
                f'{self.scenario.source}: release.empty is "keep" and documents.length is "sample": a '
                "document without a known word has none to draw, and would show by its length; write empty = "
                '"reject", or length = "pad"'
            )

    @staticmethod
    def audit(scenario: DocumentsScenario) -> DocumentsAudit:
        return audit_documents(scenario)

    @staticmethod
    def cost(scenario: DocumentsScenario) -> Fraction:
        return read_eps(scenario.mechanism.eps) * scenario.document.documents.documents_per_person

    @property
    def unit(self) -> str:
        return f"unit of distance of the embedding {self.scenario.embedding.fingerprint[:16]}"

    @property
    def relation(self) -> Relation:
        return Relation("documents", "two documents of one person, by the distance of their words", self.unit)

    @property
    def meaning(self) -> str:
        scenario = self.scenario
        if len(scenario.references) < 2:
            said = promised(scenario.mechanism, scenario.length)
            return f"{said[0].upper()}{said[1:]}; above about 5 nats that is no promise."
        (_, first), (_, second) = scenario.references[:2]
        nats = document_guarantee(first, second, scenario.mechanism, scenario.length).nats
        return f"Between the first two references that is {in_nats(nats)}: {verdict(nats)}."

    def read(self, asked: ReleaseRequest) -> tuple[Contents, ...]:
        most = self.scenario.document.documents.documents_per_person
        found, owned, count, empty = [], Counter[str](), 0, 0
        report = asked.reporter("reading")
        for contents, people, without in self.done(check_texts, self.scenario.texts.units()):
            found.append(contents)
            empty += without
            owned.update(people)
            count += contents.rows
            if report is not None:
                report(count)
        fit = DataFit(count, left_out={"empty": empty} if empty else {}, counted_in="documents")
        admit(fit, self.scenario.document.documents.fit, asked.fit, "documents.fit")
        if owned and max(owned.values()) > most:
            raise DataError(
                f"{self.scenario.texts.pattern}: the same person has more than {most} document(s); raise "
                "documents.documents_per_person, which multiplies what is charged, or leave some out"
            )
        return tuple(found)

    def draw(
        self, read: tuple[Contents, ...], held: Reservation, state: State, asked: ReleaseRequest
    ) -> DrawResult:
        parts = self.drawn_parts(draw_texts, read, held, state, asked)
        count = sum(item.rows for item in read)
        with TemporaryFile() as spool:
            ends, words = _spooled(spool, parts, count)
            writer = self.writer(held)
            try:
                self._shuffled(spool, ends, SealedBits(state.key, state.secure), writer)
            except BaseException:
                writer.discard()
                raise
            writer.close()
        return DrawResult({"documents": count, "words": words})

    def facts(self) -> dict[str, Any]:
        mechanism, table = self.scenario.mechanism, self.scenario.embedding
        return {
            "mechanism": {"eps": mechanism.eps},
            "embedding": {"name": table.name, "sha256": table.fingerprint},
            "length": self.scenario.length.rule,
        }

    def result(
        self,
        ledger: Ledger,
        held: Reservation,
        eps: Fraction,
        resumed: bool,
        content: dict[str, Any],
        table: Any,
    ) -> DocumentsRelease:
        common = self.common(ledger, held, eps, resumed, content)
        return DocumentsRelease(**common, documents=content["documents"], words=content["words"])

    def bags(self, unit: Unit) -> Iterator[tuple[Text, Bag]]:
        """Every document of a unit as a bag; one without a known word is refused where the file says so."""
        for text in self.scenario.texts.read(unit):
            bag = self.scenario.bag(text.text)
            if not bag.size and self.plan.rules.empty == "reject":
                raise DataError(
                    f"{text.name}: has no word of the vocabulary; leave it out, or write release.empty = "
                    '"keep"'
                )
            yield text, bag

    def _shuffled(self, spool: BinaryIO, ends: IntArray, source: SealedBits, writer: TableWriter) -> None:
        """Write the drawn documents in random order: that of their names would say whose each is."""
        count = len(ends) - 1
        order = np.argsort(source.words(2, source.reserve(count)), kind="stable").tolist()
        for start in range(0, count, BLOCK):
            part = []
            for place in order[start : start + BLOCK]:
                spool.seek(int(ends[place]))
                part.append(spool.read(int(ends[place + 1] - ends[place])).decode())
            names = [str(start + place) for place in range(1, len(part) + 1)]
            writer.write(self.marked(names, part))


@on_worker_device
def check_texts(job: DocumentsJob, unit: Unit) -> tuple[Contents, Counter[str], int]:
    """Read the documents of a unit: what they are, how many each person has, how many have no known word."""
    digests, owned, rows, empty = [], Counter[str](), 0, 0
    for part in _in_blocks(job.bags(unit)):
        digests.append(_digest(part))
        owned.update(text.person for text, _ in part if text.person is not None)
        rows += len(part)
        empty += sum(not bag.size for _, bag in part)
    return Contents(unit, rows, tuple(digests)), owned, empty


@on_worker_device
def draw_texts(job: DocumentsJob, part: Part) -> int:
    """Draw the documents of a unit anew, a row of words each."""
    source, unit = SealedBits(part.key, part.secure), part.contents.unit

    def write(writer: TableWriter) -> None:
        number = -1
        for number, block in enumerate(_in_blocks(job.bags(unit))):
            if part.contents.digests[number : number + 1] != (_digest(block),):
                raise changed(job.scenario.folder / unit.file)
            source.begin(number)
            bags = [bag for _, bag in block]
            noisy = released(bags, job.scenario.mechanism, job.scenario.length, source)
            writer.write([[" ".join(words) for words in noisy]])
        if number + 1 != len(part.contents.digests):
            raise changed(job.scenario.folder / unit.file)

    publish(part, ["words"], write)
    return part.contents.rows


def _spooled(spool: BinaryIO, parts: list[Path], count: int) -> tuple[IntArray, int]:
    """All drawn documents in one file, one after the other: where each ends, and how many words."""
    words, done, ends = 0, 0, np.zeros(count + 1, dtype=np.int64)
    for path in parts:
        for batch in open_rows(path).batches(["words"]):
            for text in batch.columns["words"]:
                done += 1
                words += len(text.split())
                ends[done] = ends[done - 1] + spool.write(text.encode())
    return ends, words


def _digest(part: list[tuple[Text, Bag]]) -> bytes:
    """A hash of some documents; what JSON lets into a name is no valid text always."""
    told = [[text.person, list(bag.items())] for text, bag in part]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode(errors="surrogatepass")).digest()


def _in_blocks(bags: Iterator[tuple[Text, Bag]]) -> Iterator[list[tuple[Text, Bag]]]:
    while part := list(islice(bags, BLOCK)):
        yield part
