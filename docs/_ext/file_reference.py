"""``python docs/_ext/file_reference.py``: docs/file.md and the schemas of files, made anew.

What a key means is said once, where it is declared; the page and the schema show it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sievert.files import document_schema, documents_schema, vectors_schema

HERE = Path(__file__).resolve().parent.parent
PAGE = HERE / "file.md"
SCHEMA = HERE / "schemas" / "file.json"
DOCUMENTS = HERE / "schemas" / "documents-file.json"
VECTORS = HERE / "schemas" / "vectors-file.json"
MARKED = re.compile(r"(<!-- (reference|documents|vectors) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
TYPES = {"boolean": "true or false", "integer": "whole number", "string": "text", "object": "table"}


def filled(page: str) -> str:
    """The page with the reference made from the schema."""
    schemas = {"reference": document_schema, "documents": documents_schema, "vectors": vectors_schema}
    return MARKED.sub(lambda found: found[1] + reference(schemas[found[2]]()) + found[3], page)


def written(schema: dict[str, Any]) -> str:
    """The schema as it lies in docs/schemas."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def reference(schema: dict[str, Any]) -> str:
    """A table for each table of the file, and below it one for each noun that its keys name."""
    parts: list[str] = []
    shown: set[str] = set()
    for name, item in schema["properties"].items():
        section = _referred(item, schema)
        if "$ref" in item and ("properties" in section or "anyOf" in section):
            parts += _section(name, item, section, schema, shown)
    top = {name: item for name, item in schema["properties"].items() if "$ref" not in item}
    return "\n".join(["", *_keys({"properties": top, "required": schema["required"]}), *parts])


def _section(
    name: str, item: dict[str, Any], section: dict[str, Any], schema: dict[str, Any], shown: set[str]
) -> list[str]:
    words = section["description"].split(": ", 1)[-1]
    lines = [f"## `[{name}]`", "", f"{words[0].upper()}{words[1:]}", ""]
    if len(section.get("anyOf", [])) == 1:
        section = section["anyOf"][0]
    if "anyOf" in section:
        return lines + _kinds(item["$ref"].removeprefix("#/$defs/"), schema, shown, heading=False)
    lines += _keys(section)
    for noun in _nouns(section):
        if noun not in shown:
            lines += _kinds(noun, schema, shown)
    return lines


def _keys(section: dict[str, Any]) -> list[str]:
    lines = ["| key | holds | meaning | default |", "|---|---|---|---|"]
    for key, item in section["properties"].items():
        default = "required" if key in section.get("required", []) else _default(item)
        lines.append(f"| `{key}` | {_type(item)} | {item.get('description', '')} | {default} |")
    return [*lines, ""]


def _kinds(noun: str, schema: dict[str, Any], shown: set[str], *, heading: bool = True) -> list[str]:
    """The kinds of a noun: how each is written, and its further keys."""
    shown.add(noun)
    rule = schema["$defs"][noun]
    lines = [f"### {noun}", "", str(rule["description"]), ""] if heading else []
    lines += ["| written | meaning | further keys |", "|---|---|---|"]
    inner: list[str] = []
    bare = [branch["const"] for branch in rule["anyOf"] if "const" in branch]
    for branch in rule["anyOf"]:
        if "$ref" in branch:
            inner.append(branch["$ref"].removeprefix("#/$defs/"))
            continue
        inner += [found for found in _nouns(branch) if found not in inner]
        if "const" in branch:
            continue
        alone = f'`"{_name(branch)}"` or ' if _name(branch) in bare else ""
        written = alone + _spelling(branch)
        lines.append(f"| {written} | {branch.get('description', '')} | {_further(branch)} |")
    lines.append("")
    for found in inner:
        if found not in shown:
            lines += _kinds(found, schema, shown)
    return lines


def _name(branch: dict[str, Any]) -> str | None:
    """The name of the kind that a table names under its tag."""
    items = branch.get("properties", {}).values()
    return next((item["const"] for item in items if "const" in item), None)


def _spelling(branch: dict[str, Any]) -> str:
    if "properties" not in branch:
        return _type(branch)
    if not _leading(branch):
        return "several of these in one table"
    first = _leading(branch)[0]
    item = branch["properties"].get(first, {})
    value = json.dumps(item["const"]) if "const" in item else "…"
    return f"`{{ {first} = {value} }}`"


def _leading(branch: dict[str, Any]) -> list[str]:
    tagged = [key for key, item in branch["properties"].items() if "const" in item]
    return tagged or list(branch.get("required", []))


def _further(branch: dict[str, Any]) -> str:
    if "properties" not in branch or not _leading(branch):
        return ""
    first = branch.get("required", [])
    told = [
        f"`{key}`: {item['description']}{_with_default(item)}"
        for key, item in sorted(branch["properties"].items(), key=lambda pair: pair[0] not in first)
        if "const" not in item and "description" in item
    ]
    return "; ".join(told)


def _with_default(item: dict[str, Any]) -> str:
    return f" ({_default(item)} unless given)" if "default" in item else ""


def _nouns(schema: Any) -> list[str]:
    """The nouns that a schema refers to, each once, in order."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            return [name] if name[0].islower() else []
        schema = list(schema.values())
    if isinstance(schema, list):
        return list(dict.fromkeys(name for item in schema for name in _nouns(item)))
    return []


def _referred(item: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in item:
        return item
    found: dict[str, Any] = schema["$defs"][item["$ref"].removeprefix("#/$defs/")]
    return found


def _default(item: dict[str, Any]) -> str:
    return f"`{json.dumps(item['default'], ensure_ascii=False)}`" if "default" in item else ""


def _type(item: dict[str, Any]) -> str:
    if "$ref" in item:
        name = item["$ref"].removeprefix("#/$defs/")
        return f"[{name}](#{name})" if name[0].islower() else "table"
    if {branch.get("type") for branch in item.get("anyOf", [])} == {"integer", "number", "string", "array"}:
        return "value"
    if "anyOf" in item:
        return " or ".join(dict.fromkeys(_type(branch) for branch in item["anyOf"]))
    if "const" in item:
        return f"`{json.dumps(item['const'])}`"
    if "enum" in item:
        return ", ".join(f"`{json.dumps(word)}`" for word in item["enum"])
    if item.get("type") == "array":
        inner = _type(item["items"]) if "items" in item else "values"
        return f"list of {inner if inner.startswith(('list', '[')) else f'{inner}s'}"
    if item.get("format") == "path":
        return "path"
    return TYPES.get(item.get("type", ""), item.get("type", "anything"))


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(written(document_schema()), encoding="utf-8")
    DOCUMENTS.write_text(written(documents_schema()), encoding="utf-8")
    VECTORS.write_text(written(vectors_schema()), encoding="utf-8")
