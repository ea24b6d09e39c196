"""Tables over data: counts, sums and histograms with policy-specific noise."""

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import sievert as sv
from sievert.errors import BudgetError, DataError, FileError, LedgerError, SievertError
from sievert.estimation import nearest_table
from sievert.files import PolicyScenario, ReleaseModel, load_policy_scenario
from sievert.mechanisms import geometric_table_noise
from sievert.observations import likelihood_of
from sievert.release import make_plan

INCOMES = ["very low", "low", "middle", "high", "very high"]
COUNT = """version = 1
[policy]
values = ["very low", "low", "middle", "high", "very high"]
records = 6
[query]
kind = "count"
where = ["very low", "low"]
[mechanism]
kind = "truncated-geometric"
eps = 0.5
[data]
input = "data.csv"
column = "income"
[release]
ledger = "budget.toml"
output = "out.csv"
"""


def scenario(folder: Path, text: str, rows: list[str], column: str = "income", budget: str = "person = 3.0"):
    (folder / "data.csv").write_text("\n".join([column, *rows]) + "\n", encoding="utf-8")
    (folder / "budget.toml").write_text(budget)
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return load_policy_scenario(folder / "file.toml")


def seeded_run(described: PolicyScenario, *, seed: int, **options: Any) -> sv.results.Release:
    """Release as a test: the file with a seed of its own."""
    rules = (described.document.release or ReleaseModel()).model_copy(update={"test_seed": seed})
    document = described.document.model_copy(update={"release": rules})
    return sv.release.run(dataclasses.replace(described, document=document), **options)


SIX = ["low", "low", "very low", "high", "middle", "very high"]


@pytest.mark.parametrize("wait", [Decimal(".5"), Fraction(1, 2), np.float32(0.5), 0])
def test_seconds_to_wait_are_any_number(tmp_path: Path, wait: Any) -> None:
    assert sv.release.run(scenario(tmp_path, COUNT, SIX), wait=wait).secure


def test_the_noise_is_that_of_the_audited_channel(tmp_path: Path) -> None:
    """200 000 draws against the channel's row; fails by chance once in a million (fixed seed)."""
    described = scenario(tmp_path, COUNT, SIX)
    drawn = make_plan(described).sampler(9).draw(np.full(200_000, 3))
    counts = np.bincount(drawn, minlength=7)
    assert chisquare(counts, described.channel.row(3) * 200_000).pvalue > 1e-6


def test_blowfish_policies_need_less_noise(tmp_path: Path) -> None:
    """Under complete secrets a sum of 0…10 moves by 10; if only neighbours are secret, by 1."""
    text = """version = 1
[policy]
values = {{ range = [0, 10] }}
secrets = {secrets}
records = 3
[query]
kind = "sum"
[mechanism]
kind = "truncated-geometric"
eps = 1
[data]
input = "data.csv"
column = "age"
"""
    steps = {}
    for secrets in (
        '"complete"',
        '"line"',
        "{ threshold = 3 }",
        "{ partition = [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9, 10]] }",
    ):
        body = text.format(secrets=secrets)
        if "partition" in secrets:
            body = body.replace("values = { range = [0, 10] }\n", "")
        plan = make_plan(scenario(tmp_path, body, ["1", "2", "3"], "age"))
        assert plan.sensitivity is not None
        steps[secrets[:6]] = plan.sensitivity.steps
        assert plan.sensitivity.steps == plan.scenario.query.sensitivity(plan.scenario.policy)
        assert plan.noise is not None
        assert plan.noise.written == ("eps", 1 / plan.sensitivity.steps)
    assert list(steps.values()) == [10, 1, 3, 3]


def test_irregular_answers_use_the_irregular_kernel(tmp_path: Path) -> None:
    text = COUNT.replace('["very low", "low", "middle", "high", "very high"]', "[0, 1, 5]").replace(
        'kind = "count"\nwhere = ["very low", "low"]', 'kind = "sum"'
    )
    described = scenario(tmp_path, text.replace("records = 6", "records = 2"), ["1", "5"])
    plan = make_plan(described)
    assert described.answers.labels == (0, 1, 2, 5, 6, 10)
    drawn = plan.sampler(3).draw_positions(np.full(100_000, 4))
    counts = np.bincount(drawn, minlength=6)
    assert chisquare(counts, described.channel.row(6) * 100_000).pvalue > 1e-6
    done = seeded_run(described, seed=1)
    assert done.table is not None and done.table.rows[0]["value"] in described.answers.labels


