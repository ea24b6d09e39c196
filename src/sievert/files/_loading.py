"""Reading and writing: a scenario, a channel or a proof, by the suffix of its file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sievert.channels import Channel
from sievert.errors import FileError
from sievert.files._document import Document
from sievert.files._paths import FolderReader, refuse_private
from sievert.files._scenario import PolicyScenario, Scenario
from sievert.files._validation import validate
from sievert.kinds import Reader
from sievert.numerics import abbreviated, did_you_mean, file_path, require_size
from sievert.proofs import Proof, load_proof, save_proof
from sievert.tables import existing, read_channel, write_channel, write_text

if TYPE_CHECKING:
    from sievert.files._documents import DocumentsScenario
    from sievert.files._vectors import VectorsScenario

__all__ = [
    "DEEPEST",
    "UNTITLED",
    "described",
    "load",
    "load_policy_scenario",
    "parse_toml",
    "require_shallow",
    "save",
    "scenario_from_tables",
    "scenario_from_text",
]

LARGEST_FILE = 32_000_000
# Levels of lists and tables.
DEEPEST = 32
# What a text is called that stands in no file.
UNTITLED = "untitled.toml"
# Kinds of file beside the one with [policy], by their own table, and the command that only they have.
OWN = {"documents": "attack", "vectors": "match"}


def load(
    path: str | Path | Mapping[str, Any], folder: str | Path | None = None
) -> PolicyScenario | Scenario | Channel | Proof:
    """Read a scenario (.toml), a channel (.csv, .npz, .parquet) or a proof (.json).

    Parameters
    ----------
    path : the file, whose suffix says what it holds; or the tables of a scenario, by name
    folder : with tables, where the files are that they name; the current folder unless given

    Returns
    -------
    Scenario, Described, Channel or Proof
        What the file holds; a file with `[documents]` is a DocumentsScenario, one with `[vectors]` a
        VectorsScenario.

    Notes
    -----
    Cost: one reading of the file, and of the public files that a scenario names. Private data are not opened.

    Examples
    --------
    >>> import sievert as sv
    >>> scenario = sv.load("examples/census-count.toml")
    >>> scenario.policy.records, scenario.query.words
    (100, 'the number of records that are very low or low')
    >>> policy, mechanism = {"values": ["no", "yes"]}, {"kind": "randomised-response", "eps": 1.0}
    >>> sv.load({"version": 1, "policy": policy, "mechanism": mechanism}).epsilon.nats
    1.0
    """
    if isinstance(path, Mapping):
        return scenario_from_tables(dict(path), _folder(folder), UNTITLED)
    if folder is not None:
        raise FileError(f"folder is {abbreviated(folder)}; it goes with tables, and a file has its own")
    target = existing(path)
    if target.suffix == ".json":
        return load_proof(target)
    if target.suffix != ".toml":
        return read_channel(target)
    return scenario_from_tables(_toml(target), target.parent, str(target))


def scenario_from_text(
    text: str, folder: str | Path | None = None, source: str = UNTITLED, reader: Reader | None = None
) -> Scenario:
    """The scenario that a text describes, as if it stood in a file of that name in that folder.

    `reader` opens the public files that it names; without one, whatever lies where the names lead is read.
    """
    if not isinstance(text, str):
        raise FileError(f"text is {abbreviated(text)}; give the text of a TOML file")
    require_size(
        len(text), LARGEST_FILE, f"{source}: in letters, it", "put long lists into tables of their own"
    )
    return scenario_from_tables(parse_toml(text, source), _folder(folder), source, reader)


def _folder(given: str | Path | None) -> Path:
    return Path() if given is None else file_path("folder", given, FileError)


def scenario_from_tables(
    raw: dict[str, Any], folder: Path, source: str, reader: Reader | None = None
) -> Scenario:
    """What the tables of a file describe: which one it has says of which kind it is."""
    opened = FolderReader(folder) if reader is None else reader
    if "documents" in raw:
        from sievert.files._documents import DocumentsFile, DocumentsScenario

        texts = validate(raw, source, opened, DocumentsFile)
        refuse_private(texts, folder, source)
        return DocumentsScenario(texts, folder, source, reader)
    if "vectors" in raw:
        from sievert.files._vectors import VectorsFile, VectorsScenario

        vectors = validate(raw, source, opened, VectorsFile)
        refuse_private(vectors, folder, source)
        return VectorsScenario(vectors, folder, source, reader)
    for key in raw.keys() - Document.model_fields.keys():
        hint = did_you_mean(key, ("documents", "vectors", *Document.model_fields))
        if "documents" in hint or "vectors" in hint:
            raise FileError(f"{source}: table {key} is unknown{hint}", key=(str(key),))
    document = validate(raw, source, opened)
    refuse_private(document, folder, source)
    return PolicyScenario(document, folder, source, reader)


def _toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; some editors begin one with a byte-order mark."""
    size = path.stat().st_size
    require_size(size, LARGEST_FILE, f"{path}: in bytes, it", "put long lists into tables of their own")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise FileError(f"{path}: cannot be read ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    return parse_toml(text, str(path))


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The tables of a text in TOML."""
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(source) from None
    except tomllib.TOMLDecodeError as problem:
        raise FileError(f"{source}: is not valid TOML: {problem}") from None
    except ValueError:
        raise FileError(
            f"{source}: holds a whole number of thousands of digits, or a day that is in no calendar"
        ) from None
    require_shallow(found, source)
    return found


def require_shallow(item: Any, source: str, levels: int = DEEPEST) -> None:
    """Refuse what is nested deeper than whoever follows lists and tables can go."""
    inner = [item]
    for _ in range(levels):
        inner = [
            part
            for one in inner
            if isinstance(one, dict | list)
            for part in (one.values() if isinstance(one, dict) else one)
        ]
    if inner:
        raise _too_deep(source)


def _too_deep(source: str) -> FileError:
    return FileError(f"{source}: lists or tables are nested too deeply; no key needs more than five levels")


def load_policy_scenario(path: str | Path) -> PolicyScenario:
    """Read a scenario, refusing any other kind of file."""
    target = existing(path, "; give the path of a TOML file")
    if target.suffix != ".toml":
        raise FileError(
            f"{target}: a TOML file is needed here; write one that names the channel under [mechanism]"
        )
    loaded = load(target)
    if not isinstance(loaded, PolicyScenario):
        table = cast("Scenario", loaded).table
        raise FileError(
            f"{target}: has [{table}], about which this question has no answer; audit, release, explain, "
            f"limits, breach, compare, design, estimate and {OWN[table]} have"
        )
    return loaded


def load_any(path: str | Path) -> Scenario:
    """What a file describes, whatever it is about; a channel or a proof is refused."""
    return described(path) or load_policy_scenario(path)


def described(path: str | Path | object) -> DocumentsScenario | VectorsScenario | None:
    """The scenario of a file with [documents] or [vectors]; None for whatever else it is."""
    if isinstance(path, str | Path):
        target = Path(path)
        if target.suffix != ".toml" or not target.is_file() or not OWN.keys() & _toml(target).keys():
            return None
        path = load(target)
    if isinstance(path, Scenario) and path.table in OWN:
        return cast("DocumentsScenario | VectorsScenario", path)
    return None


def save(item: Scenario | Channel | Proof, path: str | Path) -> Path:
    """Write a scenario (.toml, .py), a channel (.csv, .npz, .parquet) or a proof (.json), all or nothing.

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
    if not isinstance(item, Scenario):
        raise FileError(
            f"{target}: a {type(item).__name__} is not saved; give a scenario, a channel or a proof"
        )
    if target.suffix == ".py":
        from sievert.files._python import as_python

        return write_text(target, as_python(item, target.parent))
    if target.suffix != ".toml":
        raise FileError(f"{target}: a scenario is written to .toml, or to .py as a script")
    if target.parent.resolve() == item.folder.resolve():
        return write_text(target, item.to_toml())
    return write_text(target, item.text_in(target.parent))
