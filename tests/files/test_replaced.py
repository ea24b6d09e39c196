"""A scenario from a text, with other values, and as a script."""

import os
import pickle
from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.files import DocumentsScenario, PolicyScenario, Scenario, as_python, scenario_from_text

EXAMPLES = sorted(
    path
    for path in Path("examples").rglob("*.toml")
    if path.parent.name in ("examples", "release", "letters", "users")
)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_script_holds_what_the_file_says(path, monkeypatch, capsys, tmp_path):
    scenario, asked = sv.load(path), []
    script = as_python(scenario)
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(sv, "audit", lambda scenario: asked.append(scenario) or "the headline")
    exec(compile(script, "script.py", "exec"), {})
    assert capsys.readouterr().out == "the headline\n"
    [found] = asked
    assert type(found) is type(scenario)
    assert found.document.model_copy(update={"title": None}) == scenario.document.model_copy(
        update={"title": None}
    )
    assert found.title == scenario.title
    assert max(map(len, script.splitlines())) <= 100


def test_a_script_in_another_folder_gives_the_same_headline(tmp_path, capsys, monkeypatch):
    scenario = sv.load("examples/survey-response.toml")
    script = sv.save(scenario, tmp_path / "survey.py").read_text()
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "survey.py", "exec"), {})
    assert capsys.readouterr().out == f"{sv.audit(scenario)}\n"


def test_a_script_writes_what_python_has_no_word_for():
    text = 'version = 1\ntitle = "a\\u007f \\"b\\""\n[policy]\nvalues = ["x", "y"]\n'
    text += '[mechanism]\nkind = "randomised-response"\neps = inf\n'
    found = {}
    exec(as_python(scenario_from_text(text)).replace("print(sv.audit(scenario))", ""), found)
    assert found["scenario"].title == 'a\x7f "b"'
    assert found["scenario"].document.mechanism.eps == float("inf")


def test_a_text_is_read_like_its_file():
    path = Path("examples/daily-question.toml")
    found = PolicyScenario.from_text(path.read_text(), path.parent, "mine.toml")
    assert str(sv.audit(found)) == str(sv.audit(path))
    assert found.source == "mine.toml"
    letters = Path("examples/letters/letters.toml")
    assert isinstance(Scenario.from_text(letters.read_text(), letters.parent), DocumentsScenario)
    with pytest.raises(FileError, match=r"\[documents\]"):
        PolicyScenario.from_text(letters.read_text(), letters.parent)


@pytest.mark.parametrize("text", [None, b"version = 1", 3])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(FileError, match="text is"):
        scenario_from_text(text)


def test_a_reader_of_ones_own_opens_the_public_files():
    class Refuses:
        def table(self, path):
            raise FileError(f"{path} is not for you")

        def channel(self, path, inputs):
            raise FileError(f"{path} is not for you")

    path = Path("examples/city-places.toml")
    found = PolicyScenario.from_text(path.read_text(), path.parent, reader=Refuses())
    for item in (found, found.replaced({"mechanism.eps": 0.01})):
        with pytest.raises(FileError, match="not for you"):
            _ = item.record_prior


CHANGES = [
    {"mechanism.eps": 0.25},
    {"adversary.observations": 3},
    {"adversary.record_prior": [0.4, 0.3, 0.1, 0.1, 0.1]},
    {"policy.records": 7},
    {"query.where": ["low"]},
    {"policy.values": ["very low", "low", "middle", "high", "top"]},
    {"accept.guess": 0.3, "claim.eps": 0.5},
    {"adversary.gains": ["identity"], "adversary.about": None},
    {"release.missing": "drop"},
]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: next(iter(changes)))
def test_what_is_shared_changes_no_answer(changes):
    scenario = sv.load("examples/census-count.toml").replaced(
        {"policy.records": 6, "adversary.observations": 2}
    )
    sv.audit(scenario)
    _ = scenario.gains, scenario.distance, scenario.use_prior, scenario.use_loss
    found = scenario.replaced(changes)
    alone = scenario_from_text(found.to_toml(), found.folder, found.source)
    assert sv.audit(found).to_dict() == sv.audit(alone).to_dict()


def test_what_is_the_same_is_not_built_again():
    scenario = sv.load("examples/census-count.toml")
    _ = scenario.answers, scenario.epsilon
    other = scenario.replaced({"mechanism.eps": 0.25})
    assert other.answers is scenario.answers
    assert "channel" not in other.__dict__
    more = scenario.replaced({"adversary.observations": 4})
    assert more.channel is scenario.channel
    assert more.epsilon is scenario.epsilon


def test_numbers_that_are_equal_and_written_otherwise_are_not_the_same():
    text = 'version = 1\n[policy]\nvalues = [0, 1]\n[mechanism]\nkind = "randomised-response"\neps = 1\n'
    scenario = scenario_from_text(text)
    _ = scenario.policy
    assert scenario.replaced({"policy.values": [0.0, 1.0]}).policy is not scenario.policy


def test_a_public_file_that_changed_is_read_again(tmp_path):
    table = tmp_path / "codes.csv"
    table.write_text("code\nno\nyes\n")
    text = (
        'version = 1\n[policy]\nvalues = { file = "codes.csv", column = "code" }\n'
        '[mechanism]\nkind = "randomised-response"\neps = 1\n'
    )
    scenario = PolicyScenario.from_text(text, tmp_path)
    assert len(scenario.policy.values) == 2
    table.write_text("code\nno\nyes\nperhaps\n")
    assert len(scenario.replaced({"mechanism.eps": 2}).policy.values) == 3


def test_a_change_that_is_wrong_is_refused_by_its_key():
    scenario = sv.load("examples/census-count.toml")
    with pytest.raises(FileError) as wrong:
        scenario.replaced({"mechanism.eps": -1.0})
    assert wrong.value.key == ("mechanism", "eps")


def test_scenarios_pickle_with_what_they_have_built():
    scenario = sv.load("examples/census-count.toml")
    _ = scenario.channel
    found = pickle.loads(pickle.dumps(scenario))
    assert found.epsilon.nats == scenario.epsilon.nats
    assert os.fspath(found.folder) == "examples"
