"""``python docs/_ext/schema_tables.py``: the tables of docs/json.md and docs/proofs.md, from docs/schemas.

What a key means is said once, in the schema; the page shows it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
PAGE, PROOFS = HERE / "json.md", HERE / "proofs.md"
MARKED = re.compile(r"(<!-- schema: ([\w-]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
A_PROOF = re.compile(r"(<!-- proof: ([^>]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
# Keys of every proof, which the page says once.
SHARED = ("format", "kind", "about", "options")
PLAIN = {"number", "probability", "fraction", "label", "pair", "whole", "double", "index", "vector", "matrix"}
PLAIN |= {"doubles", "double matrix", "indices", "pairs", "arrow", "move"}
WORDS = {"boolean": "true or false", "integer": "whole number", "string": "text", "array": "list"}


def filled(page: str) -> str:
    """The page with every table made from its schema."""
    shown: dict[str, str] = {}
    return MARKED.sub(lambda found: found[1] + _tables(found[2], shown) + found[3], page)


def filled_proofs(page: str) -> str:
    """The page of proofs with the fields of every kind made from the schema."""
    kinds = json.loads((HERE / "schemas" / "proof.json").read_text(encoding="utf-8"))["$defs"]

    def fields(kind: str) -> str:
        schema = kinds[re.sub(r"[^a-z]+", "-", kind.lower()).strip("-")]
        own = {key: item for key, item in schema["properties"].items() if key not in SHARED}
        return "\n" + "\n".join(_table({**schema, "properties": own})) + "\n"

    return A_PROOF.sub(lambda found: found[1] + fields(found[2]) + found[3], page)


def _tables(name: str, shown: dict[str, str]) -> str:
    """The table of a command, and of each object in it that no command above had."""
    schema = json.loads((HERE / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    parts = []
    if "properties" in schema:
        parts += _table(schema)
    for key, item in schema.get("$defs", {}).items():
        if item.get("type") == "object" and key not in shown:
            shown[key] = name
            parts += [f"`{key}`: {item['title']}\n", *_table(item)]
    return "\n" + "\n".join(parts) + "\n"


def _table(schema: dict[str, Any], prefix: str = "") -> list[str]:
    lines = ["| key | type | meaning |", "| --- | --- | --- |"] if not prefix else []
    for key, item in schema["properties"].items():
        absent = "" if key in schema["required"] else " (may be absent)"
        lines.append(f"| `{prefix}{key}` | {_kind(item)}{absent} | {item['description']} |")
        for inner in (item, *item.get("anyOf", [])):
            if "properties" in inner:
                lines += _table(inner, f"{prefix}{key}.")
    return lines if prefix else [*lines, ""]


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/").removesuffix("-part").replace("-", " ")
        return name if name in PLAIN else f"`{name}`"
    if "anyOf" in schema:
        return " or ".join(_kind(item) for item in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(json.dumps(item) for item in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(_kind(item) for item in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    kind = schema.get("type", "anything")
    return WORDS.get(kind, kind)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PROOFS.write_text(filled_proofs(PROOFS.read_text(encoding="utf-8")), encoding="utf-8")
