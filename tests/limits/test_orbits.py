"""Constrained policies with symmetric records: packing over orbits of databases against the whole table."""

from dataclasses import replace

import numpy as np
import pytest

import sievert as sv
from sievert.limits import _methods, _worst
from sievert.limits._orbits import orbit_bounds
from sievert.limits._space import packing, space_of
from sievert.numerics import read_eps
from sievert.proofs import WorstLeakageProof


def known_total(values: int, records: int, total: int) -> sv.Policy:
    return sv.Policy.differential(range(values), records, permitted=sv.constraints.total(total))


@pytest.mark.parametrize("eps", [0.3, 1.5])
@pytest.mark.parametrize("case", [(3, 4, 4), (4, 4, 6), (5, 3, 6)])
def test_packing_over_orbits_is_packing(case: tuple[int, int, int], eps: float) -> None:
    policy = known_total(*case)
    space = replace(space_of(policy.adjacency()), symmetries=policy.exchanges)
    method, upper, lower = orbit_bounds(space, read_eps(eps))
    proof = WorstLeakageProof(space.proof, read_eps(eps), upper, lower)
    low, high = proof.bounds()
    assert float(high) == pytest.approx(packing(space, eps).value, rel=1e-9)
    exact = sv.worst_leakage(policy, eps).exact.factor
    assert float(low) <= exact * (1 + 1e-9) and exact <= float(high) * (1 + 1e-9)
    if "attained" in method:
        assert float(high - low) <= 1e-9 * float(high)


def test_a_large_policy_is_solved_by_its_orbits(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = known_total(4, 4, 6)
    whole = sv.worst_leakage(policy, 1.5)
    for module in (_worst, _methods):
        monkeypatch.setattr(module, "LARGEST_DENSE", 10)
    _worst.SOLVED.clear()
    found = sv.worst_leakage(known_total(4, 4, 6), 1.5)
    assert "orbits of points" in found.method
    assert found.certificate.upper["type"] == "orbits"
    assert found.certificate.verify().holds
    assert found.lower.factor <= whole.upper.factor and found.upper.factor >= whole.lower.factor
    assert np.isfinite(found.upper.bits) and found.upper.bits < found.radius.bits


def test_exchanges_move_databases_within_their_kind() -> None:
    policy = known_total(3, 4, 4)
    for image in policy.exchanges:
        assert (policy.alike_databases[image] == policy.alike_databases).all()
    assert sv.Policy.differential(3, 2).exchanges == ()
