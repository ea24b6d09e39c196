"""What every designed mechanism shows: its sentence above its matrix, and plain data without the proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import Any

from sievert.channels.channel import Channel
from sievert.results import Result

__all__ = ["Designed"]


class Designed(Result, ABC):
    """A result with a mechanism, a gap and a certificate."""

    mechanism: Channel

    @property
    @abstractmethod
    def gap(self) -> float:
        """How far from optimal the mechanism can be."""

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{self.mechanism._repr_html_()}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself."""
        found = super().to_dict()
        found.pop("certificate")
        return {**found, "gap": self.gap}
