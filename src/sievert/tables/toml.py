"""Writing TOML: enough for Sievert's own file (the standard library only reads it)."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["dumps"]


def dumps(document: dict[str, Any]) -> str:
    """TOML text of a document of scalars, lists and tables; nested tables inside a section go inline.

    >>> print(dumps({"version": 1, "policy": {"records": 2, "secrets": {"threshold": 1}}}), end="")
    version = 1
    <BLANKLINE>
    [policy]
    records = 2
    secrets = { threshold = 1 }
    """
    top = [f"{key} = {_value(item)}" for key, item in document.items() if not isinstance(item, dict)]
    blocks = ["\n".join(top)] if top else []
    for name, section in document.items():
        if isinstance(section, dict):
            lines = [f"{_key(key)} = {_value(item)}" for key, item in section.items()]
            blocks.append("\n".join([f"[{_key(name)}]", *lines]))
    return "\n\n".join(blocks) + "\n"


def _key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else json.dumps(key, ensure_ascii=False)


def _value(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False)
    if isinstance(item, dict):
        inner = ", ".join(f"{_key(str(key))} = {_value(value)}" for key, value in item.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(item, list | tuple):
        return f"[{', '.join(_value(value) for value in item)}]"
    raise TypeError(f"{type(item).__name__} has no TOML form")
