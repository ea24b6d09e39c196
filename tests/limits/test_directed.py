"""Privacy that runs one way only: the letter of Definition 2."""

from itertools import pairwise, product

import numpy as np
import pytest

import sievert as sv
from sievert.errors import PolicyError
from sievert.limits import worst_leakage
from sievert.policies import Policy
from sievert.spaces import secrets

# Edwards et al. as corrected: the smallest policy with a one-way pair.
ONE_WAY = Policy.blowfish(secrets.edges(3, [(0, 1), (0, 2)]), 2, permitted=[(0, 0), (0, 1), (1, 2)])


def random_policy(seed: int) -> Policy:
    rng = np.random.default_rng(seed)
    every = list(product(range(3), repeat=3))
    kept = [every[i] for i in np.flatnonzero(rng.random(27) < 0.5)]
    return Policy.blowfish(secrets.line(3), 3, permitted=kept)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("eps", [0.3, 1.2])
def test_the_chain_and_the_undirected_promise(seed: int, eps: float) -> None:
    policy = random_policy(seed)
    one_way, both = worst_leakage(policy.adjacency(directed=True), eps), worst_leakage(policy, eps)
    assert one_way.certificate.verify()
    assert one_way.exact is not None and both.exact is not None
    chain = [both.exact.log, one_way.exact.log, one_way.packing.log, one_way.radius.log, one_way.diameter.log]
    assert all(a <= b + 1e-8 for a, b in pairwise(chain))
    matrix = one_way.mechanism.matrix
    for a, b in policy.adjacency(directed=True).edges.tolist():
        assert (matrix[a] <= np.exp(eps) * matrix[b] + 1e-7).all()
    if not len(policy.database_graph.one_way):
        assert one_way.exact.log == pytest.approx(both.exact.log, abs=1e-7)


def test_a_one_way_pair_leaks_more_than_its_union() -> None:
    policy = ONE_WAY
    assert len(policy.database_graph.one_way) == 1
    one_way, both = worst_leakage(policy.adjacency(directed=True), 0.5), worst_leakage(policy, 0.5)
    assert one_way.exact.factor > both.exact.factor + 1e-3


def test_packing_counts_arcs_in_the_direction_of_the_inequality() -> None:
    """a → b alone: K[a] ≤ e^ε·K[b]; b's own output may be certain, a's must show at b."""
    graph = sv.Policy.blowfish(secrets.line(2), permitted=[0, 1]).adjacency(directed=True)
    graph = type(graph)(
        graph.nodes, np.array([0, 1, 1], np.int32), np.array([1], np.int32), graph.one_way, True
    )
    found = worst_leakage(graph, 1.0)
    q = np.exp(-1.0)
    # K = [[1, 0], [q, 1 - q]] attains 2 - q, and y = (1 - q, 1) covers both columns.
    assert found.exact.factor == pytest.approx(2 - q) == pytest.approx(found.packing.factor)
    assert found.diameter.factor == np.inf and found.radius.factor == pytest.approx(np.e)


def test_only_as_a_whole() -> None:
    with pytest.raises(PolicyError, match="pass the policy"):
        worst_leakage(ONE_WAY.adjacency(directed=True), 0.5, individual=True)


@pytest.mark.parametrize("eps", [0, 1e-6, 40, 800])
def test_extremes(eps: float) -> None:
    found = worst_leakage(ONE_WAY.adjacency(directed=True), eps)
    assert found.certificate.verify() and found.lower.log <= found.upper.log <= np.log(3) + 1e-9
