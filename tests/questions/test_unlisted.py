"""Tables, sums and maps that no list holds: every question answers, and audit ≤ explain ≤ limits."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError, SievertError
from sievert.files import PolicyScenario, load_policy_scenario
from sievert.questions.breach import breach_of
from sievert.questions.explain import explain_file
from sievert.questions.limits import limits_of

FILE = """version = 1
[policy]
values = {values}
{secrets}
records = {records}
{rest}
[query]
kind = "{query}"
[mechanism]
kind = "{kind}"
{level}
[adversary]
observations = {count}
{belief}
"""


def written(folder: Path, **parts: Any) -> PolicyScenario:
    given = {"secrets": "", "rest": "", "kind": "geometric", "level": "eps = 1.0", "count": 1, "belief": ""}
    (folder / "file.toml").write_text(FILE.format(**{**given, **parts}), encoding="utf-8")
    return load_policy_scenario(folder / "file.toml")


def answered(folder: Path, command: str, *options: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, [command, str(folder / "file.toml"), "--json", *map(str, options)])
    assert done.exit_code == 0, (done.output, done.exception)
    return dict(json.loads(done.output))


@pytest.mark.parametrize(
    ("parts", "guess"),
    [
        # "4997303121622286475 answers", "needs a channel", "45001 × 45000001 matrix"
        (
            {"values": "{ range = [1, 12] }", "records": 240, "query": "histogram", "level": "eps = 0.5"},
            0.106960164,
        ),
        (
            {
                "values": "{ product = [['a', 'b'], [1, 2, 3], [4, 5]] }",
                "records": 10**6,
                "query": "histogram",
            },
            None,
        ),
        (
            {
                "values": "{ range = [0, 45000] }",
                "records": 1000,
                "query": "sum",
                "kind": "truncated-geometric",
            },
            None,
        ),
        ({"values": "{ range = [0, 150000] }", "records": 300, "query": "sum"}, 9.99993333376e-06),
        ({"values": "{ range = [0, 1000], step = 100 }", "records": 10**6, "query": "sum"}, None),
    ],
)
def test_what_was_refused_is_answered(tmp_path: Path, parts: dict[str, Any], guess: float | None) -> None:
    scenario = written(tmp_path, **parts)
    found = answered(tmp_path, "audit")
    assert found["listed"] is False and found["proved"] is True and found["record"]["is_bound"] is False
    if guess is not None:
        assert found["record"]["after"] == pytest.approx(guess, rel=1e-8)
    assert 0 < found["database"]["bits"] <= found["worst"]["upper"]["bits"]
    assert answered(tmp_path, "explain")["explanation"]["after"] >= found["record"]["after"]
    assert answered(tmp_path, "limits")["used_bits"] == pytest.approx(found["database"]["bits"])
    curve = answered(tmp_path, "breach", "--observations", "1,3")["found"]["success"]
    assert curve["upper"][0] == pytest.approx(found["record"]["after"])
    compared = CliRunner().invoke(app, ["compare", scenario.source, scenario.source])
    assert compared.exit_code == 0, compared.output


def test_a_year_of_weekly_tables_of_months(tmp_path: Path) -> None:
    """The spec's table, and the bound that was said in its place."""
    for count, guess in ((4, 0.167128244), (52, 0.575237886)):
        scenario = written(
            tmp_path,
            values="{ range = [1, 12] }",
            records=240,
            query="histogram",
            level="eps = 0.5",
            count=count,
        )
        found = sv.audit(scenario)
        assert found.repeated_exact and found.repeated_guess == pytest.approx(guess, rel=1e-8)
        assert found.database is not None and found.database.bits == pytest.approx(31.409257265, rel=1e-10)
    # Four times ε = 0.5, added up, allows 40 %; composed exactly 27 %; the mechanism gives 16.7 %.
    assert math.exp(2) / (math.exp(2) + 11) == pytest.approx(0.4018, abs=1e-4)
    assert sv.explain(0.5, values=12, releases=4).after == pytest.approx(0.274, abs=1e-3)


