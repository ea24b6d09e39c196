"""A message tells the way out: the nearest spelling, the right table, the file and the key."""

from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files import load_policy_scenario

HEAD = 'version = 1\n[policy]\nvalues = ["a", "b"]\n'

SPELLING = {
    "table": ("version = 1\n[polcy]\n", "key polcy is unknown", "did you mean 'policy'?"),
    "key": (HEAD + "record = 2\n", "key policy.record is unknown", "did you mean 'records'?"),
    "key in a branch of several": (
        "version = 1\npolicy = { values = { rang = [0, 1] } }",
        "key policy.values.rang is unknown",
        "did you mean 'range'?",
    ),
    "key instead of a list": (
        'version = 1\npolicy = { values = { listed = ["a"] } }',
        "key policy.values.listed is unknown",
        "did you mean 'list'?",
    ),
    "tag of a table with a default": (
        HEAD + 'records = 2\n[query]\nwhere = ["a"]\nknd = "count"\n',
        "key query.knd is unknown",
        "did you mean 'kind'?",
    ),
    "kind by its key": (
        HEAD + 'secrets = { kind = "threshold", threshold = 1 }\n',
        "key policy.secrets.kind",
        "names 'threshold' by its key: { threshold = … }",
    ),
    "key in a list": (
        HEAD + "[adversary]\ngains = [{ wihtin = 2 }]\n",
        "key adversary.gains, entry 1, wihtin is unknown",
        "did you mean 'within'?",
    ),
    "key of another table": (HEAD + "eps = 1.0\n", "key policy.eps is unknown", "it is a key of [mechanism]"),
    "no such key": (HEAD + "zzz = 1.0\n", "key policy.zzz is unknown", "keys here are values, secrets, rec"),
    "kind": (
        HEAD + '[mechanism]\nkind = "randomized-response"\neps = 1.0\n',
        "mechanism.kind must be 'truncated-geometric'",
        "did you mean 'randomised-response'?",
    ),
    "kind that has another name": (
        HEAD + '[mechanism]\nkind = "Laplace"\neps = 1.0\n',
        "given: 'Laplace'",
        'the discrete Laplace is called "geometric" here',
    ),
    "secrets": (HEAD + 'secrets = "complet"\n', "given: 'complet'", "did you mean 'complete'?"),
    "gain": (HEAD + '[adversary]\ngains = ["identiy"]\n', "given: 'identiy'", "did you mean 'identity'?"),
    "long text": (HEAD + f'adjacency = "{"x" * 5000}"\n', "key policy.adjacency must be", "xxx…xxx"),
    "long key": (HEAD + f"{'x' * 5000} = 1\n", "xxx…xxx", "is unknown"),
}


@pytest.mark.parametrize(("text", "key", "hint"), SPELLING.values(), ids=SPELLING)
def test_misspelt_words_name_the_nearest(tmp_path: Path, text: str, key: str, hint: str) -> None:
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(FileError) as caught:
        load_policy_scenario(tmp_path / "file.toml")
    said = str(caught.value)
    assert key in said
    assert hint in said
    assert len(said) < 600


