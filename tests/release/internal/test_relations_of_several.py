"""What several tables cost for the pairs of a ledger."""

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import pytest

from sievert.channels import rho_of_selection
from sievert.files import load_policy_scenario
from sievert.release import make_plan
from sievert.release._neighbour_relations import cost
from tests.release.test_several_gaussian import MEDIAN, written


def test_records_of_one_person_move_alike(tmp_path: Path) -> None:
    """Twice the steps are four times ρ of Gaussian noise, and twice the ε of a quantile."""
    policy = 'adjacency = "add-remove"\nperson_records = 2'
    person = 'person = "person"'
    scenario = load_policy_scenario(
        written(tmp_path, 'kind = "gaussian"\nrho = 0.1', policy, MEDIAN, person=person)
    )
    plan = make_plan(scenario)
    noise = plan.several
    assert noise is not None
    found = cost(plan, None, plan.budget().currency)
    people, ages, median = noise.parts
    expected = people.law.rho_of(2) + ages.law.rho_of(6) + rho_of_selection(2 * median.eps)
    assert found.amount == expected
    assert found.eps is None


@pytest.mark.parametrize("mechanism", ['kind = "gaussian"\nrho = 0.1', 'kind = "geometric"\neps = 0.5'])
def test_from_there_or_not_to_any_two_values(tmp_path: Path, mechanism: str) -> None:
    """Computed over all pairs of values, never twice what one record costs that is there or not."""
    budget = 'rho = 3.0\ndelta = 1e-6\nrelation = "replace"'
    plan = make_plan(load_policy_scenario(written(tmp_path, mechanism, budget=budget)))
    noise, opened = plan.several, plan.budget()
    assert noise is not None
    found = cost(plan, opened.relation, opened.currency)
    values = list(product(range(2), range(4)))
    people, ages = noise.parts

    def moved(first: tuple[int, int], second: tuple[int, int], of: str) -> Fraction:
        price = {"rho": lambda law, d: law.rho_of(d), "eps": lambda law, d: law.eps_of(Fraction(d))}[of]
        both = 2 * price(people.law, 1) if first[0] != second[0] else Fraction(0)
        return both + price(ages.law, abs(first[1] - second[1]))

    pairs = list(combinations(values, 2))
    assert found.amount == max(moved(*pair, "rho") for pair in pairs)
    if noise.keeps_eps:
        assert found.eps == max(moved(*pair, "eps") for pair in pairs)
        # The sum moves no further than by its range: 2ε would be too much.
        assert found.eps < 2 * plan.unit_eps
