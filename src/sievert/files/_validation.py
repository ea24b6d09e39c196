"""What is wrong in a file, in words about the file: key, value, rule, and the nearest right spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, get_args, overload

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from sievert.errors import FileError
from sievert.files._document import Document
from sievert.kinds import ConfigType, ConfigVariant, Reader, Section
from sievert.numerics import abbreviated, did_you_mean

__all__ = ["validate"]

# What each kind of error says a key must be.
NOUNS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}

LONGEST_KEY = 60


Model = TypeVar("Model", bound=Section)


@overload
def validate(raw: dict[str, Any], source: str, reader: Reader | None = None) -> Document: ...
@overload
def validate(raw: dict[str, Any], source: str, reader: Reader | None, model: type[Model]) -> Model: ...
def validate(
    raw: dict[str, Any], source: str, reader: Reader | None = None, model: type[Section] = Document
) -> Section:
    """Check raw TOML against the schema; the error names the first wrong key and what it may hold."""
    try:
        return model.model_validate(raw, context=reader)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        paths = [_written_path(error, raw) for error in errors]
        # A union reports one error a branch; the deepest is about the branch the writer meant.
        meant = max(
            range(len(errors)),
            key=lambda i: (
                errors[i]["type"] in ("value_error", "extra_forbidden", "key", "secret"),
                len(paths[i]),
            ),
        )
        message = f"{source}: {_explain(errors, paths, meant, model)}"
        raise FileError(message, key=paths[meant]) from None


def _explain(
    errors: list[ErrorDetails], paths: list[tuple[str | int, ...]], meant: int, model: type[Section]
) -> str:
    """The one that is meant, in words."""
    error, key = errors[meant], _key_words(paths[meant])
    if error["type"] == "extra_forbidden":
        return f"key {key} is unknown; {_right_key(error, model)}"
    if error["type"] == "key":
        return f"key {key} {_right_key_of_kind(error, model)}"
    if error["type"] == "missing":
        return f"key {key} is missing"
    given = error.get("input")
    hidden = isinstance(given, dict | list) or error["type"] == "secret"
    shown = "" if hidden else f" (given: {abbreviated(given)})"
    if error["type"] == "kind":
        return f"key {key} must be {error['msg']}{shown}{_right_kind(error)}"
    branches = [errors[i] for i, path in enumerate(paths) if path == paths[meant]]
    kinds = [noun for branch in branches if (noun := _noun(branch)) is not None]
    if error["type"] != "value_error" and len(kinds) == len(branches):
        return f"key {key} must be {_alternatives(kinds)}{shown}{_right_word(given, branches)}"
    message = error["msg"].removeprefix("Value error, ").replace(" after validation", "")
    if message.startswith("Input should be"):
        return f"key {key} must be{message.removeprefix('Input should be')}{shown}{_percent(error)}"
    if not paths[meant]:
        return f"{message}{shown}"
    return f"key {key}: {message[0].lower()}{message[1:]}{shown}"


def _percent(error: ErrorDetails) -> str:
    """How a percentage is written where a probability is meant."""
    given, most = error.get("input"), error.get("ctx", {}).get("le")
    if most != 1 or not isinstance(given, int | float) or not 1 < given <= 100:
        return ""
    return f"; for {given:g} % write {given / 100:g}"


def _right_kind(error: ErrorDetails) -> str:
    """What was meant by a name that no kind has."""
    given, known = error.get("input"), error["ctx"]
    if not isinstance(given, str):
        return ""
    other = known["elsewhere"].get(given.strip().lower().replace("_", "-").replace(" ", "-"))
    return did_you_mean(given, known["choices"]) if other is None else f"; {other}"


def _right_key_of_kind(error: ErrorDetails, model: type[Section]) -> str:
    """What was meant by a key that a kind does not have: another kind, another spelling, or another table."""
    if error["msg"]:
        return f"does not go here: {error['msg']}"
    known, written = error["ctx"], str(error["loc"][-1])
    leads, plain = known.get("leads", []), known.get("plain", [])
    return f"is unknown; {_nearest(written, known['choices'], model, len(error['loc']) == 2, leads, plain)}"


def _right_key(error: ErrorDetails, model: type[Section]) -> str:
    """What was meant by a key that its table does not have: another spelling, or another table."""
    known = list(_fields(_table_of(error["loc"][:-1], model)))
    return _nearest(str(error["loc"][-1]), known, model, in_table=True)


def _nearest(
    written: str,
    known: list[str],
    model: type[Section],
    in_table: bool,
    leads: Sequence[str] = (),
    plain: Sequence[str] = (),
) -> str:
    """The key that was meant: of this table, or of another where it may have been put in the wrong one.

    Where nothing names the kind, that is what was misspelt: `leads` are the keys that would, and `plain` is
    what could stand in place of the table.
    """
    hint = did_you_mean(written, leads) or did_you_mean(written, known)
    homes = [
        f"[{name}]"
        for name, field in model.model_fields.items()
        if (home := _only_table(field.annotation)) is not None and written in _fields(home)
    ]
    if not hint and homes and in_table:
        return f"it is a key of {' and of '.join(homes)}"
    if not hint and plain:
        hint = f"; in place of the table write {_alternatives(list(plain))}"
    return f"keys here are {', '.join(known)}{hint}"


def _table_of(location: tuple[str | int, ...], model: type[Section]) -> type[Section]:
    """The table that a location of pydantic's is in; in a union the branch is named after its class."""
    table = model
    annotation: Any = model
    for part in location:
        fields = _fields(table)
        if part in fields:
            annotation = fields[str(part)].annotation
            table = _only_table(annotation) or table
        else:
            table = next((found for found in _tables(annotation) if found.__name__ == part), table)
    return table


