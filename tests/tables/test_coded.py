"""Columns in code: Arrow reads and writes CSV with the same cells and bytes as Python does."""

import numpy as np
import pytest

from sievert.tables import DictionaryColumn, DictionaryValues, combined

pytest.importorskip("pyarrow")


def test_a_coded_column_is_a_sequence() -> None:
    column = DictionaryColumn(np.array([2, 0, 0]), DictionaryValues(["a", "b", "c"]))
    assert column.index("a") == 1 and "b" not in column and list(column[1:]) == ["a", "a"]
    assert list(column.take(np.array([True, False, True]))) == ["c", "a"]
    assert (
        column.digest()
        == DictionaryColumn(np.array([2, 0, 0]), DictionaryValues("abc")).digest()
        != column[1:].digest()
    )
    assert column.digest() != DictionaryColumn(np.array([2, 0, 0]), DictionaryValues("abd")).digest()
    pairs = combined([column, DictionaryColumn(np.array([0, 1, 0]), DictionaryValues([7, 8]))])
    assert list(pairs) == [("c", 7), ("a", 8), ("a", 7)]
