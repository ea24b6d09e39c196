"""Small mistakes in Python files: a comparison, sign, bound, sum or constant that is another.

`mistakes` lists those of a file, and `swapped` puts one of them where the right function or value is, in the
modules that are loaded.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import hashlib
import inspect
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

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
    "of",
    "possible",
    "proved",
    "shown",
    "spend",
    "words",
}


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
        if dataclasses.is_dataclass(owner):
            _give(owner, name, value)
        for other in others:
            if vars(other).get(name) is before:
                setattr(other, name, value)
    return set(made)


def _give(owner: Any, name: str, value: Any) -> None:
    """The default of a field, of which constructors keep a copy."""
    for kind in (owner, *owner.__subclasses__()):
        parameters = inspect.signature(kind.__init__).parameters.values()
        names = [one.name for one in parameters if one.default is not one.empty]
        known = zip(names, kind.__init__.__defaults__ or (), strict=True)
        kind.__init__.__defaults__ = tuple(value if field == name else before for field, before in known)


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


def fingerprint(mistake: Mistake) -> str:
    """Whether a mistake was tried before, in this text of its function."""
    _, part = owners(mistake.path)[id(parsed(mistake.path)[1][mistake.node])]
    return hashlib.sha256(f"{mistake.key}{ast.unparse(part)}".encode()).hexdigest()[:16]
