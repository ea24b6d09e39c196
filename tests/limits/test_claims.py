"""Every worked number of the spec on claims, the closed forms against the program, and the laws."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import log_ndtr
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import SievertError
from sievert.limits.promises import ApproximateClaim, GaussianClaim, RenyiClaim, ZeroConcentratedClaim
from sievert.spaces import graphs


def plain_program(
    size: int, edges: list[tuple[int, int]], eps: float, delta: float, weights: np.ndarray, outputs: int
) -> float:
    """The program of the spec, written out: column y guesses y modulo the number of values."""
    arcs = edges + [(b, a) for a, b in edges]
    unknowns = (size + len(arcs)) * outputs
    cost = np.zeros(unknowns)
    for y in range(outputs):
        cost[(y % size) * outputs + y] -= weights[y % size]
    rows, limits = [], []
    for k, (i, h) in enumerate(arcs):
        slack = (size + k) * outputs
        for y in range(outputs):
            row = np.zeros(unknowns)
            row[i * outputs + y], row[h * outputs + y], row[slack + y] = 1, -math.exp(eps), -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(unknowns)
        row[slack : slack + outputs] = 1
        rows.append(row)
        limits.append(delta)
    sums = np.zeros((size, unknowns))
    for i in range(size):
        sums[i, i * outputs : (i + 1) * outputs] = 1
    found = linprog(cost, np.array(rows), limits, sums, np.ones(size), method="highs")
    return -found.fun


def complete(size: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(size), 2))


@pytest.mark.parametrize(
    ("options", "after"),
    [
        ({"eps": math.log(3)}, 0.75),
        ({"eps": 1, "values": 5}, 0.404610),
        ({"eps": 1.2, "delta": 0.01}, 0.770840),
        ({"eps": 1, "delta": 0.02, "prior": [0.6, 0.3, 0.1]}, 0.664793666),
        ({"eps": 0.1, "releases": 10}, 0.561268),
        ({"eps": 0.5, "releases": 10}, 0.778526),
        ({"eps": 1, "releases": 5}, 0.875507),
    ],
)
def test_numbers_of_the_spec(options: dict[str, object], after: float) -> None:
    found = sv.explain(**options)
    assert found.after == pytest.approx(after, abs=6e-7)
    assert found.exact
    assert found.certificate.verify()


def test_naive_totals_are_worse() -> None:
    for eps, releases, naive in ((0.1, 10, 0.731059), (0.5, 10, 0.993307), (1, 5, 0.993307)):
        assert sv.explain(eps=eps * releases).after == pytest.approx(naive, abs=6e-7)
        assert sv.explain(eps=eps, releases=releases).after < naive


def test_individual_leakage_of_proposition_21() -> None:
    found = sv.explain(eps=1.35, values=3)
    assert found.bits == pytest.approx(0.982334, abs=1e-6)
    assert found.odds == pytest.approx(math.exp(1.35))


@pytest.mark.parametrize("size", [2, 3, 4, 6])
@pytest.mark.parametrize("copies", [1, 2])
def test_closed_form_against_the_program(size: int, copies: int) -> None:
    for eps, delta in ((0.0, 0.0), (0.7, 0.05), (2.0, 0.001), (1.0, 0.6)):
        weights = np.full(size, 1 / size)
        plain = plain_program(size, complete(size), eps, delta, weights, copies * size)
        assert sv.explain(eps, delta=delta, values=size).after == pytest.approx(plain, abs=1e-8)


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=5).filter(any),
    st.sampled_from([0.0, 0.3, 1.0, 3.0]),
    st.sampled_from([0.0, 0.01, 0.2, 0.9]),
)
def test_closed_form_for_any_prior(counts: list[int], eps: float, delta: float) -> None:
    prior = np.array(counts, dtype=float) / sum(counts)
    size = len(prior)
    plain = plain_program(size, complete(size), eps, delta, prior, size)
    found = sv.explain(eps=eps, delta=delta, prior=prior.tolist())
    assert found.after == pytest.approx(plain, abs=1e-8)
    assert found.before == pytest.approx(prior.max())


def test_revealing_is_not_the_worst_on_every_graph() -> None:
    """The closed form for complete graphs, δ + (1-δ)·V, is too low on a path with an uneven prior."""
    prior = np.array([0.108, 0.509, 0.383])
    path = graphs.star(3)
    pure = plain_program(3, [(0, 1), (0, 2)], 0.2, 0.0, prior, 3)
    exact = plain_program(3, [(0, 1), (0, 2)], 0.2, 0.1, prior, 3)
    assert exact > 0.1 + 0.9 * pure + 0.03
    found = sv.explain(eps=0.2, delta=0.1, policy=path, prior=prior.tolist())
    assert found.after == pytest.approx(exact, abs=1e-9)
    assert found.exact
    assert found.certificate.verify()


@pytest.mark.parametrize("seed", range(6))
def test_graphs_against_the_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 6))
    pairs = complete(size)
    edges = [pairs[k] for k in rng.choice(len(pairs), int(rng.integers(2, len(pairs) + 1)), replace=False)]
    prior = rng.dirichlet(np.ones(size))
    graph = sv.Graph(range(size), edges)
    for eps, delta in ((0.5, 0.1), (1.5, 0.01)):
        exact = plain_program(size, edges, eps, delta, prior, size)
        found = sv.explain(eps=eps, delta=delta, policy=graph, prior=prior.tolist())
        assert found.reached - 1e-9 <= exact <= found.after + 1e-9
        assert found.after - found.reached < 1e-6


def test_two_copies_of_each_output_do_not_help_on_a_path() -> None:
    edges = [(0, 1), (1, 2)]
    weights = np.array([0.2, 0.5, 0.3])
    assert plain_program(3, edges, 0.8, 0.05, weights, 6) == pytest.approx(
        plain_program(3, edges, 0.8, 0.05, weights, 3), abs=1e-8
    )


def test_monotone_in_every_parameter() -> None:
    for key, levels in {
        "eps": [0, 0.1, 0.5, 1, 2, 5, 50, math.inf],
        "delta": [0, 1e-9, 1e-3, 0.1, 0.7, 1],
        "releases": [1, 2, 3, 7, 30, 100],
    }.items():
        for values in (2, 3, 7):
            after = [sv.explain(**{"eps": 0.4, "values": values, key: level}).after for level in levels]
            assert all(a <= b + 1e-12 for a, b in itertools.pairwise(after)), (key, values, after)
    # More values: harder to guess, but more bits are lost.
    found = [sv.explain(eps=1, delta=0.01, values=values) for values in (2, 3, 5, 20, 1000)]
    assert all(a.after >= b.after for a, b in itertools.pairwise(found))
    assert all(a.bits <= b.bits for a, b in itertools.pairwise(found))
    noise = [sv.explain(sigma=sigma, values=4).after for sigma in (0.1, 0.5, 1, 2, 10)]
    assert all(a >= b for a, b in itertools.pairwise(noise))
    rhos = [sv.explain(rho=rho, values=4).after for rho in (0, 0.01, 0.1, 1, 10)]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(rhos))


@given(
    st.floats(0, 3),
    st.sampled_from([0.0, 1e-6, 0.01]),
    st.integers(1, 12),
    st.integers(2, 6),
)
def test_ends_are_ordered(eps: float, delta: float, releases: int, values: int) -> None:
    found = sv.explain(eps=eps, delta=delta, releases=releases, values=values)
    basic = sv.explain(releases * eps, delta=min(1.0, releases * delta), values=values).after
    assert found.before - 1e-12 <= found.reached <= found.after <= 1
    assert found.after <= basic + 1e-9
    assert found.advantage == pytest.approx(found.after - found.before)


def test_nothing_and_everything() -> None:
    assert sv.explain(eps=0).after == 0.5
    assert sv.explain(eps=0).odds == 1
    for promise_nothing in ({"eps": math.inf}, {"eps": 1, "delta": 1}, {"sigma": 0}, {"rho": math.inf}):
        found = sv.explain(**promise_nothing)
        assert found.after == 1
        assert math.isinf(found.odds)
        assert found.distinguishing == pytest.approx(1)
    assert sv.explain(sigma=math.inf, values=3).after == pytest.approx(1 / 3)
    one = sv.explain(eps=3, values=1)
    assert (one.before, one.after, one.odds, one.bits) == (1, 1, 1, 0)
    certain = sv.explain(eps=3, prior=[0, 1, 0])
    assert (certain.before, certain.after, certain.odds) == (1, 1, 1)
    # Impossible values do not count.
    assert sv.explain(eps=1, prior=[0.5, 0, 0.5]).after == pytest.approx(sv.explain(eps=1).after)
    assert sv.explain(eps=0.3, releases=6, prior=[0.5, 0, 0.5]).exact


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"eps": 1, "rho": 1},
        {"eps": -1},
        {"eps": math.nan},
        {"eps": "1"},
        {"eps": True},
        {"eps": 1, "delta": 1.5},
        {"eps": 1, "delta": -0.1},
        {"eps": 1, "delta": math.nan},
        {"rho": 1, "delta": 1.5},
        {"eps": 1, "values": 0},
        {"eps": 1, "values": 2.5},
        {"eps": 1, "values": ["a", "a"]},
        {"eps": 1, "values": 3, "prior": [0.5, 0.5]},
        {"eps": 1, "prior": [0.5, 0.6]},
        {"eps": 1, "releases": 0},
        {"eps": 1, "releases": 1.5},
        {"eps": 1, "releases": 10**9},
        {"sigma": 1, "sensitivity": -1},
        {"renyi": {}},
        {"renyi": {0.5: 1}},
        {"renyi": {2: -1}},
        {"eps": 1, "policy": "x"},
        {"eps": 1, "within": -1},
        {"rho": 1, "within": 1},
        {"eps": 1, "centre": 3},
    ],
)
def test_silly_inputs(options: dict[str, object]) -> None:
    with pytest.raises(SievertError):
        sv.explain(**options)


def test_many_values_and_many_releases_are_enclosed() -> None:
    for eps, values, releases in ((0.01, 5, 100_000), (0.1, 50, 2000), (0.5, 1000, 400), (1.0, 3, 20)):
        found = sv.explain(eps=eps, values=values, releases=releases)
        assert found.before < found.reached <= found.after
    # Enough releases tell everything, and both ends say so.
    assert sv.explain(eps=0.3, values=100, releases=3000).reached > 0.999


def test_gaussian_between_uneven_values() -> None:
    """Against the integral of the larger of the two weighted densities."""
    grid = np.linspace(-12, 13, 400_001)
    density = [np.exp(-((grid - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (0.0, 1.0)]
    exact = np.trapezoid(np.maximum(0.7 * density[0], 0.3 * density[1]), grid)
    assert sv.explain(sigma=1, prior=[0.7, 0.3]).after == pytest.approx(exact, abs=1e-9)


def test_a_simulated_simplex() -> None:
    found = sv.explain(sigma=1.5, values=4)
    rng = np.random.default_rng(5)
    corners = np.eye(4) / math.sqrt(2) / 1.5
    truth = rng.integers(0, 4, 200_000)
    seen = corners[truth] + rng.normal(size=(len(truth), 4))
    share = np.mean((seen @ corners.T).argmax(axis=1) == truth)
    # Five standard deviations of a share.
    room = 5 * math.sqrt(0.25 / len(truth))
    assert abs(share - found.after) < room
    assert found.exact


@pytest.mark.parametrize("prior", [None, [0.5, 0.2, 0.2, 0.1], [0.6, 0.0, 0.3, 0.1]])
def test_no_other_gaussian_answers_are_worse(prior: list[float] | None) -> None:
    """E max π·L over random answers within the sensitivity, and within any (ε, δ) of the claim."""
    found = sv.explain(sigma=0.7, values=4, prior=prior)
    weights = np.full(4, 0.25) if prior is None else np.array(prior)
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(20_000, 4))
    noise = np.concatenate([noise, -noise])
    for _ in range(20):
        answers = rng.normal(size=(4, 4)) / 0.7
        answers /= 0.7 * max(np.linalg.norm(a - b) for a in answers for b in answers)
        logs = noise @ answers.T - (answers**2).sum(axis=1) / 2
        seen = (np.exp(logs) * weights).max(axis=1)
        assert seen.mean() - 5 * seen.std() / math.sqrt(len(seen)) <= found.after
    for delta, eps in found.equivalents:
        assert found.after <= sv.explain(eps=eps, delta=delta, values=4, prior=prior).after


def test_gaussian_among_very_many_values() -> None:
    """Against adaptive quadrature of the same integral for equal priors, and no noise at all."""
    shift = 4 / math.sqrt(2)
    grid = np.linspace(shift - 12, shift + 12, 200_001)
    density = np.exp(-((grid - shift) ** 2) / 2 + (10**6 - 1) * log_ndtr(grid)) / math.sqrt(2 * math.pi)
    exact = np.trapezoid(density, grid)
    assert sv.explain(sigma=0.25, values=10**6).after == pytest.approx(exact, abs=1e-12)
    assert sv.explain(sigma=0, values=10**6).after == 1
    assert sv.explain(sigma=math.inf, prior=[0.6, 0.3, 0.1]).after == 0.6


def test_zcdp_and_renyi_bound_the_gaussian() -> None:
    for values in (2, 5):
        exact = sv.explain(sigma=2, values=values, releases=3)
        zcdp = sv.explain(rho=1 / 8, values=values, releases=3)
        curve = {a: a / 8 for a in (1.5, 2, 3, 5, 8, 16, 32)}
        renyi = sv.explain(renyi=curve, values=values, releases=3)
        assert exact.reached <= zcdp.after <= 1
        assert exact.reached <= renyi.after <= 1
        assert zcdp.after <= renyi.after + 1e-9
        assert not zcdp.exact


def test_policy_claims() -> None:
    line = sv.Policy.blowfish(sv.secrets.line(5), records=3)
    found = sv.explain(eps=1, policy=line)
    worst = sv.worst_leakage(line, 1, individual=True)
    assert found.after == pytest.approx(worst.exact.factor / 5)
    assert found.database.upper == pytest.approx(sv.worst_leakage(line, 1).exact.bits)
    complete_policy = sv.Policy.differential(5, records=50)
    assert (
        sv.explain(eps=1, delta=0.1, policy=complete_policy).after == sv.explain(1, delta=0.1, values=5).after
    )
    # Several releases: never worse than adding ε up.
    many = sv.explain(eps=0.3, releases=6, policy=line)
    assert many.after <= sv.explain(eps=1.8, policy=line).after + 1e-9
    assert many.reached >= sv.explain(eps=0.3, policy=line).after - 1e-9


def test_policies_too_large_for_the_program() -> None:
    line = sv.Policy.blowfish(sv.secrets.line(300), records=5)
    found = sv.explain(eps=1, delta=1e-6, policy=line)
    pure = sv.explain(eps=1, policy=line)
    assert pure.after <= found.reached * (1 + 1e-9)
    assert found.reached <= found.after < found.reached + 1e-9
    prior = np.full(300, 1 / 300)
    prior[7] += 0.1
    uneven = sv.explain(eps=1, policy=line, prior=(prior / prior.sum()).tolist())
    assert uneven.reached <= uneven.after < 1
    small = sv.Policy.blowfish(sv.secrets.line(5), records=3)
    whole = sv.explain(eps=1, delta=1e-6, policy=small).database
    assert sv.worst_leakage(small, 1).exact.bits <= whole.upper < sv.worst_leakage(small, 1).exact.bits + 1e-3


def test_public_knowledge() -> None:
    policy = sv.Policy.differential([0, 1, 2], 2, permitted=[(0, 0), (1, 2), (2, 1), (2, 2)])
    pure = sv.explain(eps=1, policy=policy)
    loose = sv.explain(eps=1, delta=0.1, policy=policy)
    worst = sv.worst_leakage(policy, 1, individual=True)
    assert pure.bits == pytest.approx(worst.upper.bits)
    assert loose.bits > pure.bits
    assert loose.certificate.verify()
    fixed = sv.Policy.differential([0, 1], 2, permitted=[(0, 1), (1, 0)])
    assert sv.explain(eps=1, policy=fixed).bits == 0


def test_within_a_radius() -> None:
    line = sv.metrics.line(7)
    found = sv.explain(eps=1, policy=line, within=2, centre=3)
    assert found.near.points == 5
    assert found.near.belief_factor == pytest.approx(math.exp(2))
    exact = sv.worst_leakage(line, 1, prior=[0, 1 / 5, 1 / 5, 1 / 5, 1 / 5, 1 / 5, 0])
    assert found.near.after == pytest.approx(exact.exact.factor / 5, abs=1e-9)
    worst = sv.explain(eps=1, policy=line, within=2)
    assert worst.near.after / worst.near.before >= found.near.after / found.near.before - 1e-12


def test_erratum_odds_within_a_radius() -> None:
    """Odds of a place other than the centre may change e^(2εr) times, not e^(εr): the ends of a line."""
    eps, radius = 1.0, 1.0
    channel = sv.mechanisms.truncated_geometric(3, eps=eps)
    matrix = np.asarray(channel.matrix, dtype=float)
    ratio = matrix[0, 0] / matrix[2, 0]
    assert ratio == pytest.approx(math.exp(2 * eps * radius))
    assert ratio > math.exp(eps * radius) * 1.5
    near = sv.explain(eps=eps, policy=sv.metrics.line(3), within=radius, centre=1).near
    assert near.odds_factor == pytest.approx(ratio)
    assert near.belief_factor == pytest.approx(math.exp(eps * radius))
    anywhere = sv.explain(eps=eps, within=radius, values=3)
    assert anywhere.after == pytest.approx(sv.explain(eps=2 * eps * radius, values=3).after)


def test_metric_claims_must_say_what_distance_does() -> None:
    with pytest.raises(SievertError, match="per unit of distance"):
        sv.explain(sigma=1, policy=sv.metrics.line(4))
    loose = sv.explain(eps=1, delta=0.05, policy=sv.metrics.line(4))
    pure = sv.explain(eps=1, policy=sv.metrics.line(4))
    assert pure.after < loose.after < 1
    assert loose.certificate.verify()


POLICIES = {
    "line": sv.Policy.blowfish(sv.secrets.line(4)),
    "one value": sv.Policy.local(["a"]),
    "two groups": sv.Policy.blowfish(sv.secrets.partition([["a", "b"], ["c"]])),
    "add-remove": sv.Policy.differential(["x", "y"], 2, "add-remove"),
    "discrete metric": sv.metrics.discrete(3),
    "public knowledge": sv.Policy.differential([0, 1, 2], 2, permitted=[(0, 0), (1, 2), (2, 1), (2, 2)]),
    "no neighbours": sv.Graph([0, 1], []),
    "many records": sv.Policy.differential(5, 1000),
}


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_claim_on_every_policy(name: str) -> None:
    for options in (
        {"eps": 0},
        {"eps": math.inf},
        {"eps": 0, "delta": 0.1},
        {"eps": 1, "delta": 1},
        {"eps": 0.5, "delta": 0.01, "releases": 3},
        {"sigma": 2},
        {"sigma": 0},
        {"rho": 0.1},
    ):
        found = sv.explain(**options, policy=POLICIES[name])
        assert found.before - 1e-12 <= found.reached <= found.after + 1e-12 <= 1 + 1e-9
        assert found.to_dict()["after"] == found.after


def test_records_of_a_metric_add_up() -> None:
    """Two records on a line of two points at distance 2: a database metric, not a graph of steps."""
    metric = sv.metrics.line([0, 2])
    policy = sv.Policy.metric(metric, records=2)
    loose = sv.explain(eps=0.5, delta=1e-9, policy=policy).database
    assert loose.upper == pytest.approx(sv.worst_leakage(policy, 0.5).exact.bits, abs=1e-6)


@pytest.mark.parametrize("values", [2, 5])
def test_backwards(values: int) -> None:
    eps = sv.weakest_claim(0.6, values=values)
    assert eps.value == pytest.approx(math.log(0.6 * (values - 1) / 0.4), rel=1e-9)
    assert eps.explanation.after <= 0.6 + 1e-12
    for solve, given_options in (
        ("delta", {"eps": 0.1}),
        ("rho", {}),
        ("sigma", {}),
        ("releases", {"eps": 0.05}),
        ("eps", {"delta": 1e-3, "releases": 4}),
    ):
        found = sv.weakest_claim(0.6, solve, values=values, **given_options)
        assert found.explanation.after <= 0.6 + 1e-12
        worse = {"releases": found.value + 1, "sigma": found.value / 1.01}.get(solve, found.value * 1.01)
        options = {**given_options, solve: int(worse) if solve == "releases" else worse}
        assert sv.explain(**options, values=values).after > 0.6


def test_backwards_at_the_ends() -> None:
    assert math.isinf(sv.weakest_claim(1.0).value)
    assert sv.weakest_claim(1.0, "sigma").value == 0
    assert "any ε" in str(sv.weakest_claim(1.0))
    path = sv.Policy.blowfish(sv.secrets.line(4))
    found = sv.weakest_claim(0.5, policy=path)
    assert found.value == pytest.approx(sv.largest_epsilon(path, guess=0.5).nats, rel=1e-9)
    for options in (
        {"guess": 0.4},
        {"guess": 0},
        {"guess": 2},
        {"guess": 0.6, "solve": "x"},
        {"guess": 0.6, "eps": 1},
        {"guess": 0.6, "solve": "delta"},
        {"guess": 0.6, "solve": "releases"},
        {"guess": 0.55, "solve": "releases", "eps": 3},
        {"guess": 0.5, "solve": "eps", "delta": 0.1},
    ):
        with pytest.raises(SievertError):
            sv.weakest_claim(**options)


def test_a_printed_parameter_keeps_the_promise() -> None:
    """ln 6 = 1.7917595 is printed as 1.79175, and σ is rounded up."""
    eps = sv.weakest_claim(0.6, values=5)
    assert "ε ≤ 1.79175 " in str(eps)
    sigma = sv.weakest_claim(0.6, "sigma")
    printed = float(str(sigma).split()[2])
    assert sigma.value <= printed < sigma.value * (1 + 1e-5)
    assert sv.explain(sigma=printed).after <= 0.6


def test_countless_releases_are_not_called_any_number() -> None:
    """Ten million harmless releases are within the limit; nothing is claimed of more."""
    found = sv.weakest_claim(0.6, "releases", eps=1e-6)
    assert found.value == 10_000_000
    assert str(found).startswith("at most 10000000 releases")
    assert math.isinf(sv.weakest_claim(1.0, "releases", eps=1).value)


def test_places_at_no_epsilon_and_tiny_distances() -> None:
    """ε = 0 says nothing on any metric; distances of a millionth need an ε of millions."""
    places = sv.metrics.euclidean([[0, 0], [1e-6, 0], [0, 1e-6]])
    assert sv.explain(eps=0, policy=places).after == pytest.approx(1 / 3, abs=1e-12)
    found = sv.weakest_claim(0.5, policy=places)
    assert 1e5 < found.value < 1e7
    assert found.explanation.after == pytest.approx(0.5, abs=1e-9)


def _worst_for_two_records(eps: float) -> float:
    """Best guess between (0, 0) and (1, 1) over all ε-private channels on two binary records."""
    points = list(itertools.product((0, 1), repeat=2))
    rows = []
    for i, h in itertools.permutations(range(4), 2):
        if sum(a != b for a, b in zip(points[i], points[h], strict=True)) == 1:
            for y in range(2):
                row = np.zeros(8)
                row[2 * i + y], row[2 * h + y] = 1, -math.exp(eps)
                rows.append(row)
    sums = np.kron(np.eye(4), np.ones(2))
    cost = np.zeros(8)
    cost[0] = cost[7] = -0.5
    return -linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(4)).fun


def test_a_person_with_several_records() -> None:
    """All records of a person move together: ε and the sensitivity grow with them, ρ with their square."""
    two = sv.Policy.differential(2, records=2, person_records=2)
    found = sv.explain(eps=0.7, policy=two)
    assert found.after == pytest.approx(sv.explain(eps=1.4).after)
    assert found.reached - 1e-12 <= _worst_for_two_records(0.7) <= found.after + 1e-12
    assert found.person == "ε = 1.4" and not found.exact and not found.curve.exact
    five = sv.Policy.differential(3, records=9, person_records=5)
    assert sv.explain(rho=0.01, policy=five).after == pytest.approx(sv.explain(rho=0.25, values=3).after)
    assert sv.explain(sigma=10, policy=five).after == pytest.approx(sv.explain(sigma=2, values=3).after)
    lost = 1e-3 * sum(math.exp(0.2 * k) for k in range(5))
    loose = sv.explain(eps=0.2, delta=1e-3, policy=five)
    assert loose.after == pytest.approx(sv.explain(eps=1, delta=lost, values=3).after)
    assert sv.weakest_claim(0.6, policy=five).value == pytest.approx(math.log(3) / 5)
    # The whole database is as before: each of its records is protected by the claim itself.
    alone = sv.Policy.differential(3, records=9)
    assert sv.explain(eps=1, policy=five).database == sv.explain(eps=1, policy=alone).database
    places = sv.Policy(sv.metrics.line(4), records=3, person_records=3)
    with pytest.raises(SievertError, match="depends on the distance"):
        sv.explain(eps=1, delta=0.1, policy=places)
    assert sv.explain(eps=1, policy=places).after == pytest.approx(
        sv.explain(eps=3, policy=sv.metrics.line(4)).after
    )


def test_the_answer_is_plain_data_and_a_sentence() -> None:
    found = sv.explain(eps=1, values=3, releases=2)
    data = found.to_dict()
    assert data["after"] == found.after
    assert "certificate" not in data
    assert float(found) == found.after
    assert "before" in str(found) and "2 releases" in str(found)
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("claim", "eps"),
    [
        (ApproximateClaim(0.5, 0.0, 3), 1.5), (ApproximateClaim(0.5, 1e-9), math.inf),
        (GaussianClaim(1.0), math.inf), (ZeroConcentratedClaim(1 / 32), math.inf),
        (ZeroConcentratedClaim(0.0), 0.0), (RenyiClaim((2.0, 8.0), (0.1, 0.4)), math.inf),
        (RenyiClaim((2.0, math.inf), (0.1, 0.7), 2), 1.4), (RenyiClaim((2.0,), (0.0,)), 0.0),
    ],
)  # fmt: skip
def test_without_a_delta_only_a_pure_claim_has_an_epsilon(claim: Any, eps: float) -> None:
    """A δ that underflows is not 0: ρ = 1/32 has δ > 0 at every ε."""
    assert claim.epsilon(0.0) == pytest.approx(eps)


def test_a_limit_on_epsilon_without_delta_refuses_a_concentrated_claim(tmp_path: Path) -> None:
    file = tmp_path / "claim.toml"
    file.write_text(
        'version = 1\n[policy]\nvalues = ["a", "b"]\nsecrets = "complete"\nrecords = 10\n'
        '[query]\nkind = "count"\nwhere = ["a"]\n'
        "[claim]\nrho = 0.03125\n[accept]\neps = 50.0\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["explain", str(file)])
    assert done.exit_code == 1, done.output


def test_many_releases_on_a_graph_have_an_answer_beyond_the_solver() -> None:
    """Promises of e^ε beside a tiny δ, too steep for the solver, are bounded by packing."""
    graph, before = sv.graphs.path(4), 0.0
    for releases in (200, 400, 800, 1600):
        found = sv.explain(eps=0.1, policy=graph, releases=releases)
        assert before <= found.after <= 1
        before = found.after
    most = sv.weakest_claim(0.9, "releases", eps=0.1, policy=graph)
    assert most.explanation is not None and most.explanation.after <= 0.9


@pytest.mark.parametrize("eps", [3.0, 30.0, 800.0])
@pytest.mark.parametrize("prior", [None, [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]])
def test_a_program_that_is_not_solved_leaves_a_bound(eps: float, prior: list[float] | None) -> None:
    """At large ε the solver may give up; the answer is then a bound that still grows with the releases."""
    policy = sv.Policy(sv.secrets.cycle(6), 1)
    for delta in (0.0, 1e-6):
        found = [sv.explain(eps, delta=delta, policy=policy, prior=prior, releases=n) for n in (1, 5, 20)]
        assert all(one.before <= one.reached <= one.after <= 1 + 1e-15 for one in found)
        assert [one.after for one in found] == sorted(one.after for one in found)
        assert all(one.certificate is None or one.certificate.verify() for one in found)