def test_the_files_own_channel(tmp_path: Path) -> None:
    labels = list(range(7))
    matrix = sv.mechanisms.truncated_geometric(7, alpha="1/2")
    sv.save(matrix, tmp_path / "channel.csv")
    text = COUNT.replace('kind = "truncated-geometric"\neps = 0.5', 'matrix = "channel.csv"\neps = 0.7')
    plan = make_plan(scenario(tmp_path, text, SIX))
    # ln 2, rounded up to nine digits: never charged too little.
    assert plan.eps == Fraction("0.693147181")
    assert list(plan.channel.inputs) == labels
    lying = text.replace("eps = 0.7", "eps = 0.6")
    with pytest.raises(FileError, match=r"claims ε = 0\.6 but only satisfies ε = 0\.693147"):
        make_plan(scenario(tmp_path, lying, SIX))
    for kind in ("exponential", "tight-constraints", "randomised-response"):
        other = COUNT.replace("truncated-geometric", kind)
        found = make_plan(scenario(tmp_path, other, SIX))
        assert found.eps <= Fraction("0.500000002")
        done = seeded_run(found.scenario, output=tmp_path / f"{kind}.csv", seed=1)
        assert done.table is not None and done.table.rows[0]["value"] in range(7)


def test_adjusted_tables_are_nearest() -> None:
    assert nearest_table([5, 5, 5], 15).tolist() == [5, 5, 5]
    assert nearest_table([-4, -9], 0).tolist() == [0, 0]
    assert nearest_table([10, 0, 0], 4).tolist() == [4, 0, 0]
    assert nearest_table([1, 1, 1], 10).tolist() == [4, 3, 3]
    for values in ([52, -3, 40, 14], [0, 0, 7], [3, 9, -2, 8, 8]):
        found = nearest_table(values, 20).tolist()
        assert sum(found) == 20 and min(found) >= 0
        squares = sum((a - b) ** 2 for a, b in zip(found, values, strict=True))
        for i in range(len(found)):
            for j in range(len(found)):
                if i != j and found[i] > 0:
                    moved = list(found)
                    moved[i] -= 1
                    moved[j] += 1
                    assert squares <= sum((a - b) ** 2 for a, b in zip(moved, values, strict=True))


def test_the_guess_from_a_histogram_is_that_of_its_channel() -> None:
    """The closed form against a channel over a window of integers, for three values."""
    eps, window = 0.7, 30
    decay = np.exp(-eps)
    reach = np.arange(-window, window + 1)
    noise = (1 - decay) / (1 + decay) * decay ** np.abs(reach)
    shifted = [np.where(np.arange(3) == v, 1, 0) for v in range(3)]
    rows = []
    for move in shifted:
        cells = [np.roll(noise, step) for step in move]
        rows.append(np.einsum("i,j,k->ijk", *cells).ravel())
    best = np.max(rows, axis=0).sum() / 3
    policy = sv.Policy.differential(3, 10)
    table = sv.Query.histogram().statistic(policy)
    assert table is not None
    guess = likelihood_of(
        geometric_table_noise(table, Fraction(1), Fraction("0.7")), np.full(3, 1 / 3)
    ).guess()
    assert guess.before == 1 / 3
    assert guess.guess == pytest.approx(best, rel=1e-8)


def test_preview_reads_no_data_and_spends_nothing(tmp_path: Path) -> None:
    described = scenario(tmp_path, COUNT, SIX)
    (tmp_path / "data.csv").unlink()
    found = sv.release.preview(described)
    assert found.possible and found.eps == Fraction(1, 2)
    assert found.remaining == 3 and found.remaining_after == Fraction(5, 2)
    assert found.expected_error == pytest.approx(1 / np.sinh(0.5))
    assert found.radius == 6
    assert not (tmp_path / "budget.ledger").exists()
    tight = scenario(tmp_path, COUNT, SIX, budget="person = 0.4")
    refused = sv.release.preview(tight)
    assert not refused.possible and "0.1 too little" in str(refused)
    (tmp_path / "out.csv").write_text("")
    assert "there already" in str(sv.release.preview(scenario(tmp_path, COUNT, SIX)))


