"""What a file gets wrong is refused by name, in words about files, never taken silently."""

from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.files import PolicyScenario, load_policy_scenario

HEAD = 'version = 1\n[policy]\nvalues = ["a", "b"]\n'
RESPONSE = '[mechanism]\nkind = "randomised-response"\neps = 1.0\n'


def scenario(folder: Path, text: str) -> PolicyScenario:
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return load_policy_scenario(folder / "file.toml")


def everything(loaded: PolicyScenario) -> None:
    """Build all that the file describes."""
    assert loaded.policy is not None
    assert loaded.query is not None
    assert loaded.answers is not None
    if loaded.document.mechanism is not None:
        assert len(loaded.prior) == len(loaded.channel.inputs)
        assert len(loaded.record_prior) == len(loaded.policy.values)
        assert loaded.gains is not None


FILES = {
    "twice.csv": "value,weight\na,1\nb,2\na,3\n",
    "short.csv": "value,weight\na,1\n",
    "extra.csv": "value,weight\na,1\nb,1\nc,1\n",
    "nan.csv": "value,weight\na,nan\nb,1\n",
    "table.csv": "record,answer\na,0\nb,1\na,1\n",
    "stranger.csv": "record,answer\na,0\nc,1\n",
    "wide.csv": "one,two,answer\na,a,0\n",
    "gain.csv": "action,a,b,a\nx,1,0,1\n",
    "half.csv": "action,a\nx,1\n",
    "c.csv": "input,x,y\na,0.5,0.4\nb,0.5,0.5\n",
}

MISTAKES = {
    # Nothing is taken silently.
    "bounds on texts": (
        HEAD + 'records = 2\n[query]\nkind = "count"\nwhere = { at_least = 3 }\n',
        "query: where: the value 'a' is not a number, so at_least and at_most cannot be compared",
    ),
    "no bounds": (
        HEAD + '[query]\nkind = "count"\nwhere = {}\n',
        "query.where: give at_least, at_most or both",
    ),
    "by": (HEAD + '[query]\nkind = "histogram"\nby = "town"\n', "is not one of the columns of"),
    "by twice": (
        HEAD + '[data]\ninput = "x.csv"\ncolumn = "c"\n[query]\nkind = "histogram"\nby = ["c", "c"]\n',
        "by: 'c' is there twice; name each column once",
    ),
    "values beside a partition": (
        HEAD + 'secrets = { partition = [["a"], ["b", "c"]] }\n',
        "values is 'a', 'b' but the secrets name 'a', 'b', 'c'",
    ),
    "values beside a partition in another order": (
        HEAD + 'secrets = { partition = [["b"], ["a"]] }\n',
        "same values in the same order",
    ),
    "values beside a tree": (HEAD + 'secrets = { tree = { c = "" } }\n', "the secrets name 'c'"),
    "person with more records than there are": (
        HEAD + "person_records = 2\n" + RESPONSE,
        "person_records is 2 but there are only 1 records",
    ),
    "edge with one end": (
        HEAD + 'secrets = { edges = [["a"]] }\n',
        "policy.secrets.edges, entry 1: list should",
    ),
    # Public tables.
    "prior twice": (HEAD + RESPONSE + '[adversary]\nprior = "twice.csv"\n', "twice.csv: 'a' is there twice"),
    "prior as a table": (
        HEAD + RESPONSE + "[adversary]\nprior = { a = 1 }\n",
        "keys here are kind, probabilities, file, beta, normal, density; in place of the table write",
    ),
    "prior short": (HEAD + RESPONSE + '[adversary]\nprior = "short.csv"\n', "no weight for 'b'; give each"),
    "prior extra": (HEAD + RESPONSE + '[adversary]\nprior = "extra.csv"\n', "'c' is not one of 'a', 'b'"),
    "prior nan": (
        HEAD + RESPONSE + '[adversary]\nprior = "nan.csv"\n',
        "nan.csv: 'nan' for 'a'.*not a number",
    ),
    "table twice": (
        HEAD + '[query]\nkind = "table"\ntable = "table.csv"\n',
        "table.csv: the database 'a' is there twice",
    ),
    "table stranger": (
        HEAD + '[query]\nkind = "table"\ntable = "stranger.csv"\n',
        "'c' is not one of 'a', 'b'",
    ),
    "table wide": (
        HEAD + '[query]\nkind = "table"\ntable = "wide.csv"\n',
        "has 3 columns; it needs 1 for the rec",
    ),
    "gain twice": (HEAD + RESPONSE + '[adversary]\ngains = [{ matrix = "gain.csv" }]\n', "column 'a' twice"),
    "gain half": (HEAD + RESPONSE + '[adversary]\ngains = [{ matrix = "half.csv" }]\n', "has no column 'b'"),
    "missing table": (
        HEAD + RESPONSE + '[adversary]\nprior = "no.csv"\n',
        "no.csv: no such file; paths in the file are relative to its own folder",
    ),
    # Advice is about the file, not about Python.
    "prior sum": (
        HEAD + RESPONSE + "[adversary]\nprior = [0.5, 0.4]\n",
        "prior sums to 0.9; probabilities must sum to 1; correct the list, or name a CSV file",
    ),
    "prior list too short": (
        HEAD + RESPONSE + "[adversary]\nprior = [1.0]\n",
        "the list has 1 entries but 2 are needed, one for each of 'a', 'b', in this order",
    ),
    "row sum": (
        HEAD + '[mechanism]\nmatrix = "c.csv"\n',
        "row 'a' .* sums to 0.9; .*; correct the row in the f",
    ),
    "record of many": (
        HEAD + "records = 3\n" + RESPONSE,
        'use kind = "count", "sum" or "histogram", or leave rec',
    ),
    "threshold on texts": (HEAD + "secrets = { threshold = 1 }\n", "list the pairs .* under edges instead"),
    # A record may be absent under add-remove adjacency.
    "absent in a list": (
        HEAD + 'records = 3\nadjacency = "add-remove"\n[query]\nkind = "count"\nwhere = "a"\n'
        '[mechanism]\nkind = "geometric"\neps = 1.0\n[adversary]\nrecord_prior = [0.5, 0.5]\n',
        "record_prior: the list has 2 entries but 3 are needed.*a record may also be 'absent'",
    ),
    "absent in a table": (
        HEAD + 'records = 3\nadjacency = "add-remove"\n[query]\nkind = "count"\nwhere = "a"\n'
        '[mechanism]\nkind = "geometric"\neps = 1.0\n[adversary]\nrecord_prior = "both.csv"\n',
        "no weight for 'absent'.*a record may also be 'absent'",
    ),
}


