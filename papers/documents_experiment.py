"""Who wrote it? The experiment of chapter 9 on stand-in texts: messages of presidents of the United States.

    python -m pip install 'sievert[text]'
    python -m papers.documents_experiment

The source's stories cannot be had. Here authors are presidents, the "topic" is the period (before 1900, after
1934), the known text is the beginning of all messages but the last, and the last one is attacked. Authors are
drawn anew in each of three draws; levels were fixed in advance; every share has its interval.
"""

from __future__ import annotations

import sievert as sv

LEVELS = [20.0, 15.0, 10.0, 7.0, 5.0, 3.0, 1.0]


def main() -> None:
    """Print the table for both mechanisms."""
    texts, table = sv.text.presidents(), sv.text.Embedding.small()
    print(f"{len(texts.authors)} authors")
    for kind in ("word-laplace", "word-exponential"):
        found = sv.text.attack(texts, table, LEVELS, kind=kind, authors=20, draws=3, rng=2026)
        print(f"\n{kind}: {found}")
        rows = found.rows()
        names = list(dict.fromkeys(name for row in rows for name in row))
        print("| " + " | ".join(names) + " |")
        print("|" + "---|" * len(names))
        for row in rows:
            print("| " + " | ".join(str(row.get(name, "")) for name in names) + " |")


if __name__ == "__main__":
    main()
