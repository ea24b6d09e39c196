"""Columns of one point for each orbit: the plain program's optimum, or nothing where these are too many."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.limits import _columns as columns
from sievert.limits import space_of, worst_leakage
from sievert.numerics import read_eps
from sievert.proofs import WorstLeakageProof
from sievert.spaces import Graph, automorphisms


def known_total(values: int, records: int, total: int) -> sv.Policy:
    return sv.Policy.differential(range(values), records, permitted=sv.constraints.total(total))


def plain_program(graph: Graph, eps: Fraction) -> float:
    """Guesses worth 2 are a goal of its own: one program over all channels."""
    return worst_leakage(graph, eps, gain=2 * np.eye(graph.size)).exact.factor


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
        found = columns.symmetric_optimum(space, eps, tuple(group.generators.astype(np.intp)), channel=True)
        plain = plain_program(graph, eps)
        low, high = WorstLeakageProof(space.proof, eps, found.upper, found.lower).bounds()
        assert float(low) == pytest.approx(plain, rel=1e-8) == float(high)
        channel = found.channel
        tail, head = space.arcs
        assert channel.sum(axis=1) == pytest.approx(1)
        assert (channel[tail] <= np.exp(float(eps)) * channel[head] * (1 + 1e-9) + 1e-15).all()
        assert channel.max(axis=0).sum() == pytest.approx(plain, rel=1e-7)
        kinds[found.upper["type"]] += 1
    assert kinds["columns"] > 10 and kinds["orbits"] > 10


@pytest.mark.parametrize(("limit", "most"), [("MOST_PEAKS", 2), ("LARGEST_CLASSES", 20)])
def test_too_many_orbits_or_classes_leave_an_interval(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, limit, most)
    policy = known_total(4, 5, 7)
    assert (
        columns.symmetric_optimum(space_of(policy.adjacency()), read_eps(1), policy.exchanges, channel=False)
        is None
    )


def test_a_large_symmetric_block_is_solved_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """K(40,30) has 70 points, more than a plain block may have, but few orbits."""
    monkeypatch.setattr(columns, "MOST_PEAKS", 0)
    wide = [(a, b) for a in range(40) for b in range(40, 70)]
    found = worst_leakage(Graph(range(74), [*wide, (0, 70), (70, 71), (70, 72), (72, 73)]), 0.2)
    assert found.exact is not None and "blocks over cut vertices, folded" in found.method
    assert found.certificate.verify()
