"""Channels on disk: what is read back is what was written, and bad files are refused by name."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.tables import read_channel, write_text

EXACT = sv.Channel([["1/3", "2/3"], [1, 0]], inputs=["a", "b"], outputs=["x", "y"])
FLOAT = sv.Channel([[0.1, 0.9], [0.3, 0.7]], inputs=[0, 1], outputs=["low", "high"])


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_exact_channel_survives(tmp_path: Path, suffix: str) -> None:
    sv.save(EXACT, tmp_path / f"c{suffix}")
    back = sv.load(tmp_path / f"c{suffix}")
    assert back.form == "exact"
    assert (back.exact == EXACT.exact).all()
    assert (back.inputs, back.outputs) == (EXACT.inputs, EXACT.outputs)


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_float_channel_survives_to_the_last_bit(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((4, 5))
    channel = sv.Channel(matrix / matrix.sum(axis=1, keepdims=True), inputs=range(4), outputs=list("abcde"))
    sv.save(channel, tmp_path / f"c{suffix}")
    back = sv.load(tmp_path / f"c{suffix}")
    assert (back.matrix == channel.matrix).all()
    assert (back.inputs, back.outputs) == (channel.inputs, channel.outputs)


HISTOGRAM = sv.Query.histogram().answers(sv.Policy.differential(["a", "b"], 2)).labels
LABELS = {
    "histogram": HISTOGRAM,
    "mixed": (1, "1", 1.5),
    "postcodes": ("01067", "1067", "1e3"),
    "reserved": ("input", "[1, 2]", "true"),
    "texts of numbers": ("1", "2", "3"),
    "odd": (True, None, ("a", (1, 2.0))),
    "fractions": (Fraction(1, 3), 0.5, math.inf),
    "spaces": (" a", "b\n", "c\0"),
    "huge": (2**70, -1, 0),
}


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_kind_survive(tmp_path: Path, labels: tuple[object, ...], suffix: str) -> None:
    channel = sv.Channel(np.full((3, 3), 1 / 3), inputs=labels, outputs=labels)
    sv.save(channel, tmp_path / f"c{suffix}")
    back = sv.load(tmp_path / f"c{suffix}")
    for side in ("inputs", "outputs"):
        assert getattr(back, side) == labels
        assert list(map(type, getattr(back, side))) == list(map(type, labels))


def test_parquet_knows_texts_from_numbers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"input": ["1", "2"], "x": [1.0, 1.0]}), tmp_path / "c.parquet")
    assert sv.load(tmp_path / "c.parquet").inputs == ("1", "2")


def test_known_inputs_are_matched_by_text(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\n2.0,1/2,1/2\n01067,1/4,3/4\n3,1,0\n")
    channel = read_channel(tmp_path / "c.csv", ("01067", 2, "3"))
    assert channel.inputs == (2, "01067", "3")
    assert read_channel(tmp_path / "c.csv").inputs == (2.0, "01067", 3)


def test_log_channel_survives_in_npz_only(tmp_path: Path) -> None:
    channel = sv.mechanisms.truncated_geometric(900, 2.0)
    sv.save(channel, tmp_path / "c.npz")
    back = sv.load(tmp_path / "c.npz")
    assert back.form == "log"
    assert (back.log_matrix == channel.log_matrix).all()
    for suffix in (".csv", ".parquet"):
        with pytest.raises(FileError, match=r"\.npz"):
            sv.save(channel, tmp_path / f"c{suffix}")
        assert not (tmp_path / f"c{suffix}").exists()


def test_decimals_that_sum_to_one_are_read_exactly(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\na,0.1,0.9\nb,1/4,3/4\n")
    assert sv.load(tmp_path / "c.csv").exact[0, 0] == Fraction(1, 10)


def test_rounded_decimals_are_read_as_floats(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\na,0.3333333333,0.6666666667\nb,0.33333333333,0.66666666666\n")
    assert sv.load(tmp_path / "c.csv").form == "float"


BAD = {
    "row sum": ("input,x,y\na,0.5,0.4\n", "row 'a' of the channel sums to 0.9.*correct the row in the file$"),
    "negative": ("input,x,y\na,-0.5,1.5\n", "row 'a' of the channel has -1/2 at output 'x'"),
    "text": ("input,x,y\na,half,0.5\n", "'half' in row 'a', column 'x' is not a number"),
    "ragged": ("input,x,y\na,0.5\n", "line 2 has 2 fields but the header has 3"),
    "no rows": ("input,x,y\n", "no rows below its header"),
    "empty": ("", "no rows below its header"),
    "no outputs": ("input\na\n", "at least one output column"),
    "twice": ("input,x,y\na,0.5,0.5\na,0.5,0.5\n", "label 'a' twice"),
    "nan": ("input,x,y\na,nan,0.5\n", "'nan' in row 'a'"),
    "bare matrix": ("0.8,0.2\n0.2,0.8\n", "line 1 holds probabilities .* a line such as input,yes,no"),
    "same labels": ("1/2,1/4,1/4\n1/4,1/2,1/4\n1/4,1/4,1/2\n", "line 1 holds probabilities"),
    "no header": ("a,4/5,1/5\nb,1/5,4/5\n", "line 1 holds probabilities where the names of the outputs"),
    "no labels": ("yes,no\n0.8,0.2\n1,0\n", "the first column holds probabilities where the names of the in"),
}


@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_bad_csv(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        sv.load(tmp_path / "bad.csv")
    assert "bad.csv" in str(caught.value)


@pytest.mark.parametrize(
    "channel",
    [
        sv.Channel([["1/2", "1/2"]], [0], ["x", "y"]),
        sv.Channel([["1/2", "1/2"], [0, 1]], ["a", "b"], [0, 1]),
        sv.Channel([["1/2", "1/2"], [0, 1]], [0, 1], [0.25, 0.75]),
        sv.Channel([["1"], ["1"]], [0, 1], [1]),
    ],
)
def test_names_like_probabilities_are_names(tmp_path: Path, channel: sv.Channel) -> None:
    back = sv.load(sv.save(channel, tmp_path / "names.csv"))
    assert (tuple(back.inputs), tuple(back.outputs)) == (tuple(channel.inputs), tuple(channel.outputs))
    assert (back.exact == channel.exact).all()


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        sv.load(tmp_path / "missing.csv")
    (tmp_path / "c.txt").write_text("1 0")
    with pytest.raises(FileError, match=re.escape(".csv, .npz or .parquet")):
        sv.load(tmp_path / "c.txt")
    (tmp_path / "c.npz").write_bytes(b"not a zip")
    with pytest.raises(FileError, match="cannot be read as NPZ"):
        sv.load(tmp_path / "c.npz")
    (tmp_path / "c.csv").write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(FileError, match="UTF-8"):
        sv.load(tmp_path / "c.csv")
    (tmp_path / "c.parquet").write_bytes(b"nope")
    with pytest.raises(FileError, match="Parquet"):
        sv.load(tmp_path / "c.parquet")
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(FileError, match="cannot be read as NPZ"):
        sv.load(tmp_path / "empty.npz")
    sv.save(EXACT, tmp_path / "cut.npz")
    whole = (tmp_path / "cut.npz").read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "cut.npz").write_bytes(whole[:length])
        with pytest.raises(FileError, match="cannot be read as NPZ"):
            sv.load(tmp_path / "cut.npz")
    with (tmp_path / "bare.npz").open("wb") as stream:
        np.save(stream, np.eye(2))
    with pytest.raises(FileError, match="one bare array"):
        sv.load(tmp_path / "bare.npz")
    with pytest.raises(FileError, match="is a folder"):
        sv.load(tmp_path)
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    with pytest.raises(FileError, match="no array named matrix"):
        sv.load(tmp_path / "other.npz")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    write_text(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(target, "\ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileError, match="folder exists"):
        write_text(tmp_path / "nowhere" / "x.txt", "new")


@pytest.mark.parametrize("entry", ["1e400", "-1e999", "1e9999999", "x", "1/0"])
def test_an_entry_that_is_no_probability_names_its_place(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "channel.csv"
    path.write_text(f"input,yes,no\na,0.5,0.5\nb,{entry},0.5\n", encoding="utf-8")
    with pytest.raises(FileError, match="in row 'b', column 'yes'"):
        sv.load(path)
