"""The parts of an answer, in the order of their tabs: which there are, and who answers each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sievert.errors import SievertError
from sievert.files import PolicyScenario
from sievert.studio import _described, _policy, _questions, _table_parts
from sievert.studio._names import TITLES
from sievert.studio._payload import Shown, refused
from sievert.studio._validated_file import ValidatedFile

__all__ = ["PARTS", "AnswerPart", "answered"]

Answer = Callable[[ValidatedFile, Mapping[str, Any]], Shown]


@dataclass(frozen=True)
class AnswerPart:
    """Who answers a part about a file with [policy], and about one with [documents] or [vectors]."""

    records: Answer
    others: Answer | None = None


PARTS = {
    "headline": AnswerPart(_table_parts.headline, _described.headline),
    "guess": AnswerPart(_table_parts.guess, _described.whole),
    "noise": AnswerPart(_table_parts.noise),
    "epsilon": AnswerPart(_table_parts.epsilon, _described.asked("explain")),
    "releases": AnswerPart(_table_parts.releases, _described.asked("breach")),
    "compare": AnswerPart(_questions.compare, _described.compare),
    "design": AnswerPart(_questions.design, _described.asked("design")),
    "secrets": AnswerPart(_policy.secrets),
    "places": AnswerPart(_policy.places),
    "inference": AnswerPart(_questions.inference, _described.asked("infer")),
    "release": AnswerPart(_questions.preview, _described.preview),
    "budget": AnswerPart(_questions.budget, _questions.budget),
    "proofs": AnswerPart(_questions.proofs, _described.proofs),
}


def answered(case: ValidatedFile, name: str, settings: Mapping[str, Any]) -> Shown:
    """One part; what cannot be answered says why."""
    part = PARTS[name]
    answer = part.records if isinstance(case.scenario, PolicyScenario) else part.others
    try:
        if answer is None:
            reason = f"“{TITLES[name]}” says nothing about a file with [{case.scenario.table}]."
            found = refused(reason, "Ask what can be guessed.")
        else:
            found = answer(case, settings)
    except SievertError as problem:
        found = refused(problem.in_file(), "Ask what can be guessed." if name != "guess" else "")
    return {**found, "hash": case.state}
