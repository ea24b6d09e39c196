"""Reference pages from docstrings: one page for the functions and results, one for each module of names."""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any

import theorems

import sievert as sv

MODULES = [name for name in sv.__all__ if isinstance(getattr(sv, name), ModuleType) and name != "leakage"]


def pages() -> dict[str, str]:
    """Markdown texts by file name."""
    names = [name for name in sv.__all__ if not name.startswith("_") and name not in MODULES]
    functions = [name for name in names if not inspect.isclass(getattr(sv, name))]
    classes = [name for name in names if inspect.isclass(getattr(sv, name))]
    texts = {
        "reference/functions.md": _page("Functions", "sv", {name: getattr(sv, name) for name in functions}),
        "reference/objects.md": _page(
            "Objects and results", "sv", {name: getattr(sv, name) for name in classes}
        ),
    }
    texts["reference/theorems.md"] = theorems.page()
    for name in MODULES:
        module = getattr(sv, name)
        members = {item: getattr(module, item) for item in getattr(module, "__all__", [])}
        shown = {item: value for item, value in members.items() if callable(value)}
        if shown:
            texts[f"reference/{name}.md"] = _page(
                f"sv.{name}", f"sv.{name}", shown, inspect.getdoc(module) or ""
            )
    return texts


def _page(title: str, prefix: str, members: dict[str, Any], opening: str = "") -> str:
    parts = [f"# {title}", _text(opening)]
    for name, value in sorted(members.items(), key=lambda item: item[0].lower()):
        parts += [
            f"## {prefix}.{name}",
            _signature(f"{prefix}.{name}", value),
            _text(inspect.getdoc(value) or ""),
        ]
        if inspect.isclass(value):
            parts += _methods(value)
    return "\n\n".join(part for part in parts if part) + "\n"


def _methods(value: type) -> list[str]:
    parts = []
    for name, member in inspect.getmembers(value):
        if name.startswith("_") or not (inspect.isroutine(member) or isinstance(member, property)):
            continue
        text = inspect.getdoc(member)
        if text and (getattr(member, "__module__", None) or "").startswith("sievert"):
            parts += [f"### {value.__name__}.{name}", _signature(f".{name}", member), _text(text)]
    return parts


def _signature(name: str, value: Any) -> str:
    try:
        shown = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    plain = re.sub(r"(: |-> )'([^']*)'", r"\1\2", shown.replace("self, ", "").replace("(self)", "()"))
    return f"```\n{name}{plain}\n```"


def _text(docstring: str) -> str:
    """A docstring as Markdown: sections as bold words, parameters as a list, examples as code."""
    lines, code = [], False
    given = docstring.splitlines()
    for line, following in zip(given, [*given, ""][1:], strict=True):
        if code and not line.strip():
            lines += ["```", ""]
            code = False
        elif not code and line.lstrip().startswith(">>>"):
            lines += ["", "```", line.strip()]
            code = True
        elif code:
            lines.append(line.strip())
        elif re.fullmatch(r"-{3,}", line.strip()):
            continue
        elif re.fullmatch(r"-{3,}", following.strip()):
            lines += ["", f"**{line.strip()}**", ""]
        elif (found := re.fullmatch(r"(\w[\w, *]*) : (.+)", line)) is not None:
            lines.append(f"- `{found[1]}`: {found[2]}")
        else:
            lines.append(line)
    if code:
        lines.append("```")
    return "\n".join(lines)
