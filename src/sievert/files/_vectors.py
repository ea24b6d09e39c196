"""A file with [vectors]: users' private vectors, a public hash, a mechanism on codes.

There is no [policy]: the secrets are whole vectors, and how far two of them are apart is the hash's own
distance.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from sievert.errors import FileError
from sievert.files._document import whole_schema
from sievert.files._paths import OutputPath, OwnPath, files_read
from sievert.files._scenario import Scenario
from sievert.kinds import Count, NonNegative, Positive, PrivatePath, Probability, PublicPath, Reader, Section
from sievert.tables import (
    Engine,
    Unit,
    UserVectors,
    VectorSource,
    cell_text,
    files_in,
    is_several,
    read_table,
)
from sievert.vectors import HashFamily, LocalityHash, VectorFamily, VectorMechanism

__all__ = ["VectorsFile", "VectorsReleaseModel", "VectorsScenario", "vectors_schema"]

SUFFIXES = (".csv", ".parquet", ".npz")


class VectorsModel(Section):
    """[vectors]: where the private vectors are, and the public hash."""

    input: PrivatePath = Field(
        description="a wide table (a row for each user), a long one (`user`, `item`, `rating`), or a sparse "
        "matrix `.npz`; or a folder or pattern of them, each user in one file"
    )
    dimension: Positive | None = Field(
        None, description="public number of items, the coordinates of a vector; or give `items`"
    )
    items: PublicPath | None = Field(
        None, description="a public table whose first column lists the items, in order"
    )
    user: str | None = Field(
        None, description="of a table: the column that names the user; names are published with the codes"
    )
    item: str | None = Field(None, description="of a long table: the column of items")
    rating: str | None = Field(None, description="of a long table: the column of numbers")
    hash: HashFamily = Field(description="the public hash")
    zero: Literal["reject", "random"] = Field(
        "reject", description="a zero vector: refuse, or put a random direction in its place"
    )
    distance: Probability = Field(
        0.05, description="of the pair that answers are about; 1/2 is a right angle"
    )
    delta: Probability = Field(0.01, description="that goes with ξ in answers")
    known: PublicPath | None = Field(
        None, description="public vectors, as `input`: the people whom an attacker is taken to know"
    )

    @model_validator(mode="after")
    def _sized(self) -> Self:
        if (self.dimension is None) == (self.items is None):
            raise ValueError(
                "give either dimension, the public number of items, or items, a public table of their names: "
                "what is read off the private vectors would give some of them away"
            )
        if self.delta >= 1:
            raise ValueError("delta is 1; it must be below 1, or nothing at all is promised")
        return self


class VectorsAccept(Section):
    """[accept]: limits; an audit that exceeds one exits with 1, and a release is refused."""

    nats: NonNegative | None = Field(None, description="the largest ξ at `distance` and `delta`")
    reidentified: Probability | None = Field(
        None, description="the largest share of `known` people that an attacker traces back"
    )


class VectorsReleaseModel(Section):
    """[release]: what comes out, and who keeps the budget."""

    output: OutputPath | None = Field(
        None,
        description="`.csv`, `.parquet` or `.arrow`, in the file's folder or below it; the file's name with "
        "`-codes.csv` unless given",
    )
    ledger: OwnPath | None = Field(
        None,
        description="the budget file, required for a release: `person = 60.0` is the largest loss in nats",
    )
    ledger_key: OwnPath | None = Field(
        None, description="a file with a secret that binds the ledger's records"
    )
    sampler: Literal["exact", "float"] = Field(
        "exact", description="how noise is drawn; Laplace noise needs `float`: it has no exact sampler"
    )
    engine: Engine | None = Field(
        None, description="who does the work, a file at a time; this process unless given"
    )
    test_seed: Count | None = Field(
        None, description="the file is a test: noise comes from this seed, and is NOT private"
    )


class VectorsFile(Section):
    """The whole file."""

    version: Literal[1] = Field(description="of the format")
    title: str | None = Field(None, description="shown on top of reports; the file's name unless given")
    vectors: VectorsModel
    mechanism: VectorFamily
    accept: VectorsAccept | None = None
    release: VectorsReleaseModel | None = None


@dataclass(frozen=True, repr=False)
class VectorsScenario(Scenario):
    """What one file with [vectors] describes; everything is made when first used."""

    table = "vectors"

    document: VectorsFile
    folder: Path
    source: str
    reader: Reader | None = field(default=None, compare=False)

    @cached_property
    def item_names(self) -> tuple[str, ...] | None:
        """The public list of items."""
        path = self.document.vectors.items
        if path is None:
            return None
        with self.at("vectors.items"):
            return tuple(cell_text(row[0]) or "" for row in read_table(self.folder / path).rows)

    @property
    def dimension(self) -> int:
        """Coordinates of a vector."""
        names = self.item_names
        return len(names) if names is not None else int(self.document.vectors.dimension or 0)

    @cached_property
    def hashing(self) -> LocalityHash:
        """The public hash."""
        size = self.dimension
        with self.at("vectors.hash"):
            return self.document.vectors.hash.hashing(size)

    @cached_property
    def mechanism(self) -> VectorMechanism:
        """What becomes of a vector."""
        hashing = self.hashing
        with self.at("mechanism"):
            return self.document.mechanism.mechanism(hashing)

    def with_mechanism(self, bits: int | None = None, **mechanism: Any) -> VectorsScenario:
        """The same file with another mechanism, and perhaps another number of bits."""
        told = self.document.model_dump(exclude_unset=True)
        told["mechanism"] = mechanism
        if bits is not None:
            told["vectors"]["hash"]["bits"] = bits
        return replace(self, document=VectorsFile.model_validate(told))

    def with_eps(self, eps: float) -> VectorsScenario:
        """The same file at another ε, whatever it says of ξ."""
        kind = self.mechanism.kind
        if kind == "soft-sign":
            raise FileError(f"--eps: goes with lsh-response and laplace-lsh; {self.source} has no ε")
        return self.with_mechanism(kind=kind, eps=eps)

    def with_level(self, level: float) -> VectorsScenario:
        """The same file with another amount of noise, whatever it says of ξ."""
        told = self.document.model_dump(exclude_unset=True)["mechanism"]
        kept = {key: value for key, value in told.items() if key not in ("xi", "delta", "distance")}
        return self.with_mechanism(**{**kept, self.mechanism.level_name: level})

    def check(self) -> None:
        """Make everything that needs no private data, so that what is wrong is said before it is read."""
        _ = self.mechanism

    def _read(self, path: str) -> UserVectors:
        model = self.document.vectors
        names = self.item_names
        items = names if names is not None else self.dimension
        found = VectorSource(
            self.folder / path, model.user, model.item, model.rating, items if model.item else None
        ).read()
        if found.rows.shape[1] != self.dimension:
            raise FileError(
                f"{path}: vectors have {found.rows.shape[1]} coordinates, and [vectors] says "
                f"{self.dimension}; give vectors over the public list of items"
            )
        return found

    def units(self) -> list[Unit]:
        """The files of private vectors, one by one."""
        path = str(self.document.vectors.input)
        if not is_several(path, self.folder):
            return [Unit(path)]
        files = files_in(path, self.folder, SUFFIXES)
        return [Unit(os.path.relpath(file, self.folder)) for file in files]

    def vectors(self, unit: Unit) -> UserVectors:
        """The private vectors of a file."""
        return self._read(unit.file)

    @cached_property
    def known(self) -> UserVectors | None:
        """The public vectors that an attacker is taken to know."""
        path = self.document.vectors.known
        if path is None:
            return None
        with self.at("vectors.known"):
            return self._read(str(path))

    @property
    def released(self) -> Path:
        """Where a release goes, unless another place is named."""
        rules = self.document.release
        name = None if rules is None else rules.output
        return self.folder / (name or f"{Path(self.source).stem}-codes.csv")

    def reads(self) -> list[Path]:
        """The file itself and everything that it names for reading."""
        return files_read(self.document, self.folder, self.source)


def vectors_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a file with [vectors]."""
    return whole_schema(VectorsFile)
