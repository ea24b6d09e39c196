"""The desk: a pure function from the text of a file to answers, kept by the validated document.

It holds no state but what it found already. Every question is a generator of named parts, so that what is
ready is shown while the rest is computed.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files import PolicyScenario, Scenario, edited, line_of, parse_toml, scenario_from_text
from sievert.results import package_version
from sievert.studio._controls import control_edits, controls
from sievert.studio._names import TITLES
from sievert.studio._sandbox import SandboxedReader, require_inside
from sievert.studio._validated_file import ValidatedFile, state_of
from sievert.studio._welcome import FIRST

__all__ = ["Session"]

# Cases that are kept: what a few undos lead back to.
KEPT = 12

Shown = dict[str, Any]
Parts = Iterator[tuple[str, Any]]


class Session:
    """Answers about texts of files in one folder.

    Parameters
    ----------
    folder : where the files are that a text names; nothing outside is read
    name : what errors call the text
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._cases: OrderedDict[str, ValidatedFile] = OrderedDict()

    def warming(self) -> Iterator[str]:
        """Load what answers need, step by step: a child does so while nobody asks."""
        for name, _ in self.form():
            yield name
        from sievert.studio._parts import answered

        case = self.case(FIRST)
        for name in ("headline", "guess", "noise", "epsilon", "releases"):
            answered(case, name, {})
            yield name
        self._cases.clear()

    def case(self, text: str) -> ValidatedFile:
        """The validated text; what is the same in the last one is not built again."""
        scenario = scenario_from_text(text, self.folder, self.name, SandboxedReader(self.folder))
        require_inside(scenario)
        state = state_of(scenario)
        kept = self._cases.pop(state, None)
        if kept is None:
            if self._cases:
                scenario = scenario.sharing(next(reversed(self._cases.values())).scenario)
            kept = ValidatedFile(scenario, state, self.case)
        self._cases[state] = kept
        while len(self._cases) > KEPT:
            self._cases.popitem(last=False)
        return kept

    # ── Questions ───────────────────────────────────────────────────────────────────────────────────────────

    def form(self) -> Parts:
        """What the page is made of."""
        from sievert.studio._controls import QUANTITIES
        from sievert.studio._sections import sections

        yield "sections", {table: sections(table) for table in ("policy", "documents", "vectors")}
        yield "parts", [{"name": name, "title": title} for name, title in TITLES.items()]
        yield "quantities", list(QUANTITIES)
        yield "version", package_version()

    def check(self, text: str, edits: Sequence[Mapping[str, Any]] = ()) -> Parts:
        """The text after edits, whether it is right, and where it is not."""
        errors: list[Shown] = []
        for edit in edits:
            try:
                text = self._edited(text, edit)
            except SievertError as problem:
                errors.append(self._mistake(problem, text, edit.get("path", ())))
        found: Shown = {"text": text, "ok": False, "hash": None, "document": self._document(text)}
        try:
            case = self.case(text)
            _build(case.scenario)
            found |= {"ok": not errors, "hash": case.state, "controls": controls(case.scenario)}
        except SievertError as problem:
            errors.append(self._mistake(problem, text))
        yield "check", {"controls": {"eps": None, "releases": None}} | found | {"errors": errors}

    def answer(self, text: str, parts: Sequence[str], settings: Mapping[str, Any]) -> Parts:
        """Some parts of the answer, each as soon as it is known."""
        from sievert.studio._parts import answered

        case = self.case(text)
        for name in parts:
            yield name, answered(case, name, settings)

    def backward(self, text: str, quantity: str, limit: float) -> Parts:
        """The largest ε that keeps a limit, for this mechanism and for any."""
        from sievert.studio._export import backward

        yield from backward(self.case(text), quantity, limit).items()

    def export(self, text: str, form: str, name: str | None = None) -> Parts:
        """The file in another form; the name is that of the file which the page has opened."""
        from sievert.studio._export import exported

        yield "export", exported(self.case(text), text, form, name or self.name)

    def report(self, text: str, name: str | None = None) -> Parts:
        """The page of the audit."""
        from sievert.studio._export import report

        yield "report", {"html": report(self.case(text), name or self.name)}

    def _edited(self, text: str, edit: Mapping[str, Any]) -> str:
        """The text after one edit: of a control, or of a key by a value or by TOML."""
        if "control" in edit:
            for key, value in control_edits(self.case(text).scenario, edit["control"], edit["value"]):
                text = edited(text, key, value, self.name)
            return text
        key = tuple(edit["path"])
        if "toml" in edit:
            written = parse_toml(f"value = {edit['toml']}\n", self.name)
            if set(written) != {"value"}:
                raise FileError(f"{self.name}: give one value in TOML", key=key)
            return edited(text, key, written["value"], self.name)
        return edited(text, key, edit["value"], self.name)

    def _document(self, text: str) -> Any:
        """The tables of the text as they stand there; None where it is no TOML."""
        try:
            return _plain(parse_toml(text, self.name))
        except SievertError:
            return None

    def _mistake(self, problem: SievertError, text: str, key: Sequence[str | int] = ()) -> Shown:
        """What is wrong, at its key and line."""
        path = tuple(getattr(problem, "key", ())) or tuple(key)
        message = problem.in_file().removeprefix(f"{self.name}: ").removeprefix(f"{self.name}, ")
        rule, _, fix = message.partition("; ")
        broken = re.search(r"at line (\d+)", message)
        line = int(broken[1]) if broken and not path else None
        with suppress(SievertError):
            line = line_of(text, path) if path else line
        return {"path": list(path), "line": line, "message": rule, "fix": fix}


def _build(scenario: Scenario) -> None:
    """Build what every answer needs, so that its mistakes are shown at their key."""
    if isinstance(scenario, PolicyScenario):
        mechanism = [] if scenario.document.mechanism is None else ["channel", "record_prior"]
        with suppress(TooLargeError):  # each part says so by itself, where it needs the list
            for part in ("policy", "query", *mechanism):
                getattr(scenario, part)


def _plain(item: Any) -> Any:
    """A parsed document as JSON has it: days and times as texts, no numbers beyond numbers."""
    if isinstance(item, dict):
        return {key: _plain(part) for key, part in item.items()}
    if isinstance(item, list):
        return [_plain(part) for part in item]
    if isinstance(item, float) and item - item != 0:
        return str(item)
    return item if isinstance(item, str | int | float | bool) else str(item)
