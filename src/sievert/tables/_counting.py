"""Counting stored reports: files of any size, a block at a time, merged across files.

Memory does not grow with the number of reports, only with the number of different values. CSV (plain or
gzip) and Parquet are read by pyarrow where it is installed (extra `data`); without it CSV is read by
Python, slower.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from sievert.errors import DataError, FileError
from sievert.numerics import abbreviated, advance, several
from sievert.spaces import KnownLabels, Labels, cell, exact_number, label_text, shown
from sievert.tables._batches import open_rows
from sievert.tables._cells import PLAIN, cell_text
from sievert.tables._delimited import csv_rows
from sievert.tables._dictionary_encoding import DictionaryColumn, coded, in_code
from sievert.tables._driver_words import PRIVATE_WORDS, class_of, whole
from sievert.tables._folders import is_pattern
from sievert.tables._reading import existing
from sievert.tables._writing import matching

__all__ = ["Counted", "PersonReports", "count_reports", "counts_text", "expanded", "reports_by_person"]

BLOCK_BYTES = 1 << 20
BLOCK_ROWS = 1 << 20
# More different values than this are no reports of a mechanism but a wrong column.
MOST_DIFFERENT = 1_000_000
# Whole numbers in a range this wide are counted by one pass of additions.
WIDEST_RANGE = 1 << 22

Missing = Literal["reject", "drop"]


@dataclass(frozen=True)
class Counted:
    """How often each value was reported, in how many rows of which files."""

    counts: Counter[Hashable]
    rows: int
    dropped: int
    files: tuple[str, ...]

    @property
    def total(self) -> int:
        """Number of reports."""
        return sum(self.counts.values())

    def merged(self, other: Counted) -> Counted:
        """Both together."""
        counts = self.counts + other.counts
        return Counted(counts, self.rows + other.rows, self.dropped + other.dropped, self.files + other.files)


def expanded(patterns: Iterable[str | Path], folder: str | Path = ".") -> list[Path]:
    """Files that paths and patterns such as "reports-*.csv" name; one that names none is refused."""
    found: list[Path] = []
    for pattern in patterns:
        path = Path(folder) / pattern
        if is_pattern(pattern, folder):
            matches = matching(pattern, folder)
            if not matches:
                raise FileError(f"{path}: no file matches this pattern")
            found += matches
        else:
            found.append(existing(path))
    return found


def count_reports(
    paths: Sequence[str | Path],
    column: str | None = None,
    *,
    labels: Labels | None = None,
    counts: str | None = None,
    missing: Missing = "reject",
) -> Counted:
    """Count the reports in one column of one or more files.

    Parameters
    ----------
    column : its name; not needed where the files have only one
    labels : the values that can be reported; a cell is matched to them by text or as the same number
    counts : a column that says how many reports a row stands for (a table of counts)
    missing : what to do with empty cells
    """
    if not paths:
        raise FileError("no files to count; name at least one")
    files = [existing(path) for path in paths]
    sizes = [path.stat().st_size for path in files]
    found = Counted(Counter(), 0, 0, ())
    for number, path in enumerate(files):
        before, whole = sum(sizes[:number]), sum(sizes)
        heard = partial(_say, before, sizes[number], whole)
        found = found.merged(_counted(path, column, labels, counts, missing, heard))
        _say(before, sizes[number], whole, sizes[number])
    return found


@dataclass(frozen=True)
class PersonReports:
    """What each person reported, in the order of the rows, and how often each value was reported."""

    outputs: dict[str, list[Hashable]]
    counted: Counted


def reports_by_person(
    paths: Sequence[str | Path],
    column: str | None,
    person: str,
    *,
    labels: Labels,
    missing: Missing = "reject",
) -> PersonReports:
    """The reports of each person; cells are matched to labels as in `count_reports`."""
    known, counts = KnownLabels(labels), Counter[Hashable]()
    found: dict[str, list[Hashable]] = {}
    raw: dict[str, Hashable] = {}
    rows = empty = 0
    for path in map(existing, paths):
        table = open_rows(path)
        (name,) = _chosen(path, [item for item in table.header if item != person], column, None)
        for batch in table.batches([name, person]):
            rows += batch.size
            people, values = in_code(batch.columns[person]), in_code(batch.columns[name])
            whose = people.meant(PLAIN.people(people.values.items, person))
            reports = values.meant(PLAIN.texts_of(values.values.items, name))
            for who, value in zip(whose, reports, strict=True):
                if value is None:
                    empty += 1
                    continue
                if who is None:
                    raise FileError(f"{path}: a report has nobody in the column {person!r}; correct it")
                if value not in raw:
                    raw[value] = _label(path, value, known, labels)
                found.setdefault(who, []).append(raw[value])
                counts[raw[value]] += 1
    if empty and missing == "reject":
        raise FileError(
            f'{paths[0]}: {empty} of {rows} reports are empty; correct them, or say missing = "drop"'
        )
    return PersonReports(found, Counted(counts, rows, empty, tuple(map(str, paths))))


def _say(before: int, size: int, whole: int, done: int) -> None:
    """How many bytes of all files have been read; readers may be a block ahead of the end."""
    advance("counting reports", before + min(done, size), whole)


def _counted(
    path: Path,
    column: str | None,
    labels: Labels | None,
    counts: str | None,
    missing: Missing,
    heard: Callable[[int], None],
) -> Counted:
    known = None if labels is None else KnownLabels(labels)
    total: Counter[Hashable] = Counter()
    raw: dict[str, Hashable] = {}
    rows = empty = 0
    for done, values in _batches(path, column, counts):
        heard(done)
        for report, number in values:
            rows += number
            value = cell_text(report)
            if value is None:
                empty += number
                continue
            if value not in raw:
                raw[value] = _label(path, value, known, labels)
                if len(raw) > MOST_DIFFERENT:
                    raise FileError(
                        f"{path}: has more than {MOST_DIFFERENT} different values in the column of reports; "
                        "name the column that holds the reports"
                    )
            total[raw[value]] += number
    if empty and missing == "reject":
        raise FileError(f'{path}: {empty} of {rows} reports are empty; correct them, or say missing = "drop"')
    return Counted(Counter(total), rows, empty, (str(path),))


def _label(path: Path, value: str, known: KnownLabels | None, labels: Labels | None) -> Hashable:
    if known is None or labels is None:
        return cell(value)
    item = known.find(value)
    if item is None:
        raise FileError(
            f"{path}: the report {value!r} is not one of the mechanism's outputs {shown(labels)}; check the "
            "column and the mechanism"
        )
    return item


# A batch is a list of (value, how many); None is an empty cell. With it comes how many bytes have been read.
Batch = Iterable[tuple[Any, int]]
Batches = Iterator[tuple[int, Batch]]


def _batches(path: Path, column: str | None, counts: str | None) -> Batches:
    arrow: bool
    try:
        import pyarrow  # noqa: F401

        arrow = True
    except ImportError:
        arrow = False
    if path.suffix == ".parquet":
        if not arrow:
            raise FileError(f"{path}: Parquet needs pyarrow; install sievert[data]")
        return _parquet(path, column, counts)
    return _arrow_csv(path, column, counts) if arrow else _plain_csv(path, column, counts)


def _chosen(path: Path, header: Sequence[str], column: str | None, counts: str | None) -> list[str]:
    """The columns to read: that of the values and, in a table of counts, that of the numbers."""
    names = [name.strip() for name in header]
    if counts is not None and counts not in names:
        raise FileError(f"{path}: has no column {abbreviated(counts)}, but {several(names)}")
    if column is None:
        others = [name for name in names if name != counts]
        if len(others) != 1:
            raise FileError(
                f"{path}: has the columns {several(names)}; name the one that holds the reports as column"
            )
        column = others[0]
    if column not in names:
        raise FileError(f"{path}: has no column {abbreviated(column)}, but {several(names)}")
    if names.count(column) > 1:
        raise FileError(
            f"{path}: has the column {abbreviated(column)} more than once; name its columns differently"
        )
    return [column] if counts is None else [column, counts]


def _header(path: Path) -> list[str]:
    try:
        with _opened(path) as (stream, _):
            for line in csv_rows(stream):
                if any(field.strip() for field in line):
                    return line
    except (OSError, UnicodeDecodeError, csv.Error, EOFError, zlib.error) as problem:
        raise FileError(
            f"{path}: cannot be read as CSV ({class_of(problem)}); save it as UTF-8 text",
            private=whole(problem),
        ) from None
    raise FileError(f"{path}: is empty; give a header line and one report a row")


@contextmanager
def _opened(path: Path) -> Iterator[tuple[TextIOWrapper, BinaryIO]]:
    """The text of a file, unpacked, and the stored file below it, which tells how far it has been read."""
    with path.open("rb") as stored:
        unpacked = gzip.GzipFile(fileobj=stored) if path.suffix == ".gz" else stored
        with TextIOWrapper(unpacked, newline="", encoding="utf-8-sig") as text:
            yield text, stored


def _arrow_csv(path: Path, column: str | None, counts: str | None) -> Batches:
    import pyarrow as arrow
    from pyarrow import csv as arrow_csv

    header = _header(path)
    chosen = _chosen(path, header, column, counts)
    written = {name.strip(): name for name in header}
    types = {written[chosen[0]]: arrow.dictionary(arrow.int32(), arrow.string())}
    if counts is not None:
        types[written[counts]] = arrow.string()
    try:
        stored = arrow.OSFile(str(path))
        reader = arrow_csv.open_csv(
            arrow.CompressedInputStream(stored, "gzip") if path.suffix == ".gz" else stored,
            read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=[written[name] for name in chosen],
                column_types=types,
                strings_can_be_null=False,
                null_values=[],
            ),
        )
        for batch in reader:
            yield stored.tell(), _of_batch(path, batch, counts is not None)
    except (arrow.ArrowInvalid, OSError, UnicodeEncodeError) as problem:
        raise FileError(
            f"{path}: cannot be read as CSV ({class_of(problem)}); see that all lines have as many fields as "
            f"the header; {PRIVATE_WORDS}",
            private=whole(problem),
        ) from None


def _parquet(path: Path, column: str | None, counts: str | None) -> Batches:
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        # One row group at a time, through a buffer: otherwise the whole file would be read ahead.
        file = parquet.ParquetFile(path, buffer_size=BLOCK_BYTES, pre_buffer=False)
        chosen = _chosen(path, file.schema_arrow.names, column, counts)
        size, rows, seen = path.stat().st_size, max(1, file.metadata.num_rows), 0
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=chosen, row_groups=[group]):
                seen += len(batch)
                yield size * seen // rows, _of_batch(path, batch.select(chosen), counts is not None)
    except (arrow.ArrowInvalid, OSError, UnicodeEncodeError) as problem:
        raise FileError(
            f"{path}: cannot be read as Parquet ({class_of(problem)})", private=whole(problem)
        ) from None


def _of_batch(path: Path, batch: Any, weighted: bool) -> Batch:
    """Distinct values of the first column with how often they occur, or with the sum of the second column."""
    import pyarrow as arrow
    from pyarrow import compute

    values = batch.column(0)
    if weighted:
        return zip(
            _of_column(path, batch, 0),
            (_whole(path, item) for item in _of_column(path, batch, 1)),
            strict=True,
        )
    if arrow.types.is_integer(values.type) and len(values) > values.null_count:
        present = values.drop_null()
        extremes = compute.min_max(present)
        low, high = extremes["min"].as_py(), extremes["max"].as_py()
        if high - low < WIDEST_RANGE:
            found = np.bincount(_integers(present) - low)
            pairs = [(low + int(k), int(found[k])) for k in np.flatnonzero(found)]
            return [*pairs, (None, values.null_count)] if values.null_count else pairs
    column = _of_column(path, batch, 0)
    return list(zip(column.values.items, np.bincount(column.codes, minlength=0).tolist(), strict=True))


def _of_column(path: Path, batch: Any, place: int) -> DictionaryColumn:
    try:
        return coded(batch.column(place))
    except DataError as problem:
        raise FileError(f"{path}: the column {abbreviated(batch.schema.names[place])} {problem}") from None


def _integers(array: Any) -> Any:
    return array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def _plain_csv(path: Path, column: str | None, counts: str | None) -> Batches:
    header = _header(path)
    chosen = _chosen(path, header, column, counts)
    places = [[name.strip() for name in header].index(name) for name in chosen]
    try:
        with _opened(path) as (stream, stored):
            lines = (line for line in csv_rows(stream) if line)
            next(line for line in lines if any(field.strip() for field in line))
            batch: Counter[str] = Counter()
            for number, line in enumerate(lines, start=1):
                if len(line) != len(header):
                    raise FileError(
                        f"{path}: row {number} has {len(line)} fields but the header has {len(header)}"
                    )
                batch[line[places[0]]] += 1 if counts is None else _whole(path, line[places[1]])
                if number % BLOCK_ROWS == 0:
                    yield stored.tell(), list(batch.items())
                    batch.clear()
            yield stored.tell(), list(batch.items())
    except (OSError, UnicodeDecodeError, csv.Error, EOFError, zlib.error) as problem:
        raise FileError(
            f"{path}: cannot be read as CSV ({class_of(problem)}); save it as UTF-8 text",
            private=whole(problem),
        ) from None


def _whole(path: Path, value: Any) -> int:
    text = cell_text(value)
    number = None if text is None else exact_number(text)
    if number is not None and number >= 0 and number.denominator == 1:
        return number.numerator
    raise FileError(f"{path}: {abbreviated(value)} is not a count; counts are whole numbers ≥ 0")


def counts_text(counted: Counted) -> str:
    """A table of counts (report, count) that `count_reports(..., counts="count")` reads back."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["report", "count"])
    writer.writerows((label_text(item), number) for item, number in counted.counts.items())
    return stream.getvalue()
