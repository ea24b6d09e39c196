"""Reading and writing: a scenario, a channel or a proof, by the suffix of its file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sievert.channels import Channel
from sievert.errors import FileError
from sievert.files._document import dumps
from sievert.files._mistakes import validated
from sievert.files._paths import FolderReader, moved, refuse_private
from sievert.files._scenario import Scenario
from sievert.numerics import file_path, require_size
from sievert.proofs import Proof, load_proof, save_proof
from sievert.tables import existing, read_channel, write_channel, write_text

__all__ = ["load", "load_scenario", "save"]

LARGEST_FILE = 32_000_000


def load(path: str | Path) -> Scenario | Channel | Proof:
    """Read a scenario (.toml), a channel (.csv, .npz, .parquet) or a proof (.json).

    Parameters
    ----------
    path : the file; its suffix says what it holds

    Returns
    -------
    Scenario, Channel or Proof
        What the file holds.

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
    document = validated(_toml(target), str(target), FolderReader(target.parent))
    refuse_private(document, target.parent, str(target))
    return Scenario(document, target.parent, str(target))


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
    assert isinstance(loaded, Scenario)
    return loaded


def save(item: Scenario | Channel | Proof, path: str | Path) -> Path:
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
    if not isinstance(item, Scenario):
        raise FileError(
            f"{target}: a {type(item).__name__} is not saved; give a scenario, a channel or a proof"
        )
    if target.suffix != ".toml":
        raise FileError(f"{target}: a scenario is written to .toml")
    if target.parent.resolve() == item.folder.resolve():
        return write_text(target, item.to_toml())
    content = moved(item.document.model_dump(exclude_unset=True), item.folder, target.parent)
    return write_text(target, dumps(content))
