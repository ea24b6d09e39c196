"""What a release costs for the pairs of a ledger."""

from fractions import Fraction
from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import LedgerError
from sievert.ledger import ADD_REMOVE, REPLACE, RHO, Ledger
from sievert.release import make_plan
from sievert.release._neighbour_relations import cost, relation_of, slot_for
from tests.release.test_budget import ages, scenario
from tests.release.test_plans import office, weekly


def test_row_by_row_for_any_two_values(tmp_path: Path) -> None:
    """Geometric noise on a line of ten values: nine steps apart at most."""
    local = make_plan(scenario(tmp_path, ages('secrets = "line"'), [1]))
    assert cost(local, REPLACE).amount == Fraction("4.5")
    assert cost(local, relation_of(local)).amount == Fraction(1, 2)
    with pytest.raises(LedgerError, match="promises nothing"):
        cost(local, ADD_REMOVE)
    blocks = ages("secrets = { partition = [[0, 1], [2, 3]] }", noise="randomised-response")
    apart = make_plan(scenario(tmp_path, blocks.replace("values = { range = [0, 9] }\n", ""), [1]))
    with pytest.raises(LedgerError, match="promises nothing"):
        cost(apart, REPLACE)


def test_a_count_that_no_joined_values_move_still_tells_others(tmp_path: Path) -> None:
    """Joined values lie on one side of the condition: ε is for nobody, and any two values pay for a step."""
    text = ages(
        "secrets = { partition = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]] }\nrecords = 4",
        "count",
        "\nwhere = { at_least = 5 }",
    ).replace("values = { range = [0, 9] }\n", "")
    plan = make_plan(scenario(tmp_path, text, [1, 7, 3, 9]))
    assert plan.sensitivity is not None and plan.sensitivity.steps == 0
    assert cost(plan, REPLACE).amount == Fraction(1, 2)
    alpha = make_plan(scenario(tmp_path, text.replace("eps = 0.5", 'alpha = "1/3"'), [1, 7, 3, 9]))
    assert alpha.eps < Fraction(1, 10**8) and cost(alpha, REPLACE).amount == Fraction("1.098612289")


def test_a_slot_takes_no_larger_move(tmp_path: Path) -> None:
    """The same noise, and moves sorted by size no larger cell by cell; equal L1 is not enough."""
    values = 'values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]'
    numbers = "values = { range = [0, 2] }"
    planned = sv.release.plan(office(tmp_path), 3).id
    count = make_plan(sv.load(weekly(tmp_path, query="count", more='\nwhere = ["a"]', level="eps = 0.25")))
    ledger = Ledger.look(tmp_path / "budget.ledger")
    assert slot_for(count, ledger) == planned, "one cell by one step at the same ε′"
    path = weekly(tmp_path, query="sum", level="eps = 0.5")
    path.write_text(path.read_text().replace(values, numbers))
    total = make_plan(sv.load(path))
    assert total.noise is not None and str(total.noise.law) == str(count.noise and count.noise.law)
    assert slot_for(total, ledger) is None, "one cell by two steps is more than two by one"
    looser = make_plan(sv.load(weekly(tmp_path, level="eps = 0.4")))
    assert slot_for(looser, ledger) is None, "other noise"


def test_from_there_or_not_to_any_two_values(tmp_path: Path) -> None:
    """1.1: computed, not multiplied: a Gaussian table costs 2ρ, not the 4ρ of groups; a count stays."""
    absent = 'adjacency = "add-remove"'
    budget = 'rho = 9\ndelta = 1e-6\nrelation = "replace"'
    table = make_plan(sv.load(office(tmp_path, budget, kind="gaussian", level="sigma = 2", policy=absent)))
    assert cost(table, relation_of(table), RHO).amount == Fraction(1, 8)
    assert sv.release.preview(tmp_path / "file.toml").eps == Fraction(1, 4)
    counted = weekly(
        tmp_path, kind="gaussian", query="count", level="sigma = 2", policy=absent, more='\nwhere = ["a"]'
    )
    assert sv.release.preview(counted).eps == Fraction(1, 8)
    laplace = weekly(tmp_path, policy=absent)
    (tmp_path / "budget.toml").write_text('person = 9\nrelation = "replace"')
    assert sv.release.preview(laplace).eps == 1


def test_several_records_of_a_person_move_alike(tmp_path: Path) -> None:
    """Costs in ρ are convex in the steps: m records in one cell, m² in Gaussian noise."""
    path = office(tmp_path, kind="gaussian", level="sigma = 2", policy="person_records = 3")
    made = make_plan(sv.load(path))
    assert cost(made, relation_of(made), RHO).amount == Fraction(9, 4)


def test_rows_one_by_one_add(tmp_path: Path) -> None:
    """k-ary response: 0.131643654 for 12 values at ε = 1 (not its divergence)."""
    path = office(tmp_path, query="record", kind="randomised-response", level="eps = 1.0")
    path.write_text(path.read_text().replace("records = 12\n", ""))
    made = make_plan(sv.load(path))
    assert float(cost(made, relation_of(made), RHO).amount) == pytest.approx(0.131643654, abs=1e-9)
    assert cost(made, relation_of(made)).amount == 1
