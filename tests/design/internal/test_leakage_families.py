"""Inside `_leakage_families`: least leakage for a loss."""

import pytest

import sievert as sv


def fails(*arguments: object, **options: object) -> None:
    from sievert.programs import Unsolved

    raise Unsolved("the linear-program solver stopped with the status 'time limit'")


def test_a_solver_that_fails_leaves_an_honest_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    from sievert.design import _leakage_families as leakage_families

    monkeypatch.setattr(leakage_families, "generate", fails)
    design = sv.design.least_loss([0.5, 0.3, 0.2], sv.losses.absolute(3), 0.7)
    assert design.certificate.verify().holds and design.gap > 0.1
