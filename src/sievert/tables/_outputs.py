"""One guard for everything a command writes: nothing that it reads, nothing special, nothing unasked.

Outputs are claimed before any work is done, so that a wrong name costs no time, and checked once more when
they are written. An earlier result is replaced only if that was asked for (`--force`); what the run reads,
folders, links, devices and pipes never are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from sievert.errors import FileError
from sievert.tables._paths import is_inside, require_plain, same_file
from sievert.tables._writing import write_bytes

__all__ = ["Outputs"]


class Outputs:
    """What a run may write.

    Parameters
    ----------
    reads : the files that the run reads; a folder stands for everything in it, a pattern for every match
    force : whether an earlier result may be replaced
    """

    def __init__(self, reads: Iterable[str | Path] = (), force: bool = False) -> None:
        self.reads = [Path(path) for path in reads]
        self.force = force
        self._claimed: dict[str, Path] = {}

    def claim(self, what: str, path: str | Path | None) -> Path | None:
        """Check that a file may be written; `what` names the option, or whatever the file is."""
        if path is None:
            return None
        target = Path(path)
        self._check(target)
        for other, claimed in self._claimed.items():
            if same_file(claimed, target):
                raise FileError(f"{target}: is named twice, by {other} and by {what}; name two files")
        self._claimed[what] = target
        return target

    def write_text(self, path: str | Path, content: str) -> Path:
        """Write a text in UTF-8, all or nothing."""
        return self.write_bytes(path, content.encode())

    def write_bytes(self, path: str | Path, content: bytes) -> Path:
        """Write a file, all or nothing."""
        target = Path(path)
        self._check(target)
        return write_bytes(target, content, replace=self.force)

    def _check(self, target: Path) -> None:
        there = require_plain(target)
        if not target.parent.is_dir():
            raise FileError(f"{target}: the folder {target.parent} is not there; make it first")
        for read in self.reads:
            if same_file(read, target) or (os.path.isdir(read) and is_inside(target, read)):
                raise FileError(f"{target}: is read by this very run, and would be lost; name another file")
            if _matches(read, target):
                raise FileError(
                    f"{target}: the pattern {read.name} would read it as an input the next time; name "
                    "a file that it does not match"
                )
        if there and not self.force:
            raise FileError(f"{target}: is there already; name another file, or say --force to replace it")


def _matches(pattern: Path, target: Path) -> bool:
    """Whether a pattern such as "reports-*.csv" names a file, there already or not; ** is any folders."""
    if not any(letter in str(pattern) for letter in "*?["):
        return False
    wanted, parts = (Path(os.path.abspath(path)).parts for path in (pattern, target))
    return _parts_match(wanted, parts)


def _parts_match(wanted: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if not wanted or not parts:
        return (not wanted and not parts) or wanted == ("**",)
    if wanted[0] == "**":
        return _parts_match(wanted[1:], parts) or _parts_match(wanted, parts[1:])
    return fnmatchcase(parts[0], wanted[0]) and _parts_match(wanted[1:], parts[1:])
