"""Several reports of one value: the product likelihood, against its maximum by brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sievert.channels import Channel
from sievert.errors import EstimationError
from sievert.estimation import estimate, estimate_repeated
from sievert.mechanisms import randomised_response, truncated_geometric


def product_likelihood(p, reports, channel):
    """Mean over devices of ln Σ_x p_x Π C[x, y]."""
    matrix, place = channel.matrix, {item: j for j, item in enumerate(channel.outputs)}
    each = [p @ np.prod([matrix[:, place[y]] for y in device], axis=0) for device in reports]
    return float(np.mean(np.log(each)))


def drawn(channel, truth, devices, times, seed):
    rng = np.random.default_rng(seed)
    values = rng.choice(len(truth), devices, p=truth)
    return [channel.sample([channel.inputs[x]] * times, rng).tolist() for x in values]


@pytest.mark.parametrize("times", [1, 3, 8])
def test_the_maximum_is_that_of_the_product_likelihood(times):
    channel = truncated_geometric(4, 0.5)
    reports = drawn(channel, [0.5, 0.1, 0.1, 0.3], 60, times, 3)
    found = estimate_repeated(reports, channel, interval="none")
    best = minimize(
        lambda z: -product_likelihood(np.exp(z) / np.exp(z).sum(), reports, channel),
        np.zeros(4),
        method="Nelder-Mead",
        options={"maxiter": 20_000, "xatol": 1e-9, "fatol": 1e-13},
    )
    assert found.mean_log_likelihood >= -best.fun - 1e-9
    assert product_likelihood(found.distribution, reports, channel) == pytest.approx(
        found.mean_log_likelihood, abs=1e-9
    )
    assert found.reports == 60
    assert found.total_gap < 1e-6


def test_one_report_each_is_the_usual_estimate():
    channel = randomised_response(3, alpha="1/2")
    reports = [[0]] * 60 + [[1]] * 35 + [[2]] * 5
    found = estimate_repeated(reports, channel)
    np.testing.assert_allclose(found.distribution, estimate([60, 35, 5], channel).distribution, atol=1e-7)


def test_order_and_names_of_devices_do_not_matter():
    channel = randomised_response(["a", "b"], alpha="1/3")
    first = estimate_repeated({"x": ["a", "b", "a"], "y": ["b", "b", "a"]}, channel)
    second = estimate_repeated([["b", "a", "b"], ["a", "a", "b"]], channel)
    np.testing.assert_allclose(first.distribution, second.distribution)


def test_many_reports_do_not_underflow():
    """A thousand reports each have a probability below e^-600, and tell the value."""
    channel = randomised_response(["a", "b"], alpha="1/3")
    reports = [["a"] * 700 + ["b"] * 300] * 3 + [["a"] * 300 + ["b"] * 700]
    found = estimate_repeated(reports, channel)
    assert found.distribution.tolist() == pytest.approx([0.75, 0.25])
    assert found.interval[0, 0] < 0.75 < found.interval[0, 1]


def test_more_reports_tell_more():
    channel = truncated_geometric(5, 0.3)
    truth = np.array([0.6, 0.0, 0.0, 0.1, 0.3])
    errors = [
        np.abs(
            estimate_repeated(drawn(channel, truth, 400, times, 1), channel, interval="none").distribution
            - truth
        ).sum()
        for times in (1, 40)
    ]
    assert errors[1] < errors[0] / 3


def test_bad_reports_are_refused():
    channel = randomised_response(["a", "b"], alpha="1/3")
    with pytest.raises(EstimationError, match="device 1 has the report 'c', which the channel never gives"):
        estimate_repeated([["a"], ["a", "c"]], channel)
    with pytest.raises(EstimationError, match="device 0 has no report"):
        estimate_repeated([[]], channel)
    with pytest.raises(EstimationError, match="reports is empty"):
        estimate_repeated([], channel)
    with pytest.raises(EstimationError, match="one list a device"):
        estimate_repeated("ab", channel)
    with pytest.raises(EstimationError, match="not inverted"):
        estimate_repeated([["a"]], channel, "inversion")
    with pytest.raises(EstimationError, match="no inverse to centre on"):
        estimate_repeated([["a"]], channel, interval="normal")
    certain = Channel([[1, 0], [0, 1]], inputs=["a", "b"], outputs=["a", "b"])
    with pytest.raises(EstimationError, match="no value gives together"):
        estimate_repeated([["a", "b"]], certain)
