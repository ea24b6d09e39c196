"""How many small mistakes in a checker some test would notice: a score, and the mistakes that none would.

    PYTHONPATH=src python tests/mutate_checks.py alone              # verify.py
    PYTHONPATH=src python tests/mutate_checks.py proofs --every 5   # every fifth mistake in sievert/proofs

A mistake is one comparison, sign, bound, sum or constant that is another (`<` for `<=`, `+` for `-`, `min`
for `max`, 1 more). The checker with the mistake runs in a process of its own on the proofs of
tests/proofs/test_two_opinions.py that reach its line: honest ones, whose statement must stay to the letter,
and forged and damaged ones, whose verdict must stay. One that changes nothing of these survives: printed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.machinery
import itertools
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOM = HERE.parent / "src" / "sievert" / "proofs"
ALONE = ROOM / "alone" / "verify.py"
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.LShift: ast.RShift,
}
CALLED = {"min": "max", "max": "min", "all": "any", "any": "all", "floor": "ceil", "ceil": "floor"}
# Functions that say what is found, or what it will cost, and decide nothing about a proof.
TELLING = {
    "bound",
    "expected_seconds",
    "judged",
    "long",
    "main",
    "numbers_in",
    "proved",
    "shown",
    "spend",
    "words",
}
SECONDS, MEMORY = 20, 4 * 10**9
# Most proofs that a mistake is tried with.
MOST_PROOFS = 150
RECORDED = json.loads((HERE / "proofs" / "statements.json").read_text(encoding="utf-8"))
Case = tuple[dict[str, Any], bool, str | None]


def mistakes(source: str) -> list[tuple[int, int, int]]:
    """The line of every possible mistake, the node that it changes and which of its changes it is."""
    tree = ast.parse(source)
    skipped = _strings(tree)
    found = []
    for k, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped and hasattr(node, "lineno"):
            found += [(node.lineno, k, change) for change in range(len(_changes(node)))]
    return sorted(found)


def made(source: str, node: int, change: int) -> tuple[str, ast.Module]:
    """What the mistake is, and the module that has it."""
    tree = ast.parse(source)
    words = _changes(next(itertools.islice(ast.walk(tree), node, None)))[change]()
    return words, ast.fix_missing_locations(tree)


def of_functions(source: str) -> set[int]:
    """Lines within functions: all others run when the module is loaded."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            found |= set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return found


def _strings(tree: ast.Module) -> set[int]:
    """What stands in texts, types and messages decides nothing."""
    found: set[int] = set()
    for node in ast.walk(tree):
        hidden: list[ast.AST] = []
        if isinstance(node, ast.JoinedStr):
            hidden.append(node)
        elif isinstance(node, ast.arguments):
            hidden += [arg.annotation for arg in [*node.args, *node.kwonlyargs] if arg.annotation]
        elif isinstance(node, ast.AnnAssign):
            hidden.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            told = node.name in TELLING - ({"proved"} if _decides(node) else set())
            hidden += [node] if told else [node.returns] if node.returns is not None else []
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "spend"
        ):
            hidden.append(node)
        found |= {id(inner) for item in hidden for inner in ast.walk(item)}
    return found


def _decides(node: ast.FunctionDef) -> bool:
    """Whether a rule is checked in it."""
    return any(isinstance(inner, ast.Raise) for inner in ast.walk(node))


