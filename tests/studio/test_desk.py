"""From a text to answers: those of the commands; mistakes at their keys; nothing private is opened."""

import json
import math
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scipy import sparse

import sievert as sv
from sievert.files import PolicyScenario
from sievert.studio import Session

EXAMPLES = sorted(Path("examples").glob("*.toml"))
PARTS = (
    *("headline", "guess", "noise", "epsilon", "releases", "compare", "design", "secrets", "places"),
    *("inference", "release", "budget", "proofs"),
)
# What is quick for every example; the others are asked of a small one.
QUICK = ("noise", "secrets", "places", "budget", "compare")
CANARY = "canary-7f3a91"


def asked(desk: Session, text: str, *parts: str, **settings: Any) -> dict[str, Any]:
    """The parts, as they go over the wire."""
    found = dict(desk.answer(text, parts, settings))
    return json.loads(json.dumps(found, allow_nan=False))  # type: ignore[no-any-return]


def checked(desk: Session, text: str, *edits: dict[str, Any]) -> dict[str, Any]:
    found = dict(desk.check(text, edits))["check"]
    return json.loads(json.dumps(found, allow_nan=False))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def desk() -> Session:
    return Session(Path("examples").resolve(), "daily-question.toml")


@pytest.fixture(scope="module")
def daily() -> str:
    return Path("examples/daily-question.toml").read_text(encoding="utf-8")


def test_every_part_of_a_small_file(desk: Session, daily: str) -> None:
    other = daily.replace('alpha = "1/2"', 'alpha = "1/4"') + '\n[use]\nloss = "bayes-risk"\n'
    found = asked(desk, other, *PARTS, other=daily)
    assert list(found) == list(PARTS)
    assert {part["hash"] for part in found.values()} == {checked(desk, other)["hash"]}
    audit = sv.audit(PolicyScenario.from_text(other, "examples", "daily-question.toml"))
    assert found["headline"]["sentence"] == str(audit)
    assert found["headline"]["good"] is audit.passed
    answered = {name for name, part in found.items() if "refused" not in part}
    assert set(PARTS) - answered == {"places", "inference", "release", "budget"}
    for name in ("places", "inference", "release", "budget"):
        assert found[name]["refused"] and found[name]["nearest"]
    assert found["compare"]["good"] is True  # alpha 1/2 tells less than 1/4
    assert [item["name"] for item in found["proofs"]["downloads"]][-1] == "verify.py"
    assert found["secrets"]["graph"]["nodes"][0]["name"] == "bad"
    assert found["secrets"]["graph"]["edges"] == [[0, 1], [0, 2], [1, 2]]
    for part in found.values():
        every_picture_has_a_table(part)


def coded(name: str) -> str:
    """A file whose values are those of a public table."""
    values = f'values = {{ file = {json.dumps(name)}, column = "code" }}'
    return f'version = 1\n[policy]\n{values}\n[mechanism]\nkind = "randomised-response"\neps = 1.0\n'