def random_file(generator: np.random.Generator) -> dict[str, Any]:
    """A table, count or sum on some policy, too large to list or a histogram."""
    size = int(generator.integers(2, 6))
    query = str(generator.choice(["histogram", "sum"]))
    secrets = ['secrets = "complete"', 'secrets = "line"', "secrets = { threshold = 2 }"]
    if size > 3:
        secrets.append(f"secrets = {{ partition = [[0, 1], {list(range(2, size))}] }}")
    chosen, rest = str(generator.choice(secrets)), ""
    if "complete" in chosen and generator.random() < 0.4:
        rest = 'adjacency = "add-remove"'
    belief = ""
    if generator.random() < 0.5 and not rest:
        weights = generator.dirichlet(np.ones(size)).round(3)
        weights[0] += 1 - weights.sum()
        belief = f"record_prior = {[round(float(w), 3) for w in weights]}"
    return {
        "values": f"{{ range = [0, {size - 1}] }}",
        "records": 5 if query == "histogram" else 2000,
        "query": query,
        "secrets": chosen,
        "rest": rest,
        "kind": str(generator.choice(["geometric", "truncated-geometric"])),
        "level": f"eps = {round(float(generator.uniform(0.05, 2)), 2)}",
        "count": int(generator.integers(1, 5)),
        "belief": belief,
    }


@pytest.mark.parametrize("seed", range(25))
def test_audit_is_below_explain_and_that_below_limits(tmp_path: Path, seed: int) -> None:
    scenario = written(tmp_path, **random_file(np.random.default_rng(seed)))
    found, explained, limits = sv.audit(scenario), explain_file(scenario), limits_of(scenario)
    assert not found.listed and found.satisfied
    slack = 1 + 1e-9
    assert found.record.before <= found.record.after <= found.repeated_guess * slack
    assert found.repeated_guess <= explained.explanation.after * slack
    assert found.guess_limit is None or found.repeated_guess <= found.guess_limit * slack
    if found.observations == 1:
        bits = math.log2(explained.explanation.after / explained.explanation.before)
        assert bits <= limits.individual.upper.bits * slack
    assert limits.used_record_bits is None or limits.used_record_bits <= limits.individual.upper.bits * slack
    if found.database is not None and found.worst is not None:
        assert found.database.bits <= found.worst.upper.bits * slack
        assert found.worst.upper.bits <= limits.database.upper.bits * slack


def test_guesses_grow_with_eps_and_releases_and_not_with_names(tmp_path: Path) -> None:
    parts = {"values": "{ range = [0, 4] }", "records": 60, "query": "histogram"}
    grid = [
        [
            sv.audit(written(tmp_path, **parts, level=f"eps = {eps}", count=count)).repeated_guess
            for count in (1, 2, 8)
        ]
        for eps in (0.1, 0.5, 2.0)
    ]
    assert (np.diff(grid, axis=0) > 0).all() and (np.diff(grid, axis=1) > 0).all()
    belief = [0.4, 0.3, 0.15, 0.1, 0.05]
    first = sv.audit(written(tmp_path, **parts, belief=f"record_prior = {belief}", count=3))
    for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 17):
        moved = [belief[i] for i in order]
        again = sv.audit(written(tmp_path, **parts, belief=f"record_prior = {moved}", count=3))
        assert again.repeated_guess == pytest.approx(first.repeated_guess, rel=1e-12)


def test_public_knowledge_leaves_the_exact_guess(tmp_path: Path) -> None:
    """Three records of known total: given two of them the third is known, whatever is released."""
    parts = {"values": "[0, 1, 2]", "records": 3, "query": "histogram", "count": 2}
    found = sv.audit(written(tmp_path, **parts, rest="permitted = { total = 3 }"))
    assert found.record.before == found.record.after == 1.0 and not found.record.is_bound
    # One record of two is 0: whoever knows it is left with two equally likely values for the other.
    parts = {"values": "[0, 1, 2]", "records": 2, "query": "histogram"}
    scenario = written(tmp_path, **parts, rest='permitted = { counts = { "0" = 1 } }')
    found, alpha = sv.audit(scenario), math.exp(-scenario.channel.law.level.eps)
    none = (1 - alpha / (1 + alpha)) ** 2
    assert found.record.before == 0.5 and not found.record.is_bound
    assert found.record.after == pytest.approx(((1 - none) / alpha + alpha * none) / 2, rel=1e-12)


def test_a_person_with_several_records(tmp_path: Path) -> None:
    found = sv.audit(
        written(
            tmp_path, values="[0, 1, 2]", records=50, query="histogram", rest="person_records = 3", count=2
        )
    )
    assert found.person_records == 3 and found.repeated_eps == pytest.approx(6.0)


