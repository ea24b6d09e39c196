"""Adjacency under public knowledge: Definition 2 of Edwards et al., against itself written out."""

import subprocess
import sys
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.constraints import _adjacency as adjacency
from sievert.constraints import _adjacency as trie
from sievert.constraints import adjacency_graph
from sievert.constraints._moves import number_of_cyclic_moves
from sievert.errors import GraphError, TooLargeError
from sievert.spaces import DatabaseGraph

Database = tuple[Any, ...]


def relation_by_definition(policy: sv.Policy) -> dict[Database, set[Database]]:
    """Minimally secretly different databases: Definition 2 as it is written, O(|I|³)."""
    secrets = policy.secrets
    assert isinstance(secrets, sv.secrets.SecretGraph)
    joined = {frozenset(edge) for edge in secrets.labelled_edges()}
    databases = [policy.database(item) for item in policy.databases()]
    result = {}
    for first in databases:
        differences = {}
        for second in databases:
            whole = frozenset((i, u, v) for i, (u, v) in enumerate(zip(first, second, strict=True)) if u != v)
            secret = frozenset(change for change in whole if frozenset(change[1:]) in joined)
            if secret:
                differences[second] = (secret, whole)
        result[first] = {
            second
            for second, (secret, whole) in differences.items()
            if not any(s < secret or (s == secret and w < whole) for s, w in differences.values())
        }
    return result


def relation_of(graph: DatabaseGraph, policy: sv.Policy) -> dict[Database, set[Database]]:
    databases = [policy.database(item) for item in graph.nodes]
    return {
        database: {databases[j] for j in graph.neighbours(i).tolist()} for i, database in enumerate(databases)
    }


def secret_graph(rng: np.random.Generator, values: int) -> sv.secrets.SecretGraph:
    if rng.random() < 0.4:
        return sv.secrets.complete(values)
    pairs = [pair for pair in combinations(range(values), 2) if rng.random() < rng.choice([0.4, 0.7])]
    return sv.secrets.edges(values, pairs)


def random_policy(rng: np.random.Generator) -> sv.Policy:
    """1–5 records of 2–4 values; a list, or equations that a random database satisfies."""
    records, values = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    truth = rng.integers(0, values, records)
    counts = {value: int((truth == value).sum()) for value in range(values)}
    kind = int(rng.integers(0, 10))
    if kind == 0:
        known: Any = sv.constraints.total(int(truth.sum()))
    elif kind == 1:
        known = sv.constraints.histogram(counts)
    elif kind == 2:
        known = sv.constraints.marginals({0: counts[0]})
    elif kind == 3:
        weights = rng.integers(0, 3, records)
        known = sv.constraints.total(int(weights @ truth), weights=weights.tolist())
    elif kind == 4:
        known = [sv.constraints.total(int(truth.sum())), sv.constraints.marginals({1: counts[1]})]
    else:
        every = np.array(list(product(range(values), repeat=records)))
        count = int(rng.integers(1, min(len(every), 40) + 1))
        known = every[rng.choice(len(every), count, replace=False)]
    return sv.Policy(secret_graph(rng, values), records, permitted=known)


def test_random_policies_agree_with_the_definition() -> None:
    """Hundreds of policies, a good part of them with one-way pairs; both searches, and by swaps."""
    rng = np.random.default_rng(20)
    with_one_way = 0
    for _ in range(300):
        policy = random_policy(rng)
        secrets = policy.secrets
        assert isinstance(secrets, sv.secrets.SecretGraph)
        expected = relation_by_definition(policy)
        mutual = {
            a: others | {b for b, back in expected.items() if a in back} for a, others in expected.items()
        }
        one_way = {(a, b) for a, others in expected.items() for b in others if a not in expected[b]}
        with_one_way += bool(one_way)
        for compiled in (False, True):
            graph = adjacency_graph(policy._known, secrets, policy.database_labels(), compiled)
            assert relation_of(graph.as_directed(), policy) == expected
            assert relation_of(graph, policy) == mutual
            nodes = [policy.database(item) for item in graph.nodes]
            assert {(nodes[i], nodes[j]) for i, j in graph.one_way.tolist()} == one_way
    assert with_one_way >= 25


