"""How many small mistakes in a checker some test would notice: a score, and the mistakes that none would.

    PYTHONPATH=src python tests/mutate_checks.py alone     # verify.py
    PYTHONPATH=src python tests/mutate_checks.py proofs    # sievert/proofs
    … --only by_kernel --search 2000                       # look for proofs that tell its mistakes apart

A mistake is one comparison, sign, bound, sum or constant that is another (`<` for `<=`, `+` for `-`, `min`
for `max`, 1 more). The function with the mistake takes the place of the right one in a forked process, which
runs what reaches its line until something differs: the proofs of tests/proofs/test_two_opinions.py, of which
each must be judged with the same words, and with --tests the tests of that folder. A mistake that changes
nothing survives. It is explained where mutants_explained.txt says why no test can or need notice it; the
exit code is 1 while one is neither noticed nor explained.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import importlib
import inspect
import io
import itertools
import json
import os
import pickle
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.capture import CaptureResult
from _pytest.mark import ParameterSet

HERE = Path(__file__).resolve().parent
ROOM = HERE.parent / "src" / "sievert" / "proofs"
ALONE = ROOM / "alone" / "verify.py"
EXPLAINED = HERE / "mutants_explained.txt"
EDGES = HERE / "proofs" / "edges.json"
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
# Functions that write a proof, or say what is found or what it will cost: they decide nothing about one.
TELLING = {
    "bound",
    "data",
    "expected_seconds",
    "judged",
    "long",
    "main",
    "numbers_in",
    "of",
    "possible",
    "proved",
    "shown",
    "spend",
    "words",
}
# Of the processor, for one mistake; and what the cases it is tried with took without it.
MOST_SECONDS, MEMORY, ENOUGH = 3, 6 * 10**9, 0.3
# A test that takes longer is not tried.
LONGEST_TEST = 0.5


@dataclass
class Mistake:
    """One change of one node of a file."""

    path: Path
    line: int
    home: str  # the function or class around it, or the name that is assigned
    words: str
    node: int
    change: int
    at_load: bool = False  # not within a function, so that a module with it may not even load
    twin: int = 0  # how many of the same words stand before it in the same function
    key: str = field(init=False)

    def __post_init__(self) -> None:
        again = f" ({self.twin + 1})" if self.twin else ""
        self.key = f"{self.path.name}:{self.home}: {self.words}{again}"


@dataclass
class Case:
    """Something that a checker does, and what comes out of it."""

    name: str
    run: Callable[[], str]
    told: str = ""
    seconds: float = 0.0


Lines = dict[str, dict[int, list[int]]]


def mistakes(path: Path) -> list[Mistake]:
    """Every possible mistake of a file."""
    tree, nodes = parsed(path)
    skipped, parts = _strings(tree), owners(path)
    found = []
    for k, node in enumerate(nodes):
        if id(node) in skipped or id(node) not in parts or not hasattr(node, "lineno"):
            continue
        for change in range(len(_changes(node))):
            words = _changes(copy.deepcopy(node))[change]()
            top, part = parts[id(node)]
            found.append(
                (node.lineno, _home(top, part), words, k, change, not isinstance(part, ast.FunctionDef))
            )
    seen: Counter[tuple[str, str]] = Counter()
    listed = []
    for line, home, words, number, change, at_load in sorted(found):
        listed.append(Mistake(path, line, home, words, number, change, at_load, seen[home, words]))
        seen[home, words] += 1
    return listed


@cache
def parsed(path: Path) -> tuple[ast.Module, list[ast.AST]]:
    """A file as a tree, and its nodes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tree, list(ast.walk(tree))


@cache
def owners(path: Path) -> dict[int, tuple[ast.stmt, ast.stmt]]:
    """By node, the statement of the module that it is in, and of that a part where it is a class."""
    found = {}
    for top in parsed(path)[0].body:
        for part in top.body if isinstance(top, ast.ClassDef) else [top]:
            found |= dict.fromkeys(map(id, ast.walk(part)), (top, part))
    return found


def _home(top: ast.stmt, part: ast.stmt) -> str:
    """`function`, `Class.method`, or the first name that a statement assigns."""
    outer = f"{top.name}." if isinstance(top, ast.ClassDef) else ""
    return f"{outer}{getattr(part, 'name', None) or _assigned(part) or 'module'}"


