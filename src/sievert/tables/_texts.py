"""Documents: one file each, or a column of a table, with whose they are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sievert.errors import DataError, FileError
from sievert.numerics import abbreviated
from sievert.tables._batches import open_rows
from sievert.tables._cells import PLAIN
from sievert.tables._folders import refuse_twice
from sievert.tables._reading import existing
from sievert.tables._units import Unit
from sievert.tables._writing import matching

__all__ = ["Text", "TextSource"]

FOLDER = "folder"
# Text files that are one unit of work.
BLOCK = 64
TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".ipc", ".jsonl")


@dataclass(frozen=True)
class Text:
    """One document: where it was found, whose it is (None: not said), and its text."""

    name: str
    person: str | None
    text: str


@dataclass(frozen=True)
class TextSource:
    """Where documents are: a pattern of text files, or a table with a column of texts.

    `person` is the column that says whose document it is; of text files, "folder" (the name of the folder
    that a file lies in) or None. A pattern is relative to `folder`, which is taken by its name.
    """

    pattern: Path
    column: str | None = None
    person: str | None = None
    folder: Path = Path()

    @property
    def is_table(self) -> bool:
        """Whether it is one table, not a file for each document."""
        return self.pattern.suffix.lower() in TABLES

    def paths(self) -> list[Path]:
        """The files, in the order of their names."""
        found = [path for path in matching(self.pattern, self.folder) if not path.is_dir()]
        if not found:
            raise FileError(f"{self.pattern}: no such file; paths in the file are relative to its own folder")
        refuse_twice(found)
        return list(map(existing, found))

    def units(self) -> list[Unit]:
        """Files of many documents one by one, text files some at a time."""
        names = [os.path.relpath(path, self.folder) for path in self.paths()]
        step = 1 if self.is_table else BLOCK
        return [Unit(names[i], also=tuple(names[i + 1 : i + step])) for i in range(0, len(names), step)]

    def read(self, unit: Unit | None = None) -> Iterator[Text]:
        """Every document, or those of a unit, one at a time."""
        paths = self.paths() if unit is None else [self.folder / name for name in (unit.file, *unit.also)]
        if not self.is_table:
            if self.column is not None:
                raise FileError(f"{self.pattern}: column goes with a table ({', '.join(TABLES)})")
            if self.person not in (None, FOLDER):
                raise FileError(
                    f"{self.pattern}: person is {abbreviated(self.person)}; of text files write person "
                    f'= "folder": '
                    "the folder that a file lies in says whose it is"
                )
            yield from map(self._of_file, paths)
            return
        if self.column is None:
            raise FileError(f"{self.pattern}: column is missing; name the column that holds the texts")
        for path in paths:
            yield from self._lines(path) if path.suffix.lower() == ".jsonl" else self._rows(path)

    def _of_file(self, path: Path) -> Text:
        owner = path.parent.name if self.person == FOLDER else None
        try:
            return Text(path.name, owner, _decoded(path.read_bytes(), str(path)))
        except OSError as problem:
            raise DataError(f"{path}: cannot be read ({problem.strerror})") from None

    def _rows(self, path: Path) -> Iterator[Text]:
        assert self.column is not None
        columns = [self.column, *([] if self.person is None else [self.person])]
        number = 0
        for batch in open_rows(path).batches(columns):
            texts = batch.columns[self.column]
            owners = [None] * len(texts) if self.person is None else batch.columns[self.person]
            for text, owner in zip(texts, owners, strict=True):
                number += 1
                yield self._checked(f"{path.name}, row {number}", text, owner)

    def _lines(self, path: Path) -> Iterator[Text]:
        with path.open("rb") as lines:
            for number, raw in enumerate(lines, start=1):
                if not raw.strip():
                    continue
                name = f"{path.name}, line {number}"
                try:
                    content = json.loads(_decoded(raw, name))
                except (ValueError, RecursionError):
                    raise DataError(
                        f"{name}: is not JSON, or nested too deeply; write one object a line"
                    ) from None
                if not isinstance(content, dict) or self.column not in content:
                    raise DataError(f"{name}: has no key {abbreviated(self.column)}")
                owner = None if self.person is None else content.get(self.person)
                yield self._checked(name, content[self.column], owner)

    def _checked(self, name: str, text: object, owner: object) -> Text:
        if not isinstance(text, str):
            raise DataError(f"{name}: {abbreviated(text)} is not a text")
        try:
            person = PLAIN.person(owner)
        except DataError as problem:
            raise DataError(f"{name}: {self.person} {problem}") from None
        if self.person is not None and person is None:
            raise DataError(f"{name}: {self.person} is empty; say whose document it is")
        return Text(name, person, text)


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise DataError(f"{name}: byte {problem.start} is not UTF-8; save the document as UTF-8") from None
