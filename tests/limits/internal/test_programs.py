"""The plain and the folded program, and the repair of what a solver leaves."""

from fractions import Fraction

import numpy as np
import pytest
from drawn_graphs import LEVELS, connected_graphs
from hypothesis import given, settings

from sievert.limits import _programs as programs
from sievert.limits import space_of, worst_leakage
from sievert.programs import Unsolved
from sievert.proofs import WorstLeakageProof
from sievert.spaces import Graph, automorphisms, metrics
from sievert.spaces.symmetries import pair_orbits

FEW = settings(max_examples=25, deadline=None)


@given(connected_graphs(3, 7), LEVELS)
@FEW
def test_the_folded_program_is_the_plain_one(graph: Graph, eps: float) -> None:
    space = space_of(graph)
    plain = programs.full_program(space, eps, np.eye(space.size)).value
    group = automorphisms(graph)
    folded = programs.folded_program(space, eps, pair_orbits(group).labels, group.orbits)
    assert folded.value == pytest.approx(plain, rel=1e-7)


def test_a_solver_that_fails_leaves_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise Unsolved("the linear-program solver stopped with the status 'tired'")

    monkeypatch.setattr(programs, "solved", fails)
    found = worst_leakage(Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)]), 0.3)
    assert found.certificate.verify()
    assert found.exact is not None or "tired" in found.reason


def test_repair_costs_a_column_no_more_than_itself() -> None:
    space = space_of(metrics.line(3))
    noisy = np.array([[0.5, 0.5, 1e-14], [0.4, 0.6, 0.0], [0.3, 0.7, 0.0]])
    lower = programs.repaired(noisy, space, Fraction(1))
    proof = WorstLeakageProof(space.proof, Fraction(1), {"type": "points"}, lower)
    assert float(proof.bounds()[0]) == pytest.approx(1.2, abs=1e-12)
