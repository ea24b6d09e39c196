"""Only files of one folder are read: no absolute path, no "..", no link, wherever a text names one.

Of what is private nothing is opened at all; the guard is about public files, which a text that somebody sent
could place anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.errors import FileError
from sievert.files import Scenario
from sievert.kinds import PublicPath, paths_in
from sievert.spaces import LabelledTable, Labels
from sievert.studio._sandbox_path import inside
from sievert.tables import existing, matching, read_channel, read_table

__all__ = ["SandboxedReader", "require_inside"]


@dataclass(frozen=True)
class SandboxedReader:
    """Reads the public files that a text names, below one folder."""

    folder: Path

    def table(self, path: PublicPath) -> LabelledTable:
        """The rows of a table."""
        return read_table(self._existing(path))

    def channel(self, path: PublicPath, inputs: Labels) -> Any:
        """A channel, its rows matched to the inputs."""
        return read_channel(self._existing(path), inputs)

    def _existing(self, path: PublicPath) -> Path:
        return existing(inside(self.folder, path), "; paths are relative to the folder of the studio")


def require_inside(scenario: Scenario) -> None:
    """Refuse a text that names a public file elsewhere, by itself or by a pattern."""
    for key, name in paths_in(scenario.document):
        if isinstance(name, PublicPath):
            try:
                inside(scenario.folder, name)
                for path in matching(name, scenario.folder):
                    inside(scenario.folder, str(path.relative_to(scenario.folder)))
            except FileError as problem:
                raise FileError(f"{scenario.source}, {key}: {problem}", key=tuple(key.split("."))) from None
