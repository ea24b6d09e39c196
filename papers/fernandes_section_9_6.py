"""Section 9.6: what is left of a document, and who still recognises it, against ε.

The utility bound of Thm 9.9, corrected, is about noisy vectors; it stands here beside both distances as they
are simulated, of noisy vectors and of the words they are decoded to. The attackers are tried on the letters
of `examples/letters`; `python -m papers.documents_experiment` tries them on longer texts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import sievert as sv
from papers.page import Entry, Page
from sievert.sampling import floats
from sievert.text import Embedding
from sievert.text._decoding import Decoder

LEVELS = [20.0, 15.0, 10.0, 7.0, 5.0, 3.0, 1.0]
ATTACKERS = ("author, nearest mean", "author, knows the channel")
VOCABULARY, SIZE, TRIALS, SHARE = 5000, 30, 40, 0.95
LETTERS = Path(__file__).resolve().parent.parent / "examples" / "letters" / "texts"


def build() -> Page:
    """One row for each ε: the bound, what is simulated, and what attackers find."""
    table = Embedding.small().first(VOCABULARY)
    words = [table.words[place] for place in np.random.default_rng(9).integers(200, VOCABULARY, SIZE)]
    bench = sv.text.attack(
        sv.text.read_corpus(sorted((path.parent.name, path.read_text()) for path in LETTERS.glob("*/*.txt"))),
        table,
        LEVELS,
        draws=1,
        linear=False,
        rng=2026,
    )
    rows, entries = [], []
    for eps in LEVELS:
        bound = sv.text.utility_radius(SIZE, table.dimensions, eps, SHARE)
        noisy, decoded, unchanged = simulated(words, table, eps, rng=1)
        numbers = [bound, noisy, decoded, unchanged, *(bench.rate(name, eps) for name in ATTACKERS)]
        rows.append([f"{eps:g}", *(f"{value:.2f}" for value in numbers)])
        entries.append(
            Entry(
                f"ε = {eps:g}: E ≤ {bound:.2f} of vectors, {2 * bound:.2f} of words, in 95 of 100 draws",
                "holds",
                "holds" if noisy <= bound and decoded <= 2 * bound else f"{noisy:.2f}, {decoded:.2f}",
            )
        )
    header = ["ε", "E of vectors, bound", "E of vectors", "E of words", "words unchanged", *ATTACKERS]
    remarks = [
        f"A document of {SIZE} words of ranks 200 to {VOCABULARY} of the bundled vectors, {TRIALS} draws of "
        "word-laplace; distances are earth mover's, those that 95 of 100 draws keep. Noisy vectors lie about "
        "n/ε away, where words are about 3 apart: the bound says nothing about the words that are published, "
        "which stay much nearer.",
        "The attackers are tried on stand-in texts, letters of eight authors, one draw of noise: chance "
        "is 0.125, and each share is of 8 documents.",
    ]
    figures = {"fernandes_section_9_6": sv.plots.attack_success(bench)}
    title = "Section 9.6: utility and attackers"
    return Page(title, "Fernandes (2021)", header, rows, entries, remarks, figures)


def simulated(words: list[str], table: Embedding, eps: float, rng: int) -> tuple[float, float, float]:
    """Distances of a document from its noisy vectors and from its decoded words, and the share unchanged."""
    places, decoder = table.places(words), Decoder(table.vectors)
    true = table.vectors[places]
    noise = floats.laplace_vectors(table.dimensions, eps, insecure_rng=np.random.default_rng(rng))
    vectors, decoded, kept = [], [], []
    for _ in range(TRIALS):
        noisy = noise.draw(true)
        found = decoder.nearest(noisy)
        vectors.append(_apart(true, noisy))
        decoded.append(_apart(true, table.vectors[found]))
        kept.append((found == places).mean())
    return float(np.quantile(vectors, SHARE)), float(np.quantile(decoded, SHARE)), float(np.mean(kept))


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """The earth mover's distance of two lists of as many vectors."""
    lengths = np.linalg.norm(a[:, None] - b[None], axis=2)
    return float(lengths[linear_sum_assignment(lengths)].mean())
