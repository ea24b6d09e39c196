"""Which files a folder or a pattern names."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from sievert.errors import FileError
from sievert.numerics import brief
from sievert.tables._writing import matching

__all__ = ["files_in", "is_several"]


def is_several(path: str | Path, folder: str | Path = ".") -> bool:
    """Whether a path names a folder or a pattern of files; a file of that very name is one file."""
    whole = Path(folder) / path
    try:
        return whole.is_dir() or (any(letter in str(path) for letter in "*?[") and not whole.exists())
    except OSError:
        return False


def files_in(path: str | Path, folder: str | Path, suffixes: Collection[str]) -> list[Path]:
    """The files of a folder and those below it, or of a pattern, in the order of their names.

    Each must have one of the suffixes; two names of one file are refused.
    """
    whole = Path(folder) / path
    if whole.is_dir():
        files = [file for file in sorted(whole.rglob("*")) if file.is_file() and not _is_hidden(file, whole)]
        hint = "; in a folder every file is data but those whose names begin with . or _"
    else:
        files = [file for file in matching(path, folder) if file.is_file()]
        hint = ""
    if not files:
        raise FileError(
            f"{whole}: {'is a folder without a file' if whole.is_dir() else 'no file matches this pattern'}; "
            "paths in the file are relative to its own folder"
        )
    seen: dict[str, Path] = {}
    for file in files:
        other = seen.setdefault(os.path.realpath(file), file)
        if other is not file:
            raise FileError(f"{file}: is the same file as {other}, and its rows would count twice; leave one")
        if file.suffix.lower() not in suffixes:
            raise FileError(
                f"{file}: is not data in one of the formats {', '.join(suffixes)}{hint}; name the files by a "
                f"pattern such as {brief(str(whole / '*.csv') if whole.is_dir() else '*.csv')}"
            )
    return files


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
