"""The command line: one thin module a command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; bad input ends with a message and exit code 2."""
    from sievert.cli.app import app
    from sievert.errors import SievertError

    try:
        app()
    except SievertError as problem:
        print(f"sievert: {problem}", file=sys.stderr)
        raise SystemExit(2) from None
