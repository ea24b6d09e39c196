"""Ask hostile files and options in a process of their own, one line of JSON for each that breaks the rule.

The rule: an answer, or a sentence and the exit code 2 or 4 (3 where an answer has no proof), within limits
of time and memory, no traceback, no warning, nothing written but what was asked for.
`python file_worker.py FOLDER SEED CASES [SECONDS] [SKIP]`.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sievert.cli import main
from sievert.files import dumps, load_policy_scenario

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# The keys of a file.
Document = type(load_policy_scenario(EXAMPLES / "census-count.toml").document)
# Processor time of one question, and the time after which a process that waits for ever is given up: no limit
# that a busy machine reaches.
SECONDS = 20.0
# A design of 500 points proved to the last digit takes 45 s, and says how far it is.
DESIGN_SECONDS = 90.0
GIVEN_UP = 900
BYTES = 6 << 30
LONGEST_MESSAGE = 1500
NO_PROOF = "There is no certificate to save"

DEEP = "@deep@"
# Something that is not a regular file: what opens it waits for ever, what replaces it would replace a device.
PIPE = "@pipe@"
HOSTILE: list[Any] = [
    float("nan"), float("inf"), float("-inf"), -1, -0.5, 0, 0.0, 1, 2, 0.5, 1e-300, 1e308, 10**6, 10**18,
    2**63, 10**30, 10**400, True, "", "x", "inf", "nan", "1/3", "1/0", "1e400", "1e-99999999", "१/३", "-1/2",
    "x" * 10**5,
    "uniform", PIPE, ".", "..", "missing.csv", "x" * 300 + ".csv", "a\nb", "\u202e",
    "data/census.csv", "data/survey.csv", [], {}, [[]], [{}], [""], ["x", "x"], [1, 1], [float("nan")],
    [0.5, 0.5],
    [1e308, 1e308], ["a", 1, 2.5], [[1, 2], [1, 2]], [10**30], {"x": 1}, {"use": 5}, {"range": [0, 3]},
    {"range": [0, 10**30]}, {"range": [5, 1]}, {"within": 1e308}, {"threshold": 0}, {"file": "."}, DEEP,
]  # fmt: skip
QUESTIONS: list[list[str]] = [
    ["audit", "FILE"], ["audit", "FILE", "--json"], ["audit", "FILE", "--report", "OUT/report.html"],
    ["explain", "FILE"], ["explain", "FILE", "--guess", "0.9"], ["limits", "FILE"],
    ["limits", "FILE", "--eps", "1"],
    ["breach", "FILE", "--observations", "3"], ["compare", "FILE", "FILE"], ["estimate", "FILE"],
    ["design", "FILE", "--output", "OUT/designed.toml"], ["release", "FILE", "--preview"],
]  # fmt: skip
OPTIONS = {
    "audit": ["--samples", "--eps", "--delta", "--confidence", "--seed", "--report"],
    "breach": ["--observations", "--about", "--level", "--report"],
    "compare": ["--proof", "--report"],
    "design": ["--eps", "--output", "--proof", "--report"],
    "estimate": ["--reports", "--column", "--method", "--interval", "--save-counts", "--proof", "--report"],
    "explain": ["--eps", "--delta", "--rho", "--sigma", "--sensitivity", "--values", "--prior", "--releases",
                "--guess", "--solve", "--within", "--centre", "--proof", "--report"],
    "limits": ["--eps", "--proof", "--report"],
    "release": ["--output", "--id", "--proof", "--wait", "--anchor", "--insecure-seed"],
    "verify": [],
}  # fmt: skip
TEXTS = [
    "", "nan", "inf", "-inf", "-1", "0", "0.5", "1", "3", "1e-300", "1e308", "1e400", "60", "999999999999",
    "9" * 5000, "x", "x" * 5000, "१", "1..3", "1..1000000000", "5..1", "0.5,0.5", "0.2,0.3,0.5", "nan,1",
    "1,,1",
    ".", PIPE, "missing/x.html", "OUT/x.html", "OUT/x.json", "data/census.csv", "*.csv",
    "eps", "auto", "--json", "\udcff",
]  # fmt: skip


class Slow(BaseException):
    """A question took longer than it may."""


def files() -> list[str]:
    """The example files, by their place under examples/."""
    return sorted(
        str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.toml") if "budgets" not in path.parts
    )


def cases(seed: str) -> Iterator[tuple[str, str | None, list[str]]]:
    """What is said about each, the file's text (None: as it is), and the arguments; without end."""
    chance = random.Random(seed)
    documents = {name: tomllib.loads((EXAMPLES / name).read_text(encoding="utf-8")) for name in files()}
    while True:
        name = chance.choice(sorted(documents))
        if chance.random() < 0.3:
            yield _hostile_options(name, chance)
            continue
        document = copy.deepcopy(documents[name])
        keys = _keys(document) + _further_keys(document)
        path, value = chance.choice(keys), chance.choice(HOSTILE)
        if chance.random() < 0.1:
            said = _misspell(document, path)
        else:
            _put(document, path, value)
            said = f"{'.'.join(map(str, path))} = {str(value)[:60]}"
        text = dumps(document).replace(json.dumps(DEEP), "[" * 3000 + "]" * 3000)
        yield f"{name}: {said}", text, _placed(chance.choice(QUESTIONS), name)


