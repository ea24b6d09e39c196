"""Writing files all or nothing: a reader sees the old file or the whole new one."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from sievert.errors import FileError

__all__ = ["write_bytes", "write_text"]


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write to a temporary file beside the target, flush it to disk, then rename it over the target.

    A new file has the permissions that the umask leaves; one that is replaced keeps its own.
    """
    target = Path(path)
    if target.is_dir():
        raise FileError(f"{target}: is a folder; name a file in it")
    temporary = target.with_name(f".sievert-{secrets.token_hex(8)}")
    try:
        _write_new(temporary, content)
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except OSError as problem:
        raise FileError(
            f"{target}: cannot write there ({problem.strerror}); check that the folder exists and can be "
            "written to"
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return target


def _write_new(path: Path, content: bytes) -> None:
    # O_EXCL: nobody else's file; 0o666: the system takes the umask off.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def write_text(path: str | Path, content: str) -> Path:
    """`write_bytes` for text in UTF-8."""
    return write_bytes(path, content.encode())
