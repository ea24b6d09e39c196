"""Every command on every example says what was recorded: output, exit code, JSON, page, and proof.

`SIEVERT_GOLDEN=write pytest tests/golden` records anew. Numbers may differ by a relative 1e-6; dates, paths,
digests and versions are blanked. A command that does not apply to an example is recorded as its refusal.
"""

import html
import io
import itertools
import math
import os
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from sievert.cli import main

EXAMPLES = Path("examples").resolve()
RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(
    path.relative_to(EXAMPLES).with_suffix("").as_posix()
    for path in EXAMPLES.rglob("*.toml")
    if path.parent.name != "budgets"
)

# What is asked about FILE, in this order; PAGE is read back as text.
COMMANDS = {
    "audit": ["audit FILE", "audit FILE --json", "audit FILE --report PAGE"],
    "explain": ["explain FILE --proof PROOF --report PAGE", "explain FILE --json", "verify PROOF FILE"],
    "explain-guess": ["explain FILE --guess 0.5", "explain FILE --guess 0.5 --json"],
    "limits": ["limits FILE --proof PROOF --report PAGE", "limits FILE --json", "verify PROOF FILE"],
    "infer": ["infer FILE --proof PROOF --report PAGE", "infer FILE --json", "verify PROOF FILE"],
    "compare": [
        "compare FILE FILE",
        "compare FILE survey-response.toml --json",
        "compare FILE daily-question.toml --proof PROOF --report PAGE",
        "verify PROOF",
        "verify PROOF --json",
    ],
    "breach": ["breach FILE --observations 3", "breach FILE --observations 1,4 --json --report PAGE"],
    "design": [
        "design FILE --output best.toml --proof PROOF --report PAGE",
        "design FILE --output best.toml --force --json",
        "verify PROOF FILE",
    ],
    "preview": [
        "release FILE --preview --report PAGE",
        "release FILE --preview --json --proof PROOF",
        "verify PROOF FILE",
    ],
    "release": [
        "release FILE --report PAGE",
        "release FILE --id second --output second.csv --json",
        "release FILE --output third.csv",
    ],
    "estimate": [
        "estimate FILE --interval none --proof PROOF --report PAGE",
        "estimate FILE --interval none --public --json",
        "verify PROOF FILE",
    ],
    "estimate-released": ["release FILE", "estimate FILE --report PAGE", "estimate FILE --json"],
}

# A table of 100 cells of the 1,000,000.
BY_AGE = 'by = ["age", "municipality", "occupation"] -> by = ["age"]'
# What is slow at the example's own size: the same file, smaller and with less noise.
SMALLER = {
    ("breach", "census-count"): ["records = 100 -> records = 2", "eps = 0.5 -> eps = 3.0"],
    ("breach", "commute-reports"): ["[0, 60] -> [0, 3]", "eps = 0.2 -> eps = 2.0"],
    ("breach", "release/ages"): ["[0, 99] -> [0, 2]", "4/5 -> 1/4"],
    ("breach", "release/household-sizes"): ["records = 100 -> records = 1", "eps = 0.5 -> eps = 3.0"],
    ("breach", "solar-share"): ["cells = 20 -> cells = 4", "pixels = 16 -> pixels = 4"],
    ("compare", "release/household-sizes"): ["records = 100 -> records = 10"],
    ("compare", "release/ages"): ["[0, 99] -> [0, 20]"],
    ("explain-guess", "release/taxis"): ["cell = 150 -> cell = 1000"],
    ("estimate", "city-places"): ["cell = 200 -> cell = 1000"],
    ("release", "register-table"): [BY_AGE],
}
# 16 cells of the 121, which are guessed more often.
FEW_CELLS = ["cell = 200 -> cell = 700", "guess = 0.2 -> guess = 0.9"]
SMALLER |= {(command, "centre-bicycles"): FEW_CELLS for command in COMMANDS}
# Distances of all pairs of words: 4,000 of the 20,000.
SMALLER |= {(command, "letters/letters"): ['"small" -> "small"\nvocabulary = 4000'] for command in COMMANDS}
# What is slow, and left out.
SLOW = {
    ("breach", "centre-bicycles"): "16 places, 5 s, as city-places",
    ("explain-guess", "centre-bicycles"): "16 places for every ε tried, as town-places",
    ("breach", "town-places"): "36 places, 60 s",
    ("explain-guess", "town-places"): "36 places for every ε tried, 20 s",
    ("explain-guess", "city-places"): "2550 places for every ε tried, 4 s",
    ("explain-guess", "salaries"): "301 values for every ε tried, 6 s",
}

PAIRS = [
    (command, name)
    for command, name in itertools.product(COMMANDS, NAMES)
    if (command, name) not in SLOW and (command != "estimate-released" or name.startswith("release/"))
]

