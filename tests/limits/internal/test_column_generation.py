"""Rays that are generated until they close, against the plain program."""

import numpy as np
import pytest
from drawn_graphs import LEVELS, connected_graphs
from hypothesis import given, settings

from sievert.limits import space_of, worst_leakage
from sievert.limits._column_generation import dual_of, generate_rays
from sievert.spaces import Graph


@given(connected_graphs(3, 7), LEVELS)
@settings(max_examples=25, deadline=None)
def test_rays_are_the_plain_program(graph: Graph, eps: float) -> None:
    space = space_of(graph)
    plain = worst_leakage(graph, eps, gain=2 * np.eye(graph.size)).exact.factor
    rays = generate_rays(space, eps)
    assert rays.lower == pytest.approx(plain, rel=1e-7)
    assert rays.upper == pytest.approx(plain, rel=1e-6)
    assert dual_of(space, eps, rays.y).value == pytest.approx(plain, rel=1e-6)
