"""The author of data: cells, headers and files that were made to mislead or to harm."""

import csv
import gzip
import io
import os
import pty
import sqlite3
import subprocess
import sys
import traceback
import zipfile
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import DataError, FileError, OutputError, SievertError
from sievert.ledger import Reservation
from sievert.questions.samples import samples_audit
from sievert.release import DataFit
from sievert.tables import (
    Meaning,
    TextSource,
    VectorSource,
    count_reports,
    expanded,
    given_warehouse,
    open_rows,
    read_channel,
)

WARDS = """version = 1
[policy]
values = ["north", "south"]
records = 60000
adjacency = "add-remove"
[query]
kind = "histogram"
[mechanism]
kind = "geometric"
eps = 1.0
[data]
input = "visits.csv"
column = "ward"
[release]
ledger = "budget.toml"
output = "wards.csv"
"""


def written(folder: Path, text: str, rows: list[str], header: str = "ward") -> Path:
    """A file, its budget and its table."""
    (folder / "file.toml").write_text(text)
    (folder / "budget.toml").write_text("person = 3.0\n")
    (folder / "visits.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder / "file.toml"


# ── what a cell means ───────────────────────────────────────────────────────────────────────────────

SENTINEL = """version = 1
policy = { values = { range = [0, 99] }, records = 200000, adjacency = "add-remove", person_records = 200000 }
query = { kind = "count", where = { at_least = 60 } }
mechanism = { kind = "geometric", eps = 60.0 }
data = { WHERE, column = "age", MORE missing_values = ["99"], fit = { dropped = 1 } }
release = { ledger = "budget.toml", output = "counted.csv", missing = "drop" }
"""


def ages(folder: Path, rows: int) -> Any:
    """A table of ages in which 99 stands for no age, as CSV, Parquet, a DuckDB file and a table of Arrow."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    cells = ([20, 61, 99, 99] * rows)[:rows]
    people = [f"p{place}" if cell != 99 else "99" for place, cell in enumerate(cells)]
    table = arrow.table({"age": arrow.array(cells, arrow.int64()), "who": people})
    parquet.write_table(table, folder / "ages.parquet")
    lines = (f"{cell},{person}" for cell, person in zip(cells, people, strict=True))
    (folder / "ages.csv").write_text("\n".join(["age,who", *lines]) + "\n")
    with pytest.importorskip("duckdb").connect(str(folder / "ages.db")) as base:
        base.register("given", table)
        base.execute("CREATE TABLE ages AS SELECT * FROM given")
    (folder / "budget.toml").write_text("person = 1e9\n")
    return table


@pytest.mark.parametrize("rows", [8, 99_999, 100_000])
def test_a_number_that_stands_for_no_value_is_no_value_wherever_it_is_read(tmp_path: Path, rows: int) -> None:
    """Formerly the value 99 in Parquet of fewer than 100,000 rows and in every frame."""
    table = ages(tmp_path, rows)
    frame = pytest.importorskip("pandas").DataFrame
    given: dict[str, Any] = {
        'input = "ages.csv"': None,
        'input = "ages.parquet"': None,
        'source = "duckdb://ages.db", table = "ages"': None,
        'input = "ages.csv" ': table,
        'input = "ages.csv"  ': pytest.importorskip("polars").from_arrow(table),
        # With a missing cell among them pandas holds whole numbers as floats.
        'input = "ages.csv"   ': frame({"age": [None, *table.column("age").to_pylist()]}),
    }
    for number, (where, data) in enumerate(given.items()):
        (tmp_path / "file.toml").write_text(SENTINEL.replace("WHERE", where).replace("MORE", ""))
        done = sv.release.run(tmp_path / "file.toml", data=data, output=tmp_path / f"{number}.csv")
        assert done.table is not None
        assert done.table.column("value")[0] == (rows + 2) // 4, where


def test_a_text_that_stands_for_nobody_is_nobody_wherever_it_is_counted(tmp_path: Path) -> None:
    """As a number too: "99.0" and 99 name nobody."""
    table = ages(tmp_path, 8)
    frame = table.to_pandas().assign(who=[1.0, 2.0, 99.0, 99.0, 3.0, 4.0, 99.0, 99.0])
    for number, (where, data) in enumerate(
        {
            'input = "ages.csv"': None,
            'input = "ages.parquet"': None,
            'source = "duckdb://ages.db", table = "ages"': None,
            'input = "ages.csv" ': frame,
        }.items()
    ):
        text = SENTINEL.replace("WHERE", where).replace("MORE", 'person = "who",')
        (tmp_path / "file.toml").write_text(text)
        with pytest.raises(DataError, match="names nobody"):
            sv.release.run(tmp_path / "file.toml", data=data, output=tmp_path / f"{number}.csv")


@pytest.mark.parametrize("kind", ["list", "struct", "binary", "duration", "map"])
def test_a_column_that_holds_no_cells_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    """Formerly "a mistake of Sievert" for some readers, and a value of its own for others."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    made = {
        "list": arrow.array([[1]] * 3),
        "struct": arrow.array([{"a": 1}] * 3),
        "binary": arrow.array([b"a"] * 3),
        "duration": arrow.array([1] * 3, arrow.duration("s")),
        "map": arrow.array([[("a", 1)]] * 3, arrow.map_(arrow.string(), arrow.int64())),
    }[kind]
    file = written(tmp_path, WARDS, [])
    (tmp_path / "folder").mkdir()
    table = arrow.table({"ward": made})
    if kind != "duration":
        parquet.write_table(table, tmp_path / "visits.parquet")
        parquet.write_table(table, tmp_path / "folder" / "a.parquet")
        parquet.write_table(table, tmp_path / "folder" / "b.parquet")
    for place in ("visits.parquet", "folder") if kind != "duration" else ():
        file.write_text(WARDS.replace("visits.csv", place))
        with pytest.raises(DataError, match=r"the column 'ward' is of type .*a value is a text, a number"):
            sv.release.run(file)
    for data in (table, table.to_pandas()):
        with pytest.raises(DataError, match=r"the column 'ward' is of type .*a value is a text, a number"):
            sv.release.run(file, data=data)
    assert not (tmp_path / "budget.ledger").exists()


