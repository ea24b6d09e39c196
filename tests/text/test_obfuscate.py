"""Obfuscated documents: what is kept and what is lost, lengths, calibration, the verdict in words."""

import math
from collections import Counter

import numpy as np
import pytest

import sievert as sv
from sievert.errors import TextError
from sievert.sampling import SeededBits
from sievert.text import (
    Bag,
    Embedding,
    Length,
    bag,
    calibrate,
    document_guarantee,
    obfuscate,
    replacement_profile,
    verdict,
    word_mechanism,
)
from sievert.text._decoding import Decoder
from sievert.text._obfuscate import _uniform

SMALL = Embedding.small()
TEXT = "The President greets the press in Chicago, and the press greets the city."


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("word-laplace", {}),
        ("word-exponential", {}),
        ("word-projected-laplace", {"dimensions": 5}),
        ("word-clusters", {"clusters": 50}),
    ],
)
def test_every_mechanism_keeps_the_size_and_the_vocabulary(kind: str, more: dict[str, int]) -> None:
    table = SMALL.first(3000)
    found = obfuscate([TEXT, "a lake by the sea"], table, 4.0, kind=kind, insecure_rng=7, **more)
    assert [len(words) for words in found.documents] == [bag(TEXT, table).size, 2]
    assert all(word in table for words in found.documents for word in words)
    assert found.exact == (kind in ("word-exponential", "word-clusters"))
    assert not found.secure
    assert (
        found.documents
        == obfuscate([TEXT, "a lake by the sea"], table, 4.0, kind=kind, insecure_rng=7, **more).documents
    )
    assert ("exactly" if found.exact else "in floating point") in str(found)


def test_only_the_exponential_is_secure() -> None:
    assert obfuscate("lake", SMALL, 5.0, kind="word-exponential").secure
    assert not obfuscate("lake", SMALL, 5.0).secure


def test_words_are_shuffled() -> None:
    """With noise that changes nothing the order still differs from that of the text and of the alphabet."""
    words = [word for word in SMALL.words[500:700]]
    found = obfuscate(Bag(words), SMALL, 500.0, insecure_rng=3).documents[0]
    assert Counter(found) == Counter(words)
    assert list(found) not in (words, sorted(words))


def test_repeated_words_get_noise_of_their_own() -> None:
    """Pitfall P7."""
    found = obfuscate(Bag({"lake": 200}), SMALL, 4.0, insecure_rng=1).documents[0]
    assert len(set(found)) > 20


def test_lengths() -> None:
    longer = obfuscate(TEXT, SMALL, 50.0, length="pad", size=12, token="thing", insecure_rng=1).documents[0]
    assert len(longer) == 12
    assert longer.count("thing") >= 5
    first = obfuscate("sea lake river ocean", SMALL, 500.0, length="truncate", size=2, insecure_rng=1)
    assert sorted(first.documents[0]) == ["lake", "sea"]
    drawn = obfuscate("sea lake river", SMALL, 500.0, length="sample", size=9, insecure_rng=1).documents[0]
    assert len(drawn) == 9 and set(drawn) <= {"sea", "lake", "river"}


def test_uniform_numbers_are_uniform() -> None:
    """False alarms once in a thousand runs."""
    from scipy.stats import chisquare

    counts = np.bincount(_uniform(7, 70_000, SeededBits(4)), minlength=7)
    assert len(counts) == 7
    assert chisquare(counts).pvalue > 1e-3


def test_promises() -> None:
    mechanism = word_mechanism(SMALL, 0.25)
    a, b = Bag(["president", "press"]), Bag(["chief", "media"])
    found = document_guarantee(a, b, mechanism, Length())
    assert found.nats == pytest.approx(0.25 * sv.text.distance(a, b, SMALL).cost)
    assert found.factor == pytest.approx(math.exp(found.nats))
    assert document_guarantee(a, Bag(["chief"]), mechanism, Length()).nats == math.inf
    padded = document_guarantee(a, Bag(["chief"]), mechanism, Length("pad", 3, "thing"))
    assert math.isfinite(padded.nats) and padded.size == 3
    sampled = document_guarantee(a, Bag(["chief"]), mechanism, Length("sample", 4))
    assert sampled.nats == pytest.approx(0.25 * 4 * sv.text.bottleneck(a, ["chief"], SMALL))
    crossing = document_guarantee(
        Bag(["king"]),
        Bag(["car"]),
        word_mechanism(SMALL.first(2000), 1.0, "word-clusters", clusters=100),
        Length(),
    )
    assert crossing.nats == math.inf and "clusters" in str(crossing)


def test_the_verdict_is_plain() -> None:
    """Spec 4.1: ε = 10, N = 250, E = 3 are 7,500 nats, and no promise."""
    assert "strong promise" in verdict(0.704)
    assert "above about 5 nats this is no promise" in verdict(10 * 250 * 3)
    assert "e^7500" in verdict(7500)
    assert verdict(3.0).startswith("a promise")


