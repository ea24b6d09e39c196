"""Laws of the worst case over random graphs, policies and channels."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.limits import worst_leakage
from sievert.policies import Policy
from sievert.spaces import Graph, graphs

FEW = settings(max_examples=25, deadline=None)
LEVELS = st.sampled_from([0.05, 0.2, 0.5, 1.0, 2.5])


@st.composite
def connected_graphs(draw: st.DrawFn, least: int = 2, most: int = 7) -> Graph:
    """A random tree and a few more edges."""
    n = draw(st.integers(least, most))
    edges = {(draw(st.integers(0, k - 1)), k) for k in range(1, n)}
    every = list(itertools.combinations(range(n), 2))
    edges |= set(draw(st.lists(st.sampled_from(every), max_size=4)))
    return Graph(range(n), sorted(edges))


@given(testing.secret_graphs((1, 6)), LEVELS)
@FEW
def test_the_chain_of_bounds(graph: Graph, eps: float) -> None:
    found = worst_leakage(graph, eps)
    assert found.certificate.verify()
    slack = 1e-9
    assert found.lower.log <= found.upper.log
    assert found.exact is not None
    assert found.exact.log <= found.packing.log + slack
    assert found.packing.log <= found.radius.log + slack
    assert found.radius.log <= found.diameter.log + slack


@given(connected_graphs(), LEVELS, st.randoms(use_true_random=False))
@FEW
def test_relabelling_changes_nothing(graph: Graph, eps: float, random) -> None:
    order = list(range(graph.size))
    random.shuffle(order)
    moved = Graph(range(graph.size), [(order[a], order[b]) for a, b in graph.edges.tolist()])
    first, second = worst_leakage(graph, eps), worst_leakage(moved, eps)
    assert first.exact.log == pytest.approx(second.exact.log, abs=2e-9)
    assert first.packing.log == pytest.approx(second.packing.log, abs=2e-9)


@given(connected_graphs(2, 4), connected_graphs(2, 4), LEVELS)
@settings(max_examples=10, deadline=None)
def test_capacity_multiplies_when_a_factor_attains_its_packing_bound(
    first: Graph, second: Graph, eps: float
) -> None:
    nodes = list(itertools.product(first.nodes, second.nodes))
    edges = [((a, c), (b, c)) for a, b in first.labelled_edges() for c in second.nodes]
    edges += [((c, a), (c, b)) for a, b in second.labelled_edges() for c in first.nodes]
    parts = [worst_leakage(graph, eps) for graph in (first, second)]
    whole = worst_leakage(Graph(nodes, edges), eps)
    assert whole.packing.log == pytest.approx(parts[0].packing.log + parts[1].packing.log, abs=1e-8)
    together = parts[0].exact.log + parts[1].exact.log
    assert whole.exact.log >= together - 1e-8
    if any(part.packing.log - part.exact.log < 1e-9 for part in parts):
        assert whole.exact.log == pytest.approx(together, abs=1e-8)


@given(connected_graphs(), LEVELS, st.integers(0, 10**6))
@FEW
def test_no_private_channel_leaks_more(graph: Graph, eps: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    upper = worst_leakage(graph, eps).upper.bits
    metric = graph.metric()
    exponential = sv.mechanisms.exponential(metric, eps, level="true")
    # Any mixture of private columns, completed by a shared one, is private.
    kernel = np.exp(-eps * metric.matrix)
    columns = kernel * rng.random(graph.size)
    columns /= columns.sum(axis=1).max()
    rest = 1 - columns.sum(axis=1, keepdims=True)
    mixed = 0.5 * np.hstack([columns, rest]) + 0.5 * np.append(columns.mean(axis=0), rest.mean())
    mixture = sv.Channel(mixed, normalise=True)
    for channel in (exponential, mixture):
        if sv.epsilon(channel, metric).nats <= eps * (1 + 1e-12):
            assert sv.capacity(channel).bits <= upper + 1e-9


@given(testing.secret_graphs((1, 6)), LEVELS)
@FEW
def test_the_mechanism_is_private_and_attains_the_lower_end(graph: Graph, eps: float) -> None:
    found = worst_leakage(graph, eps)
    assert sv.epsilon(found.mechanism, graph.metric()).nats <= eps * (1 + 1e-7)
    assert sv.capacity(found.mechanism).bits == pytest.approx(found.lower.bits, abs=1e-7)


@given(connected_graphs(), LEVELS, LEVELS)
@FEW
def test_more_epsilon_leaks_more(graph: Graph, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert worst_leakage(graph, low).lower.log <= worst_leakage(graph, high).upper.log + 1e-12


@given(connected_graphs(2, 5), st.floats(0.05, 3.0))
@settings(max_examples=4, deadline=None)
def test_largest_epsilon_inverts_the_worst_leakage(graph: Graph, eps: float) -> None:
    bits = worst_leakage(graph, eps).upper.bits
    found = sv.largest_epsilon(graph, bits=bits)
    assert found.nats == pytest.approx(eps, rel=1e-6)
    assert found.leakage.upper.bits <= bits


def test_largest_epsilon_in_the_users_units() -> None:
    assert sv.largest_epsilon(Policy.local(2), guess=0.75).nats == pytest.approx(math.log(3))
    assert sv.largest_epsilon(Policy.local(4), guess=1.0).nats == math.inf
    assert "any ε" in str(sv.largest_epsilon(Policy.local(4), bits=2))
    one = sv.largest_epsilon(Policy.differential(3, 100), bits=0.982334, individual=True)
    assert one.nats == pytest.approx(1.35, abs=1e-5)
    assert "ε ≤ 1.35" in str(one)
    many = sv.largest_epsilon(Policy.differential(2, 100), bits=99.031180)
    assert many.nats == pytest.approx(5, abs=1e-5)
    metric = sv.metrics.line(5)
    near = sv.largest_epsilon(metric, guess=0.8, within=1)
    assert worst_leakage(metric, near.nats, gain=sv.gains.within(metric, 1)).upper.factor * 0.6 <= 0.8 + 1e-9


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: sv.largest_epsilon(Policy.local(2)), "exactly one of bits and guess"),
        (lambda: sv.largest_epsilon(Policy.local(2), bits=1, guess=0.5), "exactly one"),
        (lambda: sv.largest_epsilon(Policy.local(2), bits=1, within=1), "within goes with guess"),
        (lambda: sv.largest_epsilon(Policy.local(4), guess=0.2), "blind guess 1/4"),
        (lambda: sv.largest_epsilon(Policy.local(4), guess=2), "probability"),
        (lambda: sv.largest_epsilon(Policy.local(4), bits=-1), "bits is -1"),
        (lambda: sv.largest_epsilon(Graph(range(4), [(0, 1), (2, 3)]), bits=0.5), "even ε = 0 allows 1 bit,"),
        (lambda: sv.largest_epsilon(graphs.path(3), guess=0.9, within=1), "needs a metric"),
    ],
)
def test_impossible_promises_are_refused(call, named: str) -> None:
    with pytest.raises(sv.SievertError, match=named):
        call()