def test_neighbours_need_no_graph() -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        policy = random_policy(rng)
        expected = relation_by_definition(policy)
        for database, others in expected.items():
            assert policy.neighbours(database) == sorted(others)
    free = sv.Policy.blowfish(sv.secrets.line(3), 2)
    assert free.neighbours((0, 1)) == [(1, 1), (0, 0), (0, 2)]


def test_the_two_searches_are_identical_on_larger_policies() -> None:
    """Many records, many values, pairs and larger sets of changes, more than 63 bits of changes."""
    rng = np.random.default_rng(11)
    cases = [
        (sv.secrets.complete(4), rng.integers(0, 4, (250, 9))),
        (sv.secrets.line(4), rng.integers(0, 4, (250, 7))),
        (sv.secrets.edges(5, [(0, 1), (2, 3), (3, 4)]), rng.integers(0, 5, (300, 4))),
        (sv.secrets.complete(3), rng.integers(0, 3, (60, 70))),
        (sv.secrets.line(12), np.array(list(product(range(12), repeat=2)))[rng.random(144) < 0.8]),
    ]
    for secrets, rows in cases:
        policy = sv.Policy(secrets, rows.shape[1], permitted=rows)
        made = [
            adjacency_graph(policy._known, secrets, policy.database_labels(), compiled)
            for compiled in (True, False)
        ]
        assert np.array_equal(made[0].starts, made[1].starts)
        assert np.array_equal(made[0].ends, made[1].ends)
        assert np.array_equal(made[0].one_way, made[1].one_way)


def test_the_search_runs_without_numba() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import numpy as np, sievert as sv\n"
        "from sievert.constraints import _adjacency as trie\n"
        "rows = np.array([[i // 100, i // 10 % 10, i % 10] for i in range(0, 1000, 2)])\n"
        "graph = sv.Policy.differential(10, 3, permitted=rows).adjacency()\n"
        "print(trie.is_compiled(), graph.pairs)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Half of the values of the last record: still a product.
    assert done.stdout == f"False {500 * (9 + 9 + 4)}\n"


