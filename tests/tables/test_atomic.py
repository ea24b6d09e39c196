"""Files are written whole or not at all, where the user may write, with the user's permissions."""

import os
import stat
from pathlib import Path

import pytest

from sievert.errors import FileError
from sievert.tables import write_bytes, write_text


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask, wanted", [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_new_files_follow_the_umask(tmp_path: Path, umask: int, wanted: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "new.txt", "x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new.txt") == wanted


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "secret.txt"
    target.write_text("old")
    target.chmod(0o600)
    write_text(target, "new")
    assert (target.read_text(), mode(target)) == ("new", 0o600)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder"):
        write_bytes(tmp_path, b"x")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "kept.txt"
    write_text(target, "old")
    with pytest.raises(FileError, match="cannot write there"):
        write_text(target / "below-a-file.txt", "new")
    with pytest.raises(FileError, match="folder exists"):
        write_text(tmp_path / "nowhere" / "x.txt", "new")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        write_text(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
