"""`sievert verify PROOF [FILE]`: re-check a saved proof, without any solver, and whether it is about FILE."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sievert.cli._options import real_option, whole_option
from sievert.cli._present import AsJson, print_json
from sievert.cli._streams import plain
from sievert.errors import FileError

if TYPE_CHECKING:
    from sievert.proofs import Proof, Verification

__all__ = ["verify"]

# Seconds of a check that needs no announcement, and of the longest that is made unless more are allowed.
SOON = 1.0
ALLOWED = 600.0
# Seconds until it is said again that the time is over, and from when on there is no end.
AGAIN = 1.0
LONGEST = 1e9


class _TooLongError(BaseException):
    """The check takes longer than allowed; nothing that looks at a damaged proof may take it for damage."""


def verify(
    proof: Annotated[Path, typer.Argument(help="A proof saved as JSON.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="The file (of `compare`, both) that it must be about.")
    ] = None,
    eps: Annotated[float | None, real_option("The --eps that it must have been made with.")] = None,
    releases: Annotated[int | None, whole_option("The --releases that it must have been made with.")] = None,
    reports: Annotated[
        list[str] | None,
        typer.Option(help="Of an estimate, the reports that it is about (the file's own; repeat it)."),
    ] = None,
    no_options: Annotated[
        bool,
        typer.Option("--no-options", help="Refuse a proof that was asked with options beside FILE."),
    ] = False,
    seconds: Annotated[float, real_option("Stop after so many seconds of processor time.")] = ALLOWED,
    as_json: AsJson = False,
) -> None:
    """Check a proof from its own numbers, and that it is about FILE by what FILE says.

    Exit code 0: it holds, and is about the file; 1: it does not hold, or is about something else; 2: bad
    input; 3: whether it is about the file could not be checked, or a check takes longer than --seconds.
    """
    if not seconds > 0:
        raise FileError(f"--seconds is {seconds:g}; give the seconds that a check may take, above 0")
    try:
        with _at_most(seconds):
            loaded = _loaded(proof, seconds, quiet=as_json)
            result = _checked(
                loaded, files or (), reports=reports or (), no_options=no_options, eps=eps, releases=releases
            )
    except _TooLongError:
        result = _stopped(proof, seconds)
    if as_json:
        print_json(result.to_dict())
    else:
        for line in _lines(result):
            print(plain(line))
    if not result.holds:
        raise typer.Exit(3 if result.unchecked else 1)


def _loaded(path: Path, seconds: float, quiet: bool) -> Proof:
    """The proof, where its check is not known to take too long."""
    from sievert.proofs import load_proof

    loaded = load_proof(path)
    expected = loaded.expected_seconds(path.stat().st_size)
    if expected > SOON and not quiet:
        print(plain(f"{path}: {loaded.kind}; the check will take about {expected:.1f} s"), flush=True)
    if expected > seconds:
        raise _TooLongError
    return loaded


def _checked(loaded: Proof, files: Sequence[Path], **asked: Any) -> Verification:
    if not files:
        return loaded.verify()
    from sievert.verification import check_about

    return check_about(loaded, *files, **asked)


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Where the system can, an end after so many seconds of processor time.

    It is repeated, lest code that is called back swallows it.
    """
    here = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not here or seconds > LONGEST:
        yield
        return

    def stop(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stopped(path: Path, seconds: float) -> Verification:
    from sievert.proofs import Verification

    why = f"{path}: the check takes more than {seconds:g} s; allow more with --seconds"
    return Verification(False, why, unchecked=why)


def _lines(result: Verification) -> list[str]:
    """What was proved, what it means, why it follows, and how long the check took."""
    if not result.holds:
        return [str(result)]
    return [
        str(result),
        *(
            []
            if result.about
            else ["It was compared with no file: `sievert verify PROOF FILE` says whether it is about one."]
        ),
        *([f"In other words: {result.meaning}"] if result.meaning else []),
        f"By: {result.theorem} (a proof of the kind “{result.kind}”, docs/proofs.md).",
        f"Checked in {result.seconds:.2f} s from the proof's own numbers, without a solver; `python "
        "verify.py` checks it without Sievert.",
    ]
