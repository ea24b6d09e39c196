"""d-privacy: distinguishability, the smallest ε and its witness, V_d (Fernandes, Sec 3.1, 4.4; F3, F4)."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError, MetricError, PolicyError

F = Fraction
inf = math.inf

G = sv.mechanisms.truncated_geometric(3, alpha="1/2")
R = sv.mechanisms.randomised_response(3, alpha="1/3")
C = sv.Channel([["3/5", "2/5"], ["1/2", "1/2"], ["1/4", "3/4"]])
D = sv.Channel([["1/4", "1/4", "1/2"], ["1/4", "1/4", "1/2"], ["1/2", "1/2", 0]])


def brute_force_distance(a: Any, b: Any) -> float:
    """tv_mult of two exact rows: max |ln ratio|, 0/0 ignored, p/0 = inf."""
    largest = Fraction(1)
    for p, q in zip(a, b, strict=True):
        if (p == 0) != (q == 0):
            return inf
        if p:
            largest = max(largest, p / q, q / p)
    return math.log(largest)


def brute_force_epsilon(channel: sv.Channel, metric: sv.Metric) -> float:
    assert channel.exact is not None
    level = 0.0
    for i, j in combinations(range(metric.size), 2):
        distance, unit = brute_force_distance(channel.exact[i], channel.exact[j]), metric.matrix[i, j]
        if distance == 0 or unit == inf:
            continue
        level = max(level, inf if unit == 0 else distance / unit)
    return level


@pytest.mark.parametrize(
    ("channel", "ratios", "line", "discrete"),
    [
        (G, {(0, 1): 2, (1, 2): 2, (0, 2): 4}, math.log(2), math.log(4)),
        (R, {(0, 1): 3, (1, 2): 3, (0, 2): 3}, math.log(3), math.log(3)),
        (C, {(0, 1): F(5, 4), (1, 2): 2, (0, 2): F(12, 5)}, math.log(2), math.log(12 / 5)),
        (D, {(0, 1): 1, (1, 2): inf, (0, 2): inf}, inf, inf),
    ],
)
def test_fernandes_ex_3_1_levels(
    channel: sv.Channel, ratios: dict[tuple[int, int], float], line: float, discrete: float
) -> None:
    distances = sv.distinguishability(channel)
    for (x, y), ratio in ratios.items():
        assert distances.distance(x, y) == pytest.approx(math.log(ratio), rel=1e-14, abs=0)
    assert sv.epsilon(channel, sv.metrics.line(3)).nats == pytest.approx(line, rel=1e-15)
    assert sv.epsilon(channel, sv.metrics.discrete(3)).nats == pytest.approx(discrete, rel=1e-15)


def test_fernandes_ex_3_1_matrices_and_digits() -> None:
    assert G.exact.tolist() == [  # type: ignore[union-attr]
        [F(2, 3), F(1, 6), F(1, 6)],
        [F(1, 3), F(1, 3), F(1, 3)],
        [F(1, 6), F(1, 6), F(2, 3)],
    ]
    assert R.exact.tolist()[0] == [F(3, 5), F(1, 5), F(1, 5)]  # type: ignore[union-attr]
    half = sv.mechanisms.randomised_response(3, alpha="1/2")
    assert half.exact.tolist()[0] == [F(1, 2), F(1, 4), F(1, 4)]  # type: ignore[union-attr]
    assert f"{sv.epsilon(C, sv.metrics.discrete(3)).nats:.6f}" == "0.875469"
    apart = sv.Metric([[0, 1, inf], [1, 0, inf], [inf, inf, 0]])
    assert sv.epsilon(D, apart).nats == 0


def test_fernandes_ex_4_3_the_metric_decides_which_is_safer() -> None:
    """R is safer than G for dD and less safe for d2; neither is safer for every metric."""
    line, discrete = sv.metrics.line(3), sv.metrics.discrete(3)
    assert float(sv.epsilon(R, line)) > float(sv.epsilon(G, line))
    assert float(sv.epsilon(R, discrete)) < float(sv.epsilon(G, discrete))
    d_g, d_r = sv.distinguishability(G).matrix, sv.distinguishability(R).matrix
    assert (d_g > d_r).any()
    assert (d_g < d_r).any()


def test_fernandes_e8_the_geometric_is_not_tight_everywhere() -> None:
    """E8: column 1 does not tell 0 from 2 (ratio 1, bound 4); C's largest ratio is at (0, 2), not (1, 2)."""
    assert G.exact[0, 1] / G.exact[2, 1] == 1  # type: ignore[index]
    assert sv.distinguishability(G).distance(0, 2) == pytest.approx(math.log(4))
    ratios = {pair: sv.distinguishability(C).distance(*pair) for pair in combinations(range(3), 2)}
    assert max(ratios, key=ratios.__getitem__) == (0, 2)
    assert math.exp(ratios[0, 2]) == pytest.approx(12 / 5)
    per_unit = {(x, y): distance / (y - x) for (x, y), distance in ratios.items()}
    assert max(per_unit, key=per_unit.__getitem__) == (1, 2)


