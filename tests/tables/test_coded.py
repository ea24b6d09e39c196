"""Columns in code: Arrow reads and writes CSV with the same cells and bytes as Python does."""

import numpy as np
import pytest

from sievert.tables import Coded, Values, combined

pytest.importorskip("pyarrow")


def test_a_coded_column_is_a_sequence() -> None:
    column = Coded(np.array([2, 0, 0]), Values(["a", "b", "c"]))
    assert column.index("a") == 1 and "b" not in column and list(column[1:]) == ["a", "a"]
    assert list(column.take(np.array([True, False, True]))) == ["c", "a"]
    assert column.digest() == Coded(np.array([2, 0, 0]), Values("abc")).digest() != column[1:].digest()
    assert column.digest() != Coded(np.array([2, 0, 0]), Values("abd")).digest()
    pairs = combined([column, Coded(np.array([0, 1, 0]), Values([7, 8]))])
    assert list(pairs) == [("c", 7), ("a", 8), ("a", 7)]
