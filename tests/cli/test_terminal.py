"""Whatever standard output is – narrow, closed, full, without ε – the answer and its exit code stay."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sievert as sv
from sievert.cli import main
from sievert.cli.app import app
from sievert.errors import BudgetError, FileError, SievertError

SURVEY = "examples/survey-response.toml"
COMMAND = [sys.executable, "-m", "sievert"]


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    """A file whose audit ends with 1."""
    text = Path(SURVEY).read_text(encoding="utf-8").replace("guess = 0.95", "guess = 0.3")
    (tmp_path / "strict.toml").write_text(text, encoding="utf-8")
    return tmp_path / "strict.toml"


def sievert(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("columns", ["0", "1", "-5", "²", "wide", "99999999999999999999"])
def test_any_width_shows_the_answer(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    for arguments in (["audit", SURVEY], ["breach", SURVEY], ["estimate", "examples/commute-reports.toml"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert capsys.readouterr().out.count("\n") > 20


@pytest.mark.parametrize(("encoding", "unbuffered"), [("ascii", "1"), ("latin-1", "")])
def test_letters_that_the_terminal_lacks_are_spelled_out(
    encoding: str, unbuffered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"PYTHONIOENCODING": encoding, "PYTHONUNBUFFERED": unbuffered}
    done = sievert("audit", SURVEY, **settings)
    assert done.returncode == 0, done.stderr
    said = done.stdout.decode(encoding)
    assert "eps = ln(3) = 1.09861" in said or "ε = ln(3) = 1.09861" in said
    answered = sievert("audit", SURVEY, "--json", **settings)
    with pytest.raises(SystemExit):
        main(["audit", SURVEY, "--json"])
    assert json.loads(answered.stdout.decode(encoding)) == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("options", "unbuffered"), [([], "1"), (["--json"], "")])
def test_a_reader_who_leaves_early_does_not_change_the_answer(
    strict: Path, options: list[str], unbuffered: str
) -> None:
    for file, code in ((SURVEY, 0), (strict, 1)):
        running = subprocess.Popen(
            [*COMMAND, "audit", str(file), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
        running.stderr.close()
        assert running.wait() == code
        assert said == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_output_is_no_answer(strict: Path) -> None:
    for file, options in ((SURVEY, []), (strict, ["--json"])):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, "audit", str(file), *options], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 3
        assert done.stderr.startswith(b"sievert: standard output: No space left on device")
        assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="descriptors of a POSIX shell")
def test_closed_outputs_leave_the_exit_code(strict: Path) -> None:
    for file, code in ((SURVEY, 0), (strict, 1)):
        done = subprocess.run(
            ["sh", "-c", 'exec "$0" -m sievert audit "$1" >&- 2>&- <&-', sys.executable, str(file)],
            check=False,
        )
        assert done.returncode == code


LONG_WORK = """
import signal, threading
import highspy
from sievert.cli import main

start = highspy.Highs.run


def run(solver):
    if solver.getNumNz() >= 20_000:
        threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    return start(solver)


highspy.Highs.run = run
main(["design", "slow.toml"])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_stops_the_solver_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(
        """
        version = 1
        policy = { values = { range = [0, 400] } }
        mechanism = { kind = "randomised-response", eps = 1.0 }
        use = { loss = "absolute" }
        """
    )
    done = subprocess.run([sys.executable, "-c", LONG_WORK], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 3, done.stderr
    assert done.stderr.decode().startswith("sievert: interrupted")
    assert b"Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["slow.toml"]


def raising(problem: BaseException):
    def run(*_: object, **__: object) -> None:
        raise problem

    return run


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (FileError("a.toml: wrong"), 2, "sievert: a.toml: wrong"),
        (BudgetError("too much", requested=2, remaining=1, currency="eps"), 1, "sievert: too much"),
        (
            OSError(28, "No space left on device", "/x/y.html"),
            3,
            "sievert: /x/y.html: No space left",
        ),
        (MemoryError(), 3, "not enough memory"),
        (RecursionError(), 3, "nested too deeply"),
        (KeyboardInterrupt(), 3, "interrupted before there was an answer"),
        (AssertionError("a bug"), 3, "a mistake of Sievert, not an answer"),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, BaseException) else None,
)
def test_what_is_no_answer_is_not_called_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem, code: int, words: str
) -> None:
    monkeypatch.setattr("sievert.files.load_policy_scenario", raising(problem))
    with pytest.raises(SystemExit) as ended:
        main(["audit", SURVEY])
    assert ended.value.code == code
    said = capsys.readouterr().err
    assert words in said
    assert ("Traceback" in said) == isinstance(problem, AssertionError)


