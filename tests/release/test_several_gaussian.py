"""Several queries with Gaussian noise, in budgets of ρ, for other relations, and in plans."""

import json
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.channels import GaussianLaw, GeometricLaw, JointNoise, rho_of_selection
from sievert.errors import SievertError
from sievert.files import load_policy_scenario
from sievert.limits import planned_claim
from sievert.mechanisms import privacy
from sievert.policies import Policy, Query, joint_moves
from sievert.questions.breach import breach_of
from sievert.report import ledger
from sievert.report.release import page as release_page

HEAD = """version = 1
[policy]
values = { product = [["north", "south"], { range = [0, 3] }] }
records = 40
POLICY
[[query]]
name = "people"
kind = "histogram"
by = "region"
[[query]]
name = "ages"
kind = "sum"
of = "age"
MORE
[mechanism]
MECHANISM
[data]
input = "data.csv"
column = ["region", "age"]
PERSON
[release]
ledger = "budget.toml"
output = "out.csv"
"""
MEDIAN = '[[query]]\nname = "median"\nkind = "quantile"\nq = 0.5\nof = "age"'
ROWS = [("north", 2, "a"), ("north", 1, "b"), ("south", 3, "c"), ("south", 0, "d")]


def written(
    folder: Path,
    mechanism: str,
    policy: str = 'adjacency = "add-remove"',
    more: str = "",
    budget: str = "rho = 1.0\ndelta = 1e-6",
    person: str = "",
    name: str = "file.toml",
) -> Path:
    rows = "\n".join(",".join(map(str, row)) for row in ROWS)
    (folder / "data.csv").write_text(f"region,age,person\n{rows}\n", encoding="utf-8")
    (folder / "budget.toml").write_text(budget, encoding="utf-8")
    text = HEAD.replace("POLICY", policy).replace("MORE", more).replace("MECHANISM", mechanism)
    (folder / name).write_text(text.replace("PERSON", person), encoding="utf-8")
    return folder / name


def several(path: Path) -> JointNoise:
    found = load_policy_scenario(path).channel
    assert isinstance(found, JointNoise)
    return found


