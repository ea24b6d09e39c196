"""Devices: NumPy unless asked, one answer on all of them, and a refusal that says what is missing."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
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


@pytest.mark.parametrize("name", DEVICES)
def test_released_words_are_the_same_on_every_device(name: str, tmp_path: Path) -> None:
    """A release of documents in floating point, from one seed."""
    points = np.random.default_rng(8).standard_normal((40, 6))
    names = [a + b for a in "abcdefgh" for b in "vwxyz"]
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(names, points.tolist(), strict=True)]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    (tmp_path / "in").mkdir()
    for part in range(3):
        (tmp_path / "in" / f"{part}.txt").write_text(" ".join(names[part::2]))
    (tmp_path / "budget.toml").write_text("person = 100.0\n")
    path = tmp_path / "f.toml"
    path.write_text(
        'version = 1\n[documents]\ninput = "in/*.txt"\nembedding = "v.txt"\nscale = 1.0\n'
        '[mechanism]\nkind = "word-laplace"\neps = 3.0\n'
        '[release]\nledger = "budget.toml"\nsampler = "float"\ntest_seed = 4\n'
    )
    plain, other = (
        Path(sv.release.run(path, output=tmp_path / f"{place}.csv", device=one).output).read_text()
        for place, one in enumerate((None, name))
    )
    assert plain == other and plain.count("\n") == 4


def test_what_is_refused() -> None:
    with pytest.raises(MechanismError, match="device is 7; write"), on_device(7):  # type: ignore[arg-type]
        pass
    missing = "PyTorch cannot compute there" if len(DEVICES) > 1 else r"pip install 'sievert\[gpu\]'"
    for name in ("cuda:99", "meta"):
        with pytest.raises(MechanismError, match=missing), on_device(name):
            pass