def _assigned(part: ast.stmt) -> str:
    names = [
        node.id for node in ast.walk(part) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return names[0] if names else ""


def _strings(tree: ast.Module) -> set[int]:
    """What stands in texts, types, messages and decorators decides nothing."""
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
            hidden += [node] if told else [*node.decorator_list, *([node.returns] if node.returns else [])]
        elif isinstance(node, ast.ClassDef):
            hidden += node.decorator_list
        elif (isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'") or (
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


# ── The mistake takes the place of what is right ────────────────────────────────────────────────────────────


def swapped(mistake: Mistake, module: ModuleType, others: list[ModuleType]) -> None:
    """Put the function or value with the mistake where the right one is."""
    node = parsed(mistake.path)[1][mistake.node]
    top, part = owners(mistake.path)[id(node)]
    _changes(node)[mistake.change]()
    owner: Any = getattr(module, top.name) if isinstance(top, ast.ClassDef) else module
    if isinstance(part, ast.FunctionDef):
        part.decorator_list = []
        right = _plain(vars(owner)[part.name])
        _replace(right, _made(_enclosed(part, right), module)[part.name])
        return
    changed = _define(part, owner, module, others)
    for later in parsed(mistake.path)[0].body:
        named = {node.id for node in ast.walk(later) if isinstance(node, ast.Name)}
        if isinstance(later, ast.Assign | ast.AnnAssign) and later.lineno > top.lineno and named & changed:
            changed |= _define(later, module, module, others)


def _define(part: ast.stmt, owner: Any, module: ModuleType, others: list[ModuleType]) -> set[str]:
    """Run a statement of a module or a class again, for all who know what it defines."""
    made = _made(part, module)
    for name, value in made.items():
        before = vars(owner).get(name)
        setattr(owner, name, value)
        for other in others:
            if vars(other).get(name) is before:
                setattr(other, name, value)
    return set(made)


def _made(part: ast.stmt, module: ModuleType) -> dict[str, Any]:
    """What a statement defines, as the module would see it."""
    space = dict(vars(module))
    future = ast.parse("from __future__ import annotations").body
    body = ast.fix_missing_locations(ast.Module([*future, part], []))
    exec(compile(body, module.__file__ or "", "exec"), space)
    return {name: value for name, value in space.items() if vars(module).get(name, space) is not value}


def _enclosed(part: ast.FunctionDef, right: FunctionType) -> ast.stmt:
    """A function that sees the same names around it (`super` needs `__class__`)."""
    if not right.__code__.co_freevars:
        return part
    names = "; ".join(f"{name} = None" for name in right.__code__.co_freevars)
    text = f"if True:\n def outer():\n  {names}\n  return {part.name}\n {part.name} = outer()"
    around: Any = ast.parse(text).body[0]
    around.body[0].body.insert(-1, part)
    return around


def _plain(found: Any) -> FunctionType:
    """The function beneath what decorates it."""
    while not isinstance(found, FunctionType):
        found = next(
            inner
            for name in ("__wrapped__", "__func__", "fget", "func")
            if (inner := getattr(found, name, None)) is not None
        )
    return inspect.unwrap(found)


def _replace(right: FunctionType, wrong: FunctionType) -> None:
    if right.__closure__:
        cells = dict(zip(right.__code__.co_freevars, right.__closure__, strict=True))
        assert set(wrong.__code__.co_freevars) <= set(cells), right.__qualname__
    right.__code__, right.__defaults__ = wrong.__code__, wrong.__defaults__
    right.__kwdefaults__ = wrong.__kwdefaults__


# ── What is tried ───────────────────────────────────────────────────────────────────────────────────────────


def cases(room: str, tests_too: bool, pool: list[Any]) -> list[Case]:
    """The proofs of the tests as one checker judges them, what it is made of, and the tests of the room."""
    import opinions
    import test_two_opinions as tests

    judge = opinions.second_opinion if room == "alone" else opinions.first_opinion
    found = [
        Case(name, lambda content=content: opinions.said(judge(content)))
        for name, content in {**tests.proofs_of_the_tests(), **tests.made()}.items()
    ]
    if room == "alone":
        found += [Case(f"probe {name}", run) for name, run in opinions.probes(opinions.CHECKER).items()]
    else:
        found += [
            Case(f"{name}, written", lambda content=content: opinions.rewritten(content))
            for name, content in tests.honest().items()
        ]
    bases = tests.honest()
    for number, (name, changes) in enumerate(pool):
        content = json.loads(json.dumps(bases[name]))
        for change in changes:
            tests.changed(content, *change)
        found.append(Case(f"pool {number}", lambda content=content: opinions.said(judge(content))))
    return found + (list(_tests()) if tests_too else [])


def _tests() -> Iterator[Case]:
    """The tests of tests/proofs, one case for each set of parameters."""
    for path in sorted((HERE / "proofs").glob("test_*.py")):
        module = importlib.import_module(path.stem)
        for name, test in vars(module).items():
            if not name.startswith("test_") or not inspect.isfunction(test) or test.__module__ != path.stem:
                continue
            if hasattr(test, "hypothesis"):
                continue
            for number, values in enumerate(_parameters(test)):
                yield Case(f"{path.stem}::{name}[{number}]", lambda t=test, v=values: _passed(t, v))


def _parameters(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """What `parametrize` calls a test with."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    sets = []
    for mark in marks:
        names, rows = mark.args[:2]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        rows = [
            row.values if isinstance(row, ParameterSet) else row if len(names) > 1 else (row,) for row in rows
        ]
        sets.append([dict(zip(names, row, strict=True)) for row in rows])
    for choice in itertools.product(*sets):
        yield {name: value for part in choice for name, value in part.items()}


@cache
def _fixture(module: ModuleType, name: str) -> Any:
    """What a fixture of a test's own module gives."""
    made = getattr(module, name)
    return made._get_wrapped_function()()


class Said:
    """What `capsys` gives."""

    def readouterr(self) -> Any:
        out = sys.stdout
        assert isinstance(out, io.StringIO)
        text = out.getvalue()
        out.seek(0)
        out.truncate()
        return CaptureResult(text, "")


def _passed(test: Callable[..., None], values: dict[str, Any]) -> str:
    """Whether a test passes; one that needs a fixture which is not known here is passed over."""
    with contextlib.ExitStack() as stack:
        given = dict(values)
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        for name in inspect.signature(test).parameters:
            if name == "tmp_path":
                given[name] = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            elif name == "monkeypatch":
                given[name] = stack.enter_context(pytest.MonkeyPatch.context())
            elif name == "capsys":
                given[name] = Said()
            elif name not in given:
                given[name] = _fixture(sys.modules[test.__module__], name)
        try:
            test(**given)
        except BaseException as problem:  # pytest.fail and skips are no Exception
            return f"failed: {type(problem).__name__}"
    return "passed"


def tried(room: str, tests_too: bool, pool: list[Any], kept: Path | None) -> tuple[list[Case], Lines]:
    """All cases with what comes out of each, and which of them reach which line of which file."""
    files = [*sorted((HERE / "proofs").glob("*.py")), *sorted(ROOM.glob("_*.py")), ALONE]
    mark = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    given = cases(room, tests_too, pool)
    if kept is not None and kept.exists():
        known = pickle.loads(kept.read_bytes())
        if known["mark"] == (mark, tests_too, len(pool)):
            by_name = {case.name: case for case in given}
            found = [by_name[name] for name, _, _ in known["cases"]]
            for case, (_, said, seconds) in zip(found, known["cases"], strict=True):
                case.told, case.seconds = said, seconds
            return found, known["lines"]
    found, lines = [], defaultdict(lambda: defaultdict(list))
    for case in given:
        begun = time.process_time()
        case.told = case.run()
        case.seconds = time.process_time() - begun
        if case.seconds > LONGEST_TEST or case.told.startswith(("failed", "skipped")):
            continue
        for path, line in _reached(case):
            lines[path][line].append(len(found))
        found.append(case)
    plain = {path: dict(table) for path, table in lines.items()}
    if kept is not None:
        told = [(case.name, case.told, case.seconds) for case in found]
        kept.write_bytes(pickle.dumps({"mark": (mark, tests_too, len(pool)), "cases": told, "lines": plain}))
    return found, plain


def _reached(case: Case) -> set[tuple[str, int]]:
    """The lines of the room that a case runs."""
    folder, reached = str(ROOM), set()

    def trace(frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(folder):
            return None
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    _forget()
    sys.settrace(trace)
    try:
        case.run()
    finally:
        sys.settrace(None)
    return reached


def _forget() -> None:
    """Empty what functions remember, so that a mistake is met again."""
    for module in _modules():
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def _modules() -> list[ModuleType]:
    import opinions

    return [
        opinions.CHECKER,
        *(module for name, module in sys.modules.items() if name.startswith("sievert.proofs.")),
    ]


def chosen(mistake: Mistake, found: list[Case], lines: Lines, first: Counter[int]) -> list[int]:
    """Cases that reach a mistake: those first that noticed others of the function, then the quickest."""
    reached = lines.get(str(mistake.path), {})
    if mistake.at_load:
        numbers = sorted({k for path, line in _uses(mistake) for k in lines.get(path, {}).get(line, ())})
    else:
        numbers = reached.get(mistake.line) or sorted(
            {k for line in reached if abs(line - mistake.line) <= 6 for k in reached[line]}
        )
    of_pool = {k for k in numbers if found[k].name.startswith("pool ")}
    kept = []
    for part in (set(numbers) - of_pool, of_pool):
        spent = 0.0
        for k in sorted(
            part, key=lambda k: (-first[k], not found[k].name.startswith("probe"), found[k].seconds)
        ):
            spent += found[k].seconds
            if spent > ENOUGH:
                break
            kept.append(k)
    return kept


def _uses(mistake: Mistake) -> Iterator[tuple[str, int]]:
    """The lines that name what a statement of the module defines."""
    _, part = owners(mistake.path)[id(parsed(mistake.path)[1][mistake.node])]
    names = {
        node.id for node in ast.walk(part) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for path in [mistake.path] if mistake.path == ALONE else ROOM.glob("_*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if names & set(re.findall(r"\w+", line)):
                yield str(path), number


def noticed(mistake: Mistake, found: list[Case], numbers: list[int]) -> int | None:
    """The case that a mistake changes; -1 where the work runs away; None where nothing differs."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            os.close(ends[0])
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            with open(os.devnull, "w", encoding="utf-8") as quiet:
                os.dup2(quiet.fileno(), 2)
            _put(mistake)
            signal.signal(signal.SIGVTALRM, _stop)
            for k in numbers:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.1 + 20 * found[k].seconds)
                try:
                    told = found[k].run()
                except BaseException as problem:
                    told = type(problem).__name__
                if told != found[k].told:
                    os.write(ends[1], str(k).encode())
                    break
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except BaseException:
            code = 9
        finally:
            os._exit(code)
    os.close(ends[1])
    text = os.read(ends[0], 100)
    os.close(ends[0])
    status = os.waitpid(child, 0)[1]
    if os.waitstatus_to_exitcode(status) == 9 and not mistake.at_load:
        raise RuntimeError(f"the mistake {mistake.key} could not be made")
    return int(text) if text else -1 if status else None


class RunAway(BaseException):
    """Work that takes twenty times as long as without the mistake."""


def _stop(*_: Any) -> None:
    raise RunAway


def _put(mistake: Mistake) -> None:
    modules = _modules()
    path = str(mistake.path)
    module = next(module for module in modules if module.__file__ == path)
    _forget()
    swapped(mistake, module, modules)


# ── Search: damaged proofs that tell a mistake from what is right ───────────────────────────────────────────


def searched(mistake: Mistake, room: str, bases: list[str], count: int) -> list[Any] | None:
    """[base, [[path, value], …]] of a damaged proof that is judged otherwise with the mistake."""
    import opinions
    import test_two_opinions as tests
    from mutations import mutated

    judge = opinions.second_opinion if room == "alone" else opinions.first_opinion
    every = tests.proofs_of_the_tests()
    draw = random.Random(mistake.key)
    tries = []
    for _ in range(count if bases else 0):
        name = draw.choice(bases)
        content = mutated(every[name], draw)
        for _ in range(draw.randrange(3)):
            content = (mutated(content, draw) if content is not None else None) or content
        if content is not None:
            tries.append((name, json.loads(json.dumps(content))))
    right = []
    for _, content in tries:
        begun = time.process_time()
        right.append((opinions.said(judge(content)), time.process_time() - begun))
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ends[0])
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (3 * MOST_SECONDS, 3 * MOST_SECONDS))
            _put(mistake)
            for number, ((_, content), (told, seconds)) in enumerate(zip(tries, right, strict=True)):
                if seconds < 0.05 and opinions.said(judge(content)) != told:
                    os.write(ends[1], str(number).encode())
                    break
        finally:
            os._exit(0)
    os.close(ends[1])
    text = os.read(ends[0], 100)
    os.close(ends[0])
    os.waitpid(child, 0)
    if not text:
        return None
    name, content = tries[int(text)]
    return [name, list(_difference(every[name], content))]


def _keep(edge: list[Any]) -> None:
    """Add a proof to those of the tests."""
    kept = json.loads(EDGES.read_text(encoding="utf-8"))
    if edge not in kept:
        kept.append(edge)
        lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in kept)
        EDGES.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _difference(first: Any, second: Any, path: tuple[Any, ...] = ()) -> Iterator[list[Any]]:
    """Where two contents differ: [path, new value]; a key that is gone has none."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            if key not in second:
                yield [[*path, key]]
            elif key not in first:
                yield [[*path, key], second[key]]
            else:
                yield from _difference(first[key], second[key], (*path, key))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for k, (a, b) in enumerate(zip(first, second, strict=True)):
            yield from _difference(a, b, (*path, k))
    elif first != second or type(first) is not type(second):
        yield [list(path), second]


# ── The score ───────────────────────────────────────────────────────────────────────────────────────────────


def explanations() -> list[tuple[re.Pattern[str], str]]:
    """Patterns of mistakes (`*` stands for anything) and why nothing notices them."""
    found = []
    for line in EXPLAINED.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" | ")
            assert reason.strip(), f"no reason is given: {line}"
            found.append((re.compile(".*".join(map(re.escape, pattern.strip().split("*")))), reason))
    return found


def fingerprint(mistake: Mistake) -> str:
    """Whether a mistake was tried before, in this text of its function."""
    _, part = owners(mistake.path)[id(parsed(mistake.path)[1][mistake.node])]
    return hashlib.sha256(f"{mistake.key}{ast.unparse(part)}".encode()).hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", choices=["alone", "proofs"])
    parser.add_argument("--every", type=int, default=1, help="try every so manieth mistake only")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    parser.add_argument("--only", default="", help="a part of file:function, of the mistakes to try")
    parser.add_argument("--search", type=int, default=0, help="for a survivor, so many damaged proofs")
    parser.add_argument("--tests", action="store_true", help="try the tests of tests/proofs too (slower)")
    parser.add_argument("--pool", type=Path, help="more proofs, as in edges.json; what notices moves there")
    parser.add_argument("--resume", type=Path, help="keep in this file what was found, and begin from it")
    told = parser.parse_args()
    sys.path[:0] = [str(HERE / "proofs"), str(HERE)]
    os.chdir(HERE.parent)
    kept = told.resume and told.resume.with_suffix(".cases")
    pool = json.loads(told.pool.read_text(encoding="utf-8")) if told.pool else []
    found, lines = tried(told.room, told.tests, pool, kept)
    print(f"{len(found)} cases, {sum(case.seconds for case in found):.1f} s", flush=True)
    paths = [ALONE] if told.room == "alone" else sorted(ROOM.glob("_*.py"))
    every = [mistake for path in paths for mistake in mistakes(path) if told.only in mistake.key]
    every = every[told.first % told.every :: told.every]
    known: dict[str, Any] = {}
    if told.resume and told.resume.exists():
        known = json.loads(told.resume.read_text(encoding="utf-8"))
    import test_two_opinions

    from sievert.proofs._base import _kinds

    _kinds()  # loads the room
    names = test_two_opinions.proofs_of_the_tests().keys()
    counts = Counter[str]()
    reasons, killers = explanations(), defaultdict(Counter)
    for number, mistake in enumerate(every):
        mark = fingerprint(mistake)
        outcome = known.get(mark)
        why = next((reason for pattern, reason in reasons if pattern.fullmatch(mistake.key)), None)
        if outcome is None or (outcome == "survived" and why is None):
            numbers = chosen(mistake, found, lines, killers[mistake.home])
            by = noticed(mistake, found, numbers)
            if by is not None and by >= 0:
                killers[mistake.home][by] += 1
                if found[by].name.startswith("pool "):
                    _keep(pool[int(found[by].name.split()[1])])
            outcome = "survived" if by is None else "noticed"
            known[mark] = outcome
            if told.resume and number % 50 == 49:
                told.resume.write_text(json.dumps(known), encoding="utf-8")
        if outcome == "noticed":
            counts["noticed"] += 1
            continue
        if why is not None:
            counts["explained"] += 1
            continue
        counts["unexplained"] += 1
        edge = None
        if told.search:
            bases = [found[k].name for k in numbers if found[k].name in names]
            edge = searched(mistake, told.room, bases, told.search)
            if edge is not None:
                _keep(edge)
        reached = "" if numbers else "   (not reached)"
        print(f"{mistake.line}: {mistake.key}{reached}{f'   FOUND {edge}' if edge else ''}", flush=True)
    if told.resume:
        told.resume.write_text(json.dumps(known), encoding="utf-8")
    print(
        f"score: {counts['noticed']} killed / {counts['explained']} explained / "
        f"{counts['unexplained']} unexplained, of {counts.total()} mistakes"
    )
    return int(counts["unexplained"] > 0)


if __name__ == "__main__":
    sys.exit(main())
