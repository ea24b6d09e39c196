"""`python -m sievert.studio [FILE]`: what `sievert studio` starts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sievert.errors import SievertError
from sievert.studio._serving import serve


def main() -> int:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="sievert studio")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--no-browser", action="store_true")
    given = parser.parse_args()
    try:
        serve(given.file, given.port, browser=not given.no_browser)
    except SievertError as problem:
        print(f"sievert: {problem.on_command_line()}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
