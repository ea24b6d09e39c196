"""What every designed mechanism shows: its sentence above its matrix, and plain data without the proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from html import escape
from typing import Any

from sievert.channels.channel import Channel
from sievert.estimation.identifiability import identifiability
from sievert.results import Result

__all__ = ["Designed"]


class Designed(Result, ABC):
    """A result with a mechanism, a gap and a certificate."""

    mechanism: Channel

    @cached_property
    def warning(self) -> str | None:
        """What the mechanism cannot be used for: None where frequencies can be estimated from its outputs.

        The best mechanism for one use may never give some outputs, or treat inputs alike; then no number of
        its reports determines how frequent each input is.
        """
        found = identifiability(self.mechanism)
        if found.complete:
            return None
        return f"frequencies cannot be estimated from this mechanism: {found}"

    @property
    @abstractmethod
    def gap(self) -> float:
        """How far from optimal the mechanism can be."""

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{self.mechanism._repr_html_()}"

    def _warned(self, sentence: str) -> str:
        """A sentence about the design, with its warning."""
        return sentence if self.warning is None else f"{sentence}; {self.warning}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself."""
        found = super().to_dict()
        found.pop("certificate")
        return {**found, "gap": self.gap, "warning": self.warning}
