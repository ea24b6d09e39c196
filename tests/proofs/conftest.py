"""Every proof that a test of this folder checks gets a second opinion, by `verify.py`.

Only those that cost little; a disagreement fails the test.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sievert.proofs import Proof, Verification, save_proof

sys.path.insert(0, str(Path(__file__).parent))

from opinions import CHECKER, VERIFY, disagreement

collect_ignore = ["more_proofs.py", "mutations.py", "opinions.py"]
# Seconds that a second opinion within another test may take, by its own estimate.
LITTLE = 0.02


@pytest.fixture(autouse=True)
def second_opinions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test checks is checked twice, unless it tampers with the checks themselves."""
    if "monkeypatch" in request.fixturenames:
        yield
        return
    differ: list[str] = []

    def verify(proof: Proof) -> Verification:
        found = VERIFY(proof)
        try:
            content = json.loads(save_proof(proof))
        except (ValueError, ArithmeticError, AttributeError, TypeError):
            return found  # made in Python, of what no file holds
        if CHECKER.expected_seconds(content) < LITTLE:
            told = disagreement(content)
            if told is not None:
                differ.append(told)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Proof, "verify", verify)
        yield
    assert not differ, differ[0]
