"""Estimates from counts: every method, groups of users, the laws of IBU, and the edges."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import EstimationError, SievertError


def random_channel(rng: np.random.Generator, inputs: int, outputs: int) -> sv.Channel:
    return sv.Channel(rng.dirichlet(np.full(outputs, 0.5), inputs), normalise=True)


@given(st.integers(0, 10**6))
def test_every_solver_finds_the_same_maximum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 12))
    counts = rng.integers(0, 30, size) * rng.integers(0, 2, size)
    counts[rng.integers(size)] += 1
    eps = float(rng.uniform(0.05, 3))
    for channel in (
        sv.mechanisms.truncated_geometric(size, eps),
        sv.mechanisms.randomised_response(size, eps),
    ):
        exact = sv.estimate(counts, channel, interval="none")
        generic = sv.estimate(counts, sv.Channel(channel.matrix), interval="none")
        assert exact.likelihood_gap < 1e-12
        assert generic.mean_log_likelihood == pytest.approx(exact.mean_log_likelihood, abs=1e-10)
        assert generic.distribution == pytest.approx(exact.distribution, abs=2e-3)
        assert exact.unique
        assert (exact.distribution[counts == 0] < 1e-9).all()  # the support is observed


def test_a_truncated_geometric_is_inverted_where_the_peer_assumes_symmetry() -> None:
    """multi-freq-ldpy 0.2.5 computes A·p where p·A is needed: right for symmetric matrices only."""
    channel = sv.mechanisms.truncated_geometric(5, 0.5)
    truth = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    counts = channel.rmatvec(truth) * 1e6
    for method in ("auto", "ibu", "inversion"):
        found = sv.estimate(counts, channel, method, tolerance=1e-12, interval="none")
        assert found.distribution == pytest.approx(truth, abs=1e-3)
    matrix, shares = channel.matrix, counts / counts.sum()
    wrong = np.full(5, 0.2)
    for _ in range(5000):
        wrong = wrong * (matrix @ (shares / (matrix @ wrong)))
    assert np.abs(wrong / wrong.sum() - truth).max() > 0.05


def test_groups_of_users_with_channels_of_their_own() -> None:
    rng = np.random.default_rng(5)
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    channels = [
        sv.mechanisms.randomised_response(4, 1.0),
        sv.mechanisms.truncated_geometric(4, 0.7),
        sv.Channel(rng.dirichlet(np.ones(6), 4), normalise=True),
    ]
    counts = [rng.multinomial(40_000 * (k + 1), channel.rmatvec(truth)) for k, channel in enumerate(channels)]
    found = sv.estimate(counts, channels)
    assert found.reports == 240_000
    assert found.unique and found.total_gap < 1e-6
    assert found.distribution == pytest.approx(truth, abs=0.02)
    assert (found.interval[:, 0] <= truth + 0.01).all() and (truth - 0.01 <= found.interval[:, 1]).all()
    # One group given twice is the same as its counts added up.
    twice = sv.estimate([counts[0], counts[0]], [channels[0], channels[0]])
    assert twice.distribution == pytest.approx(sv.estimate(counts[0], channels[0]).distribution, abs=1e-7)
    # ... and IBU agrees with the interior point.
    assert sv.estimate(counts, channels, "ibu", tolerance=1e-10).mean_log_likelihood == pytest.approx(
        found.mean_log_likelihood, abs=2e-10
    )


def test_groups_are_checked() -> None:
    channel = sv.mechanisms.randomised_response(3, 1.0)
    with pytest.raises(EstimationError, match="2 channels need a list of 2 counts"):
        sv.estimate([[1, 2, 3]], [channel, channel])
    with pytest.raises(EstimationError, match="same values"):
        sv.estimate([[1, 2, 3], [1, 1]], [channel, sv.mechanisms.randomised_response(2, 1.0)])
    with pytest.raises(EstimationError, match="or a list, one a group"):
        sv.estimate([1, 2], "channel")


def test_structured_channels_need_no_matrix() -> None:
    rng = np.random.default_rng(2)
    size = 20_000
    for channel in (
        sv.mechanisms.randomised_response(size, 3.0),
        sv.mechanisms.truncated_geometric(size, 0.5),
    ):
        counts = np.bincount(channel.sample(rng.binomial(size - 1, 0.3, 50_000), rng=rng), minlength=size)
        found = sv.estimate(counts, channel)
        assert found.total_gap < 1e-4
        assert found.interval.shape == (size, 2)
    kernel = np.array([1, 2, 4, 2, 1]) / 10
    cyclic = sv.Channel.from_noise(kernel, 301, first=-2, cyclic=True)
    shares = cyclic.rmatvec(rng.dirichlet(np.ones(301))) * 1e7
    truth = sv.estimate(shares, cyclic, "inversion", interval="none").distribution
    assert cyclic.rmatvec(truth) == pytest.approx(shares / shares.sum(), abs=1e-12)


def test_products_are_estimated_and_inverted_by_their_factors() -> None:
    one = sv.mechanisms.randomised_response(3, 1.5)
    pair = one.product(2)
    truth = np.random.default_rng(0).dirichlet(np.ones(9))
    shares = pair.rmatvec(truth) * 1e6
    inverse = sv.estimate(shares, pair, "inversion")
    assert inverse.distribution == pytest.approx(truth, abs=1e-9)
    dense = sv.estimate(shares, sv.Channel(pair.matrix), "inversion")
    assert inverse.standard_errors == pytest.approx(dense.standard_errors, rel=1e-9)
    assert sv.estimate(shares, pair).distribution == pytest.approx(truth, abs=1e-6)


def test_standard_errors_of_structured_inverses_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 100, 7)
    cyclic = sv.Channel.from_noise([0.6, 0.3, 0.1], 7, cyclic=True)
    for channel in (
        sv.mechanisms.truncated_geometric(7, 0.3),
        sv.mechanisms.randomised_response(7, 0.3),
        cyclic,
    ):
        ours = sv.estimate(counts, channel, "inversion")
        dense = sv.estimate(counts, sv.Channel(channel.matrix, normalise=True), "inversion")
        assert ours.distribution == pytest.approx(dense.distribution, abs=1e-10)


def test_more_outputs_than_inputs_can_be_inverted() -> None:
    channel = random_channel(np.random.default_rng(1), 3, 6)
    truth = np.array([0.2, 0.5, 0.3])
    found = sv.estimate(channel.rmatvec(truth) * 1000, channel, "inversion")
    assert found.distribution == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("eps", [1e-9, 1e-6, 1e-3, 5.0, 800.0])
@pytest.mark.parametrize("kind", ["truncated_geometric", "randomised_response"])
def test_noise_from_nothing_to_everything(eps: float, kind: str) -> None:
    channel = getattr(sv.mechanisms, kind)(101, eps)
    rng = np.random.default_rng(11)
    counts = np.bincount(channel.sample(rng.binomial(100, 0.5, 10_000), rng=rng), minlength=101)
    found = sv.estimate(counts, channel)
    assert np.isfinite(found.distribution).all() and found.distribution.sum() == pytest.approx(1)
    assert found.total_gap < 1e-7
    assert np.isfinite(found.interval).all()


def test_alpha_one_minus_a_billionth() -> None:
    """The rows differ by 1e-9 per step; which end has more reports decides, to the last digit."""
    channel = sv.mechanisms.truncated_geometric(101, alpha="999999999/1000000000")
    counts = np.zeros(101)
    counts[[0, 100]] = 510, 490
    found = sv.estimate(counts, channel)
    assert found.distribution[0] == pytest.approx(1)
    assert found.unique and found.likelihood_gap < 1e-12
    counts[[0, 100]] = 500
    both = sv.estimate(counts, channel)
    assert both.distribution[[0, 100]] == pytest.approx([0.5, 0.5], abs=1e-6)
    # The inverse solves its equations although its entries reach 10^8.
    inverse = sv.estimate(counts, channel, "inversion", interval="none").distribution
    assert channel.rmatvec(inverse) == pytest.approx(counts / 1000, abs=1e-7)


def test_outputs_too_unlikely_for_floats() -> None:
    channel = sv.Channel.from_log([[0, -2000, -1500], [-1, -2001, -1400], [-3, -1990, -1500]], normalise=True)
    found = sv.estimate([0, 10, 5], channel)
    assert np.isfinite(found.mean_log_likelihood) and found.mean_log_likelihood < -1000
    assert found.total_gap < 1e-9


def test_zero_counts_and_all_reports_in_one_category() -> None:
    for channel in (sv.mechanisms.randomised_response(4, 1.0), sv.mechanisms.truncated_geometric(4, 1.0)):
        found = sv.estimate([0, 0, 25, 0], channel)
        assert found.distribution == pytest.approx([0, 0, 1, 0])
        assert found.unique
    assert sv.estimate([0, 0, 25, 0], sv.mechanisms.randomised_response(4, 1.0), "ibu").distribution[2] > 0.9


def test_one_input_one_output() -> None:
    assert sv.estimate([7], sv.Channel([[1]])).distribution.tolist() == [1]
    merged = sv.estimate([7], sv.Channel([[1], [1]]))
    assert merged.unique is False and merged.ranges == pytest.approx(np.array([[0, 1], [0, 1]]), abs=1e-6)


def test_noise_without_information_is_said_to_be_so() -> None:
    silent = sv.mechanisms.randomised_response(4, 0.0)
    found = sv.estimate([1, 5, 3, 0], silent)
    assert found.unique is False
    assert found.ranges == pytest.approx(np.array([[0, 1]] * 4), abs=1e-6)
    with pytest.raises(EstimationError, match="see 1 of 4 directions; they determine no single probability"):
        sv.estimate([1, 5, 3, 0], silent, "inversion")


def test_identity_channel_gives_the_shares() -> None:
    for kind in ("randomised_response", "truncated_geometric"):
        channel = getattr(sv.mechanisms, kind)(3, alpha=0)
        for method in ("auto", "ibu", "inversion"):
            found = sv.estimate([5, 3, 2], channel, method)
            assert found.distribution == pytest.approx([0.5, 0.3, 0.2], abs=1e-9)


def test_singular_channels_say_what_is_identifiable() -> None:
    channel = sv.Channel([[1, 0], ["1/2", "1/2"], ["1/2", "1/2"]], inputs=["a", "b", "c"])
    known = sv.identifiability(channel)
    assert (known.rank, known.identified, known.same) == (2, (True, False, False), (("b", "c"),))
    with pytest.raises(EstimationError, match="'a'; of 'b' and 'c' only the total"):
        sv.estimate([3, 1], channel, "inversion")
    found = sv.estimate([3, 1], channel)
    assert found.unique is False
    assert found.ranges == pytest.approx(np.array([[0.5, 0.5], [0, 0.5], [0, 0.5]]), abs=1e-6)
    assert found.interval is None and any("profile" in remark for remark in found.remarks)
    # The rank over the rationals, where floats see none: rows that differ by 10^-30.
    tiny = sv.Channel([["1/2", "1/2"], [f"{10**30 + 1}/{2 * 10**30}", f"{10**30 - 1}/{2 * 10**30}"]])
    assert sv.identifiability(tiny).complete


@pytest.mark.parametrize("eps", [1e-300, 1e-12, 1e-9, 1e-4, 1.0, 1e4])
def test_a_positive_definite_kernel_sees_every_direction(eps: float) -> None:
    """The least eigenvalue of e^(-ε·d/2) on the corners of a cube is (1 - e^(-ε/2))³: no float shows it."""
    cube = sv.graphs.hypercube(4).metric()
    grid = sv.metrics.manhattan([[x, y] for x in range(4) for y in range(3)])
    for metric in (cube, grid, sv.graphs.cycle(8).metric(), sv.metrics.line(9), sv.metrics.discrete(6)):
        assert sv.identifiability(sv.mechanisms.exponential(metric, eps)).complete
    uneven = sv.mechanisms.truncated_geometric([0, 1, 5, 5.5, 100], eps)
    assert sv.identifiability(uneven).complete


def test_what_floats_do_not_show_is_undetermined() -> None:
    """No theorem says that e^(-t·d) is positive definite on two copies of K_{3,3} side by side; its least
    eigenvalues are t² beside t, which floats do not show at a tiny t."""
    third = np.ones((3, 3))
    one = np.block([[2 * third - 2 * np.eye(3), third], [third, 2 * third - 2 * np.eye(3)]])
    metric = sv.Metric(np.block([[one, one + 1], [one + 1, one]]))
    assert sv.identifiability(sv.mechanisms.exponential(metric, 1.0)).complete
    found = sv.identifiability(sv.mechanisms.exponential(metric, 1e-18))
    assert found.undetermined and not found.complete
    assert "at least" in str(found) and "undetermined at this precision" in str(found)
    same = sv.identifiability(sv.Channel([["1/2", "1/2"], ["1/2", "1/2"]]))
    assert not same.undetermined and same.rank == 1


def test_integers_beyond_the_inputs_count_for_the_ends() -> None:
    noise = sv.mechanisms.geometric(4, 0.8)
    counts = {-5: 3, -1: 2, 0: 10, 1: 20, 2: 15, 3: 4, 9: 1}
    merged = sv.estimate([15, 20, 15, 5], noise.finite())
    assert sv.estimate(counts, noise).distribution == pytest.approx(merged.distribution)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], "counts has 2 entries but 3 are needed"),
        ([1, -2, 3], "output 1 is -2; it must be a finite number ≥ 0"),
        ([1, math.nan, 3], "finite"),
        ([0, 0, 0], "no reports"),
        ({"x": 3}, "'x' is not one of the labels 0, 1, 2"),
        ({0: "many", 1: 2, 2: 3}, "output 0 is 'many'"),
        ("many", "counts is 'many'; give numbers"),
    ],
)
def test_bad_counts_are_named(counts: object, message: str) -> None:
    with pytest.raises(EstimationError, match=message):
        sv.estimate(counts, sv.mechanisms.randomised_response(3, 1.0))


def test_other_bad_arguments_are_named() -> None:
    channel = sv.mechanisms.randomised_response(3, 1.0)
    for arguments, message in (
        ({"method": "magic"}, "method is 'magic'"),
        ({"interval": "magic"}, "interval is 'magic'"),
        ({"confidence": 1.5}, "confidence is 1.5"),
        ({"tolerance": math.nan}, "tolerance is nan"),
        ({"most_rounds": -3}, "most_rounds is -3"),
        ({"resamples": -3}, "resamples is -3"),
        ({"method": "ibu", "start": [1, 2]}, "start has 2 entries but 3 are needed"),
    ):
        with pytest.raises(EstimationError, match=message):
            sv.estimate([1, 2, 3], channel, **arguments)


def test_impossible_reports_are_refused() -> None:
    channel = sv.Channel([[1, 0, 0], [0, 1, 0]])
    with pytest.raises(EstimationError, match="output 2 was reported 4 times but the channel never gives it"):
        sv.estimate([1, 1, 4], channel)
    with pytest.raises(EstimationError, match="positive weight"):
        sv.estimate([1, 1, 0], channel, "ibu", start=[1, 0])
    with pytest.raises(SievertError):
        sv.estimate([5, 3, 5], sv.mechanisms.truncated_geometric(3, 0.0))


def test_a_start_with_zeros_is_warned_about() -> None:
    found = sv.estimate([5, 3, 2], sv.mechanisms.randomised_response(3, 1.0), "ibu", start=[1, 1, 0])
    assert found.distribution[2] == 0
    assert any("probability 0" in remark for remark in found.remarks)


def test_reports_of_another_channel_are_noticed() -> None:
    channel = sv.mechanisms.randomised_response(3, alpha="1/2")
    assert any(
        "check that they really come" in remark for remark in sv.estimate([6000, 3500, 500], channel).remarks
    )
    honest = np.random.default_rng(0).multinomial(10_000, channel.rmatvec([0.9, 0.1, 0]))
    assert not sv.estimate(honest, channel).remarks


def test_results_speak_and_save() -> None:
    channel = sv.mechanisms.randomised_response(["yes", "no"], alpha="1/3")
    found = sv.estimate({"yes": 300, "no": 700}, channel)
    assert str(found).startswith(
        "maximum-likelihood estimate from 1,000 reports: no: 90.0% (84.3% to 95.7%), yes: 10.0%"
    )
    assert found.probability("yes") == pytest.approx(0.1)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["distribution"] == pytest.approx([0.1, 0.9])
    assert "<table>" in found._repr_html_()


def test_the_regularised_estimate_is_better_for_smooth_truths_and_no_worse_for_spikes() -> None:
    channel = sv.mechanisms.truncated_geometric(101, math.log(2) / 10)
    line = sv.metrics.line(101)
    rng = np.random.default_rng(7)
    smooth = rng.binomial(100, 0.5, 50_000)
    spikes = rng.choice([10, 35, 60, 90], 50_000, p=[0.4, 0.3, 0.2, 0.1])
    errors = {}
    for name, values in (("smooth", smooth), ("spikes", spikes)):
        counts = np.bincount(channel.sample(values, rng=rng), minlength=101)
        truth = np.bincount(values, minlength=101) / len(values)
        for method in ("auto", "regularised"):
            found = sv.estimate(counts, channel, method, interval="none", rng=1)
            errors[name, method] = float(sv.kantorovich(found.distribution, truth, line))
        assert "smooth" in found.remarks[0]
    assert errors["smooth", "regularised"] < 0.6 * errors["smooth", "auto"]
    assert errors["spikes", "regularised"] <= 1.2 * errors["spikes", "auto"]


@given(st.integers(0, 10**6))
def test_the_geometric_solver_takes_any_noise_and_any_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(10 ** rng.uniform(0.4, 3))
    channel = sv.mechanisms.truncated_geometric(size, float(10 ** rng.uniform(-9, 2)))
    counts = np.floor(10 ** rng.uniform(0, rng.choice([1, 3, 9]), size)) * (
        rng.random(size) < 10 ** rng.uniform(-2, 0)
    )
    counts[0] += 1
    found = sv.estimate(counts, channel, interval="none")
    assert found.likelihood_gap < 1e-10
    assert found.unique


def test_ibu_approaches_its_limit_in_divergence() -> None:
    """Spec 7.1, fact 4: KL(p*‖p_k) never grows, and Σ (L* - L_k) ≤ KL(p*‖p_0)."""
    channel = sv.mechanisms.randomised_response(4, 1.0)
    counts = [30, 26, 24, 20]
    best = sv.estimate(counts, channel, interval="none")
    shares = np.array(counts) / 100
    start = np.array([0.1, 0.2, 0.3, 0.4])
    divergences, missing, p = [], 0.0, start
    for _ in range(200):
        divergences.append(float(best.distribution @ np.log(best.distribution / p)))
        missing += best.mean_log_likelihood - float(shares @ np.log(p @ channel.matrix))
        p = sv.estimate(
            counts, channel, "ibu", interval="none", start=p, tolerance=0, most_rounds=1
        ).distribution
    assert (np.diff(divergences) <= 1e-12).all()
    assert missing <= divergences[0] + 1e-9


def test_a_large_convolution_needs_no_matrix() -> None:
    rng = np.random.default_rng(0)
    kernel = np.exp(-(np.arange(-100, 101) ** 2) / 2 / 30.0**2)
    channel = sv.Channel.from_noise(kernel / kernel.sum(), 4000, first=-100)
    values = channel.sample(rng.binomial(3999, 0.4, 20_000), rng=rng)
    found = sv.estimate(np.bincount(values + 100, minlength=channel.shape[1]), channel, interval="none")
    assert found.total_gap < 1e-4
    assert found.distribution @ np.arange(4000) == pytest.approx(3999 * 0.4, abs=3)


@pytest.mark.parametrize("eps", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "record",
    [
        lambda eps: sv.mechanisms.randomised_response(3, eps),
        lambda eps: sv.mechanisms.truncated_geometric(4, eps),
        lambda eps: sv.mechanisms.exponential(sv.metrics.line(4), eps),
    ],
    ids=["response", "geometric", "exponential"],
)
def test_expected_counts_give_the_distribution_back(record, sparse, eps) -> None:
    """Also where probabilities are 0 and every input fits equally well, so that nothing pushes them there."""
    channel = record(eps).product(2)
    truth = np.random.default_rng(0).dirichlet(np.ones(channel.shape[0]))
    if sparse:
        truth[truth < np.median(truth)] = 0.0
        truth /= truth.sum()
    found = sv.estimate(1e6 * channel.rmatvec(truth), channel, interval="none")
    assert np.abs(found.distribution - truth).max() < 1e-12


def test_a_mapping_may_leave_out_what_was_not_reported() -> None:
    noise = sv.mechanisms.truncated_geometric(10, eps=1.0)
    sparse, listed = sv.estimate({2: 2, 7: 1}, noise), sv.estimate([0, 0, 2, 0, 0, 0, 0, 1, 0, 0], noise)
    assert sparse.distribution.tolist() == listed.distribution.tolist() and sparse.reports == 3


@pytest.mark.parametrize("eps", [1e-4, 1e-6, 1e-7])
def test_a_unique_maximum_is_one_next_to_no_information(eps: float) -> None:
    """All inputs nearly alike, of which one alone makes the reports likeliest."""
    lean = np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3], [2, 2, 1], [1, 2, 2], [2, 1, 2]])
    table = np.exp(eps * lean)
    found = sv.estimate([100, 0, 0], sv.Channel(table, normalise=True))
    assert found.unique is True
    assert found.distribution.argmax() == 0
    # The same input twice: then it is not, and no rounding makes it so.
    twice = sv.estimate([100, 0, 0], sv.Channel(table[[0, 0, 1, 2, 3, 4]], normalise=True))
    assert twice.unique is not True
    if eps > 1e-7:
        assert twice.unique is False and np.ptp(twice.ranges[:2], axis=1) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("mechanism", [sv.mechanisms.randomised_response, sv.mechanisms.truncated_geometric])
@pytest.mark.parametrize("eps", [1e-120, 1e-300])
def test_reports_whose_variance_is_beyond_floats(mechanism: Any, eps: float) -> None:
    """The likeliest distribution is known, and what cannot be said is refused in words."""
    channel = mechanism(4, eps=eps)
    found = sv.estimate([10, 20, 30, 40], channel)
    assert found.unique and found.distribution.sum() == pytest.approx(1)
    assert found.standard_errors is None and "no standard errors" in " ".join(found.undetermined)
    for ask in (
        lambda: sv.estimate([10, 20, 30, 40], channel, method="inversion"),
        lambda: sv.estimation.frequency_variance(channel),
        lambda: sv.estimation.estimate_mean([10, 20, 30, 40], channel, [1, 2, 3, 4]),
    ):
        with pytest.raises(sv.SievertError, match="tells so little"):
            ask()


def test_what_rounding_hides_is_not_decided() -> None:
    lean = np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3], [2, 2, 1], [1, 2, 2], [2, 1, 2]])
    shares = [4, 4, 4]
    assert sv.estimate(shares, sv.Channel(np.exp(1e-9 * lean), normalise=True)).unique is None
    assert sv.estimate(shares, sv.Channel(np.exp(1.0 * lean), normalise=True)).unique is False


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("eps", [5e-324, 1e-310, 1e-300])
@pytest.mark.parametrize("method", ["maximum-likelihood", "ibu", "regularised"])
def test_an_epsilon_next_to_nothing_gives_numbers(eps: float, method: Any) -> None:
    """Formerly an infinite weight of a lie, times 0."""
    channel = sv.mechanisms.randomised_response(4, eps)
    found = sv.estimate({0: 4, 1: 3, 2: 2}, channel, method, interval="none")
    assert np.isfinite(found.distribution).all() and found.distribution.sum() == pytest.approx(1)