def test_long_names_are_cut_and_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["audit", "x" * 5000], ["audit", SURVEY, "--report", str(tmp_path / ("x" * 5000))]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert "xxx…xxx" in said and len(said) < 600


def test_every_error_has_an_exit_code() -> None:
    kinds = [SievertError, *SievertError.__subclasses__()]
    assert {kind.exit_code for kind in kinds} <= {1, 2, 3, 4}
    assert app.info.name == "sievert"


def test_wrong_options_name_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, meant in (
        (["audt", SURVEY], "audit"),
        (["audit", SURVEY, "--repot", "x"], "--report"),
        (["explain", "--eps", "1", "--guess", "0.9", "--solve", "release"], "releases"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        assert meant in capsys.readouterr().err


@pytest.mark.parametrize("written", ["nan", "१", "1_0", "", "1e", "0x1", "½"])
@pytest.mark.parametrize(
    "arguments",
    [["explain", "--eps"], ["limits", SURVEY, "--eps"], ["release", SURVEY, "--wait"]],
)
def test_options_take_plain_numbers(
    arguments: list[str], written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, written])
    assert ended.value.code == 2
    assert f"Invalid value for '{arguments[-1]}': {written!r} is not a number" in capsys.readouterr().err


@pytest.mark.parametrize("written", ["1..1000000000", "1000000000", "1,1000000000", "1.." + "9" * 5000])
def test_observations_beyond_the_limit_are_refused_before_work(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["breach", SURVEY, "--observations", written])
    assert ended.value.code == 2
    assert "100,000 is the limit here, so ask for fewer" in capsys.readouterr().err


@pytest.mark.parametrize("written", ["0", "-1", "5..2", "1..", "..", "", "1,,2", "१", "1.5", "0..3"])
def test_observations_that_are_none(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["breach", SURVEY, "--observations", written])
    assert ended.value.code == 2
    assert "write 1..1000, or 10 for 1..10" in capsys.readouterr().err


def test_a_file_does_not_steer_the_terminal(tmp_path: Path) -> None:
    """A label or a title erases nothing, forges no line and turns no text around."""
    path = tmp_path / "file.toml"
    path.write_text(
        'version = 1\ntitle = "Cheap\\u001b[2J\\r\\nThe mechanism keeps its promise"\n'
        'policy = { values = ["a\\u001b[31m", "b\\u202e", "[bold]c"] }\n'
        'mechanism = { kind = "randomised-response", alpha = "1/3" }\n'
    )
    command = [sys.executable, "-m", "sievert", "audit", str(path)]
    done = subprocess.run(command, capture_output=True, check=False)
    text = done.stdout.decode()
    assert done.returncode == 0 and not set(text) & set("\x1b\r\u202e")
    assert text.splitlines()[0] == "Cheap\\x1b[2J  The mechanism keeps its promise"
    assert "a\\x1b[31m, b\\u202e, [bold]c" in text


def test_more_releases_than_are_composed_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    for observations in (20_000_000, 10**12):
        path.write_text(
            'version = 1\npolicy = { values = ["a", "b", "c"] }\n'
            'mechanism = { kind = "randomised-response", alpha = "1/3" }\n'
            f"adversary = {{ observations = {observations} }}\n"
        )
        assert sv.audit(path).repeated_guess <= 1


@pytest.mark.parametrize(("columns", "whole"), [("140", True), ("60", False)])
def test_a_row_of_a_table_is_one_line_where_the_terminal_is_wide_enough(
    columns: str,
    whole: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Sentences end at 100 columns; a table of several queries does not."""
    shutil.copytree("examples", tmp_path / "examples")
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit) as ended:
        main(["release", str(tmp_path / "examples" / "clinic-statistics.toml")])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  nights by ward ")]
    assert ended.value.code == 0 and len(rows) == 3
    # Query, ward, value, two bounds, noise.
    assert all((len(row.split()) >= 8) == whole for row in rows)
