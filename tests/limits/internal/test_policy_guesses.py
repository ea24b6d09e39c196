"""Guesses under a policy: how many programs are solved, and what bounds them where that is too many."""

import pytest

import sievert as sv
from sievert.limits import _guess_bounds
from sievert.limits._guess_bounds import ball_guess


def test_few_programs_find_the_largest_eps_of_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[float] = []
    program = _guess_bounds._program

    def counted(*arguments: object) -> object:
        solved.append(float(arguments[1]))  # type: ignore[arg-type]
        return program(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(_guess_bounds, "_program", counted)
    places = sv.metrics.line([0, 1, 3])
    found = sv.weakest_claim(0.9, policy=places, prior=[0.5, 0.3, 0.2])
    assert found.explanation is not None
    assert 0.9 - 1e-8 <= found.explanation.after <= 0.9
    assert len(solved) < 25


def test_maps_of_some_hundred_cells_are_bounded_near_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing bounds stand above the program over all places, by little."""
    cells = sv.metrics.euclidean([(x, y) for x in range(4) for y in range(3)])
    places = cells.points
    exact = {(eps, at): ball_guess(eps, cells, 1.5, at) for eps in (0.3, 2.0) for at in (None, places[0])}
    monkeypatch.setattr(_guess_bounds, "LARGEST_PLACES", 5)
    for (eps, at), program in exact.items():
        found = ball_guess(eps, cells, 1.5, at)
        assert not found.exact and found.before == 1 / found.points
        assert found.after / found.before >= program.after / program.before * (1 - 1e-9)
        assert found.after / found.before <= program.after / program.before * 1.1
    assert ball_guess(1.0, cells, 0.5).after == 1.0  # nobody else is that near
