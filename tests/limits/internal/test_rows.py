"""Capacities of rows and stars by closed forms, beside the exact programs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sievert import Policy, worst_leakage
from sievert.limits._long_lines import closed_bounds
from sievert.spaces import Graph, metrics, secrets

EPS = [Fraction(1, 10), Fraction(1), Fraction(4)]


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("size", [2, 3, 9])
def test_lines_and_stars_are_exact(eps: Fraction, size: int) -> None:
    for graph in (secrets.line(size), secrets.presence(range(size))):
        closed = closed_bounds(graph, eps)
        solved = worst_leakage(Graph(graph.nodes, graph.labelled_edges()), eps)
        assert closed is not None and solved.exact is not None
        assert closed.packing == pytest.approx(solved.exact.log, abs=1e-9)
        assert closed.reached == closed.packing
        assert closed.diameter == pytest.approx(solved.diameter.log, rel=1e-12)
        assert closed.radius == pytest.approx(solved.radius.log, rel=1e-12)


def test_lines_of_uneven_gaps() -> None:
    closed = closed_bounds(metrics.line([0, 7, 2, 3]), Fraction(1, 2))
    solved = worst_leakage(metrics.line([0, 7, 2, 3]), 0.5)
    assert closed is not None and solved.exact is not None
    assert closed.packing == pytest.approx(solved.exact.log, abs=1e-9)
    assert (closed.diameter, closed.radius) == (solved.diameter.log, solved.radius.log)


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize(("size", "theta"), [(5, 2), (9, 3), (12, 2), (12, 5), (7, 6), (7, 30)])
def test_rows_lie_around_the_exact_capacity(eps: Fraction, size: int, theta: int) -> None:
    graph = secrets.threshold(size, theta)
    closed = closed_bounds(graph, eps)
    solved = worst_leakage(Graph(graph.nodes, graph.labelled_edges()), eps)
    assert closed is not None
    assert closed.reached <= solved.upper.log + 1e-9
    assert closed.packing >= solved.packing.log - 1e-9  # only packing bounds multiply over records
    assert closed.diameter == pytest.approx(solved.diameter.log, rel=1e-12)
    assert closed.radius >= solved.radius.log - 1e-12


def test_very_many_values() -> None:
    wide = worst_leakage(Policy(secrets.threshold(150_001, 10_000), 100), 1.0)
    assert wide.lower.bits < wide.upper.bits < wide.lower.bits + 20
    near = worst_leakage(Policy(secrets.threshold(200_000, 10), 1), 1.0)
    # The ends of a long row hardly count: 2(θ - 1) of 200,000 values.
    assert near.upper.factor / near.lower.factor == pytest.approx(1 + 18 / 200_000, rel=1e-5)
    line = worst_leakage(Policy(secrets.line(200_000), 3), 1.0)
    assert line.exact is not None
    assert line.exact.bits == pytest.approx(3 * worst_leakage(secrets.line(200_000), 1.0).upper.bits)
