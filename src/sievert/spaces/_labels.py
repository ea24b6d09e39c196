"""Labels of points, inputs and outputs: given by the user or 0, 1, 2, …"""

from __future__ import annotations

import gc
import json
import math
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, TypeGuard, overload

import numpy as np

from sievert.errors import FileError, LabelError, SievertError
from sievert.numerics import abbreviated, count_of, is_whole, require_size, taken

__all__ = [
    "CheckedLabels",
    "EvenNumbers",
    "LabelledTable",
    "Labels",
    "LazyLabels",
    "Row",
    "align",
    "cell",
    "csv_cell",
    "iterable",
    "label",
    "label_text",
    "labels_of",
    "labels_or_range",
    "listed",
    "read_label",
    "shown",
    "worded",
]

# Python counts no longer sequences.
LARGEST_RANGE = 2**62
# Up to this many default labels are a tuple; more stay a range, which costs nothing.
LARGEST_TUPLE = 100_000
LARGEST_LISTED = 20_000_000


class LazyLabels(Sequence[Hashable]):
    """Many distinct labels, each made when it is asked for; equal to any sequence of the same labels."""

    @overload
    def __getitem__(self, item: int) -> Hashable: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[Hashable, ...]: ...
    @abstractmethod
    def __getitem__(self, item: int | slice) -> Hashable: ...

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Sequence) or isinstance(other, str) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[:3]))

    def __repr__(self) -> str:
        return f"({', '.join(map(abbreviated, self[:6]))}{', …' if len(self) > 6 else ''})"


class EvenNumbers(LazyLabels):
    """Fractions that are equally far apart, as `range` has them for whole numbers.

    >>> thirds = EvenNumbers(Fraction(0), Fraction(1, 3), 4)
    >>> thirds[1], thirds[-1], thirds.index(Fraction(2, 3)), 0.5 in thirds
    (Fraction(1, 3), 1, 2, False)
    """

    def __init__(self, start: Fraction, step: Fraction, size: int) -> None:
        self.start, self.step = start, step
        self._places = range(size)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, item: int) -> Hashable: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[Hashable, ...]: ...
    def __getitem__(self, item: int | slice) -> Hashable:
        if isinstance(item, slice):
            return tuple(map(self._number, self._places[item]))
        return self._number(self._places[item])

    def _number(self, place: int) -> int | Fraction:
        """The fraction at a place; a whole one as an int."""
        found = self.start + place * self.step
        return found.numerator if found.denominator == 1 else found

    def __contains__(self, value: object) -> bool:
        return self._place(value) is not None

    def _place(self, value: object) -> int | None:
        if not isinstance(value, int | float | Fraction) or not math.isfinite(value):
            return None
        place = (Fraction(value) - self.start) / self.step
        return place.numerator if place.denominator == 1 and place.numerator in self._places else None

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Position of a number; ValueError when it is not among them."""
        place = self._place(value)
        if place is None or place not in self._places[start:stop]:
            raise ValueError(f"{abbreviated(value)} is not among {shown(self)}")
        return place

    def __eq__(self, other: object) -> bool:
        if isinstance(other, EvenNumbers):
            return (self.start, self.step, len(self)) == (other.start, other.step, len(other))
        return super().__eq__(other)

    __hash__ = LazyLabels.__hash__


Labels = tuple[Hashable, ...] | range | LazyLabels


def label(value: object) -> Hashable:
    """A label in plain Python: NumPy scalars unwrapped, lists as tuples.

    >>> label([np.int64(3), "north"])
    (3, 'north')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        _refuse_missing(value)
        return value
    if isinstance(value, complex):
        raise LabelError(f"label {abbreviated(value)} is a complex number; use numbers, texts or tuples")
    if isinstance(value, list | tuple | np.ndarray):
        plain = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
        try:
            return tuple(label(item) for item in plain) if isinstance(plain, list | tuple) else label(plain)
        except RecursionError:
            raise LabelError("a label is nested without end; use numbers, texts or tuples") from None
    try:
        hash(value)
    except TypeError:
        raise LabelError(
            f"label {abbreviated(value)} is not hashable; use numbers, texts or tuples"
        ) from None
    _refuse_missing(value)
    return value