@pytest.mark.parametrize("text, message", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "both.csv").write_text("value,weight\na,1\nb,2\n")
    with pytest.raises(FileError, match=message) as caught:
        everything(scenario(tmp_path, text))
    said = str(caught.value)
    assert "file.toml" in said
    for python in ("sv.", "normalise", "from_counts", "Policy.", "metric="):
        assert python not in said


PATHS = {
    "policy = { values = 5 }": "a list or a table with one of range, interval, file, product (given: 5)",
    "policy = { values = [1, { a = 1 }] }": "key policy.values, entry 2 must be a number, a text or a list",
    "policy = { values = [true] }": "entry 1 must be a number, a text or a list (given: True)",
    'policy = { values = [1], secrets = "complet" }': "must be 'complete', 'line', 'cycle' or a table with",
    'policy = { values = [1], secrets = { threshold = "x" } }': "secrets.threshold must be a number",
    "policy = { values = [1], secrets = { threshold = -1 } }": "threshold must be greater than or equal to 0",
    'policy = { values = { range = ["a", 1] } }': "key policy.values.range, entry 1 must be a whole number",
    "policy = { values = { rang = [0, 1] } }": "key policy.values.rang is unknown",
    "policy = { values = [1], records = 2.5 }": "key policy.records must be a whole number (given: 2.5)",
    "policy = 3": "key policy must be a table (given: 3)",
    'policy = { values = [1] }\nmechanism = { kind = "geometric", alpha = [1] }': (
        "key mechanism.alpha must be a text or a number"
    ),
    'policy = { values = [1] }\nmechanism = { kind = "geometric", eps = nan }': "key mechanism.eps must be",
    "policy = { values = [1] }\nadversary = { gains = [{ within = -1 }] }": (
        "key adversary.gains, entry 1, within must be greater than or equal to 0"
    ),
    'policy = { values = [1] }\nadversary = { prior = [0.5, "x"] }': (
        "key adversary.prior, entry 2 must be a number (given: 'x')"
    ),
    'policy = { values = [1] }\ndata = { column = "x" }': "key data.input is missing",
}


@pytest.mark.parametrize("text, message", PATHS.items(), ids=PATHS.values())
def test_only_keys_of_the_file_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        scenario(tmp_path, f"version = 1\n{text}\n")
    assert message in str(caught.value)
    for branch in (".str", ".int", ".float", "list[", "literal[", "Model", "function-"):
        assert branch not in str(caught.value)