ZONED, FAR = 1_000_000_000_000_000_001, [253_402_300_800_000_000, -62_135_596_800_000_001, 0]


def odd_cells() -> dict[str, tuple[Any, list[str] | None, dict[str, Any]]]:
    """Columns that two readers took for others, their texts (None: refused), and how Parquet is written."""
    arrow = pytest.importorskip("pyarrow", minversion="18")
    spark = {"use_deprecated_int96_timestamps": True}
    utc = {"write_time_adjusted_to_utc": True}
    far = ["after 9999-12-31", "before 0001-01-01"]
    old = arrow.array([-12_219_379_200_000_000], arrow.timestamp("us"))
    flag = arrow.ExtensionArray.from_storage(arrow.bool8(), arrow.array([0, 2], arrow.int8()))
    return {
        "fine zone": (
            arrow.array([ZONED], arrow.timestamp("ns", "Europe/Paris")),
            ["2001-09-09 01:46:40.000000001"],
            {},
        ),
        "fine moment": (
            arrow.array([ZONED], arrow.timestamp("ns")),
            ["2001-09-09 01:46:40.000000001"],
            {},
        ),
        "fine time": (arrow.array([500], arrow.time64("ns")), ["00:00:00.0000005"], {}),
        "time in UTC": (arrow.array([45_000_000_000], arrow.time64("us")), ["12:30:00"], utc),
        "far moment": (arrow.array(FAR, arrow.timestamp("us")), [*far, "1970-01-01 00:00:00"], {}),
        "far zone": (arrow.array(FAR, arrow.timestamp("us", "UTC")), [*far, "1970-01-01 00:00:00"], {}),
        "far day": (arrow.array([2_932_897, -800_000], arrow.int32()).cast(arrow.date32()), far, {}),
        "old of Spark": (old, ["1582-10-14 00:00:00"], spark),
        "many digits": (arrow.array([Decimal("1.5")], arrow.decimal256(50, 2)), ["1.50"], {}),
        "short decimal": (arrow.array([Decimal("1.5")], arrow.decimal32(5, 2)), ["1.50"], {}),
        "byte": (flag, ["false", "true"], {}),
        "length": (arrow.array([7], arrow.duration("s")), None, {}),
    }


ODD = ["fine zone", "fine moment", "fine time", "time in UTC", "far moment", "far zone", "far day"]
ODD += ["old of Spark", "many digits", "short decimal", "byte", "length"]


