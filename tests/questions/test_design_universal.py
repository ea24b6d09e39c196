"""`sievert design`: is what it found best whatever the prior, and what to do when that is unknown."""

from __future__ import annotations

import json
from fractions import Fraction as F
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError
from sievert.files import load_scenario
from sievert.questions.design import design_of

FILE = """version = 1
[policy]
values = {values}
secrets = "{secrets}"
[query]
kind = "record"
[mechanism]
kind = "randomised-response"
alpha = "1/2"
[use]
loss = "{loss}"
{prior}
"""


def written(folder: Path, prior: str = "", secrets: str = "complete", loss: str = "bayes-risk") -> Path:
    file = folder / "case.toml"
    values = "[1, 2, 3]" if secrets == "line" else '["tall", "average", "short"]'
    file.write_text(FILE.format(values=values, secrets=secrets, loss=loss, prior=prior), encoding="utf-8")
    return file


def test_an_unknown_prior_asks_for_the_least_regret(tmp_path: Path) -> None:
    file = written(tmp_path, 'prior = "unknown"')
    found = design_of(load_scenario(file))
    assert found.regret is not None
    assert found.regret.regret == F(1, 24)
    assert found.certificate.verify().holds
    assert "1/24" in str(found)
    proof, target = tmp_path / "proof.json", tmp_path / "designed.toml"
    run = CliRunner().invoke(app, ["design", str(file), "--output", str(target), "--proof", str(proof)])
    assert run.exit_code == 0, run.output
    assert "whatever the prior" in run.output
    assert sv.verify(proof).holds
    assert sv.audit(sv.load(target)) is not None
    channel = sv.load(target).channel
    assert sv.design.universal_gap(channel, sv.metrics.discrete(channel.inputs), alpha="1/2").gap == F(1, 24)


def test_a_known_prior_is_told_about_the_others(tmp_path: Path) -> None:
    found = design_of(load_scenario(written(tmp_path)))
    assert found.universal is not None
    assert found.universal.holds is False
    assert found.universal.gap == F(1, 24)
    assert found.exists is not None
    assert found.exists.holds is False
    assert "Not best for every prior" in found.whatever_the_prior()[0]
    assert "Thm 6.33" in found.whatever_the_prior()[1]
    line = design_of(load_scenario(written(tmp_path, secrets="line", loss="absolute")))
    assert "Theorem SC" in " ".join(line.whatever_the_prior())


def test_the_page_shows_all_private_mechanisms_of_few_inputs(tmp_path: Path) -> None:
    file, page = written(tmp_path), tmp_path / "page.html"
    run = CliRunner().invoke(
        app, ["design", str(file), "--output", str(tmp_path / "d.toml"), "--report", str(page), "--json"]
    )
    assert run.exit_code == 0, run.output
    assert "All private mechanisms" in page.read_text(encoding="utf-8")
    content = json.loads(run.output)
    assert content["universal"]["holds"] is False


def test_an_unknown_prior_is_for_the_use_only(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    text = FILE.format(values='["a", "b"]', secrets="complete", loss="bayes-risk", prior="")
    file.write_text(text + '[adversary]\nprior = "unknown"\n', encoding="utf-8")
    with pytest.raises(FileError, match=r"only `\[use\]` takes it"):
        sv.audit(sv.load(file))
