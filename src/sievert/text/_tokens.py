"""Tokens: the words of a text, in the forms in which a public table has them.

What is looked up is what is written: `Paris`, `New_York`, `10,000`, `don't`. Only what the table does not
have is changed, one step at a time: case is folded, an ending (`city's`) or an elided article (`L'élève`) is
cut, a compound falls into its parts. Stop words carry style and go; a negation carries meaning and stays,
also out of a contraction (`isn't` is `not`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Set
from functools import lru_cache
from itertools import pairwise

import numpy as np

from sievert.errors import TextError
from sievert.numerics import abbreviated, taken, whole

__all__ = ["STOP_WORDS", "ngrams", "tokens"]

# Function words of English: they carry style, not meaning. No negation is one of them.
FUNCTION_WORDS = """
a about above across after afterwards again against all almost alone along already also although always am
among amongst an and another any anybody anyhow anyone anything anyway anywhere are around as at be became
because become becomes been before beforehand behind being below beside besides between beyond both but by
came can could did do does doing done down during each either else elsewhere enough etc even ever every
everybody everyone everything everywhere except few for former formerly from further get gets give go had
has have having he he'd he'll he's hence her here here's hereafter hereby herein hers herself him himself
his how however i i'd i'll i'm i've if in indeed instead into is it it'd it'll it's its itself just last
latter least less let let's like made many may maybe me meanwhile might mine more moreover most mostly much
must my myself namely nevertheless next now of off often on once one only onto or other others otherwise
ought our ours ourselves out over own per perhaps quite rather really regarding said same say says see seem
seemed seems several shall she she'd she'll she's should since so some somebody somehow someone something
sometime sometimes somewhere still such than that that's the their theirs them themselves then thence there
there's thereafter thereby therefore therein thereupon these they they'd they'll they're they've this those
though through throughout thru thus to together too toward towards under unless until up upon us used using
various very via was we we'd we'll we're we've well were what what's whatever when whence whenever where
where's whereas whereby wherein wherever whether which while whither who who's whoever whole whom whose why
will with within would yet you you'd you'll you're you've your yours yourself yourselves
"""
STOP_WORDS = frozenset(FUNCTION_WORDS.split())

# One way to write an apostrophe and a hyphen; marks of layout within a word are nothing.
LAYOUT = dict.fromkeys("\u00ad\u200b\u2060")
SPELLING = str.maketrans(dict.fromkeys("’ʼ‘‛´`′＇", "'") | dict.fromkeys("‐‑", "-") | LAYOUT)
NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?")
ENDINGS = ("'s", "'ll", "'re", "'ve", "'d", "'m")
CONTRACTED = {"ca": "can", "wo": "will", "sha": "shall", "ai": ""}
# Articles and pronouns of French, Italian and Catalan before a vowel.
ELISIONS = "l d j m t s n c qu jusqu lorsqu puisqu quoiqu all dall dell nell sull coll un quest quell"
ELIDED = frozenset(ELISIONS.split())
# A phrase of the table, such as New_York_City, has so many words at most.
LONGEST_PHRASE = 4


def tokens(
    text: str,
    *,
    stop_words: Container[str] = STOP_WORDS,
    shortest: int = 1,
    vocabulary: Container[str] = (),
) -> list[str]:
    """The words of a text, in order, without stop words.

    Parameters
    ----------
    text : str
    stop_words : words in lower case to leave out; an empty list keeps all
    shortest : the fewest letters of a word that is kept
    vocabulary : the words of a public table (an `Embedding` is one); a word that it has as written is kept so

    Returns
    -------
    list of str

    Notes
    -----
    A word is a run of letters, their marks and digits of any script, as Unicode composes them (NFC), with
    single apostrophes, hyphens, underscores, points and commas within. The first form that the vocabulary has
    is taken: as written, in lower case, with a capital first letter, in capitals; of a number also without
    commas, or with # for each digit, as word2vec has it. Words that follow one another are one phrase where
    it has them joined by `_`. Otherwise endings such as 's and articles such as l' are cut, `n't` becomes
    `not`, a compound becomes its parts, and what is left is in lower case.

    Stop words are compared in lower case, but for one in capitals in a text that is not (`US`), which the
    vocabulary has as written. The default ones hold no negation.

    Cost: one pass over the text, and a few look-ups for each different word.

    Examples
    --------
    >>> tokens("The President greets the press in Chicago")
    ['president', 'greets', 'press', 'chicago']
    >>> tokens("I'm not happy: it doesn't open, 3 times")
    ['not', 'happy', 'not', 'open', '3', 'times']
    >>> tokens("L'élève flies from Paris to New York", vocabulary=["élève", "Paris", "New_York"])
    ['élève', 'flies', 'Paris', 'New_York']
    """
    if not isinstance(text, str):
        raise TextError(f"text is {abbreviated(text)}; give a text")
    least = whole("shortest", shortest, TextError)
    stops = stop_words if isinstance(stop_words, frozenset | set) else _listed("stop_words", stop_words)
    known = _known(vocabulary)
    clean = unicodedata.normalize("NFC", text).translate(SPELLING)
    forms = _Forms(known, stops, capitals=not clean.isupper())
    return [word for word in forms.of_text(clean) if len(word) >= least]


def _known(vocabulary: object) -> Container[str]:
    from sievert.text._embedding import Embedding

    if isinstance(vocabulary, Embedding | Set | Mapping):
        return vocabulary
    if vocabulary is np.ma.masked or not isinstance(vocabulary, Iterable):
        raise TextError(
            f"vocabulary is {abbreviated(vocabulary)}; give a list of words, or a sv.text.Embedding"
        )
    return _listed("vocabulary", vocabulary)


def _listed(name: str, given: object) -> frozenset[str]:
    if isinstance(given, str | bytes | bytearray | range):
        raise TextError(f"{name} is {abbreviated(given)}; give a list of words")
    words = taken(name, given, TextError, "words")
    if not all(isinstance(word, str) for word in words):
        raise TextError(f"{name} is {abbreviated(given)}; give a list of words")
    return frozenset(words)


class _Forms:
    """What the words of one text become; every different one is worked out once."""

    def __init__(self, vocabulary: Container[str], stops: Container[str], capitals: bool) -> None:
        self.vocabulary, self.stops, self.capitals = vocabulary, stops, capitals
        self._kept: dict[tuple[str, bool], tuple[str, ...]] = {}

    def of_text(self, text: str) -> list[str]:
        marks = "".join(sorted({sign for sign in set(text) if unicodedata.category(sign)[0] == "M"}))
        spans = [(found.start(), found.end()) for found in _pattern(marks).finditer(text)]
        words: list[str] = []
        place = 0
        while place < len(spans):
            phrase, many = self.phrase(text, spans[place : place + LONGEST_PHRASE])
            if phrase is not None:
                words.append(phrase)
            else:
                start, end = spans[place]
                key = text[start:end], text[end : end + 1] == "."
                if key not in self._kept:
                    self._kept[key] = self.of_word(*key)
                words += self._kept[key]
            place += many
        return words

    def phrase(self, text: str, spans: list[tuple[int, int]]) -> tuple[str | None, int]:
        """The longest run of words from here on that the vocabulary has joined, and how many they are."""
        run = 1
        for (_, end), (start, _) in pairwise(spans):
            if not text[end:start].isspace():
                break
            run += 1
        written = [text[start:end] for start, end in spans[:run]]
        if run == 1 or written[0].lower() in self.stops:
            return None, 1
        for many in range(run, 1, -1):
            joined = "_".join(written[:many])
            if written[many - 1].lower() not in self.stops:
                for form in (joined, joined.lower()):
                    if form in self.vocabulary:
                        return form, many
        return None, 1

    def known(self, word: str) -> str | None:
        """The first form of a word that the vocabulary has."""
        for form in (word, word.lower(), word.capitalize(), word.upper()):
            if form in self.vocabulary:
                return form
        return None

    def of_word(self, word: str, point: bool = False) -> tuple[str, ...]:
        """What one word becomes; `point` says that a full stop follows."""
        low = word.lower()
        if low in self.stops:
            name = self.capitals and len(word) > 1 and word.isupper() and word in self.vocabulary
            return (word,) if name else ()
        found = self.known(word) or (self.known(f"{word}.") if point else None)
        if found is not None:
            return (found,)
        if NUMBER.fullmatch(word):
            return (self._number(word),)
        letters = word.split(".")
        if len(letters) > 1 and all(len(letter) == 1 for letter in letters):
            return (self._initials(word),)
        for sign in ".,-_":
            if sign in word:
                return self._compound(word, sign)
        if "'" in word:
            return self._apostrophe(word)
        # A negation in a word that the vocabulary does not have.
        return self.of_word("not") if low == "cannot" and self.known("not") else (low,)

    def _number(self, word: str) -> str:
        plain = word.replace(",", "")
        forms = (plain, *(re.sub(r"\d", "#", form) for form in (word, plain)))
        return next((form for form in forms if form in self.vocabulary), word)

    def _initials(self, word: str) -> str:
        joined = word.replace(".", "")
        forms = [joined, joined.upper(), *([] if joined.lower() in self.stops else [joined.lower()])]
        return next((form for form in forms if form in self.vocabulary), word.lower())

    def _compound(self, word: str, sign: str) -> tuple[str, ...]:
        parts = word.split(sign)
        one = self.known("_".join(parts)) if sign == "-" else None
        # Of e-mail neither part says what the whole does.
        if one is None and sign == "-" and min(map(len, parts)) == 1:
            one = self.known("".join(parts))
        return (one,) if one is not None else tuple(found for part in parts for found in self.of_word(part))

    def _apostrophe(self, word: str) -> tuple[str, ...]:
        low = word.lower()
        if low.endswith("n't"):
            stem = word[:-3]
            before = CONTRACTED.get(stem.lower(), stem)
            negation = "n't" if "n't" in self.vocabulary else "not"
            return (*(self.of_word(before) if before else ()), *self.of_word(negation))
        for ending in ENDINGS:
            if low.endswith(ending) and len(word) > len(ending):
                return self.of_word(word[: -len(ending)])
        head, _, tail = word.partition("'")
        joined = self.known(word.replace("'", ""))
        named = tail[:1].isupper() or head.lower() not in ELIDED
        if named and joined is not None:
            return (joined,)
        if head.lower() in ELIDED:
            kept = self.of_word(tail)
            return kept if head.lower() != "n" else ("n'" if "n'" in self.vocabulary else "ne", *kept)
        parts = tuple(found for part in word.split("'") if len(part) > 1 for found in self.of_word(part))
        return parts if any(part in self.vocabulary for part in parts) else (low,)


@lru_cache(maxsize=64)
def _pattern(marks: str) -> re.Pattern[str]:
    """Words of letters and digits, with these marks: no class of regular expressions has them."""
    sign = rf"(?:[^\W_][{re.escape(marks)}]*)" if marks else r"[^\W_]"
    return re.compile(rf"{sign}+(?:['\-_.,]{sign}+)*")


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
        raise TextError(f"word is {abbreviated(word)}; give a word")
    length = whole("n", n, TextError)
    return [word[start : start + length] for start in range(len(word) - length + 1)]
