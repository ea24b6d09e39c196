"""Record, byte for byte, what every command says of every example; compare two recordings.

    python tests/golden/same_output.py record OUT.json.gz [--examples examples] [--only audit,limits]
    python tests/golden/same_output.py compare tests/golden/same_output.json.gz OUT.json.gz

The golden tests allow a relative 1e-6; a refactoring must not change a byte (`make same`). Each command runs
in a fresh copy of the examples folder, in one process, so that caches are shared as they are in the tests.
Times, random identifiers and temporary paths are blanked. The recording is of one machine: the last digits of
another one's may differ, so record before a change and compare after it.
"""

import argparse
import gzip
import io
import json
import re
import shutil
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

COMMANDS = {
    "audit": ["audit FILE", "audit FILE --json"],
    "explain": ["explain FILE", "explain FILE --json", "explain FILE --guess 0.5 --json"],
    "limits": ["limits FILE", "limits FILE --json"],
    "breach": ["breach FILE --observations 3", "breach FILE --observations 1,4 --json"],
    "infer": ["infer FILE --json"],
    "compare": ["compare FILE FILE --json"],
    "design": ["design FILE --output best.toml --json"],
    "preview": ["release FILE --preview", "release FILE --preview --json"],
    "estimate": ["estimate FILE --interval none --json"],
}
BLANKS = [
    (re.compile(re.escape(tempfile.gettempdir()) + r"/[^\s\"']+/"), "FOLDER/"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "DIGEST"),
]


def record(out: Path, examples: Path, only: list[str]) -> None:
    import os

    from sievert.cli import main

    found: dict[str, str] = {}
    names = sorted(
        path.relative_to(examples).as_posix()
        for path in examples.rglob("*.toml")
        if path.parent.name != "budgets"
    )
    home = Path.cwd()
    for name in names:
        for command, lines in COMMANDS.items():
            if only and command not in only:
                continue
            with tempfile.TemporaryDirectory() as folder:
                copied = Path(shutil.copytree(examples, Path(folder) / "examples"))
                os.chdir(copied)
                for line in lines:
                    text, errors, code, start = io.StringIO(), io.StringIO(), 0, time.process_time()
                    try:
                        with redirect_stdout(text), redirect_stderr(errors):
                            code = main([name if word == "FILE" else word for word in line.split()]) or 0
                    except SystemExit as stop:
                        code = stop.code
                    except BaseException as problem:  # an internal error is an answer to be compared too
                        code = repr(problem)
                    said = f"exit {code}\n{text.getvalue()}\n--\n{errors.getvalue()}"
                    for pattern, blank in BLANKS:
                        said = pattern.sub(blank, said)
                    found[f"{name}: {line}"] = said
                    print(f"{time.process_time() - start:6.2f} s  {name}: {line}", file=sys.stderr)
                os.chdir(home)
    said = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True).encode()
    out.write_bytes(gzip.compress(said, mtime=0))
    print(f"{len(found)} answers recorded in {out}")


def compare(before: Path, after: Path) -> int:
    old, new = (json.loads(gzip.decompress(path.read_bytes())) for path in (before, after))
    differ = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
    for key in differ[:20]:
        first, second = (side.get(key, "(missing)").splitlines() for side in (old, new))
        lines = [(a, b) for a, b in zip(first, second, strict=False) if a != b]
        print(key, *(f"\n  - {a}\n  + {b}" for a, b in lines[:4]))
    print(f"{len(differ)} of {len(old)} answers differ")
    return 1 if differ else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--examples", type=Path, default=Path("examples"))
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    if given.what == "record":
        record(given.paths[0].resolve(), given.examples.resolve(), [c for c in given.only.split(",") if c])
    else:
        sys.exit(compare(*given.paths))
