"""Writing files all or nothing: a reader sees the old file or the whole new one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sievert.errors import FileError

__all__ = ["write_bytes", "write_text"]


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write to a temporary file beside the target, flush it to disk, then rename it over the target."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as problem:
        raise FileError(
            f"{target}: cannot write there ({problem.strerror}); check that the folder exists"
        ) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def write_text(path: str | Path, content: str) -> Path:
    """`write_bytes` for text in UTF-8."""
    return write_bytes(path, content.encode())
