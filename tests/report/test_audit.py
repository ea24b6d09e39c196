"""The audit: its numbers, its sentences, its page."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.files import Scenario, load_scenario
from sievert.report.html import audit_figures, audit_html
from sievert.report.text import audit_lines, headline

EXAMPLES = sorted(Path("examples").glob("*.toml"))


def written(folder: Path, text: str) -> Scenario:
    (folder / "file.toml").write_text(text)
    return load_scenario(folder / "file.toml")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_keep_their_promise(path: Path) -> None:
    scenario = load_scenario(path)
    result = sv.audit(scenario)
    assert result.passed
    assert json.loads(json.dumps(result.to_dict()))["satisfied"] is True
    page = audit_html(scenario, result)
    assert headline(result).split(":")[0] in page
    assert page.count('class="plotly-graph-div"') == 3
    assert "<script src=" not in page


def test_the_count_is_the_attack_on_one_household() -> None:
    """Given the others, a household moves the count by at most one: a two-row channel."""
    scenario = load_scenario(Path("examples/census-count.toml"))
    result = sv.audit(scenario)
    channel = scenario.channel.matrix
    pairs = [
        sum(max(2 / 5 / 2 * channel[s + 1, z], 1 / 5 * channel[s, z]) for z in range(101)) for s in range(100)
    ]
    assert result.record.after == pytest.approx(max(pairs), rel=1e-12)
    assert result.record.before == pytest.approx(0.2)
    assert float(result.database.factor) == pytest.approx(channel.max(axis=0).sum())


def test_repeated_releases_match_the_exact_channel_for_two_values(tmp_path: Path) -> None:
    scenario = written(
        tmp_path,
        """
        version = 1
        policy = { values = ["yes", "no"] }
        mechanism = { kind = "randomised-response", eps = 1.0 }
        adversary = { observations = 4 }
        """,
    )
    result = sv.audit(scenario)
    from sievert.channels.composition import repeated

    exact = float(sv.posterior_vulnerability(repeated(scenario.channel, 4)))
    assert exact <= result.repeated_guess <= math.exp(4) / (1 + math.exp(4)) + 1e-12
    assert result.repeated_eps == pytest.approx(4.0)


def test_a_broken_promise_is_found_with_its_witness(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\na,3/4,1/4\nb,1/4,3/4\n")
    scenario = written(
        tmp_path,
        'version = 1\npolicy = { values = ["a", "b"] }\nmechanism = { matrix = "c.csv", eps = 1.0 }\n',
    )
    result = sv.audit(scenario)
    assert not result.passed
    assert result.epsilon.nats == pytest.approx(math.log(3))
    assert (result.epsilon.pair, result.epsilon.output, result.epsilon.exact) == (("a", "b"), "x", 3)
    text = " ".join(sentence for _, sentences in audit_lines(result) for sentence in sentences)
    assert "NO: it claims ε = 1 but only satisfies ε = 1.09861" in text
    assert "3 times as likely for 'a' as for 'b'" in text


def test_infinite_epsilon_is_said(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\na,1,0\nb,1/4,3/4\n")
    result = sv.audit(
        written(tmp_path, 'version = 1\npolicy = { values = ["a", "b"] }\nmechanism = { matrix = "c.csv" }\n')
    )
    assert not result.satisfied
    assert json.loads(json.dumps(result.to_dict()))["epsilon"]["nats"] == "inf"
    assert any("no ε is large enough" in s for _, sentences in audit_lines(result) for s in sentences)


@pytest.mark.parametrize(
    "limit, passed",
    [("guess = 0.74", False), ("guess = 0.76", True), ("bits = 0.5", False), ("eps = 1.2", True)],
)
def test_accept(tmp_path: Path, limit: str, passed: bool) -> None:
    scenario = written(
        tmp_path,
        f"""
        version = 1
        policy = {{ values = ["yes", "no"] }}
        mechanism = {{ kind = "randomised-response", alpha = "1/3" }}
        accept = {{ {limit} }}
        """,
    )
    assert sv.audit(scenario).passed is passed


def test_odds_within_a_radius() -> None:
    """Fernandes Sec 3.2: within radius r belief in the truth grows at most e^(eps r) times."""
    result = sv.audit(load_scenario(Path("examples/town-places.toml")))
    for radius, factor in result.radii:
        assert factor == pytest.approx(math.exp(4 * radius), rel=1e-9)


def test_figures_carry_the_numbers() -> None:
    scenario = load_scenario(Path("examples/survey-response.toml"))
    heatmap, beliefs, curve = (figure for _, figure in audit_figures(scenario, sv.audit(scenario)))
    assert np.allclose(np.array(heatmap.data[0].z, dtype=float), scenario.channel.matrix)
    assert np.allclose(np.array(beliefs.data[1].y, dtype=float), [1 / 2, 1 / 6, 1 / 6, 1 / 6])
    eps = np.array(curve.data[1].x, dtype=float)
    assert np.allclose(np.array(curve.data[1].y, dtype=float), np.log2(4 * np.exp(eps) / (np.exp(eps) + 3)))


def test_belief_plot_refuses_impossible_output() -> None:
    channel = sv.Channel([[1, 0], [0, 1]])
    with pytest.raises(sv.SievertError, match="probability 0"):
        sv.plots.beliefs(channel, sv.priors.point(2, 0), output=1)
