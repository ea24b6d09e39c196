"""``python -m benchmarks [NAME ...]``: run the benchmarks, print tables, keep the numbers.

NAME picks ``bench_NAME.py``; without one all run. The numbers go to ``.bench/NAME.json``.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import _threads
from benchmarks.harness import Row, exponents, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / ".bench"
OURS = ("sievert", "numpy", "scipy", "highspy", "igraph", "python-flint")
PEERS = ("qif", "opendp", "networkx", "POT", "dp-accounting", "multi-freq-ldpy", "pure-ldp")


def main(names: Sequence[str]) -> int:
    """Run the named benchmarks (all without a name); 0 done, 1 one failed, 2 no such benchmark."""
    known = {path.stem.removeprefix("bench_"): path.stem for path in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in names if name not in known]
    if unknown:
        there = ", ".join(known) or "none"
        print(f"no benchmark named {', '.join(unknown)}; there are: {there}", file=sys.stderr)
        return 2
    if not known:
        print("there are no benchmarks/bench_*.py yet")
    failed = [name for name in names or known if not measure(name, known[name])]
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def measure(name: str, module: str) -> bool:
    """Run one benchmark, print its table and save it; False if it raised."""
    print(f"\n── {name}", flush=True)
    try:
        rows: list[Row] = importlib.import_module(f"benchmarks.{module}").run()
    except Exception:
        traceback.print_exc()
        return False
    print(table(rows))
    RESULTS.mkdir(exist_ok=True)
    content = {**machine(), "rows": [row.to_dict() for row in rows], "growth": exponents(rows)}
    partial = RESULTS / f"{name}.json.partial"
    partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(RESULTS / f"{name}.json")
    return True


def machine() -> dict[str, Any]:
    """What the numbers depend on beside our code."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "threads": _threads.LIMITS,
        "packages": {package: found for package in OURS + PEERS if (found := _version(package))},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
