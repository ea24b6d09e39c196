"""What every result object can do: speak a sentence, become a number, become plain data."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

__all__ = ["Result", "plain"]


def plain(value: Any) -> Any:
    """Turn a result's field into data that JSON can hold (fractions and infinities as strings)."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Fraction):
        return str(value)
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


class Result:
    """Base of the frozen dataclasses that functions return."""

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, ready for JSON."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: plain(getattr(self, field.name)) for field in fields}

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
            for name, value in self.to_dict().items()
        )
        return f"<p>{escape(str(self))}</p><table>{rows}</table>"
