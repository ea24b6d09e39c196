"""What is promised for documents: brute force, public clusters, and the proof that travels with it."""

import json
import math
from itertools import permutations

import numpy as np
import pytest

from sievert.errors import TextError
from sievert.proofs import proof_from_dict, save_proof
from sievert.text import Bag, Embedding, Length, distance, document_guarantee, prove_promises, word_mechanism

PLANE = Embedding(list("abcdefgh"), np.random.default_rng(3).standard_normal((8, 2)))


def test_the_proof_states_what_is_promised_and_survives_json() -> None:
    bags = [Bag(list("abc")), Bag(list("def")), Bag(list("ggh"))]
    mechanism = word_mechanism(PLANE, 0.25)
    proof = proof_from_dict(json.loads(save_proof(prove_promises(bags, mechanism, Length(), 2))))
    worst = max(document_guarantee(a, b, mechanism, Length()).nats for a in bags for b in bags if a != b)
    assert float(proof.nats) == pytest.approx(2 * worst, rel=1e-12)
    assert float(proof.guess) == pytest.approx(1 / (1 + 2 * math.exp(-2 * worst)), rel=1e-12)
    assert proof.verify(), proof.verify().statement
    assert "2 releases together of any of the 3 documents" in proof.verify().statement


@pytest.mark.parametrize("seed", range(5))
def test_matchings_and_longest_ways_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (rng.choice(list("abcdefgh"), 4).tolist() for _ in range(2))
    mechanism = word_mechanism(PLANE, 1.0)
    lengths = [[PLANE.distance(x, y) for x, y in zip(first, p, strict=True)] for p in permutations(second)]
    found = document_guarantee(Bag(first), Bag(second), mechanism, Length())
    assert found.nats == pytest.approx(min(map(sum, lengths)), abs=1e-12)
    assert sum(times for *_, times in found.plan) == 4
    drawn = document_guarantee(Bag(first), Bag(second), mechanism, Length("sample", 3))
    assert drawn.nats == pytest.approx(3 * min(map(max, lengths)), abs=1e-12)
    assert prove_promises([Bag(first), Bag(second)], mechanism, Length("sample", 3)).verify()


def test_words_drawn_from_documents_of_different_lengths() -> None:
    bags = [Bag(list("abb")), Bag(list("cd"))]
    found = prove_promises(bags, word_mechanism(PLANE, 0.5), Length("sample", 4))
    assert found.verify() and sum(units for *_, units in found.plans[0]) == 6


def test_plans_do_not_cross_public_clusters() -> None:
    """Two clusters by the first coordinate: the cheap plan crosses between them, and promises nothing."""
    points = [(-1, 0), (-1, 3), (1, 3), (1, 0), (-3, 1), (-3, 2), (3, 1), (3, 2)]
    table = Embedding(list("abcdwxyz"), points)
    mechanism = word_mechanism(table, 1.0, "word-clusters", clusters=2)
    side = mechanism.cluster_of  # type: ignore[attr-defined]
    assert side[0] == side[1] != side[2] == side[3]
    first, second = Bag(["a", "c"]), Bag(["b", "d"])
    assert distance(first, second, table).cost == pytest.approx(4.0)
    assert document_guarantee(first, second, mechanism, Length()).nats == pytest.approx(6.0)
    assert prove_promises([first, second], mechanism, Length()).verify()
    sampled = document_guarantee(first, second, mechanism, Length("sample", 1))
    assert sampled.nats == pytest.approx(3.0)
    assert document_guarantee(Bag(["a"]), Bag(["c"]), mechanism, Length("sample", 1)).nats == math.inf
    assert document_guarantee(Bag(["a"]), Bag(["c"]), mechanism, Length()).nats == math.inf


def test_what_cannot_be_proved() -> None:
    mechanism = word_mechanism(PLANE, 1.0)
    with pytest.raises(TextError, match="their lengths differ"):
        prove_promises([Bag(list("a")), Bag(list("ab"))], mechanism, Length())
    with pytest.raises(TextError, match="it takes two documents"):
        prove_promises([Bag(list("a"))], mechanism, Length())
