"""A page: a table made anew and, entry by entry, whether the source agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One entry of a source: what is printed there, what was found, and the erratum if they differ."""

    where: str
    printed: str
    found: str
    note: str = ""
    stand_in: bool = False

    def __str__(self) -> str:
        found = f"{self.where}: printed {self.printed}, found {self.found}"
        return f"{self.status}, {found}. {self.note}".rstrip()

    @property
    def agrees(self) -> bool:
        """Whether the source has what was found."""
        return self.printed == self.found

    @property
    def status(self) -> str:
        """agrees, erratum, stand-in data, or DIFFERS where no erratum is known."""
        if self.stand_in:
            return "stand-in data"
        if self.agrees:
            return "agrees"
        return "erratum" if self.note else "DIFFERS"


@dataclass(frozen=True)
class Page:
    """A table (header and rows of texts), the entries compared, remarks, and figures by file name."""

    title: str
    source: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    entries: Sequence[Entry]
    remarks: Sequence[str] = field(default=())
    figures: Mapping[str, Any] = field(default_factory=dict)
    agreeing: bool = False  # whether entries that agree are printed too

    def summary(self) -> str:
        """How many entries agree and how many are errata."""
        words = {
            "agrees": ("entry agrees", "entries agree"),
            "erratum": ("erratum", "errata"),
            "stand-in data": ("with stand-in data", "with stand-in data"),
            "DIFFERS": ("DIFFERS", "DIFFER"),
        }
        counts = {status: sum(entry.status == status for entry in self.entries) for status in words}
        parts = [f"{count} {words[status][count != 1]}" for status, count in counts.items() if count]
        return ", ".join(parts) or "nothing to compare"

    def text(self) -> str:
        """The page as Markdown."""
        lines = [f"# {self.title}", "", f"Source: {self.source}. {self.summary()}.", ""]
        for name in self.figures:
            lines += [f"![{self.title}]({name}.svg)", ""]
        lines += ["| " + " | ".join(self.header) + " |", "|" + "---|" * len(self.header)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        problems = [entry for entry in self.entries if not entry.agrees]
        if problems:
            lines += ["", "## Where the source differs", ""]
            lines += [f"- {entry}" for entry in problems]
        agreed = [entry for entry in self.entries if entry.agrees] if self.agreeing else []
        if agreed:
            lines += ["", "## What agrees", "", "| entry | value |", "|---|---|"]
            lines += [f"| {entry.where} | {entry.found} |" for entry in agreed]
        if self.remarks:
            lines += ["", *[f"{remark}" for remark in self.remarks]]
        return "\n".join(lines) + "\n"
