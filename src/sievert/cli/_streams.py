"""Standard output that does not change the answer: `| head`, a full disk, a terminal without ε.

A reader who has seen enough closes the pipe: the rest goes nowhere and the exit code stays the answer's. A
letter that the terminal's encoding lacks is spelled out. Anything else that goes wrong is an `OSError`.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sievert.errors import DataError, SievertError

__all__ = [
    "STEERING",
    "complain",
    "complain_of_data",
    "complain_privately",
    "confirmed_host",
    "plain",
    "say_how_it_fits",
    "steady_output",
]

# Controls, line breaks and marks of the direction of writing. Of JSON none but its own line breaks.
STEERING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

# How letters of our sentences are written where the encoding does not have them.
SPELLED = {
    "ε": "eps",
    "δ": "delta",
    "ρ": "rho",
    "σ": "sigma",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "×": "x",
    "√": "sqrt",
    "∞": "inf",
    "…": "...",
    "–": "-",
    "█": "#",
}
SPELL_OUT = "sievert-spell-out"
NOT_FITTING = (
    "the data did not fit; nothing was charged. What did not fit is private: run the command in a terminal "
    "to see it, or with --details, which writes it here"
)


def _spell_out(problem: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(problem, UnicodeEncodeError)
    missing = problem.object[problem.start : problem.end]
    return "".join(SPELLED.get(letter, "?") for letter in missing), problem.end


codecs.register_error(SPELL_OUT, _spell_out)


class _UntilClosed(io.RawIOBase):
    """Bytes for a reader; after an error they go nowhere, so that nothing is flushed twice."""

    def __init__(self, reader: io.RawIOBase) -> None:
        self._reader = reader
        self._gone = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._reader.isatty()

    def fileno(self) -> int:
        return self._reader.fileno()

    def write(self, data: object) -> int:
        if not self._gone:
            try:
                return self._reader.write(data)  # type: ignore[arg-type]
            except BrokenPipeError:
                self._gone = True
            except OSError:
                self._gone = True
                raise
        return len(memoryview(data))  # type: ignore[arg-type]


@contextmanager
def steady_output() -> Iterator[None]:
    """Print inside through a stream that forgives closed pipes and missing letters."""
    _fill_standard_descriptors()
    original = sys.stdout
    # Without a buffer of its own (PYTHONUNBUFFERED), the stream stands on the bytes directly.
    binary = getattr(original, "buffer", None)
    reader = getattr(binary, "raw", binary)
    if not isinstance(reader, io.RawIOBase):
        yield
        return
    buffer = io.BufferedWriter(_UntilClosed(reader))
    sys.stdout = io.TextIOWrapper(
        buffer, encoding=original.encoding, errors=SPELL_OUT, line_buffering=original.isatty()
    )
    try:
        yield
        sys.stdout.flush()
    finally:
        with suppress(OSError):  # what could not be printed has been said above
            sys.stdout.flush()
        sys.stdout = original


def _fill_standard_descriptors() -> None:
    """Where standard output or error is closed, the next file opened would take its place."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def complain(message: str) -> None:
    """Say on standard error why there is no answer; names as long as a page are cut in the middle."""
    message = re.sub(r"(\S{80})\S{80,}(\S{80})", r"\1…\2", message)
    with suppress(OSError):  # nowhere is left to say it; the exit code still does
        print(f"sievert: {plain(message)}", file=sys.stderr, flush=True)


def complain_of_data(problem: DataError, details: bool = False) -> None:
    """Say what in private data did not fit, to its owner's terminal only; a log learns no more."""
    complain(problem.on_command_line() if details or sys.stderr.isatty() else NOT_FITTING)
    complain_privately(problem, details)


def complain_privately(problem: SievertError, details: bool) -> None:
    """Say a driver's words about private data: on its owner's terminal, and only when asked for."""
    if problem.private and details and sys.stderr.isatty():
        complain(f"in its own words, which are private: {problem.private}")


def say_how_it_fits(fit: object) -> None:
    """Say how many rows fit, to their owner's terminal only: before any charge."""
    if sys.stderr.isatty():
        complain(str(fit))


def confirmed_host(address: str) -> bool:
    """Ask the owner, on a terminal alone, whether a host that a file names is the right one."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    complain(
        f"the file names the host {address}: it would get your password (PGPASSWORD, ~/.pgpass) and your "
        "questions. Type yes to connect, now and from now on:"
    )
    return sys.stdin.readline().strip() == "yes"


def plain(text: str) -> str:
    """A text on one line in which nothing steers the terminal or turns the direction of writing.

    Titles and labels come from files that others may have written; they must not be able to erase or to
    forge the lines around them.
    """
    return STEERING.sub(lambda found: ascii(found[0])[1:-1], re.sub(r"[\t\n\v\f\r]", " ", text))
