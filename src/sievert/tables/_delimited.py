"""Rows of CSV, none of them longer than memory is meant for.

A file without an end of a line is one line, and Python would hold it all before it looks at a field.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

__all__ = ["csv_rows"]

# Letters of a row; a million columns of numbers have fewer.
LONGEST_ROW = 1 << 24


def csv_rows(stream: TextIO, delimiter: str = ",") -> Iterator[list[str]]:
    """The rows of a text, as `csv.reader` has them; csv.Error for one that is too long.

    >>> import io
    >>> list(csv_rows(io.StringIO('a,"b\\nc"\\n')))
    [['a', 'b\\nc']]
    """
    held = 0

    def lines() -> Iterator[str]:
        nonlocal held
        while line := stream.readline(LONGEST_ROW + 1):
            held += len(line)
            if held > LONGEST_ROW:
                raise csv.Error(f"a row of more than {LONGEST_ROW:,} letters")
            yield line

    for row in csv.reader(lines(), delimiter=delimiter):
        held = 0
        yield row
