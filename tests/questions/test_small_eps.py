"""Very small ε, as a promise for each unit of a fine metric has it: nothing is decided by rounding."""

import math
from fractions import Fraction

import pytest

import sievert as sv
from sievert.channels import StaircaseLaw
from sievert.files import load_policy_scenario

FILE = """
version = 1
[policy]
values = {values}
secrets = "complete"
records = 50
[query]
{query}
[mechanism]
kind = "{kind}"
eps = {eps}
[adversary]
observations = {observations}
"""
KINDS = ["geometric", "truncated-geometric", "staircase", "exponential"]


def audited(folder, kind, eps, query='kind = "sum"', values="[0, 1, 3]", observations=1):
    file = folder / "file.toml"
    file.write_text(FILE.format(values=values, query=query, kind=kind, eps=eps, observations=observations))
    return sv.audit(load_policy_scenario(file))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eps", ["1e-4", "1e-6", "1e-9", "1e-12"])
def test_a_kept_promise_is_kept_however_small(tmp_path, kind, eps):
    found = audited(tmp_path, kind, eps)
    assert found.satisfied
    if kind != "exponential":
        assert found.epsilon.nats == pytest.approx(float(eps), rel=1e-12)


def test_a_broken_promise_of_nearly_the_same_eps_shows_its_digits(tmp_path):
    (tmp_path / "matrix.csv").write_text("input,x,y\na,0.5000005,0.4999995\nb,0.4999995,0.5000005\n")
    (tmp_path / "file.toml").write_text(
        'version = 1\npolicy = { values = ["a", "b"] }\n'
        'mechanism = { matrix = "matrix.csv", eps = 0.00000199999 }\n'
    )
    found = sv.audit(load_policy_scenario(tmp_path / "file.toml"))
    assert not found.satisfied
    claim, satisfied = found.promise.claim, found.promise.satisfied
    assert claim != satisfied


@pytest.mark.parametrize("kind", KINDS[:3])
def test_growth_below_rounding_is_a_bound(tmp_path, kind):
    count = 'kind = "count"\nwhere = [1]'
    found = audited(tmp_path, kind, "1e-12", count, "[0, 1]", 1000)
    assert not found.repeated_exact
    # The exact growth is 6.3063·ε, by the same count at ε = 10^-6.
    grown = (found.repeated_guess - 0.5) / 1e-12
    assert 6.3 < grown < 260
    larger = audited(tmp_path, kind, "1e-6", count, "[0, 1]", 1000)
    assert larger.repeated_exact
    assert (larger.repeated_guess - 0.5) / 1e-6 == pytest.approx(6.3063, rel=1e-4)


@pytest.mark.parametrize("eps", ["1e-100", "1e-300"])
def test_next_to_no_eps_is_next_to_no_leak(tmp_path, eps):
    found = audited(tmp_path, "staircase", eps)
    assert found.satisfied
    assert found.record.after == pytest.approx(1 / 3)


@pytest.mark.parametrize("eps", [1e-300, 1e-91, 1e-80, 1e-12, 1e-6])
@pytest.mark.parametrize("width", [1, 2, 7, 1000])
def test_stairs_of_tiny_eps_are_an_exponential(eps, width):
    law = StaircaseLaw(Fraction(eps), width)
    assert 1 <= law.top <= width
    # E|z| → Δ/ε and the deviation → √2·Δ/ε.
    assert law.mean_error == pytest.approx(width / eps, rel=2e-6 * width)
    assert law.deviation == pytest.approx(math.sqrt(2) * width / eps, rel=2e-6 * width)


@pytest.mark.parametrize("eps", [0.01, 0.3, 1.0, 4.0, 12.0, 60.0])
@pytest.mark.parametrize("width", [1, 2, 3, 8, 31])
def test_the_best_stair_is_the_best(eps, width):
    best = StaircaseLaw(Fraction(eps), width)
    others = [StaircaseLaw(Fraction(eps), width, top).mean_error for top in range(1, width + 1)]
    assert best.mean_error == pytest.approx(min(others), rel=1e-12)
