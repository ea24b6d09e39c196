"""The form and the text are one file: nothing changes unless somebody changes it, and then one line."""

import tomllib
from pathlib import Path
from typing import Any

EXAMPLES = sorted(Path("examples").glob("*.toml"))


def test_text_form_text_of_every_example(studio: Any) -> None:
    """Every key has its field; all fields touched change nothing; one field changed changes one line."""
    studio.only_checked()
    for path in EXAMPLES:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        studio.write(text)
        assert studio.page.inner_text("#errors") == "", path.name
        shown = {tuple(key): value for key, value in studio.probe("touch")}
        studio.settle()
        assert studio.text() == text, path.name
        missing = [key for key in keys_of(document) if key not in shown]
        assert missing == [], path.name
        studio.probe("give", [["title"], "Another title"])
        studio.settle()
        pairs = zip(text.splitlines(), studio.text().splitlines(), strict=True)
        assert [new for old, new in pairs if old != new] == ['title = "Another title"'], path.name


def keys_of(document: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """The keys of every table of a file, those of several queries by their number."""
    found: list[tuple[str | int, ...]] = []
    for name, value in document.items():
        tables = {(name,): value} if isinstance(value, dict) else {}
        if name == "query" and isinstance(value, list):
            tables = {(name, i): table for i, table in enumerate(value)}
        found += [(*root, key) for root, table in tables.items() for key in table] if tables else [(name,)]
    return found


def test_every_kind_of_field_writes_its_key(studio: Any) -> None:
    def given(path: list[str], value: str) -> None:
        studio.probe("give", [path, value])
        studio.settle()
        assert studio.page.inner_text("#errors") == "", (path, value)

    given(["policy", "records"], "40")
    given(["policy", "values"], '["very low", "low", "c"]')
    given(["query", "where"], '["c"]')
    given(["policy", "secrets"], "line")
    given(["policy", "adjacency"], "replace")
    given(["mechanism", "kind"], "geometric")
    given(["adversary", "observations"], "")
    document = tomllib.loads(studio.text())
    policy = {"values": ["very low", "low", "c"], "secrets": "line", "records": 40, "adjacency": "replace"}
    assert document["policy"] == policy
    assert (
        document["query"] == {"kind": "count", "where": ["c"]}
        and document["mechanism"]["kind"] == "geometric"
    )
    assert "observations" not in document["adversary"]
    assert studio.headline() == str(studio.audited())


def test_words_stand_for_themselves_whatever_they_begin_with(studio: Any) -> None:
    for title in ("[draft] a plan", '"one" of them', "'tis", "{x}", "5"):
        studio.probe("give", [["title"], title])
        studio.settle()
        assert studio.page.inner_text("#errors") == ""
        assert tomllib.loads(studio.text())["title"] == title


def test_a_number_beyond_numbers_takes_no_key_away(studio: Any) -> None:
    text = studio.text()
    studio.probe("give", [["mechanism", "eps"], "1e999"])
    studio.settle()
    field = studio.page.locator('#form .field[data-path=\'["mechanism","eps"]\']')
    assert "must be a number" in field.locator(".trouble").inner_text()
    studio.write(text)
    studio.page.fill("#eps-box", "1e999")
    studio.page.press("#eps-box", "Enter")
    studio.settle()
    assert studio.page.get_attribute("#eps-box", "aria-invalid") == "true"
    assert studio.text() == text and studio.page.locator("#said.bad").count() == 0


def test_a_word_that_is_no_toml_is_refused_at_its_field(studio: Any) -> None:
    text = studio.text()
    field = studio.page.locator('#form .field[data-path=\'["policy","values"]\']')
    field.locator("input").fill('["very low", ')
    field.locator("input").press("Enter")
    studio.settle()
    assert studio.text() == text
    assert field.locator("input").input_value() == '["very low", '
    assert field.locator(".trouble").inner_text() != ""
    assert studio.headline() == str(studio.audited()) and len(set(studio.probe("hashes"))) == 1
