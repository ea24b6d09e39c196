"""Every family of channels has its exact sampler, with the channel's own law and labels."""

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert import sampling
from sievert.channels import ConvolutionChannel, CyclicChannel
from sievert.errors import ChannelError, MechanismError

Fits = Callable[[Any, Any], bool]

CHANNELS = {
    "truncated geometric": sv.mechanisms.truncated_geometric(6, 0.5),
    "exact truncated geometric": sv.mechanisms.truncated_geometric(6, alpha="1/3"),
    "no information": sv.mechanisms.truncated_geometric(6, 0.0),
    "no noise": sv.mechanisms.truncated_geometric(6, float("inf")),
    "irregular": sv.mechanisms.truncated_geometric(points=[0, 0.5, 4], eps=0.7),
    "exact irregular": sv.mechanisms.truncated_geometric(points=[0, 1, 4], alpha="1/2"),
    "over-truncated": sv.mechanisms.truncated_geometric(6, 0.5, outputs=range(2, 5)),
    "exact over-truncated": sv.mechanisms.truncated_geometric(6, alpha="1/2", outputs=range(2, 5)),
    "finite geometric": sv.mechanisms.geometric(4, 0.5).finite(),
    "response": sv.mechanisms.randomised_response(["a", "b", "c"], 1.0),
    "exact response": sv.mechanisms.randomised_response(5, alpha="1/3"),
    "warner": sv.mechanisms.warner(),
    "exponential": sv.mechanisms.exponential(sv.metrics.grid(2, 3), 1.0),
    "exact exponential": sv.mechanisms.exponential(sv.metrics.line(4), alpha="1/4"),
    "true exponential": sv.mechanisms.exponential(sv.metrics.line(4), 1.0, "true"),
    "tight constraints": sv.mechanisms.tight_constraints(sv.metrics.line(4), alpha="1/2"),
    "dyadic floats": sv.Channel([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]),
    "function": sv.Channel.from_function(lambda x: x // 2, 6),
    "sum of noise": ConvolutionChannel(["1/4", "1/2", "1/4"], 4, first=-1),
    "cycle": CyclicChannel(["1/2", "1/2"], 5, first=2),
    "cascade": sv.mechanisms.warner().then(sv.mechanisms.warner()),
}


@pytest.mark.parametrize("timing", ["fixed", "fast"])
@pytest.mark.parametrize("name", CHANNELS)
def test_the_law_of_a_channel(name: str, timing: Any, fits: Fits) -> None:
    channel = CHANNELS[name]
    sampler = sampling.for_channel(channel, timing=timing, insecure_rng=31)
    assert sampler.exact
    assert sampler.timing == timing
    for x, label in enumerate(list(channel.inputs)[:3]):
        items = np.empty(8_000, dtype=object)
        items[:] = [label] * 8_000
        drawn = sampler.draw(items)
        positions = [channel.output_index(y) for y in drawn.tolist()]
        assert fits(np.bincount(positions, minlength=channel.shape[1]), channel.rounded()[x])


def test_noise_on_all_integers(fits: Fits) -> None:
    channel = sv.mechanisms.geometric(points=[3, 10], alpha="1/2")
    drawn = sampling.for_channel(channel, insecure_rng=32).draw([10] * 50_000)
    values, counts = np.unique(drawn, return_counts=True)
    law = [float(channel.probability(10, int(y))) for y in values]  # type: ignore[attr-defined]
    assert fits(np.append(counts, 0), np.append(law, 1 - sum(law)))


def test_products_draw_record_by_record(fits: Fits) -> None:
    channel = sv.mechanisms.randomised_response(3, 1.0).product(2)
    table = sampling.for_channel(channel, insecure_rng=33).draw(np.tile([0, 2], (50_000, 1)))
    assert table.shape == (50_000, 2)
    law = sv.mechanisms.randomised_response(3, 1.0).rounded()
    assert fits(np.bincount(3 * table[:, 0] + table[:, 1], minlength=9), np.outer(law[0], law[2]).ravel())
    with pytest.raises(MechanismError, match=r"must be \[draws, 2\]"):
        sampling.for_channel(channel).draw([0, 1])


def test_floats_are_refused_with_the_way_out() -> None:
    for channel in (
        sv.Channel([[0.1, 0.9], [0.9, 0.1]]),
        sv.mechanisms.tight_constraints(sv.metrics.line(4), 1.0),
    ):
        with pytest.raises(MechanismError, match=r'known only by floats.*alpha.*sampler = "float"'):
            sampling.for_channel(channel)
        assert not sampling.floats.of_channel(channel, insecure_rng=1).exact


def test_a_ratio_has_no_exact_powers_between_integers() -> None:
    channel = sv.mechanisms.truncated_geometric(points=[0, 0.5, 4], alpha="1/2")
    with pytest.raises(MechanismError, match="give eps instead"):
        sampling.for_channel(channel)


def test_parameters_are_drawn_as_they_are_written(fits: Fits) -> None:
    """A third of 0.7 is no float, and 0.3 no sum of powers of two: the samplers know the fractions."""
    third = sv.mechanisms.truncated_geometric(4, F(7, 30))
    assert sampling.for_channel(third).parameters["eps"] == "7/30"
    assert sampling.for_channel(sv.mechanisms.randomised_response(3, alpha=0.3)).parameters["alpha"] == "3/10"
    even = sv.mechanisms.truncated_geometric(points=[0, 0.1, 0.2], eps=1)
    assert sampling.for_channel(even).parameters == {"eps": "1/10", "low": 0, "high": 2}


def test_an_unknown_input() -> None:
    with pytest.raises(ChannelError, match="'maybe' is not one of the channel's inputs"):
        sampling.for_channel(sv.mechanisms.warner()).draw(["maybe"])


def test_a_large_channel_needs_no_matrix() -> None:
    million = 10**6
    channel = sv.mechanisms.truncated_geometric(million, 0.01)
    drawn = sampling.for_channel(channel).draw(np.array([0, million // 2, million - 1]))
    assert ((drawn >= 0) & (drawn < million)).all()
    response = sv.mechanisms.randomised_response(million, 5.0)
    assert (sampling.for_channel(response).draw(np.arange(1000)) < million).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (sampling.discrete_laplace, "none of eps, alpha and scale is given"),
        (lambda: sampling.discrete_laplace(1, alpha="1/2"), "eps and alpha are given"),
        (lambda: sampling.discrete_laplace(-1), "eps is -1; it must be a number ≥ 0"),
        (lambda: sampling.discrete_laplace("x"), "eps is 'x'; it must be a finite number"),
        (lambda: sampling.discrete_laplace(float("nan")), "eps is nan"),
        (lambda: sampling.discrete_laplace(alpha=2), "alpha is 2"),
        (lambda: sampling.truncated_geometric(eps=1), "give either n"),
        (lambda: sampling.truncated_geometric(0, 1), "n is 0; it must be a whole number ≥ 1"),
        (lambda: sampling.truncated_geometric(low=3, high=1, eps=1), "are empty"),
        (lambda: sampling.irregular_geometric([1, 0], 1), "points must increase"),
        (lambda: sampling.irregular_geometric([], 1), "points is empty"),
        (lambda: sampling.irregular_geometric([0, F(1, 2)], alpha="1/2"), "give eps instead"),
        (lambda: sampling.randomised_response(0, 1), "n is 0"),
        (lambda: sampling.randomised_response(2**50, 1), "at most 2"),
        (lambda: sampling.planar_geometric(0), "eps is 0"),
        (lambda: sampling.planar_geometric(1, bounds=((1, 0), (0, 0))), "first ≤ last"),
        (sampling.discrete_gaussian, "exactly one of sigma and variance"),
        (lambda: sampling.discrete_gaussian(-1), "sigma is -1"),
        (lambda: sampling.pixelated_laplace(0, 1), "pixels is 0"),
        (lambda: sampling.pixelated_laplace(4, 1, low=1, high=1), "low < high"),
        (lambda: sampling.bernoulli(2), "p is 2"),
        (lambda: sampling.bernoulli_exp(-1), "gamma is -1"),
        (lambda: sampling.exponential_rows([[float("inf")]], 1), "row 0 is infinitely far"),
        (lambda: sampling.discrete_laplace(1).draw(3), r"inputs is 3; give a list or an array"),
        (lambda: sampling.discrete_laplace(1).draw([0.5]), "0.5 is not an integer"),
        (lambda: sampling.discrete_laplace(1).draw([float("nan")]), "nan is not an integer"),
        (lambda: sampling.discrete_laplace(1).draw(["a"]), "'a'.* is not an integer"),
        (lambda: sampling.discrete_laplace(1).draw([2**62]), "clamp the inputs first"),
        (lambda: sampling.randomised_response(3, 1).draw([3]), "3 is not from 0 to 2"),
        (lambda: sampling.planar_geometric(1).draw([1, 2]), "give rows of 2 integers"),
        (lambda: sampling.discrete_laplace(1).draw([[1, 2], [3, 4]]), "give a list of integers"),
        (lambda: sampling.discrete_laplace(1).noise(-1), "size is -1"),
        (lambda: sampling.truncated_geometric(2.5, 1), "n is 2.5; it must be a whole number"),  # type: ignore[arg-type]
        (lambda: sampling.truncated_geometric(low=0, high=1.5, eps=1), "high is 1.5"),  # type: ignore[arg-type]
        (lambda: sampling.pixelated_laplace(4, 1, denominator=0), "denominator is 0"),
        (lambda: sampling.rational_rows([]), "matrix has rows of"),
        (lambda: sampling.rational_rows([["1/2", "1/2"], [1]]), "all need as many"),
        (lambda: sampling.exponential_rows([], 1), "give a matrix"),
    ],
)
def test_bad_input(make: Callable[[], object], message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sampling.truncated_geometric(3, 1, high=5e-324), "give either n"),
        (lambda: sampling.truncated_geometric(3, 1, low=0), "give either n"),
        (lambda: sampling.truncated_geometric(eps=1, low=0, high=2.5), "high is 2.5"),
        (lambda: sampling.planar_geometric(1, bounds=[(0, 0)]), "bounds is .*; give"),
        (lambda: sampling.planar_geometric(1, bounds=((0, 0.5), (0, 1))), "bounds is 0.5"),
        (lambda: sampling.planar_geometric(1, bounds=((3, 0), (0, 1))), "first ≤ last"),
        (lambda: sampling.discrete_laplace(alpha="१/३"), "alpha is"),
        (lambda: sampling.discrete_laplace(True), "eps is True"),
        (lambda: sampling.discrete_laplace(float("nan")), "eps is nan"),
    ],
)
def test_arguments_that_would_be_ignored_or_misread_are_refused(make: Any, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        make()