def _changes(node: ast.AST) -> list[Any]:
    """What can be wrong at a node; each changes it and says how."""
    if isinstance(node, ast.Compare):
        return [lambda i=i: _compare(node, i) for i, op in enumerate(node.ops) if type(op) in COMPARED]
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        return [lambda: _compute(node)]
    if isinstance(node, ast.BoolOp):
        return [lambda: _connect(node)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return [lambda: _sign(node)]
    name = node.func if isinstance(node, ast.Call) else None
    if isinstance(name, ast.Name) and name.id in CALLED:
        return [lambda: _call(name)]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [lambda: _constant(node)]
    return []


def _compare(node: ast.Compare, i: int) -> str:
    before = ast.unparse(node)
    node.ops[i] = COMPARED[type(node.ops[i])]()
    return f"{before}  →  {ast.unparse(node)}"


def _compute(node: ast.BinOp) -> str:
    before = ast.unparse(node)
    node.op = COMPUTED[type(node.op)]()
    return f"{before}  →  {ast.unparse(node)}"


def _connect(node: ast.BoolOp) -> str:
    before = ast.unparse(node)
    node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    return f"{before}  →  {ast.unparse(node)}"


def _sign(node: ast.UnaryOp) -> str:
    before = ast.unparse(node)
    node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
    if isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    return f"{before}  →  {ast.unparse(node)}"


def _call(name: ast.Name) -> str:
    before, name.id = name.id, CALLED[name.id]
    return f"{before}(…)  →  {name.id}(…)"


def _constant(node: ast.Constant) -> str:
    before = node.value
    node.value += 1
    return f"{before}  →  {node.value}"


def cases() -> tuple[list[Case], dict[str, dict[int, list[int]]]]:
    """The proofs of the tests with what is said of them, and which of them reach which line."""
    sys.path.insert(0, str(HERE / "proofs"))
    import opinions
    import test_two_opinions as tests

    honest = [*tests.honest().values(), *tests.made().values()]
    others = [tests.changed(tests.BASES[name](), path, value) for name, path, value, _ in tests.FORGED]
    others += [tests.changed(copy.deepcopy(tests.MORE[name]), *at) for name, *at in tests.BEYOND]
    others += [*tests.HAND.values(), *tests.damaged(honest, 1000)]
    found: list[Case] = []
    lines: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, content in enumerate([*honest, *others]):
        reached: set[tuple[str, int]] = set()

        def trace(frame: Any, event: str, _: Any, reached: set[tuple[str, int]] = reached) -> Any:
            if ROOM.as_posix() not in frame.f_code.co_filename:
                return None
            reached.add((frame.f_code.co_filename, frame.f_lineno))
            return trace

        sys.settrace(trace)
        first, second = opinions.first_opinion(content), opinions.second_opinion(content)
        sys.settrace(None)
        said = number < len(honest)
        found.append((content, first.holds, json.dumps([str(first), str(second)]) if said else None))
        for path, line in reached:
            lines[path][line].append(number)
    return found, {path: dict(table) for path, table in lines.items()}


def noticed(path: Path, module: ast.Module, tried: list[Case]) -> bool:
    """Whether the verdict or the statement of a proof changes, or work runs away."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(SECONDS)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 2)
            code = int(_differs(path, compile(module, str(path), "exec"), tried))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] != 0


def _differs(path: Path, code: Any, tried: list[Case]) -> bool:
    sys.path.insert(0, str(HERE / "proofs"))
    loader = importlib.machinery.SourceFileLoader
    plain = loader.get_code
    loader.get_code = lambda self, name: code if self.path == str(path) else plain(self, name)  # type: ignore[method-assign]
    import opinions

    which = 1 if path == ALONE else 0
    judge = opinions.second_opinion if which else opinions.first_opinion
    for content, holds, said in tried:
        found = judge(copy.deepcopy(content))
        if found.holds != holds or (said is not None and str(found) != json.loads(said)[which]):
            return True
    return bool(which) and opinions.probes(opinions.CHECKER) != RECORDED["verify.py"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", choices=["alone", "proofs"])
    parser.add_argument("--every", type=int, default=1, help="try every so manieth mistake only")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    told = parser.parse_args()
    with tempfile.NamedTemporaryFile() as kept:
        # In a process of its own: here the room must not be imported yet.
        if os.fork() == 0:
            Path(kept.name).write_bytes(pickle.dumps(cases()))
            os._exit(0)
        os.wait()
        found, lines = pickle.loads(Path(kept.name).read_bytes())
    import flint  # noqa: F401  (what the room needs is loaded once, before the forks)
    import scipy.sparse.csgraph  # noqa: F401

    import sievert.channels
    import sievert.policies  # noqa: F401

    paths = [ALONE] if told.room == "alone" else sorted(ROOM.glob("_*.py"))
    tried = killed = 0
    said = [k for k, case in enumerate(found) if case[2] is not None]
    for path in paths:
        source = path.read_text(encoding="utf-8")
        inside = of_functions(source)
        for number, (line, node, change) in enumerate(mistakes(source)):
            if number % told.every != told.first % told.every:
                continue
            reaching = lines.get(str(path), {}).get(line, []) if line in inside else said
            step = max(1, len(reaching) // MOST_PROOFS)
            words, module = made(source, node, change)
            tried += 1
            if noticed(path, module, [found[k] for k in reaching[::step]]):
                killed += 1
            else:
                print(f"{path.name}:{line}: {words}{'' if reaching else '   (not reached)'}", flush=True)
    print(f"{killed} of {tried} mistakes are noticed ({killed / max(tried, 1):.1%})")


if __name__ == "__main__":
    main()
