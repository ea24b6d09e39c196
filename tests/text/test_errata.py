"""Errata of chapter 9 that no other test of this folder holds: E8, E9, E10, E12."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

import sievert as sv
from sievert import testing
from sievert.sampling import SeededBits
from sievert.text import Bag, Embedding, bag_loss, distance, word_mechanism


def test_hidden_not_revealed() -> None:
    """E8: in the example of four secrets the authors are 0-hidden; 0-revealing holds for any channel."""
    told = sv.Channel([[1, 0], [1, 0], [0, 1], [0, 1]], inputs=list("abcd"))
    uniform = [Fraction(1, 4)] * 4
    assert sv.text.hiding_level(told, uniform, [["a", "c"], ["b", "d"]]) == 0
    assert sv.text.revealing_level(told, uniform, [["a", "b"], ["c", "d"]]) == 1 > 0


def guessed(matrix: np.ndarray, prior: np.ndarray, classes: list[list[int]]) -> float:
    """Best chance to name the class of a secret, by trying every strategy from output to class."""
    best = 0.0
    for strategy in product(range(len(classes)), repeat=matrix.shape[1]):
        best = max(best, sum(prior[x] * matrix[x, y] for y, c in enumerate(strategy) for x in classes[c]))
    return float(best)


@pytest.mark.parametrize("kind", ["word-laplace", "word-exponential"])
def test_levels_of_small_vocabularies_by_trying_every_strategy(kind: str) -> None:
    """Defs 9.5.1, 9.5.2; and the corrected Thm 9.13 on every prior that is even on authors."""
    rng = np.random.default_rng(913)
    for _ in range(6):
        points = rng.standard_normal((5, 2)) * 2
        channel = sv.text.word_channel(points, float(rng.uniform(0.3, 4)), kind=kind)
        prior = rng.dirichlet(np.ones(5))
        members = rng.permutation(5).tolist()
        authors, topics = [members[:2], members[2:4], members[4:]], [members[:4], members[4:]]
        for level, classes in ((sv.text.hiding_level, authors), (sv.text.revealing_level, topics)):
            before = max(sum(prior[x] for x in part) for part in classes)
            after = guessed(channel.matrix, prior, classes)
            assert float(level(channel, prior, classes)) == pytest.approx(after / before - 1, abs=1e-12)
        even = prior.copy()
        for part in authors:
            even[part] /= 3 * even[part].sum()
        found = sv.text.hide_and_reveal(channel, even, authors, topics)
        assert found.bounded and not found.violated and found.revealing <= found.hiding + 1e-12


@pytest.mark.parametrize("factor", [0.25, 8.0])
def test_a_scale_is_another_eps(factor: float) -> None:
    """E9: normalised embeddings need a larger ε and nothing else; powers of 2 leave every bit the same."""
    table = Embedding([f"w{i}" for i in range(30)], np.random.default_rng(1).standard_normal((30, 4)))
    places = np.arange(30).repeat(5)
    plain = word_mechanism(table, 2.0).sampler(SeededBits(3)).draw(places)
    scaled = word_mechanism(table.scaled(factor), 2.0 / factor).sampler(SeededBits(3)).draw(places)
    assert (plain == scaled).all()


def test_plans_of_merged_words_have_multiples_of_one_word() -> None:
    """E10: entries of a plan are 0 or 1/N for occurrences, multiples of 1/N once equal words are merged."""
    found = distance(["a", "a", "b"], ["b", "c", "c"], Embedding(list("abc"), [[0.0], [1.0], [3.0]]))
    units = np.asarray(found.masses) * 3
    assert units == pytest.approx(np.rint(units), abs=1e-12) and units.max() == pytest.approx(2.0)


@settings(max_examples=20)
@given(testing.degraded_pairs(inputs=3, form="exact"), testing.bags(range(3), 2), testing.bags(range(3), 2))
def test_processing_words_afterwards_loses_nothing(
    pair: tuple[sv.Channel, sv.Channel], b: Bag, c: Bag
) -> None:
    """E12: data processing holds for bags too, whatever the outputs are."""
    before, after = (sv.Channel(part.entries, inputs=range(3)) for part in pair)
    worse, better = (float(bag_loss(b, c, channel)) for channel in (before, after))
    assert better <= worse + 1e-12 or math.isinf(worse)