@pytest.mark.parametrize("name", ODD)
def test_odd_types_of_cells_have_one_text(tmp_path: Path, name: str) -> None:
    """As Parquet above and below the size from which DuckDB counts, and as frames."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    column, expected, options = odd_cells()[name]
    few = arrow.table({"v": column})
    many = arrow.concat_tables([few] * (100_000 // len(column) + 1))
    parquet.write_table(few, tmp_path / "few.parquet", **options)
    parquet.write_table(many, tmp_path / "many.parquet", **options)

    def counted(there: Any) -> list[str | None]:
        with there:
            return Meaning().texts_of(there.cells(["v"]).columns["v"], "v")

    def read(source: Any) -> list[str | None]:
        batch = next(open_rows(source).batches(["v"]))
        return Meaning().texts_of(list(dict.fromkeys(batch.columns["v"])), "v")

    def large() -> list[str | None]:
        there = given_warehouse(tmp_path / "many.parquet")
        return read(tmp_path / "many.parquet") if there is None else counted(there)

    ways = [lambda: read(tmp_path / "few.parquet"), large, lambda: read(few)]
    if name not in ("many digits", "byte", "length", "old of Spark"):
        ways.append(lambda: read(few.to_pandas(types_mapper=pandas.ArrowDtype)))
        if name != "short decimal":
            ways.append(lambda: read(polars.from_arrow(few)))
            ways.append(lambda: counted(given_warehouse(polars.from_arrow(few).lazy())))
    for number, way in enumerate(ways):
        if expected is None:
            with pytest.raises(DataError, match="a value is a text, a number"):
                way()
        else:
            assert sorted(map(str, way())) == sorted(expected), (name, number)


@pytest.mark.parametrize(
    ("files", "named", "expected"),
    [
        # Formerly 20 and 3, 0 and 100,000, 10 and 10: DuckDB read the names as patterns and as values.
        ({"days/a.parquet": ("north", 10), "days/*.parquet": ("south", 3)}, "days", [10, 3]),
        (
            {"visits[1].parquet": ("north", 100_000), "visits1.parquet": ("south", 9)},
            "visits[1].parquet",
            [100_000, 0],
        ),
        (
            {"days/ward=south/a.parquet": ("north", 10), "days/ward=north/a.parquet": ("north", 10)},
            "days",
            [20, 0],
        ),
    ],
)
def test_a_name_of_a_file_is_no_pattern_and_no_value(
    tmp_path: Path, files: dict[str, tuple[str, int]], named: str, expected: list[int]
) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name, (ward, rows) in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(arrow.table({"ward": [ward] * rows}), tmp_path / name)
    text = WARDS.replace("visits.csv", named).replace("60000", "200000").replace("eps = 1.0", "eps = 60.0")
    file = written(tmp_path, text, [])
    (tmp_path / "budget.toml").write_text("person = 60.0\n")
    done = sv.release.run(file)
    assert done.table is not None and list(done.table.column("value")) == expected


def test_reports_in_a_file_whose_name_is_a_pattern_are_those_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "reports[1].csv").write_text("report\nyes\n")
    (tmp_path / "reports1.csv").write_text("report\nno\n")
    assert expanded(["reports[1].csv"], tmp_path) == [tmp_path / "reports[1].csv"]


def test_categories_of_32_bit_numbers_are_the_numbers_that_were_written() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": pandas.Series([0.1, 16777216], dtype="float32").astype("category")})
    (batch,) = open_rows(frame).batches(["v"])
    assert Meaning().texts_of(list(batch.columns["v"]), "v") == ["0.1", "16777216"]


def test_frames_of_odd_columns_are_refused_in_words(tmp_path: Path) -> None:
    """Two columns of one name, types that DuckDB has not, and a NaN that signals: formerly tracebacks."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    file = written(tmp_path, WARDS, [])
    with pytest.raises(DataError, match="every column has a name of its own"):
        sv.release.run(file, data=pandas.DataFrame([["north", "south"]], columns=["ward", "ward"]))
    lazy = polars.DataFrame({"ward": polars.Series([object()], dtype=polars.Object)}).lazy()
    with pytest.raises(DataError, match="cannot be handed to DuckDB"):
        sv.release.run(file, data=lazy)
    assert Meaning().text(Decimal("sNaN")) is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_frame_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """The engine of polars panics, which is no Exception of Python."""
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    offsets = np.array([0, 1, 3], np.int32).tobytes()
    buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(b"a\xff\xfe")]
    frame = polars.from_arrow(arrow.table({"ward": arrow.Array.from_buffers(arrow.string(), 2, buffers)}))
    with pytest.raises(DataError, match="is damaged, and cannot be read"):
        sv.release.run(written(tmp_path, WARDS, []), data=frame)
    assert not (tmp_path / "budget.ledger").exists()


# ── messages that quote cells ───────────────────────────────────────────────────────────────────────

CELL = "HIV-positive"


def clinic(folder: Path, sql: str) -> Path:
    """A SELECT on a table of three visits."""
    base = pytest.importorskip("duckdb").connect(str(folder / "clinic.db"))
    base.execute(
        f"CREATE TABLE visits AS FROM (VALUES ('ann', '{CELL}'), ('bob', 'flu')) AS v(name, diagnosis)"
    )
    base.close()
    source = f'source = "duckdb://clinic.db"\nsql = "{sql}"'
    return written(folder, WARDS.replace('input = "visits.csv"', source).replace('"ward"', '"v"'), [])


def on_a_terminal(*arguments: object) -> tuple[int, str]:
    """The exit code of a command and what it says on its owner's terminal."""
    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "sievert", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=terminal, check=False)
    os.write(terminal, b"<end>")
    os.close(terminal)
    said = b""
    while not said.endswith(b"<end>"):
        said += os.read(master, 1 << 16)
    os.close(master)
    return done.returncode, " ".join(said.decode().split())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(diagnosis AS INTEGER) AS v FROM visits",
        "SELECT 'north' AS v FROM visits WHERE diagnosis::DATE > '2020-01-01'",
        "WITH w AS (SELECT diagnosis::DOUBLE AS v FROM visits) SELECT v FROM w",
    ],
)
def test_a_message_of_a_database_quotes_no_cell(
    sievert: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, sql: str
) -> None:
    file = clinic(tmp_path, sql)
    for options in ((), ("--details",), ("--json",)):
        done = sievert("release", file, *options)
        assert done.returncode == 3 and CELL not in done.stdout + done.stderr
        assert "stopped answering (ConversionException)" in done.stderr and "--details" in done.stderr
    with pytest.raises(OutputError, match="stopped answering") as raised:
        sv.release.run(file)
    assert CELL not in str(raised.value) and CELL in raised.value.private
    assert CELL not in "".join(traceback.format_exception(raised.value))


