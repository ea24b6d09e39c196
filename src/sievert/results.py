"""What every result object can do: speak a sentence, become a number, become plain data."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

__all__ = ["Result", "exact_texts", "in_bits", "plain"]


def in_bits(value: float, digits: int = 4) -> str:
    """An amount of information as text.

    >>> in_bits(1.0), in_bits(0.78941)
    ('1 bit', '0.7894 bits')
    """
    text = f"{value:.{digits}g}"
    return f"{text} bit" if text == "1" else f"{text} bits"


def plain(value: Any) -> Any:
    """Turn a result's field into data that JSON can hold: fractions as floats, infinities as strings."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Fraction):
        return plain(_nearest(value))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    return str(value)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exact_texts(value: Any) -> Any:
    """A fraction, or a list of nothing but fractions and whole numbers, as texts; None for other data."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype == object else None
    if isinstance(value, Fraction):
        return str(value)
    if not isinstance(value, list | tuple) or not value:
        return None
    texts = [str(item) if type(item) is int else exact_texts(item) for item in value]
    only_integers = all(type(item) is int for item in value)
    return None if only_integers or any(text is None for text in texts) else texts


class Result:
    """Base of the frozen dataclasses that functions return."""

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, ready for JSON.

        A field that holds fractions is given as floats, and as texts under its name followed by _exact;
        a field named `exact` is the text itself.
        """
        found: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            texts = exact_texts(value)
            if texts is not None and field.name == "exact":
                found[field.name] = texts
                continue
            found[field.name] = plain(value)
            if texts is not None:
                found[f"{field.name}_exact"] = texts
        return found

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
            for name, value in self.to_dict().items()
        )
        return f"<p>{escape(str(self))}</p><table>{rows}</table>"
