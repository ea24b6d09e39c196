"""Reading and writing: a scenario, a channel or a proof, by the suffix of its file.

What is wrong in a file is said in words about the file: key, value, rule, and the nearest right spelling.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, overload

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from sievert.channels import Channel
from sievert.errors import FileError
from sievert.files._document import Document
from sievert.files._paths import FolderReader, refuse_private
from sievert.files._scenario import Described, Scenario
from sievert.kinds import Kind, Noun, Reader, Section
from sievert.numerics import brief, did_you_mean, file_path, require_size
from sievert.proofs import Proof, load_proof, save_proof
from sievert.tables import existing, read_channel, write_channel, write_text

if TYPE_CHECKING:
    from sievert.files._documents import TextScenario
    from sievert.files._vectors import VectorScenario

__all__ = ["described", "load", "load_scenario", "save", "validated"]

LARGEST_FILE = 32_000_000
# Kinds of file beside the one with [policy], by their own table, and the command that only they have.
OWN = {"documents": "attack", "vectors": "match"}


def load(path: str | Path) -> Scenario | Described | Channel | Proof:
    """Read a scenario (.toml), a channel (.csv, .npz, .parquet) or a proof (.json).

    Parameters
    ----------
    path : the file; its suffix says what it holds

    Returns
    -------
    Scenario, Described, Channel or Proof
        What the file holds; a file with `[documents]` is a TextScenario, one with `[vectors]` a
        VectorScenario.

    Notes
    -----
    Cost: one reading of the file, and of the public files that a scenario names. Private data are not opened.

    Examples
    --------
    >>> import sievert as sv
    >>> scenario = sv.load("examples/census-count.toml")
    >>> scenario.policy.records, scenario.query.words
    (100, 'the number of records that are very low or low')
    """
    target = existing(path)
    if target.suffix == ".json":
        return load_proof(target)
    if target.suffix != ".toml":
        return read_channel(target)
    raw, folder, source = _toml(target), target.parent, str(target)
    if "documents" in raw:
        from sievert.files._documents import TextDocument, TextScenario

        texts = validated(raw, source, FolderReader(folder), TextDocument)
        refuse_private(texts, folder, source)
        return TextScenario(texts, folder, source)
    if "vectors" in raw:
        from sievert.files._vectors import VectorDocument, VectorScenario

        vectors = validated(raw, source, FolderReader(folder), VectorDocument)
        refuse_private(vectors, folder, source)
        return VectorScenario(vectors, folder, source)
    for key in raw.keys() - Document.model_fields.keys():
        hint = did_you_mean(key, ("documents", "vectors", *Document.model_fields))
        if "documents" in hint or "vectors" in hint:
            raise FileError(f"{source}: table {key} is unknown{hint}")
    document = validated(raw, source, FolderReader(folder))
    refuse_private(document, folder, source)
    return Scenario(document, folder, source)


def _toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; some editors begin one with a byte-order mark."""
    size = path.stat().st_size
    require_size(size, LARGEST_FILE, f"{path}: in bytes, it", "put long lists into tables of their own")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise FileError(f"{path}: cannot be read ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except RecursionError:
        raise FileError(
            f"{path}: lists or tables are nested too deeply; no key needs more than five levels"
        ) from None
    except tomllib.TOMLDecodeError as problem:
        raise FileError(f"{path}: is not valid TOML: {problem}") from None
    except ValueError:
        raise FileError(
            f"{path}: holds a whole number of thousands of digits, or a day that is in no calendar"
        ) from None


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario, refusing any other kind of file."""
    target = existing(path, "; give the path of a TOML file")
    if target.suffix != ".toml":
        raise FileError(
            f"{target}: a TOML file is needed here; write one that names the channel under [mechanism]"
        )
    loaded = load(target)
    if not isinstance(loaded, Scenario):
        table = cast("Described", loaded).table
        raise FileError(
            f"{target}: has [{table}], about which this question has no answer; audit, release, explain, "
            f"limits, breach, compare, design, estimate and {OWN[table]} have"
        )
    return loaded


def described(path: str | Path | object) -> TextScenario | VectorScenario | None:
    """The scenario of a file with [documents] or [vectors]; None for whatever else it is."""
    if isinstance(path, str | Path):
        target = Path(path)
        if target.suffix != ".toml" or not target.is_file() or not OWN.keys() & _toml(target).keys():
            return None
        path = load(target)
    if isinstance(path, Described) and path.table in OWN:
        return cast("TextScenario | VectorScenario", path)
    return None


def save(item: Described | Channel | Proof, path: str | Path) -> Path:
    """Write a scenario (.toml), a channel (.csv, .npz, .parquet) or a proof (.json), all or nothing.

    Parameters
    ----------
    item : Scenario, Channel or Proof
    path : where to; a file that is already there is replaced

    Returns
    -------
    Path
        The file that was written.

    Notes
    -----
    The file is written beside its place and then moved there, so that a full disk leaves the old one. In
    another folder a scenario still names the same files; only its output goes below the new one.

    Cost: one writing of the file.

    Examples
    --------
    >>> import tempfile
    >>> import sievert as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sv.save(sv.mechanisms.warner(), f"{folder}/warner.csv")
    ...     print(sv.load(path).exact[0, 0])
    3/4
    """
    target = file_path("path", path, FileError)
    if isinstance(item, Proof):
        if target.suffix != ".json":
            raise FileError(f"{target}: a proof is written to .json")
        return write_text(target, save_proof(item))
    if isinstance(item, Channel):
        return write_channel(item, target)
    if not isinstance(item, Described):
        raise FileError(
            f"{target}: a {type(item).__name__} is not saved; give a scenario, a channel or a proof"
        )
    if target.suffix != ".toml":
        raise FileError(f"{target}: a scenario is written to .toml")
    if target.parent.resolve() == item.folder.resolve():
        return write_text(target, item.to_toml())
    return write_text(target, item.text_in(target.parent))


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
def validated(raw: dict[str, Any], source: str, reader: Reader | None = None) -> Document: ...
@overload
def validated(raw: dict[str, Any], source: str, reader: Reader | None, model: type[Model]) -> Model: ...
def validated(
    raw: dict[str, Any], source: str, reader: Reader | None = None, model: type[Section] = Document
) -> Section:
    """Check raw TOML against the schema; the error names the first wrong key and what it may hold."""
    try:
        return model.model_validate(raw, context=reader)
    except ValidationError as problem:
        raise FileError(f"{source}: {_explain(problem, raw, model)}") from None


def _explain(problem: ValidationError, raw: dict[str, Any], model: type[Section]) -> str:
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
    error, key = errors[meant], _key_words(paths[meant])
    if error["type"] == "extra_forbidden":
        return f"key {key} is unknown; {_right_key(error, model)}"
    if error["type"] == "key":
        return f"key {key} {_right_key_of_kind(error, model)}"
    if error["type"] == "missing":
        return f"key {key} is missing"
    given = error.get("input")
    hidden = isinstance(given, dict | list) or error["type"] == "secret"
    shown = "" if hidden else f" (given: {brief(given)})"
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


def _keys(table: type[Section]) -> set[str]:
    """The keys of a table; of a noun, those of all its kinds."""
    if not issubclass(table, Noun):
        return set(table.model_fields)
    return {key for found in table.kinds().values() for key in found.owner.model_fields}


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
    if not issubclass(table, Noun):
        return table.model_fields
    return {name: field for found in table.kinds().values() for name, field in _fields_of(found).items()}


def _fields_of(found: Kind) -> dict[str, FieldInfo]:
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
    return key if len(key) <= LONGEST_KEY and key.isprintable() else brief(key)


def _noun(error: ErrorDetails) -> str | None:
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    return NOUNS.get(error["type"])


def _alternatives(kinds: list[str]) -> str:
    # A whole number is a number.
    numbers = {"a number", "a finite number"} & set(kinds)
    distinct = [kind for kind in dict.fromkeys(kinds) if kind != "a whole number" or not numbers]
    return distinct[0] if len(distinct) == 1 else f"{', '.join(distinct[:-1])} or {distinct[-1]}"
