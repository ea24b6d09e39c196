"""Which checks of the proofs could be deleted without a test noticing.

    PYTHONPATH=src:tests python -m pytest -q -p mutants tests/proofs

Every `if …: raise …` under `sievert/proofs` is a check. The tests run once and it is noted which of them made
which check refuse; then each check is switched off in turn and those tests run again. A check that no test
makes refuse, or whose tests pass without it, is printed as a survivor.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOM = "sievert.proofs"
CHECKS: dict[str, str] = {}
REFUSED: dict[str, set[str]] = defaultdict(set)
TIMES: dict[str, float] = {}
# The quickest tests that a check is tried with; one that none of them misses counts as a survivor.
MOST_TESTS = 8
MOST_SECONDS, MOST_MEMORY = 30, 6 * 10**9
STATE: dict[str, str | None] = {"test": None, "off": None}


def check(name: str, broken: Any) -> bool:
    """The condition of a check, unless it is the one that is switched off."""
    if not broken or name == STATE["off"]:
        return False
    REFUSED[name].add(STATE["test"] or "")
    return True


class Switches(ast.NodeTransformer):
    """Put a switch on every `if …: raise …`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.body[-1], ast.Raise):
            name = f"{self.path.name}:{node.lineno}"
            CHECKS[name] = ast.unparse(node.test)
            node.test = ast.Call(ast.Name("__check__", ast.Load()), [ast.Constant(name), node.test], [])
        return node


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module of the room with its switches."""

    def get_code(self, fullname: str) -> Any:
        path = Path(self.get_filename(fullname))
        tree = Switches(path).visit(ast.parse(path.read_text(encoding="utf-8")))
        return compile(ast.fix_missing_locations(tree), str(path), "exec")

    def exec_module(self, module: Any) -> None:
        module.__dict__["__check__"] = check
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Hands modules of the room to the loader above."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if not fullname.startswith(ROOM + "."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = Loader(fullname, spec.origin)
        return spec


sys.meta_path.insert(0, Finder())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    STATE["test"] = item.nodeid
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        TIMES[item.nodeid] = time.perf_counter() - start


def pytest_sessionfinish(session: pytest.Session) -> None:
    items = {item.nodeid: item for item in session.items}
    survivors = 0
    for name, condition in CHECKS.items():
        if not _noticed(name, items):
            survivors += 1
            print(f"\n{name}: if {condition}", flush=True)
    print(f"\n{len(CHECKS)} checks, {survivors} survivors")


def _noticed(name: str, items: dict[str, pytest.Item]) -> bool:
    """Whether a test fails without the check, or work or memory run away."""
    tests = sorted(REFUSED[name] & items.keys(), key=lambda test: TIMES[test])[:MOST_TESTS]
    child = os.fork()
    if child == 0:
        STATE["off"] = name
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        signal.alarm(MOST_SECONDS)
        code = 1
        try:
            runs = (runtestprotocol(items[test], log=False, nextitem=None) for test in tests)
            code = int(any(report.failed for reports in runs for report in reports))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] != 0
