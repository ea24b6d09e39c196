"""`sievert studio [FILE]`: a local page that answers while a slider moves.

The studio is a program of its own beside the command line; this command becomes it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._options import whole_option

__all__ = ["studio"]


def studio(
    file: Annotated[
        Path | None, typer.Argument(help="The TOML file to open; only its own folder is read.")
    ] = None,
    port: Annotated[int, whole_option("Where to listen on 127.0.0.1; any free port by default.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Open a page on this machine that answers while you change the file; nothing leaves the machine.

    Private data are not read and nothing is released. Needs the extra `studio`. Ctrl-C ends it.
    """
    quiet = [] if browser else ["--no-browser"]
    given = ["--port", str(port), *quiet, *([] if file is None else ["--", str(file)])]
    # -P: a file of the current folder must not be taken for a module.
    command = [sys.executable, "-P", "-m", "sievert.studio", *given]
    if os.name == "nt":
        import subprocess

        raise typer.Exit(subprocess.run(command, check=False).returncode)
    sys.stdout.flush()
    os.execv(sys.executable, command)
