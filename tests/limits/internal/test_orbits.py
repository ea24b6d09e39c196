"""Packing over orbits of databases against the whole table."""

from dataclasses import replace

import pytest

import sievert as sv
from sievert.limits import space_of
from sievert.limits._orbits import orbit_bounds
from sievert.numerics import read_eps
from sievert.proofs import WorstLeakageProof


def known_total(values: int, records: int, total: int) -> sv.Policy:
    return sv.Policy.differential(range(values), records, permitted=sv.constraints.total(total))


@pytest.mark.parametrize("eps", [0.3, 1.5])
@pytest.mark.parametrize("case", [(3, 4, 4), (4, 4, 6), (5, 3, 6)])
def test_packing_over_orbits_is_packing(case: tuple[int, int, int], eps: float) -> None:
    policy = known_total(*case)
    space = replace(space_of(policy.adjacency()), symmetries=policy.exchanges)
    method, upper, lower, attained = orbit_bounds(space, read_eps(eps))
    proof = WorstLeakageProof(space.proof, read_eps(eps), upper, lower)
    low, high = proof.bounds()
    whole = sv.worst_leakage(policy, eps)
    assert float(high) == pytest.approx(whole.packing.factor, rel=1e-9)
    exact = whole.exact.factor
    assert float(low) <= exact * (1 + 1e-9) and exact <= float(high) * (1 + 1e-9)
    assert attained is ("attained" in method)
    if attained:
        assert float(high - low) <= 1e-9 * float(high)
