"""Bags: what a promise about documents is about.

The order of the words is dropped, and what the vocabulary does not have is dropped or replaced by one public
word. A word that were copied through would be released as it is: two documents that differ in it could be
told apart for certain (Fernandes, Sec 9.6, erratum E11).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterator, Mapping
from typing import Any

from sievert.errors import TextError
from sievert.numerics import abbreviated, is_whole, taken, whole

__all__ = ["Bag", "as_bag", "bag_of", "require_policy"]


class Bag(Mapping[Hashable, int]):
    """A document without order: how often each word occurs.

    Parameters
    ----------
    words : a mapping from word to count, or a list of words in any order

    Attributes
    ----------
    size : number of words, repeats counted
    unknown : words that the vocabulary did not have: dropped or replaced, and never published

    Examples
    --------
    >>> pair = Bag(["press", "chicago", "press"])
    >>> pair, pair.size
    (Bag({'chicago': 1, 'press': 2}), 3)
    """

    def __init__(self, words: Any, *, unknown: int = 0) -> None:
        counts = _counts(words)
        self._counts = dict(sorted(counts.items(), key=lambda item: (str(item[0]), repr(item[0]))))
        self.size = sum(self._counts.values())
        self.unknown = whole("unknown", unknown, TextError, least=0)

    def __getitem__(self, word: Hashable) -> int:
        return self._counts[word]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def __eq__(self, other: object) -> bool:
        return self._counts == dict(other) if isinstance(other, Mapping) else NotImplemented

    def items_listed(self) -> list[Hashable]:
        """Every occurrence, in the order of the words: never that of a text."""
        return [word for word, times in self._counts.items() for _ in range(times)]

    def __repr__(self) -> str:
        return f"Bag({self._counts})"


def _counts(words: Any) -> dict[Hashable, int]:
    if isinstance(words, Bag):
        return dict(words)
    if isinstance(words, Mapping):
        wrong = [(word, times) for word, times in words.items() if not is_whole(times) or times < 0]
        if wrong:
            raise TextError(
                f"bag: {abbreviated(wrong[0][0])} has count {abbreviated(wrong[0][1])}; give whole "
                f"numbers ≥ 0"
            )
        return {word: int(times) for word, times in words.items() if times}
    if isinstance(words, str):
        raise TextError(
            f"bag is the text {abbreviated(words)}; sv.text.bag(text, embedding) makes a bag of it"
        )
    listed = taken("bag", words, TextError, "words")
    try:
        return dict(Counter(listed))
    except TypeError:
        raise TextError(f"bag is {abbreviated(words)}; give words, or a mapping from word to count") from None


def as_bag(argument: str, given: Any) -> Bag:
    """What was given as a bag; the message names the argument."""
    if isinstance(given, Bag):
        return given
    try:
        return Bag(given)
    except TextError as error:
        raise TextError(f"{argument}: {error}") from None


def bag_of(
    found: list[str],
    vocabulary: Container[str],
    out_of_vocabulary: str,
    token: str | None,
    most: int | None = None,
) -> Bag:
    """The bag of the first words that the vocabulary has; the others go, or become the token."""
    require_policy(out_of_vocabulary, token, vocabulary)
    replaced = [word if word in vocabulary else token for word in found]
    kept = replaced if out_of_vocabulary == "token" else [word for word in found if word in vocabulary]
    unknown = sum(word not in vocabulary for word in found)
    return Bag(kept[:most], unknown=unknown)


def require_policy(out_of_vocabulary: object, token: str | None, vocabulary: Container[str]) -> None:
    """What may happen to a word that has no vector; copying it through is refused."""
    if not isinstance(out_of_vocabulary, str) or not isinstance(token, str | None):
        if isinstance(out_of_vocabulary, str):
            raise TextError(f"token is {abbreviated(token)}; give a public word of the vocabulary")
        raise TextError(f'out_of_vocabulary is {abbreviated(out_of_vocabulary)}; write "drop" or "token"')
    if out_of_vocabulary in ("copy", "keep"):
        raise TextError(
            f"out_of_vocabulary is {out_of_vocabulary!r}: a word without a vector would be published as it "
            "is, and two documents that differ in it could be told apart for certain (the loss is infinite); "
            'write "drop", or "token" with a public word to put in its place'
        )
    if out_of_vocabulary not in ("drop", "token"):
        raise TextError(f'out_of_vocabulary is {abbreviated(out_of_vocabulary)}; write "drop" or "token"')
    if out_of_vocabulary == "token" and (token is None or token not in vocabulary):
        raise TextError(
            f"token is {abbreviated(token)}; out_of_vocabulary = 'token' needs a public word of the "
            f"vocabulary"
        )