# ── Shares of ρ ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_worked_shares_of_rho(tmp_path: Path) -> None:
    """Histogram by decade, adults and sum at ρ = .1 each cost 0.2 along the line: all are scaled by 1.5."""
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
kind = "gaussian"
rho = "3/10"
[data]
input = "data.csv"
column = ["decade", "age"]
"""
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    noise = several(tmp_path / "file.toml")
    unscaled = [Fraction(1, 20), Fraction(1, 10), Fraction(1, 10)]
    assert [part.law.rho_of(1) for part in noise.parts] == [Fraction(3, 2) * rho for rho in unscaled]
    assert (noise.joint_rho.cost, noise.joint_rho.pair) == (Fraction(3, 10), (("00s", 9), ("10s", 10)))
    # Two cells of the histogram, and the sum.
    assert 2 * unscaled[0] + unscaled[2] == Fraction(1, 5)


def test_the_audit_reads_rho_and_the_exact_epsilon(tmp_path: Path) -> None:
    found = sv.audit(load_policy_scenario(written(tmp_path, 'kind = "gaussian"\nrho = 0.1')))
    assert found.satisfied
    assert found.rho == Fraction(1, 10)
    assert found.together is not None
    assert (found.together.symbol, found.together.cost) == ("ρ", Fraction(1, 10))
    assert sum(table.cost_at_pair for table in found.together.tables) == Fraction(1, 10)
    assert found.promise is not None
    assert "and exactly ε" in found.promise.satisfied
    assert found.record.after < 0.27
    assert found.record.method == "bound: what any mechanism of this ρ allows after all releases"


def delta_of(laws: list[GaussianLaw], moves: list[int], eps: float) -> float:
    """δ(ε) by summing over all noise in two cells."""
    reach = np.arange(-120, 121)
    logs = [law.log_pmf(reach.astype(float)) for law in laws]
    moved = [law.log_pmf((reach - step).astype(float)) for law, step in zip(laws, moves, strict=True)]
    first, second = np.add.outer(*moved), np.add.outer(*logs)
    return float(np.maximum(np.exp(first) - np.exp(eps + second), 0).sum())


def test_eps_and_delta_are_kept_by_the_noise_itself(tmp_path: Path) -> None:
    noise = several(written(tmp_path, 'kind = "gaussian"\neps = 1.0\ndelta = 1e-4'))
    laws = [part.law for part in noise.parts]
    assert all(isinstance(law, GaussianLaw) for law in laws)
    # The largest move under add/remove: one cell of the histogram and the greatest age.
    assert [move.steps for move in noise.moves] == [((1,), (3,))]
    delta = delta_of(laws, [1, 3], 1.0)
    assert 0.99e-4 < delta <= 1e-4
    level = load_policy_scenario(tmp_path / "file.toml").analysis.epsilon_at(1e-4)
    assert level is not None
    assert 0.999 < level.nats <= 1 + 1e-9
    assert sv.audit(tmp_path / "file.toml").satisfied


def test_sigma_is_the_same_in_every_table(tmp_path: Path) -> None:
    noise = several(written(tmp_path, 'kind = "gaussian"\nsigma = 4'))
    assert noise.joint_rho.cost == Fraction(1 + 9, 32)


@pytest.mark.parametrize(
    ("mechanism", "more", "expected"),
    [
        ('kind = "gaussian"\nsigma = 4', MEDIAN, "mechanism.sigma: a quantile"),
        ('kind = "gaussian"\nrho = 1e9', "", "mechanism.rho"),
        ('kind = "laplace"\neps = 1.0', "", "mechanism"),
    ],
)
def test_refused(tmp_path: Path, mechanism: str, more: str, expected: str) -> None:
    with pytest.raises(SievertError, match=expected):
        _ = load_policy_scenario(written(tmp_path, mechanism, more=more)).channel


def test_shares_say_nothing_beside_sigma(tmp_path: Path) -> None:
    path = written(tmp_path, 'kind = "gaussian"\nsigma = 4')
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace('by = "region"', 'by = "region"\nshare = 0.5').replace("of = ", "share = 0.5\nof = ")
    )
    with pytest.raises(SievertError, match="shares say nothing"):
        _ = load_policy_scenario(path).channel


# ── In a ledger ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_release_is_charged_in_rho_once(tmp_path: Path) -> None:
    done = sv.release.run(written(tmp_path, 'kind = "gaussian"\nrho = 0.1', more=MEDIAN))
    lines = (tmp_path / "budget.ledger" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line)["b"] for line in lines]
    assert [record["kind"] for record in records] == ["open", "reserve", "commit"]
    # ρ of the median is below its share: it grows more slowly than ε².
    assert Fraction(99, 1000) < Fraction(records[1]["cost"]) <= Fraction(1, 10)
    assert done.table is not None
    assert set(done.table.column("query")) == {"people", "ages", "median"}
    sidecar = json.loads((tmp_path / "out.csv.json").read_text(encoding="utf-8"))
    assert [table["symbol"] for table in sidecar["tables"]] == ["ρ"] * 3


def test_a_quantile_in_rho_costs_what_its_losses_span(tmp_path: Path) -> None:
    noise = several(written(tmp_path, 'kind = "gaussian"\nrho = 0.1', "", MEDIAN))
    median = noise.parts[2]
    # A record that is replaced: its two positions cost as much as one selection of the same ε.
    assert 2 * median.cell_rho(1) == rho_of_selection(median.eps)
    alone = [rho_of_selection(eps) for eps in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))]
    assert all(2 * small <= large for small, large in pairwise(alone))


# ── Many releases ───────────────────────────────────────────────────────────────────────────────────────────


def test_breaches_are_followed_through_all_tables(tmp_path: Path) -> None:
    """Two values are told apart by the product of both tables' ratios: its law by summing over all noise."""
    scenario = load_policy_scenario(written(tmp_path, 'kind = "gaussian"\nrho = 0.1', ""))
    people, ages = (part.law for part in several(tmp_path / "file.toml").parts)
    found = breach_of(scenario, [1, 10])
    assert found.about_record
    assert found.found.success[1].exact
    assert found.found.success[1].value > found.found.success[0].value
    # Values are all combinations of both tables: the guess is a product.
    view = scenario.analysis
    assert found.found.success[0].value == pytest.approx(view.vulnerability().value, rel=1e-12)
    rates = found.found.rates
    assert rates.average.pair == (("north", 0), ("south", 3))
    reach = np.arange(-150.0, 151.0)

    def overlap(law: GaussianLaw, steps: int) -> float:
        return float(np.exp((law.log_pmf(reach) + law.log_pmf(reach - steps)) / 2).sum())

    # Noise is symmetric: Chernoff's bound is least halfway, where it is the overlap.
    assert 2**-rates.average.bits == pytest.approx(overlap(people, 1) ** 2 * overlap(ages, 3), rel=1e-9)
    assert 2**-rates.utility.bits == pytest.approx(max(overlap(people, 1) ** 2, overlap(ages, 1)), rel=1e-9)


