"""Blocks over cut vertices: orbits inside them, and the bound they give one by one."""

from fractions import Fraction

import numpy as np
import pytest

from sievert.limits import _columns, worst_leakage
from sievert.limits import _methods as ladder
from sievert.limits._blocks import block_orbits, decompose, solve_blocks
from sievert.limits._programs import full_program
from sievert.limits._space import space_of
from sievert.proofs import WorstLeakageProof
from sievert.spaces import Graph

K23 = Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])


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
    plain = full_program(space, eps, np.eye(graph.size)).value
    assert solve_blocks(space, eps, parts, orbits).value == pytest.approx(plain, rel=1e-8)
    found = worst_leakage(graph, eps)
    assert found.exact is not None and found.exact.factor == pytest.approx(plain, rel=1e-8)
    assert found.certificate.verify()


def test_a_large_symmetric_block_is_solved_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """K(40,30) has 70 points, more than a plain block may have, but few orbits."""
    monkeypatch.setattr(_columns, "MOST_PEAKS", 0)
    wide = [(a, b) for a in range(40) for b in range(40, 70)]
    found = worst_leakage(Graph(range(74), [*wide, (0, 70), (70, 71), (70, 72), (72, 73)]), 0.2)
    assert found.exact is not None and "blocks over cut vertices, folded" in found.method
    assert found.certificate.verify()


@pytest.mark.parametrize(
    ("joins", "method"),
    [([(2, 5), (7, 10)], "packing bound"), ([(2, 7), (8, 12)], "blocks taken one by one")],
)
def test_the_interval_takes_the_smallest_of_three_bounds(
    joins: list[tuple[int, int]], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """min(packing, 1 + Σ(Cap(B) - 1), Σ e^(εr)): neither of the first two is always the smaller."""
    monkeypatch.setattr(
        ladder, "_exact", lambda space, eps: ladder._interval(space, eps, "no", decompose(space))
    )
    necklace = [(5 * k + a, 5 * k + b) for k in range(3) for a in (0, 1) for b in (2, 3, 4)]
    graph = Graph(range(15), [*necklace, *joins])
    eps = 0.3
    exact = full_program(space_of(graph), eps, np.eye(15)).value
    block = full_program(space_of(K23), eps, np.eye(5)).value
    apart = 1 + 3 * (block - 1) + 2 * np.tanh(eps / 2)
    found = worst_leakage(graph, eps)
    assert found.lower.factor <= exact * (1 + 1e-9) and exact <= found.upper.factor * (1 + 1e-9)
    assert found.upper.factor == pytest.approx(
        min(apart, found.packing.factor, found.radius.factor), rel=1e-8
    )
    assert found.method == method and found.certificate.verify()


def test_blocks_whose_own_optima_fit_together_are_exact() -> None:
    """Equality in 1 + Σ(Cap(B) - 1): two K(2,3) joined at leaves, at an ε where no vertex is overdrawn."""
    joined = [(5 * k + a, 5 * k + b) for k in range(2) for a in (0, 1) for b in (2, 3, 4)]
    space = space_of(Graph(range(10), [*joined, (2, 7)]))
    plain = full_program(space, 2.0, np.eye(10)).value
    rung = ladder._blocks_apart(space, Fraction(2), decompose(space), "")
    lower, upper = WorstLeakageProof(space.proof, Fraction(2), rung.upper, rung.lower).bounds()
    assert float(lower) == pytest.approx(plain, rel=1e-8) == pytest.approx(float(upper), rel=1e-8)
    assert rung.channel is not None and rung.channel.max(axis=0).sum() == pytest.approx(plain, rel=1e-8)


def test_ray_generation_that_is_stopped_keeps_what_it_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring with chords, too large for one block and without symmetry: stopped, both ends still hold."""
    rng = np.random.default_rng(4)
    ring = [(v, (v + 1) % 64) for v in range(64)]
    graph = Graph(
        range(64), {*ring, *((int(a), int(b)) for a, b in rng.integers(64, size=(40, 2)) if a != b)}
    )
    space = space_of(graph)
    assert decompose(space).largest() > ladder.LARGEST_BLOCK
    monkeypatch.setattr(ladder, "RAY_SECONDS", 0.0)
    stopped = worst_leakage(graph, 0.1)
    assert stopped.exact is None and "did not close" in stopped.reason
    monkeypatch.setattr(ladder, "RAY_SECONDS", 60.0)
    found = worst_leakage(graph, 0.1)
    assert found.exact is not None and "rays" in found.method
    assert stopped.lower.log <= found.exact.log + 1e-9 and found.exact.log <= stopped.upper.log + 1e-9
    assert stopped.certificate.verify() and found.certificate.verify()
