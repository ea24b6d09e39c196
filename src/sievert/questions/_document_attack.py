"""What attackers find in documents whose authors are known, and mechanisms at equal success.

Unlike an audit this reads the private documents: the answer is as private as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sievert.errors import FileError
from sievert.files import AttackModel, DocumentsScenario
from sievert.numerics import positive
from sievert.tables import TextSource
from sievert.text import AttackBench, Corpus, WordFamily, attack, presidents, read_corpus

__all__ = ["attack_documents", "equal_success"]

# Levels that are tried for equal success, as factors of the file's ε.
FACTORS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


def attack_documents(
    scenario: DocumentsScenario, eps: list[float] | None = None, device: str | None = None
) -> AttackBench:
    """What attackers find in the documents of the file, whose authors are their folders or a column."""
    scenario.check()
    model = scenario.document.attack or AttackModel()
    with scenario.at("attack"):
        levels = eps or model.eps or [scenario.mechanism.eps]
        return _bench(scenario, scenario.document.mechanism, levels, device)


def _bench(
    scenario: DocumentsScenario, family: WordFamily, levels: Sequence[float], device: str | None = None
) -> AttackBench:
    model = scenario.document.attack or AttackModel()
    return attack(
        _corpus(scenario, model),
        scenario.embedding,
        [positive("eps", level) for level in levels],
        kind=str(family.declared().name),
        **family.further,
        authors=model.authors,
        draws=model.draws,
        length=scenario.length.rule,
        size=scenario.length.size,
        token=scenario.length.token,
        device=device,
        rng=model.seed,
    )


def _corpus(scenario: DocumentsScenario, model: AttackModel) -> Corpus:
    """Known and unknown documents of authors, with their topics."""
    if model.corpus is not None:
        return presidents()
    source = scenario.texts
    if model.input is not None:
        source = TextSource(Path(model.input), person="folder", folder=scenario.folder)
    if source.person is None:
        raise FileError(
            f"{scenario.source}, documents.person: is missing; an attack needs to know who wrote what, such "
            'as person = "folder"'
        )
    corpus = read_corpus((str(text.person), text.text) for text in source.read())
    if model.topics is None:
        return corpus
    missing = [author for author in corpus.authors if author not in model.topics]
    if missing:
        raise FileError(f"topics: {missing[0]!r} has none; give every author one")
    return Corpus(corpus.known, corpus.unknown, model.topics)


def equal_success(scenario: DocumentsScenario) -> dict[str, Any] | None:
    """For each mechanism the largest ε tried where no attacker finds more authors than [attack] success.

    None where the file names no success: then no private document is read.
    """
    model = scenario.document.attack
    if model is None or model.success is None:
        return None
    levels = [scenario.mechanism.eps * factor for factor in FACTORS]
    kinds: dict[str, Any] = {}
    for kind in WordFamily.classes():
        family = kind.usual(levels[0], scenario.embedding)
        if family is None:
            continue
        with scenario.at("attack"):
            found = _bench(scenario, family, levels)
        right = [level for level in levels if found.best_author(level) <= model.success]
        # Success rises with ε but for chance: the first level that is too much ends the search.
        safe = [level for level in right if all(lower in right for lower in levels if lower < level)]
        best = max(safe, default=None)
        kinds[str(kind.declared().name)] = {
            "eps": best,
            "unchanged": None if best is None else found.unchanged[best],
            "nats": None if best is None else found.nats[best],
            "curve": [(level, found.best_author(level)) for level in levels],
        }
    return {"success": model.success, "kinds": kinds}
