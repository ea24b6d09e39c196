"""Counting in blocks: progress, what fills the memory, and the same counts whatever the blocks."""

import gzip
from pathlib import Path

import pytest

from sievert.errors import FileError
from sievert.numerics import progress_listener
from sievert.tables import _counting as counting
from sievert.tables import count_reports
from tests.tables.test_counting import write


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_counting_says_how_far_it_has_come(tmp_path: Path, reader: str, monkeypatch, kind: str) -> None:
    if kind == "parquet" and reader == "plain":
        pytest.skip("Parquet needs pyarrow")
    monkeypatch.setattr(counting, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(counting, "BLOCK_ROWS", 1 << 11)
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    answers = [str(k * k % 97) for k in range(20_000)]
    for path in paths:
        text = "answer\n" + "\n".join(answers) + "\n"
        if kind == "csv":
            write(path, text)
        elif kind == "csv.gz":
            path.write_bytes(gzip.compress(text.encode()))
        else:
            arrow = pytest.importorskip("pyarrow")
            from pyarrow import parquet

            parquet.write_table(arrow.table({"answer": answers}), path, row_group_size=5_000)
    heard: list[tuple[str, int, int]] = []
    with progress_listener(lambda *news: heard.append(news)):
        assert count_reports(paths).total == 40_000
    whole = sum(path.stat().st_size for path in paths)
    assert {news[0] for news in heard} == {"counting reports"}
    assert {news[2] for news in heard} == {whole}
    done = [news[1] for news in heard]
    assert done == sorted(done)
    assert done[-1] == whole
    assert paths[0].stat().st_size in done
    # Others read all of a small file ahead.
    assert len(set(done)) > 2 or (reader, kind) != ("plain", "csv")


def test_a_wrong_column_does_not_fill_the_memory(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(counting, "MOST_DIFFERENT", 10)
    source = write(tmp_path / "r.csv", "id\n" + "\n".join(map(str, range(50))) + "\n")
    with pytest.raises(FileError, match="more than 10 different values"):
        count_reports([source])


def test_many_blocks_are_the_same_as_one(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("pyarrow")
    lines = [str(i % 7) for i in range(10_000)]
    source = write(tmp_path / "r.csv", "x\n" + "\n".join(lines) + "\n")
    whole = count_reports([source], labels=range(7)).counts
    monkeypatch.setattr(counting, "BLOCK_BYTES", 512)
    assert count_reports([source], labels=range(7)).counts == whole
