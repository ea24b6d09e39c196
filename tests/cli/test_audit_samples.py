"""`sievert audit --samples`: runs of a black box held against a claim."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sievert.cli.app import app
from sievert.errors import SievertError

runner = CliRunner()


def runs(folder: Path, scale: float, inputs: int = 2, header: str = "input,output") -> str:
    draw = np.random.default_rng(4)
    secret = draw.integers(0, inputs, 4000)
    noisy = secret + draw.laplace(scale=scale, size=len(secret))
    path = folder / "runs.csv"
    lines = [f"{x},{y:.4f}" for x, y in zip(secret, noisy, strict=True)]
    path.write_text("\n".join([header, *lines]), encoding="utf-8")
    return str(path)


def test_a_wrong_scale_is_refuted_and_a_right_one_is_not_proved(tmp_path: Path) -> None:
    done = runner.invoke(app, ["audit", "--samples", runs(tmp_path, 0.5), "--eps", "1", "--seed", "1"])
    assert done.exit_code == 1, done.output
    assert "The claim ε = 1 is refuted" in " ".join(done.output.split())
    done = runner.invoke(app, ["audit", "--samples", runs(tmp_path, 1.0), "--eps", "1", "--seed", "1"])
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "a pass proves nothing" in text and "Guessing the input" in text
    arguments = ["audit", "--samples", runs(tmp_path, 0.5), "--eps", "1", "--delta", "0.9", "--json"]
    data = json.loads(runner.invoke(app, arguments).output)
    assert data["passed"] is True and data["audit"]["delta"] == 0.9 and data["guess"]["before"] > 0.4


def test_a_file_says_which_inputs_are_neighbours(tmp_path: Path) -> None:
    """Noise of scale 1 is 1-private between neighbours of a line, and 3-private between its ends."""
    path = runs(tmp_path, 1.0, inputs=4)
    alone = runner.invoke(app, ["audit", "--samples", path, "--eps", "1", "--seed", "1"])
    assert alone.exit_code == 1 and "Any two inputs" in alone.output
    file = tmp_path / "line.toml"
    policy = 'version = 1\n[policy]\nvalues = { range = [0, 3] }\nsecrets = "line"\n'
    file.write_text(policy + "[claim]\neps = 1.0\n", encoding="utf-8")
    done = runner.invoke(app, ["audit", str(file), "--samples", path, "--seed", "1"])
    assert done.exit_code == 0, done.output
    assert "do not refute the claim ε = 1:" in " ".join(done.output.split())


def test_a_leak_is_proved_and_the_proof_is_about_the_runs(tmp_path: Path) -> None:
    path, saved = runs(tmp_path, 0.5), str(tmp_path / "proof.json")
    done = runner.invoke(app, ["audit", "--samples", path, "--eps", "1", "--seed", "1", "--proof", saved])
    assert done.exit_code == 1, done.output
    told = runner.invoke(app, ["verify", saved, path])
    assert told.exit_code == 0 and "95% confidence the mechanism keeps no ε below 1." in told.output
    runs(tmp_path, 0.6)
    assert runner.invoke(app, ["verify", saved, path]).exit_code == 1
    quiet = runs(tmp_path, 50.0)
    nothing = str(tmp_path / "none.json")
    done = runner.invoke(app, ["audit", "--samples", quiet, "--seed", "1", "--proof", nothing])
    assert "There is no certificate to save: the runs show no leak" in " ".join(done.output.split())
    assert not Path(nothing).exists()


def test_mistakes(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = runs(tmp_path, 1.0)
    other = runs(tmp_path_factory.mktemp("other"), 1.0, header="secret,answer")
    for arguments in (
        [],
        ["--samples", other],
        ["--samples", str(tmp_path / "none.csv")],
        ["--samples", path, "--report", "page.html"],
        ["examples/census-count.toml", "--eps", "1"],
        ["--samples", path, "--delta", "2"],
    ):
        done = runner.invoke(app, ["audit", *arguments])
        assert isinstance(done.exception, SievertError), arguments


@pytest.mark.parametrize("rows", [["a,yes", "b,no"] * 40, ["a,1,2", "b,3,4"] * 40])
def test_labels_and_vectors(tmp_path: Path, rows: list[str]) -> None:
    path = tmp_path / "runs.csv"
    header = "input,output" if rows[0].count(",") == 1 else "input,output_1,output_2"
    path.write_text("\n".join([header, *rows]), encoding="utf-8")
    done = runner.invoke(app, ["audit", "--samples", str(path), "--eps", "0.1", "--seed", "1"])
    assert done.exit_code == 1, done.output


def test_runs_may_lie_in_a_folder_of_files(tmp_path: Path) -> None:
    """The same answer as from one file, and a proof about all of them."""
    whole = Path(runs(tmp_path, 0.5))
    header, *lines = whole.read_text().splitlines()
    folder, saved = tmp_path / "runs", str(tmp_path / "proof.json")
    folder.mkdir()
    for number in range(2):
        part = lines[2000 * number : 2000 * (number + 1)]
        (folder / f"{number}.csv").write_text("\n".join([header, *part]))
    told = {}
    for path in (str(whole), str(folder), str(folder / "*.csv")):
        done = runner.invoke(app, ["audit", "--samples", path, "--eps", "1", "--seed", "1", "--json"])
        told[path] = json.loads(done.output)["audit"]["eps_lower"]
    assert len(set(told.values())) == 1
    arguments = ["audit", "--samples", str(folder), "--eps", "1", "--seed", "1", "--proof", saved]
    assert runner.invoke(app, arguments).exit_code == 1
    assert runner.invoke(app, ["verify", saved, str(folder)]).exit_code == 0
    (folder / "1.csv").write_text(f"{header}\n0,1")
    assert runner.invoke(app, ["verify", saved, str(folder)]).exit_code == 1
    (folder / "1.csv").write_text("input,result\n0,1")
    done = runner.invoke(app, ["audit", "--samples", str(folder), "--eps", "1"])
    assert isinstance(done.exception, SievertError) and "1.csv: has the columns" in str(done.exception)
