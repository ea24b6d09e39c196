"""Earth mover's distance: the source's bags, brute force, closed forms, bounds, a proof of every answer."""

import copy
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import TextError
from sievert.proofs import proof_from_dict
from sievert.text import Bag, Embedding, bottleneck, distance, lower_bounds, nearest_documents

SMALL = Embedding.small()
FIRST = ["president", "greet", "press", "chicago"]
SECOND = ["chief", "speaks", "media", "illinois"]
THIRD = ["chef", "breaks", "cooking", "record"]
LINE = sv.metrics.line(5)

bags = st.lists(st.integers(0, 4), min_size=1, max_size=6)
points = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=5, max_size=5, unique=True)


def test_the_source_s_three_documents() -> None:
    """Spec 3.1, GloVe 6B 50d; the bundled table is float16."""
    for a, b, value in (
        (FIRST, SECOND, 4.220218),
        (FIRST, THIRD, 5.721060),
        (SECOND, THIRD, 5.806253),
    ):
        assert float(distance(a, b, SMALL)) == pytest.approx(value, rel=2e-4)
    found = distance(FIRST, SECOND, SMALL)
    lengths = {source: length for source, _, _, length in found.moves()}
    assert {source: target for source, target, *_ in found.moves()} == dict(zip(FIRST, SECOND, strict=True))
    assert [lengths[word] for word in FIRST] == pytest.approx(
        [4.247026, 5.145334, 3.286794, 4.201718], rel=2e-4
    )
    plan = {source: target for source, target, *_ in distance(SECOND, THIRD, SMALL).moves()}
    assert plan == {"chief": "chef", "speaks": "cooking", "media": "record", "illinois": "breaks"}


@given(bags, bags, points)
def test_against_every_matching(first: list[int], second: list[int], places: list[tuple[int, int]]) -> None:
    plane = sv.metrics.euclidean(places, labels=range(5))
    size = min(len(first), len(second))
    a, b = first[:size], second[:size]
    best = min(sum(plane.matrix[x, y] for x, y in zip(a, order, strict=True)) for order in permutations(b))
    found = distance(a, b, plane)
    assert found.cost == pytest.approx(best, abs=1e-9)
    assert found.gap < 1e-9


@given(bags, bags)
def test_on_a_line_it_is_the_area_between_the_distribution_functions(a: list[int], b: list[int]) -> None:
    above, below = (np.cumsum(np.bincount(side, minlength=5)) / len(side) for side in (a, b))
    assert float(distance(a, b, LINE)) == pytest.approx(float(np.abs(above - below).sum()), abs=1e-12)


@given(bags, bags, bags)
def test_it_is_a_pseudometric_for_all_sizes(a: list[int], b: list[int], c: list[int]) -> None:
    """Erratum E5: with normalised masses sizes need not be equal."""
    there, back = float(distance(a, b, LINE)), float(distance(b, a, LINE))
    assert there == pytest.approx(back, abs=1e-12)
    assert there <= float(distance(a, c, LINE)) + float(distance(c, b, LINE)) + 1e-9
    assert float(distance(a, a * 3, LINE)) == pytest.approx(0, abs=1e-12)


@given(bags, bags, points)
def test_a_larger_metric_has_larger_distances(
    a: list[int], b: list[int], places: list[tuple[int, int]]
) -> None:
    """Lemma 9.3: Euclid's is at most the city block's."""
    manhattan = np.abs(np.array(places)[:, None] - np.array(places)[None]).sum(axis=2)
    euclid = sv.metrics.euclidean(places, labels=range(5))
    assert float(distance(a, b, euclid)) <= float(distance(a, b, sv.Metric(manhattan))) + 1e-9


def test_one_word_changes_the_cost_by_its_distance_at_most() -> None:
    assert distance(["sea", "lake"], ["sea", "river"], SMALL).cost <= SMALL.distance("lake", "river") + 1e-12


def test_sizes() -> None:
    found = distance(["sea"], ["sea", "sea"], SMALL)
    assert (found.value, found.cost) == (0.0, np.inf)
    assert float(distance([], [], SMALL)) == 0.0
    for a, b, name in (([], ["sea"], "a"), (["sea"], [], "b")):
        with pytest.raises(TextError, match=f"^{name} has no words"):
            distance(a, b, SMALL)


def test_words_infinitely_far() -> None:
    apart = sv.Metric([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    assert float(distance([0, 2], [1, 2], apart)) == 0.5
    assert float(distance([0, 0], [1, 2], apart)) == np.inf


def test_the_answer_carries_a_proof_that_forgers_cannot_change() -> None:
    proof = distance(FIRST * 2 + ["press"], SECOND, SMALL).prove()
    data = proof.to_dict()
    again = proof_from_dict(data)
    assert again.verify()
    assert float(again.upper - again.lower) < 1e-12
    forged = copy.deepcopy(data)
    body = forged.get("data", forged)
    body["lower"] = str(again.upper + 1)
    body["upper"] = str(again.upper + 2)
    assert not proof_from_dict(forged).verify()


def test_the_peer_agrees(oracle) -> None:  # type: ignore[no-untyped-def]
    ot = oracle("ot")
    rng = np.random.default_rng(5)
    words = np.array(SMALL.words[200:3000])
    for sizes in ((20, 20), (30, 45), (120, 80)):
        a, b = (Bag(rng.choice(words, size).tolist()) for size in sizes)
        p, q = (np.array(list(bag.values())) / bag.size for bag in (a, b))
        assert float(distance(a, b, SMALL)) == pytest.approx(ot.emd2(p, q, SMALL.distances(a, b)), rel=1e-9)


@given(bags, bags, points)
def test_lower_bounds_are_below(a: list[int], b: list[int], places: list[tuple[int, int]]) -> None:
    table = Embedding([str(i) for i in range(5)], places)
    first, second = [str(i) for i in a], [str(i) for i in b]
    assert lower_bounds(first, [second], table)[0] <= float(distance(first, second, table)) + 1e-12


def test_nearest_documents_are_those_of_every_distance() -> None:
    rng = np.random.default_rng(11)
    words = np.array(SMALL.words[200:2000])
    documents = [rng.choice(words, rng.integers(5, 30)).tolist() for _ in range(60)]
    for k in (1, 5):
        query = rng.choice(words, 12).tolist()
        every = sorted((float(distance(query, other, SMALL)), i) for i, other in enumerate(documents))[:k]
        found = nearest_documents(query, documents, SMALL, k)
        assert found.places == tuple(i for _, i in every)
        assert found.distances == pytest.approx([value for value, _ in every])
        assert found.solved < 60
    assert nearest_documents(documents[7], documents, SMALL).places == (7,)


@given(bags, bags)
def test_the_bottleneck_by_brute_force(a: list[int], b: list[int]) -> None:
    """Of equal sizes: the least largest step of a matching."""
    size = min(len(a), len(b))
    first, second = a[:size], b[:size]
    best = min(max(abs(x - y) for x, y in zip(first, order, strict=True)) for order in permutations(second))
    assert bottleneck(first, second, LINE) == best
    assert bottleneck(a, b, LINE) >= float(distance(a, b, LINE)) - 1e-12


def test_arguments_that_are_refused() -> None:
    with pytest.raises(TextError, match=r"give a sv.text.Embedding or a sv.Metric"):
        distance([0], [1], 3)  # type: ignore[arg-type]
    with pytest.raises(TextError, match="documents: there is none"):
        nearest_documents(["sea"], [], SMALL)
    with pytest.raises(TextError, match="entry 2 has no words"):
        nearest_documents(["sea"], [["sea"], []], SMALL)
