"""Units drawn by workers that die, and by whoever goes on: one answer a unit, one charge."""

import importlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from sievert.errors import DataError, OutputError
from sievert.ledger import file_hash
from sievert.release import _units as units
from tests.release.test_units import ROWS, SECRET, prepared, require_sound, with_engine, write


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of what one process makes of the seed."""
    file = prepared(tmp_path_factory.mktemp("one"))
    sv.release.run(file)
    return file_hash(file.parent / "out.csv")


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Work that dies where it was planted, in a module that workers can import."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    found = importlib.import_module("dying")
    monkeypatch.setattr(units, "draw_unit", found.draw_unit)
    return found


def plant(file: Path, *names: str) -> None:
    (file.parent / "dies").mkdir()
    for name in names:
        (file.parent / "dies" / name).touch()


def test_the_manifest_is_kept_before_the_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = prepared(tmp_path / "here")
    kept: list[Any] = []

    def looked(shared: Any, part: Any) -> int:
        (state,) = (file.parent / "budget.ledger").glob("*.state")
        kept.append(json.loads(state.read_text())["units"])
        assert oct(state.stat().st_mode)[-3:] == "600"
        return real(shared, part)

    real = units.draw_unit
    monkeypatch.setattr(units, "draw_unit", looked)
    sv.release.run(file)
    assert len(kept) == 3 and kept[0] == kept[2]
    assert [(unit["file"], unit["rows"]) for unit in kept[0]] == [(f"in/{i}.csv", ROWS) for i in range(3)]
    assert len({unit["sha256"] for unit in kept[0]}) == 3


def test_a_pool_gives_the_same_bytes_and_may_lose_workers(tmp_path: Path, expected: str, dying: Any) -> None:
    """Killed during and after the publication of a part: one answer a unit, one charge."""
    file = prepared(tmp_path / "here", with_engine('{ kind = "processes", workers = 2 }'))
    plant(file, "during-part-00000", "after-part-00001")
    sv.release.run(file)
    assert not list((file.parent / "dies").iterdir()), "every worker died that was to die"
    shutil.rmtree(file.parent / "dies")
    require_sound(file)
    assert file_hash(file.parent / "out.csv") == expected


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Ray with two workers, begun once."""
    if not os.environ.get("SIEVERT_REQUIRE_RAY"):
        pytest.importorskip("ray", reason="needs Ray (extra cluster)")
    import ray

    here = str(Path(__file__).parent)  # where workers find work that dies
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # beside other tests workers would wait for long
        patch.setenv("PYTHONPATH", os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])]))
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=80 * 2**20,
            log_to_driver=False,
            configure_logging=False,
        )
        yield ray
        ray.shutdown()


def test_ray_gives_the_same_bytes_and_may_lose_workers(
    tmp_path: Path, expected: str, dying: Any, cluster: Any
) -> None:
    file = prepared(tmp_path / "here", with_engine('"ray"'))
    plant(file, "before-part-00002", "during-part-00000", "after-part-00001")
    sv.release.run(file)
    assert cluster.is_initialized(), "a cluster that was there is left as it was"
    assert not list((file.parent / "dies").iterdir())
    shutil.rmtree(file.parent / "dies")
    require_sound(file)
    assert file_hash(file.parent / "out.csv") == expected
    (file.parent / "in" / "1.csv").write_text("age,who\n77,x\n")
    with pytest.raises(DataError, match=r"1\.csv: row 1 has '77'"):  # as said in one process
        sv.release.run(file, output=file.parent / "other.csv")


def test_whatever_dies_is_finished_by_another_engine(
    tmp_path: Path, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends between two parts: charged, said so, and finished with the same rows for free."""
    file = prepared(tmp_path / "here")
    real = units.draw_unit

    def gone(shared: Any, part: Any) -> int:
        if part.target.stem == "part-00001":
            raise OutputError("engine: Ray gave up (the head is gone)")
        return real(shared, part)

    with monkeypatch.context() as patch:
        patch.setattr(units, "draw_unit", gone)
        with pytest.raises(OutputError, match=r"gave up .* is charged .* and not published.* run the same"):
            sv.release.run(file)
    assert not (file.parent / "out.csv").exists()
    (file.parent / "file.toml").write_text(with_engine('"one"'))
    again = sv.release.run(file)
    assert again.resumed and again.eps == 0 and file_hash(file.parent / "out.csv") == expected
    require_sound(file)


def test_a_unit_that_changed_since_the_manifest_is_not_drawn(
    tmp_path: Path, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = prepared(tmp_path / "here")
    real, last = units.draw_unit, file.parent / "in" / "2.csv"
    before = last.read_bytes()

    def exchanged(shared: Any, part: Any) -> int:
        write(last, 7)
        return real(shared, part)

    with monkeypatch.context() as patch:
        patch.setattr(units, "draw_unit", exchanged)
        with pytest.raises(OutputError, match=r"2\.csv: changed since it was checked.*is charged") as found:
            sv.release.run(file)
    assert SECRET not in str(found.value) and not (file.parent / "out.csv").exists()
    assert len(list(file.parent.glob(".out.csv.*.tmp/*"))) == 2, "nothing of the changed unit"
    last.write_bytes(before)
    assert sv.release.run(file).resumed
    assert file_hash(file.parent / "out.csv") == expected
    require_sound(file)
