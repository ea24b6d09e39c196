"""A name below a folder: no absolute path, no "..", no link."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from sievert.errors import FileError

__all__ = ["inside"]


def inside(folder: Path, name: str) -> Path:
    """The file of that name below the folder, where every step on the way is a plain folder or file."""
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(name)
        if path.anchor or ".." in path.parts:
            raise FileError(
                f"{name!r} leaves the folder of the studio; name a file below it, or start it elsewhere"
            )
    found = folder
    for part in PurePosixPath(name).parts:
        found = found / part
        if os.path.islink(found):
            raise FileError(f"{name!r} leads through a link, and the studio follows none; put the file there")
        if os.path.exists(found) and not os.path.isfile(found) and not os.path.isdir(found):
            raise FileError(f"{name!r} is a device or a pipe; copy what it gives into a file")
    return found
