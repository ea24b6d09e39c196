"""Writing files all or nothing: a reader sees the old file or the whole new one."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from sievert.errors import FileError, OutputError
from sievert.tables.paths import require_plain

__all__ = ["NO_LINKS", "create", "reopen", "write_all", "write_bytes", "write_text"]

# A link planted at a name must not lead elsewhere.
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_bytes(path: str | Path, content: bytes, *, replace: bool = True) -> Path:
    """Write to a temporary file beside the target, flush it to disk, then rename it over the target.

    A new file has the permissions that the umask leaves; one that is replaced keeps its own. Only plain
    files are replaced, and none unless `replace`.
    """
    target = Path(path)
    there = require_plain(target)
    temporary = target.with_name(f".sievert-{secrets.token_hex(8)}")
    try:
        descriptor = create(temporary)
        try:
            write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if there:
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        _give_name(temporary, target, replace)
    except OSError as problem:
        raise OutputError(
            f"{target}: cannot write there ({problem.strerror}); check that the folder exists and can be "
            "written to"
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return target


def _give_name(temporary: Path, target: Path, replace: bool) -> None:
    if replace:
        os.replace(temporary, target)
        return
    try:
        os.link(temporary, target)  # unlike a renaming, it fails where there is a file
    except FileExistsError:
        raise FileError(f"{target}: is there already; it is not replaced") from None
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileError(f"{target}: is there already; it is not replaced") from None
        os.replace(temporary, target)


def create(path: str | Path, mode: int = 0o666) -> int:
    """A descriptor of a new file of ours; what lies at its name is removed, and no link is followed."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINKS, mode)


def reopen(path: str | Path) -> int:
    """A descriptor of a file that `create` made; anything else at its name is refused."""
    descriptor = os.open(path, os.O_RDWR | NO_LINKS)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise OutputError(f"{path}: is not the file that an interrupted run left; a person has to look at it")
    return descriptor


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte, however many calls it takes."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def write_text(path: str | Path, content: str) -> Path:
    """`write_bytes` for text in UTF-8."""
    return write_bytes(path, content.encode())
