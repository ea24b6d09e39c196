"""Try hostile calls in a process of their own, one line of JSON for each that breaks the rule.

The rule: a right answer or a SievertError, within limits of time and memory, no warning, nothing printed or
written. `python worker.py FOLDER SEED EACH [SECONDS] [SKIP]`: each argument of every public function is
hostile EACH times, and again until the seconds are over; the first SKIP calls are drawn but not made, to go
on where a process was killed.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from arguments import Call, calls, evaluate, missing, public
from hostile import EVERY, NEVER, SAME

import sievert as sv
from sievert.results import Result

# Processor time of one call; a process that does not come back to Python within the second is killed, as is
# one that waits for ever: no limit that a busy machine reaches is of the clock.
CALL_SECONDS = 10
KILL_SECONDS = 60
WAIT_SECONDS = 900
# Above what the libraries map on import.
CALL_BYTES = 2 << 30
# Parameters that take any object: labels, texts, inputs of somebody's function, what is asked of a result.
ANYTHING = {
    "mechanisms.warner": {"yes", "no"}, "audit_mechanism": {"first", "second"}, "Query": {"words"},
    "Query.count": {"where"}, "protocols.ResponseProtocol.count": {"reports"},
}  # fmt: skip
# Writing is what these do.
WRITERS = {"save", "release.plan", "release.run"}

EXAMPLE = """
version = 1
[policy]
values = ["a", "b", "c"]
secrets = "complete"
records = 4
[query]
kind = "count"
where = ["a"]
[mechanism]
kind = "truncated-geometric"
eps = 1.0
[data]
input = "data.csv"
column = "letter"
person = "id"
[release]
output = "noisy.csv"
ledger = "budget.toml"
"""
BUDGET = 'person = "100000"\n'


class TooSlowError(BaseException):
    """Raised by the timer inside a call; not an Exception, so that no handler of a call takes it."""


@dataclass(frozen=True)
class Trial:
    """A call with one or two arguments that are hostile, or of another form than in `like`."""

    name: str
    function: Callable[..., Any]
    call: Call
    changed: tuple[str, ...]
    like: Call | None = None

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={text}' for key, text in self.call.items())})"


def trials(rng: random.Random, each: int) -> Iterator[Trial]:
    """For every function and way to call it: each parameter hostile in turn, then a pair of them."""
    for name, function in public():
        for way in calls(name, function):
            names = _changeable(function)
            yield Trial(name, function, way, ())
            for key in names:
                for text in rng.sample(EVERY, each):
                    yield Trial(name, function, way | {key: f"[{text}]" if key == "*" else text}, (key,))
                forms = SAME.get(way.get(key, ""), [])
                for text in rng.sample(forms, min(each, len(forms))):
                    yield Trial(name, function, way | {key: text}, (key,), like=way)
            if len(names) > 1:
                pair = tuple(rng.sample(names, 2))
                yield Trial(name, function, way | {key: rng.choice(EVERY) for key in pair}, pair)


def _changeable(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    names = {p.name: p.kind for p in parameters}
    return [
        "*" if kind is inspect.Parameter.VAR_POSITIONAL else name
        for name, kind in names.items()
        if kind is not inspect.Parameter.VAR_KEYWORD
    ]


def fault_of(trial: Trial) -> str | None:
    """What is wrong with how a call went, or None."""
    arguments, listed = _evaluated(trial.call)
    before = _listing()
    printed = io.StringIO()
    answer: Any = None
    error: BaseException | None = None
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        _start_timers()
        try:
            answer = trial.function(*listed, **arguments)
        except (Exception, TooSlowError) as raised:
            error = raised
        finally:
            _stop_timers()
    written = sorted(set(_listing()) - set(before))
    for name in written:
        _remove(Path(name))
    Path("budget.toml").write_text(BUDGET, encoding="utf-8")  # a release writes its ledger into it
    if isinstance(error, TooSlowError):
        return f"no answer in {CALL_SECONDS} s of processor time"
    if isinstance(error, ZeroDivisionError) and any("1 / 0" in text for text in trial.call.values()):
        return None  # raised by the caller's own function
    if isinstance(error, TypeError) and "abs" in trial.call.values() and "for abs()" in str(error):
        return None  # so is this
    if error is not None and not isinstance(error, sv.SievertError):
        return f"{type(error).__name__}: {str(error)[:300]}"
    if error is not None and not trial.changed:
        return f"valid arguments are refused: {error}"
    if error is not None and trial.like is not None:
        return f"another form of the same value is refused: {error}"
    if warned:
        return f"{warned[0].category.__name__}: {warned[0].message} ({warned[0].filename}:{warned[0].lineno})"
    if printed.getvalue() and "print" not in trial.call.values():
        return f"printed {printed.getvalue()[:80]!r}"
    if written and not (error is None and trial.name in WRITERS):
        return f"wrote {written}"
    return None if error is not None else _fault_of_answer(trial, answer)


def _evaluated(call: Call) -> tuple[dict[str, Any], list[Any]]:
    arguments = {key: evaluate(text) for key, text in call.items()}
    return arguments, arguments.pop("*", [])


def _fault_of_answer(trial: Trial, answer: Any) -> str | None:
    if len(trial.changed) == 1 and trial.changed[0] not in ANYTHING.get(trial.name, set()):
        text = trial.call[trial.changed[0]]
        if text in NEVER:
            return f"{trial.changed[0]} is {text}, and the answer is {str(answer)[:80]!r}"
    if _holds_nan(answer) and not any("nan" in text for text in trial.call.values()):
        return f"the answer holds NaN: {str(answer)[:80]!r}"
    if trial.like is not None:
        arguments, listed = _evaluated(trial.like)
        expected = trial.function(*listed, **arguments)
        if not _same(answer, expected):
            return f"{str(answer)[:120]!r} is not {str(expected)[:120]!r}, as for {trial.like}"
    return None


def _holds_nan(answer: Any) -> bool:
    if isinstance(answer, float):
        return math.isnan(answer)
    if isinstance(answer, np.ndarray):
        return answer.dtype.kind == "f" and bool(np.isnan(answer).any())
    if isinstance(answer, sv.Channel | sv.Metric):
        return False
    try:
        return math.isnan(float(answer))
    except Exception:
        return False


def _same(first: Any, second: Any) -> bool:
    """Equal channels or metrics, equal numbers up to rounding, or equal words."""
    if isinstance(first, sv.Channel | sv.Metric):
        return type(first) is type(second) and _same(first.matrix.astype(float), second.matrix.astype(float))
    try:
        return bool(np.allclose(_number(first), _number(second), rtol=1e-9, atol=1e-12, equal_nan=True))
    except (TypeError, ValueError):
        return str(first) == str(second) or not isinstance(first, Result | str)


def _number(answer: Any) -> Any:
    if isinstance(answer, np.ndarray | list | tuple | int):
        return np.asarray(answer, dtype=np.float64)
    return float(answer)


def _listing() -> list[str]:
    return sorted(os.listdir("."))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _start_timers() -> None:
    signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS)
    signal.setitimer(signal.ITIMER_VIRTUAL, KILL_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WAIT_SECONDS)


def _stop_timers() -> None:
    for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
        signal.setitimer(timer, 0)


def _too_slow(*_: object) -> None:
    raise TooSlowError


def _limit() -> None:
    signal.signal(signal.SIGPROF, _too_slow)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + CALL_BYTES, hard))


def _furnish() -> None:
    Path("example.toml").write_text(EXAMPLE, encoding="utf-8")
    Path("data.csv").write_text("id,letter\n1,a\n2,b\n3,c\n4,a\n", encoding="utf-8")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("budget.toml").write_text(BUDGET, encoding="utf-8")


def main(folder: str, seed: str, each: str, seconds: str = "0", skip: str = "0") -> None:
    os.chdir(folder)
    _furnish()
    for name, function in public():
        for call in calls(name, function):
            if lost := missing(function, call):
                print(json.dumps({"call": name, "fault": f"calls.toml has no valid {', '.join(lost)}"}))
    for text in EVERY:
        evaluate(text)
    _limit()
    rng = random.Random(int(seed))
    end = time.monotonic() + float(seconds)
    number, first = 0, True
    while first or time.monotonic() < end:
        first = False
        for trial in trials(rng, int(each)):
            number += 1
            if number <= int(skip):
                continue
            print(json.dumps({"started": number, "call": str(trial)}), flush=True)
            fault = fault_of(trial)
            if fault is not None:
                print(json.dumps({"call": str(trial), "fault": fault}), flush=True)
            if float(seconds) and time.monotonic() > end:
                break
    print(json.dumps({"done": number}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
