"""Neighbours of codes: exact, ties uniform, with and without machine code; balls, pairs, utility."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from sievert.errors import VectorError
from sievert.vectors import (
    Codes,
    HyperplaneLSH,
    ball_counts,
    estimate_distance,
    neighbours,
    perturb,
    true_neighbours,
    utility_loss,
    within,
)
from sievert.vectors import _matching as matching

RNG = np.random.default_rng(8)


@pytest.fixture(params=["compiled", "plain"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setattr(matching, "COMPILED", False)
    elif not matching.COMPILED:
        pytest.skip("numba is not installed")
    return request.param


@pytest.mark.parametrize(("bits", "values"), [(9, 2), (64, 2), (130, 2), (70, 5)])
def test_neighbours_are_the_nearest(form: str, bits: int, values: int) -> None:
    codes = Codes.of(RNG.integers(0, values, (150, bits)), values=values)
    found = neighbours(codes, 7, rng=1, workers=2)
    all_distances = codes.distances().astype(float)
    np.fill_diagonal(all_distances, np.inf)
    assert (found.distances == np.sort(all_distances, axis=1)[:, :7]).all()
    assert (np.take_along_axis(all_distances, found.indices, 1) == found.distances).all()
    assert all(len(set(row)) == 7 for row in found.indices.tolist())
    again = neighbours(codes, 7, rng=1)
    assert (again.indices == found.indices).all()
    if values > 2:
        with pytest.raises(VectorError, match="device is for codes of bits"):
            neighbours(codes, 7, device="cpu")
        return
    there = neighbours(codes, 7, rng=1, device="cpu")
    assert (there.distances == found.distances).all()
    assert (np.take_along_axis(all_distances, there.indices, 1) == there.distances).all()


def test_neighbours_of_others(form: str) -> None:
    codes = Codes.of(RNG.integers(0, 2, (40, 20)))
    mine = neighbours(codes, 3, queries=[5, 7], rng=1)
    assert 5 not in mine.indices[0] and mine.indices.shape == (2, 3)
    others = neighbours(codes, 1, queries=codes.rows([5, 7]), rng=1)
    assert (others.distances == 0).all()
    assert (neighbours(codes, 39, rng=2).indices.sum(axis=1) == 39 * 40 // 2 - np.arange(40)).all()


def test_ties_are_broken_uniformly(form: str) -> None:
    """Ten codes, two nearer and eight at one distance, k = 4; chi-square at a false-alarm rate of 10^-5."""
    rows = np.zeros((11, 12), dtype=int)
    rows[1, 0] = rows[2, 1] = 1
    rows[3:, 2:5] = 1
    runs = 3000 if form == "compiled" else 600
    found = neighbours(Codes.of(rows), 4, queries=Codes.of(np.zeros((runs, 12), dtype=int)), rng=3)
    assert (found.distances[:, :3] == [0, 1, 1]).all() and (found.distances[:, 3] == 3).all()
    counts = np.bincount(found.indices[:, 3] - 3, minlength=8)
    assert ((counts - runs / 8) ** 2 / (runs / 8)).sum() < chi2.isf(1e-5, 7)
    first = np.bincount(found.indices[:, 1], minlength=3)[1:]
    assert abs(first[0] - first[1]) < 4.5 * math.sqrt(runs)


def test_ties_of_a_full_reservoir(form: str) -> None:
    """All codes equal: every other row as often as any, whatever its place."""
    runs = 4000 if form == "compiled" else 600
    codes, queries = Codes.of(np.zeros((30, 5), dtype=int)), Codes.of(np.zeros((runs, 5), dtype=int))
    expected = 3 * runs / 30
    for device in (None, "cpu"):
        found = neighbours(codes, 3, queries=queries, rng=4, device=device)
        counts = np.bincount(found.indices.ravel(), minlength=30)
        assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-5, 29)


def test_balls_by_transform() -> None:
    codes = Codes.of(RNG.integers(0, 2, (400, 10)))
    corners = Codes.of((np.arange(1024)[:, None] >> np.arange(10)) & 1)
    distances = corners.distances(codes)
    for radius in (0, 1, 3, 10):
        assert (ball_counts(codes, radius) == (distances <= radius).sum(axis=1)).all()
    with pytest.raises(VectorError, match="at most 24 bits"):
        ball_counts(Codes.of(np.zeros((1, 25), dtype=int)), 1)


@pytest.mark.parametrize("radius", [0, 2, 5])
def test_pairs_within_a_radius(radius: int) -> None:
    rows = np.repeat(RNG.integers(0, 2, (20, 70)), 5, axis=0) ^ (RNG.random((100, 70)) < 0.03)
    codes = Codes.of(rows)
    queries, found, distances = within(codes, radius)
    expected = codes.distances()
    np.fill_diagonal(expected, 99)
    i, j = np.nonzero(expected <= radius)
    assert (queries == i).all() and (found == j).all() and (distances == expected[i, j]).all()


def test_distances_are_debiased() -> None:
    """Spec 7.6, and coverage of the interval at 95 %: at least 930 of 1,000."""
    for d, eps, expected, deviation in (
        (0.1, math.log(4), 0.356, 0.297406),
        (0.3, math.log((1 - 0.271125) / 0.271125), 0.458093, 0.531702),
    ):
        flip = 1 / (1 + math.exp(eps))
        q = 2 * flip * (1 - flip)
        assert d * (1 - 2 * q) + q == pytest.approx(expected, abs=5e-7)
        assert math.sqrt(expected * (1 - expected) / 20) / (1 - 2 * q) == pytest.approx(deviation, abs=2e-6)
    counts = np.random.default_rng(1).binomial(20, 0.356, 1000)
    found = [estimate_distance(int(c), 20, math.log(4)) for c in counts]
    assert np.mean([one.value for one in found]) == pytest.approx(0.1, abs=0.05)
    assert sum(one.low <= 0.1 <= one.high for one in found) >= 930
    assert estimate_distance(3, 10, math.inf).value == pytest.approx(0.3)
    assert estimate_distance(3, 10, 1.0, noisy=1).value == pytest.approx(
        (0.3 - 0.2689414) / (1 - 2 * 0.2689414)
    )


def test_utility() -> None:
    """(10.1): more bits lose less, noise loses more, never less than nothing."""
    x = np.abs(RNG.standard_normal((120, 8))) * (RNG.random((120, 8)) < 0.6) + 0.01
    truth = true_neighbours(x, 5)
    losses = []
    for bits in (8, 256):
        codes = HyperplaneLSH(8, bits, seed=1).codes(x)
        losses.append(float(utility_loss(x, neighbours(codes, 5, rng=1), truth)))
    noisy = perturb(HyperplaneLSH(8, 256, seed=1).codes(x), 0.5, insecure_rng=1)
    worse = utility_loss(x, neighbours(noisy, 5, rng=1), truth)
    assert 0 <= losses[1] < float(worse) < worse.random and losses[1] < losses[0]
    assert float(utility_loss(x, truth)) == pytest.approx(0, abs=1e-12)


def test_faiss_agrees(oracle: Any) -> None:
    faiss = oracle("faiss")
    codes = Codes.of(RNG.integers(0, 2, (300, 64)))
    index = faiss.IndexBinaryFlat(64)
    index.add(codes.words.view(np.uint8))
    theirs, _ = index.search(codes.words.view(np.uint8), 6)
    assert (neighbours(codes, 5, rng=1).distances == theirs[:, 1:]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: neighbours(c, 0), "k is 0"),
        (lambda c: neighbours(c, 3), "only 2 other codes"),
        (lambda c: neighbours(c, 1, queries=[9]), "rows are from 0 to 2"),
        (lambda c: neighbours(c, 1, queries="x"), "give codes"),
        (lambda c: neighbours(c, 1, queries=Codes.of([[0, 1]])), "2 coordinates"),
        (lambda c: neighbours("x", 1), "codes is 'x'"),
        (lambda c: within(c, 4), "radius is 4"),
        (lambda c: estimate_distance(5, 4, 1.0), "differing is 5"),
        (lambda c: estimate_distance(1, 4, 0.0), "eps is 0"),
        (lambda c: true_neighbours([[1.0, 0], [0, 1]], 2), "only 1 other"),
        (lambda c: utility_loss([[1.0, 0], [0, 1]], neighbours(c, 1)), "match them all"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    with pytest.raises(VectorError, match=words):
        call(Codes.of([[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]]))