def test_a_count_over_a_hundred_million_people(tmp_path: Path) -> None:
    text = (
        'version = 1\n[policy]\nvalues = ["yes", "no"]\nrecords = 100000000\n[query]\nkind = "count"\n'
        'where = ["yes"]\n[mechanism]\nkind = "truncated-geometric"\nalpha = "1/2"\n[accept]\nguess = 0.75\n'
        "[adversary]\nobservations = 3\n"
    )
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    found = sv.audit(tmp_path / "file.toml")
    assert not found.listed and found.record.after == pytest.approx(2 / 3) and found.repeated_exact
    assert found.epsilon.nats == pytest.approx(math.log(2), rel=1e-15) and found.passed
    assert found.releases_within is not None and found.releases_within.releases == 4
    # The same mechanism on a list of 101 answers says the same of one record.
    (tmp_path / "file.toml").write_text(text.replace("100000000", "100"), encoding="utf-8")
    listed = sv.audit(tmp_path / "file.toml")
    assert listed.listed and listed.repeated_guess == pytest.approx(found.repeated_guess, rel=1e-9)


def test_marginals_are_tables_of_their_own(tmp_path: Path) -> None:
    text = """version = 1
[policy]
values = { product = [["x", "y"], [0, 1, 2]] }
records = 1000
[query]
kind = "histogram"
by = "n"
[mechanism]
kind = "geometric"
eps = 0.6
[data]
input = "data.csv"
column = ["c", "n"]
"""
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    found = sv.audit(tmp_path / "file.toml")
    # Values that share a cell are never told apart: three cells of one likeliest value each.
    assert found.guess_limit == pytest.approx(0.5) and found.record.before == pytest.approx(1 / 6)
    alone = sv.audit(
        written(tmp_path, values="[0, 1, 2]", records=1000, query="histogram", level="eps = 0.6")
    )
    assert found.record.after == pytest.approx(alone.record.after / 2, rel=1e-12)


def test_breaches_follow_the_guess(tmp_path: Path) -> None:
    scenario = written(tmp_path, values="{ range = [0, 4] }", records=60, query="histogram")
    found = breach_of(scenario, [1, 10])
    assert [point.exact for point in found.found.success.points] == [True, True]
    assert found.found.success.values.tolist() == pytest.approx([0.310266806, 0.668852823], rel=1e-8)
    # 2 ln cosh(ε′/2) in nats, at ε′ = 0.5.
    assert found.found.rates.utility.nats == pytest.approx(0.0618596072, rel=1e-8)
    half = found.until[0]
    assert half.least == half.most
    audited = [
        sv.audit(
            written(tmp_path, values="{ range = [0, 4] }", records=60, query="histogram", count=n)
        ).repeated_guess
        for n in (half.most - 1, half.most)
    ]
    assert audited[0] < 0.5 <= audited[1]


@pytest.mark.parametrize("query", ["histogram", "sum"])
@pytest.mark.parametrize("about", [["0"], ["1", "5"]])
def test_breach_about_some_values_of_a_record(tmp_path: Path, query: str, about: list[str]) -> None:
    """The listed release of one record is the same channel: levels agree, curves within their intervals."""
    belief = [0.4, 0.3, 0.2, 0.1]
    given = f"record_prior = {belief}"
    scenario = written(tmp_path, values="[0, 1, 2, 5]", records=900, query=query, belief=given)
    found = breach_of(scenario, [1, 2, 3], about, 0.3).found
    inside = [[0, 1, 2, 5].index(int(name)) for name in about]
    eps = 0.5 if query == "histogram" else 0.2
    if query == "sum":
        law = np.exp(-eps * np.abs(np.arange(-60, 66)[None, :] - np.array([0, 1, 2, 5])[:, None]))
        laws = law / law.sum(axis=1, keepdims=True)
    else:
        q = math.exp(-eps) / (1 + math.exp(-eps))
        sides = list(itertools.product([0, 1], repeat=4))
        laws = np.array(
            [
                [math.prod((1 - q if (s == (c == v)) else q) for c, s in enumerate(side)) for side in sides]
                for v in range(4)
            ]
        )
    joint = np.array(belief)[:, None] * laws
    after = joint[inside].sum(axis=0) / joint.sum(axis=0)
    assert found.predicate.highest == pytest.approx(after.max(), rel=1e-6)
    assert found.predicate.lowest == pytest.approx(after.min(), rel=1e-6)
    before = sum(np.array(belief)[inside])
    assert found.predicate.up_bits == pytest.approx(math.log2(after.max() / before), rel=1e-6)
    assert found.predicate.down_bits == pytest.approx(math.log2(before / after.min()), rel=1e-6)
    assert found.breach is not None and found.breach.predicate == tuple(map(int, about))
    met = joint[inside].sum(axis=0) * (after > before * 2**0.3)
    share = met.sum() / joint[inside].sum()
    assert found.breach.lower[0, 0] <= share <= found.breach.upper[0, 0]
    with pytest.raises(FileError, match="no input"):
        breach_of(scenario, [1], ["7"])
    with pytest.raises(FileError, match="not all of them"):
        breach_of(scenario, [1], ["0", "1", "2", "5"])


