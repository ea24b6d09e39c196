"""The first file, its schema, and words that a shell completes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import sievert as sv
from sievert.cli import main
from sievert.cli.app import app
from sievert.errors import FileError
from sievert.files import PolicyScenario, document_schema, documents_schema, values_of, vectors_schema
from sievert.questions import audit_headline
from sievert.tables import Rows


def run(capsys, *words):
    """The exit code of a command and what it said."""
    with pytest.raises(SystemExit) as done:
        main(list(map(str, words)))
    return done.value.code, capsys.readouterr()


@pytest.mark.parametrize("query", ["record", "count", "count: 3, 4", "sum", "histogram"])
@pytest.mark.parametrize("values", ["0..9", "3, 4, 7.5"])
def test_every_first_file_is_audited_at_once(query, values, tmp_path, capsys):
    path = tmp_path / "first.toml"
    code, said = run(capsys, "init", path, "--values", values, "--query", query, "--releases", 2)
    assert code == 0
    found = sv.audit(path)
    assert str(found) in " ".join(said.out.split())
    assert found.observations == 2
    if values == "0..9":
        assert run(capsys, "audit", path)[0] in (0, 1)


def test_many_values_and_many_releases(tmp_path, capsys):
    path = tmp_path / "first.toml"
    given = ["--values", "0..9999", "--query", "count", "--releases", 2000, "--records", 1_000_000]
    assert run(capsys, "init", path, *given)[0] == 0
    # Whether somebody is counted becomes certain, and then either the one value or one of all others.
    assert audit_headline(sv.load(path)).repeated_guess == pytest.approx(2 / 10_000, rel=1e-9)


def test_labels_and_defaults(tmp_path, capsys):
    path = tmp_path / "first.toml"
    assert run(capsys, "init", path, "--values", "no, yes")[0] == 0
    found = sv.load(path)
    assert (found.policy.values, found.policy.records) == (("no", "yes"), 100)
    assert found.accept.guess == 0.75
    # Every line of a key or table says what it is for.
    text = path.read_text()
    assert text.count("#") >= 12


def test_six_questions_are_asked_where_no_option_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["init"], input="no,yes\n\ncount: yes\n0.5\n3\n0.9\n")
    assert done.exit_code == 0
    assert sum(f"{number}. " in done.output for number in range(1, 7)) == 6
    found = sv.load("sievert.toml")
    assert (found.policy.records, found.claimed_eps, found.observations) == (100, 0.5, 3)


def test_a_bad_answer_is_asked_for_again_and_the_others_stand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["no", "no,no", "no,yes", "-3", "50", "sum", "count: maybe", "count: yes", "x", "-1", "0.5"]
    done = CliRunner().invoke(app, ["init"], input="\n".join([*given, "0", "3", "7", "0.9", ""]))
    assert done.exit_code == 0 and done.output.count("Please answer again.") == 9
    found = sv.load("sievert.toml")
    assert (found.policy.values, found.policy.records) == (("no", "yes"), 50)
    assert (found.claimed_eps, found.observations, found.accept.guess) == (0.5, 3, 0.9)


def test_a_guess_that_is_better_blindly_is_asked_for_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["init"], input="no,yes\n\n\n\n\n0.3\n0.8\n")
    assert done.exit_code == 0 and "guessed with 0.5 before" in " ".join(done.output.split())
    assert sv.load("sievert.toml").accept.guess == 0.8


@pytest.mark.parametrize("columns", ["40", "72"])
def test_no_word_is_broken_at_the_width_of_the_terminal(tmp_path, monkeypatch, columns):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    done = CliRunner().invoke(app, ["init"], input="no,yes\n\n\n\n\n0.3\n0.8\n")
    said = [line for line in done.output.splitlines() if "guessed" in line or "limit" in line]
    assert done.exit_code == 0 and len(said) > 1
    assert max(map(len, said)) <= int(columns)


def test_what_comes_next_can_be_pasted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, "init", "my file.toml", "--values", "no,yes")
    named = [shlex.split(line.partition(":")[2]) for line in said.out.splitlines() if ": " in line[:20]]
    assert code == 0 and [words[2] for words in named] == ["my file.toml"] * 3


def test_a_question_is_not_asked_for_ever(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["init"], input="no\n" * 4 + "no,yes\n\n\n\n\n\n")
    assert isinstance(done.exception, FileError) and "'no'" in str(done.exception)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "given"),
    [("--guess", "3"), ("--records", "0"), ("--releases", "0"), ("--values", "a,a")],
)
def test_a_bad_option_is_named(option, given, tmp_path, capsys):
    options = {"--values": "no,yes", option: given}
    code, said = run(
        capsys, "init", tmp_path / "a.toml", *(word for pair in options.items() for word in pair)
    )
    assert code == 2 and f"sievert: {option}: " in said.err
    assert not list(tmp_path.iterdir())


def test_nobody_there_to_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["init"], input="")
    assert isinstance(done.exception, FileError)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path, capsys):
    path = tmp_path / "first.toml"
    path.write_text("mine")
    assert run(capsys, "init", path, "--values", "a,b")[0] == 2
    assert path.read_text() == "mine"
    (tmp_path / "link.toml").symlink_to(tmp_path / "nowhere.toml")
    assert run(capsys, "init", tmp_path / "link.toml", "--values", "a,b")[0] == 2
    assert not (tmp_path / "nowhere.toml").exists()


@pytest.fixture
def data(tmp_path):
    """A table with a private canary in it."""
    path = tmp_path / "data.csv"
    path.write_text("who,diagnosis,age\n1,canary,30\n2,flu,31\n3,canary,35\n")
    return path


def test_values_are_proposed_of_public_columns_alone(data, tmp_path, capsys):
    path = tmp_path / "first.toml"
    options = ("--from", data, "--public-columns", "age", "--query", "histogram")
    assert run(capsys, "init", path, *options)[0] == 0
    found = sv.load(path)
    assert found.policy.values == (30, 31, 35)
    assert found.document.data.input == "data.csv"
    assert "said to be public" in path.read_text()
    assert run(capsys, "audit", path)[0] in (0, 1)


def test_proposed_values_are_shown_where_they_are_asked_for(data, tmp_path):
    options = ["init", str(tmp_path / "first.toml"), "--from", str(data), "--public-columns", "age"]
    done = CliRunner().invoke(app, options, input="\n" * 6)
    assert done.exit_code == 0 and "[30,31,35: of the public column]" in done.output
    assert sv.load(tmp_path / "first.toml").policy.values == (30, 31, 35)


def test_private_cells_stay_unread(data, tmp_path, capsys, monkeypatch):
    path = tmp_path / "first.toml"
    monkeypatch.setattr(Rows, "batches", lambda *given: pytest.fail("rows were read"))
    code, said = run(capsys, "init", path, "--from", data, "--column", "diagnosis", "--query", "histogram")
    assert code == 2
    assert "--values" in said.err
    code, said = run(
        capsys,
        "init",
        path,
        "--from",
        data,
        "--column",
        "diagnosis",
        "--public-columns",
        "age",
        "--values",
        "flu,none",
    )
    assert code == 0
    assert "canary" not in path.read_text() + said.out + said.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--values", "one"], "at least two"),
        (["--values", "a,,b"], "at least two"),
        (["--values", "9..1"], "smaller first"),
        (["--values", "a..b"], "whole numbers"),
        (["--eps", "1"], "--values"),
        (["--values", "a,b", "--query", "histgram"], "did you mean 'histogram'"),
        (["--values", "a,b", "--query", "count: c"], "none of the values"),
        (["--values", "a,b", "--query", "sum"], "no numbers"),
        (["--values", "1..900", "--query", "record"], "at most 200"),
        (["--values", "a,b", "--eps", "-1"], "'--eps': '-1' is not 0"),
        (["--values", "a,b", "--guess", "60"], "accept.guess"),
        (["--values", "a,b", "--guess", "0.3"], "guessed with 0.5 before anything is published"),
        (["--values", "a,b", "--column", "age"], "--from"),
        (["--values", "a,a"], "values"),
    ],
)
def test_answers_that_make_no_file_are_refused(options, words, tmp_path, capsys):
    code, said = run(capsys, "init", tmp_path / "first.toml", *options)
    assert code == 2
    assert words in said.err
    assert not list(tmp_path.iterdir())


def test_columns_that_are_not_there_are_refused(data, tmp_path, capsys):
    for option in (["--column", "agee"], ["--public-columns", "agee"]):
        code, said = run(capsys, "init", tmp_path / "first.toml", "--from", data, *option)
        assert code == 2
        assert "did you mean 'age'" in said.err
    code, said = run(capsys, "init", tmp_path / "first.toml", "--from", data, "--values", "a,b")
    assert "who, diagnosis, age" in said.err
    assert run(capsys, "init", tmp_path / "first.txt", "--values", "a,b")[0] == 2


def test_values_as_they_are_written():
    assert values_of(" -2 ..2") == range(-2, 3)
    assert values_of("a b, c") == ["a b", "c"]
    assert values_of("0.5,1") == [0.5, 1]


# ── The schema ──────────────────────────────────────────────────────────────────────────────────────────────


def keys(schema, path=""):
    """Every key of a schema, with what is said of it."""
    if isinstance(schema, list):
        for part in schema:
            yield from keys(part, path)
    elif isinstance(schema, dict):
        for name, part in schema.get("properties", {}).items():
            yield f"{path}.{name}", part
            yield from keys(part, f"{path}.{name}")
        for name, part in schema.items():
            if name not in ("properties", "default"):
                yield from keys(part, path)


@pytest.mark.parametrize("schema", [document_schema, documents_schema, vectors_schema])
def test_every_key_has_a_description(schema):
    found = list(keys(schema()))
    assert len(found) > 20
    assert [name for name, part in found if not str(part.get("description", "")).strip()] == []
    assert not [name for name, part in found if "None" in repr(part.get("default", ""))]


@pytest.mark.parametrize("table", ["policy", "documents", "vectors"])
def test_the_schema_is_printed(table, capsys):
    code, said = run(capsys, "schema", table)
    assert code == 0
    found = json.loads(said.out)
    assert table in found["properties"]
    assert found["$schema"].startswith("https://json-schema.org")


def test_a_first_file_is_valid_by_the_printed_schema(tmp_path, capsys):
    jsonschema = pytest.importorskip("jsonschema")
    path = tmp_path / "first.toml"
    run(capsys, "init", path, "--values", "no,yes")
    jsonschema.validate(sv.load(path).document.model_dump(exclude_unset=True), document_schema())
    assert isinstance(sv.load(path), PolicyScenario)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell):
    words = {"bash": "COMP_WORDS", "zsh": "_TYPER_COMPLETE_ARGS", "fish": "_TYPER_COMPLETE_ARGS"}[shell]
    environment = {"_SIEVERT_COMPLETE": f"complete_{shell}", words: "sievert aud", "COMP_CWORD": "1"}
    environment["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    done = subprocess.run(
        [sys.executable, "-m", "sievert"],
        env={"PYTHONPATH": str(Path("src").resolve()), "PATH": "/usr/bin", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "audit" in done.stdout


def test_a_scenario_in_place_of_a_budget_names_its_budget(capsys):
    code, said = run(capsys, "ledger", "examples/census-count.toml")
    assert code == 2
    assert "examples/budgets/census.toml" in said.err


@pytest.mark.parametrize(("raised", "seen"), [(KeyboardInterrupt, 3), (EOFError, 2)])
def test_ctrl_c_at_a_question_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, raised: type[BaseException], seen: int
) -> None:
    def stop(_: str) -> str:
        raise raised

    monkeypatch.setattr(sys.modules[typer.prompt.__module__], "visible_prompt_func", stop)
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, "init")
    assert code == seen and ("interrupted" in said.err) == (raised is KeyboardInterrupt)
    assert not list(tmp_path.iterdir())
