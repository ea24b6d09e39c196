"""Files with [vectors] that tests write, and their data."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import sievert as sv
from sievert.files import VectorsScenario

RESPONSE = 'kind = "lsh-response"\nxi = 2.0\ndelta = 0.01\ndistance = 0.05'
HASH = '{ kind = "hyperplane", bits = 20, seed = 7 }'
X = np.clip(np.rint(2.5 + np.random.default_rng(1).standard_normal((60, 12))), 0, 5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sparse.save_npz(tmp_path / "ratings.npz", sparse.csr_array(X))
    sparse.save_npz(tmp_path / "known.npz", sparse.csr_array(X[:40]))
    (tmp_path / "budget.toml").write_text("person = 40.0\n")
    return tmp_path


def written(
    folder: Path,
    mechanism: str = RESPONSE,
    vectors: str = "",
    more: str = "",
    name: str = "users",
    hashed: str = HASH,
) -> VectorsScenario:
    given = vectors if "input" in vectors else f'input = "ratings.npz"\ndimension = 12\n{vectors}'
    path = folder / f"{name}.toml"
    path.write_text(
        f"version = 1\n[vectors]\n{given}\nhash = {hashed}\n[mechanism]\n{mechanism}\n[release]\n"
        f'ledger = "budget.toml"\n{more}'
    )
    found = sv.load(path)
    assert isinstance(found, VectorsScenario)
    return found
