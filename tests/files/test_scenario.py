"""The TOML file: every documented key works, every mistake names its key."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.files import PolicyScenario, load_policy_scenario

LOCAL = """
version = 1
[policy]
values = ["a", "b", "c"]
[mechanism]
kind = "randomised-response"
alpha = "1/3"
"""


def scenario(folder: Path, text: str) -> PolicyScenario:
    path = folder / "file.toml"
    path.write_text(text, encoding="utf-8")
    return load_policy_scenario(path)


def test_the_file_of_the_design(tmp_path: Path) -> None:
    loaded = scenario(
        tmp_path,
        """
        version = 1
        [policy]
        values = { range = [0, 4] }
        secrets = { threshold = 1 }
        records = 100
        adjacency = "replace"
        [query]
        kind = "sum"
        [mechanism]
        kind = "truncated-geometric"
        eps = 1.0
        [adversary]
        prior = "uniform"
        gains = ["identity", { within = 1 }]
        observations = 10
        [use]
        loss = "absolute"
        [accept]
        guess = 0.5
        bits = 1.0
        [data]
        input = "ages.csv"
        column = "age"
        [release]
        missing = "reject"
        out_of_range = "clamp"
        unknown = "reject"
        ledger = "budget.toml"
        """,
    )
    assert loaded.policy.values == (0, 1, 2, 3, 4)
    assert len(loaded.answers) == 401
    assert sv.epsilon(loaded.channel, loaded.policy, loaded.query).nats == pytest.approx(1.0, rel=1e-12)
    assert [gain.name for gain in loaded.gains] == ["identity", "within 1"]
    assert loaded.observations == 10


def test_noise_is_scaled_by_the_sensitivity(tmp_path: Path) -> None:
    """eps is the promise for the policy: a sum of values 0…4 under replacement moves by up to 4."""
    loaded = scenario(
        tmp_path,
        """
        version = 1
        policy = { values = { range = [0, 4] }, records = 3 }
        query = { kind = "sum" }
        mechanism = { kind = "truncated-geometric", eps = 1.0 }
        """,
    )
    assert loaded.channel.log_matrix[1, 1] - loaded.channel.log_matrix[2, 1] == pytest.approx(0.25)
    assert sv.epsilon(loaded.channel, loaded.answers).nats == pytest.approx(1.0)


@pytest.mark.parametrize(
    "kind", ["geometric", "truncated-geometric", "randomised-response", "tight-constraints"]
)
def test_every_family_keeps_its_promise_on_a_line(tmp_path: Path, kind: str) -> None:
    loaded = scenario(
        tmp_path,
        f"""
        version = 1
        policy = {{ values = {{ range = [0, 5] }}, secrets = "line" }}
        mechanism = {{ kind = "{kind}", eps = 0.7 }}
        """,
    )
    assert sv.epsilon(loaded.channel, loaded.answers).nats == pytest.approx(0.7)
    assert loaded.claimed_eps == pytest.approx(0.7)


def test_exponential_levels_and_metric_channel(tmp_path: Path) -> None:
    base = (
        'version = 1\npolicy = {{ values = {{ range = [0, 4] }}, secrets = "line" }}\nmechanism = {{ {} }}\n'
    )
    nominal = scenario(tmp_path, base.format('kind = "exponential", eps = 1.0, level = "nominal"'))
    assert sv.epsilon(nominal.channel, nominal.answers).nats < 1
    assert "the nominal parameter, not ε" in sv.audit(nominal).mechanism
    for given in ("", ', level = "true"'):
        true = scenario(tmp_path, base.format(f'kind = "exponential", eps = 1.0{given}'))
        assert sv.epsilon(true.channel, true.answers).nats == pytest.approx(1.0)
        assert sv.audit(true).epsilon.nats == pytest.approx(true.claimed_eps)
    realised = scenario(tmp_path, base.format('kind = "metric-channel"'))
    assert sv.epsilon(realised.channel, realised.answers).nats == pytest.approx(1.0)


SECRETS = {
    '"complete"': 6,
    '"line"': 3,
    '"cycle"': 4,
    "{ threshold = 2 }": 5,
    "{ edges = [[0, 1], [2, 3]] }": 2,
}


@pytest.mark.parametrize("secrets, edges", SECRETS.items())
def test_secret_graphs(tmp_path: Path, secrets: str, edges: int) -> None:
    text = f"version = 1\n[policy]\nvalues = [0, 1, 2, 3]\nsecrets = {secrets}\nrecords = 1\n"
    assert len(scenario(tmp_path, text).policy.adjacency().edges) == edges


def test_partition_and_tree_name_their_own_values(tmp_path: Path) -> None:
    partition = scenario(tmp_path, 'version = 1\n[policy]\nsecrets = { partition = [["a", "b"], ["c"]] }\n')
    assert partition.policy.values == ("a", "b", "c")
    assert np.isinf(partition.policy.distance("a", "c"))
    tree = scenario(tmp_path, 'version = 1\n[policy]\nsecrets = { tree = { leaf = "root", root = "" } }\n')
    assert tree.policy.distance("leaf", "root") == 1


def test_add_remove_and_person_records(tmp_path: Path) -> None:
    text = """
    version = 1
    policy = { values = ["x", "y"], records = 4, adjacency = "add-remove", person_records = 2 }
    query = { kind = "count", where = "x" }
    mechanism = { kind = "geometric", eps = 1.0 }
    """
    loaded = scenario(tmp_path, text)
    assert loaded.policy.distance(("x",) * 4, ("y",) + ("x",) * 3) == 2
    assert loaded.answers.labels == (0, 1, 2, 3, 4)
    assert sv.audit(loaded).repeated_eps == pytest.approx(2.0)


def test_files_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code,name\n3,x\n5,y\n")
    (tmp_path / "points.csv").write_text("place,x,y\nhome,0,0\nwork,3,4\n")
    (tmp_path / "prior.csv").write_text("place,people\nwork,3\nhome,1\n")
    (tmp_path / "channel.csv").write_text("input,l,r\nwork,1/4,3/4\nhome,3/4,1/4\n")
    (tmp_path / "gain.csv").write_text("action,work,home\nstay,0,1\ngo,2,0\n")
    (tmp_path / "table.csv").write_text("first,second,answer\n0,0,same\n0,1,other\n1,0,other\n1,1,same\n")
    codes = scenario(tmp_path, 'version = 1\npolicy = { values = { file = "codes.csv" } }\n')
    assert codes.policy.values == (3, 5)
    places = scenario(
        tmp_path,
        """
        version = 1
        policy = { secrets = { metric = "euclidean", points = "points.csv" } }
        mechanism = { matrix = "channel.csv", eps = 0.3 }
        [adversary]
        prior = "prior.csv"
        gains = [
            { matrix = "gain.csv", name = "traveller" },
            { partition = { near = ["home"], far = ["work"] } },
        ]
        """,
    )
    assert places.policy.distance("home", "work") == 5
    assert [float(p) for p in places.prior] == [0.75, 0.25]  # in the order of the matrix: work, home
    assert sv.epsilon(places.channel, places.answers).nats == pytest.approx(np.log(3) / 5)
    assert float(sv.vulnerability(places.prior, places.gains[0])) == 1.5
    assert places.gains[0].name == "traveller"
    table = scenario(
        tmp_path,
        """
        version = 1
        policy = { values = [0, 1], records = 2 }
        query = { kind = "table", table = "table.csv" }
        mechanism = { kind = "randomised-response", eps = 1.0 }
        """,
    )
    assert table.answers.labels == ("other", "same")


def test_a_scenario_is_written_and_read_back(tmp_path: Path) -> None:
    copy = shutil.copy("examples/survey-response.toml", tmp_path)
    loaded = load_policy_scenario(copy)
    sv.save(loaded, tmp_path / "again.toml")
    again = load_policy_scenario(tmp_path / "again.toml")
    assert again.document == loaded.document
    with pytest.raises(FileError, match=r"\.toml"):
        sv.save(loaded, tmp_path / "again.csv")


BAD = {
    "unknown key": (LOCAL + "colour = 1\n", "mechanism.colour is unknown"),
    "unknown table": (LOCAL + "[polic]\n", "polic is unknown"),
    "no version": (LOCAL.replace("version = 1", ""), "version is missing"),
    "version 2": (LOCAL.replace("version = 1", "version = 2"), "key version"),
    "no policy": ("version = 1\n", "policy is missing"),
    "both parameters": (LOCAL + "eps = 1.0\n", "exactly one of eps and alpha"),
    "neither parameter": (LOCAL.replace('alpha = "1/3"', ""), "exactly one of eps and alpha"),
    "negative eps": (
        LOCAL.replace('alpha = "1/3"', "eps = -1.0"),
        "mechanism.eps.*greater than or equal to 0",
    ),
    "unknown kind": (LOCAL.replace("randomised-response", "laplace"), "mechanism.kind.*'laplace'"),
    "two secrets": (
        LOCAL.replace("[mechanism]", "secrets = { threshold = 1, edges = [] }\n[mechanism]"),
        "exactly one of",
    ),
    "unknown value": (LOCAL.replace("[mechanism]", 'secrets = { edges = [["a", "z"]] }\n[mechanism]'), "'z'"),
    "no values": ("version = 1\n[policy]\n", "policy: values is missing"),
    "count without where": (LOCAL + '[query]\nkind = "count"\n', "where"),
    "alpha out of range": (LOCAL.replace("1/3", "3/2"), "alpha is '3/2'"),
    "not TOML": ("version = = 1", "not valid TOML"),
    "prior length": (LOCAL + "[adversary]\nprior = [0.5, 0.5]\n", "adversary.prior.*2 entries"),
    "prior file": (LOCAL + '[adversary]\nprior = "none.csv"\n', "adversary.prior.*no such file"),
    "gain": (LOCAL + "[adversary]\ngains = [{ within = -1 }]\n", "adversary.gains"),
    "gain name": (LOCAL + '[adversary]\ngains = ["telepathy"]\n', "adversary.gains"),
    "guess": (LOCAL + "[accept]\nguess = 1.5\n", "accept.guess"),
    "permitted text": (
        LOCAL.replace("[mechanism]", "permitted = { total = 3 }\n[mechanism]"),
        "total: the value 'a' is not a finite number; give weights = { value = number }",
    ),
    "permitted nothing": (
        LOCAL.replace("[mechanism]", "permitted = {}\n[mechanism]"),
        "permitted: give total, histogram, counts or databases",
    ),
    "permitted unknown": (
        LOCAL.replace("[mechanism]", "permitted = { sum = 3 }\n[mechanism]"),
        "permitted.sum is unknown",
    ),
    "permitted value": (
        LOCAL.replace("[mechanism]", "permitted = { counts = { z = 1 } }\n[mechanism]"),
        "permitted.counts: 'z' is not one of 'a', 'b', 'c'",
    ),
    "permitted histogram": (
        LOCAL.replace("[mechanism]", "permitted = { histogram = { a = 0 } }\n[mechanism]"),
        "add up to 0 but there are 1 records; use counts",
    ),
    "permitted weights": (
        LOCAL.replace("[mechanism]", "permitted = { counts = { a = 1 }, weights = [1] }\n[mechanism]"),
        "weights goes with total",
    ),
    "permitted attribute": (
        LOCAL.replace("[mechanism]", "permitted = { counts = { a = 1 }, attribute = 0 }\n[mechanism]"),
        "attribute is 0 but the value 'a' has no such part",
    ),
    "permitted attribute alone": (
        LOCAL.replace("[mechanism]", "permitted = { databases = 'no.csv', attribute = 0 }\n[mechanism]"),
        "attribute goes with counts",
    ),
    "permitted empty": (
        LOCAL.replace("[mechanism]", "permitted = []\n[mechanism]"),
        "permitted is an empty list",
    ),
    "permitted file": (
        LOCAL.replace("[mechanism]", "permitted = { databases = 'no.csv' }\n[mechanism]"),
        "no such file",
    ),
    "permitted metric": (
        LOCAL.replace(
            "[mechanism]",
            "secrets = { metric = 'discrete' }\npermitted = { counts = { a = 1 } }\n[mechanism]",
        ),
        "use secrets = { threshold",
    ),
    "range": ("version = 1\n[policy]\nvalues = { range = [4, 0] }\n", "first ≤ last"),
    "text needs numbers": (
        LOCAL.replace("randomised-response", "geometric"),
        "geometric noise needs numbers",
    ),
    "no matrix": ('version = 1\n[policy]\nvalues = [0, 1]\n[mechanism]\nmatrix = "no.csv"\n', "no such file"),
}


@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_bad_files_name_the_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(sv.SievertError, match=message):
        loaded = scenario(tmp_path, text)
        assert loaded.policy is not None
        assert loaded.channel is not None
        assert len(loaded.prior) == 3
        assert loaded.gains


PERMITTED = {
    "{ total = 3 }": 7,
    "{ total = 1.5, weights = { 0 = 0, 1 = 0.5, 2 = 1.0 } }": 7,
    "{ total = 3, weights = [1, 1, 0] }": 6,
    "{ histogram = { 0 = 1, 2 = 2 } }": 3,
    "{ counts = { 1 = 2 } }": 6,
    "{ total = 3, counts = { 1 = 1 } }": 6,
    "[{ total = 3 }, { counts = { 1 = 3 } }]": 1,
    "{ databases = 'possible.csv' }": 2,
}


@pytest.mark.parametrize("permitted, size", PERMITTED.items())
def test_public_knowledge(tmp_path: Path, permitted: str, size: int) -> None:
    (tmp_path / "possible.csv").write_text("first,second,third\n0,1,2\n2,1,0\n")
    text = f"version = 1\n[policy]\nvalues = [0, 1, 2]\nrecords = 3\npermitted = {permitted}\n"
    loaded = scenario(tmp_path, text)
    assert loaded.policy.size == len(list(loaded.policy.databases())) == size
    sv.save(loaded, tmp_path / "again.toml")
    assert load_policy_scenario(tmp_path / "again.toml").policy.size == size


def test_a_record_of_which_some_values_are_possible(tmp_path: Path) -> None:
    (tmp_path / "possible.csv").write_text("value\na\nc\n")
    text = LOCAL.replace("[mechanism]", 'permitted = { databases = "possible.csv" }\n[mechanism]')
    loaded = scenario(tmp_path, text)
    assert loaded.channel.inputs == ("a", "c")
    assert [float(p) for p in loaded.prior] == [0.5, 0.5]
    assert sv.audit(loaded).record.after == pytest.approx(0.75)
    weighted = scenario(tmp_path, text + "[adversary]\nrecord_prior = [0.2, 0.2, 0.6]\n")
    assert [float(p) for p in weighted.prior] == pytest.approx([0.25, 0.75])
    known = scenario(tmp_path, text + "[adversary]\nprior = [0.25, 0.75]\n")
    assert [float(p) for p in known.record_prior] == [0.25, 0, 0.75]
    with pytest.raises(FileError, match="no permitted value is possible"):
        _ = scenario(tmp_path, text + "[adversary]\nrecord_prior = [0.0, 1.0, 0.0]\n").prior


def test_public_knowledge_about_attributes_and_text_values(tmp_path: Path) -> None:
    text = """
    version = 1
    [policy]
    values = [["f", "01"], ["f", "1"], ["m", "01"]]
    records = 2
    permitted = [{ counts = { f = 1 }, attribute = 0 }, { counts = { "01" = 1 }, attribute = 1 }]
    """
    policy = scenario(tmp_path, text).policy
    assert list(policy.databases()) == [(("f", "1"), ("m", "01")), (("m", "01"), ("f", "1"))]


def test_a_file_of_databases_must_fit_the_policy(tmp_path: Path) -> None:
    text = 'version = 1\npolicy = { values = [0, 1], records = 2, permitted = { databases = "d.csv" } }\n'
    (tmp_path / "d.csv").write_text("a,b,c\n0,1,1\n")
    with pytest.raises(FileError, match=r"d\.csv: has 3 columns but a database has 2 records"):
        _ = scenario(tmp_path, text).policy
    (tmp_path / "d.csv").write_text("a,b\n0,1\n0,7\n")
    with pytest.raises(FileError, match=r"d\.csv, line 3: '7' is not one of 0, 1"):
        _ = scenario(tmp_path, text).policy


def test_a_matrix_must_fit_the_answers(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\n0,1/2,1/2\n")
    with pytest.raises(FileError, match="no row for 1"):
        _ = scenario(
            tmp_path, 'version = 1\npolicy = { values = [0, 1] }\nmechanism = { matrix = "c.csv" }\n'
        ).channel


def test_a_channel_file_is_no_scenario(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\n0,1/2,1/2\n")
    with pytest.raises(FileError, match="TOML"):
        load_policy_scenario(tmp_path / "c.csv")


def test_a_file_saved_elsewhere_names_the_same_files(tmp_path: Path) -> None:
    """A ledger or a map that a copy named anew would be another one."""
    (tmp_path / "points.csv").write_text("label,x,y\na,0,0\nb,3,4\n")
    path = tmp_path / "file.toml"
    path.write_text(
        'version = 1\n[policy]\nsecrets = { metric = "euclidean", points = "points.csv" }\n'
        '[data]\ninput = "data.csv"\n[release]\nledger = "budget.toml"\noutput = "out.csv"\n'
    )
    (tmp_path / "below").mkdir()
    moved = sv.load(sv.save(sv.load(path), tmp_path / "below" / "copy.toml"))
    assert moved.policy.values == ("a", "b")
    assert moved.document.data.input == "../data.csv"
    assert moved.document.release.ledger == "../budget.toml"
    assert moved.document.release.output == "out.csv"


def test_every_text_is_written_so_that_it_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text('version = 1\n[policy]\nvalues = ["\\u007f", "\\u0000", "\\"", "é"]\n', encoding="utf-8")
    saved = sv.load(sv.save(sv.load(path), tmp_path / "copy.toml"))
    assert saved.policy.values == ("\x7f", "\0", '"', "é")


def test_what_is_wrong_with_the_query_is_not_said_of_the_mechanism(tmp_path: Path) -> None:
    text = """
    version = 1
    policy = { values = { product = [["x", "y"], [0, 1]] }, records = 2 }
    query = { kind = "histogram", by = "n" }
    mechanism = { kind = "geometric", alpha = 0.5 }
    data = { input = "data.csv", column = ["c", "n"] }
    """
    # Noise in the cells of a marginal needs no list; one that is chosen among all answers does.
    assert scenario(tmp_path, text).claimed_eps == pytest.approx(2 * math.log(2))
    with pytest.raises(FileError, match="query: by: a histogram by n"):
        _ = scenario(tmp_path, text.replace('"geometric"', '"exponential"')).channel
