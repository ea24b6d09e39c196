"""The paths in a file, as types: whoever guards, moves or lists them walks the model, not a list of keys.

A path is relative to the file's own folder. What the promise treats as public must not be the private data,
under whatever name: a domain, prior or channel taken from it would void the promise.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Self

from pydantic import BaseModel

from sievert.channels import Channel
from sievert.errors import FileError
from sievert.kinds import FilePath, PrivatePath, PublicPath, paths_in
from sievert.numerics import did_you_mean
from sievert.spaces import LabelledTable, Labels
from sievert.tables import existing, files_named, matching, read_channel, read_table

__all__ = [
    "FolderReader",
    "NoisyPath",
    "OutputPath",
    "OwnPath",
    "Stamp",
    "contents",
    "files_read",
    "moved",
    "refuse_private",
    "stamps",
]


class NoisyPath(FilePath):
    """Reports that were released already; patterns may name several files."""


class OwnPath(FilePath):
    """What a run keeps for itself: a budget, a key."""


class OutputPath(FilePath):
    """What a release writes: a file that somebody sent must not choose a place outside its own folder."""

    @classmethod
    def checked(cls, text: str) -> Self:
        for kind in (PurePosixPath, PureWindowsPath):
            path = kind(text)
            if path.anchor or ".." in path.parts:
                raise ValueError(
                    f"{text!r} leaves the file's own folder; name a path below it, or choose another place "
                    "on the command line (--output)"
                )
        return super().checked(text)


@dataclass(frozen=True)
class FolderReader:
    """Reads the public files that a document in this folder names."""

    folder: Path

    def table(self, path: PublicPath) -> LabelledTable:
        """The rows of a table."""
        return read_table(self._existing(path))

    def channel(self, path: PublicPath, inputs: Labels) -> Channel:
        """A channel, its rows matched to the inputs."""
        return read_channel(self._existing(path), inputs)

    def _existing(self, path: PublicPath) -> Path:
        named = did_you_mean(path, path.names)
        return existing(self.folder / path, f"{named}; paths in the file are relative to its own folder")


def refuse_private(document: BaseModel, folder: Path, source: str, data: str | Path | None = None) -> None:
    """Refuse a file in which something public is the private data; `data` is read in place of [data]."""
    paths = list(paths_in(document))
    if not any(isinstance(name, PublicPath) for _, name in paths):
        return
    named = [path for _, name in paths if isinstance(name, PrivatePath) for path in _every(name, folder)]
    private = _identities(named + ([] if data is None else [Path(data)]))
    for key, name in paths:
        if isinstance(name, PublicPath) and not private.isdisjoint(_identities(_every(name, folder))):
            raise FileError(
                f"{source}, {key}: {name} is the private data; what is public must not be taken from it: "
                "the values, weights and channels of a release come from a public file"
            )


def _every(name: FilePath, folder: Path) -> list[Path]:
    """The file of that name, those that it matches as a pattern, and those in a folder of that name."""
    local = name.local
    if local is None:
        return []
    found = [folder / local, *matching(local, folder)]
    return [*found, *(path for one in found if os.path.isdir(one) for path in files_named(one, folder))]


def _identities(paths: list[Path]) -> set[object]:
    """What files are, whatever they are called; of one that is not there, where its name leads."""
    return {
        (status.st_dev, status.st_ino) if (status := _status(path)) else os.path.realpath(path)
        for path in paths
    }


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None


def files_read(document: BaseModel, folder: Path, source: str) -> list[Path]:
    """The file itself and everything that it names for reading; a budget stands for its ledger too."""
    found = [Path(source)]
    for key, name in paths_in(document):
        if isinstance(name, OutputPath):
            continue
        path = folder / (name.local or "")
        found += _every(name, folder)
        if key == "release.ledger" and path.name:
            found.append(path.with_suffix(".ledger"))
    return found


Stamp = tuple[str, int, int, int]


def stamps(document: BaseModel, folder: Path) -> dict[str, list[Stamp]]:
    """What tells whether the public files that each table names are still those they were."""
    found: dict[str, list[Stamp]] = {}
    for key, name in paths_in(document):
        if isinstance(name, PublicPath):
            known = [(path, _status(path)) for path in _every(name, folder)]
            found.setdefault(key.partition(".")[0].partition(",")[0], []).extend(
                (str(path), status.st_ino, status.st_size, status.st_mtime_ns)
                for path, status in known
                if status is not None
            )
    return found


def contents(item: object, folder: Path) -> list[str]:
    """Hashes of the public files that a model names: under the same name each may hold something else."""
    found = []
    for key, name in paths_in(item):
        if isinstance(name, PublicPath):
            try:
                found += [
                    hashlib.sha256(path.read_bytes()).hexdigest()
                    for path in matching(name, folder) or [folder / name]
                ]
            except OSError as problem:
                said = f"{key}: {name} cannot be read ({problem.strerror})"
                raise FileError(said, key=tuple(key.split("."))) from None
    return found


def moved(content: Any, old: Path, new: Path) -> Any:
    """A dumped model with every path made relative to another folder; an output stays in the file's own."""
    if isinstance(content, OutputPath):
        return content
    if isinstance(content, FilePath):
        local = content.local
        if local is None or os.path.isabs(local):
            return content
        # Folders by their own names: ".." after a link leads elsewhere.
        folder, name = os.path.split(old / local)
        return content.at(
            os.path.relpath(os.path.join(os.path.realpath(folder), name), os.path.realpath(new))
        )
    if isinstance(content, dict):
        return {key: moved(item, old, new) for key, item in content.items()}
    if isinstance(content, list | tuple):
        return [moved(item, old, new) for item in content]
    return content
