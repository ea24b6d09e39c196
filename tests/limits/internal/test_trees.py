"""Trees by the orbits of their vertices, against their automorphisms and a program with a pair a level."""

import math

import numpy as np
import pytest

from sievert.limits import space_of, worst_leakage
from sievert.limits._trees import rooted, solve_tree
from sievert.spaces import automorphisms, graphs


@pytest.mark.parametrize("depth", [5, 9, 12])
def test_a_balanced_tree_needs_two_unknowns_a_level(depth: int) -> None:
    tree = graphs.binary_tree(depth)
    assert rooted(space_of(tree)).orbits()[0].max() == depth
    found = worst_leakage(tree, 0.5)
    assert found.exact is not None and found.certificate.verify()
    assert round(found.exact.factor, 4) == pytest.approx(level_symmetric(2, depth, 0.5), abs=1e-4)


@pytest.mark.slow
def test_two_million_vertices_in_twenty_levels() -> None:
    assert level_symmetric(2, 20, 0.5) == pytest.approx(18616.37, abs=6e-3)
    assert solve_tree(space_of(graphs.binary_tree(20)), 0.5).value == pytest.approx(18616.37, abs=6e-3)


@pytest.mark.parametrize("seed", range(5))
def test_orbits_of_a_tree_are_those_of_its_automorphisms_that_fix_the_root(seed: int) -> None:
    graph = graphs.random_tree(40, rng=seed)
    tree = rooted(space_of(graph))
    fixed = automorphisms(graph, np.arange(40) == tree.root).orbits
    found = tree.orbits()[0]
    assert len(set(zip(found.tolist(), fixed.tolist(), strict=True))) == fixed.max() + 1 == found.max() + 1
    plain = tree.below()
    assert sorted(plain.tolist())[-1] <= 39 and (plain >= 1).all()
    assert plain[tree.parent == tree.root].sum() == 39


def level_symmetric(branching: int, depth: int, eps: float) -> float:
    """The tree's program with one pair of unknowns a level."""
    from scipy.optimize import linprog

    q, g = math.exp(-eps), math.exp(eps)
    size = sum(branching**k for k in range(depth + 1))
    cost, rows, right = [], [], []
    for level in range(depth):
        cost += [branching ** (level + 1)] * 2
        for a, b, c in ((-1, -q, -q), (-q, -1, -q), (1, g, g), (g, 1, g)):
            row = [0.0] * (2 * depth)
            row[2 * level], row[2 * level + 1] = a, b
            rows.append(row)
            right.append(c)
    for level in range(depth + 1):
        row = [0.0] * (2 * depth)
        if level < depth:
            row[2 * level] = branching
        if level > 0:
            row[2 * level - 1] = 1
        rows.append(row)
        right.append(1.0)
    return size - linprog(cost, A_ub=rows, b_ub=right, bounds=(0, 1)).fun