def every_picture_has_a_table(part: dict[str, Any]) -> None:
    for shown in (part, *part.get("more", [])):
        if "figure" in shown:
            table = shown["table"]
            assert shown["figure"]["data"] and table["rows"]
            assert all(len(row) == len(table["columns"]) for row in table["rows"])
            assert all(isinstance(cell, str) for row in table["rows"] for cell in row)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_quick_parts_of_every_example(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    desk = Session(path.parent.resolve(), path.name)
    found = checked(desk, text)
    assert found["ok"] and found["errors"] == [] and found["text"] == text
    controls = found["controls"]
    assert controls["eps"]["least"] <= controls["eps"]["value"] <= controls["eps"]["most"]
    assert controls["releases"]["value"] == sv.load(path).observations  # type: ignore[union-attr]
    parts = asked(desk, text, *QUICK)
    assert "refused" not in parts["noise"] and "refused" in parts["compare"]
    for name, part in parts.items():
        assert part["sentence"] and part["hash"] == found["hash"], name
        every_picture_has_a_table(part)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_written_already_changes_nothing_and_one_field_one_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    desk = Session(path.parent.resolve(), path.name)
    tables = {key: item for key, item in tomllib.loads(text).items() if isinstance(item, dict)}
    keys = [(table, key) for table, content in tables.items() for key in content]
    same = [{"path": [table, key], "value": tables[table][key]} for table, key in keys]
    assert checked(desk, text, *same)["text"] == text
    moved = checked(desk, text, {"control": "releases", "value": 7}, {"control": "eps", "value": 0.125})
    assert moved["ok"] and moved["controls"]["releases"]["value"] == 7
    assert moved["controls"]["eps"]["value"] == 0.125
    new, old = moved["text"].splitlines(), text.splitlines()
    wrote = [line for line in new if line not in old and line not in ("", "[adversary]")]
    assert len(wrote) == 2 and "eps = 0.125" in " ".join(wrote)


def test_an_alpha_gives_way_to_an_eps(desk: Session, daily: str) -> None:
    found = checked(desk, daily, {"control": "eps", "value": 0.5})
    assert found["ok"] and "alpha =" not in found["text"]
    assert found["document"]["mechanism"]["eps"] == 0.5


def test_a_claim_goes_along_with_the_slider(desk: Session, daily: str) -> None:
    text = checked(desk, daily, {"control": "eps", "value": 1.0})["text"] + "\n[claim]\neps = 1.0\n"
    assert checked(desk, text, {"control": "eps", "value": 2.0})["document"]["claim"] == {"eps": 2.0}


@pytest.mark.parametrize(
    ("old", "new", "path", "line"),
    [
        ('alpha = "1/2"', "alpha = 3", ["mechanism"], 12),
        ("observations = 10", "observation = 10", ["adversary", "observation"], 17),
        ('kind = "record"', 'kind = "recrod"', ["query", "kind"], 9),
        ("guess = 0.8", "guess = 80", ["accept", "guess"], 20),
        ("version = 1", "version = ", [], 2),
        ("prior = [0.2, 0.3, 0.5]", "prior = [0.2, 0.3]", ["adversary", "prior"], 16),
        ("prior = [0.2, 0.3, 0.5]", 'prior = "nowhere.csv"', ["adversary", "prior"], 16),
    ],
)
def test_mistakes_are_told_at_their_key(
    desk: Session, daily: str, old: str, new: str, path: list[str], line: int | None
) -> None:
    text = daily.replace(old, new)
    assert text != daily
    found = checked(desk, text)
    assert not found["ok"] and found["hash"] is None and found["errors"]
    assert found["errors"][0]["path"][: len(path)] == path
    assert abs(found["errors"][0]["line"] - line) <= 1
    assert found["errors"][0]["message"] and "daily-question.toml" not in found["errors"][0]["message"]


def test_an_edit_that_cannot_be(desk: Session, daily: str) -> None:
    for edit in (
        {"path": ["policy", "values"], "toml": "[1, "},
        {"path": ["policy", "values"], "toml": "1\nversion = 2"},
        {"path": ["policy", "values", 17], "value": 1},
        {"control": "delta", "value": 1},
    ):
        found = checked(desk, daily, edit)
        assert not found["ok"] and found["text"] == daily and found["errors"]
    found = checked(desk, daily, {"path": ["adversary", "gains"], "toml": '[{ tries = 2 }, "identity"]'})
    assert found["ok"] and found["document"]["adversary"]["gains"] == [{"tries": 2}, "identity"]


@pytest.mark.parametrize(
    "edit",
    [
        {"path": ["a"], "toml": "[" * 3_000 + "]" * 3_000},
        {"path": ["a"] * 3_000, "value": 1},
        {"path": ["a"], "value": json.loads("[" * 900 + "]" * 900)},
    ],
)
def test_what_is_nested_too_deeply_is_told_in_a_sentence(
    desk: Session, daily: str, edit: dict[str, Any]
) -> None:
    deep = checked(desk, ".".join(["a"] * 3_000) + " = 1\n", edit)
    for found in (deep, checked(desk, daily, edit)):
        assert not found["ok"] and "nested too deeply" in found["errors"][0]["message"]


@pytest.mark.parametrize(
    ("quantity", "limit"), [("guess", 0.8), ("bits", 0.5), ("odds", 3.0), ("advantage", 0.2)]
)
def test_a_limit_is_solved_backwards(desk: Session, daily: str, quantity: str, limit: float) -> None:
    found = dict(desk.backward(daily, quantity, limit))
    audit = sv.audit(
        desk.case(checked(desk, daily, {"control": "eps", "value": found["this"]["eps"]})["text"]).scenario
    )
    before, after = audit.record.before, audit.repeated_guess
    grown = {
        "guess": after,
        "bits": math.log2(after / before),
        "odds": after / (1 - after) / (before / (1 - before)),
        "advantage": after - before,
    }
    assert grown[quantity] == pytest.approx(limit, rel=1e-6) and grown[quantity] <= limit
    assert found["any"]["eps"] < found["this"]["eps"]  # any mechanism may tell more
    assert all(part["sentence"].endswith(".") for part in found.values())


def test_what_cannot_be_solved_backwards_says_why(desk: Session, daily: str) -> None:
    for quantity, limit in (("guess", 0.1), ("bits", -1.0), ("nothing", 1.0)):
        assert list(dict(desk.backward(daily, quantity, limit))) == ["refused"]
    for quantity in ("guess", "advantage"):  # percents, which every mechanism would keep
        refused = dict(desk.backward(daily, quantity, 50.0))["refused"]["sentence"]
        assert "for 50 % write 0.5" in refused
    assert dict(desk.backward(daily, "guess", 1.0))["any"]["sentence"].startswith("any ε will do")
    count = Path("examples/census-count.toml").read_text(encoding="utf-8")
    assert {part["eps"] for part in dict(desk.backward(count, "guess", 0.2)).values()} == {None}


def test_a_file_beside_itself_says_so(desk: Session, daily: str) -> None:
    for other, same in ((f"{daily}# a remark\n", True), (daily.replace('"1/2"', '"1/3"'), False)):
        found = asked(desk, daily, "compare", other=other)["compare"]["sentence"]
        assert found.startswith("A and B say the same so far") == same


def test_a_mistake_in_b_is_not_one_of_the_file(desk: Session, daily: str) -> None:
    for other in ("values = [", daily.replace("version = 1", "version = 2")):
        refused = asked(desk, daily, "compare", other=other)["compare"]["refused"]
        assert refused.startswith("B cannot be read: ") and desk.name not in refused


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("census-count", "nats"),
        ("town-places", "nats per unit of distance"),
        ("city-places", "nats per metre"),
    ],
)
def test_an_eps_has_one_unit_on_the_page(name: str, unit: str) -> None:
    desk = Session(Path("examples").resolve(), f"{name}.toml")
    text = Path(f"examples/{name}.toml").read_text(encoding="utf-8")
    facts = asked(desk, text, "headline")["headline"]["facts"]
    assert [fact["unit"] for fact in facts if fact["name"] == "ε"] == [unit]
    assert checked(desk, text)["controls"]["eps"]["unit"] == unit


