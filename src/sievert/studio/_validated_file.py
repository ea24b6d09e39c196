"""One validated text: the scenario it describes, and what was found about it so far."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sievert.files import PolicyScenario, Scenario, contents

if TYPE_CHECKING:
    from sievert.analysis import Analysis

__all__ = ["ValidatedFile", "state_of"]

Found = TypeVar("Found")


@dataclass(frozen=True)
class ValidatedFile:
    """A file as it is being looked at.

    Attributes
    ----------
    scenario : what the text describes
    state : the digest of the validated document, which every answer carries
    reads : how the text of another file, B of a comparison, becomes a case
    """

    scenario: Scenario
    state: str
    reads: Callable[[str], ValidatedFile] = field(repr=False)
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def folder(self) -> Path:
        """Where the files are that it names."""
        return self.scenario.folder

    @property
    def of_records(self) -> PolicyScenario:
        """The scenario of a file with [policy]."""
        assert isinstance(self.scenario, PolicyScenario)
        return self.scenario

    @property
    def analysis(self) -> Analysis:
        """What its mechanism reveals."""
        return self.of_records.analysis

    def once(self, name: str, find: Callable[[], Found]) -> Found:
        """What several parts need is found once."""
        if name not in self._kept:
            self._kept[name] = find()
        found: Found = self._kept[name]
        return found

    @property
    def audit(self) -> Any:
        """The whole audit."""
        from sievert.questions.audit import audit

        return self.once("audit", lambda: audit(self.scenario))  # type: ignore[call-overload]


def state_of(scenario: Scenario) -> str:
    """The digest of a validated document and of the public files that it names."""
    said: Mapping[str, Any] = scenario.document.model_dump(mode="json")
    told = [scenario.table, said, contents(scenario.document, scenario.folder)]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]
