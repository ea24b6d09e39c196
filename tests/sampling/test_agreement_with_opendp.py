"""Agreement in distribution with OpenDP, two samples at a false-alarm rate of 1e-6."""

import math
from collections.abc import Callable
from fractions import Fraction as F
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sievert import sampling

Oracle = Callable[[str], ModuleType]
SameLaw = Callable[[Any, Any], bool]


@pytest.fixture
def dp(oracle: Oracle) -> Any:
    oracle("opendp")
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


def peer_integers(dp: Any, make: Any, metric: Any, size: int, **parameters: Any) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int)), metric
    return np.array(make(*space, **parameters)([0] * size))


@pytest.mark.parametrize("timing", ["fixed", "fast"])
@pytest.mark.parametrize("eps", [F(1, 100), F(1, 10), F(1), F(5)])
def test_discrete_laplace(eps: F, timing: Any, dp: Any, same_law: SameLaw) -> None:
    theirs = peer_integers(dp, dp.m.make_laplace, dp.l1_distance(T=int), 15_000, scale=float(1 / eps))
    ours = sampling.discrete_laplace(eps, timing=timing, insecure_rng=51).noise(200_000)
    assert same_law(ours, theirs)


def test_the_comparison_is_not_blind(dp: Any, same_law: SameLaw) -> None:
    theirs = peer_integers(dp, dp.m.make_laplace, dp.l1_distance(T=int), 15_000, scale=1.0)
    ours = sampling.discrete_laplace("11/10", insecure_rng=52).noise(200_000)
    assert not same_law(ours, theirs)


@pytest.mark.parametrize("sigma", [F(1), F(10)])
def test_discrete_gaussian(sigma: F, dp: Any, same_law: SameLaw) -> None:
    theirs = peer_integers(dp, dp.m.make_gaussian, dp.l2_distance(T=float), 10_000, scale=float(sigma))
    ours = sampling.discrete_gaussian(sigma, insecure_rng=53).noise(200_000)
    assert same_law(ours, theirs)


def test_truncated_geometric(dp: Any, same_law: SameLaw) -> None:
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    draw = dp.m.make_geometric(*space, scale=2.0, bounds=(0, 8))
    theirs = np.array([draw(3) for _ in range(2500)])
    ours = sampling.truncated_geometric(9, "1/2", insecure_rng=54).draw(np.full(100_000, 3))
    assert same_law(ours, theirs)


def test_randomised_response(dp: Any, same_law: SameLaw) -> None:
    n, eps = 4, 1.0
    truth = math.exp(eps) / (math.exp(eps) + n - 1)
    draw = dp.m.make_randomized_response(categories=list(range(n)), prob=truth)
    theirs = np.array([draw(2) for _ in range(2500)])
    ours = sampling.randomised_response(n, 1, insecure_rng=55).draw(np.full(100_000, 2))
    assert same_law(ours, theirs)
