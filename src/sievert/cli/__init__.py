"""The command line: one thin module a command.

Exit codes: 0 it holds, 1 it does not, 2 bad input, 3 no answer (disk, memory, terminal, interrupted), 4 the
data did not fit and nothing was charged. Only 0 and 1 are answers.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sievert.cli._streams import complain, complain_privately, steady_output
from sievert.errors import SievertError

__all__ = ["main"]

BAD_INPUT = 2
NO_ANSWER = 3
WRONG_NAMES = {errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP}
# What a shell calls a program ended by Ctrl-C; typer returns it where a command did not answer itself.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with what came of it."""
    raise SystemExit(_exit_code(sys.argv[1:] if arguments is None else arguments))


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        with steady_output():
            code = _run(list(arguments))
    except SievertError as problem:
        complain(problem.on_command_line())
        complain_privately(problem, "--details" in arguments)
        return problem.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as problem:
        if problem.errno in WRONG_NAMES:
            complain(f"{_named(problem.filename)}: {problem.strerror}; name another file")
            return BAD_INPUT
        complain(_words(problem))
        return NO_ANSWER
    except MemoryError:
        complain("there is not enough memory for this; describe something smaller, or use a larger machine")
        return NO_ANSWER
    except RecursionError:
        complain("the input is nested too deeply to be followed; write it with fewer levels")
        return NO_ANSWER
    except Exception:
        _print_where()
        complain("this is a mistake of Sievert, not an answer; please report the lines above")
        return NO_ANSWER
    if code == INTERRUPTED:
        complain("interrupted before there was an answer; nothing half-written is left")
        return NO_ANSWER
    return code


def _print_where() -> None:
    """Where in the program an error arose; its own words, which may hold private data, on a terminal only."""
    import traceback

    if sys.stderr.isatty():
        traceback.print_exc()
        return
    kind, _, trace = sys.exc_info()
    lines = [
        "Traceback (most recent call last):\n",
        *traceback.format_tb(trace),
        getattr(kind, "__name__", ""),
    ]
    with suppress(OSError):
        print("".join(lines), file=sys.stderr, flush=True)


def _run(arguments: list[str]) -> int:
    """The exit code of a command; a wrong command or option is shown with its usage."""
    import typer

    from sievert.cli._options import TYPED

    typed = TYPED.set(tuple(arguments))
    try:
        return int(_app(arguments)(arguments, prog_name="sievert", standalone_mode=False) or 0)
    except typer.Abort:
        return INTERRUPTED
    except Exception as problem:
        show = getattr(problem, "show", None)  # errors about options know how to show themselves
        if show is None:
            raise
        with suppress(OSError):  # where standard error is full, the exit code says it
            show()
        return BAD_INPUT
    finally:
        TYPED.reset(typed)


def _app(arguments: list[str]) -> Any:
    """Every command; the studio alone where it is named, for its page is to be there at once."""
    if arguments[:1] == ["studio"]:
        from sievert.cli._options import command_group
        from sievert.cli.studio import studio

        return command_group(studio)
    from sievert.cli.app import app

    return app


def _named(file: object) -> str:
    from sievert.numerics import abbreviated

    return abbreviated(file)


def _words(problem: OSError) -> str:
    where = f"{problem.filename}: " if problem.filename else "standard output: "
    return f"{where}{problem.strerror or problem}; there is no answer, make room or choose another place"
