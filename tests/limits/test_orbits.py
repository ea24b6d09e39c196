"""Constrained policies with symmetric records: packing over orbits of databases against the whole table."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import sievert as sv
from sievert.limits import _columns, _methods, _worst
from sievert.limits._columns import symmetric_optimum
from sievert.limits._orbits import orbit_bounds
from sievert.limits._programs import full_program
from sievert.limits._space import packing, space_of
from sievert.numerics import read_eps
from sievert.proofs import WorstLeakageProof
from sievert.spaces import automorphisms


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
    assert float(high) == pytest.approx(packing(space, eps).value, rel=1e-9)
    exact = sv.worst_leakage(policy, eps).exact.factor
    assert float(low) <= exact * (1 + 1e-9) and exact <= float(high) * (1 + 1e-9)
    assert attained is ("attained" in method)
    if attained:
        assert float(high - low) <= 1e-9 * float(high)


def test_a_large_policy_is_solved_by_its_orbits(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = known_total(4, 4, 6)
    whole = sv.worst_leakage(policy, 1.5)
    for module in (_worst, _methods):
        monkeypatch.setattr(module, "LARGEST_DENSE", 10)
    _worst.SOLVED.clear()
    found = sv.worst_leakage(known_total(4, 4, 6), 1.5)
    assert "columns of 5 points" in found.method
    assert found.certificate.lower["type"] == "columns"
    assert found.certificate.verify().holds
    assert found.exact.log == pytest.approx(whole.exact.log, rel=1e-9)
    monkeypatch.setattr(_columns, "LARGEST_CLASSES", 20)
    _worst.SOLVED.clear()
    bounded = sv.worst_leakage(known_total(4, 4, 6), 1.5)
    assert "orbits of points" in bounded.method
    assert bounded.certificate.upper["type"] == "orbits"
    assert bounded.certificate.verify().holds
    assert bounded.lower.factor <= whole.upper.factor and bounded.upper.factor >= whole.lower.factor
    assert np.isfinite(bounded.upper.bits) and bounded.upper.bits < bounded.radius.bits


def test_exchanges_move_databases_within_their_kind() -> None:
    policy = known_total(3, 4, 4)
    for image in policy.exchanges:
        assert (policy.alike_databases[image] == policy.alike_databases).all()
    assert sv.Policy.differential(3, 2).exchanges == ()


def symmetric_policy(rng: random.Random) -> sv.Policy | None:
    """Databases that public knowledge leaves possible in any order of their records, shuffled."""
    values, records = rng.choice([2, 3, 4]), rng.choice([3, 4, 5])
    kinds = list(itertools.combinations_with_replacement(range(values), records))
    chosen = rng.sample(kinds, rng.randint(2, min(len(kinds), 5)))
    rows = sorted({order for kind in chosen for order in itertools.permutations(kind)})
    if not 6 <= len(rows) <= 40:
        return None
    rng.shuffle(rows)
    if rng.random() < 0.5:
        return sv.Policy.differential(range(values), records, permitted=rows)
    return sv.Policy(sv.secrets.threshold(range(values), 1), records, permitted=rows)


def fork_with_copies(rng: random.Random) -> sv.Graph:
    """A random tree whose branches at the root stand there several times: packing is seldom attained."""
    edges, last = [], 0
    for _ in range(rng.randint(1, 2)):
        branch = [(rng.randrange(k), k) for k in range(1, rng.randint(3, 6))]
        for _ in range(rng.randint(2, 3)):
            edges += [(a + last if a else 0, b + last) for a, b in branch]
            last += len(branch)
    order = list(range(last + 1))
    rng.shuffle(order)
    return sv.Graph(range(last + 1), [(order[a], order[b]) for a, b in edges])


def test_columns_of_one_point_an_orbit_are_the_plain_program() -> None:
    rng = random.Random(4)
    kinds: Counter[str] = Counter()
    while kinds.total() < 50:
        policy = symmetric_policy(rng) if kinds.total() % 2 else None
        graph = fork_with_copies(rng) if policy is None else policy.adjacency()
        space = space_of(graph)
        group = automorphisms(space.graph())
        if space.component_of.any() or not len(group.generators) or space.size > 40:
            continue
        eps = read_eps(rng.choice([0.1, 0.2, 0.5, 1, 2]))
        found = symmetric_optimum(space, eps, tuple(group.generators.astype(np.intp)), channel=True)
        plain = full_program(space, float(eps), np.eye(space.size)).value
        low, high = WorstLeakageProof(space.proof, eps, found.upper, found.lower).bounds()
        assert float(low) == pytest.approx(plain, rel=1e-8) == float(high)
        channel = found.channel
        tail, head = space.arcs
        assert channel.sum(axis=1) == pytest.approx(1)
        assert (channel[tail] <= np.exp(float(eps)) * channel[head] * (1 + 1e-9) + 1e-15).all()
        assert channel.max(axis=0).sum() == pytest.approx(plain, rel=1e-7)
        kinds[found.upper["type"]] += 1
    assert kinds["columns"] > 10 and kinds["orbits"] > 10


def test_many_classes_are_still_exact() -> None:
    found = sv.worst_leakage(known_total(4, 5, 7), 1)
    assert "columns of 6 points" in found.method
    assert found.exact.factor == pytest.approx(4.059493262554, rel=1e-11)
    assert found.mechanism.shape == (155, 155)
    assert found.certificate.verify().holds


def test_too_many_orbits_leave_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columns, "MOST_PEAKS", 2)
    policy = known_total(4, 5, 7)
    assert (
        symmetric_optimum(space_of(policy.adjacency()), read_eps(1), policy.exchanges, channel=False) is None
    )