def test_witness_pair_output_and_exact_ratio() -> None:
    found = sv.epsilon(C, sv.metrics.discrete(3))
    assert (found.pair, found.output, found.exact, found.distance) == ((0, 2), 0, F(12, 5), 1)
    assert str(found) == "ε = ln(12/5) = 0.875469, between inputs 0 and 2 on output 0"
    assert float(found) == found.nats == math.log(12 / 5)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["exact"] == "12/5"
    assert "12/5" in found._repr_html_()


@given(st.data(), testing.metrics((1, 5), extended=True))
def test_epsilon_and_witness_against_brute_force(data: st.DataObject, metric: sv.Metric) -> None:
    channel = data.draw(testing.channels(metric.size, (1, 4), form="exact", sparse=data.draw(st.booleans())))
    found = sv.epsilon(channel, metric)
    assert found.nats == pytest.approx(brute_force_epsilon(channel, metric), rel=1e-13)
    if found.pair is None:
        assert found.nats == 0
        return
    x, y = found.pair
    assert metric.distance(x, y) == found.distance
    p, q = channel.exact[x, found.output], channel.exact[y, found.output]  # type: ignore[index]
    assert p > q
    ratio = inf if q == 0 or found.distance == 0 else math.log(p / q) / found.distance
    assert ratio == pytest.approx(found.nats, rel=1e-12)


@pytest.mark.parametrize(
    "metric",
    [sv.metrics.line([0, 1, 3, 4]), sv.metrics.cycle(4), sv.metrics.grid(2, 2), sv.metrics.hamming(2, 2)],
)
def test_checking_only_edges_is_checking_all_pairs(metric: sv.Metric) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        channel = sv.Channel(rng.dirichlet(np.ones(3), 4), inputs=metric.points)
        all_pairs = sv.Metric(metric.matrix, metric.points)
        assert sv.epsilon(channel, metric).nats == pytest.approx(
            sv.epsilon(channel, all_pairs).nats, rel=1e-13
        )


@given(testing.channels(form="exact", sparse=True))
def test_distinguishability_is_an_extended_pseudo_metric(channel: sv.Channel) -> None:
    """Fernandes Def 4.4.4, E13: 0 between different inputs and inf occur; the triangle inequality holds."""
    distances = sv.distinguishability(channel)
    sv.Metric(distances.matrix)
    for i, j in combinations(range(channel.shape[0]), 2):
        expected = brute_force_distance(channel.exact[i], channel.exact[j])  # type: ignore[index]
        assert distances.matrix[i, j] == pytest.approx(expected, rel=1e-13, abs=1e-15)


@given(testing.channels((2, 5), (1, 5), sparse=True))
def test_level_for_its_own_distinguishability_is_one(channel: sv.Channel) -> None:
    """Fernandes F3: Priv_{d_C}(C) = 1 unless d_C is 0 or inf everywhere."""
    distances = sv.distinguishability(channel)
    proper = (distances.matrix > 0) & np.isfinite(distances.matrix)
    assert sv.epsilon(channel, distances).nats == pytest.approx(1.0 if proper.any() else 0.0)
    assert sv.is_private(channel, distances)


