"""Whether an archive of arrays (NPZ) holds what it claims, before memory is taken for that."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["archive_problem"]

# Bytes to which an archive may unpack: a small file can hold as many zeros as it likes.
LARGEST_UNPACKED = 4 << 30
# Bytes that are computed with for each number, and for each text beside its letters.
NUMBER, TEXT = 8, 64
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def archive_problem(path: Path) -> str:
    """What is wrong with an archive that unpacks to too much or whose arrays claim more than they have.

    Parameters
    ----------
    path : the archive

    Returns
    -------
    str : what a message says after the path; "" where nothing is wrong
    """
    if not zipfile.is_zipfile(path):
        return "cannot be read as NPZ (it is no archive); see that it is whole and not empty"
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(item.file_size for item in archive.infolist())
            if size > LARGEST_UNPACKED:
                return f"unpacks to {size} bytes, and at most {LARGEST_UNPACKED} are read; use several files"
            needed = 0
            for item in archive.infolist():
                with archive.open(item) as stream:
                    claimed, held = _claimed(stream)
                if claimed > item.file_size:
                    return "cannot be read as NPZ (an array claims more than the archive has of it)"
                needed += held
            if needed > LARGEST_UNPACKED:
                return (
                    f"needs {needed} bytes of memory, and at most {LARGEST_UNPACKED} are; use several files"
                )
    except Exception as problem:  # zipfile, its decompressors and NumPy raise errors of many classes
        return f"cannot be read as NPZ ({type(problem).__name__}); see that it is whole and not empty"
    return ""


def _claimed(stream: Any) -> tuple[int, int]:
    """The bytes that the header of an array asks for, or its longest side; and those to compute with it."""
    shape, _, kind = HEADERS[np.lib.format.read_magic(stream)](stream)
    count = math.prod(shape)
    held = max(kind.itemsize, NUMBER) if kind.kind in "biufc" else kind.itemsize + TEXT
    return max(count * kind.itemsize, *shape, 0), count * held
