"""`sievert release` as a user runs it, on every example."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sievert.cli import main
from sievert.cli.app import app
from sievert.errors import FileError
from sievert.proofs import verify

NAMES = ["census-count", "survey-response", "town-places", "lake-rides"]
NAMES += [f"release/{path.stem}" for path in sorted(Path("examples/release").glob("*.toml"))]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    shutil.copytree("examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.ledger"))
    return tmp_path / "examples"


def sievert(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("files_are_read_once")
def test_every_example_previews_and_releases(examples: Path, name: str) -> None:
    code, text = sievert("release", examples / f"{name}.toml", "--preview")
    assert code == 0 and "Nothing was read or spent." in " ".join(text.split())
    assert not list(examples.rglob("*.ledger")), "a preview leaves nothing behind"
    code, text = sievert("release", examples / f"{name}.toml")
    assert code == 0 and "NOT PRIVATE" not in text
    (output,) = (examples / name).parent.glob("out/*.csv")
    with output.open(newline="", encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) in (1, 6, 20, 500, 600, 800, 2000)
    sidecar = json.loads(Path(f"{output}.json").read_text(encoding="utf-8"))
    assert sidecar["mechanism"]["secure"] and sidecar["mechanism"]["arithmetic"] == "exact"
    # The budgets hold for it again, or the ledger says by how much they do not; nothing is replaced.
    code, text = sievert("release", examples / f"{name}.toml", "--output", output.with_name("second.csv"))
    assert code in (0, 1)
    code, text = sievert("release", examples / f"{name}.toml", "--preview", "--json")
    assert code == 1 and json.loads(text)["possible"] is False


def test_the_data_of_the_examples_is_what_the_script_makes(examples: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")

    def content(path: Path) -> object:  # Parquet files also say who wrote them
        return parquet.read_table(path).to_pydict() if path.suffix == ".parquet" else path.read_bytes()

    before = {path: content(path) for path in (examples / "data").rglob("*.*")}
    subprocess.run([sys.executable, str(examples / "make_data.py")], check=True)
    assert {path: content(path) for path in (examples / "data").rglob("*.*")} == before


def test_json_and_refusals(examples: Path) -> None:
    file = examples / "census-count.toml"
    with pytest.raises(FileError, match="does not say that it is a test"):
        sievert("release", file, "--insecure-seed", 3)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[release]", "[release]\ntest_seed = 1"), encoding="utf-8")
    code, text = sievert("release", file, "--json", "--id", "first", "--insecure-seed", 3)
    done = json.loads(text)
    assert code == 0 and done["table"][0]["not_private"] == "drawn from a test seed"
    assert (done["id"], done["eps_exact"], done["secure"]) == ("first", "1/2", False)
    assert done["table"][0]["low"] <= done["table"][0]["value"] <= done["table"][0]["high"]
    for number in range(3):
        code, _ = sievert("release", file, "--output", examples / f"{number}.csv")
        assert code == 0
    code, text = sievert("release", file, "--output", examples / "last.csv", "--json")
    refused = json.loads(text)
    assert code == 1
    # The column's limit of 2 is used up before the person's 3.
    assert (refused["requested"], refused["remaining"], refused["difference"]) == ("1/2", "0", "1/2")
    assert refused["currency"] == "eps"
    assert not (examples / "last.csv").exists()


def exit_code(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_exit_codes_say_what_happened(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = examples / "census-count.toml"
    data = examples / "data" / "census.csv"
    whole = data.read_text(encoding="utf-8")
    ledger = examples / "budgets" / "census.ledger"
    data.write_text(whole + whole.splitlines()[1] + "\n", encoding="utf-8")
    assert exit_code("release", file) == 4 and not ledger.exists(), "the data did not fit"
    data.write_text(whole, encoding="utf-8")
    assert exit_code("release", file, "--output", data / "x.csv") == 3 and not ledger.exists()
    assert exit_code("release", file, "--output", ledger / "x.csv") == 2
    assert exit_code("release", file, "--id", "x" * 300) == 2
    assert exit_code("release", file, "--insecure-seed", 3) == 2 and not ledger.exists()
    assert exit_code("release", file, "--id", "first") == 0
    ledger_file = ledger / "ledger.jsonl"
    ledger_file.unlink()
    assert exit_code("release", file, "--output", examples / "2.csv") == 2
    assert "releases have been charged here" in capsys.readouterr().err


def test_bad_input_is_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text('version = 1\n[policy]\nvalues = ["a", "b"]\n')
    command = [sys.executable, "-m", "sievert", "release", str(tmp_path / "file.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 2
    assert "table [data] is missing" in done.stderr and "Traceback" not in done.stderr


def test_the_proof_of_the_noise(examples: Path, tmp_path: Path) -> None:
    code, _ = sievert(
        "release", examples / "release/household-sizes.toml", "--preview", "--proof", tmp_path / "p.json"
    )
    assert code == 0
    checked = verify(tmp_path / "p.json")
    assert checked and "ε = 1/2" in checked.statement


def test_a_designed_mechanism_is_released_for_its_own_epsilon(tmp_path: Path) -> None:
    """Design, audit, preview and release of one file; the budget is exactly the ε of the design."""
    text = """version = 1
[policy]
values = ["yes", "no"]
records = 6
[query]
kind = "count"
where = ["yes"]
[mechanism]
kind = "truncated-geometric"
eps = 0.7
[use]
loss = "squared"
[data]
input = "data.csv"
column = "answer"
[release]
ledger = "budget.toml"
output = "out.csv"
"""
    (tmp_path / "file.toml").write_text(text)
    (tmp_path / "data.csv").write_text("answer\nyes\nno\nyes\nyes\nno\nno\n")
    (tmp_path / "budget.toml").write_text("person = 0.7\n")
    assert sievert("design", tmp_path / "file.toml")[0] == 0
    designed = tmp_path / "file-optimal.toml"
    assert sievert("audit", designed)[0] == 0
    code, answer = sievert("release", designed, "--preview", "--json")
    assert code == 0 and json.loads(answer)["remaining_after"] in ("0", 0)
    code, answer = sievert("release", designed)
    assert code == 0, answer
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["what"] == "the number of records that are yes" and 0 <= float(row["value"]) <= 6
    assert json.loads((tmp_path / "out.csv.json").read_text())["eps"]["exact"] == "7/10"


def test_amounts_are_named_by_their_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Formerly `eps` held ρ where the ledger adds up ρ: 0.3473 for ε = 2."""
    (tmp_path / "data.csv").write_text("ward\nn\ns\nn\n")
    (tmp_path / "file.toml").write_text(
        'version = 1\npolicy = { values = ["n", "s"], records = 3 }\nquery = { kind = "histogram" }\n'
        'mechanism = { kind = "geometric", eps = 2 }\ndata = { input = "data.csv", column = "ward" }\n'
        'release = { ledger = "budget.toml", output = "out.csv" }\n'
    )
    for budget, unit, other in (("person = 9", "eps", "rho"), ("rho = 9\ndelta = 1e-6", "rho", "eps")):
        (tmp_path / "budget.toml").write_text(budget)
        for more in (["--preview"], ["--output", str(tmp_path / f"{unit}.csv")]):
            with pytest.raises(SystemExit):
                main(["release", str(tmp_path / "file.toml"), "--json", *more])
            found = json.loads(capsys.readouterr().out)
            assert found[other] is None and found[unit] > 0 and f"{unit}_exact" in found
            together = found.get("together") or found["effect"]["together"]
            assert together[other] is None and together[unit] == found[unit]
        shutil.rmtree(tmp_path / "budget.ledger")
