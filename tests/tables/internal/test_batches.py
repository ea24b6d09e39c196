"""Arrow reads CSV with the same cells as Python does, and Python goes on where Arrow stops."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.errors import DataError
from sievert.tables import DictionaryColumn, open_rows
from sievert.tables import _batches as batches

pytest.importorskip("pyarrow")


PIECES = ["a", "1", " ", '"', '""', "\n", "\r\n", "\r", ",", "é", "\0", "1,2\n", '"a,b",c\n', '"q""r"\n']


def _rows(found: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [row for part in found for row in zip(*part.values(), strict=True)]


@given(
    st.sampled_from([1, 2]), st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(["", "\ufeff"])
)
def test_arrow_and_python_read_the_same_csv(
    tmp_path_factory: pytest.TempPathFactory, width: int, pieces: list[str], mark: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    columns = ["x", "y"][:width]
    path.write_bytes((mark + ",".join(columns) + "\n" + "".join(pieces)).encode())
    table: Any = open_rows(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "BLOCK_BYTES", 64)
        try:
            expected = _rows(table._by_python(columns, 2, 0))
        except DataError as problem:
            with pytest.raises(DataError) as found:
                _rows(table._batches(columns, 2))
            assert str(found.value) == str(problem)
        else:
            assert _rows(table._batches(columns, 2)) == expected


def test_a_field_that_arrow_does_not_take_is_read_on_by_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the row on where it stopped: none is lost, none is there twice."""
    monkeypatch.setattr(batches, "BLOCK_BYTES", 64)
    cells = [str(i) for i in range(100)]
    cells[70] = "long" * 100
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(cells) + "\n")
    found = list(open_rows(tmp_path / "x.csv").batches(["x"], 8))
    assert [cell for batch in found for cell in batch.columns["x"]] == cells
    assert [type(batch.columns["x"]) for batch in (found[0], found[-1])] == [DictionaryColumn, list]
    assert [batch.first for batch in found] == [1 + sum(b.size for b in found[:i]) for i in range(len(found))]
