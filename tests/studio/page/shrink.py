"""Screenshots small enough for the repository: at most 256 colours, packed as well as zlib can."""

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def shrink(path: Path) -> None:
    """Write a PNG of 8-bit colours anew with a palette; colours are made coarser until one holds them."""
    pixels = _pixels(path.read_bytes())
    for step in (4, 8, 16, 32):
        coarse = np.minimum((pixels.astype(int) + step // 2) // step * step, 255).astype(np.uint8)
        colours, index = np.unique(coarse.reshape(-1, 3), axis=0, return_inverse=True)
        if len(colours) <= 256:
            break
    rows = index.reshape(pixels.shape[:2]).astype(np.uint8)
    lines = np.hstack([np.zeros((len(rows), 1), dtype=np.uint8), rows])
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)
    parts = [(b"IHDR", header), (b"PLTE", colours.tobytes())]
    parts += [(b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    path.write_bytes(SIGNATURE + b"".join(_chunk(name, content) for name, content in parts))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _pixels(png: bytes) -> NDArray[np.uint8]:
    """The pixels of a PNG with 8-bit colours, not interlaced, without what may shine through."""
    place, packed, header = len(SIGNATURE), b"", b""
    while place < len(png):
        size, name = struct.unpack(">I4s", png[place : place + 8])
        content = png[place + 8 : place + 8 + size]
        header, packed = (content if name == b"IHDR" else header), packed + content * (name == b"IDAT")
        place += size + 12
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    assert depth == 8 and kind in (2, 6) and not interlaced
    bands = 3 if kind == 2 else 4
    lines = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(height, 1 + width * bands)
    above = bytearray(width * bands)
    found = np.empty((height, width * bands), dtype=np.uint8)
    for row, line in enumerate(lines):
        above = _unfiltered(int(line[0]), bytearray(line[1:].tobytes()), above, bands)
        found[row] = np.frombuffer(above, dtype=np.uint8)
    return found.reshape(height, width, bands)[:, :, :3]


def _unfiltered(kind: int, line: bytearray, above: bytearray, bands: int) -> bytearray:
    """PNG (ISO/IEC 15948), section 9: each byte was told as a difference from its neighbours."""
    for place, told in enumerate(line if kind else b""):
        left, corner = (line[place - bands], above[place - bands]) if place >= bands else (0, 0)
        up = above[place]
        guess = (left, up, (left + up) // 2, _paeth(left, up, corner))[kind - 1]
        line[place] = (told + guess) & 255
    return line


def _paeth(left: int, up: int, corner: int) -> int:
    """The neighbour nearest to left + up - corner; left before up before corner."""
    return min((left, up, corner), key=lambda one: abs(left + up - corner - one))
