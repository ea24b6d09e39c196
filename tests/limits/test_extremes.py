"""Solvers at the edge: columns of mere rounding, ε next to 0 and ε beyond every float."""

from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.limits import worst_leakage
from sievert.spaces import Graph, graphs, metrics

# Found by random search: the plain program leaves columns of 1e-14.
NOISY = [
    (0.6763399060833983, 0.9655573654911169),
    (0.9940420050153725, 0.12918099137038974),
    (0.3492939115579734, 0.7990687418764638),
    (0.4448410498095635, 0.20272365736950204),
    (0.6641003366286866, 0.25102542248223836),
    (0.4130331058027823, 0.3053446756299687),
]
PENDANT_TRIANGLES = Graph(range(6), [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])
SPACES = {
    "line": metrics.line(4),
    "cycle": metrics.cycle(5),
    "plane": metrics.euclidean([(0, 0), (1, 0), (0, 2.5)]),
    "star": graphs.star(6),
    "triangles": PENDANT_TRIANGLES,
}


def test_columns_of_rounding_do_not_spoil_the_channel() -> None:
    found = worst_leakage(metrics.euclidean(NOISY), 1)
    assert found.exact is not None, found.reason
    assert found.exact.factor == pytest.approx(1.5845259443450919, rel=1e-9)


@pytest.mark.parametrize("eps", [0, 1e-300, 1e-18, 1e-15, 1e-13, 23, 25, 31, 800, 1e9, 1e300])
@pytest.mark.parametrize("name", SPACES)
def test_every_question_has_an_answer_at_every_eps(name: str, eps: float) -> None:
    space = SPACES[name]
    uniform = [1 / space.size] * space.size
    for question in ({}, {"prior": uniform}, {"outputs": 2}):
        found = worst_leakage(space, eps, **question)
        assert found.certificate.verify()
        if found.exact is None:  # no formula is known, and floats leave the ends apart next to 1
            assert 0 < eps < 1e-9 and found.upper.factor == pytest.approx(1, abs=1e-9), found.reason
            continue
        limit = 1 if eps < 1 else min(space.size, question.get("outputs", space.size))
        assert found.exact.factor == pytest.approx(limit, rel=1e-5)


@pytest.mark.parametrize("eps", [1e-15, 1e-14, 1e-13])
@pytest.mark.parametrize(
    "space",
    [
        metrics.line(12),
        metrics.euclidean(np.random.default_rng(1).random((120, 2)).tolist()),
        sv.Policy.blowfish(sv.secrets.line(12), 600),
    ],
    ids=["line", "plane", "histogram"],
)
def test_where_rounding_leaves_no_kernel_saying_nothing_is_the_bound(space: Any, eps: float) -> None:
    """ValueError: "the remainder of the kernel channel is not private"."""
    found = sv.worst_leakage(space, eps)
    assert 1 <= found.lower.factor <= found.upper.factor <= 1 + 1e-8
    assert found.certificate.verify()


@pytest.mark.parametrize("eps", [0, 1e-300, 25, 800, 1e300])
def test_directed_adjacency_at_every_eps(eps: float) -> None:
    pairs = sv.secrets.edges(3, [(0, 1), (0, 2)])
    policy = sv.Policy.blowfish(pairs, 2, permitted=[(0, 0), (0, 1), (1, 2)])
    found = worst_leakage(policy.adjacency(directed=True), eps)
    assert found.exact is not None, found.reason
    assert found.certificate.verify()
    assert found.exact.factor == pytest.approx(1 if eps < 1 else 3)
