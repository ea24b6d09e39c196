"""Sphinx extension: reference pages and the index of theorems, made from the source."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import theorems
from sphinx.application import Sphinx

import sievert as sv

NAMESPACES = [name for name in sv.__all__ if isinstance(getattr(sv, name), ModuleType)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "reference"))
    app.connect("autodoc-process-docstring", _plain_bars)
    app.connect("include-read", _from_the_root)
    return {"parallel_read_safe": True}


def _from_the_root(app: Sphinx, path: Path, parent: str, content: list[str]) -> None:
    """Links of the README lead from the root of the project; its pages stand beside the index."""
    if path.name == "README.md":
        content[0] = content[0].replace("](docs/", "](").replace("](CONTRIBUTING.md", "](contributing.md")


def _plain_bars(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """|x - y| in a docstring is an absolute value, not a substitution."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else _escaped(line) for line in lines]


def _escaped(line: str) -> str:
    parts = line.split("`")  # code between backticks stays as it is
    return "`".join(part if i % 2 else part.replace("|", r"\|") for i, part in enumerate(parts))


def write(folder: Path) -> None:
    """Write every page that changed, so that an unchanged page is not read again."""
    texts = pages()
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Markdown texts by file name."""
    names = [name for name in sv.__all__ if not name.startswith("_") and name not in NAMESPACES]
    spaced = {id(getattr(getattr(sv, space), item)) for space in NAMESPACES for item in _members(space)}
    names = [name for name in names if id(getattr(sv, name)) not in spaced]
    functions = [name for name in names if not inspect.isclass(getattr(sv, name))]
    classes = [name for name in names if inspect.isclass(getattr(sv, name))]
    texts = {
        "functions.md": _page("Functions", "sievert", functions),
        "objects.md": _page("Objects", "sievert", classes),
        "theorems.md": theorems.page(),
    }
    for name in NAMESPACES:
        if members := _members(name):
            opening = (inspect.getdoc(getattr(sv, name)) or "").split("\n\n")[0]
            texts[f"{name}.md"] = _page(f"sv.{name}", f"sievert.{name}", members, opening)
    listed = "\n".join(sorted(name.removesuffix(".md") for name in texts))
    texts["index.md"] = f"# Reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    return texts


def _members(namespace: str) -> list[str]:
    module = getattr(sv, namespace)
    return [item for item in getattr(module, "__all__", []) if callable(getattr(module, item))]


def _page(title: str, prefix: str, names: list[str], opening: str = "") -> str:
    owner = sv if prefix == "sievert" else getattr(sv, prefix.partition(".")[2])
    entries = []
    for name in sorted(names, key=str.lower):
        value = getattr(owner, name)
        if inspect.isclass(value):
            entries.append(f".. autoclass:: {prefix}.{name}\n   :members:\n")
        else:
            entries.append(f".. autofunction:: {prefix}.{name}\n")
    summary = "\n".join(f"   ~{prefix}.{name}" for name in sorted(names, key=str.lower))
    table = f".. autosummary::\n\n{summary}\n"
    body = "\n".join([table, *entries])
    return f"# {title}\n\n{opening}\n\n```{{eval-rst}}\n{body}\n```\n"
