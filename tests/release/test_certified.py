"""`release --proof`: what is drawn is proved private, and `verify` makes the proof anew from the file."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sievert.cli.app import app
from sievert.errors import FileError
from sievert.files import bind_proof, load_policy_scenario
from sievert.proofs import proof_from_dict, save_proof
from sievert.release import released_proof

SURVEY = """
version = 1
[policy]
values = ["never", "once", "often"]
{policy}
[mechanism]
{mechanism}
[query]
kind = "record"
[data]
input = "answers.csv"
column = "answer"
"""
RUN = CliRunner()


def file(
    folder: Path, mechanism: str, policy: str = 'secrets = "complete"', values: str | None = None
) -> Path:
    text = SURVEY.format(policy=policy, mechanism=mechanism)
    path = folder / "file.toml"
    path.write_text(text if values is None else text.replace('["never", "once", "often"]', values))
    (folder / "answers.csv").write_text("answer\nnever\n")
    return path


def proof_of(path: Path) -> dict[str, Any]:
    return json.loads(save_proof(released_proof(load_policy_scenario(path))))


@pytest.mark.parametrize(
    ("mechanism", "policy", "values", "law"),
    [
        ('kind = "randomised-response"\neps = 1.5', 'secrets = "complete"', None, "response"),
        ('kind = "exponential"\neps = 0.5', 'secrets = "complete"', None, "rows"),
        ('kind = "truncated-geometric"\neps = 0.5', 'secrets = "line"', "[0, 1, 2, 3]", "noise"),
        ('kind = "truncated-geometric"\nalpha = "1/2"', 'secrets = "line"', "[0, 1, 2, 3]", "noise"),
    ],
)
def test_every_law_has_a_proof(
    tmp_path: Path, mechanism: str, policy: str, values: str | None, law: str
) -> None:
    content = proof_of(file(tmp_path, mechanism, policy, values))
    assert (content["kind"], content["law"]) == ("released mechanism", law)
    assert proof_from_dict(content).verify()
    eps = content["space"]["eps"]
    less = {**content, "space": {**content["space"], "eps": f"{eps.partition('/')[0]}/{10**12}"}}
    assert not proof_from_dict(less).verify()


def test_gaussian_noise_is_proved_by_its_rho(tmp_path: Path) -> None:
    path = file(tmp_path, 'kind = "gaussian"\nsigma = 2.0', 'secrets = "complete"\nrecords = 5')
    path.write_text(path.read_text().replace('kind = "record"', 'kind = "histogram"'))
    content = proof_of(path)
    assert (content["kind"], content["rho"], content["variance"]) == ("Gaussian noise", "1/4", "4")
    assert content["moves"] == [[[1, 1], "1"]]


def test_what_is_drawn_in_floats_has_no_proof_and_says_so(tmp_path: Path) -> None:
    path = file(tmp_path, 'kind = "exponential"\neps = 0.5')
    path.write_text(path.read_text() + '[release]\nsampler = "float"\n')
    with pytest.raises(FileError, match="drawn in floating point"):
        released_proof(load_policy_scenario(path))


def test_verify_compares_the_proof_with_what_the_file_releases(tmp_path: Path) -> None:
    path, saved = file(tmp_path, 'kind = "randomised-response"\neps = 1.5'), tmp_path / "proof.json"
    scenario = load_policy_scenario(path)
    saved.write_text(save_proof(bind_proof(released_proof(scenario), scenario, released=True)))
    told = RUN.invoke(app, ["verify", str(saved), str(path)])
    assert told.exit_code == 0 and "draws from this" in told.output
    # True, named after the same file, and about another mechanism.
    other = json.loads(saved.read_text())
    other["level"] = {"eps": "1/2"}
    saved.write_text(json.dumps(other))
    assert RUN.invoke(app, ["verify", str(saved)]).exit_code == 0
    told = RUN.invoke(app, ["verify", str(saved), str(path)])
    assert told.exit_code == 1 and "is not about what" in " ".join(told.output.split())
    # About another file.
    saved.write_text(save_proof(bind_proof(released_proof(scenario), scenario, released=True)))
    file(tmp_path, 'kind = "randomised-response"\neps = 1.25')
    told = RUN.invoke(app, ["verify", str(saved), str(path)])
    assert told.exit_code == 1 and "not about" in told.output