def test_the_interval_radius_is_the_smallest(tmp_path: Path) -> None:
    for eps in ("0.05", "0.5", "3", "9"):
        plan = make_plan(scenario(tmp_path, COUNT.replace("eps = 0.5", f"eps = {eps}"), SIX))
        radius = plan.errors.radius
        decay = np.exp(-float(eps))
        beyond = [2 * decay ** (q + 1) / (1 + decay) for q in (int(radius), int(radius) - 1)]
        assert beyond[0] <= 0.05
        assert radius == 0 or beyond[1] > 0.05


def test_nothing_true_is_in_the_sidecar(tmp_path: Path) -> None:
    """Two data sets that differ give the same sidecar, up to id, hashes and the drawn table's hash."""
    contents = []
    for name, rows in (("a", SIX), ("b", ["high"] * 6)):
        folder = tmp_path / name
        folder.mkdir()
        done = seeded_run(scenario(folder, COUNT, rows), seed=1)
        content = json.loads(Path(done.sidecar).read_text())
        assert content.pop("id") == done.id
        content["output"].pop("sha256")
        content.pop("ledger")
        contents.append(content)
    assert contents[0] == contents[1]
    assert contents[0]["eps"] == {"exact": "1/2", "nats": 0.5, "for_one_record": "1/2"}
    assert contents[0]["mechanism"]["secure"] is False
    assert contents[0]["proof"]["sensitivity_steps"] == "1"


def test_persons_with_too_many_rows_are_refused(tmp_path: Path) -> None:
    text = COUNT.replace('column = "income"', 'column = "income"\nperson = "who"')
    rows = ["low,-1", "low,-2", "high,3", "high,4", "low,5", "low,3"]
    with pytest.raises(DataError, match="a person with 2 rows"):
        sv.release.run(scenario(tmp_path, text, rows, "income,who"))
    assert not (tmp_path / "budget.ledger").exists()
    two = text.replace("records = 6", "records = 6\nperson_records = 2")
    done = sv.release.run(scenario(tmp_path, two, rows, "income,who"))
    assert done.eps == 1 and done.secure


@pytest.mark.parametrize(
    "rows, column, message",
    [
        ([], "income", "has 0 rows but the policy protects 6"),
        (["low"], "income", "has 1 rows but the policy protects 6"),
        ([*SIX[:5], "rich"], "income", "row 6 has 'rich', which is not one of"),
        ([*SIX[:5], " "], "income", "row 6 has no value in the column 'income'"),
        (SIX, "wage", "has no column 'income', but wage"),
        ([*SIX[:5], "low,low"], "income", "row 6 has 2 fields but the header has 1"),
    ],
)
def test_bad_data_costs_nothing(tmp_path: Path, rows: list[str], column: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        sv.release.run(scenario(tmp_path, COUNT, rows, column))
    assert not (tmp_path / "budget.ledger").exists()
    assert not (tmp_path / "out.csv").exists()


def test_files_that_say_too_little(tmp_path: Path) -> None:
    described = scenario(tmp_path, COUNT, SIX)
    for removed, message in [
        ('ledger = "budget.toml"\n', "key release.ledger is missing"),
        ('column = "income"\n', "key data.column is missing"),
        ('kind = "truncated-geometric"\neps = 0.5\n', "key mechanism: give exactly one of kind"),
    ]:
        text = COUNT.replace(removed, "")
        with pytest.raises(FileError, match=message):
            sv.release.run(scenario(tmp_path, text, SIX))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="is empty"):
        sv.release.run(described, data=tmp_path / "empty.csv")
    with pytest.raises(FileError, match="no such file"):
        sv.release.run(described, data=tmp_path / "none.csv")
    with pytest.raises(FileError, match="infinite"):
        sv.release.run(scenario(tmp_path, COUNT.replace("eps = 0.5", "eps = inf"), SIX))
    assert not (tmp_path / "budget.ledger").exists()


def test_no_noise_at_eps_zero_and_little_at_a_large_one(tmp_path: Path) -> None:
    free = sv.release.run(
        scenario(tmp_path, COUNT.replace("eps = 0.5", "eps = 0"), SIX), output=tmp_path / "0.csv"
    )
    assert free.eps == 0 and free.table is not None
    assert free.table.rows[0]["value"] in (0, 6)
    with pytest.raises(SievertError, match="eps is 0"):
        kind = COUNT.replace("eps = 0.5", "eps = 0").replace("truncated-geometric", "geometric")
        sv.release.run(scenario(tmp_path, kind, SIX), output=tmp_path / "1.csv")
    text = COUNT.replace("eps = 0.5", "eps = 2.9999").replace("where = [", 'where = ["middle", ')
    done = sv.release.run(scenario(tmp_path, text, SIX), output=tmp_path / "2.csv")
    assert done.table is not None and abs(done.table.rows[0]["value"] - 4) <= 6


