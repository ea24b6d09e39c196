"""What a command asks of its files, by the kinds of proof that answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.errors import FileError
from sievert.files import (
    DocumentsScenario,
    PolicyScenario,
    Scenario,
    VectorsScenario,
    described,
    load_policy_scenario,
)
from sievert.proofs import Proof
from sievert.questions.estimate import reports_named

__all__ = ["Asked", "Question", "Subject", "reports_of", "subject_of"]


@dataclass(frozen=True)
class Asked:
    """What a proof must be about, as its `question` says it, and what it takes as given besides."""

    question: Mapping[str, Any]
    given: str | None = None


@dataclass(frozen=True)
class Question:
    """One question of a command about its files.

    Attributes
    ----------
    words : what a proof of the answer is about, in words
    kinds : the kinds of proof that answer it
    options : what its command may be told beside the files
    rebuilt : of a proof and options, what it must be about, each of which will do
    of_mechanism : whether the answer is about a mechanism, which a reader would take for that of the file
    """

    words: str
    kinds: frozenset[str]
    options: frozenset[str]
    rebuilt: Callable[[Proof, Mapping[str, Any]], Iterable[Asked]]
    of_mechanism: bool = False


@dataclass(frozen=True)
class Subject:
    """The files that a proof is held against: their names, what they ask, and the one that says a policy."""

    names: str
    questions: tuple[Question, ...]
    scenario: Scenario | None = None


def subject_of(*paths: Path, reports: Sequence[str | Path] = ()) -> Subject:
    """The files of a proof, and every question that a command asks of such files."""
    names = " and ".join(map(str, paths))
    scenarios = [_scenario(path) for path in paths]
    first = scenarios[0]
    if len(paths) == 1 and first is not None:
        return Subject(names, _of_file(first, paths[0], reports), first)
    from sievert.verification._others import comparison_questions, runs_question

    file = first if isinstance(first, PolicyScenario) else None
    runs = (runs_question(paths[-1], file),) if scenarios[-1] is None else ()
    if len(paths) == 1:
        return Subject(names, runs)
    if len(paths) != 2:
        raise FileError(f"{names}: a proof is about one file, or about the two of a comparison")
    return Subject(names, (*comparison_questions(paths, scenarios), *(runs if file else ())), first)


def reports_of(
    scenario: Scenario, given: Sequence[str | Path], told: Mapping[str, Any]
) -> Sequence[str | Path]:
    """The reports of an estimate: those given, else the one that the proof names, else the file's own."""
    return given or (reports_named(scenario, str(told["reports"])) if "reports" in told else ())


def _scenario(path: Path) -> Scenario | None:
    """What a TOML file describes; None for runs or a channel."""
    return (described(path) or load_policy_scenario(path)) if path.suffix == ".toml" else None


def _of_file(scenario: Scenario, path: Path, reports: Sequence[str | Path]) -> tuple[Question, ...]:
    if isinstance(scenario, PolicyScenario):
        from sievert.verification._records import questions_of_records

        return questions_of_records(scenario, path, reports)
    from sievert.verification._others import questions_of_documents, questions_of_vectors

    if isinstance(scenario, DocumentsScenario):
        return questions_of_documents(scenario, path, reports)
    assert isinstance(scenario, VectorsScenario)
    return questions_of_vectors(scenario, path)
