"""Whole numbers stay fractions, and closed forms hold for any alpha."""

from fractions import Fraction

import pytest

import sievert as sv


def test_losses_of_whole_distances_are_exact() -> None:
    cycle = sv.metrics.cycle(5)
    for loss in (sv.losses.distance(cycle), sv.losses.squared_distance(cycle)):
        assert loss.is_exact
        found = sv.optimal_mechanism(cycle, alpha="1/2", loss=loss)
        assert isinstance(found.loss, Fraction)
        own = sv.losses.matrix([[int(x) for x in row] for row in loss.matrix.tolist()])
        assert found.loss == sv.optimal_mechanism(cycle, alpha="1/2", loss=own).loss
    channel = sv.mechanisms.truncated_geometric(5, alpha="1/3")
    line = sv.metrics.line(5)
    loss = sv.posterior_vulnerability(channel, gain=sv.losses.squared_distance(line))
    assert loss.value == sv.posterior_vulnerability(channel, gain=sv.losses.squared(5)).value
    assert isinstance(loss.value, Fraction)
    assert not sv.losses.squared_distance(sv.Metric([[0, 0.5], [0.5, 0]])).is_exact


@pytest.mark.parametrize("alpha", ["1/3", "1e-12", "1e-16", "1e-40"])
@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("size", [3, 5, 20])
def test_bayes_risk_on_a_discrete_metric_is_exact(alpha: str, method: str, size: int) -> None:
    found = sv.optimal_mechanism(sv.metrics.discrete(size), alpha=alpha, method=method)
    a = Fraction(alpha)
    assert found.loss == (size - 1) * a / (1 + (size - 1) * a)
    assert found.gap == 0
    assert found.certificate.verify().holds


def test_the_most_valuable_inputs_only() -> None:
    prior = ["1/2", "1/3", "1/12", "1/12"]
    found = sv.optimal_mechanism(sv.metrics.discrete(4), alpha="1/2", prior=prior)
    # k = 1, 2, 3, 4 of the likeliest: the largest (sum of priors)/(1 + (k - 1)/2) is told right.
    told = max(Fraction(1, 2), Fraction(5, 6) / Fraction(3, 2), Fraction(11, 12) / 2, 1 / Fraction(5, 2))
    assert found.loss == 1 - told
    assert found.certificate.verify().holds
    assert all(sum(row) == 1 for row in found.mechanism.exact.tolist())


STAR = sv.Metric([[0, 1, 3, 2], [1, 0, 4, 3], [3, 4, 0, 5], [2, 3, 5, 0]])


@pytest.mark.parametrize("alpha", ["1e-6", "1e-12", "1e-40", "1e-90"])
@pytest.mark.parametrize("metric", [sv.metrics.cycle(4), sv.metrics.cycle(5), STAR], ids=["4", "5", "star"])
def test_small_problems_are_exact_for_any_alpha(alpha: str, metric: sv.Metric) -> None:
    """A solver in floats takes such an alpha for 0: its basis was refused as too large for fractions."""
    for loss in (None, sv.losses.squared_distance(metric)):
        found = sv.optimal_mechanism(metric, alpha=alpha, loss=loss, method="exact")
        assert isinstance(found.loss, Fraction) and found.gap == 0
        assert found.certificate.verify().holds
    if metric.size == 4 and metric is not STAR:
        # A square is a product of two edges, each of which is told right with 1/(1 + α).
        a = Fraction(alpha)
        assert sv.optimal_mechanism(metric, alpha=alpha).loss == 1 - 1 / (1 + a) ** 2
