"""The worst prior for spanning gains: closed forms, a grid of priors as oracle, and the bound above."""

import itertools

import numpy as np
import pytest

import sievert as sv


def spanning(channel: sv.Channel, prior: object = None) -> object:
    return sv.capacity(channel, prior, gains="spanning", kind="additive")


@pytest.mark.parametrize("seed", range(6))
def test_no_prior_of_a_grid_is_above_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = sv.Channel(rng.dirichlet(np.full(4, 0.4), 3))
    found = spanning(channel)
    steps = [
        np.array([a, b, 20 - a - b]) / 20 for a, b in itertools.product(range(21), repeat=2) if a + b <= 20
    ]
    most = max(float(spanning(channel, prior)) for prior in steps)
    assert most <= float(found) + found.gap + 1e-12
    # The grid is no finer than a twentieth, and what is found is a value of some prior.
    assert float(found) >= most - 1e-9
    assert float(spanning(channel, found.prior)) == pytest.approx(float(found), rel=1e-12)
    assert found.gap <= 0.25 * float(found)


def test_two_rows_and_rows_that_differ_alike_are_exact() -> None:
    two = spanning(sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    assert (float(two), two.gap) == (pytest.approx(0.25), 0)
    for size in (2, 5):
        response = spanning(sv.mechanisms.randomised_response(size, alpha="1/3"))
        listed = spanning(sv.Channel(sv.mechanisms.randomised_response(size, alpha="1/3").matrix))
        assert float(response) == pytest.approx(float(listed), rel=1e-9)
        assert response.gap == listed.gap == 0
    program = spanning(sv.Channel(np.eye(4)[[0, 1, 1, 2]][:, :3]))
    assert (float(program), program.gap) == (pytest.approx(2 / 3), 0)


def test_nothing_is_learned_from_equal_rows() -> None:
    assert float(spanning(sv.Channel([[0.5, 0.5]] * 3))) == 0


def test_too_many_inputs_are_named() -> None:
    with pytest.raises(sv.errors.TooLargeError, match="the inputs of the channel"):
        spanning(sv.Channel(np.tile([0.25, 0.75], (2001, 1))))
