"""Counting reports in files: formats, merging, and what is wrong with a file."""

import gzip
from pathlib import Path

import pytest

from sievert.errors import FileError
from sievert.tables import count_reports, counts_text, expanded


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_counted_and_merged(tmp_path: Path, reader: str) -> None:
    first = write(tmp_path / "a-1.csv", "person,answer\n1,yes\n2,no\n3,yes\n")
    write(tmp_path / "a-2.csv", "answer,person\nno,4\n yes ,5\n")
    paths = expanded(["a-*.csv"], tmp_path)
    assert paths[0] == first
    found = count_reports(paths, "answer", labels=("yes", "no", "maybe"))
    assert dict(found.counts) == {"yes": 3, "no": 2}
    assert (found.rows, found.dropped, found.total) == (5, 0, 5)
    assert [Path(name).name for name in found.files] == ["a-1.csv", "a-2.csv"]


def test_numbers_and_codes_keep_their_type(tmp_path: Path, reader: str) -> None:
    numbers = write(tmp_path / "n.csv", "x\n1\n2\n2.0\n")
    assert dict(count_reports([numbers], labels=range(4)).counts) == {1: 1, 2: 2}
    codes = write(tmp_path / "c.csv", "code\n01067\n01067\n")
    assert dict(count_reports([codes], labels=("01067",)).counts) == {"01067": 2}
    assert dict(count_reports([codes]).counts) == {"01067": 2}
    assert dict(count_reports([numbers]).counts) == {1: 1, 2: 2}


def test_gzip_byte_order_mark_and_blank_lines(tmp_path: Path, reader: str) -> None:
    packed = tmp_path / "r.csv.gz"
    with gzip.open(packed, "wt", encoding="utf-8") as stream:
        stream.write("answer\na\nb\na\n")
    assert dict(count_reports([packed]).counts) == {"a": 2, "b": 1}
    marked = tmp_path / "bom.csv"
    marked.write_bytes("﻿answer,n\na,1\nb,2\n".encode())
    assert dict(count_reports([marked], "answer").counts) == {"a": 1, "b": 1}


def test_tables_of_counts_come_back(tmp_path: Path, reader: str) -> None:
    source = write(tmp_path / "r.csv", "answer\na\nb\na\n")
    found = count_reports([source])
    saved = tmp_path / "counts.csv"
    saved.write_text(counts_text(found), encoding="utf-8")
    again = count_reports([saved, saved], "report", counts="count")
    assert dict(again.counts) == {"a": 4, "b": 2}


def test_empty_cells(tmp_path: Path, reader: str) -> None:
    source = write(tmp_path / "r.csv", "person,answer\n1,a\n2,\n3, \n")
    with pytest.raises(FileError, match=r'2 of 3 reports are empty.*missing = "drop"'):
        count_reports([source], "answer")
    found = count_reports([source], "answer", missing="drop")
    assert dict(found.counts) == {"a": 1} and found.dropped == 2


@pytest.mark.parametrize(
    ("text", "column", "counts", "message"),
    [
        ("person,answer\n1,a\n", None, None, "name the one that holds the reports as column"),
        ("answer\na\n", "reply", None, "no column 'reply', but answer"),
        ("answer\nc\n", None, None, "the report 'c' is not one of the mechanism's outputs"),
        ("answer,n\na,many\n", "answer", "n", "'many' is not a count"),
        ("answer,n\na,-1\n", "answer", "n", "'-1' is not a count"),
        ("answer,n\na,1\n", "answer", "m", "no column 'm'"),
        ("answer,answer\na,a\n", "answer", None, "more than once"),
        ("person,answer\n1,a,x\n", "answer", None, "row|Expected 2 columns"),
        ("", None, None, "is empty"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, reader: str, text: str, column, counts, message: str) -> None:
    source = write(tmp_path / "r.csv", text)
    with pytest.raises(FileError, match=message):
        count_reports([source], column, labels=("a", "b"), counts=counts)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no file matches"):
        expanded(["none-*.csv"], tmp_path)
    with pytest.raises(FileError, match="no such file"):
        expanded(["none.csv"], tmp_path)
    with pytest.raises(FileError, match="no files"):
        count_reports([])


def test_parquet_of_numbers_texts_and_categories(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table(
        {
            "number": [1, 2, 2, None],
            "text": ["a", "b", "b", None],
            "category": arrow.array(["a", "b", "b", None]).dictionary_encode(),
            "wide": [0, 10**12, 10**12, None],
            "real": [0.5, 1.5, 1.5, None],
        }
    )
    path = tmp_path / "r.parquet"
    parquet.write_table(table, path)
    for column, labels, expected in (
        ("number", range(3), {1: 1, 2: 2}),
        ("text", ("a", "b"), {"a": 1, "b": 2}),
        ("category", ("a", "b"), {"a": 1, "b": 2}),
        ("wide", None, {0: 1, 10**12: 2}),
        ("real", None, {0.5: 1, 1.5: 2}),
    ):
        found = count_reports([path], column, labels=labels, missing="drop")
        assert dict(found.counts) == expected and found.dropped == 1
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"not parquet")
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        count_reports([broken], "number")
