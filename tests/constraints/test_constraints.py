"""Public knowledge: what it leaves possible, counted and listed without trying everything."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.constraints import _permitted as listing
from sievert.errors import PolicyError, TooLargeError
from sievert.spaces import Databases

NUMBERS = st.fractions(-2, 3, max_denominator=2)


@given(st.data())
def test_solutions_of_equations_are_those_that_filtering_finds(data: st.DataObject) -> None:
    values = data.draw(st.lists(NUMBERS, min_size=1, max_size=4, unique=True))
    records = data.draw(st.integers(1, 5))
    truth = tuple(data.draw(st.sampled_from(values)) for _ in range(records))
    chosen: list[Any] = []
    holds: list[Callable[[tuple[Fraction, ...]], bool]] = []
    if data.draw(st.booleans()):
        chosen.append(sv.constraints.total(sum(truth)))
        holds.append(lambda d: sum(d) == sum(truth))
    if data.draw(st.booleans()):
        weights = data.draw(st.lists(st.integers(-1, 2), min_size=records, max_size=records))
        amount = sum(w * v for w, v in zip(weights, truth, strict=True))
        chosen.append(sv.constraints.total(amount, weights))
        holds.append(lambda d: sum(w * v for w, v in zip(weights, d, strict=True)) == amount)
    if data.draw(st.booleans()):
        named = data.draw(st.sets(st.sampled_from(values), min_size=1))
        chosen.append(sv.constraints.marginals({value: truth.count(value) for value in named}))
        holds.append(lambda d: all(d.count(value) == truth.count(value) for value in named))
    if data.draw(st.booleans()):
        chosen.append(lambda d: d[0] <= d[-1] or d == truth)
        holds.append(chosen[-1])
    if not chosen:
        chosen.append(sv.constraints.histogram({value: truth.count(value) for value in values}))
        holds.append(lambda d: sorted(d) == sorted(truth))
    policy = sv.Policy.differential(values, records, permitted=chosen)
    expected = [d for d in product(values, repeat=records) if all(hold(d) for hold in holds)]
    assert list(policy.databases()) == expected
    assert policy.size == len(expected)
    for database in product(values, repeat=records):
        if database in expected:
            assert policy.database(database) == database
        else:
            with pytest.raises(PolicyError, match="is not permitted"):
                policy.database(database)


def test_counts_are_exact_however_large() -> None:
    policy = sv.Policy.differential([0, 1, 2, 3, 4], 100, permitted=sv.constraints.total(250))
    ways = [1]
    for _ in range(100):
        ways = [sum(ways[max(0, t - 4) : t + 1]) for t in range(len(ways) + 4)]
    assert policy.size == ways[250] > 10**60
    shared = sv.Policy.differential(
        list("abc"), 60, permitted=sv.constraints.histogram(dict.fromkeys("abc", 20))
    )
    assert shared.size == math.factorial(60) // math.factorial(20) ** 3


def test_marginals_of_all_values_but_one_are_a_histogram() -> None:
    policy = sv.Policy.differential(list("abc"), 9, permitted=sv.constraints.marginals({"a": 4, "b": 3}))
    assert policy.size == math.factorial(9) // (24 * 6 * 2)
    assert len(list(policy.databases())) == policy.size


def test_attributes_are_counted() -> None:
    people = sv.secrets.product(sv.secrets.complete(["f", "m"]), sv.secrets.line(3))
    policy = sv.Policy(people, 3, permitted=sv.constraints.marginals({"f": 2}, attribute=0))
    assert policy.size == 3 * 27
    assert all(sum(sex == "f" for sex, _ in database) == 2 for database in policy.databases())
    grown = sv.constraints.marginals({True: 1}, attribute=lambda person: person[1] == 2)
    assert sv.Policy(people, 3, permitted=grown).size == 3 * 2 * 16
    both = [sv.constraints.marginals({"f": 2}, attribute=0), grown]
    assert "attribute 1" in sv.Policy(people, 3, permitted=both).describe()


def test_totals_count_what_they_are_told_to() -> None:
    work = sv.constraints.total(1.5, weights={"full": 1, "half": 0.5, "none": 0})
    policy = sv.Policy.differential(["full", "half", "none"], 2, permitted=work)
    assert set(policy.databases()) == {("full", "half"), ("half", "full")}
    absent = sv.Policy.differential([1, 2], 2, "add-remove", permitted=sv.constraints.total(2))
    assert set(absent.databases()) == {("absent", 2), (1, 1), (2, "absent")}
    decimals = sv.Policy.differential([0.1, 0.2], 3, permitted=sv.constraints.total(0.4))
    assert decimals.size == 3


def test_prefixes_prune_what_a_function_refuses() -> None:
    def rising(database: tuple[int, ...]) -> bool:
        return all(a <= b for a, b in pairwise(database))

    with pytest.raises(TooLargeError, match=r"would be tried on .* databases of 12 records; at most 2000000"):
        list(sv.Policy.differential(6, 12, permitted=rising).databases())
    pruned = sv.constraints.satisfying(rising, prefix=rising, words="records are sorted")
    policy = sv.Policy.differential(6, 12, permitted=pruned)
    assert policy.size == math.comb(17, 5)
    assert "Everybody knows that records are sorted. That leaves 6188 possible" in policy.describe()
    both = sv.Policy.differential(6, 12, permitted=[pruned, sv.constraints.total(3)])
    assert both.size == 3


def test_prefixes_that_refuse_too_little_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LARGEST_TRIED", 1000)
    open_end = sv.constraints.satisfying(lambda d: True, prefix=lambda d: True)
    with pytest.raises(TooLargeError, match="1024 combinations of the first 5 of 6 records are left"):
        list(sv.Policy.differential(4, 6, permitted=open_end).databases())


def test_lists_are_ordered_and_each_database_counts_once() -> None:
    given_twice = [(1, 0), (0, 1), (1, 0)]
    policy = sv.Policy.differential(2, 2, permitted=given_twice)
    assert list(policy.databases()) == [(0, 1), (1, 0)]
    array = sv.Policy.differential([5, 7], 2, permitted=np.array([[7, 5], [5, 5]]))
    assert list(array.databases()) == [(5, 5), (7, 5)]
    some = sv.Policy.differential(3, 2, permitted=[sv.constraints.listed(product(range(3), repeat=2)), max])
    assert some.size == 8  # max of (0, 0) is false
    one = sv.Policy.local(["a", "b", "c"])
    known = sv.Policy(one.secrets, permitted=["a", "c"])
    assert known.database_labels() == ("a", "c")
    assert known.adjacency().labelled_edges() == [("a", "c")]
    lists = [sv.constraints.listed([(0, 0), (0, 1)]), sv.constraints.listed([(0, 1), (1, 1)])]
    assert list(sv.Policy.differential(2, 2, permitted=lists).databases()) == [(0, 1)]


DIFFERENTIAL = sv.Policy.differential


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: DIFFERENTIAL(3, 2, permitted=sv.constraints.total(7)),
            "add up to 7 cannot hold for 2 records",
        ),
        (lambda: DIFFERENTIAL([0, 2], 3, permitted=sv.constraints.total(3)), "leaves no database possible"),
        (lambda: DIFFERENTIAL([0, 2], 3, permitted=sv.constraints.total(1.5)), "add up to 1.5 cannot hold"),
        (lambda: DIFFERENTIAL(2, 2, permitted=[]), "permitted lists no database"),
        (lambda: list(DIFFERENTIAL(2, 2, permitted=lambda d: False).databases()), "leaves no database"),
        (
            lambda: DIFFERENTIAL(2, 2, permitted=[[(0, 1)], sv.constraints.total(1)]),
            "constraints together with something else",
        ),
        (
            lambda: DIFFERENTIAL(2, 2, permitted=[sv.constraints.listed([(0, 1)]), sv.constraints.total(2)]),
            "leaves no database possible: the database is known and the values add up to 2",
        ),
        (
            lambda: DIFFERENTIAL(["a", "b"], 2, permitted=[("a", "z")]),
            "'z' is not one of the values 'a', 'b'",
        ),
        (
            lambda: DIFFERENTIAL(["a", "b"], 2, permitted=np.array([["a", "z"]])),
            "'z' is not one of the values",
        ),
        (lambda: DIFFERENTIAL(["a", "b"], 2, permitted=[("a",)]), "each must be a sequence of 2 values"),
        (lambda: DIFFERENTIAL(["a", "b"], 2, permitted=[{}]), "each must be a sequence of 2 values"),
        (
            lambda: DIFFERENTIAL(["a", "b"], 2, permitted=sv.constraints.total(1)),
            "'a' is not a finite number; pass",
        ),
        (lambda: DIFFERENTIAL(2, 2, permitted=sv.constraints.total(1, [1])), "1 weights but .* 2 records"),
        (
            lambda: DIFFERENTIAL(["a", "b"], 2, permitted=sv.constraints.total(1, {"a": 1})),
            "no weight for .* 'b'",
        ),
        (
            lambda: DIFFERENTIAL(["a"], 2, permitted=sv.constraints.total(1, {"z": 1, "a": 1})),
            "a weight for 'z', which is not one of 'a'",
        ),
        (lambda: sv.constraints.total(math.inf), "the amount inf is not a finite number"),
        (lambda: sv.constraints.total(1, [True]), "the weight True is not a finite number"),
        (
            lambda: DIFFERENTIAL(["a", "b"], 3, permitted=sv.constraints.histogram({"z": 3})),
            "histogram counts 'z'",
        ),
        (
            lambda: DIFFERENTIAL(["a", "b"], 3, permitted=sv.constraints.histogram({"a": 1})),
            "histogram add up to 1 but there are 3 records; use marginals",
        ),
        (lambda: DIFFERENTIAL(["a", "b"], 3, permitted=sv.constraints.marginals({"a": 4})), "add up to 4"),
        (lambda: sv.constraints.histogram({"a": -1}), "'a' the count -1; a count is a whole number ≥ 0"),
        (lambda: sv.constraints.histogram({}), "give a mapping from values to counts"),
        (lambda: sv.constraints.marginals({"a": 1}, attribute="sex"), "attribute is 'sex'"),  # type: ignore[arg-type]
        (
            lambda: DIFFERENTIAL(["a", "b"], 3, permitted=sv.constraints.marginals({"a": 1}, 0)),
            "no such attribute",
        ),
        (lambda: sv.constraints.satisfying("odd"), "predicate is 'odd'"),  # type: ignore[arg-type]
        (lambda: DIFFERENTIAL(2, 2, permitted="total"), "permitted is 'total'; give a constraint"),
        (lambda: DIFFERENTIAL(2, 2, permitted=7), "permitted is 7; give a constraint"),
        (
            lambda: sv.Policy(sv.metrics.line(3), 2, permitted=sv.constraints.total(2)),
            "permitted goes with a secret graph, but secrets is a metric",
        ),
        (lambda: DIFFERENTIAL([2**62, 1], 3, permitted=sv.constraints.total(3)), "does not fit 64 bits"),
        (lambda: DIFFERENTIAL(2, 2).permitted_databases, "permitted is not given"),
        (lambda: DIFFERENTIAL(2, 2).database_graph, "permitted is not given"),
    ],
)
def test_constraints_that_do_not_fit_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        build()


def test_too_many_databases_are_refused_with_their_number_and_what_would_work() -> None:
    policy = sv.Policy.differential(3, 30, permitted=sv.constraints.total(30))
    ways = [1]
    for _ in range(30):
        ways = [sum(ways[max(0, t - 2) : t + 1]) for t in range(31)]
    with pytest.raises(
        TooLargeError, match=f"leaves {ways[30]} databases of 30 records; at most 1000000 are"
    ):
        list(policy.databases())
    with pytest.raises(TooLargeError, match=r"neighbours\(database\) needs no list; leave permitted out"):
        policy.adjacency()
    assert f"{policy.size} possible databases" in policy.describe()
    assert len(policy.neighbours([1] * 30)) == 30 * 29
    huge = sv.Policy.differential(100, 10_000, permitted=sv.constraints.total(50))
    assert "more possible databases than can be counted" in huge.describe()
    with pytest.raises(TooLargeError, match="counting the databases of 10000 records takes more than"):
        _ = huge.size


def test_databases_know_their_place_in_any_number_of_records() -> None:
    rng = np.random.default_rng(3)
    rows = np.unique(rng.integers(0, 2, (300, 80)), axis=0)
    databases = Databases(rows, ("no", "yes"))
    assert not databases.radix  # 2^80 does not fit a word
    assert np.array_equal(databases.positions(rows), np.arange(len(rows)))
    assert databases.index(databases[17]) == 17
    other = np.where(np.arange(80) < 40, 0, 1)
    assert (databases.positions(other[None, :]) < 0).all()
    assert databases[2:4] == (databases[2], databases[3])
    assert tuple(databases) == databases
    assert databases != tuple(databases)[:-1]
    assert "yes" not in databases
    assert ("maybe",) * 80 not in databases
    assert hash(databases) == hash(Databases(rows, ("no", "yes")))


def test_a_condition_that_raises_is_named_with_the_database() -> None:
    policy = sv.Policy.blowfish(sv.secrets.complete(3), 2, permitted=lambda database: database[5] == 1)
    with pytest.raises(PolicyError, match=r"IndexError.*on the database \(0, 0\)"):
        _ = policy.permitted_databases
