"""Policies: which databases are possible, and how far apart they are."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.errors import PolicyError, TooLargeError


@given(testing.policies())
def test_explicit_distances_are_the_sum_over_records(policy: sv.Policy) -> None:
    metric = policy.database_metric()
    databases = list(policy.databases())
    assert len(databases) == policy.size == metric.size
    for i, a in enumerate(databases):
        for j, b in enumerate(databases):
            expected = sum(policy.record_metric.distance(u, v) for u, v in zip(a, b, strict=True))
            assert metric.matrix[i, j] == expected == policy.distance(a, b)


@given(testing.policies())
def test_adjacency_joins_what_one_edge_of_one_record_joins(policy: sv.Policy) -> None:
    graph = policy.adjacency()
    assert graph.size == policy.size
    for a, b in graph.labelled_edges():
        pair = zip(policy.database(a), policy.database(b), strict=True)
        assert sum(u != v for u, v in pair) == 1


def test_differential_privacy_is_the_hamming_distance() -> None:
    policy = sv.Policy.differential(3, records=3)
    assert np.array_equal(policy.database_metric().matrix, sv.metrics.hamming(3, 3).matrix)
    assert policy.distance((0, 1, 2), (2, 1, 0)) == 2


def test_add_remove_counts_a_replacement_twice() -> None:
    policy = sv.Policy.differential(["a", "b"], 2, adjacency="add-remove")
    assert policy.values == ("absent", "a", "b")
    assert policy.distance(("a", "absent"), ("absent", "absent")) == 1
    assert policy.distance(("a", "absent"), ("b", "absent")) == 2
    assert policy.distance(("a", "b"), ("b", "a")) == 4
    assert policy.absent == "absent"
    assert sv.Policy.differential(2, 2).absent is None


def test_local_and_metric_presets() -> None:
    local = sv.Policy.local(["yes", "no"])
    assert (local.records, local.distance("yes", "no"), local.preset) == (1, 1, "local")
    towns = sv.metrics.euclidean([[0, 0], [3, 4]], labels=["A", "B"])
    assert sv.Policy.metric(towns, records=2).distance(("A", "A"), ("B", "B")) == 10


def test_disconnected_values_are_at_infinite_distance_and_said_so() -> None:
    policy = sv.Policy.blowfish(sv.secrets.partition([[0, 1], [2]]), 2)
    assert policy.distance((0, 2), (1, 2)) == 1
    assert policy.distance((0, 2), (2, 2)) == math.inf
    assert "2 groups" in policy.describe()
    extended = sv.Metric([[0, math.inf], [math.inf, 0]])
    assert "no two are protected" in sv.Policy.metric(extended).describe()


def test_size_is_exact_however_large() -> None:
    policy = sv.Policy.differential(100, 1000)
    assert policy.size == 100**1000
    assert policy.distance([0] * 1000, [1] * 1000) == 1000
    for action in (policy.adjacency, policy.database_metric):
        with pytest.raises(TooLargeError, match=r"100\^1000 databases; at most 100000") as caught:
            action()
        assert caught.value.size == 100**1000


def test_one_value_and_many_records() -> None:
    policy = sv.Policy.differential(1, 1000)
    assert policy.size == 1
    assert policy.database_metric().matrix.tolist() == [[0]]
    assert len(policy.adjacency().edges) == 0


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            sv.Policy.local(["yes", "no"]),
            "One record with one of 2 values (yes, no): no two values may be told apart.",
        ),
        (
            sv.Policy.blowfish(sv.secrets.line(9), 100, person_records=3),
            "100 records, each with one of 9 values (0, 1, 2, 3, 4, …): neighbouring values may not be told "
            "apart. Whoever knows all the other records must not learn the remaining one beyond the promise. "
            "Up to 3 records may belong to one person.",
        ),
    ],
)
def test_description_in_plain_words(policy: sv.Policy, words: str) -> None:
    assert policy.describe() == str(policy) == words


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sv.Policy("line"), r"secrets is a str; give a secret graph"),  # type: ignore[arg-type]
        (lambda: sv.Policy.differential(2, 0), "records is 0; it must be a whole number from 1 to 10{18}"),
        (lambda: sv.Policy.differential(2, 10**400), "records is a whole number of 1329 bits"),
        (lambda: sv.Policy.differential(2, 1.5), "records is 1.5"),  # type: ignore[arg-type]
        (lambda: sv.Policy.differential(2, True), "records is True"),
        (
            lambda: sv.Policy(sv.secrets.line(2), 2, person_records=3),
            "person_records is 3 but there are only 2",
        ),
        (lambda: sv.Policy(sv.secrets.line(2), 1, permitted=[5]), "5; each must be a sequence of 1 values"),
        (
            lambda: sv.Policy.differential(2, 1, adjacency="swap"),
            "adjacency is .swap.; it must be one of replace",
        ),  # type: ignore[arg-type]
        (lambda: sv.Policy.differential(["absent"], 1, adjacency="add-remove"), "values contains 'absent'"),
    ],
)
def test_bad_policies_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        build()


@pytest.mark.parametrize(
    ("database", "message"),
    [
        ((0, 1, 1), r"database \(0, 1, 1\) must be a sequence of 2 values"),
        (0, "database 0 must be a sequence of 2 values"),
        ("01", "must be a sequence of 2 values"),
        ({}, "must be a sequence of 2 values"),
        ((0, 7), r"has the value 7 in record 1; it must be one of 0, 1"),
    ],
)
def test_bad_databases_are_refused(database: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sv.Policy.differential(2, 2).distance(database, (0, 0))


def test_databases_are_accepted_in_any_sequence() -> None:
    policy = sv.Policy.differential(2, 2)
    for database in ([0, 1], (0, 1), np.array([0, 1]), [np.int64(0), 1]):
        assert policy.database(database) == (0, 1)
    pairs = sv.Policy.local(list(product("ab", [0, 1])))
    assert pairs.database(("a", 1)) == (("a", 1),)
    assert pairs.database([("a", 1)]) == (("a", 1),)


def test_a_million_records_need_no_list() -> None:
    policy = sv.Policy.blowfish(sv.secrets.line(5), 10**6)
    everywhere = np.full(10**6, 4)
    assert policy.distance([0] * 10**6, everywhere) == 4 * 10**6
    assert sv.Policy.differential(5, 10**6).distance(np.zeros(10**6, dtype=np.uint8), everywhere) == 10**6
    everywhere[77] = 5
    with pytest.raises(PolicyError, match="has the value 5 in record 77"):
        policy.distance([0] * 10**6, everywhere)


def test_presets_take_public_knowledge() -> None:
    known = sv.constraints.total(2)
    assert sv.Policy.differential(3, 2, permitted=known).size == 3
    assert sv.Policy.blowfish(sv.secrets.line(3), 2, permitted=known).size == 3
    assert sv.Policy.differential([1, 2], 2, "add-remove", permitted=known).size == 3
    policy = sv.Policy.differential(3, 2, permitted=known)
    assert policy.constrained
    assert not sv.Policy.differential(3, 2).constrained
    assert policy.to_dict()["permitted"] == "the values add up to 2"
    assert list(policy.permitted_databases) == [(0, 2), (1, 1), (2, 0)]
    with pytest.raises(PolicyError, match=r"database \(0, 0\) is not permitted: the values add up to 2"):
        policy.distance((0, 0), (1, 1))
