"""Labels of points, inputs and outputs: given by the user or 0, 1, 2, …"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence, Sized
from typing import Any, TypeGuard, overload

import numpy as np

from sievert.errors import LabelError, SievertError
from sievert.numerics.checks import brief, require_size, taken

__all__ = [
    "Labels",
    "LazyLabels",
    "align",
    "iterable",
    "label",
    "labels_of",
    "labels_or_range",
    "listed",
    "shown",
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
        return f"({shown(self)})"


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
        if math.isnan(value):
            raise LabelError("label nan equals nothing, not even itself; use numbers, texts or tuples")
        return value
    if isinstance(value, complex):
        raise LabelError(f"label {brief(value)} is a complex number; use numbers, texts or tuples")
    if isinstance(value, list | tuple | np.ndarray):
        plain = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
        try:
            return tuple(label(item) for item in plain) if isinstance(plain, list | tuple) else label(plain)
        except RecursionError:
            raise LabelError("a label is nested without end; use numbers, texts or tuples") from None
    try:
        hash(value)
    except TypeError:
        raise LabelError(f"label {brief(value)} is not hashable; use numbers, texts or tuples") from None
    return value


def listed(labels: Labels, noun: str, error_size: int = LARGEST_LISTED) -> Labels:
    """Labels that are about to be stored one by one; refused when there are too many."""
    require_size(len(labels), error_size, f"a list of {noun}", f"group the {noun} first")
    return labels


def iterable(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether items can be taken from it one by one.

    An array of no dimensions and a sparse matrix only look as if they could.
    """
    try:
        return isinstance(given, Iterable) and (not isinstance(given, Sized) or len(given) >= 0)
    except TypeError:
        return False


def shown(labels: Sequence[object], most: int = 6) -> str:
    """The first few labels, for a message."""
    return ", ".join(map(brief, labels[:most])) + (", …" if len(labels) > most else "")


def labels_or_range(
    labels: Iterable[object] | None, size: int, argument: str, error: type[SievertError]
) -> Labels:
    """Check that labels are distinct and as many as needed; default 0…size-1."""
    if labels is None:
        labels = range(size)
    if isinstance(labels, range) and len(labels) == size:
        return tuple(labels) if size <= LARGEST_TUPLE else labels
    if not iterable(labels):
        raise error(f"{argument} is {brief(labels)}; give a list of {size} labels")
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
                raise error(f"{argument} has the label {brief(item)} twice; labels must be distinct")
            seen.add(item)
    return result


def labels_of(given: object, argument: str, noun: str, error: type[SievertError]) -> Labels:
    """Labels from "n or labels": 0…n-1 for a number n ≥ 1, else the given labels, at least one.

    >>> labels_of(2, "n", "secrets", SievertError), labels_of(["a"], "n", "secrets", SievertError)
    ((0, 1), ('a',))
    """
    advice = f"give the number of {noun} or their labels, at least one"
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 1:
        require_size(int(given), LARGEST_RANGE, f"{argument}: labels", f"group the {noun}")
        return labels_or_range(None, int(given), argument, error)
    if isinstance(given, str | bytes) or not iterable(given):
        raise error(f"{argument} is {brief(given)}; {advice}")
    items = given if isinstance(given, range) else taken(argument, given, error, noun)
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
        f"{argument} has no element labelled {brief(missing[0])}, but {shown(given)}; labels must agree"
    )


def _one_record(labels: Labels) -> bool:
    """Whether every label is a database of one record, (v,)."""
    return not isinstance(labels, range) and all(
        isinstance(item, tuple) and len(item) == 1 for item in labels
    )


def _values(labels: Labels) -> Labels:
    return tuple(item[0] for item in labels) if _one_record(labels) else labels  # type: ignore[index]
