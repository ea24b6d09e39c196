"""Which files a folder or a pattern names."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from sievert.errors import FileError
from sievert.numerics import abbreviated
from sievert.tables._reading import existing
from sievert.tables._writing import fits, is_inside, matching

__all__ = ["files_in", "files_named", "is_among", "is_pattern", "is_several", "refuse_twice"]


def is_pattern(path: str | Path, folder: str | Path = ".") -> bool:
    """Whether a path names files by a pattern; a file of that very name is one file."""
    try:
        return any(letter in str(path) for letter in "*?[") and not (Path(folder) / path).exists()
    except OSError:
        return False


def is_several(path: str | Path, folder: str | Path = ".") -> bool:
    """Whether a path names a folder or a pattern of files."""
    try:
        return (Path(folder) / path).is_dir() or is_pattern(path, folder)
    except OSError:
        return False


def is_among(target: Path, path: str | Path, folder: str | Path) -> bool:
    """Whether a file, there already or not, is one of those that a folder or pattern names."""
    return is_several(path, folder) and (fits(path, folder, target) or is_inside(target, Path(folder) / path))


def files_named(path: str | Path, folder: str | Path = ".") -> list[Path]:
    """The file of that name, those that it matches as a pattern, or all below a folder, sorted.

    What begins with a dot or an underscore is not data: engines leave such marks in their folders.
    """
    whole = Path(folder) / path
    if not is_several(path, folder):
        return [whole]
    if not whole.is_dir():
        found = matching(path, folder)
    else:
        below = whole.rglob("*")
        found = sorted(f for f in below if not any(p[0] in "._" for p in f.relative_to(whole).parts))
        _refuse_linked(found)
    return [file for file in found if not file.is_dir()]


def _refuse_linked(found: Collection[Path]) -> None:
    """Refuse a link to a folder below a folder, whose rows would be missing without a word."""
    for file in found:
        if file.is_symlink() and file.is_dir():
            raise FileError(
                f"{file}: is a link to a folder, and what lies behind it is not read; name the files by a "
                f"pattern such as {abbreviated(str(file / '*.csv'))}, or take the link away"
            )


def files_in(path: str | Path, folder: str | Path, suffixes: Collection[str]) -> list[Path]:
    """The files of a folder or pattern, of which there must be some.

    Each must have one of the suffixes; two names of one file are refused.
    """
    whole, files = Path(folder) / path, files_named(path, folder)
    is_folder = whole.is_dir()
    if not files:
        raise FileError(
            f"{whole}: {'is a folder without a file' if is_folder else 'no file matches this pattern'}; "
            "paths in the file are relative to its own folder"
        )
    refuse_twice(files)
    for file in files:
        if file.suffix.lower() not in suffixes:
            hint = "; in a folder every file is data but those whose names begin with . or _"
            raise FileError(
                f"{file}: is in none of the formats {', '.join(suffixes)}{hint if is_folder else ''}; "
                f"name the files by a pattern such as "
                f"{abbreviated(str(whole / '*.csv') if is_folder else '*.csv')}"
            )
    return files


def refuse_twice(files: Collection[Path]) -> None:
    """Refuse two names of one file, by a link of either kind."""
    seen: dict[tuple[int, int], Path] = {}
    for file in map(existing, files) if len(files) > 1 else ():
        status = os.stat(file)
        other = seen.setdefault((status.st_dev, status.st_ino), file)
        if other is not file:
            raise FileError(f"{file}: is the same file as {other}, and its rows would count twice; leave one")