def test_breaches_of_a_quantile_are_refused_with_the_reason(tmp_path: Path) -> None:
    scenario = load_policy_scenario(written(tmp_path, 'kind = "geometric"\neps = 0.5', more=MEDIAN))
    with pytest.raises(SievertError, match="depends on all other records"):
        breach_of(scenario, [1])


# ── Moves and plans ─────────────────────────────────────────────────────────────────────────────────────────


def test_moves_of_several_tables_by_brute_force() -> None:
    policy = Policy.differential(range(7), records=5)
    tables = [
        Query.histogram().statistic(policy),
        Query.count(lambda value: value >= 5).statistic(policy),
        Query.sum().statistic(policy),
    ]
    amounts = [(1, int(value >= 5), value) for value in range(7)]
    moves = {(1, 1, abs(a[1] - b[1]), abs(a[2] - b[2])) for a, b in combinations(amounts, 2)}
    largest = {
        one for one in moves if not any(one != two and all(map(int.__le__, one, two)) for two in moves)
    }
    found = {tuple(size for steps in move.steps for size in steps) for move in joint_moves(policy, tables)}
    assert found == {tuple(size for size in one if size) for one in largest}
    absent = joint_moves(policy, tables, absence=True)
    assert {move.steps for move in joint_moves(policy, tables)} <= {move.steps for move in absent}


def test_a_plan_of_several_queries_is_composed_exactly(tmp_path: Path) -> None:
    path = written(tmp_path, 'kind = "geometric"\neps = 0.8', budget="person = 10.0")
    found = sv.release.plan(path, 3)
    noise = several(path)
    people, ages = (part.law for part in noise.parts)
    assert found.total == Fraction(12, 5)
    assert found.exact
    expected = planned_claim([(people, 1), (ages, 3)], 3).epsilon(1e-6)
    assert found.eps == pytest.approx(expected, rel=1e-12)
    assert found.eps < float(found.total)
    done = [sv.release.run(path, output=tmp_path / f"{week}.csv") for week in range(3)]
    assert [one.slot for one in done] == [1, 2, 3]
    assert sv.release.account(tmp_path / "budget.toml").spent == Fraction(12, 5)


def test_a_slot_of_several_queries_takes_one_of_them(tmp_path: Path) -> None:
    path = written(tmp_path, 'kind = "geometric"\neps = 0.8', budget="person = 10.0")
    sv.release.plan(path, 2)
    people, ages = (part.law.eps_of(Fraction(1)) for part in several(path).parts)
    text = path.read_text(encoding="utf-8")
    head, rest = text[: text.index("[[query]]")], text[text.index("[mechanism]") :]
    single = tmp_path / "single.toml"
    for level, fits in ((people, True), (people / 2, False)):
        query = '[query]\nkind = "histogram"\nby = "region"\n'
        single.write_text(head + query + rest.replace("eps = 0.8", f"eps = {float(level)}"), encoding="utf-8")
        assert (sv.release.preview(single).plan is not None) == fits
    assert ages < people


def test_quantiles_stand_for_binary_response_in_a_plan(tmp_path: Path) -> None:
    path = written(tmp_path, 'kind = "geometric"\neps = 0.8', more=MEDIAN, budget="person = 10.0")
    found = sv.release.plan(path, 4)
    people, ages, median = several(path).parts
    laws = [(people.law, 1), (ages.law, 3), (GeometricLaw(privacy(median.eps, None)), 1)]
    assert found.eps == pytest.approx(planned_claim(laws, 4).epsilon(1e-6), rel=1e-12)
    assert not found.exact


# ── Pictures ────────────────────────────────────────────────────────────────────────────────────────────────


def test_pages_draw_what_was_spent_on_what(tmp_path: Path) -> None:
    path = written(tmp_path, 'kind = "geometric"\neps = 0.8', budget="person = 10.0")
    scenario = load_policy_scenario(path)
    assert "What each table costs" in release_page(sv.release.preview(scenario), scenario)
    done = sv.release.run(scenario)
    assert "What each table costs" in release_page(done, scenario)
    figure = ledger.content(sv.release.account(tmp_path / "budget.toml")).pictures[0].figure
    assert list(figure.data[0].x) == [0.8, 9.2]
    assert list(figure.layout.yaxis.ticktext) == [done.id, "left"]