@pytest.mark.parametrize("name", ["letters", "users"])
def test_no_limit_is_not_a_good_answer(name: str) -> None:
    """340 nats are no promise: nothing is green because nothing was to be kept; and B is not called A."""
    folder = Path("examples", name).resolve()
    desk, text = Session(folder, f"{name}.toml"), (folder / f"{name}.toml").read_text(encoding="utf-8")
    bare = text.partition("[accept]")[0] if name == "users" else text
    found = asked(desk, bare, "headline", "compare", other=bare)
    assert found["headline"]["good"] is None
    assert re.search(r"\bB\b.*\bA\b", found["compare"]["sentence"])
    if name == "users":
        assert asked(desk, text, "headline")["headline"]["good"] is True


def test_what_cannot_be_answered_leads_to_what_can() -> None:
    desk = Session(Path("examples").resolve(), "town-places.toml")
    found = asked(desk, Path("examples/town-places.toml").read_text(encoding="utf-8"), "places", "secrets")
    assert all("refused" in part for part in found.values())
    assert {part["nearest"] for part in found.values()} == {"Ask what can be guessed."}


def test_the_same_document_is_the_same_case(desk: Session, daily: str) -> None:
    first = desk.case(daily)
    assert desk.case(daily + "# a remark\n") is first
    assert desk.case(daily.replace("observations = 10", "observations = 11")) is not first
    again = desk.case(daily.replace("observations = 10", "observations = 11"))
    assert again.scenario.policy is first.scenario.policy  # type: ignore[attr-defined]


