"""Somebody joins: Table 5.1 in all its cells, the second data set, thresholds, and exact sums as oracle."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import MechanismError, PolicyError
from sievert.inference import Correlation, newcomer, newcomer_table

COMPAS = [
    [1838, 46, 269, 61, 127, 20],
    [15, 0, 1, 0, 0, 0],
    [27, 0, 6, 3, 3, 0],
    [1, 0, 0, 0, 0, 0],
    [7135, 338, 1159, 227, 390, 39],
    [5, 0, 0, 0, 0, 0],
]
ADULT = [
    [60, 75, 485, 26, 3797],
    [0, 0, 1, 0, 22],
    [116, 508, 837, 105, 13410],
    [9, 41, 62, 15, 291],
    [103, 372, 1346, 105, 8757],
    [11, 19, 265, 13, 717],
    [12, 24, 128, 7, 822],
]
# e^ε, then loss and utility: oblivious and local, scenario A, and the same for B.
TABLE = """
1 1 0.798377 1 0.798377 1 0.770367 1 0.770367
3 1 0.798377 1 0.798377 1 0.770367 1 0.770367
5 1.045166 0.833333 1.000000 0.798377 1 0.833333 1 0.770367
10 1.140181 0.909091 1.000000 0.798377 1 0.909091 1 0.770367
100 1.241781 0.990099 1.000000 0.798378 1 0.990099 1 0.770367
200 1.247959 0.995025 1.000060 0.798424 1 0.995025 1 0.770367
500 1.251696 0.998004 1.003478 0.801082 1 0.998004 1 0.770367
1000 1.252946 0.999001 1.023362 0.816899 1 0.999001 1 0.770367
100000 1.254186 0.999990 1.248110 0.995169 1 0.999990 1 0.932980
"""
LEVELS = [1, 3, 5, 10, 100, 200, 500, 1000, 1e5]


def own(table: list[list[int]]) -> list[list[int]]:
    return np.diag(np.sum(table, axis=1)).tolist()


def test_all_cells_of_table_5_1() -> None:
    expected = np.array([[float(v) for v in line.split()] for line in TABLE.strip().splitlines()])
    eps = [math.log(level) for level in LEVELS]
    found = np.hstack([[row[1:] for row in newcomer_table(t, 0, eps).rows()] for t in (own(COMPAS), COMPAS)])
    assert np.abs(found - expected[:, 1:]).max() < 6e-7


def test_the_last_row_is_two_things() -> None:
    """Printed 1.2607 is 1/V(prior), and rounds to 1.2608; the limit of the mechanisms is another."""
    for table, limit in ((own(COMPAS), 1.254199), (COMPAS, 1.0)):
        found = newcomer(table, 0, 30.0)
        assert round(float(found.limit), 6) == limit
        assert float(found.privacy_loss) == pytest.approx(limit, abs=1e-6)
        assert round(float(newcomer(table, 0, 40.0, "local").privacy_loss), 6) == limit
        assert found.largest_loss == Fraction(11710, 9288)
        assert round(float(found.largest_loss), 4) == 1.2608


def test_thresholds() -> None:
    a, b = newcomer(own(COMPAS), 0, 1.0).thresholds, newcomer(COMPAS, 0, 1.0).thresholds
    assert a.utility == pytest.approx(math.log(9349 / 2361), rel=1e-14)
    assert a.privacy_loss == pytest.approx(math.log(9288 / 2361), rel=1e-14)
    assert b.utility == pytest.approx(math.log(9021 / 2689), rel=1e-14)
    assert b.privacy_loss is None
    assert (round(a.utility, 6), round(a.privacy_loss, 6), round(b.utility, 6)) == (
        1.376184,
        1.369638,
        1.210386,
    )
    local = [newcomer(t, 0, 1.0, "local").thresholds.utility for t in (own(COMPAS), COMPAS)]
    assert [round(math.exp(level), 1) for level in local if level] == [223.2, 3777.6]


def test_adult() -> None:
    expected = """
    5 1.080562 0.863548 1.000000 0.863548 1 0.990449 1 0.990449
    10 1.178795 0.909091 1.000000 0.863548 1 0.990449 1 0.990449
    1000 1.295379 0.999001 1.006519 0.865021 1 0.999001 1 0.990449
    100000 1.296662 0.999990 1.283561 0.993879 1 0.999990 1 0.990494
    """
    for line in expected.strip().splitlines():
        level, *cells = (float(v) for v in line.split())
        found = []
        for table in (own(ADULT), ADULT):
            for kind in ("oblivious", "local"):
                one = newcomer(table, 0, math.log(level), kind)
                found += [float(one.privacy_loss), float(one.utility)]
        assert np.abs(np.array(found) - cells).max() < 6e-7


def exact(table: list[list[int]], query: int, chance: list[Fraction], noise: Any = None) -> tuple[Any, Any]:
    """Loss and utility by adding up every output in fractions: the sum of independent rows, one by one."""
    total = sum(map(sum, table))
    law = [Fraction(1)]
    for column, r in zip(np.sum(table, axis=0).tolist(), chance, strict=True):
        for _ in range(column):
            law = [
                (law[k] if k < len(law) else 0) * (1 - r) + (law[k - 1] * r if k else 0)
                for k in range(len(law) + 1)
            ]
    law = [*law, Fraction(0)]

    def given(v: int, y: int) -> Fraction:
        return law[y] * (1 - chance[v]) + (law[y - 1] * chance[v] if y else 0)

    outputs, values = range(len(law)), range(len(table[0]))
    after = sum(
        max(sum(Fraction(row[v], total) * given(v, y) for v in values) for row in table) for y in outputs
    )
    mass = [Fraction(sum(row[v] for row in table), total) for v in values]
    utility = sum(
        max(mass[query] * given(query, y), sum(mass[v] * given(v, y) for v in values if v != query))
        for y in outputs
    )
    before = max(Fraction(sum(row), total) for row in table)
    return after / before - 1, utility - max(mass[query], 1 - mass[query])


@pytest.mark.parametrize("alpha", ["1/3", "1/20", "9/10", "1/1000"])
@pytest.mark.parametrize("table", [[[3, 1, 0], [1, 2, 4]], [[1, 9], [5, 2]], [[6, 0, 0, 2], [0, 3, 1, 1]]])
def test_local_noise_keeps_all_digits(table: list[list[int]], alpha: str) -> None:
    a, size = Fraction(alpha), len(table[0])
    chance = [a**v / (1 + a) for v in range(size)]
    loss, utility = exact(table, 0, chance)
    exactly = newcomer(table, 0, mechanism="local", alpha=alpha)
    assert (exactly.privacy_loss - 1, exactly.utility - exactly.utility_before) == (loss, utility)
    found = newcomer(table, 0, -math.log(a), "local")
    assert found.excess_loss == pytest.approx(float(loss), rel=1e-9, abs=1e-300)
    assert found.excess_utility == pytest.approx(float(utility), rel=1e-9, abs=1e-300)
    response = sv.mechanisms.randomised_response(size, alpha=alpha)
    loss, utility = exact(table, 0, [row[0] for row in response.exact.tolist()])
    found = newcomer(table, 0, mechanism=response)
    assert found.excess_loss == pytest.approx(float(loss), rel=1e-9, abs=1e-300)
    assert found.excess_utility == pytest.approx(float(utility), rel=1e-9, abs=1e-300)


def test_a_tail_far_out_keeps_its_digits() -> None:
    table = [[45, 0], [0, 55]]
    loss, _ = exact(table, 0, [Fraction(3, 5), Fraction(2, 5)])
    found = newcomer(table, 0, math.log(1.5), mechanism="local")
    assert 0 < loss < 1e-8
    assert found.excess_loss == pytest.approx(float(loss), rel=1e-10)


@pytest.mark.parametrize("alpha", ["1/2", "1/5", "1/50"])
def test_the_closed_form_is_the_channel_on_the_count(alpha: str) -> None:
    table = Correlation.from_counts([[3, 1, 2], [1, 2, 5], [0, 4, 0]])
    closed = newcomer(table, [0, 2], alpha=alpha)
    assert table.total is not None
    counts = sv.mechanisms.truncated_geometric(table.total + 2, alpha=alpha)
    listed = newcomer(table, [0, 2], mechanism=counts)
    assert float(closed.privacy_loss) == pytest.approx(listed.privacy_loss, rel=1e-13)
    assert float(closed.utility) == pytest.approx(listed.utility, rel=1e-13)


def test_erratum_local_is_not_always_more_private_and_less_useful() -> None:
    """For a tiny table the order of Table 5.1 is reversed."""
    chance = [1 / (1 + Fraction(1, 3)) * Fraction(1, 3) ** v for v in range(5)]
    truth = [Fraction(1, 5), 0, 0, 0, Fraction(4, 5)]
    # An empty table: f is a point mass, so the local mechanism shows the newcomer's own noisy value.
    local = sum(
        max(truth[0] * keep[0], truth[4] * keep[4]) for keep in ([c for c in chance], [1 - c for c in chance])
    )
    oblivious = max(Fraction(3, 4), truth[4])
    assert round(float(local), 6) == 0.942593
    assert oblivious == Fraction(4, 5) < local


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(query=9, eps=1.0), "matches none of the values"),
        (dict(query=[], eps=1.0), "matches none"),
        (dict(query=0, eps=1.0, mechanism="locl"), "did you mean 'local'"),
        (dict(query=0, eps=-1.0), "eps"),
        (dict(query=0), "eps"),
        (dict(query=0, mechanism=sv.Channel([[1], [1]], inputs=["x", "y"])), "take the counts 4 and 5"),
        (dict(query=0, eps=1.0, mechanism=sv.Channel([[1, 0], [0, 1]])), "belong to"),
    ],
)
def test_bad_questions(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((MechanismError, PolicyError), match=message):
        newcomer([[3, 1], [1, 2]], **arguments)


def test_a_correlation_without_counts_is_refused() -> None:
    with pytest.raises(PolicyError, match="has no counts"):
        newcomer(Correlation([["1/2", "1/2"]]), 0, 1.0)


def test_every_combination_of_a_small_table_has_loss_at_least_1() -> None:
    for cells in product(range(3), repeat=4):
        if cells[0] + cells[1] and cells[2] + cells[3] and cells[0] + cells[2]:
            for kind in ("oblivious", "local"):
                found = newcomer([cells[:2], cells[2:]], 0, 1.0, kind)
                assert found.privacy_loss >= 1 and found.utility >= found.utility_before
                assert float(found.privacy_loss) <= float(found.limit) + 1e-12


def test_every_value_is_counted() -> None:
    for level in ({"alpha": "1/1000"}, {"eps": 6.9}, {"eps": 0.3}, {"eps": math.inf}):
        found = newcomer([[2, 0, 0], [1, 5, 0]], [0, 1, 2], mechanism="local", **level)
        assert found.privacy_loss == found.utility == 1


def test_a_small_excess_of_local_noise_is_exact() -> None:
    table = [[2, 2, 0, 0], [1, 0, 0, 0], [2, 1, 0, 1]]
    found = newcomer(table, [1, 3], alpha="1/1000000", mechanism="local")
    noise = sv.mechanisms.truncated_geometric(4, alpha="1/1000000").exact
    loss, _ = exact(table, 0, [row[1] + row[3] for row in noise.tolist()])
    assert found.privacy_loss - 1 == loss
    assert float(loss) == pytest.approx(2.4999675003274974e-07, rel=1e-14)
    rounded = newcomer(table, [1, 3], math.log(10**6), mechanism="local")
    assert rounded.excess_loss == pytest.approx(float(loss), rel=1e-8)
    assert newcomer(table, [1, 3], math.inf, "local").utility == 1


def test_the_loss_of_local_noise_may_fall_again() -> None:
    hill = newcomer([[1, 2, 2, 60, 1], [5, 60, 1, 1, 5]], [1, 2, 3, 4], 1.0, "local")
    ((low, high),) = hill.thresholds.loss_spans
    assert hill.thresholds.privacy_loss == low < 1.0 < high < 3
    valley_table = [[1, 1, 60, 5], [20, 0, 2, 1], [5, 0, 5, 60]]
    thresholds = newcomer(valley_table, [2, 3], 1.0, "local").thresholds
    (first, last), (again, ever) = thresholds.loss_spans
    assert thresholds.privacy_loss == first and ever == math.inf
    assert round(again, 2) == 3.64
    for level in (first, last, again):
        below, above = (newcomer(valley_table, [2, 3], level + d, "local") for d in (-1e-6, 1e-6))
        rises = above.excess_loss > below.excess_loss
        assert rises == (level != last)
        assert below.excess_loss == pytest.approx(thresholds.by, abs=1e-8)
    inside = [newcomer(valley_table, [2, 3], e, "local").excess_loss > thresholds.by for e in (1, 2.5, 5)]
    assert inside == [True, False, True]


def test_a_mechanism_of_ones_own_has_no_level() -> None:
    for channel in (sv.mechanisms.randomised_response(2, 1.0), sv.mechanisms.truncated_geometric(9, 1.0)):
        found = newcomer([[3, 1], [1, 2]], 0, mechanism=channel)
        assert found.eps is None and found.thresholds is None
        assert "ε" not in str(found) and "nan" not in str(found)
        assert found.to_dict()["thresholds"] is None
