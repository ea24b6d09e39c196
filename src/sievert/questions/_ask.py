"""One way to ask any question about any file: who answers, by the file's kind and the command."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sievert.errors import FileError
from sievert.files import Scenario

__all__ = ["ask"]


# Who answers, by the table that only files of a kind have. A kind is added here and nowhere else.
HANDLERS = {
    ("policy", "limits"): "sievert.questions.limits:run",
    ("policy", "breach"): "sievert.questions.breach:run",
    ("policy", "infer"): "sievert.questions.infer:run",
    ("documents", ""): "sievert.questions.documents:about_documents",
    ("vectors", ""): "sievert.questions.vectors:about_vectors",
}


def ask(question: str, scenario: Scenario, **options: Any) -> Any:
    """The answer; options that say nothing about such a file are refused."""
    own = HANDLERS.get((scenario.table, question))
    if own is not None:
        return _named(own)(scenario, **options)
    handler = _named(HANDLERS[scenario.table, ""])
    return handler(question, scenario, **_only(scenario, question, options))


def _named(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


# Options of a command that only files with [policy] have.
RECORDS_ONLY = {"breach": ("about", "level")}


def _only(scenario: Scenario, question: str, options: dict[str, Any]) -> dict[str, Any]:
    for name in RECORDS_ONLY.get(question, ()):
        if options.pop(name, None) not in (None, False, [], ()):
            raise FileError(
                f"--{name.replace('_', '-')}: says nothing about the [{scenario.table}] of "
                f"{scenario.source}; leave it out"
            )
    return options
