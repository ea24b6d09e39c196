"""Proofs of additive capacity: both sides, after a round trip, and none after a change."""

import json
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.proofs import AdditiveCapacityProof, proof_from_dict, save_proof


@pytest.mark.parametrize("given", [None, "prior"])
@pytest.mark.parametrize("exact", [True, False])
def test_both_sides_are_proved(given: str | None, exact: bool) -> None:
    rng = np.random.default_rng(4)
    for n, m in ((1, 3), (2, 2), (4, 3), (6, 8)):
        weights = rng.integers(0, 9, size=(n, m)) + np.eye(n, m, dtype=int)
        rows = [[Fraction(int(v), int(row.sum())) for v in row] for row in weights]
        channel = sv.Channel(rows if exact else np.array(rows, dtype=float))
        prior = None if given is None else [Fraction(2, n + 1), *[Fraction(1, n + 1)] * (n - 1)]
        found = sv.capacity(
            channel,
            kind="additive",
            gains="unit",
            prior=prior if exact or prior is None else np.array(prior, float),
        )
        proof = found.certificate
        assert proof is not None
        assert proof.verify(), proof.verify()
        assert float(proof.lower) == pytest.approx(float(found))
        assert proof_from_dict(json.loads(save_proof(proof))).verify()


def test_changes_are_noticed() -> None:
    proof = sv.capacity(
        sv.Channel([["3/4", "1/4"], ["1/8", "7/8"]]), kind="additive", gains="unit"
    ).certificate
    assert proof is not None
    assert proof.lower == proof.upper == Fraction(5, 16)
    data = json.loads(save_proof(proof))
    for name in ("channel", "prior", "gain", "reference"):
        for i, row in enumerate(getattr(proof, name)):
            for j in range(len(row)):
                changed = AdditiveCapacityProof.from_data(proof.data())
                table = getattr(changed, name).copy()
                table[i, j] += Fraction(-1, 100) if table[i, j] else Fraction(1, 100)
                object.__setattr__(changed, name, table)
                assert not changed.verify(), (name, i, j)
    for name, value in (("lower", Fraction(1, 3)), ("upper", Fraction(3, 10))):
        changed = AdditiveCapacityProof.from_data({**proof.data(), name: str(value)})
        assert not changed.verify()
    assert proof_from_dict(data).verify()