def test_what_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match=r"none.toml: no such file; give the path of a TOML file$"):
        load_policy_scenario(tmp_path / "none.toml")
    with pytest.raises(FileError, match="is a folder; name a file in it"):
        load_policy_scenario(tmp_path)
    (tmp_path / "file.toml").write_text(HEAD)

    def locked(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", locked)
    with pytest.raises(FileError, match=r"file.toml: cannot be read \(Permission denied\)"):
        sv.load(tmp_path / "file.toml")


def test_counts_say_what_they_count(tmp_path: Path) -> None:
    numbers = "version = 1\npolicy = { values = [1, 2, 3], records = 2 }\n"
    text = numbers + 'query = { kind = "count", where = { at_least = 2, at_most = 2.5 } }\n'
    bounded = scenario(tmp_path, text).query
    assert bounded.words == "the number of records that are at least 2 and at most 2.5"
    assert bounded.evaluate((1, 2), sv.Policy.differential([1, 2, 3], 2)) == 1
    listed = scenario(tmp_path, numbers + 'query = { kind = "count", where = [3, 1] }\n').query
    assert listed.words == "the number of records that are 3 or 1"


def test_the_record_has_one_prior(tmp_path: Path) -> None:
    """Where the query is the record itself, prior and record_prior are the same belief."""
    file = HEAD + RESPONSE + "[adversary]\n"
    for line in ("prior = [0.9, 0.1]", "record_prior = [0.9, 0.1]"):
        loaded = scenario(tmp_path, file + line + "\n")
        assert loaded.prior.tolist() == loaded.record_prior.tolist() == [0.9, 0.1]
        assert sv.audit(loaded).record.before == 0.9
    same = scenario(tmp_path, file + 'prior = [0.5, 0.5]\nrecord_prior = "uniform"\n')
    assert [float(p) for p in same.record_prior] == [0.5, 0.5]
    with pytest.raises(
        FileError, match=r"prior gives 'a' the probability 0.9 but record_prior 0.5.*leave one out"
    ):
        _ = scenario(tmp_path, file + 'prior = [0.9, 0.1]\nrecord_prior = "uniform"\n').prior


def test_the_record_has_one_prior_in_the_order_of_a_matrix(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\nb,1/4,3/4\na,3/4,1/4\n")
    file = HEAD + '[mechanism]\nmatrix = "c.csv"\n[adversary]\n'
    by_row = scenario(tmp_path, file + "prior = [0.9, 0.1]\n")
    assert by_row.channel.inputs == ("b", "a")
    assert by_row.record_prior.tolist() == [0.1, 0.9]  # in the order of the values: a, b
    by_value = scenario(tmp_path, file + "record_prior = [0.1, 0.9]\n")
    assert by_value.prior.tolist() == [0.9, 0.1]
    both = scenario(tmp_path, file + "prior = [0.9, 0.1]\nrecord_prior = [0.1, 0.9]\n")
    assert np.allclose(both.prior.astype(float), [0.9, 0.1])


def test_queries_of_many_records_have_two_priors(tmp_path: Path) -> None:
    loaded = scenario(
        tmp_path,
        HEAD + 'records = 2\n[query]\nkind = "count"\nwhere = "a"\n'
        '[mechanism]\nkind = "geometric"\neps = 1.0\n[adversary]\nprior = [0.2, 0.3, 0.5]\n',
    )
    assert [float(p) for p in loaded.record_prior] == [0.5, 0.5]


def test_postcodes_stay_texts_in_every_table(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code\n01067\n04103\n")
    (tmp_path / "prior.csv").write_text("code,people\n04103,1\n01067,3\n")
    (tmp_path / "gain.csv").write_text("action,04103,01067\nstay,0,1\ngo,2,0\n")
    (tmp_path / "c.csv").write_text("input,x,y\n04103,1/4,3/4\n01067,3/4,1/4\n")
    loaded = scenario(
        tmp_path,
        """
        version = 1
        policy = { values = { file = "codes.csv" } }
        mechanism = { matrix = "c.csv" }
        adversary = { prior = "prior.csv", gains = [{ matrix = "gain.csv" }] }
        """,
    )
    assert loaded.policy.values == ("01067", "04103")
    assert [float(p) for p in loaded.prior] == [0.25, 0.75]
    assert float(sv.vulnerability(loaded.prior, loaded.gains[0])) == 0.75


def test_histogram_channels_are_read_for_their_answers(tmp_path: Path) -> None:
    policy = sv.Policy.differential(["a", "b"], 2)
    answers = sv.Query.histogram().answers(policy)
    noisy = sv.mechanisms.randomised_response(answers.labels, alpha="1/3")
    sv.save(sv.Channel(noisy.exact, noisy.inputs, noisy.outputs), tmp_path / "c.csv")
    loaded = scenario(
        tmp_path,
        """
        version = 1
        policy = { values = ["a", "b"], records = 2 }
        query = { kind = "histogram" }
        mechanism = { matrix = "c.csv" }
        """,
    )
    assert loaded.channel.inputs == answers.labels == ((0, 2), (1, 1), (2, 0))
    assert loaded.channel.outputs == answers.labels
    assert loaded.channel.form == "exact"


@pytest.mark.parametrize(("key", "given"), [("guess", "60"), ("advantage", "60.0"), ("guess", "2")])
def test_a_percentage_says_how_it_is_written(tmp_path: Path, key: str, given: str) -> None:
    with pytest.raises(FileError, match=f"write {float(given) / 100:g}$"):
        scenario(tmp_path, f"{HEAD}{RESPONSE}[accept]\n{key} = {given}\n")


@pytest.mark.parametrize("given", ["-1", "1000", "inf"])
def test_what_is_no_percentage_is_not_taken_for_one(tmp_path: Path, given: str) -> None:
    with pytest.raises(FileError, match="guess must be") as refused:
        scenario(tmp_path, f"{HEAD}{RESPONSE}[accept]\nguess = {given}\n")
    assert "write" not in str(refused.value)
