"""A file with [documents]: private texts, a public embedding, a mechanism on words.

There is no [policy]: the secrets are whole documents, and how far two of them are apart is the earth mover's
distance of their words under the embedding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from sievert.files._document import whole_schema
from sievert.files._paths import OutputPath, OwnPath, files_read
from sievert.files._scenario import Scenario
from sievert.kinds import Count, NonNegative, Positive, PrivatePath, Probability, PublicPath, Reader, Section
from sievert.tables import Engine, FitModel, TextSource
from sievert.text import Bag, Embedding, Length, WordFamily, WordMechanism, bag_of, require_policy, tokens

__all__ = ["AttackModel", "DocumentsFile", "DocumentsReleaseModel", "DocumentsScenario", "documents_schema"]


class DocumentsModel(Section):
    """[documents]: where the private documents are, and what becomes of their words and lengths."""

    input: PrivatePath = Field(
        description="text files by a pattern (`letters/*.txt`, UTF-8), or a table (`.csv`, `.parquet`, "
        "`.jsonl`, …) with `column`"
    )
    column: str | None = Field(None, description="of a table: the column that holds the texts")
    person: str | None = Field(
        None,
        description='whose document it is: a column of the table, or `"folder"`, where a text file lies',
    )
    documents_per_person: Positive = Field(
        1, description="how many documents one person may have; it multiplies what is charged"
    )
    embedding: Literal["small", "glove"] | PublicPath = Field(
        "small",
        description='`"small"` (20,000 words of GloVe), `"glove"` (all 400,000, extra `text`), or a public '
        "file of vectors: `.txt`, `.vec`, `.bin`, `.npz`",
    )
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None,
        description="what the vectors of a file are multiplied by: ε is per unit of the result, so a file of "
        "vectors needs it (`1.0` takes them as they are)",
    )
    vocabulary: Positive | None = Field(None, description="only the first so many words of the embedding")
    out_of_vocabulary: Literal["drop", "token"] = Field(
        "drop", description='words without a vector: leave out, or `"token"` to put `token` in their place'
    )
    token: str | None = Field(
        None, description="a public word of the vocabulary, for unknown words and padding"
    )
    length: Literal["pad", "truncate", "sample"] | None = Field(
        None,
        description="of every document, in words: `pad` or `sample` to `size`, or cut there; published "
        "unless given",
    )
    size: Positive | None = Field(None, description="the public number of words that goes with `length`")
    fit: FitModel = Field(
        default_factory=FitModel,
        description="share of documents that may be without a known word (`dropped`); above it a release "
        "stops and charges nothing",
    )
    references: PublicPath | list[PublicPath] | None = Field(
        None, description="public documents, two or more: an audit says what is promised between them"
    )

    @field_validator("out_of_vocabulary", mode="before")
    @classmethod
    def _copies_nothing(cls, given: object) -> object:
        if given in ("copy", "keep"):
            require_policy(given, None, ())
        return given

    @model_validator(mode="after")
    def _scaled(self) -> Self:
        if self.embedding not in ("small", "glove") and self.scale is None:
            raise ValueError(
                f"embedding names the vectors {str(self.embedding)!r} and scale is missing: eps is in nats "
                "per unit of their distance, which depends on how they were scaled; write scale = 1.0 to "
                "take them as they are"
            )
        return self


class DocumentsAccept(Section):
    """[accept]: limits; an audit that exceeds one exits with 1, and a release is refused."""

    nats: NonNegative | None = Field(None, description="the most between any two reference documents")
    guess: Probability | None = Field(
        None, description="best guess which of the references it is, each as likely before"
    )


class DocumentsReleaseModel(Section):
    """[release]: what comes out, and who keeps the budget."""

    output: OutputPath | None = Field(
        None,
        description="`.csv`, `.parquet` or `.arrow`, in the file's folder or below it; the file's name with "
        "`-released.csv` unless given",
    )
    ledger: OwnPath | None = Field(
        None, description="the budget file, required for a release: `person = 3.0` is ε per unit of distance"
    )
    ledger_key: OwnPath | None = Field(
        None, description="a file with a secret that binds the ledger's records"
    )
    empty: Literal["reject", "keep"] = Field(
        "reject", description="documents without a known word: refuse, or publish as empty"
    )
    sampler: Literal["exact", "float"] = Field(
        "exact", description="how words are drawn; Laplace noise needs `float`: it has no exact sampler"
    )
    engine: Engine | None = Field(
        None, description="who does the work, a file at a time; this process unless given"
    )
    test_seed: Count | None = Field(
        None, description="the file is a test: noise comes from this seed, and is NOT private"
    )


class AttackModel(Section):
    """[attack]: what `sievert attack` tries on documents with known authors."""

    input: PrivatePath | None = Field(
        None, description="text files in a folder for each author; those of `[documents]` unless given"
    )
    corpus: Literal["sotu"] | None = Field(
        None,
        description="public documents in the place of private ones: messages of presidents of the United "
        "States (extra `text`)",
    )
    eps: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = Field(
        None, description="levels to try; the mechanism's unless given"
    )
    authors: Annotated[int, Field(ge=2)] | None = Field(
        None, description="how many authors are drawn each time; all unless given"
    )
    draws: Positive = Field(3, description="how often authors and noise are drawn")
    topics: dict[str, str] | None = Field(None, description="the topic of every author")
    success: Probability | None = Field(
        None,
        description="the share of authors that may be found: `sievert design` compares mechanisms at the "
        "largest ε where no more are; it reads the documents",
    )
    seed: Count = Field(0, description="of the draws")


class DocumentsFile(Section):
    """The whole file."""

    version: Literal[1] = Field(description="of the format")
    title: str | None = Field(None, description="shown on top of reports; the file's name unless given")
    documents: DocumentsModel
    mechanism: WordFamily
    accept: DocumentsAccept | None = None
    release: DocumentsReleaseModel | None = None
    attack: AttackModel | None = None


@dataclass(frozen=True, repr=False)
class DocumentsScenario(Scenario):
    """What one file with [documents] describes; everything is made when first used."""

    table = "documents"

    document: DocumentsFile
    folder: Path
    source: str
    reader: Reader | None = field(default=None, compare=False)

    @cached_property
    def embedding(self) -> Embedding:
        """The public table of vectors."""
        model = self.document.documents
        with self.at("documents.embedding"):
            if model.embedding == "small":
                table = Embedding.small()
            elif model.embedding == "glove":
                table = Embedding.glove(model.vocabulary)
            else:
                table = Embedding.load(self.folder / model.embedding, size=model.vocabulary)
            if model.vocabulary is not None:
                table = table.first(model.vocabulary)
            return table if model.scale in (None, 1.0) else table.scaled(float(model.scale or 1.0))

    @cached_property
    def mechanism(self) -> WordMechanism:
        """What becomes of every word."""
        table = self.embedding
        with self.at("mechanism"):
            return self.document.mechanism.mechanism(table)

    @cached_property
    def length(self) -> Length:
        """What becomes of the length of a document."""
        model = self.document.documents
        with self.at("documents"):
            return Length(model.length, model.size, model.token).checked(self.embedding)

    def bag(self, text: str) -> Bag:
        """A document as the bag that the promise is about."""
        model = self.document.documents
        with self.at("documents"):
            words = tokens(text, vocabulary=self.embedding)
            return bag_of(words, self.embedding, model.out_of_vocabulary, model.token, self.length.most)

    def with_mechanism(self, mechanism: WordFamily) -> DocumentsScenario:
        """The same file with another mechanism."""
        return replace(self, document=self.document.model_copy(update={"mechanism": mechanism}))

    def with_eps(self, eps: float) -> DocumentsScenario:
        """The same file with another ε."""
        return self.with_mechanism(self.document.mechanism.model_copy(update={"eps": eps}))

    @property
    def released(self) -> Path:
        """Where a release goes, unless another place is named."""
        rules = self.document.release
        name = None if rules is None else rules.output
        return self.folder / (name or f"{Path(self.source).stem}-released.csv")

    def check(self) -> None:
        """Make everything that needs no private data, so that what is wrong is said before it is read."""
        _ = self.mechanism, self.length
        self.bag("")

    @property
    def texts(self) -> TextSource:
        """The private documents."""
        model = self.document.documents
        return TextSource(Path(model.input), model.column, model.person, self.folder)

    @cached_property
    def references(self) -> list[tuple[str, Bag]]:
        """The public reference documents, by name."""
        given = self.document.documents.references
        if given is None:
            return []
        paths = [given] if isinstance(given, str) else given
        with self.at("documents.references"):
            return [
                (text.name, self.bag(text.text))
                for path in paths
                for text in TextSource(Path(path), folder=self.folder).read()
            ]

    def reads(self) -> list[Path]:
        """The file itself and everything that it names for reading."""
        return files_read(self.document, self.folder, self.source)


def documents_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a file with [documents]."""
    return whole_schema(DocumentsFile)
