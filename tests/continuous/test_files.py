"""Real numbers in a file: the interval, the prior's density, every question, and an exact release."""

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app

FILE = """
version = 1
title = "Shares"
[policy]
values = { interval = [0.0, 1.0], cells = 20 }
secrets = { metric = "line" }
[mechanism]
kind = "truncated-laplace"
eps = 4.0
pixels = 10
[adversary]
prior = PRIOR
gains = ["identity", { within = 0.1 }]
[use]
loss = LOSS
[data]
input = "shares.csv"
column = "share"
[release]
ledger = "budget.toml"
off_grid = "nearest"
test_seed = 7
"""


def written(folder: Path, prior: str = "{ beta = [2, 5] }", loss: str = '"absolute"', **changes: str) -> Path:
    text = FILE.replace("PRIOR", prior).replace("LOSS", loss)
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "shares.toml").write_text(text)
    (folder / "budget.toml").write_text("person = 50.0\n")
    (folder / "shares.csv").write_text("share\n" + "\n".join(str(k / 137) for k in range(138)) + "\n")
    return folder / "shares.toml"


def test_an_audit_says_what_it_means_for_real_numbers(tmp_path: Path) -> None:
    found: Any = sv.audit(written(tmp_path))
    assert found.satisfied
    assert found.epsilon.nats == pytest.approx(4, rel=1e-12)
    facts = found.interval
    exact = sv.continuous.laplace_loss(sv.continuous.Density.beta(2, 5), "absolute", 4)
    assert facts.loss.value == pytest.approx(exact.value, rel=1e-9)
    assert facts.loss.high - facts.loss.low < 1e-9 * facts.loss.value
    assert facts.optimal
    assert facts.on_grid.geometric <= facts.on_grid.laplace
    assert facts.advice.pixels == sv.continuous.resolution(0.01, eps=4).pixels
    (within,) = facts.within
    assert within.before.low > within.after.high
    # The best guess within 0.1 before the release, from the distribution function.
    beta = sv.continuous.Density.beta(2, 5)
    blind = max(beta.cdf(x + 0.2) - beta.cdf(x) for x in np.linspace(0, 0.8, 801))
    assert blind == pytest.approx(1 - within.before.value, abs=1e-5)
    # What the file releases: the nearest of 21 values, in 10 pixels, by brute force over fine points.
    points = (np.arange(20_000) + 0.5) / 20_000
    rows = sv.load(tmp_path / "shares.toml").channel.matrix[np.rint(points * 20).astype(int)]
    joint = beta.masses(20_000)[:, None] * rows
    middle = points[(np.cumsum(joint, axis=0) < joint.sum(axis=0) / 2).sum(axis=0)]
    brute = (joint * np.abs(points[:, None] - middle)).sum()
    assert facts.released.value == pytest.approx(brute, rel=1e-7)
    assert facts.loss.high < facts.released.low


def test_the_prior_is_what_is_nearest_to_each_value(tmp_path: Path) -> None:
    scenario = sv.load(written(tmp_path))
    beta = sv.continuous.Density.beta(2, 5)
    borders = [0, *((2 * k + 1) / 40 for k in range(20)), 1]
    wanted = [beta.cdf(b) - beta.cdf(a) for a, b in pairwise(borders)]
    assert scenario.prior == pytest.approx(wanted, abs=1e-12)
    assert scenario.prior.sum() == pytest.approx(1, abs=1e-14)
    assert scenario.channel.shape == (21, 10)
    normal = sv.load(written(tmp_path, "{ normal = [0.5, 0.2] }"))
    assert normal.prior == pytest.approx(normal.prior[::-1])
    (tmp_path / "public.csv").write_text("from,to,count\n0,0.5,1\n0.5,1,3\n")
    counted = sv.load(written(tmp_path, '{ density = "public.csv" }'))
    assert counted.prior[:10].sum() == pytest.approx(0.25 - 0.025 / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("prior", "loss"),
    [
        ('"uniform"', '"squared"'),
        ("{ normal = [0.4, 0.1] }", "{ pinball = 0.8 }"),
        ("{ beta = [0.5, 0.5] }", "{ threshold = 0.5 }"),
        ("{ beta = [2, 3] }", "{ tolerance = 0.2 }"),
        ("{ beta = [2, 3] }", '"bayes-risk"'),
    ],
)
def test_other_beliefs_and_uses(tmp_path: Path, prior: str, loss: str) -> None:
    found: Any = sv.audit(written(tmp_path, prior, loss))
    assert (found.interval.loss is None) is (loss == '"bayes-risk"')
    assert str(found.interval)
    json.dumps(found.to_dict())


@pytest.mark.parametrize("command", ["audit", "explain", "limits", "design", "release"])
def test_every_question_answers(tmp_path: Path, command: str) -> None:
    file = written(tmp_path)
    more = ["--preview"] if command == "release" else []
    ran = CliRunner().invoke(app, [command, str(file), *more])
    assert ran.exit_code == 0, ran.output
    other = CliRunner().invoke(app, ["compare", str(file), str(file)]) if command == "audit" else ran
    assert other.exit_code == 0, other.output
    if command == "audit":
        assert "Real numbers" in ran.output
        assert "no mechanism that is private" in " ".join(ran.output.split())
        page = tmp_path / "page.html"
        assert CliRunner().invoke(app, ["audit", str(file), "--report", str(page)]).exit_code == 0
        assert "Real numbers" in page.read_text()


def test_a_release_draws_pixels(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["release", str(written(tmp_path))])
    assert ran.exit_code == 0, ran.output
    with (tmp_path / "shares-released.csv").open() as file:
        values = [float(row["share"]) for row in csv.DictReader(file)]
    assert len(values) == 138
    assert set(values) <= {round((2 * k + 1) / 20, 10) for k in range(10)}
    sidecar = json.loads((tmp_path / "shares-released.csv.json").read_text())
    assert "pixelated truncated Laplace" in json.dumps(sidecar)
    # What rounding to the grid costs is said, with the loss of what is released.
    loss, rounding = sidecar["clamping"]
    exact = sv.continuous.laplace_loss(sv.continuous.Density.beta(2, 5), "absolute", 4)
    released = sv.continuous.pixelated_loss(sv.continuous.Density.beta(2, 5), "absolute", 4, 10, 20)  # type: ignore[attr-defined]
    assert f"cost {released.value / exact.value - 1:.2%} of" in loss
    assert "by at most 0.025" in rounding
    assert "⌊d/0.05⌋ + 1 steps of 0.05 (0.2 nats each)" in rounding
    assert sv.release.preview(tmp_path / "shares.toml", output="other.csv").warnings[1:3] == (loss, rounding)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"[0.0, 1.0]": "[1.0, 0.0]"}, "empty"),
        ({"[0.0, 1.0]": "[0.0]"}, "interval"),
        ({"cells = 20": "cells = 0"}, "cells"),
        ({"{ beta = [2, 5] }": "{ beta = [2, -5] }"}, "b is -5"),
        ({"{ beta = [2, 5] }": "{ betta = [2, 5] }"}, "beta"),
        ({"{ interval = [0.0, 1.0], cells = 20 }": '["a", "b"]'}, "numbers"),
        ({"eps = 4.0": 'eps = 4.0\nalpha = "1/2"'}, "exactly one"),
    ],
)
def test_mistakes_name_the_key(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    file = written(tmp_path, **changes)
    with pytest.raises(sv.SievertError, match=message):
        sv.audit(file)
