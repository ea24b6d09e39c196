"""A year of releases: plans and their slots, ledgers in ρ, and the page of a ledger."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from sievert.cli import main
from sievert.errors import BudgetError, FileError, LedgerError, OutputError
from sievert.ledger import RHO, Budget, Chain, Ledger, Reservation

MONTHS = "abcdefghijkl"
FILE = """version = 1
[policy]
values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
records = 12
%s
[query]
kind = "%s"%s
[mechanism]
kind = "%s"
%s
[data]
input = "data.csv"
column = "month"
[release]
ledger = "budget.toml"
output = "out.csv"
"""


def text(
    query: str = "histogram",
    kind: str = "geometric",
    level: str = "eps = 0.5",
    policy: str = "",
    more: str = "",
) -> str:
    return FILE % (policy, query, more, kind, level)


def office(folder: Path, budget: str = "person = 30.0", **described: str) -> Path:
    (folder / "data.csv").write_text("month\n" + "\n".join(MONTHS) + "\n")
    (folder / "budget.toml").write_text(budget + "\n")
    (folder / "file.toml").write_text(text(**described))
    return folder / "file.toml"


def weekly(folder: Path, **described: str) -> Path:
    """Another file of the same ledger."""
    path = folder / f"{len(list(folder.glob('*.toml')))}.toml"
    path.write_text(text(**described))
    return path


@pytest.fixture(autouse=True)
def instant_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def test_a_year_is_planned_charged_whole_and_composed_exactly(tmp_path: Path) -> None:
    """Budgets and statistics, 1.4 and 1.5: 52 weeks of a table of 12 cells at ε = 0.5."""
    file = office(tmp_path)
    planned = sv.release.plan(file, 52)
    assert (planned.count, planned.each, planned.total) == (52, Fraction(1, 2), 26)
    assert planned.eps == pytest.approx(14.322647414, abs=5e-10) and planned.exact
    assert (planned.added_eps, planned.remaining) == (26, 4)
    assert planned.guess == pytest.approx(0.575237886, abs=5e-10) and not planned.guess_is_bound
    preview = sv.release.preview(file)
    assert preview.possible and (preview.eps, preview.plan) == (0, planned.id)
    assert "has paid" in str(preview)
    for week in (1, 2):
        done = sv.release.run(file, output=tmp_path / f"{week}.csv")
        assert (done.eps, done.slot, done.plan, done.remaining) == (0, week, planned.id, 4)
    found = sv.release.account(tmp_path / "budget.toml")
    assert (found.spent, found.remaining, found.spent_eps) == (26, 4, 26)
    assert [(plan.count, plan.used) for plan in found.plans] == [(52, 2)]
    assert found.plans[0].eps == planned.eps
    assert [fit.more for fit in found.fits] == [8]
    two, twelve = found.guesses
    assert found.plans[0].guess == pytest.approx(0.575237886, abs=5e-10)
    assert (twelve.values, twelve.bound) == (12, "ρ of the plan")
    assert twelve.guess == pytest.approx(0.828852598, abs=5e-9)
    others = dict(twelve.others)
    assert others["Σε of all that was charged"] == pytest.approx(1.0, abs=1e-4)
    kov = "any releases of the plan's ε (Kairouz, Oh and Viswanath)"
    assert others[kov] == pytest.approx(0.891763, abs=5e-7)
    assert two.bound == "the plan's noise, composed exactly"


def test_what_the_planned_table_tells_is_no_bound_for_other_queries(tmp_path: Path) -> None:
    """One count 12 times hardly finds one value of 12; 12 different counts in the same slots do."""
    file = office(tmp_path, query="count", more='\nwhere = ["a"]', level="eps = 2.0")
    planned = sv.release.plan(file, 12)
    for number, value in enumerate(MONTHS):
        other = weekly(tmp_path, query="count", more=f'\nwhere = ["{value}"]', level="eps = 2.0")
        assert sv.release.run(other, output=tmp_path / f"{number}.csv").plan == planned.id
    response = math.exp(2) / (1 + math.exp(2))
    # Guess one of the k values whose counts came out above those of the other records.
    chances = [math.comb(11, k - 1) * (1 - response) ** (k - 1) * response ** (12 - k) for k in range(1, 13)]
    best = sum(response * chance / k for k, chance in enumerate(chances, 1))
    assert planned.guess is not None and planned.guess < 0.17 < best
    found = sv.release.account(tmp_path / "budget.toml")
    assert found.plans[0].guess == planned.guess
    assert all(guess.guess >= best for guess in found.guesses if guess.values == 12)


def test_a_release_beside_the_plan_leaves_only_sums(tmp_path: Path) -> None:
    file = office(tmp_path)
    sv.release.plan(file, 4)
    other = weekly(tmp_path, query="count", more='\nwhere = ["a"]', level="eps = 1.0")
    done = sv.release.run(other)
    assert done.plan is None and done.eps == 1, "other noise is charged alone"
    found = sv.release.account(tmp_path / "budget.toml")
    assert found.spent == 3
    assert {guess.bound for guess in found.guesses} == {"Σε of all that was charged"}
    assert found.plans[0].eps is not None, "the curve of the plan alone"


def test_slots_run_out_and_failed_draws_use_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = office(tmp_path, "person = 1.2")
    planned = sv.release.plan(file, 2)
    with monkeypatch.context() as patch:
        patch.setattr(
            Reservation, "commit", lambda held, **noted: (_ for _ in ()).throw(OSError(5, "no disk"))
        )
        with pytest.raises(OutputError, match=f"charged \\(slot 1 of the plan {planned.id}\\)"):
            sv.release.run(file)
    done = sv.release.run(file)
    assert done.resumed and done.slot == 1, "the interrupted run is finished in its own slot"
    assert sv.release.run(file, output=tmp_path / "2.csv").slot == 2
    with pytest.raises(BudgetError, match=r"asks for ε = 0\.5 for each person but 0\.2 is left"):
        sv.release.run(file, output=tmp_path / "3.csv")
    assert Ledger.look(tmp_path / "budget.ledger").plans[0].free == 0


def test_a_slot_that_is_given_up_stays_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = office(tmp_path)
    sv.release.plan(file, 2)
    with monkeypatch.context() as patch:
        patch.setattr(
            Reservation, "commit", lambda held, **noted: (_ for _ in ()).throw(OSError(5, "no disk"))
        )
        with pytest.raises(OutputError):
            sv.release.run(file)
    assert sv.release.run(file, fresh=True).slot == 2


@pytest.mark.parametrize("count", [0, -1, 1.5, "52", None, True, 10**7])
def test_a_plan_of_no_slots_is_refused(tmp_path: Path, count: Any) -> None:
    file = office(tmp_path)
    with pytest.raises(LedgerError, match=r"plan is .*whole number"):
        sv.release.plan(file, count)
    assert not (tmp_path / "budget.ledger").exists()


def test_remembered_places_need_no_plan(tmp_path: Path) -> None:
    file = office(tmp_path)
    file.write_text(
        """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 48.85, west = 2.30, north = 48.86, east = 2.32, cell = 100 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
