"""Documents and vectors over files as units: the same bytes through a pool, one answer, one charge."""

import csv
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from scipy import sparse

import sievert as sv
from sievert.errors import DataError, FileError, OutputError
from sievert.ledger import file_hash
from sievert.tables import Engine, Workers
from sievert.tables import _texts as texts

FILES = ("users", "letters")
HALVED = (
    ('"ratings.npz"', '"ratings"\nuser = "user"'),
    ('known = "known.npz"', ""),
    ("reidentified = 0.25", ""),
)


class Sent(Workers):
    """Everything goes through a message, as to a worker elsewhere, which knows nothing else."""

    def submit(self, work: Any, task: Any) -> Any:
        return work, task

    def restart(self) -> None: ...

    def close(self) -> None: ...

    def result(self, begun: Any) -> Any:
        work, shared, task = pickle.loads(pickle.dumps((begun[0], self.shared, begun[1])))
        return pickle.loads(pickle.dumps(work(shared, task)))


class Lost(Sent):
    """A worker dies on the second part of the output, again and again."""

    def result(self, begun: Any) -> Any:
        target = getattr(begun[1], "target", None)
        if target is not None and target.stem == "part-00001":
            raise OutputError("engine: a worker died 3 times on one task")
        return super().result(begun)


def prepared(folder: Path, name: str, *pairs: tuple[str, str]) -> Path:
    shutil.copytree(f"examples/{name}", folder / name)
    file = folder / name / f"{name}.toml"
    text = file.read_text().replace("[release]", "[release]\ntest_seed = 3")
    for old, new in (('embedding = "small"', 'embedding = "small"\nvocabulary = 3000'), *pairs):
        text = text.replace(old, new)
    file.write_text(text)
    return file


def halved(folder: Path) -> None:
    """The users' ratings as two files, each user in one of them."""
    rows = sparse.load_npz(folder / "ratings.npz").toarray()
    (folder / "ratings").mkdir()
    for number in range(2):
        with (folder / "ratings" / f"{number}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["user", *range(rows.shape[1])])
            writer.writerows([f"u{i}", *rows[i]] for i in range(number, len(rows), 2))


@pytest.mark.parametrize("name", FILES)
def test_a_worker_elsewhere_draws_the_same(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "BLOCK", 1)
    hashes = set()
    for place, sent in (("here", False), ("there", True)):
        file = prepared(tmp_path / place, name, *HALVED)
        if name == "users":
            halved(file.parent)
        with monkeypatch.context() as patch:
            if sent:
                patch.setattr(type(Engine.resolve("one")), "start", lambda engine, shared: Sent(shared, 1))
            hashes.add(file_hash(Path(sv.release.run(sv.load(file)).output)))
    assert len(hashes) == 1


@pytest.mark.parametrize("name", FILES)
def test_a_worker_that_is_lost_costs_nothing(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One part is there already, and stays; the rest is drawn as it would have been."""
    monkeypatch.setattr(texts, "BLOCK", 1)
    whole = prepared(tmp_path / "whole", name, *HALVED)
    lost = prepared(tmp_path / "lost", name, *HALVED)
    if name == "users":
        halved(whole.parent)
        halved(lost.parent)
    expected = sv.release.run(sv.load(whole))
    with monkeypatch.context() as patch:
        patch.setattr(type(Engine.resolve("one")), "start", lambda engine, shared: Lost(shared, 1))
        with pytest.raises(OutputError, match="is charged"):
            sv.release.run(sv.load(lost))
    found = sv.release.run(sv.load(lost))
    assert found.resumed and found.eps == 0
    assert file_hash(Path(found.output)) == file_hash(Path(expected.output))
    assert not [path for path in Path(found.output).parent.iterdir() if path.name.startswith(".")]


def test_one_user_in_two_files_is_refused(tmp_path: Path) -> None:
    file = prepared(tmp_path, "users", *HALVED)
    halved(file.parent)
    shutil.copy(file.parent / "ratings" / "0.csv", file.parent / "ratings" / "2.csv")
    with pytest.raises(DataError, match="somebody has two vectors"):
        sv.release.run(sv.load(file))
    inside = file.parent / "ratings" / "codes.csv"
    with pytest.raises(FileError, match=r"is a file that vectors\.input"):
        sv.release.run(sv.load(file), output=inside)
