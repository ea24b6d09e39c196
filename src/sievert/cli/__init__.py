"""The command line: one thin module a command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; what went wrong ends with a message and its own exit code."""
    from sievert.cli.app import app
    from sievert.errors import SievertError

    try:
        app()
    except SievertError as problem:
        print(f"sievert: {problem}", file=sys.stderr)
        raise SystemExit(problem.exit_code) from None
