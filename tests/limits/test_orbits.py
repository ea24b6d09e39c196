"""Constrained policies with symmetric records."""

import pytest

import sievert as sv


def known_total(values: int, records: int, total: int) -> sv.Policy:
    return sv.Policy.differential(range(values), records, permitted=sv.constraints.total(total))


def test_exchanges_move_databases_within_their_kind() -> None:
    policy = known_total(3, 4, 4)
    for image in policy.exchanges:
        assert (policy.alike_databases[image] == policy.alike_databases).all()
    assert sv.Policy.differential(3, 2).exchanges == ()


def test_many_classes_are_still_exact() -> None:
    found = sv.worst_leakage(known_total(4, 5, 7), 1)
    assert "columns of 6 points" in found.method
    assert found.exact.factor == pytest.approx(4.059493262554, rel=1e-11)
    assert found.mechanism.shape == (155, 155)
    assert found.certificate.verify().holds
