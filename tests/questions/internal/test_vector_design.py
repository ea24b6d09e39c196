"""Inside `_vector_design`: files with [vectors]."""

from pathlib import Path

import pytest

from sievert.errors import FileError
from sievert.questions.vectors import about_vectors
from sievert.vectors import MechanismCandidate, MechanismChoice
from tests.questions.vector_files import folder, written

__all__ = ["folder"]


def test_designs_are_weighed_by_far_pairs_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best at the promise is proposed only where it tells no more about far pairs, or about people."""
    from sievert.questions import _vector_design as designs

    def tried(*given: object, clip: float) -> MechanismChoice:
        rows = [("soft-sign", 8, 0.2, 0.8), ("laplace-lsh", 8, 100.0, 0.7), ("lsh-response", 8, 1.0, 0.6)]
        return MechanismChoice(tuple(MechanismCandidate(*row) for row in rows), clip)

    monkeypatch.setattr(designs, "choose_mechanism", tried)
    found = about_vectors("design", written(folder))
    assert found.facts["mechanism"] == "lsh-response" and "90°" in found.facts["tried"][0]["refused"]
    assert "floating point" in found.facts["tried"][1]["refused"] and found.certificate is not None
    limits = "[accept]\nreidentified = 0.99\n"
    found = about_vectors("design", written(folder, vectors='known = "known.npz"', more=limits))
    assert found.facts["mechanism"] == "soft-sign" and "lsh-response" in found.unproved
    assert found.chosen is not None and found.chosen.mechanism.worst() == 24
    with pytest.raises(FileError, match="nothing keeps"):
        about_vectors("design", written(folder, more="[accept]\nnats = 0.001\n"))
    sets = written(folder, hashed='{ kind = "minhash", bits = 8, seed = 7 }')
    assert about_vectors("design", sets).facts["mechanism"] == "lsh-response"
    turned = '{ kind = "hyperplane", bits = 8, seed = 7, planes = "orthogonal" }'
    with pytest.raises(FileError, match="no account to design by"):
        about_vectors("design", written(folder, 'kind = "lsh-response"\neps = 1.0', hashed=turned))