def test_the_owners_terminal_shows_a_databases_words_when_asked(tmp_path: Path) -> None:
    file = clinic(tmp_path, "SELECT CAST(diagnosis AS INTEGER) AS v FROM visits")
    code, said = on_a_terminal("release", file)
    assert code == 3 and "ConversionException" in said and CELL not in said
    code, said = on_a_terminal("release", file, "--details")
    assert code == 3 and CELL in said


def test_a_message_of_a_reader_quotes_no_cell(
    sievert: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Arrow quotes the line that it cannot read; the embedded DuckDB did."""
    file = written(tmp_path, WARDS, [])
    (tmp_path / "visits.csv").unlink()
    (tmp_path / "days").mkdir()
    for day in range(2):
        (tmp_path / "days" / f"{day}.csv").write_text(f"ward,name\nnorth,ann\nnorth,bob,{CELL}\n")
    file.write_text(WARDS.replace("visits.csv", "days"))
    done = sievert("release", file, "--details")
    assert done.returncode == 4 and CELL not in done.stdout + done.stderr
    _, said = on_a_terminal("release", file)
    assert CELL not in said and "row 2 has 3 fields" in said
    reports = tmp_path / "reports.csv"
    reports.write_text("report,name\n" + "north,ann\n" * 3 + f"north,bob,{CELL}\n")
    with pytest.raises(FileError) as raised:
        count_reports([reports], "report")
    assert CELL not in str(raised.value) and CELL in raised.value.private


def test_what_fails_after_the_charge_quotes_no_cell(tmp_path: Path) -> None:
    file = written(tmp_path, WARDS, ["north"] * 3)

    def fail(*_: object) -> None:
        raise ValueError(CELL)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Reservation, "write", fail)
        with pytest.raises(OutputError, match=r"ValueError; the release .* is charged") as raised:
            sv.release.run(file)
    assert CELL not in "".join(traceback.format_exception(raised.value))


# ── outputs that carry cells on ─────────────────────────────────────────────────────────────────────


def test_a_cell_that_is_copied_is_no_formula_of_a_spreadsheet(tmp_path: Path) -> None:
    text = WARDS.replace('[query]\nkind = "histogram"\n', "").replace("geometric", "randomised-response")
    text = text.replace('records = 60000\nadjacency = "add-remove"\n', "") + 'keep = ["note"]\n'
    cells = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+1", "-2", "plain", "\uff1d1"]
    written(tmp_path, text, [f'north,"{cell}"' for cell in cells], "ward,note")
    sv.release.run(tmp_path / "file.toml")
    with (tmp_path / "wards.csv").open(newline="", encoding="utf-8") as stream:
        found = [row["note"] for row in csv.DictReader(stream)]
    assert found == [f'"{cell}"' if cell[0] in "=@+\uff1d" else cell for cell in cells]


def test_names_of_columns_and_cells_do_not_steer_the_terminal(tmp_path: Path) -> None:
    file = written(tmp_path, WARDS, ["north"], "war\x1b[2J\x1b]0;mine\x07d")
    assert "\x1b[2J" not in on_a_terminal("release", file)[1]
    file = written(tmp_path, WARDS, ["north", "\x1b[2Jsouth\u202e"])
    said = on_a_terminal("release", file)[1]
    assert "\x1b[2J" not in said and "\u202e" not in said and "x1b[2Jsouth" in said


# ── files that were made to harm ────────────────────────────────────────────────────────────────────


def test_a_damaged_file_of_arrow_is_refused_and_not_followed(tmp_path: Path) -> None:
    """Offsets that lead out of the file: formerly the end of the process (SIGSEGV)."""
    arrow, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    path = tmp_path / "visits.arrow"
    table = arrow.table({"ward": ["north"] * 5000 + [f"x{place}" for place in range(5000)]})
    feather.write_feather(table, path, compression="uncompressed")
    content = bytearray(path.read_bytes())
    content[3000:3400] = b"\xff" * 400
    path.write_bytes(content)
    file = written(tmp_path, WARDS.replace("visits.csv", "visits.arrow"), [])
    command = [sys.executable, "-m", "sievert", "release", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    with pytest.raises(DataError, match="is damaged, and cannot be read"):
        list(open_rows(path).batches(["ward"]))


def test_a_damaged_file_of_parquet_is_refused(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "visits.parquet"
    parquet.write_table(
        arrow.table({"ward": ["north", "south"] * 5000 + [CELL] * 99}), path, compression="none"
    )
    content = bytearray(path.read_bytes())
    for start in range(20, len(content) - 400, 40):
        content[start] ^= 0xFF
    path.write_bytes(content)
    file = written(tmp_path, WARDS.replace("visits.csv", "visits.parquet"), [])
    with pytest.raises(DataError, match=r"visits\.parquet") as raised:
        sv.release.run(file)
    assert CELL not in str(raised.value)


def test_no_array_that_is_read_is_unpickled(tmp_path: Path) -> None:
    """An object in an array runs code when it is unpickled."""

    class Runs:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "run"),)

    held = np.empty(1, dtype=object)
    held[0] = Runs()
    np.savez(tmp_path / "channel.npz", matrix=held)
    shape, kind = np.array([1, 1]), np.array("csr")
    np.savez(tmp_path / "sparse.npz", data=held, indices=[0], indptr=[0, 1], shape=shape, format=kind)
    with pytest.raises(FileError, match="cannot be read as NPZ"):
        read_channel(tmp_path / "channel.npz")
    with pytest.raises(FileError, match="is no sparse matrix"):
        VectorSource(tmp_path / "sparse.npz").read()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        # Places outside the matrix, and offsets that lead out of it: formerly followed into memory.
        ({"data": [1.0], "indices": [10**9], "indptr": [0, 1], "shape": [1, 2], "format": "csr"}, "sparse"),
        ({"data": [1.0], "indices": [0], "indptr": [0, 10**9], "shape": [1, 2], "format": "csr"}, "sparse"),
        ({"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1.5, 2], "format": "csr"}, "sparse"),
        ({"data": [1j], "indices": [0], "indptr": [0, 1], "shape": [1, 2], "format": "csr"}, "no number"),
        ({"data": [np.nan], "indices": [0], "indptr": [0, 1], "shape": [1, 2], "format": "csr"}, "no number"),
        ({"data": [1.0], "format": "lil", "shape": [1, 2]}, "sparse"),
        # A few bytes that are a million million users.
        ({"data": [], "row": [], "col": [], "shape": [10**12, 2], "format": "coo"}, "a matrix"),
    ],
)
def test_a_sparse_matrix_is_what_it_claims(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    np.savez(tmp_path / "users.npz", **{name: np.array(value) for name, value in arrays.items()})
    with pytest.raises(SievertError, match=words):
        VectorSource(tmp_path / "users.npz").read()


def test_a_small_archive_of_many_zeros_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "channel.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(65):
            archive.writestr(f"{number}.npy", bytes(1 << 26))
    assert (tmp_path / "channel.npz").stat().st_size < 1 << 23
    with pytest.raises(FileError, match="unpacks to 4362076160 bytes"):
        read_channel(tmp_path / "channel.npz")


@pytest.mark.parametrize("start", [b"", b"ward\nnorth\n"])
def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path, start: bytes) -> None:
    """Formerly held whole, three times: 600 MB of nothing took 1.5 GB."""
    file = written(tmp_path, WARDS, [])
    with (tmp_path / "visits.csv").open("wb") as stream:
        stream.write(start)
        stream.truncate(1 << 26)
    with pytest.raises(DataError, match="a row of more than 16,777,216 letters"):
        sv.release.run(file)
    with gzip.open(tmp_path / "reports.csv.gz", "wb", compresslevel=1) as packed:
        packed.write(b"report" + bytes(1 << 25))
    with pytest.raises(FileError, match="a row of more than 16,777,216 letters"):
        count_reports([tmp_path / "reports.csv.gz"], "report")


def test_many_columns_make_no_long_message(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(20_000)] + ["x" * 100_000]
    file = written(tmp_path, WARDS, [",".join("1" * len(names))], ",".join(names))
    with pytest.raises(DataError, match=r"has no column 'ward', but c0, .* and 19981 more$") as raised:
        sv.release.run(file)
    assert len(str(raised.value)) < 400
    with pytest.raises(FileError, match=r"19981 more$"):
        count_reports([tmp_path / "visits.csv"], "report")


def test_a_small_table_of_many_equal_rows_is_not_held(tmp_path: Path) -> None:
    """Some kilobytes of Parquet; a table of vectors is held whole."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"likes": np.zeros(20_000_001, np.int8)})
    parquet.write_table(table, tmp_path / "users.parquet", row_group_size=len(table))
    assert (tmp_path / "users.parquet").stat().st_size < 100_000
    with pytest.raises(SievertError, match="20,000,000 is the limit"):
        VectorSource(tmp_path / "users.parquet").read()


def test_a_file_that_is_cut_off_while_it_is_read_does_not_end_the_process(tmp_path: Path) -> None:
    """Memory that is mapped from it would be gone: SIGBUS."""
    arrow, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    path = tmp_path / "visits.arrow"
    table = arrow.table({"ward": ["north", "south"] * 100_000})
    feather.write_feather(table, path, compression="uncompressed", chunksize=10_000)
    program = (
        "import os, sys; from sievert.tables import open_rows\n"
        "batches = open_rows(sys.argv[1]).batches(['ward']); next(batches)\n"
        "os.truncate(sys.argv[1], 4096); list(batches)"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "visits.arrow: is damaged, and cannot be read" in done.stderr


@pytest.mark.parametrize("what", ["pipe", "device", "nowhere", "folder"])
def test_what_is_no_file_in_a_folder_is_not_left_out(tmp_path: Path, what: str) -> None:
    """Formerly rows were missing without a word; what begins with _ or . is left out."""
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "a.csv").write_text("ward\nnorth\n")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "b.csv").write_text("ward\nsouth\n")
    place = tmp_path / "days" / ("b.csv" if what != "folder" else "more")
    if what == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to({"device": "/dev/zero", "nowhere": "gone.csv", "folder": "../others"}[what])
    file = written(tmp_path, WARDS.replace("visits.csv", "days"), [])
    with pytest.raises(FileError, match=r"no such file|a device or a pipe|a link to a folder"):
        sv.release.run(file)
    place.rename(place.with_name("_b"))
    assert sv.release.run(file).table is not None