def test_calibrating_nats() -> None:
    """The inverse of the source's example: N·E = 11.264 and e^0.704 give ε = 1/16."""
    references = [["president", "greet"], ["chief", "speaks"]]
    cost = sv.text.distance(*references, SMALL).cost
    found = calibrate(SMALL, nats=0.704, references=references)
    assert found.eps == pytest.approx(0.704 / cost)
    assert found.exact and found.reached == pytest.approx(0.704)
    assert [eps for eps, _ in found.curve] == sorted(eps for eps, _ in found.curve)


def test_calibrating_the_share_of_unchanged_words() -> None:
    table = SMALL.first(4000)
    found = calibrate(table, unchanged=0.5, trials=400, rng=5)
    assert found.reached == pytest.approx(0.5, abs=0.02)
    assert not found.exact
    again = replacement_profile(table, found.eps, trials=2000, rng=6)
    assert again.lower[0] - 0.05 < 0.5 < again.upper[0] + 0.05
    assert len(found.curve) > 5


def test_calibrating_the_success_of_an_attack() -> None:
    found = calibrate(SMALL, success=0.3, attack=lambda eps: min(1.0, eps / 10))
    assert found.eps == pytest.approx(3.0, rel=2e-3)
    with pytest.raises(TextError, match="attack is None"):
        calibrate(SMALL, success=0.3)
    with pytest.raises(TextError, match=r"success is 0\.9"):
        calibrate(SMALL, success=0.9, attack=lambda eps: 0.1)


def test_profiles_rise_with_eps() -> None:
    found = replacement_profile(SMALL.first(4000), [1.0, 5.0, 20.0], trials=300, rng=1)
    assert list(found.unchanged) == sorted(found.unchanged)
    assert list(found.moved) == sorted(found.moved, reverse=True)
    assert all(
        low <= share <= high
        for low, share, high in zip(found.lower, found.unchanged, found.upper, strict=True)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps": 0.0}, "eps is 0"),
        ({"kind": "laplace"}, "did you mean 'word-laplace'"),
        ({"out_of_vocabulary": "copy"}, "the loss is infinite"),
        ({"length": "cut", "size": 3}, "length is 'cut'"),
        ({"length": "pad", "size": 3}, "token is None"),
        ({"length": "sample"}, "size is None"),
        ({"size": 3}, "size is 3; it goes with length"),
    ],
)
def test_arguments_that_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TextError, match=message):
        obfuscate(TEXT, SMALL, **{"eps": 1.0, **arguments})  # type: ignore[arg-type]


def test_bad_documents() -> None:
    with pytest.raises(TextError, match="'unicorns' is not in the vocabulary"):
        obfuscate(Bag(["unicorns"]), SMALL.first(100), 1.0)
    with pytest.raises(TextError, match="give a text, a bag or a list"):
        obfuscate({"sea": 1}, SMALL, 1.0)
    with pytest.raises(TextError, match="give exactly one of nats, unchanged and success"):
        calibrate(SMALL)
    with pytest.raises(TextError, match="references have sizes"):
        calibrate(SMALL, nats=1.0, references=[["sea"], ["sea", "lake"]])
    with pytest.raises(TextError, match="all the same documents"):
        calibrate(SMALL, nats=1.0, references=[["sea"], ["sea"]])
    assert obfuscate("", SMALL, 1.0).documents == ((),)
    assert obfuscate("zzzqqq xxyyzz", SMALL, 1.0).documents == ((),)


def test_a_padded_document_without_a_known_word_looks_like_any_other() -> None:
    table = Embedding(["sea", "lake"], [[0.0], [1.0]])
    found = obfuscate(
        ["sea", "qqq"], table, 1.0, kind="word-exponential", length="pad", size=3, token="sea", insecure_rng=1
    )
    assert [len(words) for words in found.documents] == [3, 3]
    with pytest.raises(TextError, match="no word of the vocabulary, and length = 'sample'"):
        obfuscate(
            ["sea", "qqq"], table, 1.0, kind="word-exponential", length="sample", size=3, insecure_rng=1
        )


def test_the_sentence_says_the_promise_of_the_rule() -> None:
    table = Embedding(["sea", "lake", "car"], [[0.0], [1.0], [9.0]])
    drawn = obfuscate("sea", table, 1.0, length="sample", size=3, insecure_rng=1)
    assert "1·3·W nats" in str(drawn) and "N·E" not in str(drawn)
    shown = obfuscate("sea", table, 1.0, kind="word-clusters", clusters=2, insecure_rng=1)
    assert "told apart for certain" in str(shown)


@pytest.mark.parametrize("scale", [1e-40, 1e19, 1e100])
@pytest.mark.parametrize("away", [1.0, 1e45])
def test_nearest_words_of_any_scale(scale: float, away: float) -> None:
    rng = np.random.default_rng(2)
    words, noisy = rng.normal(size=(50, 4)), rng.normal(size=(40, 4)) * away
    scores = noisy / away @ words.T - (words**2).sum(axis=1) / (2 * away)
    assert (Decoder(words * scale).nearest(noisy * scale) == scores.argmax(axis=1)).all()
