"""Queries: answers, the distance they inherit (Alvim Def 25, Fernandes Def 3.3.3), sensitivity."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import GraphError, QueryError, TooLargeError
from sievert.spaces import closure


def induced_by_definition(policy: sv.Policy, query: sv.Query) -> tuple[list[Any], np.ndarray[Any, Any]]:
    """Fernandes, Def 3.3.3, by enumeration: least distance over preimages, then shortest paths."""
    databases = list(policy.databases())
    images = [query.evaluate(database, policy) for database in databases]
    labels = list(dict.fromkeys(images))
    lengths = np.full((len(labels), len(labels)), math.inf)
    np.fill_diagonal(lengths, 0)
    for i, j in combinations(range(len(databases)), 2):
        a, b = labels.index(images[i]), labels.index(images[j])
        distance = policy.distance(databases[i], databases[j])
        lengths[a, b] = lengths[b, a] = min(lengths[a, b], distance)
    return labels, closure(lengths)


def queries(policy: sv.Policy) -> st.SearchStrategy[sv.Query]:
    databases = list(policy.databases())
    kinds = [
        st.sampled_from(policy.values).map(lambda value: sv.Query.count([value])),
        st.just(sv.Query.histogram()),
        st.lists(st.integers(0, 3), min_size=len(databases), max_size=len(databases)).map(
            lambda answers: sv.Query.from_table(
                {(d[0] if policy.records == 1 else d): a for d, a in zip(databases, answers, strict=True)}
            )
        ),
    ]
    if all(isinstance(value, int) or value == policy.absent for value in policy.values):
        kinds.append(st.just(sv.Query.sum()))
    return st.one_of(kinds)


@given(st.data(), testing.policies(size=(1, 3), records=(1, 3)))
def test_answers_inherit_the_distance_of_the_definition(data: st.DataObject, policy: sv.Policy) -> None:
    query = data.draw(queries(policy))
    answers = query.answers(policy)
    labels, matrix = induced_by_definition(policy, query)
    assert set(answers.labels) == set(labels)
    order = [labels.index(answer) for answer in answers.labels]
    assert np.array_equal(answers.metric.matrix, matrix[np.ix_(order, order)])


@given(st.data(), testing.policies(size=(1, 3), records=(1, 3)))
def test_images_and_contexts_agree_with_single_evaluations(data: st.DataObject, policy: sv.Policy) -> None:
    query = data.draw(queries(policy))
    databases = list(policy.databases())
    assert query.images(policy) == [query.evaluate(database, policy) for database in databases]
    answers = query.answers(policy)
    expected = set()
    for database in databases:
        for record in range(policy.records):
            row = (
                query.evaluate((*database[:record], value, *database[record + 1 :]), policy)
                for value in policy.values
            )
            expected.add(tuple(row))
    found = {tuple(answers.labels[i] for i in row) for row in answers.contexts.tolist()}
    assert found == expected


@given(st.data(), testing.policies(size=(2, 3), records=(1, 2)))
def test_sensitivity_is_the_largest_change_per_distance(data: st.DataObject, policy: sv.Policy) -> None:
    query = data.draw(queries(policy))
    largest = 0.0
    for a, b in combinations(policy.databases(), 2):
        first, second = query.evaluate(a, policy), query.evaluate(b, policy)
        change = sum(abs(u - v) for u, v in zip(np.atleast_1d(first), np.atleast_1d(second), strict=True))
        distance = policy.distance(a, b)
        if change and math.isfinite(distance):
            largest = max(largest, math.inf if distance == 0 else change / distance)
    assert query.sensitivity(policy) == pytest.approx(largest)


def test_alvim_def_25_counting_query_gives_a_line() -> None:
    answers = sv.Query.count(["yes"]).answers(sv.Policy.differential(["yes", "no"], 5))
    assert answers.labels == (0, 1, 2, 3, 4, 5)
    assert answers.graph.labelled_edges() == [(i, i + 1) for i in range(5)]
    assert np.array_equal(answers.metric.matrix, sv.metrics.line(6).matrix)


def test_induced_metric_makes_the_query_one_sensitive() -> None:
    """Fernandes Lem 3.7: f is 1-sensitive for the metric it induces, and for no smaller one."""
    policy = sv.Policy.metric(sv.metrics.euclidean([[0, 0], [1, 2], [5, 1], [4, 4]], labels="abcd"))
    query = sv.Query.from_table({"a": "u", "b": "u", "c": "v", "d": "w"})
    metric = query.answers(policy).metric
    assert query.sensitivity(policy, metric) == pytest.approx(1)


def test_record_releases_the_value_under_the_record_metric() -> None:
    policy = sv.Policy.metric(sv.metrics.line([0, 2, 5]))
    answers = sv.Query.record().answers(policy)
    assert answers.labels == (0, 2, 5)
    assert answers.metric.distance(0, 5) == 5
    assert sv.Query.record().sensitivity(policy) == 1


def test_add_remove_absent_records_count_nothing() -> None:
    policy = sv.Policy.differential([1, 2], 2, adjacency="add-remove")
    assert sv.Query.sum().answers(policy).labels == (0, 1, 2, 3, 4)
    assert sv.Query.histogram().answers(policy).labels == ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0))
    assert sv.Query.histogram().sensitivity(policy) == 1
    assert sv.Query.histogram().sensitivity(sv.Policy.differential([1, 2], 2)) == 2
    assert sv.Query.sum().sensitivity(policy) == 2


def test_none_is_a_value_like_any_other() -> None:
    policy = sv.Policy.differential([None, "x"], 2)
    assert sv.Query.count([None]).answers(policy).labels == (0, 1, 2)


def test_decimals_are_added_as_written() -> None:
    policy = sv.Policy.differential([0.1, 0.2], 3)
    assert sv.Query.sum().answers(policy).labels == (0.3, 0.4, 0.5, 0.6)
    assert sv.Query.sum().evaluate((0.1, 0.1, 0.1), policy) == 0.3
    assert sv.Query.sum().answers(sv.Policy.differential([Fraction(1, 3), 0], 3)).labels == (
        0,
        1 / 3,
        2 / 3,
        1,
    )


def test_very_large_and_very_small_numbers_add_up_exactly() -> None:
    policy = sv.Policy.differential([10**30, 1, Fraction(1, 10**9)], 2)
    assert len(sv.Query.sum().answers(policy).labels) == 6


@pytest.mark.parametrize("values", [[0], [0, 1, 2], [0, 1, 3, 4]])
@pytest.mark.parametrize("first", [10**30, -(10**30), 2**63 - 1])
def test_totals_beyond_machine_integers_are_the_small_ones_moved(values: list[int], first: int) -> None:
    small = sv.Query.sum().answers(sv.Policy.differential(values, 5))
    large = sv.Query.sum().answers(sv.Policy.differential([first + value for value in values], 5))
    assert large.labels == tuple(total + 5 * first for total in small.labels)


def test_count_conditions() -> None:
    policy = sv.Policy.differential(range(10), 2)
    assert sv.Query.count(lambda age: age >= 5).evaluate((4, 7), policy) == 1
    assert sv.Query.count(7).evaluate((7, 7), policy) == 2
    assert sv.Query.count("7").words == "the number of records that are 7"
    assert sv.Query.count(range(5)).evaluate((4, 7), policy) == 1


def test_wide_histograms_of_few_records() -> None:
    answers = sv.Query.histogram().answers(sv.Policy.local(100))
    assert len(answers) == 100
    assert answers.metric.diameter == 1


def test_large_counts_are_cheap() -> None:
    answers = sv.Query.count([1]).answers(sv.Policy.differential(2, 20_000))
    assert len(answers) == 20_001
    assert len(answers.edges) == 20_000


def test_one_value_only() -> None:
    policy = sv.Policy.differential(["x"], 50)
    for query in (sv.Query.count("x"), sv.Query.histogram(), sv.Query.from_table(len)):
        answers = query.answers(policy)
        assert len(answers) == 1
        assert answers.metric.matrix.tolist() == [[0]]
        assert query.images(policy) == list(answers.labels)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda p: sv.Query.record().answers(p),
            "record releases one value but the policy has 2 records; use count",
        ),
        (lambda p: sv.Query.sum().answers(p), "value 'a' is not a number, so it cannot be summed"),
        (
            lambda p: sv.Query.count(["a", "z"]).answers(p),
            "where: 'z' is not one of the policy's values 'a', 'b'",
        ),
        (lambda p: sv.Query.count([{}]), "where: label {} is not hashable"),
        (
            lambda p: sv.Query.from_table({("a", "a"): 1}).answers(p),
            r"no answer for the database \('a', 'b'\)",
        ),
        (lambda p: sv.Query.from_table([1]), "table is a list; give a mapping or a function"),
        (lambda p: sv.Query.from_table(lambda d: d[0]).sensitivity(p), "value 'a' is not a number"),
    ],
)
def test_bad_queries_are_refused(run: Callable[[sv.Policy], object], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        run(sv.Policy.differential(["a", "b"], 2))


def test_sums_need_finite_numbers() -> None:
    with pytest.raises(QueryError, match="is not finite"):
        sv.Query.sum().answers(sv.Policy.differential([0.5, math.inf], 2))
    with pytest.raises(GraphError, match="values: label nan equals nothing"):
        sv.Policy.differential([0.5, math.nan], 2)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda: sv.Query.histogram().answers(sv.Policy.differential(10, 100)),
            "has 4,263,421,511,271 answers, and 50,000 can",
        ),
        (
            lambda: sv.Query.sum().answers(sv.Policy.differential([1, 1000, 10**6, 10**9], 99)),
            "more than 50000 answers",
        ),
        (
            lambda: sv.Query.sum().answers(sv.Policy.differential(200, 10_000)),
            "10000 records of 200 values has at least 397,960,400 pairs",
        ),
        (
            lambda: sv.Query.from_table(len).answers(sv.Policy.differential(9, 9)),
            r"9\^9 databases; at most 100000",
        ),
    ],
)
def test_too_large_enumerations_say_the_size(run: Callable[[], object], message: str) -> None:
    with pytest.raises(TooLargeError, match=message) as caught:
        run()
    assert caught.value.size > 50_000


# ── under public knowledge ───────────────────────────────────────────────────────────────────────


def constrained() -> st.SearchStrategy[sv.Policy]:
    """Small policies of which some databases are permitted."""

    def build(draw: Callable[[Any], Any]) -> sv.Policy:
        records = draw(st.integers(1, 3))
        secrets = draw(testing.secret_graphs((2, 3)).filter(lambda graph: "attribute" not in graph.words))
        every = list(product(secrets.values, repeat=records))
        listed = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
        return sv.Policy(secrets, records, permitted=listed)

    return st.composite(build)()


@given(st.data(), constrained())
def test_answers_under_public_knowledge_follow_the_definition(data: st.DataObject, policy: sv.Policy) -> None:
    query = data.draw(queries(policy))
    answers = query.answers(policy)
    databases = [policy.database(item) for item in policy.databases()]
    images = [query.evaluate(database, policy) for database in databases]
    assert query.images(policy) == images
    labels, matrix = induced_by_definition(policy, query)
    assert set(answers.labels) == set(labels)
    order = [labels.index(answer) for answer in answers.labels]
    assert np.array_equal(answers.metric.matrix, matrix[np.ix_(order, order)])
    expected = set()
    image_of = dict(zip(databases, images, strict=True))
    for database in databases:
        for record in range(policy.records):
            row = [(*database[:record], value, *database[record + 1 :]) for value in policy.values]
            expected.add(tuple(image_of.get(item) for item in row))
    found = {tuple(answers.labels[i] if i >= 0 else None for i in row) for row in answers.contexts.tolist()}
    assert found == expected


@given(constrained())
def test_a_record_under_public_knowledge_has_the_permitted_values(policy: sv.Policy) -> None:
    if policy.records != 1:
        with pytest.raises(QueryError, match="record releases one value"):
            sv.Query.record().answers(policy)
        return
    answers = sv.Query.record().answers(policy)
    assert answers.labels == policy.database_labels()
    assert sv.Query.record().images(policy) == list(answers.labels)
    assert np.array_equal(answers.metric.matrix, policy.database_metric().matrix)


def test_sensitivity_under_public_knowledge_is_over_adjacent_databases() -> None:
    policy = sv.Policy.differential(4, 4, permitted=sv.constraints.total(6))
    # The total is known, and adjacent databases may differ in every record.
    assert sv.Query.sum().answers(policy).labels == (6,)
    assert sv.Query.sum().sensitivity(policy) == 0
    assert sv.Query.count([2]).sensitivity(policy) == 3  # (0, 2, 2, 2) and (3, 1, 1, 1)
    assert sv.Query.histogram().sensitivity(policy) == 8
    assert sv.Query.from_table(max).sensitivity(policy) == 1  # it is 2 or 3


PEOPLE = [(sex, age) for sex in "fm" for age in (1, 2, 5)] + [("x", 3)]
QUERIES = {"count": sv.Query.count([("f", 1), ("m", 5), ("m", 2)]), "histogram": sv.Query.histogram()}


@pytest.mark.parametrize("counts", [{"f": 2, "m": 1, "x": 1}, {"f": 1, "m": 3}, {"m": 2}, {"f": 4}, {"x": 4}])
@pytest.mark.parametrize("name", QUERIES)
def test_known_counts_of_groups_need_no_list(counts: dict[str, int], name: str) -> None:
    """One record leaves each group of a cycle and one enters it: every group changes as much as it can."""
    policy = sv.Policy.differential(PEOPLE, 4, permitted=sv.constraints.marginals(counts, 0))
    table = QUERIES[name].statistic(policy)
    found, listed = table.sensitivity(policy), table._listed(policy)
    assert found.steps == listed.steps and found.moves == listed.moves
    if found.pair is not None:
        old, new = found.pair
        assert new in policy.neighbours(old)
        change = np.subtract(QUERIES[name].evaluate(new, policy), QUERIES[name].evaluate(old, policy))
        assert np.abs(change).sum() == found.steps


def test_groups_are_known_only_where_counts_say_all() -> None:
    many = sv.Policy.differential(PEOPLE, 100, permitted=sv.constraints.marginals({"f": 40, "m": 60}, 0))
    assert QUERIES["histogram"].statistic(many).sensitivity(many).steps == 4
    numbers = sv.Policy.differential(range(10), 100, permitted=sv.constraints.marginals({9: 50, 0: 0}))
    assert sv.Query.sum().statistic(numbers).sensitivity(numbers).steps == 7
    both = [sv.constraints.marginals({"f": 2}, 0), sv.constraints.marginals({1: 2}, 1)]
    for known in (both, sv.constraints.total(12, {person: 1 + person[1] for person in PEOPLE})):
        assert sv.Policy.differential(PEOPLE, 4, permitted=known).known_groups is None
    line = sv.Policy(sv.secrets.line(4), 3, permitted=sv.constraints.marginals({0: 1}))
    assert line.known_groups is None


def test_values_that_are_the_same_place_have_no_finite_sensitivity() -> None:
    together = sv.Policy.metric(sv.Metric([[0, 0], [0, 0]], [1, 2]))
    assert sv.Query.sum().sensitivity(together) == math.inf
    counted = sv.Policy.metric(sv.Metric([[0, 0], [0, 0]], [3, 3.5]))
    assert sv.Query.count([3]).sensitivity(counted) == math.inf
    assert sv.Query.sum().sensitivity(sv.Policy.metric(sv.Metric([[0]], [1]))) == 0
