"""Bit sources: repeatable where asked for by name, independent of batches, counted."""

import hashlib
from functools import partial
from typing import Any

import numpy as np
import pytest

from sievert import sampling
from sievert.errors import MechanismError
from sievert.sampling import ReplayedBits, SeededBits, bit_source

MAKERS = {
    "laplace": partial(sampling.discrete_laplace, 1),
    "laplace digits": partial(sampling.discrete_laplace, "1/5000"),
    "gaussian": partial(sampling.discrete_gaussian, 30),
    "response": partial(sampling.randomised_response, 5, 1),
    "wide response": partial(sampling.randomised_response, 5000, 1),
    "rows": partial(sampling.rational_rows, [["1/3", "2/3"]] * 5),
    "pixels": partial(sampling.pixelated_laplace, 9, 2, denominator=4),
}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_scattered_lanes_are_the_same_words(dtype: type) -> None:
    source = SeededBits(3)
    together = source.words(5, range(1000), dtype)
    lanes = np.array([999, 0, 17, 500, 17])
    assert (source.words(5, lanes, dtype) == together[lanes]).all()
    assert (source.words(5, range(13, 21), dtype) == together[13:21]).all()


def test_levels_widths_and_seeds_share_nothing() -> None:
    source = SeededBits(3)
    streams = [
        source.words(0, range(4096)).tobytes(),
        source.words(1, range(4096)).tobytes(),
        source.words(0, range(4096, 8192)).tobytes(),
        source.words(0, range(8192), np.uint32).tobytes(),
        SeededBits(4).words(0, range(4096)).tobytes(),
    ]
    words = np.concatenate([np.frombuffer(stream, np.uint64) for stream in streams])
    # 20480 words of 64 bits: a repeated one has probability 1e-11.
    assert len(np.unique(words)) == len(words)


@pytest.mark.parametrize("timing", ["fixed", "fast"])
@pytest.mark.parametrize("name", MAKERS)
def test_draws_do_not_depend_on_the_batches(name: str, timing: Any) -> None:
    inputs = np.arange(3000) % 4
    whole = MAKERS[name](timing=timing, insecure_rng=5).draw(inputs)
    for size in (1, 7, 1024):
        parts = MAKERS[name](timing=timing, insecure_rng=5)
        stop = {1: 60, 7: 700}.get(size, 3000)
        drawn = np.concatenate([parts.draw(inputs[i : i + size]) for i in range(0, stop, size)])
        assert (drawn == whole[:stop]).all()


class Recorded(SeededBits):
    """Fails when a word is asked for twice: it would correlate two quantities silently."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seen: set[tuple[int, int]] = set()

    def _words(self, level: int, lanes: Any, dtype: Any) -> Any:
        asked = {(level, int(lane)) for lane in lanes}
        assert len(asked) == len(lanes)
        assert not asked & self.seen
        self.seen |= asked
        return super()._words(level, lanes, dtype)


MORE = {
    "planar": partial(sampling.planar_geometric, "1/500"),
    "wide gaussian": partial(sampling.discrete_gaussian, 5000),
    "one by one": partial(sampling.pixelated_laplace, 9, 2, high=4),
    "coins": partial(sampling.bernoulli_exp_each, 3),
    "far response": partial(sampling.randomised_response, 5000, 50),
}


@pytest.mark.parametrize("timing", ["fixed", "fast"])
@pytest.mark.parametrize("name", [*MAKERS, *MORE])
def test_no_word_is_read_twice(name: str, timing: Any) -> None:
    sampler = {**MAKERS, **MORE}[name](timing=timing, insecure_rng=Recorded(9))
    inputs: Any = np.arange(3000) % 4
    if name == "planar":
        inputs = np.stack([inputs, inputs], axis=1)
    for start in range(0, 3000, 1000):
        sampler.draw(inputs[start : start + 1000])


@pytest.mark.parametrize("name", [*MAKERS, "coins", "far response", "planar", "wide gaussian"])
def test_fixed_work_reads_the_same_number_of_bits(name: str) -> None:
    """Whatever the inputs and the noise; the seeds are such that nothing escalates (chance below 1e-7)."""
    used = set()
    for seed in range(20):
        sampler = {**MAKERS, **MORE}[name](insecure_rng=seed)
        inputs: Any = np.full(50, seed % 4)
        sampler.draw(np.stack([inputs, inputs], axis=1) if name == "planar" else inputs)
        used.add(sampler.source.used)
    assert len(used) == 1


def test_two_calls_differ() -> None:
    sampler = sampling.discrete_laplace("1/100", insecure_rng=1)
    assert (sampler.noise(1000) != sampler.noise(1000)).mean() > 0.9


def test_frozen_stream() -> None:
    """Seeded draws are part of the format: a change of layout must be deliberate."""
    found = hashlib.sha256(sampling.discrete_laplace("1/10", insecure_rng=2024).noise(300_000).tobytes())
    assert found.hexdigest()[:16] == "c5d93be0800e70c5"
    rows = sampling.randomised_response(10_000, 1, insecure_rng=2024).draw(np.zeros(300_000, dtype=int))
    assert hashlib.sha256(rows.tobytes()).hexdigest()[:16] == "4754c6b842ff4f46"


def test_what_a_source_says() -> None:
    exact = sampling.discrete_laplace(1)
    assert exact.secure
    assert exact.source.secure
    exact.noise(1000)
    assert exact.source.used == 8000
    seeded = sampling.discrete_laplace(1, insecure_rng=7)
    assert not seeded.secure
    assert "not secret" in str(seeded)
    assert seeded.to_dict() == {
        "kind": "discrete Laplace",
        "parameters": {"eps": "1"},
        "arithmetic": "exact",
        "timing": "fixed",
        "bits": "seed 7 (not secret)",
        "secure": False,
    }


def test_bits_of_the_system_differ_each_time() -> None:
    assert (bit_source().words(0, range(8)) != bit_source().words(0, range(8))).all()


def test_generators_are_seeds() -> None:
    first, second = (
        sampling.discrete_laplace(1, insecure_rng=np.random.default_rng(3)).noise(50) for _ in range(2)
    )
    assert (first == second).all()


@pytest.mark.parametrize("bad", ["secret", 1.5, True, object()])
def test_bad_sources(bad: object) -> None:
    with pytest.raises(MechanismError, match="insecure_rng is"):
        bit_source(bad)


def test_replayed_bits_end() -> None:
    source = ReplayedBits([1, 2])
    assert source.words(0, range(2)).tolist() == [1, 2]
    with pytest.raises(MechanismError, match="used up"):
        source.extend(0, 0)


def test_bad_timing() -> None:
    with pytest.raises(MechanismError, match="timing is 'slow'"):
        sampling.discrete_laplace(1, timing="slow")  # type: ignore[arg-type]
