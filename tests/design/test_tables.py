"""Designs for tables and sums: every error and leak against closed forms, brute force and the spec."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest

import sievert as sv
from sievert.channels import GaussianLaw, StaircaseLaw
from sievert.design import TableDesign, TableOption, noise_for
from sievert.errors import MechanismError, QueryError


def option(found: TableDesign, name: str) -> TableOption:
    return next(item for item in found.options if item.name.startswith(name))


def test_large_sensitivity() -> None:
    """Δ = 3, ε = 3 on 0…30: geometric 0.807, optimum 0.476 (issue 17); the staircase comes to 0.4852."""
    found = noise_for(sv.Policy.differential(range(4), 10), 3.0, sv.Query.sum())
    in_range = {item.name.split(",")[0]: item.in_range for item in found.options}
    assert in_range["geometric"] == pytest.approx(0.807494494, abs=5e-10)
    assert in_range["staircase"] == pytest.approx(0.485199336, abs=5e-10)
    assert in_range["optimum by linear program"] == pytest.approx(0.476296261, abs=5e-10)
    assert found.optimum is not None and found.optimum.certificate.verify()
    assert found.best == "staircase" and option(found, "staircase").optimal
    assert not option(found, "geometric").optimal
    assert option(found, "geometric").optimality == "no proof of optimality"
    proof = found.certificate
    assert proof is not None and proof.verify()
    assert option(found, "discrete Gaussian").eps == math.inf
    assert all(item.eps <= 3 * (1 + 1e-9) for item in found.options if math.isfinite(item.eps))


@pytest.mark.parametrize(
    ("cells", "eps", "releases", "guess", "geometric_sd", "gaussian_sd", "radii"),
    # Spec budgets-and-statistics §2: at equal guess, replace histogram; ε is twice ε′.
    [
        (12, 0.5, 1, 0.106960164, 5.642, 6.307, (12, 12)),
        (12, 0.5, 52, 0.575237886, 5.642, 4.016, (12, 8)),
        (5, 1.0, 1, 0.310266806, 2.799, 2.374, (6, 5)),
        (100, 2.0, 1, 0.027182818, 1.357, 2.317, (3, 5)),
    ],
)
def test_gaussian_noise_of_the_same_guess(
    cells: int,
    eps: float,
    releases: int,
    guess: float,
    geometric_sd: float,
    gaussian_sd: float,
    radii: tuple[int, int],
) -> None:
    policy = sv.Policy.differential([f"c{i}" for i in range(cells)], 1000)
    found = noise_for(policy, eps, sv.Query.histogram(), releases=releases)
    plain, normal = option(found, "geometric"), option(found, "discrete Gaussian")
    assert plain.repeated == pytest.approx(guess, abs=1e-9) and plain.repeated_exact
    assert normal.repeated == pytest.approx(guess, rel=1e-5) and normal.repeated <= plain.repeated
    assert plain.sd == pytest.approx(geometric_sd, abs=6e-4)
    assert normal.sd == pytest.approx(gaussian_sd, abs=6e-4)
    assert (plain.radius, normal.radius) == radii
    assert "geometric noise" in found.missing["staircase"]
    assert "no proof of optimality" in found.missing["optimum"]


def test_what_the_policy_saves() -> None:
    """Threshold 5 of 100 values: noise for 5 steps, where any two values would need 99."""
    policy = sv.Policy(sv.secrets.threshold(range(100), 5), 1000)
    found = noise_for(policy, 0.5, sv.Query.sum())
    own, everyone = option(found, "geometric"), option(found, "geometric for any two values")
    assert everyone.sd / own.sd == pytest.approx(99 / 5, rel=1e-2)  # type: ignore[operator]
    assert everyone.eps == pytest.approx(0.5 * 5 / 99, rel=1e-12)
    assert found.best == "staircase"
    noise = option(found, "staircase").noise
    assert noise is not None and noise.law == StaircaseLaw(Fraction(1, 2), 5)


def test_a_sum_over_150001_values() -> None:
    found = noise_for(sv.Policy.differential(range(150_001), 1000), 1.0, sv.Query.sum())
    plain, stairs = option(found, "geometric"), option(found, "staircase")
    assert plain.after == pytest.approx(9.99993333376e-06, rel=1e-9)  # spec releases-without-a-list §2
    assert stairs.mean_error == pytest.approx(150_000 * math.exp(0.5) / math.expm1(1), rel=1e-4)
    assert stairs.mean_error < plain.mean_error  # type: ignore[operator]


def test_plain_data_and_words() -> None:
    found = noise_for(sv.Policy.differential(["a", "b"], 50), 1.0, sv.Query.histogram(), releases=2)
    content = json.loads(json.dumps(found.to_dict()))
    assert content["best"] == found.best == "geometric" and content["optimum"] is None
    assert {"sd", "mean_error", "radius", "eps", "after", "repeated"} <= set(content["options"][0])
    assert "noise" not in content["options"][0]
    assert str(found).startswith("With ε = 1, geometric errs least of the noise that keeps it: by ")
    assert "<table>" in found._repr_html_() and "95.0% radius" in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps": 0}, "ε is 0, so there is no noise to design"),
        ({"eps": -1.0}, "eps is -1"),
        ({"releases": 0}, "releases is 0"),
        ({"confidence": 1.0}, "confidence is 1.0; it must be between 0 and 1"),
        ({"policy": 3}, "policy is 3"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    given = {"policy": sv.Policy.differential(range(3), 5), "eps": 1.0, "query": sv.Query.sum(), **arguments}
    with pytest.raises(MechanismError, match=message):
        noise_for(**given)
    with pytest.raises(QueryError, match="no table over all records"):
        noise_for(sv.Policy.local(["a", "b"]), 1.0, sv.Query.record())


@pytest.mark.parametrize("eps", [0.0, 0.5])
def test_an_answer_that_needs_no_noise_says_so(eps: float) -> None:
    """No ε helps where nothing that is hidden changes the answer."""
    known = sv.Policy.blowfish(sv.secrets.complete(5), 3, permitted=sv.constraints.total(6))
    apart = sv.Policy.blowfish(sv.secrets.partition([[0, 1], [2, 3]]), 4)
    cases = [
        (known, sv.Query.sum(), "databases that are possible"),
        (apart, sv.Query.count([0, 1]), "values"),
    ]
    for policy, query, words in cases:
        with pytest.raises(MechanismError, match=f"no two {words}.*keeps every ε; publish it") as problem:
            noise_for(policy, eps, query)
        assert "eps above 0" not in str(problem.value)


def test_the_matched_sigma_is_a_mechanism_of_a_file() -> None:
    found = noise_for(sv.Policy.differential(["a", "b", "c"], 50), 1.0, sv.Query.histogram())
    normal = option(found, "discrete Gaussian")
    assert normal.mechanism is not None and normal.noise is not None
    assert normal.noise.law == GaussianLaw(Fraction(str(normal.mechanism["sigma"])))


def test_repeated_guesses_stay_below_what_their_eps_allows() -> None:
    policy = sv.Policy.differential(range(30), 50)
    found = sv.design.noise_for(policy, 1.0, sv.Query.sum(), releases=3)
    allowed = sv.record_leakage(3.0, policy).after
    kept = [option for option in found.options if option.eps <= 1 + 1e-12 and option.noise is not None]
    assert len(kept) >= 2
    assert all(option.after <= option.repeated <= allowed * (1 + 1e-12) for option in kept)


@pytest.mark.parametrize("eps", [5e-324, 1e-310, 1e-160, 1e300, 1.7e308])
def test_an_eps_beyond_all_counting_is_refused(eps: float) -> None:
    """Errors of such noise are no floats: the least positive ε ended in a domain error."""
    with pytest.raises(MechanismError, match=r"eps is .*; noise is designed for an ε from 1e-100 to 1e100"):
        noise_for(sv.Policy.differential(2, 2), eps, sv.Query.sum(), releases=2)


@pytest.mark.parametrize(("eps", "guess"), [(1e-100, 1 / 2), (1e5, 1.0), (1e100, 1.0)])
def test_the_least_and_the_largest_eps_have_a_design(eps: float, guess: float) -> None:
    found = noise_for(sv.Policy.differential(2, 2), eps, sv.Query.sum(), releases=2)
    assert found.chosen.after == found.chosen.repeated == guess
    assert found.optimum is not None and found.optimum.certificate.verify()


def test_more_releases_than_any_mechanism_can_be_weighed_for_are_refused() -> None:
    with pytest.raises(MechanismError, match=r"geometric: .*ask for fewer releases"):
        noise_for(sv.Policy.differential(2, 10**6), 1e-8, sv.Query.sum(), releases=10**9)


def test_errors_of_answers_that_are_hardly_floats() -> None:
    found = noise_for(sv.Policy.differential([0, 1e300], 2), 30.0, sv.Query.sum())
    best = option(found, "optimum")
    assert best.sd is not None and 0 < best.sd < 1e300