[data]
input = "data.csv"
column = ["lat", "lon"]
person = "who"
[release]
ledger = "budget.toml"
output = "out.csv"
stable = true
"""
    )
    with pytest.raises(FileError, match="are paid for once"):
        sv.release.plan(file, 3)
    file.write_text(file.read_text().replace("stable = true\n", ""))
    (tmp_path / "budget.toml").write_text("rho = 1\ndelta = 1e-6\n")
    with pytest.raises(LedgerError, match="places have their ε for each metre"):
        sv.release.plan(file, 3)


def test_a_plan_beyond_the_budget_is_refused_whole(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match=r"this plan of 61 releases asks for ε = 30\.5"):
        sv.release.plan(office(tmp_path), 61)
    assert not (tmp_path / "budget.ledger").exists()


def test_an_edited_slot_is_noticed(tmp_path: Path) -> None:
    """A chain that is whole but uses a slot twice, or one that is none."""
    file = office(tmp_path)
    planned = sv.release.plan(file, 2)
    sv.release.run(file)
    for slot in (0, 2, -1, "0"):
        path = tmp_path / "budget.ledger" / "ledger.jsonl"
        before = path.read_bytes()
        chain = Chain.read(path)
        record = next(r for r in chain.records if r["kind"] == "reserve")
        chain.append({**record, "id": "again", "slot": slot, "plan": planned.id})
        with pytest.raises(LedgerError, match="each slot is used once"):
            _ = Ledger.look(tmp_path / "budget.ledger").spent
        path.write_bytes(before)


def test_slots_are_taken_under_the_lock(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path / "b", Budget(Fraction(3))) as ledger:
        planned = ledger.plan(1, Fraction(1), [], id="p", pair={"mark": "x"})
        ledger.reserve(Fraction(1), [], [tmp_path / "1.csv"], plan=planned.id)
        with pytest.raises(LedgerError, match="has 1 slots and all are used"):
            ledger.reserve(Fraction(1), [], [tmp_path / "2.csv"], plan=planned.id)
        with pytest.raises(LedgerError, match="none of this ledger's plans"):
            ledger.reserve(Fraction(1), [], [tmp_path / "2.csv"], plan="q")
        with pytest.raises(LedgerError, match="which this ledger has used"):
            ledger.plan(1, Fraction(1), [], id="p")
        assert ledger.spent == 1


# ── ρ ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("eps", "rho"), [(3, 0.185069840), (1, 0.024355970)])
def test_a_budget_at_delta_is_stored_as_rho(tmp_path: Path, eps: int, rho: float) -> None:
    """1.1: the largest ρ whose conversion is at most ε, rounded down."""
    (tmp_path / "budget.toml").write_text(f"eps = {eps}\ndelta = 1e-6\n")
    budget = Budget.read(tmp_path / "budget.toml")
    assert budget.currency is RHO and float(budget.limit) == pytest.approx(rho, abs=1e-9)
    from sievert.ledger import epsilon_of, largest_rho

    assert epsilon_of(budget.limit, Fraction(1, 10**6)) <= eps
    assert budget.limit == largest_rho(Fraction(eps), Fraction(1, 10**6))
    for level, least in ((Fraction(1, 10), 2.141938928), (Fraction(1, 2), 5.221534445)):
        assert epsilon_of(level, Fraction(1, 10**6)) == pytest.approx(least, abs=5e-9)


def test_a_ledger_in_rho_charges_what_a_release_costs(tmp_path: Path) -> None:
    """1.2: a table costs ε·tanh(ε/4), Gaussian noise Δ²/2σ²; the promise is that of the limit."""
    file = office(tmp_path, "rho = 0.185\ndelta = 1e-6")
    done = sv.release.run(file, output=tmp_path / "1.csv")
    assert done.symbol == "ρ" and float(done.eps or 0) == pytest.approx(0.062176501, abs=1e-9)
    gaussian = weekly(tmp_path, kind="gaussian", level="sigma = 4")
    assert sv.release.run(gaussian, output=tmp_path / "2.csv").eps == Fraction(1, 16)
    found = sv.release.account(tmp_path / "budget.toml")
    assert (found.currency, found.spent_eps) == ("rho", None)
    assert found.limit_eps == pytest.approx(2.9993, abs=1e-3)
    assert {guess.bound for guess in found.guesses} == {"ρ of the limit"}
    assert f"ε = {found.limit_eps:.6g} at δ = 1e-06" in str(found)
    record = Ledger.look(tmp_path / "budget.ledger").entries[-1].record
    assert record["eps"] is None and record["cost"] == "1/16" and record["pair"] == ["'a'", "'b'"]


def test_sums_of_epsilon_hold_in_a_ledger_in_rho(tmp_path: Path) -> None:
    """1.4: 12 weeks: Σε = 6 is less than the 6.5586 that ρ gives, and both are shown."""
    file = office(tmp_path, "rho = 1\ndelta = 1e-6")
    planned = sv.release.plan(file, 12)
    assert float(planned.total) == pytest.approx(0.746118011, abs=1e-9)
    assert planned.rho_eps == pytest.approx(6.5586, abs=5e-5)
    assert planned.added_eps == 6
    assert planned.eps == pytest.approx(5.467687544, abs=5e-10)
    assert sv.release.account(tmp_path / "budget.toml").spent_eps == 6


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("person = 1\nrho = 1\ndelta = 1e-6", "keys person and rho are two budgets"),
        ("eps = 1\nrho = 1\ndelta = 1e-6", "keys rho and eps are two budgets"),
        ("person = 1\ndelta = 1e-6", "key delta goes with rho or eps"),
        ("rho = 1", "key delta is missing"),
        ("rho = 0\ndelta = 1e-6", "key rho is 0; it must be above 0"),
        ("rho = -1\ndelta = 1e-6", "key rho is -1; it must be a number"),
        ("rho = inf\ndelta = 1e-6", "key rho is inf; it must be a number"),
        ("eps = 1\ndelta = 0", "key delta is 0; it must be above 0 and below 1"),
        ("eps = 1\ndelta = 1", "key delta is 1; it must be above 0 and below 1"),
        ("eps = 1e-9\ndelta = 1e-12", "no ρ of at least 1e-12"),
        ("person = 1\nrhoo = 2", r"key rhoo is unknown \(did you mean 'rho'\?\)"),
        ("person = 1\ncontinues = 3", "key continues is 3; name the budget file"),
        ("delta = 1e-6", "key person is missing"),
    ],
)
def test_budgets_that_are_none(tmp_path: Path, budget: str, message: str) -> None:
    file = office(tmp_path, budget)
    with pytest.raises((FileError, LedgerError), match=message):
        sv.release.run(file)
    assert not (tmp_path / "budget.ledger").exists()


def test_what_does_not_go_with_a_ledger_is_refused_before_data_is_read(tmp_path: Path) -> None:
    file = office(tmp_path, kind="gaussian", level="sigma = 2")
    (tmp_path / "data.csv").write_text("month\nnone of them\n")
    with pytest.raises(LedgerError, match="keeps no ε, and a ledger in ε cannot add it up"):
        sv.release.run(file)
    with pytest.raises(LedgerError, match="keeps no ε, and a ledger in ε cannot add it up"):
        sv.release.plan(file, 3)
    (tmp_path / "budget.toml").write_text("rho = 1\ndelta = 0.1")
    with pytest.raises(LedgerError, match=r"delta is 0.1 and there may be 12 records; a δ of 1/records"):
        sv.release.run(file)


# ── one ledger continues another ────────────────────────────────────────────────────────────────────────────


def test_a_ledger_in_epsilon_is_continued_in_rho(tmp_path: Path) -> None:
    """1.6: the old one is closed, and ε·tanh(ε/2) of each of its releases is charged first."""
    file = office(tmp_path)
    for week in (1, 2):
        sv.release.run(file, output=tmp_path / f"{week}.csv")
    (tmp_path / "next.toml").write_text('rho = 1\ndelta = 1e-6\ncontinues = "budget.toml"\n')
    later = tmp_path / "later.toml"
    later.write_text(text().replace('"budget.toml"', '"next.toml"').replace('"out.csv"', '"later.csv"'))
    carried = 2 * 0.122459331  # ε·tanh(ε/2) at 1/2
    before = sv.release.preview(later)
    assert float(before.remaining or 0) == pytest.approx(1 - carried, abs=1e-8), "nothing is closed yet"
    assert not Ledger.look(tmp_path / "budget.ledger").closed
    sv.release.run(later)
    found = sv.release.account(tmp_path / "next.toml")
    assert float(found.spent) == pytest.approx(carried + 0.062176501, abs=1e-8)
    assert found.spent_eps == Fraction(3, 2)
    old = Ledger.look(tmp_path / "budget.ledger")
    assert old.closed and old.remaining()[None] == 0 and old.eps_spent == 1
    opening = Ledger.look(tmp_path / "next.ledger").chain.records[0]
    assert opening["continues"] == old.head and opening["carries"] == 1
    with pytest.raises(LedgerError, match="is closed, and another ledger continues it"):
        sv.release.run(file)
    assert "is closed" in str(sv.release.account(tmp_path / "budget.toml"))


def test_an_interrupted_continuation_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the opening and before what is carried over is charged: the next use charges it."""
    with Ledger.hold(tmp_path / "a.ledger", Budget(Fraction(3))) as ledger:
        ledger.reserve(Fraction(1), ["x"], [tmp_path / "1.csv"])
        ledger.plan(2, Fraction(1, 2), ["y"], pair={"mark": ""})
    (tmp_path / "a.toml").write_text("person = 3")
    (tmp_path / "b.toml").write_text('person = 5\ncontinues = "a.toml"')
    budget = Budget.read(tmp_path / "b.toml")
    append, calls = Chain.append, []

    def killed(chain: Chain, body: Any) -> None:
        calls.append(body["kind"])
        if "carried" in body:
            raise KeyboardInterrupt
        append(chain, body)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Chain, "append", killed)
        with Ledger.hold(tmp_path / "b.ledger", budget):
            pass
    assert Ledger.look(tmp_path / "b.ledger", budget).spent == 2, "a look counts what is missing"
    with pytest.raises(LedgerError, match="has yet to charge what it continues"):
        Ledger.look(tmp_path / "b.ledger")
    with Ledger.hold(tmp_path / "b.ledger", budget) as ledger:
        assert ledger.spent == 2 and ledger.spent_through() == {"x": 1, "y": 1}
    assert Ledger.look(tmp_path / "b.ledger").spent == 2