def _fields(table: type[Section]) -> dict[str, FieldInfo]:
    """The keys of a table: for a noun those of all its kinds."""
    if not issubclass(table, ConfigType):
        return table.model_fields
    return {name: field for found in table.kinds().values() for name, field in _fields_of(found).items()}


def _fields_of(found: ConfigVariant) -> dict[str, FieldInfo]:
    return _fields(found.owner) if found.is_noun else found.owner.model_fields


def _only_table(annotation: Any) -> type[Section] | None:
    """The table in an annotation such as `Table | None`, where there is one only."""
    found = list(dict.fromkeys(_tables(annotation)))
    return found[0] if len(found) == 1 else None


def _tables(annotation: Any) -> Iterator[type[Section]]:
    """Every table in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from _tables(part)


def _right_word(given: Any, branches: list[ErrorDetails]) -> str:
    """What was meant by a word that is none of those a key knows."""
    if not isinstance(given, str):
        return ""
    choices = [
        word
        for branch in branches
        if branch["type"] == "literal_error"
        for word in re.findall(r"'([^']*)'", str(branch["ctx"]["expected"]))
    ]
    return did_you_mean(given, tuple(choices))


def _written_path(error: ErrorDetails, raw: Any) -> tuple[str | int, ...]:
    """The keys and positions that stand in the file; pydantic also names the branches of a union."""
    path: list[str | int] = []
    for part in error["loc"]:
        known_key = isinstance(raw, dict) and part in raw
        if known_key or (isinstance(raw, list) and isinstance(part, int) and part < len(raw)):
            path.append(part)
            raw = raw[part]
        elif error["type"] == "missing" and isinstance(raw, dict) and part == error["loc"][-1]:
            path.append(part)
    return tuple(path)


def _key_words(path: tuple[str | int, ...]) -> str:
    words, joint = "", ""
    for part in path:
        words += f", entry {part + 1}" if isinstance(part, int) else f"{joint}{_shortened(part)}"
        joint = ", " if isinstance(part, int) else "."
    return words or "file"


def _shortened(key: str) -> str:
    return key if len(key) <= LONGEST_KEY and key.isprintable() else abbreviated(key)


def _noun(error: ErrorDetails) -> str | None:
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    return NOUNS.get(error["type"])


def _alternatives(kinds: list[str]) -> str:
    # A whole number is a number.
    numbers = {"a number", "a finite number"} & set(kinds)
    distinct = [kind for kind in dict.fromkeys(kinds) if kind != "a whole number" or not numbers]
    return distinct[0] if len(distinct) == 1 else f"{', '.join(distinct[:-1])} or {distinct[-1]}"
