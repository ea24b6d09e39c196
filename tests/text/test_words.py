"""Words: what a promise is about, and what is refused because it would void it."""

import pytest

import sievert as sv
from sievert.errors import TextError
from sievert.text import Bag, Embedding, bag, ngrams, tokens

PLANE = Embedding(["sea", "lake", "car", "thing"], [[0, 0], [0, 1], [5, 0], [2, 2]])


def test_the_source_s_example() -> None:
    assert tokens("The President greets the press in Chicago") == ["president", "greets", "press", "chicago"]


def test_apostrophes_marks_and_case() -> None:
    found = tokens("It’s the CITY's key-ring, isn't it? 42 times…")
    assert found == ["city", "key", "ring", "not", "42", "times"]
    assert tokens("Ça va, Österreich?", stop_words=[]) == ["ça", "va", "österreich"]
    assert tokens("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert tokens("an ox ate it", shortest=3) == ["ate"]
    assert tokens("") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I'm not happy", ["not", "happy"]),
        ("No refunds, never", ["no", "refunds", "never"]),
        ("We can’t and won't, they didn't", ["not", "not", "not"]),
        ("nobody has nothing without it, nor cannot", ["nobody", "nothing", "without", "nor", "cannot"]),
        # As keyboards without ’ write it: an accent, a backtick, a prime, a full-width sign.
        ("I don´t, won`t, can′t, isn＇t", ["not", "not", "not", "not"]),
    ],
)
def test_a_negation_is_no_stop_word(text: str, found: list[str]) -> None:
    assert tokens(text) == found
    assert bag(text, Embedding.small()) == Bag([word for word in found if word in Embedding.small()])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("L'élève", ["élève"]),
        ("qu’il d'accord aujourd'hui", ["il", "accord", "aujourd'hui"]),
        ("Je n'ose, il n´ose, elle ne sait", ["je", "ne", "ose", "il", "ne", "ose", "elle", "ne", "sait"]),
        ("O'Neill's rock'n'roll", ["o'neill", "rock'n'roll"]),
        ("the students' vitamin C", ["students", "vitamin", "c"]),
    ],
)
def test_a_word_with_an_apostrophe_is_no_letter(text: str, found: list[str]) -> None:
    assert tokens(text) == found


CASED = [
    "Paris", "paris", "Apple", "apple", "New_York", "York", "the", "US", "u.s.", "Nasa", "berlin", "3",
    "10,000", "12500", "#,###", "don't", "n't", "O'Neill", "neill", "email", "well_known", "not",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Paris and paris", ["Paris", "paris"]),
        ("Apple, apple, APPLE", ["Apple", "apple", "apple"]),
        ("NASA in Berlin", ["Nasa", "berlin"]),
        ("New_York, New York and York", ["New_York", "New_York", "York"]),
        ("new. York", ["new", "York"]),
        ("The US, not us", ["US", "not"]),
        ("THE US", []),
        ("in the U.S.", ["u.s."]),
        ("3 of 10,000, 12,500 and 9,876", ["3", "10,000", "12500", "#,###"]),
        ("I don't and I can't", ["don't", "n't"]),
        ("O'Neill's e-mail is well-known", ["O'Neill", "email", "well_known"]),
    ],
)
def test_a_word_is_found_as_the_table_has_it(text: str, found: list[str]) -> None:
    assert tokens(text, vocabulary=CASED) == found
    table = Embedding(CASED, [[float(place)] for place in range(len(CASED))])
    assert bag(text, table) == Bag([word for word in found if word in table])


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
    for wrong in ("sea", 7, ["sea", 7]):
        with pytest.raises(TextError, match="vocabulary is"):
            tokens("the sea", vocabulary=wrong)  # type: ignore[arg-type]


def test_an_accent_is_part_of_its_letter_however_it_is_written() -> None:
    assert (
        tokens("caf\u00e9 re\u0301sume\u0301") == tokens("cafe\u0301 r\u00e9sum\u00e9") == ["café", "résumé"]
    )
