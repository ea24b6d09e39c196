"""What a file can name as the place where the records are."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sievert.kinds import Noun, Positive, PrivatePath, kind
from sievert.tables._batches import Rows, open_rows

__all__ = ["Source"]


class Source(Noun, noun="source"):
    """Where the records are."""

    tables_only = True
    default = "input"

    column: Annotated[
        str | list[str] | None,
        Field(description="the private column or columns; for places `[latitude, longitude]`"),
    ] = None
    person: Annotated[str | None, Field(description="the column that says whose row it is")] = None
    rows_per_person: Annotated[
        Positive, Field(description="row by row: how many rows one person may have")
    ] = 1
    missing_values: list[str] = Field(
        default_factory=list, description="further texts, such as `NA`, that stand for a missing value"
    )

    @property
    def columns(self) -> list[str]:
        """The columns that make up a record."""
        return [] if self.column is None else [self.column] if isinstance(self.column, str) else self.column

    @abstractmethod
    def rows(self, folder: Path) -> Rows:
        """The records, for a file that lies in this folder."""


@kind(Source, key="input")
class FileSource(Source):
    """A table in a file."""

    input: Annotated[
        PrivatePath, Field(description="the data: `.csv`, `.tsv`, `.parquet`, `.arrow`, `.feather` or `.ipc`")
    ]

    def rows(self, folder: Path) -> Rows:
        return open_rows(folder / self.input)
