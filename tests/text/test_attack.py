"""The attack bench: it finds authors without noise, and not above chance with much."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from sievert.errors import TextError
from sievert.text import (
    Bag,
    Corpus,
    Embedding,
    attack,
    bag_probability,
    bottleneck,
    read_corpus,
    word_channel,
)
from sievert.text._attackers import by_channel, by_ngrams, grams
from sievert.text._mechanisms import word_mechanism
from sievert.text._word_channels import intervals

SMALL = Embedding.small().first(6000)
LETTERS = Path("examples/letters/texts")


def letters() -> list[tuple[str, str]]:
    return [(path.parent.name, path.read_text(encoding="utf-8")) for path in sorted(LETTERS.glob("*/*.txt"))]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    found = read_corpus(letters())
    old = {"washington", "jefferson", "jackson", "lincoln"}
    return Corpus(found.known, found.unknown, {name: "old" if name in old else "new" for name in found.known})


def test_grams_of_the_attack() -> None:
    assert grams(Bag({"colour": 2, "sea": 1})) == {"colo": 2, "olou": 2, "lour": 2, "<sea>": 1}


def test_authors_are_found_without_noise_and_lost_in_much(corpus: Corpus) -> None:
    """Of eight authors; 24 answers by chance exceed nine right ones once in a thousand runs.

    Without noise every draw is the same: of eight letters four are known by their 4-grams and two,
    twice as many as by chance, by what is likeliest word by word.
    """
    found = attack(corpus, SMALL, [1.0, 30.0], kind="word-exponential", draws=3, linear=False, rng=2)
    for attacker, right in (("author, character 4-grams", 4), ("author, knows the channel", 2)):
        high, low = found.rate(attacker, 30.0), found.rate(attacker, 1.0)
        assert high == right / 8
        assert low * 24 <= binom.isf(1e-3, 24, 1 / 8)
    assert found.unchanged[30.0] > 0.99 and found.unchanged[1.0] < 0.2
    assert found.nats[30.0] == pytest.approx(30 * found.nats[1.0])
    assert found.nats[1.0] > 100
    assert "promise there is" in str(found)
    assert "linear model: not asked for" in found.left_out[0]


def test_the_table_has_every_level(corpus: Corpus) -> None:
    found = attack(corpus, SMALL, [5.0], authors=4, draws=2, rng=1)
    assert [row["eps"] for row in found.rows()] == ["none", 5.0]
    assert found.authors == 4
    assert all(one.lower <= one.rate <= one.upper for one in found.findings)
    assert "<table>" in found._repr_html_()
    topics = [one for one in found.findings if one.attacker.startswith("topic")]
    assert {one.chance for one in topics} == {0.5}


def test_the_attacker_who_knows_the_channel_is_bayes_optimal_for_one_word() -> None:
    """Two authors of one word each: he answers with the larger exact probability."""
    table = SMALL.restricted(["king", "queen", "car", "road"])
    mechanism = word_mechanism(table, 1.0, "word-exponential")
    channel = word_channel(table, 1.0, kind="word-exponential")
    known = [Bag(["king"]), Bag(["car"])]
    for word in table.words:
        answer = by_channel(known, [Bag([word])], mechanism, np.random.default_rng(1))[0]
        exact = [bag_probability(bag, [word], channel) for bag in known]
        assert answer == int(np.argmax(exact))


def test_documents_that_share_nothing_are_told_apart() -> None:
    known = [Bag(["engine", "wheel"]), Bag(["river", "ocean"])]
    assert by_ngrams(
        known, [Bag(["rivers", "oceans"]), Bag(["engines"])], np.random.default_rng(0)
    ).tolist() == [1, 0]


def test_clopper_pearson() -> None:
    """Spec 4.1: 15/20 is [0.51, 0.91], 11/20 [0.32, 0.77]."""
    lower, upper = intervals([15, 11, 0, 20], 20, 0.95)
    assert lower == pytest.approx([0.509, 0.315, 0.0, 0.8316], abs=1e-3)
    assert upper == pytest.approx([0.9134, 0.7694, 0.1684, 1.0], abs=1e-3)


def test_what_is_refused(corpus: Corpus) -> None:
    with pytest.raises(TextError, match=r"give a sv\.text\.Corpus"):
        attack({"ann": "sea"}, SMALL, 1.0)  # type: ignore[arg-type]
    with pytest.raises(TextError, match="at least 2 are needed"):
        attack(Corpus({"ann": "sea"}, {"ann": "sea"}), SMALL, 1.0)
    with pytest.raises(TextError, match="'ann' has no word of the vocabulary"):
        attack(Corpus({"ann": "zzqq", "bob": "sea"}, {"ann": "sea", "bob": "sea"}), SMALL, 1.0)
    with pytest.raises(TextError, match="authors have more than 1 document"):
        read_corpus([("ann", "sea"), ("bob", "lake")])


def test_the_bench_promises_nothing_across_public_clusters() -> None:
    """ε·N·E is no promise where clusters are published, nor where words are drawn from documents first."""
    table = Embedding(["aa", "bb", "cc", "dd"], [[0.0], [1.0], [50.0], [51.0]])
    pairs = [(who, text) for who, text in (("ann", "aa bb"), ("bob", "cc dd")) for _ in range(2)]
    corpus = read_corpus(pairs)
    given: dict[str, Any] = {"draws": 1, "linear": False, "rng": 1}
    clusters = attack(corpus, table, 1.0, kind="word-clusters", clusters=2, **given)
    assert math.isinf(clusters.nats[1.0])
    drawn = attack(corpus, table, 1.0, kind="word-exponential", length="sample", size=3, **given)
    assert drawn.nats[1.0] == pytest.approx(3 * bottleneck(["aa", "bb"], ["cc", "dd"], table))
    assert attack(corpus, table, 1.0, kind="word-exponential", **given).nats[1.0] == pytest.approx(100)
