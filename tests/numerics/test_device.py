"""Devices: NumPy unless asked, one answer on all of them, and a refusal that says what is missing."""

import importlib.util

import numpy as np
import pytest

from sievert.errors import MechanismError
from sievert.numerics import device, on_device
from sievert.text._decoding import Decoder

DEVICES = ["cpu"]
if importlib.util.find_spec("torch"):
    import torch

    DEVICES += ["torch", *(["cuda"] if torch.cuda.is_available() else [])]


def test_numpy_unless_asked() -> None:
    assert device().name == "cpu"
    with on_device("cpu") as found, on_device(None) as inner:
        assert inner is found is device()


@pytest.mark.parametrize("name", DEVICES)
def test_leading_entries(name: str) -> None:
    with on_device(name) as where:
        scores = where.put(np.array([[3.0, 1.0, 3.0], [0.0, 2.0, 1.0]], dtype=np.float32))
        best, top, second = where.leading(scores)
        assert top.tolist() == [3.0, 2.0] and second.tolist() == [3.0, 1.0]
        assert best[0] in (0, 2) and best[1] == 1
        left = where.get(scores)
        assert np.isneginf(left[0, best[0]]) and left[1].tolist() == [0.0, -np.inf, 1.0]


@pytest.mark.parametrize("name", DEVICES)
def test_products(name: str) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((5, 4)), rng.standard_normal((4, 3))
    with on_device(name) as where:
        assert where.get(where.product(where.put(a), where.put(b))) == pytest.approx(a @ b, rel=1e-12)
        most = (abs(a)[:, :, None] * abs(b)).max(axis=1)
        assert (where.get(where.largest(where.put(abs(a)), where.put(abs(b)))) == most).all()
        assert where.rows(10**12) == 64 and where.rows(2) > 1000


@pytest.mark.parametrize("name", DEVICES)
def test_decoding_has_one_answer_and_ties_go_to_the_first(name: str) -> None:
    """Brute force in double precision; words far from the origin make single precision lose its digits."""
    rng = np.random.default_rng(2)
    words = np.repeat(rng.standard_normal((40, 6)), 2, axis=0) + 300
    noise = rng.standard_normal((60, 6)) * np.repeat([0.0, 1.0], 30)[:, None]
    points = words[rng.integers(0, 80, 60)] + noise
    with on_device(name):
        found = Decoder(words).nearest(points)
    apart = ((points[:, None] - words[None]) ** 2).sum(axis=2)
    assert found.tolist() == apart.argmin(axis=1).tolist()
    assert (found % 2 == 0).all()


def test_what_is_refused() -> None:
    with pytest.raises(MechanismError, match="device is 7; write"), on_device(7):  # type: ignore[arg-type]
        pass
    missing = "PyTorch cannot compute there" if len(DEVICES) > 1 else r"pip install 'sievert\[gpu\]'"
    with pytest.raises(MechanismError, match=missing), on_device("cuda:99"):
        pass
