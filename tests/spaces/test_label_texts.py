"""Labels on disk: what is written is read back, types included; texts that look like numbers stay texts."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.errors import FileError
from sievert.spaces import KnownLabels, cell, label_text, read_label

scalars = st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none() | st.fractions()
labels = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


def same(first: object, second: object) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and first == second


@given(labels)
def test_every_label_comes_back_with_its_type(item: object) -> None:
    assert same(read_label(label_text(item)), item)


@pytest.mark.parametrize("text", ["01067", "1e3", "nan", "inf", "-inf", "1_000", "+1", "0.50", "1067.", "٣"])
def test_texts_that_only_look_like_numbers_stay_texts(text: str) -> None:
    """A postcode read as a number loses its zero."""
    assert cell(text) == text
    assert read_label(text) == text


def test_numbers_are_numbers() -> None:
    assert [cell(text) for text in ("12", " -3 ", "0.5", "1e-07")] == [12, -3, 0.5, 1e-7]


def test_what_people_write_is_not_taken_for_json() -> None:
    for text in ("[0,18)", "[redacted]", "{", '"quoted"', "[1,2]", "true", '{"a": 1}'):
        assert read_label(text) == text
    assert read_label("[1, 2]") == (1, 2)


def test_labels_that_no_file_can_hold_are_refused() -> None:
    with pytest.raises(FileError, match="frozenset, which has no form in a file"):
        label_text(frozenset({1}))


def test_cells_are_matched_to_known_labels_by_text_then_by_number() -> None:
    known = KnownLabels(["01067", "12", 12, 0.5, (1, 2), "nan"])
    assert known.find("01067") == "01067"
    assert type(known.find("12")) is int  # the number is written so; the text would be in quotes
    assert known.find('"12"') == "12"
    assert known.find("0.50") == 0.5
    assert known.find("[1, 2]") == (1, 2)
    assert known.find((1, 2)) == (1, 2)
    assert known.find("nan") == "nan"
    assert known.find("1067") is None
    only_text = KnownLabels(["12"])
    assert only_text.find("12") == "12"
    assert only_text.find(12) is None or only_text.find(12) == "12"
    assert KnownLabels([True, False]).find("1") is None


@pytest.mark.parametrize("labels", [[0, 1, 0.1, 2**60], range(2)])
def test_a_text_that_only_rounds_to_a_label_is_not_it(labels: Any) -> None:
    known = KnownLabels(labels)
    for text in ("1", "1.0", "1.000", "1e0", "+1", "10e-1"):
        assert known.find(text) == 1
    for text in ("0." + "9" * 20, "1.0000000000000000000001", "1." + "0" * 30 + "1", "1e-400"):
        assert known.find(text) is None
    if isinstance(labels, list):
        assert known.find("0.10") == known.find("1e-1") == 0.1
        assert known.find(f"{Fraction(0.1).numerator / 2**55:.60f}") == 0.1
        assert known.find("0.10000000000000000000001") is None
        assert known.find(str(2**60)) == known.find(f"{2**60}.0") == 2**60
        assert known.find(str(2**60 + 1)) is None


def test_odd_labels_have_a_text() -> None:
    assert label_text(Fraction(1, 3)) == '{"fraction": "1/3"}'
    assert label_text(math.inf) == '{"float": "inf"}'
    assert label_text(True) == '{"value": true}'
