"""Words: what a promise is about, and what is refused because it would void it."""

import pytest

import sievert as sv
from sievert.errors import TextError
from sievert.text import Bag, Embedding, bag, ngrams, tokens

PLANE = Embedding(["sea", "lake", "car", "thing"], [[0, 0], [0, 1], [5, 0], [2, 2]])


def test_the_source_s_example() -> None:
    assert tokens("The President greets the press in Chicago") == ["president", "greets", "press", "chicago"]


def test_apostrophes_marks_and_case() -> None:
    assert tokens("It’s the CITY's key-ring, isn't it? 42 times…") == ["city", "key", "ring", "times"]
    assert tokens("Ça va, Österreich?", stop_words=[]) == ["ça", "va", "österreich"]
    assert tokens("an ox ate it", shortest=3) == ["ate"]
    assert tokens("") == []


def test_character_grams_of_the_source() -> None:
    assert ngrams("color", 3) == ["col", "olo", "lor"]
    assert ngrams("colour", 3) == ["col", "olo", "lou", "our"]
    assert ngrams("aaaa", 2) == ["aa", "aa", "aa"]
    assert ngrams("at", 3) == []


def test_a_bag_forgets_the_order() -> None:
    assert (
        bag("Car, sea! Lake; sea.", PLANE)
        == bag("sea sea lake car", PLANE)
        == {"sea": 2, "lake": 1, "car": 1}
    )
    assert Bag({"sea": 2, "car": 0}).size == 2
    assert hash(Bag(["a", "b"])) == hash(Bag(["b", "a"]))


def test_unknown_words_are_dropped_or_replaced_and_counted() -> None:
    dropped = bag("sea monsters", PLANE)
    assert dict(dropped) == {"sea": 1}
    assert (dropped.size, dropped.unknown) == (1, 1)
    replaced = bag("sea monsters", PLANE, out_of_vocabulary="token", token="thing")
    assert dict(replaced) == {"sea": 1, "thing": 1}


@pytest.mark.parametrize("policy", ["copy", "keep"])
def test_copying_unknown_words_through_is_refused(policy: str) -> None:
    """Erratum E11: two documents that differ in such a word are told apart for certain."""
    with pytest.raises(TextError, match="the loss is infinite"):
        bag("sea monsters", PLANE, out_of_vocabulary=policy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"out_of_vocabulary": "ignore"}, '\'ignore\'; write "drop" or "token"'),
        ({"out_of_vocabulary": "token"}, "token is None"),
        ({"out_of_vocabulary": "token", "token": "monster"}, "'monster'; .* public word of the vocabulary"),
    ],
)
def test_policies_that_are_no_policy(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(TextError, match=message):
        bag("sea", PLANE, **arguments)


def test_what_is_no_bag() -> None:
    with pytest.raises(TextError, match=r"a: bag is the text 'sea'; sv.text.bag"):
        sv.text.distance("sea", ["car"], PLANE)
    with pytest.raises(TextError, match="has count -1"):
        Bag({"sea": -1})
    with pytest.raises(TextError, match=r"has count 1\.5"):
        Bag({"sea": 1.5})
    with pytest.raises(TextError, match="give words"):
        Bag([["sea"]])
    with pytest.raises(TextError, match="text is 7"):
        tokens(7)  # type: ignore[arg-type]
    with pytest.raises(TextError, match="stop_words is 'the'"):
        tokens("the sea", stop_words="the")


def test_an_accent_is_part_of_its_letter_however_it_is_written() -> None:
    assert (
        tokens("caf\u00e9 re\u0301sume\u0301") == tokens("cafe\u0301 r\u00e9sum\u00e9") == ["café", "résumé"]
    )