def test_what_cannot_be_carried_over(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path / "a.ledger", Budget(Fraction(1), {}, None, RHO, Fraction(1, 10**6))) as ledger:
        ledger.reserve(Fraction(1, 2), [], [tmp_path / "1.csv"], eps=None)
    (tmp_path / "a.toml").write_text("rho = 1\ndelta = 1e-6")
    for written, message in (
        ('person = 5\ncontinues = "a.toml"', "no ρ is a pure ε"),
        ('rho = 1\ndelta = 1e-6\nrelation = "add-remove"\ncontinues = "a.toml"', "is not known for those"),
        (
            'rho = 5\ndelta = 1e-6\ncontinues = "c.toml"',
            "so there is nothing to continue",
        ),
        ('rho = 2\ndelta = 1e-6\ncontinues = "a.toml"', "opened with rho = 1 .* raised after looking"),
        ('rho = 1\ndelta = 1e-6\ncontinues = "b.toml"', "continues itself"),
    ):
        (tmp_path / "b.toml").write_text(written)
        with (
            pytest.raises(LedgerError, match=message),
            Ledger.hold(tmp_path / "b.ledger", Budget.read(tmp_path / "b.toml")),
        ):
            pass
    assert not Ledger.look(tmp_path / "a.ledger").closed


def test_a_ledger_is_continued_once(tmp_path: Path) -> None:
    """Two ledgers that continue one would both spend what is left of it."""
    with Ledger.hold(tmp_path / "a.ledger", Budget(Fraction(3))) as ledger:
        ledger.reserve(Fraction(1), [], [tmp_path / "1.csv"])
    (tmp_path / "a.toml").write_text("person = 3")
    for name in ("b", "c"):
        (tmp_path / f"{name}.toml").write_text('person = 3\ncontinues = "a.toml"')
    first, second = (Budget.read(tmp_path / f"{name}.toml") for name in ("b", "c"))
    assert Ledger.look(tmp_path / "c.ledger", second).spent == 1
    with Ledger.hold(tmp_path / "b.ledger", first) as ledger:
        assert ledger.spent == 1
    (tmp_path / "moved").mkdir()
    for path in ("a.toml", "a.ledger", "b.toml", "b.ledger", "c.toml"):
        (tmp_path / path).rename(tmp_path / "moved" / path)
    moved = tmp_path / "moved"
    second = Budget.read(moved / "c.toml")
    with pytest.raises(LedgerError, match=r"is closed, and b\.ledger continues it; two would"):
        Ledger.look(moved / "c.ledger", second)
    with pytest.raises(LedgerError, match="would spend"), Ledger.hold(moved / "c.ledger", second):
        pass
    with Ledger.hold(moved / "b.ledger", Budget.read(moved / "b.toml")) as ledger:
        assert ledger.spent == 1
    with pytest.raises(LedgerError, match="would spend"):
        sv.release.account(moved / "c.toml")


