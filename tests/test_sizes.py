"""What is too large is refused before any work, with its size and the way around."""

from __future__ import annotations

from typing import Any

import pytest

import sievert as sv
from sievert.errors import TooLargeError

COIN = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
THREE = sv.Channel([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
HUGE = 10**18


@pytest.mark.parametrize(
    "make",
    [
        lambda: sv.uniform(10**9),
        lambda: sv.priors.point(HUGE, 3),
        lambda: sv.graphs.path(HUGE),
        lambda: sv.graphs.cycle(HUGE),
        lambda: sv.graphs.star(2**64),
        lambda: sv.graphs.triangular(10**4),
        lambda: sv.graphs.binary_tree(HUGE),
        lambda: sv.graphs.random_tree(HUGE),
        lambda: sv.graphs.theorem_five(HUGE),
        lambda: sv.graphs.hamming(10**9, 3),
        lambda: sv.graphs.grid(10**6, 10**6),
        lambda: sv.graphs.of_pairs([[0, 10**15]]),
        lambda: sv.Graph(range(HUGE)),
        lambda: sv.Graph.complete(range(10**6)),
        lambda: sv.metrics.grid(10**6, 4),
        lambda: sv.metrics.line(10**9),
        lambda: sv.metrics.cycle(10**10),
        lambda: sv.metrics.hamming(10**9, 10),
        lambda: sv.metrics.discrete(10**9).matrix,
        lambda: sv.secrets.line(2**70),
        lambda: sv.secrets.cycle(HUGE),
        lambda: sv.secrets.complete(2**70),
        lambda: sv.secrets.threshold(10**5, 10**5).edges,
        lambda: sv.losses.absolute(10**5),
        lambda: sv.losses.bayes_risk(10**6),
        lambda: sv.losses.guessing(10**9).matrix,
        lambda: sv.gains.identity(10**6).matrix,
        lambda: sv.gains.tries(HUGE, 10**17).matrix,
        lambda: sv.gains.trivial(10**10),
        lambda: sv.gains.property(10**9, [1]),
        lambda: sv.gains.within(sv.metrics.line(10**6), 1).matrix,
        lambda: sv.mechanisms.truncated_geometric(HUGE, 1.0),
        lambda: sv.mechanisms.geometric(HUGE, 1.0),
        lambda: sv.mechanisms.randomised_response(2**70, 1.0),
        lambda: sv.mechanisms.exponential(sv.metrics.line(10**6), 1.0),
        lambda: COIN.repeated(10**6),
        lambda: THREE.repeated(10**30),
        lambda: sv.Channel.from_noise({0: 0.5, 10**12: 0.5}, 3),
        lambda: sv.Channel.identity(HUGE),
        lambda: sv.Policy.differential(3, 10**12).size,
        lambda: sv.observations.success_curve(COIN, None, range(1, 10**9)),
        lambda: sv.success_probability([(COIN, 10**12)]),
        lambda: sv.observations.loss_curve(COIN, loss=sv.losses.bayes_risk(2), observations=range(1, 10**9)),
        lambda: sv.breaches(COIN, level=0.5, observations=10**9),
        lambda: sv.observations.breach_curve(COIN, None, [0], 0.5, 10**9),
        lambda: sv.audit_mechanism(lambda x: x, 0, 1, trials=10**12),
        lambda: sv.frontier([0.5, 0.5], sv.losses.bayes_risk(2), points=10**9),
    ],
)
def test_large_things_are_refused_before_work(make: Any) -> None:
    with pytest.raises(TooLargeError) as caught:
        make()
    assert caught.value.size > 10**5
    assert ";" in str(caught.value)


def test_what_needs_no_list_stays_possible() -> None:
    assert sv.mechanisms.randomised_response(HUGE, 1.0).shape == (HUGE, HUGE)
    assert sv.secrets.complete(HUGE).size == HUGE
    assert len(sv.secrets.threshold(10**5, 2).edges) == 2 * 10**5 - 3
    assert sv.success_probability(COIN, None, 10**12).lower == pytest.approx(1)
    assert sv.Channel(THREE.matrix).repeated(1000).shape == (2, 501501)
    assert THREE.repeated(2).outputs == ((2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2))


def test_thresholds_of_unsorted_numbers_join_the_same_pairs_as_their_distances() -> None:
    values = [0.3, -1.0, 0.1, 2.5, 0.2, 0.30000000000000004, 7.0]
    for theta in (0.0, 0.1, 0.2, 2.2, 100.0):
        near = sv.secrets.threshold(values, theta)
        distances = sv.secrets.threshold(values, theta, lambda a, b: abs(a - b))
        assert near.labelled_edges() == distances.labelled_edges()
