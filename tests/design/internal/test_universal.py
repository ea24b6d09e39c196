"""Inside `_universal`: optimality for one prior and for all."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.proofs import (
    proof_from_dict,
    save_proof,
)

line, discrete = sv.metrics.line, sv.metrics.discrete
HALF = "1/2"
AVERAGE = [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]]


def verified(found: Any) -> None:
    """The certificate holds after a JSON round trip."""
    proof = proof_from_dict(json.loads(save_proof(found.certificate)))
    assert proof.verify().holds, proof.verify().statement


def test_many_corners_are_looked_at_in_floats_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision is the same, and so is the gap unless floats mistake the worst corner."""
    rng = np.random.default_rng(1)
    losses = [None, AVERAGE, [[0, 1, 1], [2, 0, 0]], *(rng.integers(0, 5, (3, 3)).tolist() for _ in range(4))]
    cases = [(kernel.channel, loss) for kernel in sv.geometry.kernels(line(3), HALF) for loss in losses]
    complete = [sv.design.universal_gap(m, line(3), alpha=HALF, loss=loss) for m, loss in cases]
    monkeypatch.setattr("sievert.design._universal.COMPLETE", 0)
    for (mechanism, loss), expected in zip(cases, complete, strict=True):
        found = sv.design.universal_gap(mechanism, line(3), alpha=HALF, loss=loss)
        assert (found.holds, found.gap) == (expected.holds, expected.gap)
        assert found.worst is found.holds
        verified(found)
