"""The parts of an answer, in the order of their tabs: which there are, and who answers each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sievert.errors import SievertError
from sievert.files import Scenario
from sievert.studio import _described, _policy, _questions, _records
from sievert.studio._case import Case
from sievert.studio._names import TITLES
from sievert.studio._shown import Shown, refused

__all__ = ["PARTS", "Part", "answered"]

Answer = Callable[[Case, Mapping[str, Any]], Shown]


@dataclass(frozen=True)
class Part:
    """Who answers a part about a file with [policy], and about one with [documents] or [vectors]."""

    records: Answer
    others: Answer | None = None


PARTS = {
    "headline": Part(_records.headline, _described.headline),
    "guess": Part(_records.guess, _described.whole),
    "noise": Part(_records.noise),
    "epsilon": Part(_records.epsilon, _described.asked("explain")),
    "releases": Part(_records.releases, _described.asked("breach")),
    "compare": Part(_questions.compare, _described.compare),
    "design": Part(_questions.design, _described.asked("design")),
    "secrets": Part(_policy.secrets),
    "places": Part(_policy.places),
    "inference": Part(_questions.inference, _described.asked("infer")),
    "release": Part(_questions.preview, _described.preview),
    "budget": Part(_questions.budget, _questions.budget),
    "proofs": Part(_questions.proofs, _described.proofs),
}


def answered(case: Case, name: str, settings: Mapping[str, Any]) -> Shown:
    """One part; what cannot be answered says why."""
    part = PARTS[name]
    answer = part.records if isinstance(case.scenario, Scenario) else part.others
    try:
        if answer is None:
            reason = f"“{TITLES[name]}” says nothing about a file with [{case.scenario.table}]."
            found = refused(reason, "Ask what can be guessed.")
        else:
            found = answer(case, settings)
    except SievertError as problem:
        found = refused(problem.in_file(), "Ask what can be guessed." if name != "guess" else "")
    return {**found, "hash": case.state}