@given(st.data(), testing.metrics((2, 5), extended=True))
def test_smallest_epsilon_is_smallest(data: st.DataObject, metric: sv.Metric) -> None:
    channel = data.draw(testing.channels(metric.size, (1, 4)))
    level = sv.epsilon(channel, metric).nats
    assume(0 < level < inf)
    assert sv.is_private(channel, metric, level)
    assert not sv.is_private(channel, metric, level * (1 - 1e-6))


@given(st.data(), testing.metrics((1, 5), extended=True))
def test_fernandes_lem_3_8_larger_metrics_ask_less(data: st.DataObject, metric: sv.Metric) -> None:
    channel = data.draw(testing.channels(metric.size, (1, 4), sparse=True))
    factor = data.draw(st.sampled_from([1, 2, 3.5]))
    assert sv.epsilon(channel, metric.scaled(factor)).nats <= sv.epsilon(channel, metric).nats


@given(st.data(), testing.metrics((1, 4), extended=True))
def test_post_processing_never_raises_the_level(data: st.DataObject, metric: sv.Metric) -> None:
    """Fernandes Lem 3.3."""
    first, after = data.draw(testing.degraded_pairs(metric.size, sparse=True))
    assert sv.epsilon(after, metric).nats <= sv.epsilon(first, metric).nats + 1e-12


@given(st.data(), testing.metrics((1, 4), extended=True))
def test_fernandes_lem_3_4_posterior_odds(data: st.DataObject, metric: sv.Metric) -> None:
    """ε·d-private channels have δ_x π_x' ≤ e^{ε d} δ_x' π_x for all priors, outputs and x, x' possible."""
    channel = data.draw(testing.channels(metric.size, (1, 4), form="exact"))
    prior = data.draw(testing.priors(metric.size, exact=True))
    level = sv.epsilon(channel, metric).nats
    assume(level < inf)
    support = [x for x in range(metric.size) if prior[x] > 0]
    for inner in channel.hyper(prior).inners:
        for x, y in permutations(support, 2):
            if math.isfinite(metric.matrix[x, y]):
                bound = math.exp(level * metric.matrix[x, y]) * (1 + 1e-12)
                assert inner[x] * prior[y] <= bound * float(inner[y] * prior[x])


@given(st.data(), testing.metrics((2, 4)))
def test_fernandes_lem_3_5_balls(data: st.DataObject, metric: sv.Metric) -> None:
    """Lem 3.5 (corrected): for every x and prior, δ_x/π_x ≤ e^{ε r}, r the radius of the support around x."""
    channel = data.draw(testing.channels(metric.size, (1, 4), form="exact"))
    prior = data.draw(testing.priors(metric.size, exact=True))
    found = sv.epsilon(channel, metric)
    support = [x for x in range(metric.size) if prior[x] > 0]
    for x in support:
        radius = max(metric.matrix[x, y] for y in support)
        for inner in channel.hyper(prior).inners:
            assert float(inner[x] / prior[x]) <= found.odds(radius) * (1 + 1e-12)


def test_fernandes_lem_3_5_bound_is_attained_by_priors_on_two_points() -> None:
    x, y = 0, 2
    level = sv.epsilon(C, sv.metrics.discrete(3))
    prior = [0, 0, 0]
    small = F(1, 10**9)
    prior[x], prior[y] = small, 1 - small  # type: ignore[call-overload]
    best = max(float(inner[x] / small) for inner in C.hyper(prior).inners)
    assert best == pytest.approx(level.odds(1), rel=1e-8)