def test_a_continued_ledger_keeps_its_relation(tmp_path: Path) -> None:
    """A release of people there or not is charged for any two values, as before."""
    sv.release.run(office(tmp_path), output=tmp_path / "1.csv")
    (tmp_path / "next.toml").write_text('person = 9\ncontinues = "budget.toml"\n')
    assert sv.release.account(tmp_path / "next.toml").about == "any two values of one person's records"
    later = tmp_path / "later.toml"
    later.write_text(
        text()
        .replace('"budget.toml"', '"next.toml"')
        .replace("records =", 'adjacency = "add-remove"\nrecords =')
    )
    done = sv.release.run(later)
    assert done.eps == 1, "twice the ε of a patient who is there or not"
    assert sv.release.account(tmp_path / "next.toml").spent == Fraction(3, 2)


def test_what_version_1_added_up_is_said_to_hold_for_less(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path / "a.ledger", Budget(Fraction(3))) as ledger:
        opening = {k: v for k, v in ledger.chain.records[0].items() if k not in ("relation", "currency")}
    (tmp_path / "a.ledger" / "ledger.jsonl").unlink()
    (tmp_path / "a.ledger" / "ledger.lock").unlink()
    chain = Chain.read(tmp_path / "a.ledger" / "ledger.jsonl", None)
    chain.append(opening | {"version": 1})
    with Ledger.hold(tmp_path / "a.ledger", Budget(Fraction(3))) as ledger:
        assert ledger.relation is None
        ledger.reserve(Fraction(1), [], [tmp_path / "1.csv"])
    (tmp_path / "a.toml").write_text("person = 3")
    (tmp_path / "b.toml").write_text('person = 3\nrelation = "replace"\ncontinues = "a.toml"')
    (tmp_path / "c.toml").write_text('person = 3\ncontinues = "b.toml"')
    with Ledger.hold(tmp_path / "b.ledger", Budget.read(tmp_path / "b.toml")):
        pass
    for name in ("b", "c"):
        about = sv.release.account(tmp_path / f"{name}.toml").about
        assert about.startswith("any two values of one person's records; of what "), about
        assert about.endswith(".ledger added up, pairs that are neighbours in every release")


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("plan", "cost", "-5"),
        ("plan", "cost", "1/0"),
        ("plan", "n", "3"),
        ("plan", "n", 0),
        ("plan", "columns", None),
        ("reserve", "cost", "-1"),
        ("reserve", "eps", "much"),
        ("reserve", "targets", None),
        ("open", "relation", None),
        ("open", "currency", []),
        ("open", "columns", []),
        ("open", "carries", "all"),
    ],
)
def test_forged_records_are_refused(tmp_path: Path, kind: str, key: str, value: Any) -> None:
    """The chain of hashes is made anew: what a record says must still be an amount, and not below nothing."""
    folder = tmp_path / "a.ledger"
    with Ledger.hold(folder, Budget(Fraction(3))) as ledger:
        ledger.plan(2, Fraction(1, 2), ["y"], pair={"mark": ""})
        ledger.reserve(Fraction(1), ["x"], [tmp_path / "1.csv"])
        records = ledger.chain.records
    for name in ("ledger.jsonl", "ledger.lock"):
        (folder / name).unlink()
    chain = Chain.read(folder / "ledger.jsonl", None)
    for record in records:
        chain.append(record | {key: value} if record["kind"] == kind else record)
    (tmp_path / "a.toml").write_text("person = 3")
    with pytest.raises(LedgerError, match=r"which this version does not know|a person has to look at it"):
        sv.release.account(tmp_path / "a.toml")


