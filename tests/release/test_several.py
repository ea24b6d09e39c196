"""Several queries, means and quantiles in one file: their cost, their noise, what is released and refused."""

import csv
import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.channels import GeometricLaw, JointNoise, QuantileNoise
from sievert.errors import FileError, SievertError
from sievert.estimation import noisy_mean
from sievert.files import load_policy_scenario
from sievert.mechanisms import privacy
from sievert.policies import Policy, QuantileConfig
from sievert.proofs import JointNoiseProof, proof_from_dict
from sievert.report.release import page
from sievert.sampling import for_channel

AGES = """version = 1
[policy]
values = { range = [0, 99] }
secrets = SECRETS
records = 50
[[query]]
name = "adults"
kind = "count"
where = { at_least = 18 }
share = "1/2"
[[query]]
name = "total"
kind = "sum"
share = "1/2"
[mechanism]
kind = "geometric"
eps = 0.6
"""
PEOPLE = """version = 1
[policy]
values = { product = [["north", "south"], { range = [0, 20] }] }
records = 40
adjacency = "add-remove"
[[query]]
name = "people"
kind = "histogram"
by = "region"
[[query]]
name = "mean age"
kind = "mean"
of = "age"
[[query]]
name = "mean by region"
kind = "mean"
of = "age"
by = "region"
[[query]]
name = "median"
kind = "quantile"
q = 0.5
of = "age"
[[query]]
name = "sums"
kind = "sum"
of = "age"
by = "region"
[mechanism]
kind = "geometric"
eps = 50000.0
[data]
input = "data.csv"
column = ["region", "age"]
[release]
ledger = "budget.toml"
output = "out.csv"
"""
ROWS = [("north", 2), ("north", 4), ("south", 10), ("south", 20), ("north", 6)]


def written(folder: Path, text: str, budget: str = "person = 100000.0") -> Path:
    rows = "\n".join(f"{region},{age}" for region, age in ROWS)
    (folder / "data.csv").write_text(f"region,age\n{rows}\n", encoding="utf-8")
    (folder / "budget.toml").write_text(budget)
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return folder / "file.toml"


def several(folder: Path, text: str) -> JointNoise:
    found = load_policy_scenario(written(folder, text)).channel
    assert isinstance(found, JointNoise)
    return found


# ── Cost and shares ─────────────────────────────────────────────────────────────────────────────────────────


def test_shares_are_scaled_up_to_the_worst_pair(tmp_path: Path) -> None:
    # No age changes both by their most: 9→10 moves the sum alone, 17→18 both.
    line = several(tmp_path, AGES.replace("SECRETS", '"line"'))
    assert (line.joint.cost, line.joint.pair) == (Fraction(3, 5), (17, 18))
    ages = several(tmp_path, AGES.replace("SECRETS", '"line"').replace("at_least = 18", "at_least = 0"))
    # The count is the same for all: the sum gets all of ε.
    assert ages.joint.cost == Fraction(3, 5)
    assert ages.parts[1].written == ("eps", Fraction(3, 5))


def test_the_worked_histogram_count_and_sum(tmp_path: Path) -> None:
    decades = ", ".join(f'["{age // 10}0s", {age}]' for age in range(100))
    edges = ", ".join(f'[["{a // 10}0s", {a}], ["{(a + 1) // 10}0s", {a + 1}]]' for a in range(99))
    text = f"""version = 1
[policy]
values = [{decades}]
secrets = {{ edges = [{edges}] }}
records = 50
[[query]]
kind = "histogram"
by = "decade"
[[query]]
kind = "count"
where = {{ age = {{ at_least = 18 }} }}
[[query]]
kind = "sum"
of = "age"
[mechanism]
kind = "geometric"
eps = 0.9
[data]
input = "data.csv"
column = ["decade", "age"]
"""
    found = several(tmp_path, text)
    # Each at .3 would cost .6 for 9→10: scaled by 1.5.
    assert found.joint.cost == Fraction(9, 10)
    assert [part.written[1] for part in found.parts] == [Fraction(9, 40), Fraction(9, 20), Fraction(9, 20)]


@pytest.mark.parametrize("name", ["line", "complete"])
def test_the_audit_proves_the_joint_cost(tmp_path: Path, name: str) -> None:
    scenario = load_policy_scenario(written(tmp_path, AGES.replace("SECRETS", f'"{name}"')))
    found = sv.audit(scenario)
    assert found.satisfied
    assert found.proved
    assert found.exact_eps == Fraction(3, 5)
    assert found.together is not None
    assert found.together.cost == sum(table.cost_at_pair for table in found.together.tables)
    assert found.record.after <= record_bound(scenario)


def record_bound(scenario: sv.results.Audit) -> float:
    return float(sv.record_leakage(0.6, scenario.policy).after)


