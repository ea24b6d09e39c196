"""Blocks over cut vertices, folded by the symmetries inside them."""

import numpy as np
import pytest
from drawn_graphs import LEVELS, connected_graphs
from hypothesis import given, settings

from sievert.limits import space_of, worst_leakage
from sievert.limits._blocks import block_orbits, decompose, solve_blocks
from sievert.spaces import Graph


def bipartite_chain() -> Graph:
    """K(3,6) and K(4,5) joined by a bridge, with unequal tails that leave the blocks' twins alone."""
    first = [(a, b) for a in range(3) for b in range(3, 9)]
    second = [(a, b) for a in range(9, 13) for b in range(13, 18)]
    return Graph(range(21), [*first, *second, (0, 9), (3, 18), (13, 19), (19, 20)])


@pytest.mark.parametrize("eps", [0.2, 0.6, 1.0])
def test_blocks_are_folded_by_the_symmetries_that_fix_their_cut_vertices(eps: float) -> None:
    graph = bipartite_chain()
    space = space_of(graph)
    parts = decompose(space)
    orbits = block_orbits(space, parts)
    assert sum(block.count for block in orbits) < parts.unknowns() / 3
    plain = worst_leakage(graph, eps, gain=2 * np.eye(graph.size)).exact.factor
    assert solve_blocks(space, eps, parts, orbits).value == pytest.approx(plain, rel=1e-8)
    found = worst_leakage(graph, eps)
    assert found.exact is not None and found.exact.factor == pytest.approx(plain, rel=1e-8)
    assert found.certificate.verify()


@given(connected_graphs(3, 7), LEVELS)
@settings(max_examples=25, deadline=None)
def test_blocks_are_the_plain_program(graph: Graph, eps: float) -> None:
    space = space_of(graph)
    parts = decompose(space)
    plain = worst_leakage(graph, eps, gain=2 * np.eye(graph.size)).exact.factor
    assert solve_blocks(space, eps, parts, block_orbits(space, parts)).value == pytest.approx(plain, rel=1e-7)