# ── on the command line ─────────────────────────────────────────────────────────────────────────────────────


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = office(tmp_path, "person = 2")
    for beside in (["--preview"], ["--output", tmp_path / "x.csv"], ["--insecure-seed", "0"], ["--fresh"]):
        assert run("release", file, "--plan", "3", *beside) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"{beside[0]} has no use beside it" in said and not (tmp_path / "budget.ledger").exists()
    assert run("release", file, "--plan", "3", "--id", "spring") == 0
    assert "Planned 3 releases as spring: ε = 1.5 is charged" in " ".join(capsys.readouterr().out.split())
    assert run("release", file, "--plan", "3") == 1 and run("release", file, "--plan", "0") == 2
    assert run("release", file) == 0
    assert "in slot 1 of the plan spring" in " ".join(capsys.readouterr().out.split())
    page = tmp_path / "page.html"
    assert run("ledger", tmp_path / "budget.toml", "--report", page) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "spring: 1 of 3 slots used" in said and "1 more of: discrete Laplace noise" in said
    assert "If every slot releases what it was planned with" in page.read_text()
    assert run("ledger", tmp_path / "budget.toml", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spent_exact"] == "3/2" and found["plans"][0]["used"] == 1
    assert run("ledger", tmp_path / "nothing.toml") == 2
    (tmp_path / "new.toml").write_text("person = 1")
    assert run("ledger", tmp_path / "new.toml") == 0
    assert "Nothing beyond chance yet" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["data", "output"])
