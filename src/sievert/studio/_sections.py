"""The form, made from the JSON schema in the order of the file: every key with its help, kind and default.

A table that names a kind has the keys of every kind beside it (`variants`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sievert.files import document_schema, documents_schema, vectors_schema

__all__ = ["sections"]

# What the form shows first; every other key stands under "More".
COMMON = {
    "": {"title"},
    "policy": {"values", "secrets", "records", "adjacency"},
    "query": {"kind", "where", "of", "by", "q"},
    "mechanism": {"kind", "eps"},
    "adversary": {"prior", "gains", "observations"},
    "use": {"loss"},
    "claim": {"eps", "delta", "rho"},
    "inference": {"secret", "use", "table"},
    "accept": {"guess", "bits", "eps"},
    "data": {"input", "column", "person"},
    "release": {"output", "ledger"},
    "estimate": {"reports", "column", "method"},
    "documents": {"input", "embedding", "references", "person"},
    "vectors": {"input", "items", "hash", "distance", "delta", "user"},
    "attack": {"author"},
}
TITLES = {
    "": "The file",
    "policy": "What must stay hidden",
    "query": "What is computed",
    "mechanism": "How it is protected",
    "adversary": "Who attacks",
    "use": "What it is for",
    "claim": "What is promised",
    "inference": "What else may be inferred",
    "accept": "What is accepted",
    "data": "Where the data are",
    "release": "What is released",
    "estimate": "What noisy reports tell",
    "documents": "Which documents",
    "vectors": "Which vectors",
    "attack": "Who attacks",
}
UNITS = {"eps": "nats", "rho": "nats", "bits": "bits", "guess": "probability", "advantage": "probability"}

Field = dict[str, Any]


@cache
def sections(table: str = "policy") -> list[dict[str, Any]]:
    """Every section with its fields, of files with this table."""
    return _sections({"documents": documents_schema, "vectors": vectors_schema}.get(table, document_schema)())


def _sections(schema: dict[str, Any]) -> list[dict[str, Any]]:
    definitions = schema["$defs"]
    top = {name: _resolved(part, definitions) for name, part in schema["properties"].items()}
    plain = [name for name, part in top.items() if not _is_table(part)]
    found = [
        _section(
            "", {name: schema["properties"][name] for name in plain}, set(schema["required"]), definitions
        )
    ]
    for name, part in top.items():
        if name not in plain:
            found.append(_table(name, part, definitions))
    return found


def _table(name: str, part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A table of the file; of a noun, the keys of each of its kinds."""
    help_ = part.get("description", "")
    if "properties" in part:
        return _section(name, part["properties"], set(part.get("required", [])), definitions, help_)
    variants = {}
    led: dict[str, Any] = {}
    for branch in part["anyOf"]:
        table = _resolved(branch, definitions)
        keys = dict(table.get("properties", {}))
        tag = keys.pop("kind", {}).get("const")
        if tag is not None:
            variants[tag] = _section(name, keys, set(table.get("required", [])), definitions)["fields"]
        else:
            led |= keys
    if not variants:  # kinds that go by a leading key: the keys of them all
        return _section(name, led, set(), definitions, help_)
    tag = {
        "path": [name, "kind"],
        "title": "kind",
        "help": help_,
        "kind": "choice",
        "choices": list(variants),
        "default": None,
        "unit": "",
        "rare": False,
        "required": True,
    }
    kinds = {"kind_path": [name, "kind"], "variants": variants}
    return {
        "key": name,
        "title": TITLES.get(name, name),
        "help": help_,
        "fields": [tag] * bool(variants),
        **kinds,
    }


def _section(
    name: str, keys: dict[str, Any], required: set[str], definitions: dict[str, Any], help_: str = ""
) -> dict[str, Any]:
    fields = [_field(name, key, item, key in required, definitions) for key, item in keys.items()]
    return {"key": name, "title": TITLES.get(name, name), "help": help_, "fields": fields}


def _field(table: str, key: str, item: dict[str, Any], required: bool, definitions: dict[str, Any]) -> Field:
    whole = _resolved(item, definitions)
    return {
        "path": [table, key] if table else [key],
        "title": key.replace("_", " "),
        "help": item.get("description") or whole.get("description", ""),
        "kind": _kind(item, whole),
        "choices": _choices(whole),
        "default": item.get("default", whole.get("default")),
        "unit": item.get("unit", UNITS.get(key, "")),
        "rare": key not in COMMON.get(table, set()) and not required,
        "required": required,
    }


def _kind(item: dict[str, Any], whole: dict[str, Any]) -> str:
    """What the form asks for: number, text, choice, list, boolean, table or one of several kinds."""
    if "enum" in whole or "const" in whole:
        return "choice"
    plain = {"number": "number", "integer": "number", "string": "text", "boolean": "boolean", "array": "list"}
    if "type" in whole:
        return plain.get(whole["type"], "table")
    return "kind"


def _choices(whole: dict[str, Any]) -> list[Any]:
    """The words that may stand there."""
    branches = [whole, *whole.get("anyOf", [])]
    listed = [word for branch in branches for word in branch.get("enum", [])]
    return listed + [branch["const"] for branch in branches if "const" in branch]


def _is_table(part: dict[str, Any]) -> bool:
    return "properties" in part or (
        "anyOf" in part and any("properties" in one or "$ref" in one for one in part["anyOf"])
    )


def _resolved(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A part of the schema with its reference followed; what stands beside a reference counts more."""
    if "$ref" not in part:
        return part
    rest = {key: item for key, item in part.items() if key != "$ref"}
    return {**definitions[part["$ref"].rsplit("/", 1)[-1]], **rest}