def _refuse_missing(value: object) -> None:
    """Refuse nan, pandas' NA and NaT, and masked entries: what stands for "missing" cannot be looked up."""
    try:
        missing = value is np.ma.masked or not bool(value == value)
    except TypeError:
        missing = True
    if missing:
        raise LabelError(
            f"label {abbreviated(value)} equals nothing, not even itself; use numbers, texts or tuples"
        )


def listed(labels: Labels, noun: str, error_size: int = LARGEST_LISTED) -> Labels:
    """Labels that are about to be stored one by one; refused when there are too many."""
    require_size(len(labels), error_size, f"a list of {noun}", f"group the {noun} first")
    return labels


def iterable(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether items can be taken from it one by one.

    An array of no dimensions and a sparse matrix only look as if they could.
    """
    try:
        return isinstance(given, Iterable) and (not isinstance(given, Sized) or count_of(given) >= 0)
    except TypeError:
        return False


def shown(labels: Sequence[object], most: int = 6) -> str:
    """The first few labels, for a message."""
    few = (abbreviated(label, worded) for label in labels[:most])
    return ", ".join(few) + (", …" if len(labels) > most else "")


# What would end a part of a combination, or begin one.
MARKS = frozenset(",()'\"")


def worded(value: object, alone: Callable[[object], str] = repr) -> str:
    """A value as a sentence names it: of a combination, or a database, its parts between commas.

    A text among the parts has quotes only where it could be read as something else; `alone` writes a value
    that has no parts.

    >>> worded("low"), worded(("surgery", 3)), worded((("n", 0), "3"))
    ("'low'", '(surgery, 3)', "((n, 0), '3')")
    """
    return f"({', '.join(map(_part, value))})" if isinstance(value, tuple) else alone(value)


def _part(item: object) -> str:
    if isinstance(item, Fraction):
        return str(item)
    if not isinstance(item, str):
        return worded(item)
    return (
        item if item and item.isprintable() and cell(item) == item and MARKS.isdisjoint(item) else repr(item)
    )


class CheckedLabels(tuple[Hashable, ...]):
    """Labels that are plain and distinct by how they were made: nothing looks at each of them again."""

    @classmethod
    def combined(cls, parts: Iterable[Iterable[Hashable]]) -> CheckedLabels:
        """All combinations of labels that are distinct.

        Tuples of labels have no cycles. A million of them would wake the collector of cycles again and again.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            return cls(product(*parts))
        finally:
            if collecting:
                gc.enable()


def labels_or_range(
    labels: Iterable[object] | None, size: int, argument: str, error: type[SievertError]
) -> Labels:
    """Check that labels are distinct and as many as needed; default 0…size-1."""
    require_size(size, LARGEST_RANGE, f"{argument}: labels", "group them")
    if labels is None:
        require_size(size, sys.maxsize, f"the {argument}", "take fewer")
        labels = range(size)
    if isinstance(labels, range) and count_of(labels) == size:
        return tuple(labels) if size <= LARGEST_TUPLE else labels
    if isinstance(labels, CheckedLabels | EvenNumbers) and len(labels) == size:
        return labels
    if not iterable(labels):
        raise error(f"{argument} is {abbreviated(labels)}; give a list of {size} labels")
    if isinstance(labels, Sized) and len(labels) != size:
        raise error(f"{argument} has {len(labels)} labels but {size} are needed; give one label for each")
    try:
        result = tuple(label(item) for item in taken(argument, labels, error, "labels"))
    except TypeError as problem:
        raise error(f"{argument}: {problem}") from None
    if len(result) != size:
        raise error(f"{argument} has {len(result)} labels but {size} are needed; give one label for each")
    if len(set(result)) < size:
        seen: set[Hashable] = set()
        for item in result:
            if item in seen:
                raise error(f"{argument} has the label {abbreviated(item)} twice; labels must be distinct")
            seen.add(item)
    return result


def labels_of(given: object, argument: str, noun: str, error: type[SievertError]) -> Labels:
    """Labels from "n or labels": 0…n-1 for a number n ≥ 1, else the given labels, at least one.

    >>> labels_of(2, "n", "secrets", SievertError), labels_of(["a"], "n", "secrets", SievertError)
    ((0, 1), ('a',))
    """
    advice = f"give the number of {noun} or their labels, at least one"
    if is_whole(given) and given >= 1:
        require_size(int(given), LARGEST_RANGE, f"{argument}: labels", f"group the {noun}")
        return labels_or_range(None, int(given), argument, error)
    if isinstance(given, str | bytes) or not iterable(given):
        raise error(f"{argument} is {abbreviated(given)}; {advice}")
    items = given if isinstance(given, range | CheckedLabels) else taken(argument, given, error, noun)
    if not items:
        raise error(f"{argument} is empty; {advice}")
    return labels_or_range(items, len(items), argument, error)


def align(wanted: Labels, given: Labels, argument: str, error: type[SievertError]) -> list[int] | None:
    """Positions in `given` of each label of `wanted`; None when they already agree position by position.

    The same labels in another order are matched by label. A database of one record, (v,), is its value v.
    Labels 0, 1, 2, … on one side only are taken as "unlabelled" and match anything of the same length.
    """
    if len(wanted) != len(given):
        raise error(
            f"{argument} has {len(given)} elements but {len(wanted)} are needed, "
            f"one for each of {shown(wanted)}"
        )
    if wanted == given:
        return None
    position = {item: i for i, item in enumerate(given)}
    missing = [item for item in wanted if item not in position]
    if missing and _one_record(wanted) != _one_record(given):
        values = {item: i for i, item in enumerate(_values(given))}
        if all(item in values for item in _values(wanted)):
            return [values[item] for item in _values(wanted)]
    if not missing:
        return [position[item] for item in wanted]
    if any(tuple(labels) == tuple(range(len(labels))) for labels in (wanted, given)):
        return None
    raise error(
        f"{argument} has no element labelled {abbreviated(missing[0], worded)}, but {shown(given)}; "
        f"labels must "
        "agree"
    )


def _one_record(labels: Labels) -> bool:
    """Whether every label is a database of one record, (v,)."""
    return not isinstance(labels, range) and all(
        isinstance(item, tuple) and len(item) == 1 for item in labels
    )


def _values(labels: Labels) -> Labels:
    return tuple(item[0] for item in labels) if _one_record(labels) else labels  # type: ignore[index]


# ── Labels as text in a file, and back: what is written is read as the same label, its type included ────────
# A text is taken for a number only when the number is written exactly so: "12" is 12, but "01067", "1e3"
# and "nan" stay texts. Labels that are neither plain texts nor numbers (the tuples of a histogram) are
# written as JSON.


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


# What a spreadsheet takes for a formula, at the beginning of a text or of what it takes for another cell.
FORMULA = re.compile(r"(?:^|[;\t\r\n])\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]")


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
    controls = any(letter < " " for letter in text)
    return cell(text) == text and not controls and not FORMULA.search(text) and _from_json(text) is None


def csv_cell(item: Any) -> Any:
    """What is written to CSV for a cell: itself, or the JSON form of a text that a spreadsheet would run.

    Numbers stay numbers, and `read_label` and `KnownLabels` read the text back.

    >>> csv_cell("=1+1"), csv_cell("-1"), csv_cell(-1), csv_cell("north; south"), csv_cell("a;=b")
    ('"=1+1"', '-1', -1, 'north; south', '"a;=b"')
    """
    if not isinstance(item, str):
        return item
    if FORMULA.search(item):
        return item if isinstance(cell(item), int | float) else _json(item)
    return _json(item) if item.startswith('"') and _from_json(item) is not None else item


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
        f"label {abbreviated(item)} is a {type(item).__name__}, which has no form in a file; "
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


Row = list[Any]


@dataclass(frozen=True)
class LabelledTable:
    """Header and rows of a file. In CSV every cell is text; Parquet (`typed`) knows what is a number."""

    path: Path
    header: list[str]
    rows: list[Row]
    typed: bool

    def value(self, item: Any) -> Hashable:
        """A cell as a value: in CSV a number where it is written like one, in Parquet what it is."""
        return label(item) if self.typed or not isinstance(item, str) else cell(item)
