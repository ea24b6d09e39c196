"""The weights of a space and its packing program, below the answers that are made of them."""

import math
from dataclasses import replace

import numpy as np
import pytest

import sievert as sv
from sievert.limits import _space as spaces
from sievert.limits import space_of, worst_leakage
from sievert.policies import Policy
from sievert.spaces import Graph, graphs

K23 = Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])


@pytest.mark.parametrize("eps", [0.1, 0.7, 1.38629, 1.3863, 2.5])
def test_tree_weights_are_not_negative_from_the_logarithm_of_the_degree(eps: float) -> None:
    star = space_of(graphs.star(6))
    found = spaces.weights(star, eps)
    # ln 4 = 1.3862944 is the threshold of the star with five leaves.
    assert (found is None) == (eps < math.log(4))
    if found is not None:
        q = math.exp(-eps)
        assert found == pytest.approx([(1 - (d - 1) * q) / (1 + q) for d in star.degrees], abs=1e-9)
        assert worst_leakage(graphs.star(6), eps).exact.factor == pytest.approx(1 + 5 * math.tanh(eps / 2))


def test_a_singular_kernel_is_solved_all_the_same() -> None:
    eps = math.log(2) / 2
    assert abs(np.linalg.det(space_of(K23).kernel(eps))) < 1e-12
    found = worst_leakage(K23, eps)
    assert found.exact.factor == pytest.approx(math.exp(eps), abs=1e-9)
    assert spaces.weights(space_of(K23), math.log(2) - 1e-6) is None
    assert spaces.weights(space_of(K23), math.log(2) + 1e-6) is not None


def test_the_sign_of_the_solvers_duals_on_one_edge() -> None:
    # Pitfall 4: y = 1/(1+q) at both ends.
    found = spaces.packing(space_of(graphs.path(2)), 1.0)
    assert found.y == pytest.approx([1 / (1 + math.exp(-1))] * 2)


def test_databases_that_are_alike_are_equally_far_from_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """One search for all that an exchange of records makes equal."""
    policy = Policy.differential(4, 4, permitted=sv.constraints.total(6))
    alike = policy.alike_databases
    multisets = [tuple(sorted(database)) for database in policy.databases()]
    assert all(
        (alike[i] == alike[j]) == (a == b) for i, a in enumerate(multisets) for j, b in enumerate(multisets)
    )
    dense = worst_leakage(policy, 0.5)
    monkeypatch.setattr(spaces, "LARGEST_DENSE", 20)
    space = replace(space_of(policy.adjacency()), symmetries=policy.exchanges, alike=alike)
    diameter, radius, _ = space.extent
    assert 0.5 * diameter == pytest.approx(dense.diameter.log)
    assert 0.5 * radius == pytest.approx(dense.radius.log)
