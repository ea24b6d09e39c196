"""The ladder of methods: what is tried where a rung does not hold, and what is told then."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.limits import _component_solvers as ladder
from sievert.limits import space_of, worst_leakage
from sievert.policies import Policy
from sievert.proofs import WorstLeakageProof
from sievert.spaces import Graph


def known_total(values: int, records: int, total: int) -> sv.Policy:
    return sv.Policy.differential(range(values), records, permitted=sv.constraints.total(total))


def test_a_large_policy_is_solved_by_its_orbits(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = known_total(4, 4, 6)
    whole = sv.worst_leakage(policy, 1.5)
    monkeypatch.setattr(ladder, "LARGEST_DENSE", 10)
    found = sv.worst_leakage(known_total(4, 4, 6), 1.5)
    assert "columns of 5 points" in found.method
    assert found.certificate.lower["type"] == "columns"
    assert found.certificate.verify().holds
    assert found.exact.log == pytest.approx(whole.exact.log, rel=1e-9)
    monkeypatch.setattr(ladder, "symmetric_optimum", lambda *_, **__: None)  # too many classes
    bounded = sv.worst_leakage(known_total(4, 4, 6), 1.5)
    assert "orbits of points" in bounded.method
    assert bounded.certificate.upper["type"] == "orbits"
    assert bounded.certificate.verify().holds
    assert bounded.lower.factor <= whole.upper.factor and bounded.upper.factor >= whole.lower.factor
    assert np.isfinite(bounded.upper.bits) and bounded.upper.bits < bounded.radius.bits


K23 = Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])


def plain_program(graph: Graph, eps: float) -> float:
    """Guesses worth 2 are a goal of its own: one program over all channels."""
    return worst_leakage(graph, eps, gain=2 * np.eye(graph.size)).exact.factor


@pytest.mark.parametrize(
    ("joins", "method"),
    [([(2, 5), (7, 10)], "packing bound"), ([(2, 7), (8, 12)], "blocks taken one by one")],
)
def test_the_interval_takes_the_smallest_of_three_bounds(
    joins: list[tuple[int, int]], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """min(packing, 1 + Σ(Cap(B) - 1), Σ e^(εr)): neither of the first two is always the smaller."""
    monkeypatch.setattr(
        ladder, "_exact", lambda space, eps: ladder._interval(space, eps, "no", ladder.decompose(space))
    )
    necklace = [(5 * k + a, 5 * k + b) for k in range(3) for a in (0, 1) for b in (2, 3, 4)]
    graph = Graph(range(15), [*necklace, *joins])
    eps = 0.3
    exact = plain_program(graph, eps)
    block = plain_program(K23, eps)
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
    graph = Graph(range(10), [*joined, (2, 7)])
    space, plain = space_of(graph), plain_program(graph, 2.0)
    rung = ladder._blocks_apart(space, Fraction(2), ladder.decompose(space), "")
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
    assert ladder.decompose(space).largest() > ladder.LARGEST_BLOCK
    monkeypatch.setattr(ladder, "RAY_SECONDS", 0.0)
    stopped = worst_leakage(graph, 0.1)
    assert stopped.exact is None and "did not close" in stopped.reason
    monkeypatch.setattr(ladder, "RAY_SECONDS", 60.0)
    found = worst_leakage(graph, 0.1)
    assert found.exact is not None and "rays" in found.method
    assert stopped.lower.log <= found.exact.log + 1e-9 and found.exact.log <= stopped.upper.log + 1e-9
    assert stopped.certificate.verify() and found.certificate.verify()


def test_an_interval_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "LARGEST_BLOCK", 2)
    monkeypatch.setattr(ladder, "LARGEST_RAYS", 2)
    monkeypatch.setattr(ladder, "LARGEST_FOLDED", 0)
    graph = Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])
    found = worst_leakage(graph, 0.3)
    assert "a block of 5" in found.reason if found.exact is None else True
    assert found.lower.factor <= math.exp(0.3) + 1e-12 <= found.upper.factor + 1e-9
    assert found.certificate.verify()


def test_a_known_histogram_is_vertex_transitive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchanging records leads to every rearrangement: Cap = P from one search, whatever the size."""

    def policies() -> tuple[Policy, Policy]:
        """Made anew, so that no answer is remembered."""
        histogram = sv.constraints.histogram({0: 3, 1: 2, 2: 2})
        total = sv.constraints.total(6)
        return Policy.differential(3, 7, permitted=histogram), Policy.differential(3, 6, permitted=total)

    dense, value = (worst_leakage(policy, 0.5).exact.log for policy in policies())
    policy, total = policies()
    monkeypatch.setattr(ladder, "LARGEST_DENSE", 100)
    found = worst_leakage(policy, 0.5)
    assert "vertex-transitive" in found.method and found.certificate.verify()
    assert found.exact.log == pytest.approx(dense, abs=1e-9)
    assert found.packing.log == pytest.approx(found.exact.log, abs=1e-9)
    assert total.size > 100 and not total.has_known_histogram
    found = worst_leakage(total, 0.5)
    assert "columns of 4 points" in found.method
    assert found.exact.log == pytest.approx(value, rel=1e-9)


def test_very_many_pairs_are_bounded_without_their_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy.differential(4, 4, permitted=sv.constraints.total(6))
    dense = worst_leakage(policy, 0.5)
    monkeypatch.setattr(ladder, "LARGEST_DENSE", 20)
    monkeypatch.setattr(ladder, "MOST_PAIRS", 20)
    monkeypatch.setattr(ladder, "decompose", None)  # not called
    for symmetries in ((), policy.exchanges):
        space = replace(space_of(policy.adjacency()), symmetries=symmetries)
        found = ladder.solve_component(space, Fraction(1, 2))
        proof = WorstLeakageProof(space.proof, Fraction(1, 2), found.upper, found.lower)
        lower, upper = proof.bounds()
        assert float(lower) <= dense.upper.factor and dense.lower.factor <= float(upper)
        assert proof.verify()


@pytest.mark.parametrize(
    ("values", "threshold", "packed"),
    # One class for each value around the first half of them: 20,000 are looked at.
    [(301, 20, True), (201, 20, True), (199, 20, False), (120, 20, False)],
)
def test_packing_is_all_that_is_known_of_wide_thresholds(values: int, threshold: int, packed: bool) -> None:
    space = space_of(sv.secrets.threshold(range(values), threshold))
    assert ladder.is_only_packed(space) == packed
    if packed:
        assert ladder.solve_component(space, Fraction(1, 2)).method == "packing bound"
