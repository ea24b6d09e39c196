"""The parts of an answer, in the order of their tabs: which there are, and who answers each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sievert.errors import SievertError
from sievert.files import Scenario
from sievert.studio import _described, _policy, _questions, _records
from sievert.studio._case import Case
from sievert.studio._names import NAMES
from sievert.studio._shown import Shown, refused

__all__ = ["PARTS", "Part", "answered"]

Answer = Callable[[Case, Mapping[str, Any]], Shown]


@dataclass(frozen=True)
class Part:
    """One tab.

    Attributes
    ----------
    title : for its reader
    records : who answers it about a file with [policy]
    others : who about one with [documents] or [vectors]; None: nobody
    """

    title: str
    records: Answer
    others: Answer | None = None


TABS = (
    Part("In one sentence", _records.headline, _described.headline),
    Part("What can be guessed", _records.guess, _described.whole),
    Part("What is published", _records.noise),
    Part("Against ε", _records.epsilon, _described.asked("explain")),
    Part("Over releases", _records.releases, _described.asked("breach")),
    Part("Compare", _questions.compare, _described.compare),
    Part("Design", _questions.design, _described.asked("design")),
    Part("Secrets", _policy.secrets),
    Part("Places", _policy.places),
    Part("Inference", _questions.inference, _described.asked("infer")),
    Part("Budget", _questions.budget, _questions.budget),
    Part("Proofs", _questions.proofs, _described.proofs),
)
PARTS = dict(zip(NAMES, TABS, strict=True))


def answered(case: Case, name: str, settings: Mapping[str, Any]) -> Shown:
    """One part; what cannot be answered says why."""
    part = PARTS[name]
    answer = part.records if isinstance(case.scenario, Scenario) else part.others
    try:
        if answer is None:
            reason = f"“{part.title}” says nothing about a file with [{case.scenario.table}]."
            found = refused(reason, "Ask what can be guessed.")
        else:
            found = answer(case, settings)
    except SievertError as problem:
        found = refused(problem.in_file(), "Ask what can be guessed." if name != "guess" else "")
    return {**found, "hash": case.state}
