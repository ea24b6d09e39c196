"""`sievert design`: is what it found best whatever the prior, and what to do when that is unknown."""

from __future__ import annotations

import json
from fractions import Fraction as F
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files import load_policy_scenario
from sievert.questions.design import design_of
from sievert.report.design import lines as design_lines
from sievert.report.design import page

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
    found = design_of(load_policy_scenario(file))
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
    found = design_of(load_policy_scenario(written(tmp_path)))
    assert found.universal is not None
    assert found.universal.holds is False
    assert found.universal.gap == F(1, 24)
    assert found.exists is not None
    assert found.exists.holds is False
    assert "Not best for every prior" in found.whatever_the_prior()[0]
    assert "Thm 6.33" in found.whatever_the_prior()[1]
    line = design_of(load_policy_scenario(written(tmp_path, secrets="line", loss="absolute")))
    assert "Theorem SC" in " ".join(line.whatever_the_prior())


def test_the_page_shows_all_private_mechanisms_of_few_inputs(tmp_path: Path) -> None:
    file, page = written(tmp_path), tmp_path / "page.html"
    run = CliRunner().invoke(
        app, ["design", str(file), "--output", str(tmp_path / "d.toml"), "--report", str(page), "--json"]
    )
    assert run.exit_code == 0, run.output
    assert "All private mechanisms" in page.read_text(encoding="utf-8")
    assert "Which mechanism is best for which prior" in page.read_text(encoding="utf-8")
    content = json.loads(run.output)
    assert content["universal"]["holds"] is False


PLACES = """version = 1
[policy]
secrets = { metric = "euclidean", points = "places.csv" }
[query]
kind = "record"
[mechanism]
kind = "exponential"
eps = 1.0
[use]
loss = "bayes-risk"
"""


def test_the_page_of_points_in_the_plane_says_how_distances_are_rounded(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    file.write_text(PLACES, encoding="utf-8")
    (tmp_path / "places.csv").write_text("place,x,y\na,0,0\nb,1,1\nc,2,0\n", encoding="utf-8")
    scenario = load_policy_scenario(file)
    text = page(design_of(scenario), scenario)
    assert "All private mechanisms" in text and "Which mechanism is best for which prior" in text
    assert "Distances are rounded to multiples of 2e-06." in text
    assert "Distances are rounded to multiples of 0.1." in text
    with pytest.raises(SievertError, match="give whole distances"):
        sv.plots.optimality_map(scenario.answers.metric, 0.5, sv.losses.bayes_risk(scenario.answers.labels))


def test_an_unknown_prior_is_for_the_use_only(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    text = FILE.format(values='["a", "b"]', secrets="complete", loss="bayes-risk", prior="")
    file.write_text(text + '[adversary]\nprior = "unknown"\n', encoding="utf-8")
    with pytest.raises(FileError, match=r"only `\[use\]` takes it"):
        sv.audit(sv.load(file))


PARITY = """version = 1
[policy]
values = [1, 2, 3, 4]
secrets = "line"
[query]
kind = "record"
[mechanism]
kind = "truncated-geometric"
{level}
[use]
prior = "unknown"
loss = {{ matrix = "parity.csv" }}
"""


@pytest.mark.parametrize("level", ['alpha = "1/2"', "eps = 1.0"])
def test_what_is_said_is_about_the_mechanism_that_is_written(tmp_path: Path, level: str) -> None:
    """Least regret: loss, leak, warning and proof are those of the written channel, as audits see it."""
    (tmp_path / "parity.csv").write_text("action,1,2,3,4\nx,0,1,0,1\ny,1,0,1,0\n", encoding="utf-8")
    file, target = tmp_path / "f.toml", tmp_path / "d.toml"
    file.write_text(PARITY.format(level=level), encoding="utf-8")
    scenario = load_policy_scenario(file)
    design = design_of(scenario)
    own = [item for item in design.found.alternatives if item.is_optimal]
    assert [item.name for item in own] == ["least regret"]
    assert own[0].mechanism is design.mechanism
    assert design.certificate.verify().holds
    assert "every private mechanism loses at least" in design.verified
    said = " ".join(text for _, sentences in design_lines(design) for text in sentences)
    assert "Cutting planes over" in said
    assert "cannot be estimated" not in said
    proof = tmp_path / "proof.json"
    arguments = ["design", str(file), "--output", str(target), "--proof", str(proof)]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    assert sv.verify(proof).holds
    after = sv.posterior_vulnerability(sv.load(target).channel).value
    assert own[0].leaks[0].after == pytest.approx(float(after), rel=1e-9)
    assert sv.is_private(sv.load(target).channel, sv.metrics.line([1, 2, 3, 4]), design.found.eps)


def test_an_unknown_prior_of_many_values_names_its_key(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    text = FILE.format(
        values="[1, 2, 3, 4, 5, 6, 7, 8]", secrets="complete", loss="bayes-risk", prior='prior = "unknown"'
    )
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TooLargeError, match=r'\[use\] prior is "unknown", and .* or give a prior'):
        design_of(load_policy_scenario(file))