def test_data_frames(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    import polars

    frame = polars.DataFrame({"income": SIX})
    described = scenario(tmp_path, COUNT, [])
    done = seeded_run(described, data=frame, seed=1)
    again = seeded_run(scenario(tmp_path, COUNT, SIX), output=tmp_path / "again.csv", seed=1)
    assert done.table == again.table
    with pytest.raises(DataError, match="give a path, or a pandas, polars or pyarrow table"):
        sv.release.run(described, data=3, output=tmp_path / "third.csv")


def test_budget_is_per_person_and_per_column(tmp_path: Path) -> None:
    budget = "person = 3.0\n[columns]\nincome = 0.75"
    sv.release.run(scenario(tmp_path, COUNT, SIX, budget=budget))
    with pytest.raises(BudgetError, match="through the column 'income'") as refused:
        sv.release.run(scenario(tmp_path, COUNT, SIX, budget=budget), output=tmp_path / "second.csv")
    assert refused.value.difference == Fraction(1, 4)
    assert not (tmp_path / "second.csv").exists()


def test_units_of_epsilon_are_not_mixed(tmp_path: Path) -> None:
    sv.release.run(scenario(tmp_path, COUNT, SIX))
    text = COUNT.replace("records = 6", "").replace(
        'kind = "count"\nwhere = ["very low", "low"]', 'kind = "record"'
    )
    text = text.replace(
        '["very low", "low", "middle", "high", "very high"]', '[0, 1, 2]\nsecrets = { metric = "line" }'
    )
    with pytest.raises(LedgerError, match="they cannot be added"):
        sv.release.run(scenario(tmp_path, text, ["1"]), output=tmp_path / "second.csv")


@pytest.mark.parametrize(
    "text",
    [
        COUNT.replace('["very low", "low", "middle", "high", "very high"]', '{ file = "data.csv" }'),
        COUNT.replace("[data]", '[adversary]\nrecord_prior = "./data.csv"\n[data]'),
    ],
)
def test_a_domain_from_the_private_data_is_refused(tmp_path: Path, text: str) -> None:
    for attempt in (sv.release.preview, sv.release.run):
        with pytest.raises(FileError, match="is the private data; what is public must not be taken from it"):
            attempt(scenario(tmp_path, text, SIX))


def test_a_channel_drawn_in_floating_point_says_so(tmp_path: Path) -> None:
    text = COUNT.replace("truncated-geometric", "exponential").replace(
        'output = "out.csv"', 'output = "out.csv"\nsampler = "float"'
    )
    described = scenario(tmp_path, text, SIX)
    assert any("floating point" in warning for warning in sv.release.preview(described).warnings)
    done = sv.release.run(described)
    assert not done.secure and done.arithmetic == "float"
    assert "Drawn in floating point, as the file asks" in str(done)
    assert json.loads(Path(done.sidecar).read_text())["mechanism"]["arithmetic"] == "float"
    drawn = make_plan(described, tmp_path / "x.csv").sampler(1).draw_positions(np.full(50_000, 3))
    counts = np.bincount(drawn, minlength=7)
    assert chisquare(counts, described.channel.row(3) * 50_000).pvalue > 1e-6


def test_sensitivity_of_many_values_needs_no_pairs(tmp_path: Path) -> None:
    """Any two of 8001 salaries are neighbours: 32 million pairs, of which only the extremes matter."""
    text = COUNT.replace('["very low", "low", "middle", "high", "very high"]', "{ range = [100, 8100] }")
    text = text.replace('kind = "count"\nwhere = ["very low", "low"]', 'kind = "sum"')
    plan = make_plan(scenario(tmp_path, text, ["100"] * 6))
    assert plan.sensitivity is not None
    assert (plan.sensitivity.steps, plan.sensitivity.pair) == (8000, (100, 8100))
    assert sv.release.preview(plan.scenario).guess_before == pytest.approx(1 / 8001)


@pytest.mark.parametrize("query", ["sum", "histogram", "count"])
@pytest.mark.parametrize("values", [[0, 2, 4], [-3, 5], [1, 1.5], [7]])
def test_sensitivity_agrees_with_the_query(query: str, values: list[float], tmp_path: Path) -> None:
    where = f"where = {{ at_least = {values[-1]} }}" if query == "count" else ""
    text = COUNT.replace('["very low", "low", "middle", "high", "very high"]', str(values))
    text = text.replace('kind = "count"\nwhere = ["very low", "low"]', f'kind = "{query}"\n{where}')
    text = text.replace("truncated-geometric", "geometric")
    for adjacency in ("replace", "add-remove"):
        described = scenario(
            tmp_path, text.replace("records = 6", f'records = 6\nadjacency = "{adjacency}"'), ["1"]
        )
        plan = make_plan(described)
        assert plan.sensitivity is not None and plan.table is not None
        expected = described.query.sensitivity(described.policy)
        assert float(plan.sensitivity.steps * plan.table.step) == pytest.approx(expected)


def test_the_channel_that_realises_the_policys_distance(tmp_path: Path) -> None:
    text = COUNT.replace("records = 6", "").replace(
        'kind = "count"\nwhere = ["very low", "low"]', 'kind = "record"'
    )
    text = text.replace(
        '["very low", "low", "middle", "high", "very high"]', '[0, 1, 2]\nsecrets = { metric = "line" }'
    )
    text = text.replace('kind = "truncated-geometric"\neps = 0.5', 'kind = "metric-channel"')
    plan = make_plan(scenario(tmp_path, text, ["1"]))
    assert plan.words == "the channel whose distinguishability is the policy's distance"
    assert plan.eps == pytest.approx(1, abs=1e-8) and plan.eps >= 1


def test_intervals_of_numbers_cut_off_by_the_outputs_hold_the_truth(tmp_path: Path) -> None:
    """Outputs may be fewer than the possible answers; a number at their end says only "here or beyond"."""
    text = COUNT.replace("eps = 0.5", "eps = 2.0\noutputs = [2, 3, 4]")
    for rows in (["low"] * 6, ["high"] * 6):
        described = scenario(tmp_path, text, rows, budget="person = 100")
        truth = rows.count("low")
        intervals = []
        for seed in range(20):
            done = seeded_run(described, output=tmp_path / f"{truth}-{seed}.csv", seed=seed)
            assert done.table is not None
            (row,) = done.table.rows
            intervals.append((row["low"], row["high"]))
        # A right interval of 99 % misses more than two of 20 once in a thousand (fixed seeds).
        assert sum(low <= truth <= high for low, high in intervals) >= 18
    found = sv.release.preview(described, output=tmp_path / "unused.csv")
    assert "clamped to 2 … 4" in found.mechanism
    assert any("outside the outputs 2 … 4" in note for note in found.warnings)


def test_what_cannot_be_drawn_is_not_charged(tmp_path: Path) -> None:
    text = COUNT.replace('kind = "truncated-geometric"\neps = 0.5', 'kind = "geometric"\neps = 0.0')
    described = scenario(tmp_path, text, SIX)
    with pytest.raises(FileError, match=r"file\.toml.*eps is 0"):
        sv.release.run(described)
    assert not (tmp_path / "budget.ledger").exists()


def test_what_is_left_names_the_column_that_limits(tmp_path: Path) -> None:
    described = scenario(tmp_path, COUNT, SIX, budget="person = 3.0\n[columns]\nincome = 0.75\n")
    assert sv.release.preview(described).scarcest_column == "income"
    done = sv.release.run(described)
    assert done.remaining_through == (("income", Fraction(1, 4)),)
    assert str(done).endswith("2.5 of each person's budget is left, 0.25 through the column income.")


def test_secrets_narrower_than_a_step_promise_nothing(tmp_path: Path) -> None:
    """Salaries in steps of 500 with a threshold of 10: no two are secret, and nothing is said to be."""
    text = COUNT.replace('values = ["very low", "low", "middle", "high", "very high"]', VALUES).replace(
        'kind = "count"\nwhere = ["very low", "low"]', 'kind = "sum"'
    )
    found = sv.release.preview(scenario(tmp_path, text, ["500", "1000", "0"]))
    assert found.promise == "Nothing is promised: by this policy any two values may be told apart."
    assert "no two are protected from being told apart" in found.policy
    wider = text.replace("threshold = 10 ", "threshold = 1000 ")
    assert "e^(0.5·d)" in sv.release.preview(scenario(tmp_path, wider, ["500", "1000", "0"])).promise


VALUES = "values = { range = [0, 5000], step = 500 }\nsecrets = { threshold = 10 }"
