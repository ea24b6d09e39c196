"""Spaces that were found to be products, by their factors, against the plain program on the whole."""

import math
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.limits import space_of, worst_leakage
from sievert.limits._products import worst_of_product
from sievert.spaces import Graph, graphs

FORK = Graph(range(5), [(0, 1), (1, 2), (0, 3), (0, 4)])


def cartesian(first: Graph, second: Graph, seed: int = 0) -> Graph:
    """The product as a bare list of edges between shuffled numbers."""
    names = np.random.default_rng(seed).permutation(first.size * second.size).reshape(first.size, second.size)
    along = [names[first.edges[:, 0]].ravel(), names[first.edges[:, 1]].ravel()]
    across = [names[:, second.edges[:, 0]].ravel(), names[:, second.edges[:, 1]].ravel()]
    pairs = np.concatenate([np.column_stack(along), np.column_stack(across)])
    return graphs.of_pairs(pairs, first.size * second.size)


LOOSE = {"fork": FORK, "K2,3": Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])}


TIGHT = {"path": graphs.path(4), "cycle": graphs.cycle(5), "clique": graphs.complete(3)}


@pytest.mark.parametrize("eps", [Fraction(1, 5), Fraction(1, 2), Fraction(3, 2)])
@pytest.mark.parametrize(
    ("first", "second"),
    [(FORK, TIGHT["path"]), (LOOSE["K2,3"], TIGHT["clique"]), (TIGHT["cycle"], TIGHT["path"])],
    ids=["fork × path", "K2,3 × clique", "cycle × path"],
)
def test_the_product_rule_is_the_plain_program(first: Graph, second: Graph, eps: Fraction) -> None:
    graph = cartesian(first, second, 3)
    space = space_of(graph)
    plain, found = worst_leakage(graph, eps), worst_of_product(space, space.factors, eps, 1)
    assert found.exact.log == pytest.approx(plain.exact.log, rel=1e-8)
    assert found.certificate.verify()
    assert sv.epsilon(found.mechanism, graph.metric()).nats <= float(eps) * (1 + 1e-12)
    assert sv.capacity(found.mechanism).bits == pytest.approx(plain.exact.bits, rel=1e-8)


def test_two_loose_factors_make_an_interval() -> None:
    space = space_of(cartesian(FORK, FORK))
    found = worst_of_product(space, space.factors, Fraction(1, 2), 1)
    assert found.exact is None and "1 of 2 factors" in found.reason
    # Spec 1.5: Cap² ≤ Cap(G□G) ≤ Cap·P.
    assert found.lower.factor == pytest.approx(3.585872, abs=1e-6)
    assert found.upper.factor == pytest.approx(1.893640 * math.sqrt(3.749530), abs=1e-5)
    assert found.lower.factor < 3.619058 < found.upper.factor
    assert found.certificate.verify()
    # The whole has 25 points: the plain program knows better.
    assert worst_leakage(cartesian(FORK, FORK), 0.5).exact.factor == pytest.approx(3.619058, abs=1e-6)
    # Over several records no factor may be loose.
    twice = worst_of_product(space, space.factors, Fraction(1, 2), 2)
    assert twice.upper.factor == pytest.approx(3.749530**2, abs=1e-4)
    assert twice.certificate.verify()
