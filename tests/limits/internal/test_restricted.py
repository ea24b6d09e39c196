"""Groups of databases about one record, and what is left where there are too many of them."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from sievert.limits import _restricted as restricted
from sievert.limits import worst_leakage
from sievert.policies import Policy
from sievert.spaces import graphs, secrets

# Record 1 has four values, two when record 2 has value 1; record 2 has three or four.
MIXED = Policy.blowfish(
    secrets.complete(4),
    2,
    permitted=[(a, b) for a, b in product(range(4), repeat=2) if b != 1 or a < 2],
)


@pytest.mark.parametrize("pairs", [secrets.complete(4), secrets.line(4)], ids=["complete", "line"])
def test_too_many_databases_leave_the_bound_of_the_open_values(
    pairs: secrets.SecretGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.blowfish(pairs, 2, permitted=MIXED.permitted)
    exact = worst_leakage(policy, 1, individual=True).exact
    monkeypatch.setattr(restricted, "LARGEST_DENSE", 10)
    found = worst_leakage(policy, 1, individual=True)
    assert found.exact is None and "10 databases" in found.reason
    assert exact.factor - 1e-9 <= found.upper.factor < 4
    if isinstance(pairs, secrets.CompleteGraph):
        assert found.upper.factor == pytest.approx(worst_leakage(pairs, 1).exact.factor)


def star_policy() -> Policy:
    """T = {c, 1…6}, secrets c–i; permitted (i, 1) and (c, 2): a star whose centre is outside the group."""
    values = ["c", *range(1, 7)]
    permitted = [*((k, 1) for k in range(1, 7)), ("c", 2)]
    return Policy.blowfish(
        secrets.edges(values, [("c", k) for k in range(1, 7)]), records=2, permitted=permitted
    )


@pytest.mark.parametrize(("eps", "truth"), [(0.3, 1.349859), (1, 2.718282)])
def test_one_individual_under_constraints(eps: float, truth: float) -> None:
    policy = star_policy()
    assert sorted(map(len, restricted.individual_groups(policy)))[-1] == 6
    found = worst_leakage(policy, eps, individual=True)
    assert found.exact.factor == pytest.approx(truth, abs=6e-7)
    assert found.mechanism.shape == (7, 6)


def test_mixed_integer_packing_is_only_a_bound() -> None:
    # H(2,2), r = 2: packing with two points gives 1.761594, the truth is 1.632121.
    kernel = np.exp(-graphs.hamming(2, 2).metric().matrix)
    best = max(2 / (1 + kernel[0, j]) for j in range(1, 4))
    assert best == pytest.approx(1.761594, abs=6e-7)
    # H(2,3): with two, three and four points; the exact values are 1.632121, 2.264241 and 2.464913.
    kernel = np.exp(-graphs.hamming(2, 3).metric().matrix)
    for outputs, value in ((2, 1.761594), (3, 2.360958), (4, 2.491200)):
        best = max(
            float(restricted._covering(kernel[:, list(chosen)], kernel).sum())
            for chosen in combinations(range(9), outputs)
        )
        assert best == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_individual_is_the_largest_of_all_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = list(product(range(3), repeat=3))
    kept = [every[i] for i in np.flatnonzero(rng.random(27) < 0.6)]
    policy = Policy.blowfish(secrets.line(3), 3, permitted=kept)
    eps = float(rng.choice([0.2, 0.7, 1.5]))
    # A guess within the group, worth 2: a goal of its own, and so the plain program over all channels.
    goals = [2 * np.eye(len(kept))[list(group)] for group in restricted.individual_groups(policy)]
    values = [worst_leakage(policy, eps, gain=goal).exact.factor for goal in goals]
    found = worst_leakage(policy, eps, individual=True)
    assert found.exact is not None and found.exact.factor == pytest.approx(max(values), rel=1e-7)
    chain = [found.exact.log, found.packing.log, found.radius.log, found.diameter.log]
    assert all(a <= b + 1e-8 for a, b in pairwise(chain))
    assert found.certificate.verify()
