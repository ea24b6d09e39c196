"""Word frequencies behind released bags: the words that came out, sent back through the known channel.

Only words that were released are looked at as what the documents held; a word that was never drawn is near
one that was, and the estimate gives its share to that one. Noise with decoding has no list of probabilities
beyond a plane, so that there nothing can be inverted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sievert.channels import Channel
from sievert.errors import EstimationError, FileError
from sievert.estimation import estimate, identifiability, likelihood_question, prove_likelihood
from sievert.files import DocumentsScenario
from sievert.numerics import require_size
from sievert.proofs import LikelihoodProof
from sievert.questions.estimate import EstimateAnswer
from sievert.tables import cell_text, expanded, open_rows

__all__ = ["documents_estimate_question", "estimate_documents", "prove_estimate"]

# Different words that may have been released: the channel is a table of their pairs.
LARGEST_WORDS = 1500
COLUMN = "words"
OTHER = "(another word)"


def estimate_documents(
    scenario: DocumentsScenario,
    *,
    reports: Sequence[str | Path] = (),
    column: str | None = None,
    method: str | None = None,
    interval: str | None = None,
) -> EstimateAnswer:
    """How often words stood in the documents, from what was released of them."""
    scenario.check()
    paths = expanded(reports) if reports else [scenario.released]
    if not reports and not paths[0].is_file():
        raise FileError(f"{paths[0]}: has not been released yet; run sievert release, or name --reports")
    counts, rows = _counted(paths, column or COLUMN)
    strange = [word for word in counts if word not in scenario.embedding]
    if strange:
        raise FileError(
            f"{paths[0].name}: {strange[0]!r} is not in the vocabulary of {scenario.source}; it was released "
            "with another embedding"
        )
    channel = _channel(scenario, sorted(counts))
    try:
        found = estimate(
            {**counts, OTHER: 0},
            channel,
            method or "ibu",  # type: ignore[arg-type]
            interval=interval or "none",  # type: ignore[arg-type]
        )
    except EstimationError as problem:
        raise FileError(f"{scenario.source}, estimate: {problem.in_file()}") from None
    return EstimateAnswer(
        scenario.title,
        scenario.mechanism.words(),
        found,
        Counter[Hashable](counts),
        rows,
        0,
        tuple(path.name for path in paths),
        None,
        None,
        None,
        str(identifiability(channel)),
        (Counter[Hashable]([*counts.elements()]),),
        None,
    )


def prove_estimate(scenario: DocumentsScenario, result: EstimateAnswer) -> LikelihoodProof:
    """How far the likelihood of the estimate can be from the greatest."""
    channel = _channel(scenario, sorted(word for word in result.reported))
    return prove_likelihood(result.estimate, list(result.groups), [channel])


def documents_estimate_question(
    scenario: DocumentsScenario, reports: Sequence[str | Path] = (), column: str | None = None
) -> dict[str, Any]:
    """What the proof of an estimate of these released documents is about; nothing is estimated."""
    counts, _ = _counted(expanded(reports) if reports else [scenario.released], column or COLUMN)
    words = sorted(counts)
    return likelihood_question([Counter[Hashable](counts)], [_channel(scenario, words)])


def _counted(paths: Sequence[Path], column: str) -> tuple[Counter[str], int]:
    counts: Counter[str] = Counter()
    rows = 0
    for path in paths:
        for batch in open_rows(path).batches([column]):
            for text in batch.columns[column]:
                rows += 1
                counts.update((cell_text(text) or "").split())
    if not counts:
        raise FileError(f"{paths[0].name}: holds no words; there is nothing to estimate from")
    return counts, rows


def _channel(scenario: DocumentsScenario, words: Sequence[Any]) -> Channel:
    """From the words that were released to them, and to one output for all other words."""
    mechanism = scenario.mechanism
    require_size(
        len(words),
        LARGEST_WORDS,
        "the pairs of different words that were released",
        "estimate from fewer documents, or with a smaller documents.vocabulary",
    )
    logs = mechanism.log_rows(list(words), list(words))
    if logs is None:
        raise FileError(
            f"{scenario.source}: {mechanism.kind} has no list of probabilities to send words back through; "
            'kind = "word-exponential" has, and `sievert attack` shows what can be learned all the same'
        )
    inside = np.exp(logs)
    other = np.maximum(1 - inside.sum(axis=1), 0.0)
    table = np.column_stack([inside, other])
    return Channel(table / table.sum(axis=1)[:, None], list(words), [*words, OTHER])