def test_a_public_file_that_changed_is_another_case(tmp_path: Path) -> None:
    text = coded("codes.csv")
    (tmp_path / "codes.csv").write_text("code\na\nb\n", encoding="utf-8")
    desk = Session(tmp_path, "file.toml")
    before = desk.case(text).state
    (tmp_path / "codes.csv").write_text("code\na\nc\nd\n", encoding="utf-8")
    assert desk.case(text).state != before


@pytest.mark.parametrize(
    "name", ["../codes.csv", "/etc/passwd", "link.csv", "linked/codes.csv", "C:\\codes.csv"]
)
def test_public_files_are_read_below_the_folder_only(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "here"
    (tmp_path / "there").mkdir()
    folder.mkdir()
    for place in (tmp_path, tmp_path / "there"):
        (place / "codes.csv").write_text(f"code\n{CANARY}\nb\n", encoding="utf-8")
    (folder / "link.csv").symlink_to(tmp_path / "codes.csv")
    (folder / "linked").symlink_to(tmp_path / "there", target_is_directory=True)
    text = coded(name)
    found = checked(Session(folder, "file.toml"), text)
    assert not found["ok"] and CANARY not in json.dumps(found)
    assert "folder" in found["errors"][0]["message"] or "link" in found["errors"][0]["message"]


def test_names_that_no_file_can_have(tmp_path: Path, daily: str) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    desk, long = Session(tmp_path, "file.toml"), "a" * 300
    assert "device or a pipe" in checked(desk, coded("pipe.csv"))["errors"][0]["message"]
    assert "too long" in checked(desk, coded(long))["errors"][0]["message"]
    data = f'{daily}\n[data]\ninput = "{long}"\ncolumn = "mood"\n'
    for text in (data, data.replace(long, "/**/*.csv")):
        assert checked(desk, text)["ok"]


def test_a_budget_elsewhere_is_not_read(tmp_path: Path, daily: str) -> None:
    (tmp_path / "budget.toml").write_text("person = 3.0\n", encoding="utf-8")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link.toml").symlink_to(tmp_path / "budget.toml")
    desk = Session(tmp_path / "here", "file.toml")
    for name in ("../budget.toml", str(tmp_path / "budget.toml"), "link.toml"):
        text = f'{daily}\n[release]\nledger = "{name}"\n'
        parts = asked(desk, text, "budget", "release")
        assert "not read" in parts["budget"]["refused"]
        assert "not looked at" in parts["release"]["refused"]
        for part in parts.values():
            assert "3" not in part["sentence"].replace(name, "")


def test_a_release_is_looked_at_as_by_its_command(tmp_path: Path) -> None:
    """By the rules of --preview: the words of the command, nothing spent, nothing written."""
    shutil.copy("examples/census-count.toml", tmp_path / "census-count.toml")
    (tmp_path / "budgets").mkdir()
    shutil.copy("examples/budgets/census.toml", tmp_path / "budgets" / "census.toml")
    before = sorted(tmp_path.rglob("*"))
    text = (tmp_path / "census-count.toml").read_text(encoding="utf-8")
    part = asked(Session(tmp_path, "census-count.toml"), text, "release")["release"]
    found = sv.release.preview(tmp_path / "census-count.toml")
    assert part["sentence"] == str(found) and part["good"] is found.possible
    words = " ".join(sentence for _, sentences in part["sections"] for sentence in sentences)
    assert f"{float(found.noise_sd):.4g}" in words
    assert sorted(tmp_path.rglob("*")) == before


# ── Nothing private ─────────────────────────────────────────────────────────────────────────────────────────

OPENED: list[str] = []


class Watch:
    """Whether the files that are opened are noted; a hook cannot be taken away."""

    on = False
    hooked = False


def _watch(event: str, arguments: tuple[Any, ...], watch: type[Watch] = Watch) -> None:
    """Called until the very end, when the names of this module are gone already."""
    if watch.on and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        OPENED.append(os.fsdecode(arguments[0]))


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The files that are opened meanwhile."""
    if not Watch.hooked:
        sys.addaudithook(_watch)
    Watch.hooked = Watch.on = True
    OPENED.clear()
    yield OPENED
    Watch.on = False


DOCUMENTS = """version = 1
[documents]
input = "private/*.txt"
embedding = "words.txt"
scale = 1.0
references = "public/*.txt"
[mechanism]
kind = "word-exponential"
eps = 1.0
"""
VECTORS = """version = 1
[vectors]
input = "private/ratings.npz"
dimension = 3
hash = { kind = "hyperplane", bits = 4, seed = 1 }
[mechanism]
kind = "lsh-response"
eps = 1.0
"""


def test_private_data_are_not_opened(tmp_path: Path, opened: list[str]) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "data.csv").write_text(f"mood,person\n{CANARY},{CANARY}\n", encoding="utf-8")
    (private / "text.txt").write_text(f"{CANARY} sea", encoding="utf-8")
    sparse.save_npz(private / "ratings.npz", sparse.csr_array([[1.0, 0.0, 2.0]]))
    (tmp_path / "words.txt").write_text("sea 0 1\nlake 1 0\nhill 1 1\n", encoding="utf-8")
    (tmp_path / "public").mkdir()
    for name in ("sea", "lake"):
        (tmp_path / "public" / f"{name}.txt").write_text(f"{name} {name} hill", encoding="utf-8")
    (tmp_path / "budget.toml").write_text("person = 3.0\n", encoding="utf-8")
    opened.clear()
    daily = Path("examples/daily-question.toml").read_text(encoding="utf-8")
    data = '\n[data]\ninput = "private/data.csv"\ncolumn = "mood"\n[release]\nledger = "budget.toml"\n'
    said = ""
    attacked = (
        DOCUMENTS.replace("[mechanism]", 'person = "folder"\n[mechanism]') + "[attack]\nsuccess = 0.3\n"
    )
    for text in (daily + data, DOCUMENTS, attacked, VECTORS):
        desk = Session(tmp_path, "file.toml")
        found = checked(desk, text)
        assert found["ok"], found["errors"]
        parts = asked(desk, text, *(PARTS if text != VECTORS else (*PARTS[:6], "release")), other=text)
        assert "refused" not in parts["headline"]
        if text == attacked:
            assert "private documents" in json.dumps(parts["design"]["sections"])
        exports = [dict(desk.export(text, form)) for form in ("toml", "python", "command")]
        said += json.dumps([found, parts, exports, dict(desk.report(text))])
        said += json.dumps(dict(desk.backward(text, "guess", 0.9)))
    assert CANARY not in said
    assert str(tmp_path / "budget.toml") in opened  # the watch works
    assert not [path for path in opened if str(private) in path]


def test_a_wrong_private_table_is_not_quoted(tmp_path: Path) -> None:
    shutil.copy("examples/daily-question.toml", tmp_path / "file.toml")
    (tmp_path / "data.csv").write_text(f"{CANARY}\n", encoding="utf-8")
    text = coded("data.csv") + '[data]\ninput = "data.csv"\ncolumn = "code"\n'
    found = checked(Session(tmp_path, "file.toml"), text)
    assert not found["ok"] and "private" in found["errors"][0]["message"]
    assert CANARY not in json.dumps(found)
