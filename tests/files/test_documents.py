"""Files with [documents]: what they say, what is refused, and that every misspelt key is told."""

import copy
import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import sievert as sv
from sievert.errors import DataError, FileError
from sievert.files import DocumentsScenario, described, documents_schema, dumps, load_policy_scenario
from sievert.tables import TextSource

EXAMPLE = Path("examples/letters/letters.toml")
FILE = """
version = 1
[documents]
input = "in/*.txt"
[mechanism]
kind = "word-exponential"
eps = 2.0
"""


def written(folder: Path, text: str = FILE, **documents: str) -> Path:
    (folder / "in").mkdir(exist_ok=True)
    for name, content in (documents or {"a": "the lake and the sea"}).items():
        (folder / "in" / f"{name}.txt").write_text(content, encoding="utf-8")
    path = folder / "file.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_is_read() -> None:
    found = sv.load(EXAMPLE)
    assert isinstance(found, DocumentsScenario)
    assert found.mechanism.kind == "word-exponential"
    assert found.embedding.size == 20_000
    assert [name for name, _ in found.references] == ["harvest.txt", "voyage.txt"]
    assert len(list(found.texts.read())) == 24
    assert {text.person for text in found.texts.read()} >= {"lincoln", "kennedy"}
    assert "letters" in found._repr_html_().lower()
    assert described("examples/census-count.toml") is None


def test_a_file_is_saved_and_read_again(tmp_path: Path) -> None:
    scenario = sv.load(EXAMPLE)
    copied = sv.save(scenario, tmp_path / "again.toml")
    again = sv.load(copied)
    assert isinstance(again, DocumentsScenario)
    assert again.document.mechanism == scenario.document.mechanism
    assert len(list(again.texts.read())) == 24


def test_the_schema_accepts_the_example() -> None:
    content = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert list(Draft202012Validator(documents_schema()).iter_errors(content)) == []
    kept = json.loads(Path("docs/schemas/documents-file.json").read_text(encoding="utf-8"))
    assert kept == documents_schema(), "run python docs/_ext/file_reference.py"


def test_every_misspelt_key_is_told(tmp_path: Path) -> None:
    content = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    for table, keys in content.items():
        for key in keys if isinstance(keys, dict) else []:
            changed = copy.deepcopy(content)
            changed[table][f"{key}x"] = changed[table].pop(key)
            path = tmp_path / "file.toml"
            path.write_text(dumps(changed), encoding="utf-8")
            with pytest.raises(FileError, match=rf"{table}"):
                sv.load(path)
    path.write_text(FILE.replace("[documents]", "[document]"), encoding="utf-8")
    with pytest.raises(FileError, match="did you mean 'documents'"):
        sv.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('kind = "word-exponential"', 'kind = "laplace"'), 'it is called "word-laplace" here'),
        (('kind = "word-exponential"', 'kind = "geometric"'), "documents need a mechanism on words"),
        (("eps = 2.0", "eps = 0.0"), "mechanism.eps must be greater than 0"),
        (("eps = 2.0", "eps = 2.0\ndimensions = 3"), "dimensions goes with"),
        (('input = "in/*.txt"', 'input = "in/*.txt"\nout_of_vocabulary = "copy"'), "the loss is infinite"),
        (('input = "in/*.txt"', 'input = "in/*.txt"\nembedding = "v.txt"'), "scale is missing"),
        (('input = "in/*.txt"', 'input = "in/*.txt"\nlength = "cut"'), "'pad', 'truncate' or 'sample'"),
    ],
)
def test_keys_that_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(FileError, match=message):
        sv.load(written(tmp_path, FILE.replace(*change)))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('length = "pad"\nsize = 3', "token is None"),
        ("size = 3", "it goes with length"),
        ('out_of_vocabulary = "token"\ntoken = "qqqq"', "public word of the vocabulary"),
        ('embedding = "v.txt"\nscale = 1.0', "cannot be read"),
    ],
)
def test_what_is_refused_before_any_document_is_read(tmp_path: Path, more: str, message: str) -> None:
    scenario = described(written(tmp_path, FILE.replace('input = "in/*.txt"', f'input = "in/*.txt"\n{more}')))
    assert scenario is not None
    with pytest.raises(FileError, match=message):
        scenario.check()


def test_a_vocabulary_that_is_a_private_document_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, FILE.replace('"in/*.txt"', '"in/a.txt"\nembedding = "in/a.txt"\nscale = 1.0'))
    with pytest.raises(FileError, match="is the private data"):
        sv.load(path)


