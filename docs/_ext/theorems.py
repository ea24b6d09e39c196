"""The page of theorems: every statement of the sources that a line of code names, and where."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent / "src" / "sievert"
STATEMENTS = Path(__file__).resolve().parent.parent / "statements.txt"
AUTHORS = {
    "Edwards": "Edwards, Rubinstein, Zhang and Zhou (2021), leakage of Blowfish policies",
    "Alvim": "Alvim, Andrés, Chatzikokolakis, Degano and Palamidessi (2015), leakage and utility",
    "Boreale": "Boreale and Paolini, breaches under repeated observation",
    "Fernandes": "Fernandes (2021), metric differential privacy",
}
NAMED = re.compile(
    r"(Edwards|Alvim|Boreale|Fernandes)(?: et al\.| and Paolini|')?,? "
    r"((?:(?:Thm|Prop|Lemma|Lem|Def|Cor|Ex|Remark|Sec|Fig|Table|Conj)s?\.? \d[\d.]*\d|"
    r"(?:Thm|Prop|Lemma|Lem|Def|Cor|Ex|Remark|Sec|Fig|Table|Conj)s?\.? \d)(?:(?:, | and |/)\d[\d.]*\b)*)"
)


def page() -> str:
    """A table for each source: statement, what it says, and the modules whose lines name it."""
    said = words()
    found: dict[str, dict[str, set[str]]] = {author: defaultdict(set) for author in AUTHORS}
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
        for author, names in NAMED.findall(re.sub(r"\s*\n\s*#?\s*", " ", path.read_text(encoding="utf-8"))):
            for name in _each(names):
                found[author][name].add(module)
    parts = [
        "# Theorems and where they live",
        "Made from the source: a statement is listed when a line of code names it. What the sources get "
        "wrong is on [the page of errata](../papers/errata.md).",
    ]
    for author, title in AUTHORS.items():
        parts.append(f"## {title}")
        rows = ["| statement | what it says | modules of `sievert` |", "| --- | --- | --- |"]
        for name in sorted(found[author], key=_order):
            modules = ", ".join(f"`{module}`" for module in sorted(found[author][name]))
            rows.append(f"| {name} | {said.get(f'{author} {name}', '')} | {modules} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def words() -> dict[str, str]:
    """In one line each, what the definitions, lemmas and theorems say."""
    lines = STATEMENTS.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


def _each(names: str) -> list[str]:
    """ "Lem 6, 7" names two statements."""
    kind, _, numbers = names.partition(" ")
    word = re.sub(r"(?<=[a-z])s?\.?$", "", kind).replace("Lemma", "Lem")
    return [f"{word} {number.rstrip('.')}" for number in re.split(r", | and |/", numbers)]


def _order(name: str) -> tuple[str, list[int]]:
    kind, number = name.split(" ")
    return kind, [int(part) for part in number.split(".") if part]
