"""How many small mistakes in a checker some test would notice: a score, and the mistakes that none would.

    PYTHONPATH=src python tests/mutate_checks.py alone     # verify.py
    PYTHONPATH=src python tests/mutate_checks.py proofs    # sievert/proofs
    … --only by_kernel --search 2000                       # look for proofs that tell its mistakes apart

A mistake is one comparison, sign, bound, sum or constant that is another (`<` for `<=`, `+` for `-`, `min`
for `max`, 1 more). The function with the mistake takes the place of the right one in a forked process, which
runs what reaches its line until something differs: the proofs of tests/proofs/test_two_opinions.py, of which
each must be judged with the same words, and the tests of that folder. A mistake that changes nothing
survives. It is explained where mutants_explained.txt says why no test can or need notice it; the exit code is
1 while one is neither noticed nor explained, or an explanation is of no mistake.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
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
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.capture import CaptureResult
from _pytest.mark import ParameterSet
from mistakes import Mistake, fingerprint, mistakes, owners, parsed, swapped

HERE = Path(__file__).resolve().parent
ROOM = HERE.parent / "src" / "sievert" / "proofs"
ALONE = ROOM / "alone" / "verify.py"
EXPLAINED = HERE / "mutants_explained.txt"
EDGES = HERE / "proofs" / "edges.json"
# Of the processor, for one mistake; and what the cases it is tried with took without it.
MOST_SECONDS, MEMORY, ENOUGH = 6, 6 * 10**9, 1.5
# A test that takes longer is not tried.
LONGEST_TEST = 0.5


@dataclass
class Case:
    """Something that a checker does, and what comes out of it."""

    name: str
    run: Callable[[], str]
    told: str = ""
    seconds: float = 0.0


Lines = dict[str, dict[int, list[int]]]


# ── What is tried ───────────────────────────────────────────────────────────────────────────────────────────


def cases(room: str, pool: list[Any]) -> list[Case]:
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
    return [*found, *_tests()]


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
                try:
                    given[name] = _fixture(sys.modules[test.__module__], name)
                except TypeError:  # it needs fixtures itself
                    return "passed over"
        try:
            test(**given)
        except BaseException as problem:  # pytest.fail and skips are no Exception
            return f"failed: {type(problem).__name__}"
    return "passed"


def tried(room: str, pool: list[Any], kept: Path | None) -> tuple[list[Case], Lines]:
    """All cases with what comes out of each, and which of them reach which line of which file."""
    files = [*sorted((HERE / "proofs").glob("*.py")), *sorted(ROOM.glob("_*.py")), ALONE]
    mark = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    given = cases(room, pool)
    if kept is not None and kept.exists():
        known = pickle.loads(kept.read_bytes())
        if known["mark"] == (mark, room, len(pool)):
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
        kept.write_bytes(pickle.dumps({"mark": (mark, room, len(pool)), "cases": told, "lines": plain}))
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
    every = tests.honest()
    draw = random.Random(mistake.key)
    tries = []
    for _ in range(count if bases else 0):
        name = draw.choice(bases)
        try:
            content = mutated(every[name], draw)
            for _ in range(draw.randrange(3)):
                content = (mutated(content, draw) if content is not None else None) or content
            tries += [(name, json.loads(json.dumps(content)))] if content is not None else []
        except (ValueError, IndexError):  # a number of more digits than Python writes, or no number is left
            continue
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


def explanations() -> dict[str, re.Pattern[str]]:
    """What is explained (`*` stands for anything), and the mistakes that it matches."""
    found = {}
    for line in EXPLAINED.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" | ")
            assert reason.strip(), f"no reason is given: {line}"
            found[pattern.strip()] = re.compile(".*".join(map(re.escape, pattern.strip().split("*"))))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", choices=["alone", "proofs"])
    parser.add_argument("--every", type=int, default=1, help="try every so manieth mistake only")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    parser.add_argument("--only", default="", help="a part of file:function, of the mistakes to try")
    parser.add_argument("--search", type=int, default=0, help="for a survivor, so many damaged proofs")
    parser.add_argument("--pool", type=Path, help="more proofs, as in edges.json; what notices moves there")
    parser.add_argument("--resume", type=Path, help="keep in this file what was found, and begin from it")
    told = parser.parse_args()
    sys.path[:0] = [str(HERE / "proofs"), str(HERE)]
    os.chdir(HERE.parent)
    kept = told.resume and told.resume.with_suffix(".cases")
    pool = json.loads(told.pool.read_text(encoding="utf-8")) if told.pool else []
    found, lines = tried(told.room, pool, kept)
    print(f"{len(found)} cases, {sum(case.seconds for case in found):.1f} s", flush=True)
    paths = [ALONE] if told.room == "alone" else sorted(ROOM.glob("_*.py"))
    every = [mistake for path in paths for mistake in mistakes(path) if told.only in mistake.key]
    every = every[told.first % told.every :: told.every]
    whole, used = not told.only and told.every == 1, set()
    known: dict[str, Any] = {}
    if told.resume and told.resume.exists():
        known = json.loads(told.resume.read_text(encoding="utf-8"))
    import test_two_opinions

    from sievert.proofs._base import _kinds

    _kinds()  # loads the room
    names = test_two_opinions.honest().keys()
    counts = Counter[str]()
    reasons, killers = explanations(), defaultdict(Counter)
    for number, mistake in enumerate(every):
        mark = fingerprint(mistake)
        outcome = known.get(mark)
        why = next((text for text, pattern in reasons.items() if pattern.fullmatch(mistake.key)), None)
        used.add(why)
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
    stale = [pattern for pattern in reasons if whole and pattern not in used and _about(pattern, paths)]
    for pattern in stale:
        print(f"of no mistake: {pattern}")
    return int(counts["unexplained"] > 0 or bool(stale))


def _about(pattern: str, paths: list[Path]) -> bool:
    """Whether an explanation is of a mistake in one of these files."""
    return pattern.partition(":")[0] in {path.name for path in paths}


if __name__ == "__main__":
    sys.exit(main())
