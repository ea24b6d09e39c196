"""Mechanisms for surveys: the variance of estimated frequencies, in closed form and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.design import survey_design
from sievert.errors import FileError, MechanismError, SievertError
from sievert.estimation import estimate, frequency_variance
from sievert.files import load_policy_scenario
from sievert.questions.design import ResponseDesign, design_of
from sievert.questions.estimate import estimate_of
from sievert.testing import channels


def option(found, start):
    return next(item for item in found.options if item.name.startswith(start))


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("eps", [0.1, 1.0, 3.0])
def test_randomised_response_has_its_textbook_variance(size, eps):
    truth = math.exp(eps) / (math.exp(eps) + size - 1)
    lie = (1 - truth) / (size - 1)
    expected = (truth * (1 - truth) + (size - 1) * lie * (1 - lie)) / (truth - lie) ** 2
    found = survey_design(sv.metrics.discrete(size), eps)
    assert option(found, "randomised").variance == pytest.approx(expected, rel=1e-9)
    # Whatever the frequencies.
    prior = np.arange(1.0, size + 1) / np.arange(1.0, size + 1).sum()
    channel = sv.mechanisms.randomised_response(size, eps)
    assert frequency_variance(channel, prior) == pytest.approx(expected, rel=1e-9)


def test_subsets_keep_eps_and_beat_the_response():
    """Ye and Barg 2018: subsets of about k/(e^ε + 1) values."""
    found = survey_design(sv.metrics.discrete(8), 0.5)
    best = found.chosen
    assert found.best == "subsets of 3 values"
    assert best.eps == pytest.approx(0.5, rel=1e-12)
    # (p(1-p) + 7q(1-q))/(p-q)² with p = 3e^ε/(3e^ε + 5), q = (3-p)/7.
    p = 3 * math.exp(0.5) / (3 * math.exp(0.5) + 5)
    q = (3 - p) / 7
    assert best.variance == pytest.approx((p * (1 - p) + 7 * q * (1 - q)) / (p - q) ** 2, rel=1e-9)
    assert best.variance < option(found, "randomised").variance
    assert not found.proved


@given(channels(), st.integers(0, 2**32 - 1))
def test_no_inverse_does_better(channel, seed):
    """Cramér and Rao: any unbiased linear estimate has at least this variance."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(channel.shape[0]))
    try:
        least = frequency_variance(channel, prior)
    except SievertError:
        return
    matrix = channel.matrix.astype(float)
    inverse = np.linalg.pinv(matrix)
    null = np.eye(matrix.shape[1]) - np.linalg.pinv(matrix) @ matrix
    other = inverse + null @ rng.normal(size=inverse.shape)
    if not np.allclose(matrix @ other, np.eye(len(matrix)), atol=1e-6):
        return
    for found in (inverse, other):
        variance = float(((prior @ matrix) @ found**2).sum()) - 1
        assert least <= variance + 1e-6 * max(1.0, abs(variance))


def test_the_variance_is_what_estimates_have():
    """2000 surveys of 400 reports; the mean of χ²-like errors strays by 5 standard errors once in 10^6."""
    channel, truth = sv.mechanisms.truncated_geometric(4, 1.0), np.array([160, 120, 80, 40])
    rng, reports = np.random.default_rng(3), 400
    people = np.repeat(np.arange(4), truth)
    errors = []
    for _ in range(2000):
        counts = np.bincount(np.asarray(channel.sample(people.tolist(), rng)), minlength=4)
        found = estimate(counts.tolist(), channel, "inversion", interval="none").distribution
        errors.append(((found - truth / reports) ** 2).sum())
    expected = frequency_variance(channel, truth / reports) / reports
    assert abs(np.mean(errors) - expected) < 5 * np.std(errors) / math.sqrt(2000)


def test_what_cannot_be_inverted_says_what_looks_alike():
    blurred = sv.Channel([[1, 0], ["1/2", "1/2"], ["1/2", "1/2"]], inputs=["a", "b", "c"])
    with pytest.raises(SievertError, match="of 'b' and 'c' only the total"):
        frequency_variance(blurred)


def test_too_many_sets_for_a_file_are_said():
    found = survey_design(sv.metrics.discrete(30), 0.5)
    assert found.options[0].mechanism is None
    assert found.chosen.mechanism is not None
    assert "no file lists so many sets" in str(found)


@pytest.mark.parametrize("eps", [0.0, -1.0, math.inf, math.nan])
def test_senseless_eps_is_refused(eps):
    with pytest.raises(MechanismError, match="eps"):
        survey_design(sv.metrics.discrete(3), eps)


def test_one_value_is_refused():
    with pytest.raises(MechanismError, match="one value only"):
        survey_design(sv.metrics.discrete(1), 1.0)


SURVEY = """
version = 1
[policy]
values = {values}
{policy}
[query]
{query}
[mechanism]
kind = "randomised-response"
eps = 0.5
[use]
loss = "estimation-variance"
{use}
"""
EIGHT = '["walk", "bike", "bus", "tram", "train", "car", "taxi", "other"]'


def survey(folder, values=EIGHT, policy="", query='kind = "record"', use="reports = 2000"):
    (folder / "survey.toml").write_text(SURVEY.format(values=values, policy=policy, query=query, use=use))
    return load_policy_scenario(folder / "survey.toml")


def test_a_file_is_designed_audited_and_estimated_from(tmp_path):
    scenario = survey(tmp_path)
    result = design_of(scenario)
    assert isinstance(result, ResponseDesign)
    assert (result.found.best, result.found.reports) == ("subsets of 3 values", 2000)
    assert result.certificate is None
    for path, content in result.files(scenario, tmp_path / "best.toml").values():
        path.write_bytes(content)
    best = load_policy_scenario(tmp_path / "best.toml")
    assert best.epsilon.nats == pytest.approx(0.5, rel=1e-9)
    # Reports through it are read back, and the estimate is as good as promised.
    truth = np.array([400, 300, 300, 200, 200, 300, 100, 200])
    people = np.repeat(best.channel.inputs, truth).tolist()
    reports = best.channel.sample(people, 5).tolist()
    (tmp_path / "reports.csv").write_text("\n".join(["report", *map(str, reports), ""]))
    found = estimate_of(
        best, reports=[tmp_path / "reports.csv"], column="report", method="inversion", interval="none"
    )
    off = float(np.sqrt(np.mean((found.estimate.distribution - truth / 2000) ** 2)))
    assert off < 2.5 * result.found.chosen.standard_error


@pytest.mark.parametrize(
    "change, message",
    [
        ({"query": 'kind = "histogram"', "policy": "records = 9"}, "is for surveys, in which every record"),
        ({"use": 'prior = "unknown"'}, '"unknown" goes with a loss of one release'),
        ({"use": "reports = 0"}, "reports"),
    ],
)
def test_what_is_no_survey_is_refused(tmp_path, change, message):
    with pytest.raises(FileError, match=message):
        design_of(survey(tmp_path, **change))


def test_reports_belong_to_surveys(tmp_path):
    (tmp_path / "file.toml").write_text(
        SURVEY.format(values=EIGHT, policy="", query='kind = "record"', use="reports = 5").replace(
            "estimation-variance", "bayes-risk"
        )
    )
    with pytest.raises(FileError, match="reports goes with loss"):
        load_policy_scenario(tmp_path / "file.toml")
