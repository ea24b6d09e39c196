"""Several releases of a promise by distance: what is reached is said to be, and bounds are bounds."""

import math

import pytest

import sievert as sv
from sievert.files import load_policy_scenario
from sievert.observations import repeated_guess
from sievert.questions.explain import explain_file
from sievert.questions.limits import limits_of
from sievert.report.limits import lines

FILE = """
version = 1
[policy]
values = [0, 1, 2]
secrets = {secrets}
[query]
kind = "record"
[mechanism]
kind = "truncated-geometric"
eps = 1.0
[adversary]
observations = 5
"""


def test_the_same_promise_has_the_same_answer():
    by_distance = sv.explain(1.0, releases=5, policy=sv.Policy.metric(sv.metrics.line(3)))
    by_edges = sv.explain(1.0, releases=5, policy=sv.Policy(sv.secrets.line(3)))
    assert by_distance.after == pytest.approx(by_edges.after, rel=1e-12)
    assert by_distance.after == pytest.approx(0.8340099714170542, rel=1e-9)
    assert not by_distance.exact
    # One release reaches less, and adding up ε allows 99.1 %.
    assert by_distance.reached == pytest.approx(0.6414114381733397, rel=1e-9)


@pytest.mark.parametrize("secrets", ['{ metric = "line" }', '"line"'])
def test_the_mechanism_of_a_file_may_reach_it(tmp_path, secrets):
    (tmp_path / "file.toml").write_text(FILE.format(secrets=secrets))
    found = explain_file(load_policy_scenario(tmp_path / "file.toml")).explanation
    assert found.exact
    assert found.after == pytest.approx(0.8340099714170542, rel=1e-9)


def test_a_majority_of_five_is_all_that_two_values_show():
    truth = math.e / (1 + math.e)
    majority = sum(math.comb(5, k) * truth**k * (1 - truth) ** (5 - k) for k in range(3, 6))
    found = sv.explain(1.0, releases=5, policy=sv.Policy.metric(sv.metrics.line(2)))
    assert found.after == pytest.approx(majority, rel=1e-12)


@pytest.mark.parametrize("points", [[0.0, 1.0, 3.0], [0.0, 0.1, 0.2, 0.3], [0.0, 2.0, 4.0]])
@pytest.mark.parametrize("releases", [2, 6])
def test_no_channel_exceeds_the_bound(points, releases):
    """The exponential channel, and the one that leaks most in one release, after all releases."""
    metric = sv.metrics.line(points)
    policy = sv.Policy.metric(metric)
    found = sv.explain(1.5, releases=releases, policy=policy)
    worst = sv.worst_leakage(metric, 1.5).mechanism
    assert worst is not None
    for channel in (sv.mechanisms.exponential(metric, 0.75), worst):
        own = repeated_guess(channel, sv.Query.record().answers(policy), releases, None)
        assert own.guess <= found.after + 1e-9
    assert found.reached <= found.after


def test_a_ball_after_several_releases_is_a_bound():
    policy = sv.Policy.metric(sv.metrics.line(7))
    one = sv.explain(1.0, policy=policy, within=1, centre=3).near
    five = sv.explain(1.0, releases=5, policy=policy, within=1, centre=3).near
    assert one.exact
    assert not five.exact


def test_a_large_map_whose_noise_falls_slowly_says_that_its_bound_has_no_certificate(tmp_path):
    (tmp_path / "map.toml").write_text(
        'version = 1\n[policy.secrets]\nmetric = "euclidean"\n'
        "region = { south = 52.48, west = 13.34, north = 52.52, east = 13.40, cell = 14 }\n"
        '[mechanism]\nkind = "planar-geometric"\neps = 0.007\n'
    )
    scenario = load_policy_scenario(tmp_path / "map.toml")
    found = limits_of(scenario)
    assert found.verified == ""
    assert "sums over its cells" in found.uncertified
    assert "None: the bound was computed" in dict(lines(found))["Certificate"][0]
    explained = explain_file(scenario).explanation
    assert explained.certificate is None
    assert "sums over its cells" in explained.uncertified


def test_a_proved_limit_has_no_excuse(tmp_path):
    (tmp_path / "file.toml").write_text(FILE.format(secrets='"line"'))
    found = limits_of(load_policy_scenario(tmp_path / "file.toml"))
    assert found.verified
    assert found.uncertified is None
