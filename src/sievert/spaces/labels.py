"""Labels of points, inputs and outputs: given by the user or 0, 1, 2, …"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from sievert.errors import SievertError

__all__ = ["Labels", "align", "index_of", "label", "labels_or_range", "shown"]

# Up to this many default labels are a tuple; more stay a range, which costs nothing.
LARGEST_TUPLE = 100_000

Labels = tuple[Hashable, ...] | range


def label(value: object) -> Hashable:
    """A label in plain Python: NumPy scalars unwrapped, lists as tuples.

    >>> label([np.int64(3), "north"])
    (3, 'north')
    """
    if isinstance(value, str | int | float):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.generic):
        return value.item()  # type: ignore[no-any-return]
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(label(item) for item in value)
    if not isinstance(value, Hashable):
        raise TypeError(f"label {value!r} is not hashable; use numbers, texts or tuples")
    return value


def shown(labels: Sequence[object], most: int = 6) -> str:
    """The first few labels, for a message."""
    return ", ".join(map(repr, labels[:most])) + (", …" if len(labels) > most else "")


def labels_or_range(
    labels: Iterable[object] | None, size: int, argument: str, error: type[SievertError]
) -> Labels:
    """Check that labels are distinct and as many as needed; default 0…size-1."""
    if labels is None:
        labels = range(size)
    if isinstance(labels, range) and len(labels) == size:
        return tuple(labels) if size <= LARGEST_TUPLE else labels
    try:
        result = tuple(label(item) for item in labels)
    except TypeError as problem:
        raise error(f"{argument}: {problem}") from None
    if len(result) != size:
        raise error(f"{argument} has {len(result)} labels but {size} are needed; give one label for each")
    if len(set(result)) < size:
        seen: set[Hashable] = set()
        for item in result:
            if item in seen:
                raise error(f"{argument} has the label {item!r} twice; labels must be distinct")
            seen.add(item)
    return result


def index_of(labels: Sequence[Hashable], item: object, argument: str, error: type[SievertError]) -> int:
    """Position of a label, or an error that names it."""
    try:
        return labels.index(label(item))
    except (TypeError, ValueError):
        raise error(f"{argument}: {item!r} is not one of the labels {shown(labels)}") from None


def align(wanted: Labels, given: Labels, argument: str, error: type[SievertError]) -> list[int] | None:
    """Positions in `given` of each label of `wanted`; None when they already agree position by position.

    The same labels in another order are matched by label. Labels 0, 1, 2, … on one side only are taken
    as "unlabelled" and match anything of the same length.
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
    if not missing:
        return [position[item] for item in wanted]
    if any(tuple(labels) == tuple(range(len(labels))) for labels in (wanted, given)):
        return None
    raise error(f"{argument} has no element labelled {missing[0]!r}, but {shown(given)}; labels must agree")