UNREADABLE = {
    "nested lists": ("policy = " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "nested names": (".".join(["a"] * 3_000) + " = 1", "nested too deeply"),
    "nested headings": ("[" + ".".join(["a"] * 3_000) + "]", "nested too deeply"),
    "nested tables": ("policy = " + "{a=" * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "long number": ("policy = " + "9" * 10_000, "thousands of digits"),
    "no such day": ("policy = 2026-02-31", "calendar|not valid TOML"),
    "not TOML": ("policy = = 3", "is not valid TOML"),
}


@pytest.mark.parametrize(("text", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_files_that_no_parser_reads(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(FileError, match=message):
        load_policy_scenario(tmp_path / "file.toml")


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(HEAD, encoding="utf-8-sig")
    assert load_policy_scenario(tmp_path / "file.toml").policy.values == ("a", "b")


def test_a_misspelt_file_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(HEAD)
    with pytest.raises(FileError, match=r"surevy.toml: no such file.*did you mean 'survey.toml'\?"):
        sv.load(tmp_path / "surevy.toml")
    with pytest.raises(FileError, match=r"cannot be opened"):
        sv.load(tmp_path / ("x" * 5000 + ".toml"))
    with pytest.raises(FileError, match=r"is a device or a pipe"):
        sv.load("/dev/null")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "value,weight\na,-1\nb,2\n",
            "prior: prior.csv: the weight of 'a' is -1; weights must be ≥ 0",
        ),
        ("value,weight\na,0\nb,0\n", "adversary.prior: prior.csv: every weight is 0"),
        ("value,weight\naa,1\nb,2\n", "adversary.prior: prior.csv: 'aa' is not one of 'a', 'b'"),
        (
            f"value,weight\na,{'x' * 5000}\nb,2\n",
            "prior.csv: 'xxx.{,60}xxx' for 'a' in column",
        ),
    ],
)
def test_errors_in_a_prior_name_file_and_key(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "prior.csv").write_text(table)
    text = '[mechanism]\nkind = "randomised-response"\neps = 1.0\n[adversary]\nprior = "prior.csv"\n'
    (tmp_path / "file.toml").write_text(HEAD + text)
    with pytest.raises(FileError, match=message):
        _ = load_policy_scenario(tmp_path / "file.toml").prior


def test_a_prior_is_a_name_or_a_file(tmp_path: Path) -> None:
    text = '[mechanism]\nkind = "randomised-response"\neps = 1.0\n[adversary]\nprior = "unifrom"\n'
    (tmp_path / "file.toml").write_text(HEAD + text)
    with pytest.raises(FileError, match=r"unifrom: no such file.*did you mean 'uniform'\?.*own folder"):
        _ = load_policy_scenario(tmp_path / "file.toml").prior
    (tmp_path / "file.toml").write_text(HEAD + text.replace("unifrom", "unkown"))
    with pytest.raises(FileError, match=r"unkown: no such file; paths"):
        _ = load_policy_scenario(tmp_path / "file.toml").prior  # "unknown" would be no belief
    (tmp_path / "file.toml").write_text(HEAD + "[adversary]\nprior = 5\n")
    rule = r"must be 'uniform', 'unknown', a list, the path of a file or a table .*\(given: 5\)"
    with pytest.raises(FileError, match=rule):
        load_policy_scenario(tmp_path / "file.toml")


@pytest.mark.parametrize(
    ("policy", "size"),
    [
        ("values = { range = [0, 1000000000000000000000000000000] }", 10**30 + 1),
        ("values = { product = [{ range = [1, 100000] }, { range = [1, 100000] }] }", 10**10),
    ],
)
def test_sizes_are_known_before_work(tmp_path: Path, policy: str, size: int) -> None:
    (tmp_path / "file.toml").write_text(f"version = 1\n[policy]\n{policy}\n")
    with pytest.raises(SievertError, match=r"values by (range|product) would take .*coarser") as caught:
        _ = load_policy_scenario(tmp_path / "file.toml").policy
    assert isinstance(caught.value, TooLargeError)
    assert caught.value.size == size


def test_histograms_that_cannot_be_listed_say_what_can(tmp_path: Path) -> None:
    text = (
        'version = 1\npolicy = { values = [1, 2, 3, 4], records = 1000000 }\nquery = { kind = "histogram" }\n'
    )
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(SievertError) as caught:
        _ = load_policy_scenario(tmp_path / "file.toml").answers
    assert "1.67e17 answers, and 50,000 can be listed; coarsen the values" in str(caught.value)
    assert "geometric noise to every cell, which `sievert audit`" in str(caught.value)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_values_are_finite(tmp_path: Path, value: str) -> None:
    (tmp_path / "file.toml").write_text(f"version = 1\n[policy]\nvalues = [{value}, 1]\n")
    with pytest.raises(FileError, match=r"policy.values, entry 1 must be a finite number, a text or a list"):
        load_policy_scenario(tmp_path / "file.toml")


def test_a_table_is_named_once(tmp_path: Path) -> None:
    text = 'version = 1\npolicy = { values = [1, 2], records = 2 }\nquery = { kind = "record" }\n'
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(FileError, match=r"file\.toml, query: record releases one value"):
        _ = load_policy_scenario(tmp_path / "file.toml").answers
    several = (
        'version = 1\npolicy = { values = [[1, 2], [3, 4]], records = 2 }\nquery = { kind = "sum" }\n'
        'data = { input = "x.csv", column = ["a", "b"] }\n'
    )
    (tmp_path / "file.toml").write_text(several)
    with pytest.raises(FileError, match=r"file\.toml, query: a sum needs of"):
        _ = load_policy_scenario(tmp_path / "file.toml").query


def test_too_many_permitted_databases_name_the_key_and_a_way_out_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(
        "version = 1\n"
        "[policy]\nvalues = [0, 1, 3]\nrecords = 100\npermitted = { total = 100 }\n"
        '[query]\nkind = "histogram"\n[mechanism]\nkind = "geometric"\neps = 1.0\n'
    )
    with pytest.raises(SievertError) as refused:
        sv.audit(path)
    said = refused.value.in_file()
    assert "policy.permitted: the values add up to 100" in said
    assert "fewer records" in said and "neighbours(" not in said