def test_fernandes_e9_lem_3_5_as_printed_is_no_characterisation() -> None:
    """E9: with x, π and r fixed, a point prior satisfies the bound for a channel that is not private."""
    point = sv.priors.point(3, 0)
    for inner in D.hyper(point).inners:
        assert inner[0] / point[0] <= 1  # the bound e^{ε·0}, for every ε
    assert sv.epsilon(D, sv.metrics.discrete(3)).nats == inf
    # Over all priors it fails: two candidates at distance 1 change their odds without limit.
    small = F(1, 10**6)
    growth = max(float(inner[2] / small) for inner in D.hyper([1 - small, 0, small]).inners)
    assert growth > 1.9
    # The factor is exp(ε·d), not ε·d: for ε·d < 1 the latter would even forbid doing nothing.
    null = sv.Channel.null(2)
    assert null.hyper().inners[0, 0] / F(1, 2) == 1
    assert sv.epsilon(C, sv.metrics.discrete(3)).odds(0.5) == pytest.approx((12 / 5) ** 0.5)


def test_fernandes_e13_finite_metrics_are_not_enough() -> None:
    """E13: A has level inf for every finite metric, yet d_B is not below d_A; an extended metric shows it."""
    a = sv.Channel([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    b = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"], ["1/2", "1/2"]])
    d_a, d_b = sv.distinguishability(a), sv.distinguishability(b)
    assert d_a.matrix.tolist() == [[0, 0, inf], [0, 0, inf], [inf, inf, 0]]
    assert f"{d_b.distance(0, 1):.3f}" == "0.405"
    rng = np.random.default_rng(1)
    for _ in range(20):
        matrix = np.triu(rng.uniform(0.1, 5, (3, 3)), 1)
        finite = sv.Metric(matrix + matrix.T, close=True)
        assert sv.epsilon(a, finite).nats == inf
        assert sv.epsilon(b, finite).nats < inf
    assert sv.epsilon(a, d_a).nats == 0
    assert sv.epsilon(b, d_a).nats == inf


@pytest.mark.parametrize(
    ("prior", "before", "after"),
    [
        ([0.5, 0.3, 0.2], 0.510826, 1.203973),
        ([0.2, 0.6, 0.2], 1.098612, 1.791759),
        (None, 0, 0.693147),
    ],
)
def test_fernandes_f4_capacity_of_v_d(prior: list[float] | None, before: float, after: float) -> None:
    line = sv.metrics.line(3)
    prior_value = sv.divergences.privacy_vulnerability(prior, line)
    posterior = sv.divergences.posterior_privacy_vulnerability(G, prior=prior, metric=line)
    assert f"{prior_value:.6f}" == f"{before:.6f}"
    assert f"{posterior:.6f}" == f"{after:.6f}"
    assert posterior - prior_value == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("prior", "value"),
    [
        (["1/3"] * 3, 0),
        ([0.5, 0.25, 0.25], 0.693147),
        ([0.8, 0.1, 0.1], 2.079442),
        ([0.98, 0.01, 0.01], 4.584967),
    ],
)
def test_fernandes_fig_4_4(prior: list[Any], value: float) -> None:
    assert f"{sv.divergences.privacy_vulnerability(prior, sv.metrics.discrete(3)):.6f}" == f"{value:.6f}"


def test_fernandes_e14_v_d_is_infinite_at_the_boundary() -> None:
    """E14: V_d is inf where a probability vanishes, however close to finite values."""
    discrete = sv.metrics.discrete(3)
    assert sv.divergences.privacy_vulnerability([1, 0, 0], discrete) == inf
    assert sv.divergences.privacy_vulnerability([0.5, 0.5, 0], discrete) == inf
    assert sv.divergences.privacy_vulnerability([0.5, 0.5 - 1e-9, 1e-9], discrete) < 21
    apart = sv.Metric([[0, 1, inf], [1, 0, inf], [inf, inf, 0]])
    assert sv.divergences.privacy_vulnerability(["1/2", "1/2", 0], apart) == 0
    assert sv.divergences.privacy_vulnerability([0, 0, 1], apart) == 0


@given(st.data(), testing.metrics((2, 4)))
def test_fernandes_lem_4_7_v_d_is_quasi_convex(data: st.DataObject, metric: sv.Metric) -> None:
    priors = [data.draw(testing.priors(metric.size, exact=True, full_support=True)) for _ in range(3)]
    weights = data.draw(testing.priors(3, exact=True))
    mixture = sum(w * p for w, p in zip(weights, priors, strict=True))
    values = [sv.divergences.privacy_vulnerability(p, metric) for p in priors]
    assert sv.divergences.privacy_vulnerability(mixture, metric) <= max(values) + 1e-12


@given(st.data(), testing.metrics((1, 5), extended=True))
def test_fernandes_thm_4_9_level_is_the_posterior_v_d_of_the_uniform_prior(
    data: st.DataObject, metric: sv.Metric
) -> None:
    channel = data.draw(testing.channels(metric.size, (1, 4), sparse=data.draw(st.booleans())))
    expected = sv.epsilon(channel, metric).nats
    assert sv.divergences.posterior_privacy_vulnerability(
        channel, prior=None, metric=metric
    ) == pytest.approx(expected, rel=1e-12)


@given(st.data(), testing.metrics((1, 4)))
def test_fernandes_thm_4_8_the_uniform_prior_leaks_most_v_d(data: st.DataObject, metric: sv.Metric) -> None:
    """For full-support priors, as E14 asks."""
    channel = data.draw(testing.channels(metric.size, (1, 4)))
    prior = data.draw(testing.priors(metric.size, full_support=True))
    before = sv.divergences.privacy_vulnerability(prior, metric)
    after = sv.divergences.posterior_privacy_vulnerability(channel, prior=prior, metric=metric)
    assert -1e-12 <= after - before <= sv.epsilon(channel, metric).nats + 1e-12


def test_labels_are_matched_before_levels_are_taken() -> None:
    metric = sv.Metric([[0, 1, 9], [1, 0, 9], [9, 9, 0]], points=["a", "b", "c"])
    rows = {"a": ["1/2", "1/2"], "b": ["1/4", "3/4"], "c": ["1/100", "99/100"]}
    for order in permutations("abc"):
        channel = sv.Channel([rows[name] for name in order], inputs=order)
        found = sv.epsilon(channel, metric)
        assert (found.nats, found.pair) == (math.log(2), ("a", "b"))
        assert sv.divergences.posterior_privacy_vulnerability(
            channel, prior=None, metric=metric
        ) == pytest.approx(math.log(2))
    # Numbers in another order are labels too.
    shuffled = sv.Channel([rows["c"], rows["a"], rows["b"]], inputs=[2, 0, 1])
    assert sv.epsilon(shuffled, sv.Metric(metric.matrix)).pair == (0, 1)


def test_edge_conventions_of_levels() -> None:
    one = sv.Channel([["1/3", "2/3"]])
    assert sv.epsilon(one, sv.metrics.line(1)).nats == 0
    assert sv.epsilon(one, sv.metrics.discrete(1)).nats == 0
    assert sv.epsilon(sv.Channel.null(3), sv.metrics.line(3)).pair is None
    identity = sv.epsilon(sv.Channel.identity(2), sv.metrics.discrete(2))
    assert (identity.nats, identity.exact, str(identity)[:5]) == (inf, None, "ε = ∞")
    unrelated = sv.metrics.from_graph([], nodes=[0, 1])
    assert sv.epsilon(sv.Channel.identity(2), unrelated).nats == 0
    coinciding = sv.Metric([[0, 0], [0, 0]])
    assert sv.epsilon(C.after({0: 0, 1: 1}), coinciding).nats == inf
    assert sv.epsilon(C.after({0: 0, 1: 0}), coinciding).nats == 0
    zero_column = sv.Channel([["1/2", 0, "1/2"], ["1/4", 0, "3/4"]])
    assert sv.epsilon(zero_column, sv.metrics.line(2)).nats == math.log(2)


def test_odds_for_an_attacker_within_a_radius() -> None:
    """Fernandes Sec 3.2: within radius r, belief in the truth grows at most e^{ε r}."""
    towns = sv.metrics.euclidean([[0, 0], [1, 0], [0, 2]], labels=["A", "B", "C"])
    found = sv.epsilon(sv.mechanisms.metric_channel(towns.scaled(0.5)), towns)
    assert found.odds(2.0) == pytest.approx(math.e)
    assert found.odds(0) == 1
    assert found.odds(1e9) == inf


def test_levels_survive_underflow() -> None:
    """Fernandes F3: TG with 1001 inputs at ε = 2 has entries e^-2000 and still level 2."""
    channel = sv.mechanisms.truncated_geometric(1001, 2.0)
    assert channel.rounded().min() == 0
    line = sv.metrics.line(1001)
    assert sv.epsilon(channel, line).nats == pytest.approx(2, rel=1e-12)
    assert sv.is_private(channel, line, 2.0)
    channel, line = sv.mechanisms.truncated_geometric(201, 10.0), sv.metrics.line(201)
    assert channel.rounded().min() == 0
    assert sv.distinguishability(channel).matrix == pytest.approx(10 * line.matrix, abs=1e-9)
    assert sv.divergences.posterior_privacy_vulnerability(channel, prior=None, metric=line) == pytest.approx(
        10, rel=1e-12
    )


@pytest.mark.parametrize("eps", [1e-12, 1e-6])
def test_tiny_levels(eps: float) -> None:
    channel = sv.mechanisms.truncated_geometric(5, eps)
    assert sv.epsilon(channel, sv.metrics.line(5)).nats == pytest.approx(eps, abs=1e-14)
    assert sv.is_private(channel, sv.metrics.line(5), eps)
    exact = sv.mechanisms.truncated_geometric(5, alpha=1 - F(1, 10**12))
    assert sv.epsilon(exact, sv.metrics.line(5)).nats == pytest.approx(1e-12, rel=1e-11)


def test_levels_against_policies_and_queries() -> None:
    policy = sv.Policy.differential(["yes", "no"], 3)
    query = sv.Query.count(["yes"])
    channel = sv.mechanisms.truncated_geometric(4, alpha="1/2")
    for found in (
        sv.epsilon(channel, policy, query),
        sv.epsilon(channel, query.answers(policy)),
        sv.epsilon(channel.after(query, policy), policy),
    ):
        assert found.nats == math.log(2)
    warner = sv.mechanisms.warner()
    assert sv.epsilon(warner, sv.Policy.local(["yes", "no"])).nats == math.log(3)
    assert f"{math.log(3):.6f}" == "1.098612"


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (
            lambda: sv.epsilon(C, sv.metrics.line(2)),
            MetricError,
            "the metric has 2 elements but 3 are needed",
        ),
        (
            lambda: sv.epsilon(sv.Channel.identity(["a", "b"]), sv.metrics.discrete(["a", "c"])),
            MetricError,
            "the metric has no element labelled 'b'",
        ),
        (
            lambda: sv.epsilon(C, [[0, 1], [1, 0]]),
            PolicyError,
            "give a sv.Metric, a sv.Policy or a query's answers",
        ),
        (lambda: sv.is_private(C, sv.metrics.line(3), -1), MetricError, "eps is -1; it must be a number ≥ 0"),
        (lambda: sv.is_private(C, sv.metrics.line(3), math.nan), MetricError, "eps is nan"),
        (
            lambda: sv.divergences.composed_distinguishability(C, sv.Channel.identity(2)),
            ChannelError,
            "the inputs of the second channel has 2 elements but 3",
        ),
    ],
)
def test_bad_arguments_are_refused(run: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run()


def test_one_sided_divergence() -> None:
    divergence = sv.divergences.one_sided_divergence(sv.Channel([["1/2", "1/2"], ["1/4", "3/4"], [1, 0]]))
    log = math.log
    expected = [[0, log(2), inf], [log(1.5), 0, inf], [log(2), log(4), 0]]
    assert divergence == pytest.approx(np.array(expected))
