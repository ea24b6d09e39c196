"""What every answer about documents or vectors holds, beside its audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sievert.files import Scenario
from sievert.proofs import Proof
from sievert.results import Result

__all__ = ["Answer"]


@dataclass(frozen=True)
class Answer(Result):
    """The answer to one question about a file.

    Attributes
    ----------
    question : the command
    sentence : the answer
    facts : its numbers, by name
    lines : what else to know
    good : whether the answer is a yes
    curve : (level, value) pairs to draw, along `axis`
    certificate : its proof, where there is one; otherwise `unproved` says why not
    told : the options that it was asked with, beside the file
    chosen : of a design, the file as it was chosen
    """

    question: str
    title: str
    sentence: str
    facts: dict[str, Any]
    lines: tuple[str, ...] = ()
    good: bool = True
    curve: tuple[tuple[float, float], ...] = ()
    axis: str = ""
    certificate: Proof | None = field(default=None, repr=False)
    unproved: str = "this answer has no certificate"
    told: Mapping[str, Any] = field(default_factory=dict)
    chosen: Scenario | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the certificate is saved by itself, and the file is written."""
        found = super().to_dict()
        for name in ("certificate", "unproved", "told", "chosen"):
            found.pop(name)
        return found

    def __str__(self) -> str:
        return self.sentence
