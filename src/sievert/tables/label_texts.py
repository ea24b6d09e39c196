"""Labels as text in a file, and back: what is written is read as the same label, its type included.

A text is taken for a number only when the number is written exactly so: "12" is 12, but "01067",
"1e3" and "nan" stay texts. Labels that are neither plain texts nor numbers (the tuples of a
histogram) are written as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

from sievert.errors import FileError
from sievert.numerics.checks import brief
from sievert.numerics.rationals import as_fraction
from sievert.spaces.labels import label

__all__ = ["KnownLabels", "as_float", "cell", "label_text", "read_label"]


def cell(text: str) -> Hashable:
    """A value from a public table: a number if it is written exactly as we would write it, else the text.

    >>> cell("12"), cell("0.5"), cell("A1"), cell("01067"), cell("nan")
    (12, 0.5, 'A1', '01067', 'nan')
    """
    stripped = text.strip()
    for kind in (int, float):
        try:
            number = kind(stripped)
        except ValueError:
            continue
        if math.isfinite(number) and repr(number) == stripped:
            return number
    return stripped


def label_text(item: Hashable) -> str:
    """A label as the text of a cell: itself where that is read back as the same label, else JSON.

    >>> label_text("low"), label_text(3), label_text("3"), label_text((2, "a"))
    ('low', '3', '"3"', '[2, "a"]')
    """
    if isinstance(item, str):
        return item if _is_plain(item) else _json(item)
    if type(item) is int or (type(item) is float and math.isfinite(item)):
        return repr(item)
    if item is None or isinstance(item, bool):
        return json.dumps({"value": item})
    return _json(item)


def read_label(text: str) -> Hashable:
    """The label that `label_text` wrote, or that a person wrote in a cell.

    >>> read_label('"3"'), read_label("[2, 1]"), read_label("[0,18)")
    ('3', (2, 1), '[0,18)')
    """
    stripped = text.strip()
    decoded = _from_json(stripped)
    return cell(stripped) if decoded is None else decoded[0]


def _from_json(text: str) -> tuple[Hashable] | None:
    """The label that a JSON text stands for; None for other texts, and for JSON that we would not write."""
    if not text.startswith(("[", "{", '"')):
        return None
    try:
        value = _plain_label(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    needed = not isinstance(value, str) or not _is_plain(value)
    wrapped = value is None or isinstance(value, bool)
    written = json.dumps({"value": value}) if wrapped else _json(value)
    return (value,) if needed and written == text else None


def _is_plain(text: str) -> bool:
    """Whether a text stands for itself: not for a number, not for JSON, without control characters."""
    return cell(text) == text and _from_json(text) is None and not any(letter < " " for letter in text)


def _json(item: Hashable) -> str:
    return json.dumps(_as_json(item), ensure_ascii=False)


def _as_json(item: Hashable) -> Any:
    if item is None or isinstance(item, str | bool | int):
        return item
    if isinstance(item, float):
        return item if math.isfinite(item) else {"float": repr(item)}
    if isinstance(item, tuple):
        return [_as_json(part) for part in item]
    if isinstance(item, Fraction):
        return {"fraction": str(item)}
    raise FileError(
        f"label {brief(item)} is a {type(item).__name__}, which has no form in a file; "
        "use texts, numbers or tuples of them"
    )


def _plain_label(value: Any) -> Hashable:
    if isinstance(value, list):
        return tuple(_plain_label(part) for part in value)
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    ((name, inner),) = value.items()
    readers: dict[str, Any] = {"fraction": Fraction, "float": float, "value": lambda item: item}
    return readers[name](inner)  # type: ignore[no-any-return]


def as_float(value: Any) -> float | None:
    """The number that a cell of data is, not finite ones included; None for anything else.

    >>> as_float(" 2.50"), as_float("1_0"), as_float("east")
    (2.5, None, None)
    """
    # Python reads 1_0 and १० as ten; whoever declared numbers means neither.
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


class KnownLabels:
    """Which of the labels expected in a file a cell means: by its text, or as the same number.

    >>> known = KnownLabels(["01067", 2, 0.5])
    >>> known.find("01067"), known.find("2.0"), known.find("0.50"), known.find("1067") is None
    ('01067', 2, 0.5, True)
    """

    def __init__(self, labels: Iterable[Hashable]) -> None:
        self._range = labels if isinstance(labels, range) else None
        items = [] if self._range is not None else list(labels)
        self._texts: dict[str, Hashable] = {label_text(item): item for item in items}
        for item in items:
            if isinstance(item, str):
                self._texts.setdefault(item.strip(), item)
        self._labels = {item: item for item in items}

    def find(self, value: Any) -> Hashable | None:
        """The expected label, or None."""
        if self._range is not None:
            return _whole_in(self._range, value)
        if not isinstance(value, str):
            item = label(value)
            return self._labels.get(item, self._texts.get(label_text(item)))
        text = value.strip()
        if text in self._texts:
            return self._texts[text]
        number = as_float(text)
        if number is None or not math.isfinite(number):
            return None
        found = self._labels.get(number)
        return found if _says_exactly(text, found) else None


def _says_exactly(text: str, found: Any) -> bool:
    """Whether a text is the very number of a label: many texts round to one float."""
    if isinstance(found, bool) or not isinstance(found, int | float | Fraction):
        return False
    try:
        number = as_fraction(text)
    except ValueError:
        return False
    # 0.1 stands for one tenth, and for the float that is nearest to it.
    return number == found or number == Fraction(str(found))


def _whole_in(expected: range, value: Any) -> int | None:
    """The whole number of a range that a cell means."""
    item = cell(value) if isinstance(value, str) else label(value)
    number = item if type(item) is int else as_float(item)
    if number is None or isinstance(item, bool) or not math.isfinite(number) or number != int(number):
        return None
    found = int(number)
    exact = not isinstance(item, str) or _says_exactly(item, found)
    return found if exact and found in expected else None
