"""Edits of a file's text: nothing else changes, and one key changes one line."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert.errors import FileError
from sievert.files import edited, line_of, scenario_from_text

EXAMPLES = sorted(Path("examples").rglob("*.toml"))


def places(item, key=()):
    """Every key and place of nested tables, with what stands there."""
    parts = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for name, part in parts:
        yield (*key, name), part
        yield from places(part, (*key, name))


def changed(before, after):
    """The lines of the one text that are not in the other, on both sides."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_stands_there_changes_nothing_and_one_key_one_line(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for key, value in places(tomllib.loads(text)):
        assert edited(text, key, value) == text
        number = line_of(text, key)
        assert number is not None
        if isinstance(value, dict | list):
            continue
        assert str(key[-1]) in lines[number - 1] or isinstance(key[-1], int) or len(key) > 2
        other = "another" if isinstance(value, str) else not value if isinstance(value, bool) else value + 1
        found = edited(text, key, other)
        pairs = zip(lines, found.splitlines(), strict=True)
        assert sum(old != new for old, new in pairs) == 1


TEXT = """\
# What we agreed
version = 1  # of the format

[policy]
values = ["no", "yes"]  # two
secrets = { threshold = 1 }

# Noise
[mechanism]
kind = "warner"  # as always
"""


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("policy.records", 3, "records = 3"),
        ("policy.secrets.name", "near", 'secrets = { threshold = 1, name = "near" }'),
        ("policy.values", ["no", "yes", "perhaps"], 'values = ["no", "yes", "perhaps"]  # two'),
        ("policy.values.1", "maybe", 'values = ["no", "maybe"]  # two'),
        ("policy.permitted", {"total": 2}, "permitted = { total = 2 }"),
        ("title", "Ours", 'title = "Ours"'),
        (("mechanism", "odd key"), 1.5, '"odd key" = 1.5'),
        ("version", 2, "version = 2  # of the format"),
    ],
)
def test_a_key_is_set_on_a_line_of_its_own_table(key, value, line):
    found = edited(TEXT, key, value)
    assert changed(TEXT, found)[1] == [line]
    table = tomllib.loads(found)
    steps = key if isinstance(key, tuple) else key.split(".")
    for step in steps:
        table = table[int(step) if isinstance(table, list) else step]
    assert table == value
    # A comment that speaks of the next table stays right above it.
    assert "# Noise\n[mechanism]" in found


def test_a_new_table_stands_where_the_reference_has_it():
    found = edited(TEXT, "query.kind", "count")
    assert found.index("[policy]") < found.index("[query]") < found.index("# Noise\n[mechanism]")
    assert edited(found, "accept.guess", 0.5).endswith("as always\n\n[accept]\nguess = 0.5\n")


def test_a_key_is_taken_away_with_its_line():
    assert edited(TEXT, "policy.values", None) == TEXT.replace('values = ["no", "yes"]  # two\n', "")
    assert edited(TEXT, "policy.secrets.threshold", None).count("\n") == TEXT.count("\n")
    assert edited(TEXT, "accept.guess", None) == TEXT


def test_lists_of_many_lines_keep_their_comments():
    text = "x = [\n  1, # one\n  2, # two\n  3,\n]\n"
    assert edited(text, "x", [1, 5, 3]) == text.replace("2, # two", "5, # two")
    assert "# one" in edited(text, "x", [1, 2, 3, 4])
    assert tomllib.loads(edited(text, "x", [3]))["x"] == [3]


def test_several_queries_are_edited_one_by_one():
    text = '[[query]]  # first\nkind = "count"\n\n[[query]]\nkind = "sum"\n\n[release]\nstable = true\n'
    assert edited(text, ("query", 1, "share"), 0.5).count("share = 0.5") == 1
    assert tomllib.loads(edited(text, ("query", 0), None))["query"] == [{"kind": "sum"}]
    three = edited(text, ("query", 2), {"kind": "mean"})
    assert [query["kind"] for query in tomllib.loads(three)["query"]] == ["count", "sum", "mean"]
    assert line_of(text, ("query", 1, "kind")) == 5


def test_windows_line_ends_stay():
    found = edited(TEXT.replace("\n", "\r\n"), "policy.records", 3)
    assert found.replace("\r\n", "").count("\n") == 0


@settings(max_examples=40)
@given(
    st.sampled_from(["policy", "mechanism", "accept", "use"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=8),
    st.recursive(
        st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", min_size=1), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)
def test_any_value_under_any_name_is_read_back(table, name, value):
    found = edited(TEXT, (table, name), value)
    assert tomllib.loads(found).get(table, {}).get(name, {}) == value
    assert all(line in found for line in TEXT.splitlines() if line.startswith("#"))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "mechanism.eps"),
        ("policy..x", "mechanism.eps"),
        ((0, "x"), "mechanism.eps"),
        (("policy", 1.5), "mechanism.eps"),
        (None, "mechanism.eps"),
        ("policy.values.7", "leads nowhere"),
        ("version.x", "leads nowhere"),
        ("policy.3", "leads nowhere"),
    ],
)
def test_a_key_that_leads_nowhere_is_refused(key, words):
    with pytest.raises(FileError, match=words):
        edited(TEXT, key, 1)


def test_an_error_says_where_it_is():
    with pytest.raises(FileError) as wrong:
        scenario_from_text(TEXT.replace("values", "value"))
    assert wrong.value.key == ("policy", "value")
    assert line_of(TEXT.replace("values", "value"), wrong.value.key) == 5
    with pytest.raises(FileError) as wrong:
        scenario_from_text(TEXT.replace('"warner"', '"laplac"'))
    assert wrong.value.key == ("mechanism", "kind")
