"""Embeddings: the bundled table is GloVe's, files are read or refused, a document is no vocabulary."""

import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.errors import TextError, TooLargeError
from sievert.text import Embedding
from sievert.text._embedding import SMALL_SHA256

SMALL = Embedding.small()
PLANE = Embedding(["sea", "lake", "car"], [[0, 0], [0, 1], [5, 0]])


def test_the_bundled_file_is_the_one_that_was_made() -> None:
    path = Path(sv.text.__file__).parent / "data" / "glove-50.npz"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SMALL_SHA256


def test_the_loader_s_self_checks() -> None:
    """Spec 4.4, to the precision of float16 (relative error of a distance at most 2e-4)."""
    vector = SMALL.vector("privacy")
    assert vector[:3] == pytest.approx([-0.47911, 0.014279, 0.17134], rel=1e-3)
    assert np.linalg.norm(vector) == pytest.approx(5.3672943, rel=2e-4)
    for word, near in (
        ("doctor", {"physician": 3.0890, "nurse": 3.1275, "dentist": 3.4446}),
        ("chicago", {"philadelphia": 1.6022, "boston": 1.6169, "seattle": 1.9804}),
    ):
        found = SMALL.nearest(word, 3)
        assert [name for name, _ in found] == list(near)
        assert [length for _, length in found] == pytest.approx(list(near.values()), rel=3e-4)
    assert SMALL.duplicates() == []


def test_distances_nearest_scaling_and_parts() -> None:
    assert PLANE.distance("sea", "car") == 5.0
    assert PLANE.nearest("car") == [("sea", 5.0), ("lake", pytest.approx(26**0.5))]
    assert PLANE.scaled(2).distance("sea", "car") == 10.0
    assert PLANE.restricted(["car", "sea"]).words == ("car", "sea")
    assert PLANE.first(2).words == ("sea", "lake")
    assert PLANE.metric().distance("sea", "lake") == 1.0
    assert "sea" in PLANE and "sky" not in PLANE and len(PLANE) == 3
    assert PLANE.fingerprint != PLANE.scaled(2).fingerprint


def test_principal_components_bring_no_two_words_farther_apart() -> None:
    part = SMALL.first(300)
    whole, projected = part.metric().matrix, part.projected(10).metric().matrix
    assert (projected <= whole * (1 + 1e-12)).all()
    assert part.projected(50).metric().matrix == pytest.approx(whole, rel=1e-9, abs=1e-9)


def test_words_that_share_a_vector_are_reported() -> None:
    table = Embedding(["doctor", "caffeine", "tea", "nurse"], [[1.0, 2], [1, 2], [0, 0], [1, 2]])
    assert table.duplicates() == [("doctor", "caffeine", "nurse")]
    assert table.distance("doctor", "nurse") == 0.0


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a", "b"], [[1.0]], r"vectors has shape \(1, 1\); give 2 rows"),
        (["a", "b"], [1.0, 2.0], r"shape \(2,\)"),
        (["a", "b"], [[1.0], [float("nan")]], "row 1 holds nan"),
        (["a", "b"], [[1.0], ["x"]], "give a row of numbers"),
        (["a", "a"], [[1.0], [2.0]], "'a' twice"),
        (["a", ""], [[1.0], [2.0]], "words holds ''"),
        ([], [], "at least one"),
        ("ab", [[1.0], [2.0]], "give a list of words"),
    ],
)
def test_tables_that_are_no_embedding(words: object, vectors: object, message: str) -> None:
    with pytest.raises(TextError, match=message):
        Embedding(words, vectors)  # type: ignore[arg-type]


def test_a_document_is_no_vocabulary() -> None:
    document = sv.text.bag("sea lake", PLANE)
    with pytest.raises(TextError, match="taken from what is protected"):
        PLANE.restricted(document)
    with pytest.raises(TextError, match="taken from what is protected"):
        Embedding(document, [[1.0], [2.0]])


