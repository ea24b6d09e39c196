"""`sievert design` as a user runs it."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

import sievert as sv

Sievert = Callable[..., CompletedProcess[str]]


def scenario(folder: Path, use: str = '[use]\nloss = "absolute"\n', mechanism: bool = True) -> Path:
    path = folder / "counts.toml"
    text = 'version = 1\n[policy]\nvalues = ["yes", "no"]\nrecords = 6\n'
    text += '[query]\nkind = "count"\nwhere = "yes"\n'
    if mechanism:
        text += '[mechanism]\nkind = "exponential"\neps = 0.7\n'
    path.write_text(text + use, encoding="utf-8")
    return path


def test_design_then_audit_and_verify(sievert: Sievert, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    proof, report = tmp_path / "proof.json", tmp_path / "report.html"
    done = sievert("design", file, "--proof", proof, "--report", report)
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert "The best mechanism with ε = 0.7 loses" in flat
    assert "Verified: the mechanism on 7 inputs is private with ε = 7/10" in flat
    assert "Exponential: loses" in flat and "% more" in flat
    audited = sievert("audit", tmp_path / "counts-optimal.toml")
    assert audited.returncode == 0, audited.stderr
    assert "it satisfies ε = 0.7, as claimed" in " ".join(audited.stdout.split())
    assert sievert("verify", proof).stdout.startswith("verified")
    page = report.read_text(encoding="utf-8")
    assert "Candidates on one chart" in page and "figure-1" in page
    # What is on disk is the mechanism that was proved, bit for bit.
    channel = sv.load(tmp_path / "counts-optimal.npz")
    assert isinstance(channel, sv.Channel)
    counts = np.array(json.loads(proof.read_text(encoding="utf-8"))["counts"])
    assert (channel.matrix * 2.0**53 == counts).all()


def test_json_and_another_folder(sievert: Sievert, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    target = out / "town.toml"
    done = sievert("design", "examples/town-places.toml", "--eps", "2", "--output", target, "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["found"]["optimal"]["gap"] < 1e-9
    assert {item["name"] for item in content["found"]["alternatives"]} >= {"optimal", "exponential"}
    loaded = sv.load(out / "town.toml")
    # Its paths still lead to the data.
    assert sv.epsilon(loaded.channel, loaded.answers).nats <= 2 * (1 + 1e-12)
    assert loaded.claimed_eps == 2


@pytest.mark.parametrize(
    "use, words",
    [
        ('[use]\nloss = "squared"\n', "squared error"),
        ('[use]\nloss = "bayes-risk"\n', "chance of a wrong value"),
        ('[use]\nloss = "distance"\n', "distance from the truth"),
        ("[use]\nloss = { pinball = 0.9 }\n", "pinball loss for the quantile 0.9"),
        (
            "[use]\nloss = { tolerance = 1 }\nprior = [0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1]\n",
            "off by more than 1",
        ),
        ("[use]\nloss = { threshold = 3 }\n", "at least 3"),
        ("[use]\nloss = { property = [0, 6] }\n", "chance of a wrong answer"),
    ],
)
def test_every_loss_of_the_file(tmp_path: Path, use: str, words: str) -> None:
    from sievert.files import load_policy_scenario
    from sievert.questions.design import design_of

    result = design_of(load_policy_scenario(scenario(tmp_path, use)), 0.9)
    assert words in str(result) and result.found.optimal.gap < 1e-9
    assert result.verified.startswith("verified")


def test_a_loss_of_your_own(tmp_path: Path) -> None:
    from sievert.files import load_policy_scenario
    from sievert.questions.design import design_of

    (tmp_path / "loss.csv").write_text("action,6,5,4,3,2,1,0\nmany,0,0,0,1,2,2,2\nfew,1,1,1,1,0,0,0\n")
    file = scenario(tmp_path, '[use]\nloss = { matrix = "loss.csv" }\n')
    result = design_of(load_policy_scenario(file), 0.9)
    assert result.found.optimal.mechanism.outputs == ("many", "few")
    expected = [[2, 2, 2, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]]
    direct = sv.optimal_mechanism(sv.metrics.line(7), 0.9, None, np.array(expected, dtype=float))
    assert float(result.found.optimal.loss) == pytest.approx(float(direct.loss), abs=1e-12)


def test_an_exact_file_stays_exact(sievert: Sievert, tmp_path: Path) -> None:
    path = tmp_path / "exact.toml"
    path.write_text(
        'version = 1\n[policy]\nvalues = { range = [0, 3] }\nsecrets = "line"\n'
        '[mechanism]\nkind = "truncated-geometric"\nalpha = "1/2"\n[use]\nloss = "absolute"\n'
    )
    done = sievert("design", path)
    assert done.returncode == 0, done.stderr
    assert "exactly optimal" in done.stdout and (tmp_path / "exact-optimal.csv").exists()
    audited = sievert("audit", tmp_path / "exact-optimal.toml", "--json")
    assert json.loads(audited.stdout)["epsilon"]["nats"] == pytest.approx(math.log(2), abs=1e-12)


def test_without_a_use_the_noise_of_a_table_is_weighed(sievert: Sievert, tmp_path: Path) -> None:
    file = scenario(tmp_path, "")
    proof, report = tmp_path / "proof.json", tmp_path / "report.html"
    done = sievert("design", file, "--proof", proof, "--report", report)
    assert done.returncode == 0, done.stderr
    for text in ("geometric errs least", "radius", "discrete Gaussian, σ = ", "no proof of optimality"):
        assert text in done.stdout
    assert "optimum by linear program" in done.stdout and "Mechanisms side by side" in report.read_text()
    assert sievert("verify", proof, file).returncode == 0
    assert 'kind = "geometric"' in (tmp_path / "counts-optimal.toml").read_text()
    assert sievert("audit", tmp_path / "counts-optimal.toml").returncode == 0


def test_a_histogram_of_very_many_answers(sievert: Sievert, tmp_path: Path) -> None:
    file = scenario(tmp_path, '[use]\nloss = "absolute"\n')
    text = file.read_text().replace('kind = "count"\nwhere = "yes"', 'kind = "histogram"')
    file.write_text(text.replace("records = 6", "records = 1000000").replace("exponential", "geometric"))
    done = sievert("design", file, "--eps", "0.5")
    assert done.returncode == 0, done.stderr
    assert "With ε = 0.5, geometric errs least" in done.stdout


def test_a_value_alone_still_needs_a_use(sievert: Sievert, tmp_path: Path) -> None:
    file = scenario(tmp_path, "")
    text = (
        file.read_text().replace('[query]\nkind = "count"\nwhere = "yes"\n', "").replace("records = 6\n", "")
    )
    file.write_text(text)
    done = sievert("design", file)
    assert done.returncode == 2 and "table [use] is missing" in done.stderr


@pytest.mark.parametrize(
    "use, arguments, message",
    [
        ('[use]\nloss = "cubic"\n', [], "key use.loss must be"),
        (
            "[use]\nloss = { pinball = 0.5, threshold = 1 }\n",
            [],
            'give exactly one of kind = "…", within, pinball',
        ),
        ('[use]\nloss = "absolute"\n', ["--output", "x.csv"], "is written to .toml"),
        ('[use]\nloss = "absolute"\n', ["--eps", "-1"], "'-1' is not 0, inf or a number"),
        ('[use]\nloss = "absolute"\n', ["--eps", "inf"], "give a finite ε"),
        ('[use]\nloss = "absolute"\ngap = 0\n', [], "key use.gap must be greater than 0 (given: 0)"),
        ('[use]\nloss = "absolute"\n', ["--gap", "2"], "gap is 2.0; it must be above 0 and at most 1"),
        ('[use]\nloss = "absolute"\n', ["--device", "cuda:99"], "device is 'cuda:99'"),
        ('[use]\nloss = "absolute"\nprior = [1.0]\n', [], "use.prior: the list has 1 entries"),
    ],
)
def test_mistakes(sievert: Sievert, tmp_path: Path, use: str, arguments: list[str], message: str) -> None:
    done = sievert("design", scenario(tmp_path, use), *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.glob("*optimal*"))


def test_no_mechanism_needs_an_eps(sievert: Sievert, tmp_path: Path) -> None:
    file = scenario(tmp_path, mechanism=False)
    assert "pass --eps" in sievert("design", file).stderr
    assert sievert("design", file, "--eps", "1").returncode == 0


def test_groups_are_named_and_words_are_used(sievert: Sievert, tmp_path: Path) -> None:
    path = tmp_path / "blocks.toml"
    path.write_text(
        'version = 1\n[policy]\nsecrets = { partition = [["flu", "cold"], ["hiv", "hepatitis"]] }\n'
        '[mechanism]\nkind = "randomised-response"\neps = 1.0\n[use]\nloss = "bayes-risk"\n'
        '[adversary]\ngains = ["bayes-risk", "shannon"]\n'
    )
    flat = " ".join(sievert("design", path).stdout.split())
    assert "2 groups of inputs, each by itself: two inputs (Fernandes, Thm 6.14)" in flat
    assert "wrong guess: 75.0% → 26.9%, uncertainty: 2 bits → 0.84 bits" in flat
    assert sievert("audit", tmp_path / "blocks-optimal.toml").returncode == 0
    wrong = path.read_text().replace('loss = "bayes-risk"', 'loss = "absolute"')
    path.write_text(wrong)
    assert "the value 'flu' is not a number" in sievert("design", path, "--force").stderr


def test_much_worse_is_said_in_times(sievert: Sievert, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(
        'version = 1\n[policy]\nvalues = { range = [0, 39] }\nsecrets = "line"\n'
        '[mechanism]\nkind = "truncated-geometric"\neps = 1.0\n[use]\nloss = "absolute"\n'
    )
    flat = " ".join(sievert("design", path).stdout.split())
    assert "times as much" in flat.split("Randomised response: loses")[1].split(".  ")[0]
    assert "Exponential: loses" in flat and "% more" in flat.split("Exponential: loses")[1][:40]


def test_noise_for_a_table_claims_no_channel(sievert: Sievert, tmp_path: Path) -> None:
    """Only a TOML file is written, so a table of that name beside it is no obstacle and is left alone."""
    text = Path("examples/release/household-sizes.toml").read_text(encoding="utf-8")
    (tmp_path / "sizes.toml").write_text(text, encoding="utf-8")
    (tmp_path / "sizes-optimal.csv").write_text("mine", encoding="utf-8")
    done = sievert("design", tmp_path / "sizes.toml")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sizes-optimal.csv").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "sizes-optimal.npz").exists() and "sizes-optimal.toml" in done.stdout


@pytest.mark.parametrize("option", [[], ["--gap", "0.2"]])
def test_places_without_symmetry_within_a_gap(sievert: Sievert, tmp_path: Path, option: list[str]) -> None:
    rng = np.random.default_rng(4)
    places = rng.random((104, 2)) * 6
    points = "\n".join(f"p{k},{x:.3f},{y:.3f}" for k, (x, y) in enumerate(places))
    (tmp_path / "points.csv").write_text(f"place,x,y\n{points}\n", encoding="utf-8")
    file = tmp_path / "town.toml"
    file.write_text(
        'version = 1\n[policy]\nsecrets = { metric = "euclidean", points = "points.csv" }\n'
        '[query]\nkind = "record"\n[mechanism]\nkind = "exponential"\neps = 0.5\n'
        f'[use]\nloss = "distance"\n{"" if option else "gap = 0.2"}\n',
        encoding="utf-8",
    )
    done = sievert("design", file, "--json", *option)
    assert done.returncode == 0, done.stderr
    best = json.loads(done.stdout)["found"]["optimal"]
    assert "interior point" in best["method"] and 0 < best["gap"] <= 0.2 * best["loss"]


def test_points_that_coincide_are_designed_audited_and_explained(sievert: Sievert, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("stop,x,y\na,0,0\nb,1,0\nc,0,0\nd,0,2\n", encoding="utf-8")
    (tmp_path / "people.csv").write_text("stop,people\na,3\nb,0\nc,5\nd,2\n", encoding="utf-8")
    file = tmp_path / "stops.toml"
    file.write_text(
        'version = 1\n[policy]\nsecrets = { metric = "euclidean", points = "points.csv" }\n'
        '[query]\nkind = "record"\n[mechanism]\nkind = "exponential"\neps = 1.0\n'
        '[use]\nloss = "distance"\n[adversary]\nprior = "people.csv"\n',
        encoding="utf-8",
    )
    done = sievert("design", file)
    assert done.returncode == 0, done.stderr
    assert "1 inputs at distance 0 from others are answered as these are" in " ".join(done.stdout.split())
    for question in ("audit", "limits", "explain"):
        asked = sievert(question, tmp_path / "stops-optimal.toml")
        assert asked.returncode == 0, asked.stderr
