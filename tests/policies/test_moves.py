"""What several tables cost together: worked numbers, brute force over all pairs, the sum beyond them."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert import constraints
from sievert.errors import QueryError
from sievert.policies import (
    Policy,
    Query,
    Statistic,
    cell_moves,
    joint_sensitivity,
    statistic_of_cells,
)
from sievert.spaces import secrets

AGES = list(range(100))


def linear(unit):
    return lambda steps: Fraction(unit) * steps


def square(unit):
    return lambda steps: Fraction(unit) * steps**2


def stairs(unit):
    return lambda steps: Fraction(unit) * -(-steps // 3)


def ages(policy):
    decades = statistic_of_cells([(age // 10,) for age in AGES], ("decade",), "by decade")
    adults = Query.count(lambda age: age >= 18).statistic(policy)
    return [decades, adults, Query.sum().statistic(policy)]


@pytest.mark.parametrize(
    "graph, costs, cost, pair",
    [
        # .3 each: the histogram moves by 2 steps, the count by 1, the sum by its largest step.
        (secrets.line(AGES), [linear("3/20"), linear("3/10"), linear("3/10")], "3/5", (9, 10)),
        (secrets.threshold(AGES, 5), [linear("3/20"), linear("3/10"), linear("3/50")], "9/10", (15, 20)),
        (secrets.line(AGES), [square("1/20"), square("1/10"), square("1/10")], "1/5", (9, 10)),
    ],
)
def test_worked_ages(graph, costs, cost, pair):
    policy = Policy.blowfish(graph, 50)
    found = joint_sensitivity(policy, ages(policy), costs)
    assert (found.cost, found.pair, found.exact) == (Fraction(cost), pair, True)
    assert sum(found.parts) == found.cost


def disjoint_counts(policy, parts):
    return [Query.count([part]).statistic(policy) for part in parts]


def test_disjoint_counts_cost_the_two_largest_or_the_largest():
    costs = [linear(unit) for unit in ("1/10", "3/10", "2/10")]
    replace = Policy.differential(["a", "b", "c", "d"], 10)
    found = joint_sensitivity(replace, disjoint_counts(replace, "abc"), costs)
    assert (found.cost, found.pair) == (Fraction(1, 2), ("b", "c"))
    present = Policy.differential(["a", "b", "c", "d"], 10, "add-remove")
    assert joint_sensitivity(present, disjoint_counts(present, "abc"), costs).cost == Fraction(3, 10)
    # Where no edge joins two blocks the largest alone is enough.
    blocks = Policy.blowfish(secrets.edges(list("abcxyz"), [("a", "x"), ("b", "y"), ("c", "z")]), 10)
    assert joint_sensitivity(blocks, disjoint_counts(blocks, "abc"), costs).cost == Fraction(3, 10)


def test_two_marginals():
    values = list(product("ab", range(3)))
    tables = [
        statistic_of_cells([(value[0],) for value in values], ("letter",), "by letter"),
        statistic_of_cells([(value[1],) for value in values], ("number",), "by number"),
    ]
    complete = Policy.differential(values, 10)
    assert joint_sensitivity(complete, tables, [linear(1), linear(1)]).cost == 4
    assert joint_sensitivity(complete, tables, [square(1), square(1)]).cost == 4
    one = [(u, v) for u, v in combinations(values, 2) if (u[0] == v[0]) != (u[1] == v[1])]
    single = Policy.blowfish(secrets.edges(values, one), 10)
    assert joint_sensitivity(single, tables, [linear(1), linear(3)]).cost == 6


def brute_force(tables, costs, pairs, power=1):
    best = Fraction(0)
    for u, v, length in pairs:
        total = Fraction(0)
        for table, cost in zip(tables, costs, strict=True):
            moved = dict.fromkeys(range(len(table.cells)), 0)
            moved[int(table.cell_of[u])] += int(table.amount[u])
            moved[int(table.cell_of[v])] -= int(table.amount[v])
            total += sum(cost(abs(steps)) for steps in moved.values())
        best = max(best, total / Fraction(length) ** power)
    return best


@st.composite
def several(draw, values=6):
    """Two or three tables of whole amounts, and costs that rise."""
    tables, costs = [], []
    for _ in range(draw(st.integers(1, 3))):
        cells = draw(st.integers(1, 3))
        cell_of = draw(st.lists(st.integers(0, cells - 1), min_size=values, max_size=values))
        amount = draw(st.lists(st.integers(-4, 4), min_size=values, max_size=values))
        names = tuple((i,) for i in range(cells))
        tables.append(Statistic((), names, np.array(cell_of), np.array(amount), Fraction(1), "drawn"))
        unit = draw(st.fractions(0, 3, max_denominator=10**12))
        costs.append(
            draw(st.sampled_from([linear, square, lambda unit: lambda steps: unit * -(-steps // 3)]))(unit)
        )
    return tables, costs


def test_many_records_of_one_person_move_alike():
    policy = Policy.differential(["a", "b", "c"], 10, person_records=3)
    table = Query.histogram().statistic(policy)
    assert joint_sensitivity(policy, [table], [square(1)], multiple=3).cost == 18
    assert joint_sensitivity(policy, [table], [linear(1)], multiple=3).cost == 6


def test_a_record_that_may_be_left_out():
    policy = Policy.differential([5, 6], 10)
    table = Query.sum().statistic(policy)
    assert joint_sensitivity(policy, [table], [linear(1)]).cost == 1
    found = joint_sensitivity(policy, [table], [linear(1)], absence=True)
    assert (found.cost, found.pair) == (6, (6, "left out"))


def test_public_knowledge_is_walked_over_permitted_databases():
    policy = Policy(secrets.complete([0, 1, 2]), 3, permitted=constraints.total(4))
    tables = [Query.histogram().statistic(policy), Query.count([0, 1]).statistic(policy)]
    costs = [square(1), linear("1/2")]
    found = joint_sensitivity(policy, tables, costs)
    rows, best = policy.permitted_databases.rows, Fraction(0)
    for i, j in policy.database_graph.edges:
        total = Fraction(0)
        for table, cost in zip(tables, costs, strict=True):
            a, b = table.totals(), table.totals()
            table.add(a, rows[i])
            table.add(b, rows[j])
            total += sum(cost(int(d)) for d in np.abs(a - b))
        best = max(best, total)
    assert found.cost == best > 0
    assert found.exact


def test_bad_arguments_are_named():
    policy = Policy.differential(["a", "b"], 10)
    table = Query.histogram().statistic(policy)
    with pytest.raises(QueryError, match="costs has 2 entries for 1 tables"):
        joint_sensitivity(policy, [table], [linear(1), linear(1)])
    with pytest.raises(QueryError, match="is for 2 values, but the policy has 3"):
        joint_sensitivity(Policy.differential(3, 10), [table], [linear(1)])
    with pytest.raises(QueryError, match="absence goes with"):
        joint_sensitivity(Policy.blowfish(secrets.line(2), 10), [table], [linear(1)], absence=True)


def change(table, u, v):
    """By how many steps the cells move when a record moves, largest first."""
    moved = dict.fromkeys(range(len(table.cells)), 0)
    moved[int(table.cell_of[u])] += int(table.amount[u])
    moved[int(table.cell_of[v])] -= int(table.amount[v])
    return tuple(sorted((abs(steps) for steps in moved.values() if steps), reverse=True))


@settings(max_examples=40)
@given(several(), st.sampled_from(["complete", "line"]))
def test_no_move_exceeds_the_maximal_ones(drawn, kind):
    table = drawn[0][0]
    policy = Policy.differential(6, 4) if kind == "complete" else Policy.blowfish(secrets.line(6), 4)
    pairs = list(combinations(range(6), 2)) if kind == "complete" else [(u, u + 1) for u in range(5)]
    moved = {(*change(table, u, v), 0, 0)[:2] for u, v in pairs} - {(0, 0)}
    maximal = {
        move for move in moved if not any(o != move and o[0] >= move[0] and o[1] >= move[1] for o in moved)
    }
    found = cell_moves(policy, table)
    assert {(*move.steps, 0)[:2] for move in found} == maximal
    assert all(change(table, *move.pair) == move.steps for move in found)