# Without an example.
CLAIMS = {
    "claims": [
        "explain --eps 3 --values 5",
        "explain --eps 3 --values 5 --json",
        "explain --eps 1 --delta 1e-6 --releases 10",
        "explain --rho 0.1 --values 3 --prior 0.6,0.3,0.1",
        "explain --sigma 2 --sensitivity 1",
        "explain --eps 1 --values 100 --proof PROOF --report PAGE",
        "verify PROOF",
        "verify PROOF --json",
        "explain --guess 0.5 --values 4",
        "explain --guess 0.5 --values 4 --json",
        "explain --guess 0.5 --values 4 --eps 0.1",
        "explain",
        "explain --eps minus",
    ],
    "samples": [
        "audit --samples runs.csv --seed 1",
        "audit --samples runs.csv --eps 0.1 --seed 1",
        "audit --samples runs.csv --eps 0.1 --seed 1 --json",
        "audit survey-response.toml --samples runs.csv --seed 1",
        "audit survey-response.toml --samples runs.csv --seed 1 --report PAGE",
        "audit --samples data/survey.csv",
    ],
    "mistakes": [
        *["--help", "audit --help", "breach --help", "compare --help", "design --help", "estimate --help"],
        *["explain --help", "limits --help", "release --help", "verify --help"],
        *["audit", "audit nowhere.toml", "audit data", "audit data/ages.csv", "verify survey-response.toml"],
        *["adit", "audit --epss 3", "limits census-count.toml --report census-count.toml"],
    ],
}

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
LARGEST_PAGE = 2_000_000  # bytes
TINY = 1e-12  # what is next to nothing may be any other such number
BLANKS = {
    r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}…": "DIGEST",
    r"\b\d{8}-[0-9a-f]{8}\b": "RELEASE",
    r"\b\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)?": "DATE",
    r"\b\d+\.\d+\.\d+[\w.+]*\b": "VERSION",
}


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_are_read_once: None) -> Path:
    """A copy of the examples to work in, each of them a test with a seed."""
    shutil.copytree(EXAMPLES, tmp_path, ignore=shutil.ignore_patterns("*.ledger", "out"), dirs_exist_ok=True)
    for name in NAMES:
        _edit(tmp_path / f"{name}.toml", "[release] -> [release]\ntest_seed = 7")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")  # sentences wrap at 100, and no table is wider than this
    # Pictures for which only some seconds are taken: the clock runs so fast that none is.
    monkeypatch.setattr("time.perf_counter", itertools.count(step=1000.0).__next__)
    return tmp_path


def _edit(path: Path, change: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace(*change.split(" -> ")), encoding="utf-8")


@pytest.mark.parametrize(("command", "name"), PAIRS, ids=map("-".join, PAIRS))
def test_every_command_on_every_example(examples: Path, command: str, name: str) -> None:
    for change in SMALLER.get((command, name), []):
        _edit(examples / f"{name}.toml", change)
    said = _session(examples, [line.replace("FILE", f"{name}.toml") for line in COMMANDS[command]])
    _check(RECORDED / name / f"{command}.txt", said)


@pytest.mark.parametrize("name", CLAIMS)
def test_commands_without_an_example(examples: Path, name: str) -> None:
    runs = ["never,never", "never,once", "often,often", "often,often", "never,never", "often,once"] * 50
    (examples / "runs.csv").write_text("\n".join(["input,output", *runs, ""]), encoding="utf-8")
    _check(RECORDED / f"{name}.txt", _session(examples, CLAIMS[name]))


def _session(folder: Path, lines: list[str]) -> str:
    """What a user would see who typed the lines one after the other."""
    return "\n".join(_run(folder, line) for line in lines)


def _run(folder: Path, line: str) -> str:
    page = folder / "PAGE"
    page.unlink(missing_ok=True)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(line.split())
    parts = [f"$ sievert {line}", f"── exit code {ended.value.code or 0}", out.getvalue().rstrip()]
    if err.getvalue():
        parts += ["── standard error", err.getvalue().rstrip()]
    if page.exists():
        assert page.stat().st_size <= LARGEST_PAGE
        shown = _page_text(page.read_text(encoding="utf-8"))
        said = _sentences(out.getvalue())
        assert [sentence for sentence in said if _bare(sentence) not in _bare(shown)] == []
        parts += ["── page", shown]
    text = "\n".join(parts).replace(str(folder), "FOLDER") + "\n"
    for pattern, word in BLANKS.items():
        text = re.sub(pattern, word, text)
    return text


def _sentences(said: str) -> list[str]:
    """What the terminal says below its headings, each sentence on one line; nothing where it says JSON."""
    found: list[str] = []
    before = ""
    for line in () if said.startswith("{") else said.splitlines():
        follows, before = bool(before), line
        if line.startswith("    ") and follows and found:
            found[-1] += line[3:]
        elif line.startswith("  ") and not line.startswith("  …"):  # a page has more rows of a table
            found.append(line.strip())
    return found


def _bare(text: str) -> str:
    """Letters and signs alone: a page marks code by other means than backticks, and breaks its own lines."""
    return re.sub(r"[\s`]", "", text)


def _page_text(page: str) -> str:
    """What a reader of the page reads: no scripts (which hold the pictures) nor their numbers."""
    without = re.sub(r"<noscript><div\b.*?</noscript>", "", page, flags=re.DOTALL)
    without = re.sub(r"<(script|style|details)\b.*?</\1>", "", without, flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]*>", "\n", without))
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _check(path: Path, said: str) -> None:
    if os.environ.get("SIEVERT_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said, encoding="utf-8")
    recorded = path.read_text(encoding="utf-8")
    assert said == recorded or _same(said, recorded), _difference(said, recorded)


def _same(said: str, recorded: str) -> bool:
    """The same words, and numbers that differ by a relative 1e-6 at most."""
    if NUMBER.split(said) != NUMBER.split(recorded):
        return False
    pairs = zip(NUMBER.findall(said), NUMBER.findall(recorded), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=TINY) for a, b in pairs)


def _difference(said: str, recorded: str) -> str:
    pairs = itertools.zip_longest(said.splitlines(), recorded.splitlines(), fillvalue="(no line)")
    lines = [f"- {b}\n+ {a}" for a, b in pairs if not _same(a, b)]
    return "\n".join(["SIEVERT_GOLDEN=write records anew", *lines[:20]])


@pytest.mark.parametrize("name", NAMES)
def test_every_example_that_releases_does(name: str) -> None:
    file = Path("examples") / f"{name}.toml"
    if "[release]" in file.read_text(encoding="utf-8"):
        said = (RECORDED / name / "release.txt").read_text(encoding="utf-8")
        assert said.split("exit code ")[1][0] == "0", said[:500]