def test_proofs_survive_json_and_refuse_forgeries(tmp_path: Path) -> None:
    noise = several(tmp_path, AGES.replace("SECRETS", '"line"'))
    proof = JointNoiseProof.of(noise)
    assert proof is not None
    content = json.loads(json.dumps(proof.to_dict()))
    assert proof_from_dict(content).verify()
    # Less noise in one table, an ε that is too small, too large, another pair, a neighbour left unnamed.
    louder = json.loads(json.dumps(content))
    louder["tables"][0]["eps"] = "2/5"
    for forged in (
        louder,
        {**content, "eps": "1/2"},
        {**content, "eps": "7/10"},
        {**content, "pair": [0, 1]},
        {**content, "pair": [0, 50]},
        {**content, "tables": content["tables"][:1]},
    ):
        assert not proof_from_dict(forged).verify()


# ── Means, sums by group and quantiles over data ────────────────────────────────────────────────────────────


def test_with_hardly_any_noise_the_truth_comes_out(tmp_path: Path) -> None:
    done = sv.release.run(written(tmp_path, PEOPLE))
    with (tmp_path / "out.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    found = {(row["query"], row["region"]): float(row["value"]) for row in rows}
    assert found[("people", "north")] == 3
    assert found[("people", "south")] == 2
    assert found[("mean age", "")] == pytest.approx(8.4)
    assert found[("mean by region", "south")] == 15
    assert found[("median", "")] == 6
    assert found[("sums", "south")] == 30
    assert done.eps == 50000
    # The page shows every number, with or without an interval.
    assert "What is published" in page(done, load_policy_scenario(tmp_path / "file.toml"))
    # One reservation and one commit for all.
    ledger = (tmp_path / "budget.ledger" / "ledger.jsonl").read_text(encoding="utf-8")
    kinds = [json.loads(line)["b"]["kind"] for line in ledger.splitlines()]
    assert kinds == ["open", "reserve", "commit"]
    sidecar = json.loads((tmp_path / "out.csv.json").read_text(encoding="utf-8"))
    assert proof_from_dict(
        {k: v for k, v in sidecar["proof"].items() if k not in ("theorem", "attained_by", "costs")}
    ).verify()
    assert [table["name"] for table in sidecar["tables"]][:2] == ["people", "mean age: sum of age - 10"]


def test_a_mean_over_a_public_number_is_a_sum_in_smaller_steps(tmp_path: Path) -> None:
    text = PEOPLE[: PEOPLE.index("[[query]]")].replace('adjacency = "add-remove"\n', "").replace("40", "5")
    text += '[query]\nkind = "mean"\nof = "age"\n' + PEOPLE[PEOPLE.index("[mechanism]") :]
    noise = several(tmp_path, text)
    assert len(noise.parts) == 1
    assert noise.parts[0].statistic.step == Fraction(1, 5)
    done = sv.release.run(tmp_path / "file.toml")
    assert done.table is not None
    assert done.table.rows[0]["value"] == 8.4


def test_centring_halves_the_deviation_of_a_mean() -> None:
    """Both have the same range of 0 to 100 and ε: a sum that is not centred moves twice as far."""
    number = GeometricLaw(privacy(Fraction(1, 2), None))
    centred, plain = (GeometricLaw(privacy(Fraction(1, steps), None)) for steps in (100, 200))
    limits = (Fraction(0), Fraction(100))
    found = noisy_mean(Fraction(-2310), 1004, (centred, number), Fraction(1), limits, 0.95, Fraction(50))
    assert found.sd == pytest.approx(0.141003, abs=5e-7)
    other = noisy_mean(Fraction(-2310 + 50 * 1004), 1004, (plain, number), Fraction(1), limits, 0.95)
    assert other.value == pytest.approx(found.value, rel=1e-12)
    assert other.sd == pytest.approx(0.311527, abs=5e-7)


def test_a_grid_from_the_data_is_refused(tmp_path: Path) -> None:
    """The points of the data say who is there: a grid is public, and the data's own file is not."""
    text = PEOPLE.replace('q = 0.5\nof = "age"', 'q = 0.5\nof = "age"\ngrid = "data.csv"')
    with pytest.raises(FileError, match=r"data\.csv"):
        sv.release.run(written(tmp_path, text))
    assert not (tmp_path / "budget.ledger").exists()


# ── Quantiles: the worked law, every small database, OpenDP ─────────────────────────────────────────────────


def quantile(values: int, q: str, eps: int, adjacency: str = "replace") -> QuantileNoise:
    asked = QuantileConfig(q=q)
    policy = Policy.differential(values, 6, adjacency)
    table = asked.tables(policy, [])[0]
    assert table.order is not None
    far = max(table.order.q, 1 - table.order.q)
    if adjacency == "replace":
        return QuantileNoise(table.statistic, table.order, Fraction(eps), Fraction(1), Fraction(1, 2))
    return QuantileNoise(table.statistic, table.order, Fraction(eps), far, Fraction(1))


def counted(noise: QuantileNoise, records: tuple[int, ...], shift: int = 0) -> np.ndarray:
    totals = noise.statistic.totals()
    noise.statistic.add(totals, np.array(records, dtype=np.int64) + shift)
    return totals


def test_the_worked_quantile() -> None:
    noise = quantile(10, "1/2", 1)
    totals = counted(noise, (1, 2, 2, 5, 7, 8))
    assert (noise.order.scores(totals) / 2).tolist() == [3, 2, 0, 0, 0, 0, 1, 1, 2, 3]
    law = np.exp(noise.log_probabilities(totals))
    assert law[2:6] == pytest.approx([0.156370197] * 4, abs=1e-9)
    assert law[0] == pytest.approx(0.034890907, abs=1e-9)


def test_opendp_counts_ties_as_distance(oracle: Any) -> None:
    """Its scores are ours, doubled, where no record lies on the grid point; each that does adds one."""
    oracle("opendp")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    data = (1, 2, 2, 5, 7, 8)
    domain = dp.vector_domain(dp.atom_domain(T="i32"), size=6)
    theirs = dp.t.make_quantile_score_candidates(domain, dp.symmetric_distance(), list(range(10)), 0.5)
    noise = quantile(10, "1/2", 1)
    ours = noise.order.scores(counted(noise, data))
    assert theirs(list(data)) == [score + data.count(g) for g, score in enumerate(ours.tolist())]
    # One record replaced: 2 of the doubled units, our sensitivity 1.
    assert theirs.map(2) == noise.order.q.denominator * noise.sensitivity


def test_ranks_off() -> None:
    assert quantile(1001, "1/2", 1).ranks_off(0.95) == pytest.approx(19.81, abs=0.005)


@pytest.mark.parametrize("q", ["1/2", "1/4", "9/10"])
def test_no_pair_of_small_databases_exceeds_eps(q: str) -> None:
    noise, other = quantile(4, q, 1), quantile(4, q, 1, "add-remove")
    for size in range(1, 6):
        laws = {
            records: noise.log_probabilities(counted(noise, records))
            for records in product(range(4), repeat=size)
        }
        for records, law in laws.items():
            for value in range(4):
                changed = laws[(value, *records[1:])]
                assert np.abs(law - changed).max() <= 1 + 1e-12
            first = other.log_probabilities(counted(other, records, 1))
            fewer = other.log_probabilities(counted(other, records[1:], 1))
            assert np.abs(first - fewer).max() <= 1 + 1e-12


def test_quantiles_are_drawn_by_their_law() -> None:
    noise = quantile(10, "1/2", 2)
    totals = counted(noise, (1, 2, 2, 5, 7, 8))
    sampler, size = for_channel(noise, insecure_rng=3), 500
    drawn = np.bincount([int(sampler.draw(totals)[0]) for _ in range(size)], minlength=10)
    law = np.exp(noise.log_probabilities(totals))
    # Chi-squared with 9 degrees of freedom exceeds 40 with a chance below 1e-5.
    assert float((((drawn - size * law) ** 2) / (size * law)).sum()) < 40


# ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'share = "1/2"\n[[query]]\nname = "total"',
            'share = 0.2\n[[query]]\nname = "total"',
            "add up to 0.7",
        ),
        ('share = "1/2"\n[[query]]', "[[query]]", "give every .* a share, or none"),
        ('share = "1/2"\n[[query]]', "share = -1\n[[query]]", "must be a number above 0"),
        ('name = "total"', 'name = "adults"', "two queries are called 'adults'"),
        ('kind = "sum"', 'kind = "quantile"\nq = 1.0', "q must lie between 0 and 1"),
        ('kind = "sum"', 'kind = "quantile"\nq = 0.5\ngrid = [3, 1, 2]', "grid points must increase"),
        ('kind = "sum"', 'kind = "quantile"\nq = 0.5\ngrid = [3]', "has 1 point"),
        ('kind = "sum"', 'kind = "record"', "is not computed over all records"),
        ('kind = "sum"', 'kind = "median"', "quantile"),
        ('kind = "geometric"\neps = 0.6', 'kind = "geometric"\nalpha = "1/2"', "give eps, not alpha"),
        ('kind = "geometric"\n', 'kind = "exponential"\n', "is no noise for tables"),
    ],
)
def test_bad_input_is_refused_before_data_is_read(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = AGES.replace("SECRETS", '"line"')
    assert old in text
    file = written(tmp_path, text.replace(old, new))
    with pytest.raises(SievertError, match=message):
        load_policy_scenario(file).epsilon.nats  # noqa: B018


def test_a_quantile_alone_names_its_mechanism(tmp_path: Path) -> None:
    text = AGES.replace("SECRETS", '"complete"')
    alone = (
        text[: text.index("[[query]]")]
        + '[query]\nkind = "quantile"\nq = 0.5\n'
        + text[text.index("[mech") :]
    )
    with pytest.raises(FileError, match='use kind = "exponential"'):
        _ = load_policy_scenario(written(tmp_path, alone)).channel
    found = several(tmp_path, alone.replace('"geometric"', '"exponential"'))
    assert found.joint.cost == Fraction(3, 5)


def test_a_file_of_several_queries_is_written_as_it_was_read(tmp_path: Path) -> None:
    scenario = load_policy_scenario(written(tmp_path, PEOPLE))
    text = scenario.to_toml()
    assert text.count("[[query]]") == 5
    again = load_policy_scenario(written(tmp_path, text))
    assert again.document == scenario.document