def test_a_belief_about_answers_needs_their_list(tmp_path: Path) -> None:
    scenario = written(
        tmp_path, values="[0, 1]", records=5, query="histogram", belief="prior = [0.5, 0.3, 0.2]"
    )
    with pytest.raises(FileError, match="is a belief about the answer"):
        sv.audit(scenario)


def test_noise_clamped_to_less_is_not_compared(tmp_path: Path) -> None:
    scenario = written(
        tmp_path,
        values="{ range = [0, 3] }",
        records=5000,
        query="sum",
        kind="truncated-geometric",
        level="eps = 1.0\noutputs = [0, 1, 2]",
    )
    done = CliRunner().invoke(app, ["compare", scenario.source, scenario.source])
    assert done.exit_code == 2 or isinstance(done.exception, FileError)
    assert "clamped to less than all answers" in str(done.exception or done.output)


OPEN = 'gains = ["identity", "shannon", "guessing", "closeness", "bayes-risk"]'


def test_an_adversary_without_an_answer_is_named(tmp_path: Path) -> None:
    parts = {"values": "{ range = [0, 150000] }", "records": 300, "query": "sum", "belief": OPEN}
    scenario = written(tmp_path, **parts)
    found = sv.audit(scenario)
    assert [item.name for item in found.leakages] == ["identity", "shannon", "guessing", "closeness"]
    assert all(item.exact for item in found.leakages)
    assert [item.name for item in found.unanswered] == ["bayes-risk"]
    assert all("150001" in item.reason or "22,500,300,001" in item.reason for item in found.unanswered)
    assert found.passed
    told = CliRunner().invoke(app, ["audit", scenario.source])
    assert told.exit_code == 0 and told.output.count("NOT KNOWN, because") == 1
    page = CliRunner().invoke(app, ["audit", scenario.source, "--report", str(tmp_path / "page.html")])
    assert page.exit_code == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("NOT KNOWN, because") >= 1
    assert [item["name"] for item in answered(tmp_path, "audit")["unanswered"]] == [
        item.name for item in found.unanswered
    ]


def test_an_adversary_without_an_answer_keeps_its_name(tmp_path: Path) -> None:
    """Values that lie on no line."""
    pairs = [[str(value) for value in range(150)], [str(value) for value in range(150)]]
    belief = 'gains = [{ within = 100, name = "to a hundred" }, { within = 7 }]'
    parts = {"values": f"{{ product = {pairs} }}", "records": 300, "query": "histogram", "belief": belief}
    found = sv.audit(written(tmp_path, **parts))
    assert not found.leakages
    assert [item.name for item in found.unanswered] == ["to a hundred", "within 7"]
    assert all("22500" in item.reason for item in found.unanswered)


def test_within_a_radius_of_a_long_line(tmp_path: Path) -> None:
    """A sum of 0…150000: the window around the output, of all equally likely values."""
    parts = {"values": "{ range = [0, 150000] }", "records": 300, "query": "sum", "count": 4}
    belief = 'gains = [{ within = 100, name = "to a hundred" }]'
    found = sv.audit(written(tmp_path, **parts, belief=belief))
    (item,) = found.leakages
    eps, size, radius = 1 / 150000, 150001, 100
    outputs = np.arange(size)
    first = np.clip(outputs - radius, 0, size - 1 - 2 * radius)
    sides = [-np.expm1(-eps * count) for count in (outputs - first, first + 2 * radius - outputs)]
    best = 1 + sum(sides) / math.expm1(eps)
    total = math.tanh(eps / 2) * (best.sum() + (best[0] + best[-1]) / math.expm1(eps)) / size
    assert item.name == "to a hundred" and item.exact and not found.unanswered
    assert item.before == pytest.approx(201 / size, rel=1e-12)
    assert item.after == pytest.approx(total, rel=1e-12) and item.after < item.repeated < 1
    assert not item.repeated_exact


def test_nothing_is_accepted_by_leaving_it_out(tmp_path: Path) -> None:
    parts = {"values": "{ range = [0, 150000] }", "records": 300, "query": "sum"}
    limited = "{}\n[accept]\nguess = 0.9"
    kept = sv.audit(written(tmp_path, **parts, belief=limited.format('gains = ["identity"]')))
    assert kept.passed and not kept.unanswered
    scenario = written(tmp_path, **parts, belief=limited.format(OPEN))
    found = sv.audit(scenario)
    assert all(check.passed for check in found.checks) and not found.passed
    assert "“bayes-risk” gains is not known" in str(found)
    assert CliRunner().invoke(app, ["audit", scenario.source]).exit_code == 1


MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.50, west = 13.36, north = 52.51, east = 13.38, cell = 300 }
[query]
kind = "record"
[mechanism]
kind = "planar-geometric"
eps = 0.003
[adversary]
observations = 4
"""


def test_a_simulation_stands_beside_a_bound(tmp_path: Path) -> None:
    """One release is exact, and more tell no less; the interval lies between that and the bound."""
    parts = {"values": "{ range = [0, 400] }", "records": 2000, "query": "sum", "level": "eps = 4"}
    found = sv.audit(written(tmp_path, **parts, count=40))
    assert not found.repeated_exact and found.simulated is not None and not found.record.is_bound
    assert found.simulated.releases == 40
    assert found.record.after < found.simulated.lower <= found.simulated.value <= found.simulated.upper
    assert found.simulated.lower <= found.repeated_guess
    assert answered(tmp_path, "audit")["simulated"]["value"] == found.simulated.value
    told = CliRunner().invoke(app, ["audit", str(tmp_path / "file.toml")]).output
    assert "(simulated: " in told and "99.9% interval, no" in told
    assert sv.audit(written(tmp_path, **parts, count=1)).simulated is None
    exact = {**parts, "values": "[0, 1, 3]", "level": "eps = 1.5"}
    known = sv.audit(written(tmp_path, **exact, count=5))
    assert known.repeated_exact and known.simulated is None


def test_a_simulation_stands_beside_the_bound_of_a_map(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(MAP, encoding="utf-8")
    found = sv.audit(tmp_path / "file.toml")
    assert not found.listed and not found.repeated_exact and found.simulated is not None
    assert found.record.after < found.simulated.upper and found.simulated.lower <= found.repeated_guess
    assert found.simulated.releases == 4


def test_breach_about_some_places_is_refused_with_the_nearest_question(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(MAP, encoding="utf-8")
    with pytest.raises(FileError, match=r"is not followed; leave --about out .* `sievert audit`"):
        breach_of(load_policy_scenario(tmp_path / "file.toml"), [1], ["(0, 0)"])


def test_breach_about_a_combination_of_columns(tmp_path: Path) -> None:
    pairs = "{ product = [['a', 'b'], [1, 2, 3]] }"
    scenario = written(tmp_path, values=pairs, records=900, query="histogram")
    found = breach_of(scenario, [1], ["('b', 2)"]).found
    assert found.breach is not None and found.breach.predicate == (("b", 2),)
    # ε′ = 1/2: in the best case e^(1/2)/(e^(1/2) + 5 e^(-1/2)).
    assert found.predicate.highest == pytest.approx(math.e / (math.e + 5))


def test_cut_off_noise_on_many_answers_with_gaps_names_the_other(tmp_path: Path) -> None:
    path = tmp_path / "gaps.toml"
    path.write_text(
        'version = 1\n[policy]\nvalues = [0, 1, 100, 1000, 5000]\nrecords = 1000\n[query]\nkind = "sum"\n'
        '[mechanism]\nkind = "truncated-geometric"\neps = 1.0\n',
        encoding="utf-8",
    )
    with pytest.raises(SievertError, match='use kind = "geometric"'):
        sv.audit(path)


def test_known_counts_of_groups_are_audited_without_a_list(tmp_path: Path) -> None:
    """Whoever knows the others knows a record's group, and its value where the group has no other."""
    groups = {"values": "[[0, 0], [0, 1], [4, 0], [4, 1]]", "query": "histogram"}
    groups["rest"] = "permitted = { counts = { 0 = 40, 4 = 60 }, attribute = 0 }"
    alone = {"values": "[9, 1, 2, 3]", "query": "sum", "rest": "permitted = { counts = { 9 = 40 } }"}
    for parts, steps, before in ((groups, 4, 1 / 2), (alone, 2, 1 / 3)):
        written(tmp_path, secrets='secrets = "complete"', records=100, **parts)
        found = answered(tmp_path, "audit")
        assert found["steps"] == steps and found["epsilon"]["nats"] == pytest.approx(1)
        assert found["record"]["before"] == pytest.approx(before)
    # Geometric noise of ε = 1/2 a step on 1, 2 and 3: two more answers beside the likeliest.
    assert found["record"]["after"] == pytest.approx((1 + 2 * math.tanh(1 / 4)) / 3)