def _hostile_options(name: str, chance: random.Random) -> tuple[str, None, list[str]]:
    command = chance.choice(sorted(OPTIONS))
    arguments = [command] + [name] * (2 if command == "compare" else 1)
    if command == "release":
        arguments.append("--preview")
    if command == "design":
        arguments += ["--output", "OUT/designed.toml"]
    for option in chance.sample(OPTIONS[command], min(len(OPTIONS[command]), chance.choice([1, 1, 2]))):
        arguments += [option, chance.choice(TEXTS)]
    return "options", None, arguments


def _placed(question: list[str], name: str) -> list[str]:
    return [name if part == "FILE" else part for part in question]


def _keys(item: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document that holds something."""
    parts = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    return [found for key, value in parts for found in [(*path, key), *_keys(value, (*path, key))]]


def _further_keys(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Keys that the schema knows and the document does not use."""
    found: list[tuple[Any, ...]] = []
    for table, field in Document.model_fields.items():
        model = next((a for a in (field.annotation, *getattr(field.annotation, "__args__", ()))
                      if hasattr(a, "model_fields")), None)  # fmt: skip
        known = document.get(table, {})
        if model is not None and isinstance(known, dict):
            found += [(table, key) for key in model.model_fields if key not in known]
    return found


def _put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        document = document.setdefault(key, {}) if isinstance(document, dict) else document[key]
    document[path[-1]] = value


def _misspell(document: Any, path: tuple[Any, ...]) -> str:
    for key in path[:-1]:
        document = document.setdefault(key, {}) if isinstance(document, dict) else document[key]
    if not isinstance(document, dict) or path[-1] not in document:
        return "as it is"
    document[f"{path[-1][:-1]}x"] = document.pop(path[-1])
    return f"{'.'.join(map(str, path))} misspelt"


def fault(folder: Path, text: str | None, arguments: list[str]) -> str | None:
    """What is wrong with how a question ended, if anything."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    named = folder / "examples" / arguments[1]
    original = named.read_bytes()
    pipe = folder / "pipe"
    if not pipe.is_fifo():
        os.mkfifo(pipe)
    if text is not None:
        named.write_text(text.replace(PIPE, str(pipe)), encoding="utf-8", errors="surrogateescape")
    before = _listing(folder / "examples")
    printed, said = io.StringIO(), io.StringIO()
    code: object = None
    allowed = DESIGN_SECONDS if arguments[0] == "design" else SECONDS
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("error")
            signal.setitimer(signal.ITIMER_VIRTUAL, allowed)
            main([part.replace("OUT", str(out)).replace(PIPE, str(pipe)) for part in arguments])
    except SystemExit as end:
        code = end.code
    except Slow:
        return f"takes more than {allowed:g} s"
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        changed = _changed(folder / "examples", before, arguments)
        named.write_bytes(original)
    message = said.getvalue()
    no_proof = code == 3 and "--proof" in arguments and NO_PROOF in printed.getvalue()
    if "Traceback" in message or not (code in (0, 1, 2, 4) or no_proof):
        lines = message.strip().splitlines()
        return f"exit code {code}: {' | '.join(lines[-5:])[-700:]}"
    if code in (2, 4) and not message.strip():
        return f"exit code {code} without a sentence"
    if len(message) > LONGEST_MESSAGE:
        return f"a message of {len(message)} characters: {message[:200]}"
    if not pipe.is_fifo():
        pipe.unlink(missing_ok=True)
        changed.append("a file in place of a pipe")
    return f"wrote {', '.join(changed)}" if changed else None


def _changed(folder: Path, before: dict[Path, int], arguments: list[str]) -> list[str]:
    """Files that are new, other or gone and were not asked for; new ones are removed."""
    after = _listing(folder)
    asked = {(folder / part).resolve() for part in arguments if len(part) < 200}
    for path in after.keys() - before.keys():
        path.unlink()
    new = [path.name for path in after.keys() - before.keys() if path.resolve() not in asked]
    return new + [path.name for path, when in before.items() if after.get(path) != when]


def _listing(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def run(folder: Path, seed: str, count: int, seconds: float, skip: int) -> None:
    """Try the cases, then go on until the seconds are over."""
    shutil.copytree(EXAMPLES, folder / "examples")
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    signal.signal(signal.SIGVTALRM, _too_slow)
    end = time.monotonic() + seconds
    with contextlib.chdir(folder / "examples"):
        for number, (said, text, arguments) in enumerate(cases(seed)):
            if number >= count and time.monotonic() >= end:
                break
            if number < skip:
                continue
            call = f"{said}; sievert {' '.join(part[:80] for part in arguments)}".encode(
                "ascii", "backslashreplace"
            )
            print(json.dumps({"started": number + 1, "call": call.decode()}), file=sys.__stdout__, flush=True)
            faulthandler.dump_traceback_later(GIVEN_UP, exit=True)
            wrong = fault(folder, text, arguments)
            faulthandler.cancel_dump_traceback_later()
            if wrong is not None:
                line = {"fault": wrong.encode("ascii", "backslashreplace").decode(), "call": call.decode()}
                print(json.dumps(line), file=sys.__stdout__, flush=True)
    print(json.dumps({"done": number}), file=sys.__stdout__, flush=True)


def _too_slow(*_: object) -> None:
    raise Slow


if __name__ == "__main__":
    place, chosen, wanted, *further = sys.argv[1:]
    until, begin = [*further, "0", "0"][:2] if len(further) < 2 else further
    run(Path(place), chosen, int(wanted), float(until), int(begin))
