"""Which file a path means: two names for one file, and names that are no plain file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sievert.errors import FileError

__all__ = ["is_inside", "require_plain", "same_file"]


def same_file(first: str | Path, second: str | Path) -> bool:
    """Whether two paths lead to one file, through links of either kind; also where it is not there yet."""
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):  # one of them does not exist: compare where they lead
        return os.path.realpath(first) == os.path.realpath(second)


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Whether a path lies in a folder, or in one below it."""
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


def require_plain(target: Path) -> bool:
    """Whether the file is there; refuse a folder, a device, a pipe or a link."""
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as problem:
        words = getattr(problem, "strerror", None) or problem
        raise FileError(f"{target}: cannot write there ({words}); name another file") from None
    if stat.S_ISDIR(mode):
        raise FileError(f"{target}: is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a device or a pipe"
        raise FileError(f"{target}: is {kind}, not a file; results are written to plain files only")
    return True