def test_unknown_words_are_named_with_the_nearest_one() -> None:
    with pytest.raises(
        TextError, match=r"'physisian' is not one of the 20000 words \(did you mean 'physician'"
    ):
        SMALL.distance("physisian", "doctor")
    with pytest.raises(TextError, match="eps is in nats per unit of its distances"):
        sv.text.bag("sea", [[0, 0]])  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match=r"take .first\(n\)"):
        SMALL.metric()


def test_text_files_with_and_without_header(tmp_path: Path) -> None:
    glove, word2vec = tmp_path / "glove.txt", tmp_path / "w2v.vec"
    glove.write_text("sea 0 0\nlake 0 1\ncar 5 0\n")
    word2vec.write_text("3 2\nsea 0 0\nlake 0 1\ncar 5 0\n")
    for path in (glove, word2vec):
        found = Embedding.load(path)
        assert found.words == PLANE.words
        assert (found.vectors == PLANE.vectors).all()
        assert Embedding.load(path, size=2).words == ("sea", "lake")


def test_binary_and_archive(tmp_path: Path) -> None:
    binary, archive = tmp_path / "w2v.bin", tmp_path / "table.npz"
    rows = [
        b"%s " % word.encode() + struct.pack("<2f", *row)
        for word, row in zip(PLANE.words, PLANE.vectors, strict=True)
    ]
    binary.write_bytes(b"3 2\n" + b"\n".join(rows))
    np.savez(archive, words=np.array(PLANE.words), vectors=PLANE.vectors)
    for path in (binary, archive):
        found = Embedding.load(path)
        assert found.words == PLANE.words
        assert (found.vectors == PLANE.vectors).all()


def test_words_with_spaces(tmp_path: Path) -> None:
    """GloVe 840B has them; released words are separated by spaces, so they become one word."""
    for name, header in (("g.txt", ""), ("g.vec", "4 2\n")):
        lines = ["sea 0 1", ". . . 2 3", "at name@domain.com 4 5", "7 6 7"]
        (tmp_path / name).write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
        found = Embedding.load(tmp_path / name)
        assert found.words == ("sea", "._._.", "at_name@domain.com", "7")
        assert found.vectors.ravel().tolist() == list(range(8))
    first = tmp_path / "first.txt"
    first.write_text("at name@domain.com 4 5\nsea 0 1\n", encoding="utf-8")
    assert Embedding.load(first).words == ("at_name@domain.com", "sea")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.txt", b"sea 0 0\nlake 0\n", "line 2: 1 numbers where 2 are expected"),
        ("t.txt", b"sea 0 x\n", "line 1: 'sea 0 x' does not end in numbers"),
        ("t.txt", b"sea 0 0\nlake x 1 0\nlake 1 0 0\n", "line 3: 3 numbers where 2 are expected"),
        ("t.vec", b"1 2\nsea 0\n", "line 2: 1 numbers where 2 are expected"),
        ("t.vec", b"1 2\nsea 0 y\n", "line 2: '0 y' are not numbers"),
        ("t.txt", b"sea 0 0\n\xff\xfe 0 0\n", "line 2: byte 0 is not UTF-8"),
        ("t.txt", b"", "holds no vectors"),
        ("t.bin", b"not a header\n", "word2vec's header"),
        ("t.bin", b"99999999999 300\n", "promises 99999999999 vectors"),
        ("t.npz", b"PK", "cannot be read as NPZ .it is no archive"),
        ("t.csv", b"", "ends in .npz, .bin"),
        ("missing.txt", None, "cannot be read"),
    ],
)
def test_files_that_hold_no_vectors(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TextError, match=message):
        Embedding.load(tmp_path / name)


def test_the_full_table_says_what_to_install() -> None:
    try:
        table = Embedding.glove(1000)
    except TextError as error:
        assert "pip install 'sievert[text]'" in str(error)
    else:
        assert table.size == 1000 and table.dimensions == 50
