"""The JSON Schema of the file, for editors and for the reference: made from the sections and the kinds.

It is made anew on each call, so that a kind registered later counts.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from sievert.files._document import Document
from sievert.kinds import Kind, Noun

__all__ = ["document_schema", "kind_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the whole file, with every kind that is registered."""
    definitions: dict[str, Any] = {}
    schema = _plain(Document, definitions)
    return {"$schema": DIALECT, **schema, "$defs": dict(sorted(definitions.items()))}


def kind_schema(noun: type[Noun], found: Kind, definitions: dict[str, Any] | None = None) -> dict[str, Any]:
    """The table that names one kind: its tag or leading key, and its further keys."""
    definitions = {} if definitions is None else definitions
    if "registry" in found.owner.__dict__:
        return _reference(found.owner, definitions)
    schema = _plain(found.owner, definitions)
    if found.name is not None:
        tag = {noun.tag: {"const": found.name, "description": f"the {noun.noun}"}}
        schema["properties"] = tag | schema.get("properties", {})
        led = [] if found.name == noun.default else [noun.tag]
        schema["required"] = [*led, *schema.get("required", [])]
    return schema


def _plain(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """A model's schema, with its parts and nouns among the definitions."""
    schema = model.model_json_schema()
    for name, part in schema.pop("$defs", {}).items():
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _filled(part, definitions)
    filled: dict[str, Any] = _filled(schema, definitions)
    return filled


def _filled(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with its nouns spelled out; nothing in TOML is null, and titles say less than keys."""
    if isinstance(schema, list):
        return [_filled(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "x-noun" in schema:
        rest = {key: value for key, value in schema.items() if key not in ("x-noun", "title")}
        return rest | _reference(Noun.nouns[schema["x-noun"]], definitions)
    filled = {}
    for key, item in schema.items():
        if key == "properties":
            filled[key] = {name: _filled(part, definitions) for name, part in item.items()}
        elif not (key == "title" and isinstance(item, str)) and not (key == "default" and item is None):
            filled[key] = _filled(item, definitions)
    branches = [branch for branch in filled.get("anyOf", []) if branch != {"type": "null"}]
    if len(branches) == 1:
        del filled["anyOf"]
        return branches[0] | filled
    return filled | ({"anyOf": branches} if branches else {})


def _reference(noun: type[Noun], definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to a noun, which is defined once."""
    if noun.noun not in definitions:
        definitions[noun.noun] = {}
        definitions[noun.noun] = _noun_schema(noun, definitions)
    return {"$ref": f"#/$defs/{noun.noun}"}


def _noun_schema(noun: type[Noun], definitions: dict[str, Any]) -> dict[str, Any]:
    branches: list[dict[str, Any]] = [
        {"const": name, "description": found.owner.__doc__}
        for name, found in noun.kinds().items()
        if found.bare
    ]
    for found in noun.kinds().values():
        table = kind_schema(noun, found, definitions)
        if found.key is not None and found.key in (noun.list_key, noun.text_key):
            branches.append(table["properties"][found.key])
        branches.append(table)
    if noun.joined is not None:
        tables = [branch["properties"] for branch in branches if "properties" in branch]
        keys = {key: item for table in tables for key, item in table.items()}
        together = {"type": "object", "description": noun.joined.__doc__, "properties": keys}
        branches.append(together | {"additionalProperties": False, "minProperties": 2})
    return {"description": noun.__doc__, "anyOf": branches}
