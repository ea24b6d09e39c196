"""Reading a proof that anybody may have written: strict JSON, strict numbers, bounded work.

Whatever is not plainly what a proof needs is refused: a key given twice, a number that is not finite, a
fraction where a whole number belongs, texts and nesting beyond every honest proof. Errors are ValueErrors.
"""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.numerics import abbreviated, as_fraction

__all__ = [
    "entries",
    "flag",
    "floats",
    "fraction",
    "fractions",
    "indices",
    "listed",
    "named",
    "number",
    "pairs",
    "parse_json",
    "require_plain",
    "whole",
]

# Proofs are a few levels deep.
DEEPEST = 50
# Python writes and reads whole numbers of up to 4300 digits.
MOST_DIGITS = 4300
LARGEST_POINT = 2**40
# Whole numbers that NumPy reads as such.
LARGEST_WHOLE = 2**63
# A text with a point or an exponent; a ratio of whole numbers is read before it.
DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def parse_json(text: str) -> Any:
    """JSON with every key once, finite numbers, whole numbers of at most 4300 digits, and little nesting."""
    try:
        content = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_integer,
        )
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep") from None
    require_plain(content)
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {abbreviated(key)} stands twice")
        found[key] = value
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{abbreviated(text)} is beyond the largest float")
    return value


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number has {len(text)} digits; {MOST_DIGITS} is the limit")
    return int(text)


def require_plain(content: Any) -> None:
    """Dictionaries, lists, texts and finite numbers only, at most 50 levels deep."""
    level = [content]
    for _ in range(DEEPEST):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                if not all(isinstance(key, str) for key in item):
                    raise ValueError("a key is not a text")
                deeper.extend(item.values())
            elif isinstance(item, list | tuple):
                deeper.extend(item)
            elif isinstance(item, float):
                if not math.isfinite(item):
                    raise ValueError(f"{item} is not a finite number")
            elif not (item is None or isinstance(item, str | int)):
                raise ValueError(f"{abbreviated(item)} is no part of a proof")
        if not deeper:
            return
        level = deeper
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def fraction(value: Any) -> Fraction:
    """An exact number: a text such as "1/3", "0.1" or "1e-6", a whole number or a finite float."""
    if isinstance(value, str):
        above, bar, below = value.partition("/")
        if max(len(above), len(below)) > MOST_DIGITS + 1:
            raise ValueError(f"{abbreviated(value)} has more than {MOST_DIGITS} digits")
        if _is_digits(above.removeprefix("-")) and (_is_digits(below) or not bar):
            if bar and not int(below):
                raise ValueError(f"{abbreviated(value)} divides by 0")
            return Fraction(int(above), int(below or 1))
        if DECIMAL.fullmatch(value) is None:
            raise ValueError(f"{abbreviated(value)} is not a number")
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    return as_fraction(value)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def fractions(values: Any) -> tuple[Fraction, ...]:
    """A list of exact numbers."""
    if not isinstance(values, list | tuple | np.ndarray):
        raise ValueError(f"{abbreviated(values)} must be a list")
    return tuple(fraction(value) for value in values)


def whole(value: Any, least: int = 0, most: int | None = None) -> int:
    """A whole number, given as one (or as its digits)."""
    if isinstance(value, np.integer) or (
        isinstance(value, str) and len(value) <= MOST_DIGITS and _is_digits(value.removeprefix("-"))
    ):
        value = int(value)
    if type(value) is not int or value < least or (most is not None and value > most):
        rule = f"≥ {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{abbreviated(value)} must be a whole number {rule}")
    return value


def flag(value: Any) -> bool:
    """True or false, not something that counts as one of them."""
    if not isinstance(value, bool):
        raise ValueError(f"{abbreviated(value)} must be true or false")
    return value


def listed(values: Any) -> Any:
    """A list, not a text or a dictionary that can be read like one."""
    if not isinstance(values, list | tuple | np.ndarray):
        raise ValueError(f"{abbreviated(values)} must be a list")
    return values


def entries(values: Any, length: int | None = None) -> list[Any]:
    """A list of lists, of one length where one is asked for."""
    found = [listed(entry) for entry in listed(values)]
    if length is not None and any(len(entry) != length for entry in found):
        raise ValueError(f"a list of the proof has an entry that is not a list of {length}")
    return found


def named(value: Any) -> dict[str, Any]:
    """A dictionary, not a list of pairs that can be read like one."""
    if not isinstance(value, dict):
        raise ValueError(f"{abbreviated(value)} must be an object")
    return value


def number(value: Any) -> float:
    """A finite number as a float; a text or a truth value is none."""
    return float(floats([value])[0])


def floats(values: Any) -> NDArray[np.float64]:
    """Nested lists of finite numbers as an array; texts and truth values are no numbers here."""
    _require_numbers(values)
    table = np.asarray(values)
    if table.size and (table.dtype.kind not in "iuf" or not np.isfinite(table).all()):
        raise ValueError("a list of the proof has an entry that is not a finite number")
    return table.astype(np.float64, copy=False)


def _require_numbers(values: Any) -> None:
    """Nested lists without truth values and without whole numbers that an array would round or refuse."""
    if isinstance(values, np.ndarray):
        return
    level = list(values) if isinstance(values, list | tuple) else [values]
    while level:
        for value in level:
            if isinstance(value, bool) or (isinstance(value, int) and abs(value) >= LARGEST_WHOLE):
                raise ValueError(
                    f"{abbreviated(value)} in a list of the proof is not a number that it may have"
                )
        level = [inner for value in level if isinstance(value, list | tuple) for inner in value]


def indices(values: Any) -> NDArray[np.intp]:
    """Nested lists of positions, whole numbers ≥ 0, as an array."""
    _require_numbers(values)
    table = np.array(values)
    if table.size and (table.dtype.kind != "i" or table.min() < 0 or table.max() >= LARGEST_POINT):
        raise ValueError("a list of positions has an entry that is not a whole number ≥ 0")
    return table.astype(np.intp)


def pairs(values: Any) -> NDArray[np.intp]:
    """A list of pairs of positions as an array of two columns."""
    table = indices(listed(values))
    if len(values) == 0:
        return table.reshape(0, 2)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError("an edge is a pair of points")
    return table
