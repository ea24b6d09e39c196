"""The same parts about files with [documents] or [vectors]: what their commands answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sievert.files import DocumentsScenario, Scenario, bind_proof
from sievert.proofs import Proof
from sievert.report import Page, is_favourable, page_html
from sievert.studio._payload import Shown, of_page, refused
from sievert.studio._questions import NAMES, looked_at, other_case, proofs_of, told_of
from sievert.studio._validated_file import ValidatedFile

__all__ = ["asked", "compare", "headline", "page_of", "preview", "proofs", "whole"]

Settings = Mapping[str, Any]
NOT_ASKED = "[attack] success is about private documents, and the studio reads none; run `sievert {} {}`."


@dataclass(frozen=True)
class _Answers:
    """What answers about one kind of file, and how it is shown."""

    about: Callable[..., Any]
    compare: Callable[..., Any]
    promise: Callable[[Any], Proof]
    content: Callable[..., Page]


def _answers(scenario: Scenario) -> _Answers:
    """The one place of the studio that tells these files apart."""
    if scenario.table == "documents":
        from sievert.questions import documents
        from sievert.report import documents as texts

        return _Answers(
            documents.about_documents,
            documents.compare_documents,
            documents.promise_of_documents,
            texts.content,
        )
    from sievert.questions import vectors
    from sievert.report import vectors as codes

    return _Answers(vectors.about_vectors, vectors.compare_vectors, vectors.promise_of_vectors, codes.content)


def headline(case: ValidatedFile, settings: Settings) -> Shown:
    """The answer in one sentence."""
    return {"sentence": str(case.audit), "good": is_favourable(case.audit, case.scenario)}


def whole(case: ValidatedFile, settings: Settings) -> Shown:
    """The audit."""
    return of_page(_answers(case.scenario).content(case.audit, case.scenario))


def page_of(case: ValidatedFile, command: str) -> str:
    """The page of the audit."""
    return page_html(_answers(case.scenario).content(case.audit, case.scenario, command))


def asked(question: str) -> Callable[[ValidatedFile, Settings], Shown]:
    """The answer of a command."""

    def answer(case: ValidatedFile, settings: Settings) -> Shown:
        answers, scenario = _answers(case.scenario), _without_attack(case.scenario)
        found = case.once(question, lambda: answers.about(question, scenario))
        shown = of_page(answers.content(found, scenario))
        if scenario is not case.scenario:
            shown["sections"].append(
                ["What is not asked here", [NOT_ASKED.format(question, scenario.source)]]
            )
        return shown

    return answer


def _without_attack(scenario: Scenario) -> Scenario:
    """The file without the one key by which an answer is computed from private documents."""
    if not isinstance(scenario, DocumentsScenario):
        return scenario
    attack = scenario.document.attack
    if attack is None or attack.success is None:
        return scenario
    said = attack.model_dump(exclude_unset=True, exclude={"success"})
    quiet = type(attack).model_validate(said)
    return replace(scenario, document=scenario.document.model_copy(update={"attack": quiet}))


def compare(case: ValidatedFile, settings: Settings) -> Shown:
    """Whether B can replace A."""
    other = other_case(case, settings)
    if other is None:
        return refused("There is no second file to compare with.", "Choose B, or take the text as B first.")
    if other.scenario.table != case.scenario.table:
        return refused(f"Only A has [{case.scenario.table}]; compare two files of one kind.")
    answers = _answers(case.scenario)
    shown = of_page(answers.content(answers.compare(case.scenario, other.scenario, NAMES), case.scenario))
    return {**shown, "sentence": told_of(case, other, shown["sentence"])}


def preview(case: ValidatedFile, settings: Settings) -> Shown:
    """What `sievert release --preview` says."""
    from sievert.release import preview as look

    found: Any = case.scenario
    return looked_at(case, lambda: _answers(found).content(look(found), found))


def proofs(case: ValidatedFile, settings: Settings) -> Shown:
    """The promise with its proof."""

    def promise() -> Proof:
        return bind_proof(_answers(case.scenario).promise(case.scenario), case.scenario)

    return proofs_of(case.scenario, iter([("promise", promise)]))