def test_documents_that_are_no_files_or_nested_are_refused(tmp_path: Path) -> None:
    """A pipe and a second name of a file among them, and an object of 100,000 levels."""
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(FileError, match=r"a\.txt: is a device or a pipe"):
        TextSource(Path("*.txt"), folder=tmp_path).paths()
    (tmp_path / "a.jsonl").write_text('{"note": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(DataError, match="nested too deeply"):
        list(TextSource(Path("*.jsonl"), "note", folder=tmp_path).read())
    (tmp_path / "b.jsonl").symlink_to("a.jsonl")
    with pytest.raises(FileError, match="is the same file as"):
        TextSource(Path("*.jsonl"), folder=tmp_path).paths()


def test_a_cell_that_is_not_of_its_columns_type_is_refused(tmp_path: Path) -> None:
    """SQLite keeps any text in a column of numbers: formerly "a mistake of Sievert"."""
    pytest.importorskip("ibis")
    source = 'source = "sqlite://v.db"\ntable = "v"'
    file = written(tmp_path, WARDS.replace('input = "visits.csv"', source), [])
    with closing(sqlite3.connect(tmp_path / "v.db")) as base:
        base.execute("CREATE TABLE v (ward DECIMAL(5, 2))")
        base.execute("INSERT INTO v VALUES (1.5), (?)", [CELL])
        base.commit()
    with pytest.raises(DataError, match=r"'ward' is of type decimal.* not written as one") as raised:
        sv.release.run(file)
    assert CELL not in str(raised.value)


def array_of(kind: Any, shape: tuple[int, ...], content: bytes = b"") -> bytes:
    """An array as NumPy stores it, whose header claims what it likes."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue() + content


@pytest.mark.parametrize(
    "content",
    [
        array_of("<f8", (10**12,)),
        array_of("<U1000000000", (3,)),
        array_of("<f8", (10**15, 0)),
        array_of("<U0", (10**12,)),
        array_of("<f8", (-1,)),
        b"no array",
        b"",
    ],
)
def test_an_array_is_what_its_header_claims(tmp_path: Path, content: bytes) -> None:
    """Formerly memory for a million million numbers was asked for, or "a mistake of Sievert"."""
    for name, arrays in (
        ("channel", {"matrix"}),
        ("users", {"data", "indices", "indptr", "shape", "format"}),
        ("words", {"words", "vectors"}),
    ):
        with zipfile.ZipFile(tmp_path / f"{name}.npz", "w") as archive:
            for array in arrays:
                archive.writestr(f"{array}.npy", content)
    with pytest.raises(FileError, match="cannot be read as NPZ"):
        read_channel(tmp_path / "channel.npz")
    with pytest.raises(FileError, match="is no sparse matrix"):
        VectorSource(tmp_path / "users.npz").read()
    with pytest.raises(sv.errors.TextError, match=r"cannot be read as NPZ|needs the arrays"):
        sv.text.Embedding.load(tmp_path / "words.npz")


def test_a_small_archive_of_many_small_texts_is_not_unpacked(tmp_path: Path) -> None:
    """Texts of one byte, of which Python makes 50 each, as floats are made of numbers of one byte."""
    content = array_of("|S1", (70_000_000,), bytes(70_000_000))
    with zipfile.ZipFile(tmp_path / "channel.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("inputs.npy", content)
    assert (tmp_path / "channel.npz").stat().st_size < 1 << 20
    with pytest.raises(FileError, match="needs 4550000000 bytes of memory"):
        read_channel(tmp_path / "channel.npz")


@pytest.mark.parametrize("change", [(6, 1), (8, 99)])
def test_an_archive_that_cannot_be_unpacked_is_refused(tmp_path: Path, change: tuple[int, int]) -> None:
    """One with a password, and one of a method that does not exist."""
    np.savez(tmp_path / "channel.npz", matrix=np.eye(2))
    content = bytearray((tmp_path / "channel.npz").read_bytes())
    for start, place in ((0, change[0]), (content.rfind(b"PK\x01\x02"), change[0] + 2)):
        content[start + place] = change[1]
    (tmp_path / "channel.npz").write_bytes(content)
    with pytest.raises(FileError, match="cannot be read as NPZ"):
        read_channel(tmp_path / "channel.npz")


def test_a_file_of_words_is_what_it_claims(tmp_path: Path) -> None:
    """A number of dimensions of 5,000 digits, a line and a word without an end, and a pipe."""
    (tmp_path / "wide.txt").write_text("5 " + "9" * 5000 + "\nnorth 1\n")
    with (tmp_path / "long.txt").open("wb") as stream:
        stream.truncate(1 << 25)
    (tmp_path / "long.bin").write_bytes(b"1 1\n" + b"x" * 100_000)
    os.mkfifo(tmp_path / "pipe.txt")
    for name in ("wide.txt", "long.txt", "long.bin", "pipe.txt"):
        with pytest.raises(sv.errors.TextError, match=r"nan or infinity|line of more|is longer|a pipe"):
            sv.text.Embedding.load(tmp_path / name)


def test_rows_beyond_those_of_the_policy_are_not_read_on(tmp_path: Path) -> None:
    """A kilobyte of Parquet holds any number of equal rows."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"ward": ["north"] * 90_000})
    with parquet.ParquetWriter(tmp_path / "visits.arrow.parquet", table.schema) as writer:
        writer.write_table(table)
    file = written(tmp_path, WARDS.replace("60000", "600"), [])
    with pytest.raises(DataError, match="has more rows than the 600 records of the policy"):
        sv.release.run(file, data=table)


def test_a_long_cell_is_no_number_and_no_long_message(tmp_path: Path) -> None:
    """A number of a million digits is not computed, and not repeated."""
    ages = WARDS.replace('["north", "south"]', "{ range = [0, 99] }")
    file = written(tmp_path, ages, ["7", "9" * 1_000_000], "ward")
    with pytest.raises(DataError) as raised:
        sv.release.run(file)
    assert len(str(raised.value)) < 600


# ── people and rows ─────────────────────────────────────────────────────────────────────────────────

DROPPING = WARDS + 'unknown = "drop"\nmissing = "drop"\n'
PEOPLE = DROPPING.replace("records = 60000", "records = 60000\nperson_records = 2").replace(
    'column = "ward"', 'column = "ward"\nperson = "patient"'
)


def test_a_table_of_which_no_row_fits_is_not_charged(tmp_path: Path) -> None:
    """A column of the wrong spelling with `unknown = "drop"`: formerly released from 0 of 50,000 rows."""
    file = written(tmp_path, DROPPING, ["North", "South"] * 25_000)
    seen: list[DataFit] = []
    with pytest.raises(
        DataError, match=r"no row fits: 0 of 50,000 \(0%\) rows fit; left out: 50,000"
    ) as stopped:
        sv.release.run(file, fit=seen.append)
    assert stopped.value.exit_code == 4
    assert (seen[0].rows, seen[0].counted, seen[0].left_out) == (50_000, 0, {"unknown": 50_000})
    assert seen[0].unknown_values == (("'North'", 25_000), ("'South'", 25_000))
    assert not (tmp_path / "wards.csv").exists() and not (tmp_path / "budget.ledger").exists()


@pytest.mark.parametrize(
    ("rows", "text", "stops"),
    [
        (["north"] * 99 + ["East"], DROPPING, None),
        (["north"] * 98 + ["East"] * 2, DROPPING, r"data\.fit\.unknown allows 0\.01"),
        (["north"] * 80 + [""] * 20, DROPPING, None),
        (["north"] * 79 + [""] * 21, DROPPING, r"data\.fit\.dropped allows 0\.2"),
        ([], DROPPING, "no row fits"),
        (["East"] * 9, WARDS + 'unknown = { use = "north" }\n', "no row has a value of its own"),
        (["East"] * 8 + ["south"], WARDS + 'unknown = { use = "north" }\n', None),
        (
            ["north"] * 79 + [""] * 21,
            DROPPING.replace("[release]", "fit = { dropped = 0.21 }\n[release]"),
            None,
        ),
    ],
)
def test_a_release_stops_before_the_charge_above_the_stated_shares(
    tmp_path: Path, rows: list[str], text: str, stops: str | None
) -> None:
    file = written(tmp_path, text, [f'"{row}"' for row in rows])
    if stops is None:
        sv.release.run(file)
        assert (tmp_path / "wards.csv").exists()
    else:
        with pytest.raises(DataError, match=stops):
            sv.release.run(file)
        assert not (tmp_path / "wards.csv").exists() and not (tmp_path / "budget.ledger").exists()


def test_rows_beyond_the_limit_of_a_person_count_as_left_out(tmp_path: Path) -> None:
    """900 rows of one person, 2 of which count, and 100 persons of one row."""
    rows = ["north,ann"] * 900 + [f"south,p{number}" for number in range(100)]
    file = written(tmp_path, PEOPLE + 'too_many = "sample"\n', rows, "ward,patient")
    seen: list[DataFit] = []
    with pytest.raises(DataError, match="898 beyond the limit of 1 person"):
        sv.release.run(file, fit=seen.append)
    assert (seen[0].counted, seen[0].over_limit, seen[0].persons_over_limit) == (102, 898, 1)
    database = pytest.importorskip("duckdb").connect(str(tmp_path / "visits.db"))
    database.execute(f"CREATE TABLE visits AS SELECT * FROM read_csv('{tmp_path / 'visits.csv'}')")
    database.close()
    text = file.read_text().replace('input = "visits.csv"', 'source = "duckdb://visits.db"\ntable = "visits"')
    file.write_text(text)
    with pytest.raises(DataError, match="898 beyond the limit of 1 person"):
        sv.release.run(file, fit=seen.append)
    assert seen[1] == seen[0]


def test_rows_of_places_are_judged_by_themselves_and_over_all_files(tmp_path: Path) -> None:
    text = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 48.85, west = 2.30, north = 48.86, east = 2.32, cell = 100 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
[data]
input = "PLACE"
column = ["lat", "lon"]
[release]
ledger = "budget.toml"
output = "noisy.csv"
unknown = "drop"
out_of_range = "drop"
"""
    written(tmp_path, "", [])
    (tmp_path / "days").mkdir()
    for day in range(2):
        rows = ["48.855,2.31"] * 6 + ["0,0"] * 4 + ["east,2.31"] * day
        (tmp_path / "days" / f"{day}.csv").write_text("\n".join(["lat,lon", *rows]) + "\n")
    for place in ("days/1.csv", "days"):
        (tmp_path / "file.toml").write_text(text.replace("PLACE", place))
        with pytest.raises(
            DataError, match=r"left out: (4|1 with an unknown value, 8) out of range|1 with an"
        ):
            sv.release.run(tmp_path / "file.toml", output=tmp_path / "noisy.csv")
    assert not (tmp_path / "budget.ledger").exists()


@pytest.mark.parametrize("owner", [True, False])
def test_only_the_owners_terminal_is_told_how_the_rows_fit(tmp_path: Path, owner: bool) -> None:
    file = written(tmp_path, DROPPING, ["north"] * 199 + ["Tuberculosis"])
    master, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "sievert", "release", str(file)],
        stdout=subprocess.PIPE,
        stderr=terminal if owner else subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(terminal)
    said = ""
    while owner and "Tuberculosis" not in said:
        said += os.read(master, 1 << 16).decode()
    os.close(master)
    assert done.returncode == 0
    assert "Tuberculosis" not in done.stdout + (done.stderr or "")
    assert "rows fit" not in done.stdout + (done.stderr or "")
    if owner:
        assert "199 of 200 (99.5%) rows fit; left out: 1 with an unknown value" in " ".join(said.split())
    published = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "visits.csv"]
    assert not any(b"Tuberculosis" in path.read_bytes() for path in published)


def test_a_wild_value_among_runs_hides_no_leak(tmp_path: Path) -> None:
    """One row of 3·10^10 used to scale its column so that the neighbours of an output were any."""
    rng = np.random.default_rng(0)
    secret = rng.integers(0, 2, 4000)
    outputs = np.column_stack([secret + rng.normal(0, 0.3, 4000), rng.normal(0, 100, 4000)])
    guesses = []
    for wild in (None, "3.2e10", "nan", "-inf", "what?"):
        cells = [[f"{x:.6f}" for x in row] for row in outputs.tolist()]
        if wild is not None:
            cells[17][0] = wild
        lines = [f"{s},{','.join(row)}" for s, row in zip(secret.tolist(), cells, strict=True)]
        runs = tmp_path / "runs.csv"
        runs.write_text("\n".join(["input,output_1,output_2", *lines]), encoding="utf-8")
        found = samples_audit(runs, eps=1.0, seed=0)
        assert found.audit.refuted
        guesses.append(found.guess.guess)
    assert min(guesses) > 0.93


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are texts")
def test_a_table_in_a_folder_whose_name_is_no_utf_8_is_read(tmp_path: Path) -> None:
    """Formerly it was called damaged."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "visits.csv").write_text("ward\nn\ns\nn\n")
    (tmp_path / "budget.toml").write_text("person = 9\n")
    file = folder / "count.toml"
    file.write_text(
        "version = 1\npolicy = { values = ['n', 's'], records = 3 }\n"
        "query = { kind = 'count', where = ['n'] }\n"
        "mechanism = { kind = 'geometric', eps = 1.0 }\ndata = { input = 'visits.csv', column = 'ward' }\n"
        "release = { ledger = '../budget.toml' }\n"
    )
    assert sv.release.run(file, output=tmp_path / "out.csv").remaining == 8
    pytest.importorskip("pyarrow")
    for suffix in ("parquet", "arrow"):  # which Arrow alone reads
        (folder / f"visits.{suffix}").write_bytes(b"")
        file.write_text(file.read_text().replace("visits.csv", f"visits.{suffix}"))
        with pytest.raises(DataError, match="its path or a text in it is not UTF-8"):
            sv.release.run(file, output=tmp_path / "other.csv")
        file.write_text(file.read_text().replace(f"visits.{suffix}", "visits.csv"))
