"""Arrow writes the same bytes of CSV as Python does."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.tables import DictionaryColumn, DictionaryValues
from sievert.tables._dictionary_encoding import csv_bytes, csv_text

pytest.importorskip("pyarrow")


CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text('a,"\r\n é', max_size=4)


@given(st.lists(CELLS, min_size=1, max_size=6, unique_by=repr), st.data())
def test_arrow_writes_the_bytes_that_python_writes(values: list[Any], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=8))
    column = DictionaryColumn(np.array(rows, dtype=np.int64), DictionaryValues(values))
    plain = [values[row] for row in rows]
    for several in ([column], [column, column], [column, list(range(len(rows)))], [plain, column]):
        written = csv_text(list(zip(*map(list, several), strict=True)))
        assert csv_bytes(several) == written.encode()