def test_a_path_with_a_nul_is_named(tmp_path: Path, name: str) -> None:
    path = office(tmp_path)
    with pytest.raises(FileError, match=rf"^{name} is .*NUL"):
        sv.release.run(path, **{name: "a\0b"})
    assert not (tmp_path / "out.csv").exists()


def test_a_plan_of_several_tables_says_the_least_of_all_bounds(tmp_path: Path) -> None:
    """No move is largest in every cell: formerly ε = 2.6145, where ρ gives 2.6138 and it is 2.4366."""
    queries = [
        '[[query]]\nname = "people"\nkind = "histogram"\nby = "region"',
        '[[query]]\nname = "ages"\nkind = "sum"\nof = "age"',
        '[[query]]\nname = "means"\nkind = "mean"\nof = "age"\nby = "region"',
    ]
    (tmp_path / "budget.toml").write_text("rho = 0.2\ndelta = 1e-6\n")
    (tmp_path / "data.csv").write_text("region,age\nnorth,2\n")
    (tmp_path / "file.toml").write_text(
        "\n".join(
            [
                "version = 1",
                '[policy]\nvalues = { product = [["north", "south"], { range = [0, 99] }] }\nrecords = 400',
                *queries,
                '[mechanism]\nkind = "gaussian"\nrho = 0.012',
                '[data]\ninput = "data.csv"\ncolumn = ["region", "age"]',
                '[release]\nledger = "budget.toml"\noutput = "out.csv"\n',
            ]
        )
    )
    planned = sv.release.plan(tmp_path / "file.toml", 12)
    assert planned.eps == pytest.approx(2.436537, abs=1e-6) and planned.rho_eps is not None
    assert planned.eps < planned.rho_eps
    (shown,) = sv.release.account(tmp_path / "budget.toml").plans
    assert shown.eps == planned.eps and shown.eps_is_bound