@pytest.mark.parametrize(
    "public",
    ['references = "in/a.txt"', 'references = ["b.txt", "again/*.txt"]', 'embedding = "v.txt"\nscale = 1.0'],
)
def test_what_a_private_pattern_matches_is_never_public(tmp_path: Path, public: str) -> None:
    (tmp_path / "b.txt").write_text("the lake")
    (tmp_path / "again").symlink_to("in")
    path = written(tmp_path, FILE.replace('"in/*.txt"', f'"in/*.txt"\n{public}'))
    (tmp_path / "v.txt").hardlink_to(tmp_path / "in" / "a.txt")
    with pytest.raises(FileError, match="is the private data"):
        sv.load(path)


def test_the_name_of_the_folder_is_no_pattern(tmp_path: Path) -> None:
    (folder := tmp_path / "letters [1]").mkdir()
    scenario = sv.load(written(folder, a="the lake", b="the sea"))
    assert [text.name for text in scenario.texts.read()] == ["a.txt", "b.txt"]


def test_blank_lines_of_a_table_are_no_documents(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"said": "sea"}\n\n{"said": "lake"}\n \n')
    assert [text.text for text in TextSource(tmp_path / "a.jsonl", "said").read()] == ["sea", "lake"]


def test_another_embedding_with_its_scale(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("sea 0 0\nlake 0 1\ncar 5 0\n")
    found = described(
        written(
            tmp_path,
            FILE.replace('"in/*.txt"', '"in/*.txt"\nembedding = "v.txt"\nscale = 2.0\nvocabulary = 2'),
        )
    )
    assert found is not None
    assert found.embedding.words == ("sea", "lake")
    assert found.embedding.distance("sea", "lake") == 2.0


def test_tables_of_texts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('who,said\nann,"the sea"\nbob,"a lake"\n')
    (tmp_path / "t.jsonl").write_text('{"who": "ann", "said": "the sea"}\n{"who": "bob", "said": "a lake"}\n')
    for name in ("t.csv", "t.jsonl"):
        found = list(TextSource(tmp_path / name, "said", "who").read())
        assert [(text.person, text.text) for text in found] == [("ann", "the sea"), ("bob", "a lake")]


@pytest.mark.parametrize(
    ("name", "content", "source", "message"),
    [
        ("a.txt", b"caf\xe9", {}, "byte 3 is not UTF-8"),
        ("a.jsonl", b"{", {"column": "x"}, "line 1: is not JSON"),
        ("a.jsonl", b"{}", {"column": "x"}, "has no key 'x'"),
        ("a.jsonl", b'{"x": 1}', {"column": "x"}, "1 is not a text"),
        ("a.jsonl", b'{"x": "sea"}', {"column": "x", "person": "who"}, "who is empty"),
        ("a.csv", b"x\nsea\n", {"column": "y"}, "has no column 'y'"),
    ],
)
def test_documents_that_cannot_be_read(
    tmp_path: Path, name: str, content: bytes, source: dict[str, str], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(TextSource(tmp_path / name, **source).read())


def test_sources_that_are_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("sea")
    (tmp_path / "a.csv").write_text("x\nsea\n")
    for source, message in (
        (TextSource(tmp_path / "b*.txt"), "no such file"),
        (TextSource(tmp_path / "a.txt", column="x"), "column goes with a table"),
        (TextSource(tmp_path / "a.txt", person="who"), 'write person = "folder"'),
        (TextSource(tmp_path / "a.csv"), "column is missing"),
    ):
        with pytest.raises(FileError, match=message):
            list(source.read())


def test_other_questions_say_which_have_an_answer() -> None:
    with pytest.raises(FileError, match=r"has \[documents\], about which this question has no answer"):
        load_policy_scenario(EXAMPLE)


def test_one_person_however_written(tmp_path: Path) -> None:
    """As in the tables of other releases: equal numbers and spaces around a name are one person."""
    owners = ["1", "1.0", '"1 "', '" ann"', '"ann"']
    (tmp_path / "t.jsonl").write_text("".join(f'{{"who": {who}, "said": "sea"}}\n' for who in owners))
    found = [text.person for text in TextSource(tmp_path / "t.jsonl", "said", "who").read()]
    assert found == ["1", "1", "1", "ann", "ann"]
    (tmp_path / "t.jsonl").write_text('{"who": true, "said": "sea"}\n')
    with pytest.raises(DataError, match="line 1: who names people by bool"):
        list(TextSource(tmp_path / "t.jsonl", "said", "who").read())
    (tmp_path / "t.jsonl").write_text('{"who": "  ", "said": "sea"}\n')
    with pytest.raises(DataError, match="who is empty"):
        list(TextSource(tmp_path / "t.jsonl", "said", "who").read())