def test_importing_policies_does_not_load_numba() -> None:
    code = (
        "import sys, sievert as sv\n"
        "sv.Policy.differential(2, 3, permitted=sv.constraints.total(2)).adjacency()\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# ── the examples of the papers ───────────────────────────────────────────────────────────────────


def test_erratum_adjacency_is_not_symmetric() -> None:
    """Edwards et al. treat ~ as an undirected graph; under constraints Definition 2 is one-way."""
    policy = sv.Policy(sv.secrets.edges(3, [(0, 1), (0, 2)]), 2, permitted=[(0, 0), (0, 1), (1, 2)])
    union, directed = policy.adjacency(), policy.adjacency(directed=True)
    assert isinstance(union, DatabaseGraph)
    assert isinstance(directed, DatabaseGraph)
    assert directed.is_edge((0, 0), (1, 2))
    assert not directed.is_edge((1, 2), (0, 0))
    assert union.is_edge((1, 2), (0, 0))
    assert [(union.nodes[i], union.nodes[j]) for i, j in union.one_way.tolist()] == [((0, 0), (1, 2))]
    assert union.labelled_edges() == [((0, 0), (0, 1)), ((0, 0), (1, 2)), ((0, 1), (1, 2))]
    assert len(directed.edges) == directed.pairs == 5
    assert "1 of these pairs is one-way" in policy.describe()
    assert "directed adjacency" in policy.describe()
    assert directed.to_dict()["one_way"] == [((0, 0), (1, 2))]
    assert repr(directed) == "DatabaseGraph(3 databases, directed, 5 arcs)"
    assert repr(union) == "DatabaseGraph(3 databases, 3 edges)"


def test_erratum_a_second_one_way_pair() -> None:
    listed = [(0, 3), (1, 1), (1, 2), (3, 2), (2, 1)]
    policy = sv.Policy(sv.secrets.edges(4, [(0, 1), (0, 3), (2, 3)]), 2, permitted=listed)
    directed = policy.adjacency(directed=True)
    assert directed.is_edge((1, 2), (0, 3))
    assert not directed.is_edge((0, 3), (1, 2))
    assert policy.neighbours((1, 2)) == [(0, 3)]
    assert (1, 2) not in policy.neighbours((0, 3))
    assert policy.distance((0, 3), (1, 2)) == 1


def test_mutual_adjacency_is_said_once_it_is_known() -> None:
    policy = sv.Policy.differential(3, 3, permitted=sv.constraints.total(3))
    assert "both directions" not in policy.describe()
    policy.adjacency()
    assert policy.describe() == (
        "3 records, each with one of 3 values (0, 1, 2): no two values may be told apart. Everybody knows "
        "that the values add up to 3. That leaves 7 possible databases. Possible databases with a smallest "
        "secret difference must not be told apart. Every such pair holds in both directions."
    )


def test_known_total_is_more_than_trades_between_two_records() -> None:
    policy = sv.Policy.differential(4, 4, permitted=sv.constraints.total(6))
    graph = policy.adjacency()
    assert isinstance(graph, DatabaseGraph)
    assert graph.pairs == 1376
    rows = policy.permitted_databases.rows
    changed = (rows[graph.edges[:, 0]] != rows[graph.edges[:, 1]]).sum(axis=1)
    assert 2 * int((changed > 2).sum()) == 824
    assert graph.is_edge((0, 2, 2, 2), (3, 1, 1, 1))


def test_known_histogram_has_simple_cycles() -> None:
    counts = {"a": 5, "b": 4, "c": 3}
    policy = sv.Policy.differential(list(counts), 12, permitted=sv.constraints.histogram(counts))
    graph = policy.adjacency()
    assert isinstance(graph, DatabaseGraph)
    assert graph.size == policy.size == 27_720
    assert set(np.diff(graph.starts).tolist()) == {167}
    assert np.array_equal(graph.neighbours(0), np.unique(graph.neighbours(0)))
    assert number_of_cyclic_moves([1] * 5) == sum(
        comb(5, k) * f for k, f in ((2, 1), (3, 2), (4, 6), (5, 24))
    )


def test_star_whose_centre_lies_outside_the_individual() -> None:
    """The example of `one individual`: the adjacency is a star with centre (c, 2)."""
    leaves = list("ABCDEF")
    secrets = sv.secrets.edges(["c", *leaves, 1, 2], [("c", leaf) for leaf in leaves])
    policy = sv.Policy(secrets, 2, permitted=[*((leaf, 1) for leaf in leaves), ("c", 2)])
    graph = policy.adjacency()
    centre = graph.index(("c", 2))
    assert len(graph.edges) == 6
    assert (graph.edges == centre).any(axis=1).all()
    assert policy.distance(("A", 1), ("B", 1)) == 2


@given(st.integers(1, 4), st.integers(1, 3))
def test_theorem_1_everything_permitted_is_the_product(values: int, records: int) -> None:
    secrets = sv.secrets.line(values)
    every = sv.Policy(secrets, records, permitted=list(product(range(values), repeat=records)))
    free = sv.Policy(secrets, records)
    assert every.size == free.size
    expected = {tuple(sorted(pair)) for pair in free.database_edges().pairs.tolist()} if values > 1 else set()
    assert {tuple(pair) for pair in every.adjacency().edges.tolist()} == expected
    assert np.array_equal(every.database_metric().matrix, free.database_metric().matrix)


# ── distances, sizes, refusals ───────────────────────────────────────────────────────────────────


def test_distances_are_shortest_paths() -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        policy = random_policy(rng)
        databases = [policy.database(item) for item in policy.databases()]
        metric = policy.database_metric()
        expected = policy.adjacency().metric().matrix
        assert np.array_equal(metric.matrix, expected)
        for i, a in enumerate(databases[:4]):
            for j, b in enumerate(databases):
                assert policy.distance(a, b) == expected[i, j]


def test_the_directed_graph_has_no_metric_but_distances() -> None:
    policy = sv.Policy(sv.secrets.edges(3, [(0, 1), (0, 2)]), 2, permitted=[(0, 0), (0, 1), (1, 2)])
    directed = policy.adjacency(directed=True)
    assert isinstance(directed, DatabaseGraph)
    with pytest.raises(GraphError, match="the directed adjacency has no metric"):
        directed.metric()
    assert directed.distances_from(directed.index((1, 2))).tolist() == [2, 1, 0]
    assert directed.distances_from(0).tolist() == [0, 1, 1]
    assert directed.components() == [[(0, 0), (0, 1), (1, 2)]]
    with pytest.raises(GraphError, match=r"node: \(9, 9\) is not one of the nodes \(0, 0\), "):
        directed.index((9, 9))


def test_no_secret_means_no_edge() -> None:
    policy = sv.Policy(sv.secrets.edges(3, []), 3, permitted=sv.constraints.total(3))
    graph = policy.adjacency()
    assert len(graph.edges) == 0
    assert len(graph.components()) == policy.size == 7
    assert policy.distance((1, 1, 1), (0, 1, 2)) == np.inf


def test_pairs_are_counted_on_a_sample_before_they_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = np.unique(rng.integers(0, 4, (300, 6)), axis=0)
    secrets = sv.secrets.complete(4)
    policy = sv.Policy(secrets, 6, permitted=rows)
    truth = policy.database_graph.pairs
    monkeypatch.setattr(adjacency, "LARGEST_PAIRS", truth // 4)
    with pytest.raises(TooLargeError, match=r"about .* ordered pairs .*, counted on 64; at most") as caught:
        _ = sv.Policy(secrets, 6, permitted=rows).database_graph
    assert truth / 1.5 < caught.value.size < truth * 1.5
    with pytest.raises(TooLargeError, match=r"have about .* ordered pairs"):
        sv.Policy.differential(6, 5, permitted=sv.constraints.total(12)).adjacency()
    with pytest.raises(TooLargeError, match="have 1570800 ordered pairs"):
        counts = dict(enumerate([4, 4, 3]))
        sv.Policy.differential(3, 11, permitted=sv.constraints.histogram(counts)).adjacency()


def test_many_databases_keep_their_labels_lazy() -> None:
    policy = sv.Policy.differential(2, 40, permitted=sv.constraints.marginals({1: 3}))
    graph = policy.adjacency()
    assert graph.size == comb(40, 3)
    assert not isinstance(graph.nodes, tuple)
    assert graph.nodes[0] == (0,) * 37 + (1, 1, 1)
    assert graph.index(graph.nodes[1234]) == 1234
    assert set(np.diff(policy.database_graph.starts).tolist()) == {3 * 37}
    assert int(graph.component_of.max()) == 0


@pytest.mark.slow
def test_the_named_sizes() -> None:
    """90 090 databases with a known histogram, 24 017 with a known total, 90 % of 10^5."""
    shared = sv.constraints.histogram(dict(enumerate([5, 4, 4])))
    graph = sv.Policy.differential(3, 13, permitted=shared).database_graph
    assert (graph.size, graph.pairs) == (90_090, 90_090 * 216)
    total = sv.Policy.differential(6, 7, permitted=sv.constraints.total(17)).database_graph
    assert (total.size, total.pairs) == (24_017, 49_906_892)
    chosen = np.random.default_rng(0).random(10**5) < 0.9
    rows = np.array(np.unravel_index(np.flatnonzero(chosen), [10] * 5)).T
    dense = sv.Policy(sv.secrets.line(10), 5, permitted=rows)
    made = dense.database_graph
    assert made.size == int(chosen.sum())
    assert trie.is_compiled()
    for index in (0, 4321, 90_000):
        database = made.nodes[index]
        assert [made.nodes[int(j)] for j in made.as_directed().neighbours(index)] == dense.neighbours(
            database
        )
