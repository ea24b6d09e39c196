"""Words: from a text to the bag that a promise is about.

A text is cut into lower-case words, stop words go, the order is dropped, and what the vocabulary does not
have is dropped or replaced by one public word. A word that were copied through would be released as it is:
two documents that differ in it could be told apart for certain (Fernandes, Sec 9.6, erratum E11).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Hashable, Iterator, Mapping
from typing import Any

from sievert.errors import TextError
from sievert.numerics import brief, is_whole, taken, whole

__all__ = ["STOP_WORDS", "Bag", "as_bag", "bag_of", "ngrams", "tokens"]

LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
# Function words of English: they carry style, not meaning.
FUNCTION_WORDS = """
a about above across after afterwards again against all almost alone along already also although always am
among amongst an and another any anybody anyhow anyone anything anyway anywhere are aren't around as at be
became because become becomes been before beforehand behind being below beside besides between beyond both
but by came can can't cannot could couldn't did didn't do does doesn't doing don't done down during each
either else elsewhere enough etc even ever every everybody everyone everything everywhere except few for
former formerly from further get gets give go had hadn't has hasn't have haven't having he he'd he'll he's
hence her here here's hereafter hereby herein hers herself him himself his how however i i'd i'll i'm i've
if in indeed instead into is isn't it it'd it'll it's its itself just last latter least less let let's
like made many may maybe me meanwhile might mine more moreover most mostly much must mustn't my myself
namely neither never nevertheless next no nobody none nor not nothing now nowhere of off often on once one
only onto or other others otherwise ought our ours ourselves out over own per perhaps quite rather really
regarding said same say says see seem seemed seems several shall she she'd she'll she's should shouldn't
since so some somebody somehow someone something sometime sometimes somewhere still such than that that's
the their theirs them themselves then thence there there's thereafter thereby therefore therein thereupon
these they they'd they'll they're they've this those though through throughout thru thus to together too
toward towards under unless until up upon us used using various very via was wasn't we we'd we'll we're
we've well were weren't what what's whatever when whence whenever where where's whereas whereby wherein
wherever whether which while whither who who's whoever whole whom whose why will with within without won't
would wouldn't yet you you'd you'll you're you've your yours yourself yourselves
"""
STOP_WORDS = frozenset(FUNCTION_WORDS.split())


def tokens(text: str, *, stop_words: Container[str] = STOP_WORDS, shortest: int = 1) -> list[str]:
    """The words of a text in lower case, in order, without stop words.

    Parameters
    ----------
    text : str
    stop_words : words to leave out; an empty list keeps all
    shortest : the fewest letters of a word that is kept

    Returns
    -------
    list of str

    Notes
    -----
    A word is a run of letters of any alphabet, with accents as Unicode composes them (NFC); of one with
    an apostrophe what stands before it is kept, unless the whole is a stop word.

    Cost: one pass over the text.

    Examples
    --------
    >>> tokens("The President greets the press in Chicago")
    ['president', 'greets', 'press', 'chicago']
    >>> tokens("Don't lose the city's key!", stop_words=[])
    ['don', 'lose', 'the', 'city', 'key']
    """
    if not isinstance(text, str):
        raise TextError(f"text is {brief(text)}; give a text")
    least = whole("shortest", shortest, TextError)
    stops = stop_words if isinstance(stop_words, frozenset | set) else _stops(stop_words)
    found = LETTERS.findall(unicodedata.normalize("NFC", text).replace("’", "'").lower())
    cut = (word.partition("'")[0] for word in found if word not in stops)
    return [word for word in cut if len(word) >= least and word not in stops]


def _stops(given: object) -> frozenset[str]:
    if isinstance(given, str):
        raise TextError(f"stop_words is {brief(given)}; give a list of words")
    words = taken("stop_words", given, TextError, "words")
    if not all(isinstance(word, str) for word in words):
        raise TextError(f"stop_words is {brief(given)}; give a list of words")
    return frozenset(words)


def ngrams(word: str, n: int) -> list[str]:
    """Every run of n letters of a word, in order, with repetition; a shorter word has none.

    Parameters
    ----------
    word : str
    n : how many letters

    Returns
    -------
    list of str

    Notes
    -----
    Cost: O(length of the word).

    Examples
    --------
    >>> ngrams("color", 3), ngrams("colour", 3), ngrams("at", 3)
    (['col', 'olo', 'lor'], ['col', 'olo', 'lou', 'our'], [])
    """
    if not isinstance(word, str):
        raise TextError(f"word is {brief(word)}; give a word")
    length = whole("n", n, TextError)
    return [word[start : start + length] for start in range(len(word) - length + 1)]


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
                f"bag: {brief(wrong[0][0])} has count {brief(wrong[0][1])}; give whole numbers ≥ 0"
            )
        return {word: int(times) for word, times in words.items() if times}
    if isinstance(words, str):
        raise TextError(f"bag is the text {brief(words)}; sv.text.bag(text, embedding) makes a bag of it")
    listed = taken("bag", words, TextError, "words")
    try:
        return dict(Counter(listed))
    except TypeError:
        raise TextError(f"bag is {brief(words)}; give words, or a mapping from word to count") from None


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
            raise TextError(f"token is {brief(token)}; give a public word of the vocabulary")
        raise TextError(f'out_of_vocabulary is {brief(out_of_vocabulary)}; write "drop" or "token"')
    if out_of_vocabulary in ("copy", "keep"):
        raise TextError(
            f"out_of_vocabulary is {out_of_vocabulary!r}: a word without a vector would be published as it "
            "is, and two documents that differ in it could be told apart for certain (the loss is infinite); "
            'write "drop", or "token" with a public word to put in its place'
        )
    if out_of_vocabulary not in ("drop", "token"):
        raise TextError(f'out_of_vocabulary is {brief(out_of_vocabulary)}; write "drop" or "token"')
    if out_of_vocabulary == "token" and (token is None or token not in vocabulary):
        raise TextError(
            f"token is {brief(token)}; out_of_vocabulary = 'token' needs a public word of the vocabulary"
        )
